//! `haft sessions replay`: the calls of a session, made again in a copy of the workspace, and compared.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{bail, ensure};
use haft_runtime::permission::EffectKind;
use haft_runtime::{
    Arguments, Call, CallRecord, CallState, CancellationToken, Client, Grant, Scope, SessionId,
    Store, Toolset, plain, plain_lines,
};
use haft_store::{LazyStore, Options};
use haft_tools::SandboxMode;
use haft_workspace::journal::{self, Journal};
use serde::Serialize;
use serde_json::{Value, json};

use super::answers::{Answers, Source};
use super::copy::{copy, wind_back};
use super::export::{self, Recorded};
use super::same::{Difference, Plain};
use crate::args::{Common, ReplayArgs};
use crate::diff;
use crate::environment::Environment;
use crate::open::Haft;
use crate::print::{Printer, counted};

/// Most documents of a project that are taken along.
const DOCUMENTS: usize = 1_000;

/// Tools whose answers are not made of the workspace.
const ELSEWHERE: [(&str, &str); 5] = [
    ("question", "it asks the user"),
    ("plan_enter", "it asks the user"),
    ("plan_exit", "it asks the user"),
    ("task", "its work is a session of its own"),
    ("job", "it depends on how far something else has come"),
];

/// A call that was not made again.
#[derive(Debug, Serialize)]
struct Left {
    call: String,
    tool: String,
    why: String,
}

/// What came of it.
#[derive(Default)]
struct Outcome {
    same: usize,
    left: Vec<Left>,
    difference: Option<(CallRecord, Difference)>,
}

pub(super) async fn run(haft: &Haft, printer: Printer<'_>, args: ReplayArgs) -> anyhow::Result<u8> {
    let (recorded, source) = find(haft, &args.what)?;
    let place = Place::make(haft, &args, &recorded, source)?;
    let again = place.open(haft, &recorded, source)?;
    let original = Path::new(&recorded.session.project);
    let plain = Plain::new(&[
        (original, "<workspace>"),
        (&place.workspace, "<workspace>"),
        (haft.environment.state_dir.as_deref().unwrap_or(Path::new("")), "<state>"),
        (&place.state(), "<state>"),
    ])?;
    let answers = Answers::new(source, again.command_settings().sandbox != SandboxMode::Off);
    let runtime = again.runtime(answers.clone())?;
    let mut audience = again.audience();
    audience.client = Client::Agent;
    let toolset = runtime.toolset(&audience).await;
    again.open_session(&runtime, recorded.session.id.clone()).await?;
    let mut outcome = Outcome::default();
    let total = recorded.calls.iter().filter(|call| call.parent.is_none()).count();
    // A call that another made is made by it again.
    for call in recorded.calls.into_iter().filter(|call| call.parent.is_none()) {
        outcome.make(&toolset, &answers, &plain, call).await;
        if outcome.difference.is_some() {
            break;
        }
    }
    drop((toolset, runtime, again));
    report(haft, printer, &recorded.session.id, total, &outcome, place)
}

/// The session that is meant: one of the store, or one in a file.
fn find(haft: &Haft, what: &str) -> anyhow::Result<(Recorded, Source)> {
    if let Ok(id) = SessionId::parse(what)
        && let Some(session) = haft.store.session(&id)?
    {
        return Ok((export::of_store(haft, session)?, Source::Store));
    }
    let path = haft.environment.current_dir.join(what);
    if path.is_file() {
        return Ok((export::of_file(&path)?, Source::File));
    }
    bail!(
        "`{}` is neither a session nor a file; `haft sessions list --all` shows them",
        plain(what)
    )
}

/// Where calls are made again.
struct Place {
    workspace: PathBuf,
    /// Holds our state, and the workspace unless the user named a folder for it. Gone when this is dropped.
    folder: tempfile::TempDir,
}

