//! Skills: folders with instructions for a kind of work, read when they are needed.

use std::borrow::Cow;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_runtime::permission::{Ask, Effect};
use haft_runtime::{BoxFuture, Context, DynTool, Listing, Output, Schema, ToolError, Traits};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::front_matter;
use crate::hooks::shown;
use crate::program::{Origin, shortened};
use crate::tools::{Broken, Seal};
use crate::tree;

/// Most skills of one folder.
const SKILLS: usize = 200;
/// Longest description, as the format has it.
const DESCRIPTION: usize = 1024;
/// How much the model is told about each, and about all, before it asks.
const EACH: usize = 200;
const ALL: usize = 4_000;
/// Most files of a skill that are listed.
const LISTED: usize = 50;

/// What stands at the head of a SKILL.md; what else stands there is for other programs.
#[derive(Debug, Deserialize)]
struct Head {
    name: String,
    description: String,
    #[serde(default, rename = "allowed-tools")]
    allowed_tools: Option<Names>,
}

/// Names as a list, or in one line.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Names {
    Line(String),
    List(Vec<String>),
}

/// A skill that can be loaded.
#[derive(Debug, Clone)]
pub struct Skill {
    /// Its name, and its folder's.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where it is.
    pub folder: PathBuf,
    origin: Origin,
    /// What it must stay, if it has scripts and comes from a project.
    seal: Option<Arc<Seal>>,
    /// Whether the rules keep it from ever being loaded.
    denied: bool,
}

impl Skill {
    /// The same, not told of: the rules deny it.
    #[must_use]
    pub fn denied(self) -> Self {
        Self { denied: true, ..self }
    }
}

/// What folders of skills hold.
#[derive(Debug, Default)]
pub struct FoundSkills {
    /// Those that can be loaded; of two with one name the first.
    pub skills: Vec<Skill>,
    /// The others.
    pub broken: Vec<Broken>,
}

impl FoundSkills {
    /// Adds the skill in `folder`. One of a project that has scripts needs a seal to be heeded.
    pub fn add(&mut self, folder: &Path, origin: Origin, seal: Option<Arc<Seal>>) {
        match load(folder, origin, seal) {
            Ok(skill) if self.skills.iter().all(|other| other.name != skill.name) => {
                self.skills.push(skill);
            }
            // A nearer one stands for it, on purpose.
            Ok(_) => {}
            Err(reason) => {
                let reason = shortened(&reason, 600);
                self.broken.push(Broken { path: folder.to_owned(), reason });
            }
        }
    }
}

/// The folders below `root` that hold a skill.
#[must_use]
pub fn skill_folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(root).into_iter().flatten().flatten().take(10_000);
    let holds_skill = |folder: &PathBuf| folder.join("SKILL.md").symlink_metadata().is_ok();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(holds_skill).collect();
    all.sort();
    all.truncate(SKILLS);
    all
}

/// What of a skill could be run, or lead elsewhere: a project's needs trust then.
#[must_use]
pub fn skill_scripts(folder: &Path) -> Vec<String> {
    let mut scripts = Vec::new();
    walk(folder, &mut |path, kind| {
        let is_script = kind.is_symlink() || !kind.is_file() || can_run(path);
        if is_script {
            scripts.push(relative(path, folder));
        }
    });
    scripts
}

fn load(folder: &Path, origin: Origin, seal: Option<Arc<Seal>>) -> Result<Skill, String> {
    let (head, _) = read(folder, origin)?;
    let named = folder.file_name().is_some_and(|name| name == head.name.as_str());
    if !is_name(&head.name) || !named {
        let name = shown(&head.name);
        return Err(format!(
            "its name `{name}` must be its folder's: 1 to 64 lower-case letters, digits and hyphens"
        ));
    }
    if head.description.trim().is_empty() || head.description.len() > DESCRIPTION {
        return Err(format!("its description needs 1 to {DESCRIPTION} bytes"));
    }
    if head.allowed_tools.iter().any(|names| !are_tools(names)) {
        return Err("allowed-tools must be names of tools".to_owned());
    }
    let description = head.description.trim().to_owned();
    Ok(Skill {
        name: head.name,
        description,
        folder: folder.to_owned(),
        origin,
        seal,
        denied: false,
    })
}

fn read(folder: &Path, origin: Origin) -> Result<(Head, String), String> {
    let path = folder.join("SKILL.md");
    let path = match origin {
        Origin::User => fs_err::canonicalize(&path).map_err(|error| error.to_string())?,
        Origin::Project => path,
    };
    front_matter::read(&path)
}

fn is_name(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.len() <= 64 && name.chars().all(fine)
}

fn are_tools(names: &Names) -> bool {
    let fine = |text: &str| text.len() <= 2_000 && !text.contains(char::is_control);
    match names {
        Names::Line(line) => fine(line),
        Names::List(list) => list.len() <= 200 && list.iter().all(|name| fine(name)),
    }
}

/// The tool that loads skills. It is only there where there are some.
pub struct SkillTool {
    skills: Vec<Skill>,
    description: String,
}

/// Which skill to load.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The skill's name.
    #[schemars(length(min = 1, max = 64), extend("x-aliases" = ["skill", "skill_name"]))]
    name: String,
}

/// Those that the model is told of. Whoever names another reads the rule that denies it.
fn listed(skills: &[Skill]) -> impl Iterator<Item = &Skill> {
    skills.iter().filter(|skill| !skill.denied)
}

