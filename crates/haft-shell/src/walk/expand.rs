//! Expands words: braces, tildes, parameters, substitutions, splitting, wildcards.

use super::Walk;
use super::builtin::is_plain_name;
use super::value::{Atom, Field, push_globbed};
use crate::syntax::{Change, Parameter, Piece, Span, Word};

/// How many words braces may make.
const MOST_BRACES: usize = 256;
/// How long a word with braces may be.
const MOST_BRACED: usize = 1_024;

/// Words in the making.
#[derive(Default)]
struct Fields {
    done: Vec<Field>,
    current: Option<Field>,
}

impl Fields {
    fn current(&mut self) -> &mut Field {
        self.current.get_or_insert_default()
    }

    fn split(&mut self) {
        self.done.extend(self.current.take());
    }

    fn finish(mut self) -> Vec<Field> {
        self.split();
        self.done
    }
}

impl Walk<'_> {
    /// The words that `word` becomes. Commands inside it are walked on the way.
    pub(super) fn fields(&mut self, word: &Word) -> Vec<Field> {
        match braces(word) {
            Braces::None => {}
            Braces::Words(words) => {
                return words.into_iter().map(|runs| self.field_of(&runs)).collect();
            }
            Braces::Unclear => {
                self.unsplit(word);
                return vec![Field::unknown_words(&self.excerpt(word.span))];
            }
        }
        let mut fields = Fields::default();
        let assigns = assigned(word).is_some();
        for (index, piece) in word.pieces.iter().enumerate() {
            let more_follows = index + 1 < word.pieces.len();
            match piece {
                Piece::Text { text, quoted: false } if assigns && text.contains(":~") => {
                    fields.current().push(Atom::Unknown(text.to_owned()));
                }
                Piece::Text { text, quoted: false } => {
                    let text = match assigned(word).filter(|_| index == 0) {
                        Some((name, value)) => {
                            push_globbed(fields.current(), name, more_follows);
                            self.tilde(value, more_follows, fields.current())
                        }
                        None if index == 0 => self.tilde(text, more_follows, fields.current()),
                        None => text,
                    };
                    push_globbed(fields.current(), text, more_follows);
                }
                Piece::Parameter { parameter, quoted: false } => {
                    let value = self.parameter(parameter, false);
                    self.split_into(&mut fields, value);
                }
                Piece::Substitution { list, quoted: false } => {
                    self.apart(|walk| walk.list(list));
                    let shown = self.excerpt(word.span);
                    let field = fields.current();
                    field.push(Atom::Unknown(shown));
                    field.many = true;
                }
                _ => self.append(fields.current(), piece, word.span),
            }
        }
        fields.finish()
    }

    /// The one text that `word` becomes where words are not split: in assignments and quotes.
    pub(super) fn unsplit(&mut self, word: &Word) -> Field {
        self.unsplit_after("", word)
    }

    /// The same of `name=value`, as it is given to `export`.
    pub(super) fn unsplit_assignment(&mut self, word: &Word) -> Field {
        self.unsplit_after(assigned(word).map_or("", |(name, _)| name), word)
    }

    /// The same, where a `~` counts that stands after `name`, with which the word begins.
    fn unsplit_after(&mut self, name: &str, word: &Word) -> Field {
        let mut field = Field::default();
        if !name.is_empty() {
            field.push(Atom::Text(name.to_owned()));
        }
        for (index, piece) in word.pieces.iter().enumerate() {
            match piece {
                Piece::Text { text, quoted: false } => {
                    let more = index + 1 < word.pieces.len();
                    let text = if index == 0 {
                        self.tilde(text.strip_prefix(name).unwrap_or(text), more, &mut field)
                    } else {
                        text
                    };
                    if text.contains(":~") {
                        field.push(Atom::Unknown(text.to_owned()));
                    } else {
                        field.push(Atom::Text(text.to_owned()));
                    }
                }
                _ => self.append(&mut field, piece, word.span),
            }
        }
        field
    }

    /// Appends what a piece becomes inside quotes.
    pub(super) fn append(&mut self, field: &mut Field, piece: &Piece, span: Span) {
        match piece {
            Piece::Text { text, .. } => field.push(Atom::Text(text.clone())),
            Piece::Parameter { parameter, .. } => {
                let value = self.parameter(parameter, true);
                field.many |= value.many;
                for atom in value.atoms {
                    field.push(atom);
                }
            }
            Piece::Substitution { list, .. } => {
                self.apart(|walk| walk.list(list));
                field.push(Atom::Unknown(self.excerpt(span)));
            }
            Piece::Arithmetic(pieces) => {
                self.arithmetic(pieces, span);
                field.push(Atom::Number(self.excerpt(span)));
            }
            Piece::Process(list) => {
                self.apart(|walk| walk.list(list));
                field.push(Atom::Text("/dev/fd/".to_owned()));
                field.push(Atom::Number("63".to_owned()));
            }
            Piece::Array(words) => {
                for word in words {
                    self.fields(word);
                }
                field.push(Atom::Unknown(self.excerpt(span)));
            }
        }
    }

    /// A leading `~`, expanded into `field`; what is left of `text` is the answer.
    fn tilde<'t>(&self, text: &'t str, more_follows: bool, field: &mut Field) -> &'t str {
        let Some(rest) = text.strip_prefix('~') else {
            return text;
        };
        let plain = rest.starts_with('/') || (rest.is_empty() && !more_follows);
        let home = self.state.variables.get("HOME").and_then(Field::literal);
        match home.filter(|home| plain && home.starts_with('/')) {
            Some(home) => {
                field.push(Atom::Text(home.trim_end_matches('/').to_owned()));
                rest
            }
            None => {
                field.push(Atom::Unknown("~".to_owned()));
                rest
            }
        }
    }

    /// Splits a value that is not quoted, as the shell does it.
    fn split_into(&mut self, fields: &mut Fields, value: Field) {
        let certain = !value.many && !self.state.own_separators;
        match value.atoms.as_slice() {
            [] if certain => {}
            [Atom::Number(_)] if certain => {
                for atom in value.atoms {
                    fields.current().push(atom);
                }
            }
            [Atom::Text(text)] if certain => {
                let is_blank = |character| matches!(character, ' ' | '\t' | '\n');
                if text.starts_with(is_blank) {
                    fields.split();
                }
                for (index, part) in
                    text.split(is_blank).filter(|part| !part.is_empty()).enumerate()
                {
                    if index > 0 {
                        fields.split();
                    }
                    push_globbed(fields.current(), part, true);
                }
                if text.ends_with(is_blank) {
                    fields.split();
                }
            }
            _ => {
                let shown = value.shown();
                let field = fields.current();
                field.push(Atom::Unknown(shown));
                field.many = true;
            }
        }
    }

    /// What a parameter stands for.
    fn parameter(&mut self, parameter: &Parameter, quoted: bool) -> Field {
        let Parameter { name, subscript, change, span } = parameter;
        if let Some(pieces) = subscript {
            self.arithmetic(pieces, *span);
            self.arrays.insert(name.clone());
        }
        let shown = self.excerpt(*span);
        let number = |shown: String| Field { atoms: vec![Atom::Number(shown)], many: false };
        match change {
            Change::Length => return number(shown),
            Change::None if matches!(name.as_str(), "#" | "?" | "$" | "!") => return number(shown),
            Change::Indirect => {
                self.doubt("a variable is used by a name that another variable holds", *span);
            }
            Change::Transform(letter) if !"QUuLaAKkE".contains(*letter) => {
                self.doubt(
                    "a variable's value is expanded once more, which can run commands",
                    *span,
                );
            }
            Change::Default(word) => {
                self.operand(word, quoted);
            }
            Change::AssignDefault(word) => {
                self.operand(word, quoted);
                self.check_assigned(name, false, *span);
                self.assign(name, Field::unknown(&shown));
            }
            Change::Edit(words) => {
                for word in words {
                    self.operand(word, quoted);
                }
            }
            Change::Slice(pieces) => self.arithmetic(pieces, *span),
            Change::None | Change::Names | Change::Transform(_) => {}
        }
        let plain = subscript.is_none() && matches!(change, Change::None);
        let many =
            matches!(name.as_str(), "@" | "*") || subscript.as_ref().is_some_and(Vec::is_empty);
        if many {
            return Field::unknown_words(&shown);
        }
        match (plain, name.as_str()) {
            (true, "PWD") => match self.state.cwd.as_slice() {
                [one] if !self.state.any_variable => Field::text(&one.to_string_lossy()),
                _ => Field::unknown(&shown),
            },
            (true, _) => match self.state.variables.get(name) {
                Some(value) => value.clone(),
                None => Field::unknown(&shown),
            },
            (false, _) => Field::unknown(&shown),
        }
    }

    /// A word inside `${…}`: only what it runs matters.
    fn operand(&mut self, word: &Word, quoted: bool) {
        if quoted {
            self.unsplit(word);
        } else {
            self.fields(word);
        }
    }

    /// Makes a word of what braces left: text that is quoted or not.
    fn field_of(&self, runs: &[(char, bool)]) -> Field {
        let mut field = Field::default();
        let mut rest = runs;
        let mut first = true;
        while let Some((_, quoted)) = rest.first() {
            let length = rest.iter().take_while(|(_, other)| other == quoted).count();
            let (run, after) = rest.split_at(length);
            let text: String = run.iter().map(|(character, _)| *character).collect();
            if *quoted {
                field.push(Atom::Text(text));
            } else {
                let text =
                    if first { self.tilde(&text, !after.is_empty(), &mut field) } else { &text };
                push_globbed(&mut field, text, !after.is_empty());
            }
            first = false;
            rest = after;
        }
        field
    }
}

