//! Commands in the background: numbered, owned by a session, ended with the program.

use std::collections::HashMap;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use haft_exec::{EndedBy, Exit, Input, Patience, Process, Prompts, Refusals};
use haft_runtime::{CancellationToken, SessionId};
use tokio::sync::Notify;

use crate::bash::said::Written;

/// Most jobs of one session that run at a time.
const RUNNING: usize = 32;

/// Most jobs of one session that are remembered.
const REMEMBERED: usize = 200;

/// All jobs of a program.
#[derive(Debug, Default)]
pub(crate) struct Jobs(Mutex<HashMap<SessionId, Vec<Arc<Job>>>>);

/// One command in the background.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) number: usize,
    /// What was called.
    pub(crate) command: String,
    pub(crate) started: Instant,
    /// Whether its network is that of the session's commands, not the machine's.
    pub(crate) own_network: bool,
    /// The hosts that it was refused.
    pub(crate) refusals: Refusals,
    pub(crate) input: tokio::sync::Mutex<Option<Input>>,
    /// Something was said, or something ended.
    pub(crate) changed: Notify,
    kill: CancellationToken,
    log: Mutex<Log>,
}

/// What a job has said, and where it stands.
#[derive(Debug)]
struct Log {
    /// Open while it is written to; then it is opened to be read.
    file: Option<std::fs::File>,
    path: PathBuf,
    owner: Owner,
    room: u64,
    total: u64,
    read_to: u64,
    state: State,
}

/// Who looks after the file of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The job: it goes with it.
    Job,
    /// The store.
    Store,
}

/// Where a job stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// Its program runs.
    Running,
    /// Its program ended, and this many processes that it started run on.
    Left { exit: Option<Exit>, count: u32 },
    /// All of it has ended.
    Done { exit: Option<Exit>, by: EndedBy },
    /// It could not be watched any longer, and was ended.
    Failed(String),
}

/// A piece of what a job has said.
pub(crate) struct Piece {
    pub(crate) bytes: Vec<u8>,
    pub(crate) from: u64,
    pub(crate) total: u64,
}

/// What becomes a job.
pub(crate) struct Start {
    pub(crate) process: Process,
    pub(crate) command: String,
    pub(crate) timeout: Option<Duration>,
    /// What it has said so far, and where the rest goes.
    pub(crate) said: Written,
    pub(crate) own_network: bool,
    /// How its program ended, if it has: then only those are left that it started.
    pub(crate) left: Option<(Option<Exit>, u32)>,
}

impl Jobs {
    /// Lets a command go on in the background.
    pub(crate) fn start(&self, session: &SessionId, mut start: Start) -> std::io::Result<Arc<Job>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let jobs = all.entry(session.clone()).or_default();
        if jobs.iter().filter(|job| !job.is_done()).count() >= RUNNING {
            fs_err::remove_file(&start.said.spill.path).ok();
            let full = format!("{RUNNING} jobs run already; kill one first");
            return Err(std::io::Error::other(full));
        }
        let number = jobs.last().map_or(1, |job| job.number + 1);
        let state = match start.left {
            Some((exit, count)) => State::Left { exit, count },
            None => State::Running,
        };
        let log = Log {
            file: Some(start.said.file),
            path: start.said.spill.path,
            owner: Owner::Job,
            room: start.said.spill.room,
            total: start.said.total,
            read_to: start.said.total,
            state,
        };
        let job = Arc::new(Job {
            number,
            command: start.command,
            started: Instant::now(),
            own_network: start.own_network,
            refusals: start.process.refusals(),
            input: tokio::sync::Mutex::new(start.process.take_input()),
            changed: Notify::new(),
            kill: CancellationToken::new(),
            log: Mutex::new(log),
        });
        let (watched, left) = (Arc::clone(&job), start.left.map(|(exit, _)| exit));
        tokio::spawn(async move { watched.watch(start.process, start.timeout, left).await });
        jobs.push(Arc::clone(&job));
        if jobs.len() > REMEMBERED
            && let Some(old) = jobs.iter().position(|job| job.is_done())
        {
            jobs.remove(old);
        }
        Ok(job)
    }

    /// The jobs of a session, in order.
    pub(crate) fn of(&self, session: &SessionId) -> Vec<Arc<Job>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(session).cloned().unwrap_or_default()
    }
}

/// All jobs end with what holds them, also if somebody still has a hand on one.
impl Drop for Jobs {
    fn drop(&mut self) {
        let all = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        all.values().flatten().for_each(|job| job.kill());
    }
}

