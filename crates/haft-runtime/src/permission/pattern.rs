//! Patterns of rules: `*`, `?`, and everything else as it stands.

use std::fmt;
use std::slice::Iter;
use std::str::Chars;

/// What a rule covers: a text with wildcards, compared with the whole of a value.
///
/// `*` stands for any run of characters, `/` and line ends included; `?` for any one character; all
/// else for itself. A pattern that ends in a blank and `*` also matches without both, so that
/// `git *` covers `git` and `git status`, but not `gitk`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    written: String,
    /// What every match begins with. With `suffix`, it turns most texts away without a search.
    prefix: String,
    middle: Vec<Token>,
    /// The longest text within `middle` that every match has: a quick no to most texts.
    needle: String,
    suffix: String,
    /// Whether the blank and `*` at the end of `middle` may be missing.
    optional_tail: bool,
}

/// One step of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// `*`; never two in a row.
    Any,
    /// `?`
    One,
    /// Itself.
    Literal(char),
}

impl Pattern {
    /// Reads a pattern. Every text is one.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut tokens = tokenise(text);
        let optional_tail = text.ends_with(" *");
        let first_wild = tokens.iter().position(|token| token.is_wild()).unwrap_or(tokens.len());
        let tail = if optional_tail { tokens.len().saturating_sub(2) } else { tokens.len() };
        let mut middle = tokens.split_off(first_wild.min(tail));
        let suffix = if optional_tail {
            Vec::new()
        } else {
            let wild = middle.iter().rposition(|token| token.is_wild());
            middle.split_off(wild.map_or(0, |last| last + 1))
        };
        let optional = if optional_tail { 2 } else { 0 };
        let needle = longest_literal(middle.get(..middle.len().saturating_sub(optional)));
        Self {
            written: text.to_owned(),
            prefix: literal_text(&tokens),
            middle,
            needle,
            suffix: literal_text(&suffix),
            optional_tail,
        }
    }

    /// Reads a pattern in which a leading `~`, `$HOME` or `${HOME}` stands for `home`. It must be
    /// followed by `/` or nothing: `~user` stays as it is. Wildcards in `home` itself are literal.
    #[must_use]
    pub fn expanded(text: &str, home: Option<&str>) -> Self {
        let (Some(rest), Some(home)) = (after_home(text), home.filter(|home| !home.is_empty()))
        else {
            return Self::new(text);
        };
        let below = Self::new(rest);
        Self { written: text.to_owned(), prefix: joined(home, &below.prefix), ..below }
    }

    /// The same pattern below the canonical form of the directory that it names, where that is
    /// another one: paths are compared canonically, and people write the links they know.
    ///
    /// `resolve` is asked for the longest literal directory first, then for those above it, since
    /// a rule may well speak of what does not exist yet.
    #[must_use]
    pub fn resolved(&self, resolve: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        if !self.prefix.starts_with('/') {
            return None;
        }
        let whole = self.is_literal().then_some(self.prefix.len());
        let folders = self.prefix.rmatch_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
        let (folder, rest, canonical) = whole.into_iter().chain(folders).find_map(|at| {
            let (folder, rest) = self.prefix.split_at_checked(at)?;
            Some((folder, rest, resolve(folder)?))
        })?;
        if canonical == folder {
            return None;
        }
        Some(Self { prefix: joined(&canonical, rest), ..self.clone() })
    }

    /// Whether the whole of `text` fits. Takes time of at most the product of both lengths.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        if self.is_literal() {
            return text == self.prefix;
        }
        self.without_ends(text).is_some_and(|rest| {
            if !self.needle.is_empty() && !rest.contains(&self.needle) {
                return false;
            }
            fits(&self.middle, rest) || self.without_tail().is_some_and(|head| fits(head, rest))
        })
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// What every match begins with: the text before the first wildcard, without the blank that an
    /// optional tail may leave out.
    #[must_use]
    pub fn literal_prefix(&self) -> &str {
        &self.prefix
    }

    /// The longest text that every match has in it.
    pub(super) fn longest_text(&self) -> &str {
        let texts = [&self.prefix, &self.needle, &self.suffix];
        texts.into_iter().max_by_key(|text| text.len()).map_or("", String::as_str)
    }

    /// What every match ends with.
    pub(super) fn literal_suffix(&self) -> &str {
        if self.is_literal() { &self.prefix } else { &self.suffix }
    }

    /// Whether it matches one text only.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.middle.is_empty()
    }

    /// Whether it is written `*`, the one way to say that everything is meant.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.written == "*"
    }

    /// Its steps, from end to end.
    pub(super) fn tokens(&self) -> Vec<Token> {
        let prefix = self.prefix.chars().map(Token::Literal);
        let suffix = self.suffix.chars().map(Token::Literal);
        prefix.chain(self.middle.iter().copied()).chain(suffix).collect()
    }

    /// Whether its last two steps may be missing.
    pub(super) fn has_optional_tail(&self) -> bool {
        self.optional_tail
    }

    /// What `text` has between prefix and suffix. Empty ends are left alone: reading no bytes through
    /// an empty string's dangling pointer costs some processors 40 ns.
    fn without_ends<'a>(&self, text: &'a str) -> Option<&'a str> {
        let rest = match self.prefix.as_str() {
            "" => text,
            prefix => text.strip_prefix(prefix)?,
        };
        match self.suffix.as_str() {
            "" => Some(rest),
            suffix => rest.strip_suffix(suffix),
        }
    }

    /// The middle without the blank and `*`, if those may be missing.
    fn without_tail(&self) -> Option<&[Token]> {
        match self.middle.as_slice() {
            [head @ .., Token::Literal(' '), Token::Any] if self.optional_tail => Some(head),
            _ => None,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl Token {
    /// Whether it stands for more than one character's worth of choice.
    pub(super) fn is_wild(self) -> bool {
        !matches!(self, Self::Literal(_))
    }
}

/// What follows the home directory in `text`, if it begins there.
pub(super) fn after_home(text: &str) -> Option<&str> {
    ["~", "$HOME", "${HOME}"]
        .iter()
        .find_map(|name| text.strip_prefix(name))
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `folder` with `rest` below it; `rest` is empty or begins with `/`.
fn joined(folder: &str, rest: &str) -> String {
    let path = format!("{}{rest}", folder.trim_end_matches('/'));
    if path.is_empty() { "/".to_owned() } else { path }
}

fn tokenise(text: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '*' if tokens.last() == Some(&Token::Any) => {}
            '*' => tokens.push(Token::Any),
            '?' => tokens.push(Token::One),
            literal => tokens.push(Token::Literal(literal)),
        }
    }
    tokens
}

fn literal_text(tokens: &[Token]) -> String {
    let literal = |token: &Token| match token {
        Token::Literal(character) => Some(*character),
        Token::Any | Token::One => None,
    };
    tokens.iter().filter_map(literal).collect()
}

/// The longest text between two wildcards.
fn longest_literal(tokens: Option<&[Token]>) -> String {
    let runs = tokens.unwrap_or_default().split(|token| token.is_wild());
    runs.max_by_key(|run| run.len()).map(literal_text).unwrap_or_default()
}

/// Walks tokens and text side by side. On a mismatch only the last `*` needs to take one character
/// more: what an earlier one could take, the last one can take as well.
fn fits(tokens: &[Token], text: &str) -> bool {
    let mut steps = tokens.iter();
    let mut rest = text.chars();
    let mut last_star: Option<(Iter<'_, Token>, Chars<'_>)> = None;
    loop {
        let (mut next_steps, mut next_rest) = (steps.clone(), rest.clone());
        let fitting = match (next_steps.next(), next_rest.next()) {
            (Some(Token::Any), _) => {
                let Some(found) = seek(&next_steps, &rest) else {
                    return false;
                };
                last_star = Some((next_steps.clone(), found.clone()));
                (steps, rest) = (next_steps, found);
                continue;
            }
            (None, None) => return true,
            (Some(_), None) => return false,
            (Some(Token::One), Some(_)) => true,
            (Some(Token::Literal(wanted)), Some(found)) => *wanted == found,
            // What is left of the text can only belong to a star at the very end.
            (None, Some(_)) if tokens.last() == Some(&Token::Any) => return true,
            (None, Some(_)) => false,
        };
        if fitting {
            (steps, rest) = (next_steps, next_rest);
        } else {
            let Some((after_star, taken)) = &mut last_star else {
                return false;
            };
            taken.next();
            let Some(found) = seek(after_star, taken) else {
                return false;
            };
            *taken = found;
            (steps, rest) = (after_star.clone(), taken.clone());
        }
    }
}

/// The first place in `rest` where what comes after a star can begin.
fn seek<'a>(after_star: &Iter<'_, Token>, rest: &Chars<'a>) -> Option<Chars<'a>> {
    match after_star.as_slice().first() {
        Some(Token::Literal(wanted)) => {
            let text = rest.as_str();
            Some(text.get(text.find(*wanted)?..)?.chars())
        }
        _ => Some(rest.clone()),
    }
}

#[cfg(test)]
pub(in crate::permission) mod tests;
