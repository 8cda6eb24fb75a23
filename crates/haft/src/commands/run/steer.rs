//! What is said to a run while it works: lines at the terminal, or JSON lines from a program.

use std::io::{BufRead, BufReader, Read};

use anyhow::bail;
use haft_runtime::permission::Reply;
use haft_runtime::{AskId, Runtime};
use serde::Deserialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::args::{RunArgs, RunAsks};
use crate::open::Haft;
use crate::terminal::{Program, Terminal};

/// Longest line that a program may send.
const LINE: usize = 1024 * 1024;

/// Something that was said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// For the model, before its next reply.
    Say(String),
    /// End the work.
    Cancel,
    /// Answer an ask; the line that says so.
    Answer { line: u64, ask: AskId, reply: Reply },
    /// A line that means nothing: its number, from 1, and what is wrong with it.
    Bad { line: u64, message: String },
}

/// A line of a program.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    User {
        text: String,
    },
    Cancel {},
    Answer {
        ask: String,
        reply: Answer,
        #[serde(default)]
        feedback: Option<String>,
    },
}

/// An answer to an ask.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Once,
    Always,
    Reject,
}

/// Who answers the asks of this run.
pub(super) fn whom_to_ask(haft: &Haft, args: &RunArgs) -> anyhow::Result<Terminal> {
    let terminal = Terminal::find(&haft.environment);
    let is_driven = haft.common.jsonl && haft.environment.stdin_is_pipe;
    match args.asks {
        RunAsks::Terminal => Ok(terminal),
        RunAsks::Program if !is_driven || args.prompt.as_deref() == Some("-") => {
            bail!("--asks program needs --jsonl, and a pipe as standard input for the answers")
        }
        RunAsks::Program => Ok(terminal.answered_by(Program::default())),
    }
}

/// Everything that will be said, and whom answers are for.
pub(super) struct Words {
    said: UnboundedReceiver<Word>,
    runtime: Runtime,
}

impl Words {
    /// Waits for the next word; `None` if there will be none.
    pub(super) async fn next(&mut self) -> Option<Word> {
        let word = self.said.recv().await?;
        Some(self.passed_on(word))
    }

    /// Takes the next word if there is one already.
    pub(super) fn try_next(&mut self) -> Option<Word> {
        self.said.try_recv().ok()
    }

    /// An answer to an ask that does not wait for one is a line that means nothing.
    fn passed_on(&self, word: Word) -> Word {
        match word {
            Word::Answer { line, ask, reply } if !self.runtime.reply(&ask, reply.clone()) => {
                Word::Bad { line, message: "no ask with this id waits for it".to_owned() }
            }
            word => word,
        }
    }
}

/// Listens to whoever may say something.
pub(super) fn words(
    haft: &Haft,
    terminal: &Terminal,
    runtime: &Runtime,
    takes_stdin: bool,
) -> Words {
    let (words, said) = unbounded_channel();
    let is_shown = !haft.common.json && !haft.common.jsonl;
    if haft.common.jsonl && haft.environment.stdin_is_pipe && !takes_stdin {
        let program = terminal.program().cloned();
        std::thread::spawn(move || {
            read(BufReader::new(std::io::stdin()), &words);
            program.iter().for_each(Program::leave);
        });
    } else if is_shown && let Some(mut lines) = terminal.listen() {
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                if words.send(Word::Say(line)).is_err() {
                    return;
                }
            }
        });
    }
    Words { said, runtime: runtime.clone() }
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
        let word =
            if is_cut { Err("it is longer than 1 MiB".to_owned()) } else { parse(line, &text) };
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
fn parse(number: u64, text: &[u8]) -> Result<Option<Word>, String> {
    if text.trim_ascii().is_empty() {
        return Ok(None);
    }
    let form = r#"send {"type":"user","text":"…"}, {"type":"cancel"} or {"type":"answer",…}"#;
    let line: Line = serde_json::from_slice(text).map_err(|error| format!("{error}; {form}"))?;
    match line {
        Line::User { text } if text.trim().is_empty() => Err("its text is empty".to_owned()),
        Line::User { text } => Ok(Some(Word::Say(text))),
        Line::Cancel {} => Ok(Some(Word::Cancel)),
        Line::Answer { ask, reply, feedback } => {
            let reply = match reply {
                Answer::Once => Reply::Once,
                Answer::Always => Reply::Always,
                Answer::Reject => Reply::Reject { feedback },
            };
            let ask = AskId::parse(&ask).map_err(|error| error.to_string())?;
            Ok(Some(Word::Answer { line: number, ask, reply }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_lines_are_heeded_and_bad_ones_named_by_their_number() {
        let long = "x".repeat(2 * LINE);
        let input = format!(
            "{{\"type\":\"user\",\"text\":\"é\"}}\n\n{{\"type\":\"answer\",\"ask\":\"\",\"reply\":\"once\"}}\n{{\"type\":\"user\"}}\n{long}\n\
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
