//! Ways around a gate that are known from other tools, each with a test of its own.

mod options;
mod shell_state;
mod through_programs;

use haft_runtime::permission::Action;
use haft_shell::Standing;

use crate::gate::{Answer, analysed, asked, decide, rules};

/// Decides with one rule that allows some commands.
fn with_allowed(allowed: &str, script: &str) -> Answer {
    decide(script, rules(&[("bash", allowed, Action::Allow)]))
}

/// Decides where all is allowed but one program.
fn with_denied(denied: &str, script: &str) -> Answer {
    decide(script, rules(&[("bash", "*", Action::Allow), ("bash", denied, Action::Deny)]))
}

fn asks(allowed: &str, scripts: &[&str]) {
    for script in scripts {
        let answer = with_allowed(allowed, script);
        assert!(matches!(answer, Answer::Asks(_)), "{script:?} under {allowed:?}: {answer:?}");
    }
}

fn runs(allowed: &str, scripts: &[&str]) {
    for script in scripts {
        assert_eq!(with_allowed(allowed, script), Answer::Runs, "{script:?} under {allowed:?}");
    }
}

fn refuses_or_asks(denied: &str, scripts: &[&str]) {
    for script in scripts {
        assert_ne!(with_denied(denied, script), Answer::Runs, "{script:?}");
    }
}

#[test]
fn a_script_without_a_command_still_asks() {
    for script in [
        "> /outside/x",
        "cd . > /outside/x",
        "[[ x ]] > /outside/f",
        "((1)) > /outside/f",
        "export X=1 > /outside/f",
        "declare -p",
        "export -p",
        "set",
        "cd .",
        "export X=1",
        ":",
    ] {
        let answer = decide(script, rules(&[("bash", "*", Action::Ask)]));
        assert_ne!(answer, Answer::Runs, "{script}");
    }
}

#[test]
fn every_separator_and_every_block_is_seen_through() {
    asks(
        "echo *",
        &[
            "echo hi; canary",
            "echo hi && canary",
            "echo hi || canary",
            "echo hi | canary",
            "echo hi & canary",
            "echo hi\ncanary",
            "echo hi |& canary",
            "{ canary; }",
            "(canary)",
            "if canary; then :; fi",
            "! canary",
            "if :; then canary; fi",
            "if :; then :; else canary; fi",
            "while canary; do break; done",
            "time canary",
            "for x in a; do canary; done",
            "case a in a) canary;; esac",
            "f() { canary; }; f",
            "coproc canary",
            "until canary; do :; done",
            "echo $(canary)",
            "echo `canary`",
            "echo <(canary)",
            "echo hi > >(canary)",
            "echo \"$(canary)\"",
            "X=$(canary)",
            "echo ${x:-$(canary)}",
            "echo $(( $(canary) ))",
            "echo hi # x\ncanary",
        ],
    );
}

#[test]
fn a_line_that_goes_on_is_one_word() {
    assert_eq!(asked(&analysed("r\\\nm x")), ["rm x"]);
    asks("ls *", &["ls\\\nof"]);
    asks("can *", &["can\\\nary x"]);
    refuses_or_asks("rm *", &["r\\\nm x", "\\\nrm x", "rm\\\n x"]);
}

#[test]
fn backquotes_are_seen_wherever_they_stand() {
    asks(
        "cat *",
        &[
            "cat <<EOF\na `canary` b\nEOF",
            "cat <<-EOF\n\t$(canary)\n\tEOF",
            "cat <<E\n${x:-`canary`}\nE",
        ],
    );
    asks("echo *", &["echo ${x:-`canary`}", "echo \"${x:-`canary`}\"", "echo `echo \\`canary\\``"]);
    runs("cat *", &["cat <<'EOF'\n`canary` $(canary)\nEOF"]);
}

#[test]
fn here_documents_in_a_substitution_stand_alone() {
    // bash 5.2 loses the `;` between the two commands that follow.
    asks("echo *", &["echo <(echo a <<E\nE\necho b;\necho c)"]);
    runs("git *", &["git commit -m \"$(git log <<'E'\nmessage; with (all) 'kinds'\nE\n)\""]);
    asks("echo *", &["echo `echo 'a\\\nb'`"]);
}

#[test]
fn a_carriage_return_separates_nothing() {
    asks("echo *", &["echo hi\rcanary", "echo\rhi"]);
}

