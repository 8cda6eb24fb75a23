//! Edits that nobody can be sure of, and that must be refused.

use super::{
    Asked, Case, Maker, Truth,
    draft::{Draft, NewLine, fresh, indent},
    model,
    random::Random,
    sources::Source,
};

pub(crate) const CLASSES: [(&str, Maker); 18] = [
    ("refused: several places", several_places),
    ("refused: several places, off", several_places_off),
    ("refused: elision", elision),
    ("refused: placeholder", placeholder),
    ("refused: line changed since", |random, source| stale(random, source, Stale::Changed)),
    ("refused: line added since", |random, source| stale(random, source, Stale::Added)),
    ("refused: line gone since", |random, source| stale(random, source, Stale::Gone)),
    ("refused: lines swapped since", |random, source| stale(random, source, Stale::Swapped)),
    ("refused: not there", not_there),
    ("refused: only in another file", other_file),
    ("refused: twin", twin),
    ("refused: other name", |random, source| other_word(random, source, other_name)),
    ("refused: known name", |random, source| other_word(random, source, known_name)),
    ("refused: other number", |random, source| other_word(random, source, other_number)),
    ("refused: other operator", other_operator),
    ("refused: nothing to change", nothing),
    ("refused: overlap", overlap),
    ("refused: already applied", already_applied),
];

fn refused(text: String, edits: Vec<Asked>) -> Option<Case> {
    Some(Case { class: "", file: String::new(), text, edits, truth: Truth::Refused })
}

fn asked(draft: &Draft) -> Vec<Asked> {
    vec![Asked { old: draft.old(), new: draft.new_string(), replace_all: false }]
}

/// Keeps a case only if nothing of it is there as written, nor with other blanks: what was turned
/// into another line of the file by chance is meant there.
fn unless_there(draft: &Draft) -> Option<Case> {
    let text = draft.texts().0;
    let edits = asked(draft);
    (!bare(&text).contains(&bare(&edits[0].old)) && edits[0].old != edits[0].new)
        .then(|| refused(text, edits))
        .flatten()
}

fn several_places(random: &mut Random, source: &Source) -> Option<Case> {
    let draft = Draft::new(random, source, 5)?;
    let text = draft.texts().0;
    refused(format!("{text}{}\n{}", draft.span.join("\n"), ""), asked(&draft)).filter(|case| {
        case.edits[0].old != case.edits[0].new && case.text.matches(&case.edits[0].old).count() > 1
    })
}

/// The span is there twice, and the model is off for both alike.
fn several_places_off(random: &mut Random, source: &Source) -> Option<Case> {
    let mut draft = Draft::new(random, source, 5)?;
    let again = draft.span.clone();
    draft.after.extend(again);
    match random.below(4) {
        0 => model::trailing_blanks(random, &mut draft)?,
        1 => model::dedent(random, &mut draft)?,
        2 => model::smart(random, &mut draft)?,
        _ => model::crlf(random, &mut draft)?,
    }
    let (text, edits) = (draft.texts().0, asked(&draft));
    (!text.contains(&edits[0].old) && edits[0].old != edits[0].new)
        .then(|| refused(text, edits))
        .flatten()
}

fn elision(random: &mut Random, source: &Source) -> Option<Case> {
    let mut draft = Draft::with_length(random, source, 7)?;
    let mark =
        *random.pick(&["...", "…", "// ...", "# ...", "// ... existing code ...", "/* ... */"]);
    let kept = [0, 1, 5, 6].map(|index| draft.old_text[index].clone());
    let depth = indent(&kept[1]);
    draft.old_text = vec![
        kept[0].clone(),
        kept[1].clone(),
        format!("{depth}{mark}"),
        kept[2].clone(),
        kept[3].clone(),
    ];
    draft.new_text = draft.old_text.clone();
    draft.new_text.insert(1, fresh(random, depth));
    unless_there(&draft)
}

