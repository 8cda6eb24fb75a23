//! `apply_patch`: changes of several files in one text, all or none.

use std::collections::HashSet;
use std::path::PathBuf;

use haft_edit::patch::{FilePatch, Kind, Patch, apply_chunks, parse};
use haft_edit::{Change as Span, Tier};
use haft_runtime::permission::{Ask, Effect};
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError};
use haft_workspace::Workspace;
use haft_workspace::open::OpenError;
use haft_workspace::path::Place;
use haft_workspace::write::hash;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::change::{Attempt, Change, Changes, Gist, changing, current};
use crate::files::{Files, failed};
use crate::stamps::Stamp;
use crate::text_file::{TextFile, stamp_after};

/// How often a patch is worked out anew because somebody else was faster.
const ATTEMPTS: usize = 20;
/// Files whose diff is shown to the model.
const SHOWN: usize = 10;

/// Applies patches.
pub(crate) struct ApplyPatch {
    files: Files,
}

/// A patch.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The patch, all of it.
    #[schemars(length(max = 8388608), extend("x-aliases" = ["input", "patch_text", "diff", "content", "text"]))]
    patch: String,
}

impl Tool for ApplyPatch {
    const ID: &'static str = "apply_patch";
    const DESCRIPTION: &'static str = include_str!("apply_patch.txt");
    const ALIASES: &'static [&'static str] = &["patch", "apply_diff"];
    const PERMISSION: &'static str = "edit";
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self { files: Files::to_change(cx)? })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let patch = parse(&params.patch).map_err(failed)?;
        let targets = self.targets(&patch).await?;
        let mut approved: Option<Gist> = None;
        for _ in 0..ATTEMPTS {
            let stamps = self.stamps(&targets, cx).await?;
            let planned = match self.plan(&patch, &targets, stamps).await? {
                Ok(planned) => planned,
                // It shows parts of files, so reading them is asked for first.
                Err(refusal) => {
                    cx.ask(Ask::new("apply a patch", self.reads(&targets, cx).await?)).await?;
                    return Err(refusal);
                }
            };
            let (text, stamps) = (describe(&planned), planned.stamps);
            let title = title(&planned.files);
            let changes = Changes { tool: Self::ID, title: title.clone(), files: planned.files };
            match changes.attempt(&self.files, cx, &mut approved).await? {
                Attempt::Overtaken => {}
                Attempt::Made(made) => {
                    for (path, stamp) in stamps {
                        self.files.stamps.set(cx, &path, stamp).await?;
                    }
                    return Ok(made.output(title, text));
                }
            }
        }
        Err(ToolError::failed("the files keep being changed by others; read them again and repeat"))
    }

    async fn effects(&self, params: &Params, _: &Context) -> Result<Vec<Effect>, ToolError> {
        let patch = parse(&params.patch).map_err(failed)?;
        let targets = self.targets(&patch).await?;
        let effects = move |workspace: &Workspace| {
            let mut effects: Vec<Effect> = Vec::new();
            for (file, target) in patch.files.iter().zip(&targets) {
                let goes = matches!(file.kind, Kind::Delete) || target.moves_to.is_some();
                let of = |place: &Place, goes: bool| -> Result<Vec<Effect>, ToolError> {
                    let now = current(workspace, place)?;
                    let links = now.as_ref().map_or(1, |now| now.links);
                    Ok(changing(place, workspace.root(), now.is_some(), goes, links))
                };
                let to = target.moves_to.as_ref().map(|to| of(to, false)).transpose()?;
                for effect in to.into_iter().flatten().chain(of(&target.place, goes)?) {
                    if !effects.contains(&effect) {
                        effects.push(effect);
                    }
                }
            }
            Ok(effects)
        };
        self.files.blocking(effects).await?
    }
}

/// Where a part of a patch leads.
#[derive(Clone)]
struct Target {
    place: Place,
    /// Where the file goes, if that is somewhere else.
    moves_to: Option<Place>,
}

/// What a patch comes to.
struct Planned {
    files: Vec<Change>,
    /// The parts that did not match exactly, in words.
    loose: Vec<String>,
    stamps: Vec<(PathBuf, Stamp)>,
}

