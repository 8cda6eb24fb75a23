//! Replacing files: never torn, no edit lost, nothing left behind.

mod child;
mod content;
mod faults;
mod kills;
mod kinds;
mod races;
mod support;
