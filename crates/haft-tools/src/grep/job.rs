//! One search: the files, what matches in them, and the page of it that is shown.

use std::fs::File;
use std::path::{Path, PathBuf};

use haft_runtime::{Limits, Output, ToolError};
use haft_workspace::Workspace;
use haft_workspace::open::Opened;
use haft_workspace::path::Place;
use haft_workspace::search::excerpt::{Line, Window, excerpt};
use haft_workspace::search::tree::{Enough, Hits, Missed, Search};
use haft_workspace::search::{Searched, count};
use haft_workspace::walk::{End, Found, Ground, Harvest, Ignored, Walk, threads};

use super::answer::{Answer, Page, Shown, Total};
use super::{OutputMode, Request};
use crate::change::current;
use crate::files::Files;
use crate::search::{Access, IGNORED_NAMES, NotSearched, Until, counted};
use crate::stamps::Stamp;

/// Files whose shown lines are remembered: a model works on the first few.
const STAMPED: usize = 20;
/// Largest of them: the whole file is read once more.
const STAMPED_BYTES: u64 = 1024 * 1024;

/// What is shown, and what the session has seen of files by that.
pub(super) struct Seen {
    pub(super) output: Output,
    pub(super) stamps: Vec<(PathBuf, Stamp)>,
}

/// A search that was allowed.
pub(super) struct Job<'a> {
    pub(super) request: &'a Request,
    pub(super) place: &'a Place,
    pub(super) access: Access,
    pub(super) until: &'a Until,
    pub(super) limits: &'a Limits,
}

/// A file that matches.
struct Hit<'a> {
    name: String,
    path: PathBuf,
    matches: u64,
    /// Opens it, and says what size it had.
    open: Box<dyn Fn() -> Option<(File, u64)> + 'a>,
}

