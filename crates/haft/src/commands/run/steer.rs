//! What is said to a run while it works: lines at the terminal, or JSON lines from a program.

use std::io::{BufRead, BufReader, Read};

use serde::Deserialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::open::Haft;
use crate::terminal::Terminal;

/// Longest line that a program may send.
const LINE: usize = 1024 * 1024;

/// Something that was said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// For the model, before its next reply.
    Say(String),
    /// End the work.
    Cancel,
    /// A line that means nothing: its number, from 1, and what is wrong with it.
    Bad { line: u64, message: String },
}

/// A line of a program.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    User { text: String },
    Cancel {},
}

/// Everything that will be said.
pub(super) fn words(
    haft: &Haft,
    terminal: &Terminal,
    takes_stdin: bool,
) -> UnboundedReceiver<Word> {
    let (words, said) = unbounded_channel();
    let is_shown = !haft.common.json && !haft.common.jsonl;
    if haft.common.jsonl && haft.environment.stdin_is_pipe && !takes_stdin {
        std::thread::spawn(move || read(BufReader::new(std::io::stdin()), &words));
    } else if is_shown && let Some(mut lines) = terminal.listen() {
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                if words.send(Word::Say(line)).is_err() {
                    return;
                }
            }
        });
    }
    said
}

/// Reads lines until there are no more, or nobody wants them.
fn read(mut from: impl BufRead, words: &UnboundedSender<Word>) {
    for line in 1.. {
        let mut text = Vec::new();
        let read = from.by_ref().take(LINE as u64 + 1).read_until(b'\n', &mut text);
        if matches!(read, Err(_) | Ok(0)) {
            return;
        }
        let is_cut = text.len() > LINE;
        if is_cut && from.skip_until(b'\n').is_err() {
            return;
        }
        let word = if is_cut { Err("it is longer than 1 MiB".to_owned()) } else { parse(&text) };
        let word = match word {
            Ok(None) => continue,
            Ok(Some(word)) => word,
            Err(message) => Word::Bad { line, message },
        };
        if words.send(word).is_err() {
            return;
        }
    }
}

/// What a line says; nothing if it is empty.
fn parse(text: &[u8]) -> Result<Option<Word>, String> {
    if text.trim_ascii().is_empty() {
        return Ok(None);
    }
    let form = r#"send {"type":"user","text":"…"} or {"type":"cancel"}"#;
    let line: Line = serde_json::from_slice(text).map_err(|error| format!("{error}; {form}"))?;
    match line {
        Line::User { text } if text.trim().is_empty() => Err("its text is empty".to_owned()),
        Line::User { text } => Ok(Some(Word::Say(text))),
        Line::Cancel {} => Ok(Some(Word::Cancel)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_lines_are_heeded_and_bad_ones_named_by_their_number() {
        let long = "x".repeat(2 * LINE);
        let input = format!(
            "{{\"type\":\"user\",\"text\":\"é\"}}\n\nno\n{{\"type\":\"user\"}}\n{long}\n\
             {{\"type\":\"user\",\"text\":\" \"}}\n{{\"type\":\"cancel\"}}"
        );
        let (words, mut said) = unbounded_channel();
        read(input.as_bytes(), &words);
        assert_eq!(said.try_recv().unwrap(), Word::Say("é".to_owned()));
        for number in [3, 4, 5, 6] {
            let word = said.try_recv().unwrap();
            assert!(matches!(&word, Word::Bad { line, .. } if *line == number), "{word:?}");
        }
        assert_eq!(said.try_recv().unwrap(), Word::Cancel);
        assert!(said.try_recv().is_err());
    }
}
