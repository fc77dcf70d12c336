"""packhorse.Loader: the C++ loader's batches, epochs, resume, ranks, memory and errors, in Python."""

import gc
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest
from package import environment, packhorse
from python_support import SHAPES, flip_byte, listed, pack


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    """120 images, all of kinds that the package decodes."""
    out = tmp_path_factory.mktemp("packed") / "shapes"
    pack(SHAPES, out, "--format", "wds", "--image", "resize", "--short-side", "64")
    return out / "train"


def loader(packed, batch_size=32, **options):
    return packhorse.Loader(packed, batch_size, **{"augment": packhorse.RandomResizedCrop(32), "seed": 3, **options})


def content(batches):
    """All that an iteration delivers, for comparisons."""
    return [(np.asarray(b.images).tobytes(), np.asarray(b.labels).tolist(), b.samples.tolist()) for b in batches]


def test_every_sample_comes_once_with_its_label(packed):
    dataset = packhorse.Dataset(packed)
    reader = loader(packed)
    assert len(reader) == 4
    for _ in range(3):
        batches = list(reader)
        assert [len(b.labels) for b in batches] == [32, 32, 32, 24]
        samples = np.concatenate([b.samples for b in batches])
        labels = np.concatenate([np.asarray(b.labels) for b in batches])
        assert sorted(samples) == list(range(120))
        assert (dataset.labels[samples.astype(int)] == labels).all()


def test_batches_do_not_depend_on_workers_or_slots_and_each_epoch_differs(packed):
    first, second = content(loader(packed, workers=0)), None
    for options in ({"workers": 1}, {"workers": 4, "slots": 2}, {"huge_pages": True}):
        reader = loader(packed, **options)
        assert content(reader) == first
        second = second or content(reader)
        reader.set_epoch(1)
        assert content(reader) == second != first


def test_drop_last_and_orders(packed):
    assert [len(b.labels) for b in loader(packed, drop_last=True)] == [32, 32, 32]
    stored = np.concatenate([b.samples for b in loader(packed, shuffle=False)])
    assert stored.tolist() == list(range(120))
    assert content(loader(packed, order="sequential")) == content(loader(packed, shuffle=False))
    windows = np.concatenate([b.samples for b in loader(packed, order="window")])
    assert sorted(windows) == list(range(120))


@pytest.mark.parametrize("drop_last", [True, False])
def test_ranks_share_an_epoch_in_equal_steps(packed, drop_last):
    ranks = [loader(packed, 16, rank=rank, world_size=3, drop_last=drop_last) for rank in range(3)]
    assert {len(rank) for rank in ranks} == {2 if drop_last else 3}
    batches = [list(rank) for rank in ranks]
    assert [len(b) for b in batches] == [len(ranks[0])] * 3
    seen = np.concatenate([b.samples for rank in batches for b in rank])
    assert len(set(seen)) == (96 if drop_last else 120)


