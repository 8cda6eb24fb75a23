//! Blocks in five languages with the lines that must be shown.

use proptest::prelude::*;

use super::*;

const PLAIN: Request =
    Request { anchor_line: 1, max_levels: None, include_siblings: false, include_header: false };

fn at(anchor_line: usize) -> Request {
    Request { anchor_line, ..PLAIN }
}

fn shown(source: &str, request: Request) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = source.lines().collect();
    let block = block(&lines, &request).expect("a line of it");
    block.ranges.into_iter().map(RangeInclusive::into_inner).collect()
}

fn indent(source: &str) -> Indent {
    block(&source.lines().collect::<Vec<_>>(), &PLAIN).expect("a line of it").indent
}

const RUST: &str = "\
use std::fmt;
use std::io;

/// A counter.
#[derive(Debug)]
pub struct Counter {
    n: u32,
}

impl<T> Counter
where
    T: Copy,
{
    /// Adds one.
    #[must_use]
    pub fn add(
        &self,
        by: u32,
    ) -> u32 {
        if by > 0 {
            self.n + by
        } else {

            self.n
        }
    }

    fn zero() -> Self {
        Self { n: 0 }
    }
}
";

#[test]
fn rust_blocks_have_their_signature_their_closing_brace_and_their_parents() {
    // A statement in a branch: the whole conditional, then function and impl.
    assert_eq!(shown(RUST, at(21)), [(10, 13), (16, 25)]);
    // The body of the function: all of it, and the impl with its where clause.
    assert_eq!(shown(RUST, at(20)), [(10, 13), (16, 25)]);
    assert_eq!(shown(RUST, at(29)), [(10, 13), (28, 30)]);
    // Its first line, a parameter, and its last line are all the same function.
    assert_eq!(shown(RUST, at(16)), [(10, 13), (16, 26)]);
    assert_eq!(shown(RUST, at(17)), [(10, 13), (16, 26)]);
    assert_eq!(shown(RUST, at(26)), [(10, 13), (16, 26)]);
}

#[test]
fn comments_and_attributes_belong_to_their_header_on_request() {
    let request = Request { include_header: true, ..at(16) };
    assert_eq!(shown(RUST, request), [(10, 26)]);
    let request = Request { include_header: true, ..at(7) };
    assert_eq!(shown(RUST, request), [(4, 8)]);
    // On the attribute itself the block is what it is about.
    assert_eq!(shown(RUST, at(5)), [(5, 8)]);
    assert_eq!(shown(RUST, at(14)), [(10, 26)]);
}

#[test]
fn siblings_are_the_rest_of_the_parent() {
    let request = Request { include_siblings: true, ..at(28) };
    assert_eq!(shown(RUST, request), [(10, 30)]);
    let request = Request { include_siblings: true, max_levels: Some(0), ..at(28) };
    assert_eq!(shown(RUST, request), [(14, 30)]);
}

#[test]
fn levels_are_counted_from_the_inside() {
    assert_eq!(shown(RUST, Request { max_levels: Some(0), ..at(21) }), [(20, 25)]);
    assert_eq!(shown(RUST, Request { max_levels: Some(1), ..at(21) }), [(16, 25)]);
}

#[test]
fn blank_lines_belong_to_what_surrounds_them() {
    assert_eq!(shown(RUST, at(23)), [(10, 13), (16, 25)]);
    assert_eq!(shown(RUST, at(27)), [(10, 31)]);
    assert_eq!(shown(RUST, at(9)), [(9, 31)]);
}

#[test]
fn a_line_outside_of_everything_gives_its_paragraph() {
    assert_eq!(shown(RUST, at(1)), [(1, 2)]);
}

const PYTHON: &str = "\
import os

class Store(Base):
    \"\"\"Keeps things.\"\"\"

    def __init__(self):
        self.items = {}

    # Looks one up.
    @cached
    def get(self, key):
        try:
            return self.items[key]
        except KeyError:
            log(key)

            return None

    done = True

def main():
    Store().get(1)
";

#[test]
fn python_blocks_end_where_the_indentation_does() {
    assert_eq!(shown(PYTHON, at(17)), [(3, 3), (11, 17)]);
    assert_eq!(shown(PYTHON, Request { max_levels: Some(0), ..at(17) }), [(12, 17)]);
    assert_eq!(shown(PYTHON, at(7)), [(3, 3), (6, 7)]);
    assert_eq!(shown(PYTHON, at(3)), [(3, 19)]);
    assert_eq!(shown(PYTHON, at(19)), [(3, 19)]);
    assert_eq!(shown(PYTHON, at(22)), [(21, 22)]);
    let request = Request { include_header: true, ..at(11) };
    assert_eq!(shown(PYTHON, request), [(3, 3), (9, 17)]);
    let request = Request { include_siblings: true, ..at(11) };
    assert_eq!(shown(PYTHON, request), [(3, 19)]);
}

const TYPESCRIPT: &str = "\
import { a } from 'a';

/**
 * Shows a list.
 */
export function List(props: Props) {
  const items = props.items.map((item) => {
    return item.name;
  });
  return (
    <ul>
      {items.map((name) => (
        <li>{name}</li>
      ))}
    </ul>
  );
}

export class Api
{
  get(url: string)
  {
    return fetch(url);
  }
}
";

