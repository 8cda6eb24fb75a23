//! Numbers events, keeps them, and hands them to listeners, in one order for all three.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{broadcast, oneshot};

use crate::event::{Draft, Event, EventKind, Events};
use crate::ids::SessionId;
use crate::store::{Store, StoreError};

/// How far a listener may fall behind before it misses events.
const BACKLOG: usize = 4_096;
/// Most drafts in one transaction: enough to amortise it, short enough not to delay the first.
const BATCH: usize = 512;
/// How long the thread leaves what nobody waits for to those who write for themselves.
const LULL: Duration = Duration::from_millis(2);
/// How many batches one waiting call writes, for itself and others, before the thread takes over.
const TURNS: usize = 4;
/// The number of an event that the store did not take.
const UNNUMBERED: u64 = 0;
/// After so many events the store is given time to tidy up.
const TIDY_EVERY: usize = 256;

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

/// Events that are to be kept, in order.
struct Log {
    store: Arc<dyn Store>,
    desk: Arc<Desk>,
    queue: Mutex<Queue>,
    /// Wakes the thread.
    arrived: Condvar,
    /// Held by whoever writes.
    turn: Mutex<Turn>,
    /// Started when something is first left to it: a command that records nothing needs none.
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Turn {
    /// How many events were written since the store last tidied up.
    written: usize,
    /// The lives whose beginning the store did not take, and why: it is spared the rest of them.
    refused: HashMap<u64, String>,
}

#[derive(Default)]
struct Queue {
    entries: VecDeque<Entry>,
    /// Somebody waits for something among them, and does not write it.
    waited: bool,
    /// The store should be given time to tidy up.
    untidy: bool,
    closed: bool,
}

struct Entry {
    draft: Draft,
    life: u64,
    done: oneshot::Sender<Result<(), StoreError>>,
}

impl Log {
    fn new(store: Arc<dyn Store>, desk: Arc<Desk>) -> Self {
        let (queue, turn, thread) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { store, desk, queue, arrived: Condvar::new(), turn, thread }
    }

    fn push(&self, entry: Entry) {
        lock(&self.queue).entries.push_back(entry);
    }

    fn take(&self) -> Vec<Entry> {
        let mut queue = lock(&self.queue);
        queue.waited = false;
        let count = queue.entries.len().min(BATCH);
        queue.entries.drain(..count).collect()
    }

    /// Writes what is queued, if nobody else does and nothing has to be waited for.
    ///
    /// Whoever finds the turn taken can rely on its holder, who looks at the queue once more after
    /// giving it back; and whoever cannot finish leaves the rest to the thread.
    fn write_now(self: &Arc<Self>) {
        for _ in 0..TURNS {
            let Some(mut turn) = lock_if_free(&self.turn) else { return self.wait_for_holder() };
            let batch = self.take();
            let drafts = turn.drafts(&batch);
            let written = if drafts.is_empty() {
                Ok(Some(Vec::new()))
            } else {
                guarded(|| self.store.append_now(&drafts))
            };
            let Ok(Some(numbers)) = written else {
                let mut queue = lock(&self.queue);
                batch.into_iter().rev().for_each(|entry| queue.entries.push_front(entry));
                break;
            };
            self.settle(batch, numbers, &mut turn);
            // Only now: whoever came while we had the turn relies on us.
            drop(turn);
            let queue = lock(&self.queue);
            if queue.entries.is_empty() && !queue.untidy {
                return;
            }
        }
        lock(&self.queue).waited = true;
        self.hand_over();
    }

    /// Lets whoever has the turn know that its next one is waited for.
    fn wait_for_holder(&self) {
        lock(&self.queue).waited = true;
        self.arrived.notify_one();
    }

    /// Leaves what is queued to the thread. Where there can be none, it is written here, however long it takes.
    fn hand_over(self: &Arc<Self>) {
        let mut thread = lock(&self.thread);
        // After the end, nothing is started any more.
        let is_open = !lock(&self.queue).closed;
        if thread.is_none() && is_open {
            let own = Arc::clone(self);
            let builder = std::thread::Builder::new().name("haft-log".to_owned());
            *thread = builder.spawn(move || own.serve()).ok();
        }
        if thread.is_some() {
            self.arrived.notify_one();
        } else {
            self.write(self.take(), &mut lock(&self.turn));
        }
    }

    /// What the thread does: writes what is left to it, and lets the store tidy up.
    fn serve(&self) {
        loop {
            match self.next() {
                Task::Write => {
                    let mut turn = lock(&self.turn);
                    self.write(self.take(), &mut turn);
                }
                Task::Tidy => {
                    if let Err(error) = guarded(|| self.store.tidy()) {
                        tracing::warn!(%error, "the store could not tidy up");
                    }
                }
                Task::End => return,
            }
        }
    }

