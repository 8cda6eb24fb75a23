//! What the host decides about one server.

use std::sync::Arc;
use std::time::Duration;

use super::names::fits;

/// A server, how it is reached, and what of it is used.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// What its tools' names begin with.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Which of its tools are offered.
    pub tools: ToolFilter,
    /// How long a call may take without a sign of life.
    pub timeout: Duration,
    /// How long it may take until it answers for the first time.
    pub start_timeout: Duration,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum Reach {
    /// A command that speaks on its standard input and output; confined as it says.
    Command(Box<haft_exec::Command>),
    /// An address for HTTP.
    Http {
        /// The whole address.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
        /// Who sends them.
        client: Arc<haft_web::Client>,
    },
}

/// Which tools are offered, by the server's own names; `*` stands for any part of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// If there are any, only these.
    pub allow: Vec<String>,
    /// None of these.
    pub deny: Vec<String>,
}

impl ToolFilter {
    /// Whether the tool of this name is offered.
    #[must_use]
    pub fn takes(&self, tool: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, tool));
        (self.allow.is_empty() || any(&self.allow)) && !any(&self.deny)
    }
}
