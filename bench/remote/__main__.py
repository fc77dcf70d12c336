"""Reads from object storage that is far away: one object, by ranges, and epochs of pictures, beside other programs.

    python3 bench/remote list
    python3 bench/remote run object-20ms --scale 0.03 --repeats 1       # a quick try
    python3 bench/remote run all --json build/remote-bench.json         # half an hour
    python3 bench/remote report build/remote-bench.json --write docs/measured/remote.md

SeaweedFS of this machine (tests/remote/servers.py) is the storage, made a distant one for each suite (session.py says
how). Each program starts with nothing cached, and what it brings is compared with the object by its SHA-256. Needs
scripts/setup and bench/setup; what is not there is named.
"""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import program  # noqa: E402
from session import RemoteSession  # noqa: E402
from suites import SUITES  # noqa: E402


def add_options(run):
    run.add_argument("--mbit", type=int, default=2000, help="a second, of all answers together (default 2000)")


BENCH = program.Bench(
    "remote", __doc__.split("\n")[0], SUITES, RemoteSession, rounds=5, least=5, add_options=add_options
)

if __name__ == "__main__":
    program.main(BENCH)
