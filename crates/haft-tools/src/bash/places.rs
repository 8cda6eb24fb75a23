//! From a path in a script to the files it means.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use haft_runtime::permission::{Effect, EffectKind, Pattern};
use haft_shell::{Extent, Place};
use haft_workspace::Workspace;
use haft_workspace::path::PathError;

/// Most names that are looked at for one pattern.
const LOOKED_AT: usize = 20_000;

/// Most names that are looked at where links are followed.
const FOLLOWED: usize = 100_000;

/// Most files that one pattern may mean.
const MATCHES: usize = 500;

/// Devices that hold nothing, and the streams of the command itself.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
];

/// What wildcards of a script match beside what they usually do.
#[derive(Clone, Copy)]
pub(super) struct Wildcards {
    /// Names that begin with a dot.
    dots: bool,
    /// Letters in either case.
    any_case: bool,
    /// `**` stands for any number of folders, in place of one name.
    deep: bool,
}

impl Wildcards {
    /// As far as the options are named in `script`, they may be set.
    pub(super) fn of(script: &str) -> Self {
        let (dots, any_case) = (script.contains("dotglob"), script.contains("nocaseglob"));
        Self { dots, any_case, deep: script.contains("globstar") }
    }
}

/// What doing `kind` to a place amounts to.
pub(super) fn effects(
    workspace: &Workspace,
    kind: EffectKind,
    place: &Place,
    wildcards: Wildcards,
) -> Vec<Effect> {
    match &place.extent {
        // There is a doubt beside it, for whoever allows commands.
        Extent::Anywhere => {
            vec![Effect::anywhere(EffectKind::External), Effect::anywhere(kind)]
        }
        Extent::Exact | Extent::Below => on_path(workspace, kind, &place.path),
        extent @ (Extent::Followed | Extent::Entered) => {
            let mut effects = on_path(workspace, kind, &place.path);
            match led_out_of(&place.path, workspace.root(), extent) {
                Some(found) => {
                    effects.extend(found.iter().flat_map(|path| on_path(workspace, kind, path)));
                }
                None => effects.push(too_many(&place.path.to_string_lossy())),
            }
            effects
        }
        Extent::Matching(pattern) => {
            let mut effects = match kind {
                EffectKind::Read => on_path(workspace, kind, &place.path),
                _ => Vec::new(),
            };
            match matching(&place.path, pattern, wildcards) {
                Some(found) if found.is_empty() => {
                    effects.extend(on_path(workspace, kind, Path::new(pattern)));
                }
                Some(found) => {
                    effects.extend(found.iter().flat_map(|path| on_path(workspace, kind, path)));
                }
                None => effects.push(too_many(pattern)),
            }
            effects
        }
    }
}

fn too_many(place: &str) -> Effect {
    Effect::run(place).unproven("too many files to look at them all")
}

/// What links below `path` lead to that is not below it, through any number of them as long as they stay
/// in the workspace; none if there is too much to say.
fn led_out_of(path: &Path, root: &Path, extent: &Extent) -> Option<Vec<PathBuf>> {
    let Ok(top) = fs_err::canonicalize(path) else { return Some(Vec::new()) };
    let mut looked_at = 0;
    let mut found: Vec<PathBuf> = Vec::new();
    let mut waiting = vec![top.clone()];
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = fs_err::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            looked_at += 1;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(kind) if kind.is_symlink() => {
                    let Ok(target) = fs_err::canonicalize(entry.path()) else { continue };
                    let known = found.iter().chain([&top]).any(|one| target.starts_with(one));
                    if !known && (*extent == Extent::Followed || target.is_dir()) {
                        waiting.extend(Some(target.clone()).filter(|one| one.starts_with(root)));
                        found.push(target);
                    }
                }
                _ => {}
            }
        }
        if looked_at > FOLLOWED || found.len() > MATCHES {
            return None;
        }
    }
    Some(found)
}

