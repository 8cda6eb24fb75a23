//! The table is whole, and its words mean something.

use super::*;

#[test]
fn every_word_of_the_table_means_something() {
    let (table, strange) = read_table(TEXT);
    assert_eq!(strange, Vec::<&str>::new());
    assert!(table.len() > 400, "{}", table.len());
}

#[test]
fn an_option_is_written_with_a_dash_or_a_plus() {
    let (table, _) = read_table(TEXT);
    let mut wrong: Vec<_> = table
        .iter()
        .flat_map(|(name, program)| program.options.iter().map(move |(option, _)| (*name, *option)))
        .filter(|(_, option)| !option.starts_with(['-', '+']))
        .collect();
    wrong.sort_unstable();
    assert_eq!(wrong, []);
}

#[test]
fn a_version_in_a_name_is_ignored() {
    assert_eq!(find("python3.11"), find("python"));
    assert!(find("no-such-program").is_none());
}
