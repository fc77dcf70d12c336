#!/usr/bin/env python3
"""Tries a wheel: check_wheel.py WHEEL PYTHON installs it with numpy alone in a fresh environment, where it must read a
dataset. scripts/wheel runs this on each wheel that it makes."""

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
for dtype in ("uint8", "float32", "float16"):
    loader = packhorse.Loader("packed", 7, size=32, split="train", dtype=dtype, seed=1)
    batches = list(loader)
    assert [len(batch.labels) for batch in batches] == [7] * 17 + [1], "batches"
    assert all(batch.images.dtype.name == dtype and batch.images.shape[1:] == (32, 32, 3) for batch in batches), "shapes"
    assert sorted(int(sample) for batch in batches for sample in batch.samples) == list(range(120)), "samples"
dataset = packhorse.Dataset("packed", split="val", image="numpy")
assert len(dataset) == 36 and dataset[35][0].shape[2] == 3
try:
    packhorse.Loader("nowhere", 8, size=32)
except FileNotFoundError as error:
    assert "nowhere" in str(error)
print(f"wheel: {packhorse.__name__} is imported in {took:.3f} s and reads, on Python {sys.version.split()[0]}")
"""


def packed_by(environment, folder):
    """Packs the samples: with the wheel where it can, or else with a built program."""
    program = Path(environment, "bin/packhorse")
    if not program.exists():
        program = Path(os.environ.get("PACKHORSE_BIN", ROOT / "build/release/bin"), "packhorse")
    if not program.exists():
        sys.exit(f"wheel: no {program} to make a dataset with\n  next: cmake --build --preset release --target packhorse")
    pack = [program, "pack", ROOT / "samples/shapes", folder / "packed", "--format", "wds", "--image", "resize", "--short-side", "48"]
    subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)


def main(wheel, python):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = folder / "environment"
        subprocess.run([python, "-m", "venv", environment], check=True)
        quiet = ["--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
        subprocess.run([environment / "bin/python", "-m", "pip", "install", *quiet, wheel], check=True)
        packed_by(environment, folder)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LD_"))}
        subprocess.run([environment / "bin/python", "-I", "-c", TRY], cwd=folder, env=clean, check=True)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
