"""Type checkers accept what the pages show, and find mistakes."""

import os
import re
import subprocess
import sys

import pytest
from package import environment
from python_support import BIN, ROOT

pytestmark = pytest.mark.thorough

PAGES = ["README.md", "AGENTS.md", "docs/python.md"]
# What the blocks use and do not show.
BEFORE = """
from typing import Any, assert_type
import json, numpy as np, packhorse, PIL.Image, torch
from numpy.typing import NDArray
transform: Any; model: Any; jpeg_bytes: Any; array: Any; boxes: Any; image: Any; mask: Any
"""
CONFIG = """[mypy]
[mypy-torch.*,torchvision.*,PIL.*]
follow_imports = skip
ignore_missing_imports = True
"""
GOOD = """
loader = packhorse.Loader("packed", 64, size=32, workers=3)
assert_type(loader.dataset, packhorse.Dataset)
for batch in loader:
    assert_type(batch, packhorse.Batch)
    assert_type(batch.samples, NDArray[np.uint64])
    images, labels = batch
for with_targets in packhorse.Loader("packed", 64, size=32, targets=True):
    assert_type(with_targets, packhorse.TargetBatch)
    images, labels, targets = with_targets
    assert_type(targets, packhorse.Targets)
for with_rules in packhorse.Loader("packed", 64, size=32, targets=packhorse.TargetRules()):
    assert_type(with_rules, packhorse.TargetBatch)
for changed in packhorse.Loader("packed", 64, size=32, transform=lambda batch: {"x": batch.images}, mixup=0.2):
    assert_type(changed, dict[str, Any])
for counted in packhorse.Loader("packed", 64, size=32, targets=True, transform=len, fields=["txt"]):
    assert_type(counted, int)
def noise(image: NDArray[np.uint8], label: int, seed: int) -> None:
    image[:] = seed % 256
for noisy in packhorse.Loader("packed", 64, size=32, sample_transform=noise):
    assert_type(noisy.mixed, packhorse.Mixed | None)
    assert_type(noisy.fields, dict[str, Any])
def perhaps(targets: bool) -> Any:
    return [batch.images for batch in packhorse.Loader("packed", 64, size=32, targets=targets)]
dataset = packhorse.Dataset("packed")
assert_type(dataset[3], tuple[Any, Any])
assert_type(dataset[:3], list[tuple[Any, Any]])
assert_type(dataset.labels, NDArray[np.int64])
assert_type(packhorse.__version__, str)
for image, label in dataset:
    pass
"""
BAD = [
    'packhorse.Loader("packed", "32", size=32)',
    'packhorse.Loader("packed", 32, size=32, num_workers=8)',
    'packhorse.Dataset("packed").samples',
    'for images, labels, targets in packhorse.Loader("packed", 32, size=32): pass',
]


def check(folder, files):
    """What mypy says of files with these texts."""
    for name, text in files.items():
        folder.joinpath(name).write_text(BEFORE + text)
    return mypy(folder, *files)


def mypy(folder, *arguments):
    pytest.importorskip("mypy", reason="mypy is not installed")
    folder.joinpath("mypy.ini").write_text(CONFIG)
    env = {**environment(), "MYPYPATH": os.fspath(BIN.parent / "python")}
    command = [sys.executable, "-m", "mypy", "--no-incremental", "--config-file", "mypy.ini", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_the_pages_and_the_types_of_batches(tmp_path):
    files = {"good.py": GOOD}
    for page in PAGES:
        blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)
        assert blocks
        files |= {f"{page.replace('/', '_').replace('.', '_')}_{number}.py": text for number, text in enumerate(blocks)}
    assert check(tmp_path, files) == f"Success: no issues found in {len(files)} source files\n"


def test_the_package_itself(tmp_path):
    assert mypy(tmp_path, "-p", "packhorse").startswith("Success: no issues found in ")


def test_mistakes_are_found(tmp_path):
    said = check(tmp_path, {f"bad{number}.py": text + "\n" for number, text in enumerate(BAD)})
    assert all(f"bad{number}.py:6: error: " in said for number in range(len(BAD))), said
