//! Searching against ripgrep on generated trees, and against itself on more and fewer threads.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use haft_workspace::Workspace;
use haft_workspace::search::excerpt::{Role, Window, excerpt};
use haft_workspace::search::tree::{Enough, Search};
use haft_workspace::search::{Meaning, Query};
use haft_workspace::walk::{Found, Ground, Ignored, Walk};

/// A generator that always gives the same numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).unwrap()
    }

    fn one_of<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

const FOLDERS: [&str; 8] = ["src", "target", "a b", ".hidden", "build", "déjà", "x.d", "-rf"];
const NAMES: [&str; 12] = [
    "main.rs", "a.log", "keep.log", "x.tmp", ".env2", "Makefile", "[odd].rs", "b.py", "ü.txt",
    "--pre=x", "c.rs~", "d",
];
const RULES: [&str; 16] = [
    "*.log",
    "!keep.log",
    "target",
    "target/",
    "/build",
    "build/*",
    "!build/main.rs",
    "**/x.tmp",
    "src/**/b.py",
    "*.rs~",
    "#x",
    "\\#y",
    "a?b",
    "[a-c].py",
    "x.d/**",
    "*",
];
const WORDS: [&str; 10] = [
    "alpha",
    "Alpha",
    "beta42",
    "fn main() {",
    "αβγ",
    "foo.bar",
    "tab\there",
    "",
    "  indented",
    "end;",
];
const PATTERNS: [&str; 14] = [
    "alpha",
    "(?i)alpha",
    r"\bbeta\d+",
    "^fn",
    r"\{$",
    "α.γ",
    "foo.bar",
    "^$",
    "end;$",
    "[[:upper:]]",
    r"\w+\s+\w+",
    "x*",
    "nothing-at-all",
    r"(a|b)\w*",
];

/// A tree with ignore files, odd names, encodings, links and empty files; no NUL in any text: what
/// ripgrep shows of a binary file before it notices, we do not.
fn grow(dir: &Path, dice: &mut Dice, depth: usize) {
    for ignore in [".gitignore", ".ignore"] {
        if dice.below(3) == 0 {
            let lines: String =
                (0..dice.below(4)).map(|_| format!("{}\n", dice.one_of(&RULES))).collect();
            fs_err::write(dir.join(ignore), lines).unwrap();
        }
    }
    for _ in 0..dice.below(6) {
        fs_err::write(dir.join(dice.one_of(&NAMES)), content(dice)).unwrap();
    }
    if dice.below(6) == 0 {
        let odd = std::ffi::OsStr::from_bytes(b"odd\xff\xfe.rs");
        fs_err::write(dir.join(odd), content(dice)).unwrap();
    }
    if dice.below(5) == 0 {
        drop(symlink("..", dir.join("up")));
        drop(symlink("main.rs", dir.join("link.rs")));
    }
    if depth == 0 {
        return;
    }
    for _ in 0..dice.below(4) {
        let below = dir.join(dice.one_of(&FOLDERS));
        if fs_err::create_dir(&below).is_ok() {
            if dice.below(8) == 0 {
                fs_err::create_dir(below.join(".git")).unwrap();
            }
            grow(&below, dice, depth - 1);
        }
    }
}

