//! Lists, branches, loops and functions: in what order commands run, and what is known then.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::state::{Function, State};
use super::value::{Atom, Field};
use super::{ANY, CWD, MOST_ROUNDS, MOST_STEPS, SEPARATORS, Walk};
use crate::syntax::{AndOr, Arm, Command, Joint, Kind, List, Pipeline, Span, Word};

impl Walk<'_> {
    pub(super) fn list(&mut self, list: &List) {
        for item in list {
            if item.background {
                self.apart(|walk| walk.and_or(item));
            } else {
                self.and_or(item);
            }
        }
    }

    /// Does something in a shell of its own: what it sets is gone afterwards.
    pub(super) fn apart<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let state = self.state.clone();
        let failed = self.failed.take();
        let result = work(self);
        self.state = state;
        self.failed = failed;
        result
    }

    pub(super) fn and_or(&mut self, item: &AndOr) {
        let mut bad = self.pipeline(&item.first);
        for (joint, pipeline) in &item.rest {
            match joint {
                Joint::And => {
                    let before = bad.unwrap_or_else(|| self.state.clone());
                    let after = self.pipeline(pipeline).unwrap_or_else(|| self.state.clone());
                    bad = Some(before.join(after));
                }
                Joint::Or => {
                    let good = self.state.clone();
                    if let Some(state) = bad {
                        self.state = state;
                    }
                    bad = Some(self.pipeline(pipeline).unwrap_or_else(|| self.state.clone()));
                    let ran = std::mem::take(&mut self.state);
                    self.state = good.join(ran);
                }
            }
        }
        if let Some(bad) = bad {
            let good = std::mem::take(&mut self.state);
            self.state = good.join(bad);
        }
    }

    /// The state is then that after success; that after failure is the answer, if it is another.
    pub(super) fn pipeline(&mut self, pipeline: &Pipeline) -> Option<State> {
        self.failed = None;
        let [command] = pipeline.commands.as_slice() else {
            for command in &pipeline.commands {
                self.apart(|walk| walk.command(command));
            }
            return None;
        };
        self.command(command);
        let failed = self.failed.take();
        match failed {
            Some(failed) if pipeline.negated => Some(std::mem::replace(&mut self.state, failed)),
            failed => failed,
        }
    }

    pub(super) fn command(&mut self, command: &Command) {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            if self.steps == MOST_STEPS + 1 {
                self.doubt("the script does too much to be worked out", command.span);
            }
            return;
        }
        let compound = !matches!(command.kind, Kind::Simple { .. });
        let before = (!command.redirections.is_empty()).then(|| self.state.clone());
        if compound {
            self.redirections(&command.redirections);
        }
        match &command.kind {
            Kind::Simple { assignments, words } => self.simple(command, assignments, words),
            Kind::Group(list) => self.list(list),
            Kind::Subshell(list) => self.apart(|walk| walk.list(list)),
            Kind::If { arms, otherwise } => self.conditional(arms, otherwise),
            Kind::Loop { condition, body } => self.repeated(|walk| {
                walk.list(condition);
                walk.list(body);
            }),
            Kind::For { name, words, body } => {
                self.check_assigned(name, false, command.span);
                self.for_each(name, words.as_deref(), body);
            }
            Kind::CountedFor { steps, body } => {
                let span = command.span;
                let (first, steps) = steps.split_at(steps.len().min(1));
                for step in first {
                    self.arithmetic(step, span);
                }
                self.repeated(|walk| {
                    for step in steps {
                        walk.arithmetic(step, span);
                    }
                    walk.list(body);
                });
            }
            Kind::Case { word, arms } => self.case(word, arms),
            Kind::Condition(words) => self.condition(words),
            Kind::Arithmetic(pieces) => self.arithmetic(pieces, command.span),
            Kind::Function { name, body } => {
                self.check_function(name, command.span);
                self.define(name, body, command.span);
            }
            Kind::Coprocess { name, body } => {
                self.apart(|walk| walk.command(body));
                self.arrays.insert(name.clone());
                for name in [name.clone(), format!("{name}_PID")] {
                    self.check_assigned(&name, false, command.span);
                    self.assign(&name, Field::unknown(&format!("${name}")));
                }
            }
        }
        if compound {
            self.failed = None;
        }
        // A redirection that fails keeps the command from running at all.
        if let Some(before) = before {
            let failed = self.failed.take().unwrap_or_else(|| self.state.clone());
            self.failed = Some(failed.join(before));
        }
    }

    pub(super) fn conditional(&mut self, arms: &[(List, List)], otherwise: &List) {
        let mut ends: Option<State> = None;
        for (condition, body) in arms {
            self.list(condition);
            let untaken = self.state.clone();
            self.list(body);
            let taken = std::mem::replace(&mut self.state, untaken);
            ends = Some(match ends {
                Some(ends) => ends.join(taken),
                None => taken,
            });
        }
        self.list(otherwise);
        if let Some(ends) = ends {
            let last = std::mem::take(&mut self.state);
            self.state = last.join(ends);
        }
    }

    pub(super) fn case(&mut self, word: &Word, arms: &[Arm]) {
        self.unsplit(word);
        let mut ends = self.state.clone();
        for arm in arms {
            for pattern in &arm.patterns {
                self.unsplit(pattern);
            }
            // An arm may be entered from the one before it.
            let entry = self.state.clone().join(ends.clone());
            self.state = entry;
            self.list(&arm.body);
            ends = ends.join(self.state.clone());
        }
        self.state = ends;
    }

    /// Walks the body of a loop, which may run any number of times.
    pub(super) fn repeated(&mut self, body: impl Fn(&mut Self)) {
        let before = self.state.clone();
        if self.dry == 0 {
            // Twice: first to see what is set at all, then to see what it is set to when all of that
            // is unknown.
            for last in [false, true] {
                let outer = std::mem::take(&mut self.set);
                self.dry += 1;
                body(self);
                self.dry -= 1;
                let mut set = std::mem::replace(&mut self.set, outer);
                if !last {
                    set.values_mut().for_each(|value| *value = None);
                }
                self.state = before.clone();
                self.forget(&set);
                self.set.extend(set);
            }
        }
        let before = self.state.clone();
        body(self);
        let after = std::mem::take(&mut self.state);
        self.state = before.join(after);
    }

    /// Makes what a loop sets unknown.
    pub(super) fn forget(&mut self, set: &BTreeMap<String, Option<Field>>) {
        for (name, value) in set {
            match name.as_str() {
                CWD => self.state.cwd.clear(),
                SEPARATORS => self.state.own_separators = true,
                ANY => {
                    self.state.any_variable = true;
                    self.state.variables.clear();
                }
                _ => {
                    if let Some(function) = name.strip_suffix("()") {
                        self.state.functions.insert(function.to_owned(), Function::Perhaps);
                        continue;
                    }
                    let before = self.state.variables.get(name);
                    let number = value.as_ref().is_some_and(Field::is_number)
                        && before.is_some_and(Field::is_number);
                    let unknown = Field::unknown(&format!("${name}"));
                    let number_field =
                        Field { atoms: vec![Atom::Number(format!("${name}"))], many: false };
                    let value = if number { number_field } else { unknown };
                    self.state.variables.insert(name.clone(), value);
                }
            }
        }
    }

    pub(super) fn for_each(&mut self, name: &str, words: Option<&[Word]>, body: &List) {
        let values: Vec<Field> = match words {
            Some(words) => words.iter().flat_map(|word| self.fields(word)).collect(),
            None => vec![Field::unknown_words("$@")],
        };
        let few = values.len() <= MOST_ROUNDS && self.dry == 0;
        if few && values.iter().all(|value| !value.many) {
            self.repeated(|walk| {
                let entry = walk.state.clone();
                for value in &values {
                    walk.state = walk.state.clone().join(entry.clone());
                    walk.assign(name, value.clone());
                    walk.list(body);
                }
            });
            return;
        }
        let shown = format!("${name}");
        let number = values.iter().all(Field::is_number);
        let value = if number {
            Field { atoms: vec![Atom::Number(shown)], many: false }
        } else {
            Field::unknown(&shown)
        };
        self.repeated(|walk| {
            walk.assign(name, value.clone());
            walk.list(body);
        });
    }

    pub(super) fn define(&mut self, name: &str, body: &Rc<Command>, span: Span) {
        if name == "command_not_found_handle" {
            self.doubt("a function is defined that runs in place of other commands", span);
        }
        self.defined.insert(name.to_owned());
        self.set.insert(format!("{name}()"), None);
        self.state.functions.insert(name.to_owned(), Function::Body(Rc::clone(body)));
    }

    /// Walks the body of the function `name`.
    pub(super) fn call(&mut self, name: &str, body: &Rc<Command>, span: Span) {
        if self.calls.iter().any(|call| call == name) {
            self.doubt("a function calls itself", span);
            return;
        }
        self.calls.push(name.to_owned());
        let outer = std::mem::take(&mut self.set);
        self.deeper(span, |walk| walk.command(body));
        let mut set = std::mem::replace(&mut self.set, outer);
        // It may have returned anywhere, and what was local is gone.
        set.values_mut().for_each(|value| *value = None);
        self.forget(&set);
        self.set.extend(set);
        self.calls.pop();
        self.failed = None;
    }
}
