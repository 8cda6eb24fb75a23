//! Hooks that are commands: asked around every call, and heeded.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;

use haft_exec::{EndedBy, Exit, Reach, Stream};
use haft_runtime::permission::{Action, Effect, PendingAsk, Policy};
use haft_runtime::{
    Allowed, Before, Beginning as Start, BoxFuture, Context, Hook, Output, Said, SessionId,
    ToolError, Word, from_hook,
};
use serde_json::{Value, json};

use crate::program::{Beginning, Changes, Origin, Programs, Purpose, Trouble, shortened};

mod contract;
mod entry;
mod words;

use contract::{Answer, Decision};
use entry::Ready;
pub use entry::{HookEntry, HookEvent, OnFailure, hook_files};
pub(crate) use words::shown;
use words::{WORDS, after_the_fact, blocked, ended, heed_stop, joined, quoted, starts_json};

/// Most of an answer; more is no answer.
const ANSWER: usize = 1024 * 1024;

/// Every command that is a hook, in the order of the config files.
pub struct CommandHooks {
    programs: Programs,
    policy: Policy,
    hooks: Vec<Ready>,
}

impl CommandHooks {
    /// Makes them ready. What the rules of `policy` do not let anyone read is hidden from them.
    ///
    /// # Errors
    /// If a matcher is no pattern, or a command is empty.
    pub fn new(
        programs: Programs,
        policy: Policy,
        files: impl IntoIterator<Item = (Origin, BTreeMap<HookEvent, Vec<HookEntry>>)>,
    ) -> Result<Self, String> {
        let mut hooks = Vec::new();
        for (origin, events) in files {
            for (event, entries) in events {
                for entry in entries {
                    hooks.push(Ready::new(event, entry, origin, programs.workspace().root())?);
                }
            }
        }
        Ok(Self { programs, policy, hooks })
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    fn of<'a>(&'a self, event: HookEvent, name: &'a str) -> impl Iterator<Item = &'a Ready> {
        self.hooks.iter().filter(move |hook| hook.is_for(event, name))
    }

    /// Runs one hook of a call, and tells the user what it has to tell.
    async fn consult(
        &self,
        hook: &Ready,
        input: Value,
        cx: &Context,
        cancel: impl Future<Output = ()>,
    ) -> Result<Answer, ToolError> {
        let set = vec![("HAFT_CALL".into(), cx.call.as_str().into())];
        let ruled = |effect: &Effect| cx.ruled(effect);
        let purpose = purpose(hook, &cx.session, &ruled, set);
        let answer = self.ask(hook, input, purpose, cancel).await?;
        if let Some(text) = &answer.system_message {
            let text = shortened(text, WORDS);
            cx.note("hook.message", json!({ "hook": shown(&hook.command), "text": text }));
        }
        Ok(answer)
    }

    /// Runs one hook; what it gets wrong is an error, unless it may fail.
    async fn ask(
        &self,
        hook: &Ready,
        mut input: Value,
        purpose: Purpose<'_>,
        cancel: impl Future<Output = ()>,
    ) -> Result<Answer, ToolError> {
        if let Some(map) = input.as_object_mut() {
            map.insert("cwd".into(), self.programs.workspace().root().to_string_lossy().into());
        }
        match self.run(hook, &input, purpose, cancel).await {
            Ok(Ran::Answered(answer)) => heed_stop(hook, *answer),
            Ok(Ran::Blocked(words)) => Err(blocked(hook, &words)),
            Err(Fault::Cancelled) => Err(ToolError::cancelled()),
            Err(Fault::Broken(_)) if hook.on_failure == OnFailure::Ignore => Ok(Answer::default()),
            Err(Fault::Broken(why)) => {
                Err(blocked(hook, &format!("it failed, and so it refuses: {why}")))
            }
        }
    }

    async fn run(
        &self,
        hook: &Ready,
        input: &Value,
        purpose: Purpose<'_>,
        cancel: impl Future<Output = ()>,
    ) -> Result<Ran, Fault> {
        if let Some(path) = hook.changed() {
            let path = path.display();
            return Err(Fault::Broken(format!("{path} was changed since it was trusted")));
        }
        let command = self.programs.shell(&hook.command);
        let (mut said, mut errors) = (Beginning::of(ANSWER), Beginning::of(WORDS));
        let take = |stream, bytes: &[u8]| {
            match stream {
                Stream::Output => said.push(bytes),
                Stream::Errors => errors.push(bytes),
            }
            Ok(())
        };
        let input = input.to_string().into_bytes();
        let finished = self.programs.run(command, input, purpose, hook.timeout, cancel, take).await;
        let finished = match finished {
            Err(Trouble::Cancelled) => return Err(Fault::Cancelled),
            other => other.map_err(|trouble| Fault::Broken(trouble.to_string()))?,
        };
        match (finished.by, finished.exit) {
            (EndedBy::Cancel, _) => Err(Fault::Cancelled),
            (EndedBy::Timeout, _) => {
                let seconds = hook.timeout.as_secs();
                Err(Fault::Broken(format!("it took longer than {seconds} s")))
            }
            (_, Some(Exit::Code(0))) if said.is_cut => {
                Err(Fault::Broken("it said more than 1 MiB".to_owned()))
            }
            (_, Some(Exit::Code(0))) => match contract::answer(hook.event, said.bytes()) {
                // Plain words are fine there, and mean what they say.
                Err(_) if hook.event == HookEvent::SessionStart && !starts_json(said.bytes()) => {
                    let mut answer = Answer::default();
                    answer.hook_specific_output.additional_context = Some(said.text());
                    Ok(Ran::Answered(Box::new(answer)))
                }
                answer => answer.map(|it| Ran::Answered(Box::new(it))).map_err(Fault::Broken),
            },
            (_, Some(Exit::Code(2))) => Ok(Ran::Blocked(errors.text())),
            (_, exit) => Err(Fault::Broken(format!("{}{}", ended(exit), quoted(&errors.text())))),
        }
    }
}

/// What came of a hook.
enum Ran {
    Answered(Box<Answer>),
    /// It refuses, in these words.
    Blocked(String),
}

/// Why nothing came of it.
enum Fault {
    Cancelled,
    Broken(String),
}

impl Hook for CommandHooks {
    fn before<'a>(
        &'a self,
        tool: &'a str,
        mut args: Value,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Before, ToolError>> {
        Box::pin(async move {
            let (mut word, mut context) = (None, Vec::new());
            for hook in self.of(HookEvent::PreToolUse, tool) {
                let input = contract::of_call(HookEvent::PreToolUse, tool, &args, cx);
                let answer = self.consult(hook, input, cx, cx.cancel.cancelled()).await?;
                let specific = answer.hook_specific_output;
                let reason = specific.permission_decision_reason.or(answer.reason);
                match specific.permission_decision.or(answer.decision) {
                    Some(Decision::Deny) => {
                        return Err(blocked(
                            hook,
                            reason.as_deref().unwrap_or("it gave no reason"),
                        ));
                    }
                    Some(Decision::Ask) => {
                        let reason = reason.unwrap_or_else(|| shown(&hook.command));
                        word = Some(Word::Ask { reason: shortened(&reason, WORDS) });
                    }
                    Some(Decision::Allow) => word = word.or(Some(Word::Allow)),
                    None => {}
                }
                context.extend(specific.additional_context);
                args = specific.updated_input.unwrap_or(args);
            }
            Ok(Before { args, word, context: joined(context) })
        })
    }

