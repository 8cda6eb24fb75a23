//! The proxy of a confined command: its way to the hosts that it was allowed, and to no other.
//!
//! The command has a network of its own, which leads nowhere. A socket that listens in there is served
//! out here: names are resolved, addresses looked at and connections made by this program, so there is
//! no bridge between the two networks and no port on the machine.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::sandbox::denial::{Denial, Refused};

mod address;
#[cfg(target_os = "linux")]
mod relay;
#[cfg(target_os = "linux")]
mod request;
#[cfg(target_os = "linux")]
mod serve;

pub use address::Host;
#[cfg(target_os = "linux")]
pub(crate) use serve::Proxy;

/// Who a command says it is; its word is the password.
#[cfg(target_os = "linux")]
pub(crate) const USER: &str = "haft";

/// Most refused hosts that are remembered.
const MOST: usize = 8;

/// Which hosts a command may reach.
pub trait Hosts: fmt::Debug + Send + Sync {
    /// Whether it may reach a host by the name or the public address that it gives.
    fn allows(&self, host: &Host, port: u16) -> bool;

    /// Whether it may reach this address, which is not of the public internet: the machine itself,
    /// a private network, a cloud's own services. That `host`, which leads there, may be reached is
    /// not enough: where a name leads is for its owner to say.
    fn allows_local(&self, host: &Host, address: IpAddr, port: u16) -> bool;

    /// The least that would let it reach the host, for whoever reads that it was refused.
    fn hint(&self, host: &Host, port: u16) -> String;
}

/// The hosts that a proxy has refused so far.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Arc<Mutex<Vec<Denial>>>);

impl Refusals {
    /// The first of them; those that the same would allow, once.
    #[must_use]
    pub fn list(&self) -> Vec<Denial> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    #[cfg(target_os = "linux")]
    fn add(&self, host: String, hint: String) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() < MOST && !list.iter().any(|denial| denial.hint == hint) {
            list.push(Denial { what: Refused::Host(host), hint });
        }
    }
}
