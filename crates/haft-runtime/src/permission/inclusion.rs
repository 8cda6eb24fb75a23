//! How two patterns relate: whether one covers the other, and whether they share a text.

use std::collections::HashSet;

use super::pattern::{Pattern, Token};

/// How many positions a comparison may visit. Real patterns need a few hundred; a hostile one such
/// as `*a????????????????` would need millions.
const BUDGET: usize = 100_000;

impl Pattern {
    /// Whether every text that `other` matches is matched by this one too.
    ///
    /// The answer is exact, except that two patterns too intricate to compare give *no*.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        if self.is_everything() || self == other {
            return true;
        }
        if other.is_literal() {
            return self.matches(other.literal_prefix());
        }
        // A wildcard of `other` takes any character, so its texts share no more than these ends.
        if self.is_literal()
            || !other.literal_prefix().starts_with(self.literal_prefix())
            || !other.literal_suffix().ends_with(self.literal_suffix())
        {
            return false;
        }
        includes(&Machine::new(self), &Machine::new(other))
    }

    /// Whether some text is matched by both. Two patterns too intricate to compare give *yes*.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.literal_prefix(), other.literal_prefix());
        if !mine.starts_with(theirs) && !theirs.starts_with(mine) {
            return false;
        }
        let (mine, theirs) = (self.literal_suffix(), other.literal_suffix());
        if !mine.ends_with(theirs) && !theirs.ends_with(mine) {
            return false;
        }
        share_a_text(&Machine::new(self), &Machine::new(other))
    }
}

/// A pattern as an automaton; its states are the positions between tokens.
struct Machine {
    tokens: Vec<Token>,
    /// The position from which the end can be reached for nothing, if the tail is optional.
    shortcut: Option<usize>,
}

/// A character, or any of those that are not told apart.
type Symbol = Option<char>;

impl Machine {
    fn new(pattern: &Pattern) -> Self {
        let tokens = pattern.tokens();
        let shortcut = pattern.has_optional_tail().then(|| tokens.len().saturating_sub(2));
        Self { tokens, shortcut }
    }

    fn end(&self) -> usize {
        self.tokens.len()
    }

    fn at(&self, position: usize) -> Option<Token> {
        self.tokens.get(position).copied()
    }

    /// Where `position` leads without taking a character.
    fn free_moves(&self, position: usize) -> impl Iterator<Item = usize> {
        let past_star = (self.at(position) == Some(Token::Any)).then_some(position + 1);
        let past_tail = (self.shortcut == Some(position)).then_some(self.end());
        past_star.into_iter().chain(past_tail)
    }

    /// Where `position` leads by taking `symbol`.
    fn step(&self, position: usize, symbol: Symbol) -> Option<usize> {
        match self.at(position)? {
            Token::Any => Some(position),
            Token::One => Some(position + 1),
            Token::Literal(wanted) => (symbol == Some(wanted)).then_some(position + 1),
        }
    }

    /// All positions that can be reached from `positions` for nothing, in order.
    fn close(&self, mut positions: Vec<usize>) -> Vec<usize> {
        let mut open = positions.clone();
        while let Some(position) = open.pop() {
            for next in self.free_moves(position) {
                if !positions.contains(&next) {
                    positions.push(next);
                    open.push(next);
                }
            }
        }
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    fn step_all(&self, positions: &[usize], symbol: Symbol) -> Vec<usize> {
        self.close(positions.iter().filter_map(|position| self.step(*position, symbol)).collect())
    }

    /// Whether from here on everything is accepted.
    fn accepts_all(&self, positions: &[usize]) -> bool {
        self.tokens.last() == Some(&Token::Any) && positions.contains(&(self.end() - 1))
    }

    /// The symbols that `positions` tell apart.
    fn symbols(&self, positions: &[usize]) -> Vec<Symbol> {
        let mut symbols = vec![None];
        for position in positions {
            if let Some(Token::Literal(character)) = self.at(*position)
                && !symbols.contains(&Some(character))
            {
                symbols.push(Some(character));
            }
        }
        symbols
    }
}

/// Follows every path of `inner` along with all positions `outer` can then be in, and looks for an
/// end of `inner` that is none of `outer`.
fn includes(outer: &Machine, inner: &Machine) -> bool {
    let start = (0, outer.close(vec![0]));
    let mut open = vec![start.clone()];
    let mut seen = HashSet::from([start]);
    let mut spent = 0;
    while let Some((position, outside)) = open.pop() {
        spent += outside.len() + 1;
        // Every position of a pattern can still reach its end, so a dead `outer` has lost already.
        if outside.is_empty() || spent > BUDGET {
            return false;
        }
        if outer.accepts_all(&outside) {
            continue;
        }
        let Some(token) = inner.at(position) else {
            if !outside.contains(&outer.end()) {
                return false;
            }
            continue;
        };
        let symbols = match token {
            Token::Literal(character) => vec![Some(character)],
            Token::Any | Token::One => outer.symbols(&outside),
        };
        let taken = symbols.into_iter().filter_map(|symbol| {
            Some((inner.step(position, symbol)?, outer.step_all(&outside, symbol)))
        });
        let free = inner.free_moves(position).map(|next| (next, outside.clone()));
        for pair in taken.chain(free) {
            if seen.insert(pair.clone()) {
                open.push(pair);
            }
        }
    }
    true
}

fn share_a_text(one: &Machine, other: &Machine) -> bool {
    let mut open = vec![(0, 0)];
    let mut seen = HashSet::from([(0, 0)]);
    while let Some((left, right)) = open.pop() {
        if (left, right) == (one.end(), other.end()) || seen.len() > BUDGET {
            return true;
        }
        let symbol = match (one.at(left), other.at(right)) {
            (Some(Token::Literal(character)), _) | (_, Some(Token::Literal(character))) => {
                Some(character)
            }
            _ => None,
        };
        let taken = one.step(left, symbol).zip(other.step(right, symbol));
        let on_left = one.free_moves(left).map(|next| (next, right));
        let on_right = other.free_moves(right).map(|next| (left, next));
        for pair in taken.into_iter().chain(on_left).chain(on_right) {
            if seen.insert(pair) {
                open.push(pair);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests;
