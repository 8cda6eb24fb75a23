//! Whether what a command said last is a question that it waits to have answered.

/// Longest question that is told.
const LONGEST: usize = 200;

/// Words that ask for a secret, before a colon.
const SECRETS: [&str; 6] = ["password", "passphrase", "passcode", "pin", "username", "otp"];

/// Ends of a question that wants one of a few answers.
const CHOICES: [&str; 12] = [
    "[y/n]",
    "(y/n)",
    "[yes/no]",
    "(yes/no)",
    "y/n",
    "[y]",
    "[n]",
    "(yes/no/[fingerprint])",
    "[y/n/a]",
    "(y/n/a)",
    "(y)",
    "(n)",
];

/// Words of a question for a key.
const KEYS: [&str; 4] = ["press enter", "press any key", "press return", "hit enter"];

/// The question at the end of `said`, if there is one. A line that has ended asks nothing.
pub(crate) fn question(said: &[u8]) -> Option<String> {
    let start = memchr::memrchr2(b'\n', b'\r', said).map_or(0, |at| at + 1);
    let line = String::from_utf8_lossy(said.get(start..)?);
    let line = without_escapes(&line);
    let line = line.trim();
    let lower = line.to_lowercase();
    let bare = lower.trim_end_matches([':', '?', '>', ' ', '.']);
    let asks_for_secret = lower.ends_with(':') && SECRETS.iter().any(|word| lower.contains(word));
    let offers = CHOICES.iter().any(|end| bare.ends_with(end));
    let wants_key = KEYS.iter().any(|word| lower.contains(word));
    let plain = lower.ends_with('?') || lower.ends_with("? >");
    let asks = asks_for_secret || offers || wants_key || plain;
    asks.then(|| line.chars().take(LONGEST).collect())
}

/// The text without the sequences by which a terminal is coloured or moved.
fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '\u{1b}' {
            plain.extend(Some(character).filter(|character| !character.is_control()));
        } else if rest.next_if_eq(&'[').is_some() {
            while rest.next().is_some_and(|character| !('@'..='~').contains(&character)) {}
        } else {
            rest.next();
        }
    }
    plain
}

#[cfg(test)]
mod tests;
