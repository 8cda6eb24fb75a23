//! Who leads a session is remembered, so that nobody has to say it again when it goes on.

use anyhow::Context;
use haft_runtime::{AgentId, Model, Scope, SessionId, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::agents::{BUILD, PLAN};
use crate::open::Haft;

/// The document of a session that says who leads it.
const DOCUMENT: &str = "leader";

/// Who leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Leader {
    agent: AgentId,
    /// The model that was named for it: its provider and its name there. The config's can change.
    model: Option<(String, String)>,
}

/// Lets those lead who led the session before, where the command names nobody else.
pub(super) fn as_before(haft: Haft, session: &SessionId) -> anyhow::Result<Haft> {
    let scope = Scope::Session(session.clone());
    let Some(leader) = haft.store.document(&scope, DOCUMENT)? else { return Ok(haft) };
    let leader: Leader = serde_json::from_value(leader)
        .with_context(|| format!("who leads session {session} cannot be read"))?;
    // Another agent may have a model of its own.
    let named = haft.common.agent.as_ref().and_then(|name| haft.definition(name.as_str()));
    let before = leader.model.filter(|_| named.is_none_or(|agent| agent.model.is_none()));
    let before = before.map(|(provider, id)| Model { provider, id });
    let (agent, model) = (haft.common.agent.clone(), haft.common.model.clone());
    let (agent, model) = (agent.unwrap_or(leader.agent), model.or(before));
    haft.with(agent, model)
        .with_context(|| format!("session {session} cannot go on as before; name another --agent"))
}

/// Remembers who leads now. Whether only plans are made is remembered by itself, and ends some time.
pub(super) async fn remember(haft: &Haft, session: &SessionId) -> anyhow::Result<()> {
    let agent =
        if haft.agent.as_str() == PLAN { AgentId::parse(BUILD)? } else { haft.agent.clone() };
    let model = haft.common.model.clone().map(|Model { provider, id }| (provider, id));
    let leader = serde_json::to_value(Leader { agent, model })?;
    let (store, scope) = (haft.store.clone(), Scope::Session(session.clone()));
    let keep = move || store.update_document(&scope, DOCUMENT, &mut |_| Ok(leader.clone()));
    tokio::task::spawn_blocking(keep).await?.map_err(|error: StoreError| error.into())
}
