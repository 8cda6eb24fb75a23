//! Which patterns cover and overlap which.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::permission::pattern::Pattern;

/// Every text of up to six characters, with one character that no pattern of these tests names.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut texts = vec![String::new()];
    let mut from = 0;
    for _ in 0..6 {
        let longer: Vec<_> = texts[from..]
            .iter()
            .flat_map(|text| ['a', ' ', 'x'].map(|character| format!("{text}{character}")))
            .collect();
        from = texts.len();
        texts.extend(longer);
    }
    texts
});

#[track_caller]
fn check(outer: &str, inner: &str, covers: bool) {
    assert_eq!(Pattern::new(outer).covers(&Pattern::new(inner)), covers, "{outer} over {inner}");
}

#[test]
fn a_wider_pattern_covers_a_narrower_one() {
    check("*", "anything ?*", true);
    check("git *", "git", true);
    check("git *", "git status *", true);
    check("git status *", "git *", false);
    check("git *", "git*", false);
    check("git*", "git *", true);
    check("*.rs", "src/*.rs", true);
    check("src/*", "src/*.rs", true);
    check("src/*", "*.rs", false);
    check("a?", "ab", true);
    check("a?", "a*", false);
    check("?*", "*?", true);
    check("*a*", "*a?*", true);
    check("*?", "*", false);
    check("git", "git *", false);
}

#[test]
fn patterns_that_share_a_text_overlap() {
    let overlaps = |one: &str, other: &str| Pattern::new(one).overlaps(&Pattern::new(other));
    assert!(overlaps("src/*", "*.rs"));
    assert!(overlaps("git *", "git"));
    assert!(!overlaps("git *", "gitk *"));
    assert!(!overlaps("a*b", "a*c"));
    assert!(!overlaps("a?", "a"));
    assert!(overlaps("*a*b*", "*b*a*"));
}

#[test]
fn an_intricate_comparison_gives_up_and_says_no() {
    let tangled = Pattern::new(&format!("*a{}", "?".repeat(60)));
    let other = Pattern::new(&format!("*a{}*a*", "?".repeat(59)));
    let started = Instant::now();
    assert!(!tangled.covers(&other));
    let long = Pattern::new(&"*a".repeat(5_000));
    assert!(long.overlaps(&Pattern::new(&"*ba".repeat(5_000))));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn covering_agrees_with_trying_every_short_text(outer in "[a *?]{0,4}", inner in "[a *?]{0,4}") {
        let (outer, inner) = (Pattern::new(&outer), Pattern::new(&inner));
        let expected = TEXTS.iter().all(|text| !inner.matches(text) || outer.matches(text));
        prop_assert_eq!(outer.covers(&inner), expected, "{} over {}", outer, inner);
    }

    #[test]
    fn overlapping_agrees_with_trying_every_short_text(one in "[a *?]{0,3}", other in "[a *?]{0,3}") {
        let (one, other) = (Pattern::new(&one), Pattern::new(&other));
        let expected = TEXTS.iter().any(|text| one.matches(text) && other.matches(text));
        prop_assert_eq!(one.overlaps(&other), expected, "{} and {}", one, other);
    }
}
