//! ★ Every step of a call, in order.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::beside::{Touched, run_beside};
use crate::bound;
use crate::context::Context;
use crate::error::{ErrorReport, ToolError};
use crate::hook;
use crate::ids::{CallId, MessageId, SessionId};
use crate::keep::keep_within_limits;
use crate::life::Ending;
use crate::output::{Metadata, Output};
use crate::permission::{Effect, Explanation};
use crate::toolset::{Shown, Toolset};

/// How long a cancelled call may take to end by itself; longer would be felt.
const GRACE: Duration = Duration::from_millis(500);
/// Longest error text that the model reads.
const ERROR_BYTES: usize = 8 * 1024;
/// Where the metadata of an error holds what hooks added to it.
const CONTEXT: &str = "context";

/// What the model made: ids, a tool's name, unchecked arguments.
#[derive(Debug, Clone)]
pub struct Call {
    /// Unique within its session.
    pub id: CallId,
    /// The call of the same session that made it, for the children of a batch.
    pub parent: Option<CallId>,
    /// The session it is made in.
    pub session: SessionId,
    /// The model's message it belongs to.
    pub message: Option<MessageId>,
    /// The tool's name as the model wrote it.
    pub tool: String,
    /// The arguments as the model wrote them.
    pub args: Arguments,
    /// How many answers are shown together with this one, and share the limits.
    pub parts: usize,
}

impl Call {
    /// A call of this moment, under a fresh id.
    pub fn new(session: SessionId, tool: impl Into<String>, args: impl Into<Arguments>) -> Self {
        Self {
            id: CallId::fresh(),
            parent: None,
            session,
            message: None,
            tool: tool.into(),
            args: args.into(),
            parts: 1,
        }
    }
}

/// How a call ended.
#[derive(Debug)]
pub struct Settled {
    /// The call.
    pub call: CallId,
    /// The tool that answered, which a repaired name may differ from.
    pub tool: String,
    /// Its answer.
    pub result: Result<Output, ToolError>,
    /// Facts gathered before an error; empty if there was none.
    pub metadata: Metadata,
}

impl Settled {
    /// What the model reads: the answer, or the error within its limits.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.result {
            Ok(output) => output.output.clone(),
            Err(error) => report(error, &self.metadata).message,
        }
    }

    /// The one form in which every surface writes it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &self.result {
            Ok(output) => json!({
                "state": "completed",
                "tool": self.tool,
                "title": output.title,
                "output": output.output,
                "metadata": output.metadata,
                "attachments": output.attachments,
            }),
            Err(error) => json!({
                "state": "error",
                "tool": self.tool,
                "error": report(error, &self.metadata),
                "metadata": self.metadata,
            }),
        }
    }
}

/// A call whose tool exists and whose arguments fit. Nothing has run.
pub struct Prepared {
    shown: Arc<Shown>,
    args: Value,
}

impl Prepared {
    /// The tool that would answer.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.shown.tool.id()
    }

    /// The arguments as the tool would get them.
    #[must_use]
    pub fn args(&self) -> &Value {
        &self.args
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.shown.tool.traits().read_only
    }

    /// Whether no other call of its batch may run beside it.
    #[must_use]
    pub fn runs_alone(&self) -> bool {
        self.shown.tool.traits().alone
    }

    /// Whether any other call of its batch may run beside it.
    #[must_use]
    pub fn runs_beside(&self) -> bool {
        self.shown.tool.traits().beside
    }

    pub(crate) async fn effects(&self, cx: &Context) -> Result<Vec<Effect>, ToolError> {
        self.shown.tool.effects(self.args.clone(), cx).await
    }
}

impl Toolset {
    /// Runs `call` to its end. Tells of `pending`, `running`, then exactly one of `completed` and `error`,
    /// even if the tool panics, ignores cancellation, or this future is dropped.
    #[tracing::instrument(name = "execute_tool", skip_all, fields(gen_ai.tool.name = %call.tool, gen_ai.tool.call.id = %call.id))]
    pub async fn execute(&self, call: Call, cancel: CancellationToken) -> Settled {
        let cx = Context::open(self, &call, cancel);
        let result = supervise(self.pipeline(call, &cx), &cx).await;
        self.settle(result, &cx).await
    }

