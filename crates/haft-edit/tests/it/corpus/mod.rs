//! Edits with ground truth, by seed: a real span, an intended change, and what a model makes of it.

pub mod draft;
pub mod model;
pub mod place;
pub mod random;
pub mod refused;
pub mod sources;
pub mod special;

use random::Random;
use sources::Source;

/// What must come of a case.
#[derive(Clone, Debug)]
pub enum Truth {
    /// This text, byte by byte.
    Becomes(String),
    /// A refusal, whatever its reason.
    Refused,
}

/// An edit as a model would send it.
#[derive(Clone, Debug)]
pub struct Asked {
    pub old: String,
    pub new: String,
    pub replace_all: bool,
}

/// One case of the corpus.
#[derive(Clone, Debug)]
pub struct Case {
    pub class: &'static str,
    pub file: String,
    pub text: String,
    pub edits: Vec<Asked>,
    pub truth: Truth,
}

/// Makes a case of a class from a file; `None` where the file does not lend itself to it.
pub type Maker = fn(&mut Random, &Source) -> Option<Case>;

/// All classes with their makers.
pub fn classes() -> Vec<(&'static str, Maker)> {
    let mut classes: Vec<(&'static str, Maker)> = Vec::new();
    classes.extend(model::CLASSES);
    classes.extend(place::CLASSES);
    classes.extend(special::CLASSES);
    classes.extend(refused::CLASSES);
    classes
}

/// Makes a case of a class from any of the files that lends itself.
pub fn case(
    random: &mut Random,
    sources: &[Source],
    class: &'static str,
    make: Maker,
) -> Option<Case> {
    (0..200).find_map(|_| {
        let source = random.pick(sources);
        let case = make(random, source)?;
        Some(Case { class, file: source.name.clone(), ..case })
    })
}
