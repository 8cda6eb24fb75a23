//! What is known of a word's text once the shell has expanded it.

/// How long a value may be, in bytes.
const LONGEST: usize = 4 * 1024;

/// A part of an expanded word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Atom {
    /// Exactly this.
    Text(String),
    /// A wildcard that the shell replaces by names of files.
    Wild(String),
    /// A whole number.
    Number(String),
    /// Anything; how it is written in the script.
    Unknown(String),
}

/// A word after expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) atoms: Vec<Atom>,
    /// Whether it may be no word, or several.
    pub(crate) many: bool,
}

impl Field {
    pub(crate) fn text(text: &str) -> Self {
        Self { atoms: vec![Atom::Text(text.to_owned())], many: false }
    }

    pub(crate) fn unknown(shown: &str) -> Self {
        Self { atoms: vec![Atom::Unknown(shown.to_owned())], many: false }
    }

    /// Any number of unknown words.
    pub(crate) fn unknown_words(shown: &str) -> Self {
        Self { many: true, ..Self::unknown(shown) }
    }

    /// Whether nothing of it is certain.
    pub(crate) fn is_wholly_unknown(&self) -> bool {
        matches!(self.atoms.as_slice(), [Atom::Unknown(_)])
    }

    /// Whether names of files may take its place.
    pub(crate) fn is_pattern(&self) -> bool {
        self.atoms.iter().any(|atom| matches!(atom, Atom::Wild(_)))
    }

    /// Whether it is short enough to be kept in mind.
    pub(crate) fn is_short(&self) -> bool {
        self.atoms.iter().map(|atom| atom.shown().len()).sum::<usize>() <= LONGEST
    }

    pub(crate) fn push(&mut self, atom: Atom) {
        match (self.atoms.last_mut(), atom) {
            (Some(Atom::Text(before)), Atom::Text(text)) => before.push_str(&text),
            (Some(Atom::Unknown(before)), Atom::Unknown(shown)) => before.push_str(&shown),
            (_, atom) => self.atoms.push(atom),
        }
    }

    /// The one text that it is, if that is certain.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.atoms.as_slice() {
            _ if self.many => None,
            [] => Some(""),
            [Atom::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// How it is shown: unknown parts as they are written.
    pub(crate) fn shown(&self) -> String {
        self.atoms.iter().map(Atom::shown).collect()
    }

    /// The certain text at its beginning.
    pub(crate) fn prefix(&self) -> &str {
        match self.atoms.first() {
            Some(Atom::Text(text)) => text,
            _ => "",
        }
    }

    /// Without `bytes` of the certain text at its beginning.
    pub(crate) fn without_prefix(&self, bytes: usize) -> Self {
        let mut rest = self.clone();
        if let Some(Atom::Text(text)) = rest.atoms.first_mut() {
            *text = text.get(bytes..).unwrap_or_default().to_owned();
        }
        rest
    }

    /// Whether nothing of it is certain at its beginning, so that it may be an option.
    pub(crate) fn may_be_option(&self) -> bool {
        let open = matches!(self.atoms.first(), Some(Atom::Wild(_) | Atom::Unknown(_)));
        open || self.prefix().starts_with('-')
            || (self.prefix().is_empty()
                && self.atoms.len() > 1
                && self.atoms.get(1).is_some_and(|atom| !matches!(atom, Atom::Number(_))))
    }

    /// Whether any part of it may be anything at all.
    pub(crate) fn is_open(&self) -> bool {
        self.many || self.atoms.iter().any(|atom| matches!(atom, Atom::Unknown(_)))
    }

    /// Whether it may hold `character`.
    pub(crate) fn may_contain(&self, character: char) -> bool {
        self.atoms.iter().any(|atom| match atom {
            Atom::Text(text) => text.contains(character),
            Atom::Number(_) => false,
            Atom::Wild(_) | Atom::Unknown(_) => true,
        })
    }

    /// Whether it may be exactly `text`.
    pub(crate) fn may_be(&self, text: &str) -> bool {
        match self.literal() {
            Some(literal) => literal == text,
            None => self.many || text.starts_with(self.prefix()),
        }
    }

    /// Whether it is a whole number for sure.
    pub(crate) fn is_number(&self) -> bool {
        let digits = |text: &str| {
            let text = text.strip_prefix('-').unwrap_or(text);
            !text.is_empty() && text.len() < 19 && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        match self.atoms.as_slice() {
            _ if self.many => false,
            [Atom::Number(_)] => true,
            [Atom::Text(text)] => digits(text),
            _ => false,
        }
    }

    /// What is still certain where it may be this or `other`.
    pub(crate) fn joined(&self, other: &Self, name: &str) -> Self {
        if self == other {
            self.clone()
        } else if self.is_number() && other.is_number() {
            Self { atoms: vec![Atom::Number(format!("${name}"))], many: false }
        } else {
            Self::unknown(&format!("${name}"))
        }
    }
}

impl Atom {
    pub(crate) fn shown(&self) -> &str {
        match self {
            Self::Text(text) | Self::Wild(text) | Self::Number(text) | Self::Unknown(text) => text,
        }
    }
}

/// Appends unquoted text, in which `*`, `?` and `[…]` are wildcards.
pub(crate) fn push_globbed(field: &mut Field, text: &str, more_follows: bool) {
    let mut rest = text;
    while let Some(at) = rest.find(['*', '?', '[']) {
        let (plain, from) = rest.split_at(at);
        if !plain.is_empty() {
            field.push(Atom::Text(plain.to_owned()));
        }
        let length = if from.starts_with('[') {
            match from.find(']') {
                Some(end) => end + 1,
                None if more_follows => 1,
                None => {
                    field.push(Atom::Text(from.to_owned()));
                    return;
                }
            }
        } else {
            1
        };
        let (wild, after) = from.split_at(length);
        field.push(Atom::Wild(wild.to_owned()));
        rest = after;
    }
    if !rest.is_empty() {
        field.push(Atom::Text(rest.to_owned()));
    }
}
