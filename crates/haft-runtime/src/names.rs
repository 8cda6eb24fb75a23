//! The names of tools: which are valid, and which one was meant.

/// Longest name that every provider takes.
const LONGEST: usize = 64;

/// Whether every model's provider accepts it.
pub(crate) fn is_valid(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= LONGEST && name.chars().all(fine)
}

/// A name for a person: `apply_patch` becomes `Apply patch`.
pub(crate) fn title(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Whether two names are the same but for case, punctuation and what a host puts before them.
pub(crate) fn are_same(id: &str, name: &str) -> bool {
    plain(id) == plain(without_host(name))
}

/// The one known tool that `name` must mean: the same but for case and punctuation, an alias, or one letter off.
///
/// Where more than one could be meant, none is. A name that belongs to a tool that was left out means
/// no other: what was hidden stays hidden.
pub(crate) fn meant<'a>(
    name: &str,
    known: impl Iterator<Item = (&'a str, &'a [&'a str])>,
    mut left_out: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted = plain(without_host(name));
    if left_out.any(|id| are_same(id, name)) {
        return None;
    }
    let (mut same, mut near) = (Vec::new(), Vec::new());
    for (id, aliases) in known {
        if plain(id) == wanted || aliases.iter().any(|alias| plain(alias) == wanted) {
            same.push(id);
        } else if is_slip(&plain(id), &wanted) {
            near.push(id);
        }
    }
    match (same.as_slice(), near.as_slice()) {
        ([only], _) | ([], [only]) => Some(only),
        _ => None,
    }
}

/// Whether one letter makes the difference. In a short word it makes another word, and a digit is no slip.
fn is_slip(id: &str, wanted: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    wanted.chars().count() >= 5
        && digits(id) == digits(wanted)
        && strsim::damerau_levenshtein(id, wanted) == 1
}

/// A name without what hosts put before ours: `functions.read`, `mcp__haft__read`.
fn without_host(name: &str) -> &str {
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let of_server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    of_server.map_or(name, |(_, tool)| tool)
}

/// A name without case and punctuation.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.take(LONGEST + 1).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(name: &str) -> Option<&'static str> {
        let known: [(&str, &[&str]); 3] =
            [("read", &["read_file"]), ("todowrite", &["update_plan"]), ("todoread", &[])];
        meant(name, known.into_iter(), ["write"].into_iter())
    }

    #[test]
    fn case_punctuation_prefixes_and_aliases_are_seen_through() {
        for name in ["Read", "READ", "read_file", "ReadFile", "mcp__haft__read", "functions.read"] {
            assert_eq!(ask(name), Some("read"), "{name}");
        }
        assert_eq!(ask("TodoWrite"), Some("todowrite"));
        assert_eq!(ask("update-plan"), Some("todowrite"));
    }

    #[test]
    fn a_slip_of_one_letter_is_mended_only_where_it_is_unmistakable() {
        assert_eq!(ask("todowrit"), Some("todowrite"));
        assert_eq!(ask("raed"), None, "too short");
        assert_eq!(ask("delete"), None);
        assert_eq!(ask(""), None);
    }

    #[test]
    fn where_two_could_be_meant_none_is() {
        let known: [(&str, &[&str]); 3] =
            [("prod_drop", &["drop"]), ("test_drop", &["drop"]), ("db1_query", &[])];
        for name in ["drop", "other__drop", "db2_query"] {
            assert_eq!(meant(name, known.into_iter(), [].into_iter()), None, "{name}");
        }
    }

    #[test]
    fn the_name_of_a_hidden_tool_means_no_other() {
        assert_eq!(ask("write"), None);
        assert_eq!(ask("Write"), None);
    }

    #[test]
    fn titles_read_as_words() {
        assert_eq!(title("apply_patch"), "Apply patch");
        assert_eq!(title(""), "");
    }
}
