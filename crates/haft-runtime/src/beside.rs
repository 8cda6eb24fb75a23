//! Which calls may run beside each other: those whose effects do not touch.

use std::future::Future;
use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use tokio::sync::Semaphore;

use crate::error::ToolError;
use crate::execute::Prepared;
use crate::permission::Effect;

/// What a call reads and changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    reads: Vec<PathBuf>,
    changes: Vec<PathBuf>,
    /// It changes something that is no file, or nobody knows what: it waits for all, and all for it.
    anything: bool,
}

impl Touched {
    /// What a call touches that would have these effects; anything, where nobody can say.
    #[must_use]
    pub fn by(call: &Prepared, effects: Result<Vec<Effect>, ToolError>) -> Self {
        let mut touched = Self { anything: call.runs_alone(), ..Self::default() };
        let Ok(effects) = effects else { return Self { anything: true, ..touched } };
        for effect in effects {
            match effect.path() {
                Some(path) if effect.is_read_only() => touched.reads.push(path),
                Some(path) => touched.changes.push(path),
                None => touched.anything |= !call.is_read_only() && !call.runs_beside(),
            }
        }
        touched
    }

    /// What a call touches that ends before its first effect.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Whether the two may not run beside each other: one changes what the other reads or changes.
    #[must_use]
    pub fn clashes_with(&self, other: &Self) -> bool {
        let meets = |a: &Self, b: &Self| {
            let used = || b.changes.iter().chain(&b.reads);
            a.changes.iter().any(|changed| used().any(|used| overlap(changed, used)))
        };
        self.anything || other.anything || meets(self, other) || meets(other, self)
    }
}

/// A folder is read or changed with all that is in it.
fn overlap(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// Runs every piece of work as soon as those before it that it clashes with have ended. What comes of
/// them is in their order. Work of which nothing is known clashes with all.
pub async fn run_beside<F: Future>(
    touched: &[Touched],
    work: impl IntoIterator<Item = F>,
) -> Vec<F::Output> {
    let work: Vec<F> = work.into_iter().collect();
    // A closed semaphore is a door that opens once, for any number of those who wait.
    let ended: Vec<Semaphore> = work.iter().map(|_| Semaphore::new(0)).collect();
    let ended = &ended;
    let in_turn = work.into_iter().enumerate().map(|(own, work)| async move {
        for (earlier, door) in ended.iter().enumerate().take(own) {
            if clash(touched, earlier, own) {
                // It only ever closes; that it did is all there is to know.
                drop(door.acquire().await);
            }
        }
        let result = work.await;
        ended.iter().skip(own).take(1).for_each(Semaphore::close);
        result
    });
    join_all(in_turn).await
}

fn clash(touched: &[Touched], earlier: usize, later: usize) -> bool {
    match (touched.get(earlier), touched.get(later)) {
        (Some(earlier), Some(later)) => later.clashes_with(earlier),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn touched(reads: &[&str], changes: &[&str]) -> Touched {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect();
        Touched { reads: paths(reads), changes: paths(changes), anything: false }
    }

    #[test]
    fn those_who_only_read_never_clash() {
        assert!(!touched(&["/a"], &[]).clashes_with(&touched(&["/a"], &[])));
        assert!(touched(&["/a"], &[]).clashes_with(&touched(&[], &["/a"])));
        assert!(
            touched(&[], &["/a/b"]).clashes_with(&touched(&["/a"], &[])),
            "a folder is all in it"
        );
        assert!(!touched(&[], &["/a/b"]).clashes_with(&touched(&[], &["/a/c", "/a/bb"])));
        let anything = Touched { anything: true, ..Touched::default() };
        assert!(anything.clashes_with(&Touched::nothing()));
    }

    #[tokio::test]
    async fn what_clashes_waits_and_what_does_not_overtakes() {
        let all = [touched(&[], &["/a"]), touched(&["/a"], &[]), touched(&["/b"], &[])];
        let log = Mutex::new(Vec::new());
        let log = &log;
        let work = (0..3).map(|number| async move {
            if number == 0 {
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
            }
            log.lock().unwrap().push(number);
            number
        });
        assert_eq!(run_beside(&all, work).await, [0, 1, 2]);
        assert_eq!(*log.lock().unwrap(), [2, 0, 1]);
    }
}
