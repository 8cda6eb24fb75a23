//! What a script for `sed` does.

/// Something that a sed script does beyond editing lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    Reads(String),
    Writes(String),
    /// It runs commands, or it is not understood.
    Unclear,
}

/// What `script` does beyond editing lines.
pub(crate) fn deeds(script: &str) -> Vec<Deed> {
    let mut reader = Reader {
        rest: script.chars().collect::<Vec<_>>().into_iter().peekable(),
        deeds: Vec::new(),
    };
    if reader.commands().is_none() {
        reader.deeds.push(Deed::Unclear);
    }
    reader.deeds
}

struct Reader {
    rest: std::iter::Peekable<std::vec::IntoIter<char>>,
    deeds: Vec<Deed>,
}

impl Reader {
    /// `None` where something is not understood.
    fn commands(&mut self) -> Option<()> {
        loop {
            self.skip(|character| character.is_whitespace() || character == ';');
            if self.rest.peek().is_none() {
                return Some(());
            }
            self.address()?;
            self.skip(|character| matches!(character, ' ' | '\t' | '!'));
            self.command()?;
        }
    }

    fn skip(&mut self, passed: impl Fn(char) -> bool) {
        while self.rest.next_if(|character| passed(*character)).is_some() {}
    }

    fn address(&mut self) -> Option<()> {
        loop {
            match self.rest.peek()? {
                '0'..='9' | '$' | '~' | '+' | ',' | ' ' => {
                    self.rest.next();
                }
                '/' => {
                    self.rest.next();
                    self.until('/')?;
                    self.skip(|character| matches!(character, 'I' | 'M'));
                }
                '\\' => {
                    self.rest.next();
                    let mark = self.rest.next()?;
                    self.until(mark)?;
                    self.skip(|character| matches!(character, 'I' | 'M'));
                }
                _ => return Some(()),
            }
        }
    }

    /// The text up to `mark`, which may be quoted or stand in brackets.
    fn until(&mut self, mark: char) -> Option<()> {
        if mark == '\n' || mark == '\\' {
            return None;
        }
        loop {
            match self.rest.next()? {
                '\\' => {
                    self.rest.next()?;
                }
                // A mark inside of brackets is read differently by different versions.
                '[' => {
                    let mut first = true;
                    loop {
                        match self.rest.next()? {
                            ']' if !first => break,
                            '^' if first => continue,
                            other if other == mark || other == '[' || other == '\\' => {
                                return None;
                            }
                            _ => first = false,
                        }
                    }
                }
                other if other == mark => return Some(()),
                _ => {}
            }
        }
    }

    /// The replacement or list up to `mark`, in which brackets mean nothing.
    fn plain_until(&mut self, mark: char) -> Option<()> {
        loop {
            match self.rest.next()? {
                '\\' => {
                    self.rest.next()?;
                }
                other if other == mark => return Some(()),
                _ => {}
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        while let Some(character) = self.rest.next_if(|character| *character != '\n') {
            line.push(character);
        }
        line.trim().to_owned()
    }

    fn command(&mut self) -> Option<()> {
        match self.rest.next()? {
            'p' | 'd' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'D' | 'P' | '=' | 'z' | 'F'
            | '{' => Some(()),
            '}' => Some(()),
            'q' | 'Q' | 'l' | 'L' => {
                self.skip(|character| character == ' ' || character.is_ascii_digit());
                Some(())
            }
            ':' | 'b' | 't' | 'T' => {
                self.skip(|character| character == ' ');
                self.skip(|character| {
                    !character.is_whitespace() && !matches!(character, ';' | '}')
                });
                self.skip(|character| character == ' ');
                self.rest.peek().is_none_or(|next| matches!(next, '\n' | ';' | '}')).then_some(())
            }
            'a' | 'i' | 'c' => self.text(),
            '#' => {
                self.line();
                Some(())
            }
            's' => self.substitution(),
            'y' => {
                let mark = self.rest.next().filter(|mark| *mark != '\n' && *mark != '\\')?;
                self.plain_until(mark)?;
                self.plain_until(mark)
            }
            'r' | 'R' => {
                let file = self.line();
                self.deeds.push(Deed::Reads(file));
                Some(())
            }
            'w' | 'W' => {
                let file = self.line();
                self.deeds.push(Deed::Writes(file));
                Some(())
            }
            _ => None,
        }
    }

    /// Text to add: up to a line end that has no backslash before it.
    fn text(&mut self) -> Option<()> {
        loop {
            match self.rest.next() {
                None | Some('\n') => return Some(()),
                Some('\\') => {
                    self.rest.next();
                }
                Some(_) => {}
            }
        }
    }

    fn substitution(&mut self) -> Option<()> {
        let mark = self.rest.next().filter(|mark| *mark != '\n' && *mark != '\\')?;
        self.until(mark)?;
        self.plain_until(mark)?;
        loop {
            match self.rest.peek() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                    self.rest.next();
                }
                Some('w') => {
                    self.rest.next();
                    let file = self.line();
                    self.deeds.push(Deed::Writes(file));
                    return Some(());
                }
                Some('e') => return None,
                _ => return Some(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Deed, deeds};

    #[test]
    fn plain_editing_does_nothing_else() {
        for script in [
            "1,80p",
            "10,20p",
            "s/a/b/g",
            "/x/d",
            "s|a|b|;s,c,d,gI",
            "$!N;P;D",
            "/a/,/b/{s/x/y/;p}",
            "2q",
            "s/[^,]*//",
            "y/abc/xyz/",
            "a\\\ntext e w x",
            "/re/I!d",
            "s/e/w/",
            ":a;N;$!ba;s/\\n/ /g",
            "1~2d",
        ] {
            assert_eq!(deeds(script), [], "{script}");
        }
    }

    #[test]
    fn running_reading_and_writing_are_seen() {
        for script in
            ["1e canary", "s/a/b/e", "e", "s/a/b/ge", "1!e x", "/x/e y", "$e", "v\ne", "s/a/b/eg"]
        {
            assert!(deeds(script).contains(&Deed::Unclear), "{script}");
        }
        assert_eq!(deeds("w /out"), [Deed::Writes("/out".into())]);
        assert_eq!(deeds("s/a/b/w /out"), [Deed::Writes("/out".into())]);
        assert_eq!(deeds("1r .env"), [Deed::Reads(".env".into())]);
        assert_eq!(deeds("/x/{s/y/z/\nw out\n}"), [Deed::Writes("out".into())]);
    }
}
