//! An entry in a TOML file: a table of its own at the end, taken out again by its lines.

use std::ops::Range;

use serde_json::Value;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table};

use super::{Left, Spot};

/// The entry as it is in the file.
pub(super) fn entry(text: &str, spot: Spot<'_>) -> Result<Option<Value>, String> {
    let table = read(text)?;
    let Some(entry) = table.get(spot.table).and_then(|table| table.get(spot.name)) else {
        return Ok(None);
    };
    serde_json::to_value(entry).map(Some).map_err(|error| error.to_string())
}

/// The file with the entry, in place of one that has its name.
pub(super) fn with(text: Option<&str>, spot: Spot<'_>, entry: &Value) -> Result<String, String> {
    let Some(text) = text else { return Ok(block(spot, entry, "\n") + "\n") };
    let mut expected = read(text)?;
    let is_there = expected.get(spot.table).is_some_and(|table| table.get(spot.name).is_some());
    let rest = if is_there { cut(text, spot)?.0 } else { text.to_owned() };
    let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let block = block(spot, entry, line_break);
    // A file that ends in the middle of a line still does: that is how it is known afterwards.
    let new = if rest.is_empty() || rest.ends_with('\n') {
        format!("{rest}{line_break}{block}{line_break}")
    } else {
        format!("{rest}{line_break}{line_break}{block}")
    };
    let value = toml::Value::try_from(entry).map_err(|error| error.to_string())?;
    let table = expected.entry(spot.table).or_insert_with(|| toml::Value::Table(Table::new()));
    if let Some(table) = table.as_table_mut() {
        table.insert(spot.name.to_owned(), value);
    }
    proven(&new, &expected)?;
    Ok(new)
}

/// The file without the entry of this name.
pub(super) fn without(text: &str, spot: Spot<'_>) -> Result<Left, String> {
    let mut expected = read(text)?;
    let (new, from_start) = cut(text, spot)?;
    let table = expected.get_mut(spot.table).and_then(toml::Value::as_table_mut);
    let left = table.map(|table| {
        table.remove(spot.name);
        table.is_empty()
    });
    let found = read(&new).map_err(|_| by_hand())?;
    // A table that nothing names any more is gone, and one that is empty may still be named.
    if left == Some(true) && !found.contains_key(spot.table) {
        expected.remove(spot.table);
    }
    proven(&new, &expected)?;
    Ok(if from_start && new.is_empty() { Left::Nothing } else { Left::Text(new) })
}

fn read(text: &str) -> Result<Table, String> {
    // A table made for the file says the line and the column.
    text.parse::<Table>().map_err(|error| error.to_string())
}

/// The text without the lines of the entry, and whether they were its first.
fn cut(text: &str, spot: Spot<'_>) -> Result<(String, bool), String> {
    let Range { start, end } = lines_of(text, spot).ok_or_else(by_hand)?;
    let (before, after) =
        (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    let without_break = |text| str::strip_suffix(text, '\n').map(without_return);
    // The empty line above came with it.
    let mut rest = match without_break(before) {
        Some(above) if above.is_empty() || above.ends_with('\n') => above,
        _ => before,
    };
    // So did the break above, where the entry ends with the file in the middle of a line.
    let is_whole = text.get(..end).is_some_and(|text| text.ends_with('\n'));
    if !is_whole && let Some(above) = without_break(rest) {
        rest = above;
    }
    Ok((format!("{rest}{after}"), before.is_empty()))
}

fn without_return(text: &str) -> &str {
    text.strip_suffix('\r').unwrap_or(text)
}

/// The lines from the first that names the entry to the last that has a value of it.
fn lines_of(text: &str, spot: Spot<'_>) -> Option<Range<usize>> {
    let document = DeTable::parse(text).ok()?;
    let table = document.get_ref().get(spot.table)?.get_ref().as_table()?;
    let (key, entry) = table.get_key_value(spot.name)?;
    let mut span = key.span();
    widen(&mut span, entry);
    let start = text.get(..span.start)?.rfind('\n').map_or(0, |line| line + 1);
    let rest = text.get(span.end..)?;
    let end = rest.find('\n').map_or(text.len(), |line| span.end + line + 1);
    Some(start..end)
}

fn widen(span: &mut Range<usize>, value: &Spanned<DeValue<'_>>) {
    let own = value.span();
    *span = span.start.min(own.start)..span.end.max(own.end);
    for (key, value) in value.get_ref().as_table().into_iter().flatten() {
        let key = key.span();
        *span = span.start.min(key.start)..span.end.max(key.end);
        widen(span, value);
    }
}

/// The entry as a table under its own heading, without a break at the end.
fn block(spot: Spot<'_>, entry: &Value, line_break: &str) -> String {
    let mut lines = vec![format!("[{}.{}]", key(spot.table), key(spot.name))];
    for (name, value) in entry.as_object().into_iter().flatten() {
        lines.push(format!("{} = {}", key(name), on_line(value)));
    }
    lines.join(line_break)
}

/// A key, in quotes where it needs them.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { text(name) }
}

/// A value on one line.
fn on_line(value: &Value) -> String {
    match value {
        Value::String(it) => text(it),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(on_line).collect::<Vec<_>>().join(", "))
        }
        Value::Object(table) => {
            let pair =
                |(name, value): (&String, &Value)| format!("{} = {}", key(name), on_line(value));
            format!("{{ {} }}", table.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Text in quotes: JSON writes it as TOML does, but for one control character.
fn text(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Whether the new text says what it should. A file that was misread is not written.
fn proven(new: &str, expected: &Table) -> Result<(), String> {
    match read(new) {
        Ok(table) if table == *expected => Ok(()),
        _ => Err(by_hand()),
    }
}

fn by_hand() -> String {
    "it is written in a way that cannot be changed safely; change it by hand".to_owned()
}
