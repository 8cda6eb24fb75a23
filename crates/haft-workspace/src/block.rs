//! The block around a line, found by indentation alone, so that it works in any language.

use std::ops::RangeInclusive;

/// A signature of more lines than this is shown by its first and last line only.
const LONGEST_SIGNATURE: usize = 12;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The line in question, counted from 1.
    pub anchor_line: usize,
    /// How many enclosing headers are shown, the nearest first; all if not given.
    pub max_levels: Option<usize>,
    /// Whether what stands beside the block in the same parent is shown too.
    pub include_siblings: bool,
    /// Whether comments, attributes and decorators directly above a header belong to it.
    pub include_header: bool,
}

/// What is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The lines, counted from 1, in order and with a gap between any two ranges.
    pub ranges: Vec<RangeInclusive<usize>>,
    /// What one level of indentation is made of.
    pub indent: Indent,
}

/// What one level of indentation is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indent {
    /// Nothing is indented.
    Unknown,
    /// One tab.
    Tabs,
    /// So many spaces.
    Spaces(usize),
}

/// Returns the block around a line and the headers that enclose it; `None` if there is no such line.
///
/// A line that opens something gives what it opens; any other line gives the innermost thing that
/// it stands in; a line outside of everything gives its paragraph. The work is in proportion to
/// the number of lines.
pub fn block<L: AsRef<str>>(lines: &[L], request: &Request) -> Option<Block> {
    let anchor = request.anchor_line.checked_sub(1).filter(|anchor| *anchor < lines.len())?;
    let outline = Outline::new(lines);
    let (first, last) = outline.core(anchor);
    let mut ranges = vec![(anchor, anchor), (first, last)];
    if request.include_header {
        ranges.push((outline.with_leading(first), first));
    }
    if request.include_siblings {
        ranges.push(outline.beside(first));
    }
    let mut inner = first;
    let mut levels = request.max_levels.unwrap_or(usize::MAX);
    while levels > 0
        && let Some(nearest) = outline.opener(inner)
    {
        let header = outline.start_of(nearest);
        if nearest - header < LONGEST_SIGNATURE {
            ranges.push((header, nearest));
        } else {
            ranges.extend([(header, header), (nearest, nearest)]);
        }
        if request.include_header {
            ranges.push((outline.with_leading(header), header));
        }
        inner = header;
        levels -= 1;
    }
    Some(Block { ranges: merged(ranges), indent: outline.indent })
}

