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

/// The one known tool that `name` must mean: the same but for case and punctuation, an alias, or one letter off.
///
/// A name that belongs to a tool that was left out means no other: what was hidden stays hidden.
pub(crate) fn meant<'a>(
    name: &str,
    known: impl Iterator<Item = (&'a str, &'a [&'a str])>,
    mut left_out: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted = plain(name);
    if left_out.any(|id| plain(id) == wanted) {
        return None;
    }
    let mut near = Vec::new();
    for (id, aliases) in known {
        if plain(id) == wanted || aliases.iter().any(|alias| plain(alias) == wanted) {
            return Some(id);
        }
        // One letter in a short word makes another word.
        if wanted.chars().count() >= 5 && strsim::damerau_levenshtein(&plain(id), &wanted) == 1 {
            near.push(id);
        }
    }
    match near.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// A name without what hosts and models add to it: prefixes, case, punctuation.
fn plain(name: &str) -> String {
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    let last = last.rsplit("__").next().unwrap_or(last);
    let letters = last.chars().filter(|c| c.is_alphanumeric());
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
