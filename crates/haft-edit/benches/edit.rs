//! The engine's figures: each row is what was done, the time it took, and the bound.
//!
//! `cargo bench -p haft-edit`; with `--check` the exit code says whether every bound holds.

#![expect(clippy::expect_used, reason = "a bench that cannot set itself up has nothing to say")]
#![expect(clippy::print_stdout, reason = "its table is what it is for")]

use std::{hint::black_box, time::Instant};

#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "the corpus is a test's, which stops at what it did not expect"
)]
#[path = "../tests/it/corpus/mod.rs"]
mod corpus;

use haft_edit::{Edit, Within, apply, locate, plan};

struct Row {
    what: &'static str,
    figure: f64,
    unit: &'static str,
    bound: f64,
}

fn main() {
    let check = std::env::args().any(|arg| arg == "--check");
    let mut rows = Vec::new();
    // Memory first: the peak of a process never goes down again.
    rows.extend(long_lines());
    rows.push(exact());
    rows.push(memmem());
    rows.extend(near());
    rows.push(repetition());
    rows.extend(every_place());
    rows.push(absent());
    rows.extend(of_corpus());
    println!("{:52} {:>12} {:>12}", "what", "figure", "bound");
    for row in &rows {
        println!(
            "{:52} {:>9.3} {:2} {:>9.3} {:2}",
            row.what, row.figure, row.unit, row.bound, row.unit
        );
    }
    if check && rows.iter().any(|row| row.figure > row.bound) {
        std::process::exit(1);
    }
}

/// An edit of the corpus, every class in turn: how long one takes, and how many of them land as meant.
fn of_corpus() -> [Row; 2] {
    let (classes, sources) = (corpus::classes(), corpus::sources::sources());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = now.map_or(0, |now| now.as_nanos() as u64);
    let mut random = corpus::random::Random::new(seed);
    let cases: Vec<corpus::Case> = (classes.iter().cycle().take(3_000))
        .filter_map(|(class, make)| corpus::case(&mut random, &sources, class, *make))
        .collect();
    let (mut failed, start) = (0, Instant::now());
    for case in &cases {
        let edits: Vec<Edit<'_>> = (case.edits.iter())
            .map(|one| Edit { old: &one.old, new: &one.new, replace_all: one.replace_all })
            .collect();
        let right = match (plan(&case.text, &edits), &case.truth) {
            (Ok(changes), corpus::Truth::Becomes(text)) => apply(&case.text, &changes) == *text,
            (planned, corpus::Truth::Refused) => planned.is_err(),
            (Err(_), corpus::Truth::Becomes(_)) => false,
        };
        failed += usize::from(!right);
    }
    let count = cases.len() as f64;
    let figure = start.elapsed().as_secs_f64() * 1000.0 / count;
    let percent = failed as f64 * 100.0 / count;
    [
        Row { what: "an edit of the corpus, on average", figure, unit: "ms", bound: 5.0 },
        Row {
            what: "edits of the corpus that do not land",
            figure: percent,
            unit: "%",
            bound: 2.0,
        },
    ]
}

