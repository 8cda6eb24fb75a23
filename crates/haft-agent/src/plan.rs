//! `plan_enter` and `plan_exit`: a mode in which nothing is changed, and the way out, which the user opens.

use std::borrow::Cow;
use std::sync::Arc;

use haft_runtime::permission::{Ask, Denial, DeniedBy, Effect};
use haft_runtime::{
    BoxFuture, Context, DynTool, InitError, Listing, Output, Runtime, Schema, Scope, SessionId,
    ToolError, Traits,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::crew::{Crew, Mode};
use crate::log::blocking;

/// The rules above all others while only plans are made, in the form of a rules file.
pub const PLAN_RULES: &str = include_str!("plan_rules.toml");

/// The document of a session that says which mode it is in.
const DOCUMENT: &str = "mode";

/// What the model is told when it begins to plan.
const ENTERED: &str = "Plan mode is on: files cannot be changed, by any tool or command. Read, search and ask until you \
     know what to do, then show the plan with plan_exit.";
/// What it is told when it ends.
const LEFT: &str = "The user agreed to the plan. Plan mode is off: carry the plan out now.";

/// Begins to plan.
struct PlanEnter {
    crew: Crew,
}

/// Ends it.
struct PlanExit {
    crew: Crew,
}

/// Why a plan is wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EnterParams {
    /// Why, in a sentence for the user.
    #[schemars(length(max = 1000))]
    reason: Option<String>,
}

/// The plan.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExitParams {
    /// The whole plan, in Markdown.
    #[schemars(length(min = 1, max = 50000))]
    plan: String,
}

impl Crew {
    /// Takes up the mode that a session was left in, or the one that is wanted; says which it is.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn take_up_mode(
        &self,
        session: &SessionId,
        wanted: Option<Mode>,
    ) -> Result<Mode, ToolError> {
        let mode = match wanted {
            Some(mode) => {
                self.keep_mode(session, mode).await?;
                mode
            }
            None => self.kept_mode(session).await?,
        };
        self.planning().set(mode == Mode::Plan);
        Ok(mode)
    }

    /// Offers the way into the mode, or out of it. Only for where somebody can be asked.
    ///
    /// # Errors
    /// If there is a tool of this name already.
    pub fn offer_plans(&self, runtime: &Runtime) -> Result<(), InitError> {
        let crew = self.clone();
        if self.planning().is_on() {
            runtime.add_tool(Arc::new(PlanExit { crew }))
        } else {
            runtime.add_tool(Arc::new(PlanEnter { crew }))
        }
    }

    /// Changes the mode. Whatever fails on the way, the rules are those of the stricter one.
    async fn change_mode(&self, session: &SessionId, mode: Mode) -> Result<(), ToolError> {
        let runtime = self.runtime()?;
        if mode == Mode::Plan {
            self.planning().set(true);
        }
        self.keep_mode(session, mode).await?;
        if mode == Mode::Work {
            self.planning().set(false);
        }
        let gone = if mode == Mode::Plan { "plan_enter" } else { "plan_exit" };
        runtime.remove_tool(gone);
        self.mode_changed();
        self.offer_plans(&runtime).map_err(|error| ToolError::failed(error.to_string()))
    }

    async fn keep_mode(&self, session: &SessionId, mode: Mode) -> Result<(), ToolError> {
        let Some(store) = self.runtime()?.store().cloned() else { return Ok(()) };
        let (scope, mode) =
            (Scope::Session(session.clone()), json!({ "plan": mode == Mode::Plan }));
        blocking(move || store.update_document(&scope, DOCUMENT, &mut |_| Ok(mode.clone()))).await
    }

    async fn kept_mode(&self, session: &SessionId) -> Result<Mode, ToolError> {
        let Some(store) = self.runtime()?.store().cloned() else { return Ok(Mode::Work) };
        let scope = Scope::Session(session.clone());
        let kept = blocking(move || store.document(&scope, DOCUMENT)).await?;
        let is_plan = kept.as_ref().and_then(|mode| mode.get("plan")?.as_bool());
        Ok(if is_plan == Some(true) { Mode::Plan } else { Mode::Work })
    }
}

impl PlanEnter {
    async fn run(&self, params: EnterParams, cx: &Context) -> Result<Output, ToolError> {
        let mut ask = Ask::new("plan first, and change nothing until you agree", entering());
        ask.always.clear();
        if let Some(reason) = params.reason {
            ask.metadata.insert("description".to_owned(), reason.into());
        }
        cx.ask(ask).await?;
        self.crew.change_mode(&cx.session, Mode::Plan).await?;
        Ok(Output::new("plan mode is on", ENTERED).with("mode", "plan"))
    }
}

impl PlanExit {
    async fn run(&self, params: ExitParams, cx: &Context) -> Result<Output, ToolError> {
        let mut ask = Ask::new("carry out this plan", leaving());
        ask.always.clear();
        ask.metadata.insert("plan".to_owned(), params.plan.into());
        match cx.ask(ask).await {
            Ok(()) => {}
            Err(ToolError::Denied(denial)) => return Err(refused(denial)),
            Err(error) => return Err(error),
        }
        self.crew.change_mode(&cx.session, Mode::Work).await?;
        Ok(Output::new("plan mode is off", LEFT).with("mode", "work"))
    }
}

/// What the model reads when the user does not agree.
fn refused(denial: Box<Denial>) -> ToolError {
    match &denial.by {
        DeniedBy::User { feedback: Some(words) } => ToolError::failed(format!(
            "the user does not agree to the plan yet, and said: {words}\nPlan mode stays on: change the plan, and show it again."
        )),
        DeniedBy::User { feedback: None } => ToolError::failed(
            "the user does not agree to the plan. Plan mode stays on: ask what should be different",
        ),
        _ => denial.into(),
    }
}

fn entering() -> Vec<Effect> {
    vec![Effect::using("plan_enter", "*")]
}

/// Not `*`: whoever allows everything has not agreed to a plan.
fn leaving() -> Vec<Effect> {
    vec![Effect::using("plan_exit", "leave")]
}

/// Neither changes anything itself, and no other call may run beside it: what is allowed changes.
const TRAITS: Traits = Traits { idempotent: false, alone: true, ..Traits::READ_ONLY };

macro_rules! plan_tool {
    ($tool:ty, $params:ty, $id:literal, $text:literal, $effects:path, $aliases:expr) => {
        impl DynTool for $tool {
            fn id(&self) -> &str {
                $id
            }

            fn aliases(&self) -> &[&str] {
                $aliases
            }

            fn description(&self) -> Cow<'_, str> {
                include_str!($text).into()
            }

            fn schema(&self) -> Result<Schema, String> {
                Schema::of::<$params>()
            }

            fn traits(&self) -> Traits {
                TRAITS
            }

            fn listing(&self) -> Listing {
                Listing::Always
            }

            fn effects<'a>(
                &'a self,
                _: Value,
                _: &'a Context,
            ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>> {
                Box::pin(async { Ok($effects()) })
            }

            fn prepare<'a>(
                &'a self,
                args: Value,
                cx: &'a Context,
            ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError> {
                let params: $params = serde_json::from_value(args)
                    .map_err(|error| ToolError::caused("the arguments cannot be read", error))?;
                Ok(Box::pin(self.run(params, cx)))
            }
        }
    };
}

plan_tool!(PlanEnter, EnterParams, "plan_enter", "plan_enter.txt", entering, &["enter_plan_mode"]);
plan_tool!(PlanExit, ExitParams, "plan_exit", "plan_exit.txt", leaving, &["exit_plan_mode"]);
