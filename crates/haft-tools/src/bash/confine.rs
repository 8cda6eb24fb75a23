//! What a command may touch, after what it was allowed to do.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_exec::sandbox::Protected;
use haft_exec::{Confinement, Sandbox};
use haft_runtime::ToolError;
use haft_runtime::permission::{Action, Effect, EffectKind};

use super::repository;
use crate::commands::{CommandSettings, Grounds, SandboxMode};

/// Most names of the workspace that are looked at for secrets.
const LOOKED_AT: usize = 20_000;

/// How many of them are held against the rules whatever they are called.
const ALL_OF: usize = 500;

/// Most secrets that are hidden one by one.
const HIDDEN: usize = 200;

/// Folders that are not looked into for secrets: too many names, and none of them ours.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

/// Parts of names that secrets usually have.
const SECRET: [&str; 18] = [
    ".env",
    "env.",
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    "keystore",
    ".kdbx",
    "id_",
    "netrc",
    "npmrc",
    "pypirc",
    "credential",
    "secret",
    "tfstate",
    "tfvars",
    "token",
];

/// Places that every confined command has for itself.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// After so long, what a session left in its `/tmp` is removed.
const SCRATCH_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The sandbox for a command whose effects have been allowed.
pub(crate) async fn sandbox(
    settings: &CommandSettings,
    grounds: &Grounds<'_>,
) -> Result<Sandbox, ToolError> {
    if settings.sandbox == SandboxMode::Off {
        return Ok(Sandbox::Off);
    }
    let (root, effects) = (grounds.workspace.root(), grounds.effects);
    let allowed = |kind: fn(EffectKind) -> bool| {
        effects.iter().filter(move |effect| kind(effect.kind)).filter_map(Effect::path)
    };
    let read: Vec<PathBuf> = allowed(|kind| kind == EffectKind::Read).collect();
    let (own, named) = (settings.clone(), read.clone());
    let session = grounds.session.to_string();
    let workspace = Arc::clone(grounds.workspace);
    let look = move || {
        let mut hidden = own.hidden.clone();
        hidden
            .retain(|path| path.symlink_metadata().is_ok() && !workspace.root().starts_with(path));
        let hidden: Vec<PathBuf> =
            hidden.into_iter().flat_map(|path| all_but(path, &named)).collect();
        let scratch = own.scratch.as_deref().and_then(|all| scratch(all, &session));
        let repository = repository::elsewhere(workspace.root());
        (hidden, scratch, perhaps_secret(workspace.root()), repository)
    };
    let looked = tokio::task::spawn_blocking(look).await;
    let (mut hidden, scratch, candidates, repository) =
        looked.map_err(|error| ToolError::caused("the disk did not answer", error))?;
    let not_for_all = |path: &&PathBuf| {
        (grounds.ruled)(&Effect::on_path(EffectKind::Read, path, root)) != Action::Allow
    };
    let candidates = candidates.iter().filter(|path| !read.contains(path));
    hidden.extend(candidates.filter(not_for_all).take(HIDDEN).cloned());
    // An agent that only looks has commands that only look, whatever they were thought to do.
    let may_write = (grounds.ruled)(&Effect::using("sandbox", "write")) != Action::Deny;
    let mut confinement = match settings.sandbox {
        SandboxMode::WorkspaceWrite if root.parent().is_some() && may_write => {
            Confinement::workspace([root.to_owned()])
        }
        // A workspace that is the whole machine is not written to as a whole either.
        _ => Confinement::read_only(),
    };
    let changed: Vec<PathBuf> =
        allowed(|kind| matches!(kind, EffectKind::Write | EffectKind::Delete)).collect();
    if settings.sandbox == SandboxMode::WorkspaceWrite && may_write {
        confinement.writable.extend(settings.writable.iter().filter(|it| it.exists()).cloned());
        let kept_whole: Vec<&Path> = settings.home.as_deref().into_iter().chain([root]).collect();
        let outside = changed.iter().filter(|path| !path.starts_with(root));
        confinement.writable.extend(outside.filter_map(|path| existing(path, &kept_whole)));
    }
    confinement.protected = protected(settings, root, &changed);
    if settings.sandbox == SandboxMode::WorkspaceWrite && may_write {
        confinement.writable.extend(repository.writable);
        confinement.protected.extend(repository.protected);
    }
    // Not what is in the workspace: a mount of its own could not be replaced, as `sed -i` does.
    let read = read.into_iter().filter(|path| !path.starts_with(root));
    confinement.visible = read.chain([root.to_owned()]).filter(|path| is_private(path)).collect();
    confinement.hidden = hidden;
    confinement.scratch = scratch;
    confinement.network = settings.network;
    confinement.peers = Some(grounds.session.to_string());
    confinement.demand = settings.demand;
    Ok(Sandbox::Confined(confinement))
}

