//! Watching a command to its end: what it says is passed on, and it ends in time, whatever it does.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::capture::Stream;
use crate::process::{Event, Exited, Process};
use crate::prompt;
use crate::sandbox::denial::{self, Denial};
use crate::wire::{Left, News, Order};

/// After the program's end, output that is silent for so long is over.
const IDLE: Duration = Duration::from_millis(100);

/// After the program's end, nobody waits longer for those who keep its output.
const DRAIN: Duration = Duration::from_millis(200);

/// How long the end of everything may take beyond the grace before it is reported as it is.
const PATIENCE: Duration = Duration::from_millis(2500);

/// How long the keeper may take to tidy up.
const TIDY: Duration = Duration::from_secs(1);

/// How long a command that may wait for an answer must be silent before it is looked at.
const SILENCE: Duration = Duration::from_millis(700);

/// When a command is ended that does not end by itself.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// When it has run for so long.
    pub timeout: Option<Duration>,
    /// How long it has between TERM and KILL.
    pub grace: Duration,
    /// What is done about a command that waits for an answer at its terminal.
    pub prompts: Prompts,
}

impl Default for Patience {
    /// No timeout, 200 ms of grace, prompts end.
    fn default() -> Self {
        Self { timeout: None, grace: Duration::from_millis(200), prompts: Prompts::End }
    }
}

/// What is done about a command that waits for an answer at its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompts {
    /// It ends: nobody will answer.
    End,
    /// It waits: somebody may answer.
    Wait,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// How its program ended, unless it could not be ended at all.
    pub exited: Option<Exited>,
    /// Who ended it.
    pub by: EndedBy,
    /// How long it took.
    pub wall: Duration,
    /// How many of its processes are left.
    pub left_count: u32,
    /// The first of them. They live until the [`Process`] is ended or dropped.
    pub left: Vec<Left>,
    /// How many of its processes could not be ended.
    pub unkillable: u32,
    /// What the sandbox seems to have refused.
    pub denials: Vec<Denial>,
}

/// Who ended a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndedBy {
    /// It did.
    Itself,
    /// Its time was over.
    Timeout,
    /// Somebody had it ended.
    Cancel,
    /// It waited for an answer to this.
    Prompt(String),
}

impl Process {
    /// Watches the command until its program ends, its time is over, or `cancel` is ready. Every piece
    /// of output goes to `take` first; the command waits while that takes time.
    ///
    /// Children that the program leaves behind are told, not waited for: they live on until this
    /// process is ended or dropped. [`follow`](Self::follow) takes what they say.
    ///
    /// # Errors
    /// If `take` fails, or the warden cannot be heard. Everything is ended when the process is dropped.
    pub async fn run(
        &mut self,
        mut take: impl FnMut(Stream, &[u8]) -> io::Result<()>,
        patience: Patience,
        cancel: impl Future<Output = ()>,
    ) -> io::Result<Ended> {
        let by = self.until_exit(&mut take, patience, cancel).await?;
        if by != EndedBy::Itself {
            self.ask_to_end(patience.grace);
            self.until_gone(&mut take, patience.grace + PATIENCE).await?;
        }
        let wall = self.started.elapsed();
        self.drain(&mut take).await?;
        let (left_count, left) = self.who_is_left().await?;
        self.until_tidy().await?;
        Ok(Ended {
            exited: self.exited,
            by,
            wall,
            left_count,
            left,
            unkillable: self.empty.unwrap_or(0),
            denials: self.denials(),
        })
    }