    /// Runs the calls of one message: beside each other where their effects do not touch, else in their
    /// order. The answers are in the order of the calls. Where a hook stops one, all others are cancelled.
    pub async fn execute_all(&self, calls: Vec<Call>, cancel: &CancellationToken) -> Vec<Settled> {
        let mut touched = Vec::new();
        // One alone touches nobody.
        for call in calls.iter().filter(|_| calls.len() > 1) {
            touched.push(match self.check(call) {
                Ok(prepared) => {
                    let effects = prepared.effects(&Context::rehearsal(self, call)).await;
                    Touched::by(&prepared, effects)
                }
                // It ends before it does anything.
                Err(_) => Touched::nothing(),
            });
        }
        let cancel = cancel.child_token();
        let work = calls.into_iter().map(|call| async {
            // Whoever cancels does not want the next to begin.
            if cancel.is_cancelled() {
                return self.abandon(call).await;
            }
            let settled = self.execute(call, cancel.child_token()).await;
            // Nor does a hook that wants the work to end.
            if matches!(settled.result, Err(ToolError::Stopped { .. })) {
                cancel.cancel();
            }
            settled
        });
        run_beside(&touched, work).await
    }

    /// Ends a call that is not to begin; it is recorded like any other.
    async fn abandon(&self, call: Call) -> Settled {
        let cx = Context::open(self, &call, CancellationToken::new());
        self.settle(Err(ToolError::cancelled()), &cx).await
    }

    /// Every step of a call, in order. `?` anywhere ends it.
    async fn pipeline(&self, call: Call, cx: &Context) -> Result<Output, ToolError> {
        let (shown, args) = self.find(&call.tool, call.args, &cx.life)?; // toolset.rs: what this agent was shown
        let args = shown.parse(args, &cx.life)?; // arguments.rs: text to JSON
        let args = hook::before(self.hooks(), shown.id(), args, cx).await?; // hook.rs: may rewrite or refuse
        let args = shown.fit(args, &cx.life).map_err(|error| hook::blame(error, &shown, cx))?; // arguments.rs: repairs, then the schema; hook.rs: whose fault it is
        hook::heed(self.hooks(), &shown, &args, cx).await?; // hook.rs: one may want the user asked
        self.heed_repetition(&shown, &args, cx).await?; // repetition.rs: asks before the third in a row
        let work = shown.tool.prepare(args.clone(), cx)?; // tool.rs: types; nothing has run yet
        cx.life.run(args, shown.changes()).await?; // life.rs: on record before it happens
        let output = work.await?; // the tool: ask(), metadata(), cancel
        let output = hook::after(self.hooks(), shown.id(), output, cx).await?; // hook.rs: may rewrite or refuse
        self.remember(&output, cx); // repetition.rs: before anything in it is made unique
        Ok(keep_within_limits(output, cx).await) // bound.rs: lines and bytes; the whole text kept
    }

    /// Checks a call without running it: the tool exists, and the arguments fit.
    ///
    /// # Errors
    /// As the call itself would fail before it runs.
    pub fn check(&self, call: &Call) -> Result<Prepared, ToolError> {
        let cx = Context::rehearsal(self, call);
        let shown = self.resolve(&call.tool, &cx.life)?;
        let args = shown.parse(call.args.clone(), &cx.life)?;
        let args = shown.fit(args, &cx.life)?;
        drop(shown.tool.prepare(args.clone(), &cx)?);
        Ok(Prepared { shown, args })
    }

    /// Says what a call would do and what the rules make of it, without doing any of it.
    ///
    /// # Errors
    /// As the call itself would fail before its first effect.
    pub async fn explain(&self, call: &Call) -> Result<Explanation, ToolError> {
        let effects = match self.check(call) {
            Ok(prepared) => prepared.effects(&Context::rehearsal(self, call)).await?,
            // Hidden, because all that it could do is denied.
            Err(ToolError::Denied(denial)) => vec![denial.effect],
            Err(error) => return Err(error),
        };
        self.runtime().gate().explain(self.policy(), &effects).await
    }

