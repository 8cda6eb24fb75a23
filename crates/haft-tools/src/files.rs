//! What the file tools share: the workspace, and what reading a place amounts to.

use std::sync::Arc;

use haft_runtime::permission::{Ask, Effect, EffectKind};
use haft_runtime::{Context, InitContext, InitError, ToolError};
use haft_workspace::Workspace;
use haft_workspace::journal::Journal;
use haft_workspace::open::OpenError;
use haft_workspace::path::Place;

use crate::change::NO_JOURNAL;
use crate::stamps::Stamps;

/// A tool's way to files.
pub(crate) struct Files {
    pub(crate) workspace: Arc<Workspace>,
    /// What makes changes whole, and undoable; none where files are only read.
    pub(crate) journal: Option<Arc<Journal>>,
    /// What sessions have seen.
    pub(crate) stamps: Stamps,
}

impl Files {
    pub(crate) fn open(cx: &InitContext<'_>) -> Result<Self, InitError> {
        let workspace = cx.shared::<Workspace>();
        let workspace =
            workspace.ok_or_else(|| InitError::new("files need a workspace to be in"))?;
        Ok(Self { workspace, journal: cx.shared::<Journal>(), stamps: Stamps::open(cx) })
    }

    /// The same for a tool that changes files.
    pub(crate) fn to_change(cx: &InitContext<'_>) -> Result<Self, InitError> {
        let files = Self::open(cx)?;
        if files.journal.is_none() {
            return Err(InitError::new(NO_JOURNAL));
        }
        Ok(files)
    }

    /// Where a path leads that the model wrote.
    pub(crate) async fn locate(&self, given: &str) -> Result<Place, ToolError> {
        let given = given.to_owned();
        self.blocking(move |workspace| workspace.locate(&given)).await?.map_err(failed)
    }

    /// What reading a place amounts to. Our own kept outputs have been asked about when they were made.
    pub(crate) async fn reading(
        &self,
        place: &Place,
        cx: &Context,
    ) -> Result<Vec<Effect>, ToolError> {
        if place.inside.is_none() && cx.kept(&place.path).await?.is_some() {
            return Ok(Vec::new());
        }
        Ok(effects_of_reading(&self.workspace, place))
    }

    /// Goes where a path leads that the model wrote, and does `work` there once that may be read. What
    /// the rules allow is done at once, by the thread that found the place.
    pub(crate) async fn visit<T: Send + 'static>(
        &self,
        given: &str,
        to: &str,
        cx: &Context,
        work: impl Fn(&Workspace, &Place) -> Result<T, ToolError> + Send + Sync + 'static,
    ) -> Result<T, ToolError> {
        let work = Arc::new(work);
        let (own, rules, given) = (Arc::clone(&work), cx.rules(), given.to_owned());
        let look = move |workspace: &Workspace| {
            let place = workspace.locate(&given).map_err(failed)?;
            if rules.allow_all(&effects_of_reading(workspace, &place)) {
                own(workspace, &place).map(Visit::Done)
            } else {
                Ok(Visit::Asks(place))
            }
        };
        let place = match self.blocking(look).await?? {
            Visit::Done(done) => return Ok(done),
            Visit::Asks(place) => place,
        };
        let effects = self.reading(&place, cx).await?;
        cx.ask(Ask::new(format!("{to} {}", place.shown()), effects)).await?;
        self.blocking(move |workspace| work(workspace, &place)).await?
    }

    /// What to say of something that cannot be opened; of what is missing, with what may have been meant.
    pub(crate) fn explain(workspace: &Workspace, place: &Place, error: OpenError) -> ToolError {
        if !matches!(error, OpenError::Missing { .. }) {
            return failed(error);
        }
        match workspace.similar(place, &|| false).as_slice() {
            [] => failed(error),
            similar => ToolError::failed(format!("{error}; did you mean {}?", similar.join(", "))),
        }
    }

    /// Runs what touches the disk on a thread that may wait for it.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Workspace) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let workspace = Arc::clone(&self.workspace);
        let done = tokio::task::spawn_blocking(move || work(&workspace)).await;
        done.map_err(|error| ToolError::caused("the disk did not answer", error))
    }
}

/// What came of going somewhere.
enum Visit<T> {
    Done(T),
    Asks(Place),
}

/// What reading a place amounts to, unless it is a kept output of ours.
pub(crate) fn effects_of_reading(workspace: &Workspace, place: &Place) -> Vec<Effect> {
    let on = |kind| Effect::on_path(kind, &place.path, workspace.root());
    let external = place.inside.is_none().then(|| on(EffectKind::External));
    external.into_iter().chain([on(EffectKind::Read)]).collect()
}

/// An error whose own words are what the model should read.
pub(crate) fn failed(error: impl std::error::Error) -> ToolError {
    ToolError::failed(error.to_string())
}
