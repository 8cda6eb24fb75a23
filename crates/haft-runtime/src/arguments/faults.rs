//! Faults in arguments, in words a model can act on: where, what was expected, what came.

use std::cmp::Ordering;

use jsonschema::ValidationError;
use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::{Location, LocationSegment};
use serde_json::{Map, Value};

use super::names::nearest;
use super::show::{self, ROOT};

/// As many as a model mends in one go.
const MAX_LISTED: usize = 10;
/// Keeps ten faults and the rest of the message under four KiB.
const MAX_LINE: usize = 390;
/// How many of the validator's errors are put in words before sorting; the rest is only counted.
const MAX_WORDED: usize = 200;
/// A choice among branches inside branches beyond this is told as a whole.
const MAX_BRANCH_DEPTH: usize = 4;
/// Names or values listed in one fault.
const MAX_NAMES: usize = 20;

/// One thing that is wrong with the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    at: String,
    text: String,
}

impl Fault {
    pub(super) fn new(at: String, text: String) -> Self {
        Self { at, text }
    }

    /// A fault of the arguments as a whole.
    pub(super) fn root(text: String) -> Self {
        Self::new(ROOT.to_owned(), text)
    }
}

/// The faults as a message shows them: sorted by place, one a line, a bounded number.
pub(super) fn detail(mut faults: Vec<Fault>, uncounted: usize) -> String {
    faults.sort_by(|a, b| natural(&a.at, &b.at).then_with(|| a.text.cmp(&b.text)));
    faults.dedup();
    let more = faults.len().saturating_sub(MAX_LISTED) + uncounted;
    let lines = faults.iter().take(MAX_LISTED).map(|fault| {
        let line = format!("{}: {}", show::clip(&fault.at, 120), fault.text);
        bounded(line)
    });
    let mut lines = lines.collect::<Vec<_>>();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.join("\n")
}

/// All faults that the validator finds, and the number of those not put in words.
pub(super) fn gather(validator: &Validator, schema: &Value, value: &Value) -> (Vec<Fault>, usize) {
    let mut teller = Teller { schema, faults: Vec::new(), more: 0 };
    for error in validator.iter_errors(value) {
        if teller.faults.len() < MAX_WORDED {
            teller.tell(&error, 0);
        } else {
            teller.more += 1;
        }
    }
    (teller.faults, teller.more)
}

struct Teller<'a> {
    schema: &'a Value,
    faults: Vec<Fault>,
    more: usize,
}

impl Teller<'_> {
    fn tell(&mut self, error: &ValidationError<'_>, depth: usize) {
        let at = error.instance_path();
        match error.kind() {
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let expected =
                    self.property(error, name).map(|p| format!("; expected {}", expected(p)));
                let place = path(at, Some(name));
                let text = format!("required, but missing{}", expected.unwrap_or_default());
                self.faults.push(Fault::new(place, text));
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => self.unknown(error, unexpected),
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                match likely(context, at).filter(|_| depth < MAX_BRANCH_DEPTH) {
                    Some(branch) => branch.iter().for_each(|error| self.tell(error, depth + 1)),
                    None => {
                        let branches = self.keyword(error).and_then(Value::as_array);
                        let wanted = branches.map_or_else(String::new, |all| alternatives(all));
                        self.expected(error, &wanted);
                    }
                }
            }
            other => {
                let wanted = words(other);
                self.expected(error, &wanted);
            }
        }
    }

    fn expected(&mut self, error: &ValidationError<'_>, wanted: &str) {
        let got = show::brief(error.instance());
        let text = format!("expected {wanted}, got {got}");
        self.faults.push(Fault::new(path(error.instance_path(), None), text));
    }

    fn unknown(&mut self, error: &ValidationError<'_>, unexpected: &[String]) {
        let none = Map::new();
        let known = self.parent(error).and_then(|schema| schema.get("properties")?.as_object());
        let known = known.unwrap_or(&none);
        let mut faults = Vec::new();
        for name in unexpected.iter().take(MAX_NAMES) {
            let hint = nearest(name, known.keys())
                .map_or_else(String::new, |near| format!("; did you mean {}?", show::name(near)));
            let rest = match (known.is_empty(), hint.is_empty()) {
                (true, _) => "; none are taken".to_owned(),
                (false, true) => format!("; known: {}", names(known)),
                (false, false) => format!("{hint} known: {}", names(known)),
            };
            let text = format!("unknown property {}{rest}", show::name(name));
            faults.push(Fault::new(path(error.instance_path(), None), text));
        }
        self.more += unexpected.len() - faults.len();
        self.faults.extend(faults);
    }

    /// The value of the keyword that failed.
    fn keyword(&self, error: &ValidationError<'_>) -> Option<&Value> {
        self.schema.pointer(error.schema_path().as_str())
    }

    /// The schema that holds the keyword that failed.
    fn parent(&self, error: &ValidationError<'_>) -> Option<&Value> {
        let (parent, _) = error.schema_path().as_str().rsplit_once('/')?;
        self.schema.pointer(parent)
    }

    fn property(&self, error: &ValidationError<'_>, name: &str) -> Option<&Value> {
        self.parent(error)?.get("properties")?.get(name)
    }
}

