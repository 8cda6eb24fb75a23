//! Where the chunks of one file go.
//!
//! Whole lines are searched first: exactly, then with any line ends, then with any blanks before those. Only if that
//! finds nothing, the looser tiers of [`locate`](crate::locate) are asked. What stands at several places is settled by
//! `@@` lines, or by the line number of a unified diff if one place is clearly nearest; never by taking the first.

mod changes;
mod headers;
mod looser;
mod view;

use std::cell::OnceCell;

pub(super) use view::{Sight, View};

use self::changes::{FinalEnd, compose};
use self::headers::{Scope, scopes};
use super::error::{PatchError, Trouble};
use super::{Chunk, PatchLine};
use crate::diff::Role;
use crate::{Change, Tier};

/// Finds where the chunks go, all on the original text, in whatever order they come. The changes are in the order of
/// the text, do not overlap, and leave out the lines that only stand around them; [`Change::edit`] is the index of the
/// chunk.
///
/// # Errors
///
/// The first chunk that has no place, several places, or the place of another chunk.
pub fn apply_chunks(
    path: &str,
    original: &str,
    chunks: &[Chunk],
) -> Result<Vec<Change>, PatchError> {
    let fail = |index: usize, trouble: Trouble| PatchError {
        file: path.to_owned(),
        chunk: index + 1,
        patch_line: chunks.get(index).map_or(0, |chunk| chunk.patch_line),
        trouble,
    };
    let finder = Finder::new(original);
    let mut found = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        found.push(finder.find(chunk, index).map_err(|trouble| fail(index, trouble))?);
    }
    let mut changes = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let settled = match found.get(index) {
            Some(Found::Changes(ready, _)) => Ok(ready.clone()),
            Some(Found::Choice(sight, places)) => {
                let shift = shift_near(&found, chunks, index);
                finder.choose(chunk, index, *sight, places, shift)
            }
            None => Ok(Vec::new()),
        };
        changes.extend(settled.map_err(|trouble| fail(index, trouble))?);
    }
    changes.sort_by_key(|change| (change.range.start, change.range.end, change.edit));
    match overlap(&changes) {
        Some((index, trouble)) => Err(fail(index, trouble)),
        None => Ok(changes),
    }
}

/// What was found for one chunk.
enum Found {
    /// Its changes, and the line from zero at which it stands if whole lines were found.
    Changes(Vec<Change>, Option<usize>),
    /// Several lines at which it may stand, of which the line number may choose.
    Choice(Sight, Vec<usize>),
}

struct Finder<'t> {
    text: &'t str,
    exact: View<'t>,
    line_ends: View<'t>,
    /// Only made when the others do not hold a chunk.
    trailing_blanks: OnceCell<View<'t>>,
}

