"""Measures `packhorse pack` beside the tools people use now.

    python3 bench/pack list                          what there is to measure, and against which bars
    python3 bench/pack run photos --json build/bench/pack.json
    python3 bench/pack report build/bench/pack.json --write docs/measured/packing.md

docs/measured/packing.md says what each suite does. Needs Python 3.11 and, for the peers, bench/setup.
"""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import program  # noqa: E402
from common.packing import PackSession  # noqa: E402
from suites import SUITES  # noqa: E402

BENCH = program.Bench("pack", __doc__.split("\n")[0], SUITES, PackSession, rounds=3)

if __name__ == "__main__":
    program.main(BENCH)
