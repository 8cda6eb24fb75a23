//! Walks a script's tree and writes down what it would do.

mod arithmetic;
mod builtin;
mod condition;
mod declare;
mod expand;
mod find;
mod invocation;
mod place;
mod program;
mod simple;
mod state;
pub(crate) mod value;
mod variables;

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use self::state::{Function, State};
use self::value::Field;
use crate::effect::{
    Action, Analysis, Certainty, Doubt, Effect, Run, Setting, Settlement, Standing,
};
use crate::syntax::{self, AndOr, Arm, Command, Joint, Kind, List, Pipeline, Span, Word};

/// How many commands are looked at before the script counts as too much.
const MOST_STEPS: usize = 20_000;
/// How long an excerpt may be, in characters.
const EXCERPT: usize = 120;
/// How many values of a loop's variable are gone through one by one.
const MOST_ROUNDS: usize = 8;
/// How deep commands may be wrapped in, or call, one another.
const DEEPEST: usize = 12;

/// Everything needed while walking.
struct Walk<'s> {
    setting: &'s Setting<'s>,
    state: State,
    found: Analysis,
    seen: HashSet<u64>,
    source: Source,
    steps: usize,
    /// Above zero while it is only found out what a loop's body sets.
    dry: usize,
    /// What has been set since the loop began, and to what.
    set: BTreeMap<String, Option<Field>>,
    /// The state after a command that failed, where that differs from the one after success.
    failed: Option<State>,
    /// The functions that are being called.
    calls: Vec<String>,
    depth: usize,
}

/// The text that spans point into.
struct Source {
    chars: Rc<[char]>,
    /// Set inside a script that is itself a part of another: where that stands.
    within: Option<(String, usize)>,
}

/// See [`crate::analyse`].
pub(crate) fn analyse(script: &str, setting: &Setting<'_>) -> Analysis {
    let mut state = State::new(setting.cwd);
    let known = setting.variables.iter().map(|(name, value)| (*name, (*value).to_owned()));
    let home = setting.home.map(|home| ("HOME", home.to_string_lossy().into_owned()));
    for (name, value) in known.chain(home) {
        state.variables.insert(name.to_owned(), Field::text(&value));
    }
    let mut walk = Walk {
        setting,
        state,
        found: Analysis::default(),
        seen: HashSet::new(),
        source: Source { chars: script.chars().take(crate::LONGEST).collect(), within: None },
        steps: 0,
        dry: 0,
        set: BTreeMap::new(),
        failed: None,
        calls: Vec::new(),
        depth: 0,
    };
    if script.len() > crate::LONGEST {
        walk.doubt("the script is too long to be worked out", Span::default());
    } else if script.contains('\0') {
        walk.doubt("it holds a zero byte", Span::default());
    } else {
        walk.script(script);
    }
    walk.finish()
}

