//! What the texts after `@@` say about where a chunk goes.

use std::ops::Range;

use super::view::View;
use crate::patch::error::{Trouble, excerpt};

/// Places of one header beyond which it says nothing.
const MOST: usize = 64;

/// A line that a header names, and the lines that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    /// The line of the innermost header.
    pub(super) header: usize,
    /// The lines below it that belong to it.
    pub(super) block: Range<usize>,
}

/// Finds the headers of a chunk, each below the one before it. There may be several such places.
pub(super) fn scopes(view: &View<'_>, headers: &[String]) -> Result<Vec<Scope>, Trouble> {
    let mut scopes: Vec<Scope> = Vec::new();
    for (depth, header) in headers.iter().enumerate() {
        let inner = if depth == 0 {
            under(view, header, 0..view.rows.len())
        } else {
            nested(view, header, &scopes)
        };
        if inner.is_empty() {
            return Err(Trouble::NoHeader { header: excerpt(header), nested: depth > 0 });
        }
        scopes = inner;
        scopes.truncate(MOST);
    }
    Ok(scopes)
}

/// The places of a header inside the blocks of those around it; failing that, anywhere below them.
fn nested(view: &View<'_>, header: &str, outer: &[Scope]) -> Vec<Scope> {
    let mut inside: Vec<Scope> =
        outer.iter().flat_map(|scope| under(view, header, scope.block.clone())).collect();
    if inside.is_empty()
        && let Some(first) = outer.first()
    {
        inside = under(view, header, first.header + 1..view.rows.len());
    }
    inside.sort_by_key(|scope| scope.header);
    inside.dedup();
    inside
}

/// The lines among `rows` that a header names: equal ones, else equal but for indentation, else begun by it.
fn under(view: &View<'_>, header: &str, rows: Range<usize>) -> Vec<Scope> {
    let (mut equal, mut trimmed, mut begun) = (Vec::new(), Vec::new(), Vec::new());
    let bare = header.trim();
    for row in rows {
        let line = view.content(row);
        if line.trim() == bare {
            if line.trim_end() == header.trim_end() { equal.push(row) } else { trimmed.push(row) }
        } else if let Some(rest) = line.trim().strip_prefix(bare)
            && !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        {
            begun.push(row);
        }
    }
    let best =
        [equal, trimmed, begun].into_iter().find(|rows| !rows.is_empty()).unwrap_or_default();
    best.into_iter()
        .take(MOST)
        .map(|header| Scope { header, block: header + 1..block_end(view, header) })
        .collect()
}

/// Where what belongs to a line ends: with its indentation, or, if nothing is indented, before the next line of its
/// kind.
fn block_end(view: &View<'_>, header: usize) -> usize {
    let header_line = view.content(header);
    let depth = indentation(header_line);
    let mut indented = false;
    for row in header + 1..view.rows.len() {
        let line = view.content(row);
        let text = line.trim();
        if text.is_empty() || (!indented && ["{", "(", "[", "begin"].contains(&text)) {
            continue;
        }
        if indentation(line) > depth {
            indented = true;
        } else if indented {
            let closes = text.starts_with(['}', ')', ']']) || text.starts_with("end");
            return if closes { row + 1 } else { row };
        } else {
            return section_end(view, header, row);
        }
    }
    view.rows.len()
}

fn section_end(view: &View<'_>, header: usize, from: usize) -> usize {
    let opening = opening(view.content(header));
    (from..view.rows.len())
        .find(|row| self::opening(view.content(*row)) == opening)
        .unwrap_or(view.rows.len())
}

/// The first word of a line, or the signs it begins with.
fn opening(line: &str) -> &str {
    let text = line.trim_start();
    let is_word = text.starts_with(|c: char| c.is_alphanumeric());
    let end = text
        .find(|c: char| c.is_whitespace() || c.is_alphanumeric() != is_word)
        .unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
