//! What is open, and how it is closed.

use super::super::Out;
use super::State;

/// Elements that may be open at once.
const DEEPEST: usize = 48;

impl<O: Out> State<'_, O> {
    /// Opens a cell where text would stand between cells.
    pub(super) fn ensure_cell(&mut self) {
        if !self.is_between_cells() {
            return;
        }
        if self.open.last() != Some(&"tr") {
            self.push("tr", &[]);
        }
        self.push("td", &[]);
    }

    pub(super) fn is_between_cells(&self) -> bool {
        matches!(self.open.last(), Some(&("table" | "thead" | "tbody" | "tr")))
    }

    pub(super) fn push(&mut self, name: &'static str, attributes: &[(&'static str, String)]) {
        if self.open.len() >= DEEPEST {
            return;
        }
        self.open.push(name);
        self.out.open(name, attributes);
        self.just_opened = true;
    }

    /// Closes the innermost `name`, unless a cell lies between; what is in it is closed as well.
    pub(super) fn close(&mut self, name: &'static str) {
        let parts = ["table", "thead", "tbody", "tr", "td", "th"];
        let is_bound = |open: &&str| !parts.contains(&name) && parts.contains(open);
        let reachable = self.open.iter().rev().take_while(|open| !is_bound(open));
        if let Some(above) = reachable.clone().position(|open| *open == name) {
            self.close_down_to(self.open.len() - above - 1);
        }
    }

    /// Closes the innermost `name`, unless one of `bounds` lies between.
    pub(super) fn close_within(&mut self, name: &'static str, bounds: &[&str]) {
        let reachable = self.open.iter().rev().take_while(|open| !bounds.contains(open));
        if let Some(above) = reachable.clone().position(|open| *open == name) {
            self.close_down_to(self.open.len() - above - 1);
        }
    }

    /// Closes everything above the innermost of `names`.
    pub(super) fn close_above(&mut self, names: &[&str]) {
        if let Some(at) = self.open.iter().rposition(|open| names.contains(open)) {
            self.close_down_to(at + 1);
        }
    }

    pub(super) fn close_down_to(&mut self, length: usize) {
        while self.open.len() > length {
            if let Some(name) = self.open.pop() {
                self.just_opened = false;
                self.out.close(name);
            }
        }
    }
}
