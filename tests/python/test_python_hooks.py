"""transform= and sample_transform= of packhorse.Loader: what they get, in which thread, what they may return, and how
they fail."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import torch  # noqa: F401  batches are tensors
from package import environment, packhorse
from python_support import SHAPES, pack


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "shapes"
    pack(SHAPES, out, "--format", "wds", "--image", "resize", "--short-side", "32")
    return out / "train"


def loader(packed, batch_size=16, **options):
    return packhorse.Loader(packed, batch_size, **{"augment": packhorse.RandomResizedCrop(24), "seed": 5, **options})


def content(batches):
    return [(np.asarray(b.images).tobytes(), np.asarray(b.labels).tolist(), b.samples.tolist()) for b in batches]


def test_a_batch_is_delivered_as_transform_returns_it_from_the_thread_that_iterates(packed):
    threads = set()

    def transform(batch):
        threads.add(threading.get_ident())
        return {"x": batch.images, "y": batch.labels + 1, "ids": batch.samples}

    plain, changed = list(loader(packed)), list(loader(packed, transform=transform))
    assert threads == {threading.get_ident()}
    for a, b in zip(plain, changed, strict=True):
        assert (a.images == b["x"]).all() and (a.labels + 1 == b["y"]).all() and (a.samples == b["ids"]).all()


def test_after_an_error_of_transform_a_run_goes_on_with_the_batch_that_it_did_not_take(packed):
    expected = content(loader(packed))
    calls = []

    def transform(batch):
        calls.append(batch)
        if len(calls) == 3:
            raise RuntimeError("no more")
        return batch

    reader = loader(packed, transform=transform)
    with pytest.raises(RuntimeError, match="no more"):
        list(reader)
    resumed = loader(packed)
    resumed.load_state_dict(reader.state_dict())
    assert content(resumed) == expected[2:]


def in_place(image, label, seed):
    random = np.random.default_rng(seed)
    image[random.integers(24)] = random.integers(0, 256, (24, 3)) + label - label


def returned(image, label, seed):
    changed = image.copy()
    in_place(changed, label, seed)
    return changed[:, ::-1][:, ::-1]


@pytest.mark.parametrize("change", [in_place, returned])
def test_samples_are_changed_alike_by_any_number_of_workers(packed, change):
    plain, expected = content(loader(packed)), content(loader(packed, workers=0, sample_transform=in_place))
    assert [batch[1:] for batch in plain] == [batch[1:] for batch in expected] and plain != expected
    for workers in (1, 4):
        reader = loader(packed, workers=workers, sample_transform=change)
        assert content(reader) == expected
        second = content(reader)
        reader.set_epoch(1)
        assert content(reader) == second != expected


def test_the_image_is_of_bytes_and_of_its_own_whatever_the_batch_is(packed):
    kept, lock = {}, threading.Lock()

    def change(image, label, seed):
        assert image.dtype == np.uint8 and image.shape == (24, 24, 3) and image.flags.writeable
        image += 1
        with lock:
            kept[seed] = (image, image.copy(), label)

    bytes_ = list(loader(packed, sample_transform=change))
    floats = list(loader(packed, sample_transform=change, dtype="float32", channels_last=False))
    assert len(kept) == 120 and all((image == copy).all() for image, copy, _ in kept.values())
    for a, b in zip(bytes_, floats, strict=True):
        assert np.abs(np.asarray(a.images) / 255.0 - np.asarray(b.images)).max() < 1e-6
    labels = packhorse.Dataset(packed).labels
    assert sorted(label for *_, label in kept.values()) == sorted(labels.tolist())


def test_detection_batches_are_changed_too(packed):
    crop = packhorse.DetectionAugment(32, mosaic=1.0)
    for batch in loader(packed, augment=crop, sample_transform=lambda image, label, seed: np.full_like(image, label + 1)):
        assert (np.asarray(batch.images) == np.asarray(batch.labels)[:, None, None, None] + 1).all()


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_names_the_sample_and_its_cause(packed, workers):
    class Odd(Exception):
        pass

    def fail(image, label, seed):
        raise Odd(f"label {label} is odd")

    reader = loader(packed, workers=workers, sample_transform=fail, max_bad=100)  # it is no damage
    for _ in range(2):
        with pytest.raises(packhorse.errors.UsageError, match=r"shard-.*sample_transform: Odd: label \d is odd") as raised:
            list(reader)
        assert isinstance(raised.value.__cause__, Odd) and raised.value.__cause__.__traceback__ is not None


def test_words_that_are_no_utf8_keep_their_cause(packed):
    def fail(image, label, seed):
        raise OSError("no file \udcff")

    with pytest.raises(packhorse.errors.UsageError, match=r"OSError: no file \\udcff") as raised:
        list(loader(packed, sample_transform=fail))
    assert isinstance(raised.value.__cause__, OSError)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (np.zeros((24, 24), np.uint8), r"it returned uint8 \[24, 24\] for an image that is uint8 \[24, 24, 3\]"),
        (np.zeros((24, 24, 3)), "it returned float64"),
        ("text", "it returned <U4"),
    ],
)
def test_what_is_no_image_is_refused(packed, made, words):
    with pytest.raises(packhorse.errors.UsageError, match=f"TypeError: {words}"):
        list(loader(packed, sample_transform=lambda image, label, seed: made))


def test_functions_are_functions(packed):
    for name in ("transform", "sample_transform"):
        with pytest.raises(TypeError, match=f"{name}=7: give a function"):
            loader(packed, **{name: 7})


def test_a_loader_whose_function_refers_to_it_is_collected(packed):
    class Training:
        def __init__(self):
            self.loader = loader(packed, sample_transform=self.change)

        def change(self, image, label, seed):
            image[:] = 0

    training = Training()
    next(iter(training.loader))
    reference = weakref.ref(training.loader)
    del training
    deadline = time.monotonic() + 60
    while reference() is not None and time.monotonic() < deadline:  # a worker may be in the function
        gc.collect()
        time.sleep(0.01)
    assert reference() is None


def run(code, **options):
    code = f"import os, packhorse, signal, sys, threading, time\n{code}"
    return subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=120, check=False, **options)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("daemon", [True, False])
@pytest.mark.parametrize("work", ["sum(range(200000))", "time.sleep(0.05)"])
def test_the_interpreter_ends_while_a_function_is_at_work(packed, workers, daemon, work):
    iterate = "threading.Thread(target=lambda: list(reader), daemon=True).start()" if daemon else "batches = iter(reader); next(batches)"
    done = run(f"""
