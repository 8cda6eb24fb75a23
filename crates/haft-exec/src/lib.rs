//! Commands for coding agents: run one, watch it, end all of it, confine it.
//!
//! A [`Keeper`] starts a [`Command`] and gives a [`Process`]; [`Process::run`] watches it to its end.
//! Everything that a command starts stays known, and ends with it or with this program, however it is
//! killed. What a command says goes into a [`Capture`]: all of it, in the memory of a page.
//!
//! Linux is what this is made for. Elsewhere there is no keeper yet, and
//! [`sandbox::layers`] says of every layer that it is missing.

pub mod capture;
mod command;
mod environment;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod pages;
#[cfg(target_os = "linux")]
mod process;
mod prompt;
mod proxy;
#[cfg(target_os = "linux")]
mod run;
pub mod sandbox;
mod shell;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod warden;
#[cfg(target_os = "linux")]
mod wire;

pub use capture::{Capture, Stream};
pub use command::{Command, Errors, Limits, Size, Stdin};
pub use environment::{Reach, Rules, environment};
#[cfg(target_os = "linux")]
pub use error::SpawnError;
#[cfg(target_os = "linux")]
pub use keeper::Keeper;
#[cfg(target_os = "linux")]
pub use pages::{release_program_pages, share_heap};
#[cfg(target_os = "linux")]
pub use process::{Exit, Exited, Input, Process};
pub use proxy::{Host, Hosts, Refusals};
#[cfg(target_os = "linux")]
pub use run::{Ended, EndedBy, Patience, Prompts};
pub use sandbox::{Confinement, Sandbox};
pub use shell::shell;
#[cfg(target_os = "linux")]
pub use warden::{WORD, main as keep_commands};
#[cfg(target_os = "linux")]
pub use wire::{Left, Output};
