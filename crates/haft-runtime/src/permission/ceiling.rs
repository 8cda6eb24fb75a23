//! Policies above a policy: a parent's, always, and a mode's, while it is switched on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::policy::Policy;

/// Something that is on or off for everybody who has a copy of it, such as a mode.
#[derive(Debug, Clone, Default)]
pub struct Switch(Arc<AtomicBool>);

impl Switch {
    /// Switches it; every decision from now on heeds that, of calls that have begun too.
    pub fn set(&self, on: bool) {
        self.0.store(on, Ordering::SeqCst);
    }

    /// Whether it is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A policy that another may not be laxer than.
#[derive(Debug, Clone)]
pub(super) struct Ceiling {
    policy: Arc<Policy>,
    /// It only holds while this is on; always, where there is none.
    switch: Option<Switch>,
}

impl Ceiling {
    /// The policy, if it holds right now.
    pub(super) fn in_force(&self) -> Option<&Policy> {
        let holds = self.switch.as_ref().is_none_or(Switch::is_on);
        holds.then_some(self.policy.as_ref())
    }
}

impl Policy {
    /// Puts the policy under that of a parent: no decision is laxer than the parent's.
    #[must_use]
    pub fn under(mut self, parent: Arc<Self>) -> Self {
        self.ceilings.push(Ceiling { policy: parent, switch: None });
        self
    }

    /// Puts the policy under another while `switch` is on: no decision is laxer then.
    #[must_use]
    pub fn under_while(mut self, switch: &Switch, mode: Arc<Self>) -> Self {
        self.ceilings.push(Ceiling { policy: mode, switch: Some(switch.clone()) });
        self
    }

    /// The policies that it may not be laxer than.
    pub(super) fn ceilings(&self) -> impl Iterator<Item = &Self> {
        self.ceilings.iter().filter_map(Ceiling::in_force)
    }
}
