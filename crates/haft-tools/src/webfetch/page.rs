//! What was fetched, as an answer: text in pages, pictures and documents beside it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_runtime::{Attachment, Limits, Output, ToolError};
use haft_web::html::{Form, Reading, Scope};
use haft_web::{Page, Target, html, json};
use haft_workspace::kind::{Kind, of_probe};
use haft_workspace::picture::{self, PictureFormat};

use super::Format;
use crate::web::{MARK_BYTES, MARK_LINES, marked};

/// How much of a page decides what it is.
const PROBE: usize = 8 * 1024;

/// How a page is to be shown.
pub(super) struct View {
    pub(super) format: Format,
    pub(super) main_only: bool,
    /// Characters to pass over.
    pub(super) offset: usize,
    pub(super) limits: Limits,
}

/// A page as text, before it is cut.
struct Content {
    title: Option<String>,
    text: String,
    charset: &'static str,
    /// What is to be said about it.
    note: &'static str,
}

impl View {
    /// The answer; none if `is_over` says so before it is ready.
    pub(super) fn of(
        &self,
        page: &Page,
        is_over: &dyn Fn() -> bool,
    ) -> Option<Result<Output, ToolError>> {
        let probe = page.bytes.get(..PROBE).unwrap_or(&page.bytes);
        let answer = match of_probe(probe, probe.len() == page.bytes.len()) {
            Kind::Picture(format) => picture_of(page, format),
            Kind::Pdf => Ok(document(page)),
            // Wide characters have zeros in them, which is all right where the server says so.
            Kind::Binary { what } if !is_wide(page) => Err(refused(page, what)),
            _ => Ok(self.text(page, &self.content(page, is_over)?)),
        };
        Some(answer.map(|output| described(output, page)))
    }

    fn content(&self, page: &Page, is_over: &dyn Fn() -> bool) -> Option<Content> {
        let haft_web::Text { text, charset } =
            haft_web::decode(&page.bytes, page.charset.as_deref());
        let plain = |text| Content { title: None, text, charset, note: "" };
        let form = match self.format {
            Format::Html => return Some(plain(text)),
            Format::Markdown => Form::Markdown,
            Format::Text => Form::Text,
        };
        if is_html(page, &text) {
            let scope = if self.main_only { Scope::Main } else { Scope::Whole };
            let Reading { title, text, cut } =
                html::read(&text, &page.target, form, scope, is_over)?;
            let note = if cut { " Its end is missing: it was too long." } else { "" };
            return Some(Content { title, text, charset, note });
        }
        if page.mime.ends_with("/json") || page.mime.ends_with("+json") {
            return Some(plain(json::pretty(&text).unwrap_or(text)));
        }
        Some(plain(text))
    }

    fn text(&self, page: &Page, content: &Content) -> Output {
        let total = content.text.chars().count();
        let shown = self.part(&content.text);
        let next = self.offset.saturating_add(shown.chars().count());
        let title = content.title.as_deref().map(|title| format!(" {title:?}")).unwrap_or_default();
        let what = if total == 0 {
            format!("{} has no text.", page.target)
        } else if self.offset >= total {
            format!("{} has only {total} characters.", page.target)
        } else {
            marked(&format!("This is {}{title}.{}", page.target, content.note), shown)
        };
        let footer = if next < total && self.offset < total {
            format!(
                "(characters {} to {next} of {total}; continue with offset {next})",
                self.offset + 1
            )
        } else {
            String::new()
        };
        let output = Output::new(page.target.as_str(), what)
            .with("characters", total)
            .with("charset", content.charset);
        let output = match &content.title {
            Some(title) => output.with("page_title", title.as_str()),
            None => output,
        };
        Output { truncated: next < total, footer, ..output }
    }

    /// As much of the text as there is room for, to the end of a line if one ends near.
    fn part<'t>(&self, text: &'t str) -> &'t str {
        let begin = text.char_indices().nth(self.offset).map_or(text.len(), |(at, _)| at);
        let rest = text.get(begin..).unwrap_or_default();
        let lines = self.limits.lines.saturating_sub(MARK_LINES).max(1);
        let bytes = self.limits.bytes.saturating_sub(MARK_BYTES).max(1);
        let by_lines = rest.match_indices('\n').nth(lines - 1).map_or(rest.len(), |(at, _)| at + 1);
        let end = rest.floor_char_boundary(bytes.min(by_lines));
        let part = rest.get(..end).unwrap_or_default();
        if end == rest.len() {
            return part;
        }
        let line = part.rfind('\n').map_or(0, |at| at + 1);
        if line > end / 2 { part.get(..line).unwrap_or(part) } else { part }
    }
}

fn is_wide(page: &Page) -> bool {
    page.charset.as_deref().is_some_and(|name| name.to_ascii_lowercase().starts_with("utf-16"))
}

/// Whether it is HTML: where the server says so, or says nothing that could be true of a text.
fn is_html(page: &Page, text: &str) -> bool {
    let told = ["text/html", "application/xhtml+xml"].contains(&page.mime.as_str());
    let text_of_another_kind = page.mime.starts_with("text/")
        || page.mime.ends_with("json")
        || page.mime.ends_with("xml")
        || page.mime.ends_with("javascript");
    told || (!text_of_another_kind && looks_like_html(text))
}

fn looks_like_html(text: &str) -> bool {
    let head: String = text.trim_start().chars().take(64).collect::<String>().to_ascii_lowercase();
    ["<!doctype html", "<html", "<head", "<body"].iter().any(|tag| head.starts_with(tag))
}

/// A picture, scaled to what models take.
fn picture_of(page: &Page, format: PictureFormat) -> Result<Output, ToolError> {
    let picture = picture::picture(&page.bytes, format)
        .map_err(|error| ToolError::failed(format!("{} cannot be shown: {error}", page.target)))?;
    let (width, height) = picture.original;
    let text = format!("{} is a picture of {width}×{height}.", page.target);
    let (mime, name) = (picture.mime.to_owned(), Some(name(&page.target)));
    let attachments = vec![Attachment { mime, name, data: picture.base64 }];
    Ok(Output { attachments, ..Output::new(page.target.as_str(), text) })
}

/// A document as it is.
fn document(page: &Page) -> Output {
    let text = format!("{} is a PDF document of {} bytes.", page.target, page.bytes.len());
    let (mime, name) = ("application/pdf".to_owned(), Some(name(&page.target)));
    let attachments = vec![Attachment { mime, name, data: STANDARD.encode(&page.bytes) }];
    Output { attachments, ..Output::new(page.target.as_str(), text) }
}

fn refused(page: &Page, what: &str) -> ToolError {
    let told = if page.mime.is_empty() { "no type" } else { page.mime.as_str() };
    ToolError::failed(format!(
        "{} is {what} of {} bytes (the server says {told}); only text, pictures and PDF documents can be read",
        page.target,
        page.bytes.len()
    ))
}

fn described(output: Output, page: &Page) -> Output {
    output
        .with("url", page.target.as_str())
        .with("content_type", page.mime.as_str())
        .with("bytes", page.bytes.len())
}

/// What a file of that name would be called.
fn name(target: &Target) -> String {
    let path = target.path_and_query();
    let path = path.split('?').next().unwrap_or_default();
    let last = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(target.host());
    last.chars().take(100).collect()
}
