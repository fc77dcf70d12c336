"""Very many samples: what opening, starting, reading at random and resuming cost beside their number, and packing them.

    python3 bench/scale list
    python3 bench/scale run all --json build/scale-bench.json           # an hour; 50 GB of disk for a while
    python3 bench/scale run opening packing --scale 0.001 --repeats 1   # a quick try
    python3 bench/scale report build/scale-bench.json --write docs/measured/scale.md

docs/measured/scale.md says what each suite does. Needs Python 3.11.
"""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import program  # noqa: E402
from common.packing import PackSession  # noqa: E402
from suites import SUITES  # noqa: E402

BENCH = program.Bench("scale", __doc__.split("\n")[0], SUITES, PackSession, rounds=3)

if __name__ == "__main__":
    program.main(BENCH)
