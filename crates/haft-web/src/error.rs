//! What can go wrong on the web, in sentences that say what to do.

use std::io::ErrorKind;
use std::time::Duration;

/// Why something was not fetched.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// The URL cannot be fetched at all.
    #[error("this URL cannot be fetched: {why}")]
    BadUrl {
        /// What is wrong with it.
        why: String,
    },
    /// The host is not on the public internet, and nobody has allowed it.
    #[error(
        "{host} is not on the public internet ({why}), so it is not fetched; a user who wants that adds it to private_hosts under [web] in the config"
    )]
    Private {
        /// The host.
        host: String,
        /// What it is instead.
        why: String,
    },
    /// The host has no address, or cannot be reached.
    #[error("{host} cannot be reached: {why}")]
    Unreachable {
        /// The host.
        host: String,
        /// What the system said.
        why: String,
        /// What kind of failure that is.
        kind: ErrorKind,
    },
    /// The host cannot prove that it is who it is.
    #[error("{host} is not trusted: {why}; nothing was sent to it")]
    Untrusted {
        /// The host.
        host: String,
        /// What is wrong with its certificate.
        why: String,
    },
    /// The server does not speak HTTP as it should.
    #[error("{host} gave a broken answer: {why}")]
    Broken {
        /// The host.
        host: String,
        /// What was wrong.
        why: String,
    },
    /// More than is read.
    #[error("the answer of {host} is larger than the {most} bytes that are read{told}")]
    TooLarge {
        /// The host.
        host: String,
        /// How much is read.
        most: usize,
        /// What the server said of the length.
        told: String,
    },
    /// It took too long.
    #[error("{what} took longer than {:.1} s", .after.as_secs_f64())]
    TimedOut {
        /// What took so long.
        what: String,
        /// How long it was given.
        after: Duration,
    },
    /// The server says no.
    #[error("{host} answered {status}{}", wait(.retry_after))]
    Status {
        /// The host.
        host: String,
        /// Number and words.
        status: String,
        /// How long to wait, as the server says.
        retry_after: Option<Duration>,
    },
    /// A service of the config does not do what it should.
    #[error("{0}")]
    Service(String),
}

fn wait(retry_after: &Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!("; it asks to wait {} s before the next try", wait.as_secs()),
        None => String::new(),
    }
}