#[test]
fn builtins_that_evaluate_their_arguments_are_not_trusted() {
    asks(
        "test *",
        &["test -v 'a[$(canary)]'", "test -R 'a[$(canary)]'", "test $x", "test -v \"$x\""],
    );
    asks("[ *", &["[ -v 'a[$(canary)]' ]"]);
    asks("printf *", &["printf -v 'a[$(canary)]' x", "printf \"$f\" \"$x\""]);
    asks("read *", &["read 'a[$(canary)]' <<< 1", "read -a 'a[$(canary)]'"]);
    asks("let *", &["let 'a[$(canary)]=1'", "let \"$x\""]);
    asks("wait *", &["wait -p 'a[$(canary)]' -n"]);
    asks(
        "declare *",
        &[
            "declare -i n='a[$(canary)]'",
            "declare 'a[$(canary)]=1'",
            "declare -n r='a[$(canary)]'; echo $r",
            "declare -a 'x=($(canary))'",
        ],
    );
    asks(
        "echo *",
        &[
            "x='a[$(canary)]'; echo $((x))",
            "echo $[ x='a[$(canary)]', x ]",
            "x='$(canary)'; echo \"${x@P}\"",
            "x='a[$(canary)]'; [[ x -eq 1 ]]; echo",
            "x='a[$(canary)]'; echo ${!x}",
            "x='a[$(canary)]'; echo ${y:x}",
            "x='a[$(canary)]'; echo ${y[x]}",
            "unset 'a[$(canary)]'; echo",
            "mapfile -t 'a[$(canary)]'; echo",
            "getopts a 'b[$(canary)]'; echo",
            "x='b[$(canary)]'; a[x]=1; echo",
        ],
    );
    runs(
        "echo *",
        &["i=1; echo $((i + 1))", "echo $((1 + 2))", "for ((i=0;i<3;i++)); do echo $i; done"],
    );
}

#[test]
fn what_is_shown_names_the_hidden_command() {
    for script in [
        "env FOO=1 timeout 5 nice canary x",
        "sh -c 'canary x'",
        "find . -exec canary x \\;",
        "eval 'canary' x",
    ] {
        assert!(asked(&analysed(script)).contains(&"canary x"), "{script}");
    }
}

#[test]
fn no_number_of_commands_hides_one() {
    for count in [60, 500, 5_000] {
        let script = format!("{}canary", "true && ".repeat(count));
        assert_ne!(with_denied("canary *", &script), Answer::Runs);
        let script = format!("{}canary", "true;".repeat(count));
        assert_ne!(with_denied("canary *", &script), Answer::Runs);
    }
    let script = format!("echo hi{}; canary", " ".repeat(5_000));
    assert_ne!(with_denied("canary *", &script), Answer::Runs);
}

#[test]
fn functions_and_aliases_that_shadow_are_followed() {
    asks(
        "ls *",
        &[
            "ls() { canary; }; ls",
            "function ls { canary; }; ls",
            "if x; then ls() { canary; }; fi; ls",
        ],
    );
    runs("ls *", &["f() { ls; }; f", "canary() { ls -l; }; canary"]);
    asks("ls *", &["f() { f; ls; }; f", "command_not_found_handle() { canary; }; ls"]);
    // `command` and other programs do not see functions.
    asks("ls *", &["canary() { ls; }; command canary", "canary() { ls; }; env canary"]);
}

#[test]
fn a_list_that_bash_fails_to_read_in_a_substitution_asks() {
    let document = "<<'EOF'\n$(rm y)\nEOF\n";
    let script = |list: &str| format!("ls <(x+=({list})) {document}");
    for list in ["\\; b", "a\\;b c", "\\& b", "\\( b"] {
        refuses_or_asks("rm *", &[&script(list)]);
        refuses_or_asks("rm *", &[&script(list).replace("<(x", "$(x")]);
    }
    runs("*", &["x=(a\\ b ';' c); ls"]);
}

#[test]
fn a_variable_that_alters_what_it_is_given_is_not_followed() {
    refuses_or_asks(
        "rm *",
        &[
            "declare -l x=RM; $x y",
            "declare -l x; x=RM; $x y",
            "typeset -u x; x=rm; x=RM; f() { local -l x; x=RM; $x y; }; f",
            "declare -i x; x='a[$(rm y)]'",
            "declare -i x=1; for x in 'a[$(rm y)]'; do ls; done",
            "declare -ix x; export x='a[$(rm y)]'",
            // An attribute changes nothing of what is there already.
            "x=rm; declare -i x; $x y",
            "for i in 1; do x=rm; declare -i x; done; $x y",
            "declare +i x=rm; $x y",
            "declare -i x=1; declare +i x; x=rm; $x y",
        ],
    );
    asks(
        "cat *",
        &["x=/etc/shadow; declare -i x; cat $x", "declare -i x; declare +i x=/e; cat $x"],
    );
    // It is 0 by then.
    asks("ls delta", &["declare -i x=a; ( x=delta; ls $x )", "declare -i x; x=delta; ls $x"]);
    runs("ls delta", &["declare x=a; x=delta; ls $x"]);
}

