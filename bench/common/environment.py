"""Where programs are: ours, and those of the peers' own environment, which bench/setup makes."""

import functools
import os
import subprocess
import sys
from pathlib import Path

BENCHES = Path(__file__).resolve().parents[1]
ROOT = BENCHES.parent
ARCHIVES = Path(os.environ.get("PACKHORSE_DATA", ROOT / "../shared/data"))  # imagenet200.tar, cifar10-jpeg.tar.zst
PEERS_PYTHON = BENCHES / ".venv/bin/python"
PACK_PEERS = BENCHES / "pack/peers.py"
LOAD = BENCHES / "common/load.py"
TEST_SERVERS = ROOT / "tests/remote"  # servers, a fault proxy and a client of S3


def built(program):
    """One of our programs: in PACKHORSE_BIN, or as a preset builds it."""
    folders = [ROOT / "build" / preset / "bin" for preset in ("release", "no-trainer")]
    if "PACKHORSE_BIN" in os.environ:
        folders.insert(0, Path(os.environ["PACKHORSE_BIN"]))
    return next((folder / program for folder in folders if (folder / program).exists()), folders[0] / program)


def require(program):
    """Ends the bench where a program of ours is not there."""
    if not program.exists():
        sys.exit(f"{program} is not there; build it: cmake --build --preset release --target {program.name}")
    return program


def call(program, *arguments):
    return subprocess.run([PEERS_PYTHON, program, *arguments], capture_output=True, text=True, check=False)


@functools.cache
def version_of(program, name):
    """(version, None) of what one of the peers' programs calls `name`, or (None, why it cannot be used)."""
    if not PEERS_PYTHON.exists():
        return None, "not installed: run bench/setup"
    done = call(program, "version", name)
    if done.returncode == 0:
        return done.stdout.strip(), None
    return None, f"not installed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