impl SkillTool {
    /// A tool for these; none if there are none that could be loaded.
    #[must_use]
    pub fn new(skills: Vec<Skill>) -> Option<Self> {
        let listed: Vec<&Skill> = listed(&skills).collect();
        if listed.is_empty() {
            return None;
        }
        let mut description = include_str!("skill.txt").to_owned();
        for (index, skill) in listed.iter().enumerate() {
            let what = shortened(&skill.description.replace('\n', " "), EACH);
            if description.len() + skill.name.len() + what.len() > ALL {
                // Writing to a string cannot fail.
                let _ = write!(description, "\n- and {} more", listed.len() - index);
                break;
            }
            let _ = write!(description, "\n- {}: {what}", skill.name);
        }
        Some(Self { skills, description })
    }

    fn find(&self, args: Value) -> Result<&Skill, ToolError> {
        let params: Params = serde_json::from_value(args)
            .map_err(|error| ToolError::caused("skill cannot be loaded", error))?;
        let found = self.skills.iter().find(|skill| skill.name == params.name.trim());
        found.ok_or_else(|| {
            let names: Vec<&str> = listed(&self.skills).map(|skill| skill.name.as_str()).collect();
            let names = shortened(&names.join(", "), 2_000);
            ToolError::failed(format!(
                "there is no skill `{}`; there are: {names}",
                shown(&params.name)
            ))
        })
    }

    async fn run(&self, skill: &Skill, cx: &Context) -> Result<Output, ToolError> {
        cx.ask(Ask::new(format!("skill {}", skill.name), effects(skill))).await?;
        let own = skill.clone();
        let loaded = tokio::task::spawn_blocking(move || own.text()).await;
        let loaded = loaded.map_err(|error| ToolError::caused("the disk did not answer", error))?;
        let text = loaded.map_err(|why| {
            ToolError::failed(format!("the skill {} was not loaded: {why}", skill.name))
        })?;
        Ok(Output::new(skill.name.clone(), text).with("folder", skill.folder.to_string_lossy()))
    }
}

impl Skill {
    /// What the model reads: the instructions, and which files there are beside them.
    fn text(&self) -> Result<String, String> {
        self.heed_trust()?;
        let (_, body) = read(&self.folder, self.origin)?;
        let mut files = Vec::new();
        walk(&self.folder, &mut |path, _| files.push(relative(path, &self.folder)));
        files.retain(|file| file != "SKILL.md");
        let more = files.len().saturating_sub(LISTED);
        files.truncate(LISTED);
        let mut text = format!("Skill {}, in {}\n\n{body}", self.name, self.folder.display());
        if !files.is_empty() {
            text = format!("{text}\n\nFiles of this skill:\n{}", files.join("\n"));
        }
        if more > 0 {
            text = format!("{text}\nand {more} more");
        }
        Ok(text)
    }

    /// A project's skill is only read as it was trusted, or while there is nothing to trust in it.
    fn heed_trust(&self) -> Result<(), String> {
        let is_as_it_was = match (&self.seal, self.origin) {
            (_, Origin::User) => true,
            (Some(seal), _) => tree::hash(&seal.folder).is_ok_and(|hash| hash == seal.hash),
            (None, _) => skill_scripts(&self.folder).is_empty(),
        };
        let changed =
            "it was changed since it was trusted; the user has to look at it and `haft trust give`";
        if is_as_it_was { Ok(()) } else { Err(changed.to_owned()) }
    }
}

fn effects(skill: &Skill) -> Vec<Effect> {
    vec![Effect::using("skill", skill.name.clone())]
}

impl DynTool for SkillTool {
    fn id(&self) -> &str {
        "skill"
    }

    fn description(&self) -> Cow<'_, str> {
        self.description.as_str().into()
    }

    fn schema(&self) -> Result<Schema, String> {
        Schema::of::<Params>()
    }

    fn traits(&self) -> Traits {
        Traits::READ_ONLY
    }

    fn listing(&self) -> Listing {
        Listing::Always
    }

    fn effects<'a>(
        &'a self,
        args: Value,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>> {
        Box::pin(async { self.find(args).map(effects) })
    }

    fn prepare<'a>(
        &'a self,
        args: Value,
        cx: &'a Context,
    ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError> {
        let skill = self.find(args)?;
        Ok(Box::pin(self.run(skill, cx)))
    }
}

/// Shows `look` every file below a folder, in order; no link is followed, and not too many are shown.
fn walk(folder: &Path, look: &mut impl FnMut(&Path, std::fs::FileType)) {
    let (mut waiting, mut room) = (vec![folder.to_owned()], 2_000_usize);
    while let Some(folder) = waiting.pop() {
        let entries = fs_err::read_dir(&folder).into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries.take(room).collect();
        entries.sort_by_key(fs_err::DirEntry::file_name);
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            room = room.saturating_sub(1);
            if kind.is_dir() {
                waiting.push(entry.path());
            } else {
                look(&entry.path(), kind);
            }
        }
    }
}

fn relative(path: &Path, folder: &Path) -> String {
    shown(&path.strip_prefix(folder).unwrap_or(path).to_string_lossy())
}

/// Endings of files that some program would run.
const SCRIPTS: [&str; 16] = [
    "sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "lua", "ps1",
    "bat", "jar",
];

fn can_run(path: &Path) -> bool {
    let ending = path.extension().map(|it| it.to_string_lossy().to_lowercase());
    let is_script = ending.is_some_and(|it| SCRIPTS.contains(&it.as_str()));
    let mode = fs_err::symlink_metadata(path).map_or(0o111, |meta| meta.permissions().mode());
    is_script || mode & 0o111 != 0
}
