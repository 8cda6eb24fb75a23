//! What the model and the surfaces are told of a command that has ended.

use haft_exec::sandbox::denial::{Denial, Refused};
use haft_exec::sandbox::layers::{Layer, Layers};
use haft_exec::{Ended, EndedBy, Exit};
use haft_runtime::{Metadata, Output, plain};
use serde_json::json;

use super::said::Shown;
use super::seen::Differences;
use crate::search::counted;

/// Said where undo knows only of some files.
const UNSEEN: &str =
    "[the workspace is large: undo covers only files that the command names or you have read]";

/// Most names in one note.
const NAMED: usize = 10;

/// Most names in metadata of what undo cannot take back.
const UNCOVERED: usize = 100;

/// An answer in the making.
pub(super) struct Answer {
    pub(super) metadata: Metadata,
    text: String,
    truncated: bool,
    /// A line each, below the output.
    notes: Vec<String>,
    /// How it ended.
    end: String,
}

impl Answer {
    pub(super) fn new(ended: &Ended, layers: &Layers) -> Self {
        let mut metadata = Metadata::new();
        let mut put = |key: &str, value| drop(metadata.insert(key.to_owned(), value));
        put("wall_ms", json!(u64::try_from(ended.wall.as_millis()).unwrap_or(u64::MAX)));
        if let Some(exited) = &ended.exited {
            match exited.exit {
                Exit::Code(code) => put("exit", json!(code)),
                Exit::Signal(signal) => put("signal", json!(signal)),
            }
            let ms =
                |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            put("cpu_ms", json!(ms(exited.user + exited.system)));
            put("peak_memory", json!(exited.peak_memory));
        }
        let mut notes = Vec::new();
        if let EndedBy::Prompt(question) = &ended.by {
            put("prompt", json!(question));
            notes.push(format!(
                "[ended: it asked `{}` and nobody can answer; pass an option such as -y, or stdin]",
                plain(question)
            ));
        }
        if !ended.denials.is_empty() {
            let all = ended
                .denials
                .iter()
                .map(|it| json!({ "what": refused(&it.what), "hint": hint(it) }));
            put("denials", all.collect());
            notes.extend(ended.denials.iter().map(denied));
        }
        let gone: Vec<String> =
            layers.missing().map(|(layer, why)| format!("{}: {why}", layer.name())).collect();
        if !gone.is_empty() {
            put("sandbox_missing", json!(gone));
        }
        notes.extend(missing(layers));
        if ended.unkillable > 0 {
            let count = counted(ended.unkillable as u64, "process");
            notes.push(format!("[{count} could not be ended]"));
        }
        let end = how(ended);
        Self { metadata, text: String::new(), truncated: false, notes, end }
    }

    /// Tells which files that the session has read are otherwise now, and what undo cannot take back.
    pub(super) fn changed(&mut self, differences: Differences) {
        let Differences { stale, recorded, uncovered, unseen } = differences;
        if !stale.is_empty() {
            self.notes.push(format!("[changed since you read them: {}]", listed(&stale)));
            self.metadata.insert("changed".to_owned(), json!(stale));
        }
        if !uncovered.is_empty() {
            self.notes.push(format!("[undo cannot take back: {}]", listed(&uncovered)));
            self.metadata.insert(
                "not_undoable".to_owned(),
                json!(uncovered.iter().take(UNCOVERED).collect::<Vec<_>>()),
            );
        }
        if unseen {
            self.notes.push(UNSEEN.to_owned());
            self.metadata.insert("undo_partial".to_owned(), true.into());
        }
        if recorded > 0 {
            self.metadata.insert("undoable".to_owned(), recorded.into());
        }
    }

    /// Tells that a repository was not given to another folder.
    pub(super) fn removed_link(&mut self) {
        let note = "[removed .git/commondir: it makes git use the settings of another folder]";
        self.notes.push(note.to_owned());
    }

