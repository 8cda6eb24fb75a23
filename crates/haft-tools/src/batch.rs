//! `batch`: several calls in one, beside each other where they do not touch the same thing.

use std::sync::atomic::{AtomicBool, Ordering};

use haft_runtime::permission::{Ask, Effect};
use haft_runtime::{
    Attachment, Context, InitContext, InitError, Keep, Output, Prepared, Tool, ToolError, Touched,
    run_beside,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::search::counted;

/// Runs several calls.
pub(crate) struct Batch;

/// The calls.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// One to 25 calls. Results come in this order.
    #[schemars(length(min = 1, max = 25), extend("x-aliases" = ["tool_calls", "invocations"]))]
    calls: Vec<Item>,
}

/// One call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Item {
    /// The tool's name.
    #[schemars(extend("x-aliases" = ["name", "tool_name", "recipient_name"]))]
    tool: String,
    /// Its arguments, as in a call of its own.
    #[schemars(extend("x-aliases" = ["parameters", "arguments", "input", "params"]))]
    args: Map<String, Value>,
}

impl Tool for Batch {
    const ID: &'static str = "batch";
    const DESCRIPTION: &'static str = include_str!("batch.txt");
    const ALIASES: &'static [&'static str] = &["multi_tool_use", "parallel"];
    type Params = Params;

    async fn init(_cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self)
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let calls = check_all(&params.calls, cx)?;
        cx.ask(Ask::new("run a batch", vec![Effect::using(Self::ID, "*")])).await?;
        let results = run_all(&calls, cx).await;
        stop(&results)?;
        Ok(report(&calls, results))
    }

    async fn effects(&self, params: &Params, cx: &Context) -> Result<Vec<Effect>, ToolError> {
        let mut effects = vec![Effect::using(Self::ID, "*")];
        for call in check_all(&params.calls, cx)? {
            effects.extend(cx.effects(&call).await?);
        }
        Ok(effects)
    }
}

/// Checks every call before any runs; all faults are told at once.
fn check_all(calls: &[Item], cx: &Context) -> Result<Vec<Prepared>, ToolError> {
    let mut prepared = Vec::new();
    let mut faults = Vec::new();
    for (index, item) in calls.iter().enumerate() {
        match check(item, cx) {
            Ok(call) => prepared.push(call),
            // The advice comes once, at the end.
            Err(ToolError::InvalidParams { tool, detail }) => {
                faults.push(format!("- calls[{index}], {tool}: {detail}"));
            }
            Err(fault) => faults.push(format!("- calls[{index}]: {fault}")),
        }
    }
    if faults.is_empty() {
        return Ok(prepared);
    }
    Err(ToolError::InvalidParams { tool: Batch::ID.to_owned(), detail: faults.join("\n") })
}

fn check(item: &Item, cx: &Context) -> Result<Prepared, ToolError> {
    let call = cx.check(&item.tool, Value::Object(item.args.clone()))?;
    match call.tool() {
        Batch::ID => Err(ToolError::failed("a batch cannot contain a batch")),
        _ => Ok(call),
    }
}

/// Runs every call as soon as those before it that it clashes with have ended.
async fn run_all(calls: &[Prepared], cx: &Context) -> Vec<Result<Output, ToolError>> {
    let mut touched = Vec::new();
    for call in calls {
        touched.push(Touched::by(call, cx.effects(call).await));
    }
    let is_stopped = AtomicBool::new(false);
    let work = calls.iter().map(|call| async {
        if is_stopped.load(Ordering::Relaxed) {
            return Err(ToolError::cancelled());
        }
        let result = cx.execute(call.tool(), call.args().clone(), calls.len()).await;
        if matches!(result, Err(ToolError::Stopped { .. })) {
            is_stopped.store(true, Ordering::Relaxed);
        }
        result
    });
    run_beside(&touched, work).await
}

/// A hook that ends the work of one call ends that of the batch; what was done by then is said.
fn stop(results: &[Result<Output, ToolError>]) -> Result<(), ToolError> {
    let stopped = results.iter().find_map(|result| match result {
        Err(ToolError::Stopped { reason }) => Some(reason),
        _ => None,
    });
    let Some(reason) = stopped else { return Ok(()) };
    let done = results.iter().enumerate().filter(|(_, result)| result.is_ok());
    let done: Vec<String> = done.map(|(index, _)| (index + 1).to_string()).collect();
    let done = if done.is_empty() { "none".to_owned() } else { done.join(", ") };
    Err(ToolError::Stopped {
        reason: format!("{reason} (calls of the batch that were done: {done})"),
    })
}

/// One section per call, in order.
fn report(calls: &[Prepared], results: Vec<Result<Output, ToolError>>) -> Output {
    let failed = results.iter().filter(|result| result.is_err()).count();
    let mut sections = Vec::new();
    let mut entries = Vec::new();
    let mut attachments: Vec<Attachment> = Vec::new();
    for (index, (call, result)) in calls.iter().zip(results).enumerate() {
        let (number, tool) = (index + 1, call.tool());
        match result {
            Ok(output) => {
                sections.push(format!("## {number}. {tool}: {}\n{}", output.title, output.output));
                entries.push(json!({ "tool": tool, "state": "completed", "title": output.title }));
                attachments.extend(output.attachments);
            }
            Err(error) => {
                sections.push(format!("## {number}. {tool} failed\n{error}"));
                entries.push(json!({ "tool": tool, "state": "error", "kind": error.kind() }));
            }
        }
    }
    let made = counted(calls.len() as u64, "call");
    let title = match failed {
        0 => made,
        _ => format!("{made}, {failed} failed"),
    };
    let output = Output::new(title, sections.join("\n\n")).with("calls", json!(entries));
    Output { attachments, keep: Keep::Both, ..output }
}
