"""The bench of Python beside C++, on few pictures: that it runs, and what it writes. No test asserts a time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from package import packhorse  # noqa: F401: the bench needs it built
from python_support import BIN, ROOT

LOADERS = ["packhorse bench (C++)", "packhorse.Loader", "DataLoader + packhorse.Dataset", "DataLoader + ImageFolder"]


def bench(*options, program="", **more):
    command = [sys.executable, ROOT / "bench/python" / program, *options]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)


@pytest.fixture(name="environment")
def environment_fixture():
    archives = Path(os.environ.get("PACKHORSE_TEST_DATA", "nowhere"))
    if not (archives / "imagenet200.tar").exists() or not (archives / "cifar10-jpeg.tar.zst").exists():
        pytest.skip("PACKHORSE_TEST_DATA has no imagenet200.tar and cifar10-jpeg.tar.zst")
    return {**os.environ, "PACKHORSE_DATA": str(archives), "PACKHORSE_BIN": str(BIN), "OMP_NUM_THREADS": "1"}


def test_all_loaders_take_turns_and_are_written_into_a_page(tmp_path, environment):
    done = bench("--copies", "1", "--rounds", "1", "--seconds", "0.01", "--jobs", "1", env=environment)
    assert done.returncode == 0, done.stderr
    tables = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    assert [name for name in LOADERS for line in tables if line.startswith(f"| {name} ")] == [*LOADERS[:1] * 2, *LOADERS[1:2] * 2, *LOADERS[2:]]
    assert done.stdout.count("us longer from Python than from C++") == 2
    assert "`import packhorse` takes 0." in done.stdout
    page = tmp_path / "page.md"
    page.write_text("nothing")
    assert bench("--rounds", "1", "--write", page).returncode != 0 and page.read_text() == "nothing"


def test_trainings_take_turns_and_are_written_into_a_page(tmp_path, environment):
    few = ("--copies", "1", "--epochs", "1", "--jobs", "1")
    done = bench(*few, "--rounds", "1", program="training.py", env=environment)
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    for name, right in (("packhorse.Loader", True), ("DataLoader + ImageFolder", True), ("no reading", False)):
        found = [row for row in rows if row[0].startswith(f"| {name}")]
        assert len(found) == 2 and all((row[4] != " |") == right for row in found)
    assert "1 epochs of 896 images" in done.stdout and "3 epochs of 192 images" in done.stdout
    page = tmp_path / "page.md"
    page.write_text("nothing")
    assert bench(*few, "--rounds", "2", "--write", page, program="training.py").returncode != 0
    assert page.read_text() == "nothing"
