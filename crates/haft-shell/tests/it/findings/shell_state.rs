//! What the shell keeps in mind by itself, and what makes of it another shell.

use super::{asks, refuses_or_asks, runs, with_denied};
use crate::gate::{Answer, analysed};

/// What runs where all is allowed but one program, as long as nothing is in doubt.
fn unasked(scripts: &[&str]) {
    for script in scripts {
        assert_eq!(with_denied("canary *", script), Answer::Runs, "{script:?}");
    }
}

#[test]
fn variables_that_builtins_set_without_a_name_are_not_relied_on() {
    refuses_or_asks(
        "canary *",
        &[
            "REPLY=ls; read <<< canary; $REPLY",
            "REPLY=ls; IFS= read -r <<< canary; $REPLY",
            "REPLY=ls; read -u 3 3<<< canary; eval \"$REPLY\"",
            "MAPFILE=ls; mapfile -t <<< canary; $MAPFILE",
            "MAPFILE=ls; readarray -t < f; ${MAPFILE}",
            "OPTARG=ls; set -- -a canary; getopts a: o; $OPTARG",
            "set -- -a 'b[$(canary)]'; OPTARG=1; getopts a: o; echo $((OPTARG))",
            "declare -i REPLY; read <<< 'a[$(canary)]'",
            "declare -i MAPFILE; mapfile <<< 'a[$(canary)]'",
        ],
    );
    asks(
        "*",
        &[
            "REPLY=x; read <<< ../pwned; touch $REPLY",
            "MAPFILE=x; mapfile -t <<< ../pwned; touch $MAPFILE",
            "OPTARG=x; set -- -a ../pwned; getopts a: o; touch $OPTARG",
            "REPLY=sub; read <<< ..; cd $REPLY && touch pwned",
        ],
    );
    unasked(&[
        "while read -r line; do echo \"$line\"; done < f",
        "while getopts a: o; do ls; done; shift $((OPTIND - 1))",
    ]);
}

#[test]
fn a_variable_that_a_function_declares_does_not_hold_what_is_outside() {
    refuses_or_asks(
        "canary *",
        &[
            "x=ls; f() { local x; $x canary; }; f",
            "x=ls; f() { declare -r x; $x canary; }; f",
            "x=ls; f() { typeset x; $x canary; }; f",
            "PIPESTATUS=ls; true; $PIPESTATUS canary",
        ],
    );
    unasked(&["x=ls; f() { export x; $x a; }; f", "f() { local x; x=ls; $x; }; f"]);
}

#[test]
fn a_script_from_a_stream_is_doubted_by_any_of_its_names() {
    let scripts =
        ["sh //dev/stdin <<< a", "bash ../dev/fd/0 <<< a", "bash /./proc/self/fd/0 <<< a"];
    for script in scripts {
        assert!(!analysed(script).is_proven(), "{script}");
    }
}

#[test]
fn arithmetic_does_not_rely_on_variables_that_the_shell_fills() {
    asks(
        "echo *",
        &[
            "echo 'a[$(canary)]'; echo $((_))",
            "echo 'a[$(canary)]'; ((_)); echo",
            "echo 'a[$(canary)]'; [[ _ -eq 1 ]]; echo",
            "echo 'a[$(canary)]'; for ((;_;)); do break; done; echo",
            "echo 'a[$(canary)]'; declare -i y=_; echo",
            "[[ 'a[$(canary)]' =~ .* ]]; echo $((BASH_REMATCH))",
            "bash -c 'echo $((BASH_ARGV))' x 'a[$(canary)]'",
            // `OSTYPE` is `linux-gnu`.
            "linux='a[$(canary)]'; echo $((OSTYPE))",
        ],
    );
    runs(
        "echo *",
        &[
            "x=[a]; echo $((RANDOM + 6)) $((SECONDS - 60)) $((COLUMNS - 2))",
            "f=$(echo x); ((n++)); echo $n",
            "name=x; echo $((COUNT + 1))",
        ],
    );
}

#[test]
fn a_name_that_is_put_together_in_arithmetic_is_known_or_doubted() {
    asks(
        "echo *",
        &[
            "b=1; a1='x[$(canary)]'; echo $((a$b))",
            "a1='x[$(canary)]'; false; echo $((a$?))",
            "a_1='x[$(canary)]'; i=1; echo $((a_$i))",
            "a12='x[$(canary)]'; i=1; echo $((a${i}2))",
            "a12='x[$(canary)]'; echo $((a${#i}2))",
            "a1='x[$(canary)]'; echo $((a$((1))))",
            "i=1; a1='x[$(canary)]'; (( a$i )); echo",
            "i=1; a1='x[$(canary)]'; b[a$i]=1; echo",
            "i=1; a1='x[$(canary)]'; echo ${PWD:a$i}",
        ],
    );
    runs(
        "echo *",
        &["i=1; a1=5; echo $((a$i + 1))", "echo $((10#${#i} + $? * 2))", "echo $((1$((2)) + 3))"],
    );
}

