//! A seat at a real terminal: what haft shows there can be read, and answered.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::world::{Ran, World};

/// After this long without what was expected, a test gives up; nothing takes so long that works.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process at a terminal, and the person in front of it.
pub(crate) struct Seat {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    shown: String,
    stdout: Option<JoinHandle<String>>,
}

impl World {
    /// Starts `haft` with input and errors at a terminal, and its results in a pipe.
    pub(crate) fn sit(&self, args: &[&str]) -> Seat {
        self.sit_down(args, "", false)
    }

    /// The same, after this was typed there.
    pub(crate) fn sit_having_typed(&self, typed: &str, args: &[&str]) -> Seat {
        self.sit_down(args, typed, false)
    }

    /// Starts `haft` with everything at a terminal.
    pub(crate) fn sit_and_look(&self, args: &[&str]) -> Seat {
        self.sit_down(args, "", true)
    }

    fn sit_down(&self, args: &[&str], typed: &str, all: bool) -> Seat {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let front = openpt(flags).unwrap();
        grantpt(&front).unwrap();
        unlockpt(&front).unwrap();
        let back: OwnedFd = ioctl_tiocgptpeer(&front, flags).unwrap();
        let mut keyboard = File::from(front);
        keyboard.write_all(typed.as_bytes()).unwrap();
        // A session of its own, so that this is the terminal the process belongs to.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(env!("CARGO_BIN_EXE_haft")).args(args);
        self.enclose(&mut command);
        command.env("TERM", "dumb").stdin(back.try_clone().unwrap());
        command.stderr(back.try_clone().unwrap());
        command.stdout(if all { Stdio::from(back) } else { Stdio::piped() });
        let mut child = command.spawn().unwrap();
        drop(command);
        let stdout = child.stdout.take().map(|mut stdout| {
            std::thread::spawn(move || {
                let mut text = String::new();
                stdout.read_to_string(&mut text).unwrap();
                text
            })
        });
        let screen = watch(keyboard.try_clone().unwrap());
        Seat { child, keyboard, screen, shown: String::new(), stdout }
    }
}

/// Reads the terminal until nobody has it open any more.
fn watch(mut front: File) -> Receiver<Vec<u8>> {
    let (sender, screen) = channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = front.read(&mut bytes) {
            if sender.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    screen
}

impl Seat {
    /// Waits until the terminal shows this.
    #[track_caller]
    pub(crate) fn sees(self, text: &str) -> Self {
        self.sees_times(1, text)
    }

    /// Waits until the terminal shows this so many times.
    #[track_caller]
    pub(crate) fn sees_times(mut self, times: usize, text: &str) -> Self {
        while self.shown.matches(text).count() < times {
            match self.screen.recv_timeout(PATIENCE) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("{text:?} is not shown ({error}), only: {}", self.shown),
            }
        }
        self
    }

    /// Types a line.
    pub(crate) fn types(mut self, line: &str) -> Self {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
        self
    }

    /// Sends a signal to the process.
    pub(crate) fn signals(self, signal: Signal) -> Self {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self
    }

    /// Waits for the end. What the terminal showed is in `stderr`.
    #[track_caller]
    pub(crate) fn ends(mut self) -> Ran {
        loop {
            match self.screen.recv_timeout(PATIENCE) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(error) => panic!("it does not end ({error}); shown: {}", self.shown),
            }
        }
        let status = self.child.wait().unwrap();
        let stdout = self.stdout.take().map(|reader| reader.join().unwrap());
        Ran {
            code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()),
            stdout: stdout.unwrap_or_default(),
            stderr: std::mem::take(&mut self.shown),
        }
    }
}

impl Drop for Seat {
    /// A test that failed leaves nothing behind that waits for an answer.
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
