//! Calls that wait for the user's answer in a later request, and the sealed ticket to each.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use haft_runtime::{CallId, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::call::OpenCall;
use super::line::Wish;

/// How long a question is worth answering.
pub(super) const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// More than any client has open; one that never comes back must not fill the memory.
const MOST: usize = 256;
/// How often the same call may be asked about before it has to be made anew.
const ROUNDS: u32 = 32;

/// The calls that wait.
pub(super) struct Parked {
    started: Instant,
    key: OnceLock<[u8; 32]>,
    waiting: Mutex<HashMap<CallId, Waiting>>,
}

/// A call, and what it waits for.
pub(super) struct Waiting {
    pub(super) open: OpenCall,
    pub(super) asked: Vec<Wish>,
}

/// What a ticket is bound to: session, tool and arguments.
#[derive(Clone, Copy)]
pub(super) struct Binding([u8; 32]);

/// Why a ticket is not taken.
pub(super) enum Refused {
    /// It is not ours, or not for this call.
    Forged,
    /// An answer came with it already.
    Used,
    /// It came too late.
    Late,
}

/// What a ticket says; it holds nothing that the client may not know, and cannot be changed.
#[derive(Serialize, Deserialize)]
struct Ticket {
    call: CallId,
    round: u32,
    /// In seconds since this server started.
    until: u64,
}

impl Binding {
    pub(super) fn of(session: &SessionId, tool: &str, args: Option<&Map<String, Value>>) -> Self {
        let mut text = format!("{}\n{}\n", session.as_str(), Value::from(tool));
        sorted(&Value::Object(args.cloned().unwrap_or_default()), &mut text);
        Self(*blake3::hash(text.as_bytes()).as_bytes())
    }
}

impl Default for Parked {
    fn default() -> Self {
        Self { started: Instant::now(), key: OnceLock::new(), waiting: Mutex::default() }
    }
}

impl Parked {
    /// Keeps a call; the answer is the ticket to it, or why it cannot wait.
    pub(super) fn put(
        &self,
        mut waiting: Waiting,
        binding: &Binding,
    ) -> Result<String, &'static str> {
        waiting.open.round += 1;
        if waiting.open.round > ROUNDS {
            return Err("the call asks again and again");
        }
        let call = waiting.open.id.clone();
        let until = (self.started.elapsed() + PATIENCE).as_secs();
        let ticket = Ticket { call: call.clone(), round: waiting.open.round, until };
        let sealed = self.seal(&ticket, binding).ok_or("nothing can be sealed here")?;
        let mut all = self.waiting();
        if all.len() >= MOST {
            return Err("too many calls wait for an answer");
        }
        all.insert(call, waiting);
        Ok(sealed)
    }

    /// Takes up a call again.
    pub(super) fn take(&self, sealed: &str, binding: &Binding) -> Result<Waiting, Refused> {
        let ticket = self.unseal(sealed, binding).ok_or(Refused::Forged)?;
        let now = self.started.elapsed().as_secs();
        match self.remove(&ticket) {
            Some(waiting) if now <= ticket.until => Ok(waiting),
            None if now < ticket.until => Err(Refused::Used),
            _ => Err(Refused::Late),
        }
    }

    /// Ends the call of a ticket that nobody came back with.
    pub(super) fn drop_unanswered(&self, sealed: &str) {
        let ticket = sealed.split_once('.').and_then(|(said, _)| ticket(said));
        drop(ticket.and_then(|ticket| self.remove(&ticket)));
    }

    /// Ends every call that waits.
    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.waiting());
        drop(all);
    }

    fn remove(&self, ticket: &Ticket) -> Option<Waiting> {
        let mut all = self.waiting();
        all.get(&ticket.call).filter(|waiting| waiting.open.round == ticket.round)?;
        all.remove(&ticket.call)
    }

    fn seal(&self, ticket: &Ticket, binding: &Binding) -> Option<String> {
        let said = hex(serde_json::to_string(ticket).ok()?.as_bytes());
        let seal = self.seal_of(&said, binding)?;
        Some(format!("{said}.{}", seal.to_hex()))
    }

    fn unseal(&self, sealed: &str, binding: &Binding) -> Option<Ticket> {
        let (said, seal) = sealed.split_once('.')?;
        let seal = blake3::Hash::from_hex(seal).ok()?;
        // The comparison takes the same time whatever differs.
        (self.seal_of(said, binding)? == seal).then(|| ticket(said))?
    }

    fn seal_of(&self, said: &str, binding: &Binding) -> Option<blake3::Hash> {
        let key = match self.key.get() {
            Some(key) => key,
            None => {
                let mut fresh = [0; 32];
                getrandom::fill(&mut fresh).ok()?;
                self.key.get_or_init(|| fresh)
            }
        };
        let mut hasher = blake3::Hasher::new_keyed(key);
        hasher.update(&binding.0).update(said.as_bytes());
        Some(hasher.finalize())
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<CallId, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ticket(said: &str) -> Option<Ticket> {
    serde_json::from_slice(&unhex(said)?).ok()
}

/// JSON with its keys in order: a client may have put them in another.
fn sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            text.push('{');
            for key in keys {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                sorted(map.get(key).unwrap_or(&Value::Null), text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                sorted(item, text);
                text.push(',');
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}
