//! What the shell keeps in mind by itself, and what makes of it another shell.

use super::{asks, refuses_or_asks, runs};

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
    runs(
        "*",
        &[
            "while read -r line; do echo \"$line\"; done < f",
            "while getopts a: o; do ls; done; shift $((OPTIND - 1))",
        ],
    );
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
    runs("*", &["x=ls; env x=1 true; $x", "env N=1 bash -c 'echo $N'"]);
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
    runs(
        "*",
        &[
            "declare -a x=(a b); echo ${x[@]}",
            "f() { local -a x=(\"$1\"); local y=\"$1\"; ls \"$y\"/..; }; true",
            "declare -A m=([a]=b); declare -a n; n+=(c); n=(d)",
            "declare -a x=1 y=; local z='(none)'",
        ],
    );
}
