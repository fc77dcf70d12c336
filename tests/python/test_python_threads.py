"""Threads of Python that share a Loader, and daemon threads in packhorse when the interpreter ends."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from package import environment, packhorse
from python_support import SHAPES, pack


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "shapes"
    pack(SHAPES, out, "--format", "wds", "--image", "resize", "--short-side", "32")
    return out / "train"


def test_threads_that_share_a_loader_all_come_to_an_end_with_right_batches(packed):
    """An iteration that another thread cuts short by a newer one raises; one that ends has delivered every sample."""
    reader = packhorse.Loader(packed, 8, size=32, workers=2)
    labels = packhorse.Dataset(packed).labels
    wrong, ended = [], []

    def work():
        for _ in range(30):
            seen = set()
            try:
                for batch in reader:
                    seen |= set(batch.samples.tolist())
                    if (np.asarray(batch.labels) != labels[batch.samples.astype(int)]).any():
                        wrong.append(batch.samples)
            except packhorse.errors.UsageError:
                continue
            if len(seen) != len(labels):
                wrong.append(seen)
        ended.append(True)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(ended) == 4 and not wrong
    assert sum(len(batch.labels) for batch in reader) == len(labels)


WORK = {
    "a loader": """
loader = packhorse.Loader(DATA, 4, size=32, workers=2)
def work():
    while True:
        for batch in loader: begun()
""",
    "a dataset": """
dataset = packhorse.Dataset(DATA, image="numpy")
def work():
    while True:
        for i in range(len(dataset)):
            dataset[i]
            begun()
""",
    "packing": """
def work():
    for i in range(1000):
        packhorse.pack(DATA, f"{OUT}/{time.time()} {i}", format="wds")
        begun()
""",
    "packing that tells its progress": """
def tell(*_):
    begun()
    sum(range(300000))
def work():
    for i in range(1000): packhorse.pack(DATA, f"{OUT}/{time.time()} {i}", format="wds", progress=tell)
""",
    "a loader from many threads": """
loader = packhorse.Loader(DATA, 4, size=32, workers=2)
def work():
    if threading.active_count() < 8: threading.Thread(target=work, daemon=True).start()
    packhorse.Dataset(DATA).labels
    begun()
    while True:
        try:
            for batch in loader: pass
        except packhorse.errors.UsageError as error:
            if "another iteration" not in str(error): raise
""",
}


def ends(packed, out, work, then):
    """A process whose daemon thread does `work` when the interpreter ends, which does `then` before."""
    code = f"""
import threading, time, packhorse
DATA, OUT = {str(packed)!r}, {str(out)!r}
threads = set()
def begun(): threads.add(threading.get_ident())
{work}
threading.Thread(target=work, daemon=True).start()
{then}
print("at the end")
"""
    return subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_a_daemon_thread_does_not_break_the_end_of_the_interpreter(packed, tmp_path, work):
    for _ in range(3):
        done = ends(packed, tmp_path, work, f"while len(threads) < {7 if 'active_count' in work else 1}: time.sleep(0.01)")
        assert done.returncode == 0 and done.stdout == "at the end\n" and done.stderr == "", done


@pytest.mark.parametrize("seconds", [0, 0.02, 0.05, 0.1])
@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_a_daemon_thread_that_has_just_begun_does_not_break_it_either(packed, tmp_path, work, seconds):
    """It may be importing numpy. Or it finds that the loader was stopped, and says so."""
    done = ends(packed, tmp_path, work, f"time.sleep({seconds})")
    assert done.returncode == 0 and done.stdout == "at the end\n", done


def test_after_a_fork_the_end_of_the_child_waits_for_no_thread_of_the_parent(packed):
    code = f"""
import os, sys, threading, time, packhorse
loader = packhorse.Loader({str(packed)!r}, 4, size=32, workers=2)
def work():
    while True:
        for batch in loader: pass
threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
for _ in range(20):
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done


def test_a_child_says_that_a_loader_is_not_its_own_though_another_thread_was_in_it(packed):
    code = f"""
import os, signal, sys, threading, time, packhorse
loader = packhorse.Loader({str(packed)!r}, 4, size=32, workers=2)
def work():
    while True:
        for batch in loader: pass
threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
for _ in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            next(iter(loader))
        except packhorse.errors.UsageError as error:
            os._exit(0 if "before a fork" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done


def test_functions_at_the_end_may_read_in_threads(packed):
    """Those that were registered before packhorse was imported are called after its own."""
    code = f"""
import atexit, threading
def read():
    import packhorse
    seen = []
    thread = threading.Thread(target=lambda: seen.append(packhorse.Dataset({str(packed)!r}, image="numpy")[0]))
    thread.start()
    thread.join()
    print(len(seen))
atexit.register(read)
import packhorse
packhorse.Dataset({str(packed)!r}, image="numpy")[0]
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n"), done


def test_a_loader_is_dropped_while_other_threads_run(packed):
    """Its threads are waited for without the interpreter's lock."""
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(True)
            stop.wait(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    for _ in range(20):
        batches = iter(packhorse.Loader(packed, 8, size=64, workers=4))
        next(batches)
        del batches
    stop.set()
    thread.join()
    assert len(ticks) > 10


@pytest.mark.parametrize("world", [2**31, 2**61, 2**62, 2**63 - 1])
def test_a_world_too_large_is_refused(packed, world):
    with pytest.raises(packhorse.errors.UsageError, match=f"in a world of {world}"):
        packhorse.Loader(packed, 8, size=32, rank=0, world_size=world)
