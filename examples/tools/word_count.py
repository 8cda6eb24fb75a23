#!/usr/bin/env python3
"""A tool of one's own in Python: arguments as JSON on standard input, lines of JSON on standard output."""

import collections
import json
import re
import sys


def say(**line):
    print(json.dumps(line), flush=True)


args = json.load(sys.stdin)
try:
    with open(args["file"], encoding="utf-8") as file:
        words = re.findall(r"\w+", file.read().lower())
except OSError as error:
    say(type="error", message=str(error))
    sys.exit(1)
say(type="progress", title="counting", metadata={"words": len(words)})
common = collections.Counter(words).most_common(args.get("limit", 10))
say(type="result", title=args["file"], output="\n".join(f"{count} {word}" for word, count in common))
