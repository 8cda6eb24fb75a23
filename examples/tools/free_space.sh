#!/bin/sh
# A tool of one's own in shell. It takes no arguments, so it need not read its input.
set -eu
left=$(df -Pk . | awk 'NR == 2 { print $4 }')
printf '{"type":"result","title":"free space","output":"%s KiB are free"}\n' "$left"