/// What is hidden, but for what of it was allowed by name: then all beside that.
fn all_but(hidden: PathBuf, read: &[PathBuf]) -> Vec<PathBuf> {
    if read.contains(&hidden) {
        return Vec::new();
    }
    if !read.iter().any(|path| path.starts_with(&hidden)) {
        return vec![hidden];
    }
    let entries = fs_err::read_dir(&hidden).map(|all| all.take(HIDDEN + 1).flatten().collect());
    match entries {
        Ok(entries) if Vec::len(&entries) <= HIDDEN => {
            entries.into_iter().flat_map(|entry| all_but(entry.path(), read)).collect()
        }
        // Each is a mount: too many of them are no way.
        _ => vec![hidden],
    }
}

/// What stays as it is, but for what this call was allowed to change by name.
fn protected(settings: &CommandSettings, root: &Path, changed: &[PathBuf]) -> Vec<Protected> {
    let placed = settings
        .protected
        .iter()
        .map(|one| Protected { path: root.join(&one.path), kind: one.kind });
    // Where there is no repository, nothing stands for its parts.
    let is_there =
        |one: &Protected| one.path.parent().is_some_and(|folder| folder == root || folder.is_dir());
    let opened = |one: &Protected| changed.iter().any(|path| path.starts_with(&one.path));
    placed.filter(|one| is_there(one) && !opened(one)).collect()
}

/// The path, or the folder in which it would be made, unless that holds half the machine.
fn existing(path: &Path, kept_whole: &[&Path]) -> Option<PathBuf> {
    if path.symlink_metadata().is_ok() {
        return Some(path.to_owned());
    }
    let folder = path.parent().filter(|folder| folder.is_dir())?;
    let is_deep = folder.components().count() > 2;
    let holds_much = kept_whole.iter().any(|kept| kept.starts_with(folder));
    (is_deep && !holds_much).then(|| folder.to_owned())
}

fn is_private(path: &Path) -> bool {
    PRIVATE.iter().any(|place| path.starts_with(place))
}

/// The folder that is a session's `/tmp`; also removes those that nobody has used for long.
fn scratch(all: &Path, session: &str) -> Option<PathBuf> {
    let name: String = session
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(100)
        .collect();
    let own = all.join(name);
    if own.is_dir() {
        return Some(own);
    }
    let is_old = |entry: &fs_err::DirEntry| {
        let changed = entry.metadata().and_then(|meta| meta.modified());
        let age = changed.map(|then| SystemTime::now().duration_since(then));
        matches!(age, Ok(Ok(age)) if age > SCRATCH_AGE)
    };
    for entry in fs_err::read_dir(all).into_iter().flatten().flatten().filter(is_old) {
        fs_err::remove_dir_all(entry.path()).ok();
    }
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(&own).ok()?;
    Some(own)
}

/// Files of the workspace that may be secrets: some whatever their names, then by their names.
#[must_use]
pub fn perhaps_secret(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut looked_at = 0;
    let mut folders = std::collections::VecDeque::from([root.to_owned()]);
    while let Some(folder) = folders.pop_front() {
        let Ok(entries) = fs_err::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            looked_at += 1;
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            let name = name.to_string_lossy().to_lowercase();
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                folders.push_back(entry.path());
            }
            let is_secret = SECRET.iter().any(|part| name.contains(part));
            if kind.is_file() && (looked_at <= ALL_OF || is_secret) {
                found.push(entry.path());
            }
        }
        if looked_at > LOOKED_AT {
            break;
        }
    }
    found
}
