//! What holds for any text: exact edits are exact, nothing panics, nothing takes long.

use std::time::{Duration, Instant};

use haft_edit::{Edit, Refusal, Tier, Within, apply, locate, plan};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::corpus::{self, random::Random, sources::sources};

/// What makes matching hard: ends, blanks, look-alikes, escapes, numbers, marks, long words.
const PIECES: [&str; 32] = [
    "\n",
    "\r\n",
    "\r",
    " ",
    "  ",
    "\t",
    "\u{a0}",
    "\u{200b}",
    "\u{201c}",
    "\"",
    "'",
    "\u{2019}",
    "-",
    "\u{2014}",
    "...",
    "\u{2026}",
    "\\n",
    "\\\"",
    "\\",
    "12\u{2192}",
    "13: ",
    "e\u{301}",
    "\u{e9}",
    "\u{1f469}\u{200d}\u{1f4bb}",
    "\u{1100}\u{1161}",
    "fn",
    "name",
    "value_1",
    "(",
    "}",
    "// ",
    "\0",
];

fn nasty(most: usize) -> impl Strategy<Value = String> {
    vec(select(PIECES.as_slice()), 0..most).prop_map(|pieces| pieces.concat())
}

/// Replaces the only place of a text, as simply as can be.
fn naive(text: &str, old: &str, new: &str) -> Option<String> {
    let starts = (0..text.len()).filter(|at| text.as_bytes()[*at..].starts_with(old.as_bytes()));
    let [start] = starts.collect::<Vec<_>>()[..] else { return None };
    Some([&text[..start], new, &text[start + old.len()..]].concat())
}

proptest! {
    #[test]
    fn an_exact_edit_changes_its_span_and_nothing_else(
        text in "[abc {}\n]{1,80}", start in 0usize..80, length in 1usize..20, new in "[abc {}\n]{0,12}",
    ) {
        let start = start.min(text.len() - 1);
        let old = &text[start..(start + length).min(text.len())];
        // A line is not joined with the next: that is told apart below.
        prop_assume!(old != new && (new.is_empty() || !old.ends_with('\n') || new.ends_with('\n')));
        // Lines that take the stead of an indented one are indented as it is.
        let before = text[..start].rsplit('\n').next().unwrap();
        let hangs = !before.is_empty() && before.chars().all(|c| c == ' ');
        let is_about_lines = new.is_empty() || new.trim_end().contains('\n') || new.starts_with(' ');
        prop_assume!(!hangs || !is_about_lines);
        let edit = Edit { old, new: &new, replace_all: false };
        match (naive(&text, old, &new), plan(&text, &[edit])) {
            (Some(expected), Ok(changes)) => {
                prop_assert_eq!(apply(&text, &changes), expected);
                prop_assert_eq!(changes[0].tier, Tier::Exact);
            }
            (None, Err(_)) => {}
            (expected, planned) => prop_assert!(false, "{:?} but {:?}", expected, planned),
        }
    }

    #[test]
    fn every_exact_place_is_replaced_when_asked(
        text in "[ab\n]{0,60}", old in "[ab]{1,3}", new in "[abc]{0,4}",
    ) {
        prop_assume!(old != new);
        let edit = Edit { old: &old, new: &new, replace_all: true };
        if text.contains(&old) {
            prop_assert_eq!(apply(&text, &plan(&text, &[edit]).unwrap()), text.replace(&old, &new));
        }
    }

    #[test]
    fn several_edits_are_the_same_as_one_after_the_other_from_the_end(
        lines in vec("[a-z]{3,9}", 4..20), picks in vec(any::<proptest::sample::Index>(), 1..5),
    ) {
        let lines: Vec<String> = lines.iter().enumerate().map(|(at, line)| format!("{line}{at};")).collect();
        let text = lines.join("\n") + "\n";
        let mut picked: Vec<usize> = picks.iter().map(|pick| pick.index(lines.len())).collect();
        picked.sort_unstable();
        picked.dedup();
        let news: Vec<String> = picked.iter().map(|at| format!("new {at}\nmore {at}")).collect();
        let edits: Vec<Edit<'_>> = picked.iter().zip(&news)
            .map(|(at, new)| Edit { old: &lines[*at], new, replace_all: false })
            .collect();
        let unique = edits.iter().all(|edit| text.matches(edit.old).count() == 1);
        prop_assume!(unique);
        let mut expected = text.clone();
        for edit in edits.iter().rev() {
            expected = expected.replacen(edit.old, edit.new, 1);
        }
        prop_assert_eq!(apply(&text, &plan(&text, &edits).unwrap()), expected);
    }

    #[test]
    fn no_text_makes_it_panic_or_linger(text in nasty(60), old in nasty(24), new in nasty(24), all in any::<bool>()) {
        holds(&text, &Edit { old: &old, new: &new, replace_all: all });
    }

    #[test]
    fn a_part_of_a_nasty_text_is_found_again(text in nasty(60), start in 0usize..200, length in 1usize..80) {
        let start = text.floor_char_boundary(start.min(text.len()));
        let end = text.floor_char_boundary((start + length).min(text.len()));
        let old = &text[start..end];
        if old.is_empty() {
            return Ok(());
        }
        if text.matches(old).count() == 1 {
            let edit = Edit { old, new: "something else", replace_all: true };
            prop_assert_eq!(locate(&text, &edit, &Within::all(&text)).map(|found| found.len()), Ok(1));
        }
        holds(&text, &Edit { old, new: "something else", replace_all: false });
    }
}

