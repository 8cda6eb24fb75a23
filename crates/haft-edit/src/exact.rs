//! The first tier: every byte is there. No lines are split and nothing is folded.

use std::ops::{Range, RangeInclusive};

use memchr::{memchr, memchr_iter, memmem, memrchr};

use crate::{
    Cause, Change, Edit, Miss, Tier, Within, already,
    hanging::{Hang, hang},
    lines::{Lines, indent, is_blank, part, trim},
};

/// As many places are listed when there are several.
const MOST_LISTED: usize = 12;

/// Returns the exact places; none if the text is not there.
pub(crate) fn changes(text: &str, edit: &Edit<'_>, within: &Within) -> Result<Vec<Change>, Miss> {
    let starts = starts(text, edit, within);
    let mut walk = Walk::new(text);
    if starts.len() > 1 && !edit.replace_all {
        let listed = starts.iter().take(MOST_LISTED);
        let lines = listed.map(|start| walk.lines(&(*start..start + edit.old.len()))).collect();
        return Err(Miss::from(Cause::Several { tier: Tier::Exact, places: starts.len(), lines }));
    }
    if let [start] = starts.as_slice()
        && already::surrounds(text, edit, *start)
    {
        let lines = walk.lines(&(*start..start + edit.old.len()));
        return Err(Miss::from(Cause::AlreadyApplied { lines }));
    }
    starts.into_iter().map(|start| change(text, &mut walk, edit, within, start)).collect()
}

/// Returns where the text begins: with `replace_all` without overlap, else every place.
fn starts(text: &str, edit: &Edit<'_>, within: &Within) -> Vec<usize> {
    let finder = memmem::Finder::new(edit.old.as_bytes());
    let end = within.range.end.min(text.len());
    let mut from = within.range.start;
    let mut starts = Vec::new();
    while let Some(rest) = text.as_bytes().get(from..end)
        && let Some(start) = finder.find(rest).map(|at| at + from)
    {
        starts.push(start);
        from = start + if edit.replace_all { edit.old.len() } else { 1 };
    }
    if within.at_end
        && let Some(last) = starts.iter().copied().find(|start| ends_text(text, edit, *start))
    {
        return vec![last];
    }
    starts
}

fn ends_text(text: &str, edit: &Edit<'_>, start: usize) -> bool {
    part(text, start + edit.old.len()..text.len()).trim().is_empty()
}

fn change(
    text: &str,
    walk: &mut Walk<'_>,
    edit: &Edit<'_>,
    within: &Within,
    start: usize,
) -> Result<Change, Miss> {
    let mut range = start..start + edit.old.len();
    // A line end is never taken apart.
    if edit.old.starts_with('\n') && part(text, within.range.start..start).ends_with('\r') {
        range.start -= 1;
    }
    // A line is never joined with the next because the new text lacks the last line end.
    let joins = edit.old.ends_with('\n') && !edit.new.is_empty() && !edit.new.ends_with('\n');
    if joins && range.end < walk.bytes.len() {
        range.end -= if edit.old.ends_with("\r\n") { 2 } else { 1 };
    }
    let ending = walk.line_end(start);
    let lines = walk.lines(&range);
    let replacement = match lead(text, edit, start) {
        None => with_line_ends(edit, "", ending),
        Some(lead) => {
            let there = [lead, indent(edit.old)].concat();
            match hang(indent(edit.old), &there, &Lines::new(edit.new)) {
                Hang::InFull => with_line_ends(edit, "", ending),
                Hang::Shifted => with_line_ends(edit, lead, ending),
                Hang::Unsure => return Err(Miss::from(Cause::Indentation { lines })),
            }
        }
    };
    Ok(Change { range, replacement, tier: Tier::Exact, lines, edit: 0 })
}

/// Whether the only place begins within the indentation of a line, of which the old text has a part
/// only, and the edit is about whole lines.
pub(crate) fn is_shifted(text: &str, edit: &Edit<'_>, changes: &[Change]) -> bool {
    let [change] = changes else { return false };
    let is_about_lines = edit.new.is_empty() || edit.new.trim_end().contains('\n');
    is_about_lines
        && edit.old.starts_with(is_blank)
        && !trim(edit.old).is_empty()
        && lead_before(text, change.range.start).is_some()
        && (edit.old.contains('\n') || ends_line(text, change.range.start + edit.old.len()))
}

