"""The peers' own environment, which bench/setup makes, and the two programs that are run in it."""

import functools
import subprocess
from pathlib import Path

BENCHES = Path(__file__).resolve().parents[1]
PEERS_PYTHON = BENCHES / ".venv/bin/python"
PACK_PEERS = BENCHES / "pack/peers.py"
LOAD = BENCHES / "common/load.py"


def call(program, *arguments):
    return subprocess.run([PEERS_PYTHON, program, *arguments], capture_output=True, text=True, check=False)


@functools.cache
def version_of(program, name):
    """(version, None) of what one of the programs calls `name`, or (None, why it cannot be used)."""
    if not PEERS_PYTHON.exists():
        return None, "not installed: run bench/setup"
    done = call(program, "version", name)
    if done.returncode == 0:
        return done.stdout.strip(), None
    return None, f"not installed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
