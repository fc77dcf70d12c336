"""The bench of Python beside C++, on few pictures: that it runs, and what it writes. No test asserts a time."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest
from package import packhorse  # noqa: F401: the bench needs it built
from python_support import BIN, ROOT, SHAPES, put

if importlib.util.find_spec("torchvision") is None:
    pytest.skip("torchvision is not installed", allow_module_level=True)

LOADERS = ["packhorse bench (C++)", "packhorse.Loader", "DataLoader + packhorse.Dataset", "DataLoader + ImageFolder"]

# Runs a bench whose passes run in this process, one after another: each would have to load torch.
TOGETHER = """
import contextlib, io, pathlib, runpy, sys
script, *sys.argv[1:] = sys.argv[1:]
sys.path.insert(0, str(pathlib.Path(script).parent))
program = runpy.run_path(script)
run_apart = program["run"]

def run(command):
    if command[0] != sys.executable or command[1] == "-c":
        return run_apart(command)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(command[1]))["main"](*map(str, command[2:]))
    return printed.getvalue()

program["main"].__globals__["run"] = run
program["main"]()
"""


def bench(program, *options, env=None):
    command = [sys.executable, "-c", TOGETHER, ROOT / "bench/python" / program, *options]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=env)


@pytest.fixture(scope="module", name="environment")
def environment_fixture(tmp_path_factory):
    """Archives of the names that the bench reads, with 80 of our own JPEGs as photos, and 130 as CIFAR-10."""
    data = tmp_path_factory.mktemp("data")
    pictures = [path.read_bytes() for path in sorted(SHAPES.glob("train/*/*.jpg"))]
    jpegs = [picture for picture in pictures if picture.startswith(b"\xff\xd8")]
    cifar = {"cifar10/train/a": 65, "cifar10/train/b": 65, "cifar10/test/a": 10, "cifar10/test/b": 10}
    for folder, count in {"imagenet200": 80, **cifar}.items():
        for number in range(count):
            put(data / folder / f"{folder[-1]}{number:03}.jpg", jpegs[number % len(jpegs)])
    for archive, folder in (("imagenet200.tar", "imagenet200"), ("cifar10-jpeg.tar.zst", "cifar10")):
        subprocess.run(["tar", "-caf", data / archive, "-C", data, folder], check=True)
    package = {"PYTHONPATH": str(BIN.parent / "python"), "PACKHORSE_BIN": str(BIN)}
    return {**os.environ, **package, "PACKHORSE_DATA": str(data), "OMP_NUM_THREADS": "1"}


def test_all_loaders_take_turns_and_are_written_as_tables(environment):
    done = bench("__main__.py", "--copies", "1", "--rounds", "1", "--seconds", "0.01", "--jobs", "1", env=environment)
    assert done.returncode == 0, done.stderr
    tables = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    assert [sum(line.startswith(f"| {name} ") for line in tables) for name in LOADERS] == [2, 2, 1, 1]
    assert done.stdout.count("us longer from Python than from C++") == 2
    assert re.search(r"`import packhorse` takes \d+\.\d+ \(", done.stdout)


def test_trainings_take_turns_and_are_written_as_tables(environment):
    done = bench("training.py", "--copies", "1", "--epochs", "1", "--jobs", "1", "--rounds", "1", env=environment)
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    for name, right in (("packhorse.Loader", True), ("DataLoader + ImageFolder", True), ("no reading", False)):
        found = [row for row in rows if row[0].startswith(f"| {name}")]
        assert len(found) == 2 and all((row[4] != " |") == right for row in found)
    assert "1 epochs of 128 images" in done.stdout and "3 epochs of 64 images" in done.stdout


def test_kinds_of_images_take_turns_and_are_written_as_a_table(environment):
    beside = ("--beside", "PIL", "torchvision", "tifffile")  # what scripts/setup installs
    done = bench("kinds.py", "--rounds", "1", "--seconds", "0.01", "--jobs", "1", *beside, env=environment)
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")][2:]
    assert [row[1].endswith("torchvision.io") for row in rows].count(True) == 2 and len(rows) == 16, done.stdout


@pytest.mark.parametrize("program", ["__main__.py", "training.py", "kinds.py"])
def test_a_page_is_not_written_of_too_few_rounds(program, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing")
    done = bench(program, "--rounds", "2", "--write", page)
    assert done.returncode == 1 and "measured in fewer than" in done.stderr and page.read_text() == "nothing"
