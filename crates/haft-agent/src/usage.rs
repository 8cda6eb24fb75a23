//! What replies cost: tokens, and money where the prices are known.

use serde::{Deserialize, Serialize};

/// Tokens that were read and written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Read anew.
    pub input: u64,
    /// Written, reasoning included.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Put into the provider's cache.
    pub cache_write: u64,
}

impl Usage {
    /// All that the model had before it when it had written its reply.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }

    /// What was added since it was `before`.
    #[must_use]
    pub fn since(&self, before: Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            cache_read: self.cache_read.saturating_sub(before.cache_read),
            cache_write: self.cache_write.saturating_sub(before.cache_write),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input += more.input;
        self.output += more.output;
        self.cache_read += more.cache_read;
        self.cache_write += more.cache_write;
    }
}

/// What a million tokens cost, in dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Price {
    /// Read anew.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the provider's cache.
    pub cache_read: f64,
    /// Put into the provider's cache.
    pub cache_write: f64,
}

impl Price {
    /// What these tokens cost, in dollars.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        part(usage.input, self.input)
            + part(usage.output, self.output)
            + part(usage.cache_read, self.cache_read)
            + part(usage.cache_write, self.cache_write)
    }
}

/// Dollars as they are told: to a part that is less than a token costs, and no digit of chance after it.
#[must_use]
pub fn dollars(cost: f64) -> f64 {
    (cost * 1e8).round() / 1e8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_told_without_digits_of_chance() {
        assert_eq!(dollars(0.1 + 0.2).to_string(), "0.3");
        assert_eq!(dollars(0.000_000_05).to_string(), "0.00000005");
    }

    #[test]
    fn every_kind_of_token_has_its_price() {
        let price = Price { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75 };
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 2_000_000,
            cache_write: 400_000,
        };
        assert!((price.of(&usage) - (3.0 + 1.5 + 0.6 + 1.5)).abs() < 1e-9);
    }
}
