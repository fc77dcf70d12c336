"""Measures `packhorse pack` beside the tools people use now.

    python3 bench/pack list                          what there is to measure, and against which bars
    python3 bench/pack run photos --json build/bench/pack.json
    python3 bench/pack report build/bench/pack.json --write docs/benchmarks.md

docs/benchmarks.md says what each suite does. Needs Python 3.11 and, for the peers, bench/setup.
"""

import os
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import program  # noqa: E402
from contenders import Tools, versions  # noqa: E402
from report import BOOK  # noqa: E402
from session import PackSession  # noqa: E402
from suites import SUITES  # noqa: E402


def tools(options, scratch):
    return Tools(options.packhorse.resolve(), options.jobs, scratch)


BENCH = program.Bench(
    summary=__doc__.split("\n")[0],
    suites=SUITES,
    book=BOOK,
    rounds=3,
    jobs=len(os.sched_getaffinity(0)),
    add_options=lambda run: None,
    tools=tools,
    session=PackSession,
    versions=versions,
)


def parse(arguments):
    return program.parse(BENCH, arguments)


if __name__ == "__main__":
    program.main(BENCH)
