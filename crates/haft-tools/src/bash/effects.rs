//! From what a script would do to what is asked for.

use std::collections::HashSet;
use std::path::Path;

use haft_runtime::permission::{Effect, EffectKind, Suggestion};
use haft_shell::{
    Action, Analysis, Certainty, Changes, Doubt, Run, Scripts, Setting, Settlement, Shell,
    Standing, analyse, suggest,
};
use haft_workspace::path::Place;
use haft_workspace::{Workspace, read_small};

use super::places;
use crate::commands::CommandSettings;

/// What running a script amounts to.
pub(crate) struct Plan {
    /// The folder it starts in.
    pub(crate) cwd: Place,
    /// Everything that has to be asked for.
    pub(crate) effects: Vec<Effect>,
    /// What *always* would allow from then on.
    pub(crate) always: Vec<Suggestion>,
    /// Whether it may change files that no effect names.
    pub(crate) changes: Changes,
}

/// Works out what a script would do. Looks at the disk.
pub(crate) fn plan(
    workspace: &Workspace,
    script: &str,
    cwd: Place,
    settings: &CommandSettings,
) -> Plan {
    let setting = Setting {
        home: settings.home.as_deref(),
        shell: Shell::named(&settings.shell),
        scripts: Some(Scripts(&read_script)),
        ..Setting::new(&cwd.path)
    };
    let analysis = analyse(script, &setting);
    let mut effects = Vec::new();
    if cwd.inside.is_none() {
        effects.push(Effect::on_path(EffectKind::External, &cwd.path, workspace.root()));
        effects.push(Effect::on_path(EffectKind::Read, &cwd.path, workspace.root()));
    }
    let wildcards = places::Wildcards::of(script);
    for effect in &analysis.effects {
        let is_there = |place: &haft_shell::Place| {
            effect.certainty != Certainty::IfThere || place.path.symlink_metadata().is_ok()
        };
        let on = |kind, place| match is_there(place) {
            true => places::effects(workspace, kind, place, wildcards),
            false => Vec::new(),
        };
        match &effect.action {
            Action::Run(run) => effects.push(of_run(run)),
            Action::Read(place) => effects.extend(on(EffectKind::Read, place)),
            Action::Write(place) => effects.extend(on(EffectKind::Write, place)),
            Action::Delete(place) => effects.extend(on(EffectKind::Delete, place)),
            Action::Connect(host) => effects.push(Effect::connect(host.clone())),
        }
    }
    let doubts = analysis.doubts.iter().filter(|doubt| !is_settled(workspace, doubt));
    let doubts: Vec<&Doubt> = doubts.collect();
    effects.extend(doubts.iter().copied().map(of_doubt));
    if doubts.iter().any(|doubt| matches!(doubt.settled_by, Settlement::NoLinks(_))) {
        let kinds = [EffectKind::External, EffectKind::Read, EffectKind::Write];
        effects.extend(kinds.map(Effect::anywhere));
    }
    let is_doubted = effects.iter().any(|effect| effect.unproven.is_some());
    let changes = if is_doubted { Changes::Open } else { analysis.changes };
    let mut seen = HashSet::new();
    effects.retain(|effect| seen.insert(effect.clone()));
    let always = always(&analysis, &effects);
    Plan { cwd, effects, always, changes }
}

/// The text of a script, unless it is too long to be looked at.
fn read_script(path: &Path) -> Option<String> {
    String::from_utf8(read_small(path, haft_shell::LONGEST as u64).ok()?).ok()
}

fn of_run(run: &Run) -> Effect {
    let effect = Effect::run(run.text.clone());
    let effect = match run.standing {
        Standing::Asked => effect,
        Standing::Mentioned => effect.mentioned(),
    };
    if run.is_known() {
        return effect;
    }
    effect.certain_up_to(run.words.get(..run.known).unwrap_or_default().join(" "))
}

fn of_doubt(doubt: &Doubt) -> Effect {
    let Doubt { reason, line, .. } = doubt;
    Effect::run(doubt.excerpt.clone()).unproven(format!("line {line}: {reason}"))
}

/// What *always* could cover: commands by what they do, all else exactly.
fn always(analysis: &Analysis, effects: &[Effect]) -> Vec<Suggestion> {
    let mut always: Vec<Suggestion> = Vec::new();
    let wide = |effect: &Effect| {
        let run = analysis.runs().find(|run| run.text == effect.value)?;
        let pattern = suggest(&run.words)?;
        Some(Suggestion { key: effect.key.clone().into_owned(), pattern })
    };
    let named = |effect: &&Effect| effect.unproven.is_none() && !effect.is_anywhere();
    for effect in effects.iter().filter(named) {
        let wide = if effect.kind == EffectKind::Run { wide(effect) } else { None };
        let suggestion = wide.or_else(|| Suggestion::exactly(effect));
        always.extend(suggestion.filter(|one| !always.contains(one)));
    }
    always
}

/// Whether a look at the disk takes the doubt away.
fn is_settled(workspace: &Workspace, doubt: &Doubt) -> bool {
    match &doubt.settled_by {
        Settlement::Asking => false,
        Settlement::SameRepository(folder) => is_own_repository(workspace.root(), folder),
        Settlement::NoLinks(paths) => paths.iter().all(|path| !places::may_hold_links(path)),
    }
}

/// Whether git, in `folder`, works on the repository that the workspace is or lies in.
fn is_own_repository(root: &Path, folder: &Path) -> bool {
    let Ok(folder) = fs_err::canonicalize(folder) else { return false };
    // A folder with these three is a repository by itself, whatever is above it.
    let is_bare = |folder: &Path| {
        ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).symlink_metadata().is_ok())
    };
    let holder = |folder: &Path| {
        let marked = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        folder.ancestors().find(marked).map(Path::to_path_buf)
    };
    let repository = holder(&folder);
    let within = |one: &&Path| repository.as_deref().is_none_or(|top| one.starts_with(top));
    !folder.ancestors().take_while(within).any(is_bare) && repository == holder(root)
}
