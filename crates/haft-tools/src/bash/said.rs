//! What a command says: bounded in memory, whole in a file once it is long.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use haft_exec::capture::AtHand;
use haft_exec::{Capture, Stream};
use haft_runtime::{Context, Cut, Keep, Limits, Spill, cut, fits, join};

/// How much of the end is shown while the command runs.
const STREAMED: usize = 8 * 1024;

/// The output of one command.
pub(crate) struct Said {
    capture: Capture,
    /// How much is at hand before a file is needed.
    at_hand: u64,
    /// Where the whole goes once it is longer than what is at hand.
    spill: Option<Spill>,
    /// How much of it is kept.
    room: Option<u64>,
    file: Option<fs_err::File>,
    /// Why the whole is not in the file.
    lost: Option<String>,
    /// When the last piece came.
    last: Option<Instant>,
}

/// A text for the model, and where the whole is.
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) path: Option<PathBuf>,
    pub(crate) truncated: bool,
}

/// An output in a file that goes on elsewhere. Whoever has it keeps the file or removes it.
pub(crate) struct Written {
    pub(crate) file: std::fs::File,
    pub(crate) spill: Spill,
    /// How many bytes came so far.
    pub(crate) total: u64,
}

impl Written {
    /// Nothing so far.
    pub(crate) fn empty(spill: Spill) -> std::io::Result<Self> {
        let file = make_file(&spill.path)?.into_file();
        Ok(Self { file, spill, total: 0 })
    }
}

impl Said {
    pub(crate) fn new(limits: &Limits, spill: Option<Spill>) -> Self {
        let at_hand = AtHand { head: limits.bytes, tail: limits.bytes };
        let lost = spill.is_none().then(|| "there is no store".to_owned());
        let capture = Capture::new(at_hand);
        let room = spill.as_ref().map(|spill| spill.room);
        Self { capture, at_hand: limits.bytes as u64, spill, room, file: None, lost, last: None }
    }

    /// Takes the next piece. What cannot be written is counted and said, and the command goes on.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.last = Some(Instant::now());
        let so_far = self.capture.total();
        if so_far + bytes.len() as u64 > self.at_hand {
            self.write(so_far, bytes);
        }
        // It has no file of its own, so it cannot fail.
        self.capture.push(Stream::Output, bytes).ok();
    }

    /// Whether something came in the last `time`.
    pub(crate) fn is_newer_than(&self, time: Duration) -> bool {
        self.last.is_some_and(|last| last.elapsed() < time)
    }

    /// How many bytes came.
    pub(crate) fn total(&self) -> u64 {
        self.capture.total()
    }

    /// The last of it, for those who watch.
    pub(crate) fn tail(&self) -> String {
        let (first, last) = (self.capture.first(), self.capture.last());
        let end = |bytes: &[u8], most: usize| {
            String::from_utf8_lossy(bytes.get(bytes.len().saturating_sub(most)..).unwrap_or(bytes))
                .into_owned()
        };
        if last.len() >= STREAMED {
            return end(last, STREAMED);
        }
        end(first, STREAMED - last.len()) + &end(last, STREAMED)
    }

    /// The text within `limits`, head and tail if it is longer; then the whole is kept.
    pub(crate) async fn shown(mut self, limits: &Limits, cx: &Context) -> Shown {
        let view = self.capture.view();
        if view.gap.is_none() && fits(&view.head, limits) {
            return Shown { text: view.head, path: None, truncated: false };
        }
        let kept = self.keep(cx).await;
        let hint = &cx.limits().hint;
        let says = match &kept {
            Ok(path) => {
                let what = match self.room.filter(|room| *room < self.capture.total()) {
                    Some(room) => format!("the first {room} bytes are"),
                    None => "the whole is".to_owned(),
                };
                let hint = if hint.is_empty() { String::new() } else { format!("; {hint}") };
                format!("{what} kept at {}{hint}", path.display())
            }
            Err(why) => format!("it was not kept: {why}"),
        };
        let total = usize::try_from(self.capture.total()).unwrap_or(usize::MAX);
        let text = match view.gap {
            None => match cut(&view.head, Keep::Both, limits, &says) {
                Some(cut) => join(&cut, total, &says),
                None => view.head,
            },
            Some(_) => {
                let half = Limits {
                    lines: limits.lines / 2,
                    bytes: (limits.bytes / 2).saturating_sub(says.len()),
                    ..limits.clone()
                };
                let head = cut(&view.head, Keep::Head, &half, "");
                let head = head.map_or(view.head.as_str(), |cut| cut.head);
                let tail = cut(&view.tail, Keep::Tail, &half, "");
                let tail = tail.map_or(view.tail.as_str(), |cut| cut.tail);
                let newlines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
                let lines = usize::try_from(self.capture.newlines()).unwrap_or(usize::MAX);
                let gap = Cut {
                    head,
                    tail,
                    lines: lines.saturating_sub(newlines(head) + newlines(tail)),
                    bytes: total.saturating_sub(head.len() + tail.len()),
                };
                join(&gap, total, &says)
            }
        };
        Shown { text, path: kept.ok(), truncated: true }
    }

    /// All of it in a file, for somebody who adds to it.
    pub(crate) fn into_file(mut self) -> Result<Written, String> {
        let total = self.capture.total();
        if self.file.is_none() {
            self.write(total, &[]);
        }
        if let Some(lost) = self.lost.take() {
            return Err(lost);
        }
        let parts = self.file.take().zip(self.spill.take());
        let (file, spill) = parts.ok_or("there is no store")?;
        Ok(Written { file: file.into_file(), spill, total })
    }

    /// Hands the whole over to the store.
    async fn keep(&mut self, cx: &Context) -> Result<PathBuf, String> {
        if self.file.is_none() {
            self.write(self.capture.total(), &[]);
        }
        if let Some(lost) = self.lost.take() {
            return Err(lost);
        }
        self.file = None;
        let spill = self.spill.take().ok_or("there is no store")?;
        let kept = cx.adopt(&spill.path).await.map_err(|error| error.to_string())?;
        Ok(kept.path)
    }

    /// Writes to the file; the first time, also what came before.
    fn write(&mut self, so_far: u64, bytes: &[u8]) {
        let Some(spill) = self.spill.as_ref().filter(|_| self.lost.is_none()) else { return };
        let room = usize::try_from(spill.room.saturating_sub(so_far)).unwrap_or(usize::MAX);
        let bytes = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        let written = match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => make_file(&spill.path).and_then(|mut file| {
                file.write_all(self.capture.first())?;
                file.write_all(bytes)?;
                self.file = Some(file);
                Ok(())
            }),
        };
        if let Err(error) = written {
            self.lost = Some(error.to_string());
            self.remove();
        }
    }

    fn remove(&mut self) {
        if self.file.take().is_some()
            && let Some(spill) = &self.spill
        {
            fs_err::remove_file(&spill.path).ok();
        }
    }
}

/// What nobody has kept is not left behind.
impl Drop for Said {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Makes a file for its owner alone.
pub(crate) fn make_file(path: &Path) -> std::io::Result<fs_err::File> {
    use fs_err::os::unix::fs::OpenOptionsExt;
    let mut options = fs_err::OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600).open(path)
}
