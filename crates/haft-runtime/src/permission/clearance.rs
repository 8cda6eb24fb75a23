//! What a call may touch without asking, or without asking again once it was let into a folder.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use aho_corasick::AhoCorasick;

use super::effect::{Effect, EffectKind};
use super::gate::granted;
use super::pattern::Pattern;
use super::policy::{Action, Decision, Policy, RuleRef};
use crate::error::ToolError;
use crate::runtime::Runtime;
use crate::store::Grant;

/// What the rules allow, for a tool that finds out on another thread whether it has to ask at all.
#[derive(Clone)]
pub struct Rules {
    runtime: Runtime,
    policy: Arc<Policy>,
    is_asked: bool,
}

impl Rules {
    /// `is_asked`: the user is to be asked, whatever they say.
    pub(crate) fn new(runtime: &Runtime, policy: &Arc<Policy>, is_asked: bool) -> Self {
        Self { runtime: runtime.clone(), policy: Arc::clone(policy), is_asked }
    }

    /// Whether an ask for `effects` would be answered by the rules, with yes.
    #[must_use]
    pub fn allow_all(&self, effects: &[Effect]) -> bool {
        !self.is_asked && effects.iter().all(|effect| self.policy.allows(effect))
    }

    /// As [`Context::clearance`](crate::Context::clearance), on a thread that may wait.
    ///
    /// # Errors
    /// If the store fails.
    pub fn clearance(&self, allowed: &[Effect]) -> Result<Clearance, ToolError> {
        let grants = self.runtime.gate().grants_here();
        let grants = grants.map_err(|error| ToolError::caused("the store failed", error))?;
        Ok(Clearance::new(Arc::clone(&self.policy), grants, allowed))
    }
}

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
    /// Made when a path is first asked about.
    telling: OnceLock<Option<Telling>>,
}

/// What every rule and grant has in common with the paths that it matches, unless it matches all: a
/// path without any of these texts is decided like any other such path, at a glance.
struct Telling {
    texts: AhoCorasick,
    /// The kinds of effect for which such paths are covered.
    covered: Vec<EffectKind>,
}

/// What [`Clearance::covers_path`] is asked about most.
const KINDS: [EffectKind; 2] = [EffectKind::Read, EffectKind::External];

impl Clearance {
    fn new(policy: Arc<Policy>, grants: Vec<Grant>, allowed: &[Effect]) -> Self {
        let asking = |effect: &Effect| {
            let decision = policy.decide(effect);
            (decision.action == Action::Ask).then(|| (effect.key.to_string(), decision.rule))
        };
        let answered = allowed.iter().filter_map(asking).collect();
        Self { policy, grants, answered, telling: OnceLock::new() }
    }