impl Walk<'_> {
    /// A script without a command that has to be allowed would run without anyone having a say, so
    /// then all that it does has to be.
    fn finish(mut self) -> Analysis {
        let asked = self.found.runs().any(|run| run.standing == Standing::Asked);
        if !asked {
            for effect in &mut self.found.effects {
                if let Action::Run(run) = &mut effect.action {
                    run.standing = Standing::Asked;
                }
            }
        }
        self.found
    }

    /// Walks the text of a whole script in the present state.
    pub(super) fn script(&mut self, text: &str) {
        let (list, fault) = syntax::parse(text);
        self.list(&list);
        if let Some(fault) = fault {
            self.doubt(fault.reason, Span { start: fault.at, end: fault.at.saturating_add(40) });
        }
    }

    /// Walks a script that another one holds as text, such as the argument of `eval`.
    pub(super) fn inner_script(&mut self, text: &str, span: Span) {
        self.deeper(span, |walk| {
            let within = Some((walk.excerpt(span), walk.line(span)));
            let inner = Source { chars: text.chars().collect(), within };
            let outer = std::mem::replace(&mut walk.source, inner);
            walk.script(text);
            walk.source = outer;
        });
    }

    /// Does something one level deeper, or doubts.
    pub(super) fn deeper(&mut self, span: Span, work: impl FnOnce(&mut Self)) {
        if self.depth >= DEEPEST {
            self.doubt("commands are wrapped in one another too often", span);
            return;
        }
        self.depth += 1;
        work(self);
        self.depth -= 1;
    }

    fn list(&mut self, list: &List) {
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

    fn and_or(&mut self, item: &AndOr) {
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
    fn pipeline(&mut self, pipeline: &Pipeline) -> Option<State> {
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

    fn command(&mut self, command: &Command) {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            if self.steps == MOST_STEPS + 1 {
                self.doubt("the script does too much to be worked out", command.span);
            }
            return;
        }
        let redirected = !matches!(command.kind, Kind::Simple { .. });
        if redirected {
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
            Kind::For { name, words, body } => self.for_each(name, words.as_deref(), body),
            Kind::CountedFor { steps, body } => {
                let span = command.span;
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
            Kind::Function { name, body } => self.define(name, body, command.span),
            Kind::Coprocess { name, body } => {
                self.apart(|walk| walk.command(body));
                for name in [name.clone(), format!("{name}_PID")] {
                    self.assign(&name, Field::unknown(&format!("${name}")));
                }
            }
        }
        if redirected {
            self.failed = None;
        }
    }

    fn conditional(&mut self, arms: &[(List, List)], otherwise: &List) {
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

    fn case(&mut self, word: &Word, arms: &[Arm]) {
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
    fn repeated(&mut self, body: impl Fn(&mut Self)) {
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
    fn forget(&mut self, set: &BTreeMap<String, Option<Field>>) {
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
                    let number_field = Field {
                        atoms: vec![value::Atom::Number(format!("${name}"))],
                        many: false,
                    };
                    let value = if number { number_field } else { unknown };
                    self.state.variables.insert(name.clone(), value);
                }
            }
        }
    }

    fn for_each(&mut self, name: &str, words: Option<&[Word]>, body: &List) {
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
            Field { atoms: vec![value::Atom::Number(shown)], many: false }
        } else {
            Field::unknown(&shown)
        };
        self.repeated(|walk| {
            walk.assign(name, value.clone());
            walk.list(body);
        });
    }

    fn define(&mut self, name: &str, body: &Rc<Command>, span: Span) {
        if name == "command_not_found_handle" {
            self.doubt("a function is defined that runs in place of other commands", span);
        }
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
        self.deeper(span, |walk| walk.command(body));
        self.calls.pop();
        self.failed = None;
    }

    /// Notes that a variable gets a value.
    pub(super) fn assign(&mut self, name: &str, value: Field) {
        let value = if value.many { Field::unknown(&value.shown()) } else { value };
        let noted = match self.set.get(name) {
            Some(Some(before)) => Some(before.joined(&value, name)),
            Some(None) => None,
            None => Some(value.clone()),
        };
        self.set.insert(name.to_owned(), noted);
        if name == "IFS" {
            self.set.insert(SEPARATORS.to_owned(), None);
            self.state.own_separators = true;
        }
        self.state.variables.insert(name.to_owned(), value);
    }

    /// Notes that any variable may have been set.
    pub(super) fn assign_any(&mut self) {
        self.set.insert(ANY.to_owned(), None);
        self.state.variables.clear();
        self.state.any_variable = true;
        self.state.own_separators = true;
    }

    /// Notes a change of folder.
    pub(super) fn moved(&mut self, cwd: Vec<std::path::PathBuf>) {
        self.set.insert(CWD.to_owned(), None);
        self.failed = Some(self.state.clone());
        self.state.cwd = cwd;
    }

    pub(super) fn note(&mut self, action: Action, certainty: Certainty, span: Span) {
        if self.dry > 0 {
            return;
        }
        let effect = Effect { action, certainty, excerpt: self.excerpt(span), line: self.line(span) };
        if self.is_new(&(&effect.action, effect.certainty)) {
            self.found.effects.push(effect);
        }
    }

    pub(super) fn note_run(&mut self, fields: &[Field], standing: Standing, span: Span) {
        let words: Vec<String> = fields.iter().map(Field::shown).collect();
        let known = fields.iter().take_while(|field| field.literal().is_some()).count();
        let text = words.join(" ");
        self.note(Action::Run(Run { words, text, standing, known }), Certainty::Certain, span);
    }

    pub(super) fn doubt(&mut self, reason: impl Into<String>, span: Span) {
        self.doubt_until(reason, span, Settlement::Asking);
    }

    pub(super) fn doubt_until(
        &mut self,
        reason: impl Into<String>,
        span: Span,
        settled_by: Settlement,
    ) {
        if self.dry > 0 {
            return;
        }
        let (excerpt, line) = (self.excerpt(span), self.line(span));
        let doubt = Doubt { reason: reason.into(), excerpt, line, settled_by };
        if self.is_new(&doubt) {
            self.found.doubts.push(doubt);
        }
    }

    fn is_new(&mut self, thing: &impl std::hash::Hash) -> bool {
        use std::hash::{DefaultHasher, Hasher};
        let mut hasher = DefaultHasher::new();
        thing.hash(&mut hasher);
        self.seen.insert(hasher.finish())
    }

    /// The text of `span`, in one line without control characters.
    pub(super) fn excerpt(&self, span: Span) -> String {
        if let Some((excerpt, _)) = &self.source.within {
            return excerpt.clone();
        }
        let chars = self.source.chars.get(span.start..).unwrap_or_default();
        let length = span.end.saturating_sub(span.start);
        let mut text: String = chars
            .iter()
            .take(length.min(EXCERPT))
            .map(|character| if character.is_control() { ' ' } else { *character })
            .collect();
        if length.min(chars.len()) > EXCERPT {
            text.push('…');
        }
        text.trim().to_owned()
    }

    fn line(&self, span: Span) -> usize {
        if let Some((_, line)) = &self.source.within {
            return *line;
        }
        let before = self.source.chars.get(..span.start).unwrap_or_default();
        before.iter().filter(|character| **character == '\n').count() + 1
    }
}

/// Names in [`Walk::set`] that are no variables.
const CWD: &str = "folder/";
const SEPARATORS: &str = "separators/";
const ANY: &str = "any/";
