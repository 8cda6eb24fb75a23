//! Every process below this one: found, told, ended.
//!
//! This process takes in orphans, so whatever is below it stays below it. A walk that stops what it
//! finds, and is repeated until it finds nothing new, cannot be outrun by a process that forks.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use crate::sys;
use crate::wire::{Left, Output};

/// How long the kernel has to end a killed process before it counts as one that cannot be ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// Most processes that are told one by one.
const MOST_TOLD: usize = 32;

/// The children of a process, of all its threads.
pub(super) fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads
        .filter_map(|thread| fs_err::read_to_string(thread.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().flat_map(str::parse).collect::<Vec<_>>())
        .collect()
}

/// Everything below `top`, without `top` itself.
pub(super) fn below(top: i32) -> Vec<i32> {
    let mut seen = HashSet::from([top]);
    let mut waiting = vec![top];
    let mut found = Vec::new();
    while let Some(pid) = waiting.pop() {
        for child in children(pid) {
            if seen.insert(child) {
                found.push(child);
                waiting.push(child);
            }
        }
    }
    found
}

/// Sends `signal` to everything below this process, once.
pub(super) fn signal_below(signal: Signal) {
    let me = me();
    for pid in below(me) {
        send(pid, signal);
    }
}

/// Stops everything below `top`, also what is made meanwhile, then kills it.
pub(super) fn kill_below(top: i32) {
    let mut stopped = HashSet::new();
    loop {
        let new: Vec<i32> = below(top).into_iter().filter(|pid| stopped.insert(*pid)).collect();
        if new.is_empty() {
            break;
        }
        new.into_iter().for_each(|pid| send(pid, Signal::STOP));
    }
    stopped.into_iter().for_each(|pid| send(pid, Signal::KILL));
}

/// Ends everything below this process: TERM, `grace` to follow it, KILL until nothing is left.
/// Returns how many could not be ended.
pub(super) fn end_all(grace: Duration, signals: &OwnedFd) -> u32 {
    if !grace.is_zero() {
        signal_below(Signal::TERM);
        // A stopped process follows nothing until it goes on.
        signal_below(Signal::CONT);
        if wait_until_alone(grace, signals) {
            return 0;
        }
    }
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        kill_below(me());
        if wait_until_alone(Duration::from_millis(5), signals) {
            return 0;
        }
    }
    u32::try_from(below(me()).len()).unwrap_or(u32::MAX)
}

/// Takes ended children away until there are none, or the time is over.
pub(super) fn wait_until_alone(time: Duration, signals: &OwnedFd) -> bool {
    let deadline = Instant::now() + time;
    loop {
        drain(signals);
        loop {
            match sys::reap() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return true,
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        let mut waiting = [PollFd::new(signals, PollFlags::IN)];
        let _interrupted = poll(&mut waiting, Some(&timespec(left)));
    }
}

/// Empties the file that says that children ended.
pub(super) fn drain(signals: impl AsFd) {
    let mut buffer = [0; 1024];
    while rustix::io::read(&signals, &mut buffer).is_ok_and(|count| count == buffer.len()) {}
}

/// Who is below this process, as many as are worth telling, and how many there are.
pub(super) fn left(output: &[String]) -> (u32, Vec<Left>) {
    let all = below(me());
    let total = u32::try_from(all.len()).unwrap_or(u32::MAX);
    let told = all.into_iter().take(MOST_TOLD).filter_map(|pid| describe(pid, output));
    (total, told.collect())
}

/// The names under which the kernel knows the open files, by which they are found in other processes.
pub(super) fn identity(file: impl AsFd) -> Option<String> {
    use std::os::fd::AsRawFd;
    let stat = rustix::fs::fstat(&file).ok()?;
    if rustix::fs::FileType::from_raw_mode(stat.st_mode).is_fifo() {
        return Some(format!("pipe:[{}]", stat.st_ino));
    }
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    Some(fs_err::read_link(link).ok()?.to_string_lossy().into_owned())
}

/// Whether a process below waits in a read from a terminal.
pub(super) fn waits_for_terminal() -> bool {
    below(me()).into_iter().any(|pid| {
        let at = fs_err::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        if at == "n_tty_read" {
            return true;
        }
        reads_a_terminal(pid)
    })
}

/// Whether the system call in which `pid` waits is a read from a terminal.
fn reads_a_terminal(pid: i32) -> bool {
    let call = fs_err::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    let mut words = call.split(' ');
    let (number, first) = (words.next(), words.next());
    if number != Some(libc::SYS_read.to_string().as_str()) {
        return false;
    }
    let Some(fd) = first.and_then(|hex| u32::from_str_radix(hex.trim_start_matches("0x"), 16).ok())
    else {
        return false;
    };
    let file = fs_err::read_link(format!("/proc/{pid}/fd/{fd}")).unwrap_or_default();
    file.starts_with("/dev/pts") || file.starts_with("/dev/tty")
}

pub(super) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

fn me() -> i32 {
    getpid().as_raw_nonzero().get()
}

/// Sends a signal to a process below this one. Its number may have gone to another since the walk, so
/// the process is held first, and whose child it is is looked at again.
fn send(pid: i32, signal: Signal) {
    let Some(target) = Pid::from_raw(pid) else { return };
    let Ok(held) = pidfd_open(target, PidfdFlags::empty()) else { return };
    if is_below(pid) {
        let _gone = pidfd_send_signal(held, signal);
    }
}

fn is_below(pid: i32) -> bool {
    let me = me();
    let mut at = pid;
    // Deeper than any tree: a loop cannot be, but a walk over living processes proves nothing.
    for _ in 0..10_000 {
        match parent(at) {
            Some(parent) if parent == me => return true,
            Some(parent) if parent > 1 => at = parent,
            _ => return false,
        }
    }
    false
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs_err::read(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold anything; what follows its last bracket is plain.
    let rest = stat.get(memchr::memrchr(b')', &stat)? + 2..)?;
    std::str::from_utf8(rest).ok()?.split(' ').nth(1)?.parse().ok()
}

fn describe(pid: i32, output: &[String]) -> Option<Left> {
    let name = fs_err::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    let mut links = files.filter_map(|file| fs_err::read_link(file.ok()?.path()).ok());
    let holds = links.any(|link| output.iter().any(|name| link.as_os_str() == name.as_str()));
    Some(Left {
        pid: u32::try_from(pid).ok()?,
        name: name.trim_end().to_owned(),
        output: if holds { Output::Holds } else { Output::Free },
    })
}
