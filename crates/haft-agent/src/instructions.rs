//! What a model is told before a conversation: how to work, where it is, and what the project asks for.

use std::io::Read;
use std::path::Path;

use haft_runtime::permission::{Action, Effect, EffectKind, Policy};
use haft_workspace::Workspace;

/// Files with instructions for agents; of one folder, the first that is there.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Most bytes of all instructions together: they are read again with every reply.
const MOST: usize = 32 * 1024;

/// How to work.
const MANNERS: &str = include_str!("system.txt");

/// Where an agent works.
#[derive(Debug, Clone)]
pub struct Surroundings<'a> {
    /// The folder it works in.
    pub workspace: &'a Workspace,
    /// The folder that the user is in; instructions are looked for from there up to the workspace's root.
    pub folder: &'a Path,
    /// What may be read without asking: a link to a secret is no instruction.
    pub policy: &'a Policy,
    /// The day, as the user would write it.
    pub today: String,
    /// The system, such as `linux`.
    pub system: &'a str,
}

/// The instructions of a project and of its user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The nearest first.
    pub found: Vec<Instruction>,
}

/// The instructions of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Where they come from.
    pub from: String,
    /// What they say, as far as it was read.
    pub text: String,
    /// Bytes of all that they say.
    pub size: u64,
}

impl Instructions {
    /// Looks for instructions, the nearest first.
    #[must_use]
    pub fn find(around: &Surroundings<'_>) -> Self {
        let root = around.workspace.root();
        let folders = around.folder.ancestors().take_while(|folder| folder.starts_with(root));
        let of_folder = |folder: &Path| {
            NAMES.iter().find_map(|name| read(around, &folder.join(name).to_string_lossy()))
        };
        let mut found: Vec<Instruction> = folders.filter_map(of_folder).collect();
        if found.is_empty() {
            found.extend(of_folder(root));
        }
        Self { found }
    }

    /// Adds what the user wants everywhere; it comes last.
    #[must_use]
    pub fn and(mut self, from: impl Into<String>, text: impl Into<String>) -> Self {
        let (from, text) = (from.into(), text.into());
        let size = text.len() as u64;
        self.found.push(Instruction { from, text, size });
        self
    }

    /// All that the model is told before the conversation.
    #[must_use]
    pub fn system(&self, around: &Surroundings<'_>) -> String {
        let Surroundings { workspace, today, system, .. } = around;
        let root = workspace.root().display();
        let mut text = format!(
            "{}\n\nWorkspace: {root}\nSystem: {system}\nToday: {today}\n",
            MANNERS.trim_end()
        );
        let mut room = MOST;
        for Instruction { from, text: says, size } in &self.found {
            let end = says.floor_char_boundary(room.min(says.len()));
            let shown = says.get(..end).unwrap_or_default();
            text.push_str(&format!("\n# Instructions from {from}\n\n{}\n", shown.trim_end()));
            if end < says.len() {
                let missing = size.saturating_sub(end as u64);
                text.push_str(&format!("[{missing} more bytes; read the file for the rest]\n"));
            }
            room -= end;
        }
        text
    }
}

/// Reads a file with instructions; none if there is none that may be read.
fn read(around: &Surroundings<'_>, path: &str) -> Option<Instruction> {
    let place = around.workspace.locate(path).ok()?;
    place.inside.as_ref()?;
    let effect = Effect::on_path(EffectKind::Read, &place.path, around.workspace.root());
    if around.policy.decide(&effect).action != Action::Allow {
        return None;
    }
    let opened = around.workspace.open_place(&place).ok()?;
    let mut bytes = Vec::new();
    // One byte more, so that it is known that some is left out.
    opened.file.take(MOST as u64 + 1).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let size = opened.metadata.len();
    (!text.trim().is_empty()).then(|| Instruction { from: place.shown(), text, size })
}
