//! What was kept of a page as Markdown.

mod table;
mod words;

use super::Out;
use table::Table;
use words::{at_line_start, escaped, in_ticks, language_of, plain_url};

/// Writes Markdown as the page goes along.
pub(super) struct Markdown {
    out: String,
    most: usize,
    /// What stands at the beginning of every line: quotes and lists around the place.
    around: Vec<Around>,
    /// Lists around the place, and the number of the last item of those that have numbers.
    lists: Vec<Option<u32>>,
    /// What has to come before the next block.
    gap: Gap,
    /// The paragraph that is being written, and the parts of a sentence that are open in it.
    paragraph: String,
    spans: Vec<Span>,
    /// Whether the paragraph ends in a blank, or has not begun.
    after_blank: bool,
    /// What the paragraph is, if it is more than that.
    heading: Option<usize>,
    /// Code as it stands, with its language.
    code: Option<(String, String)>,
    table: Option<Table>,
}

/// A part of a sentence: emphasis, code or a link.
struct Span {
    name: &'static str,
    href: String,
    text: String,
}

/// A quote or an item of a list.
struct Around {
    /// What its first line begins with, until that is written.
    first: Option<String>,
    rest: String,
}

/// What stands between two blocks. The greater wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    Line,
    Paragraph,
}

impl Markdown {
    pub(super) fn new(most: usize) -> Self {
        Self {
            out: String::new(),
            most,
            around: Vec::new(),
            lists: Vec::new(),
            gap: Gap::Line,
            paragraph: String::new(),
            spans: Vec::new(),
            after_blank: true,
            heading: None,
            code: None,
            table: None,
        }
    }

    fn need(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Where words go now.
    fn words(&mut self) -> &mut String {
        match self.spans.last_mut() {
            Some(span) => &mut span.text,
            None => &mut self.paragraph,
        }
    }

    /// Ends the paragraph. What is open in it goes on in the next.
    fn end_paragraph(&mut self) {
        let mut inner = String::new();
        for span in self.spans.iter_mut().rev() {
            let text = std::mem::take(&mut span.text) + &inner;
            inner = span.wrapped(&text);
        }
        let text = std::mem::take(&mut self.paragraph) + &inner;
        self.after_blank = true;
        let text = text.trim_matches([' ', '\n']);
        if text.is_empty() {
            return;
        }
        match self.heading {
            Some(level) => {
                let line = text.replace("  \n", " ");
                self.block(&format!("{} {line}", "#".repeat(level)));
            }
            None => self.block(&at_line_start(text)),
        }
    }

    /// Writes lines, each with what stands around the place.
    fn block(&mut self, text: &str) {
        if self.is_full() {
            return;
        }
        if let Some(table) = &mut self.table {
            let mark = self.around.last_mut().and_then(|around| around.first.take());
            return table.add(&format!("{}{text}", mark.unwrap_or_default()));
        }
        if !self.out.is_empty() {
            self.out.push('\n');
            if self.gap == Gap::Paragraph {
                let blank: String = self.around.iter().map(Around::between).collect();
                self.out.push_str(blank.trim_end());
                self.out.push('\n');
            }
        }
        self.gap = Gap::Line;
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.out.push('\n');
            }
            let begin = self.out.len();
            for around in &mut self.around {
                self.out.push_str(&around.first.take().unwrap_or_else(|| around.rest.clone()));
            }
            if line.is_empty() {
                let end = self.out.trim_end_matches(' ').len().max(begin);
                self.out.truncate(end);
            }
            self.out.push_str(line);
        }
    }

    fn begin_item(&mut self) {
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        };
        self.need(Gap::Line);
        let rest = " ".repeat(mark.len());
        self.around.push(Around { first: Some(mark), rest });
    }

    fn end_code(&mut self) {
        let Some((code, language)) = self.code.take() else { return };
        let code = code.strip_prefix('\n').unwrap_or(&code).trim_end();
        if code.trim().is_empty() {
            return;
        }
        if let Some(table) = &mut self.table {
            return code.lines().for_each(|line| table.add(&in_ticks(line)));
        }
        // Longer than any fence in it.
        let longest =
            code.lines().map(|line| line.trim_start().chars().take_while(|it| *it == '`').count());
        let fence = "`".repeat(longest.max().unwrap_or(0).max(2) + 1);
        self.need(Gap::Paragraph);
        self.block(&format!("{fence}{language}\n{code}\n{fence}"));
        self.need(Gap::Paragraph);
    }
}

impl Span {
    /// The text with what marks it. Blanks at its ends stay outside, where they do no harm.
    fn wrapped(&self, text: &str) -> String {
        let core = text.trim_matches([' ', '\n']);
        if core.is_empty() {
            return text.to_owned();
        }
        let begin = text.len() - text.trim_start_matches([' ', '\n']).len();
        let (before, rest) = text.split_at(begin);
        let (_, after) = rest.split_at(core.len());
        let marked = match self.name {
            "strong" => format!("**{core}**"),
            "em" => format!("*{core}*"),
            "del" => format!("~~{core}~~"),
            "code" => in_ticks(core),
            _ => format!("[{core}]({})", self.href),
        };
        format!("{before}{marked}{after}")
    }
}