    /// Takes what those say that the program left behind, until none is left.
    ///
    /// # Errors
    /// If `take` fails, or the warden cannot be heard.
    pub async fn follow(
        &mut self,
        mut take: impl FnMut(Stream, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        while self.empty.is_none() || !self.is_silent() {
            match self.next().await? {
                Event::Output(stream, count) => take(stream, self.bytes(count))?,
                Event::News(_) => {}
                Event::Gone => break,
            }
        }
        Ok(())
    }

    async fn until_exit(
        &mut self,
        take: &mut impl FnMut(Stream, &[u8]) -> io::Result<()>,
        patience: Patience,
        cancel: impl Future<Output = ()>,
    ) -> io::Result<EndedBy> {
        let started = Instant::from_std(self.started);
        let deadline = patience.timeout.and_then(|timeout| started.checked_add(timeout));
        let mut cancel = std::pin::pin!(cancel);
        let mut look = None;
        while self.exited.is_none() {
            let event = tokio::select! {
                biased;
                () = &mut cancel => return Ok(EndedBy::Cancel),
                () = at(deadline) => return Ok(EndedBy::Timeout),
                () = at(look) => {
                    look = None;
                    let _gone = self.order(Order::Waiting);
                    continue;
                }
                event = self.next() => event?,
            };
            match event {
                Event::Output(stream, count) => {
                    take(stream, self.bytes(count))?;
                    let may_ask = patience.prompts == Prompts::End && self.terminal.is_some();
                    let asks = may_ask && prompt::question(self.recent()).is_some();
                    look = asks.then(|| Instant::now() + SILENCE);
                }
                Event::News(News::Waiting(true)) => {
                    if let Some(question) = prompt::question(self.recent()) {
                        return Ok(EndedBy::Prompt(question));
                    }
                }
                // It may be about to read: look again.
                Event::News(News::Waiting(false)) => look = Some(Instant::now() + SILENCE),
                Event::News(_) => {}
                Event::Gone => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
        Ok(EndedBy::Itself)
    }

    /// Takes output until every process is gone, or `time` is over.
    async fn until_gone(
        &mut self,
        take: &mut impl FnMut(Stream, &[u8]) -> io::Result<()>,
        time: Duration,
    ) -> io::Result<()> {
        let deadline = Instant::now() + time;
        while self.empty.is_none() {
            tokio::select! {
                event = self.next() => if let Event::Output(stream, count) = event? {
                    take(stream, self.bytes(count))?;
                },
                () = sleep_until(deadline) => break,
            }
        }
        Ok(())
    }

    /// Takes what the program said before its end, and a little of what its children say after it.
    async fn drain(
        &mut self,
        take: &mut impl FnMut(Stream, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let end = Instant::now() + DRAIN;
        // What is in the pipes now was said before: it is taken however long that takes.
        let mut owed = self.waiting_bytes();
        while !self.is_silent() {
            let idle = Instant::now() + IDLE;
            let until = if owed > 0 { None } else { Some(idle.min(end)) };
            tokio::select! {
                biased;
                () = at(until.filter(|until| *until <= Instant::now())) => break,
                event = self.next() => match event? {
                    Event::Output(stream, count) => {
                        take(stream, self.bytes(count))?;
                        owed = owed.saturating_sub(count as u64);
                    }
                    Event::News(_) => {}
                    Event::Gone => break,
                },
                () = at(until) => break,
            }
        }
        Ok(())
    }

    fn waiting_bytes(&self) -> u64 {
        let files = self.output.iter().chain(&self.errors);
        files.map(|file| rustix::io::ioctl_fionread(file.get_ref()).unwrap_or(0)).sum()
    }

    /// Waits until what stood for missing protected files is gone, so that nobody takes it for real.
    async fn until_tidy(&mut self) -> io::Result<()> {
        let stood = self.confinement.as_ref().is_some_and(|one| !one.protected.is_empty());
        if stood && self.empty.is_some() {
            let gone = async {
                while self.news().await?.is_some() {}
                io::Result::Ok(())
            };
            // The keeper has nothing else to do; if it is stuck, that must not be ours.
            if let Ok(result) = tokio::time::timeout(TIDY, gone).await {
                result?;
            }
        }
        Ok(())
    }

    async fn who_is_left(&mut self) -> io::Result<(u32, Vec<Left>)> {
        if self.empty.is_some() {
            return Ok((0, Vec::new()));
        }
        self.left().await
    }

    fn denials(&self) -> Vec<Denial> {
        let Some(confinement) = &self.confinement else { return Vec::new() };
        let said = String::from_utf8_lossy(self.recent());
        let mut denials = self.refusals().list();
        denials.extend(denial::find(&said, confinement));
        denials
    }
}

/// Sleeps until then, or for ever.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
