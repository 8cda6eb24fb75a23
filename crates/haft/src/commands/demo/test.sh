#!/bin/sh
# Checks slug.sh, and fails if a check does.
. ./slug.sh
failed=0

check() {
    got=$(slug "$1")
    if [ "$got" = "$2" ]; then
        echo "ok   $1 -> $got"
    else
        echo "FAIL $1 -> $got, not $2"
        failed=1
    fi
}

check "Hello World" "hello-world"
check "One,  two & three" "one-two-three"
check "Ready?" "ready"
exit $failed