/// Returns the blanks before an offset if nothing else stands before it on its line. Looks at no more
/// than these, so that many places on one long line take no longer.
fn lead_before(text: &str, at: usize) -> Option<&str> {
    let before = part(text, 0..at);
    let rest = before.trim_end_matches(|c| is_blank(c) && c != '\r');
    let is_line_start = rest.is_empty() || rest.ends_with(['\n', '\r']);
    is_line_start.then(|| part(before, rest.len()..at)).filter(|lead| !lead.is_empty())
}

/// Whether nothing but blanks stands between an offset and the end of its line.
fn ends_line(text: &str, at: usize) -> bool {
    let rest = part(text, at..text.len()).trim_start_matches(|c| is_blank(c) && c != '\r');
    rest.is_empty() || rest.starts_with(['\n', '\r'])
}

/// Returns the indentation before a place, if something else or several lines take the stead of all
/// that follows it.
fn lead<'t>(text: &'t str, edit: &Edit<'_>, start: usize) -> Option<&'t str> {
    let old = edit.old.strip_suffix('\n').unwrap_or(edit.old);
    let old = old.strip_suffix('\r').unwrap_or(old);
    let new = trim(edit.new.trim_end());
    let is_only_about_blanks = || new.is_empty() || trim(old) == new;
    let has_lines = edit.new.trim_end().contains('\n');
    if old.contains(['\n', '\r'])
        || (!has_lines && (!edit.new.starts_with(is_blank) || is_only_about_blanks()))
    {
        return None;
    }
    let is_whole = !trim(old).is_empty() && ends_line(text, start + old.len());
    lead_before(text, start).filter(|_| is_whole)
}

/// Gives the new text the line ends of the place, unless the edit is about nothing else, and the
/// lines behind the first an indentation.
fn with_line_ends(edit: &Edit<'_>, lead: &str, ending: &str) -> String {
    let new = Lines::new(edit.new);
    let is_only_about_ends = || new.contents().eq(Lines::new(edit.old).contents());
    if !edit.new.contains(['\n', '\r']) || is_only_about_ends() {
        return edit.new.to_owned();
    }
    let mut replacement = String::with_capacity(edit.new.len());
    for (index, content) in new.contents().enumerate() {
        if index > 0 && !trim(content).is_empty() {
            replacement.push_str(lead);
        }
        replacement.push_str(content);
        replacement.push_str(if new.ending(index).is_empty() { "" } else { ending });
    }
    replacement
}

/// A walk through a text from place to place, which looks at each byte but once.
struct Walk<'t> {
    bytes: &'t [u8],
    /// What ends a line: a carriage return only where there is no line feed.
    mark: u8,
    /// Up to here line ends were counted, and so many were found.
    offset: usize,
    ends: usize,
    /// The last line end of all, and the next that was looked for from some place on.
    last: Option<usize>,
    next: usize,
}

impl<'t> Walk<'t> {
    fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mark = if memchr(b'\n', bytes).is_some() { b'\n' } else { b'\r' };
        Self { bytes, mark, offset: 0, ends: 0, last: memrchr(mark, bytes), next: 0 }
    }

    /// Returns the lines of a range that begins no earlier than the last one, counted from 1.
    fn lines(&mut self, range: &Range<usize>) -> RangeInclusive<usize> {
        self.ends += self.count(self.offset..range.start);
        self.offset = range.start;
        let first = self.ends + 1;
        first..=first + self.count(range.start..range.end.saturating_sub(1).max(range.start))
    }

    fn count(&self, range: Range<usize>) -> usize {
        self.bytes.get(range).map_or(0, |part| memchr_iter(self.mark, part).count())
    }

    /// Returns how lines end at a place: the line itself, else the one before it.
    fn line_end(&mut self, start: usize) -> &'static str {
        let Some(last) = self.last else { return "\n" };
        if self.next <= start && start <= last {
            let rest = self.bytes.get(start..).unwrap_or_default();
            self.next = memchr(self.mark, rest).map_or(last, |at| at + start);
        }
        match if start <= last { self.next } else { last } {
            _ if self.mark == b'\r' => "\r",
            at if at > 0 && self.bytes.get(at - 1) == Some(&b'\r') => "\r\n",
            _ => "\n",
        }
    }
}
