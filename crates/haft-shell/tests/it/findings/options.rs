//! Options that the table knew wrongly, or not at all.

use super::{asks, refuses_or_asks, runs, with_allowed};
use crate::gate::Answer;

#[test]
fn what_looks_like_an_option_is_read_as_one_behind_any_other() {
    asks("git *", &["git rebase -m --exec=canary HEAD~1", "git clone -s --upload-pack=canary . y"]);
    asks("git *", &["git diff HEAD~1 --color --output=/out", "git log -m --output=/out"]);
    asks("gcc *", &["gcc -W -wrapper canary -c x.c", "gcc -g -fplugin=./evil.so -c x.c"]);
    asks("tar *", &["tar cf x.tar f.txt --backup -Icanary"]);
    asks("wget *", &["wget --random-wait -O /out -i urls.txt"]);
    asks("unzip *", &["unzip -o -d/out ok.zip"]);
    asks("xargs *", &["echo x | xargs -l canary", "xargs --eof canary", "xargs -i canary {}"]);
    runs("git *", &["git commit -m '- one more'", "git commit -v -m x", "git log -n -5 --pretty"]);
    runs("head *", &["head -n -5 f.txt"]);
}

#[test]
fn what_is_joined_to_an_unknown_option_may_be_a_place() {
    for script in [
        "zstd --output-dir-flat=/out f",
        "npm pack --pack-destination=/out",
        "pip --log=/out list",
        "git read-tree --index-output=/out HEAD",
        "gcc -c x.c --output=/out",
        "rustc --out-dir=/out x.rs",
        "rustc --print=cfg=/out",
        "ld -Map=/out x.o",
        "gcc -fdump-tree-original=/out x.c",
        "openssl rand -writerand=/out 4",
        "csplit -f sub/ -b '../../out/p%d' f.txt 1",
        "patch -b -B /out/ < x",
    ] {
        let first = script.split(' ').next().unwrap_or_default();
        let answer = with_allowed(&format!("{first} *"), script);
        assert!(matches!(answer, Answer::Asks(_)), "{script:?}: {answer:?}");
    }
}

#[test]
fn a_mode_with_a_dash_is_a_mode() {
    asks("chmod *", &["chmod -x ../outside/seed", "chmod -R -rwx /outside", "chattr -i /outside"]);
    runs("chmod *", &["chmod -x sub/f", "chmod +x sub/f", "chmod -R 644 sub"]);
}

#[test]
fn a_pattern_for_a_value_may_be_several_options() {
    asks("tar *", &["tar cf x.tar --exclude --* f.txt"]);
    asks("rg *", &["rg -e --* ."]);
    runs("tar *", &["tar cf x.tar --exclude '--*' f.txt", "tar cf x.tar --exclude target/* f.txt"]);
}

#[test]
fn find_ends_a_command_at_a_plus_behind_names_only() {
    asks("find *", &["find . -maxdepth 0 -exec install + -D /out -D \\;"]);
    let allowed =
        ["find *", "wc *"].map(|rule| ("bash", rule, haft_runtime::permission::Action::Allow));
    let answer = crate::gate::decide("find . -name '*.txt' -print", crate::gate::rules(&allowed));
    assert_eq!(answer, Answer::Runs);
}

#[test]
fn programs_that_run_what_they_are_told_or_read() {
    refuses_or_asks(
        "canary *",
        &[
            "watch -n 9 'true; canary'",
            "watch ls \\; canary",
            "script -q /dev/null <<< canary",
            "su root -- -c canary",
            "service ../../bin/canary",
            "cargo +stable --config 'build.rustc-wrapper=\"canary\"' check",
            "npm --loglevel silent exec -c canary",
            "python3 -m timeit 'import os; os.system(\"canary\")'",
            "python3 -m cProfile evil.py",
            "sdiff -o z f.txt g.txt",
            "rustup run stable sh -c 'true; canary'",
            "pyenv exec sh -c 'true; canary'",
            "uv run sh -c 'true; canary'",
            "vim.basic -c '!canary'",
            "x86_64-linux-gnu-gcc -wrapper canary x.c",
            "perl5.36-x86_64-linux-gnu -e 'system canary'",
            "RM=canary make clean",
            "RUSTUP_TOOLCHAIN=/x cargo check",
        ],
    );
    asks("git *", &["git --bare diff HEAD~1 HEAD"]);
    asks("java *", &["java Evil.java", "java @args.txt"]);
    asks("sed *", &["sed -l p '1e canary' f.txt"]);
    runs("cargo *", &["cargo +nightly fmt", "cargo test --workspace -- --nocapture"]);
    runs("npm *", &["npm --silent test", "npm install --save-dev x"]);
}
