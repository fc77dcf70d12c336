"""The long runs of soak.py, short: a goal of one, with few pictures."""

import json
import subprocess
import sys

import pytest
from python_support import BIN, ROOT, make_source

pytestmark = pytest.mark.skipif(not (BIN.parent / "python/packhorse/_remote.pyi").exists(), reason="the Python package is not built")


@pytest.mark.parametrize("name", ["faults", "kills"])
def test_a_short_run_reaches_its_goal(name, tmp_path):
    source = make_source(tmp_path / "source/train", 400).parent
    command = [sys.executable, ROOT / "tests/remote/soak.py", "--only", name, "--source", source, "--goal=1", "--kills=1", "--skip=0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])[name] >= 1