/// Sorts ranges counted from 0, joins what touches, and counts from 1.
fn merged(mut ranges: Vec<(usize, usize)>) -> Vec<RangeInclusive<usize>> {
    ranges.sort_unstable();
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (first, last) in ranges {
        match joined.last_mut() {
            Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    joined.into_iter().map(|(first, last)| first + 1..=last + 1).collect()
}

/// How deep each line is, and what a line is in relation to its neighbours.
///
/// A *construct* is a line with all that follows it more deeply, and the lines of the same depth
/// that go on with it: closing brackets, `else`, an opening brace on a line of its own.
struct Outline<'a> {
    texts: Vec<&'a str>,
    /// Twice the column, so that there is room between two columns; blank lines have none.
    depths: Vec<Option<usize>>,
    indent: Indent,
}

impl<'a> Outline<'a> {
    fn new<L: AsRef<str>>(lines: &'a [L]) -> Self {
        let indent = detected(lines);
        let stop = if let Indent::Spaces(width) = indent { width } else { 4 };
        let texts: Vec<_> = lines.iter().map(|line| line.as_ref().trim()).collect();
        let depths = lines.iter().zip(&texts).map(|(line, text)| {
            // An item of a YAML list may stand under its key without being indented.
            let item = *text == "-" || text.starts_with("- ");
            (!text.is_empty()).then(|| 2 * column(line.as_ref(), stop) + usize::from(item))
        });
        Self { depths: depths.collect(), texts, indent }
    }

    fn text(&self, line: usize) -> &'a str {
        self.texts.get(line).copied().unwrap_or_default()
    }

    fn depth(&self, line: usize) -> Option<usize> {
        self.depths.get(line).copied().flatten()
    }

    /// The nearest line above that is not deeper, with its depth.
    fn above(&self, line: usize, depth: usize) -> Option<(usize, usize)> {
        (0..line).rev().find_map(|at| Some((at, self.depth(at).filter(|other| *other <= depth)?)))
    }

    /// The lines of the block around an anchor, without what encloses it.
    fn core(&self, anchor: usize) -> (usize, usize) {
        if self.depth(anchor).is_none() {
            return self.core_of_blank(anchor);
        }
        let mut start = self.start_of(anchor);
        if self.header_below(start).is_none() && self.end_of(start) == start {
            match self.opener(start) {
                Some(opener) => start = self.start_of(opener),
                None => return self.paragraph(start),
            }
        }
        // Inside a comment that stands above a header, what the comment is about is meant.
        (start, self.end_of(self.header_below(start).unwrap_or(start)))
    }

    /// A blank line belongs to what surrounds it.
    fn core_of_blank(&self, anchor: usize) -> (usize, usize) {
        let before = (0..anchor).rev().find(|line| self.depth(*line).is_some());
        let after = (anchor..self.texts.len()).find(|line| self.depth(*line).is_some());
        let inside = match (before, after) {
            (Some(before), Some(after)) if self.continues(before, after) => before,
            (_, Some(after)) => after,
            _ => return (anchor, anchor),
        };
        match (self.opener(self.start_of(inside)), after) {
            (Some(opener), _) => self.whole(opener),
            (None, Some(after)) => (anchor, self.end_of(after)),
            (None, None) => (anchor, anchor),
        }
    }

    /// Whether `after`, the next line that is not blank, closes or goes on with what `before` is in.
    fn continues(&self, before: usize, after: usize) -> bool {
        self.depth(after) <= self.depth(before) && self.start_of(after) < after
    }

    fn whole(&self, line: usize) -> (usize, usize) {
        let start = self.start_of(line);
        (start, self.end_of(start))
    }

    /// The line that a line stands directly under.
    fn opener(&self, line: usize) -> Option<usize> {
        let depth = self.depth(line)?.checked_sub(1)?;
        self.above(line, depth).map(|(at, _)| at)
    }

    /// The first line of the construct that a line is a direct part of.
    fn start_of(&self, line: usize) -> usize {
        let mut start = line;
        while let Some(depth) = self.depth(start)
            && let Some((before, other)) = self.above(start, depth)
            && other == depth
            && self.joins(before, start)
        {
            start = before;
        }
        start
    }

    /// The last line of a construct; blank lines behind it are not part of it.
    fn end_of(&self, start: usize) -> usize {
        let Some(depth) = self.depth(start) else { return start };
        let (mut last, mut same) = (start, start);
        for line in start + 1..self.texts.len() {
            match self.depth(line) {
                None => {}
                Some(deeper) if deeper > depth => last = line,
                Some(equal) if equal == depth && self.joins(same, line) => {
                    last = line;
                    same = line;
                }
                Some(_) => break,
            }
        }
        last
    }

    /// Whether a line goes on with the construct that `before`, of the same depth, is part of.
    fn joins(&self, before: usize, line: usize) -> bool {
        let text = self.text(line);
        if text.starts_with('{') {
            // On a line of its own it opens what was announced, unless that was finished.
            return !self.text(before).ends_with([';', '}', ',', '{', ']', ')'])
                || self.text(before).ends_with(')') && text == "{";
        }
        text.starts_with(['}', ')', ']']) || text.starts_with("</") || joining_word(text)
    }

    /// The header that a comment or attribute stands directly above of, if it opens something.
    fn header_below(&self, start: usize) -> Option<usize> {
        let mut line = start;
        while is_leading(self.text(line)) {
            let next = self.end_of(line) + 1;
            if self.depth(next)? != self.depth(line)? {
                return None;
            }
            line = next;
        }
        (line > start && self.end_of(line) > line).then_some(line)
    }

    /// The first of the comments, attributes and decorators directly above a header.
    fn with_leading(&self, header: usize) -> usize {
        let mut first = header;
        while let Some(depth) = self.depth(first)
            && let Some(line) = first.checked_sub(1)
            && self.depth(line).is_some_and(|other| other >= depth)
            && let Some((above, other)) = self.above(first, depth)
            && other == depth
            && let start = self.start_of(above)
            && is_leading(self.text(start))
        {
            first = start;
        }
        first
    }

    /// Everything that stands at the depth of a construct in the same parent, itself included.
    fn beside(&self, start: usize) -> (usize, usize) {
        let opener = self.opener(start);
        let inside = |line: &usize| match opener {
            Some(opener) => self.depth(*line) > self.depth(opener),
            None => true,
        };
        let first = opener.map_or(0, |opener| opener + 1);
        let body = first..self.texts.len();
        let mut lines = body.filter(|line| self.depth(*line).is_some()).take_while(inside);
        let first = lines.next().unwrap_or(start);
        (first.min(start), lines.last().unwrap_or(first).max(start))
    }

    /// The lines around one that neither are blank nor open anything.
    fn paragraph(&self, line: usize) -> (usize, usize) {
        let depth = self.depth(line);
        let plain = |at: &usize| self.depth(*at) == depth && self.start_of_is(*at);
        let first = (0..line).rev().take_while(plain).last().unwrap_or(line);
        let after = (line + 1..self.texts.len()).take_while(plain);
        (first, after.take_while(|at| self.end_of(*at) == *at).last().unwrap_or(line))
    }

    /// Whether a line begins its construct, judged by the line directly above alone.
    fn start_of_is(&self, line: usize) -> bool {
        line.checked_sub(1).is_none_or(|before| !self.joins(before, line))
    }
}

