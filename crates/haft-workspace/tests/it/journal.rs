//! Changes of several files, and their undoing.

pub(crate) mod child;
mod kills;
mod sequences;
mod world;
