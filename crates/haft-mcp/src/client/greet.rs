//! Greeting a server to see whether it works, and nothing more.

use std::time::{Duration, Instant};

use haft_exec::Keeper;
use tokio::sync::mpsc;

use super::connection::{Connection, Era};
use super::handler::Handler;
use super::settings::ServerSettings;

/// How a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The version of the protocol that it chose.
    pub protocol: String,
    /// How many tools it has.
    pub tools: usize,
    /// How long it took to start, greet and list.
    pub took: Duration,
}

/// Starts a server, greets it as an era of the protocol does, asks for its tools, and ends it.
///
/// # Errors
/// Why it does not work, in words for the user.
pub async fn greet(
    settings: &ServerSettings,
    keeper: &Keeper,
    era: Era,
) -> Result<Greeting, String> {
    let started = Instant::now();
    let (changed, _unheeded) = mpsc::unbounded_channel();
    let handler = Handler::new(changed);
    let connection = Connection::open(settings, keeper, &handler, era).await?;
    let tools = tokio::time::timeout(settings.start_timeout, connection.tools()).await;
    let tools = tools.map_err(|_| "it does not say which tools it has".to_owned())??;
    let protocol = connection.info().map(|info| info.protocol_version.to_string());
    connection.close();
    let protocol = protocol.unwrap_or_default();
    Ok(Greeting { protocol, tools: tools.len(), took: started.elapsed() })
}
