//! What a call may touch without asking again, once it was allowed to go through a folder.

use std::sync::Arc;

use super::effect::Effect;
use super::gate::granted;
use super::policy::{Action, Policy, RuleRef};
use crate::store::Grant;

/// Decides about many effects from any thread, without asking anybody.
///
/// Whoever searches a folder was asked about the folder, not about each of the files in it. A file
/// is covered where a rule or a grant allows it, or where the rule that asks about it is the very one
/// that asked about the folder and was answered. What another rule asks about, such as a key or a
/// file of secrets, is not.
pub struct Clearance {
    policy: Arc<Policy>,
    grants: Vec<Grant>,
    /// What asked about the whole, by permission; none where no rule speaks of it.
    answered: Vec<(String, Option<RuleRef>)>,
}

impl Clearance {
    pub(super) fn new(policy: Arc<Policy>, grants: Vec<Grant>, allowed: &[Effect]) -> Self {
        let asking = |effect: &Effect| {
            let decision = policy.decide(effect);
            (decision.action == Action::Ask).then(|| (effect.key.to_string(), decision.rule))
        };
        let answered = allowed.iter().filter_map(asking).collect();
        Self { policy, grants, answered }
    }

    /// Whether `effect` needs no answer of its own.
    #[must_use]
    pub fn covers(&self, effect: &Effect) -> bool {
        if self.policy.allows(effect) {
            return true;
        }
        let decision = self.policy.decide(effect);
        if decision.action != Action::Ask {
            return decision.action == Action::Allow;
        }
        let is_answered = |(key, rule): &(String, _)| *key == *effect.key && *rule == decision.rule;
        self.answered.iter().any(is_answered)
            || granted(&self.policy, &self.grants, effect).is_some()
    }
}
