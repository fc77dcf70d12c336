"""The peers' own environment, which bench/setup makes, and the programs that are run in it."""

import functools
import subprocess
from pathlib import Path

BENCHES = Path(__file__).resolve().parents[1]
PEERS_PYTHON = BENCHES / ".venv/bin/python"
PACK_PEERS = BENCHES / "pack/peers.py"
LOAD = BENCHES / "common/load.py"


@functools.cache
def version_of_loader(name):
    """(version, None), or (None, why it cannot be used)."""
    if not PEERS_PYTHON.exists():
        return None, "not installed: run bench/setup"
    command = [PEERS_PYTHON, LOAD, "version", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout.strip(), None
    return None, f"not installed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
