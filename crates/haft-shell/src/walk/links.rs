//! Links that the script itself may make, and folders that it moves: no look at the disk shows them.

use std::path::{Path, PathBuf};

use super::Walk;
use super::place::{Touch, anywhere, straightened, ways};
use super::state::below;
use super::value::Field;
use crate::effect::{Certainty, Extent, Place, Settlement};
use crate::programs::Act;
use crate::programs::options::Line;
use crate::syntax::Span;

/// A place that is not what the disk shows before the script runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unsure {
    path: PathBuf,
    /// Whether only what is below it is meant.
    inside: bool,
    /// Whether what it leads to, if it is a link, is among the effects as read.
    told: bool,
    settled_by: Settlement,
}

/// Which parts of a path a command follows where they are links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Follows {
    #[default]
    All,
    /// The last name is made, or taken for what it is.
    AllButLast,
    /// It only goes there, or lists names; what is done there is looked at again.
    Nothing,
}

impl Follows {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "cd" | "pushd" | "ls" => Self::Nothing,
            "mkdir" | "rm" | "rmdir" | "unlink" => Self::AllButLast,
            _ => Self::All,
        }
    }
}

/// Commands of git that put files into the working tree.
const CHECKS_OUT: [&str; 16] = [
    "git/checkout",
    "git/switch",
    "git/restore",
    "git/reset",
    "git/stash",
    "git/pull",
    "git/merge",
    "git/rebase",
    "git/cherry-pick",
    "git/revert",
    "git/am",
    "git/apply",
    "git/read-tree",
    "git/checkout-index",
    "git/mv",
    "git/worktree",
];

