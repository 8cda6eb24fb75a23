//! Tools that are not shown from the start, to save context: which they are, and how they are loaded.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use serde_json::Value;

use crate::context::Context;
use crate::tool::Listing;
use crate::toolset::{LeftOut, Shown};

/// How much of a model's context tools that were added may take, and which were loaded since.
pub(crate) struct Deferral {
    /// Bytes of definitions.
    room: usize,
    loaded: Mutex<BTreeSet<String>>,
}

/// A tool that is deferred, with all that a model needs to call it.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The name the model calls.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// What its arguments look like.
    pub schema: Value,
}

impl Deferral {
    pub(crate) fn new(room: usize) -> Self {
        Self { room, loaded: Mutex::default() }
    }

    /// Remembers tools as loaded; `false` if they all were already.
    pub(crate) fn load(&self, names: &[String]) -> bool {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let before = loaded.len();
        loaded.extend(names.iter().cloned());
        loaded.len() > before
    }

    /// The tools for which there is no room, in order; the first ones have it.
    pub(crate) fn deferred(&self, shown: &IndexMap<String, Arc<Shown>>) -> BTreeSet<String> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut used, mut deferred) = (0_usize, BTreeSet::new());
        let mut may_wait = shown.values().collect::<Vec<_>>();
        may_wait.retain(|shown| shown.tool.listing() == Listing::WhileThereIsRoom);
        for shown in may_wait.into_iter().filter(|shown| !loaded.contains(shown.id())) {
            let schema = shown.schema.as_value().to_string();
            used = used.saturating_add(shown.tool.description().len() + schema.len());
            if used > self.room {
                deferred.insert(shown.id().to_owned());
            }
        }
        deferred
    }
}

/// Leaves out those that find deferred tools, where none is deferred.
pub(crate) fn leave_out_finders(
    shown: &mut IndexMap<String, Arc<Shown>>,
    left_out: &mut Vec<LeftOut>,
) {
    let finders = shown.values().filter(|it| it.tool.listing() == Listing::WhereOthersAreDeferred);
    let finders: Vec<String> = finders.map(|shown| shown.id().to_owned()).collect();
    for id in finders {
        shown.shift_remove(&id);
        let reason = "no tool is deferred: all of them are shown".to_owned();
        left_out.push(LeftOut { id, reason, denied: None });
    }
}

impl Context {
    /// The tools of this agent that are deferred.
    #[must_use]
    pub fn deferred(&self) -> Vec<Found> {
        self.toolset.deferred()
    }

    /// Shows these tools from now on: toolsets that are made after this advertise them.
    pub fn load(&self, names: &[String]) {
        self.toolset.runtime().load_tools(names);
    }
}
