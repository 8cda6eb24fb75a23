//! A session as a person reads it: the model's words, a line for each call, and what runs right now.

mod outcome;

use std::collections::HashMap;
use std::sync::Arc;

use anstyle::AnsiColor;
use haft_runtime::{
    AgentId, CallId, DeltaKind, ErrorReport, Event, EventKind, MessageId, Metadata, Output, plain,
    plain_lines,
};
use serde_json::Value;

use crate::diff::in_colour;
use crate::print::Printer;
use crate::terminal::Terminal;
use outcome::Outcome;

/// Most lines of one call's diff.
const DIFF_LINES: usize = 40;
/// Most lines of what a command said.
const OUTPUT_LINES: usize = 8;
/// Most characters of what runs right now, unless the terminal is narrower.
const STATUS: usize = 78;

/// Shows events as they come.
pub(crate) struct Show<'a> {
    printer: Printer<'a>,
    /// At a terminal, words appear as they are said; a pipe gets them whole.
    terminal: bool,
    /// Where questions are asked: what runs right now is not shown into one.
    asker: Terminal,
    /// Whether something stands on the last line that a line after it has to leave alone.
    in_line: bool,
    /// Whether the last line says what runs right now, and is to be taken away.
    has_status: bool,
    /// The message whose words have been shown already.
    spoken: Option<MessageId>,
    /// The calls that are on their way, and whether they are part of another.
    calls: HashMap<CallId, Part>,
}

/// What a call is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The model's message.
    Message,
    /// Another call.
    Call,
}

impl<'a> Show<'a> {
    pub(crate) fn new(printer: Printer<'a>, terminal: bool, asker: Terminal) -> Self {
        let (in_line, has_status, spoken, calls) = (false, false, None, HashMap::new());
        Self { printer, terminal, asker, in_line, has_status, spoken, calls }
    }

    /// Shows one event.
    pub(crate) fn event(&mut self, event: &Event) {
        match &*event.kind {
            EventKind::MessageDelta { message, kind, text } => self.delta(message, *kind, text),
            EventKind::MessageAdded { message, body } => self.message(message, body),
            EventKind::CallPending { call, parent, .. } => {
                let part = if parent.is_some() { Part::Call } else { Part::Message };
                self.calls.insert(call.clone(), part);
            }
            EventKind::CallProgress { call, title, metadata } => {
                self.progress(call, title, metadata);
            }
            EventKind::CallCompleted { call, tool, output } => self.completed(call, tool, output),
            EventKind::CallError { call, tool, error, .. } => self.failed(call, tool, error),
            EventKind::Noted { name, data, .. } if name == "hook.message" => {
                let text = data.get("text").and_then(Value::as_str).unwrap_or_default();
                self.indented(&bounded(text, OUTPUT_LINES, Keep::First), "");
            }
            EventKind::TaskProgress { agent, title, state, line, .. } => {
                self.task(agent, title, state, line);
            }
            // Whoever is asked needs a line of their own.
            EventKind::AskOpened { .. } => self.end_line(),
            _ => {}
        }
    }

    /// Says something of our own.
    pub(crate) fn aside(&mut self, text: &str) {
        self.beside(&self.printer.dim(text));
    }

    fn delta(&mut self, message: &MessageId, kind: DeltaKind, text: &str) {
        match kind {
            DeltaKind::Text if self.terminal => {
                self.clear_status();
                self.spoken = Some(message.clone());
                self.printer.piece(&plain_lines(text));
                self.in_line = !text.ends_with('\n');
            }
            DeltaKind::Void => {
                let why = format!("… the model is asked again: {}", plain(text));
                self.beside(&self.printer.dim(&why));
            }
            DeltaKind::Call => self.status(&format!("{} …", plain(text))),
            DeltaKind::Text | DeltaKind::Reasoning | DeltaKind::Arguments => {}
        }
    }

    /// The words of a reply that have not been shown as they came.
    fn message(&mut self, message: &MessageId, body: &Value) {
        let role = body.get("role").and_then(Value::as_str);
        if role == Some("summary") {
            return self
                .beside(&self.printer.dim("… the conversation was summarised to save room"));
        }
        if role != Some("assistant") {
            return;
        }
        self.end_line();
        if self.spoken.as_ref() == Some(message) {
            return;
        }
        let parts = body.get("content").and_then(Value::as_array).into_iter().flatten();
        let texts = parts.filter(|part| part.get("type").is_some_and(|kind| kind == "text"));
        for text in texts.filter_map(|part| part.get("text")?.as_str()) {
            self.printer.line(plain_lines(text.trim_end()));
        }
    }

    /// What a call that takes its time says of itself: the last line of what it shows, or its title.
    fn progress(&mut self, call: &CallId, title: &str, metadata: &Metadata) {
        let output = metadata.get("output").and_then(Value::as_str).unwrap_or_default();
        let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(title);
        if self.calls.contains_key(call) {
            self.status(&plain(last));
        }
    }

