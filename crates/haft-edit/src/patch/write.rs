//! Writing a patch in the envelope format.

use std::fmt::Write as _;

use super::place::{Sight, View};
use crate::diff::{Bounds, Group, Lines, NO_NEWLINE, Role, Step, grouped};

/// Writes the change of one file as an envelope. Each chunk has as many lines around it as it needs to stand at one
/// place only. The text is empty if nothing changed.
#[must_use]
pub fn write_patch(path: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let view = View::new(old, Sight::Exact);
    let mut context = Bounds::WHOLE.context;
    let (lines, groups) = loop {
        let (lines, groups) = grouped(old, new, &Bounds { context, ..Bounds::WHOLE });
        let whole = context >= lines.old.len();
        if whole || groups.iter().all(|group| is_unique(&view, &lines, group)) {
            break (lines, groups);
        }
        context = context.saturating_mul(4);
    };
    let mut out = format!("*** Begin Patch\n*** Update File: {path}\n");
    for group in &groups {
        out.push_str("@@\n");
        for Step { role, line, .. } in group.steps(&lines) {
            let content = line.strip_suffix('\n');
            let _ = writeln!(out, "{}{}", role.sign(), content.unwrap_or(line));
            if content.is_none() {
                let _ = writeln!(out, "{NO_NEWLINE}");
            }
        }
    }
    out.push_str("*** End Patch\n");
    out
}

fn is_unique(view: &View<'_>, lines: &Lines<'_>, group: &Group) -> bool {
    let old = group.steps(lines).filter(|step| step.role != Role::Added);
    let old: Vec<&str> =
        old.map(|step| step.line.strip_suffix('\n').unwrap_or(step.line)).collect();
    old.is_empty() || view.search(&old).len() == 1
}
