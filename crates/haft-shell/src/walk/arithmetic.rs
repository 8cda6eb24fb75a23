//! Arithmetic, which evaluates the text of variables, and so can run what it holds.

use super::Walk;
use super::value::{Atom, Field};
use crate::syntax::{Piece, Span};

const REASON: &str =
    "arithmetic evaluates text that is not known to be a number, which can run commands";

/// Variables that the shell fills with words of the script.
const FILLED: [&str; 8] =
    ["_", "REPLY", "MAPFILE", "OPTARG", "DIRSTACK", "FUNCNAME", "PWD", "OLDPWD"];

/// Variables that the shell keeps as numbers.
const NUMBERS: [&str; 20] = [
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "EPOCHSECONDS",
    "UID",
    "EUID",
    "PPID",
    "GROUPS",
    "SHLVL",
    "COLUMNS",
    "LINES",
    "PIPESTATUS",
    "OPTIND",
    "OPTERR",
    "HISTCMD",
    "BASHPID",
    "BASH_SUBSHELL",
    "BASH_VERSINFO",
    "BASH_LINENO",
];

impl Walk<'_> {
    /// Walks arithmetic that is written as such.
    pub(super) fn arithmetic(&mut self, pieces: &[Piece], span: Span) {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text { text: plain, .. } => text.push_str(plain),
                other => {
                    let value = self.quoted_piece(other, span);
                    let known = value.literal().filter(|_| value.is_number());
                    if !value.is_number() || (known.is_none() && ends_in_name(&text)) {
                        self.doubt(REASON, span);
                    }
                    text.push_str(known.unwrap_or("0"));
                }
            }
        }
        self.arithmetic_text(&text, span);
    }

    /// Checks arithmetic whose text is known: names in it must stand for numbers.
    pub(super) fn arithmetic_text(&mut self, text: &str, span: Span) {
        let plain = |character: char| {
            character.is_ascii_alphanumeric() || " \t\n_+-*/%<>=!&|^~?:,()[]#".contains(character)
        };
        if !text.chars().all(plain) {
            self.doubt(REASON, span);
            return;
        }
        if !is_sure(text) {
            // Where it fails, bash goes on with the next line, and what follows here is not done.
            self.assign_any();
        }
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let mut rest = text;
        while let Some(at) = rest.find(|character: char| is_name(character)) {
            let from = rest.get(at..).unwrap_or_default();
            let length = from.find(|character: char| !is_name(character)).unwrap_or(from.len());
            let (name, after) = from.split_at(length);
            rest = after;
            if name.starts_with(|first: char| first.is_ascii_digit()) {
                // `16#ff` and `0x1f` are numbers; the digits after `#` are no name.
                if let Some(digits) = rest.strip_prefix('#') {
                    rest = digits.trim_start_matches(|character: char| {
                        is_name(character) || character == '@'
                    });
                }
                continue;
            }
            self.arithmetic_name(name, after, span);
        }
    }

    fn arithmetic_name(&mut self, name: &str, after: &str, span: Span) {
        match self.state.variables.get(name) {
            Some(value) if !value.is_number() && value.literal() != Some("") => {
                self.doubt(REASON, span);
            }
            None if self.state.any_variable || self.is_set_by_others(name) => {
                self.doubt(REASON, span);
            }
            // What the script has not set comes from outside and is not its doing.
            _ => {}
        }
        if after.trim_start().starts_with('[') {
            self.arrays.insert(name.to_owned());
        }
        let operators = after.trim_start();
        let assigns = operators.starts_with('=') && !operators.starts_with("==");
        let changes = ["++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="];
        if assigns || changes.iter().any(|change| operators.starts_with(change)) {
            self.check_assigned(name, false, span);
            let number = Field { atoms: vec![Atom::Number(format!("${name}"))], many: false };
            self.assign(name, number);
        }
    }

    /// Whether a variable that the script has not set may still lead to text of the script: the shell
    /// puts words of it there, or the environment has the name of a variable that holds such text.
    fn is_set_by_others(&self, name: &str) -> bool {
        if NUMBERS.contains(&name) {
            return false;
        }
        let is_the_shells = name.starts_with("BASH_") || FILLED.contains(&name);
        let is_inherited = !name.contains(|letter: char| letter.is_ascii_lowercase());
        let holds_text = || self.state.variables.values().any(|value| value.may_contain('['));
        is_the_shells || (is_inherited && holds_text())
    }

    /// What a piece becomes inside quotes.
    fn quoted_piece(&mut self, piece: &Piece, span: Span) -> Field {
        let mut field = Field::default();
        self.append(&mut field, piece, span);
        field
    }
}

/// Whether digits that follow would belong to a variable's name.
fn ends_in_name(text: &str) -> bool {
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let before = text.trim_end_matches(is_name).len();
    text.get(before..).is_some_and(|name| {
        name.starts_with(|first: char| is_name(first) && !first.is_ascii_digit())
    })
}

/// Whether arithmetic can be evaluated without a fault: numbers and names with plain operators between.
fn is_sure(text: &str) -> bool {
    let mut rest = text.trim();
    let (mut open, mut after_operand, mut after_name) = (0_usize, false, false);
    while let Some(first) = rest.chars().next() {
        let word =
            rest.find(|end: char| !end.is_ascii_alphanumeric() && end != '_').unwrap_or(rest.len());
        let length = match first {
            ' ' | '\t' | '\n' => 1,
            '(' if !after_operand => {
                open += 1;
                1
            }
            ')' if after_operand && open > 0 => {
                open -= 1;
                after_name = false;
                1
            }
            '-' | '+' | '!' | '~' if !after_operand => 1,
            _ if word > 0 && !after_operand => {
                let number = first.is_ascii_digit();
                let (digits, _) = rest.split_at(word);
                if number
                    && (word > 18
                        || (word > 1 && first == '0')
                        || !digits.bytes().all(|byte| byte.is_ascii_digit()))
                {
                    return false;
                }
                after_operand = true;
                after_name = !number;
                word
            }
            _ if after_operand => {
                let operators = [
                    "++", "--", "&&", "||", "<=", ">=", "==", "!=", "+=", "-=", "=", "<", ">", "+",
                    "-", "*", "&", "|", "^",
                ];
                let Some(operator) =
                    operators.into_iter().find(|operator| rest.starts_with(operator))
                else {
                    return false;
                };
                let assigns = matches!(operator, "++" | "--" | "=" | "+=" | "-=");
                if assigns && !after_name {
                    return false;
                }
                after_operand = matches!(operator, "++" | "--");
                after_name = false;
                operator.len()
            }
            _ => return false,
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    open == 0 && (after_operand || text.trim().is_empty())
}
