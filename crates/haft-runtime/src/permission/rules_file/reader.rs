//! From TOML values to rules, one by one.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Expand, RulesError};
use crate::permission::pattern::{Pattern, after_home};
use crate::permission::policy::Action;
use crate::permission::rule::Rule;
use crate::visible::is_hidden;

/// The permissions whose patterns are paths.
const PATH_KEYS: [&str; 3] = ["read", "edit", "external_directory"];

/// How much of a text a message shows.
const SHOWN: usize = 120;

const ACTIONS: &str = "write \"allow\", \"ask\" or \"deny\"";

/// A rule with what its author says it does.
pub(super) struct Entry<'a> {
    pub(super) at: usize,
    pub(super) rule: Rule,
    pub(super) matching: Vec<&'a Spanned<DeValue<'a>>>,
    pub(super) not_matching: Vec<&'a Spanned<DeValue<'a>>>,
}

type Key<'a> = Spanned<Cow<'a, str>>;

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) file: &'a str,
    pub(super) expand: &'a Expand<'a>,
}

impl Reader<'_> {
    /// All rules of a `permission` value, as they are found.
    pub(super) fn entries<'t>(
        &self,
        table: &'t Spanned<DeValue<'t>>,
    ) -> Result<Vec<Entry<'t>>, RulesError> {
        let DeValue::Table(permissions) = table.get_ref() else {
            let problem = format!("`permission` is {}, not a table", kind_of(table));
            let instead = "write `[permission]` and below it `\"*\" = \"ask\"`, say";
            return Err(self.error(table, problem, instead));
        };
        let mut entries = Vec::new();
        for (key, value) in permissions {
            self.check_key(key)?;
            match value.get_ref() {
                DeValue::String(_) => {
                    entries.push(self.entry(key, key, "*", self.action(value)?)?);
                }
                DeValue::Table(patterns) => {
                    for (pattern, value) in patterns {
                        entries.push(self.pattern_entry(key, pattern, value)?);
                    }
                }
                _ => {
                    let problem =
                        format!("the permission `{}` is {}", shown(key.get_ref()), kind_of(value));
                    let instead =
                        format!("{ACTIONS}, or a table of patterns with one of these each");
                    return Err(self.error(value, problem, instead));
                }
            }
        }
        Ok(entries)
    }

    fn pattern_entry<'t>(
        &self,
        key: &Key<'_>,
        pattern: &Key<'_>,
        value: &'t Spanned<DeValue<'t>>,
    ) -> Result<Entry<'t>, RulesError> {
        self.check_pattern(key, pattern)?;
        match value.get_ref() {
            DeValue::String(_) => self.entry(key, pattern, pattern.get_ref(), self.action(value)?),
            DeValue::Table(fields) => self.detailed_entry(key, pattern, fields),
            _ => {
                let problem =
                    format!("the rule for `{}` is {}", shown(pattern.get_ref()), kind_of(value));
                let instead = format!("{ACTIONS}, or a table such as {{ action = \"ask\" }}");
                Err(self.error(value, problem, instead))
            }
        }
    }

    /// A rule with a reason or examples.
    fn detailed_entry<'t>(
        &self,
        key: &Key<'_>,
        pattern: &Key<'_>,
        fields: &'t DeTable<'t>,
    ) -> Result<Entry<'t>, RulesError> {
        let (mut action, mut reason) = (None, None);
        let (mut matching, mut not_matching) = (Vec::new(), Vec::new());
        for (name, field) in fields {
            match name.get_ref().as_ref() {
                "action" => action = Some(self.action(field)?),
                "reason" => reason = Some(self.reason(field)?),
                "match" => matching = self.examples(name, field)?,
                "not_match" => not_matching = self.examples(name, field)?,
                _ => {
                    let problem = format!("a rule has no field `{}`", shown(name.get_ref()));
                    let instead = "write `action`, `reason`, `match` or `not_match`, and put a \
                                   pattern with dots in quotes";
                    return Err(self.error(name, problem, instead));
                }
            }
        }
        let Some(action) = action else {
            let problem = format!("the rule for `{}` has no action", shown(pattern.get_ref()));
            return Err(self.error(pattern, problem, "write { action = \"ask\" }, say"));
        };
        let mut entry = self.entry(key, pattern, pattern.get_ref(), action)?;
        if let Some(reason) = reason {
            entry.rule = entry.rule.because(reason);
        }
        Ok(Entry { matching, not_matching, ..entry })
    }

    /// A rule without examples, whose `name` says where it stands.
    fn entry<'t>(
        &self,
        key: &Key<'_>,
        name: &Key<'_>,
        pattern: &str,
        action: Action,
    ) -> Result<Entry<'t>, RulesError> {
        if after_home(pattern).is_some() && self.expand.home.is_none_or(str::is_empty) {
            let problem =
                format!("`{}` needs a home directory, and none is known", shown(name.get_ref()));
            return Err(self.error(name, problem, "write the path in full"));
        }
        let pattern = Pattern::expanded(pattern, self.expand.home);
        let key = key.get_ref();
        let resolved = speaks_of_paths(key).then(|| pattern.resolved(self.expand.resolve));
        let at = name.span().start;
        let rule = Rule::new(key, pattern, action, self.file).on_line(self.line(at));
        let rule = match resolved.flatten() {
            Some(resolved) => rule.alias(resolved),
            None => rule,
        };
        Ok(Entry { at, rule, matching: Vec::new(), not_matching: Vec::new() })
    }

    fn check_key(&self, key: &Key<'_>) -> Result<(), RulesError> {
        let text = key.get_ref();
        self.check_text(key, text, "the name of a permission")?;
        if text.trim() != text {
            let problem = format!("no permission is called `{}`", shown(key.get_ref()));
            return Err(self.error(key, problem, "leave out the blanks around it"));
        }
        Ok(())
    }

    fn check_pattern(&self, key: &Key<'_>, pattern: &Key<'_>) -> Result<(), RulesError> {
        let text = pattern.get_ref().as_ref();
        self.check_text(pattern, text, "a pattern")?;
        let is_bare =
            !self.text.get(pattern.span()).is_some_and(|raw| raw.starts_with(['"', '\'']));
        if is_bare && matches!(text, "action" | "reason" | "match" | "not_match") {
            // Somebody meant the whole permission; as a pattern it would silently mean nothing.
            let problem =
                format!("`{text}` stands where a pattern of `{}` should", shown(key.get_ref()));
            let instead =
                "write `\"*\" = { action = … }`, or put it in quotes if it is the pattern";
            return Err(self.error(pattern, problem, instead));
        }
        Ok(())
    }

    /// Refuses what cannot be seen in a list of rules.
    fn check_text<T>(&self, at: &Spanned<T>, text: &str, what: &str) -> Result<(), RulesError> {
        if text.is_empty() {
            let problem = format!("{what} is empty");
            return Err(self.error(
                at,
                problem,
                "leave it out, or write `*` if everything is meant",
            ));
        }
        match text.chars().find(|character| is_hidden(*character)) {
            Some(hidden) => {
                let problem = format!("{what} holds the character U+{:04X}", u32::from(hidden));
                Err(self.error(at, problem, "leave it out; `?` and `*` match it too"))
            }
            None => Ok(()),
        }
    }

    fn action(&self, value: &Spanned<DeValue<'_>>) -> Result<Action, RulesError> {
        let DeValue::String(word) = value.get_ref() else {
            return Err(self.error(value, format!("an action is {}", kind_of(value)), ACTIONS));
        };
        [Action::Allow, Action::Ask, Action::Deny]
            .into_iter()
            .find(|action| action.as_str() == word)
            .ok_or_else(|| self.error(value, format!("`{}` is no action", shown(word)), ACTIONS))
    }

    fn reason(&self, value: &Spanned<DeValue<'_>>) -> Result<String, RulesError> {
        let DeValue::String(reason) = value.get_ref() else {
            let problem = format!("a reason is {}", kind_of(value));
            return Err(self.error(value, problem, "write a sentence in quotes"));
        };
        self.check_text(value, reason, "a reason")?;
        Ok(reason.clone().into_owned())
    }

    fn examples<'t>(
        &self,
        name: &Key<'_>,
        value: &'t Spanned<DeValue<'t>>,
    ) -> Result<Vec<&'t Spanned<DeValue<'t>>>, RulesError> {
        let texts = value.get_ref().as_array();
        match texts.filter(|texts| texts.iter().all(|text| text.get_ref().is_str())) {
            Some(texts) => Ok(texts.iter().collect()),
            None => {
                let problem = format!("`{}` is no list of texts", shown(name.get_ref()));
                Err(self.error(value, problem, "write [\"an example\", \"another\"]"))
            }
        }
    }

    pub(super) fn syntax(&self, error: &toml::de::Error) -> RulesError {
        let at = error.span().map_or(0, |span| span.start);
        let problem = format!("this is no TOML: {}", shown(&error.message().replace('\n', ", ")));
        let instead = "a rule is written `\"pattern\" = \"ask\"`".to_owned();
        RulesError { file: self.file.to_owned(), line: self.line(at), problem, instead }
    }

    pub(super) fn error<T>(
        &self,
        at: &Spanned<T>,
        problem: String,
        instead: impl Into<String>,
    ) -> RulesError {
        let (line, instead) = (self.line(at.span().start), instead.into());
        RulesError { file: self.file.to_owned(), line, problem, instead }
    }

    fn line(&self, offset: usize) -> usize {
        1 + self.text.get(..offset).unwrap_or(self.text).matches('\n').count()
    }
}

/// Whether paths are among what `key` is for.
fn speaks_of_paths(key: &str) -> bool {
    let key = Pattern::new(key);
    PATH_KEYS.iter().any(|path_key| key.matches(path_key))
}

/// What a value is, for a message.
fn kind_of(value: &Spanned<DeValue<'_>>) -> String {
    match value.get_ref() {
        DeValue::Array(_) | DeValue::Integer(_) => format!("an {}", value.get_ref().type_str()),
        other => format!("a {}", other.type_str()),
    }
}

/// Somebody else's words, bounded and with nothing in them that a terminal would act on.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(SHOWN).flat_map(char::escape_debug).collect()
}
