//! How the elements that are kept are written down, each as its place allows.

use html5ever::tokenizer::Tag;

use super::super::Out;
use super::super::names::{attribute, has, is_heading, is_inline};
use super::State;

/// Longest address of a link that is kept.
const LONGEST_LINK: usize = 2_000;
/// Most columns or rows that a cell may span.
const WIDEST: u32 = 8;

impl<O: Out> State<'_, O> {
    /// What comes is apart from what was, as far as the place allows it.
    pub(super) fn separate(&mut self) {
        match self.open.last().copied() {
            None => self.out.break_block(),
            Some("p") => {
                self.close("p");
                self.separate();
            }
            Some(_) if self.just_opened => {}
            Some("td" | "th") => self.out.text(" ", false),
            Some("pre" | "table" | "thead" | "tbody" | "tr" | "ul" | "ol") => {}
            Some("li" | "blockquote") => self.out.break_block(),
            Some(_) => self.out.text(" ", false),
        }
    }

    pub(super) fn block(&mut self, name: &'static str, tag: &Tag) {
        // A heading or list in a link, or a paragraph in a cell: there is no room for it.
        let in_line = self.open.iter().rev().any(|open| matches!(*open, "a" | "pre" | "code"))
            || self.open.iter().any(|open| is_heading(open));
        let in_cell = self.open.iter().any(|open| matches!(*open, "td" | "th")) && name == "p";
        if in_line || in_cell {
            return self.separate();
        }
        match name {
            "li" => self.close_within("li", &["ul", "ol", "td", "th"]),
            _ => self.close_within("p", &["li", "td", "th", "blockquote"]),
        }
        if name == "p" && self.open.last().is_some_and(|open| is_inline(open)) {
            return self.separate();
        }
        self.ensure_cell();
        let mut attributes = Vec::new();
        if name == "ol" {
            let start = attribute(tag, "start").and_then(|text| text.trim().parse::<u32>().ok());
            attributes.extend(start.map(|start| ("start", start.to_string())));
        }
        if name == "pre" {
            attributes.extend(language(tag));
        }
        self.push(name, &attributes);
    }

    pub(super) fn table(&mut self, name: &'static str, tag: &Tag) {
        let in_line = self.open.iter().any(|open| matches!(*open, "a" | "pre") || is_heading(open));
        if in_line || (name != "table" && !self.open.contains(&"table")) {
            return self.separate();
        }
        match name {
            "table" => {
                // A table around a table is layout, and ends here: what is in the inner one counts.
                self.close("table");
                self.close_within("p", &["li", "blockquote"]);
            }
            "thead" | "tbody" => self.close_above(&["table"]),
            "tr" => self.close_above(&["table", "thead", "tbody"]),
            _ => {
                self.close_above(&["table", "thead", "tbody", "tr"]);
                if self.open.last() != Some(&"tr") {
                    self.push("tr", &[]);
                }
            }
        }
        let mut attributes = Vec::new();
        if matches!(name, "td" | "th") {
            let span = |name| {
                let span = attribute(tag, name)?.trim().parse::<u32>().ok()?;
                Some((name, span.min(WIDEST).to_string())).filter(|_| span > 1)
            };
            attributes.extend(["colspan", "rowspan"].into_iter().filter_map(span));
            let align =
                attribute(tag, "align").filter(|it| ["left", "right", "center"].contains(it));
            attributes.extend(align.map(|align| ("align", align.to_owned())));
        }
        self.push(name, &attributes);
    }

    pub(super) fn link(&mut self, tag: &Tag) {
        self.close_within("a", &["li", "td", "th", "blockquote", "ul", "ol", "table"]);
        let href = attribute(tag, "href").filter(|href| !href.starts_with('#'));
        let href = href.and_then(|href| self.base.resolve_link(href));
        let Some(href) = href.filter(|href| href.len() <= LONGEST_LINK) else { return };
        if self.open.contains(&"a") || self.open.contains(&"code") || self.open.contains(&"pre") {
            return;
        }
        self.ensure_cell();
        self.push("a", &[("href", href)]);
    }

    pub(super) fn inline(&mut self, name: &'static str, tag: &Tag) {
        let literal = self.open.contains(&"pre");
        // In code only the language of the code counts.
        if self.open.contains(&name) || self.open.contains(&"code") || (literal && name != "code") {
            return;
        }
        self.ensure_cell();
        let attributes: Vec<_> =
            if literal { language(tag).into_iter().collect() } else { Vec::new() };
        self.push(name, &attributes);
    }

    pub(super) fn void(&mut self, name: &'static str, tag: &Tag) {
        match name {
            "br" if self.open.contains(&"pre") => self.out.text("\n", true),
            "br" if self.is_between_cells() => {}
            "br" => self.out.open("br", &[]),
            "hr" => {
                self.close_within("p", &["li", "td", "th", "blockquote"]);
                if self.open.is_empty() {
                    self.out.open("hr", &[]);
                }
            }
            "img" => self.image(tag),
            "input" => self.input(tag),
            _ => {}
        }
    }

    pub(super) fn image(&mut self, tag: &Tag) {
        let alt = attribute(tag, "alt").unwrap_or_default().trim();
        let source = attribute(tag, "src").filter(|source| !source.starts_with("data:"));
        let source = source.and_then(|source| self.base.resolve_link(source));
        match source.filter(|source| source.len() <= LONGEST_LINK) {
            _ if self.open.contains(&"pre") || self.open.contains(&"code") => {}
            // A picture without words says nothing in a text.
            _ if alt.is_empty() => {}
            Some(source) => {
                self.ensure_cell();
                self.out.open("img", &[("src", source), ("alt", alt.to_owned())]);
            }
            None => self.text(alt),
        }
    }

    /// A field of a form, in a few words.
    pub(super) fn input(&mut self, tag: &Tag) {
        let kind = attribute(tag, "type").unwrap_or("text");
        let first = |names: &[&str]| {
            let found =
                names.iter().find_map(|name| attribute(tag, name).filter(|it| !it.is_empty()));
            found.map(|text| text.chars().take(80).collect::<String>())
        };
        let shown = match kind {
            "checkbox" | "radio" if has(tag, "checked") => Some("x".to_owned()),
            "checkbox" | "radio" => Some(" ".to_owned()),
            "image" => first(&["alt"]),
            "password" | "file" => first(&["placeholder", "name"]),
            _ => first(&["value", "placeholder", "aria-label", "name"]),
        };
        if let Some(shown) = shown {
            self.text(&format!(" [{shown}] "));
        }
    }
}

/// The class of an element that names the language of its code.
fn language(tag: &Tag) -> Option<(&'static str, String)> {
    let classes = attribute(tag, "class")?;
    let named = |class: &&str| class.starts_with("language-") || class.starts_with("lang-");
    let class = classes.split_ascii_whitespace().find(named)?;
    Some(("class", class.chars().take(40).collect()))
}