impl<'t> Finder<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            exact: View::new(text, Sight::Exact),
            line_ends: View::new(text, Sight::LineEnds),
            trailing_blanks: OnceCell::new(),
        }
    }

    fn view(&self, sight: Sight) -> &View<'t> {
        match sight {
            Sight::Exact => &self.exact,
            Sight::LineEnds => &self.line_ends,
            Sight::TrailingBlanks => {
                self.trailing_blanks.get_or_init(|| View::new(self.text, Sight::TrailingBlanks))
            }
        }
    }

    fn find(&self, chunk: &Chunk, index: usize) -> Result<Found, Trouble> {
        let old = side(chunk, Role::Added);
        if old.is_empty() {
            return self.insertion(chunk, index);
        }
        let scopes = if chunk.headers.is_empty() {
            None
        } else {
            Some(scopes(&self.line_ends, &chunk.headers))
        };
        for sight in sights(chunk) {
            let view = self.view(*sight);
            let places = at_end(chunk, view, view.search(&old), old.len())?;
            let places = match &scopes {
                Some(Ok(scopes)) => self.within(chunk, scopes, places, old.len())?,
                _ => places,
            };
            match places.as_slice() {
                [] => {}
                [place] => {
                    let changes = compose(view, chunk, *place, index, sight.tier());
                    return Ok(Found::Changes(changes, Some(*place)));
                }
                _ if chunk.hint_line.is_some() => return Ok(Found::Choice(*sight, places)),
                _ => return Err(several(&places, chunk)),
            }
        }
        match scopes {
            Some(scopes) => self.looser_within(chunk, index, &scopes?),
            None => self.looser(chunk, index),
        }
    }

    /// Lines to add where nothing is removed and nothing stands around.
    fn insertion(&self, chunk: &Chunk, index: usize) -> Result<Found, Trouble> {
        let sight =
            if sights(chunk).contains(&Sight::LineEnds) { Sight::LineEnds } else { Sight::Exact };
        let view = self.view(sight);
        let row = if self.text.is_empty() || claims_end(chunk) {
            view.rows.len()
        } else if chunk.headers.is_empty() {
            return Err(Trouble::Nowhere);
        } else {
            match scopes(view, &chunk.headers)?.as_slice() {
                [scope] => scope.header + 1,
                scopes => {
                    let lines: Vec<usize> = scopes.iter().map(|scope| scope.header).collect();
                    return Err(several(&lines, chunk));
                }
            }
        };
        let tier = if view.line_ends_are_plain() { Tier::Exact } else { sight.tier() };
        Ok(Found::Changes(compose(view, chunk, row, index, tier), Some(row)))
    }

    /// The places that the headers leave.
    fn within(
        &self,
        chunk: &Chunk,
        scopes: &[Scope],
        places: Vec<usize>,
        len: usize,
    ) -> Result<Vec<usize>, Trouble> {
        let inside = |place: &usize| scopes.iter().any(|scope| scope.block.contains(place));
        let around = |place: &usize| {
            scopes.iter().any(|scope| (*place..*place + len).contains(&scope.header))
        };
        let below = |place: &usize| scopes.iter().any(|scope| *place > scope.header);
        let pick = |keep: &dyn Fn(&usize) -> bool| {
            places.iter().copied().filter(|place| keep(place)).collect::<Vec<_>>()
        };
        let (inside, around, below) = (pick(&inside), pick(&around), pick(&below));
        if !inside.is_empty() {
            return Ok(inside);
        }
        if !around.is_empty() || below.is_empty() {
            return Ok(around);
        }
        // Below the header, but not in what seems to belong to it: taken only if nothing there is meant instead.
        let nearer = self.looser_places(chunk, scopes)?;
        if nearer.is_empty() { Ok(below) } else { Err(several(&below, chunk)) }
    }

    fn looser_within(
        &self,
        chunk: &Chunk,
        index: usize,
        scopes: &[Scope],
    ) -> Result<Found, Trouble> {
        let mut places = self.looser_places(chunk, scopes)?;
        if places.len() > 1 {
            let lines: Vec<usize> = places.iter().map(|change| change.lines.start() - 1).collect();
            return Err(several(&lines, chunk));
        }
        let change = match places.pop() {
            Some(change) => change,
            None => {
                let first = scopes.first().map_or(0, |scope| self.line_ends.start(scope.header));
                self.locate(chunk, &(first..self.text.len()))?
            }
        };
        Ok(Found::Changes(vec![self.settled(chunk, index, change)], None))
    }

    /// What the looser tiers find in the blocks of the headers; each block costs a search, so there may be only a few.
    fn looser_places(&self, chunk: &Chunk, scopes: &[Scope]) -> Result<Vec<Change>, Trouble> {
        const MOST: usize = 8;
        if scopes.len() > MOST {
            let lines: Vec<usize> = scopes.iter().map(|scope| scope.header).collect();
            return Err(several(&lines, chunk));
        }
        let blocks = scopes.iter().map(|scope| self.line_ends.bytes(&scope.block));
        let mut places: Vec<Change> =
            blocks.filter_map(|block| self.locate(chunk, &block).ok()).collect();
        places.dedup_by(|a, b| a.range == b.range);
        Ok(places)
    }

    fn looser(&self, chunk: &Chunk, index: usize) -> Result<Found, Trouble> {
        let change = self.locate(chunk, &(0..self.text.len()))?;
        Ok(Found::Changes(vec![self.settled(chunk, index, change)], None))
    }

    /// Chooses among several places by the line number of the chunk, corrected by how far its neighbours moved.
    fn choose(
        &self,
        chunk: &Chunk,
        index: usize,
        sight: Sight,
        places: &[usize],
        shift: isize,
    ) -> Result<Vec<Change>, Trouble> {
        let expected =
            chunk.hint_line.unwrap_or_default().saturating_sub(1).saturating_add_signed(shift);
        let place = nearest(places, expected).ok_or_else(|| several(places, chunk))?;
        Ok(compose(self.view(sight), chunk, place, index, sight.tier()))
    }
}

