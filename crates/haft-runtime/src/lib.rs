//! The contract between a language model's tools and the program around them, and the pipeline
//! that runs a call.
//!
//! Read [`Tool`] first, then `execute.rs`: every step of a call, in order. A tool is one type:
//!
//! ```
//! use haft_runtime::permission::{Action, Ask, Layer, LayerKind, Policy};
//! use haft_runtime::{
//!     AgentId, Audience, Call, CancellationToken, Context, InitContext, InitError, Output, Registry,
//!     Runtime, SessionId, Tool, ToolError,
//! };
//!
//! /// Says hello.
//! struct Greet;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Params {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! impl Tool for Greet {
//!     const ID: &'static str = "greet";
//!     const DESCRIPTION: &'static str = "Greet someone by name.";
//!     type Params = Params;
//!
//!     async fn init(_: &InitContext<'_>) -> Result<Self, InitError> {
//!         Ok(Self)
//!     }
//!
//!     async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
//!         cx.ask(Ask::new("greet", self.effects(&params, cx).await?)).await?;
//!         Ok(Output::new("greeted", format!("Hello, {}!", params.name)))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let mut registry = Registry::new();
//! registry.tool::<Greet>();
//! let rules = Layer::new(LayerKind::User, "example").rule("greet", "*", Action::Allow);
//! let runtime = Runtime::builder("/project")
//!     .registry(registry)
//!     .policy(Policy::new(vec![rules]))
//!     .build();
//! let toolset = runtime.toolset(&Audience::of(AgentId::parse("build").unwrap())).await;
//!
//! let call = Call::new(SessionId::fresh(), "greet", serde_json::json!({ "name": "Ada" }));
//! let settled = toolset.execute(call, CancellationToken::new()).await;
//! assert_eq!(settled.result.unwrap().output, "Hello, Ada!");
//! # });
//! ```

mod arguments;
mod audience;
mod beside;
mod bound;
mod context;
mod deferral;
mod documents;
mod error;
mod event;
mod execute;
mod hook;
mod host;
mod ids;
mod keep;
mod life;
mod lower;
mod names;
mod output;
pub mod permission;
mod queue;
mod record;
mod registry;
mod repetition;
mod runtime;
mod schema;
mod store;
mod tool;
mod toolset;
mod visible;

pub use arguments::Arguments;
pub use audience::{Agent, Audience, Client, Model};
pub use beside::{Touched, run_beside};
pub use bound::{Cut, Limits, cut, fits, join};
pub use context::{Context, InitContext};
pub use deferral::Found;
pub use documents::Documents;
pub use error::{ErrorReport, InitError, ToolError};
pub use event::{Delivery, DeltaKind, Draft, Event, EventKind, Events};
pub use execute::{Call, Prepared, Settled};
pub use hook::{Allowed, Before, Beginning, Hook, Said, Word, from_hook};
pub use host::{Answer, Choice, Headless, Host, Question};
pub use ids::{AgentId, AskId, BadId, CallId, GrantId, MessageId, SessionId};
pub use lower::{Definition, Form, UnknownForm, lower};
pub use output::{Attachment, Keep, Metadata, Output};
pub use queue::AskQueue;
pub use registry::Registry;
pub use runtime::{Builder, Runtime};
pub use schema::{Schema, undescribed};
pub use store::{
    CallRecord, CallState, Grant, KeptOutput, NewSession, PostedAsk, Scope, Session, Spill, Store,
    StoreError,
};
pub use tokio_util::sync::CancellationToken;
pub use tool::{BoxFuture, DynTool, Listing, Tool, Traits};
pub use toolset::{Advertised, LeftOut, Toolset};
pub use visible::{is_hidden, plain, plain_lines};