impl Around {
    /// What stands on a blank line between two blocks.
    fn between(&self) -> &str {
        if self.first.is_some() { "" } else { &self.rest }
    }
}

impl Out for Markdown {
    fn open(&mut self, name: &'static str, attributes: &[(&'static str, String)]) {
        let value = |wanted: &str| {
            let found = attributes.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| value.as_str()).unwrap_or_default()
        };
        match name {
            "strong" | "em" | "del" | "code" | "a" => {
                if let Some((_, language)) = &mut self.code {
                    language_of(value("class")).clone_into(language);
                    return;
                }
                let href = plain_url(value("href"));
                self.spans.push(Span { name, href, text: String::new() });
                return;
            }
            "img" => {
                let picture =
                    format!("![{}]({})", escaped(value("alt"), ' '), plain_url(value("src")));
                self.words().push_str(&picture);
                self.after_blank = false;
                return;
            }
            "br" => {
                let end = self.words().trim_end_matches(' ').len();
                self.words().truncate(end);
                self.words().push_str("  \n");
                self.after_blank = true;
                return;
            }
            _ => self.end_paragraph(),
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.need(Gap::Paragraph);
                self.heading = name.strip_prefix('h').and_then(|level| level.parse().ok());
            }
            "ul" | "ol" => {
                self.need(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
                let start = value("start").parse::<u32>().unwrap_or(1);
                self.lists.push((name == "ol").then(|| start.saturating_sub(1)));
            }
            "li" => self.begin_item(),
            "blockquote" => {
                self.need(Gap::Paragraph);
                let mark = "> ".to_owned();
                self.around.push(Around { first: Some(mark.clone()), rest: mark });
            }
            "pre" => self.code = Some((String::new(), language_of(value("class")).to_owned())),
            "hr" => {
                self.need(Gap::Paragraph);
                self.block("---");
                self.need(Gap::Paragraph);
            }
            "p" => self.break_block(),
            _ => self.open_table(name, value("align"), [value("colspan"), value("rowspan")]),
        }
    }

    fn close(&mut self, name: &'static str) {
        if matches!(name, "strong" | "em" | "del" | "code" | "a") {
            if let Some(span) = self.spans.pop_if(|span| span.name == name) {
                let marked = span.wrapped(&span.text);
                self.words().push_str(&marked);
            }
            return;
        }
        if name == "pre" {
            return self.end_code();
        }
        self.end_paragraph();
        match name {
            "li" => {
                // One in which nothing stood was not written, and needs no end.
                self.around.pop();
                self.need(Gap::Line);
            }
            "ul" | "ol" => {
                self.lists.pop();
                self.need(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
            }
            "blockquote" => {
                self.around.pop();
                self.need(Gap::Paragraph);
            }
            "p" => self.need(Gap::Paragraph),
            "table" => self.close_table(),
            name if name.starts_with('h') => {
                self.heading = None;
                self.need(Gap::Paragraph);
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, literal: bool) {
        if self.is_full() {
            return;
        }
        if let Some((code, _)) = self.code.as_mut().filter(|_| literal) {
            return code.push_str(text);
        }
        let in_code = self.spans.last().is_some_and(|span| span.name == "code");
        let mut before = if self.after_blank { ' ' } else { 'x' };
        let mut rest = text;
        while !rest.is_empty() {
            let blanks = rest.len() - rest.trim_ascii_start().len();
            if blanks > 0 && before != ' ' {
                self.words().push(' ');
                before = ' ';
            }
            let (_, after) = rest.split_at(blanks);
            let length =
                after.find(|letter: char| letter.is_ascii_whitespace()).unwrap_or(after.len());
            let (word, after) = after.split_at(length);
            if let Some(last) = word.chars().last() {
                let shown = if in_code { word.to_owned() } else { escaped(word, before) };
                self.words().push_str(&shown);
                before = last;
            }
            rest = after;
        }
        self.after_blank = before == ' ';
    }

    fn break_block(&mut self) {
        self.end_paragraph();
        self.need(Gap::Paragraph);
    }

    fn is_full(&self) -> bool {
        self.out.len() + self.table.as_ref().map_or(0, Table::len) > self.most
    }

    fn finish(mut self) -> String {
        self.end_paragraph();
        let end = self.out.floor_char_boundary(self.most);
        self.out.truncate(end);
        self.out
    }
}

impl Markdown {
    fn open_table(&mut self, name: &str, align: &str, spans: [&str; 2]) {
        match (name, &mut self.table) {
            ("table", _) => self.table = Some(Table::default()),
            ("thead", Some(table)) => table.is_head = true,
            ("tbody", Some(table)) => table.is_head = false,
            ("tr", Some(table)) => table.row(),
            ("td" | "th", Some(table)) => {
                let [columns, rows] = spans.map(|span| span.parse().unwrap_or(1));
                table.cell(name == "th", align, columns, rows);
            }
            _ => {}
        }
    }

    fn close_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let text = table.finish();
        if !text.is_empty() {
            self.need(Gap::Paragraph);
            self.block(&text);
        }
        self.need(Gap::Paragraph);
    }
}
