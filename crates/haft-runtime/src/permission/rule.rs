//! One rule, the layers that rules come in, and the things only a rule by name can open.

use std::sync::Arc;

use super::effect::Effect;
use super::origin;
use super::pattern::Pattern;
use super::policy::{Action, RuleRef};

/// What to do about effects of one permission that fit one pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    key: Pattern,
    /// As written; what follows are other names of the same things.
    pattern: Pattern,
    aliases: Vec<Pattern>,
    action: Action,
    reason: Option<String>,
    source: Arc<str>,
    line: Option<usize>,
}

impl Rule {
    /// A rule for the permissions that `key` matches.
    #[must_use]
    pub fn new(key: &str, pattern: Pattern, action: Action, source: impl Into<Arc<str>>) -> Self {
        let (key, source) = (Pattern::new(key), source.into());
        Self { key, pattern, aliases: Vec::new(), action, reason: None, source, line: None }
    }

    /// Says why the rule is there.
    #[must_use]
    pub fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    /// Says in which line of its source the rule stands, from 1.
    #[must_use]
    pub fn on_line(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }

    /// Lets the rule match by another name of the same things as well.
    #[must_use]
    pub fn alias(mut self, pattern: Pattern) -> Self {
        self.aliases.push(pattern);
        self
    }

    /// Whether the rule speaks of `effect`.
    #[must_use]
    pub fn matches(&self, effect: &Effect) -> bool {
        self.key.matches(&effect.key)
            && self.patterns().any(|pattern| {
                // What only looks like a host opens nothing, but may well be meant by a no.
                let by_text = self.action != Action::Allow && matches_text(pattern, effect);
                by_text || pattern_matches(pattern, effect)
            })
    }

    /// Whether the rule speaks of the permission `key` at all.
    #[must_use]
    pub fn is_for(&self, key: &str) -> bool {
        self.key.matches(key)
    }

    /// Whether it speaks of everything that `other` speaks of.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.key.covers(&other.key)
            && other.patterns().all(|theirs| self.patterns().any(|mine| mine.covers(theirs)))
    }

    /// Whether some effect may be spoken of by both.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.key.overlaps(&other.key)
            && other.patterns().any(|theirs| self.patterns().any(|mine| mine.overlaps(theirs)))
    }

    /// The permissions it is for.
    #[must_use]
    pub fn key(&self) -> &Pattern {
        &self.key
    }

    /// What it covers, as written.
    #[must_use]
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// What it covers, by every name.
    pub fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        std::iter::once(&self.pattern).chain(&self.aliases)
    }

    /// What it says.
    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }

    /// Why, in the words of whoever wrote it.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The line of its source that it stands on, from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// The rule as it is shown.
    #[must_use]
    pub fn to_ref(&self) -> RuleRef {
        let source = match self.line {
            Some(line) => format!("{}:{line}", self.source),
            None => self.source.to_string(),
        };
        RuleRef {
            key: self.key.to_string(),
            pattern: self.pattern.to_string(),
            action: self.action,
            source,
            reason: self.reason.clone(),
            protected: false,
        }
    }
}

/// Where a layer stands: from what holds for everyone to what holds for this one run.
///
/// Between *allow* and *ask* the most specific layer decides. A *deny* holds from any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayerKind {
    /// What holds where nobody says anything.
    BuiltIn,
    /// What the machine's administrator says.
    Managed,
    /// What the user says, for all projects.
    User,
    /// What the project says, as far as it is trusted.
    Project,
    /// What the agent's definition says.
    Agent,
    /// What was said when this run was started.
    CommandLine,
}

/// Rules from one place. The last one that matches is the layer's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Where it stands among the others.
    pub kind: LayerKind,
    /// What it is called: the file's path, or something like `built-in`.
    pub source: Arc<str>,
    /// Its rules, in the order in which they are written.
    pub rules: Vec<Rule>,
}

impl Layer {
    /// A layer without an opinion.
    #[must_use]
    pub fn new(kind: LayerKind, source: impl Into<Arc<str>>) -> Self {
        Self { kind, source: source.into(), rules: Vec::new() }
    }

