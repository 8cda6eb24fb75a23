//! How children are started, spoken to and ended.

use std::collections::VecDeque;
use std::sync::Arc;

use haft_runtime::{CancellationToken, Model, NewSession, Runtime, SessionId, ToolError, plain};

use super::child::{Child, Live, Task, TaskState};
use super::{Attended, Crew, Order, PATIENCE, Part, State};
use crate::company::Spent;
use crate::ended::{AgentError, Ended, Why};
use crate::message::Content;
use crate::session::Session;
use crate::steering::Steering;

/// Longest of a child's last words that is held in memory; its log has all of them.
const ANSWER: usize = 32 * 1024;

/// When a message is to be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// Before the next reply.
    Soon,
    /// Now, whatever is being done.
    AtOnce,
}

/// What came of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It reads it before its next reply.
    Soon,
    /// It stops what it does, and goes on with this.
    AtOnce,
    /// It has ended.
    Over,
}

impl Crew {
    /// Starts a child of `parent`.
    pub(crate) async fn start(
        &self,
        parent: &SessionId,
        order: Order,
    ) -> Result<SessionId, ToolError> {
        let id = SessionId::fresh();
        let task = Task {
            agent: order.agent.clone(),
            description: shortened(&order.description),
            model: order.model.as_ref().map(|model| format!("{}/{}", model.provider, model.id)),
            state: TaskState::Running,
            reason: String::new(),
            spent: Spent::default(),
            unread: false,
        };
        let depth = self.reserve(&id, parent, task, order.attended)?;
        let project = self.project().to_owned();
        let agent = order.agent.clone();
        let new = NewSession { id: id.clone(), project, parent: Some(parent.clone()), agent };
        let made = async {
            let runtime = self.runtime()?;
            runtime.open_session(new).await?;
            self.set_to_work(&runtime, &id, parent, depth, order.model, order.content).await
        };
        if let Err(error) = made.await {
            // It never was.
            let mut state = self.lock();
            state.children.remove(&id);
            state.members.remove(&id);
            return Err(error);
        }
        Ok(id)
    }

    /// Lets a child that has ended go on.
    pub(crate) async fn resume(
        &self,
        parent: &SessionId,
        id: &SessionId,
        content: Vec<Content>,
        attended: Attended,
    ) -> Result<(), ToolError> {
        let (depth, model) = {
            let mut state = self.lock();
            let running = state.running();
            let member = state.members.get(parent).ok_or_else(|| unknown(id))?;
            let cancel = member.cancel.child_token();
            let child = state.children.get_mut(id).filter(|child| child.parent == *parent);
            let child = child.ok_or_else(|| unknown(id))?;
            if child.is_running() {
                let why = "is at work; action message speaks to it, wait waits for it";
                return Err(ToolError::failed(format!("task {id} {why}")));
            }
            self.has_room(running)?;
            child.task.state = TaskState::Running;
            child.cancel = cancel;
            (child.attended, child.task.unread, child.answer) = (attended, false, None);
            (child.depth, child.task.model.as_deref().and_then(model))
        };
        let working = async {
            self.restore(id, depth).await?;
            let runtime = self.runtime()?;
            self.set_to_work(&runtime, id, parent, depth, model, content).await
        };
        let working = working.await;
        if let Err(error) = &working {
            let outcome = (TaskState::Failed, error.to_string(), String::new());
            self.end(id, outcome, Spent::default()).await;
        }
        working
    }

    /// Says something to a child.
    pub(crate) fn message(&self, id: &SessionId, content: Vec<Content>, urgency: Urgency) -> Heard {
        let mut state = self.lock();
        let running = state.children.get_mut(id).filter(|child| child.is_running());
        let Some(live) = running.and_then(|child| child.live.as_mut()) else { return Heard::Over };
        let heard = if urgency == Urgency::AtOnce {
            live.urgent.push_back(content);
            live.turn.cancel();
            Heard::AtOnce
        } else {
            live.steering.say(content);
            Heard::Soon
        };
        drop(state);
        self.stir();
        heard
    }

    /// Waits for a child that is just about to begin or to end: in between nobody can speak to it.
    pub(crate) async fn reached(&self, id: &SessionId) {
        self.until(|state| {
            let child = state.children.get(id);
            child.is_none_or(|child| child.live.is_some() || !child.is_running())
        })
        .await;
    }