impl Place {
    /// Copies what the session began with: the folder that the user names; else the workspace, and
    /// for a session of the store without what was changed since.
    fn make(
        haft: &Haft,
        args: &ReplayArgs,
        recorded: &Recorded,
        source: Source,
    ) -> anyhow::Result<Self> {
        let here = |path: &PathBuf| haft.environment.current_dir.join(path);
        let original = match (source, recorded.session.project.as_str()) {
            (Source::Store, project) if !project.is_empty() => PathBuf::from(project),
            _ => haft.root.clone(),
        };
        let from =
            args.at.as_ref().map_or(Ok(original.clone()), |at| fs_err::canonicalize(here(at)))?;
        ensure!(from.is_dir(), "{} is no folder; name one with --at", from.display());
        let folder = tempfile::Builder::new().prefix("haft-replay-").tempdir()?;
        let into = args.into.as_ref().map_or_else(|| folder.path().join("workspace"), here);
        fs_err::create_dir_all(&into)?;
        let workspace = fs_err::canonicalize(&into)?;
        let is_empty = fs_err::read_dir(&workspace)?.next().is_none();
        ensure!(
            is_empty && !workspace.starts_with(&from),
            "{} must be an empty folder outside of {}",
            workspace.display(),
            from.display()
        );
        copy(&from, &workspace)?;
        if args.at.is_none() && source == Source::Store {
            let began = SystemTime::from(recorded.session.created);
            if let Some(state) = &haft.environment.state_dir {
                let journal = Journal::of(&original, state, journal::Options::default());
                wind_back(&journal, began, &original, &workspace)?;
            }
        }
        Ok(Self { workspace, folder })
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// The copy as haft finds it: with the rules, the trust and the standing answers of the original,
    /// without its hooks, its servers and any network. A file can name any project and agent, and
    /// gets the trust and the agent of this one, and no standing answer.
    fn open(&self, haft: &Haft, recorded: &Recorded, source: Source) -> anyhow::Result<Haft> {
        let copy = self.workspace.to_string_lossy().into_owned();
        let store = LazyStore::new(self.state(), Options::default());
        let (project, agent) = match source {
            Source::Store => (&recorded.session.project, &recorded.session.agent),
            Source::File => (&haft.project, &haft.agent),
        };
        take_documents(haft.store.as_ref(), project, &store, &copy)?;
        if source == Source::Store {
            for grant in haft.store.grants(Some(project))? {
                store.add_grant(&Grant { project: copy.clone(), ..grant })?;
            }
        }
        drop(store);
        let environment = Environment {
            current_dir: self.workspace.clone(),
            state_dir: Some(self.state()),
            ..haft.environment.clone()
        };
        let policy = haft.common.policy.as_ref();
        let common = Common {
            dir: Some(self.workspace.clone()),
            session: Some(recorded.session.id.clone()),
            agent: Some(agent.clone()),
            policy: policy.map(|path| haft.environment.current_dir.join(path)),
            ..haft.common.clone()
        };
        let mut again = Haft::open(environment, common)?;
        for config in &mut again.configs {
            config.file.hooks.clear();
            config.file.sandbox.network = Some(false);
        }
        Ok(again)
    }

    /// Leaves the copy to the user, if there is something to look at; where it is.
    fn keep(self) -> PathBuf {
        drop(self.folder.keep());
        self.workspace
    }
}

/// What is known of a project, such as which content is trusted, is known of its copy.
fn take_documents(
    from: &dyn Store,
    project: &str,
    to: &dyn Store,
    copy: &str,
) -> anyhow::Result<()> {
    let (old, new) = (Scope::Project(project.to_owned()), Scope::Project(copy.to_owned()));
    for name in from.document_names(&old, "", DOCUMENTS)? {
        if let Some(document) = from.document(&old, &name)? {
            to.update_document(&new, &name, &mut |_| Ok(document.clone()))?;
        }
    }
    Ok(())
}

impl Outcome {
    /// Makes one call again, or says why not.
    async fn make(&mut self, toolset: &Toolset, answers: &Answers, plain: &Plain, was: CallRecord) {
        let args = match was.args.clone() {
            Value::String(text) => Arguments::Text(text),
            args => Arguments::Parsed(args),
        };
        let call = Call {
            id: was.id.clone(),
            message: was.message.clone(),
            ..Call::new(was.session.clone(), was.tool.clone(), args)
        };
        if let Some(why) = why_not(toolset, &was, &call).await {
            return self.leave(was, why);
        }
        answers.begin(&was);
        let settled = toolset.execute(call, CancellationToken::new()).await;
        let was_denied = was.error.as_ref().is_some_and(|error| error.kind == "denied");
        match answers.refused() {
            Some(title) if !was_denied => self.leave(was, format!("it asks: {title}")),
            _ => match plain.difference(&was, &settled) {
                None => self.same += 1,
                Some(difference) => self.difference = Some((was, difference)),
            },
        }
    }

