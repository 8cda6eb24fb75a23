//! What a session has seen of a file: which content, and which of its lines.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use haft_runtime::{Context, Documents, InitContext, Scope, SessionId, ToolError};
use haft_workspace::write::Hash;
use serde::{Deserialize, Serialize};

/// Most stretches that are told apart; beyond that the small gaps are not worth remembering.
const STRETCHES: usize = 200;

/// What the names of stamps begin with.
const SEEN: &str = "seen ";
/// Most files of a session that are looked through for a text.
const FILES: usize = 100;

/// What a session has seen of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// The hash of the content; none if nothing was seen.
    content: Option<String>,
    /// How many lines that content has.
    total: u64,
    /// The lines that were shown: first and last of each stretch, in order and apart.
    shown: Vec<(u64, u64)>,
}

/// What is known of a file before it is changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sight<'a> {
    /// The session has not seen it.
    Never,
    /// It is no longer what the session saw.
    Stale,
    /// It is what the session saw, and these lines of so many were shown.
    Part(&'a [(u64, u64)], u64),
    /// All of it was shown as it is.
    Whole,
}

impl Stamp {
    /// The stamp of a content of which these lines were shown.
    pub(crate) fn of(
        content: Hash,
        total: u64,
        shown: impl IntoIterator<Item = (u64, u64)>,
    ) -> Self {
        let content = Some(content.to_hex().to_string());
        let mut stamp = Self { content, total, shown: Vec::new() };
        stamp.show(shown);
        stamp
    }

    /// The stamp of a content that was shown, or written, as a whole.
    pub(crate) fn whole(content: Hash, total: u64) -> Self {
        Self::of(content, total, [(1, total)])
    }

    /// What the session has seen of a file that holds `now`.
    pub(crate) fn sight(&self, now: Hash) -> Sight<'_> {
        match &self.content {
            None => Sight::Never,
            Some(content) if *content != *now.to_hex().as_str() => Sight::Stale,
            Some(_) => match self.shown.as_slice() {
                _ if self.total == 0 => Sight::Whole,
                [(1, last)] if *last >= self.total => Sight::Whole,
                shown => Sight::Part(shown, self.total),
            },
        }
    }

    /// Takes over what was shown now: added to what is known of the same content, or in its place.
    fn merge(&mut self, seen: Self) {
        if self.content == seen.content {
            self.show(seen.shown);
        } else {
            *self = seen;
        }
    }

    /// Adds lines, and joins what touches.
    fn show(&mut self, lines: impl IntoIterator<Item = (u64, u64)>) {
        self.shown.extend(lines.into_iter().filter(|(first, last)| first <= last));
        self.shown.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(self.shown.len());
        for (first, last) in self.shown.drain(..) {
            match joined.last_mut() {
                Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        joined.truncate(STRETCHES);
        self.shown = joined;
    }

    /// The same after lines were replaced: what follows them has moved, and the new ones are known.
    pub(crate) fn after_edit(&self, content: Hash, total: u64, changes: &[Moved]) -> Self {
        let mut shown = self.shown.clone();
        // From the end, so that the lines of the earlier ones still have their old numbers.
        for Moved { first, removed, added } in changes.iter().rev() {
            let moved = |line: u64| (line + added).saturating_sub(*removed);
            let (gone, mut kept) = (*first..first + removed, Vec::new());
            for (from, to) in shown {
                kept.push((from, to.min(gone.start.saturating_sub(1))));
                kept.push((moved(from.max(gone.end)), moved(to.max(gone.end.saturating_sub(1)))));
                if to < gone.end {
                    kept.pop();
                }
            }
            if *added > 0 {
                kept.push((*first, first + added - 1));
            }
            kept.retain(|(from, to)| from <= to);
            shown = kept;
        }
        Self::of(content, total, shown)
    }
}

/// Lines that took the place of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// The first line, as it was numbered before.
    pub(crate) first: u64,
    /// How many went.
    pub(crate) removed: u64,
    /// How many came.
    pub(crate) added: u64,
}

/// Where stamps are kept: in the store, or for the life of the program if there is none. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Stamps {
    documents: Option<Documents>,
}

/// The stamps of programs without a store. One for all tools: what one has shown, another may change.
static MEMORY: LazyLock<Mutex<HashMap<(SessionId, PathBuf), Stamp>>> =
    LazyLock::new(Mutex::default);
/// Most that are remembered there; then all are forgotten, and files are read anew.
const REMEMBERED: usize = 10_000;

