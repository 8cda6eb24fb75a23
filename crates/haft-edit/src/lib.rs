//! Finding the place an edit means, patches, and diffs: pure functions over text.

pub mod diff;
pub mod patch;
mod stand_in;

pub use stand_in::{Change, Edit, Miss, Tier, Within, apply, locate};
