//! Keeps of a page what a reader would see, with every element closed and none nested deep.

mod stack;
mod write;

use std::cell::RefCell;

use html5ever::tokenizer::states::{RawKind, ScriptData};
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};

use super::names::{
    Role, attribute, ends_by_itself, has, has_shell_word, is_heading, is_shell, is_shell_role, role,
};
use super::{Out, Reading};
use crate::target::Target;

/// Longest title.
const LONGEST_TITLE: usize = 300;

/// Which part of a page is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// All of it.
    Everything,
    /// All but what is not what it is about.
    WithoutShell,
    /// What is in elements of this name, without the same.
    Within(&'static str),
}

impl Anchor {
    /// Where a page says that its main part is.
    pub(super) fn of(html: &str) -> Self {
        let has = |name: &str| {
            html.match_indices('<').any(|(at, _)| {
                let tag = html.get(at + 1..at + 1 + name.len());
                tag.is_some_and(|tag| tag.eq_ignore_ascii_case(name))
            })
        };
        match ["main", "article"].into_iter().find(|name| has(name)) {
            Some(name) => Self::Within(name),
            None => Self::WithoutShell,
        }
    }
}

/// Takes tokens, and passes on what is kept.
pub(super) struct Sieve<'a, O> {
    state: RefCell<State<'a, O>>,
}

struct State<'a, O> {
    out: O,
    base: Target,
    given_base: &'a Target,
    anchor: Anchor,
    /// How many elements of the anchor's name are open.
    within: usize,
    /// What is dropped until its end, and how many of its name are open.
    dropping: Option<(String, usize)>,
    /// The names of what was passed on and not closed.
    open: Vec<&'static str>,
    title: Option<String>,
    in_title: bool,
    /// Whether nothing came since the last element was opened.
    just_opened: bool,
    /// Whether a choice of a form came before.
    after_option: bool,
}

impl<'a, O: Out> Sieve<'a, O> {
    pub(super) fn new(out: O, base: &'a Target, anchor: Anchor) -> Self {
        let state = State {
            out,
            base: base.clone(),
            given_base: base,
            anchor,
            within: 0,
            dropping: None,
            open: Vec::new(),
            title: None,
            in_title: false,
            just_opened: false,
            after_option: false,
        };
        Self { state: RefCell::new(state) }
    }

    pub(super) fn is_full(&self) -> bool {
        self.state.borrow().out.is_full()
    }

    pub(super) fn finish(self) -> Reading {
        let mut state = self.state.into_inner();
        state.close_down_to(0);
        let cut = state.out.is_full();
        let title = state.title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        Reading { title: title.filter(|it| !it.is_empty()), text: state.out.finish(), cut }
    }
}

impl<O: Out> TokenSink for Sieve<'_, O> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut state = self.state.borrow_mut();
        match token {
            Token::TagToken(tag) => {
                let raw = raw_content(&tag, state.dropping.as_ref());
                match tag.kind {
                    TagKind::StartTag => state.start(&tag),
                    TagKind::EndTag => state.end(&tag.name),
                }
                return raw;
            }
            Token::CharacterTokens(text) => state.text(&text),
            Token::NullCharacterToken => state.text("\u{fffd}"),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

/// How the tokenizer has to go on after a tag: in some elements, tags are text.
fn raw_content(tag: &Tag, dropping: Option<&(String, usize)>) -> TokenSinkResult<()> {
    let foreign = dropping.is_some_and(|(name, _)| name == "svg");
    if tag.kind == TagKind::EndTag || foreign {
        return TokenSinkResult::Continue;
    }
    match &*tag.name {
        "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => {
            TokenSinkResult::RawData(RawKind::Rawtext)
        }
        "script" => TokenSinkResult::RawData(ScriptData),
        "plaintext" => TokenSinkResult::Plaintext,
        _ => TokenSinkResult::Continue,
    }
}

