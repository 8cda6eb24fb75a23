//! What changed between two texts: for files, for models and for terminals.
//!
//! A line ends at `\n`; a `\r` before it belongs to the line, so that no change of line ends is lost. All work is
//! bounded: texts that differ in too many lines are compared by their common head and tail only.

mod compact;
mod hunks;
mod inline;

pub use compact::{CompactBounds, compact};
pub use inline::{Line, Segment, inline};

use std::fmt::Write as _;

pub(crate) use hunks::{Group, Lines, Step};

use hunks::groups;

/// What a line is in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// On both sides.
    Context,
    /// Only in the old text.
    Removed,
    /// Only in the new text.
    Added,
}

impl Role {
    /// The first character of such a line in a patch.
    #[must_use]
    pub const fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// How much work and text a comparison may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Unchanged lines shown around a change.
    pub context: usize,
    /// Lines of both texts, without their common head and tail, up to which the least change is looked for.
    pub compared_lines: usize,
    /// Bytes of text, after which only the number of missing lines is told.
    pub text_bytes: usize,
}

impl Bounds {
    /// Bounds under which a diff is whole, so that it can be applied.
    pub const WHOLE: Self = Self { context: 3, compared_lines: 200_000, text_bytes: usize::MAX };
}

impl Default for Bounds {
    fn default() -> Self {
        Self { text_bytes: 256 * 1024, ..Self::WHOLE }
    }
}

/// A comparison of two texts as a unified diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// How many lines only the new text has.
    pub additions: usize,
    /// How many lines only the old text has.
    pub deletions: usize,
    /// The first line, counted from one in the new text, that is new or stands where something was removed.
    pub first_changed_line: Option<usize>,
    /// The unified diff; empty if nothing changed.
    pub text: String,
    /// How many lines of the diff did not fit into `text`.
    pub missing_lines: usize,
}

/// Compares two texts and writes the change as a unified diff that `git apply` understands.
#[must_use]
pub fn unified(old: &str, new: &str, path_old: &str, path_new: &str, bounds: &Bounds) -> Diff {
    let (lines, hunks) = hunks::compare_around(old, new, bounds.compared_lines, bounds.context);
    let mut diff = Diff {
        additions: hunks.iter().map(|hunk| hunk.new.len()).sum(),
        deletions: hunks.iter().map(|hunk| hunk.old.len()).sum(),
        first_changed_line: hunks.first().map(|hunk| lines.before + hunk.new.start + 1),
        ..Diff::default()
    };
    if hunks.is_empty() {
        return diff;
    }
    diff.text = format!("--- {}\n+++ {}\n", quoted(path_old), quoted(path_new));
    for group in groups(&hunks, &lines, bounds.context) {
        write_group(&mut diff, &group, &lines, bounds.text_bytes);
    }
    if diff.missing_lines > 0 {
        let _ =
            writeln!(diff.text, "… {} more lines of this diff are not shown", diff.missing_lines);
    }
    diff
}

/// Compares two texts as [`unified`] does, but gives the groups of changed lines themselves.
pub(crate) fn grouped<'t>(old: &'t str, new: &'t str, bounds: &Bounds) -> (Lines<'t>, Vec<Group>) {
    let (lines, hunks) = hunks::compare(old, new, bounds.compared_lines);
    let groups = groups(&hunks, &lines, bounds.context);
    (lines, groups)
}

fn write_group(diff: &mut Diff, group: &Group, lines: &Lines<'_>, most: usize) {
    let header = format!(
        "@@ -{} +{} @@",
        position(&group.old, lines.before),
        position(&group.new, lines.before)
    );
    push_line(diff, "", &header, most);
    for Step { role, line, .. } in group.steps(lines) {
        let sign = role.sign().to_string();
        match line.strip_suffix('\n') {
            Some(content) => push_line(diff, &sign, content, most),
            None => {
                push_line(diff, &sign, line, most);
                push_line(diff, "", NO_NEWLINE, most);
            }
        }
    }
}

/// The line that says that the line before it ends without a line end.
pub(crate) const NO_NEWLINE: &str = "\\ No newline at end of file";

fn push_line(diff: &mut Diff, sign: &str, content: &str, most: usize) {
    let fits = diff.text.len().saturating_add(content.len() + 2) <= most;
    if diff.missing_lines > 0 || !fits {
        diff.missing_lines += 1;
        return;
    }
    diff.text.push_str(sign);
    diff.text.push_str(content);
    diff.text.push('\n');
}

/// `first,count` as a unified diff wants it: one line needs no count, and no line stands after the line before it.
fn position(range: &std::ops::Range<usize>, before: usize) -> String {
    let start = before + range.start;
    match range.len() {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    }
}

/// A path as git writes it: quoted if it holds what would end it, and closed by a tab if it holds a space.
fn quoted(path: &str) -> String {
    if path.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
        let mut out = String::from("\"");
        for c in path.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                c if c.is_control() => {
                    let mut bytes = [0; 4];
                    for byte in c.encode_utf8(&mut bytes).bytes() {
                        let _ = write!(out, "\\{byte:03o}");
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
        out
    } else if path.contains(' ') {
        format!("{path}\t")
    } else {
        path.to_owned()
    }
}