/// A word that looks like an assignment: its name with the `=`, and the text behind, as far as neither is
/// quoted. The shell expands a `~` behind it wherever the word stands.
fn assigned(word: &Word) -> Option<(&str, &str)> {
    let Some(Piece::Text { text, quoted: false }) = word.pieces.first() else {
        return None;
    };
    let (name, value) = text.split_once('=')?;
    let plain = name.strip_suffix('+').unwrap_or(name);
    let plain = match plain.strip_suffix(']') {
        Some(_) => plain.split('[').next().unwrap_or(plain),
        None => plain,
    };
    is_plain_name(plain).then(|| (text.get(..=name.len()).unwrap_or_default(), value))
}

/// What braces make of a word.
enum Braces {
    /// There are none that would be expanded.
    None,
    /// These words, as characters that are quoted or not.
    Words(Vec<Vec<(char, bool)>>),
    /// More than is worked out here.
    Unclear,
}

fn braces(word: &Word) -> Braces {
    let unquoted = word.pieces.iter().filter_map(|piece| match piece {
        Piece::Text { text, quoted: false } => Some(text.as_str()),
        _ => None,
    });
    let bare: String = unquoted.collect();
    let has = |text: &str| bare.contains(text);
    if !(has("{") && has("}") && (has(",") || has(".."))) {
        return Braces::None;
    }
    let mut runs = Vec::new();
    for piece in &word.pieces {
        let Piece::Text { text, quoted } = piece else {
            return Braces::Unclear;
        };
        if text.is_empty() {
            return Braces::Unclear;
        }
        runs.extend(text.chars().map(|character| (character, *quoted)));
    }
    let count = |wanted: char| bare.chars().filter(|character| *character == wanted).count();
    if runs.len() > MOST_BRACED || has("..") || count('{') != count('}') {
        return Braces::Unclear;
    }
    let mut waiting = vec![runs];
    let mut words = Vec::new();
    while let Some(runs) = waiting.pop() {
        match expand_first(&runs) {
            Some(made) => waiting.extend(made.into_iter().rev()),
            None => words.push(runs),
        }
        if words.len() + waiting.len() > MOST_BRACES {
            return Braces::Unclear;
        }
    }
    // A word that braces leave empty is none.
    words.retain(|runs| !runs.is_empty());
    Braces::Words(words)
}

/// Expands the first pair of braces with a comma in it.
fn expand_first(runs: &[(char, bool)]) -> Option<Vec<Vec<(char, bool)>>> {
    for (start, open) in runs.iter().enumerate() {
        if *open != ('{', false) {
            continue;
        }
        let mut depth = 0_usize;
        let mut cuts = vec![start];
        for (at, run) in runs.iter().enumerate().skip(start + 1) {
            match run {
                ('{', false) => depth += 1,
                ('}', false) if depth > 0 => depth -= 1,
                (',', false) if depth == 0 => cuts.push(at),
                ('}', false) if cuts.len() > 1 => {
                    cuts.push(at);
                    let before = runs.get(..start)?;
                    let after = runs.get(at + 1..)?;
                    let parts = cuts.windows(2).filter_map(|pair| match pair {
                        [from, to] => runs.get(from + 1..*to),
                        _ => None,
                    });
                    return Some(parts.map(|part| [before, part, after].concat()).collect());
                }
                ('}', false) => break,
                _ => {}
            }
        }
    }
    None
}
