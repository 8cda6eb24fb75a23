//! Changing files: what is shown to whoever is asked, then all of it or nothing, then who is told.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_edit::diff::{Bounds, CompactBounds, Diff, compact, unified};
use haft_runtime::permission::{Ask, Effect, EffectKind};
use haft_runtime::{Context, Metadata, Output, ToolError};
use haft_workspace::Workspace;
use haft_workspace::journal::{ChangeError, Content, Entry, Journal, Label, Step};
use haft_workspace::open::{OpenError, Opened};
use haft_workspace::path::Place;
use haft_workspace::write::{Hash, WriteError, hash};
use serde_json::{Value, json};

use crate::files::{Files, failed};

/// Largest file that is changed: beyond that, nobody edits it through a model.
const LARGEST: u64 = 64 * 1024 * 1024;
/// How much of a diff goes into metadata.
const DIFF_BYTES: usize = 20 * 1024;

/// A file as it is before it is changed.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: Hash,
    pub(crate) mode: u32,
    /// How many names it has: all of them would change.
    pub(crate) links: u64,
}

/// Reads a file whole; none if there is none.
pub(crate) fn current(workspace: &Workspace, place: &Place) -> Result<Option<Current>, ToolError> {
    use std::io::Read as _;
    use std::os::unix::fs::MetadataExt as _;
    let shown = place.shown();
    let Opened { mut file, metadata } = match workspace.open_place(place) {
        Ok(opened) => opened,
        Err(OpenError::Missing { .. }) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if metadata.is_dir() {
        return Err(ToolError::failed(format!("{shown} is a folder; name a file in it")));
    }
    if metadata.len() > LARGEST {
        let len = metadata.len();
        return Err(ToolError::failed(format!(
            "{shown} is too large to be changed here ({len} bytes, at most {LARGEST})"
        )));
    }
    let mut bytes = Vec::new();
    let read = file.read_to_end(&mut bytes);
    read.map_err(|error| ToolError::caused(format!("{shown} cannot be read"), error))?;
    let hash = hash(&bytes);
    Ok(Some(Current { bytes, hash, mode: metadata.mode() & 0o7777, links: metadata.nlink() }))
}

/// What is to become of one file.
pub(crate) struct Change {
    pub(crate) place: Place,
    pub(crate) before: Option<Current>,
    /// The new content; none if the file goes.
    pub(crate) after: Option<Vec<u8>>,
    /// The bits of a new file, where it takes over those of another.
    pub(crate) mode: Option<u32>,
    /// Both as text, for a diff.
    pub(crate) texts: (String, String),
    /// The parts that are replaced, and by what.
    pub(crate) pairs: Vec<(String, String)>,
    /// The hash of the new content, once it is known.
    pub(crate) hash: OnceLock<Hash>,
}

/// What a change comes to, wherever in the files it is: whoever said yes to it has said yes to this.
pub(crate) type Gist = Vec<(PathBuf, &'static str, Vec<(String, String)>)>;

/// How an attempt to change files went.
pub(crate) enum Attempt {
    /// They are changed.
    Made(Made),
    /// Somebody else was faster: they are not what the change was worked out on.
    Overtaken,
}

impl Change {
    /// A file becomes what is given, or goes.
    pub(crate) fn new(
        place: Place,
        before: Option<Current>,
        after: Option<Vec<u8>>,
        texts: (String, String),
    ) -> Self {
        let (mode, pairs, hash) = (None, Vec::new(), OnceLock::new());
        Self { place, before, after, mode, texts, pairs, hash }
    }

    /// What is done, in one word.
    pub(crate) fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "created",
            (_, None) => "deleted",
            _ => "changed",
        }
    }

    /// The hash of the new content.
    pub(crate) fn hash(&self) -> Hash {
        *self.hash.get_or_init(|| hash(self.after.as_deref().unwrap_or_default()))
    }

    /// What is done on disk.
    fn step(&self) -> Step {
        let (new, mode) = (self.hash(), self.mode);
        let before = match &self.before {
            Some(current) => {
                // The bits matter only where they change, or would be lost.
                let matters = self.mode.is_some() || self.after.is_none();
                let mode = matters.then_some(current.mode);
                Content::File { bytes: current.bytes.clone(), hash: current.hash, mode }
            }
            None => Content::Absent,
        };
        let after = match &self.after {
            Some(bytes) => Content::File { bytes: bytes.clone(), hash: new, mode },
            None => Content::Absent,
        };
        Step { path: self.place.path.clone(), before, after }
    }

    /// What changes, as a patch.
    pub(crate) fn diff(&self) -> Diff {
        let shown = self.place.shown();
        let name = |side: char, exists: bool| match exists {
            true if self.place.inside.is_some() => format!("{side}/{shown}"),
            true => shown.clone(),
            false => "/dev/null".to_owned(),
        };
        let (old, new) = (name('a', self.before.is_some()), name('b', self.after.is_some()));
        let bounds = Bounds { text_bytes: DIFF_BYTES, ..Bounds::default() };
        unified(&self.texts.0, &self.texts.1, &old, &new, &bounds)
    }

    /// What changes, for the model that made it.
    pub(crate) fn compact(&self) -> String {
        compact(&self.texts.0, &self.texts.1, &CompactBounds::default())
    }

    fn effects(&self, root: &Path) -> Vec<Effect> {
        let links = self.before.as_ref().map_or(1, |current| current.links);
        changing(&self.place, root, self.before.is_some(), self.after.is_none(), links)
    }
}

