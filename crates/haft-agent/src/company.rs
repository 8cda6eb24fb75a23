//! Who is beside a session: what the loop has to know of the agents that it started.

use haft_runtime::{BoxFuture, CancellationToken};
use serde::{Deserialize, Serialize};

use crate::session::Agent;
use crate::usage::{Price, Usage};

/// Whoever works beside a session. [`Crew`](crate::Crew) makes one for every session it knows.
pub trait Company: Send + Sync {
    /// The work on a prompt begins; `cancel` is to end what is started from now on.
    fn begin(&self, cancel: &CancellationToken);

    /// Who works from the next reply on; none if that is as it was.
    fn recast(&self) -> BoxFuture<'_, Option<Agent>>;

    /// What the model has to be told and was not yet.
    fn news(&self) -> Option<String>;

    /// Waits until there is news; `false` if nobody is left who could bring some.
    fn more(&self) -> BoxFuture<'_, bool>;

    /// The work on the prompt is over: ends whoever is still at work for it.
    fn settle(&self) -> BoxFuture<'_, ()>;

    /// What they have cost so far.
    fn spent(&self) -> Spent;
}

/// Tokens, and what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// The tokens.
    pub usage: Usage,
    /// The same in dollars; none if the price of some of them is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl Default for Spent {
    /// Nothing, which costs nothing.
    fn default() -> Self {
        Self { usage: Usage::default(), cost: Some(0.0) }
    }
}

impl Spent {
    /// So many tokens at this price.
    #[must_use]
    pub fn new(usage: Usage, price: Option<Price>) -> Self {
        let cost = if usage == Usage::default() { Some(0.0) } else { None };
        Self { usage, cost: price.map(|price| price.of(&usage)).or(cost) }
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.usage += more.usage;
        self.cost = self.cost.zip(more.cost).map(|(a, b)| a + b);
        self
    }

    /// What was added since it was `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let cost = self.cost.zip(before.cost).map(|(now, then)| (now - then).max(0.0));
        Self { usage: self.usage.since(before.usage), cost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_known_only_if_all_of_it_is() {
        let usage = Usage { input: 1_000_000, ..Usage::default() };
        let price = Price { input: 3.0, ..Price::default() };
        let known = Spent::new(usage, Some(price));
        assert_eq!(known.and(known).cost, Some(6.0));
        assert_eq!(known.and(known).since(known), known);
        assert_eq!(known.and(Spent::new(usage, None)).cost, None);
        assert_eq!(known.and(Spent::new(Usage::default(), None)), known);
    }
}
