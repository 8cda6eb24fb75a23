//! `task`: starts other agents, continues them, speaks to them, waits for them, ends them.

mod order;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use haft_runtime::permission::{Ask, Effect};
use haft_runtime::{
    BoxFuture, Context, DynTool, InitError, Listing, Output, Runtime, Schema, SessionId, ToolError,
    Traits,
};
use serde_json::{Value, json};

use crate::crew::{Attended, Crew, Heard, Order, Urgency, View};
use crate::log;
use crate::message::Content;
use crate::window::Window;
use order::{Job, Params, Target};

/// The tool's name.
const ID: &str = "task";
/// Tokens of this conversation that an agent may be given with its task.
const FORKED: u64 = 60_000;

/// Starts other agents.
struct TaskTool {
    crew: Crew,
    description: String,
}

impl Crew {
    /// Offers the tool `task`: a model can start others from now on.
    ///
    /// # Errors
    /// If there is one of this name already.
    pub fn offer_tasks(&self, runtime: &Runtime) -> Result<(), InitError> {
        let offered = self.offered().into_iter();
        let agents = offered.map(|(name, about)| format!("- {name}: {about}"));
        let agents: Vec<String> = agents.collect();
        let description = format!("{}\n{}", include_str!("task.txt").trim_end(), agents.join("\n"));
        runtime.add_tool(Arc::new(TaskTool { crew: self.clone(), description }))
    }
}

impl TaskTool {
    async fn run(&self, job: Job, cx: &Context) -> Result<Output, ToolError> {
        cx.ask(Ask::new(title(&job), self.asked(&job, cx))).await?;
        match job {
            Job::Start { target, prompt, attended } => {
                let id = self.start(target, prompt, attended, cx).await?;
                match attended {
                    Attended::Foreground => self.follow(&id, cx).await,
                    Attended::Background => Ok(self.started(&id, "works in the background", cx)),
                }
            }
            Job::Message { id, prompt, urgency } => self.say(&id, prompt, urgency, cx).await,
            Job::Wait { ids, until, timeout } => {
                let ids = if ids.is_empty() { self.crew.open(&cx.session) } else { ids };
                for id in &ids {
                    self.crew.view(&cx.session, id)?;
                }
                tokio::select! {
                    biased;
                    () = cx.cancel.cancelled() => return Err(ToolError::cancelled()),
                    () = self.crew.wait(&ids, until, timeout) => {}
                }
                self.tell(&ids).await
            }
            Job::List => Ok(list(&self.crew.views(&cx.session))),
            Job::Cancel { ids } => self.cancel(&ids, cx).await,
        }
    }

    /// Starts an agent, or lets one go on.
    async fn start(
        &self,
        target: Target,
        prompt: String,
        attended: Attended,
        cx: &Context,
    ) -> Result<SessionId, ToolError> {
        match target {
            Target::Task(id) => {
                let content = vec![Content::text(prompt)];
                self.crew.resume(&cx.session, &id, content, attended).await?;
                Ok(id)
            }
            Target::Agent { agent, model, description, fork } => {
                let offered = self.crew.offered();
                if offered.iter().all(|(name, _)| *name != agent) {
                    let names: Vec<&str> = offered.iter().map(|(name, _)| name.as_str()).collect();
                    return Err(ToolError::failed(format!(
                        "there is no agent `{agent}` to start; there are {}",
                        names.join(", ")
                    )));
                }
                let prompt = if fork { self.forked(&prompt, cx).await? } else { prompt };
                let content = vec![Content::text(prompt)];
                let order = Order { agent, model, description, content, attended };
                self.crew.start(&cx.session, order).await
            }
        }
    }

    /// A prompt with this conversation before it.
    async fn forked(&self, prompt: &str, cx: &Context) -> Result<String, ToolError> {
        let messages = log::glance(&self.crew.runtime()?, &cx.session).await?;
        let so_far = Window::new(FORKED, 0).transcript(&messages);
        Ok(format!(
            "The conversation so far of the agent that started you:\n\n{so_far}\n\
             This is the end of it. Your own task:\n\n{prompt}"
        ))
    }

