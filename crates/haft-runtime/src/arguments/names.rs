//! Properties under other names: declared aliases, other spellings, and the nearest known name.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::schema::{ALIASES, UNNEEDED};

use super::coerce::accepts;
use super::faults::Fault;
use super::repair::Notes;
use super::show::{self, At};

/// A longer name is no misspelling of any of ours.
const MAX_NAME: usize = 64;

/// The name without case, `_`, `-` and blanks: what two spellings of one name have in common.
pub(super) fn folded(name: &str) -> Cow<'_, str> {
    let settled = |c: char| c.is_lowercase() || c.is_ascii_digit();
    if name.chars().all(settled) {
        return Cow::Borrowed(name);
    }
    let kept = name.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    Cow::Owned(kept.flat_map(char::to_lowercase).collect())
}

/// Gives each property its own name.
pub(super) fn settle(
    schema: &Map<String, Value>,
    map: &mut Map<String, Value>,
    at: &At<'_>,
    notes: &mut Notes,
    faults: &mut Vec<Fault>,
) {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    if map.keys().all(|key| properties.contains_key(key)) {
        return;
    }
    let known = Known::new(schema, properties);
    let mut changes: HashMap<String, Change> = HashMap::new();
    let mut taken: HashMap<&str, &str> = HashMap::new();
    for (key, value) in map.iter().filter(|(key, _)| !properties.contains_key(*key)) {
        let Some(target) = known.meant_by(key, map) else {
            if known.unneeded.contains(&folded(key)) {
                changes.insert(key.clone(), Change::Unneeded);
            }
            continue;
        };
        let change = match taken
            .get(target.name)
            .copied()
            .or(map.contains_key(target.name).then_some(target.name))
        {
            _ if target.drops_null(value) => Change::DropNull,
            None => Change::Rename(target.name.to_owned()),
            Some(other) if map.get(other) == Some(value) => Change::Drop(target.name.to_owned()),
            Some(other) => {
                let text = format!(
                    "{} and {} name the same parameter but differ; give only {}",
                    show::name(other),
                    show::name(key),
                    show::name(target.name)
                );
                faults.push(Fault::new(at.to_string(), text));
                Change::Refuse
            }
        };
        if matches!(change, Change::Rename(_)) {
            taken.insert(target.name, key);
        }
        changes.insert(key.clone(), change);
    }
    if !changes.is_empty() {
        apply(map, &changes, at, notes);
    }
}

/// The known name nearest to an unknown one, if any is near enough to be meant.
pub(super) fn nearest<'a>(
    unknown: &str,
    known: impl Iterator<Item = &'a String>,
) -> Option<&'a str> {
    if unknown.len() > MAX_NAME {
        return None;
    }
    let wanted = folded(unknown);
    known
        .filter(|name| name.len() <= MAX_NAME)
        .map(|name| (distance(&wanted, &folded(name)), name.as_str()))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| *distance <= (name.chars().count() / 3).max(1))
        .map(|(_, name)| name)
}

/// Edits between two names; a name inside the other (`path`, `file_path`) counts as one.
fn distance(a: &str, b: &str) -> usize {
    let shorter = a.len().min(b.len());
    if shorter >= 4 && (a.contains(b) || b.contains(a)) {
        return 1;
    }
    strsim::damerau_levenshtein(a, b)
}

enum Change {
    Rename(String),
    Drop(String),
    DropNull,
    Unneeded,
    Refuse,
}

fn apply(
    map: &mut Map<String, Value>,
    changes: &HashMap<String, Change>,
    at: &At<'_>,
    notes: &mut Notes,
) {
    for (key, value) in std::mem::take(map) {
        let here = At::Key(at, &key);
        match changes.get(&key) {
            None => {
                map.insert(key, value);
            }
            Some(Change::Rename(target)) => {
                notes.add(|| format!("`{here}` taken as {}", show::name(target)));
                map.insert(target.clone(), value);
            }
            Some(Change::Drop(target)) => {
                notes.add(|| format!("`{here}` dropped: it repeats {}", show::name(target)));
            }
            Some(Change::DropNull) => notes.add(|| format!("`{here}`: null taken as absent")),
            Some(Change::Unneeded) => notes.add(|| format!("`{here}` dropped: it is always so")),
            Some(Change::Refuse) => {}
        }
    }
}

/// The names an object schema declares, folded once for all unknown keys.
struct Known<'a> {
    targets: Vec<Target<'a>>,
    /// Names that other programs have and that say nothing here.
    unneeded: Vec<Cow<'a, str>>,
    /// Whether other names are forbidden, so that a foreign spelling cannot be on purpose.
    closed: bool,
    /// Whether names may also be known by a pattern, which this module does not match.
    patterned: bool,
}

struct Target<'a> {
    name: &'a str,
    folded: Cow<'a, str>,
    aliases: Vec<Cow<'a, str>>,
    schema: &'a Value,
    required: bool,
}

impl<'a> Known<'a> {
    fn new(schema: &'a Map<String, Value>, properties: &'a Map<String, Value>) -> Self {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let targets = properties.iter().map(|(name, property)| {
            let aliases = property.get(ALIASES).and_then(Value::as_array).into_iter().flatten();
            Target {
                name,
                folded: folded(name),
                aliases: aliases.filter_map(Value::as_str).map(folded).collect(),
                schema: property,
                required: is_required(name),
            }
        });
        let unneeded = schema.get(UNNEEDED).and_then(Value::as_array).into_iter().flatten();
        let is_false = |keyword: &str| schema.get(keyword) == Some(&Value::Bool(false));
        Self {
            targets: targets.collect(),
            unneeded: unneeded.filter_map(Value::as_str).map(folded).collect(),
            closed: is_false("additionalProperties") || is_false("unevaluatedProperties"),
            patterned: schema.contains_key("patternProperties"),
        }
    }

    /// The one property an unknown key can mean; its own spelling goes before an alias.
    fn meant_by(&self, key: &str, map: &Map<String, Value>) -> Option<&Target<'a>> {
        if key.len() > MAX_NAME {
            return None;
        }
        let wanted = folded(key);
        let absent = |target: &&Target<'_>| !map.contains_key(target.name);
        let by_spelling = |target: &&Target<'_>| {
            // In an open object a foreign name may be on purpose, unless something is missing.
            let allowed = !self.patterned && (self.closed || (target.required && absent(target)));
            allowed && target.folded == wanted
        };
        let by_alias = |target: &&Target<'_>| target.aliases.contains(&wanted);
        only(self.targets.iter().filter(by_spelling), absent)
            .or_else(|| only(self.targets.iter().filter(by_alias), absent))
    }
}

impl Target<'_> {
    /// A null stands for nothing at all where the property is optional and takes no null.
    fn drops_null(&self, value: &Value) -> bool {
        value.is_null() && !self.required && !accepts(self.schema, value)
    }
}

/// The only candidate, or the only absent one of several.
fn only<'t, 'a>(
    found: impl Iterator<Item = &'t Target<'a>>,
    absent: impl Fn(&&Target<'_>) -> bool,
) -> Option<&'t Target<'a>> {
    let mut found = found.collect::<Vec<_>>();
    if found.len() > 1 {
        found.retain(|target| absent(target));
    }
    match found.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}
