//! Markdown with settings at its head, between two lines of `---`.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::tree;

/// Largest file.
const MOST: u64 = 512 * 1024;

/// Reads such a file: its settings, and the text below them.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<(T, String), String> {
    let bytes = tree::read_small(path, MOST).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text")?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
    let rest = text.strip_prefix("---\n").ok_or("it does not begin with a line of `---`")?;
    let (head, body) = split(rest).ok_or("the line of `---` that ends its settings is missing")?;
    let head = if head.trim().is_empty() { "{}" } else { head };
    // In the place of the line of `---`, so that faults are told with the lines of the file.
    let settings = serde_saphyr::from_str(&format!("\n{head}"));
    let settings = settings.map_err(|error| format!("its settings: {error}"))?;
    Ok((settings, body.trim().to_owned()))
}

/// What is before and after the next line of `---`.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((text.get(..at)?, text.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}
