//! Where strangers add behaviour: before a call, after it, and when it failed.

use std::sync::Arc;

use serde_json::Value;

use crate::context::Context;
use crate::error::ToolError;
use crate::output::Output;
use crate::tool::BoxFuture;

/// Watches calls, rewrites them, or refuses them. A hook that fails refuses.
pub trait Hook: Send + Sync + 'static {
    /// Sees a call before its arguments are validated; may rewrite them.
    fn before<'a>(
        &'a self,
        _tool: &'a str,
        args: Value,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async { Ok(args) })
    }

    /// Sees the whole answer before it is bounded or kept; may rewrite it.
    fn after<'a>(
        &'a self,
        _tool: &'a str,
        output: Output,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async { Ok(output) })
    }

    /// Is told of a call that failed, for whatever reason.
    fn failed<'a>(
        &'a self,
        _tool: &'a str,
        _error: &'a ToolError,
        _cx: &'a Context,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

pub(crate) type Hooks = Arc<[Arc<dyn Hook>]>;

/// Runs the arguments through every hook, in the order they were added.
pub(crate) async fn before(
    hooks: &Hooks,
    tool: &str,
    mut args: Value,
    cx: &Context,
) -> Result<Value, ToolError> {
    for hook in hooks.iter() {
        args = hook.before(tool, args, cx).await?;
    }
    Ok(args)
}

/// Runs the answer through every hook, in the order they were added.
pub(crate) async fn after(
    hooks: &Hooks,
    tool: &str,
    mut output: Output,
    cx: &Context,
) -> Result<Output, ToolError> {
    for hook in hooks.iter() {
        output = hook.after(tool, output, cx).await?;
    }
    Ok(output)
}

/// Tells every hook of a failure.
pub(crate) async fn failed(hooks: &Hooks, tool: &str, error: &ToolError, cx: &Context) {
    for hook in hooks.iter() {
        hook.failed(tool, error, cx).await;
    }
}
