"""Reads training batches with the field's loaders and with packhorse: the same data, the same run, in turns.

    python3 bench/peers list                          what there is to measure
    python3 bench/peers run verify                    does each deliver all samples, with their labels?
    python3 bench/peers run photos --copies 5 --repeats 1
    python3 bench/peers run all --json build/peers-bench.json
    python3 bench/peers report build/peers-bench.json --write docs/measured/peers.md

docs/measured/peers.md says how. Needs Python 3.11 and bench/setup; what is not installed is named and left out.
"""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import program  # noqa: E402
from common.machine import packhorse_versions  # noqa: E402
from report import BOOK, ROUNDS  # noqa: E402
from suites import COPIES, SUITES  # noqa: E402


def share_of_copies(text):
    return program.positive(text) / COPIES


def add_options(run):
    about = f"of each photo (default {COPIES}); of CIFAR-10, N {COPIES}ths"
    run.add_argument("--copies", type=share_of_copies, dest="scale", metavar="N", help=about)


def versions(settings, contenders):
    """Those that all of a table share; each contender's own stands in its line."""
    return {"packhorse": packhorse_versions(settings.tools.packhorse)}


BENCH = program.Bench(
    summary=__doc__.split("\n")[0],
    suites=SUITES,
    book=BOOK,
    session=lambda suite, settings: suite.session(suite, settings),
    rounds=ROUNDS,
    seconds=5.0,
    add_options=add_options,
    versions=versions,
)
parse = partial(program.parse, BENCH)

if __name__ == "__main__":
    program.main(BENCH)
