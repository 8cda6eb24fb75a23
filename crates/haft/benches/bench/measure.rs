//! How a figure is taken, and how it is printed.

use std::time::{Duration, Instant};

/// A figure with what it is measured against.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) figure: Duration,
    /// What a bare program takes for the same, or a fixed number that the figure is held to.
    pub(crate) floor: Duration,
    /// Most times the floor that the figure may be.
    pub(crate) bound: f64,
}

impl Row {
    pub(crate) fn ratio(&self) -> f64 {
        self.figure.as_secs_f64() / self.floor.as_secs_f64()
    }

    pub(crate) fn holds(&self) -> bool {
        self.ratio() <= self.bound
    }
}

pub(crate) fn table(rows: &[Row]) -> String {
    let mut text =
        format!("{:<64} {:>11} {:>11} {:>7} {:>7}\n", "", "figure", "floor", "ratio", "bound");
    for row in rows {
        let (figure, floor) = (micros(row.figure), micros(row.floor));
        let mark = if row.holds() { "" } else { "  OVER" };
        text.push_str(&format!(
            "{:<64} {figure:>11} {floor:>11} {:>7.2} {:>7.2}{mark}\n",
            row.name,
            row.ratio(),
            row.bound
        ));
    }
    text
}

fn micros(time: Duration) -> String {
    format!("{:.2} µs", time.as_secs_f64() * 1e6)
}

/// The median time of one of `runs` rounds of `times` each.
pub(crate) fn median(runs: usize, times: u32, mut work: impl FnMut()) -> Duration {
    let mut round = || {
        let begin = Instant::now();
        (0..times).for_each(|_| work());
        begin.elapsed() / times
    };
    round();
    let mut taken: Vec<Duration> = (0..runs).map(|_| round()).collect();
    taken.sort();
    taken.get(taken.len() / 2).copied().unwrap_or_default()
}

/// The median times of two works, measured in turns, so that what else the machine does meets both.
pub(crate) fn medians(
    runs: usize,
    mut ours: impl FnMut(),
    mut theirs: impl FnMut(),
) -> (Duration, Duration) {
    let timed = |work: &mut dyn FnMut()| {
        let begin = Instant::now();
        work();
        begin.elapsed()
    };
    let mut taken: (Vec<Duration>, Vec<Duration>) =
        (0..=runs).map(|_| (timed(&mut ours), timed(&mut theirs))).skip(1).unzip();
    taken.0.sort();
    taken.1.sort();
    let middle = |sorted: &[Duration]| sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    (middle(&taken.0), middle(&taken.1))
}
