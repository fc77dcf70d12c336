"""A shard that is truncated while it is open is an error, not a SIGBUS, also where others handle that signal."""

import signal
import subprocess
import sys

import pytest
from package import environment, packhorse
from python_support import SHAPES, pack


@pytest.fixture(name="packed")
def packed_fixture(tmp_path):
    pack(SHAPES, tmp_path / "packed", "--format", "wds", "--image", "resize", "--short-side", "64")
    return tmp_path / "packed/train"


def run(packed, code):
    """Runs `code` with `shard`, and `truncate()`, which cuts all shards."""
    prelude = f"""
import faulthandler, os, sys, time, packhorse
from pathlib import Path
packed = {str(packed)!r}
shard = next(Path(packed).glob("*.tar"))
def truncate():
    os.truncate(shard, 512)
def fails_as_it_should(work):
    try:
        work()
    except packhorse.errors.StorageError as error:
        assert "truncated" in str(error) and shard.name in str(error), str(error)
    else:
        sys.exit("no error")
"""
    return subprocess.run([sys.executable, "-c", prelude + code], env=environment(), capture_output=True, text=True)


def check(packed, code):
    result = run(packed, code)
    assert result.returncode == 0, result.stderr[-3000:]


@pytest.mark.parametrize("workers", [0, 2])
def test_an_index_that_is_cut_while_it_is_open_gives_no_wrong_label(packed, workers):
    """It ends in the page in which its labels begin: what is lost of that page reads as zeros, without a signal."""
    check(
        packed,
        f"""
import struct
index = next(Path(packed).glob("*.index"))
data = index.read_bytes()
sections = [struct.unpack_from("<IIQQ", data, 64 + 24 * k) for k in range(struct.unpack_from("<I", data, 12)[0])]
labels = next(offset for number, _, offset, _ in sections if number == 3)
right = packhorse.Dataset(packed).labels.copy()
dataset = packhorse.Dataset(packed, image="bytes")
loader = packhorse.Loader(packed, 8, size=32, workers={workers})
seen = 0
for batch in loader:
    assert (batch.labels == right[batch.samples.astype(int)]).all()
    seen += 1
    if seen == 3: os.truncate(index, labels)
    if seen == 3: break
def rest():
    for batch in loader:
        assert (batch.labels == right[batch.samples.astype(int)]).all()
def fails_as_it_should(work):
    try:
        work()
    except packhorse.errors.StorageError as error:
        assert "truncated" in str(error) and "next:" in str(error), str(error)
    else:
        sys.exit("no error")
fails_as_it_should(rest)
fails_as_it_should(lambda: dataset.labels)
fails_as_it_should(lambda: dataset[5])
""",
    )


@pytest.mark.parametrize("workers", [0, 2])
def test_faulthandler_enabled_after_the_loader(packed, workers):
    check(
        packed,
        f"""
loader = packhorse.Loader(packed, 8, size=32, workers={workers})
batches = iter(loader)
next(batches)
while loader.stats()["samples"] < {40 if workers else 8}: time.sleep(0.01)  # until the slots are full, and the workers rest
faulthandler.enable()
truncate()
fails_as_it_should(lambda: list(loader))
""",
    )


def test_faulthandler_and_single_samples(packed):
    check(
        packed,
        """
dataset = packhorse.Dataset(packed, image="numpy")
faulthandler.enable()
truncate()
for work in (lambda: dataset[119], lambda: dataset.read(118), lambda: dataset.decode(117)):
    fails_as_it_should(work)
""",
    )


def test_labels_of_a_truncated_index_are_an_error(packed):
    check(
        packed,
        """
dataset = packhorse.Dataset(packed)
faulthandler.enable()
os.truncate(next(Path(packed).glob("*.index")), 0)
for work in (lambda: dataset.labels, lambda: dataset._native.label(3)):
    try:
        work()
    except packhorse.errors.StorageError as error:
        assert "truncated" in str(error)
    else:
        sys.exit("no error")
""",
    )


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.thorough)])
def test_workers_of_a_dataloader(packed, method):
    pytest.importorskip("torch", reason="torch is not installed")
    script = packed.parent / "script.py"
    script.write_text(f"""
import os, sys, torch, packhorse
from pathlib import Path
class Truncated(torch.utils.data.Dataset):
    def __init__(self, packed):
        self.dataset, self.packed = packhorse.Dataset(packed, image="torch"), packed
    def __len__(self):
        return len(self.dataset)
    def __getitem__(self, index):
        self.dataset[0]
        os.truncate(next(Path(self.packed).glob("*.tar")), 512)  # in the worker, whose handler is torch's
        return self.dataset[len(self) - 1 - index]  # not in the page that is left
if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(Truncated({str(packed)!r}), 8, num_workers=1, multiprocessing_context="{method}")
    try:
        list(loader)
    except packhorse.errors.StorageError as error:
        assert "truncated" in str(error), error
    else:
        sys.exit("no error")
""")
    result = subprocess.run([sys.executable, script], env=environment(), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]


@pytest.mark.parametrize("first", [True, False])
def test_a_bus_error_elsewhere_is_reported_and_ends_the_program(packed, first):
    lines = ["faulthandler.enable()", "dataset = packhorse.Dataset(packed); dataset.read(0)"]
    result = run(
        packed,
        "\n".join(lines if first else [*reversed(lines), "dataset.read(1)"])
        + """
import mmap
with open("/proc/self/exe", "rb") as source, open(Path(packed) / "foreign", "wb+") as file:
    file.write(source.read(8192))
    file.flush()
    foreign = mmap.mmap(file.fileno(), 8192)
    os.truncate(file.name, 0)
    foreign[5000]
""",
    )
    assert result.returncode == -signal.SIGBUS, result
    assert result.stderr.count("Fatal Python error: Bus error") == 1, result.stderr
