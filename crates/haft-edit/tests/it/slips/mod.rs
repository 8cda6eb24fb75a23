//! A second corpus, made apart from the first: the outcome is written down as a file before anything is slipped.
//!
//! A [`work::Work`] is a file, a stretch of its lines and what they become. A [`written::Written`] is
//! what the model sends for it. Slips are made in either, and never in the outcome.

pub(crate) mod doubtful;
pub(crate) mod in_file;
pub(crate) mod inside;
pub(crate) mod pool;
pub(crate) mod spelling;
pub(crate) mod work;
pub(crate) mod written;

use crate::corpus::{Case, random::Random};
use pool::Pool;

/// Makes a case from any file of a pool; `None` where the pick does not lend itself to it.
pub(crate) type Maker = fn(&mut Random, &Pool) -> Option<Case>;

/// All classes with their makers.
pub(crate) fn classes() -> Vec<(&'static str, Maker)> {
    let mut classes: Vec<(&'static str, Maker)> = Vec::new();
    classes.extend(written::CLASSES);
    classes.extend(spelling::CLASSES);
    classes.extend(in_file::CLASSES);
    classes.extend(inside::CLASSES);
    classes.extend(doubtful::CLASSES);
    classes
}

/// Makes a case of a class.
pub(crate) fn case(
    random: &mut Random,
    pool: &Pool,
    class: &'static str,
    make: Maker,
) -> Option<Case> {
    (0..400).find_map(|_| make(random, pool)).map(|case| Case { class, ..case })
}
