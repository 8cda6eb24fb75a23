//! The config files of other programs: an entry put in or taken out, and every other byte left alone.

mod hosts;
mod json_file;
mod json_text;
mod toml_file;

#[cfg(test)]
mod tests;

use serde_json::Value;

pub(crate) use hosts::{HostName, Scope, Target};

/// How a host writes its config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, and nothing beside it.
    Json,
    /// JSON with comments and commas after the last member.
    Jsonc,
    /// TOML.
    Toml,
}

/// Where an entry stands: under a name, in a table at the top of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot<'a> {
    pub(crate) table: &'a str,
    pub(crate) name: &'a str,
}

/// What is left of a file without its entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// This text.
    Text(String),
    /// Nothing: the file was made for the entry.
    Nothing,
}

impl Format {
    /// The entry as it is in the file; none if there is no such entry, or no file.
    ///
    /// # Errors
    /// What is wrong with the file, and where.
    pub(crate) fn entry(self, text: Option<&str>, spot: Spot<'_>) -> Result<Option<Value>, String> {
        match (self, text) {
            (_, None) => Ok(None),
            (Self::Toml, Some(text)) => toml_file::entry(text, spot),
            (_, Some(text)) => json_file::entry(text, self, spot),
        }
    }

    /// The file with this entry, in place of one that has its name.
    ///
    /// # Errors
    /// Why the file cannot be changed, for whoever wrote it.
    pub(crate) fn with(
        self,
        text: Option<&str>,
        spot: Spot<'_>,
        entry: &Value,
    ) -> Result<String, String> {
        match (self, text) {
            (Self::Toml, text) => toml_file::with(text, spot, entry),
            (_, None) => Ok(json_file::alone(spot, entry)),
            (_, Some(text)) => json_file::with(text, self, spot, entry),
        }
    }

    /// The file without the entry of this name, which it must have.
    ///
    /// # Errors
    /// Why the file cannot be changed, for whoever wrote it.
    pub(crate) fn without(self, text: &str, spot: Spot<'_>) -> Result<Left, String> {
        match self {
            Self::Toml => toml_file::without(text, spot),
            _ => json_file::without(text, self, spot),
        }
    }
}