/// The branch that was meant: the only one that does not already fail by the value's own type.
fn likely<'e>(
    context: &'e [Vec<ValidationError<'static>>],
    at: &Location,
) -> Option<&'e Vec<ValidationError<'static>>> {
    let wrong_kind = |error: &ValidationError<'_>| {
        let same_place = error.instance_path() == at;
        let by_type = matches!(error.kind(), Kind::Type { .. });
        let by_tag = matches!(error.kind(), Kind::Constant { .. });
        (by_type && same_place) || by_tag
    };
    let mut meant = context.iter().filter(|branch| !branch.iter().any(wrong_kind));
    match (meant.next(), meant.next()) {
        (Some(only), None) if !only.is_empty() => Some(only),
        _ => None,
    }
}

/// What a keyword asks for.
fn words(kind: &Kind) -> String {
    match kind {
        Kind::Type { kind: TypeKind::Single(kind) } => article(kind.as_str()).to_owned(),
        Kind::Type { kind: TypeKind::Multiple(kinds) } => {
            either(kinds.iter().map(|kind| article(kind.as_str()).to_owned()))
        }
        Kind::Enum { options } => one_of(options),
        Kind::Constant { expected_value } => show::brief(expected_value),
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("at least {}", counted(*limit, "character")),
        Kind::MaxLength { limit } => format!("at most {}", counted(*limit, "character")),
        Kind::MinItems { limit } => format!("at least {}", counted(*limit, "item")),
        Kind::MaxItems { limit } => format!("at most {}", counted(*limit, "item")),
        Kind::AdditionalItems { limit } => format!("at most {limit} items"),
        Kind::MinProperties { limit } => format!("at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("at most {limit} properties"),
        Kind::UniqueItems => "items that all differ".to_owned(),
        Kind::Pattern { pattern } => format!("text matching `{}`", show::clip(pattern, 120)),
        Kind::Format { format } => format!("text in the format `{}`", show::clip(format, 40)),
        Kind::OneOfMultipleValid { .. } => "what fits exactly one of the forms".to_owned(),
        Kind::FalseSchema => "nothing here".to_owned(),
        other => format!("what `{}` asks for", show::clip(other.keyword(), 40)),
    }
}

/// What a schema takes, in a few words.
fn expected(schema: &Value) -> String {
    if let Some(options) = schema.get("enum") {
        return one_of(options);
    }
    if let Some(value) = schema.get("const") {
        return show::brief(value);
    }
    match schema.get("type") {
        Some(Value::String(kind)) => article(kind).to_owned(),
        Some(Value::Array(kinds)) => {
            either(kinds.iter().filter_map(Value::as_str).map(|kind| article(kind).to_owned()))
        }
        _ => ["anyOf", "oneOf"]
            .iter()
            .find_map(|keyword| schema.get(*keyword)?.as_array())
            .map_or_else(|| "a value".to_owned(), |branches| alternatives(branches)),
    }
}

fn alternatives(branches: &[Value]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for branch in branches.iter().take(MAX_NAMES) {
        let text = match branch.get("required").and_then(Value::as_array) {
            Some(names) if !names.is_empty() => {
                let names = names.iter().filter_map(Value::as_str).take(MAX_NAMES).map(show::name);
                format!("an object with {}", names.collect::<Vec<_>>().join(", "))
            }
            _ => expected(branch),
        };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    either(texts.into_iter())
}

fn one_of(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut shown = options.iter().take(MAX_NAMES).map(show::brief).collect::<Vec<_>>();
    if options.len() > shown.len() {
        shown.push(format!("{} others", options.len() - shown.len()));
    }
    match shown.as_slice() {
        [only] => only.clone(),
        all => format!("one of {}", all.join(", ")),
    }
}

fn either(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(" or ")
}

fn names(known: &Map<String, Value>) -> String {
    let mut shown =
        known.keys().take(MAX_NAMES).map(|name| show::clip(name, 40)).collect::<Vec<_>>();
    if known.len() > shown.len() {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

fn counted(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

fn article(kind: &str) -> &str {
    match kind {
        "string" => "a string",
        "number" => "a number",
        "integer" => "an integer",
        "boolean" => "a boolean",
        "array" => "an array",
        "object" => "an object",
        other => other,
    }
}

/// The place in dots and brackets, with one more name at the end if given.
fn path(location: &Location, last: Option<&str>) -> String {
    let mut shown = String::new();
    for segment in location.segments() {
        match segment {
            LocationSegment::Index(index) => shown.push_str(&format!("[{index}]")),
            LocationSegment::Property(name) => {
                let step = show::step(&name, shown.is_empty());
                shown.push_str(&step);
            }
        }
    }
    if let Some(name) = last {
        let step = show::step(name, shown.is_empty());
        shown.push_str(&step);
    }
    if shown.is_empty() { ROOT.to_owned() } else { shown }
}

/// Compares with numbers by size, so that `[2]` comes before `[10]`.
fn natural(a: &str, b: &str) -> Ordering {
    let (a, b) = (chunks(a), chunks(b));
    a.cmp(&b)
}

/// Text and numbers in turn; a number sorts by its length and then its digits.
fn chunks(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for c in text.chars() {
        let is_digit = c.is_ascii_digit();
        match found.last_mut() {
            Some((digits, chunk)) if is_digit == (*digits > 0) => {
                *digits += usize::from(is_digit);
                chunk.push(c);
            }
            _ => found.push((usize::from(is_digit), c.to_string())),
        }
    }
    found
}

/// Cuts a line that a long list of names made too long, at a character.
fn bounded(line: String) -> String {
    if line.len() <= MAX_LINE {
        return line;
    }
    let mut room = MAX_LINE - '…'.len_utf8();
    let kept = line.chars().take_while(|c| {
        let fits = c.len_utf8() <= room;
        room = room.saturating_sub(c.len_utf8());
        fits
    });
    kept.chain(['…']).collect()
}
