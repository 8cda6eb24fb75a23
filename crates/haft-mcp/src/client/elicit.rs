//! A server's question, put to the user as any other is; without a user it is declined.

use haft_runtime::{Answer, Choice, Context, Question};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Number, Value};

use super::names::bounded;

/// Most things that are asked at once.
const MOST: usize = 4;

/// How much of a server's text a person is shown.
const SHOWN: usize = 500;

/// Asks the user what the server wants to know.
pub(super) async fn answer(
    server: &str,
    request: ElicitRequestParams,
    cx: &Context,
) -> ElicitResult {
    let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request
    else {
        return ElicitResult::new(ElicitationAction::Decline);
    };
    let schema = serde_json::to_value(requested_schema).unwrap_or_default();
    let properties =
        schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    if properties.is_empty() || properties.len() > MOST {
        return ElicitResult::new(ElicitationAction::Decline);
    }
    let questions: Vec<Question> =
        properties.iter().map(|(name, schema)| question(server, &message, name, schema)).collect();
    let Some(answers) = cx.question(&questions).await else {
        let gone = cx.cancel.is_cancelled();
        let action = if gone { ElicitationAction::Cancel } else { ElicitationAction::Decline };
        return ElicitResult::new(action);
    };
    match content(&schema, &properties, &answers) {
        Some(content) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
        }
        None => ElicitResult::new(ElicitationAction::Decline),
    }
}

fn question(server: &str, message: &str, name: &str, schema: &Value) -> Question {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(|it| bounded(it, SHOWN));
    let what = text("title").unwrap_or_else(|| bounded(name, SHOWN));
    let more = text("description").map(|it| format!(" ({it})")).unwrap_or_default();
    let choice = |label: String| Choice { label, description: String::new() };
    Question {
        question: format!("{}\n{what}{more}", bounded(message, SHOWN)),
        header: format!("{server} asks"),
        options: choices(schema).iter().map(|it| choice(bounded(it, SHOWN))).collect(),
        multiple: schema.get("type").is_some_and(|kind| kind == "array"),
    }
}

/// What can be chosen, if the schema says.
fn choices(schema: &Value) -> Vec<String> {
    let listed = |schema: &Value| -> Vec<String> {
        let plain = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        let titled = ["oneOf", "anyOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
        let titled = titled.flatten().filter_map(|one| one.get("const"));
        plain.chain(titled).filter_map(Value::as_str).map(str::to_owned).collect()
    };
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => vec!["yes".to_owned(), "no".to_owned()],
        Some("array") => schema.get("items").map(listed).unwrap_or_default(),
        _ => listed(schema),
    }
}

/// The answers as the schema wants them; none if one of them does not fit.
fn content(
    schema: &Value,
    properties: &Map<String, Value>,
    answers: &[Answer],
) -> Option<Map<String, Value>> {
    let mut content = Map::new();
    for ((name, property), answer) in properties.iter().zip(answers) {
        if answer.chosen.is_empty() {
            let required = schema.get("required").and_then(Value::as_array);
            if required.is_some_and(|all| all.iter().any(|one| one == name)) {
                return None;
            }
            continue;
        }
        content.insert(name.clone(), typed(property, &answer.chosen)?);
    }
    Some(content)
}

fn typed(schema: &Value, chosen: &[String]) -> Option<Value> {
    let first = chosen.first()?.trim();
    let listed = choices(schema);
    // What was shown may be shorter than what is meant.
    let meant = |one: &String| match listed.is_empty() {
        true => Some(one.clone()),
        false => listed.iter().find(|it| bounded(it, SHOWN) == *one).cloned(),
    };
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => match first.to_lowercase().as_str() {
            "yes" | "y" | "true" => Some(true.into()),
            "no" | "n" | "false" => Some(false.into()),
            _ => None,
        },
        Some("integer") => first.parse::<i64>().ok().map(Into::into),
        Some("number") => first.parse().ok().and_then(Number::from_f64).map(Value::Number),
        Some("array") => chosen.iter().map(meant).collect::<Option<Vec<_>>>().map(Into::into),
        _ => chosen.first().and_then(meant).map(Into::into),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_become_what_the_schema_wants_or_nothing() {
        let schema = json!({
            "type": "object",
            "required": ["colour"],
            "properties": {
                "colour": { "type": "string", "enum": ["red", "blue"] },
                "count": { "type": "integer" },
                "sure": { "type": "boolean" },
            },
        });
        assert_eq!(typed(&json!({ "type": "number" }), &["2.5".to_owned()]), Some(json!(2.5)));
        assert_eq!(typed(&json!({ "type": "number" }), &["NaN".to_owned()]), None);
        let long = json!({ "type": "string", "enum": ["x".repeat(SHOWN + 1), "y"] });
        let shown = question("s", "?", "name", &long).options.remove(0).label;
        assert_eq!(typed(&long, &[shown]), Some("x".repeat(SHOWN + 1).into()));
        let properties = schema["properties"].as_object().unwrap();
        let given = |words: [&str; 3]| {
            let answer = |word: &str| Answer {
                chosen: Some(word.to_owned()).filter(|word| !word.is_empty()).into_iter().collect(),
            };
            content(&schema, properties, &words.map(answer)).map(Value::Object)
        };
        let expected = json!({ "colour": "red", "count": 3, "sure": true });
        assert_eq!(given(["red", "3", "Yes"]), Some(expected));
        assert_eq!(given(["red", "", ""]), Some(json!({ "colour": "red" })));
        assert_eq!(given(["green", "3", "yes"]), None);
        assert_eq!(given(["red", "many", "yes"]), None);
        assert_eq!(given(["", "3", "yes"]), None, "it is required");
    }
}