    /// Ends a child with all that it has started; `false` if it has ended already.
    pub(crate) fn cancel(&self, id: &SessionId) -> bool {
        let state = self.lock();
        let running = state.children.get(id).filter(|child| child.is_running());
        running.inspect(|child| child.cancel.cancel()).is_some()
    }

    /// Ends whoever a session has started and is still at work, and waits for their ends.
    pub(crate) async fn settle(&self, session: &SessionId) {
        let own: Vec<SessionId> = {
            let state = self.lock();
            let own = state.children_of(session).filter(|(_, child)| child.is_running());
            own.map(|(id, _)| id.clone()).collect()
        };
        for id in &own {
            self.cancel(id);
        }
        let over = self.until(|state| {
            own.iter().all(|id| !state.children.get(id).is_some_and(Child::is_running))
        });
        // Whoever does not end by then is left behind; its calls have been dropped.
        drop(tokio::time::timeout(PATIENCE, over).await);
    }

    /// Waits until something holds.
    pub(super) async fn until(&self, holds: impl Fn(&State) -> bool) {
        let mut ticks = self.ticks();
        while !holds(&self.lock()) {
            if ticks.changed().await.is_err() {
                return;
            }
        }
    }

    /// Takes a place for a child, if there is one; says how deep it is.
    fn reserve(
        &self,
        id: &SessionId,
        parent: &SessionId,
        task: Task,
        attended: Attended,
    ) -> Result<usize, ToolError> {
        let mut state = self.lock();
        let nobody = || ToolError::failed("this session cannot start other agents");
        let member = state.members.get(parent).ok_or_else(nobody)?;
        let (depth, cancel) = (member.depth + 1, member.cancel.child_token());
        let limits = self.limits();
        if depth > limits.depth {
            return Err(ToolError::failed(format!(
                "agents may be nested {} deep at most; do this piece of work yourself",
                limits.depth
            )));
        }
        if state.children_of(parent).count() >= limits.total {
            return Err(ToolError::failed(format!(
                "this session has started {} agents, and no more are allowed; continue one of \
                 them by its task_id, or do the work yourself",
                limits.total
            )));
        }
        self.has_room(state.running())?;
        let child = Child {
            task,
            parent: parent.clone(),
            depth,
            attended,
            answer: None,
            line: String::new(),
            cancel,
            live: None,
        };
        state.children.insert(id.clone(), child);
        Ok(depth)
    }

    fn has_room(&self, running: usize) -> Result<(), ToolError> {
        let most = self.limits().running;
        if running < most {
            return Ok(());
        }
        Err(ToolError::failed(format!(
            "{most} agents are at work, and no more may be at once; wait for one, then try again"
        )))
    }

    /// Makes an agent ready, and lets it work by itself.
    async fn set_to_work(
        &self,
        runtime: &Runtime,
        id: &SessionId,
        parent: &SessionId,
        depth: usize,
        model: Option<Model>,
        content: Vec<Content>,
    ) -> Result<(), ToolError> {
        let nobody = || ToolError::failed("the session that started it is over");
        let (ceiling, cancel, agent) = {
            let state = self.lock();
            let member = state.members.get(parent).ok_or_else(nobody)?;
            let child = state.children.get(id).ok_or_else(nobody)?;
            (Arc::clone(&member.policy), child.cancel.clone(), child.task.agent.clone())
        };
        let rules = self.rules_of_child(depth);
        let agent = self.roster().child(runtime, Part { agent, model, ceiling, rules }).await?;
        let company = self.join(id, depth, &agent);
        let session = Session::open(agent, id.clone()).await;
        let session = session.map_err(|error| ToolError::failed(error.to_string()))?;
        let session = session.accompanied(company);
        let turn = cancel.child_token();
        let steering = session.steering();
        let live = Live { steering, turn, urgent: VecDeque::new() };
        if let Some(child) = self.lock().children.get_mut(id) {
            child.live = Some(live);
        }
        self.stir();
        self.keep(id).await?;
        self.tell(id, "begins".to_owned());
        tokio::spawn(self.clone().work(id.clone(), session, content, cancel));
        Ok(())
    }

