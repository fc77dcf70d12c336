#!/usr/bin/env python3
"""Tries a wheel: check_wheel.py WHEEL PYTHON [TORCH] installs it with numpy alone in a fresh environment, where it must
read a dataset, and, unless it is one that only reads, pack and verify one; with CIFAR-10 where PACKHORSE_DATA (default:
../shared/data) has it. With TORCH, a folder with torch in it, or `install`, it then trains an epoch of CIFAR-10.
scripts/wheel runs this on each wheel it makes."""

import os
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

# What the extension for storage throws, the one for reading catches, and adds the sample to it.
TRY_REMOTE = """
import http.server, pathlib, shutil, threading, packhorse
shutil.copytree("packed/train", "served")
for shard in pathlib.Path("served").glob("*.tar"):
    shard.unlink()
class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
packhorse.configure_remote(cache="cache")
try:
    list(packhorse.Loader(f"http://127.0.0.1:{server.server_port}/served", 8, size=32))
except FileNotFoundError as error:
    assert str(error).startswith("sample "), error
else:
    raise AssertionError("a shard that is not there was read")
server.shutdown()
print("wheel: it speaks to storage")
"""

TRY_CIFAR = """
import sys, numpy, packhorse
if len(sys.argv) > 1:
    report = packhorse.pack(sys.argv[1], "cifar", format="wds")
    assert report.packed == 60_000, report
for split, count in (("train", 50_000), ("test", 10_000)):
    if len(sys.argv) > 1:
        assert packhorse.verify(f"cifar/{split}").ok
    loader = packhorse.Loader("cifar", 256, size=32, split=split)
    assert sorted(numpy.concatenate([batch.samples for batch in loader]).tolist()) == list(range(count))
    assert numpy.bincount(loader.dataset.labels).tolist() == [count // 10] * 10
print("wheel: CIFAR-10 is", "packed, verified and read" if len(sys.argv) > 1 else "read")
"""

TRY_TRAINING = """
import sys
sys.path += sys.argv[1:]
import torch, packhorse
from torch import nn
numbers = {"dtype": "float32", "mean": [0.5] * 3, "std": [0.25] * 3}
torch.manual_seed(1)
layers = [layer for before, width in ((3, 16), (16, 32), (32, 64))
          for layer in (nn.Conv2d(before, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU())]
model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for images, labels in packhorse.Loader("cifar", 128, augment=packhorse.PadCrop(32, 4), split="train", seed=1, **numbers):
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
right = sum((model(images).argmax(1) == labels).sum().item() for images, labels in packhorse.Loader("cifar", 500, size=32, split="test", **numbers))
assert right > 4_000, right
print(f"wheel: after an epoch of training with torch {torch.__version__}, {right:,} of 10,000 are right")
"""


def packs(program):
    """Whether it is there and runs: the command of a wheel that only reads says that it cannot."""
    return program.exists() and subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0


def packer(program):
    """The wheel's program where it packs, or else a built one."""
    if not packs(program):
        program = Path(os.environ.get("PACKHORSE_BIN", ROOT / "build/release/bin"), "packhorse")
    if not program.exists():
        sys.exit(f"wheel: no {program} to make a dataset with\n  next: cmake --build --preset release --target packhorse")
    return program


def packed_by(program, source, out, *options):
    subprocess.run([program, "pack", source, out, "--format", "wds", *options], check=True, capture_output=True)


class Environment:
    """A fresh one in `folder`, where its scripts run, with a wheel and numpy."""

    def __init__(self, folder, wheel, python):
        self.folder, self.bin = folder, folder / "environment/bin"
        subprocess.run([python, "-m", "venv", self.bin.parent], check=True)
        self.install(wheel)

    def install(self, *what):
        quiet = ["--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
        subprocess.run([self.bin / "python", "-m", "pip", "install", *quiet, *what], check=True)

    def run(self, script, *arguments):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LD_"))}
        subprocess.run([self.bin / "python", "-I", "-c", script, *arguments], cwd=self.folder, env=clean, check=True)


def try_cifar(environment, program, torch):
    archive = Path(os.environ.get("PACKHORSE_DATA", ROOT.parent / "shared/data"), "cifar10-jpeg.tar.zst").resolve()
    if not archive.exists():
        print(f"wheel: CIFAR-10 is not tried: there is no {archive}")
        return
    if packs(program):
        environment.run(TRY_CIFAR, archive)
    else:
        packed_by(packer(program), archive, environment.folder / "cifar")
        environment.run(TRY_CIFAR)
    if torch == "install":
        environment.install("torch")
        environment.run(TRY_TRAINING)
    elif torch:
        environment.run(TRY_TRAINING, Path(torch).resolve())


def main(wheel, python, torch=""):
    sys.stdout.reconfigure(line_buffering=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = Environment(folder, wheel, python)
        program = environment.bin / "packhorse"
        small = ("--image", "resize", "--short-side", "48", "--max-rejects", "8")
        packed_by(packer(program), ROOT / "samples/shapes", folder / "packed", *small)
        environment.run(TRY)
        if packs(program):
            environment.run(TRY_PACKING)
            environment.run(TRY_REMOTE)
        try_cifar(environment, program, torch)


if __name__ == "__main__":
    main(*sys.argv[1:])