/// The old text is right; the new one would lose lines.
fn placeholder(random: &mut Random, source: &Source) -> Option<Case> {
    let mut draft = Draft::with_length(random, source, 6)?;
    let depth = indent(&draft.span[1]).to_owned();
    let mark = *random.pick(&[
        "// ... existing code ...",
        "# ... rest of the code unchanged",
        "// … remaining lines …",
    ]);
    draft.new_text = vec![
        draft.span[0].clone(),
        fresh(random, &depth),
        format!("{depth}{mark}"),
        draft.span[5].clone(),
    ];
    refused(draft.texts().0, asked(&draft))
}

#[derive(Clone, Copy)]
enum Stale {
    Changed,
    Added,
    Gone,
    Swapped,
}

fn bare(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The file has changed within the span since the model read it.
fn stale(random: &mut Random, source: &Source, stale: Stale) -> Option<Case> {
    let length = 4 + random.below(6);
    let mut draft = Draft::with_length(random, source, length)?;
    let at = 1 + random.below(length - 2);
    if draft.span[at].trim().len() < 2 {
        return None;
    }
    match stale {
        Stale::Changed => draft.span[at] = fresh(random, indent(&draft.span[at])),
        Stale::Added => {
            let line = fresh(random, indent(&draft.span[at]));
            draft.span.insert(at, line);
        }
        Stale::Gone => {
            draft.span.remove(at);
        }
        Stale::Swapped
            if bare(&draft.span[at]) != bare(&draft.span[at - 1])
                && !draft.span[at - 1].trim().is_empty() =>
        {
            draft.span.swap(at, at - 1);
        }
        Stale::Swapped => return None,
    }
    let text =
        [draft.before.clone(), draft.span.clone(), draft.after.clone()].concat().join("\n") + "\n";
    let edits = asked(&draft);
    (!bare(&text).contains(&bare(&edits[0].old)) && edits[0].old != edits[0].new)
        .then(|| refused(text, edits))
        .flatten()
}

fn not_there(random: &mut Random, source: &Source) -> Option<Case> {
    let mut draft = Draft::new(random, source, 4)?;
    draft.old_text = (0..1 + random.below(4)).map(|_| fresh(random, "    ")).collect();
    draft.new_text = vec![fresh(random, "    ")];
    unless_there(&draft)
}

/// The span was taken out of the file, as if another file were meant.
fn other_file(random: &mut Random, source: &Source) -> Option<Case> {
    let draft = Draft::new(random, source, 8)?;
    let text = [draft.before.clone(), draft.after.clone()].concat().join("\n") + "\n";
    let edits = asked(&draft);
    (!bare(&text).contains(&bare(&edits[0].old)) && edits[0].old != edits[0].new)
        .then(|| refused(text, edits))
        .flatten()
}

/// The file has a block that differs in one name throughout.
fn twin(random: &mut Random, source: &Source) -> Option<Case> {
    let mut draft = Draft::with_length(random, source, 5)?;
    let words: Vec<String> =
        words(&draft.span.join("\n")).into_iter().filter(|word| word.len() > 3).collect();
    let word = words.get(random.below(words.len()))?.clone();
    let other = format!("{word}{}", random.pick(&["2", "_b", "s", "Other", "_v2", "x"]));
    for line in draft.old_text.iter_mut().chain(&mut draft.new_text) {
        *line = line.replace(&word, &other);
    }
    unless_there(&draft)
}

fn words(text: &str) -> Vec<String> {
    let words =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// One word of a line is another one: the model means something else, or remembers it wrong.
fn other_word(
    random: &mut Random,
    source: &Source,
    choose: fn(&mut Random, &Source, &str) -> Option<(String, String)>,
) -> Option<Case> {
    let mut draft = Draft::new(random, source, 6)?;
    let at = random.below(draft.old_text.len());
    let (word, other) = choose(random, source, &draft.old_text[at])?;
    let line = draft.old_text[at].clone();
    // A part of a word would be a slip of the pen.
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |at: &usize| {
        !line[..*at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word)
    };
    let start = line.match_indices(&word).map(|(start, _)| start).find(is_whole)?;
    let off = format!("{}{other}{}", &line[..start], &line[start + word.len()..]);
    draft.old_text[at].clone_from(&off);
    for text in draft.new_text.iter_mut().filter(|text| **text == line) {
        text.clone_from(&off);
    }
    unless_there(&draft)
}

fn other_name(random: &mut Random, _: &Source, line: &str) -> Option<(String, String)> {
    let words: Vec<String> = words(line).into_iter().filter(|word| word.len() > 2).collect();
    let word = words.get(random.below(words.len()))?.clone();
    let other = random.pick(&["gamma", "delta_value", "frobnicate", "qux"]);
    Some((word, (*other).to_owned()))
}

fn known_name(random: &mut Random, source: &Source, line: &str) -> Option<(String, String)> {
    let (word, _) = other_name(random, source, line)?;
    let known: Vec<String> =
        words(&source.lines.join("\n")).into_iter().filter(|known| known.len() > 2).collect();
    let other = random.pick(&known).clone();
    (other != word).then_some((word, other))
}

fn other_number(random: &mut Random, _: &Source, line: &str) -> Option<(String, String)> {
    let numbers: Vec<String> =
        words(line).into_iter().filter(|word| word.parse::<u64>().is_ok()).collect();
    let number = numbers.get(random.below(numbers.len()))?.clone();
    let other = format!("{}{number}", 1 + random.below(9));
    Some((number, other))
}

fn other_operator(random: &mut Random, source: &Source) -> Option<Case> {
    const PAIRS: [(&str, &str); 8] = [
        (" == ", " != "),
        (" < ", " > "),
        (" < ", " <= "),
        (" + ", " - "),
        (" && ", " || "),
        ("!", ""),
        (" += ", " -= "),
        (" > ", " >= "),
    ];
    let (there, written) = *random.pick(&PAIRS);
    let mut draft = Draft::new(random, source, 5)?;
    let at = draft.old_text.iter().position(|line| line.contains(there) && !line.contains("//"))?;
    let line = draft.old_text[at].clone();
    let off = line.replacen(there, written, 1);
    draft.old_text[at].clone_from(&off);
    for text in draft.new_text.iter_mut().filter(|text| **text == line) {
        text.clone_from(&off);
    }
    unless_there(&draft)
}

fn nothing(random: &mut Random, source: &Source) -> Option<Case> {
    let draft = Draft::new(random, source, 6)?;
    let old = draft.old();
    refused(draft.texts().0, vec![Asked { new: old.clone(), old, replace_all: false }])
}

fn overlap(random: &mut Random, source: &Source) -> Option<Case> {
    let draft = Draft::with_length(random, source, 5)?;
    let first = draft.span[..3].join("\n");
    let second = draft.span[2..].join("\n");
    let text = draft.texts().0;
    let is_plain = !draft.span[2].trim().is_empty()
        && text.matches(&first).count() == 1
        && text.matches(&second).count() == 1;
    let edit = |old: &str, random: &mut Random| Asked {
        old: old.to_owned(),
        new: format!("{old}{}", fresh(random, "\n")),
        replace_all: false,
    };
    let edits = vec![edit(&first, random), edit(&second, random)];
    is_plain.then(|| refused(text, edits)).flatten()
}

fn already_applied(random: &mut Random, source: &Source) -> Option<Case> {
    let draft = Draft::new(random, source, 6)?;
    let (_, text) = draft.texts();
    let grows =
        draft.new.iter().any(|line| matches!(line, NewLine::Fresh(_) | NewLine::Changed(..)));
    let edits = asked(&draft);
    (grows && edits[0].old != edits[0].new && !text.contains(&edits[0].old))
        .then(|| refused(text, edits))
        .flatten()
}
