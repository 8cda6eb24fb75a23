//! What a program for `awk` may do.

/// Whether `program` only works on the lines it is given: it runs nothing, and writes and reads no
/// other file. It errs on the side of no.
pub(crate) fn is_plain(program: &str) -> bool {
    let forbidden = ["system", "getline", "@", "ARGV", "ARGC", "PROCINFO", "/inet"];
    if forbidden.iter().any(|word| program.contains(word)) {
        return false;
    }
    // `>` and `|` send what is printed elsewhere; before the first `print` they only compare.
    match program.find("print") {
        Some(at) => {
            let after = program.get(at..).unwrap_or_default().replace("||", "");
            !after.contains(['>', '|'])
        }
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn columns_and_conditions_are_plain() {
        for program in [
            "{print $1}",
            "$3 > 5 {print $2}",
            "/a|b/",
            "NR==1 || NR==3 {print}",
            "{s+=$1} END{print s}",
        ] {
            assert!(is_plain(program), "{program}");
        }
    }

    #[test]
    fn what_leaves_the_lines_is_not() {
        for program in [
            "BEGIN{system(\"x\")}",
            "{print > \"f\"}",
            "{print | \"sh\"}",
            "BEGIN{\"x\"|getline}",
            "{printf \"a\" >> \"f\"}",
            "BEGIN{getline x < \"f\"}",
            "@load \"x\"",
        ] {
            assert!(!is_plain(program), "{program}");
        }
    }
}