/// Returns the best of several runs, in milliseconds.
fn best(runs: usize, mut work: impl FnMut()) -> f64 {
    let times = (0..runs).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1000.0
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Returns the most memory that the process has had, in MiB.
fn peak() -> f64 {
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

fn line(number: usize) -> String {
    format!(
        "    let value_{number} = compute(input_{}, {}) + offset;\n",
        number * 7 % 9973,
        number % 89
    )
}

fn file(lines: usize) -> String {
    (0..lines).map(line).collect()
}

fn edit<'a>(old: &'a str, new: &'a str) -> Edit<'a> {
    Edit { old, new, replace_all: false }
}

fn exact() -> Row {
    let text = file(10_000);
    let old: String = (7_000..7_020).map(line).collect();
    let figure = best(50, || {
        let changes = plan(&text, &[edit(&old, "    done();\n")]).expect("it is there");
        black_box(apply(&text, &changes));
    });
    Row { what: "exact: 20 lines in 10,000, planned and applied", figure, unit: "ms", bound: 1.0 }
}

fn memmem() -> Row {
    let text = file(10_000);
    let old: String = (7_000..7_020).map(line).collect();
    let finder = memchr::memmem::Finder::new(old.as_bytes());
    let figure = best(50, || {
        black_box(finder.find_iter(text.as_bytes()).count());
        black_box(text.clone());
    });
    Row { what: "  the floor: memmem and a copy", figure, unit: "ms", bound: 1.0 }
}

fn near() -> Vec<Row> {
    let text = file(100_000);
    let block: String = (60_000..60_400).map(line).collect();
    let slip = block.replacen("let value_60200 = compute", "let value_60200 = compuet", 1);
    let landed = best(5, || {
        let new = slip.replacen("value_60100 ", "renamed ", 1);
        let changes = locate(&text, &edit(&slip, &new), &Within::all(&text));
        assert!(changes.is_ok(), "a slip is forgiven");
    });
    let all_off = block.replace("compute", "komputer");
    let refused = best(5, || {
        let changes = locate(&text, &edit(&all_off, "x"), &Within::all(&text));
        assert!(changes.is_err(), "every line is off");
    });
    vec![
        Row {
            what: "near: 400 lines with a slip in 100,000",
            figure: landed,
            unit: "ms",
            bound: 150.0,
        },
        Row {
            what: "near: 400 lines, all of them off, in 100,000",
            figure: refused,
            unit: "ms",
            bound: 150.0,
        },
    ]
}

fn repetition() -> Row {
    let text = "    x = x + 1;\n".repeat(100_000);
    let old = "  x = x + 1;\n".repeat(400) + "nothing like it\n";
    let figure = best(3, || {
        black_box(locate(&text, &edit(&old, "x"), &Within::all(&text)).is_err());
    });
    Row { what: "near: 400 equal lines in 100,000 equal lines", figure, unit: "ms", bound: 150.0 }
}

fn every_place() -> Vec<Row> {
    let text = "    x = x + 1;\n".repeat(100_000);
    let all = |old| Edit { old, new: "y\nz", replace_all: true };
    let exact = best(3, || {
        black_box(plan(&text, &[all("x = x")]).is_ok());
    });
    let loose = best(3, || {
        black_box(plan(&text, &[all("x =  x + 1;")]).is_ok());
    });
    vec![
        Row { what: "every place: 100,000, exact", figure: exact, unit: "ms", bound: 150.0 },
        Row {
            what: "every place: 100,000, blanks differ, given up",
            figure: loose,
            unit: "ms",
            bound: 1000.0,
        },
    ]
}

fn absent() -> Row {
    let text = file(100_000);
    let figure = best(5, || {
        black_box(
            locate(&text, &edit("fn not_there(argument: u32) -> u32 {", "x"), &Within::all(&text))
                .is_err(),
        );
    });
    Row { what: "absent: one line in 100,000, nearest shown", figure, unit: "ms", bound: 150.0 }
}

fn long_lines() -> Vec<Row> {
    let words = |offset: usize| -> String {
        (0..12_500).map(|number| format!("w{:06} ", (number * 7919 + offset) % 1_000_000)).collect()
    };
    let (there, other) = (words(0), words(3));
    let nearly = there.replacen("w000000", "w00000x", 1);
    let before = peak();
    let different = best(3, || {
        black_box(locate(&there, &edit(&other, "x"), &Within::all(&there)).is_err());
    });
    let alike = best(3, || {
        black_box(locate(&there, &edit(&nearly, "x"), &Within::all(&there)).is_err());
    });
    let memory = peak() - before;
    vec![
        Row {
            what: "two lines of 100 KB, all words differ",
            figure: different,
            unit: "ms",
            bound: 50.0,
        },
        Row {
            what: "two lines of 100 KB, one letter differs",
            figure: alike,
            unit: "ms",
            bound: 50.0,
        },
        Row { what: "  memory of both, at the peak", figure: memory, unit: "MiB", bound: 8.0 },
    ]
}
