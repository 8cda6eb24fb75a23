//! The looser tiers of the engine, asked for whole lines.

use std::ops::Range;

use super::changes::{narrow, settle_end};
use super::{Finder, claims_end, side};
use crate::diff::Role;
use crate::patch::Chunk;
use crate::patch::error::Trouble;
use crate::{Change, Edit, Tier, Within, locate};

impl<'t> Finder<'t> {
    /// Asks the looser tiers, and takes only what fits a patch.
    pub(super) fn locate(&self, chunk: &Chunk, range: &Range<usize>) -> Result<Change, Trouble> {
        let change = self.ask(chunk, range, "")?;
        let head = self.line_head(change.range.start);
        let change = if head.is_empty() || !is_indentation(head) {
            change
        } else {
            // The hit begins behind an indentation that the chunk's lines lack: so they all do, or only the first.
            let shifted = self.ask(chunk, range, head).ok();
            let shifted = shifted.filter(|shifted| self.line_head(shifted.range.start).is_empty());
            shifted.map_or(change, |shifted| Change {
                tier: shifted.tier.max(Tier::Indentation),
                ..shifted
            })
        };
        let after = self.text.get(change.range.end..).unwrap_or_default();
        let is_behind_blanks = !self.line_head(change.range.start).is_empty();
        if (is_behind_blanks && !may_start_behind_blanks(chunk))
            || !self.is_whole_lines(&change.range)
        {
            Err(Trouble::PartOfLine { line: *change.lines.start() })
        } else if claims_end(chunk) && !after.trim().is_empty() {
            Err(Trouble::NotAtEnd)
        } else {
            Ok(change)
        }
    }

    /// Asks with both sides as whole lines, each closed by a line end and with something put before it.
    fn ask(&self, chunk: &Chunk, range: &Range<usize>, indent: &str) -> Result<Change, Trouble> {
        let closed = |without| -> String {
            let indented = |line: &&str| if line.trim().is_empty() { "" } else { indent };
            side(chunk, without).iter().flat_map(|line| [indented(line), *line, "\n"]).collect()
        };
        let (old, new) = (closed(Role::Added), closed(Role::Removed));
        let edit = Edit { old: &old, new: &new, replace_all: false };
        let within = Within { range: range.clone(), at_end: claims_end(chunk) };
        let found = locate(self.text, &edit, &within).map_err(Trouble::Miss)?;
        found.into_iter().next().ok_or(Trouble::NotAtEnd)
    }

    /// What stands before a byte on its line.
    fn line_head(&self, at: usize) -> &'t str {
        let before = self.text.get(..at).unwrap_or_default();
        before.rsplit(self.separator()).next().unwrap_or_default()
    }

    fn separator(&self) -> char {
        if self.text.contains('\n') { '\n' } else { '\r' }
    }

    /// A patch is made of whole lines, so a hit inside of one is none; only its indentation may be left out.
    fn is_whole_lines(&self, range: &Range<usize>) -> bool {
        let after = self.text.get(range.end..).unwrap_or_default();
        let tail = after.split(self.separator()).next().unwrap_or_default();
        let ends_line =
            self.text.get(range.clone()).is_some_and(|hit| hit.ends_with(self.separator()));
        let head = self.line_head(range.start);
        is_indentation(head) && (ends_line || tail.trim().is_empty())
    }

    /// The change without the lines around it, and with the right end of the last line.
    pub(super) fn settled(&self, chunk: &Chunk, index: usize, change: Change) -> Change {
        let change = narrow(self.text, settle_end(self.text, chunk, change));
        Change { edit: index, ..change }
    }
}

/// Whether it does no harm that the blanks before a chunk's first line stay: not if a line goes or comes there.
fn may_start_behind_blanks(chunk: &Chunk) -> bool {
    chunk.lines.first().is_some_and(|first| match first.role {
        Role::Context => true,
        Role::Removed => !first.text.trim().is_empty() && !side(chunk, Role::Removed).is_empty(),
        Role::Added => false,
    })
}

fn is_indentation(head: &str) -> bool {
    head.chars().all(|c| c == ' ' || c == '\t')
}
