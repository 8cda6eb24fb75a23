//! Which texts a query is about: BM25, the ranking that search engines have used for long.

use std::collections::HashMap;

/// How soon more of the same word stops to count.
const K: f64 = 1.2;
/// How much a long text has to bring.
const B: f64 = 0.75;

/// The texts that share a word with `query`, the best first; each by its number, and how well it fits.
pub(crate) fn rank(query: &str, texts: &[String]) -> Vec<(usize, f64)> {
    let texts: Vec<Vec<String>> = texts.iter().map(|text| words(text)).collect();
    let count = texts.len() as f64;
    let average = texts.iter().map(Vec::len).sum::<usize>() as f64 / count.max(1.0);
    let mut query = words(query);
    query.sort();
    query.dedup();
    let frequencies: Vec<HashMap<&str, f64>> = texts.iter().map(|text| frequencies(text)).collect();
    let holding = |word: &str| frequencies.iter().filter(|it| it.contains_key(word)).count() as f64;
    let weights: Vec<(&str, f64)> = query
        .iter()
        .map(|word| (word.as_str(), holding(word)))
        .map(|(word, holding)| (word, (1.0 + (count - holding + 0.5) / (holding + 0.5)).ln()))
        .collect();
    let score = |(text, frequencies): (&Vec<String>, &HashMap<&str, f64>)| -> f64 {
        let length = 1.0 - B + B * text.len() as f64 / average.max(1.0);
        let of_word = |(word, weight): &(&str, f64)| {
            let often = frequencies.get(word).copied().unwrap_or(0.0);
            weight * often * (K + 1.0) / (often + K * length)
        };
        weights.iter().map(of_word).sum()
    };
    let scores = texts.iter().zip(&frequencies).map(score).enumerate();
    let mut ranked: Vec<(usize, f64)> = scores.filter(|(_, score)| *score > 0.0).collect();
    // Among equals the order of the texts: the same answer twice.
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked
}

fn frequencies(text: &[String]) -> HashMap<&str, f64> {
    let mut all = HashMap::new();
    for word in text {
        *all.entry(word.as_str()).or_insert(0.0) += 1.0;
    }
    all
}

/// Words in small letters, `camelCase` and `snake_case` taken apart, without the endings of plurals and verbs.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_small) {
            words.push(String::new());
        }
        was_small = c.is_lowercase();
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words.iter().map(|word| stem(word).to_owned()).collect()
}

fn stem(word: &str) -> &str {
    let endings = ["ing", "ies", "es", "ed", "s", "e", "y"];
    let stems = endings.iter().filter_map(|ending| word.strip_suffix(ending));
    stems.into_iter().find(|stem| stem.chars().count() >= 3).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(query: &str, texts: &[&str]) -> Vec<usize> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        rank(query, &texts).into_iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn rare_words_count_more_and_forms_of_a_word_are_the_same() {
        let texts =
            ["list issues of a repository", "createIssue: opens an issue", "send_email to people"];
        assert_eq!(best("creating an issue", &texts).first(), Some(&1));
        assert_eq!(best("emails", &texts), [2]);
        assert_eq!(best("repositories", &texts), [0]);
        assert_eq!(best("unicorn", &texts), Vec::<usize>::new());
        assert_eq!(best("", &texts), Vec::<usize>::new());
        assert_eq!(best("x", &[]), Vec::<usize>::new());
    }

    #[test]
    fn a_long_text_must_bring_more() {
        let long = format!("weather {}", "and other things ".repeat(50));
        assert_eq!(best("weather", &[&long, "weather today"]), [1, 0]);
    }
}