fn on_path(workspace: &Workspace, kind: EffectKind, path: &Path) -> Vec<Effect> {
    let Some(text) = path.to_str() else {
        let shown = path.to_string_lossy();
        return vec![Effect::run(shown).unproven("a path that is no text")];
    };
    let number = text.strip_prefix("/dev/fd/");
    if DEVICES.contains(&text)
        || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return Vec::new();
    }
    let through = through_missing(path);
    let text = through.as_deref().and_then(Path::to_str).unwrap_or(text);
    let place = match workspace.locate(text) {
        Ok(place) => place,
        // Where we cannot go, the command cannot either: it is the same user.
        Err(PathError::Unreachable { source, .. })
            if source.kind() != ErrorKind::NotFound && is_plain(path) =>
        {
            workspace.place(path.components().collect(), false)
        }
        Err(error) => return vec![Effect::run(text).unproven(error.to_string())],
    };
    let on = |kind| Effect::on_path(kind, &place.path, workspace.root());
    let external = place.inside.is_none().then(|| on(EffectKind::External));
    external.into_iter().chain([on(kind)]).collect()
}

/// The path without the `..` behind names that are not there: what the script makes there is a folder,
/// or a link that it is asked about. None where that changes nothing.
fn through_missing(path: &Path) -> Option<PathBuf> {
    if is_plain(path) {
        return None;
    }
    let mut place = PathBuf::new();
    for part in path.components() {
        let missing = part == Component::ParentDir
            && place.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        if missing {
            place.pop();
        } else {
            place.push(part);
        }
    }
    Some(place)
}

/// Whether there may be a link at or below `path`.
pub(super) fn may_hold_links(path: &Path) -> bool {
    let mut looked_at = 0;
    let mut waiting = match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => return true,
        Ok(found) if found.is_dir() => vec![path.to_owned()],
        Ok(_) => Vec::new(),
        Err(error) => return error.kind() != ErrorKind::NotFound,
    };
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = fs_err::read_dir(&folder) else { return true };
        for entry in entries {
            looked_at += 1;
            match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
                Ok((folder, kind)) if kind.is_dir() => waiting.push(folder),
                Ok((_, kind)) if kind.is_symlink() => return true,
                Ok(_) => {}
                Err(_) => return true,
            }
        }
        if looked_at > LOOKED_AT {
            return true;
        }
    }
    false
}

fn is_plain(path: &Path) -> bool {
    !path.components().any(|part| part == Component::ParentDir)
}

/// The files that a shell pattern means; none if there are too many to say.
fn matching(above: &Path, pattern: &str, wildcards: Wildcards) -> Option<Vec<PathBuf>> {
    let rest = pattern.strip_prefix(above.to_str()?)?.trim_start_matches('/');
    let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
    let mut looked_at = 0;
    let mut found = vec![above.to_owned()];
    for part in parts {
        if part == "**" && wildcards.deep {
            found = all_below(found, wildcards.dots, &mut looked_at)?;
            continue;
        }
        if matches!(part, "." | "..") {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let Wildcards { dots, any_case, .. } = wildcards;
        let in_case = |text: &str| if any_case { text.to_lowercase() } else { text.to_owned() };
        let wanted = widened(&in_case(part));
        let dots = dots || part.starts_with('.');
        let mut next = Vec::new();
        for folder in found {
            let Ok(entries) = fs_err::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                looked_at += 1;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if (dots || !name.starts_with('.')) && wanted.matches(&in_case(&name)) {
                    next.push(entry.path());
                }
            }
            if looked_at > LOOKED_AT || next.len() > MATCHES {
                return None;
            }
        }
        found = next;
    }
    (found.len() <= MATCHES).then_some(found)
}

/// These folders and all below them, with the files; what a link leads to is not looked into.
fn all_below(mut found: Vec<PathBuf>, dots: bool, looked_at: &mut usize) -> Option<Vec<PathBuf>> {
    let mut folders = found.clone();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs_err::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            *looked_at += 1;
            if !dots && entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
            found.push(entry.path());
        }
        if *looked_at > LOOKED_AT {
            return None;
        }
    }
    Some(found)
}

/// A pattern of the rules that matches all that the shell's does, and perhaps more.
fn widened(part: &str) -> Pattern {
    // Sets of characters, groups and escapes may mean anything.
    if !part.contains(['[', '(', '{', '\\']) {
        return Pattern::new(part);
    }
    let literal = part.split(['[', '(', '{', '\\', '!', '@', '+', '?', '*']).next();
    Pattern::new(&format!("{}*", literal.unwrap_or_default()))
}
