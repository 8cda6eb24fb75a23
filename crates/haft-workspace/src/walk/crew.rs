//! Threads that take folders from one heap until it is empty and nobody can add to it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use super::Harvest;
use super::folder::{Trip, Waiting};

/// How many folders wait before others are called: for fewer, they would come too late.
const WORTH: usize = 4;

/// Goes through `folders` and all that is found in them.
pub(super) fn go_through(folders: Vec<Waiting>, trip: &Trip<'_>, threads: usize) -> Harvest {
    let heap = Heap { waiting: Mutex::new(Waits { folders, busy: 0 }), more: Condvar::new() };
    let alone = if threads <= 1 { usize::MAX } else { WORTH };
    let mut harvest = work(&heap, trip, alone);
    if heap.lock().folders.is_empty() {
        return harvest;
    }
    std::thread::scope(|scope| {
        let everything = || work(&heap, trip, usize::MAX);
        // Where the machine has no thread left, fewer do the same work.
        let start = |_| Builder::new().spawn_scoped(scope, everything).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        harvest.absorb(everything());
        let others = others.into_iter().filter_map(|other| other.join().ok());
        others.for_each(|other| harvest.absorb(other));
        harvest
    })
}

struct Heap {
    waiting: Mutex<Waits>,
    more: Condvar,
}

struct Waits {
    folders: Vec<Waiting>,
    /// How many threads are in a folder, and may find others.
    busy: usize,
}

/// Takes folders until none are left, or at least `most` wait.
fn work(heap: &Heap, trip: &Trip<'_>, most: usize) -> Harvest {
    let mut harvest = Harvest::default();
    let mut scratch = super::folder::Scratch::new();
    let mut found = Vec::new();
    let mut next = heap.first();
    while let Some(folder) = next {
        trip.enter(&folder, &mut scratch, &mut found, &mut harvest);
        next = heap.exchange(&mut found, most);
    }
    harvest
}

impl Heap {
    fn first(&self) -> Option<Waiting> {
        self.take(self.lock())
    }

    /// Puts down what was found in one folder, and takes the next unless at least `most` wait.
    fn exchange(&self, found: &mut Vec<Waiting>, most: usize) -> Option<Waiting> {
        let mut waits = self.lock();
        waits.busy -= 1;
        if found.len() > 1 || (waits.busy == 0 && found.is_empty()) {
            self.more.notify_all();
        }
        waits.folders.append(found);
        if waits.folders.len() >= most {
            return None;
        }
        self.take(waits)
    }

    fn take(&self, mut waits: MutexGuard<'_, Waits>) -> Option<Waiting> {
        loop {
            if let Some(folder) = waits.folders.pop() {
                waits.busy += 1;
                return Some(folder);
            }
            if waits.busy == 0 {
                self.more.notify_all();
                return None;
            }
            waits = self.more.wait(waits).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
