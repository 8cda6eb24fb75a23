//! The store on real files, used by real processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test stops at what it did not expect, and children tell their parent on stdout"
)]

mod asks;
mod children;
mod failures;
mod lazy;
mod model;
mod numbering;
mod outputs;
mod privacy;
mod processes;
mod records;
mod samples;