fn memory() -> MutexGuard<'static, HashMap<(SessionId, PathBuf), Stamp>> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stamps {
    pub(crate) fn open(cx: &InitContext<'_>) -> Self {
        Self { documents: cx.documents.cloned() }
    }

    /// What the session of a call has seen of a file.
    pub(crate) async fn get(&self, cx: &Context, path: &Path) -> Result<Stamp, ToolError> {
        match &self.documents {
            Some(documents) => documents.get(scope(cx), name(path)).await,
            None => {
                let key = (cx.session.clone(), path.to_owned());
                Ok(memory().get(&key).cloned().unwrap_or_default())
            }
        }
    }

    /// Some of the files that the session of a call has seen.
    pub(crate) async fn files(&self, cx: &Context) -> Result<Vec<PathBuf>, ToolError> {
        match &self.documents {
            Some(documents) => {
                let names = documents.names(scope(cx), SEEN, FILES).await?;
                Ok(names
                    .iter()
                    .filter_map(|name| name.strip_prefix(SEEN))
                    .map(Into::into)
                    .collect())
            }
            None => {
                let memory = memory();
                let of_session = memory.keys().filter(|(session, _)| *session == cx.session);
                Ok(of_session.take(FILES).map(|(_, path)| path.clone()).collect())
            }
        }
    }

    /// Whether the session is known to have seen that much. It waits for nobody.
    pub(crate) fn has(&self, session: &SessionId, path: &Path, seen: Stamp) -> bool {
        let known: Option<Stamp> = match &self.documents {
            Some(documents) => {
                documents.glimpse(&Scope::Session(session.clone()), &name(path)).ok()
            }
            None => memory().get(&(session.clone(), path.to_owned())).cloned(),
        };
        known.is_some_and(|known| {
            let mut merged = known.clone();
            merged.merge(seen);
            merged == known
        })
    }

    /// Remembers what was shown. For a thread that may wait.
    pub(crate) fn add(
        &self,
        session: &SessionId,
        path: &Path,
        seen: &Stamp,
    ) -> Result<(), ToolError> {
        self.update(session, path, |stamp| stamp.merge(seen.clone()))
    }

    /// Remembers what a change of ours has made of a file.
    pub(crate) async fn set(&self, cx: &Context, path: &Path, now: Stamp) -> Result<(), ToolError> {
        let (own, session, path) = (self.clone(), cx.session.clone(), path.to_owned());
        let set = move || own.update(&session, &path, |stamp| *stamp = now.clone());
        let done = tokio::task::spawn_blocking(set).await;
        done.map_err(|error| ToolError::caused("the store did not answer", error))?
    }

    fn update(
        &self,
        session: &SessionId,
        path: &Path,
        mut change: impl FnMut(&mut Stamp),
    ) -> Result<(), ToolError> {
        match &self.documents {
            Some(documents) => {
                let scope = Scope::Session(session.clone());
                documents.update_here(&scope, &name(path), |stamp: &mut Stamp| {
                    change(stamp);
                    Ok(())
                })
            }
            None => {
                let mut memory = memory();
                if memory.len() >= REMEMBERED {
                    memory.clear();
                }
                change(memory.entry((session.clone(), path.to_owned())).or_default());
                Ok(())
            }
        }
    }
}

fn scope(cx: &Context) -> Scope {
    Scope::Session(cx.session.clone())
}

fn name(path: &Path) -> String {
    format!("{SEEN}{}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> Hash {
        haft_workspace::write::hash(text.as_bytes())
    }

    #[test]
    fn what_is_shown_in_pieces_becomes_a_whole() {
        let mut stamp = Stamp::default();
        assert_eq!(stamp.sight(hash("a")), Sight::Never);
        stamp.merge(Stamp::of(hash("a"), 10, [(7, 10), (1, 3)]));
        assert_eq!(stamp.sight(hash("a")), Sight::Part(&[(1, 3), (7, 10)], 10));
        assert_eq!(stamp.sight(hash("b")), Sight::Stale);
        stamp.merge(Stamp::of(hash("a"), 10, [(4, 6)]));
        assert_eq!(stamp.sight(hash("a")), Sight::Whole);
        stamp.merge(Stamp::of(hash("b"), 10, [(4, 6)]));
        assert_eq!(stamp.sight(hash("b")), Sight::Part(&[(4, 6)], 10));
        assert_eq!(Stamp::whole(hash(""), 0).sight(hash("")), Sight::Whole);
    }

    #[test]
    fn lines_keep_their_sight_when_others_move() {
        let stamp = Stamp::of(hash("a"), 20, [(1, 5), (10, 12), (18, 20)]);
        let edits =
            [Moved { first: 3, removed: 1, added: 4 }, Moved { first: 11, removed: 1, added: 0 }];
        let after = stamp.after_edit(hash("b"), 22, &edits);
        assert_eq!(after.sight(hash("b")), Sight::Part(&[(1, 8), (13, 14), (20, 22)], 22));
        let whole = Stamp::whole(hash("a"), 20).after_edit(hash("b"), 22, &edits);
        assert_eq!(whole.sight(hash("b")), Sight::Whole);
        let all = [Moved { first: 1, removed: 20, added: 0 }];
        assert_eq!(whole.after_edit(hash("c"), 0, &all).sight(hash("c")), Sight::Whole);
    }
}