    /// Brings the end of a call into its final form, and tells of it.
    async fn settle(&self, result: Result<Output, ToolError>, cx: &Context) -> Settled {
        let (call, tool) = (cx.call.clone(), cx.life.tool());
        match result {
            Ok(mut output) => {
                annotate(&mut output.metadata, cx);
                let output = Arc::new(output);
                let unkept = end(cx, &Ok(Arc::clone(&output))).await;
                let mut output = Arc::unwrap_or_clone(output);
                output.metadata.extend(unkept);
                Settled { call, tool, result: Ok(output), metadata: Metadata::new() }
            }
            Err(error) => {
                let told = async { Ok(hook::failed(self.hooks(), &tool, &error, cx).await) };
                // Its own end is no news: the call has failed already.
                let context = supervise(told, cx).await.unwrap_or_default();
                self.remember_failure(&error, cx); // repetition.rs
                let mut metadata = cx.life.last_progress().1;
                annotate(&mut metadata, cx);
                if !context.is_empty() {
                    metadata.insert(CONTEXT.to_owned(), context.into());
                }
                let report = report(&error, &metadata);
                let unkept = end(cx, &Err((report, metadata.clone()))).await;
                metadata.extend(unkept);
                Settled { call, tool, result: Err(error), metadata }
            }
        }
    }
}

/// Runs `work` until it ends, panics, or has been cancelled for longer than the grace allows.
async fn supervise<T>(
    work: impl Future<Output = Result<T, ToolError>>,
    cx: &Context,
) -> Result<T, ToolError> {
    tokio::select! {
        biased;
        result = AssertUnwindSafe(work).catch_unwind() => {
            // The payload went to the panic hook; it is not for the model.
            result.unwrap_or_else(|_| Err(ToolError::Panicked { tool: cx.life.tool() }))
        }
        () = overdue(cx) => Err(ToolError::Cancelled { partial: gathered(cx) }),
        () = cx.life.keep_beat() => Err(ToolError::cancelled()),
    }
}

/// Ends when the call has been cancelled for as long as the grace allows.
async fn overdue(cx: &Context) {
    cx.cancel.cancelled().await;
    let deadline = *cx.grace_ends.get_or_init(|| tokio::time::Instant::now() + GRACE);
    tokio::time::sleep_until(deadline).await;
}

/// What a tool that had to be dropped had shown until then.
fn gathered(cx: &Context) -> String {
    let (_, metadata) = cx.life.last_progress();
    metadata.get("output").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Tells of the end, and waits until it is kept where that matters; what could not be kept is said in
/// the metadata.
async fn end(cx: &Context, result: &Ending) -> Metadata {
    let ticket = cx.life.end(result);
    if !cx.life.waits_for_record() {
        ticket.later();
        return Metadata::new();
    }
    let kept = tokio::select! {
        biased;
        kept = ticket.kept() => kept.map_err(|error| error.to_string()),
        () = overdue(cx) => Err("the store did not answer in time".to_owned()),
    };
    let unrecorded = kept.err().map(|error| ("unrecorded".to_owned(), Value::from(error)));
    Metadata::from_iter(unrecorded)
}

/// Adds what the pipeline knows to what the tool reported.
fn annotate(metadata: &mut Metadata, cx: &Context) {
    let repaired = cx.life.repairs();
    if !repaired.is_empty() {
        metadata.insert("repaired".to_owned(), repaired.into());
    }
}

/// The error within its limits, and below it what hooks added.
fn report(error: &ToolError, metadata: &Metadata) -> ErrorReport {
    let mut report = ErrorReport::from(error);
    let context = metadata.get(CONTEXT).and_then(Value::as_array).into_iter().flatten();
    for text in context.filter_map(Value::as_str) {
        report.message = format!("{}\n\n{}", report.message, hook::from_hook(text));
    }
    report.message = bound::sentence(report.message, ERROR_BYTES);
    if let Some(denial) = &mut report.denial {
        denial.shorten(ERROR_BYTES);
    }
    report
}