    /// What another agent does, or how it ended while nobody waited for it.
    fn task(&mut self, agent: &AgentId, title: &str, state: &str, line: &str) {
        let agent = plain(agent.as_str());
        let (mark, words) = match state {
            "running" => return self.status(&format!("{agent}: {}", plain(line))),
            "done" => (self.printer.paint(AnsiColor::Green, "✓"), plain(title)),
            _ => {
                let words = format!("{}: {}", plain(title), plain(line));
                (self.printer.paint(AnsiColor::Red, "✗"), words)
            }
        };
        self.beside(&format!("{mark} {} {}", self.printer.bold(&agent), self.printer.dim(&words)));
    }

    fn completed(&mut self, call: &CallId, tool: &str, output: &Arc<Output>) {
        let Outcome { went_well, words } = Outcome::of(&output.metadata);
        let (colour, mark) =
            if went_well { (AnsiColor::Green, "✓") } else { (AnsiColor::Red, "✗") };
        let mark = self.printer.paint(colour, mark);
        let indent = self.end(call);
        let title = self.printer.dim(&format!("{}{words}", plain(&output.title)));
        self.beside(&format!("{indent}{mark} {} {title}", self.printer.bold(&plain(tool))));
        if let Some(diff) = output.metadata.get("diff").and_then(Value::as_str) {
            let diff = in_colour(&bounded(diff, DIFF_LINES, Keep::First), self.printer.colour);
            self.indented(&diff, indent);
        } else if let Some(said) = output.metadata.get("output").and_then(Value::as_str) {
            let said = bounded(said.trim_end(), OUTPUT_LINES, Keep::Last);
            self.indented(&said, indent);
        }
    }

    fn failed(&mut self, call: &CallId, tool: &str, error: &ErrorReport) {
        let mark = self.printer.paint(AnsiColor::Red, "✗");
        let indent = self.end(call);
        let message = bounded(&error.message, OUTPUT_LINES, Keep::First);
        let (first, rest) = message.split_once('\n').unwrap_or((&message, ""));
        self.beside(&format!("{indent}{mark} {} {first}", self.printer.bold(&plain(tool))));
        self.indented(rest, indent);
    }

    /// Forgets a call that has ended; says how far it stands in.
    fn end(&mut self, call: &CallId) -> &'static str {
        match self.calls.remove(call) {
            Some(Part::Call) => "  ",
            _ => "",
        }
    }

    fn indented(&mut self, text: &str, indent: &str) {
        text.lines().for_each(|line| self.beside(&format!("{indent}  {line}")));
    }

    /// A line that is no word of the model's: beside the results, where they go to a pipe.
    fn beside(&mut self, line: &str) {
        self.end_line();
        if self.terminal { self.printer.line(line) } else { self.printer.note(line) }
    }

    /// Leaves what stands on the last line, for a line after it.
    pub(crate) fn end_line(&mut self) {
        self.clear_status();
        if std::mem::take(&mut self.in_line) {
            self.printer.piece("\n");
        }
    }

    /// Says what runs right now, in a line that goes away.
    fn status(&mut self, text: &str) {
        if self.terminal && !self.in_line && !self.asker.is_asking() {
            self.clear_status();
            // A line that goes on in the next could not be taken away.
            let narrow = self.printer.columns().map_or(STATUS, |columns| columns.saturating_sub(2));
            let text: String = text.chars().take(STATUS.min(narrow)).collect();
            self.printer.piece(&self.printer.dim(&text));
            self.has_status = true;
        }
    }

    fn clear_status(&mut self) {
        if std::mem::take(&mut self.has_status) && !self.asker.is_asking() {
            self.printer.piece("\r\u{1b}[K");
        }
    }
}

/// Which lines of a long text are shown.
#[derive(Clone, Copy)]
enum Keep {
    First,
    Last,
}

/// A text without anything that could forge a line, and no longer than `most` lines.
fn bounded(text: &str, most: usize, keep: Keep) -> String {
    let lines: Vec<String> = text.lines().map(plain).collect();
    let missing = lines.len().saturating_sub(most);
    if missing == 0 {
        return lines.join("\n");
    }
    let gap = format!("… {missing} more lines");
    let shown: Vec<String> = match keep {
        Keep::First => lines.into_iter().take(most).chain([gap]).collect(),
        Keep::Last => [gap].into_iter().chain(lines.into_iter().skip(missing)).collect(),
    };
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_shown_in_part_and_says_so() {
        let text = "a\nb\nc\n\u{1b}[2Jd";
        assert_eq!(bounded(text, 2, Keep::First), "a\nb\n… 2 more lines");
        assert!(bounded(text, 2, Keep::Last).starts_with("… 2 more lines\nc\n"));
        assert!(!bounded(text, 9, Keep::First).contains('\u{1b}'));
    }
}
