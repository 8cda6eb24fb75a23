//! What the user is shown when a call asks, and what is read from the answer.

use haft_runtime::permission::{PendingAsk, Reply, Suggestion};
use haft_runtime::{Answer, Question, plain, plain_lines};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Map, Value, json};

use super::line::Form;

/// As much of a diff or a command as a dialogue can show.
const DETAIL: usize = 4_000;
/// As many effects as anybody reads.
const EFFECTS: usize = 20;
/// Longest feedback that is passed on to the model.
const FEEDBACK: usize = 2_000;

/// The form of an ask: once, always, or no, with words.
pub(super) fn for_ask(ask: &PendingAsk) -> Option<Form> {
    let mut choices = vec![json!({ "const": "once", "title": "Allow once" })];
    if !ask.ask.always.is_empty() {
        let title = format!("Always allow {}", patterns(&ask.ask.always));
        choices.push(json!({ "const": "always", "title": title }));
    }
    choices.push(json!({ "const": "reject", "title": "Reject" }));
    let properties = json!({
        "decision": { "type": "string", "title": "Decision", "oneOf": choices },
        "feedback": {
            "type": "string",
            "title": "Instead",
            "description": "What the agent should do instead, if rejected",
            "maxLength": FEEDBACK,
        },
    });
    let has_always = !ask.ask.always.is_empty();
    let fits = move |content: &Value| decision(content, has_always).is_some();
    form(message(ask), properties, &["decision"], fits)
}

/// The answer to an ask. What cannot be read is no yes.
pub(super) fn reply(ask: &PendingAsk, result: &ElicitResult) -> Reply {
    let (ElicitationAction::Accept, Some(content)) = (&result.action, &result.content) else {
        return Reply::Reject { feedback: None };
    };
    match decision(content, !ask.ask.always.is_empty()) {
        Some(Decision::Once) => Reply::Once,
        Some(Decision::Always) => Reply::Always,
        Some(Decision::Reject) | None => {
            let words = content.get("feedback").and_then(Value::as_str).map(str::trim);
            let words = words.filter(|words| !words.is_empty());
            Reply::Reject { feedback: words.map(|it| it.chars().take(FEEDBACK).collect()) }
        }
    }
}

/// The form of some questions: the choices of each, and room for other words.
pub(super) fn for_questions(questions: &[Question]) -> Option<Form> {
    let mut properties = Map::new();
    let mut says = Vec::new();
    for (number, question) in questions.iter().enumerate() {
        let (key, other) = keys(number);
        let choices: Vec<Value> = question.options.iter().map(choice).collect();
        let (title, text) = (plain(&question.header), plain_lines(&question.question));
        let mut property = json!({ "title": title, "description": text });
        if let Value::Object(property) = &mut property {
            property.extend(if question.multiple {
                fields(json!({ "type": "array", "items": { "anyOf": choices } }))
            } else {
                fields(json!({ "type": "string", "oneOf": choices }))
            });
        }
        properties.insert(key, property);
        let title = format!("{title}: another answer");
        properties.insert(other, json!({ "type": "string", "title": title }));
        says.push(text);
    }
    let own = questions.to_vec();
    let fits = move |content: &Value| chosen(&own, content).is_some();
    form(says.join("\n"), Value::Object(properties), &[], fits)
}

/// The answers to some questions; `None` if the user gave none.
pub(super) fn answers(questions: &[Question], result: &ElicitResult) -> Option<Vec<Answer>> {
    match (&result.action, &result.content) {
        (ElicitationAction::Accept, Some(content)) => chosen(questions, content),
        _ => None,
    }
}

enum Decision {
    Once,
    Always,
    Reject,
}

fn decision(content: &Value, has_always: bool) -> Option<Decision> {
    match content.get("decision")?.as_str()? {
        "once" => Some(Decision::Once),
        "always" if has_always => Some(Decision::Always),
        "reject" => Some(Decision::Reject),
        _ => None,
    }
}

/// What was chosen for each question; `None` if one has no answer, or one that was not offered.
fn chosen(questions: &[Question], content: &Value) -> Option<Vec<Answer>> {
    let answer = |(number, question): (usize, &Question)| {
        let (key, other) = keys(number);
        let words = content.get(&other).and_then(Value::as_str).map(str::trim);
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            return Some(Answer { chosen: vec![words.chars().take(FEEDBACK).collect()] });
        }
        let offered = |label: &Value| {
            let label = label.as_str()?;
            let known = question.options.iter().any(|choice| choice.label == label);
            known.then(|| label.to_owned())
        };
        let labels: Option<Vec<String>> = match content.get(&key)? {
            Value::Array(labels) if question.multiple => labels.iter().map(offered).collect(),
            label if !question.multiple => offered(label).map(|label| vec![label]),
            _ => None,
        };
        labels.map(|chosen| Answer { chosen })
    };
    questions.iter().enumerate().map(answer).collect()
}

fn keys(number: usize) -> (String, String) {
    (format!("answer{}", number + 1), format!("other{}", number + 1))
}

fn choice(choice: &haft_runtime::Choice) -> Value {
    let (label, means) = (&choice.label, plain(&choice.description));
    let title = if means.is_empty() { plain(label) } else { format!("{}: {means}", plain(label)) };
    json!({ "const": label, "title": title })
}

/// What would be done, and what helps to decide.
fn message(ask: &PendingAsk) -> String {
    let mut lines = vec![format!("{}: {}", plain(&ask.tool), plain(&ask.ask.title))];
    let effects = ask.ask.effects.iter();
    lines.extend(effects.take(EFFECTS).map(|it| format!("- {} {}", it.key, plain(&it.value))));
    if let Some(more) = ask.ask.effects.len().checked_sub(EFFECTS).filter(|more| *more > 0) {
        lines.push(format!("- and {more} more"));
    }
    if let Some(rule) = &ask.rule {
        lines.push(format!("asked by the rule {rule}"));
    }
    if let Some(diff) = ask.ask.metadata.get("diff").and_then(Value::as_str) {
        lines.push(String::new());
        lines.push(shortened(&plain_lines(diff)));
    }
    lines.join("\n")
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(DETAIL).collect();
    if short.len() < text.len() {
        short.push_str("\n… (cut)");
    }
    short
}

fn patterns(suggestions: &[Suggestion]) -> String {
    let one = |it: &Suggestion| format!("{} {}", it.key, plain(&it.pattern));
    let mut all: Vec<String> = suggestions.iter().take(EFFECTS).map(one).collect();
    if suggestions.len() > EFFECTS {
        all.push("…".to_owned());
    }
    all.join(", ")
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn form(
    message: String,
    properties: Value,
    required: &[&str],
    fits: impl Fn(&Value) -> bool + Send + 'static,
) -> Option<Form> {
    let mut schema = fields(json!({ "type": "object", "properties": properties }));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    let requested_schema = ElicitationSchema::from_json_schema(schema).ok()?;
    let request =
        ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    Some(Form { request, fits: Box::new(fits) })
}
