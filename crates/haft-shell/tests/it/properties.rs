//! What holds for every input.

use proptest::prelude::*;

use crate::gate::analysed;
use crate::scripts::script;

proptest! {
    #[test]
    fn no_text_breaks_the_analysis(text in any::<String>()) {
        analysed(&text);
    }

    #[test]
    fn no_shell_like_text_breaks_it(parts in prop::collection::vec(prop::sample::select(vec![
        "echo", " ", "\n", ";", "&&", "|", "(", ")", "{", "}", "$(", "`", "\"", "'", "${", "x", "=", "<<E", "\nE\n", "[[", "]]",
        "((", "))", "if", "then", "fi", "for", "in", "do", "done", "case", "esac", ";;", "\\", "\\\n", "$", "#", ":-", "@P", "*",
        "~", "<(", ">", "<", "&", "!", "function", "time", "coproc", "$'", "\\x41", "9999999999999999999", "{a,b}", "é", "\u{200b}",
        "find", "-exec", "git", "-c", "sed", "s/a/b/e", "tar", "xargs", "env", "-S", "sh", "awk", "cd", "..", "eval", "declare", "-i",
    ]), 0..40)) {
        analysed(&parts.concat());
    }

    #[test]
    fn every_effect_and_doubt_is_from_a_line_of_the_script(seed in any::<u64>()) {
        let text = script(seed);
        let lines = text.lines().count().max(1);
        let analysis = analysed(&text);
        for line in analysis.effects.iter().map(|effect| effect.line) {
            prop_assert!((1..=lines + 1).contains(&line));
        }
        for doubt in &analysis.doubts {
            prop_assert!((1..=lines + 1).contains(&doubt.line));
            prop_assert!(!doubt.reason.is_empty() && doubt.excerpt.chars().count() <= 121);
        }
    }

    #[test]
    fn the_same_script_has_the_same_analysis(seed in any::<u64>()) {
        let text = script(seed);
        prop_assert_eq!(analysed(&text), analysed(&text));
    }

    #[test]
    fn a_command_after_any_script_is_still_seen(seed in any::<u64>()) {
        let analysis = analysed(&format!("{}\nfinal-command", script(seed)));
        prop_assert!(!analysis.is_proven() || analysis.runs().any(|run| run.text == "final-command"));
    }
}