impl Walk<'_> {
    /// Doubts where a place may lie behind a link that the script has made.
    pub(super) fn check_links(
        &mut self,
        touch: Touch,
        place: &Place,
        certainty: Certainty,
        span: Span,
    ) {
        // What may be the name of a revision is a path for git alone, which follows no link.
        let is_revision = certainty == Certainty::Possible && place.extent == Extent::Below;
        if self.follows == Follows::Nothing || is_revision || self.unsure.is_empty() {
            return;
        }
        let mut followed: Vec<PathBuf> = ways(&place.path).collect();
        let whole = followed.last().cloned().unwrap_or_default();
        let is_pattern = matches!(place.extent, Extent::Matching(_));
        let last_counts = touch != Touch::Delete && self.follows == Follows::All;
        let is_wild = |text: &str| text.contains(['*', '?', '[']);
        let wild_counts = match &place.extent {
            Extent::Matching(pattern) => {
                last_counts || pattern.rsplit_once('/').is_some_and(|(above, _)| is_wild(above))
            }
            extent => matches!(extent, Extent::Followed | Extent::Entered),
        };
        if !last_counts && !is_pattern {
            followed.pop();
        }
        // Where the script starts, and what is above, stays what it is.
        let start = self.setting.cwd;
        followed.retain(|way| !start.starts_with(way));
        // A bare word is no path just because something was unpacked.
        let is_word = certainty == Certainty::IfThere;
        let may_lead_off = |unsure: &&Unsure| {
            if is_word && unsure.inside {
                return false;
            }
            let only_read = touch == Touch::Read && certainty == Certainty::Certain;
            let itself = whole == unsure.path && only_read && unsure.told;
            let through = followed.iter().any(|way| unsure.is_meant_by(way)) && !itself;
            let below =
                unsure.path.starts_with(&whole) || unsure.inside && whole.starts_with(&unsure.path);
            through || below && wild_counts
        };
        let settlements: Vec<Settlement> = self
            .unsure
            .iter()
            .filter(may_lead_off)
            .map(|unsure| unsure.settled_by.clone())
            .collect();
        for settled_by in settlements {
            if settled_by == Settlement::Asking {
                self.note(touch.of(anywhere()), certainty, span);
            }
            self.doubt_until(
                "the path may lead through a link that the script makes before",
                span,
                settled_by,
            );
        }
    }

    /// Programs whose operands are files, and with these options all that is below them, through links.
    pub(super) fn changed_through(&mut self, name: &str, line: &Line, span: Span) {
        let (touch, skipped) = match name {
            "chmod" | "chown" | "chgrp" | "chcon" | "setfacl"
                if has_option(line, "R", &["--rec"]) && has_option(line, "L", &["--log"]) =>
            {
                // The first is a mode or an owner, where no option is.
                let is_told = name == "setfacl" || line.has(Act::Mode);
                (Touch::Write, usize::from(!is_told))
            }
            "rsync" if has_option(line, "Lk", &["--copy-"]) => (Touch::Read, 0),
            "scp" if has_option(line, "r", &[]) => (Touch::Read, 0),
            _ => return,
        };
        for operand in line.operands.iter().skip(skipped) {
            self.touch(touch, operand, Extent::Followed, Certainty::Certain, span);
        }
    }

    /// Whether the folder that a command runs in may have been moved.
    pub(super) fn is_moved(&self) -> bool {
        let is_moved =
            |folder: &PathBuf| self.gone.iter().any(|gone| gone.is_meant_by(&plain(folder)));
        self.state.cwd.iter().any(is_moved)
    }

    /// Keeps in mind what a command may have made a link, or moved.
    pub(super) fn remade(&mut self, name: &str, line: &Line, span: Span) {
        let operands = line.operands.as_slice();
        let target = line.options.iter().find(|(act, _)| *act == Act::Target);
        let target = target.and_then(|(_, value)| value.clone());
        let (sources, last) = match (&target, operands) {
            (Some(_), sources) => (sources, None),
            (None, [only]) if matches!(name, "ln" | "link") => (std::slice::from_ref(only), None),
            (None, operands) => match operands.split_last() {
                Some((last, sources)) => (sources, Some(last)),
                None => return self.unpacked(name, line, span),
            },
        };
        let into = last.or(target.as_ref()).cloned().unwrap_or_else(|| Field::text("."));
        let links = match name {
            "ln" | "link" => Settlement::Asking,
            "cp" if has_option(line, "ls", &["--link", "--symbolic-link"]) => Settlement::Asking,
            "cp" if has_option(line, "rRadP", &["--rec", "--arc", "--no-d", "--pres"]) => {
                self.without_links(sources)
            }
            "rsync" if has_option(line, "al", &["--arc", "--links"]) => self.without_links(sources),
            "mv" => {
                for source in sources {
                    for path in self.named(source) {
                        let inside = source.literal().is_none();
                        let settled_by = Settlement::Asking;
                        self.gone.push(Unsure { path, inside, told: false, settled_by });
                    }
                }
                self.without_links(sources)
            }
            _ => return self.unpacked(name, line, span),
        };
        let text = into.shown();
        let into_folder = last.is_none() || text.ends_with('/') || text.ends_with('.');
        let beside = |field: &Field| field.literal().is_some_and(|text| !text.contains('/'));
        let absolute = |field: &Field| name == "ln" && field.prefix().starts_with('/');
        let told = !into_folder
            && sources.iter().all(|source| absolute(source) || beside(source) && beside(&into));
        for source in sources {
            for path in self.named(&into) {
                let shown = source.shown();
                let last_name = shown.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                let known = source.literal().is_some() && !matches!(last_name, "." | ".." | "");
                let path = if into_folder && known { path.join(last_name) } else { path };
                let inside = into_folder && !known;
                self.keep_unsure(Unsure { path, inside, told, settled_by: links.clone() });
            }
        }
    }

    /// The same for what comes out of an archive, a patch or a repository.
    fn unpacked(&mut self, name: &str, line: &Line, span: Span) {
        let after_dashes = line.operands.get(line.before_dashes..).unwrap_or_default();
        let first = line.operands.first().and_then(Field::literal);
        let here = [Field::text(".")];
        let folder_of = |acts: &[Act]| {
            let given = line.options.iter().rev().find(|(act, _)| acts.contains(act));
            given.and_then(|(_, value)| value.clone()).unwrap_or_else(|| Field::text("."))
        };
        let places: Vec<Field> = match name {
            "tar" | "bsdtar" | "gtar" if has_option(line, "x", &["--ext", "--get"]) => {
                vec![folder_of(&[Act::Cwd])]
            }
            "unzip" if !has_option(line, "ltpvzZ", &[]) => vec![folder_of(&[Act::Write])],
            "unrar" | "unar" | "7z" | "7za" | "7zr" | "rar" | "cpio" | "patch"
                if !matches!(first, Some("l" | "t" | "a")) =>
            {
                let mut all = here.to_vec();
                all.push(folder_of(&[Act::Write]));
                all
            }
            "git/clone" => line.operands.iter().skip(1).take(1).cloned().collect(),
            "git/stash" if matches!(first, Some("list" | "show" | "drop" | "clear" | "create")) => {
                Vec::new()
            }
            "git/reset" if !has_option(line, "", &["--h", "--m", "--k"]) => Vec::new(),
            "git/checkout" | "git/switch"
                if line.operands.is_empty() && has_option(line, "bBcC", &["--c", "--o"]) =>
            {
                Vec::new()
            }
            _ if CHECKS_OUT.contains(&name) && !after_dashes.is_empty() => {
                for place in after_dashes {
                    for path in self.named(place) {
                        let (inside, told, settled_by) = (false, false, Settlement::Asking);
                        self.keep_unsure(Unsure { path, inside, told, settled_by });
                    }
                }
                Vec::new()
            }
            // A repository may lie above the folder that the script starts in.
            _ if CHECKS_OUT.contains(&name) => vec![Field::text("/")],
            _ => Vec::new(),
        };
        for place in &places {
            // These two write through no links that are there already.
            if name != "patch" && !name.starts_with("git/") {
                self.touch(Touch::Write, place, Extent::Entered, Certainty::Possible, span);
            }
            for path in self.named(place) {
                let (inside, told, settled_by) = (true, false, Settlement::Asking);
                self.keep_unsure(Unsure { path, inside, told, settled_by });
            }
        }
    }

    fn keep_unsure(&mut self, unsure: Unsure) {
        if !self.unsure.contains(&unsure) {
            self.unsure.push(unsure);
        }
    }

    /// The places that a word names; of a pattern, the folder above it. What is not known is doubted
    /// where it is touched.
    fn named(&self, field: &Field) -> Vec<PathBuf> {
        let text = field.prefix();
        let text = match field.literal() {
            Some(_) => text,
            None => text.rsplit_once('/').map_or("", |(above, _)| above),
        };
        let named =
            |folder: &PathBuf| plain(&straightened(self.setting.cwd, &below(folder, text, false)));
        self.state.cwd.iter().map(named).collect()
    }

    /// That these have no links in them, if nothing in the script has made some.
    fn without_links(&self, sources: &[Field]) -> Settlement {
        let places: Vec<PathBuf> = sources.iter().flat_map(|source| self.named(source)).collect();
        let is_unsure = |place: &PathBuf| {
            let made =
                |unsure: &Unsure| unsure.is_meant_by(place) || unsure.path.starts_with(place);
            self.unsure.iter().any(made)
        };
        if places.is_empty() || places.iter().any(is_unsure) {
            return Settlement::Asking;
        }
        Settlement::NoLinks(places)
    }
}

