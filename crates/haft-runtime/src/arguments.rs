//! What a model sent as arguments: parsed, repaired where the meaning is plain, and validated.

mod coerce;
mod faults;
mod names;
mod repair;
mod show;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use {properties::valid as valid_arguments, tests::sample as sample_schema};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::ToolError;
use crate::schema::{Schema, walk};

use faults::Fault;

/// As deep as `serde_json` reads; a value built in another way is held to the same.
const MAX_DEPTH: usize = 128;
/// A repair that feeds another is rare; this only keeps an odd schema from going in circles.
const MAX_PASSES: usize = 4;

/// Arguments as they came from the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// A value that the provider or the host had parsed already.
    Parsed(Value),
    /// Text that should be JSON.
    Text(String),
}

/// Arguments after repair, with a note of each change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fitted {
    /// The arguments to go on with.
    pub value: Value,
    /// What was changed, one short text each, for `metadata.repaired`.
    pub repaired: Vec<String>,
}

impl Arguments {
    /// Reads the text as JSON; blank text counts as no arguments.
    ///
    /// # Errors
    ///
    /// [`ToolError::CutOff`] if the text ends in mid-JSON, [`ToolError::InvalidParams`] if it is not
    /// JSON or is nested too deeply.
    pub(crate) fn parse(self, tool: &str) -> Result<Fitted, ToolError> {
        match self {
            Self::Parsed(value) => unwrap_text(tool, value, Vec::new()),
            Self::Text(text) => parse_text(tool, &text),
        }
    }

    /// As it is recorded: text that is not JSON stays text.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Parsed(value) => value.clone(),
            Self::Text(text) => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
            }
        }
    }
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        Self::Parsed(value)
    }
}

/// Repairs what can only mean one thing, then holds the arguments to the schema.
///
/// A value that satisfies the schema comes back as it was, except that a whole number written as a
/// float becomes an integer where the schema asks for one.
///
/// # Errors
///
/// [`ToolError::InvalidParams`] with all faults, one a line. [`ToolError::Failed`] if the schema
/// itself does not compile.
pub(crate) fn fit(tool: &str, schema: &Schema, args: Value) -> Result<Fitted, ToolError> {
    if !args.is_object() {
        return Err(invalid(tool, Fault::root(not_an_object(&args))));
    }
    if !walk::within_depth(&args, MAX_DEPTH) {
        return Err(too_deep(tool));
    }
    let validator = schema.validator().map_err(|reason| {
        ToolError::failed(format!("the parameters of {tool} cannot be checked: {reason}"))
    })?;

    let mut value = args;
    let mut notes = repair::Notes::default();
    let mut faults = Vec::new();
    for _ in 0..MAX_PASSES {
        let before = notes.count();
        repair::Pass::new(&mut notes, &mut faults).run(schema.marked(), &mut value);
        if notes.count() == before {
            break;
        }
    }
    // Text taken as JSON may have brought in more levels than there were.
    if notes.count() > 0 && !walk::within_depth(&value, MAX_DEPTH) {
        return Err(too_deep(tool));
    }
    if faults.is_empty() && validator.is_valid(&value) {
        return Ok(Fitted { value, repaired: notes.into_texts() });
    }
    let (found, uncounted) = faults::gather(validator, schema.as_value(), &value);
    faults.extend(found);
    let detail = faults::detail(faults, uncounted);
    Err(ToolError::InvalidParams { tool: tool.to_owned(), detail })
}

/// Turns fitted arguments into the tool's own type, for what a schema cannot say.
///
/// # Errors
///
/// [`ToolError::InvalidParams`] with the path of the first fault.
pub(crate) fn typed<T: DeserializeOwned>(tool: &str, value: Value) -> Result<T, ToolError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { show::ROOT.to_owned() } else { path };
        invalid(tool, Fault::new(path, show::clip(&error.inner().to_string(), 300)))
    })
}

fn parse_text(tool: &str, text: &str) -> Result<Fitted, ToolError> {
    let body = text.trim_start_matches('\u{feff}').trim();
    if body.is_empty() {
        return Ok(Fitted { value: Value::Object(Map::new()), repaired: Vec::new() });
    }
    let (body, mut repaired) = match unfenced(body) {
        Some(inner) => {
            (inner, vec!["a Markdown fence around the arguments was dropped".to_owned()])
        }
        None => (body, Vec::new()),
    };
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    let value = match values.next() {
        Some(Ok(value)) => value,
        Some(Err(error)) if error.is_eof() => return Err(cut_off(tool, text)),
        Some(Err(error)) => return Err(not_json(tool, &error)),
        // A fence was opened and nothing followed.
        None => return Err(cut_off(tool, text)),
    };
    let rest = body.get(values.byte_offset()..).unwrap_or_default().trim();
    if !rest.is_empty() {
        if !value.is_object() || !is_chaff(rest) {
            let reason = format!("text follows the JSON: {}", show::quoted(rest));
            return Err(invalid(tool, Fault::root(reason)));
        }
        repaired.push(format!("dropped after the arguments: {}", show::quoted(rest)));
    }
    unwrap_text(tool, value, repaired)
}

/// An object that was encoded twice arrives as a string; nothing else about a string is repaired.
fn unwrap_text(tool: &str, value: Value, mut repaired: Vec<String>) -> Result<Fitted, ToolError> {
    if let Value::String(text) = &value
        && text.trim_start().starts_with('{')
    {
        match serde_json::from_str::<Value>(text) {
            Ok(inner) => {
                repaired.push("the arguments were JSON within a JSON string".to_owned());
                return Ok(Fitted { value: inner, repaired });
            }
            Err(error) if error.is_eof() => return Err(cut_off(tool, text)),
            Err(error) => return Err(not_json(tool, &error)),
        }
    }
    Ok(Fitted { value, repaired })
}

/// What is inside a Markdown fence that opens the text; the closing fence may be missing.
fn unfenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.trim_start_matches('`');
    let inner = inner.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim_start();
    Some(inner.trim_end().trim_end_matches('`').trim_end())
}

/// Whether text after the arguments can carry no argument: no quote, bracket or colon opens one.
fn is_chaff(rest: &str) -> bool {
    !rest.contains(['{', '[', '"', ':'])
}

fn too_deep(tool: &str) -> ToolError {
    invalid(tool, Fault::root("nested too deeply".to_owned()))
}

fn not_an_object(value: &Value) -> String {
    format!("expected a JSON object, got {}", show::brief(value))
}

fn not_json(tool: &str, error: &serde_json::Error) -> ToolError {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(place.as_str()).unwrap_or(&message);
    let reason = format!(
        "not valid JSON at line {}, column {}: {}",
        error.line(),
        error.column(),
        show::clip(message, 200)
    );
    invalid(tool, Fault::root(reason))
}

fn cut_off(tool: &str, text: &str) -> ToolError {
    ToolError::CutOff { tool: tool.to_owned(), received: text.len() }
}

fn invalid(tool: &str, fault: Fault) -> ToolError {
    let detail = faults::detail(vec![fault], 0);
    ToolError::InvalidParams { tool: tool.to_owned(), detail }
}