/// What changing a file amounts to. What is overwritten comes back as a diff, so it is read too.
pub(crate) fn changing(
    place: &Place,
    root: &Path,
    exists: bool,
    goes: bool,
    links: u64,
) -> Vec<Effect> {
    let on = |kind| Effect::on_path(kind, &place.path, root);
    // Another name of the same file may be anywhere.
    let external = (place.inside.is_none() || links > 1).then(|| on(EffectKind::External));
    let read = exists.then(|| on(EffectKind::Read));
    let change = on(if goes { EffectKind::Delete } else { EffectKind::Write });
    external.into_iter().chain(read).chain([change]).collect()
}

/// All that one call is to change.
pub(crate) struct Changes {
    pub(crate) tool: &'static str,
    /// A few words for a person.
    pub(crate) title: String,
    pub(crate) files: Vec<Change>,
}

impl Changes {
    /// Everything that the call would do.
    pub(crate) fn effects(&self, root: &Path) -> Vec<Effect> {
        let mut effects: Vec<Effect> = Vec::new();
        for effect in self.files.iter().flat_map(|file| file.effects(root)) {
            if !effects.contains(&effect) {
                effects.push(effect);
            }
        }
        effects
    }

    /// What changes, as data: for whoever is asked, and for every surface after.
    pub(crate) fn described(&self) -> Metadata {
        let diffs: Vec<Diff> = self.files.iter().map(Change::diff).collect();
        let (mut text, mut left_out) = (String::new(), 0);
        for diff in &diffs {
            if text.is_empty() || text.len() + diff.text.len() <= DIFF_BYTES {
                text.push_str(&diff.text);
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "… the diffs of {left_out} more files are not shown");
        }
        let files: Vec<Value> = self.files.iter().zip(&diffs).take(50).map(file_entry).collect();
        let sum = |count: fn(&Diff) -> usize| diffs.iter().map(count).sum::<usize>();
        let mut metadata = Metadata::new();
        metadata.insert("diff".into(), text.into());
        metadata.insert("additions".into(), sum(|diff| diff.additions).into());
        metadata.insert("deletions".into(), sum(|diff| diff.deletions).into());
        if let [diff] = diffs.as_slice() {
            metadata.insert("first_changed_line".into(), diff.first_changed_line.into());
        }
        metadata.insert("files".into(), files.into());
        metadata
    }

