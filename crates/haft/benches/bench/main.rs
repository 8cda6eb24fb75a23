//! The bench of the whole project: every row is a figure, its floor from the same run, and the ratio.
//!
//! `cargo bench` runs all; `cargo bench -- WORD` those whose name has the word in it. `--check` makes
//! the exit code say whether every row keeps its bound.

#![expect(clippy::expect_used, reason = "a bench that cannot set itself up has nothing to say")]
#![expect(clippy::print_stdout, reason = "its table is what it is for")]

mod agents;
mod files;
mod mcp;
mod measure;
mod memory;
mod permission;
mod pipeline;
mod search;
mod shell;
mod start;

use measure::Row;

type Sizes = (&'static str, fn() -> Vec<memory::Peak>);
type Area = (&'static str, fn() -> Vec<Row>);

const AREAS: [Area; 8] = [
    ("pipeline", pipeline::rows),
    ("permission", permission::rows),
    ("files", files::rows),
    ("search", search::rows),
    ("shell", shell::rows),
    ("start", start::rows),
    ("mcp", mcp::rows),
    ("agents", agents::rows),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [word, file, offset] = args.as_slice()
        && word == "--peak-of"
    {
        println!("{}", memory::child(file, offset));
        return;
    }
    let check = args.iter().any(|arg| arg == "--check");
    let wanted = args.iter().find(|arg| !arg.starts_with('-'));
    let is_wanted = |area: &&Area| wanted.is_none_or(|word| area.0.contains(word.as_str()));
    let rows: Vec<Row> = AREAS.iter().filter(is_wanted).flat_map(|area| area.1()).collect();
    println!("{}", measure::table(&rows));
    let sizes: [Sizes; 3] =
        [("memory", memory::peaks), ("mcp", mcp::sizes), ("agents", agents::sizes)];
    let is_wanted = |name: &str| wanted.is_none_or(|word| name.contains(word.as_str()));
    let peaks: Vec<memory::Peak> =
        sizes.iter().filter(|area| is_wanted(area.0)).flat_map(|area| area.1()).collect();
    peaks.iter().for_each(|peak| println!("{}", peak.line()));
    let holds = rows.iter().all(Row::holds) && peaks.iter().all(memory::Peak::holds);
    if check && !holds {
        std::process::exit(1);
    }
}
