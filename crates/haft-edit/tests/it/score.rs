//! The score on the corpus: how many land as meant, and that nothing is damaged.

use std::collections::BTreeMap;

use haft_edit::{Edit, apply, plan};

use crate::{
    corpus::{self, Case, Truth, random::Random, sources::sources},
    slips::{self, pool::Pool},
};

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Right,
    /// Refused although it was possible.
    Missed,
    /// Something else than what was meant, without a word.
    Wrong,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    right: usize,
    missed: usize,
    wrong: usize,
}

fn edits(case: &Case) -> Vec<Edit<'_>> {
    case.edits
        .iter()
        .map(|asked| Edit { old: &asked.old, new: &asked.new, replace_all: asked.replace_all })
        .collect()
}

fn outcome(case: &Case) -> (Outcome, String) {
    let planned = plan(&case.text, &edits(case));
    match (&case.truth, planned) {
        (Truth::Refused, Err(_)) => (Outcome::Right, String::new()),
        (Truth::Refused, Ok(changes)) => (Outcome::Wrong, apply(&case.text, &changes)),
        (Truth::Becomes(_), Err(refusal)) => {
            let said = refusal.to_string();
            assert!(said.len() <= 2_100, "{} bytes: {said}", said.len());
            (Outcome::Missed, said)
        }
        (Truth::Becomes(expected), Ok(changes)) => {
            let applied = apply(&case.text, &changes);
            let outcome = if applied == *expected { Outcome::Right } else { Outcome::Wrong };
            (outcome, applied)
        }
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    number("HAFT_SEED", now.as_nanos() as u64)
}

/// Shows a case that did not end as it should.
fn tell(case: &Case, outcome: Outcome, what: &str) {
    let (old, new) = (&case.edits[0].old, &case.edits[0].new);
    eprintln!("\n=== {outcome:?}: {} in {}\n--- old\n{old}\n--- new\n{new}", case.class, case.file);
    let around = |text: &str| -> String {
        let other = if let Truth::Becomes(expected) = &case.truth { expected } else { &case.text };
        let same = text.lines().zip(other.lines()).take_while(|(a, b)| a == b).count();
        text.lines()
            .skip(same.saturating_sub(3))
            .take(14)
            .map(|line| format!("{line:?}\n"))
            .collect()
    };
    match (&case.truth, outcome) {
        (_, Outcome::Missed) => eprintln!("--- said\n{what}"),
        (Truth::Becomes(expected), _) => {
            let same = what.lines().zip(expected.lines()).take_while(|(a, b)| a == b).count();
            let part = expected.lines().skip(same.saturating_sub(3)).take(14);
            let part: String = part.map(|line| format!("{line:?}\n")).collect();
            eprintln!("--- expected\n{part}--- became\n{}", around(what));
        }
        (Truth::Refused, _) => eprintln!("--- became\n{}", around(what)),
    }
}

/// Scores as many cases as asked for, class by class in turn.
fn score(
    classes: &[&'static str],
    usual: u64,
    mut make: impl FnMut(&mut Random, usize) -> Option<Case>,
) {
    let (seed, cases) = (seed(), number("HAFT_CASES", usual));
    let shown = number("HAFT_SHOW", 5);
    eprintln!("HAFT_SEED={seed} HAFT_CASES={cases}");
    let mut random = Random::new(seed);
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut told: BTreeMap<&str, u64> = BTreeMap::new();
    for index in 0..cases {
        let turn = index as usize % classes.len();
        let class = classes[turn];
        let Some(case) = make(&mut random, turn) else {
            eprintln!("no case of {class}");
            continue;
        };
        let (outcome, what) = outcome(&case);
        let tally = tallies.entry(class).or_default();
        match outcome {
            Outcome::Right => tally.right += 1,
            Outcome::Missed => tally.missed += 1,
            Outcome::Wrong => tally.wrong += 1,
        }
        let told = told.entry(class).or_default();
        if outcome == Outcome::Wrong || (outcome == Outcome::Missed && *told < shown) {
            *told += 1;
            tell(&case, outcome, &what);
        }
    }
    let mut sum = Tally::default();
    eprintln!("{:40} {:>6} {:>6} {:>6}", "class", "right", "missed", "wrong");
    for (class, tally) in &tallies {
        eprintln!("{class:40} {:>6} {:>6} {:>6}", tally.right, tally.missed, tally.wrong);
        sum.right += tally.right;
        sum.missed += tally.missed;
        sum.wrong += tally.wrong;
    }
    let all = sum.right + sum.missed + sum.wrong;
    eprintln!("{:40} {:>6} {:>6} {:>6}", "all", sum.right, sum.missed, sum.wrong);
    assert_eq!(tallies.len(), classes.len(), "every class has cases");
    assert_eq!(sum.wrong, 0, "seed {seed}: something was changed that was not meant");
    assert!(sum.right * 100 >= all * 98, "seed {seed}: {} of {all} are right", sum.right);
}

#[test]
fn edits_of_every_class_land_as_meant_and_none_goes_wrong() {
    let sources = sources();
    let classes = corpus::classes();
    let names: Vec<&str> = classes.iter().map(|class| class.0).collect();
    score(&names, 3_000, |random, turn| {
        let (class, make) = classes[turn];
        corpus::case(random, &sources, class, make)
    });
}

#[test]
fn slips_of_every_class_land_as_meant_and_none_goes_wrong() {
    let pool = Pool::new();
    let classes = slips::classes();
    let names: Vec<&str> = classes.iter().map(|class| class.0).collect();
    score(&names, 3_000, |random, turn| {
        let (class, make) = classes[turn];
        slips::case(random, &pool, class, make)
    });
}