    /// Waits for an agent, and shows what it does meanwhile.
    async fn follow(&self, id: &SessionId, cx: &Context) -> Result<Output, ToolError> {
        // However this call ends, nobody works on for it.
        let _end = EndOnDrop { crew: &self.crew, id };
        let (mut ticks, mut shown) = (self.crew.ticks(), String::new());
        loop {
            let view = self.crew.view(&cx.session, id)?;
            if !view.is_running {
                break;
            }
            if view.line != shown {
                let facts = json!({ "task_id": id, "agent": view.agent(), "doing": view.line });
                cx.metadata(format!("{}: {}", view.agent(), view.line), facts);
                shown = view.line;
            }
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => {
                    self.crew.cancel(id);
                    self.crew.wait(std::slice::from_ref(id), order::ALL, Duration::from_millis(400)).await;
                    return Err(ToolError::cancelled());
                }
                _ = ticks.changed() => {}
            }
        }
        let (view, answer) = self.crew.read(id).await?;
        let text = format!("task_id: {id}\nstate: {}\n\n{answer}", view.standing());
        Ok(Output::new(view.task.description.clone(), text).with("task", facts(&view)))
    }

    async fn say(
        &self,
        id: &SessionId,
        prompt: String,
        urgency: Urgency,
        cx: &Context,
    ) -> Result<Output, ToolError> {
        self.crew.view(&cx.session, id)?;
        self.crew.reached(id).await;
        let content = vec![Content::text(prompt)];
        let how = match self.crew.message(id, content.clone(), urgency) {
            Heard::Soon => "reads it before its next reply",
            Heard::AtOnce => "stops what it does and goes on with it",
            Heard::Over => {
                self.crew.resume(&cx.session, id, content, Attended::Background).await?;
                "had ended, and goes on with it in the background"
            }
        };
        Ok(self.started(id, how, cx))
    }

    async fn cancel(&self, ids: &[SessionId], cx: &Context) -> Result<Output, ToolError> {
        for id in ids {
            self.crew.view(&cx.session, id)?;
        }
        for id in ids {
            self.crew.cancel(id);
        }
        self.crew.wait(ids, order::ALL, Duration::from_secs(2)).await;
        self.tell(ids).await
    }

    /// How tasks stand, with the answers of those that have ended.
    async fn tell(&self, ids: &[SessionId]) -> Result<Output, ToolError> {
        let (mut texts, mut all, mut ended) = (Vec::new(), Vec::new(), 0);
        for id in ids {
            let (view, answer) = self.crew.read(id).await?;
            ended += usize::from(!view.is_running);
            texts.push(format!("## {}: {}\n\n{answer}", view.named(), view.standing()));
            all.push(facts(&view));
        }
        if texts.is_empty() {
            return Ok(Output::new(
                "nothing to wait for",
                "No task runs, and all answers were read.",
            ));
        }
        let title = format!("{ended} of {} ended", ids.len());
        Ok(Output::new(title, texts.join("\n\n")).with("tasks", all))
    }

    fn started(&self, id: &SessionId, how: &str, cx: &Context) -> Output {
        let text = format!("task_id: {id}\nIt {how}. You are told when it ends.");
        let view = self.crew.view(&cx.session, id).ok();
        let title = view.as_ref().map(|view| view.task.description.clone()).unwrap_or_default();
        Output::new(title, text).with("task", view.as_ref().map_or(Value::Null, facts))
    }

    /// What a job needs to be allowed: the agent that is set to work.
    fn asked(&self, job: &Job, cx: &Context) -> Vec<Effect> {
        let of_task = |id: &SessionId| {
            self.crew.view(&cx.session, id).ok().map(|view| view.agent().to_string())
        };
        let agent = match job {
            Job::Start { target: Target::Agent { agent, .. }, .. } => Some(agent.to_string()),
            Job::Start { target: Target::Task(id), .. } | Job::Message { id, .. } => of_task(id),
            Job::Wait { .. } | Job::List | Job::Cancel { .. } => None,
        };
        agent.map(|agent| Effect::using(ID, agent)).into_iter().collect()
    }
}

impl DynTool for TaskTool {
    fn id(&self) -> &str {
        ID
    }

    fn aliases(&self) -> &[&str] {
        &["agent", "spawn_agent", "subagent", "delegate"]
    }

    fn description(&self) -> Cow<'_, str> {
        self.description.as_str().into()
    }

    fn schema(&self) -> Result<Schema, String> {
        Schema::of::<Params>()
    }

    fn traits(&self) -> Traits {
        Traits { beside: true, open_world: true, ..Traits::default() }
    }

    fn listing(&self) -> Listing {
        Listing::Always
    }

    fn effects<'a>(
        &'a self,
        args: Value,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>> {
        Box::pin(async move { Ok(self.asked(&order::read(args)?, cx)) })
    }

    fn prepare<'a>(
        &'a self,
        args: Value,
        cx: &'a Context,
    ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError> {
        let job = order::read(args)?;
        Ok(Box::pin(self.run(job, cx)))
    }
}

/// Ends a child when the call that waits for it is gone.
struct EndOnDrop<'a> {
    crew: &'a Crew,
    id: &'a SessionId,
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.crew.cancel(self.id);
    }
}

fn title(job: &Job) -> String {
    match job {
        Job::Start { target: Target::Agent { agent, description, .. }, .. } => {
            format!("let {agent} {description}")
        }
        Job::Start { target: Target::Task(id), .. } => format!("continue task {id}"),
        Job::Message { id, .. } => format!("speak to task {id}"),
        Job::Wait { .. } | Job::List | Job::Cancel { .. } => "look after its tasks".to_owned(),
    }
}

fn list(views: &[View]) -> Output {
    if views.is_empty() {
        return Output::new("no tasks", "This session has started no agents.");
    }
    let line = |view: &View| format!("{}: {}", view.named(), view.standing());
    let lines: Vec<String> = views.iter().map(line).collect();
    let all: Vec<Value> = views.iter().map(facts).collect();
    let s = if views.len() == 1 { "" } else { "s" };
    Output::new(format!("{} task{s}", views.len()), lines.join("\n")).with("tasks", all)
}

/// A task for every surface.
fn facts(view: &View) -> Value {
    let View { id, task, .. } = view;
    json!({
        "task_id": id,
        "agent": task.agent,
        "description": task.description,
        "state": task.state,
        "reason": task.reason,
        "spent": task.spent,
    })
}
