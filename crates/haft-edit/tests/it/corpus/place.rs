//! What files are like that models copy from: the call is clean, the file is not.

use super::{
    Case, Maker,
    draft::{Draft, NewLine, indent},
    model::{is_off, smart_quotes},
    random::Random,
    sources::Source,
};

pub(crate) const CLASSES: [(&str, Maker); 10] = [
    ("file: crlf", |random, source| unlike(random, source, crlf)),
    ("file: crlf and more", |random, source| unlike(random, source, crlf_and_more)),
    ("file: mixed line ends", |random, source| unlike(random, source, mixed)),
    ("file: trailing blanks", |random, source| unlike(random, source, trailing_blanks)),
    ("file: smart quotes", |random, source| unlike(random, source, smart)),
    ("file: no-break spaces", |random, source| unlike(random, source, no_break)),
    ("file: decomposed accents", |random, source| unlike(random, source, decomposed)),
    ("file: no width", |random, source| unlike(random, source, no_width)),
    ("file: aligned with blanks", |random, source| unlike(random, source, aligned)),
    ("file: no last line end", |random, source| unlike(random, source, open_end)),
];

fn unlike(
    random: &mut Random,
    source: &Source,
    distortion: fn(&mut Random, &mut Draft) -> Option<()>,
) -> Option<Case> {
    let mut draft = Draft::new(random, source, 10)?;
    distortion(random, &mut draft)?;
    draft.case()
}

/// Whether a line stands in the stead of another: it may be read as that line, changed, and then has
/// its quotes and blanks.
fn has_replaced(draft: &Draft) -> bool {
    let fresh = draft.new.iter().filter(|line| matches!(line, NewLine::Fresh(_))).count();
    fresh > 0 && draft.new.len() - fresh < draft.span.len()
}

fn crlf(_: &mut Random, draft: &mut Draft) -> Option<()> {
    draft.ends = vec!["\r\n"];
    Some(())
}

/// The line ends are others, and the model is off in another way too.
fn crlf_and_more(random: &mut Random, draft: &mut Draft) -> Option<()> {
    draft.ends = vec!["\r\n"];
    if random.chance(50) {
        super::model::dedent(random, draft)?;
    } else {
        super::model::smart(random, draft)?;
    }
    is_off(draft).then_some(())
}

fn mixed(_: &mut Random, draft: &mut Draft) -> Option<()> {
    draft.ends = vec!["\r\n", "\n", "\n"];
    // Which of several ends a new line takes is a matter of taste.
    let is_settled = draft.new.len() == draft.span.len()
        && draft.new.iter().all(|line| !matches!(line, NewLine::Fresh(_)));
    // Of lines that are the same, nobody sees which one was changed.
    let is_once = |line: &String| draft.span.iter().filter(|other| *other == line).count() == 1;
    (is_settled && draft.span.iter().all(is_once)).then_some(())
}

fn trailing_blanks(_: &mut Random, draft: &mut Draft) -> Option<()> {
    let changed: Vec<usize> =
        (0..draft.span.len()).filter(|index| !draft.is_kept(*index)).collect();
    // Of two lines that are the same, nobody sees which one goes.
    let same = |index: &usize| {
        draft.span.iter().filter(|line| line.trim() == draft.span[*index].trim()).count() > 1
    };
    if changed.iter().any(same) {
        return None;
    }
    for (index, line) in draft.span.iter_mut().enumerate() {
        if !changed.contains(&index) {
            line.push_str("   ");
        }
    }
    is_off(draft).then_some(())
}

fn smart(_: &mut Random, draft: &mut Draft) -> Option<()> {
    if !draft.span.iter().all(|line| line.is_ascii()) || has_replaced(draft) {
        return None;
    }
    draft.distort_file(smart_quotes);
    is_off(draft).then_some(())
}

fn no_break(_: &mut Random, draft: &mut Draft) -> Option<()> {
    if has_replaced(draft) {
        return None;
    }
    let distortion = |line: &str| {
        let body = line.trim_start();
        indent(line).to_owned() + &body.replacen(' ', "\u{a0}", 1)
    };
    draft.distort_file(distortion);
    is_off(draft).then_some(())
}

fn decomposed(_: &mut Random, draft: &mut Draft) -> Option<()> {
    // Both spell a letter with an accent, each in its own way.
    let kept: Vec<usize> = (0..draft.span.len()).filter(|index| draft.is_kept(*index)).collect();
    // A new line that says the same as one that stays would be spelled like that.
    let is_again = |line: &NewLine| match line {
        NewLine::Kept(_) => false,
        NewLine::Changed(_, text) | NewLine::Fresh(text) => draft.span.contains(text),
    };
    if draft.new.iter().any(is_again) {
        return None;
    }
    for index in kept {
        let line = draft.span[index].clone();
        if draft.span.iter().filter(|other| **other == line).count() > 1 {
            return None;
        }
        let spelled = |accent: &str| line.replacen('e', accent, 1);
        let (old, there) = (spelled("\u{e9}"), spelled("e\u{301}"));
        for text in draft.old_text.iter_mut().chain(&mut draft.new_text) {
            if *text == line {
                text.clone_from(&old);
            }
        }
        draft.span[index] = there;
    }
    is_off(draft).then_some(())
}

fn no_width(_: &mut Random, draft: &mut Draft) -> Option<()> {
    let at = (0..draft.span.len())
        .find(|index| draft.is_kept(*index) && draft.span[*index].contains(' '))?;
    let line = draft.span[at].clone();
    let middle = indent(&line).len() + 1;
    if !line.is_char_boundary(middle) || middle >= line.len() {
        return None;
    }
    draft.span[at].insert(middle, '\u{200b}');
    is_off(draft).then_some(())
}

fn aligned(_: &mut Random, draft: &mut Draft) -> Option<()> {
    if has_replaced(draft) {
        return None;
    }
    let distortion = |line: &str| {
        let body = line.trim_start();
        indent(line).to_owned() + &body.replacen(" = ", "   = ", 1).replacen(", ", ",  ", 1)
    };
    draft.distort_file(distortion);
    is_off(draft).then_some(())
}

fn open_end(_: &mut Random, draft: &mut Draft) -> Option<()> {
    draft.after.clear();
    draft.final_end = false;
    (draft.old_closed, draft.new_closed) = (true, true);
    (!draft.new.is_empty()).then_some(())
}