impl<O: Out> State<'_, O> {
    fn start(&mut self, tag: &Tag) {
        let name = &*tag.name;
        if !self.goes_on(name) {
            return;
        }
        let role = role(name);
        let is_void = matches!(role, Role::Void(_));
        if self.anchor == Anchor::Within(anchor_name(name)) {
            self.within += 1;
        }
        if self.is_unseen(tag, role) {
            if !is_void && !tag.self_closing {
                self.dropping = Some((name.to_owned(), 1));
            }
            return;
        }
        match role {
            Role::Title => {
                self.in_title = self.title.is_none();
                self.title.get_or_insert_default();
            }
            Role::Void("base") => self.rebase(tag),
            _ if self.is_outside() => {}
            Role::Wrapper => self.separate(),
            // It stands above its table, where there is room for it.
            Role::Caption => {
                self.close("table");
                self.separate();
            }
            Role::Block(name) => self.block(name, tag),
            Role::Table(name) => self.table(name, tag),
            Role::Inline("a") => self.link(tag),
            Role::Inline(name) => self.inline(name, tag),
            Role::Void(name) => self.void(name, tag),
            Role::Raised => self.text("^"),
            Role::Option => {
                self.text(if self.after_option { ", " } else { " " });
                self.after_option = true;
            }
            Role::Unseen | Role::Through => {}
        }
    }

    /// Whether the start of `name` is heeded: it may be within what is dropped.
    fn goes_on(&mut self, name: &str) -> bool {
        let Some((dropped, depth)) = &mut self.dropping else { return true };
        if dropped != name {
            return false;
        }
        if ends_by_itself(name) {
            self.dropping = None;
            return true;
        }
        *depth += 1;
        false
    }

    fn end(&mut self, name: &str) {
        if let Some((dropped, depth)) = &mut self.dropping {
            if dropped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.dropping = None;
                }
                return;
            }
            if !ends_by_itself(dropped)
                || !matches!(name, "ul" | "ol" | "table" | "div" | "dl" | "select")
            {
                return;
            }
            self.dropping = None;
        }
        let was_outside = self.is_outside();
        if self.anchor == Anchor::Within(anchor_name(name)) {
            self.within = self.within.saturating_sub(1);
            self.close_down_to(0);
        }
        let role = role(name);
        if role == Role::Title {
            self.in_title = false;
        }
        if was_outside {
            return;
        }
        match role {
            Role::Wrapper => {
                self.after_option = false;
                self.separate();
            }
            Role::Caption if !self.open.contains(&"table") => {
                self.separate();
                self.push("table", &[]);
            }
            // The end of any heading is the end of the one that is open.
            Role::Block(name) if is_heading(name) => {
                let open = self.open.iter().rev().copied().find(|open| is_heading(open));
                self.close(open.unwrap_or(name));
            }
            Role::Block(name) | Role::Table(name) | Role::Inline(name) => self.close(name),
            Role::Void("br") => self.void("br", &no_attributes()),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            if let Some(title) = self.title.as_mut().filter(|title| title.len() < LONGEST_TITLE) {
                title.push_str(text.get(..text.floor_char_boundary(LONGEST_TITLE)).unwrap_or(text));
            }
            return;
        }
        if self.dropping.is_some() || self.is_outside() {
            return;
        }
        let literal = self.open.contains(&"pre");
        if !literal && text.bytes().all(|byte| byte.is_ascii_whitespace()) {
            if !self.is_between_cells() {
                self.out.text(" ", false);
            }
            return;
        }
        self.ensure_cell();
        self.just_opened = false;
        self.out.text(text, literal);
    }

    /// Whether what comes now is not in the part that is wanted.
    fn is_outside(&self) -> bool {
        matches!(self.anchor, Anchor::Within(_)) && self.within == 0
    }

    /// Whether a reader would not see the element, or does not want to.
    fn is_unseen(&self, tag: &Tag, role: Role) -> bool {
        let name = &*tag.name;
        let hidden = role == Role::Unseen
            || has(tag, "hidden")
            || attribute(tag, "aria-hidden") == Some("true")
            || (name == "dialog" && !has(tag, "open"))
            || attribute(tag, "style").is_some_and(hides)
            || (name == "input" && attribute(tag, "type") == Some("hidden"));
        if hidden || self.anchor == Anchor::Everything || matches!(role, Role::Inline(_)) {
            return hidden;
        }
        // An article has a header of its own, which is its title.
        let own = name == "header" && self.within > 0;
        let wrapper = matches!(role, Role::Wrapper | Role::Block("ul"));
        let named = |it| attribute(tag, it).is_some_and(has_shell_word);
        let is_page = matches!(name, "body" | "html" | "main" | "article");
        (is_shell(name) && !own)
            || attribute(tag, "role").is_some_and(is_shell_role)
            || (wrapper && !own && !is_page && (named("class") || named("id")))
    }

    /// Where the page says that its links start from.
    fn rebase(&mut self, tag: &Tag) {
        let href = attribute(tag, "href");
        if let Some(base) = href.and_then(|href| self.given_base.join(href).ok()) {
            self.base = base;
        }
    }
}

/// The name as anchors have it; none of theirs is empty.
fn anchor_name(name: &str) -> &'static str {
    match name {
        "main" => "main",
        "article" => "article",
        _ => "",
    }
}

/// Whether an inline style makes an element invisible.
fn hides(style: &str) -> bool {
    let style: String = style.chars().filter(|it| !it.is_whitespace()).take(2_000).collect();
    let style = style.to_ascii_lowercase();
    ["display:none", "visibility:hidden", "font-size:0;", "opacity:0;"].iter().any(|it| {
        style.contains(it) || it.strip_suffix(';').is_some_and(|end| style.ends_with(end))
    })
}

/// A tag without attributes, for an end tag that means a start.
fn no_attributes() -> Tag {
    Tag {
        kind: TagKind::StartTag,
        name: "br".into(),
        self_closing: false,
        attrs: Vec::new(),
        had_duplicate_attributes: false,
    }
}
