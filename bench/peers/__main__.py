"""Reads training batches with the field's loaders and with packhorse: the same data, the same run, in turns.

    python3 bench/peers list                          what there is to measure
    python3 bench/peers run verify                    does each deliver all samples, with their labels?
    python3 bench/peers run photos --scale 0.1 --repeats 1
    python3 bench/peers run all --json build/peers-bench.json
    python3 bench/peers report build/peers-bench.json --write docs/measured/peers.md

docs/measured/peers.md says how. Needs Python 3.11 and bench/setup; what is not installed is named and left out.
"""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import program  # noqa: E402
from common.environment import packhorse_versions  # noqa: E402
from common.reading import PassSession  # noqa: E402
from suites import SUITES  # noqa: E402


def versions(settings, contenders):
    """Those that all of a table share; each contender's own stands in its line."""
    return {"packhorse": packhorse_versions(settings.tools.packhorse)}


BENCH = program.Bench(
    "peers", __doc__.split("\n")[0], SUITES, PassSession, rounds=5, least=5, seconds=5.0, versions=versions
)

if __name__ == "__main__":
    program.main(BENCH)
