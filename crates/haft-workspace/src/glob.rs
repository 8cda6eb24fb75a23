//! Names by pattern: `*`, `?`, `**`, `[…]`, `{a,b}`, as shells, git and ripgrep have them.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use ignore::types::{FileTypeDef, Types, TypesBuilder};

/// Longest pattern that is taken.
const LONGEST: usize = 4096;

/// A pattern that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("`{glob}` is not a pattern for names: {why}")]
pub struct GlobError {
    /// The pattern, shortened.
    pub glob: String,
    /// What is wrong with it.
    pub why: String,
}

/// A pattern for paths below a folder.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// The folder that it starts from, if it names one: absolute, in the home folder, or above.
    pub start: Option<PathBuf>,
    /// The folders below the start that every match is in.
    within: PathBuf,
    matcher: GlobMatcher,
}

impl Pattern {
    /// Reads a pattern. Without a `/` it is compared with names, at any depth; otherwise with paths from
    /// the folder on.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn new(given: &str) -> Result<Self, GlobError> {
        let trimmed = given.trim_matches(['\n', '\r']);
        if trimmed.is_empty() || trimmed.contains('\0') || trimmed.len() > LONGEST {
            return Err(refused(given, "it is empty, too long, or holds a NUL character"));
        }
        let (start, rest) = split_start(trimmed);
        let rest = match rest.trim_start_matches("./") {
            // The folder itself: all that is in it.
            "" | "." => "**".to_owned(),
            folder if folder.ends_with('/') => format!("{folder}**"),
            name if !name.contains('/') && start.is_none() && !rest.starts_with("./") => {
                format!("**/{name}")
            }
            path => path.to_owned(),
        };
        let matcher = compile(given, &rest)?.compile_matcher();
        let literal = rest.split('/').take_while(|name| !is_wild(name));
        let literal: PathBuf = literal.collect();
        let within = if is_wild(&rest) { literal } else { parent(&literal) };
        Ok(Self { start, within, matcher })
    }

    /// Whether a path below the start fits.
    #[must_use]
    pub fn fits(&self, path: &Path) -> bool {
        self.matcher.is_match(path)
    }

    /// Whether a folder below the start may hold something that fits.
    #[must_use]
    pub fn may_be_in(&self, folder: &Path) -> bool {
        folder.starts_with(&self.within) || self.within.starts_with(folder)
    }
}

/// Which files are meant, by several patterns; one that begins with `!` takes away.
#[derive(Debug, Clone)]
pub struct Filter {
    wanted: GlobSet,
    unwanted: GlobSet,
}

impl Filter {
    /// Reads patterns, separated by commas outside braces. Each is compared as [`Pattern::new`] has it.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn new(given: &str) -> Result<Self, GlobError> {
        if given.len() > LONGEST {
            return Err(refused(given, "it is too long"));
        }
        let mut wanted = GlobSetBuilder::new();
        let mut unwanted = GlobSetBuilder::new();
        for one in separate(given) {
            let (set, one) = match one.strip_prefix('!') {
                Some(rest) => (&mut unwanted, rest),
                None => (&mut wanted, one),
            };
            let plain = one.trim_start_matches("./").trim_start_matches('/');
            let anchored = plain.trim_end_matches('/').contains('/') || plain.len() < one.len();
            let plain = if anchored { plain.to_owned() } else { format!("**/{plain}") };
            let plain = if plain.ends_with('/') { format!("{plain}**") } else { plain };
            set.add(compile(given, &plain)?);
        }
        let build = |set: GlobSetBuilder| set.build().map_err(|error| unreadable(given, &error));
        Ok(Self { wanted: build(wanted)?, unwanted: build(unwanted)? })
    }

    /// Whether a file is meant, by its path.
    #[must_use]
    pub fn fits(&self, path: &Path) -> bool {
        (self.wanted.is_empty() || self.wanted.is_match(path)) && !self.unwanted.is_match(path)
    }
}

/// Files of one type, by name as ripgrep knows them.
#[derive(Debug, Clone)]
pub struct FileType(Types);

impl FileType {
    /// Finds a type by its name, such as `rust` or `py`, or by the ending of its files.
    ///
    /// # Errors
    /// If there is none; the message names some that are alike.
    pub fn named(name: &str) -> Result<Self, String> {
        let mut types = TypesBuilder::new();
        types.add_defaults();
        let definitions = types.definitions();
        let is_named = |one: &&FileTypeDef| one.name() == name;
        let ends_so = |one: &&FileTypeDef| {
            one.globs().iter().any(|glob| glob.strip_prefix("*.") == Some(name))
        };
        let mut meant: Vec<&FileTypeDef> = definitions.iter().filter(is_named).collect();
        if meant.is_empty() {
            meant = definitions.iter().filter(ends_so).collect();
        }
        if meant.is_empty() {
            return Err(unknown_type(name, &definitions));
        }
        for one in meant {
            types.select(one.name());
        }
        types.build().map(Self).map_err(|error| error.to_string())
    }

    /// Whether a file is of this type, by its path.
    #[must_use]
    pub fn fits(&self, path: &Path) -> bool {
        self.0.matched(path, false).is_whitelist()
    }
}

fn unknown_type(name: &str, definitions: &[FileTypeDef]) -> String {
    let shown: String = name.chars().take(50).flat_map(char::escape_debug).collect();
    let mut alike: Vec<(f64, &str)> = definitions
        .iter()
        .map(|one| (strsim::jaro_winkler(&shown, one.name()), one.name()))
        .collect();
    alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let alike: Vec<&str> = alike.into_iter().take(3).map(|(_, name)| name).collect();
    format!("there is no file type `{shown}`; alike are {}; or use include", alike.join(", "))
}

