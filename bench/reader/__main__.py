"""Measures the reader beside bare loops and the loaders people use now.

    python3 bench/reader list                          what there is to measure, and against which bars
    python3 bench/reader run photos --json build/reader-bench.json
    python3 bench/reader report build/reader-bench.json --write docs/measured/reading.md

docs/measured/reading.md says what each suite does. Needs Python 3.11 and, for the peers, bench/setup.
"""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import program  # noqa: E402
from session import BOOK, ReaderSession  # noqa: E402
from suites import SUITES  # noqa: E402


def add_options(run):
    run.add_argument("--loops", type=Path, metavar="FILE", help="reader_loops (default: beside packhorse)")


BENCH = program.Bench(
    __doc__.split("\n")[0], SUITES, BOOK, ReaderSession, rounds=5, jobs=2, seconds=2.0, add_options=add_options
)
parse = partial(program.parse, BENCH)

if __name__ == "__main__":
    program.main(BENCH)
