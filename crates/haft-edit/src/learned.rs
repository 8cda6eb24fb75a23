//! What a match teaches about the characters that the model writes.

use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd};

use crate::{
    asked::Asked,
    lines::{Lines, trim_end},
    look_alikes::plain,
    place::Place,
};

/// How new text is to be written so that it fits the place.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Fancy characters that the model wrote where the text has plain ones.
    fancy: Vec<char>,
    form: Option<Form>,
    /// Whether the model ended lines in blanks where the text did not.
    adds_blanks: bool,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Composed,
    Decomposed,
}

impl Learned {
    pub(crate) fn new(text: &Lines<'_>, asked: &Asked<'_>, place: &Place) -> Self {
        let mut learned = Self::default();
        let pairs = || {
            place.pairs().map(|(old, line)| (asked.lines.content(old), place.content(text, line)))
        };
        learned.adds_blanks = pairs().any(|(old, there)| {
            trim_end(old).len() < old.len() && trim_end(there).len() == there.len()
        });
        for (old, _) in pairs().filter(|(old, there)| old != there && !old.is_ascii()) {
            for fancy in old.chars().filter(|character| plain(*character).is_some()) {
                let is_known = learned.fancy.contains(&fancy);
                if !is_known && !pairs().any(|(_, there)| there.contains(fancy)) {
                    learned.fancy.push(fancy);
                }
            }
        }
        let differ = || pairs().filter(|(old, there)| old != there);
        if differ().all(|(old, there)| is_nfc(old) && is_nfd(there))
            && differ().any(|(_, there)| !is_nfc(there))
        {
            learned.form = Some(Form::Decomposed);
        } else if differ().all(|(old, there)| is_nfd(old) && is_nfc(there))
            && differ().any(|(old, _)| !is_nfc(old))
        {
            learned.form = Some(Form::Composed);
        }
        learned
    }

    /// Writes new text as the place has it.
    pub(crate) fn apply(&self, new: &str) -> String {
        let new = if self.adds_blanks { trim_end(new) } else { new };
        if new.is_ascii() {
            return new.to_owned();
        }
        let mut written = String::with_capacity(new.len());
        for character in new.chars() {
            match plain(character).filter(|_| self.fancy.contains(&character)) {
                Some(plain) => written.push_str(plain),
                None => written.push(character),
            }
        }
        match self.form {
            Some(Form::Composed) => written.nfc().collect(),
            Some(Form::Decomposed) => written.nfd().collect(),
            None => written,
        }
    }
}