impl Unsure {
    fn is_meant_by(&self, way: &Path) -> bool {
        way.starts_with(&self.path) && !(self.inside && way == self.path)
    }
}

/// Whether a program follows the links in the folders that it goes through.
pub(super) fn goes_through(name: &str, line: &Line) -> bool {
    let has = |letters, long: &[&str]| has_option(line, letters, long);
    match name {
        "find" | "gfind" => {
            line.raw.iter().any(|word| matches!(word.literal(), Some("-L" | "-follow")))
        }
        "grep" | "egrep" | "fgrep" | "zgrep" => has("R", &["--de"]),
        "rg" | "ripgrep" | "fd" | "fdfind" => has("L", &["--fol"]),
        "ag" | "ack" => has("f", &["--fol"]),
        "du" => has("L", &["--de"]),
        "tree" => has("l", &[]),
        "cp" => has("LH", &["--de"]) && has("rRa", &["--rec", "--arc"]),
        "tar" | "bsdtar" | "gtar" => has("hL", &["--de"]),
        "diff" => has("r", &["--rec"]) && !has("", &["--no-d"]),
        "zip" => has("rR", &["--rec"]) && !has("y", &["--sym"]),
        _ => false,
    }
}

/// A path without `..`, as if there were no links.
pub(super) fn plain(path: &Path) -> PathBuf {
    ways(path).last().unwrap_or_default()
}

/// Whether one of these options is given: a letter, alone or among others, or how a long one begins.
pub(super) fn has_option(line: &Line, letters: &str, long: &[&str]) -> bool {
    line.raw.iter().take_while(|word| word.literal() != Some("--")).any(|word| {
        let text = word.prefix();
        match text.strip_prefix('-') {
            Some(name) if name.starts_with('-') => long.iter().any(|long| text.starts_with(long)),
            Some(cluster) => cluster.contains(|letter| letters.contains(letter)),
            None => false,
        }
    })
}