impl Job<'_> {
    pub(super) fn run(&self, workspace: &Workspace) -> Result<Seen, ToolError> {
        let place = self.place;
        let Opened { file, metadata } =
            workspace.open_place(place).map_err(|error| Files::explain(workspace, place, error))?;
        let answer = if metadata.is_dir() {
            self.tree(&Ground { folder: &file, place }, workspace)
        } else {
            self.file(&file, metadata.len())
        };
        if self.until.is_cancelled() {
            return Err(ToolError::Cancelled { partial: answer.page.text });
        }
        let stamps = answer.page.shown.iter().take(STAMPED);
        let stamps = stamps.filter_map(|shown| stamp(workspace, shown)).collect();
        Ok(Seen { output: answer.into_output(self.request, place)?, stamps })
    }

    /// One file, which was asked about by name.
    fn file(&self, file: &File, size: u64) -> Answer {
        let stop = || self.until.is_over();
        let enough = match self.enough() {
            Enough::All => u64::MAX,
            Enough::Matches(enough) => enough.saturating_add(1),
            Enough::Files(_) => 1,
        };
        let (matches, searched) = count(&self.request.query, file, size, enough, &stop);
        let mut missed = Missed::default();
        missed.add(searched);
        let again = || {
            let mut again = file.try_clone().ok()?;
            std::io::Seek::rewind(&mut again).ok()?;
            Some((again, size))
        };
        let (name, path) = (self.place.shown(), self.place.path.clone());
        let hit = Hit { name, path, matches, open: Box::new(again) };
        let hits: Vec<Hit<'_>> = Some(hit).filter(|_| matches > 0).into_iter().collect();
        let is_exact = matches < enough && searched != Searched::Stopped;
        let looked_at = usize::from(matches!(searched, Searched::Whole) || matches > 0);
        let not_searched = NotSearched::of(&Harvest::default(), &missed).late(self.until.is_late());
        Answer {
            page: self.page(&hits),
            total: Total { matches, files: hits.len(), is_exact, looked_at, candidates: 1 },
            only_ignored: None,
            not_searched,
        }
    }

    /// All files below a folder.
    fn tree(&self, ground: &Ground<'_>, workspace: &Workspace) -> Answer {
        let walk = Walk {
            ignored: if self.request.include_ignored {
                Ignored::Included
            } else {
                Ignored::LeftOut
            },
            wanted: &|path| self.request.wants(path),
            worth: &|_| true,
            threads: threads(),
            stop: &|| self.until.is_over(),
        };
        let mut harvest = ground.walk(&walk);
        let mut files = std::mem::take(&mut harvest.files);
        files.sort_unstable_by(Found::newest_first);
        let hits = self.search(ground, workspace, &files, self.enough());
        let found = self.found(ground, &files, &hits);
        let only_ignored = if hits.files.is_empty() && hits.is_exact {
            self.only_ignored(ground, workspace, &walk, &harvest)
        } else {
            None
        };
        let matches = hits.files.iter().map(|(_, matches)| matches).sum();
        let is_exact = hits.is_exact && harvest.end == End::Whole;
        let total = Total {
            matches,
            files: found.len(),
            is_exact,
            looked_at: hits.looked_at,
            candidates: files.len(),
        };
        let late = self.until.is_late();
        let not_searched = NotSearched::of(&harvest, &hits.missed).late(late);
        Answer { page: self.page(&found), total, only_ignored, not_searched }
    }

    fn search(
        &self,
        ground: &Ground<'_>,
        workspace: &Workspace,
        files: &[Found],
        enough: Enough,
    ) -> Hits {
        let may_open = |path: &Path| self.access.covers(&ground.place.path.join(path), workspace);
        let search = Search {
            ground,
            files,
            query: &self.request.query,
            enough,
            may_open: &may_open,
            threads: threads(),
            stop: &|| self.until.is_over(),
        };
        search.run()
    }

    fn found<'a>(&self, ground: &'a Ground<'a>, files: &'a [Found], hits: &Hits) -> Vec<Hit<'a>> {
        let known =
            hits.files.iter().filter_map(|(index, matches)| Some((files.get(*index)?, matches)));
        let hit = |(found, matches): (&'a Found, &u64)| {
            let below = found.path();
            let name = ground.shown(&below);
            let path = self.place.path.join(&below);
            let open = move || Some((ground.open(&below)?, found.size));
            Hit { name, path, matches: *matches, open: Box::new(open) }
        };
        known.map(hit).collect()
    }

    /// What to say if only files match that ignore rules leave out.
    fn only_ignored(
        &self,
        ground: &Ground<'_>,
        workspace: &Workspace,
        walk: &Walk<'_>,
        harvest: &Harvest,
    ) -> Option<String> {
        if harvest.left_out.is_empty() || self.until.is_over() {
            return None;
        }
        let mut ignored = ground.walk_left_out(walk, &harvest.left_out, IGNORED_NAMES);
        ignored.files.sort_unstable_by(Found::newest_first);
        let hits = self.search(
            ground,
            workspace,
            &ignored.files,
            Enough::Files(self.request.limit as u64),
        );
        let files = counted(hits.files.len() as u64, "ignored file");
        let is_exact = hits.is_exact && ignored.end == End::Whole;
        let at_least = if is_exact { "" } else { "at least " };
        (!hits.files.is_empty())
            .then(|| format!("But {at_least}{files} would match: set include_ignored to see them."))
    }

    /// When enough is known for the page, and for saying whether there is more.
    fn enough(&self) -> Enough {
        let last = self.request.offset.saturating_add(self.request.limit) as u64;
        match self.request.mode {
            OutputMode::Content => Enough::Matches(last),
            OutputMode::Files => Enough::Files(last),
            OutputMode::Count => Enough::All,
        }
    }

    /// The part of the hits that was asked for.
    fn page(&self, hits: &[Hit<'_>]) -> Page {
        let mut page = Page::new(self.limits, self.request.before + self.request.after > 0);
        match self.request.mode {
            OutputMode::Content => self.content(hits, &mut page),
            OutputMode::Files => {
                self.of_files(hits).take_while(|hit| page.add_name(&hit.name)).for_each(drop);
            }
            OutputMode::Count => {
                let line = |hit: &Hit<'_>| format!("{}:{}", hit.name, hit.matches);
                self.of_files(hits).take_while(|hit| page.add_name(&line(hit))).for_each(drop);
            }
        }
        page
    }

    fn of_files<'h, 'a>(&self, hits: &'h [Hit<'a>]) -> impl Iterator<Item = &'h Hit<'a>> {
        hits.iter().skip(self.request.offset).take(self.request.limit)
    }

    /// The lines of the matches from `offset` on.
    fn content(&self, hits: &[Hit<'_>], page: &mut Page) {
        let (mut skip, mut take) = (self.request.offset as u64, self.request.limit as u64);
        for hit in hits {
            if take == 0 || self.until.is_cancelled() {
                return;
            }
            let here = hit.matches.saturating_sub(skip).min(take);
            let window =
                Window { skip, take: here, before: self.request.before, after: self.request.after };
            skip = skip.saturating_sub(hit.matches);
            take -= here;
            if here > 0 && !page.add_lines(&hit.name, &hit.path, &self.lines(hit, window)) {
                return;
            }
        }
    }

    fn lines(&self, hit: &Hit<'_>, window: Window) -> Vec<Line> {
        let Some((file, size)) = (hit.open)() else { return Vec::new() };
        excerpt(&self.request.query, &file, size, window, &|| self.until.is_cancelled()).0
    }
}

/// What the session has seen of a file by the lines that are shown.
fn stamp(workspace: &Workspace, shown: &Shown) -> Option<(PathBuf, Stamp)> {
    let place = workspace.place(shown.path.clone(), true);
    let opened = workspace.open_place(&place).ok()?;
    if opened.metadata.len() > STAMPED_BYTES {
        return None;
    }
    let now = current(workspace, &place).ok()??;
    let ends = now.bytes.iter().filter(|byte| **byte == b'\n').count();
    let total = ends + usize::from(now.bytes.last().is_some_and(|last| *last != b'\n'));
    let stamp = Stamp::of(now.hash, total as u64, shown.lines.iter().copied());
    Some((shown.path.clone(), stamp))
}
