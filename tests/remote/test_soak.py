"""The long runs of soak.py, short: a goal of one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from python_support import BIN, ROOT, photos

pytestmark = pytest.mark.skipif(not (BIN.parent / "python/packhorse/_remote.pyi").exists(), reason="the Python package is not built")


@pytest.mark.parametrize(("name", "counted"), [("faults", "faults"), ("kills", "kills")])
def test_a_short_run_reaches_its_goal(name, counted):
    data = Path(os.environ.get("PACKHORSE_DATA", photos("cifar10").parent))
    command = [sys.executable, ROOT / "tests/remote/soak.py", "--only", name, "--goal=1", "--kills=1", "--data", data]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])[counted] >= 1
