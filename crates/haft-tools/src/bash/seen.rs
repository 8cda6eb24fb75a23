//! What a command changes: of what the session has read, and of the whole workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use haft_runtime::Context;
use haft_runtime::permission::{Effect, EffectKind};
use haft_shell::Changes;
use haft_workspace::Workspace;
use haft_workspace::journal::Label;

use super::changes::{self, Before, Scope, Taken};
use super::effects::Plan;
use super::stash::Stash;
use crate::files::Files;

/// The state of things before a command.
#[derive(Default)]
pub(super) struct Seen {
    /// The files that the session has read.
    files: Vec<(PathBuf, Sight)>,
    /// The workspace; none where there is no journal.
    before: Option<Before>,
}

/// What is otherwise after it, as it is shown.
#[derive(Default)]
pub(super) struct Differences {
    /// Files that the session has read.
    pub(super) stale: Vec<String>,
    /// How many changes undo takes back.
    pub(super) recorded: usize,
    /// What undo cannot take back.
    pub(super) uncovered: Vec<String>,
    /// Whether there may be more that nobody has looked at.
    pub(super) unseen: bool,
}

/// What tells cheaply that a file is as it was.
type Sight = Option<(u64, SystemTime)>;

impl Seen {
    /// Looks before a command starts. One that is known to change nothing is not looked after.
    pub(super) async fn look(files: &Files, stash: &Arc<Stash>, plan: &Plan, cx: &Context) -> Self {
        let changing = plan
            .effects
            .iter()
            .filter(|effect| matches!(effect.kind, EffectKind::Write | EffectKind::Delete));
        let mut named: Vec<PathBuf> = changing.filter_map(Effect::path).collect();
        if plan.changes == Changes::Told && named.is_empty() {
            return Self::default();
        }
        let read = files.stamps.files(cx).await.unwrap_or_default();
        let journal = files.journal.clone();
        if read.is_empty() && journal.is_none() {
            return Self::default();
        }
        let (stash, changes) = (Arc::clone(stash), plan.changes);
        let look = move |workspace: &Workspace| {
            let files = read.iter().map(|file| (file.clone(), sight(file))).collect();
            let scope = match changes {
                Changes::Told => Scope::Named(named),
                Changes::Open => {
                    named.extend(read);
                    Scope::Any(named)
                }
            };
            let root = workspace.root();
            let before = journal.map(|journal| changes::look(root, &journal, &stash, scope));
            Self { files, before }
        };
        // What could not be looked at is not compared.
        files.blocking(look).await.unwrap_or_default()
    }

    /// Compares after it has ended, and takes down what undo needs.
    pub(super) async fn compare(self, files: &Files, label: Label) -> Differences {
        if self.files.is_empty() && self.before.is_none() {
            return Differences::default();
        }
        let journal = files.journal.clone();
        let compare = move |workspace: &Workspace| {
            let shown = |path: PathBuf| workspace.place(path, true).shown();
            let stale = self.files.into_iter().filter(|(file, before)| sight(file) != *before);
            let stale = stale.map(|(file, _)| shown(file)).collect();
            let taken = match (self.before, journal) {
                (Some(before), Some(journal)) => before.take_down(&journal, label),
                _ => Taken::default(),
            };
            let uncovered = taken.uncovered.iter().cloned().map(shown).collect();
            let Taken { recorded, unseen, .. } = taken;
            Differences { stale, recorded, uncovered, unseen }
        };
        files.blocking(compare).await.unwrap_or_default()
    }
}

fn sight(file: &Path) -> Sight {
    let meta = fs_err::metadata(file).ok()?;
    Some((meta.len(), meta.modified().ok()?))
}
