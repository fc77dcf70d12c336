#!/usr/bin/env python3
"""Tries a wheel: check_wheel.py WHEEL PYTHON installs it with numpy alone in a fresh environment, where it must read a
dataset, and, unless it is one that only reads, pack and verify one. scripts/wheel runs this on each wheel it makes."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

TRY = """
import sys, time
begin = time.perf_counter()
import packhorse
took = time.perf_counter() - begin
heavy = {"numpy", "torch", "PIL"} & set(sys.modules)
assert not heavy, f"importing packhorse imports {heavy}"
count = len(packhorse.Dataset("packed", split="train"))
sizes = [7] * (count // 7) + [count % 7] * (count % 7 > 0)
assert count > 100
for dtype in ("uint8", "float32", "float16"):
    loader = packhorse.Loader("packed", 7, size=32, split="train", dtype=dtype, seed=1)
    batches = list(loader)
    assert [len(batch.labels) for batch in batches] == sizes, "batches"
    assert all(batch.images.dtype.name == dtype and batch.images.shape[1:] == (32, 32, 3) for batch in batches), "shapes"
    assert sorted(int(sample) for batch in batches for sample in batch.samples) == list(range(count)), "samples"
dataset = packhorse.Dataset("packed", split="val", image="numpy")
assert len(dataset) > 30 and dataset[30][0].shape[2] == 3
try:
    packhorse.Loader("nowhere", 8, size=32)
except FileNotFoundError as error:
    assert "nowhere" in str(error)
print(f"wheel: {packhorse.__name__} is imported in {took:.3f} s and reads, on Python {sys.version.split()[0]}")
"""

TRY_PACKING = """
import numpy, packhorse
report = packhorse.verify("packed/train")
assert report.ok, report.problem
with packhorse.Writer("written", format="hdf5", classes=["dark", "light"]) as writer:
    for i in range(20):
        writer.add(numpy.full((32, 40, 3), 200 * (i % 2), numpy.uint8), i % 2)
assert packhorse.verify("written").ok
assert sorted(packhorse.Dataset("written").labels.tolist()) == [0] * 10 + [1] * 10
print("wheel: it packs and verifies")
"""


def packs(program):
    """Whether it is there and runs: the command of a wheel that only reads says that it cannot."""
    return program.exists() and subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0


def packed_by(program, folder):
    """Packs the samples: with the wheel where it can, or else with a built program. A wheel decodes JPEGs only."""
    if not packs(program):
        program = Path(os.environ.get("PACKHORSE_BIN", ROOT / "build/release/bin"), "packhorse")
    if not program.exists():
        sys.exit(f"wheel: no {program} to make a dataset with\n  next: cmake --build --preset release --target packhorse")
    pack = [program, "pack", ROOT / "samples/shapes", folder / "packed", "--format", "wds", "--image", "resize", "--short-side", "48"]
    subprocess.run([*pack, "--max-rejects", "8"], check=True, capture_output=True)


def main(wheel, python):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = folder / "environment"
        subprocess.run([python, "-m", "venv", environment], check=True)
        quiet = ["--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
        subprocess.run([environment / "bin/python", "-m", "pip", "install", *quiet, wheel], check=True)
        program = environment / "bin/packhorse"
        packed_by(program, folder)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LD_"))}
        for script in [TRY, *([TRY_PACKING] if packs(program) else [])]:
            subprocess.run([environment / "bin/python", "-I", "-c", script], cwd=folder, env=clean, check=True)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