fn compile(given: &str, glob: &str) -> Result<globset::Glob, GlobError> {
    let built = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
    built.map_err(|error| unreadable(given, &error))
}

fn unreadable(given: &str, error: &globset::Error) -> GlobError {
    refused(given, &error.kind().to_string())
}

fn refused(given: &str, why: &str) -> GlobError {
    let glob = given.chars().take(100).flat_map(char::escape_debug).collect();
    GlobError { glob, why: why.to_owned() }
}

fn is_wild(text: &str) -> bool {
    text.contains(['*', '?', '[', '{', '\\'])
}

fn parent(path: &Path) -> PathBuf {
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Takes off the folder that a pattern starts from, where it leads elsewhere.
fn split_start(pattern: &str) -> (Option<PathBuf>, &str) {
    let leads_away = pattern.starts_with(['/', '~']) || pattern.split('/').any(|name| name == "..");
    if !leads_away {
        return (None, pattern);
    }
    let literal: usize = pattern
        .split_inclusive('/')
        .take_while(|name| name.ends_with('/') && !is_wild(name))
        .map(str::len)
        .sum();
    match pattern.split_at_checked(literal) {
        Some(("", rest)) | Some((_, rest @ "")) if rest == pattern => (None, pattern),
        Some((start, rest)) => (Some(PathBuf::from(start)), rest),
        None => (None, pattern),
    }
}

/// Splits at commas that are in no braces.
fn separate(given: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = given.split(|character| {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        character == ',' && depth <= 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, path: &str) -> bool {
        Pattern::new(pattern).unwrap().fits(Path::new(path))
    }

    #[test]
    fn a_pattern_without_a_slash_is_for_names_and_one_with_a_slash_for_paths() {
        for (pattern, path) in [
            ("*.rs", "a.rs"),
            ("*.rs", "src/deep/a.rs"),
            ("src/*.rs", "src/a.rs"),
            ("./src/**/*.rs", "src/x/a.rs"),
            ("**/*.{ts,tsx}", "a/b.tsx"),
            ("src/", "src/a/b"),
            ("a?[bc]", "axb"),
            (".*/*.yml", ".github/x.yml"),
            (".", "any/thing"),
            ("**", "any/thing"),
            ("Cargo.toml", "crates/x/Cargo.toml"),
            ("./Cargo.toml", "Cargo.toml"),
            (r"\[x\].rs", "[x].rs"),
        ] {
            assert!(fits(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.rs", "a.rsx"),
            ("src/*.rs", "src/x/a.rs"),
            ("src/*.rs", "lib/src/a.rs"),
            ("./Cargo.toml", "crates/x/Cargo.toml"),
        ] {
            assert!(!fits(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_may_start_elsewhere_and_tells_which_folders_can_hold_matches() {
        let start = |pattern: &str| Pattern::new(pattern).unwrap().start;
        assert_eq!(start("/a/b/**/*.rs"), Some("/a/b/".into()));
        assert_eq!(start("../../**"), Some("../../".into()));
        assert_eq!(start("~/x/*"), Some("~/x/".into()));
        assert_eq!(start("/**"), Some("/".into()));
        assert_eq!(start("a/b/*"), None);
        assert!(Pattern::new("/a/b.rs").unwrap().fits(Path::new("b.rs")));
        let pattern = Pattern::new("src/deep/*/x.rs").unwrap();
        for (folder, may) in
            [("src", true), ("src/deep", true), ("src/deep/q", true), ("lib", false)]
        {
            assert_eq!(pattern.may_be_in(Path::new(folder)), may, "{folder}");
        }
        assert!(Pattern::new("src/x.rs").unwrap().may_be_in(Path::new("src")));
    }

    #[test]
    fn what_is_no_pattern_is_refused_in_words_and_nothing_takes_long() {
        for bad in ["", "[", "a{b", "x\0", &"a".repeat(5_000)] {
            let message = Pattern::new(bad).unwrap_err().to_string();
            assert!(message.len() < 400, "{message}");
        }
        assert!(fits(&"{a,b}".repeat(30), &"ab".repeat(15)));
        assert!(fits(&"**/".repeat(100), "a") && !fits(&format!("{}b", "**/".repeat(100)), "a"));
    }

    #[test]
    fn a_filter_takes_several_patterns_and_exceptions() {
        let fits = |filter: &str, path: &str| Filter::new(filter).unwrap().fits(Path::new(path));
        assert!(fits("*.{ts,tsx}, *.js", "a/b.js") && fits("*.{ts,tsx},*.js", "b.tsx"));
        assert!(fits("!*.md", "a.rs") && !fits("!*.md", "x/a.md"));
        assert!(fits("*.rs,!src/gen/**", "src/a.rs") && !fits("*.rs,!src/gen/**", "src/gen/a.rs"));
        assert!(fits("src/", "src/x/y") && fits("/a.rs", "a.rs") && !fits("/a.rs", "b/a.rs"));
        assert!(Filter::new("a{").is_err());
    }

    #[test]
    fn a_type_is_found_by_its_name_or_by_an_ending_and_an_unknown_one_has_neighbours() {
        let fits = |name: &str, path: &str| FileType::named(name).unwrap().fits(Path::new(path));
        assert!(fits("rust", "a/b.rs") && fits("rs", "b.rs") && fits("py", "x.pyi"));
        assert!(!fits("rust", "a.py"));
        let message = FileType::named("pyton").unwrap_err();
        assert!(message.contains("python"), "{message}");
    }
}
