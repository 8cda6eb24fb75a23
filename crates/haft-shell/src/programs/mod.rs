//! The table of programs, read from `programs.txt`, and the little languages that some of them have.

pub(crate) mod awk;
pub(crate) mod options;
pub(crate) mod sed;

use std::collections::HashMap;
use std::sync::OnceLock;

/// What is done with an option's value or an operand. The table explains each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Flag,
    Value,
    Attached,
    Mode,
    Pair,
    Read,
    Below,
    Write,
    Edit,
    Delete,
    Moved,
    Target,
    Here,
    Cwd,
    Repository,
    Script,
    Code,
    Module,
    Name,
    Shell,
    ShellWords,
    Program,
    Command,
    CommandList,
    Connect,
    Url,
    Sent,
    Pattern,
    Patterns,
    Assignments,
    Unset,
    Split,
    Replace,
    Replaced,
    Joined,
    Pairs,
    Archive,
    Revisions,
    Remotes,
    Sed,
    SedScript,
    InPlace,
    Awk,
    Find,
    Xargs,
    Perhaps,
    Doubt,
}

/// The words of the table, and what they mean.
const ACTS: &[(&str, Act)] = &[
    ("flag", Act::Flag),
    ("value", Act::Value),
    ("attached", Act::Attached),
    ("mode", Act::Mode),
    ("pair", Act::Pair),
    ("read", Act::Read),
    ("linked", Act::Read),
    ("below", Act::Below),
    ("write", Act::Write),
    ("edit", Act::Edit),
    ("delete", Act::Delete),
    ("moved", Act::Moved),
    ("target", Act::Target),
    ("here", Act::Here),
    ("cwd", Act::Cwd),
    ("repository", Act::Repository),
    ("script", Act::Script),
    ("code", Act::Code),
    ("module", Act::Module),
    ("name", Act::Name),
    ("shell", Act::Shell),
    ("shellwords", Act::ShellWords),
    ("program", Act::Program),
    ("command", Act::Command),
    ("commandlist", Act::CommandList),
    ("connect", Act::Connect),
    ("url", Act::Url),
    ("sent", Act::Sent),
    ("pattern", Act::Pattern),
    ("patterns", Act::Patterns),
    ("assignments", Act::Assignments),
    ("unset", Act::Unset),
    ("split", Act::Split),
    ("replace", Act::Replace),
    ("replaced", Act::Replaced),
    ("joined", Act::Joined),
    ("pairs", Act::Pairs),
    ("archive", Act::Archive),
    ("revisions", Act::Revisions),
    ("remotes", Act::Remotes),
    ("sed", Act::Sed),
    ("sedscript", Act::SedScript),
    ("inplace", Act::InPlace),
    ("awk", Act::Awk),
    ("find", Act::Find),
    ("xargs", Act::Xargs),
    ("perhaps", Act::Perhaps),
    ("doubt", Act::Doubt),
];

/// One entry of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Program {
    /// What its operands are, in order; the flag says that there may be any number.
    pub(crate) operands: Vec<(Act, bool)>,
    pub(crate) options: Vec<(&'static str, Act)>,
    pub(crate) marks: Marks,
    /// How many words a grant for it has.
    pub(crate) words: usize,
}

/// What holds for a program as a whole. The table explains each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "they are the marks of a table, each on its own")]
pub(crate) struct Marks {
    pub(crate) strict: bool,
    pub(crate) input: bool,
    pub(crate) sub: bool,
    pub(crate) open: bool,
    pub(crate) doubt: bool,
    pub(crate) asks: bool,
    pub(crate) first: bool,
    pub(crate) wordy: bool,
    pub(crate) told: bool,
    pub(crate) lists: bool,
    pub(crate) prompts: bool,
}

const TEXT: &str = include_str!("programs.txt");

/// The entry of a program, by its name without a folder. Versions at the end of a name are ignored.
pub(crate) fn find(name: &str) -> Option<&'static Program> {
    static TABLE: OnceLock<HashMap<&'static str, Program>> = OnceLock::new();
    let table = TABLE.get_or_init(|| read_table(TEXT).0);
    let found = |name: &str| table.get(name).filter(|_| !name.is_empty());
    let is_version = |end: char| end.is_ascii_digit() || matches!(end, '.' | '-');
    found(name).or_else(|| found(name.trim_end_matches(is_version))).or_else(|| {
        // `x86_64-linux-gnu-gcc`, `perl5.36-x86_64-linux-gnu`, `vim.basic`
        let last =
            name.rsplit_once("-linux-gnu-").map(|(_, last)| last.trim_end_matches(is_version));
        let first = name.strip_suffix("-linux-gnu").and_then(|name| name.split('-').next());
        let first = first.map(|first| first.trim_end_matches(is_version));
        let stem = name.split_once('.').map(|(stem, _)| stem.trim_end_matches(is_version));
        let is_harmful = |it: &&Program| it.is_doubtful() || it.is_risky();
        [last, first, stem].into_iter().flatten().find_map(found).filter(is_harmful)
    })
}

