//! Whether two answers say the same, but for what no two runs have in common.

use std::path::Path;

use anyhow::Context;
use haft_runtime::{Attachment, CallRecord, Settled};
use regex::Regex;
use serde::Serialize;
use serde_json::Value;

/// What stands for something that differs from run to run. Only these forms are taken for such: ids
/// of haft's own and UUIDs, dates with times, times of day, durations with a unit, names below `/tmp`, and
/// which tools there are, which a replay without a model has fewer of.
const VOLATILE: [(&str, &str); 8] = [
    (r"\b[a-z]{2,8}_[0-9a-f]{32}\b", "<id>"),
    (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<id>"),
    (r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [A-Z]{2,5})? \d{4}\b", "<time>"),
    (
        r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d(?:\.\d+)?\b",
        "<time>",
    ),
    (
        r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} +(?:\d\d:\d\d|\d{4})\b",
        "<time>",
    ),
    (r"\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds)\b", "<duration>"),
    (r"; available: [\w-]+(?:, [\w-]+)*", "; available: <tools>"),
    (r#"/(?:var/)?tmp/[^\s'":;,)\]]+"#, "<temporary>"),
];

/// A part of an answer that is not what it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Difference {
    /// `state`, `error`, `exit`, `output` or `attachments`.
    pub(super) part: &'static str,
    /// What it was, with names for what is volatile.
    pub(super) expected: String,
    /// What it is.
    pub(super) got: String,
}

/// Brings texts into the form in which they are compared.
pub(super) struct Plain {
    places: Vec<(String, &'static str)>,
    volatile: Vec<(Regex, &'static str)>,
}

impl Plain {
    /// One that knows these places by their names.
    pub(super) fn new(places: &[(&Path, &'static str)]) -> anyhow::Result<Self> {
        let mut places: Vec<(String, &'static str)> =
            places.iter().map(|(path, name)| (path.display().to_string(), *name)).collect();
        places.retain(|(path, _)| path.len() > 1);
        // A place within another goes first.
        places.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        let compile = |(pattern, name): &(&str, &'static str)| Ok((Regex::new(pattern)?, *name));
        let volatile: Result<_, regex::Error> = VOLATILE.iter().map(compile).collect();
        Ok(Self { places, volatile: volatile.context("a pattern of our own is wrong")? })
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (path, name) in &self.places {
            text = text.replace(path, name);
        }
        for (pattern, name) in &self.volatile {
            text = pattern.replace_all(&text, *name).into_owned();
        }
        text
    }

    /// The first part in which an answer is not what was recorded.
    pub(super) fn difference(&self, was: &CallRecord, is: &Settled) -> Option<Difference> {
        let differ = |part, expected: String, got: String| {
            (expected != got).then_some(Difference { part, expected, got })
        };
        match (&was.output, &is.result) {
            (Some(was), Ok(is)) => {
                let exit = |metadata: &haft_runtime::Metadata| {
                    metadata.get("exit").map_or_else(String::new, Value::to_string)
                };
                let files = |files: &[Attachment]| {
                    let all = files.iter().map(|it| format!("{} {}", it.mime, digest(&it.data)));
                    all.collect::<Vec<_>>().join("\n")
                };
                differ("exit", exit(&was.metadata), exit(&is.metadata))
                    .or_else(|| differ("output", self.text(&was.output), self.text(&is.output)))
                    .or_else(|| {
                        differ("attachments", files(&was.attachments), files(&is.attachments))
                    })
            }
            (None, Err(is)) => {
                let was = was.error.as_ref();
                let kind = was.map_or_else(String::new, |error| error.kind.clone());
                // Who said no, and in which words, is not a matter of the workspace.
                let is_denied = kind == "denied";
                differ("error", kind, is.kind().to_owned()).or_else(|| {
                    let words = was.map_or_else(String::new, |error| self.text(&error.message));
                    if is_denied {
                        None
                    } else {
                        differ("error", words, self.text(&is.to_string()))
                    }
                })
            }
            (Some(was), Err(is)) => {
                differ("state", format!("completed: {}", was.title), format!("error: {is}"))
            }
            (None, Ok(is)) => {
                let was = was.error.as_ref().map_or("", |error| error.message.as_str());
                differ("state", format!("error: {was}"), format!("completed: {}", is.title))
            }
        }
    }
}

fn digest(data: &str) -> String {
    blake3::hash(data.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_two_runs_share_is_taken_for_the_same() {
        let plain = Plain::new(&[
            (Path::new("/home/me/work"), "<workspace>"),
            (Path::new("/tmp/copy/workspace"), "<workspace>"),
        ])
        .unwrap();
        let same = [
            ("ok in 0.31s (exit code 0, 1.2 s)", "ok in 12.5s (exit code 0, 0.9 s)"),
            ("/home/me/work/a.rs:3", "/tmp/copy/workspace/a.rs:3"),
            ("at 2026-11-15T10:00:00Z", "at 2027-01-02 03:04:05.678+01:00"),
            ("-rw-r--r-- 1 me me 3 Nov 15 19:49 a", "-rw-r--r-- 1 me me 3 Jan  2 2027 a"),
            ("Sun Nov 15 20:03:11 UTC 2026", "Mon Jan  4 01:02:03 CET 2027"),
            ("/tmp/tmp.aB3 made", "/tmp/tmp.Zz9 made"),
            (
                "out_01a1e0c9650d7140bacbb298b87c54b8.txt",
                "out_01b1e0c9650d7140bacbb298b87c54b9.txt",
            ),
        ];
        for (one, other) in same {
            assert_eq!(plain.text(one), plain.text(other));
        }
        let different = [
            ("3 passed", "4 passed"),
            ("line 12", "line 13"),
            ("/home/me/work/a.rs", "/home/me/other/a.rs"),
            ("deadbeef", "deadbeee"),
            ("version 1.2.3", "version 1.2.4"),
            ("exit code 0, 1 s", "exit code 1, 1 s"),
        ];
        for (one, other) in different {
            assert_ne!(plain.text(one), plain.text(other));
        }
    }
}
