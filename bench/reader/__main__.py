"""Measures the reader beside bare loops, which do its work without a loader. (Beside other loaders: bench/peers.)

    python3 bench/reader list                          what there is to measure, and against which bars
    python3 bench/reader run overhead --json build/reader-bench.json
    python3 bench/reader report build/reader-bench.json --write docs/measured/reading.md

docs/measured/reading.md says what each suite does. Needs Python 3.11.
"""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import program  # noqa: E402
from common.reading import ReadSession  # noqa: E402
from suites import SUITES  # noqa: E402

BENCH = program.Bench("reader", __doc__.split("\n")[0], SUITES, ReadSession, rounds=5, jobs=2, seconds=2.0)

if __name__ == "__main__":
    program.main(BENCH)
