//! Tools that are programs: a manifest beside each, arguments in, lines of JSON out.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_exec::{Command, EndedBy, Exit, Reach, Stream};
use haft_runtime::permission::{Ask, Effect};
use haft_runtime::{BoxFuture, Context, DynTool, Output, Schema, ToolError, Traits};
use serde_json::Value;

use crate::program::{Beginning, Changes, Origin, Programs, Purpose, Trouble, shortened};
use crate::tree;

mod lines;
mod manifest;
mod shebang;

use lines::Lines;
pub use manifest::{Manifest, manifest_runs};

/// Most manifests of one folder.
const MANIFESTS: usize = 200;
/// Most that is said of a broken one.
const REASON: usize = 600;
/// Most of its words on standard error that are told.
const ERRORS: usize = 4_000;

/// What a folder of tools holds.
#[derive(Debug, Default)]
pub struct FoundTools {
    /// Those that are in order, by name.
    pub manifests: Vec<Manifest>,
    /// The others.
    pub broken: Vec<Broken>,
}

/// A file that cannot be used, and why. It takes no other with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The file.
    pub path: PathBuf,
    /// For the operator.
    pub reason: String,
}

/// Reads every manifest of a folder; nothing is run.
#[must_use]
pub fn find_tools(folder: &Path, origin: Origin, programs: &Programs) -> FoundTools {
    let mut found = FoundTools::default();
    let Ok(entries) = fs_err::read_dir(folder) else { return found };
    let is_manifest = |path: &PathBuf| path.extension().is_some_and(|it| it == "toml");
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_manifest).collect();
    paths.sort();
    if let Some(path) = paths.get(MANIFESTS).cloned() {
        paths.truncate(MANIFESTS);
        let reason = format!("it is one of more than {MANIFESTS}, and not looked at");
        found.broken.push(Broken { path, reason });
    }
    let search = programs.search_path();
    for path in paths {
        match Manifest::load(&path, origin, &search) {
            Ok(manifest) => found.manifests.push(manifest),
            Err(reason) => {
                let reason = shortened(&reason, REASON);
                found.broken.push(Broken { path, reason });
            }
        }
    }
    found
}

/// What must be as it was for a tool to run: the folder that was trusted, and its hash.
#[derive(Debug, Clone)]
pub struct Seal {
    /// The folder of the manifests.
    pub folder: PathBuf,
    /// What [`tree::hash`] said of it.
    pub hash: String,
}

/// A tool whose work is done by a program.
pub struct CustomTool {
    manifest: Manifest,
    seal: Option<Arc<Seal>>,
    programs: Programs,
}

impl CustomTool {
    /// The tool of a manifest. One from a project is sealed: it runs only as it was trusted.
    #[must_use]
    pub fn new(manifest: Manifest, seal: Option<Arc<Seal>>, programs: Programs) -> Self {
        Self { manifest, seal, programs }
    }

    fn all_effects(&self) -> Vec<Effect> {
        let Manifest { name, permission, hosts, .. } = &self.manifest;
        let value = if permission == name { "*" } else { name.as_str() };
        let uses = Effect::using(permission.clone(), value);
        let connects = hosts.iter().map(|host| Effect::connect(format!("https://{host}")));
        std::iter::once(uses).chain(connects).collect()
    }

    async fn run(&self, args: Value, cx: &Context) -> Result<Output, ToolError> {
        let Manifest { name, timeout, program, args: fixed, .. } = &self.manifest;
        let effects = self.all_effects();
        let mut ask = Ask::new(name.clone(), effects.clone());
        ask.metadata.insert("command".to_owned(), self.manifest.runs().into());
        ask.metadata.insert("arguments".to_owned(), args.clone());
        cx.ask(ask).await?;
        self.heed_seal().await?;
        let root = self.programs.workspace().root();
        let command = Command::new(program, root).args(fixed.iter().cloned());
        let input = format!("{args}\n").into_bytes();
        let ruled = |effect: &Effect| cx.ruled(effect);
        let set =
            vec![("HAFT_CALL".into(), cx.call.as_str().into()), ("HAFT_TOOL".into(), name.into())];
        let (session, effects) = (&cx.session, effects.as_slice());
        let changes =
            if self.manifest.traits.read_only { Changes::Nothing } else { Changes::Workspace };
        let reach = Reach::Confined;
        let hosts = self.programs.commands().hosts(cx).await?;
        let purpose = Purpose { session, effects, ruled: &ruled, hosts, set, reach, changes };
        let (mut lines, mut errors) = (Lines::new(name, cx), Beginning::of(ERRORS));
        let take = |stream, bytes: &[u8]| {
            match stream {
                Stream::Output => lines.push(bytes),
                Stream::Errors => errors.push(bytes),
            }
            Ok(())
        };
        let ran = self.programs.run(command, input, purpose, *timeout, cx.cancel.cancelled(), take);
        let finished = match ran.await {
            Err(Trouble::Cancelled) => return Err(ToolError::cancelled()),
            other => other
                .map_err(|trouble| ToolError::caused(format!("{name} did not run"), trouble))?,
        };
        let partial = || errors.text();
        match (finished.by, finished.exit) {
            (EndedBy::Cancel, _) => Err(ToolError::Cancelled { partial: partial() }),
            (EndedBy::Timeout, _) => {
                Err(ToolError::TimedOut { after: *timeout, partial: partial() })
            }
            (_, Some(Exit::Code(0))) => lines.finish(),
            (_, exit) => Err(lines.error().unwrap_or_else(|| ended_badly(name, exit, &partial()))),
        }
    }

    /// Looks again at what was trusted: it may have changed since this program was started.
    async fn heed_seal(&self) -> Result<(), ToolError> {
        let Some(seal) = self.seal.clone() else { return Ok(()) };
        let looked = tokio::task::spawn_blocking(move || {
            tree::hash(&seal.folder).is_ok_and(|hash| hash == seal.hash)
        });
        if looked.await.unwrap_or(false) {
            return Ok(());
        }
        let name = &self.manifest.name;
        Err(ToolError::failed(format!(
            "{name} was changed since it was trusted, and was not run; the user has to look at it and `haft trust give`"
        )))
    }
}

impl DynTool for CustomTool {
    fn id(&self) -> &str {
        &self.manifest.name
    }

    fn permission(&self) -> &str {
        &self.manifest.permission
    }

    fn description(&self) -> Cow<'_, str> {
        self.manifest.description.as_str().into()
    }

    fn schema(&self) -> Result<Schema, String> {
        Ok(self.manifest.schema.clone())
    }

    fn traits(&self) -> Traits {
        self.manifest.traits
    }

    fn effects<'a>(
        &'a self,
        _: Value,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>> {
        Box::pin(async { Ok(self.all_effects()) })
    }

    fn prepare<'a>(
        &'a self,
        args: Value,
        cx: &'a Context,
    ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError> {
        Ok(Box::pin(self.run(args, cx)))
    }
}

fn ended_badly(name: &str, exit: Option<Exit>, errors: &str) -> ToolError {
    let how = match exit {
        Some(Exit::Code(code)) => format!("code {code}"),
        Some(Exit::Signal(signal)) => format!("signal {signal}"),
        None => "no end at all".to_owned(),
    };
    let said = if errors.is_empty() { String::new() } else { format!(":\n{errors}") };
    ToolError::failed(format!("{name} ended with {how}{said}"))
}