    /// Waits for something to do. Whatever is queued comes before the end.
    fn next(&self) -> Task {
        let (mut queue, mut lull) = (lock(&self.queue), None);
        loop {
            if !queue.entries.is_empty() {
                let until = *lull.get_or_insert_with(|| Instant::now() + LULL);
                let left = until.saturating_duration_since(Instant::now());
                let is_due = queue.waited || queue.closed || queue.entries.len() >= BATCH;
                if is_due || left.is_zero() {
                    return Task::Write;
                }
                // Most is followed by something that is waited for: one transaction is enough for both.
                let waited = self.arrived.wait_timeout(queue, left);
                queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            lull = None;
            if std::mem::take(&mut queue.untidy) {
                return Task::Tidy;
            }
            if queue.closed {
                return Task::End;
            }
            queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes a batch as one transaction. If that fails because of one event, each alone, so that it
    /// spoils no other; a store that is full or busy would only fail once more for each.
    fn write(&self, batch: Vec<Entry>, turn: &mut Turn) {
        let drafts = turn.drafts(&batch);
        let written =
            if drafts.is_empty() { Ok(Vec::new()) } else { guarded(|| self.store.append(&drafts)) };
        match written {
            Ok(numbers) => self.settle(batch, numbers, turn),
            Err(StoreError::RepeatedCall { .. } | StoreError::OutOfTurn { .. })
                if batch.len() > 1 =>
            {
                batch.into_iter().for_each(|entry| self.write(vec![entry], turn));
            }
            Err(error) => {
                tracing::warn!(%error, "events were not kept");
                batch.into_iter().for_each(|entry| self.refuse(entry, &error, turn));
            }
        }
    }

    /// Delivers what was written, and tells those who wait for it.
    fn settle(&self, batch: Vec<Entry>, numbers: Vec<u64>, turn: &mut Turn) {
        turn.written += batch.len();
        let mut numbers = numbers.into_iter();
        for Entry { draft, life, done } in batch {
            let refusal = turn.refusal(&draft, life);
            match draft.session {
                None => self.desk.number(draft),
                Some(_) if refusal.is_some() => self.desk.deliver(draft, UNNUMBERED),
                Some(_) => self.desk.deliver(draft, numbers.next().unwrap_or(UNNUMBERED)),
            }
            // Most are not waited for.
            drop(done.send(refusal.map_or(Ok(()), |why| Err(StoreError::failed(why)))));
        }
        if turn.written >= TIDY_EVERY {
            turn.written = 0;
            lock(&self.queue).untidy = true;
        }
    }

    /// Delivers what could not be written.
    fn refuse(&self, entry: Entry, error: &StoreError, turn: &mut Turn) {
        let Entry { draft, life, done } = entry;
        if matches!(*draft.kind, EventKind::CallPending { .. }) {
            turn.refused.insert(life, error.to_string());
        }
        self.desk.deliver(draft, UNNUMBERED);
        drop(done.send(Err(StoreError::failed(error.to_string()))));
    }
}

impl Turn {
    /// What of a batch the store is given.
    fn drafts(&self, batch: &[Entry]) -> Vec<Draft> {
        let is_kept = |entry: &&Entry| {
            entry.draft.session.is_some() && !self.refused.contains_key(&entry.life)
        };
        batch.iter().filter(is_kept).map(|entry| entry.draft.clone()).collect()
    }

    /// Why an event was not given to the store; forgotten with the end of its life.
    fn refusal(&mut self, draft: &Draft, life: u64) -> Option<String> {
        if draft.kind.is_terminal() {
            self.refused.remove(&life)
        } else {
            self.refused.get(&life).cloned()
        }
    }
}

/// What there is to do for the thread.
enum Task {
    Write,
    Tidy,
    End,
}

/// The owner of a log. When it goes, everything recorded so far is written first.
struct Writer(Arc<Log>);

impl Drop for Writer {
    fn drop(&mut self) {
        let Self(log) = self;
        let is_empty = lock(&log.queue).entries.is_empty();
        if !is_empty {
            log.hand_over();
        }
        lock(&log.queue).closed = true;
        log.arrived.notify_one();
        let thread = lock(&log.thread).take();
        if let Some(thread) = thread {
            // A panic of the thread was reported by its panic hook; there is nothing left to save.
            drop(thread.join());
        }
    }
}

/// A store that panics has failed; it takes no thread and no call with it.
fn guarded<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(StoreError::failed("the store failed because of a defect in it")))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lock_if_free<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(free) => Some(free),
        Err(TryLockError::Poisoned(free)) => Some(free.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
