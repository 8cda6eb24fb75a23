//! Lines that stand for others: `...`, and comments that say that the rest is unchanged.

use crate::lines::{Lines, trim};

/// What comments open and close with.
const COMMENT_MARKS: [char; 9] = ['/', '#', '*', '-', '<', '!', '>', ';', '%'];

/// Words of comments that stand for code that was left out.
const EXCUSES: [&str; 9] =
    ["existing", "rest", "remaining", "unchanged", "same", "other", "omitted", "previous", "code"];

/// Returns the line of the old text that stands for others, counted from 1.
pub(crate) fn elided(old: &str) -> Option<usize> {
    Lines::new(old).contents().position(stands_for_others).map(|index| index + 1)
}

/// Returns the line of the new text that stands for code which would be lost, counted from 1.
pub(crate) fn placeholder(old: &str, new: &str) -> Option<usize> {
    let is_loss = |content: &str| {
        let line = trim(content);
        let lower = line.to_lowercase();
        line.starts_with(COMMENT_MARKS)
            && stands_for_others(line)
            && EXCUSES.iter().any(|excuse| lower.contains(excuse))
            && !old.contains(line)
    };
    if !new.contains("...") && !new.contains('…') {
        return None;
    }
    Lines::new(new).contents().position(is_loss).map(|index| index + 1)
}

fn stands_for_others(content: &str) -> bool {
    let bare = trim(content)
        .trim_matches(|c| COMMENT_MARKS.contains(&c) || c == ' ' || c == '[' || c == ']');
    bare.starts_with("...") || bare.starts_with('…')
}
