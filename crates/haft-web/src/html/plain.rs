//! What was kept of a page as plain text.

use super::Out;

/// Collects words and line breaks.
pub(super) struct Plain {
    text: String,
    most: usize,
    /// What has to come before the next word.
    gap: Gap,
    /// Whether the mark of a list's item is all that its line has.
    at_mark: bool,
    /// Lists around the place, and the number of the last item of those that have numbers.
    lists: Vec<Option<u32>>,
}

/// What stands between two words. The greater wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    Nothing,
    Blank,
    Tab,
    Line,
    Paragraph,
}

impl Plain {
    pub(super) fn new(most: usize) -> Self {
        Self { text: String::new(), most, gap: Gap::Nothing, at_mark: false, lists: Vec::new() }
    }

    fn need(&mut self, gap: Gap) {
        if !self.at_mark {
            self.gap = self.gap.max(gap);
        }
    }

    fn write(&mut self, text: &str) {
        if self.is_full() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str(match self.gap {
                Gap::Nothing => "",
                Gap::Blank => " ",
                Gap::Tab => "\t",
                Gap::Line => "\n",
                Gap::Paragraph => "\n\n",
            });
        }
        self.gap = Gap::Nothing;
        self.at_mark = false;
        self.text.push_str(text);
    }

    fn item(&mut self) {
        self.at_mark = false;
        self.need(Gap::Line);
        let depth = self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        };
        self.write(&format!("{}{mark}", "  ".repeat(depth)));
        self.at_mark = true;
    }
}

impl Out for Plain {
    fn open(&mut self, name: &'static str, attributes: &[(&'static str, String)]) {
        let value =
            |wanted: &str| attributes.iter().find(|(name, _)| *name == wanted).map(|(_, it)| it);
        match name {
            "br" | "tr" => self.need(Gap::Line),
            "td" | "th" => self.need(Gap::Tab),
            "ul" | "ol" => {
                self.need(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
                let start = value("start").and_then(|text| text.parse::<u32>().ok()).unwrap_or(1);
                self.lists.push((name == "ol").then(|| start.saturating_sub(1)));
            }
            "li" => self.item(),
            "img" => {
                if let Some(alt) = value("alt") {
                    self.text(alt, false);
                }
            }
            "hr" | "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "pre" | "blockquote"
            | "table" => {
                self.break_block();
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &'static str) {
        match name {
            "ul" | "ol" => {
                self.lists.pop();
                self.need(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
            }
            "pre" => {
                self.text.truncate(self.text.trim_end_matches('\n').len());
                self.break_block();
            }
            "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "blockquote" | "table" => {
                self.break_block();
            }
            "li" | "tr" => self.need(Gap::Line),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, literal: bool) {
        if literal {
            return self.write(text);
        }
        if text.starts_with(|letter: char| letter.is_ascii_whitespace()) {
            self.need(Gap::Blank);
        }
        for word in text.split_ascii_whitespace() {
            self.write(word);
            self.need(Gap::Blank);
        }
        // Only a blank in the text separates its last word from what follows.
        if !text.ends_with(|letter: char| letter.is_ascii_whitespace()) && self.gap == Gap::Blank {
            self.gap = Gap::Nothing;
        }
    }

    fn break_block(&mut self) {
        self.need(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
    }

    fn is_full(&self) -> bool {
        self.text.len() > self.most
    }

    fn finish(mut self) -> String {
        let end = self.text.floor_char_boundary(self.most);
        self.text.truncate(end);
        self.text
    }
}
