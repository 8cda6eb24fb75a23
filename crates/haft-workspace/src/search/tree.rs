//! Searches many files on several threads: the same result whatever the threads do, and no further than needed.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

use super::{Count, Query, Scanner, Searched};
use crate::open::{open_below, open_in};
use crate::walk::{Found, Ground};

/// How many files a thread takes at once.
const CHUNK: usize = 16;

/// Files to search, in the order in which results are wanted.
pub struct Search<'a> {
    /// Where they are.
    pub ground: &'a Ground<'a>,
    /// The files.
    pub files: &'a [Found],
    /// What to look for.
    pub query: &'a Query,
    /// When enough is known.
    pub enough: Enough,
    /// Which files may be opened, by their path below the ground.
    pub may_open: &'a (dyn Fn(&Path) -> bool + Sync),
    /// On how many threads.
    pub threads: usize,
    /// Whether to stop, now.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// When a search knows enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enough {
    /// When all matches are counted.
    All,
    /// When the first files have that many matches.
    Matches(u64),
    /// When that many files match, however often.
    Files(u64),
}

/// What a search found, as if it had gone through the files one by one.
#[derive(Debug, Default)]
pub struct Hits {
    /// The files that match, by their place in the list, with their matches.
    pub files: Vec<(usize, u64)>,
    /// How many files were looked at, from the first on.
    pub looked_at: usize,
    /// Whether everything is counted: all files, and all matches in them.
    pub is_exact: bool,
    /// What was not searched among them.
    pub missed: Missed,
}

/// Files that were not searched, or not to their end.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// Binary ones.
    pub binary: usize,
    /// Those with a line that is too long, or too large for matches across lines.
    pub too_large: usize,
    /// Those that could not be read.
    pub unreadable: usize,
    /// Those that may not be opened.
    pub withheld: usize,
}

impl Missed {
    /// Counts a file that is not, or not wholly, searched.
    pub fn add(&mut self, searched: Searched) {
        match searched {
            Searched::Binary => self.binary += 1,
            Searched::TooLarge => self.too_large += 1,
            Searched::Unreadable => self.unreadable += 1,
            Searched::Whole | Searched::Stopped => {}
        }
    }
}

/// What is remarkable about a file.
#[derive(Debug, Clone, Copy)]
enum Remark {
    Hits(u64),
    Missed(Searched),
    Withheld,
}

impl Search<'_> {
    /// Runs it.
    #[must_use]
    pub fn run(&self) -> Hits {
        let progress = Progress::new(self.files.len().div_ceil(CHUNK));
        let threads = self.threads.clamp(1, progress.chunks.max(1));
        std::thread::scope(|scope| {
            // Where the machine has no thread left, fewer do the same work.
            let start = |_| Builder::new().spawn_scoped(scope, || self.work(&progress)).ok();
            (1..threads).map_while(start).for_each(drop);
            self.work(&progress);
        });
        self.conclude(progress)
    }

    fn work(&self, progress: &Progress) {
        let mut scanner = Scanner::for_counting(self.query, self.stop);
        let mut way = Way::default();
        while let Some(chunk) = progress.next() {
            let begin = chunk * CHUNK;
            let mut remarks = Vec::new();
            let chunk_files = self.files.get(begin..).unwrap_or_default();
            for (index, found) in (begin..).zip(chunk_files.iter().take(CHUNK)) {
                if progress.is_over() {
                    return;
                }
                if (self.stop)() {
                    return progress.end();
                }
                if !self.look_at(index, found, &mut way, &mut scanner, &mut remarks) {
                    return progress.end();
                }
            }
            progress.finished(chunk, remarks, |remarks| self.weigh(remarks));
            if self.enough_is(progress) {
                return progress.end();
            }
        }
    }

    /// Searches one file; `false` if it was stopped in the middle of it.
    fn look_at(
        &self,
        index: usize,
        found: &Found,
        way: &mut Way,
        scanner: &mut Scanner<'_>,
        remarks: &mut Vec<(usize, Remark)>,
    ) -> bool {
        // There is nothing in it, so there is nothing to open.
        if found.size == 0 {
            return true;
        }
        let path = found.path();
        if !(self.may_open)(&path) {
            remarks.push((index, Remark::Withheld));
            return true;
        }
        let mut count = Count { matches: 0, enough: self.enough_in_one() };
        let next = self.files.get(index + 1);
        let searched = match way.open(self.ground, found, &path, next) {
            Some(handle) => scanner.scan(&File::from(handle), found.size, &mut count),
            None => Searched::Unreadable,
        };
        if count.matches > 0 {
            remarks.push((index, Remark::Hits(count.matches)));
        }
        if searched != Searched::Whole {
            remarks.push((index, Remark::Missed(searched)));
        }
        searched != Searched::Stopped
    }

    /// How many matches of one file need to be known.
    fn enough_in_one(&self) -> u64 {
        match self.enough {
            Enough::All => u64::MAX,
            // One more says that there are more.
            Enough::Matches(enough) => enough.saturating_add(1),
            Enough::Files(_) => 1,
        }
    }

    fn weigh(&self, remarks: &[(usize, Remark)]) -> u64 {
        let weight = |remark: &Remark| match (remark, self.enough) {
            (Remark::Hits(_), Enough::Files(_)) => 1,
            (Remark::Hits(hits), _) => *hits,
            _ => 0,
        };
        remarks.iter().map(|(_, remark)| weight(remark)).sum()
    }

    fn enough_is(&self, progress: &Progress) -> bool {
        match self.enough {
            Enough::All => false,
            Enough::Matches(enough) | Enough::Files(enough) => progress.weight() > enough,
        }
    }

    /// Takes the remarks in order, up to the file with which enough was known: what other threads have
    /// seen beyond that would be different another time.
    fn conclude(&self, progress: Progress) -> Hits {
        let done = progress.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut hits = Hits { is_exact: done.next == progress.chunks, ..Hits::default() };
        hits.looked_at = self.files.len().min(done.next * CHUNK);
        let mut weight = 0;
        let mut chunks = done.remarks;
        chunks.retain(|(chunk, _)| *chunk < done.next);
        chunks.sort_by_key(|(chunk, _)| *chunk);
        let bound = match self.enough {
            Enough::All => u64::MAX,
            Enough::Matches(enough) | Enough::Files(enough) => enough,
        };
        for (index, remark) in chunks.into_iter().flat_map(|(_, remarks)| remarks) {
            if weight > bound {
                hits.is_exact = false;
                hits.looked_at = hits.files.last().map_or(0, |(last, _)| last + 1);
                break;
            }
            weight += self.weigh(&[(index, remark)]);
            match remark {
                Remark::Hits(count) => hits.files.push((index, count)),
                Remark::Missed(searched) => hits.missed.add(searched),
                Remark::Withheld => hits.missed.withheld += 1,
            }
        }
        if weight > bound {
            hits.is_exact = false;
            hits.looked_at = hits.files.last().map_or(0, |(last, _)| last + 1);
        }
        hits
    }
}

