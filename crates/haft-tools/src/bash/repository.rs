//! The parts of a repository that lie outside of the workspace: those of a worktree or a submodule.

use std::path::{Path, PathBuf};

use haft_exec::sandbox::Protected;
use haft_workspace::read_small;

/// What runs commands, or names them.
const HOOKS: &str = "hooks";
const SETTINGS: [&str; 2] = ["config", "config.worktree"];

/// What says which other folders belong to a repository: whoever could write it could open any.
const LINKS: [&str; 2] = ["gitdir", "commondir"];

/// Far more than git writes into any of these.
const MOST: u64 = 1024 * 1024;

/// Where git keeps what belongs to a workspace, though it lies elsewhere.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Elsewhere {
    /// Folders that git has to change.
    pub(super) writable: Vec<PathBuf>,
    /// What of them stays as it is.
    pub(super) protected: Vec<Protected>,
}

/// Looks where the repository of the workspace at `root` is, if not in it.
///
/// The workspace alone is not believed: anybody can write a file `.git` that names any folder. That
/// folder has to name the workspace as well.
pub(super) fn elsewhere(root: &Path) -> Elsewhere {
    let Some(own) = own_folder(root) else { return Elsewhere::default() };
    let shared = named_in(&own.join("commondir"), &own);
    let shared = shared.filter(|shared| own.parent() == Some(&shared.join("worktrees")));
    let folders: Vec<PathBuf> = std::iter::once(own.clone()).chain(shared).collect();
    let protected = folders.iter().flat_map(|folder| {
        let settings = SETTINGS.iter().map(|name| Protected::file(folder.join(name)));
        settings.chain([Protected::folder(folder.join(HOOKS))])
    });
    let links = LINKS.iter().map(|name| own.join(name)).filter(|link| link.is_file());
    let protected = protected.chain(links.map(Protected::file)).collect();
    Elsewhere { protected, writable: folders }
}

/// Takes away what would make another folder the repository's settings the next time that anyone uses
/// git here: a confined command can make it, and a repository with a folder `.git` never has it.
pub(super) fn tidy(root: &Path) -> bool {
    let git = root.join(".git");
    let is_folder = git.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    is_folder && fs_err::remove_file(git.join("commondir")).is_ok()
}

/// The folder that the file `.git` names, if that folder names the workspace.
fn own_folder(root: &Path) -> Option<PathBuf> {
    let file = root.join(".git");
    if !file.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let text = text_of(&file)?;
    let named = text.strip_prefix("gitdir:")?.trim();
    let own = fs_err::canonicalize(root.join(named)).ok()?;
    let back = named_in(&own.join("gitdir"), &own).is_some_and(|back| back == file);
    let is_outside = !own.starts_with(root);
    (is_outside && own.join("HEAD").is_file() && (back || works_in(&own, root))).then_some(own)
}

/// What a file of a repository says, if it is one that git would have written.
fn text_of(file: &Path) -> Option<String> {
    String::from_utf8(read_small(file, MOST).ok()?).ok()
}

/// The path that a file of a repository holds, seen from `folder`.
fn named_in(file: &Path, folder: &Path) -> Option<PathBuf> {
    let text = text_of(file)?;
    fs_err::canonicalize(folder.join(text.trim())).ok()
}

/// Whether the settings of a submodule's repository say that it is checked out at `root`.
fn works_in(own: &Path, root: &Path) -> bool {
    let settings = text_of(&own.join("config")).unwrap_or_default();
    let worktree = settings.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "worktree").then(|| value.trim().to_owned())
    });
    worktree.is_some_and(|path| fs_err::canonicalize(own.join(path)).is_ok_and(|it| it == root))
}