impl Job {
    /// Ends all of it.
    pub(crate) fn kill(&self) {
        self.kill.cancel();
    }

    pub(crate) fn state(&self) -> State {
        self.log().state.clone()
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state(), State::Done { .. } | State::Failed(_))
    }

    /// How much it has said, and how much of that was read.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let log = self.log();
        (log.total, log.read_to)
    }

    /// Up to `most` bytes from `from`, or from where the last read ended; `keeps_place` leaves that as it is.
    pub(crate) fn read(
        &self,
        from: Option<u64>,
        most: usize,
        keeps_place: bool,
    ) -> std::io::Result<Piece> {
        let mut log = self.log();
        let from = from.unwrap_or(log.read_to);
        let bytes = match &log.file {
            Some(file) => read_at(file, from, most)?,
            None if from >= log.total => Vec::new(),
            None => read_at(fs_err::File::open(&log.path)?.file(), from, most)?,
        };
        if !keeps_place {
            log.read_to = from + bytes.len() as u64;
        }
        Ok(Piece { bytes, from, total: log.total })
    }

    /// The file with all it has said, once it is done; given once, to whoever has it kept.
    pub(crate) fn take_file(&self) -> Option<PathBuf> {
        let mut log = self.log();
        let is_whole = matches!(log.state, State::Done { .. }) && log.total > 0;
        if !is_whole || log.owner == Owner::Store {
            return None;
        }
        log.owner = Owner::Store;
        Some(log.path.clone())
    }

    /// Says where the store has put it.
    pub(crate) fn kept_at(&self, path: PathBuf) {
        self.log().path = path;
    }

    async fn watch(
        &self,
        mut process: Process,
        timeout: Option<Duration>,
        left: Option<Option<Exit>>,
    ) {
        let done = match left {
            None => self.watch_program(&mut process, timeout).await,
            Some(exit) => self.watch_rest(&mut process, exit).await,
        };
        drop(process);
        *self.input.lock().await = None;
        self.log().file = None;
        self.set_state(done.unwrap_or_else(|error| State::Failed(error.to_string())));
    }

    async fn watch_program(
        &self,
        process: &mut Process,
        timeout: Option<Duration>,
    ) -> std::io::Result<State> {
        let patience = Patience { timeout, prompts: Prompts::Wait, ..Patience::default() };
        let ended =
            process.run(|_, bytes| self.take(bytes), patience, self.kill.cancelled()).await?;
        let exit = ended.exited.map(|exited| exited.exit);
        if ended.left_count == 0 || ended.by != EndedBy::Itself {
            return Ok(State::Done { exit, by: ended.by });
        }
        self.set_state(State::Left { exit, count: ended.left_count });
        self.watch_rest(process, exit).await
    }

    async fn watch_rest(
        &self,
        process: &mut Process,
        exit: Option<Exit>,
    ) -> std::io::Result<State> {
        let followed = tokio::select! {
            followed = process.follow(|_, bytes| self.take(bytes)) => Some(followed),
            () = self.kill.cancelled() => None,
        };
        let by = match followed {
            Some(followed) => followed.map(|()| EndedBy::Itself)?,
            None => {
                process.end(Patience::default().grace).await?;
                EndedBy::Cancel
            }
        };
        Ok(State::Done { exit, by })
    }

    fn take(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut log = self.log();
        let room = usize::try_from(log.room.saturating_sub(log.total)).unwrap_or(usize::MAX);
        let kept = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        log.file.as_mut().map_or(Ok(()), |file| file.write_all(kept))?;
        log.total += bytes.len() as u64;
        drop(log);
        self.changed.notify_waiters();
        Ok(())
    }

    fn set_state(&self, state: State) {
        self.log().state = state;
        self.changed.notify_waiters();
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What nobody has kept is not left behind.
impl Drop for Log {
    fn drop(&mut self) {
        if self.owner == Owner::Job {
            fs_err::remove_file(&self.path).ok();
        }
    }
}

/// Up to `most` bytes of a file.
fn read_at(file: &std::fs::File, from: u64, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let mut count = 0;
    while let Some(room) = bytes.get_mut(count..).filter(|room| !room.is_empty()) {
        match file.read_at(room, from + count as u64)? {
            0 => break,
            more => count += more,
        }
    }
    bytes.truncate(count);
    Ok(bytes)
}
