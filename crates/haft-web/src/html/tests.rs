//! Pages that are made to be hard to read: in bounded time, and balanced whatever comes.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{Form, Reading, Scope, read};
use crate::target::Target;

fn base() -> Target {
    Target::parse("https://docs.test/").unwrap()
}

fn markdown(html: &str) -> Reading {
    read(html, &base(), Form::Markdown, Scope::Whole, &|| false).unwrap()
}

/// A large page of one thing.
fn full_of(part: &str) -> String {
    part.repeat(400_000 / part.len())
}

#[test]
fn no_page_takes_long() {
    let formatting: String =
        (0..2_000).map(|number| format!("<font color={number}><b><i><a href=/{number}>")).collect();
    let pages = [
        full_of("<div>"),
        full_of("<p>"),
        full_of("<b>"),
        full_of("<ul><li>"),
        full_of("<table><tr><td>"),
        full_of("<blockquote>x"),
        full_of("<table>x"),
        full_of("<td colspan=1000 rowspan=1000>x"),
        format!("<table>{}", full_of("<tr><td colspan=1000 rowspan=1000>x")),
        full_of("&amp;"),
        full_of("&notanentity;"),
        full_of("<a href=x>"),
        full_of("<!-- "),
        full_of("<script>"),
        full_of("</p>"),
        full_of("<"),
        full_of("x "),
        format!("{formatting}{}", full_of("<p>x")),
        format!("<select>{}", full_of("<option>x")),
        format!("<div {}>", full_of("a=b ")),
        format!("<a href='{}'>x</a>", full_of("x")),
        full_of("<main><article>x</article></main>"),
    ];
    for page in &pages {
        for scope in [Scope::Whole, Scope::Main] {
            let begin = Instant::now();
            let reading = read(page, &base(), Form::Markdown, scope, &|| false).unwrap();
            let start: String = page.chars().take(40).collect();
            // Without optimisation, on a busy machine.
            assert!(begin.elapsed() < Duration::from_secs(10), "{start}: {:?}", begin.elapsed());
            assert!(
                reading.text.len() <= (2 * page.len()).max(1 << 20),
                "{start}: {}",
                reading.text.len()
            );
        }
    }
}

#[test]
fn whoever_waits_can_stop_it() {
    let page = full_of("<p>text</p>");
    let looks = std::cell::Cell::new(0);
    let stop = || {
        looks.set(looks.get() + 1);
        looks.get() > 3
    };
    assert_eq!(read(&page, &base(), Form::Markdown, Scope::Whole, &stop), None);
}

#[test]
fn a_long_page_is_the_same_in_pieces() {
    let item = |number| {
        format!("<h2>Part {number}</h2><p>Some <b>words</b> and <a href=/{number}>a link</a>.</p>")
    };
    let (few, many): (String, String) =
        ((0..3).map(item).collect(), (0..3_000).map(item).collect());
    let wrapped = format!("<div><div>{many}</div></div>");
    let (few, many) = (markdown(&few).text, markdown(&wrapped).text);
    assert!(many.starts_with(&few), "{few}");
    assert_eq!(many.matches("## Part ").count(), 3_000);
    let rows: String =
        (0..30_000).map(|number| format!("<tr><td>{number}</td><td>b</td></tr>")).collect();
    let table = markdown(&format!("<table><tr><th>A</th><th>B</th></tr>{rows}</table>")).text;
    let rows: std::collections::HashSet<&str> = table.lines().collect();
    assert!((0..30_000).all(|number| rows.contains(format!("| {number} | b |").as_str())));
}

#[test]
fn what_is_hidden_ends_where_it_ends() {
    for (html, wanted) in [
        ("<div hidden><div>a</div>b</div>c", "c"),
        ("<p hidden>a<p>b", "b"),
        ("<ul><li hidden>a<li>b</ul>c", "- b\n\nc"),
        ("<svg><script/><style><a></style></svg>b", "b"),
        ("<br hidden>a", "a"),
        ("<script><!--<script></script>--></script>a", "a"),
    ] {
        assert_eq!(markdown(html).text.trim(), wanted, "{html}");
    }
}

#[test]
fn the_main_part_is_found_or_all_is_read() {
    let main =
        |html: &str| read(html, &base(), Form::Markdown, Scope::Main, &|| false).unwrap().text;
    let long = "The text that the page is about, which is long enough to be all of it. ".repeat(5);
    let page = format!("<nav>menu</nav><MAIN><p>{long}</p></MAIN><footer>end</footer>");
    assert_eq!(main(&page), long.trim());
    let empty = format!("<nav>menu</nav><main></main><div><p>{long}</p></div>");
    assert_eq!(main(&empty), long.trim());
    assert_eq!(main("<nav>menu</nav><p>short</p>"), "short");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_soup_of_tags_is_read_and_no_visible_word_is_lost(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "<p>", "</p>", "<b>", "</b>", "<i>", "</i>", "<a href=x>", "</a>", "<ul>", "</ul>", "<li>", "</li>",
                "<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>", "<th>", "<thead>", "<tbody>", "<pre>", "</pre>",
                "<code>", "</code>", "<h2>", "</h2>", "<div>", "</div>", "<blockquote>", "</blockquote>", "<br>", "<hr>",
                "<sup>", "</sup>", "<del>", "<select>", "<option>", "</select>", " word7 ", " word7 ", " word7 ", "&amp;",
            ]),
            0..60,
        )
    ) {
        let html = parts.concat();
        let words = html.matches("word7").count();
        for form in [Form::Markdown, Form::Text] {
            let reading = read(&html, &base(), form, Scope::Whole, &|| false).unwrap();
            // A cell that spans is said more than once; nothing else is.
            prop_assert!(reading.text.matches("word7").count() >= words, "{}\n---\n{}", html, reading.text);
        }
    }
}
