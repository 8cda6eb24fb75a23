#!/bin/sh
# Makes the slug of a title: what stands in the address of a page.

slug() {
    printf '%s' "$1" | tr '[:upper:]' '[:lower:]' | tr -c '[:alnum:]' '-'
}
