//! An entry in a JSON file. What is put in stands at one place, in a shape that tells what to take out again.
//!
//! A table that was made for the entry has it over several lines, or all on one; a table that was
//! there but empty has it alone on one line. So taking it out leaves exactly what was there before.

use serde_json::{Map, Value};

use super::json_text::{JsonText, Member, Object};
use super::{Format, Left, Spot};

/// How far a level is set in where nothing says how far.
const UNIT: &str = "  ";

/// The entry as it is in the file.
pub(super) fn entry(text: &str, format: Format, spot: Spot<'_>) -> Result<Option<Value>, String> {
    let file = JsonText::read(text, format)?;
    // Read by position too, so that what stands there twice is noticed.
    let Some((_, table)) = file.root()?.member(spot.table)?.map(owned) else { return Ok(None) };
    table_of(&file, &table, spot)?.member(spot.name)?;
    Ok(file.value.get(spot.table).and_then(|table| table.get(spot.name)).cloned())
}

/// A new file with nothing but the entry.
pub(super) fn alone(spot: Spot<'_>, entry: &Value) -> String {
    let style = Style { indent: UNIT.to_owned(), unit: UNIT.to_owned(), line_break: "\n" };
    format!("{{\n{UNIT}{}\n}}\n", style.table(spot, entry))
}

/// The file with the entry, in place of one that has its name.
pub(super) fn with(
    text: &str,
    format: Format,
    spot: Spot<'_>,
    entry: &Value,
) -> Result<String, String> {
    let file = JsonText::read(text, format)?;
    let root = file.root()?;
    let new = match root.member(spot.table)? {
        None => put(&file, &root, Shape::of(&file, &root), |shape, style| match shape {
            Shape::Lines => style.table(spot, entry),
            _ => format!("{}: {{{}: {}}}", quoted(spot.table), quoted(spot.name), on_line(entry)),
        }),
        Some((_, member)) => {
            let table = table_of(&file, member, spot)?;
            match table.member(spot.name)? {
                Some((_, old)) => {
                    let style = Style::below(&file, &root, old.start);
                    let lines =
                        file.text.get(old.value.clone()).is_some_and(|it| it.contains('\n'));
                    let value = if lines { style.lines(entry) } else { on_line(entry) };
                    spliced(text, &[(old.value.start, old.value.end, &value)])
                }
                None => put(&file, &table, Shape::of(&file, &table), |shape, style| {
                    let value = match shape {
                        Shape::Lines => style.lines(entry),
                        _ => on_line(entry),
                    };
                    format!("{}: {value}", quoted(spot.name))
                }),
            }
        }
    };
    let mut expected = file.value.clone();
    if let Some(root) = expected.as_object_mut()
        && let Some(table) =
            root.entry(spot.table).or_insert_with(|| Value::Object(Map::new())).as_object_mut()
    {
        table.insert(spot.name.to_owned(), entry.clone());
    }
    proven(&new, format, &expected)?;
    Ok(new)
}

/// The file without the entry of this name.
pub(super) fn without(text: &str, format: Format, spot: Spot<'_>) -> Result<Left, String> {
    let file = JsonText::read(text, format)?;
    let root = file.root()?;
    let missing = || format!("it has no `{}` under `{}`", spot.name, spot.table);
    let (in_root, member) = root.member(spot.table)?.ok_or_else(missing)?;
    let table = table_of(&file, member, spot)?;
    let (in_table, old) = table.member(spot.name)?.ok_or_else(missing)?;
    let is_alone = table.members.len() == 1;
    let on_lines = file.text.get(old.value.clone()).is_some_and(|value| value.contains('\n'));
    let starts_a_line = file.breaks(table.open..old.start);
    let mut expected = file.value.clone();
    let new = if is_alone && (on_lines || !starts_a_line) {
        expected.as_object_mut().map(|root| root.shift_remove(spot.table));
        let new = taken(&file, &root, in_root, false);
        if starts_a_line && new == "{\n}\n" {
            return Ok(Left::Nothing);
        }
        new
    } else {
        let inner = expected.get_mut(spot.table).and_then(Value::as_object_mut);
        inner.map(|table| table.shift_remove(spot.name));
        let outer = is_alone && starts_a_line;
        taken(&file, &table, in_table, outer)
    };
    proven(&new, format, &expected)?;
    Ok(Left::Text(new))
}

/// How the members of an object are set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Each on lines of its own.
    Lines,
    /// After the brace, on its line.
    Line,
    /// There are none, and the object is the file.
    EmptyRoot,
    /// There are none, and the object is the table.
    EmptyTable,
}

impl Shape {
    fn of(file: &JsonText<'_>, object: &Object) -> Self {
        let is_root = file.root().is_ok_and(|root| root.open == object.open);
        match object.members.first() {
            Some(first) if file.breaks(object.open..first.start) => Self::Lines,
            Some(_) => Self::Line,
            None if is_root => Self::EmptyRoot,
            None => Self::EmptyTable,
        }
    }
}

/// How lines are set in.
struct Style {
    indent: String,
    unit: String,
    line_break: &'static str,
}

impl Style {
    /// The style of what begins at `at`.
    fn below(file: &JsonText<'_>, root: &Object, at: usize) -> Self {
        let first = root.members.first().filter(|it| file.breaks(root.open..it.start));
        let unit = first.map(|it| file.indent(it.start)).filter(|it| !it.is_empty());
        Self {
            indent: file.indent(at).to_owned(),
            unit: unit.unwrap_or(UNIT).to_owned(),
            line_break: file.line_break(),
        }
    }

