//! Walks a script's tree and writes down what it would do.

mod arithmetic;
mod builtin;
mod condition;
mod declare;
mod expand;
mod find;
mod flow;
mod invocation;
mod languages;
mod links;
mod place;
mod program;
mod project;
mod scripts;
mod shell_options;
mod simple;
mod state;
mod trap;
pub(crate) mod value;
mod variables;
mod written;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use self::state::State;
use self::value::Field;
use crate::effect::{
    Action, Analysis, Certainty, Doubt, Effect, Run, Setting, Settlement, Shell, Standing,
};
use crate::syntax::{self, Span};

/// How many commands are looked at before the script counts as too much.
const MOST_STEPS: usize = 20_000;
/// How many variables are followed.
const MOST_VARIABLES: usize = 64;
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
    /// The files that were looked into.
    scripts_read: BTreeSet<std::path::PathBuf>,
    /// Variables that make something else of what they are given, from anywhere in the script on.
    altering: BTreeMap<String, declare::Alters>,
    /// Variables that are lists, from anywhere in the script on.
    arrays: BTreeSet<String>,
    /// Which words of the present command are written as lists.
    lists: Vec<usize>,
    /// What reads the script.
    shell: Shell,
    /// All that is written anywhere in the script.
    written: BTreeSet<std::path::PathBuf>,
    /// The files whose commands are run, and what to say of each that is among those.
    started_files: BTreeMap<std::path::PathBuf, Effect>,
    /// Commands that are kept to be run later.
    traps: Vec<trap::Trap>,
    /// Whether a shell changes its folder anywhere in the script.
    moves: bool,
    /// The functions that are defined anywhere in the script.
    defined: BTreeSet<String>,
    /// What may be a link by now, or has one in it, wherever in the script that was done.
    unsure: Vec<links::Unsure>,
    /// What was moved away.
    gone: Vec<links::Unsure>,
    /// Which links the present command follows.
    follows: links::Follows,
    /// Whether it follows all links in the folders that it goes through.
    goes_through: bool,
    /// Whether a pattern that matches nothing may be no word at all.
    patterns_vanish: bool,
}

/// The text that spans point into.
struct Source {
    chars: Vec<char>,
    /// Where its lines end.
    ends: Vec<usize>,
    /// Set inside a script that is itself a part of another: where that stands.
    within: Option<(String, usize)>,
}

impl Source {
    fn new(chars: Vec<char>, within: Option<(String, usize)>) -> Self {
        let is_end = |(at, character): (usize, &char)| (*character == '\n').then_some(at);
        let ends = chars.iter().enumerate().filter_map(is_end).collect();
        Self { chars, ends, within }
    }
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
        source: Source::new(script.chars().take(crate::LONGEST).collect(), None),
        steps: 0,
        dry: 0,
        set: BTreeMap::new(),
        failed: None,
        calls: Vec::new(),
        depth: 0,
        scripts_read: BTreeSet::new(),
        altering: BTreeMap::new(),
        arrays: BTreeSet::new(),
        lists: Vec::new(),
        shell: setting.shell,
        patterns_vanish: script.contains("nullglob"),
        written: BTreeSet::new(),
        started_files: BTreeMap::new(),
        traps: Vec::new(),
        moves: false,
        defined: BTreeSet::new(),
        unsure: Vec::new(),
        gone: Vec::new(),
        follows: links::Follows::default(),
        goes_through: false,
    };
    if script.len() > crate::LONGEST {
        walk.doubt("the script is too long to be worked out", Span::default());
    } else if script.contains('\0') {
        walk.doubt("it holds a zero byte", Span::default());
    } else {
        walk.check_shell(setting.shell, script, Span { start: 0, end: EXCERPT });
        walk.script(script);
    }
    walk.finish()
}

impl Walk<'_> {
    /// A script without a command that has to be allowed would run without anyone having a say, so
    /// then all that it does has to be.
    fn finish(mut self) -> Analysis {
        self.walk_traps();
        self.add_written();
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
            let inner = Source::new(text.chars().collect(), within);
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

    /// Notes that a variable gets a value.
    pub(super) fn assign(&mut self, name: &str, value: Field) {
        let value = self.altered(name, value);
        // A value that is made of itself doubles each time.
        let followed = !SELF_WILLED.contains(&name)
            && !value.many
            && value.is_short()
            && !value.is_wholly_unknown();
        let value = if followed { value } else { Field::unknown(&format!("${name}")) };
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
        if self.state.any_variable {
            self.state.variables.remove(name);
            return;
        }
        self.state.variables.insert(name.to_owned(), value);
        if self.state.variables.len() > MOST_VARIABLES {
            self.doubt("the script sets too many variables to be followed", Span::default());
            self.assign_any();
        }
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
        self.moves = true;
        self.set.insert(CWD.to_owned(), None);
        self.failed = Some(self.state.clone());
        self.state.cwd = cwd;
    }

    pub(super) fn note(&mut self, action: Action, certainty: Certainty, span: Span) {
        if let Action::Write(place) = &action {
            self.note_written(place);
        }
        if self.dry > 0 {
            return;
        }
        let effect =
            Effect { action, certainty, excerpt: self.excerpt(span), line: self.line(span) };
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
        self.source.ends.partition_point(|end| *end < span.start) + 1
    }
}

/// Variables that do not keep what they are given.
const SELF_WILLED: [&str; 17] = [
    "_",
    "PIPESTATUS",
    "UID",
    "EUID",
    "PPID",
    "BASHPID",
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "GROUPS",
    "FUNCNAME",
    "DIRSTACK",
    "HISTCMD",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "COMP_WORDBREAKS",
];

/// Names in [`Walk::set`] that are no variables.
const CWD: &str = "folder/";
const SEPARATORS: &str = "separators/";
const ANY: &str = "any/";