#[test]
fn a_variable_that_a_shell_is_handed_is_not_from_outside() {
    refuses_or_asks(
        "canary *",
        &[
            "env X='a[$(canary)]' bash -c 'echo $((X))'",
            "env -i X='a[$(canary)]' bash -c 'echo $((X))'",
            "env -S \"X=a[\\$(canary)]\" bash -c 'echo $((X))'",
            "X='a[$(canary)]' bash -c 'echo $((X))'",
            "export X='a[$(canary)]'; bash -c 'echo $((X))'",
        ],
    );
    unasked(&["x=ls; env x=1 true; $x", "env N=1 bash -c 'echo $N'"]);
}

#[test]
fn text_that_a_list_is_read_from_is_doubted() {
    refuses_or_asks(
        "canary *",
        &[
            "declare -a x=\"$(echo '($(canary))')\"",
            "read v <<< '($(canary))'; declare -a x=$v",
            "declare -a x; declare x='($(canary))'",
            "x=(a b); declare x='($(canary))'",
            "x[1]=2; declare x='($(canary))'",
            "((x[1]=2)); declare x=\"$v\"",
            "read -a x <<< a; declare x=\"$v\"",
            ": ${x[2]:=5}; declare x='($(canary))'",
            "coproc X { ls; }; declare X='($(canary))'",
            "mapfile x <<< a; typeset x='($(canary))'",
            "declare PIPESTATUS='($(canary))'",
            "f() { local -a x=\"$1\"; }; f '($(canary))'",
            "declare -A x=\"$(echo '([a]=$(canary))')\"",
            "readonly -a x=\"$(echo '($(canary))')\"",
            "declare -a x=${Y:-'($(canary))'}",
            "declare -a x=(a) \"x=$1\"",
            "declare -a x; declare x+='($(canary))'",
            "declare -a y=($(canary))",
        ],
    );
    unasked(&[
        "declare -a x=(a b); echo ${x[@]}",
        "f() { local -a x=(\"$1\"); local y=\"$1\"; ls \"$y\"/..; }; true",
        "declare -A m=(a b); declare -a n; n+=(c); n=(d)",
        "declare -a x=1 y=; local z='(none)'",
    ]);
}

#[test]
fn functions_that_other_shells_get_to_see_are_doubted() {
    refuses_or_asks(
        "canary *",
        &[
            "ls() { canary; }; declare -fx ls; bash -c ls",
            "ls() { canary; }; declare -f -x ls; bash -c ls",
            "ls() { canary; }; typeset -fx ls; bash -c ls",
            "ls() { canary; }; export -f ls; bash -c ls",
            "f() { canary; }; readonly -f f; f() { ls; }; f",
        ],
    );
    unasked(&["f() { ls; }; declare -f f; f"]);
}

#[test]
fn builtins_that_do_more_than_their_name_says_are_known() {
    refuses_or_asks("canary *", &["jobs -x canary", "jobs -lx canary", "jobs \"$x\" canary"]);
    asks(
        "printf *",
        &[
            "printf '%n' PATH",
            "printf 'a%-5n' PATH",
            "printf -v x -- '%s%n' a PATH",
            "printf '%n' 'a[$(canary)]'",
            "printf \"a$f\" PATH",
            "printf \"a$f\" \"$x\"",
        ],
    );
    runs("printf *", &["printf '%s\n%d%%n' a 1", "printf \"a$f\" 'b c' 3", "printf '%n' x"]);
    asks("*", &["pushd -n sub >/dev/null && touch ../pwned"]);
    unasked(&["pushd sub && touch ../x && popd", "jobs -l", "sleep 1 & wait $!"]);
}

#[test]
fn options_that_a_shell_is_started_with_are_read_as_it_reads_them() {
    refuses_or_asks(
        "canary *",
        &[
            "bash +x <<< canary",
            "bash +x -c canary",
            "bash -c +x canary",
            "bash +c canary",
            "echo canary | bash +e",
            "echo canary | bash -v",
            "echo canary | sh -V",
            "bash -oc xtrace canary",
            "bash -oeO pipefail nullglob -c canary",
            "bash -O lastpipe -c 'x=ls; echo canary | read x; $x'",
            "bash -kc 'git diff HEAD~1 GIT_EXTERNAL_DIFF=canary'",
            "bash -o keyword -c 'git diff HEAD~1 GIT_EXTERNAL_DIFF=canary'",
            "bash -ac 'ls() { canary; }; bash -c ls'",
            "bash -$x -c ls",
            "bash -posix -c ls",
        ],
    );
    unasked(&[
        "bash -euo pipefail -c 'ls; pwd'",
        "bash +x -c ls",
        "bash -lc 'ls | cat'",
        "bash -n f.sh",
        "bash -O globstar -c ls",
        "bash --version",
        "sh -x ./f.sh -k",
    ]);
}

