//! What users add, as this project and this user have it: found, held against trust, made ready.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_custom::{
    AgentDefinition, Broken, CustomTool, FoundSkills, Origin, Programs, Seal, SkillTool,
    ToolSearch, agent_files, built_in_agents, find_agents, find_tools, manifest_runs,
    skill_folders, skill_scripts,
};
use haft_runtime::permission::{Action, Effect, Policy};
use haft_runtime::{DynTool, LeftOut, Runtime, Store, plain};

use crate::environment::Environment;
use crate::open::Haft;
use crate::trust::Item;

/// Where a project has its tools.
const TOOLS: &str = ".haft/tools";
/// Where it has its agents.
const AGENTS: &str = ".haft/agents";
/// Where it, and the user, have skills.
const SKILLS: [&str; 3] = [".haft/skills", ".agents/skills", ".claude/skills"];

/// What a project supplies beside its config file, as far as it is trusted.
#[derive(Debug, Default)]
pub(crate) struct Supplied {
    /// Its tools, and what they must stay.
    tools: Option<Arc<Seal>>,
    /// The folder of its agents.
    agents: Option<PathBuf>,
    /// The folders of its skills, the nearest first; those with scripts with what they must stay.
    skills: Vec<(PathBuf, Option<Arc<Seal>>)>,
    /// Everything there is that needs trust, trusted or not.
    pub(crate) items: Vec<Item>,
}

/// Looks at what a project supplies, and tells what is not heeded.
pub(crate) fn look(
    environment: &Environment,
    root: &Path,
    store: &dyn Store,
    project: &str,
) -> anyhow::Result<(Supplied, Vec<String>)> {
    let (mut supplied, mut warnings) = (Supplied::default(), Vec::new());
    let folders = project_skills(&environment.current_dir, root);
    for item in items(root, &folders) {
        let sealed = item.hash.clone().ok().filter(|_| item.path.is_dir());
        let sealed = sealed.map(|hash| Arc::new(Seal { folder: item.path.clone(), hash }));
        if !item.is_trusted(store, project)? {
            warnings.push(item.warning());
        } else if item.name == TOOLS {
            supplied.tools = sealed;
        } else if item.name == AGENTS {
            supplied.agents = Some(item.path.clone());
        } else {
            supplied.skills.push((item.path.clone(), sealed));
        }
        supplied.items.push(item);
    }
    let sealed: Vec<PathBuf> = supplied.items.iter().map(|item| item.path.clone()).collect();
    let plain = folders.iter().filter(|folder| !sealed.contains(folder));
    supplied.skills.extend(plain.map(|folder| (folder.clone(), None)));
    let nearest = |folder: &PathBuf| folders.iter().position(|other| other == folder);
    supplied.skills.sort_by_key(|(folder, _)| nearest(folder));
    Ok((supplied, warnings))
}

/// Everything beside the config file that does nothing until it is trusted.
fn items(root: &Path, skills: &[PathBuf]) -> Vec<Item> {
    let mut items = Vec::new();
    let tools = manifests(&root.join(TOOLS));
    if !tools.is_empty() {
        let says =
            |path: &PathBuf| format!("the tool `{}`, which {}", stem(path), manifest_runs(path));
        items.push(Item::of_content(root, TOOLS, tools.iter().map(says).collect()));
    }
    let agents = agent_files(&root.join(AGENTS));
    if !agents.is_empty() {
        let says = |path: &PathBuf| format!("the agent `{}`", stem(path));
        items.push(Item::of_content(root, AGENTS, agents.iter().map(says).collect()));
    }
    for folder in skills {
        let scripts = skill_scripts(folder);
        if let (false, Ok(name)) = (scripts.is_empty(), folder.strip_prefix(root)) {
            let few = scripts.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
            let says = format!("the skill `{}`, with {few}", stem(folder));
            items.push(Item::of_content(root, &name.to_string_lossy(), vec![says]));
        }
    }
    items
}

/// The folders of a project's skills, from where we are up to the root. Nothing that lies behind a link.
fn project_skills(current: &Path, root: &Path) -> Vec<PathBuf> {
    let inside = fs_err::canonicalize(current).ok().filter(|dir| dir.starts_with(root));
    let from = inside.unwrap_or_else(|| root.to_owned());
    let dirs = from.ancestors().take_while(|dir| dir.starts_with(root));
    let folders = dirs.flat_map(|dir| SKILLS.map(|name| skill_folders(&dir.join(name)))).flatten();
    folders
        .filter(|folder| fs_err::canonicalize(folder).is_ok_and(|real| real == *folder))
        .collect()
}