    /// Tells what the command left behind, and which job that is.
    pub(super) fn left(&mut self, ended: &Ended, job: Result<usize, String>) {
        let names = ended.left.iter().map(|one| format!("{} (pid {})", plain(&one.name), one.pid));
        let names: Vec<String> = names.collect();
        let more = match ended.left_count as usize - names.len().min(ended.left_count as usize) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        self.metadata.insert("left".to_owned(), json!(names));
        let named = listed(&names);
        self.notes.push(match job {
            Ok(job) => {
                self.metadata.insert("job".to_owned(), job.into());
                format!("[still running: {named}{more}; kept as job {job}]")
            }
            Err(why) => format!("[left behind and ended: {named}{more}; {why}]"),
        });
    }

    pub(super) fn with(mut self, shown: Shown) -> Self {
        let Shown { text, path, truncated } = shown;
        if let Some(path) = path {
            self.metadata.insert("output_path".to_owned(), path.to_string_lossy().into());
        }
        Self { text, truncated, ..self }
    }

    /// The answer of a command that ended.
    pub(super) fn output(self, title: String) -> Output {
        let mut text = if self.text.is_empty() { "(no output)".to_owned() } else { self.text };
        append(&mut text, &self.notes);
        let mut output = Output::new(title, text);
        output.metadata = self.metadata;
        output.footer = format!("({})", self.end);
        output.keep = haft_runtime::Keep::Both;
        output.truncated = self.truncated;
        output
    }

    /// What there is of a command that was ended.
    pub(super) fn partial(self) -> String {
        let mut text = self.text;
        append(&mut text, &self.notes);
        text
    }
}

/// A line about the layers of the sandbox that are missing.
pub(super) fn missing(layers: &Layers) -> Option<String> {
    let names: Vec<&str> = layers.missing().map(|(layer, _)| layer.name()).collect();
    let offline = if layers.missing().any(|(layer, _)| layer == Layer::Network) {
        "; no host can be reached unless `[sandbox] network = true`"
    } else {
        ""
    };
    let names = names.join(", ");
    (!names.is_empty()).then(|| format!("[sandbox without {names}: see haft doctor{offline}]"))
}

/// A line about something that the sandbox refused.
pub(crate) fn denied(denial: &Denial) -> String {
    let what = refused(&denial.what);
    format!("[the sandbox refused {what}; to allow it: {}]", plain(&hint(denial)))
}

/// What would allow it. Who met the closed network used no proxy, so a rule alone may not help.
fn hint(denial: &Denial) -> String {
    let Refused::Connect(host) = &denial.what else { return denial.hint.clone() };
    let host = host.as_deref().unwrap_or("HOST");
    format!(
        "{}, for programs that use HTTP_PROXY, such as git over https; ssh and others that do not \
         need `[sandbox] network = true`",
        rule(host)
    )
}

/// The rule that lets commands reach a host.
pub(super) fn rule(host: &str) -> String {
    format!("the rule `[permission.webfetch] \"{host}\" = \"allow\"`")
}

fn append(text: &mut String, notes: &[String]) {
    for (index, note) in notes.iter().enumerate() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if index == 0 && !text.is_empty() {
            text.push('\n');
        }
        text.push_str(note);
    }
}

fn how(ended: &Ended) -> String {
    let time = format!("{:.1} s", ended.wall.as_secs_f64());
    match ended.exited.map(|exited| exited.exit) {
        Some(Exit::Code(code)) => format!("exit code {code}, {time}"),
        Some(Exit::Signal(signal)) => format!("ended by signal {signal}, {time}"),
        None => format!("it could not be ended, {time}"),
    }
}

fn refused(what: &Refused) -> String {
    match what {
        Refused::Write(path) => format!("to write {}", plain(&path.to_string_lossy())),
        Refused::Read(path) => format!("to read {}", plain(&path.to_string_lossy())),
        Refused::Connect(Some(host)) => format!("to connect to {}", plain(host)),
        Refused::Connect(None) => "to connect".to_owned(),
        Refused::Host(host) => format!("to connect to {host}"),
    }
}

fn listed(names: &[String]) -> String {
    let mut text = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text.push_str(&format!(" and {} more", names.len() - NAMED));
    }
    text
}