/// Whether a line without brackets goes on with the one before: as whole words, and not as names.
fn joining_word(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    match word {
        "else" | "elif" | "elsif" | "except" | "catch" | "finally" | "rescue" | "ensure" => {
            !rest.trim_start().starts_with(['=', ',', '.'])
        }
        "end" | "fi" | "done" | "esac" => rest.is_empty() || rest.starts_with([';', ')', ',', '.']),
        "then" | "do" | "begin" => rest.is_empty(),
        "where" => rest.is_empty() || rest.starts_with(' '),
        _ => false,
    }
}

/// Whether a line says something about the line below it.
fn is_leading(text: &str) -> bool {
    let attribute = text.starts_with('[') && text.ends_with(']');
    let about = ["//", "/*", "@", "--", "<!--", ";;"].iter().any(|start| text.starts_with(start));
    // A shebang or an inner attribute is about the file.
    about || attribute || text.starts_with('#') && !text.starts_with("#!")
}

/// Returns the column where a line begins.
fn column(line: &str, stop: usize) -> usize {
    line.chars().take_while(|c| c.is_whitespace()).fold(0, |column, c| match c {
        '\t' => (column / stop + 1) * stop,
        _ => column + 1,
    })
}

/// Returns what most lines that are indented further than the line before are indented with.
fn detected<L: AsRef<str>>(lines: &[L]) -> Indent {
    let (mut tabs, mut spaces) = (0_usize, 0_usize);
    let mut steps = [0_usize; 9];
    let mut before = 0;
    for line in lines.iter().map(AsRef::as_ref).filter(|line| !line.trim().is_empty()) {
        if line.starts_with('\t') {
            tabs += 1;
            continue;
        }
        let depth = line.len() - line.trim_start_matches(' ').len();
        spaces += usize::from(depth > 0);
        // A single space is the star of a comment, not a level.
        if depth >= before + 2
            && let Some(count) = steps.get_mut(depth - before)
        {
            *count += 1;
        }
        before = depth;
    }
    if tabs > spaces {
        return Indent::Tabs;
    }
    let widths = steps.iter().enumerate().filter(|(_, count)| **count > 0);
    // Of two that are equally frequent the smaller is the level, the larger two of them.
    let usual = widths.max_by_key(|(width, count)| (**count, usize::MAX - width));
    usual.map_or(Indent::Unknown, |(width, _)| Indent::Spaces(width))
}

#[cfg(test)]
mod tests;