#[test]
fn a_redirection_that_sets_an_element_of_a_list_is_doubted() {
    refuses_or_asks(
        "canary *",
        &[
            ": {a['$(canary)']}>f",
            ": {a[$(canary)]}<f",
            ": {a[\"$(canary)\"]}>&1",
            "x=1 {a['$(ca'nary')']\\\n}>f ls",
            "{ ls; } {a['$(canary)']}>f",
        ],
    );
    unasked(&["exec {fd}>f", "echo {a[0],b} > f", "echo {a[0]} >f"]);
}

#[test]
fn a_shell_that_is_not_bash_is_not_relied_on_to_do_as_bash_does() {
    refuses_or_asks(
        "canary *",
        &[
            "sh -c 'x=canary; declare x=ls; $x'",
            "sh -c 'x=canary; typeset x=ls; $x'",
            "dash -c 'x=canary; declare x=ls; $x'",
            "sh -c 'f() { canary; }\n function f\n{ ls; }\nf'",
            "sh -c 'x=ls; x=canary :; $x'",
            "bash --posix -c 'x=ls; x=canary :; $x'",
            "bash -o posix -c 'x=ls; x=canary :; $x'",
            "dash -c 'x=ls; x=canary export y; $x'",
            "dash -c 'x=ls; x=canary eval :; $x'",
            "dash -c 'x=ls; f() { :; }; x=canary f; $x'",
        ],
    );
    unasked(&[
        "sh -c 'f() { ls; }; x=f; y=1 pwd; $x'",
        "bash -c 'declare x=ls; $x'",
        "x=ls; x=a pwd; $x",
    ]);
}

#[test]
fn a_file_that_the_script_writes_and_runs_may_run_anything() {
    refuses_or_asks(
        "canary *",
        &[
            "echo canary > s; sh s",
            "cat > s <<< canary; bash ./s",
            "printf 'cana%s\\n' ry > s; chmod +x s; ./s",
            "tee s <<< canary >/dev/null; bash s",
            "cp evil.sh s; ./s",
            "cp sub/evil.sh .; ./evil.sh",
            "mv other s; ./s",
            "mv sub d; d/s",
            "ln -s other s; ./s",
            "ln -s s t; echo canary > t; sh s",
            "echo canary > sub/../s; cd sub && sh ../s",
            "{ sleep 1; ./s; } & cp evil.sh s; wait",
            "for i in 1 2; do ./s; cp evil.sh s; done",
            "tar xf a.tar; ./s",
            "echo 'all:;canary' > Makefile; make",
        ],
    );
    refuses_or_asks(
        "canary *",
        &[
            "printf 'all:\\n\\tcanary\\n' > sub/GNUmakefile; make -C sub",
            "echo '{}' > package.json; npm test",
            "mkdir -p .cargo; echo x > .cargo/config.toml; cargo check",
            "cd crate; echo 'fn main() {}' > build.rs; cargo check",
        ],
    );
    unasked(&[
        "chmod +x s && ./s",
        "gcc -O2 -o app x.c && ./app",
        "./s > out.txt; cat out.txt",
        "echo x > out.txt && ./s",
        "mkdir -p build && cd build && ../s",
        "cargo fmt && cargo test",
        "npm install && npm test",
        "sed -i s/a/b/ src/main.rs && cargo test 2>&1 | tee log",
        "make > log",
    ]);
}

#[test]
fn what_is_kept_to_be_run_later_is_looked_at_as_of_then() {
    refuses_or_asks(
        "canary *",
        &[
            "trap 'canary' EXIT",
            "trap -- 'ls; canary x' 0",
            "trap 'ls' EXIT; ls() { canary; }",
            "f() { canary; }; trap f EXIT; f() { ls; }",
            "x=ls; trap '$x' EXIT; x=canary",
            "x=ls; trap 'x=canary' DEBUG; :; $x",
            "x=1; trap 'x=canary' USR1; kill -USR1 $$; $x",
            "trap 'trap canary EXIT' EXIT",
            "trap \"$x\" EXIT",
            "trap $x",
            "f() { trap canary EXIT; }; f",
            "bash -c 'trap canary EXIT'",
            "for i in 1; do trap canary EXIT; done",
            "trap 'echo $((x))' EXIT; x='a[$(canary)]'",
            "echo canary > s; trap 'sh s' EXIT",
        ],
    );
    asks(
        "*",
        &[
            "trap 'touch ../x' EXIT; ls",
            "cd sub; trap 'touch ../x' EXIT; cd ..",
            "trap 'touch ../x' EXIT; cd sub",
        ],
    );
    unasked(&[
        "trap 'rm -f sub/tmp' EXIT; touch sub/tmp",
        "sleep 9 & pid=$!; trap 'kill $pid' EXIT INT TERM; ls",
        "trap - EXIT; trap '' INT; trap",
        "bash -c 'trap \"echo done\" EXIT; ls'",
    ]);
}