    /// Adds a rule at the end, where it overrules those before it.
    #[must_use]
    pub fn rule(self, key: &str, pattern: &str, action: Action) -> Self {
        let rule = Rule::new(key, Pattern::new(pattern), action, Arc::clone(&self.source));
        self.with(rule)
    }

    /// Adds a rule at the end, where it overrules those before it.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// The rule that speaks for this layer.
    pub(super) fn winner(&self, effect: &Effect) -> Option<&Rule> {
        self.rules.iter().rev().find(|rule| rule.matches(effect))
    }

    /// The rule that denies the tool `name` by the key `tool`; one for every key means permissions.
    pub(super) fn hides_tool(&self, name: &str) -> Option<&Rule> {
        let effect = Effect::using("tool", name.to_owned());
        let mut of_tools = self.rules.iter().rev().filter(|rule| rule.key.to_string() == "tool");
        of_tools.find(|rule| rule.matches(&effect)).filter(|rule| rule.action == Action::Deny)
    }

    /// The rule that denies all of `key`, if nothing after it opens a part again.
    pub(super) fn hides(&self, key: &str) -> Option<&Rule> {
        let denies = |rule: &&Rule| rule.action == Action::Deny;
        let of_key = self.rules.iter().rev().filter(|rule| rule.is_for(key));
        of_key.take_while(denies).find(|rule| rule.pattern.is_everything())
    }
}

/// Something that a rule or grant opens only by name: `edit * = allow` does not mean git's hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protected {
    key: Pattern,
    names: Vec<Pattern>,
}

impl Protected {
    /// Protects, against `key`, one thing under all the names that an effect may give it: relative
    /// and absolute, say. A rule opens it by any of them.
    pub fn new<'a>(key: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { key: Pattern::new(key), names: names.into_iter().map(Pattern::new).collect() }
    }

    /// Whether it is protected against one of these permissions.
    pub(super) fn is_against(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.key.matches(key))
    }

    /// The names that it has.
    pub(super) fn names(&self) -> &[Pattern] {
        &self.names
    }

    /// The name that `effect` touches it by.
    pub(super) fn touched_by(&self, effect: &Effect) -> Option<&Pattern> {
        let mut names = self.names.iter().filter(|_| self.key.matches(&effect.key));
        names.find(|name| pattern_matches(name, effect))
    }

    /// Whether any of `patterns` means it, rather than just happens to match it.
    pub(super) fn is_named_by<'a>(&self, mut patterns: impl Iterator<Item = &'a Pattern>) -> bool {
        patterns.any(|pattern| self.names.iter().any(|name| means(pattern, name)))
    }

    /// The protection as it is shown, in place of a rule.
    pub(super) fn to_ref(&self, name: &Pattern) -> RuleRef {
        RuleRef {
            key: self.key.to_string(),
            pattern: name.to_string(),
            action: Action::Ask,
            source: "protected".to_owned(),
            reason: Some("only a rule that names it can allow it".to_owned()),
            protected: true,
        }
    }
}

/// Whether `pattern` spells out at least as much as `name` does before its first wildcard. A name
/// that begins with a wildcard spells out nothing, so there the pattern has to stay within it.
fn means(pattern: &Pattern, name: &Pattern) -> bool {
    let stem = name.literal_prefix().trim_end_matches('/');
    if stem.is_empty() { name.covers(pattern) } else { pattern.literal_prefix().starts_with(stem) }
}

/// Whether `pattern` means what `effect` does.
pub(super) fn pattern_matches(pattern: &Pattern, effect: &Effect) -> bool {
    match effect.page() {
        Some((url, host)) => origin::means(pattern, url, host),
        None => matches_text(pattern, effect),
    }
}

/// Whether `pattern` fits `effect` by either of its names.
fn matches_text(pattern: &Pattern, effect: &Effect) -> bool {
    pattern.matches(&effect.value)
        || effect.also.as_deref().is_some_and(|also| pattern.matches(also))
}
