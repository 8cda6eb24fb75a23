//! The loop among others: whoever works beside a session is heard, waited for, and paid.

use std::sync::Arc;

use haft_runtime::CancellationToken;

use super::Session;
use crate::company::{Company, Spent};
use crate::ended::AgentError;
use crate::message::Content;
use crate::window::Window;

impl Session {
    /// Lets others work beside it.
    #[must_use]
    pub fn accompanied(mut self, company: Arc<dyn Company>) -> Self {
        self.company = Some(company);
        self
    }

    /// What has been spent since it was opened, by it and by whoever works beside it.
    #[must_use]
    pub fn spent(&self) -> Spent {
        let others = self.company.as_ref().map(|company| company.spent());
        self.spent.and(others.unwrap_or_default())
    }

    /// The work on a prompt begins.
    pub(super) async fn begin(&mut self, cancel: &CancellationToken) -> Result<(), AgentError> {
        if let Some(company) = &self.company {
            company.begin(cancel);
        }
        self.hear_news().await.map(drop)
    }

    /// Adds what became of the others; `false` if there was nothing.
    pub(super) async fn hear_news(&mut self) -> Result<bool, AgentError> {
        let Some(news) = self.company.as_ref().and_then(|company| company.news()) else {
            return Ok(false);
        };
        self.hear_user(vec![Content::text(news)]).await?;
        Ok(true)
    }

    /// Waits for those beside it, if the model has said its last word before them.
    pub(super) async fn hears_more(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<bool, AgentError> {
        let Some(company) = self.company.clone() else { return Ok(false) };
        let more = tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            () = self.steering.said() => true,
            more = company.more() => more,
        };
        if more { self.heed_steering().await } else { Ok(false) }
    }

    /// Another agent may work from now on.
    pub(super) async fn recast(&mut self) {
        let Some(company) = self.company.clone() else { return };
        if let Some(agent) = company.recast().await {
            self.tools = agent.definitions();
            self.window = Window::new(agent.model.context, agent.model.max_tokens);
            self.agent = agent;
        }
    }

    /// The work on a prompt is over, also for the others.
    pub(super) async fn settle(&self) {
        if let Some(company) = &self.company {
            company.settle().await;
        }
    }
}