/// Checks what must hold of any answer, whatever was asked.
fn holds(text: &str, edit: &Edit<'_>) {
    let start = Instant::now();
    let outcome = plan(text, &[*edit]);
    assert!(start.elapsed() < Duration::from_secs(1), "{edit:?}");
    match outcome {
        Ok(changes) => {
            let applied = apply(text, &changes);
            let first = changes.first().unwrap().range.start;
            let last = changes.last().unwrap().range.end;
            assert!(applied.starts_with(&text[..first]) && applied.ends_with(&text[last..]));
            for change in &changes {
                assert!(*change.lines.start() >= 1 && change.lines.start() <= change.lines.end());
                assert!(edit.replace_all || changes.len() == 1);
            }
        }
        Err(refusal) => {
            let said = refusal.to_string();
            assert!(!said.is_empty() && said.len() <= 2_048, "{} bytes", said.len());
            assert!(matches!(refusal, Refusal::Miss { .. }), "{refusal:?}");
        }
    }
    let half = text.floor_char_boundary(text.len() / 2);
    let within = Within { range: half..text.len(), at_end: true };
    if let Ok(changes) = locate(text, edit, &within) {
        assert!(changes.iter().all(|change| change.range.start >= half), "{edit:?}");
    }
}

/// Cases of the corpus, cut and mixed at random; `HAFT_FUZZ` says how many.
#[test]
fn mutated_cases_of_the_corpus_never_panic_or_linger() {
    let rounds =
        std::env::var("HAFT_FUZZ").ok().and_then(|count| count.parse().ok()).unwrap_or(1_500);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let given = std::env::var("HAFT_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = given.unwrap_or(now.as_nanos() as u64);
    eprintln!("HAFT_SEED={seed} HAFT_FUZZ={rounds}");
    let (mut random, sources, classes) = (Random::new(seed), sources(), corpus::classes());
    for _ in 0..rounds {
        let (class, make) = *random.pick(&classes);
        let Some(case) = corpus::case(&mut random, &sources, class, make) else { continue };
        let text = mutated(&mut random, &case.text);
        let old = mutated(&mut random, &case.edits[0].old);
        let new = mutated(&mut random, &case.edits[0].new);
        holds(&text, &Edit { old: &old, new: &new, replace_all: random.chance(20) });
    }
}

/// Puts pieces into a text, takes stretches out, and doubles some.
fn mutated(random: &mut Random, text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..random.below(4) {
        let start = text.floor_char_boundary(random.below(text.len() + 1));
        let end = text.floor_char_boundary((start + random.below(40)).min(text.len()));
        match random.below(3) {
            0 => text.insert_str(start, PIECES[random.below(PIECES.len())]),
            1 => text.replace_range(start..end, ""),
            _ => text = [&text[..end], &text[start..]].concat(),
        }
    }
    text
}