    /// Asks, changes all the files or none, and tells who listens.
    ///
    /// What comes to the same as was `approved` before is not asked again.
    pub(crate) async fn attempt(
        self,
        files: &Files,
        cx: &Context,
        approved: &mut Option<Gist>,
    ) -> Result<Attempt, ToolError> {
        let mut described = self.described();
        let gist = Some(self.gist());
        if *approved != gist {
            let effects = self.effects(files.workspace.root());
            let ask = Ask::new(&self.title, effects);
            cx.ask(Ask { metadata: described.clone(), ..ask }).await?;
            *approved = gist;
        }
        if cx.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        let steps = self.files.iter().map(Change::step).collect();
        let label = label(cx, self.tool, &self.title);
        let change =
            move |journal: &Journal, workspace: &Workspace| journal.change(workspace, label, steps);
        match files.change(change).await? {
            Ok(_) => {}
            Err(error) if is_overtaken(&error) => return Ok(Attempt::Overtaken),
            Err(error) => return Err(refused(error)),
        }
        for file in &self.files {
            let path = file.place.path.to_string_lossy();
            cx.note("file.edited", json!({ "path": path, "kind": file.kind() }));
        }
        // What undo takes.
        described.insert("call".into(), cx.call.to_string().into());
        Ok(Attempt::Made(Made { changes: self, described }))
    }

    fn gist(&self) -> Gist {
        let of_file = |file: &Change| (file.place.path.clone(), file.kind(), file.pairs.clone());
        self.files.iter().map(of_file).collect()
    }
}

fn file_entry((file, diff): (&Change, &Diff)) -> Value {
    json!({
        "path": file.place.path.to_string_lossy(),
        "kind": file.kind(),
        "additions": diff.additions,
        "deletions": diff.deletions,
    })
}

/// What was changed.
pub(crate) struct Made {
    pub(crate) changes: Changes,
    described: Metadata,
}

impl Made {
    /// An answer that carries what was changed as data.
    pub(crate) fn output(&self, title: impl Into<String>, text: impl Into<String>) -> Output {
        let mut output = Output::new(title, text);
        output.metadata.extend(self.described.clone());
        output
    }
}

/// How a change of this call is named in the journal.
pub(crate) fn label(cx: &Context, tool: &str, title: &str) -> Label {
    Label {
        session: cx.session.to_string(),
        call: cx.call.to_string(),
        parent: cx.parent.as_ref().map(ToString::to_string),
        tool: tool.to_owned(),
        title: title.to_owned(),
    }
}

impl Files {
    /// What writing to a path that the model wrote amounts to.
    pub(crate) async fn writing(&self, given: &str) -> Result<Vec<Effect>, ToolError> {
        let place = self.locate(given).await?;
        let effects = move |workspace: &Workspace| {
            let current = current(workspace, &place)?;
            let links = current.as_ref().map_or(1, |current| current.links);
            Ok(changing(&place, workspace.root(), current.is_some(), false, links))
        };
        self.blocking(effects).await?
    }

    /// Runs a change on a thread that may wait. Once begun it is completed, whoever stops waiting.
    pub(crate) async fn change(
        &self,
        work: impl FnOnce(&Journal, &Workspace) -> Result<Entry, ChangeError> + Send + 'static,
    ) -> Result<Result<Entry, ChangeError>, ToolError> {
        let journal = self.journal.clone().ok_or_else(|| ToolError::failed(NO_JOURNAL))?;
        let workspace = Arc::clone(&self.workspace);
        let done = tokio::task::spawn_blocking(move || work(&journal, &workspace)).await;
        done.map_err(|error| ToolError::caused("the disk did not answer", error))
    }
}

/// What a tool that changes files cannot do without.
pub(crate) const NO_JOURNAL: &str = "changing files needs a journal, so that it can be undone";

/// A change that was refused, in words that a model can act on.
pub(crate) fn refused(error: ChangeError) -> ToolError {
    match error {
        ChangeError::Write { source, .. } => failed(source),
        other => failed(other),
    }
}

/// Whether a change failed because the file is no longer what it was when the change was worked out.
fn is_overtaken(error: &ChangeError) -> bool {
    matches!(
        error,
        ChangeError::Write {
            source: WriteError::Changed { .. }
                | WriteError::Exists { .. }
                | WriteError::Missing { .. },
            ..
        } | ChangeError::Conflicts(_)
    )
}