#[test]
fn a_variable_that_was_not_set_after_all_is_not_relied_on() {
    asks(
        "ls *",
        &[
            "x=canary; x=ls > /nonexistent/f; $x",
            "x=canary; { x=ls; } > /nonexistent/f; $x",
            "x=canary; export x=ls > /nonexistent/f; $x",
            "readonly x=canary\nx=ls\n$x",
            "_=ls; : canary; $_",
            "x=canary\ny=$((1/0)) x=ls\n$x",
            "x=canary\ny=$((08)) x=ls\n$x",
            "x=canary; false && x=ls; $x",
            "x=canary; if false; then x=ls; fi; $x",
            "x=canary; while false; do x=ls; done; $x",
            "x=canary; (x=ls); $x",
            "x=canary; x=ls & $x",
            "x=canary; x=ls | :; $x",
            "x=canary; f() { local x=ls; }; f; $x",
            "x=ls; f() { x=canary; return; x=ls; }; f; $x",
            "x=ls; for i in 1; do x=canary; break; x=ls; done; $x",
            "x=canary; case a in b) x=ls;; esac; $x",
            "x=ls; for x in canary; do $x; done",
            "x=ls; read x <<< canary; $x",
            "x=ls; printf -v x canary; $x",
            "x=ls; unset x; $x y",
            "x=ls; : ${x:=canary}; $x",
            "x=ls; x=canary eval '$x'",
        ],
    );
    runs("ls *", &["x=ls; $x", "x=ls; $x -l $x", "x=ls && $x"]);
}

#[test]
fn broken_and_bottomless_scripts_ask() {
    for script in [
        "echo hi; )(".to_owned(),
        "echo 'x".to_owned(),
        "echo \"x".to_owned(),
        "(".repeat(100_000),
        "$(".repeat(50_000),
        "`".repeat(1_001),
        "echo ${".to_owned(),
        "echo $((".to_owned(),
        "if".to_owned(),
        "cat <<E".to_owned(),
        "x".repeat(2_000_000),
        "{ ".repeat(60_000),
        "((((".repeat(20_000),
        "echo \"${x:-".repeat(10_000),
        "! ".repeat(60_000),
    ] {
        assert!(!analysed(&script).is_proven(), "{}", &script[..script.len().min(40)]);
    }
}

#[test]
fn what_cannot_be_seen_is_refused_or_quoted() {
    for script in [
        "ls\0",
        "ls\u{a0}-l",
        "ls\u{2028}canary",
        "ls\u{200b}",
        "\u{feff}ls",
        "l\u{202e}s",
        "ls\u{3000}x",
        "ls\u{b}x",
        "ls\u{85}x",
    ] {
        assert!(!analysed(script).is_proven(), "{script:?}");
    }
    assert!(analysed("git commit -m 'a\u{a0}b'").is_proven());
}

#[test]
fn other_shells_are_not_guessed_at() {
    for script in ["powershell -Command ls", "pwsh -c ls", "cmd.exe /c dir", "fish -c ls", "wsl ls"]
    {
        assert!(!analysed(script).is_proven(), "{script}");
    }
}

#[test]
fn unknown_arguments_are_said_to_be_unknown() {
    let analysis = analysed("frob -x \"$y\" z");
    let run = analysis.runs().next().unwrap();
    assert_eq!((run.known, run.words.len(), run.standing), (2, 4, Standing::Asked));
    assert_ne!(with_denied("frob --delete *", "frob $y"), Answer::Runs);
    assert_eq!(with_denied("other *", "frob $#"), Answer::Runs);
}

#[test]
fn a_doubt_says_why_and_where() {
    let analysis = analysed("echo ok\n$x foo");
    let doubt = &analysis.doubts[0];
    assert_eq!((doubt.line, doubt.excerpt.as_str()), (2, "$x foo"));
    assert_eq!(doubt.reason, "the name of a command is not certain before it runs");
}
