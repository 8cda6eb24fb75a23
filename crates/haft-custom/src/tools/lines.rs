//! What a tool's program says: lines of JSON, progress as it comes, one result.

use haft_runtime::{Attachment, Context, Metadata, Output, ToolError};
use serde::Deserialize;

use crate::hooks::shown;

/// Longest line.
const LINE: usize = 16 * 1024 * 1024;

/// One line.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    /// How far it is.
    Progress {
        #[serde(default)]
        title: Option<String>,
        #[serde(default)]
        metadata: Metadata,
    },
    /// The answer.
    Result {
        output: String,
        #[serde(default)]
        title: Option<String>,
        #[serde(default)]
        metadata: Metadata,
        #[serde(default)]
        attachments: Vec<Attachment>,
    },
    /// Why there is none.
    Error { message: String },
}

/// Takes what a program says, line by line.
pub(super) struct Lines<'a> {
    name: &'a str,
    cx: &'a Context,
    rest: Vec<u8>,
    count: usize,
    end: Option<Result<Output, ToolError>>,
    fault: Option<String>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(name: &'a str, cx: &'a Context) -> Self {
        Self { name, cx, rest: Vec::new(), count: 0, end: None, fault: None }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.fault.is_some() {
                return;
            }
            self.rest.extend_from_slice(piece);
            if self.rest.len() > LINE {
                self.fault = Some("it said a line of more than 16 MiB".to_owned());
            } else if piece.ends_with(b"\n") {
                self.line();
            }
        }
    }

    /// The answer, once the program has ended well.
    pub(super) fn finish(mut self) -> Result<Output, ToolError> {
        if self.fault.is_none() && !self.rest.is_empty() {
            self.line();
        }
        if let Some(fault) = self.fault {
            return Err(ToolError::failed(format!("{} is broken: {fault}", self.name)));
        }
        self.end.unwrap_or_else(|| {
            let none = "it ended well without a line of type `result`";
            Err(ToolError::failed(format!("{} is broken: {none}", self.name)))
        })
    }

    /// The error it gave before it ended badly.
    pub(super) fn error(&mut self) -> Option<ToolError> {
        self.end.take()?.err()
    }

    fn line(&mut self) {
        let line = std::mem::take(&mut self.rest);
        self.count += 1;
        if line.trim_ascii().is_empty() {
            return;
        }
        if self.end.is_some() {
            self.fault = Some(format!("line {} comes after its result", self.count));
            return;
        }
        match serde_json::from_slice(&line) {
            Ok(Line::Progress { title, metadata }) => {
                self.cx.metadata(title.unwrap_or_else(|| self.name.to_owned()), metadata);
            }
            Ok(Line::Result { output, title, metadata, attachments }) => {
                let title = title.unwrap_or_else(|| self.name.to_owned());
                let output = Output { metadata, attachments, ..Output::new(title, output) };
                self.end = Some(Ok(output));
            }
            Ok(Line::Error { message }) => self.end = Some(Err(ToolError::failed(message))),
            Err(error) => {
                let said = shown(&String::from_utf8_lossy(&line));
                let count = self.count;
                self.fault =
                    Some(format!("line {count} is not what a tool says ({error}): {said}"));
            }
        }
    }
}
