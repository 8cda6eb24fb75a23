//! Small files that the system holds in memory: they can be read without waiting for a disk.

use std::fs::File;
use std::io::IoSliceMut;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, ResolveFlags, openat2};
use rustix::io::{ReadWriteFlags, preadv2};

use crate::Workspace;
use crate::open::{Opened, READ};
use crate::path::Place;

/// Largest file that counts as small: what is done with one takes no time that anybody could notice.
const SMALL: usize = 32 * 1024;

impl Workspace {
    /// Opens a small text file inside the workspace, if the path leads there without any detour,
    /// `may_open` says so, and neither the way nor the content has to be waited for. `None` says nothing
    /// about the file.
    #[must_use]
    pub fn at_hand(
        &self,
        given: &str,
        may_open: impl FnOnce(&Place) -> bool,
    ) -> Option<(Place, Opened)> {
        let inside = self.plainly_inside(given)?;
        let path = self.root().join(&inside);
        // As long as no link is met, which is not followed.
        let place = Place { path, inside: Some(inside.clone()), exists: true };
        if !may_open(&place) {
            return None;
        }
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::CACHED;
        let file = File::from(openat2(self.dir(), &inside, READ, Mode::empty(), resolve).ok()?);
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let size = usize::try_from(metadata.len()).ok().filter(|size| *size <= SMALL)?;
        let mut content = vec![0; size];
        let into = &mut [IoSliceMut::new(&mut content)];
        // What is not in memory is an error here, and what has shrunk is too short.
        let read = preadv2(&file, into, 0, ReadWriteFlags::NOWAIT).ok()?;
        let is_text = read == size && memchr::memchr(0, &content).is_none();
        is_text.then_some((place, Opened { file, metadata }))
    }

    /// The way from the root that a path plainly spells: without `..`, `~` or anything to be understood.
    fn plainly_inside(&self, given: &str) -> Option<PathBuf> {
        let is_plain = !given.starts_with(['@', '~']) && !given.contains(['\0', '\n', '\r']);
        // A workspace that is the whole machine encloses nothing.
        let encloses = self.root().parent().is_some();
        let path = Some(Path::new(given)).filter(|_| is_plain && encloses)?;
        let relative = if path.is_absolute() { path.strip_prefix(self.root()).ok()? } else { path };
        let names = relative.components().filter(|part| *part != Component::CurDir);
        let inside = names
            .map(|part| match part {
                Component::Normal(name) => Some(name),
                _ => None,
            })
            .collect::<Option<PathBuf>>()?;
        // A slash at the end, or `file:`, means something else.
        let is_file = !given.ends_with('/') && !given.contains(':') && inside.file_name().is_some();
        is_file.then_some(inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_texts_inside_are_at_hand_and_only_by_a_plain_path() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("work"), dir.path().join("outside"));
        fs_err::create_dir_all(root.join("sub")).unwrap();
        let write = |path: &str, text: &[u8]| fs_err::write(root.join(path), text).unwrap();
        write("a.txt", b"alpha\n");
        write("sub/b.txt", b"");
        write("c.bin", b"\0");
        write("large.txt", &vec![b'x'; SMALL + 1]);
        fs_err::write(&outside, "secret").unwrap();
        fs_err::os::unix::fs::symlink(&outside, root.join("link")).unwrap();
        fs_err::os::unix::fs::symlink(root.join("sub"), root.join("way")).unwrap();
        let workspace = Workspace::open(&root, None).unwrap();
        let root = workspace.root().to_owned();
        for (given, inside) in [
            ("a.txt", "a.txt"),
            ("./a.txt", "a.txt"),
            (root.join("a.txt").to_str().unwrap(), "a.txt"),
            ("sub//b.txt", "sub/b.txt"),
        ] {
            // A kernel that has no way to ask for what is in memory says so for every file.
            if let Some((place, opened)) = workspace.at_hand(given, |_| true) {
                let expected = workspace.locate(given).unwrap();
                assert_eq!((&place.path, &place.inside), (&expected.path, &expected.inside));
                assert_eq!(place.inside.as_deref(), Some(Path::new(inside)), "{given}");
                let size = fs_err::metadata(root.join(inside)).unwrap().len();
                assert_eq!(opened.metadata.len(), size);
            }
        }
        for given in [
            "c.bin",
            "large.txt",
            "link",
            "way/b.txt",
            "sub",
            "sub/",
            ".",
            "",
            "gone",
            "sub/../a.txt",
            "../outside",
            "~/a.txt",
            "@a.txt",
            "a.txt\n",
            "file:a.txt",
            "a.txt/",
            outside.to_str().unwrap(),
        ] {
            assert!(workspace.at_hand(given, |_| true).is_none(), "{given:?}");
        }
    }
}
