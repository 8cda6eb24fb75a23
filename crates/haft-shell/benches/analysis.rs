//! How long an analysis takes: over the corpora, and on input made to be hard.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench stops at what it did not expect, and prints its figures"
)]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use haft_shell::{Setting, analyse};

const ROUNDS: usize = 50;

fn main() {
    let setting =
        Setting { home: Some(Path::new("/home/user")), ..Setting::new(Path::new("/project")) };
    let time = |script: &str| {
        let start = Instant::now();
        black_box(analyse(black_box(script), &setting));
        start.elapsed()
    };
    // The table is read once in the life of a process.
    let first = time("git status");
    println!("{:<34} {first:>12.1?}", "first analysis, with the table");
    for (name, corpus) in [
        ("hidden commands", include_str!("../tests/corpus/bash_dev.jsonl")),
        ("commands of every day", include_str!("../tests/corpus/benign.jsonl")),
    ] {
        let scripts: Vec<String> = corpus
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|line| line["cmd"].as_str().unwrap().to_owned())
            .collect();
        let mut times: Vec<Duration> = Vec::new();
        for _ in 0..ROUNDS {
            times.extend(scripts.iter().map(|script| time(script)));
        }
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        println!("{name:<34} p50 {:>9.1?}  p99 {:>9.1?}  max {:>9.1?}", at(0.5), at(0.99), at(1.0));
    }
    const MIB: usize = 1024 * 1024;
    let longest = haft_shell::LONGEST;
    for (name, script) in [
        ("1 MiB of `(`", "(".repeat(MIB)),
        ("1 MiB of `$(`", "$(".repeat(MIB / 2)),
        ("128 KiB of `(`", "(".repeat(longest)),
        ("128 KiB of `$(`", "$(".repeat(longest / 2)),
        ("128 KiB of `{`", "{ ".repeat(longest / 2)),
        ("128 KiB of `\"${x:-`", "\"${x:-".repeat(longest / 6)),
        ("128 KiB of backquotes", "`".repeat(longest)),
        ("128 KiB of `[`", "echo ".to_owned() + &"[".repeat(longest - 5)),
        ("128 KiB of `true;`", "true;".repeat(longest / 5)),
        ("128 KiB of `a && `", "a && ".repeat(longest / 5 - 1) + "a"),
        ("128 KiB of `x=$x$x;`", "x=$x$x;".repeat(longest / 7)),
        ("128 KiB of `{a,b}`", "echo ".to_owned() + &"{a,b}".repeat(longest / 5 - 1)),
        ("128 KiB of `cat a <<E`", "cat a <<E;".repeat(longest / 10)),
        ("128 KiB of `for x in a;do `", "for x in 1 2 3 4 5 6 7 8; do ".repeat(longest / 29)),
        (
            "nested loops",
            "for x in 1 2 3 4 5 6 7 8; do ".repeat(30) + "echo $x" + &"; done".repeat(30),
        ),
        ("functions that call each other", {
            let bodies: Vec<_> =
                (0..40).map(|n| format!("f{n}() {{ f{m}; f{m}; }}", m = n + 1)).collect();
            bodies.join("\n") + "\nf0"
        }),
        (
            "128 KiB of variables",
            (0..8_000).map(|n| format!("v{n}=1 && ")).collect::<String>() + "a",
        ),
    ] {
        println!("{name:<34} {:>12.1?}", time(&script));
    }
}
