//! HTML as Markdown or plain text, in bounded time and memory whatever a page is made of.
//!
//! A tokenizer takes the page apart, `sieve.rs` keeps what a reader would see, with every element
//! closed and none nested deep, and what it keeps is written down at once: a tree of the page, which
//! could be much larger than the page, never exists.

mod markdown;
mod names;
mod plain;
mod sieve;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tokenizer, TokenizerOpts};

use crate::target::Target;
use markdown::Markdown;
use plain::Plain;
use sieve::{Anchor, Sieve};

/// How much is taken apart between two looks at the clock.
const CHUNK: usize = 64 * 1024;
/// How much text a page may become for each byte that it has, and at least: spans are repeated.
const GROWTH: usize = 2;
const LEAST_ROOM: usize = 1024 * 1024;
/// Text that is too short to be all that a page is about.
const TOO_SHORT: usize = 200;

/// What a page becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Markdown, with links, tables and code.
    Markdown,
    /// Words and line breaks.
    Text,
}

/// How much of a page is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All that a reader would see.
    Whole,
    /// What the page is about: no menus, headers, footers, side bars and forms.
    Main,
}

/// A page as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The title, if it has one.
    pub title: Option<String>,
    /// What it says.
    pub text: String,
    /// Whether something was left out because it would be too long.
    pub cut: bool,
}

/// Turns a page into text; none if `is_over` says so before the end.
#[must_use]
pub fn read(
    html: &str,
    base: &Target,
    form: Form,
    scope: Scope,
    is_over: &dyn Fn() -> bool,
) -> Option<Reading> {
    let anchor = match scope {
        Scope::Whole => Anchor::Everything,
        Scope::Main => Anchor::of(html),
    };
    let reading = read_within(html, base, form, anchor, is_over)?;
    // A page whose main part is elsewhere than it says, or filled in by scripts.
    if matches!(anchor, Anchor::Within(_)) && reading.text.len() < TOO_SHORT {
        let instead = read_within(html, base, form, Anchor::WithoutShell, is_over)?;
        return Some(if instead.text.len() > reading.text.len() { instead } else { reading });
    }
    Some(reading)
}

fn read_within(
    html: &str,
    base: &Target,
    form: Form,
    anchor: Anchor,
    is_over: &dyn Fn() -> bool,
) -> Option<Reading> {
    let most = html.len().saturating_mul(GROWTH).max(LEAST_ROOM);
    match form {
        Form::Markdown => run(html, Sieve::new(Markdown::new(most), base, anchor), is_over),
        Form::Text => run(html, Sieve::new(Plain::new(most), base, anchor), is_over),
    }
}

/// Where what is kept of a page is written to.
trait Out {
    /// An element begins.
    fn open(&mut self, name: &'static str, attributes: &[(&'static str, String)]);
    /// An element ends.
    fn close(&mut self, name: &'static str);
    /// Words, `literal` where blanks and line ends count.
    fn text(&mut self, text: &str, literal: bool);
    /// What follows does not belong to what came before.
    fn break_block(&mut self);
    /// Whether there is no room for more.
    fn is_full(&self) -> bool;
    /// All that was written.
    fn finish(self) -> String;
}

fn run<O: Out>(html: &str, sieve: Sieve<'_, O>, is_over: &dyn Fn() -> bool) -> Option<Reading> {
    let tokenizer = Tokenizer::new(sieve, TokenizerOpts::default());
    let queue = BufferQueue::default();
    let mut rest = html;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(CHUNK));
        rest = after;
        queue.push_back(StrTendril::from_slice(chunk));
        // The result asks for a script to be run; nobody will.
        let _pause = tokenizer.feed(&queue);
        if is_over() {
            return None;
        }
        if tokenizer.sink.is_full() {
            break;
        }
    }
    tokenizer.end();
    let reading = tokenizer.sink.finish();
    (!is_over()).then_some(reading)
}

#[cfg(test)]
mod tests;
