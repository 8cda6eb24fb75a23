//! The `[permission]` table of a configuration file: from text to a layer, and back.
//!
//! A value is an action for all of a permission, or a table of patterns with an action each:
//!
//! ```toml
//! [permission]
//! edit = "ask"
//!
//! [permission.bash]
//! "git *" = "allow"
//! "git push *" = { action = "deny", reason = "releases go through CI", match = ["git push -f"] }
//! ```
//!
//! Rules count in the order of the file. Nothing is skipped or guessed: what cannot be read is an
//! error that names its line.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::rule::{Layer, LayerKind, Rule};
use crate::visible::is_hidden;
use reader::Reader;

mod examples;
mod reader;

/// What patterns are completed with. The host knows it; reading rules asks nothing of the system.
#[derive(Clone, Copy)]
pub struct Expand<'a> {
    /// The home directory, for `~` and `$HOME`.
    pub home: Option<&'a str>,
    /// Gives the canonical form of a directory or file, if it exists.
    pub resolve: &'a dyn Fn(&str) -> Option<String>,
}

impl Expand<'_> {
    /// No home directory and no links.
    #[must_use]
    pub fn nothing() -> Self {
        Self { home: None, resolve: &|_| None }
    }
}

/// Why a file gives no rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}; {instead}")]
pub struct RulesError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub instead: String,
}

/// Reads the rules of a whole configuration text. One without `[permission]` has no opinion.
///
/// # Errors
///
/// If the text is no TOML, or what [`parse_table`] finds.
pub fn parse(
    text: &str,
    kind: LayerKind,
    file: &str,
    expand: &Expand<'_>,
) -> Result<Layer, RulesError> {
    let reader = Reader { text, file, expand };
    let document = DeTable::parse(text).map_err(|error| reader.syntax(&error))?;
    match document.get_ref().get("permission") {
        Some(table) => parse_table(table, text, kind, file, expand),
        None => Ok(Layer::new(kind, file)),
    }
}

/// Reads the rules of a `permission` value that was found in `text`, the whole text of `file`.
///
/// # Errors
///
/// If anything is not as the module describes it, or a rule fails one of its examples.
pub fn parse_table(
    table: &Spanned<DeValue<'_>>,
    text: &str,
    kind: LayerKind,
    file: &str,
    expand: &Expand<'_>,
) -> Result<Layer, RulesError> {
    let reader = Reader { text, file, expand };
    let mut entries = reader.entries(table)?;
    // Tables and dotted keys may come in any order; the list is in the order of the file.
    entries.sort_by_key(|entry| entry.at);
    let mut layer = Layer::new(kind, file);
    layer.rules.extend(entries.iter().map(|entry| entry.rule.clone()));
    for (index, entry) in entries.iter().enumerate() {
        examples::check(&reader, &layer, index, entry)?;
    }
    Ok(layer)
}

/// Writes the layer as a `[permission]` table that [`parse`] reads back to the same rules.
///
/// Of rules with the same key and pattern only the last is written: no other can win, and TOML has
/// room for one.
#[must_use]
pub fn to_toml(layer: &Layer) -> String {
    let mut text = "[permission]\n".to_owned();
    for (index, rule) in layer.rules.iter().enumerate() {
        let (key, pattern) = (rule.key().as_str(), rule.pattern().as_str());
        let again = |later: &Rule| later.key() == rule.key() && later.pattern().as_str() == pattern;
        if layer.rules.iter().skip(index + 1).any(again) {
            continue;
        }
        let action = quoted(rule.action().as_str());
        let value = match rule.reason() {
            Some(reason) => format!("{{ action = {action}, reason = {} }}", quoted(reason)),
            None => action,
        };
        text.push_str(&format!("{}.{} = {value}\n", quoted(key), quoted(pattern)));
    }
    text
}

/// A TOML string with everything escaped that could end it or hide in it.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            hidden if is_hidden(hidden) => {
                quoted.push_str(&format!("\\U{:08X}", u32::from(hidden)));
            }
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