    /// As [`Clearance::covers`] of something done to a file; `path` is canonical.
    #[must_use]
    pub fn covers_path(&self, kind: EffectKind, path: &Path, root: &Path) -> bool {
        let telling = self.telling.get_or_init(|| self.telling());
        let at_a_glance = telling.as_ref().filter(|telling| {
            // A path that is no text is compared as another text.
            KINDS.contains(&kind) && path.to_str().is_some_and(|path| !telling.texts.is_match(path))
        });
        match at_a_glance {
            Some(telling) => telling.covered.contains(&kind),
            None => self.covers(&Effect::on_path(kind, path, root)),
        }
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

    /// What the rules alone say of `effect`, and which of them.
    #[must_use]
    pub fn decide(&self, effect: &Effect) -> Decision {
        self.policy.decide(effect)
    }

    /// Whether a rule or a grant allows anything of the permission `key`, as far as can be told
    /// without an effect.
    #[must_use]
    pub fn may_cover(&self, key: &str) -> bool {
        let mut rules = self.policy.layers().iter().flat_map(|layer| &layer.rules);
        rules.any(|rule| rule.is_for(key) && rule.action() == Action::Allow)
            || self.grants.iter().any(|grant| grant.key == key)
    }

    /// None where some pattern matches neither all nor a text of its own, such as `???`.
    fn telling(&self) -> Option<Telling> {
        let effects = KINDS.map(|kind| Effect::on_path(kind, Path::new(UNTOLD), Path::new("/")));
        let keys = effects.each_ref().map(|effect| effect.key.as_ref());
        let mut patterns = self.policy.patterns(&keys);
        let grants = self.grants.iter().filter(|grant| keys.contains(&grant.key.as_str()));
        patterns.extend(grants.map(|grant| Pattern::new(&grant.pattern)));
        patterns.retain(|pattern| !pattern.is_everything());
        let texts: Vec<&str> = patterns.iter().map(Pattern::longest_text).collect();
        if texts.iter().any(|text| text.is_empty()) {
            return None;
        }
        let texts = AhoCorasick::new(texts).ok()?;
        let covered = effects.iter().filter(|effect| self.covers(effect));
        let covered = covered.map(|effect| effect.kind).collect();
        (!texts.is_match(UNTOLD)).then_some(Telling { texts, covered })
    }
}

/// A path of which hardly any rule has a part; where one does, there is no glance.
const UNTOLD: &str = "\u{10ffff}";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::{Layer, LayerKind};

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
    fn a_glance_at_a_path_says_what_a_look_at_all_rules_says() {
        let (allow, ask, deny) = (Action::Allow, Action::Ask, Action::Deny);
        let grant = Grant {
            id: crate::ids::GrantId::fresh(),
            project: "/w".to_owned(),
            key: "read".to_owned(),
            pattern: "x/q.env".to_owned(),
            created: jiff::Timestamp::UNIX_EPOCH,
            session: crate::ids::SessionId::fresh(),
        };
        for rules in [
            vec![
                ("*", allow),
                ("*.env", ask),
                ("*/.ssh/*", deny),
                ("id_*", ask),
                ("/w/abs*", deny),
            ],
            vec![("*", ask), ("src/*", allow), ("*.env", ask)],
            vec![("*", allow), ("???", deny)],
            vec![("*.rs", allow)],
            vec![("*", allow), (".", deny)],
            vec![("*", allow), ("\u{10ffff}", deny)],
            vec![],
        ] {
            let protected = crate::permission::Protected::new("read", ["pro/*", "/w/pro/*"]);
            let policy = Arc::new(Policy::clone(&policy(&rules)).protect([protected]));
            let clearance = Clearance::new(policy, vec![grant.clone()], &[read(".")]);
            let root = Path::new("/w");
            for path in
                ["a", "abc", "a.env", "x/q.env", "src/a.rs", "d/.ssh/k", "id_x", "abs", "pro/x"]
            {
                let slow = clearance.covers(&read(path));
                let quick = clearance.covers_path(EffectKind::Read, &root.join(path), root);
                assert_eq!(quick, slow, "{path} by {rules:?}");
            }
        }
    }

    #[test]
    fn what_may_be_covered_is_known_without_an_effect() {
        let rules = [("*", Action::Ask), ("a", Action::Allow), ("b", Action::Deny)];
        let clearance = Clearance::new(policy(&rules), Vec::new(), &[]);
        assert!(clearance.may_cover("read") && !clearance.may_cover("webfetch"));
        assert!(!Clearance::new(policy(&rules[..1]), Vec::new(), &[]).may_cover("read"));
        let decided = clearance.decide(&read("b"));
        assert_eq!((decided.action, decided.rule.unwrap().pattern.as_str()), (Action::Deny, "b"));
    }

    #[test]
    fn where_no_rule_speaks_the_answer_for_the_folder_holds_for_its_permission_alone() {
        let clearance = Clearance::new(policy(&[]), Vec::new(), &[read(".")]);
        assert!(clearance.covers(&read("a")));
        assert!(!clearance.covers(&Effect::run("ls")));
    }
}
