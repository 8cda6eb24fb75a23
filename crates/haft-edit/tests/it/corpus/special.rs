//! Parts of lines, every place at once, and several edits in one call.

use super::{
    Asked, Case, Maker, Truth,
    draft::{Draft, indent},
    model::smart_quotes,
    random::Random,
    sources::Source,
};

pub(crate) const CLASSES: [(&str, Maker); 7] = [
    ("part of a line", |random, source| part(random, source, Clone::clone)),
    ("part of a line, smart quotes", |random, source| {
        part(random, source, |text| smart_quotes(text))
    }),
    ("part of a line, blanks", |random, source| {
        part(random, source, |text| text.replace(' ', "  "))
    }),
    ("part of a line, escapes", |random, source| {
        part(random, source, |text| text.replace('"', "\\\""))
    }),
    ("every place", every_place),
    ("every place, indented otherwise", every_place_indented),
    ("several edits", several),
];

fn case(text: String, edits: Vec<Asked>, expected: String) -> Option<Case> {
    Some(Case { class: "", file: String::new(), text, edits, truth: Truth::Becomes(expected) })
}

/// Edits a stretch within a line, from word to word.
fn part(random: &mut Random, source: &Source, write: fn(&String) -> String) -> Option<Case> {
    let line = random.pick(&source.lines).clone();
    let body = line.trim();
    let words: Vec<&str> = body.split(' ').filter(|word| !word.is_empty()).collect();
    if words.len() < 4 || !body.is_ascii() || body.contains(['\\', '\t']) {
        return None;
    }
    let first = random.below(words.len() - 2);
    let last = first + 2 + random.below(words.len() - first - 2);
    let old = words[first..last].join(" ");
    let other = format!("other_{}", random.below(1000));
    let new = words[first..last - 1]
        .iter()
        .copied()
        .chain([other.as_str()])
        .collect::<Vec<_>>()
        .join(" ");
    let text = source.lines.join("\n") + "\n";
    let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let starts_word = |text: &str| text.starts_with(|c: char| c.is_alphanumeric());
    if text.matches(&old).count() != 1
        || bare(&text).matches(&bare(&old)).count() != 1
        || !starts_word(&old)
    {
        return None;
    }
    let expected = text.replacen(&old, &new, 1);
    let (old, new) = (write(&old), write(&new));
    case(text, vec![Asked { old, new, replace_all: false }], expected)
}

fn every_place(random: &mut Random, source: &Source) -> Option<Case> {
    let text = source.lines.join("\n") + "\n";
    let line = random.pick(&source.lines).clone();
    let word = line.split(|c: char| !c.is_alphanumeric()).rfind(|word| word.len() > 3)?.to_owned();
    let new = format!("other_{}", random.below(1000));
    let expected = text.replace(&word, &new);
    let has_many = text.matches(&word).count() > 1;
    let edits = vec![Asked { old: word, new, replace_all: true }];
    has_many.then(|| case(text, edits, expected)).flatten()
}

/// The same block in two depths, both to be changed.
fn every_place_indented(random: &mut Random, source: &Source) -> Option<Case> {
    let draft = Draft::with_length(random, source, 3)?;
    let span = &draft.span;
    let depth = indent(&span[0]).to_owned();
    let is_block = span.iter().all(|line| line.starts_with(&depth) && !line.trim().is_empty());
    if !is_block || depth.is_empty() || !depth.len().is_multiple_of(4) || depth.contains('\t') {
        return None;
    }
    let write = |lines: &[String], more: &str| -> String {
        lines
            .iter()
            .map(|line| format!("{more}{}\n", &line[depth.len().min(indent(line).len())..]))
            .collect()
    };
    let new: Vec<String> = draft.new.iter().map(|line| draft.content(line)).collect();
    let file = |block: &[String]| {
        let around = "first();\n".to_owned();
        format!("{around}{}second();\n{}third();\n", write(block, "    "), write(block, "        "))
    };
    let is_deep = new.iter().all(|line| line.starts_with(&depth));
    let edits = vec![Asked { old: write(span, ""), new: write(&new, ""), replace_all: true }];
    (is_deep && !new.is_empty()).then(|| case(file(span), edits, file(&new))).flatten()
}

/// Two or three edits of places apart, not in the order of the file.
fn several(random: &mut Random, source: &Source) -> Option<Case> {
    let text = source.lines.join("\n") + "\n";
    let mut edits: Vec<(usize, Asked, String)> = Vec::new();
    for _ in 0..2 + random.below(2) {
        let draft = Draft::new(random, source, 3)?;
        let start: usize = draft.before.iter().map(|line| line.len() + 1).sum();
        let asked = Asked { old: draft.old(), new: draft.new_string(), replace_all: false };
        if asked.old == asked.new || draft.new.is_empty() {
            return None;
        }
        let new = asked.new.clone();
        edits.push((start, asked, new));
    }
    let mut order: Vec<&(usize, Asked, String)> = edits.iter().collect();
    order.sort_by_key(|edit| edit.0);
    if order.windows(2).any(|pair| pair[0].0 + pair[0].1.old.len() > pair[1].0) {
        return None;
    }
    let mut expected = text.clone();
    for (start, asked, new) in order.iter().rev() {
        let joins = asked.old.ends_with('\n') && !new.ends_with('\n');
        let end = start + asked.old.len() - usize::from(joins);
        expected.replace_range(*start..end, new);
    }
    let edits = edits.into_iter().map(|edit| edit.1).collect();
    case(text, edits, expected)
}
