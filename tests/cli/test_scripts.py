"""The scripts a user runs, as a user runs them. They build and run the release preset, so they are tested there only."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(os.environ["PACKHORSE_ROOT"])
BIN = Path(os.environ["PACKHORSE_BIN"])

release_only = pytest.mark.skipif(
    BIN.resolve() != (ROOT / "build/release/bin").resolve() or not (BIN / "packhorse-train").exists(),
    reason="the scripts use build/release, and this is another build",
)


def run(*command):
    return subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True, timeout=900)


@pytest.mark.parametrize("script", ["demo", "test", "train_from_shards", "setup"])
def test_a_script_explains_itself(script):
    done = run(ROOT / "scripts" / script, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: scripts/{script}")


@pytest.mark.parametrize("script", ["demo", "test", "setup"])
def test_a_script_refuses_an_unknown_option(script):
    assert run(ROOT / "scripts" / script, "--nonsense").returncode == 2


@release_only
def test_demo_ends_with_the_table_for_the_folder_and_all_formats():
    done = run(ROOT / "scripts/demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ok: ") == 3
    table = done.stdout.splitlines()[-5:]
    assert re.search(r"read img/s +read\+decode img/s +training img/s +waiting", table[0])
    assert [line.split()[1] for line in table[1:]] == ["folder", "wds", "lmdb", "hdf5"]


@release_only
def test_demo_of_a_folder_that_is_not_there_says_so():
    done = run(ROOT / "scripts/demo", "no-such-folder")
    assert done.returncode == 1
    assert "no-such-folder is no folder" in done.stderr


@release_only
def test_train_from_shards_packs_trains_and_evaluates():
    fit = ["--arch", "smallnet", "--epochs", "2", "--batch-size", "30"]
    done = run(ROOT / "scripts/train_from_shards", "samples/shapes", "--min-top1", "1", "--format", "hdf5", "--", *fit)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok: ") == 3


@release_only
def test_train_from_shards_fails_below_the_accuracy_asked_for():
    fit = ["--arch", "smallnet", "--epochs", "1", "--batch-size", "30"]
    done = run(ROOT / "scripts/train_from_shards", "samples/shapes", "--min-top1", "101", "--", *fit)
    assert done.returncode == 1
    assert "less than 101" in done.stderr