    /// Lets a child work until it has nothing more to do, whatever it is told meanwhile.
    async fn work(
        self,
        id: SessionId,
        mut session: Session,
        mut content: Vec<Content>,
        cancel: CancellationToken,
    ) {
        let outcome = loop {
            let turn = self.turn(&id, &cancel);
            let ended = session.prompt(content, &turn).await;
            match self.next(&id, &session.steering(), &cancel) {
                Some(more) => content = more,
                None => break outcome(ended),
            }
        };
        self.end(&id, outcome, session.spent()).await;
    }

    /// A token for what a child does next.
    fn turn(&self, id: &SessionId, cancel: &CancellationToken) -> CancellationToken {
        let turn = cancel.child_token();
        if let Some(live) = self.lock().children.get_mut(id).and_then(|child| child.live.as_mut()) {
            live.turn = turn.clone();
            // What is urgent came before there was anything to stop.
            if !live.urgent.is_empty() {
                turn.cancel();
            }
        }
        turn
    }

    /// What a child is to do next; if there is nothing, nothing more is said to it.
    fn next(
        &self,
        id: &SessionId,
        steering: &Steering,
        cancel: &CancellationToken,
    ) -> Option<Vec<Content>> {
        let mut state = self.lock();
        let child = state.children.get_mut(id)?;
        let live = child.live.as_mut()?;
        let next = live.urgent.pop_front().or_else(|| steering.take());
        let next = next.filter(|_| !cancel.is_cancelled());
        if next.is_none() {
            child.live = None;
        }
        next
    }

    /// A child has ended.
    async fn end(
        &self,
        id: &SessionId,
        (outcome, reason, answer): (TaskState, String, String),
        spent: Spent,
    ) {
        let line = {
            let mut state = self.lock();
            let Some(child) = state.children.get_mut(id) else { return };
            child.live = None;
            child.task.state = outcome;
            child.task.unread = child.attended == Attended::Background;
            child.task.spent = child.task.spent.and(spent);
            let line = if reason.is_empty() { outcome.as_str().to_owned() } else { reason.clone() };
            child.task.reason = reason;
            child.answer = (answer.len() <= ANSWER).then_some(answer);
            child.line.clone_from(&line);
            let (parent, attended) = (child.parent.clone(), child.attended);
            if let Some(member) = state.members.get_mut(&parent) {
                member.spent = member.spent.and(spent);
            }
            state.members.remove(id);
            (attended == Attended::Background).then_some(line)
        };
        // What is not kept is found as interrupted by the next process, which is no worse.
        drop(self.keep(id).await);
        if let Some(line) = line {
            self.tell(id, line);
        }
        self.stir();
    }
}

/// How a child's work ended: its state, why it did not go well, its last words.
fn outcome(ended: Result<Ended, AgentError>) -> (TaskState, String, String) {
    let failed = |why: &str, text| (TaskState::Failed, why.to_owned(), text);
    match ended {
        Ok(Ended { why: Why::Done, text, .. }) => (TaskState::Done, String::new(), text),
        Ok(Ended { why: Why::Cancelled, text, .. }) => (TaskState::Cancelled, String::new(), text),
        Ok(Ended { why: Why::Refusal, text, .. }) => failed("the model does not want to", text),
        Ok(Ended { why: Why::Length, text, .. }) => failed("its last reply was cut short", text),
        Ok(Ended { why: Why::Stopped, reason, text, .. }) => {
            failed(&format!("a hook stopped it: {}", reason.unwrap_or_default()), text)
        }
        Ok(Ended { why: Why::Steps, text, .. }) => {
            failed("it took as many replies as are allowed", text)
        }
        Err(error) => failed(&error.to_string(), String::new()),
    }
}

pub(super) fn unknown(id: &SessionId) -> ToolError {
    ToolError::failed(format!("this session has no task `{id}`; action list shows those it has"))
}

/// A few words, in one line.
fn shortened(text: &str) -> String {
    plain(text).chars().take(100).collect()
}

fn model(text: &str) -> Option<Model> {
    let (provider, id) = text.split_once('/')?;
    Some(Model { provider: provider.to_owned(), id: id.to_owned() })
}
