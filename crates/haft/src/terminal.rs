//! The person at the terminal: asked before things happen, never waited for when not there.

mod lines;
mod program;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use haft_runtime::permission::{PendingAsk, Reply};
use haft_runtime::{Answer, BoxFuture, Host, Question, plain};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Mutex, oneshot};

use crate::diff::in_colour;
use crate::environment::Environment;
use lines::{Awaiting, Lines};
pub(crate) use program::{Posed, Program};

/// How many lines of what a stranger says of its tool are shown.
const DESCRIBED: usize = 8;

/// A host that asks at the terminal, if there is one.
#[derive(Clone)]
pub(crate) struct Terminal {
    /// One conversation at a time, also when calls run beside each other.
    tty: Option<Arc<Mutex<Tty>>>,
    /// Whether diffs are shown in colour.
    colour: bool,
    /// Who answers instead of whoever sits there.
    program: Option<Program>,
}

struct Tty {
    input: Input,
    output: File,
}

/// How answers are read.
enum Input {
    /// When one is needed, so that what else is typed is left to whoever comes after us.
    Direct(BufReader<File>),
    /// By somebody who reads everything that is typed.
    Shared { lines: Arc<Lines>, answers: Receiver<String> },
}

impl Terminal {
    /// Uses the terminal that the process belongs to, if a person can see it.
    pub(crate) fn find(environment: &Environment) -> Self {
        let open = || {
            let tty = fs_err::OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
            let output = tty.into_parts().0;
            let input = Input::Direct(BufReader::new(output.try_clone().ok()?));
            Some(Arc::new(Mutex::new(Tty { input, output })))
        };
        let tty = environment.stderr_is_terminal.then(open).flatten();
        Self { tty, colour: environment.colour, program: None }
    }

    /// Leaves the answers to a program.
    pub(crate) fn answered_by(self, program: Program) -> Self {
        Self { program: Some(program), tty: None, ..self }
    }

    /// The program that answers, if one does.
    pub(crate) fn program(&self) -> Option<&Program> {
        self.program.as_ref()
    }

    /// Asks whether to go on; none if nobody is there.
    pub(crate) async fn confirm(&self, prompt: &'static str) -> Option<bool> {
        let ask = move |tty: &mut Tty| {
            tty.forget_typed()?;
            Ok(matches!(tty.ask(prompt)?.as_str(), "y" | "yes"))
        };
        self.converse(ask).await
    }

    /// Whether anybody can be asked.
    pub(crate) fn is_there(&self) -> bool {
        self.tty.is_some() || self.program.is_some()
    }

    /// Whether somebody is being asked right now.
    pub(crate) fn is_asking(&self) -> bool {
        self.tty.as_ref().is_some_and(|tty| tty.try_lock().is_err())
    }

    /// Listens to what is typed, from now on; what answers a question is not among it.
    pub(crate) fn listen(&self) -> Option<UnboundedReceiver<String>> {
        let mut tty = self.tty.as_ref()?.try_lock().ok()?;
        let (lines, heard) = Lines::listen().ok()?;
        tty.input = Input::Shared { lines, answers: channel().1 };
        Some(heard)
    }

    /// Holds a conversation on a thread of its own, which a cancelled call leaves behind.
    async fn converse<T: Send + 'static>(
        &self,
        talk: impl FnOnce(&mut Tty) -> std::io::Result<T> + Send + 'static,
    ) -> Option<T> {
        let mut tty = Arc::clone(self.tty.as_ref()?).lock_owned().await;
        // The answer before ours may have settled this too: that is known when we come back.
        tokio::task::yield_now().await;
        // Given up with the question: then the thread ends too, and the next line is no answer.
        let _awaiting = tty.await_answers();
        let (answer, answered) = oneshot::channel();
        std::thread::spawn(move || {
            let said = talk(&mut tty);
            // Whoever asked may be gone by now. The turn ends where the answer is heeded.
            drop(answer.send((said, tty)));
        });
        let (said, _turn) = answered.await.ok()?;
        said.ok()
    }
}

impl Host for Terminal {
    fn approve<'a>(&'a self, ask: &'a PendingAsk) -> BoxFuture<'a, Reply> {
        if let Some(program) = &self.program {
            return Box::pin(program.approve());
        }
        let (ask, colour) = (ask.clone(), self.colour);
        Box::pin(async move {
            self.converse(move |tty| approve(tty, &ask, colour)).await.unwrap_or(Reply::Unattended)
        })
    }

    fn question<'a>(&'a self, questions: &'a [Question]) -> BoxFuture<'a, Option<Vec<Answer>>> {
        let questions = questions.to_vec();
        Box::pin(async move {
            let answers: Vec<Answer> = match &self.program {
                Some(program) => program.question(questions).await?,
                None => {
                    let ask =
                        move |tty: &mut Tty| questions.iter().map(|one| answer(tty, one)).collect();
                    self.converse(ask).await?
                }
            };
            // Enter all the way through says nothing, and is not to be taken for a choice.
            answers.iter().any(|answer| !answer.chosen.is_empty()).then_some(answers)
        })
    }
}

fn approve(tty: &mut Tty, ask: &PendingAsk, colour: bool) -> std::io::Result<Reply> {
    tty.forget_typed()?;
    tty.say(&describe(ask, colour))?;
    let always = if ask.ask.always.is_empty() { "" } else { ", a always" };
    loop {
        let reply = tty.ask(&format!("y once{always}, n no, f no with feedback [n] "))?;
        match reply.as_str() {
            "y" | "yes" => return Ok(Reply::Once),
            "a" | "always" if !ask.ask.always.is_empty() => return Ok(Reply::Always),
            "" | "n" | "no" => return Ok(Reply::Reject { feedback: None }),
            "f" | "feedback" => {
                let words = tty.ask("Tell the model: ")?;
                return Ok(Reply::Reject {
                    feedback: Some(words).filter(|words| !words.is_empty()),
                });
            }
            _ => {}
        }
    }
}

