//! Patterns for *always*: as wide as is useful, and no wider than is safe.

use crate::programs;

/// The pattern that *always* could allow for the command `words`, such as `git status *`.
///
/// There is none for programs that run whatever they are given, for those that are not known, and
/// where an option or something that is no plain word stands before the part that would be kept.
#[must_use]
pub fn suggest(words: &[String]) -> Option<String> {
    let name = words.first().filter(|name| is_plain(name))?;
    let program = programs::find(name)?;
    if program.marks.asks || program.marks.doubt || program.marks.input {
        return None;
    }
    let count = match words.get(1).filter(|_| program.marks.sub) {
        Some(command) => {
            let known = programs::find(&format!("{name}/{command}"));
            if known.is_none() || known.is_some_and(programs::Program::is_doubtful) {
                return None;
            }
            known.map_or(program.words, |known| known.words.max(program.words))
        }
        None => program.words,
    };
    let kept = words.get(..count)?;
    if !kept.iter().skip(1).all(|word| is_plain(word)) {
        return None;
    }
    Some(format!("{} *", kept.join(" ")))
}

/// Whether it is a plain name: no option, path, variable, pattern or code.
fn is_plain(word: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || "_-:.+[".contains(character);
    !word.is_empty() && !word.starts_with(['-', '.']) && word.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::suggest;

    fn suggested(command: &str) -> Option<String> {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        suggest(&words)
    }

    #[test]
    fn a_known_command_is_kept_up_to_what_it_does() {
        for (command, pattern) in [
            ("git status --short", "git status *"),
            ("cargo test --lib", "cargo test *"),
            ("npm run build", "npm run build *"),
            ("npm install", "npm install *"),
            ("ls -la src", "ls *"),
            ("grep -rn x .", "grep *"),
            ("make all", "make *"),
        ] {
            assert_eq!(suggested(command).as_deref(), Some(pattern), "{command}");
        }
    }

    #[test]
    fn nothing_is_offered_that_would_allow_anything() {
        for command in [
            "python -c x",
            "python script.py",
            "sh -c x",
            "bash",
            "env FOO=1 ls",
            "sudo ls",
            "timeout 5 ls",
            "xargs rm",
            "git -C x status",
            "git -c a=b log",
            "git config x",
            "git xx",
            "./run",
            "/bin/ls",
            "node -e x",
            "npx x",
            "unknown --flag",
            "$x y",
            "docker run x",
            "watch ls",
            "perl -e x",
            "git bisect run x",
            "git",
        ] {
            assert_eq!(suggested(command), None, "{command}");
        }
    }
}
