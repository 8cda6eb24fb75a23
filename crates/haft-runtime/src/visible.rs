//! Text from strangers, shown so that nothing in it can hide, move the cursor, or forge a line.

/// Whether a character does something else than stand there: controls, direction marks, invisible tags.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// The text on one line, with everything hidden written out.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |shown, c| push(shown, c, false))
}

/// The text with its lines and tabs, and everything else that is hidden written out.
#[must_use]
pub fn plain_lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().fold(String::with_capacity(text.len()), |shown, c| push(shown, c, true))
}

fn push(mut shown: String, c: char, lines: bool) -> String {
    match c {
        '\n' | '\t' if lines => shown.push(c),
        c if is_hidden(c) => shown.extend(c.escape_default()),
        c => shown.push(c),
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_written_out() {
        assert_eq!(
            plain("a\u{1b}[2K\rb\u{202e}c\u{e0041}\n"),
            "a\\u{1b}[2K\\rb\\u{202e}c\\u{e0041}\\n"
        );
        assert_eq!(plain_lines("a\tb\r\n\u{9b}2J\r"), "a\tb\n\\u{9b}2J\\r");
        assert_eq!(plain("naïve 日本 👍"), "naïve 日本 👍");
    }
}