begun = threading.Event()
def change(image, label, seed):
    begun.set()
    {work}
reader = packhorse.Loader({str(packed)!r}, 4, size=16, workers={workers}, sample_transform=change)
{iterate}
begun.wait()
print("at the end")
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "at the end\n", "")


@pytest.mark.thorough  # it waits five seconds
def test_the_interpreter_ends_though_a_function_never_does(packed):
    done = run(f"""
begun = threading.Event()
def change(image, label, seed):
    begun.set()
    time.sleep(10**6)
reader = packhorse.Loader({str(packed)!r}, 4, size=16, workers=2, sample_transform=change)
threading.Thread(target=lambda: list(reader), daemon=True).start()
begun.wait()
print("at the end")
""")
    assert (done.returncode, done.stdout) == (0, "at the end\n"), done


@pytest.mark.parametrize("workers", [0, 2])
def test_ctrl_c_ends_a_loop_with_a_function_and_an_exit_goes_on(packed, workers):
    code = f"""
import packhorse, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
def change(image, label, seed):
    time.sleep(0.01)
reader = packhorse.Loader({str(packed)!r}, 8, size=16, workers={workers}, sample_transform=change)
try:
    for epoch in range(10**9):
        for batch in reader:
            print("reading", flush=True)
except KeyboardInterrupt:
    print("interrupted")
"""
    child = subprocess.Popen([sys.executable, "-c", code], env=environment(), stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "reading\n"
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0].endswith("interrupted\n") and child.returncode == 0

    def leave(image, label, seed):
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        list(loader(packed, workers=workers, sample_transform=leave))


def test_a_child_made_by_fork_is_told(packed):
    reader = loader(packed, sample_transform=in_place)
    batches = iter(reader)
    next(batches)
    child = os.fork()
    if child == 0:
        try:
            next(batches)
        except packhorse.errors.UsageError as error:
            del batches, reader
            gc.collect()
            os._exit(0 if "fork" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(batches)) == 7
