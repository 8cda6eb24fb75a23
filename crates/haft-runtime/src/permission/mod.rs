//! May it? Effects, rules, and the answer to an ask.

mod ask;
mod ceiling;
mod check;
mod clearance;
mod effect;
mod explain;
mod gate;
mod inclusion;
mod origin;
mod pattern;
mod policy;
mod rule;
pub mod rules_file;

pub use ask::{Ask, Closed, Denial, DeniedBy, Escalation, PendingAsk, Reply, Suggestion};
pub use ceiling::Switch;
pub use check::{Finding, FindingKind, check};
pub use clearance::{Clearance, Rules};
pub use effect::{Effect, EffectKind, Weight};
pub use explain::{Explained, Explanation};
pub(crate) use gate::Gate;
pub use pattern::Pattern;
pub use policy::{Action, Decision, Lost, Policy, RuleRef};
pub use rule::{Layer, LayerKind, Protected, Rule};
