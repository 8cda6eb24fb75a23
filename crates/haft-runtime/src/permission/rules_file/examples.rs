//! Holds rules to the examples that stand beside them.

use toml::Spanned;
use toml::de::DeValue;

use super::RulesError;
use super::reader::{Entry, Reader, shown};
use crate::permission::pattern::after_home;
use crate::permission::rule::{Layer, Rule};

/// Checks that the rule at `index` is the layer's word on each of its examples, and does not match
/// those that it should not.
pub(super) fn check(
    reader: &Reader<'_>,
    layer: &Layer,
    index: usize,
    entry: &Entry<'_>,
) -> Result<(), RulesError> {
    for example in &entry.matching {
        check_matching(reader, layer, index, &entry.rule, example)?;
    }
    for example in &entry.not_matching {
        let text = text_of(reader, example);
        if matches(&entry.rule, &text) {
            let pattern = shown(entry.rule.pattern().as_str());
            let problem = format!("`{}` should not match `{pattern}`, and does", shown(&text));
            let instead = "make the pattern narrower, or correct the example";
            return Err(reader.error(example, problem, instead));
        }
    }
    Ok(())
}

fn check_matching(
    reader: &Reader<'_>,
    layer: &Layer,
    index: usize,
    rule: &Rule,
    example: &Spanned<DeValue<'_>>,
) -> Result<(), RulesError> {
    let text = text_of(reader, example);
    let (happened, instead) = if !matches(rule, &text) {
        ("does not match it".to_owned(), "correct the pattern or the example")
    } else if let Some(winner) = winner_over(layer, index, rule, &text) {
        let instead = "put this rule after that one, or correct the example";
        (format!("is decided by {}", winner.to_ref()), instead)
    } else {
        return Ok(());
    };
    let pattern = shown(rule.pattern().as_str());
    let problem = format!("`{}`, an example of `{pattern}`, {happened}", shown(&text));
    Err(reader.error(example, problem, instead))
}

/// The last later rule for the same permission that matches `text`. A key with wildcards is taken
/// as it is written, for want of a name to try.
fn winner_over<'l>(layer: &'l Layer, index: usize, rule: &Rule, text: &str) -> Option<&'l Rule> {
    let key = rule.key().as_str();
    let mut later = layer.rules.iter().skip(index + 1).rev();
    later.find(|later| later.is_for(key) && matches(later, text))
}

fn matches(rule: &Rule, text: &str) -> bool {
    rule.patterns().any(|pattern| pattern.matches(text))
}

/// An example's text, with the home directory in place as in patterns.
fn text_of(reader: &Reader<'_>, example: &Spanned<DeValue<'_>>) -> String {
    let text = example.get_ref().as_str().unwrap_or_default();
    match (after_home(text), reader.expand.home) {
        (Some(rest), Some(home)) => format!("{}{rest}", home.trim_end_matches('/')),
        _ => text.to_owned(),
    }
}
