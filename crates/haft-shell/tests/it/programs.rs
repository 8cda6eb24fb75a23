//! Everyday use of programs that can also do other things: it must not ask.

use haft_runtime::permission::Action;

use crate::gate::{Answer, decide, rules};

#[test]
fn ordinary_options_are_no_reason_to_ask() {
    for script in [
        "tar czf out.tgz src",
        "tar -xzf a.tgz -C sub",
        "tar tf a.tgz",
        "sort -t, -k2 -n f",
        "sort -u",
        "sed -e 's/a/b/' -e '/x/d' f",
        "sed -i.bak 's/a/b/g' f",
        "awk -F: '$3 > 5 {print $1}' f",
        "find . -type f -size +1M",
        "grep -rnE 'a|b' --include='*.rs' src",
        "rg -n --type rust foo src",
        "rg -l foo -g '!target'",
        "xargs echo < f",
        "make -j4 test V=1",
        "make clean all",
        "cargo test -p x --features y -- --nocapture",
        "cargo run --bin x",
        "npm run test:unit",
        "npm ci",
        "npm run build -- --watch",
        "python -m pytest -k foo",
        "python --version",
        "node --version",
        "diff -ru a b",
        "jq -r '.a[] | .b' f",
        "head -5 f",
        "tail -f log",
        "ls -lah src",
        "wc -l f",
        "du -sh src",
        "cut -d: -f1 f",
        "tr a-z A-Z < f",
        "date +%s",
        "ps aux",
        "ln -s a b",
        "chmod +x run.sh",
        "mkdir -p a/{b,c}",
        "cp -r src dst",
        "rm -rf build",
        "git diff --stat | cat",
        "patch -p1 < x.diff",
        "timeout 60 ls",
        "nice ls",
        "env FOO=1 ls",
        "FOO=1 ls",
        "command -v ls && ls",
        "x=1; echo $x",
        "if [ -f a ]; then cat a; fi",
        "[[ -n \"$x\" ]] && echo y",
        "while IFS= read -r l; do echo \"$l\"; done < f",
        "set -euo pipefail; ls",
        "cat <<< hi",
        "for f in src/*.rs; do wc -l \"$f\"; done",
        "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
        "echo $((2 * 3))",
        "cd src && ls || echo none",
        "ls 2>/dev/null | head",
        "true && false || echo x",
        "case $x in a) ls;; *) echo;; esac",
        "printf '%s\\n' \"$x\"",
        "echo \"$(git rev-parse HEAD)\"",
        "bash -c 'ls -l'",
        "sh -c 'echo a && ls'",
        "export A=1; ls",
        "trap '' INT; ls",
        "f() { ls; }; f",
        "zip -r x.zip src",
        "sleep 1 & wait",
        "unset x; ls",
        "stat -c %s f",
        "basename a/b",
    ] {
        let names = [
            "tar", "sort", "sed", "awk", "find", "grep", "rg", "xargs", "make", "cargo", "npm",
            "python", "node", "diff", "jq", "head", "tail", "ls", "wc", "du", "cut", "tr", "date",
            "ps", "ln", "chmod", "mkdir", "cp", "rm", "git", "patch", "timeout", "nice", "env",
            "echo", "cat", "[", "read", "printf", "bash", "sh", "zip", "sleep", "stat", "basename",
            "trap",
        ];
        let patterns: Vec<String> = names.iter().map(|name| format!("{name} *")).collect();
        let own: Vec<_> =
            patterns.iter().map(|rule| ("bash", rule.as_str(), Action::Allow)).collect();
        assert_eq!(decide(script, rules(&own)), Answer::Runs, "{script}");
    }
}
