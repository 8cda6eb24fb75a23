//! Numbers events, keeps them, and hands them to listeners, in one order for all three.

mod log;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{broadcast, oneshot};

use self::log::{Entry, Log};
use crate::event::{Draft, Event, Events};
use crate::ids::SessionId;
use crate::store::{Store, StoreError};

/// How far a listener may fall behind before it misses events.
const BACKLOG: usize = 4_096;

/// The one place every event passes through. Cheap to clone.
///
/// Without a store, an event is numbered and delivered where it happens. With one, it is queued, and
/// whoever needs it kept writes the whole queue as one transaction: that is faster than waking a
/// thread and being woken by it. What nobody waits for, and what would have to wait for another
/// process, a thread writes. Delivery comes after that: a listener never hears of something that a
/// killed process could still forget.
#[derive(Clone)]
pub(crate) struct Recorder {
    desk: Arc<Desk>,
    log: Option<Arc<Writer>>,
}

/// Tells when an event is kept for good. Dropping it leaves the writing to the thread.
pub(crate) struct Ticket(Option<(Arc<Log>, Kept)>);

type Kept = oneshot::Receiver<Result<(), StoreError>>;

impl Ticket {
    /// For what needs no keeping.
    pub(crate) fn settled() -> Self {
        Self(None)
    }

    /// Leaves the writing to whoever writes what comes after it.
    pub(crate) fn covered(mut self) {
        self.0.take();
    }

    /// Leaves the writing to the thread, or to whoever writes before it.
    pub(crate) fn later(self) {
        drop(self);
    }

    /// Waits until the event is kept.
    pub(crate) async fn kept(mut self) -> Result<(), StoreError> {
        let Some((log, done)) = self.0.take() else { return Ok(()) };
        log.write_now();
        done.await.unwrap_or_else(|_| Err(StoreError::failed("the event log has stopped")))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some((log, _)) = &self.0 {
            log.hand_over();
        }
    }
}

impl Recorder {
    pub(crate) fn new(store: Option<Arc<dyn Store>>) -> Self {
        let (listeners, _) = broadcast::channel(BACKLOG);
        let desk = Arc::new(Desk { listeners, last: Mutex::default(), lives: AtomicU64::new(1) });
        let log = store.map(|store| Arc::new(Writer(Arc::new(Log::new(store, Arc::clone(&desk))))));
        Self { desk, log }
    }

    /// A number that tells one call's life from another's, also where they claim the same id.
    pub(crate) fn new_life(&self) -> u64 {
        self.desk.lives.fetch_add(1, Ordering::Relaxed)
    }

    /// Records an event in the life of a call. One without a session is only delivered.
    pub(crate) fn record(&self, draft: Draft, life: u64) -> Ticket {
        let Some(writer) = &self.log else {
            self.desk.number(draft);
            return Ticket::settled();
        };
        let (done, ticket) = oneshot::channel();
        writer.0.push(Entry { draft, life, done });
        Ticket(Some((Arc::clone(&writer.0), ticket)))
    }

    /// Whether what was written last could not be kept.
    pub(crate) fn is_failing(&self) -> bool {
        self.log.as_ref().is_some_and(|writer| writer.0.failing.load(Ordering::Relaxed))
    }

    /// Writes what nobody waited for; on another thread if it has to wait for somebody.
    pub(crate) async fn write_down(&self) {
        let Some(Writer(log)) = self.log.as_deref() else { return };
        log.write_now();
        if !log.is_written() {
            let log = Arc::clone(log);
            // A thread that panics has said so; there is nobody to tell but listeners.
            drop(tokio::task::spawn_blocking(move || log.write_all()).await);
        }
    }

    pub(crate) fn events(&self, session: Option<SessionId>) -> Events {
        Events::new(self.desk.listeners.subscribe(), session)
    }
}

/// Numbers where there is no store to do it, and delivers. The lock makes the order of numbers the order of delivery.
struct Desk {
    listeners: broadcast::Sender<Event>,
    last: Mutex<HashMap<Option<SessionId>, u64>>,
    lives: AtomicU64,
}

impl Desk {
    /// Delivers a draft under the next number of its session.
    fn number(&self, draft: Draft) {
        let mut last = lock(&self.last);
        let slot = last.entry(draft.session.clone()).or_default();
        *slot += 1;
        self.deliver(draft, *slot);
    }

    /// Delivers a draft under the number that the store gave it.
    fn deliver(&self, draft: Draft, number: u64) {
        // Nobody listening is no error.
        drop(self.listeners.send(draft.numbered(number)));
    }
}

/// The owner of a log. When it goes, everything recorded so far is written first.
struct Writer(Arc<Log>);

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