fn content(dice: &mut Dice) -> Vec<u8> {
    let end = dice.one_of(&["\n", "\n", "\r\n"]);
    let mut text: String = (0..dice.below(12))
        .map(|_| format!("{} {}{end}", dice.one_of(&WORDS), dice.one_of(&WORDS)))
        .collect();
    if dice.below(4) == 0 {
        text = text.trim_end().to_owned();
    }
    match dice.below(10) {
        0 => {
            [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
        }
        1 => {
            [0xFE, 0xFF].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect()
        }
        2 => [b"\xEF\xBB\xBF", text.as_bytes()].concat(),
        3 => [text.as_bytes(), b"caf\xe9 alpha\n"].concat(),
        4 if dice.below(4) == 0 => text.repeat(3_000).into_bytes(),
        _ => text.into_bytes(),
    }
}

/// What is found: path and line.
fn ours(dir: &Path, pattern: &str, threads: usize) -> (Vec<(Vec<u8>, u64)>, usize) {
    let workspace = Workspace::open(dir, None).unwrap();
    let place = workspace.locate(".").unwrap();
    let folder = workspace.open_place(&place).unwrap().file;
    let ground = Ground { folder: &folder, place: &place };
    let walk = Walk {
        ignored: Ignored::LeftOut,
        wanted: &|_| true,
        worth: &|_| true,
        threads,
        stop: &|| false,
    };
    let harvest = ground.walk(&walk);
    let mut files = harvest.files;
    files.sort_unstable_by(Found::newest_first);
    let query = Query::new(pattern, Meaning::default()).unwrap();
    let (enough, may_open) = (Enough::All, &|_: &Path| true);
    let search = Search {
        ground: &ground,
        files: &files,
        query: &query,
        enough,
        may_open,
        threads,
        stop: &|| false,
    };
    let hits = search.run();
    assert!(hits.is_exact);
    let mut found = Vec::new();
    for (index, matches) in hits.files {
        let path = files[index].path();
        let window = Window { skip: 0, take: u64::MAX, before: 0, after: 0 };
        let file = ground.open(&path).unwrap();
        let (lines, _) = excerpt(&query, &file, files[index].size, window, &|| false);
        let numbers: Vec<u64> =
            lines.iter().filter(|line| line.role == Role::Match).map(|line| line.number).collect();
        assert_eq!(numbers.len() as u64, matches, "{}", path.display());
        found.extend(
            numbers.into_iter().map(|number| (path.as_os_str().as_bytes().to_vec(), number)),
        );
    }
    (found, files.len())
}

fn rg(dir: &Path, args: &[&str]) -> Vec<u8> {
    // A repository, so that ripgrep heeds what git does; and line ends of both kinds, as we do.
    let output = Command::new("rg")
        .args([
            "--no-config",
            "--hidden",
            "--glob",
            "!.git",
            "--crlf",
            "--no-messages",
            "--null",
            "--color=never",
        ])
        .args(args)
        .arg("./")
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(
        output.status.code() != Some(2) || output.stderr.is_empty(),
        "{:?}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn theirs(dir: &Path, pattern: &str) -> BTreeSet<(Vec<u8>, u64)> {
    let output = rg(dir, &["--no-heading", "-n", "-e", pattern]);
    let lines = output.split(|byte| *byte == b'\n').filter(|line| line.contains(&0));
    lines
        .map(|line| {
            let at = line.iter().position(|byte| *byte == 0).unwrap();
            let (path, rest) = (&line[..at], &line[at + 1..]);
            let number: String = rest
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .map(|byte| char::from(*byte))
                .collect();
            (path.strip_prefix(b"./").unwrap_or(path).to_vec(), number.parse().unwrap())
        })
        .collect()
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test is told by the environment to go on for longer"
)]
fn the_same_files_and_lines_as_ripgrep_on_generated_trees() {
    if Command::new("rg").arg("--version").output().is_err() {
        eprintln!("SKIP the_same_files_and_lines_as_ripgrep: there is no rg");
        return;
    }
    let rounds =
        std::env::var("HAFT_TREES").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(60);
    let mut compared = 0;
    for round in 0..rounds {
        let dir = tempfile::tempdir().unwrap();
        let mut dice = Dice(round);
        fs_err::create_dir_all(dir.path().join(".git/info")).unwrap();
        if round % 3 == 0 {
            fs_err::write(dir.path().join(".git/info/exclude"), "x.tmp\n").unwrap();
        }
        grow(dir.path(), &mut dice, 4);
        let listed = rg(dir.path(), &["--files"]);
        let listed = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).count();
        for _ in 0..4 {
            let pattern = dice.one_of(&PATTERNS);
            let (found, files) = ours(dir.path(), pattern, 2);
            assert_eq!(files, listed, "round {round}");
            let found: BTreeSet<_> = found.into_iter().collect();
            let expected = theirs(dir.path(), pattern);
            compared += expected.len();
            let (more, less): (Vec<_>, Vec<_>) =
                (found.difference(&expected).collect(), expected.difference(&found).collect());
            let show = |some: &[&(Vec<u8>, u64)]| {
                some.iter()
                    .take(5)
                    .map(|(path, line)| format!("{}:{line}", String::from_utf8_lossy(path)))
                    .collect::<Vec<_>>()
            };
            assert!(
                more.is_empty() && less.is_empty(),
                "round {round}, `{pattern}`: only ours {:?}, only theirs {:?}",
                show(&more),
                show(&less)
            );
        }
    }
    assert!(compared > 10 * rounds as usize, "{compared} lines are too few to say anything");
}

