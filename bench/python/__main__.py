"""Reads and trains from Python, beside C++ and beside the usual loaders: the same data, the same run, in turns.

    python3 bench/python list
    python3 bench/python run photos cifar --scale 0.1 --repeats 1
    python3 bench/python run all --json build/python-bench.json
    python3 bench/python report build/python-bench.json --write docs/measured/python.md

docs/measured/python.md says what each suite does. Needs scripts/setup and bench/setup.
"""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import program  # noqa: E402
from common.reading import ReadSession  # noqa: E402
from suites import SUITES  # noqa: E402

BENCH = program.Bench("python", __doc__.split("\n")[0], SUITES, ReadSession, rounds=5, seconds=3.0)

if __name__ == "__main__":
    program.main(BENCH)
