//! A file as lines that can be searched.

use std::collections::HashMap;
use std::ops::Range;

use crate::Tier;

/// How lines are told apart and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::patch) enum Sight {
    /// A line ends at `\n`, and every other byte counts.
    Exact,
    /// A line ends at `\n` or `\r\n`; in a file without `\n`, at `\r`.
    LineEnds,
    /// The same, and blanks at the end of a line do not count.
    TrailingBlanks,
}

/// The lines of a text, numbered so that equal lines have equal numbers.
pub(in crate::patch) struct View<'t> {
    pub(super) text: &'t str,
    pub(super) rows: Vec<Row>,
    ids: Vec<usize>,
    rows_by_id: Vec<Vec<usize>>,
    by_content: HashMap<&'t str, usize>,
    sight: Sight,
}

/// Where a line starts, where its content ends, and where the next line starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) start: usize,
    content_end: usize,
    pub(super) end: usize,
}

impl<'t> View<'t> {
    pub(in crate::patch) fn new(text: &'t str, sight: Sight) -> Self {
        let separator = if sight != Sight::Exact && !text.contains('\n') { '\r' } else { '\n' };
        let mut view = Self {
            text,
            rows: Vec::new(),
            ids: Vec::new(),
            rows_by_id: Vec::new(),
            by_content: HashMap::new(),
            sight,
        };
        let mut start = 0;
        for line in text.split_inclusive(separator) {
            let content = line.strip_suffix(separator).unwrap_or(line);
            let content = match sight {
                Sight::Exact => content,
                _ if line.len() == content.len() => content,
                _ => content.strip_suffix('\r').unwrap_or(content),
            };
            let next = view.by_content.len();
            let id = *view.by_content.entry(sight.key(content)).or_insert(next);
            view.ids.push(id);
            match view.rows_by_id.get_mut(id) {
                Some(rows) => rows.push(view.rows.len()),
                None => view.rows_by_id.push(vec![view.rows.len()]),
            }
            let end = start + line.len();
            view.rows.push(Row { start, content_end: start + content.len(), end });
            start = end;
        }
        view
    }

    pub(super) fn is(&self, sight: Sight) -> bool {
        self.sight == sight
    }

    /// Whether every line ends with `\n`.
    pub(super) fn line_ends_are_plain(&self) -> bool {
        !self.text.contains('\r')
    }

    /// The content of a line.
    pub(super) fn content(&self, row: usize) -> &'t str {
        let row = self.rows.get(row);
        row.and_then(|row| self.text.get(row.start..row.content_end)).unwrap_or_default()
    }

    /// What ends a line; nothing for a last line that ends bare.
    pub(super) fn terminator(&self, row: usize) -> &'t str {
        let row = self.rows.get(row);
        row.and_then(|row| self.text.get(row.content_end..row.end)).unwrap_or_default()
    }

    /// Whether the last line has no line end.
    pub(super) fn ends_bare(&self) -> bool {
        self.rows.last().is_some_and(|row| row.content_end == row.end)
    }

    /// Where a line starts; after the last one, the end of the text.
    pub(super) fn start(&self, row: usize) -> usize {
        self.rows.get(row).map_or(self.text.len(), |row| row.start)
    }

    /// The bytes of some lines.
    pub(super) fn bytes(&self, rows: &Range<usize>) -> Range<usize> {
        self.start(rows.start)..self.start(rows.end).max(self.start(rows.start))
    }

    /// Every line at which the wanted lines start, also where they overlap, in time linear in the text.
    pub(in crate::patch) fn search(&self, wanted: &[&str]) -> Vec<usize> {
        let ids: Option<Vec<usize>> =
            wanted.iter().map(|line| self.by_content.get(self.sight.key(line)).copied()).collect();
        match ids {
            Some(ids) if !ids.is_empty() => self.occurrences(&ids),
            _ => Vec::new(),
        }
    }

    /// Looks only around the rarest line, unless that would be more work than going through all.
    fn occurrences(&self, wanted: &[usize]) -> Vec<usize> {
        let rows = |id: &usize| self.rows_by_id.get(*id).map_or(&[][..], Vec::as_slice);
        let rarest = wanted.iter().enumerate().min_by_key(|(_, id)| rows(id).len());
        let Some((offset, id)) = rarest else { return Vec::new() };
        if rows(id).len().saturating_mul(wanted.len()) > self.ids.len() {
            return occurrences(&self.ids, wanted);
        }
        let starts = rows(id).iter().filter_map(|row| row.checked_sub(offset));
        starts.filter(|start| self.ids.get(*start..*start + wanted.len()) == Some(wanted)).collect()
    }
}

impl Sight {
    /// What it takes to see lines this way.
    pub(super) const fn tier(self) -> Tier {
        match self {
            Self::Exact => Tier::Exact,
            Self::LineEnds | Self::TrailingBlanks => Tier::LineEnds,
        }
    }

    fn key(self, content: &str) -> &str {
        match self {
            Self::Exact | Self::LineEnds => content,
            Self::TrailingBlanks => content.trim_end(),
        }
    }
}

/// Knuth, Morris and Pratt's search.
fn occurrences(text: &[usize], wanted: &[usize]) -> Vec<usize> {
    let borders = borders(wanted);
    let shorter =
        |matched: usize| matched.checked_sub(1).and_then(|last| borders.get(last)).copied();
    let mut found = Vec::new();
    let mut matched = 0;
    for (index, id) in text.iter().enumerate() {
        while matched > 0 && wanted.get(matched) != Some(id) {
            matched = shorter(matched).unwrap_or(0);
        }
        if wanted.get(matched) == Some(id) {
            matched += 1;
        }
        if matched == wanted.len() {
            found.push(index + 1 - matched);
        }
    }
    found
}

/// For each start of `wanted`, the length of the longest shorter start that also ends it.
fn borders(wanted: &[usize]) -> Vec<usize> {
    let mut borders = vec![0];
    let mut length = 0;
    for id in wanted.iter().skip(1) {
        while length > 0 && wanted.get(length) != Some(id) {
            length = borders.get(length - 1).copied().unwrap_or(0);
        }
        if wanted.get(length) == Some(id) {
            length += 1;
        }
        borders.push(length);
    }
    borders
}
