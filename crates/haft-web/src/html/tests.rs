//! Pages of every shape.
use super::*;
#[test]
fn show() {
    let html = fs_err::read_to_string("/tmp/p/p.html").unwrap();
    let base = Target::parse("https://docs.test/a/b").unwrap();
    for form in [Form::Markdown, Form::Text] {
        for scope in [Scope::Whole, Scope::Main] {
            println!(
                "==== {form:?} {scope:?}\n{:#}",
                read(&html, &base, form, scope, &|| false).unwrap().text
            );
        }
    }
    let big = html.repeat(1_000_000 / html.len());
    let t = std::time::Instant::now();
    let n = read(&big, &base, Form::Markdown, Scope::Whole, &|| false).unwrap().text.len();
    println!("{n} {:?}", t.elapsed());
}