#[test]
fn the_same_search_gives_the_same_on_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let mut dice = Dice(7);
    for part in 0..4 {
        let below = dir.path().join(format!("part{part}"));
        fs_err::create_dir(&below).unwrap();
        grow(&below, &mut dice, 2);
    }
    let expected = ours(dir.path(), "alpha", 1);
    assert!(expected.0.len() > 20 && expected.1 > 20, "{} {}", expected.0.len(), expected.1);
    for threads in [1, 2, 8] {
        for _ in 0..100 {
            assert_eq!(ours(dir.path(), "alpha", threads), expected, "{threads} threads");
        }
    }
}

#[test]
fn nothing_outside_is_found_while_a_folder_and_a_file_are_swapped_for_links() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let dir = tempfile::tempdir().unwrap();
    let (inside, outside) = (dir.path().join("W"), dir.path().join("O"));
    for folder in [inside.join("d/deep"), outside.join("deep")] {
        fs_err::create_dir_all(folder).unwrap();
    }
    fs_err::write(inside.join("d/deep/f"), "alpha inside\n").unwrap();
    fs_err::write(inside.join("g"), "alpha inside\n").unwrap();
    for file in ["deep/f", "deep/only-outside"] {
        fs_err::write(outside.join(file), "alpha\nalpha\nalpha outside\n").unwrap();
    }
    symlink(&outside, inside.join("e")).unwrap();
    symlink(outside.join("deep/f"), inside.join("h")).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for (a, b) in [("d", "e"), ("g", "h")] {
                    let (a, b) = (inside.join(a), inside.join(b));
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    rustix::fs::renameat_with(rustix::fs::CWD, a, rustix::fs::CWD, b, flags)
                        .unwrap();
                }
            }
        });
        for _ in 0..2_000 {
            let lines = lines_while_swapped(&inside);
            assert!(lines.iter().all(|line| line == "alpha inside"), "{lines:?}");
        }
        over.store(true, Ordering::Relaxed);
    });
}

/// The lines that match, of whatever can still be opened when it is to be shown.
fn lines_while_swapped(dir: &Path) -> Vec<String> {
    let workspace = Workspace::open(dir, None).unwrap();
    let place = workspace.locate(".").unwrap();
    let folder = workspace.open_place(&place).unwrap().file;
    let ground = Ground { folder: &folder, place: &place };
    let walk = Walk {
        ignored: Ignored::LeftOut,
        wanted: &|_| true,
        worth: &|_| true,
        threads: 1,
        stop: &|| false,
    };
    let files = ground.walk(&walk).files;
    assert!(files.iter().all(|found| !found.path().ends_with("only-outside")));
    let query = Query::new("alpha", Meaning::default()).unwrap();
    let (enough, may_open) = (Enough::All, &|_: &Path| true);
    let search = Search {
        ground: &ground,
        files: &files,
        query: &query,
        enough,
        may_open,
        threads: 1,
        stop: &|| false,
    };
    let hits = search.run();
    assert!(hits.files.iter().all(|(_, matches)| *matches == 1));
    let window = Window { skip: 0, take: 9, before: 0, after: 0 };
    let found = hits.files.iter().filter_map(|(index, _)| ground.open(&files[*index].path()));
    found
        .flat_map(|file| excerpt(&query, &file, 99, window, &|| false).0)
        .map(|line| line.text)
        .collect()
}
