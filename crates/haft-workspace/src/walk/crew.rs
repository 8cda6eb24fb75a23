//! Threads that take folders from one heap until it is empty and nobody can add to it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use super::Harvest;
use super::folder::{Trip, Waiting};

/// Goes through `folders` and all that is found in them.
pub(super) fn go_through(folders: Vec<Waiting>, trip: &Trip<'_>, threads: usize) -> Harvest {
    let heap = Heap { waiting: Mutex::new(Waits { folders, busy: 0 }), more: Condvar::new() };
    if threads <= 1 {
        return work(&heap, trip);
    }
    std::thread::scope(|scope| {
        // Where the machine has no thread left, fewer do the same work.
        let start = |_| Builder::new().spawn_scoped(scope, || work(&heap, trip)).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mut harvest = work(&heap, trip);
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

fn work(heap: &Heap, trip: &Trip<'_>) -> Harvest {
    let mut harvest = Harvest::default();
    let mut scratch = super::folder::Scratch::new();
    let mut found = Vec::new();
    let mut next = heap.first();
    while let Some(folder) = next {
        trip.enter(&folder, &mut scratch, &mut found, &mut harvest);
        next = heap.exchange(&mut found);
    }
    harvest
}

impl Heap {
    fn first(&self) -> Option<Waiting> {
        self.take(self.lock())
    }

    /// Puts down what was found in one folder, and takes the next.
    fn exchange(&self, found: &mut Vec<Waiting>) -> Option<Waiting> {
        let mut waits = self.lock();
        waits.busy -= 1;
        if found.len() > 1 || (waits.busy == 0 && found.is_empty()) {
            self.more.notify_all();
        }
        waits.folders.append(found);
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