impl ApplyPatch {
    /// Where all the files are; none may be named in two ways.
    async fn targets(&self, patch: &Patch) -> Result<Vec<Target>, ToolError> {
        let mut named = HashSet::new();
        let mut targets = Vec::with_capacity(patch.files.len());
        for file in &patch.files {
            let place = self.files.locate(&file.path).await?;
            let mut moves_to = None;
            if let Kind::Update { move_to: Some(to), .. } = &file.kind {
                // A file that moves to where it is stays there.
                moves_to = Some(self.files.locate(to).await?).filter(|to| to.path != place.path);
            }
            for place in [Some(&place), moves_to.as_ref()].into_iter().flatten() {
                if !named.insert(place.path.clone()) {
                    return Err(ToolError::failed(format!(
                        "the patch names {} twice (line {}); put all changes of a file into one section",
                        place.shown(),
                        file.patch_line
                    )));
                }
            }
            targets.push(Target { place, moves_to });
        }
        Ok(targets)
    }

    async fn stamps(&self, targets: &[Target], cx: &Context) -> Result<Vec<Stamp>, ToolError> {
        let mut stamps = Vec::with_capacity(targets.len());
        for target in targets {
            stamps.push(self.files.stamps.get(cx, &target.place.path).await?);
        }
        Ok(stamps)
    }

    async fn reads(&self, targets: &[Target], cx: &Context) -> Result<Vec<Effect>, ToolError> {
        let mut effects = Vec::new();
        for target in targets {
            effects.extend(self.files.reading(&target.place, cx).await?);
        }
        Ok(effects)
    }

    /// Works out what the patch does to the files as they are now; a refusal is told once it may be.
    async fn plan(
        &self,
        patch: &Patch,
        targets: &[Target],
        stamps: Vec<Stamp>,
    ) -> Result<Result<Planned, ToolError>, ToolError> {
        let (patch, targets) = (patch.clone(), targets.to_vec());
        let plan = move |workspace: &Workspace| {
            let mut planned = Planned { files: Vec::new(), loose: Vec::new(), stamps: Vec::new() };
            for ((file, target), stamp) in patch.files.iter().zip(&targets).zip(&stamps) {
                planned.add(workspace, file, target, stamp)?;
            }
            if planned.files.is_empty() {
                return Err(ToolError::failed("the patch changes nothing"));
            }
            Ok(planned)
        };
        self.files.blocking(plan).await
    }
}

impl Planned {
    /// Adds what one part of the patch does.
    fn add(
        &mut self,
        workspace: &Workspace,
        file: &FilePatch,
        target: &Target,
        stamp: &Stamp,
    ) -> Result<(), ToolError> {
        let Target { place, moves_to } = target;
        match &file.kind {
            Kind::Add { content } => self.create(workspace, place, content, file),
            Kind::Delete => {
                let before = existing(workspace, place)?;
                let old = decoded(&before.bytes);
                let pairs = vec![(old.clone(), String::new())];
                let texts = (old, String::new());
                let (place, before) = (place.clone(), Some(before));
                self.files.push(Change { pairs, ..Change::new(place, before, None, texts) });
                Ok(())
            }
            Kind::Update { chunks, .. } => {
                let spans = match chunks.as_slice() {
                    [] => Vec::new(),
                    chunks => {
                        let text = text(workspace, place)?;
                        let spans = apply_chunks(&place.shown(), &text.text, chunks);
                        let spans = spans.map_err(failed)?;
                        text.check_fresh(stamp, &spans)?;
                        spans
                    }
                };
                self.update(workspace, target, &spans, file.mode, stamp, moves_to.is_some())
            }
        }
    }

    fn create(
        &mut self,
        workspace: &Workspace,
        place: &Place,
        content: &str,
        file: &FilePatch,
    ) -> Result<(), ToolError> {
        if current(workspace, place)?.is_some() {
            return Err(ToolError::failed(format!(
                "{} exists already (line {} of the patch); use `*** Update File:` to change it",
                place.shown(),
                file.patch_line
            )));
        }
        let texts = (String::new(), content.to_owned());
        let pairs = vec![texts.clone()];
        let after = Some(content.as_bytes().to_vec());
        let stamp = Stamp::whole(hash(content.as_bytes()), content.lines().count() as u64);
        self.stamps.push((place.path.clone(), stamp));
        let mode = file.mode.map(|mode| mode & 0o777).filter(|mode| mode & 0o111 != 0);
        let place = place.clone();
        self.files.push(Change { mode, pairs, ..Change::new(place, None, after, texts) });
        Ok(())
    }

