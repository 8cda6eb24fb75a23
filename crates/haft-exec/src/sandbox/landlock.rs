//! Files once more, held by another part of the kernel: what slips through the mounts is held here.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::layers::State;
use super::{Confinement, Network, PRIVATE};
use crate::warden::Failure;

/// The newest set of rights that is asked for; older kernels give what they have.
const NEWEST: ABI = ABI::V6;

/// Where writing is allowed beside the workspace: devices of a private `/dev`, or the few harmless ones.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts"];

/// Restricts this process for good. `mounted` says that the file system is already one of its own.
pub(super) fn restrict(confinement: &Confinement, mounted: bool) -> Result<State, Failure> {
    let result = ruleset(confinement, mounted).and_then(RulesetCreated::restrict_self);
    match result {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => {
            Ok(State::Missing("the kernel has no Landlock".into()))
        }
        Ok(_) => Ok(State::InForce),
        Err(error) => Err(Failure { what: format!("restrict files: {error}"), errno: 0 }),
    }
}

fn ruleset(confinement: &Confinement, mounted: bool) -> Result<RulesetCreated, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    // A network of its own has nothing to forbid; without one, this is a second lock.
    if !mounted && confinement.network == Network::Off {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = rules.create()?;
    let read = AccessFs::from_read(NEWEST);
    let readable = if mounted { vec![PathBuf::from("/")] } else { all_but(&confinement.hidden) };
    rules = allow(rules, readable.iter().map(PathBuf::as_path), read)?;
    let device = AccessFs::WriteFile | AccessFs::ReadFile | AccessFs::IoctlDev | AccessFs::Truncate;
    rules = allow(rules, DEVICES.map(Path::new), device)?;
    let writable = confinement.writable.iter().chain(&confinement.scratch).map(PathBuf::as_path);
    // The private places are private only where the mounts are.
    let private = PRIVATE.map(Path::new).into_iter().filter(|_| mounted);
    allow(rules, writable.chain(private), all & !AccessFs::IoctlDev)
}

/// Allows `access` beneath each path; what is missing needs no rule.
fn allow<'a>(
    mut rules: RulesetCreated,
    paths: impl IntoIterator<Item = &'a Path>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    for path in paths {
        let Ok(fd) = PathFd::new(path) else { continue };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        rules = rules.add_rule(PathBeneath::new(fd, access))?;
    }
    Ok(rules)
}

/// Everything in the file system but `hidden`: their neighbours on every level.
///
/// There is no rule that forbids, so all the rest is allowed. What is made later beside a hidden
/// path cannot be read; that is the lesser evil.
fn all_but(hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut allowed = vec![PathBuf::from("/")];
    for secret in hidden.iter().filter_map(|path| fs_err::canonicalize(path).ok()) {
        let Some(at) = allowed.iter().position(|path| secret.starts_with(path)) else { continue };
        let mut top = allowed.swap_remove(at);
        while top != secret {
            let next = secret.components().take(top.components().count() + 1).collect::<PathBuf>();
            let entries = std::fs::read_dir(&top).into_iter().flatten();
            allowed.extend(entries.filter_map(|e| Some(e.ok()?.path())).filter(|e| *e != next));
            top = next;
        }
    }
    allowed
}