#[test]
fn typescript_blocks_close_with_brackets_and_tags() {
    assert_eq!(shown(TYPESCRIPT, at(8)), [(6, 9)]);
    assert_eq!(shown(TYPESCRIPT, at(13)), [(6, 6), (10, 14)]);
    let request = Request { include_header: true, ..at(6) };
    assert_eq!(shown(TYPESCRIPT, request), [(3, 17)]);
    assert_eq!(shown(TYPESCRIPT, at(4)), [(3, 17)]);
    // Braces on lines of their own.
    assert_eq!(shown(TYPESCRIPT, at(23)), [(19, 24)]);
    assert_eq!(shown(TYPESCRIPT, at(20)), [(19, 25)]);
}

const GO: &str = "package main

// Serve answers.
func Serve(
\tw Writer,
) error {
\tfor _, x := range xs {
\t\tif x == nil {
\t\t\tcontinue
\t\t}
\t}
\tswitch x {
\tcase 1:
\t\treturn nil
\t}
\treturn nil
}

func Other() {
\tServe(nil)
}
";

#[test]
fn go_blocks_are_found_with_tabs() {
    assert_eq!(indent(GO), Indent::Tabs);
    assert_eq!(shown(GO, at(9)), [(4, 10)]);
    assert_eq!(shown(GO, Request { max_levels: Some(1), ..at(9) }), [(7, 10)]);
    assert_eq!(shown(GO, at(16)), [(4, 17)]);
    assert_eq!(shown(GO, Request { include_header: true, ..at(16) }), [(3, 17)]);
    assert_eq!(shown(GO, at(20)), [(19, 21)]);
}

const YAML: &str = "\
on: push
jobs:
  build:
    runs-on: linux
    steps:
    - name: check
      run: cargo check

    - name: test
      run: cargo test
  lint:
    steps: []
";

#[test]
fn yaml_lists_stand_under_their_key_even_at_its_column() {
    assert_eq!(indent(YAML), Indent::Spaces(2));
    assert_eq!(shown(YAML, at(10)), [(2, 3), (5, 5), (9, 10)]);
    assert_eq!(shown(YAML, at(5)), [(2, 3), (5, 10)]);
    assert_eq!(shown(YAML, Request { include_siblings: true, ..at(9) }), [(2, 3), (5, 10)]);
    assert_eq!(shown(YAML, at(4)), [(2, 10)]);
    assert_eq!(shown(YAML, at(12)), [(2, 2), (11, 12)]);
    assert_eq!(shown(YAML, at(1)), [(1, 1)]);
}

#[test]
fn a_long_signature_is_shown_by_its_ends() {
    let arguments = "    argument: u8,\n".repeat(30);
    let source = format!("fn long(\n{arguments}) {{\n    if a {{\n        b\n    }}\n}}\n");
    assert_eq!(shown(&source, at(34)), [(1, 1), (32, 35)]);
}

#[test]
fn the_width_of_a_level_is_the_most_usual_step() {
    assert_eq!(indent(RUST), Indent::Spaces(4));
    assert_eq!(indent(TYPESCRIPT), Indent::Spaces(2));
    assert_eq!(indent("a\nb\n"), Indent::Unknown);
}

#[test]
fn a_line_that_does_not_exist_has_no_block() {
    assert_eq!(block(&["a"], &at(0)), None);
    assert_eq!(block(&["a"], &at(2)), None);
    assert_eq!(block::<&str>(&[], &at(1)), None);
    assert_eq!(shown("\n\n\n", at(2)), [(2, 2)]);
}

#[test]
fn a_hundred_thousand_lines_of_any_shape_take_no_time_to_speak_of() {
    let flat = vec!["}"; 100_000];
    let stairs: Vec<String> = (0..2000).map(|depth| " ".repeat(depth) + "x").collect();
    let comments = vec!["// x"; 100_000];
    let request = Request { include_siblings: true, include_header: true, ..at(2000) };
    assert!(block(&flat, &request).is_some());
    assert!(block(&stairs, &request).is_some());
    assert!(block(&comments, &request).is_some());
}

fn any_line() -> impl Strategy<Value = String> {
    let texts =
        ["", "x", "}", "{", "} else {", "else:", "# c", "@d", "/*", "- a", "f(", ") {", "end"];
    (0_usize..5, prop::sample::select(texts.to_vec()), any::<bool>())
        .prop_map(|(depth, text, tab)| (if tab { "\t" } else { "  " }).repeat(depth) + text)
}

proptest! {
    #[test]
    fn ranges_are_in_order_apart_inside_the_file_and_around_the_anchor(
        lines in prop::collection::vec(any_line(), 1..40),
        anchor in 0_usize..40,
        max_levels in prop::option::of(0_usize..4),
        include_siblings: bool,
        include_header: bool,
    ) {
        let anchor_line = anchor % lines.len() + 1;
        let request = Request { anchor_line, max_levels, include_siblings, include_header };
        let ranges = block(&lines, &request).expect("a line of it").ranges;
        prop_assert!(ranges.iter().any(|range| range.contains(&anchor_line)));
        prop_assert!(ranges.iter().all(|range| range.start() <= range.end()));
        prop_assert!(ranges.windows(2).all(|two| two[0].end() + 1 < *two[1].start()));
        prop_assert!(*ranges[0].start() >= 1 && *ranges[ranges.len() - 1].end() <= lines.len());
    }

    #[test]
    fn any_text_has_a_block(source in "(\\PC|[\t\n ]){0,200}", anchor in 1_usize..20) {
        let lines: Vec<&str> = source.lines().collect();
        let found = block(&lines, &at(anchor));
        prop_assert_eq!(found.is_some(), anchor <= lines.len());
    }
}
