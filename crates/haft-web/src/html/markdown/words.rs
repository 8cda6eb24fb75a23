//! Words as Markdown reads them back.

/// A word as Markdown reads it back; `before` is the letter before it.
pub(super) fn escaped(word: &str, before: char) -> String {
    let mut out = String::with_capacity(word.len());
    let mut before = before;
    let mut letters = word.chars().peekable();
    while let Some(letter) = letters.next() {
        let after = letters.peek().copied().unwrap_or(' ');
        let special = match letter {
            '\\' | '`' | '[' => true,
            '*' => before != ' ' || after != ' ',
            // Within a word it is one of its letters.
            '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            '~' => after == '~',
            '<' => after.is_ascii_alphabetic() || matches!(after, '/' | '!'),
            _ => false,
        };
        if special {
            out.push('\\');
        }
        out.push(letter);
        before = letter;
    }
    out
}

/// A paragraph that no mark at its beginning makes something else.
pub(super) fn at_line_start(text: &str) -> String {
    let word = text.split([' ', '\n']).next().unwrap_or_default();
    let number = word.strip_suffix(['.', ')']).unwrap_or_default();
    let is_number =
        !number.is_empty() && number.len() < 10 && number.bytes().all(|it| it.is_ascii_digit());
    let is_mark = matches!(
        word,
        "-" | "+" | "#" | "##" | "###" | "####" | "#####" | "######" | "---" | "==="
    );
    if is_number {
        let end = word.len() - 1;
        let (before, after) = text.split_at(end);
        return format!("{before}\\{after}");
    }
    if is_mark || text.starts_with('>') { format!("\\{text}") } else { text.to_owned() }
}

/// Code within a line, between enough ticks.
pub(super) fn in_ticks(text: &str) -> String {
    let text = text.replace('\n', " ");
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{blank}{text}{blank}{ticks}")
}

/// A URL that ends where it should in `(…)`.
pub(super) fn plain_url(url: &str) -> String {
    url.replace('(', "%28").replace(')', "%29").replace('<', "%3C").replace('>', "%3E")
}

/// The language that a class names.
pub(super) fn language_of(class: &str) -> &str {
    class.strip_prefix("language-").or_else(|| class.strip_prefix("lang-")).unwrap_or_default()
}
