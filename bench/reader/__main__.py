"""Measures the reader beside bare loops and the loaders people use now.

    python3 bench/reader list                          what there is to measure, and against which bars
    python3 bench/reader run photos --json build/reader-bench.json
    python3 bench/reader report build/reader-bench.json --write docs/benchmarks.md

docs/benchmarks.md says what each suite does. Needs Python 3.11 and, for the peers, bench/setup.
"""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import program  # noqa: E402
from contenders import Tools, versions  # noqa: E402
from report import BOOK  # noqa: E402
from session import ReaderSession  # noqa: E402
from suites import SUITES  # noqa: E402

ROUNDS, JOBS, SECONDS = 5, 2, 2.0


def add_options(run):
    run.add_argument("--loops", type=Path, metavar="FILE", help="reader_loops (default: beside packhorse)")
    run.add_argument(
        "--seconds", type=float, default=SECONDS, help=f"a warm run lasts at least, in whole epochs (default {SECONDS})"
    )


def tools(options, scratch):
    packhorse = options.packhorse.resolve()
    loops = (options.loops or packhorse.parent / "reader_loops").resolve()
    return Tools(packhorse, loops, options.jobs, options.seconds, scratch)


BENCH = program.Bench(
    summary=__doc__.split("\n")[0],
    suites=SUITES,
    book=BOOK,
    rounds=ROUNDS,
    jobs=JOBS,
    add_options=add_options,
    tools=tools,
    session=ReaderSession,
    versions=versions,
)


def parse(arguments):
    return program.parse(BENCH, arguments)


if __name__ == "__main__":
    program.main(BENCH)
