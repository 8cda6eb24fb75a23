//! What is known of the shell at one point of the script.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::value::Field;
use crate::syntax::Command;

/// How many folders are kept in mind at once.
const MOST_FOLDERS: usize = 4;

/// The shell's variables, functions and folder.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// Variables that the script has set, or that were known from the start.
    pub(super) variables: BTreeMap<String, Field>,
    /// Functions, by name.
    pub(super) functions: BTreeMap<String, Function>,
    /// The folders that it may be in; none if that is not known.
    pub(super) cwd: Vec<PathBuf>,
    /// Whether words are still split at blanks and line ends.
    pub(super) own_separators: bool,
    /// Whether a variable that is not listed may have been set as well.
    pub(super) any_variable: bool,
}

/// What a function's name stands for.
#[derive(Debug, Clone)]
pub(super) enum Function {
    /// This body, for sure.
    Body(Rc<Command>),
    /// Perhaps a function, perhaps a program.
    Perhaps,
}

impl State {
    pub(super) fn new(cwd: &Path) -> Self {
        Self { cwd: vec![cwd.to_owned()], ..Self::default() }
    }

    /// What holds where the script came here on either of two ways.
    pub(super) fn join(self, other: Self) -> Self {
        let any_variable = self.any_variable || other.any_variable;
        let mut variables = BTreeMap::new();
        for name in self.variables.keys().chain(other.variables.keys()) {
            let unknown = || Field::unknown(&format!("${name}"));
            let value = match (self.variables.get(name), other.variables.get(name)) {
                (Some(one), Some(two)) => one.joined(two, name),
                _ => unknown(),
            };
            variables.insert(name.clone(), value);
        }
        let mut functions = BTreeMap::new();
        for name in self.functions.keys().chain(other.functions.keys()) {
            let function = match (self.functions.get(name), other.functions.get(name)) {
                (Some(Function::Body(one)), Some(Function::Body(two))) if Rc::ptr_eq(one, two) => {
                    Function::Body(Rc::clone(one))
                }
                _ => Function::Perhaps,
            };
            functions.insert(name.clone(), function);
        }
        let own_separators = self.own_separators || other.own_separators;
        let cwd = join_folders(self.cwd, other.cwd);
        Self { variables, functions, cwd, own_separators, any_variable }
    }
}

/// The folders of both; none if either is not known, or if there are too many.
fn join_folders(mut one: Vec<PathBuf>, two: Vec<PathBuf>) -> Vec<PathBuf> {
    if one.is_empty() || two.is_empty() {
        return Vec::new();
    }
    for folder in two {
        if !one.contains(&folder) {
            one.push(folder);
        }
    }
    if one.len() > MOST_FOLDERS { Vec::new() } else { one }
}

/// `path` below `folder`, without `.`; with `logical`, also without `..`, as `cd` does it. Where it is not,
/// what `..` means depends on links: a folder that was entered may be one.
pub(super) fn below(folder: &Path, path: &str, logical: bool) -> PathBuf {
    let mut place = if path.starts_with('/') { PathBuf::from("/") } else { folder.to_owned() };
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::ParentDir if logical && !place.ends_with("..") => {
                place.pop();
            }
            Component::ParentDir => place.push(".."),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    place
}