def test_rank_and_world_come_from_the_environment(packed, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert content(loader(packed)) == content(loader(packed, rank=1, world_size=2))


def test_a_run_goes_on_where_its_state_was_taken_at_another_world_size_too(packed):
    reader = loader(packed, 16)
    batches = iter(reader)
    before = [next(batches) for _ in range(3)]
    state = pickle.loads(pickle.dumps(reader.state_dict()))
    assert state == {"seed": 3, "epoch": 0, "done": 48, "order": "global", "data": reader.dataset.id}
    rest, following = content(batches), content(reader)

    resumed = loader(packed, 16)
    resumed.load_state_dict(state)
    assert len(resumed) == 8 and len(rest) == 5
    assert content(resumed) == rest
    assert content(resumed) == following

    seen = {sample for b in before for sample in b.samples}
    for rank in range(2):
        part = loader(packed, 12, rank=rank, world_size=2)
        part.load_state_dict(state)
        seen |= {sample for b in part for sample in b.samples}
    assert len(seen) == 120


def test_a_node_that_leaves_in_mid_epoch_costs_and_repeats_no_sample(packed):
    def take(world, batches, state=None):
        """The samples that all ranks take, and their state after that."""
        ranks = [loader(packed, 5, rank=rank, world_size=world, drop_last=True) for rank in range(world)]
        for rank in ranks if state else ():
            rank.load_state_dict(state)
        runs = [iter(rank) for rank in ranks]
        taken = [sample for run in runs for _ in range(batches) for sample in next(run).samples]
        (same,) = {str(rank.state_dict()) for rank in ranks}
        return taken, ranks[0].state_dict()

    before, state = take(4, 2)
    between, state = take(3, 4, state)
    after, state = take(2, 2, state)
    assert sorted(before + between + after) == list(range(120)) and state["epoch"] == 1


def state_of(packed, epoch):
    return {"seed": 3, "epoch": epoch, "done": 0, "order": "global", "data": packhorse.Dataset(packed).id}


def test_an_epoch_begins_with_its_first_batch_and_its_state_after_the_last_is_the_start_of_the_next(packed):
    reader = loader(packed)
    first, second = content(reader), content(reader)
    reader = loader(packed)
    dropped = [iter(reader) for _ in range(3)]
    assert reader.epoch == 0 and reader.state_dict() == state_of(packed, 0)
    batches = iter(reader)
    assert content(next(batches) for _ in range(4)) == first
    assert reader.state_dict() == state_of(packed, 1)  # as programs that count batches leave it
    with pytest.raises(ValueError, match="seed"):
        loader(packed, seed=4).load_state_dict(reader.state_dict())
    assert content(dropped[0]) == second and list(batches) == []


def test_a_state_may_be_loaded_after_iter_as_before(packed):
    reader = loader(packed, 16)
    expected = content(reader)
    for early in (True, False):
        resumed = loader(packed, 16)
        batches = iter(resumed) if early else None
        resumed.load_state_dict({"seed": 3, "epoch": 0, "done": 32})
        assert content(batches or resumed) == expected[2:]
        assert len(resumed) == len(reader) == 8


def test_a_state_is_of_its_data(packed, tmp_path):
    """Other data: some samples of the epoch would come twice, and others never."""
    pack(SHAPES, tmp_path / "again", "--format", "lmdb", "--image", "resize", "--short-side", "64", "--seed", "9")
    other = tmp_path / "again/train"
    reader = loader(packed, 16)
    batches = iter(reader)
    begun = reader.state_dict()
    next(batches)
    state = reader.state_dict()
    copy = shutil.copytree(packed, tmp_path / "copy")
    resumed = loader(copy, 16)
    resumed.load_state_dict(state)
    assert content(resumed) == content(batches)  # a copy is the same data
    with pytest.raises(packhorse.errors.UsageError, match="of other data.*16 of its samples were done"):
        loader(other, 16).load_state_dict(state)
    meant = loader(other, 16)
    meant.load_state_dict(state, other_data=True)
    assert sum(len(b.labels) for b in meant) == 120 - 16
    with pytest.warns(UserWarning, match="of other data"):
        loader(other, 16).load_state_dict(begun)
    older = {name: value for name, value in state.items() if name != "data"}
    loader(other, 16).load_state_dict(older)


def test_a_state_may_hold_the_numbers_of_numpy(packed):
    reader = loader(packed, 16, seed=np.int64(3))
    batches = iter(reader)
    next(batches)
    state = {name: np.int64(value) if isinstance(value, int) else value for name, value in reader.state_dict().items()}
    resumed = loader(packed, 16, seed=3)
    resumed.load_state_dict(state)
    assert content(resumed) == content(batches)


@pytest.mark.parametrize("state", [{"model": 1}, {}, None, {"seed": 3, "epoch": 0, "done": -1}, {"seed": 3, "epoch": "0", "done": 0}])
def test_what_is_not_a_state_is_refused(packed, state):
    with pytest.raises(packhorse.errors.UsageError, match="this is not a state of a packhorse.Loader"):
        loader(packed).load_state_dict(state)


def test_a_state_of_which_less_than_a_batch_is_left_is_the_next_epoch(packed):
    whole = loader(packed, 50, drop_last=True)
    list(whole)
    resumed = loader(packed, 50, drop_last=True)
    resumed.load_state_dict({"seed": 3, "epoch": 0, "done": 96})
    assert resumed.epoch == 1 and content(resumed) == content(whole)
    with pytest.raises(ValueError, match="after 121 samples, but the epoch has 120"):
        resumed.load_state_dict({"seed": 3, "epoch": 0, "done": 121})


def test_batches_stay_as_they_are_however_long_they_are_kept(packed):
    expected = content(loader(packed))
    reader = loader(packed, slots=2)
    kept = list(reader)
    list(reader), list(reader)
    del reader
    assert content(kept) == expected
    kept[0].images[:] = 7  # one's own memory
    assert content(kept)[1:] == expected[1:]


def test_an_iteration_that_a_newer_one_cuts_short_raises_and_loses_no_sample_silently(packed):
    reader = loader(packed)
    first = iter(reader)
    next(first)
    second = iter(reader)
    delivered = [next(second)]
    with pytest.raises(packhorse.errors.UsageError, match="another iteration.*3 batches of epoch 0 were not delivered"):
        next(first)
    assert list(first) == []  # as of any generator that raised
    delivered += list(second)
    assert sorted(np.concatenate([batch.samples for batch in delivered])) == list(range(120))
    with pytest.raises(packhorse.errors.UsageError, match="make a second Loader"):
        list(zip(reader, reader))
    third = iter(reader)
    next(third)
    reader.load_state_dict(reader.state_dict())
    with pytest.raises(packhorse.errors.UsageError, match="a state was loaded"):
        next(third)
    fourth = iter(reader)
    assert len([next(fourth) for _ in range(3)]) == 3  # all that the state had left
    next(iter(reader))
    assert list(fourth) == []


def test_a_loader_and_its_batches_show_what_matters_in_a_line(packed):
    pytest.importorskip("torch", reason="torch is not installed")  # batches are tensors then

    reader = loader(packed, workers=1, rank=0, world_size=2, augment=[packhorse.RandomResizedCrop(32), packhorse.ColorJitter(0.4)])
    assert repr(reader) == (
        f"packhorse.Loader({str(packed)!r}, batch_size=32, augment=[RandomResizedCrop(32, scale=(0.08, 1.0), "
        "ratio=(0.75, 1.3333333333333333), flip=0.5), ColorJitter(brightness=0.4)], dtype='uint8', workers=1, rank=0, world_size=2, len=2)"
    )
    batch = next(iter(reader))
    assert repr(batch) == "packhorse.Batch(images=uint8 [32, 3, 32, 32], labels=int64 [32])"
    assert repr(batch.moved(*(np.asarray(one) for one in batch))) == repr(batch)
    for crop in (packhorse.ResizeCenterCrop(32, 64), packhorse.Resize(8), packhorse.CenterCrop(9), packhorse.PadCrop(32, 2, flip=0.25)):
        assert repr(eval(repr(crop), vars(packhorse))) == repr(crop) and type(crop).__name__ in repr(crop)


def test_numpy_without_torch(packed):
    code = f"""
import sys, packhorse
for last, shape in ((True, (8, 16, 16, 3)), (False, (8, 3, 16, 16))):
    for dtype in ("uint8", "float32", "float16"):
        images, labels = next(iter(packhorse.Loader({str(packed)!r}, 8, size=16, dtype=dtype, channels_last=last)))
        assert (images.shape, images.dtype.name, labels.shape, labels.dtype.name) == (shape, dtype, (8,), "int64")
        assert images.flags.c_contiguous and (dtype == "uint8" or 0 <= images.min() < images.max() <= 1)
assert "torch" not in sys.modules and "PIL" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True)


def test_damage_is_an_error_with_sample_and_file_or_replaced(packed, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(packed, damaged)
    sample = listed(damaged)[5]
    flip_byte(damaged / sample["shard"], sample["offset"] + sample["bytes"] // 2)
    with pytest.raises(packhorse.errors.CorruptError) as raised:
        list(loader(damaged))
    assert raised.value.key or "shard-000000.tar" in str(raised.value)
    reader = loader(damaged, max_bad=1)
    assert len(list(reader)) == 4
    [bad] = reader.bad_samples()
    assert bad["epoch"] == 0 and bad["sample"] != bad["by"] and "shard-000000.tar" in bad["what"]
    assert reader.stats()["bad_samples"] == 1


def test_errors_are_those_that_python_programs_catch(tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        packhorse.Loader(tmp_path / "no", 8, size=32)
    assert isinstance(raised.value, packhorse.Error) and str(tmp_path / "no") in str(raised.value)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (type(copy), str(copy)) == (type(raised.value), str(raised.value))


def test_what_makes_no_sense_is_refused(packed):
    crop = packhorse.RandomResizedCrop(32)
    for options, words in [
        ({}, "one of size="),
        ({"size": 32, "augment": crop}, "one of size="),
        ({"views": [crop], "augment": crop}, "one of size="),
        ({"views": [packhorse.ColorJitter(0.4), crop]}, "a crop is missing before"),
        ({"views": [crop, packhorse.DetectionAugment(32)]}, "are crops"),
        ({"views": [crop] * 2, "targets": True}, "without targets"),
        ({"augment": [crop, crop]}, "comes second"),
        ({"augment": packhorse.ColorJitter(0.4)}, "a crop is missing"),
        ({"size": 0}, "sides"),
        ({"size": 32, "order": "any"}, "'any' is not a valid value for order="),
        ({"size": 32, "rank": 1}, "both, or neither"),
        ({"size": 32, "rank": 2, "world_size": 2}, "rank"),
    ]:
        with pytest.raises(ValueError, match=words):
            packhorse.Loader(packed, 8, **options)
    with pytest.raises(TypeError, match="not an augmentation of packhorse"):
        packhorse.Loader(packed, 8, augment=len)
    with pytest.raises(ValueError, match="no batch: 120 samples make no batch of 500"):
        iter(packhorse.Loader(packed, 500, size=32, drop_last=True))


def test_images_of_all_kinds_that_pack_are_read(tmp_path):
    pack(SHAPES, tmp_path / "packed", "--format", "wds")
    assert sum(len(batch.labels) for batch in loader(tmp_path / "packed/train")) == 120


def test_loaders_made_and_dropped_leave_no_thread_no_descriptor_and_no_memory(packed):
    def open_things():
        return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

    def drop(number):
        reader = loader(packed, workers=number % 4)
        for count, _ in enumerate(reader):
            if count == number % 5:
                break

    drop(1)
    gc.collect()  # what failed in earlier tests may still hold loaders
    before = open_things()
    for number in range(40):
        drop(number)
    for _ in range(1000):  # a thread that was joined is listed for a moment more
        if all(now <= then for now, then in zip(open_things(), before)):
            break
        time.sleep(0.01)
    assert all(now <= then for now, then in zip(open_things(), before)), (open_things(), before)


def test_ctrl_c_ends_a_wait_at_once(packed):
    code = f"""
import packhorse, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where whatever started the tests ignores it
reader = packhorse.Loader({str(packed)!r}, 8, size=16, workers=1)
batches = iter(reader)
next(batches)
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
    assert child.communicate(timeout=60)[0].endswith("interrupted\n")
    assert child.returncode == 0


def test_a_child_made_by_fork_is_told_and_ends(packed):
    reader = loader(packed)
    batches = iter(reader)
    next(batches)
    child = os.fork()
    if child == 0:
        try:
            next(batches)
        except packhorse.errors.UsageError as error:
            del batches, reader
            os._exit(0 if "fork" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(batches)) == 3


def test_batches_may_die_in_any_thread(packed):
    reader = loader(packed, 4)
    for batch in reader:
        threading.Thread(target=lambda held: None, args=[batch]).start()
        del batch


def test_what_only_a_dataloader_has_is_answered(packed):
    reader = loader(packed)
    assert not hasattr(reader, "batch_sampler")
    with pytest.raises(AttributeError, match=r"packhorse.Loader has no attribute 'sampler': .*set_epoch\(\)"):
        reader.sampler  # noqa: B018
    with pytest.raises(AttributeError, match="packhorse.Loader has no attribute 'colour'$"):
        reader.colour  # noqa: B018


def test_stats_say_who_waits(packed):
    reader = loader(packed)
    assert reader.stats()["limit"] == "none"
    list(reader)
    stats = reader.stats()
    assert stats["samples"] == 120 and stats["batches"] == 4 and stats["limit"] in ("loader", "consumer")


def test_processes_of_torchrun_share_the_cpus(packed, monkeypatch):
    def workers(**options):
        return loader(packed, 8, **options).stats()["workers"]

    alone = workers()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert (workers(), workers(workers=-1), workers(workers=3)) == (max(1, alone // 2), alone, 3)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "100000")
    assert workers() == 1
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "two")
    assert workers() == alone


@pytest.mark.parametrize(
    ("consumer_wait_s", "workers_wait_s", "limit"),
    [(0.1, 0.0, "loader"), (0.1, 0.1, "loader"), (0.1, 1.0, "consumer"), (4e-6, 0.0, "consumer"), (0.0, 0.0, "consumer")],
)
def test_a_wait_that_is_no_part_of_the_work_limits_nothing(consumer_wait_s, workers_wait_s, limit):
    waits = {"consumer_wait_s": consumer_wait_s, "workers_wait_s": workers_wait_s}
    assert packhorse.loader._limit({"batches": 4, "workers": 2, "read_s": 0.1, "decode_s": 0.9, **waits}) == limit


def test_tune_gives_options_of_a_loader_and_reasons_and_leaves_the_loader_as_it_is(packed):
    reader = loader(packed, workers=1)
    batches = iter(reader)
    first = next(batches)
    tuning = reader.tune(seconds=0.2)
    assert list(tuning) == ["workers", "slots", "order"] and 1 <= tuning["workers"] <= len(os.sched_getaffinity(0))
    assert tuning["slots"] in (4, 8) and tuning["order"] == "global"  # it is in memory
    assert str(tuning) == f"workers={tuning['workers']}, slots={tuning['slots']}, order='global'"
    assert len(tuning.reasons) == 2 and all("img/s" in reason for reason in tuning.reasons)
    expected = content(loader(packed))
    assert content([first, *batches]) == expected == content(loader(packed, **tuning))
    for nonsense in (0, -1, float("nan"), float("inf")):
        with pytest.raises(packhorse.errors.UsageError, match="seconds above 0"):
            reader.tune(nonsense)


def test_what_lies_in_dev_shm_is_in_memory(packed):
    """The orders are not compared then, and nothing is prefetched."""
    if "tmpfs" not in subprocess.run(["stat", "-fc", "%T", "/dev/shm"], capture_output=True, text=True, check=True).stdout:
        pytest.skip("/dev/shm is not a tmpfs")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        shutil.copytree(packed, f"{folder}/packed")
        assert len(loader(f"{folder}/packed").tune(0.1).reasons) == 2


def test_tune_calls_functions_and_says_what_they_raised(packed):
    threads = set()
    loader(packed, sample_transform=lambda image, label, seed: threads.add(threading.get_ident())).tune(0.1)
    assert threads

    def fail(image, label, seed):
        raise RuntimeError("of mine")

    with pytest.raises(packhorse.errors.UsageError, match="RuntimeError: of mine") as raised:
        loader(packed, sample_transform=fail).tune(0.1)
    assert isinstance(raised.value.__cause__, RuntimeError)
