//! Paths that lead out of the workspace although they do not look like it.

use haft_runtime::permission::Action;
use haft_shell::{Action as Did, Effect};

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

/// What a script does to files and hosts, as text.
fn touched(script: &str) -> Vec<String> {
    let effects = analysed(script).effects;
    let of_files = |effect: &&Effect| !matches!(effect.action, Did::Run(_));
    effects.iter().filter(of_files).map(ToString::to_string).collect()
}

#[test]
fn the_home_folder_is_also_meant_behind_a_name() {
    for (script, file) in [
        ("dd if=a of=~/pwned", "write /home/user/pwned"),
        ("dd of=~", "write /home/user"),
        ("export X=~/x; touch $X", "write /home/user/x"),
        ("X=~/x; touch $X", "write /home/user/x"),
        ("frob out=~/x", "read /home/user/x"),
        ("dd of='~/a'", "write /project/~/a"),
        ("dd of={~/a,b}", "write /project/~/a"),
    ] {
        assert!(touched(script).contains(&file.to_owned()), "{script}: {:?}", touched(script));
    }
    all_ask(&["dd if=a of=~user/x", "dd if=a of=~+/../x", "dd if=b:~/x of=y", "dd of=~\"$x\""]);
    all_run(&["echo a=b --x=~/y", "dd if=a of=b"]);
}

#[test]
fn files_that_are_written_as_addresses() {
    all_ask(&[
        "curl -T f.txt FILE:///outside/x",
        "curl -T f.txt FiLe:/outside/x",
        "curl -T f.txt file://127.0.0.1/outside/x",
        "curl -T f.txt 'file:///project/%2e%2e/outside/x'",
        "curl -T f.txt 'file:///project/{..}/outside/x'",
        "curl -T f.txt --url=file:/outside/x",
        "curl -s 'file:///project/.e[n-n]v'",
        "curl -s FILE:///project/.env",
        "frob FILE:///project/.env",
        "git clone FILE:///outside/x",
    ]);
    let written = "write /project/x".to_owned();
    for script in ["curl -T f file:///project/x", "curl --up f --url=FILE://h/project/x"] {
        assert!(touched(script).contains(&written), "{script}: {:?}", touched(script));
    }
    assert!(!touched("curl file:///project/x").contains(&written));
    for script in ["curl 'https://{a.org,b.org}/'", "curl 'https://[a-b].org/'"] {
        assert!(!analysed(script).is_proven(), "{script}");
    }
    for script in ["curl 'http://[::1]:80/'", "curl 'https://a.org/{1,2}?x=[1-2]'"] {
        assert!(analysed(script).is_proven(), "{script}");
    }
}

#[test]
fn a_repository_is_made_in_a_folder_of_any_name() {
    all_ask(&["git init out_dir", "git clone . out_dir", "git init -q out_dir/x"]);
    assert!(touched("git clone git@a.org:x/y.git").contains(&"write /project/y".to_owned()));
    assert_eq!(touched("git push origin main"), [""; 0]);
    all_run(&["git init", "git init new", "git clone . new", "git pull origin main"]);
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
