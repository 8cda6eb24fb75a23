//! A text file that is changed in places: read whole, changed in its bytes, remembered as seen.

use haft_edit::{Change as Span, Tier, apply};
use haft_runtime::ToolError;
use haft_workspace::Workspace;
use haft_workspace::kind::{Kind, of_probe};
use haft_workspace::path::Place;
use haft_workspace::text::Encoding;
use haft_workspace::write::Hash;

use crate::change::{Change, Current, current};
use crate::stamps::{Moved, Sight, Stamp};

/// Lines shown of a place that was changed by somebody else.
const FRESH: usize = 20;

/// How much of a file tells whether it is text.
const PROBE: usize = 8 * 1024;

/// A text file as it is.
pub(crate) struct TextFile {
    pub(crate) place: Place,
    pub(crate) current: Current,
    encoding: Encoding,
    pub(crate) text: String,
}

impl TextFile {
    /// Reads a file that must be text; none if there is none.
    pub(crate) fn read(workspace: &Workspace, place: &Place) -> Result<Option<Self>, ToolError> {
        let Some(current) = current(workspace, place)? else { return Ok(None) };
        let probe = current.bytes.get(..PROBE).unwrap_or(&current.bytes);
        let encoding = match of_probe(probe, probe.len() == current.bytes.len()) {
            Kind::Text(_) => Encoding::detect(&current.bytes, true),
            Kind::Empty | Kind::Sizeless => Encoding::Utf8,
            Kind::Picture(_) | Kind::Pdf | Kind::Binary { .. } => {
                return Err(ToolError::failed(format!(
                    "{} is not text, so no part of it can be edited",
                    place.shown()
                )));
            }
        };
        let text = encoding.decode(&current.bytes).text.into_owned();
        Ok(Some(Self { place: place.clone(), current, encoding, text }))
    }

    /// What becomes of the file when the spans are replaced: their bytes change, and no other.
    pub(crate) fn changed(self, spans: &[Span]) -> Result<Change, ToolError> {
        let changes: Vec<_> =
            spans.iter().map(|span| (span.range.clone(), span.replacement.as_str())).collect();
        let after = self.encoding.splice(&self.current.bytes, &changes).map_err(|error| {
            ToolError::failed(format!("{} cannot be changed so: {error}", self.place.shown()))
        })?;
        let old = |span: &Span| self.text.get(span.range.clone()).unwrap_or_default().to_owned();
        let pairs = spans.iter().map(|span| (old(span), span.replacement.clone())).collect();
        let new = apply(&self.text, spans);
        let (before, after) = (Some(self.current), Some(after));
        Ok(Change { pairs, ..Change::new(self.place, before, after, (self.text, new)) })
    }

    /// Refuses a loose match in a file that is no longer what the session saw: the text that the
    /// model gave may mean another place now.
    pub(crate) fn check_fresh(&self, stamp: &Stamp, spans: &[Span]) -> Result<(), ToolError> {
        if stamp.sight(self.current.hash) != Sight::Stale {
            return Ok(());
        }
        let Some(loose) = spans.iter().find(|span| span.tier > Tier::LineEnds) else {
            return Ok(());
        };
        let (first, last) = (*loose.lines.start(), *loose.lines.end());
        let lines = self.text.lines().enumerate().skip(first - 1).take(last + 1 - first);
        let fresh: Vec<String> = lines
            .take(FRESH)
            .map(|(index, line)| format!("{:>5}→{}", index + 1, shortened(line)))
            .collect();
        Err(ToolError::failed(format!(
            "{} has changed since it was read, and the text to replace is no longer there as given. What is there now:\n{}",
            self.place.shown(),
            fresh.join("\n")
        )))
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(200).collect()
}

/// What the session has seen once the spans are replaced.
pub(crate) fn stamp_after(stamp: &Stamp, before: Hash, change: &Change, spans: &[Span]) -> Stamp {
    let after = change.hash();
    let total = change.texts.1.lines().count() as u64;
    let moved: Vec<Moved> = spans.iter().map(|span| moved(&change.texts.0, span)).collect();
    match stamp.sight(before) {
        Sight::Whole | Sight::Part(..) => stamp.after_edit(after, total, &moved),
        // Of a file that it has not seen as it was, it knows what it wrote.
        Sight::Never | Sight::Stale => Stamp::default().after_edit(after, total, &moved),
    }
}

fn moved(text: &str, span: &Span) -> Moved {
    let ends = |text: &str| text.matches('\n').count() as u64;
    let (first, last) = (*span.lines.start() as u64, *span.lines.end() as u64);
    let removed = last + 1 - first;
    let gone = ends(text.get(span.range.clone()).unwrap_or_default());
    Moved { first, removed, added: (removed + ends(&span.replacement)).saturating_sub(gone) }
}
