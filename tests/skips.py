#!/usr/bin/env python3
"""Lists the tests that were skipped, and checks that they may be.

Tests note each skip in the file that PACKHORSE_SKIPS names (test::skipped() does it from C++), a JSON line each.
`skips.py FILE` prints them by reason and exits with 1 if a reason is not among those of optional_skips.txt.
"""

import json
import os
import re
import sys
from collections import defaultdict
from pathlib import Path

OPTIONAL = Path(__file__).with_name("optional_skips.txt")


def note(test, reason):
    path = os.environ.get("PACKHORSE_SKIPS")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"test": test, "reason": reason}) + "\n")


def optional_reasons():
    """(pattern, why) for each line of the list."""
    lines = OPTIONAL.read_text(encoding="utf-8").splitlines()
    rows = [re.split(r"\s{2,}", line, maxsplit=1) for line in lines if line and not line.startswith("#")]
    return [(re.compile(pattern), why) for pattern, why in rows]


def why_optional(reason, optional):
    return next((why for pattern, why in optional if pattern.fullmatch(reason)), None)


def main(path):
    tests = defaultdict(set)
    if Path(path).exists():
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            skip = json.loads(line)
            tests[skip["reason"]].add(skip["test"])
    if not tests:
        print("test: nothing was skipped")
        return 0
    optional = optional_reasons()
    refused = 0
    print(f"test: skipped {sum(map(len, tests.values()))} tests:")
    for reason, names in sorted(tests.items()):
        why = why_optional(reason, optional)
        print(f"test:   {len(names)} x {reason}: {why or 'NOT OPTIONAL'}")
        if why is None:
            refused += 1
            for name in sorted(names):
                print(f"test:       {name}")
    if refused:
        print(
            "test: error: tests were skipped that may not be\n"
            "  next: have scripts/setup install what they need, or name the reason in tests/optional_skips.txt",
            file=sys.stderr,
        )
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
