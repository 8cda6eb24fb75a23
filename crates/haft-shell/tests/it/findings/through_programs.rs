//! Programs that run, write or remove something else than their name says.

use haft_shell::Action as Shell;

use super::{asks, refuses_or_asks, runs};
use crate::gate::{analysed, asked};

#[test]
fn a_denied_program_is_known_by_all_its_spellings() {
    refuses_or_asks(
        "rm *",
        &[
            "'rm' x",
            "\\rm x",
            "FOO=1 rm x",
            "/bin/rm x",
            ">/dev/null rm x",
            "2>&1 rm x",
            "<f rm x",
            "r''m x",
            "$'rm' x",
            "$'\\x72m' x",
            "{rm,x}",
            "x=rm; $x y",
            "env rm x",
            "env -i FOO=1 rm x",
            "command rm x",
            "builtin command rm x",
            "exec rm x",
            "exec -a ls rm x",
            "eval rm x",
            "sh -c 'rm x'",
            "bash -c \"rm x\"",
            "timeout 5 rm x",
            "nice -n 3 rm x",
            "nohup rm x",
            "setsid rm x",
            "stdbuf -oL rm x",
            "xargs rm",
            "find . -exec rm {} +",
            "flock l rm x",
            "script -c 'rm x' /dev/null",
            "sudo rm x",
            "busybox rm x",
            "time rm x",
            "! rm x",
            "echo x | xargs -I{} rm {}",
            "`echo rm` x",
            "$(echo rm) x",
            "r${x}m y",
            "rm",
            "echo | sh",
            "sh <<< 'rm x'",
            ". ./f",
            "trap 'rm x' EXIT",
            "alias ls='rm x'",
            "hash -p /bin/rm ls; ls",
            "/bin/r? x",
            "set -- rm; \"$@\"",
            "sh -c -- 'rm x'",
            "sh -ec 'rm x'",
            "watch rm x",
            "ionice -c 3 rm x",
            "doas rm x",
            "parallel rm ::: x",
            "unshare rm x",
            "env -S 'rm x'",
            "command -p rm x",
            "npx rm",
            "uv run rm x",
            "xargs -a f rm",
            "fd -x rm",
            "x=r; y=m; $x$y z",
            "coproc rm x",
            "su -c 'rm x'",
        ],
    );
}

#[test]
fn what_follows_a_text_that_is_split_belongs_to_its_command() {
    let named = |script: &str| asked(&analysed(script)).last().map(|&it| it.to_owned());
    assert_eq!(named("env -S rm = x").as_deref(), Some("rm = x"));
    assert_eq!(named("env -S rm a=b x").as_deref(), Some("rm a=b x"));
    assert_eq!(named("env -S 'a=b rm' x").as_deref(), Some("rm x"));
    // `env` reads none of these as its own, or reads the text's first words so.
    refuses_or_asks(
        "rm * x",
        &[
            "env -S rm -v x",
            "env -S 'rm y' -u x",
            "env -S rm -- x",
            "env -S '-i rm y' x",
            "env -S rm -S y x",
            "env -Srm -i x",
        ],
    );
}

#[test]
fn a_wrapper_is_asked_for_as_well() {
    let analysis = analysed("sudo timeout 5 ls");
    assert_eq!(asked(&analysis), ["sudo timeout 5 ls", "timeout 5 ls", "ls"]);
    asks("timeout *", &["timeout 5 ls"]);
    asks("ls *", &["timeout 5 ls"]);
}

#[test]
fn find_that_runs_removes_or_writes_is_not_just_find() {
    asks(
        "find *",
        &[
            "find . -exec canary {} \\;",
            "find . -execdir canary {} +",
            "find . -ok canary \\;",
            "find . -fprintf /outside/x %p",
            "find . -fprint /outside/x",
            "find . -fls /outside/x",
            "find /outside -delete",
            "find . $x",
            "find . -files0-from f",
        ],
    );
    runs(
        "find *",
        &[
            "find . -name '*.rs' -newer x -not -path './t/*'",
            "find src tests -type f -printf '%p\\n'",
        ],
    );
    let deletes = |effect: &haft_shell::Effect| matches!(&effect.action, Shell::Delete(_));
    assert!(analysed("find . -name x -delete").effects.iter().any(deletes));
}

#[test]
fn git_that_runs_something_else_is_not_just_git() {
    asks(
        "git *",
        &[
            "git -c core.pager=canary log",
            "git -c alias.x='!canary' x",
            "git --exec-path=. status",
            "git ls-remote --upload-pack=canary .",
            "git ls-remote --upload-p canary .",
            "git grep -O canary",
            "git grep --open-files-in-pager=canary x",
            "git rebase --exec canary HEAD~1",
            "git rebase -x canary HEAD~1",
            "git bisect run canary",
            "git config core.pager canary",
            "git xx",
            "git submodule foreach canary",
            "git difftool -x canary",
            "git clone ext::canary",
            "git fetch 'ext::sh -c canary'",
            "git filter-branch --tree-filter canary",
            "git $x",
            "git --git-dir=x status",
            "git --work-tree=/outside checkout .",
            "GIT_PAGER=canary git log",
            "git -C evil status",
            "cd evil && git status",
            "git log --output=/outside/x",
            "git archive -o /outside/x HEAD",
            "git push --receive-pack=canary",
            "git clone --config core.sshCommand=canary x",
            "git init --template=evil",
            "git clone -u canary x",
            "git diff --ext-diff",
            "git commit -F /outside/x",
            "git worktree add /outside/x",
            "git format-patch -o /outside x",
            "git -p -c a=b log",
            "git rebase -i HEAD~1",
            "git send-email x",
            "git help -w log",
            "git hook run x",
            "git pull --upload-pack canary",
        ],
    );
    runs(
        "git *",
        &[
            "git status",
            "git log --oneline -10",
            "git diff HEAD~1 -- src/main.rs",
            "git add -A && git commit -m 'a; canary'",
            "git push -u origin main",
            "git checkout -b new",
            "git stash list",
            "git branch -a",
            "git show HEAD:src/a.rs",
            "git log -S needle --format='%h %s'",
            "git rebase main",
            "git clean -fdx",
            "git tag v1",
            "git fetch origin",
        ],
    );
}