/// The folder that the last file was in: files of one age are often in one folder, and the way there is
/// half of what it takes to open one.
#[derive(Default)]
struct Way {
    folder: Option<(Arc<Path>, OwnedFd)>,
}

impl Way {
    fn open(
        &mut self,
        ground: &Ground<'_>,
        found: &Found,
        path: &Path,
        next: Option<&Found>,
    ) -> Option<OwnedFd> {
        let is_here = |way: &Self| {
            way.folder.as_ref().is_some_and(|(folder, _)| Arc::ptr_eq(folder, found.folder()))
        };
        if !is_here(self) && next.is_some_and(|next| Arc::ptr_eq(next.folder(), found.folder())) {
            let at = found.folder();
            let at = if at.as_os_str().is_empty() { Path::new(".") } else { at };
            let handle = open_below(ground.folder.as_fd(), at).ok();
            self.folder = handle.map(|handle| (Arc::clone(found.folder()), handle));
        }
        match &self.folder {
            Some((_, folder)) if is_here(self) => open_in(folder.as_fd(), found.name()).ok(),
            _ => open_below(ground.folder.as_fd(), path).ok(),
        }
    }
}

/// How far the threads have come together.
struct Progress {
    chunks: usize,
    taken: AtomicUsize,
    over: AtomicBool,
    done: Mutex<Done>,
}

#[derive(Default)]
struct Done {
    /// The first chunk that is not done.
    next: usize,
    /// Chunks beyond that which are.
    ahead: Vec<(usize, u64)>,
    /// The weight of all chunks before `next`.
    weight: u64,
    remarks: Vec<(usize, Vec<(usize, Remark)>)>,
}

impl Progress {
    fn new(chunks: usize) -> Self {
        let (taken, over) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { chunks, taken, over, done: Mutex::default() }
    }

    fn next(&self) -> Option<usize> {
        let next = self.taken.fetch_add(1, Ordering::Relaxed);
        (next < self.chunks && !self.is_over()).then_some(next)
    }

    fn finished(
        &self,
        chunk: usize,
        remarks: Vec<(usize, Remark)>,
        weigh: impl Fn(&[(usize, Remark)]) -> u64,
    ) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.ahead.push((chunk, weigh(&remarks)));
        if !remarks.is_empty() {
            done.remarks.push((chunk, remarks));
        }
        while let Some(at) = done.ahead.iter().position(|(chunk, _)| *chunk == done.next) {
            let (_, weight) = done.ahead.swap_remove(at);
            done.weight += weight;
            done.next += 1;
        }
    }

    fn weight(&self) -> u64 {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).weight
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
