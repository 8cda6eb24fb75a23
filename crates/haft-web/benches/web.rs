//! What a page costs to read: every row is a figure and the time that it is held to.
//!
//! Figures are times on a core. `cargo bench -p haft-web`; `-- --check` makes the exit code say whether every row keeps its bound.
#![expect(clippy::expect_used, reason = "a bench that cannot set itself up has nothing to say")]
#![expect(clippy::print_stdout, reason = "its table is what it is for")]

use std::time::Duration;

use haft_web::Target;
use haft_web::html::{Form, Scope, read};

/// Size of the page that is converted.
const SIZE: usize = 1_000_000;
const ROUNDS: usize = 15;
/// What a megabyte may take.
const BOUND: Duration = Duration::from_millis(100);

/// The largest page that is fetched, full of what is made to take long.
const LARGEST: usize = 5 * 1024 * 1024;
const HOSTILE_BOUND: Duration = Duration::from_secs(2);
const HOSTILE: [(&str, &str); 7] = [
    ("5 MB of nested boxes", "<div>"),
    ("5 MB of paragraphs", "<p>x"),
    ("5 MB of nested lists", "<ul><li>x"),
    ("5 MB of nested tables", "<table><tr><td>x"),
    ("5 MB of rows that span", "<tr><td rowspan=9 colspan=9>x"),
    ("5 MB of entities", "&amp;"),
    ("5 MB of unclosed formatting", "<b><i><a href=x>x<p>"),
];

fn main() {
    let page = page();
    let rows = [
        ("1 MB of HTML to Markdown", Form::Markdown, Scope::Whole),
        ("1 MB of HTML to Markdown, the main part", Form::Markdown, Scope::Main),
        ("1 MB of HTML to text", Form::Text, Scope::Whole),
    ];
    let mut kept = true;
    for (name, form, scope) in rows {
        let figure = median(|| convert(&page, form, scope));
        let mark = if figure <= BOUND { "" } else { "  OVER" };
        kept &= figure <= BOUND;
        println!("{name:<44} {figure:>12.2?}  at most {BOUND:?}{mark}");
    }
    for (name, part) in HOSTILE {
        let page = part.repeat(LARGEST / part.len());
        let begin = on_a_core();
        convert(&page, Form::Markdown, Scope::Whole);
        let figure = on_a_core() - begin;
        let mark = if figure <= HOSTILE_BOUND { "" } else { "  OVER" };
        kept &= figure <= HOSTILE_BOUND;
        println!("{name:<44} {figure:>12.2?}  at most {HOSTILE_BOUND:?}{mark}");
    }
    if !kept && std::env::args().any(|arg| arg == "--check") {
        std::process::exit(1);
    }
}

/// The pages that the tests keep, one after another, up to a megabyte.
fn page() -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/pages");
    let mut paths: Vec<_> = fs_err::read_dir(folder)
        .expect("pages to convert")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "html"))
        .collect();
    paths.sort();
    let pages: Vec<String> =
        paths.iter().filter_map(|path| fs_err::read_to_string(path).ok()).collect();
    let mut page = String::new();
    while page.len() < SIZE {
        page.push_str(&pages.concat());
    }
    page.truncate(page.floor_char_boundary(SIZE));
    page
}

fn convert(page: &str, form: Form, scope: Scope) {
    let base = Target::parse("https://docs.test/").expect("a target");
    let reading = read(page, &base, form, scope, &|| false).expect("nobody stops it");
    std::hint::black_box(reading.text.len());
}

/// How long this thread has had a core: what else the machine does is not ours.
fn on_a_core() -> Duration {
    let text = fs_err::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}

fn median(work: impl Fn()) -> Duration {
    work();
    let mut taken: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begin = on_a_core();
            work();
            on_a_core() - begin
        })
        .collect();
    taken.sort();
    taken.get(ROUNDS / 2).copied().unwrap_or_default()
}
