//! Replacing files: never torn, no edit lost, nothing left behind.

pub(crate) mod child;
mod content;
pub(crate) mod faults;
pub(crate) mod kills;
mod kinds;
mod races;
pub(crate) mod support;
