//! What a model reads after an edit: the changed lines with their numbers and little around them.

use std::fmt::Write as _;

use super::hunks::{Group, Hunk, Lines, Step, compare_around, groups};
use super::{Bounds, Role};

/// How much of a change is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactBounds {
    /// Unchanged lines shown around a change.
    pub context: usize,
    /// Lines shown in all.
    pub lines: usize,
    /// Bytes shown in all, the closing remark aside.
    pub bytes: usize,
    /// Characters shown of one line.
    pub line_chars: usize,
}

impl Default for CompactBounds {
    fn default() -> Self {
        Self { context: 2, lines: 60, bytes: 4096, line_chars: 240 }
    }
}

/// Shows a change: `12 - old`, `12 + new`, `13   around`, with line numbers of the old text for what was removed and
/// of the new text for all else.
#[must_use]
pub fn compact(old: &str, new: &str, bounds: &CompactBounds) -> String {
    let most = Bounds::WHOLE.compared_lines;
    let (lines, hunks) = compare_around(old, new, most, bounds.context);
    let groups = groups(&hunks, &lines, bounds.context);
    let last = groups.last().map_or(0, |group| lines.before + group.old.end.max(group.new.end));
    let mut page = Page { text: String::new(), width: last.to_string().len(), lines: 0, bounds };
    let mut missing = 0;
    for (index, group) in groups.iter().enumerate() {
        if index > 0 && missing == 0 {
            page.push(&format!("{:>width$} …", "", width = page.width));
        }
        let focus = Focus::of(group, &lines);
        for step in group.steps(&lines) {
            let shown = missing == 0 && page.push_step(&step, &focus, &lines);
            if !shown && (missing > 0 || step.role != Role::Context) {
                missing += usize::from(step.role != Role::Context);
            }
        }
    }
    if missing > 0 {
        let _ = writeln!(
            page.text,
            "… {missing} more changed {}",
            if missing == 1 { "line" } else { "lines" }
        );
    }
    page.text
}

struct Page<'b> {
    text: String,
    width: usize,
    lines: usize,
    bounds: &'b CompactBounds,
}

impl Page<'_> {
    fn push_step(&mut self, step: &Step<'_>, focus: &Focus, lines: &Lines<'_>) -> bool {
        let (content, ends) = content(step.line);
        let content = focus.cut(step, content, lines, self.bounds.line_chars);
        let ends = match ends {
            Ends::Lf => "",
            Ends::CrLf if focus.line_ends_differ => "␍",
            Ends::CrLf => "",
            Ends::None => "  (no line end)",
        };
        let row = format!(
            "{:>width$} {} {content}{ends}",
            step.number,
            step.role.sign(),
            width = self.width
        );
        self.push(row.trim_end())
    }

    /// Adds a line, unless the page is full.
    fn push(&mut self, row: &str) -> bool {
        let fits =
            self.lines < self.bounds.lines && self.text.len() + row.len() < self.bounds.bytes;
        if fits {
            self.text.push_str(row);
            self.text.push('\n');
            self.lines += 1;
        }
        fits
    }
}

#[derive(PartialEq)]
enum Ends {
    Lf,
    CrLf,
    None,
}

fn content(line: &str) -> (&str, Ends) {
    match line.strip_suffix('\n') {
        None => (line, Ends::None),
        Some(line) => match line.strip_suffix('\r') {
            None => (line, Ends::Lf),
            Some(line) => (line, Ends::CrLf),
        },
    }
}

/// Where to look in the lines of one group.
struct Focus {
    hunks: Vec<Hunk>,
    /// A line changed in nothing but its end, so ends are shown.
    line_ends_differ: bool,
}

impl Focus {
    fn of(group: &Group, lines: &Lines<'_>) -> Self {
        let differ = |hunk: &Hunk| {
            let olds = lines.old.get(hunk.old.clone()).unwrap_or_default();
            let news = lines.new.get(hunk.new.clone()).unwrap_or_default();
            olds.iter().zip(news).any(|(old, new)| old != new && content(old).0 == content(new).0)
        };
        Self { hunks: group.hunks.clone(), line_ends_differ: group.hunks.iter().any(differ) }
    }

    /// Cuts a long line so that the first difference to its counterpart can be seen.
    fn cut(&self, step: &Step<'_>, content: &str, lines: &Lines<'_>, most: usize) -> String {
        if content.len() <= most {
            return visible(content);
        }
        let counterpart = self.counterpart(step, lines).unwrap_or_default();
        let same = content.chars().zip(counterpart.chars()).take_while(|(a, b)| a == b).count();
        let chars = content.chars().count();
        let from =
            if same < most * 3 / 4 { 0 } else { (same - most / 4).min(chars.saturating_sub(most)) };
        let shown: String = content.chars().skip(from).take(most).collect();
        let before = if from > 0 { format!("[{from} characters] …") } else { String::new() };
        let left = chars.saturating_sub(from + most);
        let after = if left > 0 { format!("… [{left} more characters]") } else { String::new() };
        format!("{before}{}{after}", visible(&shown))
    }

    fn counterpart<'t>(&self, step: &Step<'_>, lines: &Lines<'t>) -> Option<&'t str> {
        let index = step.index;
        let hunk = self.hunks.iter().find(|hunk| match step.role {
            Role::Context => false,
            Role::Removed => hunk.old.contains(&index),
            Role::Added => hunk.new.contains(&index),
        })?;
        match step.role {
            Role::Context => None,
            Role::Removed => lines.new.get(hunk.new.start + index - hunk.old.start).copied(),
            Role::Added => lines.old.get(hunk.old.start + index - hunk.new.start).copied(),
        }
    }
}

/// Text in which a bare carriage return cannot overwrite what stands before it.
fn visible(text: &str) -> String {
    text.replace('\r', "␍")
}