    fn update(
        &mut self,
        workspace: &Workspace,
        target: &Target,
        spans: &[Span],
        mode: Option<u32>,
        stamp: &Stamp,
        moves: bool,
    ) -> Result<(), ToolError> {
        self.loose.extend(spans.iter().filter(|span| span.tier != Tier::Exact).map(|span| {
            let (shown, said) = (target.place.shown(), span.tier.describe());
            format!("{shown}, chunk {}: matched {said}", span.edit + 1)
        }));
        let change = match spans {
            [] => untouched(workspace, &target.place)?,
            spans => text(workspace, &target.place)?.changed(spans)?,
        };
        let before = change.before.clone();
        let now = match (&before, spans) {
            (Some(before), [_, ..]) => Some(stamp_after(stamp, before.hash, &change, spans)),
            _ => None,
        };
        let mode = mode.map(|mode| mode & 0o777);
        if !moves {
            self.stamps.extend(now.map(|now| (change.place.path.clone(), now)));
            if change.before.as_ref().map(|it| &it.bytes) != change.after.as_ref() || mode.is_some()
            {
                self.files.push(Change { mode, ..change });
            }
            return Ok(());
        }
        let Some(to) = &target.moves_to else { return Ok(()) };
        if current(workspace, to)?.is_some() {
            return Err(ToolError::failed(format!(
                "{} exists already, so {} cannot be moved there; choose another name, or delete it first",
                to.shown(),
                target.place.shown()
            )));
        }
        self.stamps.extend(now.map(|now| (to.path.clone(), now)));
        let mode = mode.or(before.as_ref().map(|before| before.mode & 0o777));
        let texts = (String::new(), change.texts.1.clone());
        let (after, pairs) = (change.after.clone(), change.pairs.clone());
        self.files.push(Change { mode, pairs, ..Change::new(to.clone(), None, after, texts) });
        let texts = (change.texts.0, String::new());
        let place = target.place.clone();
        self.files.push(Change::new(place, before, None, texts));
        Ok(())
    }
}

fn existing(workspace: &Workspace, place: &Place) -> Result<crate::change::Current, ToolError> {
    current(workspace, place)?.ok_or_else(|| {
        let missing = OpenError::Missing { path: place.path.clone() };
        Files::explain(workspace, place, missing)
    })
}

fn text(workspace: &Workspace, place: &Place) -> Result<TextFile, ToolError> {
    TextFile::read(workspace, place)?.ok_or_else(|| {
        let missing = OpenError::Missing { path: place.path.clone() };
        Files::explain(workspace, place, missing)
    })
}

/// A file whose content stays: it moves, or its mode changes.
fn untouched(workspace: &Workspace, place: &Place) -> Result<Change, ToolError> {
    let before = existing(workspace, place)?;
    let (after, text) = (Some(before.bytes.clone()), decoded(&before.bytes));
    let texts = (text.clone(), text);
    let (place, before) = (place.clone(), Some(before));
    Ok(Change::new(place, before, after, texts))
}

fn decoded(bytes: &[u8]) -> String {
    haft_workspace::text::Encoding::detect(bytes, true).decode(bytes).text.into_owned()
}

fn title(files: &[Change]) -> String {
    match files {
        [one] => format!("patch {}", one.place.shown()),
        several => format!("patch {} files", several.len()),
    }
}

fn describe(planned: &Planned) -> String {
    let mut text = String::from("The patch is applied.\n");
    for file in &planned.files {
        let diff = file.diff();
        let (shown, kind) = (file.place.shown(), file.kind());
        text.push_str(&format!("- {kind} {shown} (+{} -{})\n", diff.additions, diff.deletions));
    }
    for loose in &planned.loose {
        text.push_str(&format!("{loose}\n"));
    }
    let changed = planned.files.iter().filter(|file| file.kind() == "changed");
    for file in changed.take(SHOWN) {
        text.push_str(&format!("\n{}\n{}", file.place.shown(), file.compact()));
    }
    text.trim_end().to_owned()
}
