//! Paths that lead out of the workspace although they do not look like it.

use haft_runtime::permission::Action;

use crate::gate::{Answer, analysed, asked, decide, rules};

/// What becomes of a script where every program that it names is allowed.
fn with_all_programs(script: &str) -> Answer {
    let analysis = analysed(script);
    let words = asked(&analysis).into_iter().map(|run| run.split(' ').next().unwrap());
    let allowed: Vec<String> = words.map(|word| format!("{word} *")).collect();
    let mut own: Vec<_> =
        allowed.iter().map(|rule| ("bash", rule.as_str(), Action::Allow)).collect();
    own.push(("read", "*.env", Action::Deny));
    decide(script, rules(&own))
}

#[track_caller]
fn all_ask(scripts: &[&str]) {
    for script in scripts {
        assert_ne!(with_all_programs(script), Answer::Runs, "{script}: {:?}", analysed(script));
    }
}

#[track_caller]
fn all_run(scripts: &[&str]) {
    for script in scripts {
        assert_eq!(with_all_programs(script), Answer::Runs, "{script}");
    }
}

#[test]
fn open_files_are_streams_and_nothing_below_them_is() {
    all_ask(&[
        "echo x > /dev/fd/../cwd/../pwned",
        "touch /dev/fd/../root/tmp/pwned",
        "cat /dev/fd/../cwd/.env",
        "cat < /dev/./fd/../cwd/.env",
        "cat //dev/fd/../cwd/.env",
        "cd /dev/fd && cat ../cwd/f.txt",
        "cat /dev/fd/3/f.txt",
        "cat /dev/stdin/../f.txt < sub",
        "cat /usr/../proc/self/cwd/f.txt",
        "cat /proc/*/environ",
    ]);
    all_run(&[
        "cat /dev/fd/3",
        "echo x > /dev/fd/2",
        "diff <(ls a) <(ls b)",
        "ls | cat /dev/stdin",
    ]);
    for script in ["touch /dev/fd/../cwd/x", "ls /proc/*/cwd", "cd /proc/self && cat cwd/f.txt"] {
        assert!(!analysed(script).is_proven(), "{script}");
    }
}