/// What, why and where. Nothing in it can move the cursor or forge a line.
pub(crate) fn describe(ask: &PendingAsk, colour: bool) -> String {
    let who =
        ask.agent.as_ref().map_or_else(String::new, |name| format!("{}: ", plain(name.as_str())));
    let mut text = format!("\n{who}{} wants to: {}\n", plain(&ask.tool), plain(&ask.ask.title));
    if let Some(plan) = ask.ask.metadata.get("plan").and_then(|plan| plan.as_str()) {
        text.push_str(
            &plan.lines().map(|line| format!("  | {}\n", plain(line))).collect::<String>(),
        );
    }
    for effect in &ask.ask.effects {
        text.push_str(&format!("  {} {}\n", plain(&effect.key), plain(&effect.value)));
        if let Some(why) = &effect.unproven {
            text.push_str(&format!("    not fully understood: {}\n", plain(why)));
        }
    }
    if let Some(words) = ask.ask.metadata.get("description").and_then(|it| it.as_str()) {
        let shown = words.lines().map(|line| format!("  | {}\n", plain(line)));
        text.push_str(&shown.take(DESCRIBED).collect::<String>());
    }
    if let Some(diff) = ask.ask.metadata.get("diff").and_then(|diff| diff.as_str()) {
        let shown: Vec<String> = diff.lines().map(plain).collect();
        let shown = in_colour(&shown.join("\n"), colour);
        text.push_str(&shown.lines().map(|line| format!("  {line}\n")).collect::<String>());
    }
    if let Some(rule) = &ask.rule {
        text.push_str(&format!("asked by the rule {}\n", plain(&rule.to_string())));
    }
    for always in &ask.ask.always {
        text.push_str(&format!(
            "always would allow: {} {}\n",
            plain(&always.key),
            plain(&always.pattern)
        ));
    }
    text
}

fn answer(tty: &mut Tty, question: &Question) -> std::io::Result<Answer> {
    tty.say(&format!("\n{}: {}\n", plain(&question.header), plain(&question.question)))?;
    for (index, choice) in question.options.iter().enumerate() {
        let description = plain(&choice.description);
        tty.say(&format!("  {}. {}  {description}\n", index + 1, plain(&choice.label)))?;
    }
    let how = if question.multiple { "numbers with commas" } else { "a number" };
    let reply = tty.ask(&format!("{how}, or an answer of your own: "))?;
    Ok(Answer { chosen: chosen(question, &reply) })
}

/// The labels of the numbers that were given; anything else is an answer in the user's own words,
/// and an empty line is none.
fn chosen(question: &Question, reply: &str) -> Vec<String> {
    if reply.is_empty() {
        return Vec::new();
    }
    let label = |number: &str| {
        let number: usize = number.trim().parse().ok()?;
        question.options.get(number.checked_sub(1)?).map(|choice| choice.label.clone())
    };
    let labels: Option<Vec<String>> = if question.multiple {
        reply.split(',').map(label).collect()
    } else {
        label(reply).map(|label| vec![label])
    };
    labels.unwrap_or_else(|| vec![reply.to_owned()])
}

impl Tty {
    fn say(&mut self, text: &str) -> std::io::Result<()> {
        self.output.write_all(text.as_bytes())?;
        self.output.flush()
    }

    fn await_answers(&mut self) -> Option<Awaiting> {
        let Input::Shared { lines, answers } = &mut self.input else { return None };
        let (awaited, awaiting) = lines.answers();
        *answers = awaited;
        Some(awaiting)
    }

    /// What was typed before a question was shown is no answer to it.
    fn forget_typed(&mut self) -> std::io::Result<()> {
        match &mut self.input {
            Input::Shared { lines, answers } => lines.forget_typed(answers)?,
            Input::Direct(input) => {
                input.consume(input.buffer().len());
                tcflush(&self.output, QueueSelector::IFlush)?;
            }
        }
        Ok(())
    }

    /// A line from the user; the end of input counts as an empty one.
    fn ask(&mut self, prompt: &str) -> std::io::Result<String> {
        self.say(prompt)?;
        let line = match &mut self.input {
            Input::Direct(input) => {
                let mut line = String::new();
                input.read_line(&mut line)?;
                line
            }
            Input::Shared { answers, .. } => answers.recv().map_err(std::io::Error::other)?,
        };
        Ok(line.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use haft_runtime::Choice;

    use super::*;

    fn question(multiple: bool) -> Question {
        let choice = |label: &str| Choice { label: label.into(), description: String::new() };
        let options = vec![choice("red"), choice("blue")];
        Question { question: "Which?".into(), header: "Colour".into(), options, multiple }
    }

    #[test]
    fn numbers_choose_and_words_stand_for_themselves() {
        assert_eq!(chosen(&question(false), "2"), ["blue"]);
        assert_eq!(chosen(&question(true), "1, 2"), ["red", "blue"]);
        assert_eq!(chosen(&question(false), "3"), ["3"]);
        assert_eq!(chosen(&question(false), "0"), ["0"]);
        assert_eq!(chosen(&question(true), "1, green"), ["1, green"]);
        assert_eq!(chosen(&question(true), ""), Vec::<String>::new());
    }
}