/// Every agent there is: those that come with haft, the user's, and the project's where it is trusted.
pub(crate) fn agents(
    environment: &Environment,
    supplied: &Supplied,
) -> (Vec<AgentDefinition>, Vec<Broken>) {
    let (mut agents, mut broken) = (built_in_agents(), Vec::new());
    let user = environment.config_dir.as_ref().map(|dir| (dir.join("agents"), Origin::User));
    let project = supplied.agents.clone().map(|dir| (dir, Origin::Project));
    for (folder, origin) in user.into_iter().chain(project) {
        let found = find_agents(&folder, origin);
        broken.extend(found.broken);
        for agent in found.agents {
            match agents.iter_mut().find(|other| other.name == agent.name) {
                Some(other) => other.overlay(agent),
                None => agents.push(agent),
            }
        }
    }
    (agents, broken)
}

impl Haft {
    /// Adds the tools that users add; what cannot be used is told with what is left out.
    pub(crate) fn add_tools(
        &self,
        runtime: &Runtime,
        programs: &Programs,
        policy: &Policy,
    ) -> Vec<LeftOut> {
        let mut left_out = Vec::new();
        let mut add = |folder: &Path, origin: Origin, seal: Option<Arc<Seal>>| {
            let found = find_tools(folder, origin, programs);
            left_out.extend(found.broken.iter().map(unusable));
            for manifest in found.manifests {
                let path = manifest.path.clone();
                let tool = CustomTool::new(manifest, seal.clone(), programs.clone());
                if let Err(error) = runtime.add_tool(Arc::new(tool) as Arc<dyn DynTool>) {
                    left_out.push(unusable(&Broken { path, reason: error.to_string() }));
                }
            }
        };
        if let Some(dir) = &self.environment.config_dir {
            add(&dir.join("tools"), Origin::User, None);
        }
        match &self.supplied.tools {
            Some(seal) => add(&seal.folder, Origin::Project, Some(Arc::clone(seal))),
            None => {
                let why = "not trusted; `haft trust` shows it".to_owned();
                let left = |path| unusable(&Broken { path, reason: why.clone() });
                left_out.extend(manifests(&self.root.join(TOOLS)).into_iter().map(left));
            }
        }
        left_out.extend(self.add_skills(runtime, policy));
        if let Err(error) = runtime.add_tool(Arc::new(ToolSearch)) {
            let (id, reason) = ("tool_search".to_owned(), error.to_string());
            left_out.push(LeftOut { id, reason, denied: None });
        }
        left_out
    }

    /// Adds the tool that loads skills, where there are some.
    fn add_skills(&self, runtime: &Runtime, policy: &Policy) -> Vec<LeftOut> {
        let mut found = FoundSkills::default();
        for (folder, seal) in &self.supplied.skills {
            found.add(folder, Origin::Project, seal.clone());
        }
        let own = self.environment.config_dir.iter().map(|dir| dir.join("skills"));
        let home = self.environment.home.iter();
        let shared = home.flat_map(|home| SKILLS.iter().skip(1).map(|name| home.join(name)));
        for folder in own.chain(shared).flat_map(|root| skill_folders(&root)) {
            found.add(&folder, Origin::User, None);
        }
        let mut left_out: Vec<LeftOut> = found.broken.iter().map(unusable).collect();
        let skills = found.skills.into_iter().map(|skill| {
            let decision = policy.decide(&Effect::using("skill", skill.name.clone()));
            match decision.rule.filter(|_| decision.action == Action::Deny) {
                None => skill,
                Some(rule) => {
                    let (id, reason) = (skill.name.clone(), format!("denied by the rule {rule}"));
                    left_out.push(LeftOut { id, reason, denied: None });
                    skill.denied()
                }
            }
        });
        let tool = SkillTool::new(skills.collect());
        let added = tool.map(|tool| runtime.add_tool(Arc::new(tool)));
        if let Some(Err(error)) = added {
            left_out.push(LeftOut { id: "skill".into(), reason: error.to_string(), denied: None });
        }
        left_out
    }
}

/// The manifests of a folder, by their names alone.
fn manifests(folder: &Path) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(folder).into_iter().flatten().flatten().take(10_000);
    let is_manifest = |path: &PathBuf| path.extension().is_some_and(|it| it == "toml");
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_manifest).collect();
    all.sort();
    all.truncate(200);
    all
}

fn stem(path: &Path) -> String {
    plain(&path.file_stem().unwrap_or_default().to_string_lossy())
}

pub(crate) fn unusable(broken: &Broken) -> LeftOut {
    let reason = format!("{}: {}", broken.path.display(), broken.reason);
    LeftOut { id: stem(&broken.path), reason, denied: None }
}
