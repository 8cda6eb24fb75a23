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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::permission::{EffectKind, Layer, LayerKind};

    fn read(path: &str) -> Effect {
        let root = Path::new("/w");
        Effect::on_path(EffectKind::Read, &root.join(path), root)
    }

    fn policy(rules: &[(&str, Action)]) -> Arc<Policy> {
        let layer = Layer::new(LayerKind::User, "test");
        let layer = rules
            .iter()
            .fold(layer, |layer, (pattern, action)| layer.rule("read", pattern, *action));
        Arc::new(Policy::new(vec![layer]))
    }

    #[test]
    fn what_the_answered_rule_asks_is_covered_and_what_another_asks_or_denies_is_not() {
        let rules = [("*", Action::Ask), ("*.env", Action::Ask), ("x/*", Action::Deny)];
        let clearance = Clearance::new(policy(&rules), Vec::new(), &[read(".")]);
        let covered = ["a", "a.env", "x/a"].map(|path| clearance.covers(&read(path)));
        assert_eq!(covered, [true, false, false]);
    }

    #[test]
    fn where_the_folder_is_allowed_only_what_is_allowed_too_is_covered() {
        let rules = [("*", Action::Allow), ("*.env", Action::Ask), ("x/*", Action::Deny)];
        let clearance = Clearance::new(policy(&rules), Vec::new(), &[read(".")]);
        let covered = ["a", "a.env", "x/a"].map(|path| clearance.covers(&read(path)));
        assert_eq!(covered, [true, false, false]);
        let elsewhere = Effect::using("todowrite", "*");
        assert!(!clearance.covers(&elsewhere));
    }

    #[test]
    fn where_no_rule_speaks_the_answer_for_the_folder_holds_for_its_permission_alone() {
        let clearance = Clearance::new(policy(&[]), Vec::new(), &[read(".")]);
        assert!(clearance.covers(&read("a")));
        assert!(!clearance.covers(&Effect::run("ls")));
    }
}
