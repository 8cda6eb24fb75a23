//! A tool as its manifest has it, checked before anybody is shown it.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_runtime::{Schema, Traits};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::shebang;
use crate::hooks::shown;
use crate::program::Origin;
use crate::tree;

/// Largest manifest.
const MOST: u64 = 64 * 1024;
/// How long a tool may take if it is not told otherwise, and at most.
const TIMEOUT: (u64, u64) = (120, 600);
/// Longest description: it is sent with every request.
const DESCRIPTION: usize = 4_000;

/// The file `NAME.toml` of a tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// What the model reads about it.
    description: String,
    /// The program and its arguments; what begins with `./` lies beside the manifest.
    command: Vec<String>,
    /// The permission it falls under; its name if left out.
    permission: Option<String>,
    /// Seconds it may take.
    timeout: Option<u64>,
    /// Hosts it talks to; each is asked for.
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default)]
    traits: TraitsTable,
    /// The JSON Schema of its arguments; none if left out.
    parameters: Option<Map<String, Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TraitsTable {
    read_only: bool,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
    alone: bool,
}

/// A manifest that was found to be in order.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The name the model calls: the file's, without `.toml`.
    pub name: String,
    /// Where it stands.
    pub path: PathBuf,
    pub(super) description: String,
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) permission: String,
    pub(super) timeout: Duration,
    pub(super) hosts: Vec<String>,
    pub(super) traits: Traits,
    pub(super) schema: Schema,
}

impl Manifest {
    /// Reads and checks one. Programs without a folder are looked up on `search`.
    pub(super) fn load(path: &Path, origin: Origin, search: &[PathBuf]) -> Result<Self, String> {
        let name = name(path)?;
        let text = read(path, origin)?;
        let file: File = toml::from_str(&text).map_err(|error| error.to_string())?;
        let description = file.description.trim().to_owned();
        if description.is_empty() || description.len() > DESCRIPTION {
            return Err(format!("its description needs 1 to {DESCRIPTION} bytes"));
        }
        let folder = path.parent().ok_or("it lies nowhere")?;
        let (first, rest) = file.command.split_first().ok_or("its command is empty")?;
        let program = program(first, folder, origin, search)?;
        let args =
            rest.iter().map(|arg| argument(arg, folder, origin)).collect::<Result<_, _>>()?;
        let permission = file.permission.unwrap_or_else(|| name.clone());
        if !is_name(&permission) {
            return Err(format!("`{}` is no name of a permission", shown(&permission)));
        }
        let seconds = file.timeout.unwrap_or(TIMEOUT.0);
        if seconds == 0 || seconds > TIMEOUT.1 {
            return Err(format!("its timeout must be 1 to {} seconds", TIMEOUT.1));
        }
        if let Some(bad) = file.hosts.iter().find(|host| !is_host(host)) {
            return Err(format!("`{}` is no host", shown(bad)));
        }
        let traits = file.traits.to_traits(!file.hosts.is_empty());
        let schema = schema(file.parameters)?;
        let (timeout, path) = (Duration::from_secs(seconds), path.to_owned());
        let hosts = file.hosts;
        Ok(Self {
            name,
            path,
            description,
            program,
            args,
            permission,
            timeout,
            hosts,
            traits,
            schema,
        })
    }

    /// What it runs, for a person.
    #[must_use]
    pub fn runs(&self) -> String {
        let program = self.program.to_string_lossy();
        let words = std::iter::once(program.as_ref()).chain(self.args.iter().map(String::as_str));
        shown(&words.collect::<Vec<_>>().join(" "))
    }
}

/// What a manifest says that it runs, for a person who has not trusted it; nothing is looked up.
#[must_use]
pub fn manifest_runs(path: &Path) -> String {
    let text = read(path, Origin::Project);
    let file = text.and_then(|text| toml::from_str::<File>(&text).map_err(|it| it.to_string()));
    match file {
        Ok(file) => format!("runs `{}`", shown(&file.command.join(" "))),
        // One of a list: where it is to be mended, all lines of it are shown.
        Err(why) => format!("cannot be read: {}", shown(why.lines().next().unwrap_or_default())),
    }
}

