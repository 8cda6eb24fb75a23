//! The contract: what a tool is, typed for its author and erased for the pipeline.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments;
use crate::audience::Audience;
use crate::context::{Context, InitContext};
use crate::error::{InitError, ToolError};
use crate::output::Output;
use crate::permission::Effect;
use crate::schema::Schema;

/// A future whose type is erased, so that traits with it can be objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something the model can call. A value of this type is an initialised tool.
pub trait Tool: Sized + Send + Sync + 'static {
    /// The name the model calls: lower-case, unique in a registry.
    const ID: &'static str;
    /// What the model reads about it: `include_str!` of the `.txt` beside the file.
    const DESCRIPTION: &'static str;
    /// Names that models trained on other programs call it by.
    const ALIASES: &'static [&'static str] = &[];
    /// The permission it falls under; a rule that denies all of it hides the tool.
    const PERMISSION: &'static str = Self::ID;
    /// The arguments; their doc comments become the schema's descriptions.
    type Params: DeserializeOwned + JsonSchema + Send + Sync;

    /// Says why this tool is not for this audience, before anything is built.
    ///
    /// # Errors
    /// The reason, for the operator.
    fn offered(_audience: &Audience) -> Result<(), String> {
        Ok(())
    }

    /// Builds the tool for one agent. The place for async set-up: config, probes.
    fn init(cx: &InitContext<'_>) -> impl Future<Output = Result<Self, InitError>> + Send;

    /// Does the work. Asks before any side effect; stops when `cx.cancel` fires.
    fn run(
        &self,
        params: Self::Params,
        cx: &Context,
    ) -> impl Future<Output = Result<Output, ToolError>> + Send;

    /// Says all that `run` would do with these arguments, without doing any of it.
    fn effects(
        &self,
        _params: &Self::Params,
        _cx: &Context,
    ) -> impl Future<Output = Result<Vec<Effect>, ToolError>> + Send {
        async { Ok(vec![Effect::using(Self::PERMISSION, "*")]) }
    }

    /// Overrides [`Self::DESCRIPTION`] where it depends on what `init` found.
    fn description(&self) -> Cow<'_, str> {
        Self::DESCRIPTION.into()
    }

    /// What hosts may know without running it.
    fn traits(&self) -> Traits {
        Traits::default()
    }
}

/// What is true of every call of a tool. Hosts decide by it, so it must be exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Traits {
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy something; meaningless for a read-only tool.
    pub destructive: bool,
    /// The same call twice does no more than once.
    pub idempotent: bool,
    /// It reaches beyond this machine.
    pub open_world: bool,
    /// No other call of its batch may run beside it.
    pub alone: bool,
    /// Any other may, though it changes things: what it does, it does by calls of its own.
    pub beside: bool,
    /// It can be called but is not advertised.
    pub unlisted: bool,
}

impl Traits {
    /// A tool that only looks.
    pub const READ_ONLY: Self = Self {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
        alone: false,
        beside: false,
        unlisted: false,
    };
}

impl Default for Traits {
    /// The cautious answer: it changes things, perhaps for the worse.
    fn default() -> Self {
        Self { read_only: false, destructive: true, idempotent: false, ..Self::READ_ONLY }
    }
}

/// When a tool is among those that a model is shown from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Always.
    Always,
    /// While there is room; beyond that it is deferred, and shown once it was found.
    WhileThereIsRoom,
    /// Where tools are deferred: it finds them.
    WhereOthersAreDeferred,
}

/// [`Tool`] with its types erased; implement it directly where id and schema are data (MCP, plug-ins).
///
/// Arguments have been repaired and validated against [`DynTool::schema`] before they get here.
pub trait DynTool: Send + Sync {
    /// The name the model calls.
    fn id(&self) -> &str;

    /// Names that models trained on other programs call it by.
    fn aliases(&self) -> &[&str] {
        &[]
    }

    /// The permission it falls under.
    fn permission(&self) -> &str {
        self.id()
    }

    /// What the model reads about it.
    fn description(&self) -> Cow<'_, str>;

    /// What its arguments look like. Asked for once per toolset.
    ///
    /// # Errors
    /// Why it cannot be used, for the operator; then the tool is left out.
    fn schema(&self) -> Result<Schema, String>;

    /// What hosts may know without running it.
    fn traits(&self) -> Traits {
        Traits::default()
    }

    /// When it is among those that a model is shown from the start.
    fn listing(&self) -> Listing {
        Listing::WhileThereIsRoom
    }

    /// Says all that a call would do, without doing any of it.
    fn effects<'a>(
        &'a self,
        args: Value,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>>;

    /// Parses `args` now; the returned future does nothing until it is awaited.
    ///
    /// # Errors
    /// If the arguments do not fit after all.
    fn prepare<'a>(
        &'a self,
        args: Value,
        cx: &'a Context,
    ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError>;
}

impl<T: Tool> DynTool for T {
    fn id(&self) -> &str {
        T::ID
    }

    fn aliases(&self) -> &[&str] {
        T::ALIASES
    }

    fn permission(&self) -> &str {
        T::PERMISSION
    }

    fn description(&self) -> Cow<'_, str> {
        Tool::description(self)
    }

    fn schema(&self) -> Result<Schema, String> {
        Schema::of::<T::Params>()
    }

    fn traits(&self) -> Traits {
        Tool::traits(self)
    }

    fn listing(&self) -> Listing {
        Listing::Always
    }

    fn effects<'a>(
        &'a self,
        args: Value,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>> {
        Box::pin(async move {
            let params = arguments::typed::<T::Params>(T::ID, args)?;
            Tool::effects(self, &params, cx).await
        })
    }

    fn prepare<'a>(
        &'a self,
        args: Value,
        cx: &'a Context,
    ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError> {
        let params = arguments::typed::<T::Params>(T::ID, args)?;
        Ok(Box::pin(self.run(params, cx)))
    }
}
