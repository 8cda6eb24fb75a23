//! Where strangers add behaviour: around a call, at an ask, at both ends of a session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::Context;
use crate::error::ToolError;
use crate::ids::SessionId;
use crate::output::Output;
use crate::permission::{Ask, Effect, PendingAsk};
use crate::tool::BoxFuture;
use crate::toolset::Shown;

/// Watches calls, rewrites them, or refuses them. A hook that fails refuses.
pub trait Hook: Send + Sync + 'static {
    /// Sees a call before its arguments are validated; may rewrite them.
    fn before<'a>(
        &'a self,
        _tool: &'a str,
        args: Value,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Before, ToolError>> {
        Box::pin(async { Ok(args.into()) })
    }

    /// Sees an ask that no rule and no grant answers, before the host does; `None` leaves it to the
    /// host. An *allow* counts as far as a rule `* = allow` would.
    fn asked<'a>(
        &'a self,
        _ask: &'a PendingAsk,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Option<Allowed>, ToolError>> {
        Box::pin(async { Ok(None) })
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

    /// Is told of a call that failed, for whatever reason; may add words for the model.
    fn failed<'a>(
        &'a self,
        _tool: &'a str,
        _error: &'a ToolError,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }

    /// Is told that work in a session begins. An error keeps it from beginning.
    fn session_started<'a>(
        &'a self,
        _session: &'a SessionId,
        _how: Beginning,
    ) -> BoxFuture<'a, Result<Said, ToolError>> {
        Box::pin(async { Ok(Said::default()) })
    }

    /// Is told that work in a session is over, and why.
    fn session_ended<'a>(&'a self, _session: &'a SessionId, _why: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

/// What a hook makes of a call that is about to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Before {
    /// The arguments, which it may have rewritten. They are validated after this.
    pub args: Value,
    /// What it says of the permissions that the call needs.
    pub word: Option<Word>,
    /// What the model reads beside the answer.
    pub context: Option<String>,
}

impl From<Value> for Before {
    /// The call goes on with these arguments, and there is nothing to say of it.
    fn from(args: Value) -> Self {
        Self { args, word: None, context: None }
    }
}

/// What a hook says of the permissions that a call needs. Of several words the strictest counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// What would be asked is allowed, as far as a rule `* = allow` would: no deny is beaten, and
    /// nothing protected is opened.
    Allow,
    /// The user is asked, whatever the rules allow.
    Ask {
        /// Why, for the user.
        reason: String,
    },
}

/// A hook's yes to an ask; its no is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowed;

/// How work in a session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beginning {
    /// It is a new one.
    Startup,
    /// It goes on.
    Resume,
}

/// What hooks have to say when a session begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// For the model.
    pub context: Vec<String>,
    /// For the user.
    pub messages: Vec<String>,
}

/// What stands before the words of a hook, so that nobody takes them for a tool's or the user's.
const FROM_HOOK: &str = "[from a hook]";

/// What a hook adds for the model, marked as such.
#[must_use]
pub fn from_hook(words: &str) -> String {
    format!("{FROM_HOOK}\n{words}")
}

pub(crate) type Hooks = Arc<[Arc<dyn Hook>]>;

/// What the hooks of one call have said, and what they are to see of it.
#[derive(Debug, Default)]
pub(crate) struct Heard(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    word: Option<Word>,
    context: Vec<String>,
    input: Arc<Value>,
    /// The arguments as the model wrote them, if a hook has rewritten them.
    given: Option<Arc<Value>>,
}

impl Heard {
    /// The arguments as they are by now.
    pub(crate) fn input(&self) -> Arc<Value> {
        Arc::clone(&self.lock().input)
    }

    pub(crate) fn allows(&self) -> bool {
        self.lock().word == Some(Word::Allow)
    }

    /// Why a hook wants the user asked. It is told once: one answer is enough for a call.
    pub(crate) fn take_demand(&self) -> Option<String> {
        let mut inner = self.lock();
        match inner.word.take() {
            Some(Word::Ask { reason }) => Some(reason),
            other => {
                inner.word = other;
                None
            }
        }
    }

    /// What the model is to read beside the answer.
    pub(crate) fn context(&self) -> Vec<String> {
        self.lock().context.clone()
    }

    pub(crate) fn demands(&self) -> bool {
        matches!(self.lock().word, Some(Word::Ask { .. }))
    }

    fn see(&self, input: &Value) {
        self.lock().input = Arc::new(input.clone());
    }

    fn hear(&self, word: Option<Word>, context: Option<String>) {
        let mut inner = self.lock();
        inner.context.extend(context);
        let asks = matches!(inner.word, Some(Word::Ask { .. }));
        if word.is_some() && !asks {
            inner.word = word;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the arguments through every hook, in the order they were added.
pub(crate) async fn before(
    hooks: &Hooks,
    tool: &str,
    mut args: Value,
    cx: &Context,
) -> Result<Value, ToolError> {
    let mut given = None;
    for hook in hooks.iter() {
        cx.heard.see(&args);
        given = given.or_else(|| Some(cx.heard.input()));
        let Before { args: rewritten, word, context } = hook.before(tool, args, cx).await?;
        cx.heard.hear(word, context);
        args = rewritten;
    }
    cx.heard.lock().given = given.filter(|given| **given != args);
    Ok(args)
}

/// Whose fault it is that arguments do not fit: a hook's, if those that the model wrote did.
pub(crate) fn blame(error: ToolError, shown: &Shown, cx: &Context) -> ToolError {
    let given = cx.heard.lock().given.clone();
    match error {
        ToolError::InvalidParams { tool, detail }
            if given.is_some_and(|given| shown.fits(Value::clone(&given))) =>
        {
            let reason = format!(
                "it rewrote the arguments of {tool} into some that do not fit:\n{detail}\n\
                 Nothing has run. The call was right; tell the user about the hook."
            );
            ToolError::Blocked { reason }
        }
        error => error,
    }
}

/// Remembers for the hooks what runs, and asks at once where one wants the user asked and the tool
/// would ask for nothing.
pub(crate) async fn heed(
    hooks: &Hooks,
    shown: &Shown,
    args: &Value,
    cx: &Context,
) -> Result<(), ToolError> {
    if hooks.is_empty() {
        return Ok(());
    }
    cx.heard.see(args);
    if cx.heard.demands() && shown.tool.effects(args.clone(), cx).await?.is_empty() {
        let effect = Effect::using(shown.tool.permission().to_owned(), "*");
        return cx.ask(Ask::new(shown.id(), vec![effect])).await;
    }
    Ok(())
}

/// Shows every hook an ask; the first that answers has answered it.
pub(crate) async fn asked(
    hooks: &Hooks,
    ask: &PendingAsk,
    cx: &Context,
) -> Result<Option<Allowed>, ToolError> {
    let mut answer = None;
    for hook in hooks.iter() {
        // All of them are asked: a later one may still refuse.
        answer = answer.or(hook.asked(ask, cx).await?);
    }
    Ok(answer)
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
    for context in cx.heard.context() {
        output.output = format!("{}\n\n{}", output.output.trim_end(), from_hook(&context));
    }
    Ok(output)
}

/// Tells every hook of a failure; gives what they add.
pub(crate) async fn failed(
    hooks: &Hooks,
    tool: &str,
    error: &ToolError,
    cx: &Context,
) -> Vec<String> {
    let mut context = cx.heard.context();
    for hook in hooks.iter() {
        context.extend(hook.failed(tool, error, cx).await);
    }
    context
}