impl TraitsTable {
    fn to_traits(&self, connects: bool) -> Traits {
        let base = if self.read_only { Traits::READ_ONLY } else { Traits::default() };
        Traits {
            destructive: self.destructive.unwrap_or(base.destructive) && !self.read_only,
            idempotent: self.idempotent.unwrap_or(base.idempotent),
            open_world: self.open_world.unwrap_or(false) || connects,
            alone: self.alone,
            ..base
        }
    }
}

/// The name that a manifest's file gives its tool.
fn name(path: &Path) -> Result<String, String> {
    let name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    if is_name(name) {
        return Ok(name.to_owned());
    }
    Err("its name must be a lower-case letter, then up to 63 letters, digits, `_` or `-`"
        .to_owned())
}

fn is_name(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.len() <= 64 && name.chars().all(fine)
}

fn is_host(host: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
    !host.is_empty() && host.len() <= 253 && host.chars().all(fine)
}

fn read(path: &Path, origin: Origin) -> Result<String, String> {
    // People keep their own files elsewhere and link to them; a repository has no reason to.
    let real = match origin {
        Origin::User => fs_err::canonicalize(path).map_err(|error| error.to_string())?,
        Origin::Project => path.to_owned(),
    };
    let bytes = tree::read_small(&real, MOST).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

fn schema(parameters: Option<Map<String, Value>>) -> Result<Schema, String> {
    let mut parameters = parameters.unwrap_or_default();
    parameters.entry("type").or_insert_with(|| "object".into());
    // As everywhere: an argument that nobody knows is a fault, unless the author says otherwise.
    parameters.entry("additionalProperties").or_insert(Value::Bool(false));
    Schema::from_value(Value::Object(parameters)).map_err(|why| format!("its parameters: {why}"))
}

/// The program's file, as it is started whatever becomes of `PATH`.
fn program(
    given: &str,
    folder: &Path,
    origin: Origin,
    search: &[PathBuf],
) -> Result<PathBuf, String> {
    let path = if given.contains('/') {
        beside(given, "program", folder, origin)?
    } else {
        let found = search.iter().map(|place| place.join(given)).find(|file| can_run(file));
        found.ok_or_else(|| format!("`{}` is not on the PATH", shown(given)))?
    };
    if !can_run(&path) {
        return Err(format!("{} is no program that can be run; chmod +x it", path.display()));
    }
    if path.starts_with(folder) {
        shebang::check(&path, folder)?;
    }
    Ok(path)
}

/// An argument; a file beside the manifest by its full path, because tools run in the workspace.
fn argument(given: &str, folder: &Path, origin: Origin) -> Result<String, String> {
    if given.contains('\0') {
        return Err("an argument holds a NUL character".to_owned());
    }
    if !given.starts_with("./") {
        return Ok(given.to_owned());
    }
    beside(given, "argument", folder, origin).map(|path| path.to_string_lossy().into_owned())
}

/// A file that a manifest names; a project's lies in the folder of its manifests, and no link leads to it.
fn beside(given: &str, what: &str, folder: &Path, origin: Origin) -> Result<PathBuf, String> {
    // Without the error's own words: they tell of a path that nobody wrote.
    let real = std::fs::canonicalize(folder.join(given)).map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("its {what} `{}` is not there", shown(given)),
        _ => format!("its {what} `{}` cannot be found: {error}", shown(given)),
    })?;
    let folder = fs_err::canonicalize(folder).map_err(|error| error.to_string())?;
    if origin == Origin::Project {
        let plain = folder.join(given.trim_start_matches("./"));
        if !real.starts_with(&folder) || real != plain {
            let shown = shown(given);
            return Err(format!(
                "`{shown}` is a link or lies elsewhere; put the file beside the manifest"
            ));
        }
    }
    Ok(real)
}

fn can_run(file: &Path) -> bool {
    let meta = fs_err::metadata(file);
    meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