    fn deeper(&self) -> Self {
        let Self { indent, unit, line_break } = self;
        Self { indent: format!("{indent}{unit}"), unit: unit.clone(), line_break }
    }

    /// The table with the entry in it.
    fn table(&self, spot: Spot<'_>, entry: &Value) -> String {
        let (inner, Self { indent, line_break, .. }) = (self.deeper(), self);
        let entry = format!("{}: {}", quoted(spot.name), inner.lines(entry));
        let table = quoted(spot.table);
        format!("{table}: {{{line_break}{}{entry}{line_break}{indent}}}", inner.indent)
    }

    /// An object over several lines; anything else on one.
    fn lines(&self, value: &Value) -> String {
        let Some(object) = value.as_object().filter(|object| !object.is_empty()) else {
            return on_line(value);
        };
        let (inner, Self { indent, line_break, .. }) = (self.deeper(), self);
        let member = |(key, value): (&String, &Value)| {
            format!("{line_break}{}{}: {}", inner.indent, quoted(key), inner.lines(value))
        };
        let members: Vec<String> = object.iter().map(member).collect();
        format!("{{{}{line_break}{indent}}}", members.join(","))
    }
}

/// A member put first into an object, where nothing else has to be touched.
fn put(
    file: &JsonText<'_>,
    object: &Object,
    shape: Shape,
    member: impl Fn(Shape, &Style) -> String,
) -> String {
    let root = file.root().ok();
    let root = root.as_ref().unwrap_or(object);
    let style = Style::below(file, root, object.members.first().map_or(object.open, |it| it.start));
    let line_break = style.line_break;
    let after = object.open + 1;
    let (at, new) = match shape {
        Shape::Lines => {
            let line = format!("{line_break}{}{},", style.indent, member(shape, &style));
            (file.line_end(after), line)
        }
        Shape::Line => {
            let rest = file.text.get(after..).unwrap_or_default();
            let blank = rest.len() - rest.trim_start().len();
            let gap = rest.get(..blank).unwrap_or_default();
            let member = member(shape, &style);
            (after, if gap.is_empty() { format!("{member}, ") } else { format!("{gap}{member},") })
        }
        Shape::EmptyRoot if file.breaks(after..object.close) => {
            (after, format!("{line_break}{}{}", style.unit, member(shape, &style)))
        }
        Shape::EmptyRoot => (after, member(shape, &style)),
        Shape::EmptyTable => {
            let inner = style.deeper();
            let (member, outer) = (member(shape, &inner), &style.indent);
            (after, format!("{line_break}{}{member}{line_break}{outer}", inner.indent))
        }
    };
    spliced(file.text, &[(at, at, &new)])
}

/// A member taken out, with the space that came with it; `outer` says that the brace's line goes too.
fn taken(file: &JsonText<'_>, object: &Object, index: usize, outer: bool) -> String {
    let Some(member) = object.members.get(index) else { return file.text.to_owned() };
    let text = file.text;
    let before = text.get(object.open + 1..member.start).unwrap_or_default();
    let blank = before.trim_end_matches([' ', '\t']);
    let broken = blank.strip_suffix('\n').map(|it| it.strip_suffix('\r').unwrap_or(it));
    let start = object.open + 1 + broken.unwrap_or(blank).len();
    let previous = index.checked_sub(1).and_then(|index| object.members.get(index));
    let mut end = member.comma.map_or(member.value.end, |comma| comma + 1);
    let rest = text.get(end..).unwrap_or_default();
    if outer {
        let line_break = if rest.starts_with("\r\n") { "\r\n" } else { "\n" };
        let line = format!("{line_break}{}", file.indent(object.open));
        end += if rest.starts_with(&line) { line.len() } else { 0 };
    } else if previous.is_none() && start == member.start && member.comma.is_some() {
        end += usize::from(rest.starts_with(' '));
    }
    match previous.and_then(|previous| previous.comma) {
        Some(comma) if member.comma.is_none() => {
            spliced(text, &[(comma, comma + 1, ""), (start.max(comma + 1), end, "")])
        }
        _ => spliced(text, &[(start, end, "")]),
    }
}

/// The text with these parts replaced; they are in order and do not overlap.
fn spliced(text: &str, parts: &[(usize, usize, &str)]) -> String {
    let (mut new, mut at) = (String::with_capacity(text.len()), 0);
    for (start, end, part) in parts {
        new.push_str(text.get(at..*start).unwrap_or_default());
        new.push_str(part);
        at = *end;
    }
    new.push_str(text.get(at..).unwrap_or_default());
    new
}

/// Whether the new text says what it should. A file that was misread is not written.
fn proven(new: &str, format: Format, expected: &Value) -> Result<(), String> {
    match JsonText::read(new, format) {
        Ok(file) if file.value == *expected => Ok(()),
        _ => Err("it is written in a way that cannot be changed safely; change it by hand".into()),
    }
}

fn table_of(file: &JsonText<'_>, member: &Member, spot: Spot<'_>) -> Result<Object, String> {
    file.object(member.value.start).ok_or_else(|| format!("its `{}` is not an object", spot.table))
}

fn owned((index, member): (usize, &Member)) -> (usize, Member) {
    (index, member.clone())
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A value on one line, with a space after each comma and colon.
fn on_line(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(on_line).collect::<Vec<_>>().join(", "))
        }
        Value::Object(object) => {
            let member =
                |(key, value): (&String, &Value)| format!("{}: {}", quoted(key), on_line(value));
            format!("{{{}}}", object.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
