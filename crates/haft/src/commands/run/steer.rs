//! What is said to a run while it works: lines at the terminal, or JSON lines from a program.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};

use anyhow::bail;
use haft_runtime::permission::Reply;
use haft_runtime::{Answer, AskId, Question, Runtime};
use serde::Deserialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::args::{RunArgs, RunAsks};
use crate::open::Haft;
use crate::terminal::{Posed, Program, Terminal};

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
    /// Questions for whoever drives the run.
    Ask { id: String, questions: Vec<Question> },
    /// What was chosen of each question; the line that says so.
    Choose { line: u64, id: String, chosen: Vec<Vec<String>> },
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
        reply: Permission,
        #[serde(default)]
        feedback: Option<String>,
    },
    Choose {
        question: String,
        chosen: Vec<Vec<String>>,
    },
}

/// An answer to an ask.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Permission {
    Once,
    Always,
    Reject,
}

/// Who answers the asks of this run, and the questions that a program is to answer.
pub(super) fn whom_to_ask(haft: &Haft, args: &RunArgs) -> anyhow::Result<(Terminal, Questions)> {
    let terminal = Terminal::find(&haft.environment);
    let is_driven = haft.common.jsonl && haft.environment.stdin_is_pipe;
    match args.asks {
        RunAsks::Terminal => Ok((terminal, Questions::default())),
        RunAsks::Program if !is_driven || args.prompt.as_deref() == Some("-") => {
            bail!("--asks program needs --jsonl, and a pipe as standard input for the answers")
        }
        RunAsks::Program => {
            let (program, posed) = Program::new();
            let questions = Questions { posed: Some(posed), ..Questions::default() };
            Ok((terminal.answered_by(program), questions))
        }
    }
}

/// What a program is asked by the model.
#[derive(Default)]
pub(super) struct Questions {
    posed: Option<UnboundedReceiver<Posed>>,
    /// Those that wait for an answer, by their ids.
    open: HashMap<String, Posed>,
    count: u64,
}

impl Questions {
    /// Waits for the next ones, for ever if there are none.
    async fn next(&mut self) -> Word {
        let posed = match &mut self.posed {
            Some(posed) => posed.recv().await,
            None => None,
        };
        let Some(posed) = posed else { return std::future::pending().await };
        self.open.retain(|_, posed| !posed.answers.is_closed());
        self.count += 1;
        let (id, questions) = (format!("q{}", self.count), posed.questions.clone());
        self.open.insert(id.clone(), posed);
        Word::Ask { id, questions }
    }

    /// Passes on what was chosen of each.
    fn answer(&mut self, id: &str, chosen: &[Vec<String>]) -> Result<(), String> {
        let is_open = |posed: &&Posed| !posed.answers.is_closed();
        let posed =
            self.open.get(id).filter(is_open).ok_or("no question with this id waits for it")?;
        let count = posed.questions.len();
        if !chosen.is_empty() && chosen.len() != count {
            return Err(format!(
                "it takes {count} lists in `chosen`, one for each question, or none"
            ));
        }
        let too_many = |(question, chosen): (&Question, &Vec<String>)| {
            (!question.multiple && chosen.len() > 1).then(|| question.header.clone())
        };
        if let Some(header) = posed.questions.iter().zip(chosen).find_map(too_many) {
            return Err(format!("of \"{header}\" one answer can be chosen"));
        }
        if let Some(Posed { answers, .. }) = self.open.remove(id) {
            let answer = |chosen: &Vec<String>| Answer { chosen: chosen.clone() };
            // Whoever asked may be gone by now.
            drop(answers.send(chosen.iter().map(answer).collect()));
        }
        Ok(())
    }
}

/// Everything that will be said, and whom answers are for.
pub(super) struct Words {
    said: UnboundedReceiver<Word>,
    questions: Questions,
    runtime: Runtime,
}

impl Words {
    /// Waits for the next word; `None` if there will be none.
    pub(super) async fn next(&mut self) -> Option<Word> {
        let word = tokio::select! {
            word = self.said.recv() => word?,
            word = self.questions.next() => word,
        };
        Some(self.passed_on(word))
    }

    /// Takes the next word if there is one already.
    pub(super) fn try_next(&mut self) -> Option<Word> {
        self.said.try_recv().ok()
    }

    /// An answer to what does not wait for one is a line that means nothing.
    fn passed_on(&mut self, word: Word) -> Word {
        match word {
            Word::Choose { line, id, chosen } => match self.questions.answer(&id, &chosen) {
                Err(message) => Word::Bad { line, message },
                Ok(()) => Word::Choose { line, id, chosen },
            },
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
    questions: Questions,
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
    Words { said, questions, runtime: runtime.clone() }
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
    let form = r#"send {"type":"user","text":"…"}, {"type":"cancel"}, {"type":"answer",…} or {"type":"choose",…}"#;
    let line: Line = serde_json::from_slice(text).map_err(|error| format!("{error}; {form}"))?;
    match line {
        Line::User { text } if text.trim().is_empty() => Err("its text is empty".to_owned()),
        Line::User { text } => Ok(Some(Word::Say(text))),
        Line::Cancel {} => Ok(Some(Word::Cancel)),
        Line::Answer { ask, reply, feedback } => {
            let reply = match reply {
                Permission::Once => Reply::Once,
                Permission::Always => Reply::Always,
                Permission::Reject => Reply::Reject { feedback },
            };
            let ask = AskId::parse(&ask).map_err(|error| error.to_string())?;
            Ok(Some(Word::Answer { line: number, ask, reply }))
        }
        Line::Choose { question, chosen } => {
            Ok(Some(Word::Choose { line: number, id: question, chosen }))
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
