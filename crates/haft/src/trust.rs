//! Whose word is it? What a repository supplies restricts as it likes, and does more only once it is trusted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use haft_custom::tree;
use haft_runtime::{Scope, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Loaded;

/// The document that remembers, per project, which content is trusted.
const DOCUMENT: &str = "trust";

#[derive(Debug, Default, Serialize, Deserialize)]
struct Trusted {
    /// File or folder, relative to the root → hash of the content that was trusted.
    files: BTreeMap<String, String>,
}

/// Something that a project supplies and that does nothing until it is trusted.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// The file or folder, relative to the root.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// What binds trust to this very content, or why nothing can.
    pub(crate) hash: Result<String, String>,
    /// What it would do.
    pub(crate) widens: Vec<String>,
}

impl Item {
    /// The config file.
    pub(crate) fn of_config(config: &Loaded) -> Self {
        let (path, hash) = (config.path.clone(), Ok(config.hash.clone()));
        Self { name: name(config), path, hash, widens: config.widens() }
    }

    /// A file or folder below `root`, with everything in it.
    pub(crate) fn of_content(root: &Path, name: &str, widens: Vec<String>) -> Self {
        let path = root.join(name);
        // A folder on the way that is a link leads to something that can change unseen.
        let real = fs_err::canonicalize(&path).ok().filter(|real| *real == path);
        let hash = match real {
            None => {
                Err(format!("{name} is a link or lies behind one; put the folder itself there"))
            }
            Some(_) => tree::hash(&path).map_err(|error| error.to_string()),
        };
        Self { name: name.to_owned(), path, hash, widens }
    }

    /// Whether exactly this content is trusted.
    pub(crate) fn is_trusted(&self, store: &dyn Store, project: &str) -> anyhow::Result<bool> {
        let Ok(hash) = &self.hash else { return Ok(false) };
        Ok(trusted(store, project)?.files.get(&self.name) == Some(hash))
    }

    /// What to tell a person who has not trusted it.
    pub(crate) fn warning(&self) -> String {
        let what = bounded(&self.widens);
        match &self.hash {
            Ok(_) => format!(
                "{} is not trusted, so this part of it is ignored: {what}; look at it, then `haft trust give`",
                self.path.display()
            ),
            Err(why) => format!("{} is ignored ({what}): {why}", self.path.display()),
        }
    }
}

/// The first few of them.
fn bounded(widens: &[String]) -> String {
    let few: Vec<&str> = widens.iter().take(10).map(String::as_str).collect();
    let more = widens.len().saturating_sub(few.len());
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    few.join(", ") + &rest
}

/// Leaves a project's config only what it may say, and tells what it may not.
pub(crate) fn heed(
    config: &mut Loaded,
    store: &dyn Store,
    project: &str,
) -> anyhow::Result<Vec<String>> {
    let item = Item::of_config(config);
    if item.widens.is_empty() || item.is_trusted(store, project)? {
        return Ok(Vec::new());
    }
    config.restrain();
    Ok(vec![item.warning()])
}

/// Trusts this content from now on, until it changes.
pub(crate) fn give(items: &[Item], store: &dyn Store, project: &str) -> anyhow::Result<()> {
    update(store, project, |trusted| {
        for item in items {
            if let Ok(hash) = &item.hash {
                trusted.files.insert(item.name.clone(), hash.clone());
            }
        }
    })
}

/// Trusts none of the project's files any longer.
pub(crate) fn withdraw(store: &dyn Store, project: &str) -> anyhow::Result<()> {
    update(store, project, |trusted| trusted.files.clear())
}

fn trusted(store: &dyn Store, project: &str) -> anyhow::Result<Trusted> {
    let document = store.document(&Scope::Project(project.to_owned()), DOCUMENT)?;
    Ok(document.map_or_else(|| Ok(Trusted::default()), serde_json::from_value)?)
}

fn update(store: &dyn Store, project: &str, change: impl Fn(&mut Trusted)) -> anyhow::Result<()> {
    let scope = Scope::Project(project.to_owned());
    let updated = store.update_document(&scope, DOCUMENT, &mut |value: Option<Value>| {
        let failed = |error| StoreError::caused("the record of trust cannot be read", error);
        let mut trusted: Trusted =
            value.map_or_else(|| Ok(Trusted::default()), serde_json::from_value).map_err(failed)?;
        change(&mut trusted);
        serde_json::to_value(trusted).map_err(failed)
    });
    updated.context("the record of trust cannot be changed")
}

fn name(config: &Loaded) -> String {
    config.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