/// How lines may be compared to find a chunk: if it has `\r` itself, line ends count.
fn sights(chunk: &Chunk) -> &'static [Sight] {
    if chunk.lines.iter().any(|line| line.text.contains('\r')) {
        &[Sight::Exact]
    } else {
        &[Sight::Exact, Sight::LineEnds, Sight::TrailingBlanks]
    }
}

/// One side of a chunk: all lines but those that only the other side has.
fn side(chunk: &Chunk, without: Role) -> Vec<&str> {
    let of = |line: &&PatchLine| line.role != without;
    chunk.lines.iter().filter(of).map(|line| line.text.as_str()).collect()
}

/// Whether a chunk says that it reaches the end of the file.
const fn claims_end(chunk: &Chunk) -> bool {
    chunk.at_end || chunk.no_newline.is_said()
}

/// The places that fit what the chunk says about the end of the file. That it ends there is only a help where its
/// lines stand exactly, unless the line end of the last line is to change.
fn at_end(
    chunk: &Chunk,
    view: &View<'_>,
    places: Vec<usize>,
    len: usize,
) -> Result<Vec<usize>, Trouble> {
    if !claims_end(chunk) || places.is_empty() {
        return Ok(places);
    }
    match places.iter().copied().find(|place| place + len == view.rows.len()) {
        Some(place) => Ok(vec![place]),
        None if FinalEnd::of(chunk) != FinalEnd::Keep => Err(Trouble::NotAtEnd),
        None if view.is(Sight::Exact) => Ok(places),
        None => Ok(Vec::new()),
    }
}

/// How far the nearest chunk whose place is certain stands from where its line number says.
fn shift_near(found: &[Found], chunks: &[Chunk], index: usize) -> isize {
    let certain = |(at, (found, chunk)): (usize, (&Found, &Chunk))| match (found, chunk.hint_line) {
        (Found::Changes(_, Some(place)), Some(hint)) => {
            let expected = isize::try_from(hint.saturating_sub(1)).ok()?;
            Some((at.abs_diff(index), isize::try_from(*place).ok()?.checked_sub(expected)?))
        }
        _ => None,
    };
    found
        .iter()
        .zip(chunks)
        .enumerate()
        .filter_map(certain)
        .min_by_key(|(distance, _)| *distance)
        .map_or(0, |(_, shift)| shift)
}

/// The place nearest to a line, if it is the expected one or the next one is three times as far.
fn nearest(places: &[usize], expected: usize) -> Option<usize> {
    let mut distances: Vec<(usize, usize)> =
        places.iter().map(|place| (place.abs_diff(expected), *place)).collect();
    distances.sort_unstable();
    match distances.as_slice() {
        [(0, place), ..] | [(_, place)] => Some(*place),
        [(near, place), (next, _), ..] if near.saturating_mul(3) <= *next => Some(*place),
        _ => None,
    }
}

fn several(places: &[usize], chunk: &Chunk) -> Trouble {
    let advice = match (chunk.headers.is_empty(), chunk.hint_line) {
        (_, Some(_)) => {
            "its line number does not say which; add lines of context until only one place is left"
        }
        (true, None) => "add lines of context, or an `@@` line that names the function or section",
        (false, None) => {
            "its `@@` line does not say which; add lines of context or a further `@@` line"
        }
    };
    Trouble::Several {
        count: places.len(),
        lines: places.iter().take(5).map(|place| place + 1).collect(),
        advice,
    }
}

/// Two changes of different chunks that touch the same bytes, or add at the same place.
fn overlap(changes: &[Change]) -> Option<(usize, Trouble)> {
    changes.windows(2).find_map(|pair| {
        let [a, b] = pair else { return None };
        let same_insertion =
            a.range.is_empty() && b.range.is_empty() && a.range.start == b.range.start;
        let clash = a.range.end > b.range.start || same_insertion;
        let first = *a.lines.start().min(b.lines.start());
        let last = *a.lines.end().max(b.lines.end());
        (a.edit != b.edit && clash).then(|| {
            (a.edit.max(b.edit), Trouble::Overlap { other: a.edit.min(b.edit) + 1, first, last })
        })
    })
}