    fn leave(&mut self, was: CallRecord, why: String) {
        self.left.push(Left { call: was.id.to_string(), tool: was.tool, why });
    }
}

/// Why a call cannot be made again.
async fn why_not(toolset: &Toolset, was: &CallRecord, call: &Call) -> Option<String> {
    let kind = was.error.as_ref().map(|error| error.kind.as_str());
    match (was.state, kind) {
        (CallState::Pending | CallState::Running, _) => {
            return Some("the record has no end of it".to_owned());
        }
        (_, Some("interrupted" | "cancelled" | "timed_out")) => {
            return Some("it was ended before it was done".to_owned());
        }
        (_, Some("blocked" | "stopped")) => return Some("a hook refused it".to_owned()),
        // Nothing runs that does not exist, or does not fit.
        (_, Some("unknown" | "invalid_params" | "cut_off")) => return None,
        _ => {}
    }
    if let Some((_, why)) = ELSEWHERE.iter().find(|(tool, _)| *tool == was.tool) {
        return Some((*why).to_owned());
    }
    let mut offered = toolset.advertised();
    let Some(tool) = offered.find(|tool| tool.id() == was.tool) else {
        return Some("there is no such tool here".to_owned());
    };
    if tool.traits().open_world && was.tool != "bash" {
        return Some("it reaches beyond this machine".to_owned());
    }
    let explained = toolset.explain(call).await.ok()?;
    let connects = explained.effects.iter().any(|effect| effect.kind == EffectKind::Connect);
    connects.then(|| "it needs the network".to_owned())
}

/// Says what came of it; the answer is the exit code.
fn report(
    haft: &Haft,
    printer: Printer<'_>,
    id: &SessionId,
    total: usize,
    outcome: &Outcome,
    place: Place,
) -> anyhow::Result<u8> {
    let Outcome { same, left, difference } = outcome;
    // A folder that the user named stays in any case.
    let folder = difference.is_some().then(|| place.keep());
    let code = u8::from(difference.is_some());
    if haft.common.json {
        let difference = difference.as_ref().map(|(was, difference)| {
            let Difference { part, expected, got } = difference;
            json!({ "call": was.id, "tool": was.tool, "args": was.args, "part": part,
                "expected": expected, "got": got })
        });
        printer
            .json(&json!({ "session": id, "calls": total, "same": same, "not_replayed": left,
            "difference": difference, "folder": folder }))?;
        return Ok(code);
    }
    for Left { call, tool, why } in left {
        printer.line(format!(
            "not replayed: {} {}: {}",
            plain(call),
            plain(tool),
            plain_lines(why)
        ));
    }
    if let Some((was, difference)) = difference {
        let args = plain(&was.args.to_string());
        printer.line(format!("differs: {} {} {args}", plain(was.id.as_str()), plain(&was.tool)));
        let Difference { part, expected, got } = difference;
        diff::show(printer, part, expected.as_bytes(), got.as_bytes());
    }
    if let Some(folder) = folder {
        printer.line(format!("the copy is in {}", folder.display()));
    }
    let how = if code == 0 { "no difference" } else { "stopped at the first difference" };
    let total = counted(total, "call", "calls");
    printer.line(format!("{same} of {total} came to the same; {how}"));
    Ok(code)
}