#[test]
fn options_that_run_programs_are_known() {
    for (rule, scripts) in [
        (
            "sed *",
            &[
                "sed '1e canary' f",
                "sed 's/a/b/e' f",
                "sed -f evil f",
                "sed \"$x\" f",
                "sed -n 'w /outside/x' f",
            ][..],
        ),
        (
            "awk *",
            &[
                "awk 'BEGIN{system(\"canary\")}'",
                "awk '{print > \"/outside/x\"}' f",
                "awk -f evil",
                "awk '{print|\"canary\"}'",
                "awk -i inplace 1 f",
                "awk \"$x\"",
            ],
        ),
        (
            "tar *",
            &[
                "tar cf x --checkpoint=1 --checkpoint-action=exec=canary .",
                "tar xf x --to-command=canary",
                "tar xf x --to-com=canary",
                "tar -I canary -cf x .",
                "tar cf x *",
                "tar xf x -C /outside",
                "tar --use-compress-prog=canary -xf x",
                "tar xfF x canary",
                "tar cf host:x --rsh-command=canary .",
            ],
        ),
        (
            "sort *",
            &[
                "sort --compress-program=canary f",
                "sort --comp canary f",
                "sort -o /outside/x f",
                "sort f -o/outside/x",
            ],
        ),
        ("rg *", &["rg --pre canary x", "rg --pre=canary x", "rg --hostname-bin canary x"]),
        ("man *", &["man -P canary ls", "man --pager=canary ls", "man -H canary ls"]),
        (
            "ssh *",
            &["ssh -oProxyCommand=canary x", "ssh -o LocalCommand=canary x", "ssh -F evil x"],
        ),
        (
            "make *",
            &[
                "make -f evil.mk",
                "make --eval='x:;canary'",
                "make CC=canary",
                "make -C evil",
                "make SHELL=/x all",
            ],
        ),
        ("zip *", &["zip x.zip f -T -TT canary", "zip x.zip f -T --unzip-command canary"]),
        ("split *", &["split --filter=canary f", "split --filt canary f"]),
        ("curl *", &["curl -K evil x.org", "curl -o /outside/x x.org", "curl x.org"]),
        (
            "wget *",
            &[
                "wget --use-askpass=canary x.org",
                "wget -O /outside/x x.org",
                "wget -e use_askpass=canary x.org",
            ],
        ),
        ("rsync *", &["rsync -e canary a b:", "rsync --rsh=canary a b:", "rsync a /outside"]),
        (
            "python *",
            &[
                "python -c 'x'",
                "python evil.py",
                "echo x | python",
                "python - <<< x",
                "python -i",
                "python -m evil",
            ],
        ),
        (
            "node *",
            &[
                "node -e x",
                "node -p x",
                "node -r ./evil x.js",
                "node evil.js",
                "node --import ./e x.js",
            ],
        ),
        (
            "perl *",
            &[
                "perl -e x",
                "perl -pe1 f",
                "perl evil.pl",
                "perl -MPOSIX -e x",
                "perl -i -pe s/a/b/ f",
            ],
        ),
        ("vim *", &["vim -c '!canary' f", "vim -es --cmd x", "vim f", "vim -S evil"]),
        ("env *", &["env canary", "env -S canary", "env FOO=1 canary", "env PATH=. ls"]),
        (
            "go *",
            &[
                "go test -exec canary ./...",
                "go build -toolexec canary",
                "go generate",
                "go vet -vettool=canary",
            ],
        ),
        (
            "gcc *",
            &[
                "gcc -wrapper canary x.c",
                "gcc -B. x.c",
                "gcc -fplugin=./e.so x.c",
                "gcc -specs=evil x.c",
                "gcc x.c -o /outside/x",
            ],
        ),
        (
            "npm *",
            &[
                "npm exec canary",
                "npm config set script-shell canary",
                "npm run evil",
                "npm run build --script-shell canary",
            ],
        ),
        (
            "cargo *",
            &[
                "cargo --config 'build.rustc=\"canary\"' build",
                "cargo test --config x",
                "cargo install x",
            ],
        ),
        ("xargs *", &["xargs canary", "xargs -n1 canary", "echo .env | xargs cat"]),
        ("less *", &["less +'!canary' f", "less -k evil f"]),
        ("busybox *", &["busybox sh -c canary", "busybox canary"]),
        ("gdb *", &["gdb -ex 'shell canary'"]),
        (
            "ls *",
            &[
                "PATH=. ls",
                "LD_PRELOAD=./e.so ls",
                "export PATH=.; ls",
                "BASH_ENV=x ls",
                "IFS=x; ls",
                "alias ls=canary; ls",
            ],
        ),
    ] {
        asks(rule, scripts);
    }
}
