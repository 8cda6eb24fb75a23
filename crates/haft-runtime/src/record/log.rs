//! The queue of events that are to be kept, and those who write it: whoever waits for one, or a thread.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::{Desk, lock};
use crate::event::{Draft, EventKind};
use crate::store::{Store, StoreError};

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

/// Events that are to be kept, in order.
pub(super) struct Log {
    store: Arc<dyn Store>,
    desk: Arc<Desk>,
    queue: Mutex<Queue>,
    /// Wakes the thread.
    arrived: Condvar,
    /// Held by whoever writes.
    turn: Mutex<Turn>,
    /// Started when something is first left to it: a command that records nothing needs none.
    thread: Mutex<Option<JoinHandle<()>>>,
    /// What was written last could not be kept.
    pub(super) failing: AtomicBool,
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
    /// The thread knows of what is queued, and waits for more to come.
    is_lull: bool,
}

pub(super) struct Entry {
    pub(super) draft: Draft,
    pub(super) life: u64,
    pub(super) done: oneshot::Sender<Result<(), StoreError>>,
}

impl Log {
    pub(super) fn new(store: Arc<dyn Store>, desk: Arc<Desk>) -> Self {
        let (queue, turn, thread) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (arrived, failing) = (Condvar::new(), AtomicBool::new(false));
        Self { store, desk, queue, arrived, turn, thread, failing }
    }

    pub(super) fn push(&self, entry: Entry) {
        lock(&self.queue).entries.push_back(entry);
    }

    fn take(&self) -> Vec<Entry> {
        let mut queue = lock(&self.queue);
        queue.waited = false;
        let count = queue.entries.len().min(BATCH);
        queue.entries.drain(..count).collect()
    }

    /// Whether nothing is queued and nobody writes.
    pub(super) fn is_written(&self) -> bool {
        // The turn is kept for as long as the queue is looked at: a batch that is taken is in neither.
        let turn = lock_if_free(&self.turn);
        turn.is_some() && lock(&self.queue).entries.is_empty()
    }

    /// Writes all that is queued, once whoever writes is done. For a thread that may wait.
    pub(super) fn write_all(&self) {
        let mut turn = lock(&self.turn);
        while let batch = self.take()
            && !batch.is_empty()
        {
            self.write(batch, &mut turn);
        }
    }

    /// Writes what is queued, if nobody else does and nothing has to be waited for.
    ///
    /// Whoever finds the turn taken can rely on its holder, who looks at the queue once more after
    /// giving it back; and whoever cannot finish leaves the rest to the thread.
    pub(super) fn write_now(self: &Arc<Self>) {
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
    pub(super) fn hand_over(self: &Arc<Self>) {
        let mut thread = lock(&self.thread);
        // After the end, nothing is started any more.
        let is_open = !lock(&self.queue).closed;
        if thread.is_none() && is_open {
            let own = Arc::clone(self);
            let builder = std::thread::Builder::new().name("haft-log".to_owned());
            *thread = builder.spawn(move || own.serve()).ok();
        }
        if thread.is_some() {
            let queue = lock(&self.queue);
            // It looks by itself, soon enough for what nobody waits for.
            if !queue.is_lull || queue.waited || queue.entries.len() >= BATCH {
                self.arrived.notify_one();
            }
        } else {
            let mut turn = lock(&self.turn);
            self.write(self.take(), &mut turn);
        }
    }

    /// Writes what is left, and ends the thread.
    pub(super) fn close(self: &Arc<Self>) {
        let is_empty = lock(&self.queue).entries.is_empty();
        if !is_empty {
            self.hand_over();
        }
        lock(&self.queue).closed = true;
        self.arrived.notify_one();
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // A panic of the thread was reported by its panic hook; there is nothing left to save.
            drop(thread.join());
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
                queue.is_lull = true;
                let waited = self.arrived.wait_timeout(queue, left);
                queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                queue.is_lull = false;
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
                let is_stores = !matches!(error, StoreError::RepeatedCall { .. });
                self.failing.store(is_stores, Ordering::Relaxed);
                batch.into_iter().for_each(|entry| self.refuse(entry, &error, turn));
            }
        }
    }

    /// Delivers what was written, and tells those who wait for it.
    fn settle(&self, batch: Vec<Entry>, numbers: Vec<u64>, turn: &mut Turn) {
        turn.written += batch.len();
        self.failing.store(false, Ordering::Relaxed);
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

/// A store that panics has failed; it takes no thread and no call with it.
fn guarded<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(StoreError::failed("the store failed because of a defect in it")))
}

fn lock_if_free<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(free) => Some(free),
        Err(TryLockError::Poisoned(free)) => Some(free.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
