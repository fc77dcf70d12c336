"""Loaders made, dropped, forked and used side by side, a thousand times: right batches, and memory that does not grow."""

import subprocess
import sys

import pytest
from package import PRELOADED, environment, packhorse
from python_support import SHAPES, pack, put


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "shapes"
    pack(SHAPES, out, "--format", "wds", "--image", "resize", "--short-side", "32")
    return out / "train"


def grown(packed, work, warm, often):
    """KiB by which a process grows that does `work` that often, once it has done it a few times. Leaking a batch of the
    loaders below each time would take 12 KiB times `often`. AddressSanitizer keeps what was freed: then, nothing is
    said of memory."""
    code = f"""
import re, packhorse
def loader(**options):
    return packhorse.Loader({str(packed)!r}, 4, **{{"size": 32, "workers": 1, "slots": 2, **options}})
def in_memory():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1])
{work}
for number in range({warm}):
    work(number)
before = in_memory()
for number in range({often}):
    work(number)
print(in_memory() - before)
"""
    one_heap = {**environment(), "MALLOC_ARENA_MAX": "1"}  # else each thread may take memory of its own
    done = subprocess.run([sys.executable, "-c", code], env=one_heap, capture_output=True, text=True, check=True)
    return 0 if PRELOADED else int(done.stdout)


@pytest.mark.thorough
def test_a_thousand_loaders_dropped_in_the_middle_of_an_epoch(packed):
    work = """
def work(number):
    batches = iter(loader(workers=number % 3))
    for _ in range(number % 4):
        kept = next(batches)
"""
    assert grown(packed, work, 100, 900) < 900 * 6


@pytest.mark.thorough
def test_a_thousand_epochs(packed, tmp_path):
    pack(packed, tmp_path / "tiny", "--format", "wds", "--limit", "6")
    work = """
reader = loader(workers=2)
def work(number):
    assert [len(batch.labels) for batch in reader] == [4, 2]
"""
    assert grown(tmp_path / "tiny", work, 50, 950) < 950 * 6


@pytest.mark.thorough
def test_an_epoch_of_errors_leaks_nothing(packed, tmp_path):
    whole = next((SHAPES / "val").rglob("*.png")).read_bytes()
    at = whole.index(b"IDAT") + 20
    put(tmp_path / "source/a/1.png", whole[:at] + b"damaged!" + whole[at + 8 :])
    pack(tmp_path / "source", tmp_path / "damaged", "--format", "wds", "--allow-odd-classes")
    work = """
def work(number):
    try:
        list(loader(shuffle=False))
    except packhorse.errors.CorruptError:
        return
    raise SystemExit("a damaged PNG was decoded")
"""
    assert grown(tmp_path / "damaged", work, 30, 120) < 120 * 6


def samples(batches):
    return [batch.samples.tolist() for batch in batches]


def test_loaders_side_by_side_do_not_disturb_each_other(packed):
    options = [{"seed": 1}, {"seed": 2, "dtype": "float32"}, {"seed": 1, "workers": 0}]
    alone = [samples(packhorse.Loader(packed, 8, size=32, **each)) for each in options]
    dataset = packhorse.Dataset(packed)
    readers = [packhorse.Loader(dataset, 8, size=32, **each) for each in options]
    for _ in range(5):
        together = list(zip(*readers, strict=True))
        assert [samples(batches) for batches in zip(*together)] == alone
        for reader in readers:
            reader.set_epoch(0)


def test_a_child_of_a_process_with_a_live_loader_has_loaders_of_its_own(packed):
    code = f"""
import os, sys, packhorse
reader = packhorse.Loader({str(packed)!r}, 8, size=32, seed=1)
expected = [batch.samples.tolist() for batch in packhorse.Loader({str(packed)!r}, 8, size=32, seed=1)]
batches = iter(reader)
first = next(batches)
child = os.fork()
if child == 0:
    own = packhorse.Loader(reader.dataset, 8, size=32, seed=1)
    sys.exit(0 if [batch.samples.tolist() for batch in own] == expected and len(reader) == 15 else 1)
assert os.waitpid(child, 0)[1] == 0
assert [first.samples.tolist(), *(batch.samples.tolist() for batch in batches)] == expected
"""
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True, timeout=300)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kept", ["loader", "batches", "batch"])
def test_the_interpreter_ends_whatever_is_left(packed, workers, kept):
    code = f"""
import packhorse
loader = packhorse.Loader({str(packed)!r}, 8, size=32, workers={workers})
batches = iter(loader)
batch = next(batches)
for name in {{"loader", "batches", "batch"}} - {{{kept!r}}}:
    del globals()[name]
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
