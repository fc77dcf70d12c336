"""Reads training batches with the field's loaders and with packhorse: the same data, the same run, in turns.

    python3 bench/peers list                          what there is to measure
    python3 bench/peers run verify                    does each deliver all samples, with their labels?
    python3 bench/peers run photos --copies 5 --repeats 1
    python3 bench/peers run all --json build/peers-bench.json
    python3 bench/peers report build/peers-bench.json --write docs/peers.md

docs/peers.md says how. Needs Python 3.11 and bench/setup; what is not installed is named and left out.
"""

import os
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import program  # noqa: E402
from contenders import Tools, versions  # noqa: E402
from report import BOOK, ROUNDS  # noqa: E402
from suites import COPIES, SUITES  # noqa: E402

SECONDS = 5.0


def share_of_copies(text):
    return program.positive(text) / COPIES


def add_options(run):
    run.add_argument(
        "--copies",
        type=share_of_copies,
        dest="scale",
        metavar="N",
        help=f"of each photo (default {COPIES}); of CIFAR-10, N {COPIES}ths",
    )
    run.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help=f"a warm pass lasts at least, in whole epochs (default {SECONDS})",
    )


def tools(options, scratch):
    return Tools(options.packhorse.resolve(), options.jobs, options.seconds, scratch)


BENCH = program.Bench(
    summary=__doc__.split("\n")[0],
    suites=SUITES,
    book=BOOK,
    rounds=ROUNDS,
    jobs=len(os.sched_getaffinity(0)),
    add_options=add_options,
    tools=tools,
    session=lambda suite, settings: suite.session(suite, settings),
    versions=versions,
)


def parse(arguments):
    return program.parse(BENCH, arguments)


if __name__ == "__main__":
    program.main(BENCH)
