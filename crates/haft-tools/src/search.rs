//! What `glob` and `grep` share: where they look, for how long, and what they say they did not look at.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_runtime::permission::{Clearance, EffectKind};
use haft_runtime::{CancellationToken, Output};
use haft_workspace::Workspace;
use haft_workspace::path::Place;
use haft_workspace::search::tree::Missed;
use haft_workspace::walk::{End, Harvest};
use serde_json::json;

/// How long a search goes on: whoever waits longer had better ask for less.
const DEADLINE: Duration = Duration::from_secs(30);
/// Most names that are looked at for what is only in ignored files.
pub(crate) const IGNORED_NAMES: usize = 1_000;

/// When a search is to end.
#[derive(Clone)]
pub(crate) struct Until {
    cancel: CancellationToken,
    deadline: Instant,
}

impl Until {
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self { cancel, deadline: Instant::now() + DEADLINE }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_cancelled() || self.is_late()
    }

    pub(crate) fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }
}

/// Which files below an allowed folder may be opened without asking anew.
#[derive(Clone)]
pub(crate) struct Access {
    clearance: Arc<Clearance>,
    is_outside: bool,
}

impl Access {
    pub(crate) fn new(clearance: Clearance, place: &Place) -> Self {
        Self { clearance: Arc::new(clearance), is_outside: place.inside.is_none() }
    }

    pub(crate) fn covers(&self, path: &Path, workspace: &Workspace) -> bool {
        let covers = |kind| self.clearance.covers_path(kind, path, workspace.root());
        covers(EffectKind::Read) && (!self.is_outside || covers(EffectKind::External))
    }
}

/// What was not looked at, and why.
#[derive(Debug, Default)]
pub(crate) struct NotSearched {
    counts: Vec<(&'static str, usize, &'static str)>,
    stopped: Option<&'static str>,
}

impl NotSearched {
    pub(crate) fn of(harvest: &Harvest, missed: &Missed) -> Self {
        let met = &harvest.met;
        let counts = vec![
            ("ignored", met.ignored, "ignored"),
            ("withheld", missed.withheld, "whose reading asks (give one as path to ask for it)"),
            ("binary", missed.binary, "binary"),
            ("too_large", missed.too_large, "too large, or with a line over 16 MB"),
            ("unreadable", missed.unreadable, "unreadable"),
            ("unreadable_folders", met.unreadable, "unreadable folders"),
            ("links", met.links, "links"),
            ("special", met.special, "pipes, sockets or devices"),
        ];
        let stopped = (harvest.end == End::TooMuch)
            .then_some("there are too many files to look at; give a narrower path");
        Self { counts, stopped }
    }

    /// Says that time ran out.
    pub(crate) fn late(mut self, is_late: bool) -> Self {
        if is_late {
            self.stopped = Some("it was stopped after 30 s; give a narrower path or include");
        }
        self
    }

    /// The line for the model; empty if all was looked at.
    pub(crate) fn line(&self) -> String {
        let some = self.counts.iter().filter(|(_, count, _)| *count > 0);
        let said: Vec<String> = some.map(|(_, count, what)| format!("{count} {what}")).collect();
        let counts = if said.is_empty() {
            String::new()
        } else {
            format!("Not searched: {}.", said.join(", "))
        };
        let stopped = self.stopped.map(|why| format!("Not complete: {why}."));
        let lines = [Some(counts).filter(|text| !text.is_empty()), stopped];
        lines.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// The same for the surfaces.
    pub(crate) fn describe(&self, output: Output) -> Output {
        let mut counts = serde_json::Map::new();
        for (key, count, _) in self.counts.iter().filter(|(_, count, _)| *count > 0) {
            counts.insert((*key).to_owned(), json!(count));
        }
        let output = output.with("not_searched", counts);
        match self.stopped {
            Some(why) => output.with("incomplete", why),
            None => output,
        }
    }
}

/// `1 file`, `2 files`.
pub(crate) fn counted(count: impl Into<u64>, what: &str) -> String {
    let count: u64 = count.into();
    match what {
        _ if count == 1 => format!("1 {what}"),
        "match" | "process" => format!("{count} {what}es"),
        "entry" => format!("{count} entries"),
        _ => format!("{count} {what}s"),
    }
}