    fn asked<'a>(
        &'a self,
        ask: &'a PendingAsk,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Option<Allowed>, ToolError>> {
        Box::pin(async move {
            let mut allowed = None;
            for hook in self.of(HookEvent::PermissionRequest, &ask.tool) {
                let mut input =
                    contract::of_call(HookEvent::PermissionRequest, &ask.tool, &cx.input(), cx);
                contract::add_ask(&mut input, ask);
                let answer = self.consult(hook, input, cx, cx.cancel.cancelled()).await?;
                let Some(decision) = answer.hook_specific_output.decision else { continue };
                if decision.updated_input.is_some() {
                    let words = "only a PreToolUse hook can rewrite the input of a call";
                    return Err(blocked(hook, words));
                }
                match decision.behavior {
                    Decision::Allow => allowed = Some(Allowed),
                    Decision::Ask => {}
                    Decision::Deny => {
                        let words = decision.message.or(answer.reason);
                        return Err(blocked(hook, words.as_deref().unwrap_or("it gave no reason")));
                    }
                }
            }
            Ok(allowed)
        })
    }

    fn after<'a>(
        &'a self,
        tool: &'a str,
        mut output: Output,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            for hook in self.of(HookEvent::PostToolUse, tool) {
                let mut input = contract::of_call(HookEvent::PostToolUse, tool, &cx.input(), cx);
                if let Some(map) = input.as_object_mut() {
                    map.insert("tool_response".into(), contract::response(&output));
                }
                let answer = self.consult(hook, input, cx, cx.cancel.cancelled()).await;
                let answer = answer.map_err(after_the_fact)?;
                if matches!(answer.decision, Some(Decision::Deny)) {
                    let words = answer.reason.as_deref().unwrap_or("it gave no reason");
                    return Err(after_the_fact(blocked(hook, words)));
                }
                let specific = answer.hook_specific_output;
                if let Some(other) = specific.updated_tool_output {
                    output.output = match other {
                        Value::String(text) => text,
                        other => other.to_string(),
                    };
                    // It was about the text that is gone.
                    output.footer.clear();
                }
                if let Some(context) = joined(specific.additional_context) {
                    let context = from_hook(&context);
                    output.output = format!("{}\n\n{context}", output.output.trim_end());
                }
            }
            Ok(output)
        })
    }

    fn failed<'a>(
        &'a self,
        tool: &'a str,
        error: &'a ToolError,
        cx: &'a Context,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let mut context = Vec::new();
            for hook in self.of(HookEvent::PostToolUseFailure, tool) {
                let mut input =
                    contract::of_call(HookEvent::PostToolUseFailure, tool, &cx.input(), cx);
                contract::add_failure(&mut input, error);
                // A cancelled call is told of as well; the pipeline bounds how long that takes.
                match self.consult(hook, input, cx, std::future::pending()).await {
                    Ok(answer) => context.extend(answer.hook_specific_output.additional_context),
                    Err(error) => context.push(error.to_string()),
                }
            }
            joined(context)
        })
    }

    fn session_started<'a>(
        &'a self,
        session: &'a SessionId,
        how: Start,
    ) -> BoxFuture<'a, Result<Said, ToolError>> {
        Box::pin(async move {
            let source = match how {
                Start::Startup => "startup",
                Start::Resume => "resume",
            };
            let mut said = Said::default();
            for hook in self.of(HookEvent::SessionStart, source) {
                let answer = self.attend(hook, session, contract::of_start(session, how)).await?;
                let context = answer.hook_specific_output.additional_context;
                said.context.extend(joined(context));
                said.messages.extend(answer.system_message.map(|text| shortened(&text, WORDS)));
            }
            Ok(said)
        })
    }

    fn session_ended<'a>(&'a self, session: &'a SessionId, why: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for hook in self.of(HookEvent::SessionEnd, why) {
                // Nothing is left that it could refuse.
                drop(self.attend(hook, session, contract::of_end(session, why)).await);
            }
        })
    }
}

impl CommandHooks {
    /// Runs one hook of a session.
    async fn attend(
        &self,
        hook: &Ready,
        session: &SessionId,
        input: Value,
    ) -> Result<Answer, ToolError> {
        let ruled = |effect: &Effect| -> Action { self.policy.decide(effect).action };
        let purpose = purpose(hook, session, &ruled, Vec::new());
        self.ask(hook, input, purpose, std::future::pending()).await
    }
}

/// A hook is allowed nothing of its own: it may change what commands may, and reaches no host.
fn purpose<'a>(
    hook: &Ready,
    session: &'a SessionId,
    ruled: &'a (dyn Fn(&Effect) -> Action + Sync),
    set: Vec<(OsString, OsString)>,
) -> Purpose<'a> {
    let reach = if hook.is_confined { Reach::Confined } else { Reach::Open };
    Purpose { session, effects: &[], ruled, set, reach, changes: Changes::Workspace, hosts: None }
}
