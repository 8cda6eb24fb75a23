//! Edits with ground truth, by seed: a real span, an intended change, and what a model makes of it.

pub(crate) mod draft;
pub(crate) mod model;
pub(crate) mod place;
pub(crate) mod random;
pub(crate) mod refused;
pub(crate) mod sources;
pub(crate) mod special;

use random::Random;
use sources::Source;

/// What must come of a case.
#[derive(Clone, Debug)]
pub(crate) enum Truth {
    /// This text, byte by byte.
    Becomes(String),
    /// A refusal, whatever its reason.
    Refused,
}

/// An edit as a model would send it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) replace_all: bool,
}

/// One case of the corpus.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) class: &'static str,
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) edits: Vec<Asked>,
    pub(crate) truth: Truth,
}

/// Makes a case of a class from a file; `None` where the file does not lend itself to it.
pub(crate) type Maker = fn(&mut Random, &Source) -> Option<Case>;

/// All classes with their makers.
pub(crate) fn classes() -> Vec<(&'static str, Maker)> {
    let mut classes: Vec<(&'static str, Maker)> = Vec::new();
    classes.extend(model::CLASSES);
    classes.extend(place::CLASSES);
    classes.extend(special::CLASSES);
    classes.extend(refused::CLASSES);
    classes
}

/// Makes a case of a class from any of the files that lends itself.
pub(crate) fn case(
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
