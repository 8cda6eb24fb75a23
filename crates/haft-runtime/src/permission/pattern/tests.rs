//! What a pattern matches.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::Pattern;

/// Matching as the documentation tells it, without a thought for time.
pub(in crate::permission) fn naive(pattern: &str, text: &str) -> bool {
    let chars = |text: &str| text.chars().collect::<Vec<_>>();
    let whole = naive_glob(&chars(pattern), &chars(text));
    whole || pattern.strip_suffix(" *").is_some_and(|head| naive_glob(&chars(head), &chars(text)))
}

fn naive_glob(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['*', rest @ ..] => (0..=text.len()).any(|taken| naive_glob(rest, &text[taken..])),
        ['?', rest @ ..] => !text.is_empty() && naive_glob(rest, &text[1..]),
        [first, rest @ ..] => text.first() == Some(first) && naive_glob(rest, &text[1..]),
    }
}

#[track_caller]
fn check(pattern: &str, matching: &[&str], others: &[&str]) {
    let compiled = Pattern::new(pattern);
    for text in matching {
        assert!(compiled.matches(text), "`{pattern}` should match {text:?}");
    }
    for text in others {
        assert!(!compiled.matches(text), "`{pattern}` should not match {text:?}");
    }
}

#[test]
fn words_match_whole() {
    check("git", &["git"], &["gitk", "agit", "git status", ""]);
}

#[test]
fn a_trailing_star_after_a_blank_needs_no_arguments() {
    check("git *", &["git", "git ", "git status", "git a\nb"], &["gitk", "gi", "git\tstatus"]);
    check("git * -v *", &["git x -v", "git x -v y"], &["git -v", "git x -vy"]);
    check(" *", &["", " x"], &["x"]);
    check("git **", &["git ", "git x"], &["git"]);
}

/// PE-01
#[test]
fn a_longer_word_is_another_word() {
    check("git status *", &["git status"], &["git statusx", "git status-evil"]);
}

#[test]
fn a_star_crosses_slashes_and_lines() {
    check("src/*.rs", &["src/a.rs", "src/a/b.rs", "src/\n.rs"], &["src/a.r", "a/src/a.rs"]);
    check("*", &["", "a/b\nc"], &[]);
}

#[test]
fn a_question_mark_is_one_character_of_any_width() {
    check("a?c", &["abc", "aéc", "a🦀c", "a\nc"], &["ac", "abbc"]);
    check("??", &["🦀é"], &["🦀", "abc"]);
}

/// PE-15
#[test]
fn everything_else_is_literal() {
    check("a.c (x)|y", &["a.c (x)|y"], &["abc (x)", "y"]);
    check("[ab]\\*", &["[ab]\\", "[ab]\\x"], &["a", "[ab]*"]);
}

#[test]
fn prefix_and_suffix_may_not_share_characters() {
    check("ab*ba", &["abba", "abxba"], &["aba", "ab"]);
}

#[test]
fn the_literal_prefix_ends_at_the_first_wildcard() {
    let prefix = |text| Pattern::new(text).literal_prefix().to_owned();
    assert_eq!(prefix(".git/hooks/*"), ".git/hooks/");
    assert_eq!(prefix("a?*b"), "a");
    assert_eq!(prefix("git *"), "git");
    assert_eq!(prefix("git * *"), "git ");
    assert_eq!(prefix("plain"), "plain");
}

#[test]
fn the_home_directory_is_expanded_at_the_start_only() {
    let home = |text, path| Pattern::expanded(text, Some("/home/me")).matches(path);
    for text in ["~/x/*", "$HOME/x/*", "${HOME}/x/*"] {
        assert!(home(text, "/home/me/x/y"), "{text}");
        assert_eq!(Pattern::expanded(text, Some("/home/me")).as_str(), text);
    }
    assert!(home("~", "/home/me"));
    assert!(home("~user/x", "~user/x"));
    assert!(home("$HOMELY/x", "$HOMELY/x"));
    assert!(home("a/~/x", "a/~/x"));
    assert!(Pattern::expanded("~/x", None).matches("~/x"));
    assert!(Pattern::expanded("~/x", Some("/")).matches("/x"));
    assert!(Pattern::expanded("~", Some("/")).matches("/"));
}

#[test]
fn wildcards_in_the_home_directory_are_literal() {
    let pattern = Pattern::expanded("~/*", Some("/home/*"));
    assert!(pattern.matches("/home/*/x"));
    assert!(!pattern.matches("/home/other/x"));
}

#[test]
fn a_linked_directory_is_resolved_as_far_as_it_exists() {
    let resolve = |path: &str| match path {
        "/link" => Some("/real*".to_owned()),
        "/same" => Some("/same".to_owned()),
        "/link/file" => Some("/elsewhere".to_owned()),
        "/top" => Some("/".to_owned()),
        _ => None,
    };
    let resolved = |text: &str| Pattern::new(text).resolved(&resolve);
    let deep = resolved("/link/new/*").unwrap();
    assert!(deep.matches("/real*/new/x"));
    assert!(!deep.matches("/realest/new/x"), "a star in a real name is no wildcard");
    assert!(resolved("/link/file").unwrap().matches("/elsewhere"));
    assert!(resolved("/link/other").unwrap().matches("/real*/other"));
    assert!(resolved("/top/x*").unwrap().matches("/xy"));
    assert_eq!(resolved("/same/*"), None);
    assert_eq!(resolved("/lin*"), None);
    assert_eq!(resolved("link/*"), None);
}

#[test]
fn a_hostile_pattern_takes_no_exponential_time() {
    let pattern = Pattern::new(&format!("{}b", "*a".repeat(50)));
    let started = Instant::now();
    assert!(!pattern.matches(&format!("{}c", "a".repeat(10_000))));
    assert!(!pattern.matches(&format!("{}cb", "a".repeat(10_000))));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn matching_agrees_with_the_naive_way(pattern in "[ab *?é]{0,7}", text in "[ab *é]{0,7}") {
        prop_assert_eq!(Pattern::new(&pattern).matches(&text), naive(&pattern, &text));
    }

    #[test]
    fn every_match_begins_with_the_literal_prefix(pattern in "[ab *?]{0,5}", text in "[ab ]{0,5}") {
        let pattern = Pattern::new(&pattern);
        prop_assert!(!pattern.matches(&text) || text.starts_with(pattern.literal_prefix()));
    }
}
