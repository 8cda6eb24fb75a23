//! The names of files in a unified diff.

/// The name after `---`, `+++`, `rename from` and the like: without a time stamp, and unquoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// `/dev/null`: there is no file on this side.
    Nothing,
    /// A path, with the `a/` or `b/` that it may have.
    Path(String),
}

/// Reads the name that stands after `--- ` or `+++ `.
pub(super) fn name(written: &str) -> Name {
    let path = match written.strip_prefix('"').and_then(unquote) {
        Some((path, _)) => path,
        None => written.split('\t').next().unwrap_or_default().trim_end().to_owned(),
    };
    if path == "/dev/null" { Name::Nothing } else { Name::Path(path) }
}

/// Reads the path that stands after `rename from ` and the like.
pub(super) fn whole(written: &str) -> String {
    match written.strip_prefix('"').and_then(unquote) {
        Some((path, _)) => path,
        None => written.to_owned(),
    }
}

/// The path of `diff --git a/PATH b/PATH`, if both are the same.
pub(super) fn of_git_line(rest: &str) -> Option<String> {
    if let Some((old, after)) = rest.strip_prefix('"').and_then(unquote) {
        let new = whole(after.strip_prefix(' ')?);
        return common(&old, &new);
    }
    let middle = rest.len().checked_sub(1)? / 2;
    let (old, new) = rest.split_at_checked(middle)?;
    common(old, new.strip_prefix(' ')?)
}

/// The path that both names mean: without `a/` and `b/`, or the one of which the other is a saved copy.
pub(super) fn common(old: &str, new: &str) -> Option<String> {
    const PAIRS: [(&str, &str); 6] =
        [("a/", "b/"), ("b/", "a/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/")];
    for (of_old, of_new) in PAIRS {
        if let (Some(old), Some(new)) = (old.strip_prefix(of_old), new.strip_prefix(of_new)) {
            return (old == new).then(|| new.to_owned());
        }
    }
    let saved =
        old.strip_prefix(new).is_some_and(|end| ["", ".orig", ".old", ".bak", "~"].contains(&end));
    saved.then(|| new.to_owned())
}

/// The path of a file that is on one side only.
pub(super) fn alone(path: &str) -> String {
    let bare = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
    bare.unwrap_or(path).to_owned()
}

/// Reads a quoted path up to its closing quote, and gives what follows.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut bytes = Vec::new();
    let mut rest = text;
    loop {
        let mut chars = rest.chars();
        match chars.next()? {
            '"' => return Some((String::from_utf8(bytes).ok()?, chars.as_str())),
            '\\' => {
                let escape = chars.next()?;
                rest = chars.as_str();
                let plain = match escape {
                    'n' => b'\n',
                    't' => b'\t',
                    'r' => b'\r',
                    'a' => 7,
                    'b' => 8,
                    'f' => 12,
                    'v' => 11,
                    '"' | '\\' => u8::try_from(escape).ok()?,
                    '0'..='3' => {
                        let (digits, after) = rest.split_at_checked(2)?;
                        rest = after;
                        u8::from_str_radix(&format!("{escape}{digits}"), 8).ok()?
                    }
                    _ => return None,
                };
                bytes.push(plain);
            }
            c => {
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = chars.as_str();
            }
        }
    }
}