impl Program {
    /// What an option does, by its exact name.
    pub(crate) fn option(&self, name: &str) -> Option<Act> {
        // A later line about the same option says it better.
        self.options.iter().rev().find(|(option, _)| *option == name).map(|(_, act)| *act)
    }

    /// Whether it only reads what it is given, so that a value may as well be the name of a file: names
    /// that share a line of the table do not share the meaning of every letter.
    pub(crate) fn is_plain_reader(&self) -> bool {
        let reads = matches!(self.operands.first(), Some((Act::Read | Act::Below, _)));
        reads && !self.marks.strict
    }

    /// Whether all it does is a doubt.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.marks.doubt || matches!(self.operands.first(), Some((Act::Doubt, _)))
    }

    /// Whether an argument that turned out to be an option could do something.
    pub(crate) fn is_risky(&self) -> bool {
        let harmless = |act: Act| {
            matches!(
                act,
                Act::Flag | Act::Value | Act::Attached | Act::Read | Act::Pattern | Act::Pair
            )
        };
        self.marks.strict || self.marks.sub || self.options.iter().any(|(_, act)| !harmless(*act))
    }
}

/// Reads the table. The second part are the words in it that mean nothing.
fn read_table(text: &'static str) -> (HashMap<&'static str, Program>, Vec<&'static str>) {
    let mut table: HashMap<&'static str, Program> = HashMap::new();
    let mut groups: HashMap<&'static str, Vec<(&'static str, Act)>> = HashMap::new();
    let mut strange = Vec::new();
    // Groups may stand after those who use them.
    for round in 0..2 {
        strange.clear();
        let mut names: Vec<&'static str> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            if line.starts_with(' ') {
                let options = read_options(line, &groups, &mut strange);
                for name in &names {
                    if let Some(group) = name.strip_prefix('@') {
                        groups.entry(group).or_default().extend(&options);
                    } else if let Some(program) = table.get_mut(name).filter(|_| round == 1) {
                        program.options.extend(&options);
                    }
                }
                continue;
            }
            let (head, operands) = line.split_once(" :").unwrap_or((line, ""));
            let (listed, marks) = head.split_once(" [").unwrap_or((head, ""));
            names = listed.split_whitespace().collect();
            let program = read_program(marks.trim_end_matches(']'), operands, &mut strange);
            for name in names.iter().filter(|name| !name.starts_with('@')) {
                table.insert(name, program.clone());
            }
        }
    }
    (table, strange)
}

fn read_program(
    marks: &'static str,
    operands: &'static str,
    strange: &mut Vec<&'static str>,
) -> Program {
    let mut program = Program { words: 1, ..Program::default() };
    for mark in marks.split_whitespace() {
        match mark {
            "strict" => program.marks.strict = true,
            "input" => program.marks.input = true,
            "sub" => program.marks.sub = true,
            "open" => program.marks.open = true,
            "doubt" => program.marks.doubt = true,
            "asks" => program.marks.asks = true,
            "first" => program.marks.first = true,
            "wordy" => program.marks.wordy = true,
            "told" => program.marks.told = true,
            "lists" => program.marks.lists = true,
            "prompts" => program.marks.prompts = true,
            _ => match mark.strip_prefix("words=").and_then(|count| count.parse().ok()) {
                Some(count) => program.words = count,
                None => strange.push(mark),
            },
        }
    }
    for operand in operands.split_whitespace() {
        let many = operand.ends_with('*');
        program.operands.push((read_act(operand.trim_end_matches('*'), strange), many));
    }
    program
}

fn read_options(
    line: &'static str,
    groups: &HashMap<&'static str, Vec<(&'static str, Act)>>,
    strange: &mut Vec<&'static str>,
) -> Vec<(&'static str, Act)> {
    if let Some(group) = line.trim().strip_prefix('@') {
        return groups.get(group).cloned().unwrap_or_default();
    }
    let (names, act) = match line.rsplit_once(" = ") {
        Some((names, act)) => (names, read_act(act.trim(), strange)),
        None => (line, Act::Flag),
    };
    names.split_whitespace().map(|name| (name, act)).collect()
}

fn read_act(word: &'static str, strange: &mut Vec<&'static str>) -> Act {
    match ACTS.iter().find(|(name, _)| *name == word) {
        Some((_, act)) => *act,
        None => {
            strange.push(word);
            Act::Doubt
        }
    }
}

#[cfg(test)]
mod tests;
