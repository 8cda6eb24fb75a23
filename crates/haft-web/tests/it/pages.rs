//! Pages of many shapes, and the Markdown that they become.

use std::path::{Path, PathBuf};

use haft_web::html::{Form, Scope, read};
use haft_web::{Target, decode};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/pages")
}

/// Every page beside the text that it becomes. `HAFT_UPDATE_SNAPSHOTS=1 cargo test` writes them anew.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test is told by the environment to write")]
fn pages_become_the_markdown_that_stands_beside_them() {
    let mut names: Vec<PathBuf> = fs_err::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "html"))
        .collect();
    names.sort();
    assert!(names.len() >= 40, "{} pages", names.len());
    let base = Target::parse("https://docs.test/guide/page.html").unwrap();
    let mut differing = Vec::new();
    for path in &names {
        let page = decode(&fs_err::read(path).unwrap(), None);
        let show = |form, scope| read(&page.text, &base, form, scope, &|| false).unwrap();
        let whole = show(Form::Markdown, Scope::Whole);
        assert!(!whole.cut);
        let text = format!(
            "title: {}\ncharset: {}\n\n===== whole\n{}\n\n===== main\n{}\n\n===== text\n{}\n",
            whole.title.as_deref().unwrap_or("(none)"),
            page.charset,
            whole.text,
            show(Form::Markdown, Scope::Main).text,
            show(Form::Text, Scope::Whole).text,
        );
        let snapshot = path.with_extension("md");
        if std::env::var_os("HAFT_UPDATE_SNAPSHOTS").is_some() {
            fs_err::write(&snapshot, &text).unwrap();
        }
        if fs_err::read_to_string(&snapshot).unwrap_or_default() != text {
            differing.push(snapshot);
        }
    }
    assert!(differing.is_empty(), "these differ: {differing:#?}");
}
