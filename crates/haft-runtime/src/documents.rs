//! Small JSON documents that outlive a call, such as a session's todos: typed, and changed one at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::ToolError;
use crate::store::{Scope, Store, StoreError};

/// A tool's way to the store. Cheap to clone.
#[derive(Clone)]
pub struct Documents {
    store: Arc<dyn Store>,
    /// What was read lately, and when.
    recent: Arc<Mutex<Recent>>,
}

#[derive(Default)]
struct Recent {
    /// By scope and name, and when they were so.
    documents: HashMap<(Scope, String), (Instant, Value)>,
    /// How many changes this process has made: what was read before one may be old.
    changes: u64,
}

/// How long what was read counts as recent.
const RECENT: Duration = Duration::from_secs(1);
/// How many documents are remembered; then all are forgotten.
const REMEMBERED: usize = 1_000;

impl Documents {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, recent: Arc::default() }
    }

    /// Reads a document; the default if there is none.
    ///
    /// # Errors
    /// If the store fails, or holds something of another shape.
    pub async fn get<T>(&self, scope: Scope, name: impl Into<String>) -> Result<T, ToolError>
    where
        T: DeserializeOwned + Default + Send + 'static,
    {
        let (documents, name) = (self.clone(), name.into());
        run_blocking(move || documents.get_here(&scope, &name)).await?
    }

    /// The same on this thread. Nobody who writes is waited for.
    fn get_here<T: DeserializeOwned + Default>(
        &self,
        scope: &Scope,
        name: &str,
    ) -> Result<T, ToolError> {
        let read = || {
            let value = self.store.document(scope, name)?;
            value.map_or_else(|| Ok(T::default()), |value| parse(name, value))
        };
        read().map_err(|error: StoreError| ToolError::caused("the store failed", error))
    }

    /// A document as it was within the last second, or is now: for whoever does no harm by not knowing
    /// that another process has changed it since. What this one changes is known at once.
    ///
    /// # Errors
    /// As [`Documents::get`].
    pub fn glimpse<T: DeserializeOwned + Default>(
        &self,
        scope: &Scope,
        name: &str,
    ) -> Result<T, ToolError> {
        let failed = |error: StoreError| ToolError::caused("the store failed", error);
        let key = (scope.clone(), name.to_owned());
        let known = self.recent();
        if let Some((since, value)) = known.documents.get(&key)
            && since.elapsed() < RECENT
        {
            return parse(name, value.clone()).map_err(failed);
        }
        let changes = known.changes;
        drop(known);
        let Some(value) = self.store.document(scope, name).map_err(failed)? else {
            return Ok(T::default());
        };
        let mut recent = self.recent();
        if recent.documents.len() >= REMEMBERED {
            recent.documents.clear();
        }
        if recent.changes == changes {
            recent.documents.insert(key, (Instant::now(), value.clone()));
        }
        drop(recent);
        parse(name, value).map_err(failed)
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of the documents that begin with `prefix`, in alphabetical order, at most `limit`.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn names(
        &self,
        scope: Scope,
        prefix: &'static str,
        limit: usize,
    ) -> Result<Vec<String>, ToolError> {
        let store = Arc::clone(&self.store);
        blocking(move || store.document_names(&scope, prefix, limit)).await
    }

    /// Replaces a document by what `change` makes of it; no other change, of any process, comes in between.
    ///
    /// `change` may be called more than once; only its last answer counts. Returns that answer.
    ///
    /// # Errors
    /// If the store fails, or `change` does; then the document is as it was.
    pub async fn update<T, R>(
        &self,
        scope: Scope,
        name: impl Into<String>,
        change: impl FnMut(&mut T) -> Result<R, ToolError> + Send + 'static,
    ) -> Result<R, ToolError>
    where
        T: Serialize + DeserializeOwned + Default + Send + 'static,
        R: Send + 'static,
    {
        let (documents, name) = (self.clone(), name.into());
        run_blocking(move || documents.update_here(&scope, &name, change)).await?
    }

    /// The same on this thread, which may have to wait.
    ///
    /// # Errors
    /// As [`Documents::update`].
    pub fn update_here<T, R>(
        &self,
        scope: &Scope,
        name: &str,
        mut change: impl FnMut(&mut T) -> Result<R, ToolError>,
    ) -> Result<R, ToolError>
    where
        T: Serialize + DeserializeOwned + Default,
    {
        let mut answer = None;
        let stored = self.store.update_document(scope, name, &mut |value| {
            let mut document: T = match value {
                Some(value) => parse(name, value)?,
                None => T::default(),
            };
            let made = change(&mut document);
            let refused = made.is_err();
            answer = Some(made);
            if refused {
                return Err(StoreError::failed("refused"));
            }
            serde_json::to_value(&document)
                .map_err(|error| StoreError::caused(format!("{name} cannot be stored"), error))
        });
        let mut recent = self.recent();
        recent.changes += 1;
        recent.documents.remove(&(scope.clone(), name.to_owned()));
        drop(recent);
        match (answer, stored) {
            (Some(Err(refusal)), _) => Err(refusal),
            (_, Err(error)) => Err(ToolError::caused(format!("{name} could not be stored"), error)),
            (Some(Ok(answer)), Ok(())) => Ok(answer),
            (None, Ok(())) => Err(ToolError::failed(format!("{name} was not changed"))),
        }
    }
}

fn parse<T: DeserializeOwned>(name: &str, value: Value) -> Result<T, StoreError> {
    serde_json::from_value(value)
        .map_err(|error| StoreError::caused(format!("the stored {name} cannot be read"), error))
}

/// Runs what may block on a thread that may.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, ToolError> {
    run_blocking(work).await?.map_err(|error| ToolError::caused("the store failed", error))
}

pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ToolError::caused("the store did not answer", error))
}
