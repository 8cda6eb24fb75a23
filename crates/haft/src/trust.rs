//! Whose word is it? A repository's own config restricts as it likes, and widens only once it is trusted.

use std::collections::BTreeMap;

use anyhow::Context;
use haft_runtime::{Scope, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Loaded;

/// The document that remembers, per project, which content is trusted.
const DOCUMENT: &str = "trust";

#[derive(Debug, Default, Serialize, Deserialize)]
struct Trusted {
    /// File name → hash of the content that was trusted.
    files: BTreeMap<String, String>,
}

/// Leaves a project's config only what it may say, and tells what it may not.
pub(crate) fn heed(
    config: &mut Loaded,
    store: &dyn Store,
    project: &str,
) -> anyhow::Result<Vec<String>> {
    let widens = config.widens();
    if widens.is_empty() || is_trusted(config, store, project)? {
        return Ok(Vec::new());
    }
    config.restrain();
    let path = config.path.display();
    Ok(vec![format!(
        "{path} is not trusted, so this part of it is ignored: {}; look at it, then `haft trust give`",
        widens.join(", ")
    )])
}

/// Whether exactly this content is trusted.
pub(crate) fn is_trusted(
    config: &Loaded,
    store: &dyn Store,
    project: &str,
) -> anyhow::Result<bool> {
    let document = store.document(&Scope::Project(project.to_owned()), DOCUMENT)?;
    let trusted: Trusted =
        document.map_or_else(|| Ok(Trusted::default()), serde_json::from_value)?;
    Ok(trusted.files.get(&name(config)) == Some(&config.hash))
}

/// Trusts this content from now on, until it changes.
pub(crate) fn give(config: &Loaded, store: &dyn Store, project: &str) -> anyhow::Result<()> {
    let (name, hash) = (name(config), config.hash.clone());
    update(store, project, |trusted| drop(trusted.files.insert(name.clone(), hash.clone())))
}

/// Trusts none of the project's files any longer.
pub(crate) fn withdraw(store: &dyn Store, project: &str) -> anyhow::Result<()> {
    update(store, project, |trusted| trusted.files.clear())
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
