//! The files that work is picked from, and lines to put into them.

use std::path::Path;

use crate::corpus::{
    random::Random,
    sources::{Source, from_folder, sources},
};

use super::work::bare_lines;

/// Files, and lines of any of them that may be new in another.
pub(crate) struct Pool {
    files: Vec<File>,
    donors: Vec<String>,
}

/// A file, and what it says without blanks.
pub(crate) struct File {
    pub(crate) source: Source,
    pub(crate) bare: String,
}

impl Pool {
    pub(crate) fn new() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut all = from_folder(&here.join("tests/it/slips/files"));
        assert!(all.len() >= 8, "the files of the second corpus were not found");
        all.extend(sources());
        let donors = all.iter().flat_map(|source| &source.lines).map(|line| line.trim());
        let is_fit = |line: &&str| {
            let letters = line.chars().filter(|c| c.is_alphanumeric()).count();
            letters > 5 && line.is_ascii() && !line.contains("...") && line.len() < 90
        };
        let donors = donors.filter(is_fit).map(str::to_owned).collect();
        let file = |source: Source| File { bare: bare_lines(&source.lines), source };
        Self { files: all.into_iter().map(file).collect(), donors }
    }

    pub(crate) fn file(&self, random: &mut Random) -> &File {
        random.pick(&self.files)
    }

    /// Returns a file that has more than plain characters.
    pub(crate) fn fancy_file(&self, random: &mut Random) -> &File {
        let fancy: Vec<&File> = self.files.iter().filter(|file| !file.bare.is_ascii()).collect();
        fancy[random.below(fancy.len())]
    }

    pub(crate) fn source(&self, random: &mut Random) -> &Source {
        &self.file(random).source
    }

    /// Returns a line without indentation that a file does not have yet.
    pub(crate) fn line(&self, random: &mut Random, file: &[String]) -> Option<String> {
        let is_there = |line: &str| file.iter().any(|known| known.trim() == line);
        (0..20).map(|_| random.pick(&self.donors)).find(|line| !is_there(line)).cloned()
    }
}

/// Returns a text without blanks, and with plain quotes and dashes.
pub(crate) fn bare(text: &str) -> String {
    let plain = |c: char| match c {
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{2013}' | '\u{2014}' => '-',
        other => other,
    };
    text.chars().filter(|c| !c.is_whitespace() && *c != '\u{200b}').map(plain).collect()
}
