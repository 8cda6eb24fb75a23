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
fn links_that_the_script_makes_are_not_followed_unasked() {
    for script in [
        "ln -s $PWD sub/up; cd sub/up && touch ../pwned",
        "ln -s .. up; cat up/x",
        "ln -s .. up && echo x > up",
        "cd sub/deep && ln -s ../.. ../../x && cd ../.. && touch x/red/pwned",
        "cd sub && ln -s ../../y ../x && cat ../x",
        "ln -s ../y && cat y/x",
        "ln -s $PWD/y -t sub; touch sub/y/x",
        "(ln -s .. up); touch up/pwned",
        "for i in 1 2; do touch up/pwned; ln -s .. up; done",
        "f() { ln -s .. up; }; f; touch up/pwned",
        "git checkout evb -- lnk && touch lnk/pwned",
        "git checkout -q evb && touch lnk/pwned",
        "git switch evb; cat lnk",
        "git switch evb; cat l*",
        "git switch evb; grep -R x .",
        "tar xf sym.tar; cat *",
        "tar xf sym.tar; rm -rf ./*/x",
        "git checkout evb -- lnk && frob lnk",
        "ln -s / up; frob -o up",
        "git stash pop; cat lnk/x",
        "git apply sym.diff && touch lnk/pwned",
        "git clone . d && cat d/lnk",
        "patch -p1 < sym.diff; touch lnk/pwned",
        "tar xf sym.tar && touch lnk/pwned",
        "mkdir d; tar cf - . | tar xf - -C d; touch d/out_dir/pwned",
        "unzip a.zip; cat lnk/*",
        "cp -r sub d; touch d/lnk/pwned",
        "cp -a sub d && echo x > d/lnk/pwned",
        "cp -r sub d/; cat d/sub/lnk",
        "mv sub d; touch d/lnk/pwned",
        "rsync -a sub/ d; cat d/lnk",
        "mkdir -p a/b; cd a/b && mv ../b ../../b2 && touch ../../pwned",
        "mkdir -p a/b; cd a/b && (mv ../* ../..) && touch ../x",
        "cd sub && cd -P .. && ln -s .. up && cd -P up && touch x",
    ] {
        assert!(!analysed(script).is_proven(), "{script}");
    }
    all_run(&[
        "git pull && cargo build",
        "git checkout main && grep -rn x . && find . -name y && ls",
        "git pull && frob plan && docker compose up -d",
        "tar xf x.tar.gz -C sub && cd sub/x && make",
        "tar xzf x.tgz -C sub && rm x.tgz && ls sub/x && mkdir build && rm -f ./*.o",
        "tar tf x.tgz && cat f.txt",
        "git checkout main && git status && git merge topic && git add src/a.rs",
        "git checkout -b topic && cat f.txt",
        "git stash list; git reset HEAD~1; cat f.txt",
        "mv a.txt b.txt && cat b.txt",
        "mkdir d && cp a.txt d/ && cat d/a.txt",
        "ln -s a b && ls -l b && cat b && rm b",
        "cp -r src bak && rm -rf bak",
        "mkdir -p build && cd build && cmake .. && cat ../f.txt",
    ]);
}

#[test]
fn what_follows_links_is_not_bounded_by_a_folder() {
    all_ask(&[
        "find -L . -name seed -delete",
        "find . -follow -name seed",
        "chown -RL nobody .",
        "chmod -R -L 644 .",
        "chmod -R -L -x .",
        "setfacl -R -L -b .",
        "cp -rL . /project/x",
        "grep -Rn x .",
        "grep -e x --dereference-recursive .",
        "rg -L x .",
        "fd --follow x .",
        "tar chf x.tar .",
        "diff -r . x",
        "zip -r x.zip .",
        "ln -s .. sub/up; grep -R x sub",
    ]);
    all_run(&[
        "find . -name seed -delete",
        "grep -R x src",
        "grep -rn x .",
        "cp -r . x",
        "rg x .",
        "chmod -R 644 src",
        "tar cf x.tar .",
    ]);
}

#[test]
fn temporary_files_are_outside() {
    for (script, file) in [
        ("mktemp", "write /tmp/tmp.XXXXXXXXXX"),
        ("mktemp -dq", "write /tmp/tmp.XXXXXXXXXX"),
        ("x=$(mktemp -d)", "write /tmp/tmp.XXXXXXXXXX"),
        ("mktemp -t pwned.XXXXXX", "write /tmp/pwned.XXXXXX"),
        ("mktemp --tmpdir pwned.XXXXXX", "write /tmp/pwned.XXXXXX"),
        ("mktemp --tmpdir", "write /tmp/tmp.XXXXXXXXXX"),
        ("mktemp -p sub x.XXX", "write /project/sub"),
    ] {
        assert!(touched(script).contains(&file.to_owned()), "{script}: {:?}", touched(script));
    }
    all_ask(&["mktemp", "mktemp -d", "mktemp -t x.XXX", "mktemp -p /outside x.XXX"]);
    all_run(&["mktemp ./x.XXX", "mktemp -p sub x.XXX", "mktemp --tmpdir=sub", "mktemp -u"]);
}

#[test]
fn any_word_of_an_unknown_program_may_be_a_file() {
    all_ask(&[
        "shuf f.txt -o \"$(echo /outside/x)\"",
        "shuf f.txt -o\"$(echo /outside/x)\"",
        "shuf f.txt --output=\"$x\"",
        "shuf f.txt -o /outsid?/seed",
        "echo -o/outside/x f.txt | xargs shuf",
        "shuf f.txt -o '../outside/pw ned'",
        "shuf f.txt -o'../outside/pw ned'",
        "frob --out='/outside/pw ned'",
        "frob 'my keys/.env'",
        "frob .e*",
        "javac -d out_dir Evil.java",
        "frob -dout_dir",
        "frob to=out_dir",
    ]);
    all_run(&[
        "frob -n $# x",
        "frob -n$((1 + 1)) x",
        "frob build --fast -q src/*.txt",
        "frob -m 'fix a/b and c.d, see e'",
        "frob -Isrc -o out 'a b'",
        "gh pr view 12 --json title",
    ]);
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
