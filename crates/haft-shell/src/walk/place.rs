//! Files: from a word to the places it may mean.

use std::path::{Component, Path, PathBuf};

use super::Walk;
use super::state::below;
use super::value::{Atom, Field};
use crate::effect::{Action, Certainty, Extent, Place};
use crate::syntax::Span;

/// What a file is touched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    Read,
    Write,
    Delete,
}

impl Touch {
    /// What is done to a place.
    pub(super) fn of(self, place: Place) -> Action {
        match self {
            Self::Read => Action::Read(place),
            Self::Write => Action::Write(place),
            Self::Delete => Action::Delete(place),
        }
    }
}

/// A place that is not known.
pub(super) fn anywhere() -> Place {
    Place { path: PathBuf::from("/"), extent: Extent::Anywhere }
}

/// Files that are no files: whoever has them open already has what is in them.
const STREAMS: [&str; 8] = [
    "/dev/null",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/zero",
    "/dev/urandom",
    "/dev/random",
];

/// Places whose entries lead elsewhere.
const CROOKED: [&str; 5] = ["/proc", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

/// What is in such a place, or is one, and leads nowhere.
const STRAIGHT: [&str; 6] =
    ["/proc", "/proc/cpuinfo", "/proc/meminfo", "/proc/loadavg", "/proc/version", "/proc/uptime"];

impl Walk<'_> {
    pub(super) fn read(&mut self, field: &Field, span: Span) {
        self.touch(Touch::Read, field, Extent::Exact, Certainty::Certain, span);
    }

    pub(super) fn write(&mut self, field: &Field, span: Span) {
        self.touch(Touch::Write, field, Extent::Exact, Certainty::Certain, span);
    }

    pub(super) fn touch(
        &mut self,
        touch: Touch,
        field: &Field,
        extent: Extent,
        certainty: Certainty,
        span: Span,
    ) {
        if field.literal().is_some_and(is_stream) || field.literal() == Some("") {
            return;
        }
        // What a process substitution becomes.
        if matches!(field.atoms.as_slice(), [Atom::Text(folder), Atom::Number(_)] if folder == "/dev/fd/")
        {
            return;
        }
        let through = self.goes_through && extent == Extent::Below;
        let extent = if through { Extent::Followed } else { extent };
        for place in self.places(field, extent, span) {
            if is_crooked(&place) {
                self.doubt("a path below `/proc` or `/dev/fd` leads to other places", span);
                self.note(touch.of(anywhere()), certainty, span);
            }
            self.check_links(touch, &place, certainty, span);
            self.note(touch.of(place), certainty, span);
        }
    }

    fn places(&mut self, field: &Field, extent: Extent, span: Span) -> Vec<Place> {
        let absolute = field.prefix().starts_with('/');
        if field.is_open() {
            let shown = field.shown();
            self.doubt(format!("which file `{shown}` stands for is not known"), span);
            return vec![anywhere()];
        }
        if !absolute && self.state.cwd.is_empty() {
            self.doubt("the folder that the command runs in is not known", span);
            return vec![anywhere()];
        }
        if !absolute && self.is_moved() {
            self.doubt("the folder that the command runs in was moved before", span);
            return vec![anywhere()];
        }
        let root = vec![PathBuf::from("/")];
        let start = self.setting.cwd;
        let folders = if absolute { &root } else { &self.state.cwd };
        let literal = field.literal();
        let places = folders.iter().map(|folder| match literal {
            Some(text) => {
                let path = straightened(start, &below(folder, text, false));
                Place { path, extent: extent.clone() }
            }
            None => matching(start, folder, field),
        });
        places.collect()
    }
}

pub(super) fn is_stream(path: &str) -> bool {
    let number = path.strip_prefix("/dev/fd/");
    STREAMS.contains(&path)
        || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a path goes through a place whose entries are links that differ from process to process.
fn is_crooked(place: &Place) -> bool {
    let is_straight = |straight: &&str| place.path == Path::new(straight);
    if place.extent == Extent::Exact && STRAIGHT.iter().any(is_straight) {
        return false;
    }
    ways(&place.path).any(|way| CROOKED.iter().any(|crooked| way.starts_with(crooked)))
}

/// The places that a path goes through, if there is no link among them.
pub(super) fn ways(path: &Path) -> impl Iterator<Item = PathBuf> {
    path.components().scan(PathBuf::new(), |place, part| {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            part => place.push(part),
        }
        Some(place.clone())
    })
}

/// A path without the `..` that lead up from the folder where the script starts, which has no links in
/// it. What all others mean is for the disk to say.
pub(super) fn straightened(start: &Path, path: &Path) -> PathBuf {
    let mut place = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir && start.starts_with(&place) {
            place.pop();
        } else {
            place.push(part);
        }
    }
    place
}

/// The place of a path with wildcards.
fn matching(start: &Path, folder: &Path, field: &Field) -> Place {
    let prefix = field.prefix();
    let (above, _) = prefix.rsplit_once('/').unwrap_or(("", prefix));
    let above = if above.is_empty() && prefix.starts_with('/') { "/" } else { above };
    let path = straightened(start, &below(folder, above, false));
    let mut pattern = String::new();
    for atom in &field.atoms {
        match atom {
            Atom::Text(text) => pattern.push_str(text),
            Atom::Wild(wild) => pattern.push_str(wild),
            Atom::Number(_) | Atom::Unknown(_) => pattern.push('*'),
        }
    }
    let pattern = if pattern.starts_with('/') {
        pattern
    } else {
        let pattern = pattern.trim_start_matches("./");
        format!("{}/{pattern}", folder.to_string_lossy().trim_end_matches('/'))
    };
    Place { path, extent: Extent::Matching(pattern) }
}
