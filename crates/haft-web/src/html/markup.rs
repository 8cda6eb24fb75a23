//! What was kept of a page as clean HTML, in pieces, each of which becomes Markdown.

use mdka::{ConversionMode, ConversionOptions, html_to_markdown_with};

use super::Out;

/// A piece is ended where nothing is open once it has this many bytes.
const ENOUGH: usize = 32 * 1024;
/// A piece is ended wherever it is once it has this many bytes, or elements.
const TOO_MUCH: usize = 256 * 1024;
const TOO_MANY: usize = 8 * 1024;

/// Stands for `&` in addresses, which the library would escape. No text has this character: it is
/// none, by definition.
const AMPERSAND: char = '\u{fdd0}';

/// Collects clean HTML and turns it into Markdown piece by piece.
pub(super) struct Markup {
    piece: String,
    elements: usize,
    /// Whether nothing came since the last break.
    broken: bool,
    ready: Vec<String>,
    markdown: String,
    most: usize,
    options: ConversionOptions,
}

impl Markup {
    pub(super) fn new(most: usize) -> Self {
        let mode = ConversionMode::Minimal;
        let options = ConversionOptions::for_mode(mode).drop_interactive_shell(false);
        Self {
            piece: String::new(),
            elements: 0,
            broken: true,
            ready: Vec::new(),
            markdown: String::new(),
            most,
            options,
        }
    }

    fn escape(&mut self, text: &str) {
        for letter in text.chars() {
            match letter {
                '&' => self.piece.push_str("&amp;"),
                '<' => self.piece.push_str("&lt;"),
                '>' => self.piece.push_str("&gt;"),
                '"' => self.piece.push_str("&quot;"),
                AMPERSAND => self.piece.push('\u{fffd}'),
                other => self.piece.push(other),
            }
        }
    }
}

impl Out for Markup {
    fn open(&mut self, name: &'static str, attributes: &[(&'static str, String)]) {
        self.broken = false;
        self.elements += 1;
        self.piece.push('<');
        self.piece.push_str(name);
        for (name, value) in attributes {
            self.piece.push(' ');
            self.piece.push_str(name);
            self.piece.push_str("=\"");
            if matches!(*name, "href" | "src") {
                // Brackets would be escaped too.
                let plain = value.replace('(', "%28").replace(')', "%29").replace('"', "%22");
                self.piece.push_str(&plain.replace('&', &AMPERSAND.to_string()));
            } else {
                self.escape(value);
            }
            self.piece.push('"');
        }
        self.piece.push('>');
    }

    fn close(&mut self, name: &'static str) {
        self.piece.push_str("</");
        self.piece.push_str(name);
        self.piece.push('>');
    }

    fn text(&mut self, text: &str, _literal: bool) {
        self.broken &= text == " ";
        self.escape(text);
    }

    fn break_block(&mut self) {
        if !self.broken {
            self.broken = true;
            self.piece.push_str("<div></div>");
        }
    }

    fn may_cut(&mut self) {
        if self.piece.len() >= ENOUGH {
            self.cut();
        }
    }

    fn must_cut(&self) -> bool {
        self.piece.len() >= TOO_MUCH || self.elements >= TOO_MANY
    }

    fn cut(&mut self) {
        self.elements = 0;
        self.broken = true;
        let piece = std::mem::take(&mut self.piece);
        self.ready.extend((!piece.trim().is_empty()).then_some(piece));
        // Whoever closes everything has a lot behind it; waiting longer would only keep it in memory.
        self.settle();
    }

    fn settle(&mut self) {
        for piece in std::mem::take(&mut self.ready) {
            if self.is_full() {
                return;
            }
            let markdown = html_to_markdown_with(&piece, &self.options);
            let markdown = markdown.trim_matches('\n');
            if !markdown.trim().is_empty() {
                if !self.markdown.is_empty() {
                    self.markdown.push_str("\n\n");
                }
                self.markdown.push_str(&markdown.replace(AMPERSAND, "&"));
            }
        }
    }

    fn is_full(&self) -> bool {
        self.markdown.len() > self.most
    }

    fn finish(mut self) -> String {
        self.cut();
        let end = self.markdown.floor_char_boundary(self.most);
        self.markdown.truncate(end);
        self.markdown
    }
}
