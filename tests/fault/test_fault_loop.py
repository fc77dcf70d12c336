"""A short, even choice of the faults of fault_loop.py, and more of some kinds. fault_loop.py says how each must end."""

import collections
import signal
import tempfile
from pathlib import Path

import fault_loop
import pytest
from python_support import FAILED, PACKHORSE, SHAPES, TRAIN

TRAINING = ["fit-overwrite"] if TRAIN.exists() else []
PUBLISHING = ["pack-wds", "pack-lmdb-members", "pack-hdf5", "unpack", "index", "export-index", "repair", *TRAINING]


@pytest.fixture(autouse=True)
def preload_is_built():
    if not fault_loop.PRELOAD.exists():
        pytest.fail(f"{fault_loop.PRELOAD} is not built")


@pytest.fixture
def scratch(tmp_path):
    """A folder in memory, if there is one: a run syncs some 30 files and folders."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


def test_a_stop_at_any_change_is_said_and_leaves_the_old_state(scratch):
    tally = fault_loop.loop(scratch, "pack-wds pack-hdf5 pack-overwrite unpack index-overwrite repair change TERM".split(), 41)
    assert tally.violations == []
    assert sum(number for (_, _, how), number in tally.ended.items() if how == "stopped") >= 8, tally.ended


def check(scratch, only, stride, refused=0, killed=0):
    """Tries every `stride`th fault of a choice: no violation, and at least so many are met and end so."""
    tally = fault_loop.loop(scratch, only.split(), stride)
    assert tally.violations == []
    ended = collections.Counter()
    for (_, _, how), number in tally.ended.items():
        ended[how] += number
    assert ended["done"] + ended["refused"] + ended["killed"] > 5, ended
    assert ended["refused"] >= refused and ended["killed"] >= killed, ended


@pytest.mark.parametrize(
    ("only", "stride", "refused", "killed"),
    [
        ("pack-wds pack-lmdb pack-hdf5 pack-overwrite unpack index-overwrite repair write fsync rename", 53, 8, 0),
        ("pack-wds pack-lmdb pack-hdf5 pack-overwrite unpack index-overwrite repair change KILL TORN", 53, 0, 8),
        # A task that cannot name its work leaves nothing.
        ("pack-task fsync ENOSPC", 1, 8, 0),
    ],
)
def test_a_few_faults_and_kills_leave_the_old_or_the_new_state(scratch, only, stride, refused, killed):
    check(scratch, only, stride, refused, killed)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("only", "stride"),
    [
        ("", 400),
        # A signal interrupts opening, reading, signing the lock and syncing, while files are listed or copied.
        ("pack-wds-zstd index-overwrite repair-copy EINTR", 9),
        # When a folder cannot be listed, no class and no field is lost, and no image gets another label.
        ("pack-hdf5-fields open EIO", 3),
        # A file that cannot be removed is reported, or the next run recognises it as its own.
        ("index index-overwrite repair repair-copy unlink EIO", 3),
        # A signal at an opening does not end a training.
        *[(f"{training} open EINTR", 6) for training in TRAINING],
    ],
)
def test_every_nth_fault_leaves_the_old_or_the_new_state(scratch, only, stride):
    check(scratch, only, stride)


@pytest.mark.parametrize("name", PUBLISHING)
def test_what_is_published_was_synced_before(scratch, name):
    (case,) = [case for case in fault_loop.cases() if case.name == name]
    assert fault_loop.Bench(case, scratch / name).unsynced() == []


def test_storage_without_file_locks_is_refused_with_what_to_do(scratch):
    first = fault_loop.Fault("flock", 1, "ENOLCK", always=True)
    command = (PACKHORSE, "pack", SHAPES / "val", scratch / "out", "--format", "wds")
    done = fault_loop.run(command, scratch, **first.environment())
    assert done.returncode == FAILED and not (scratch / "out").exists()
    assert b"no file locks (flock)" in done.stderr and b"option flock" in done.stderr, done.stderr


def test_no_memory_before_the_program_begins_is_said(tmp_path):
    first = fault_loop.Fault("alloc", 1, "ENOMEM", always=True)
    done = fault_loop.run((PACKHORSE, "--version"), tmp_path, **first.environment())
    assert done.returncode == FAILED and done.stderr.startswith(b"packhorse: error: out of memory\n"), done.stderr


def test_a_crash_is_said_before_the_signal_ends_the_program(tmp_path):
    (tmp_path / "shard.tar").write_bytes(b"")
    crash = fault_loop.Fault("open", 1, "SEGV", always=False)
    done = fault_loop.run((PACKHORSE, "index", tmp_path / "shard.tar"), tmp_path, **crash.environment())
    assert done.returncode == -signal.SIGSEGV
    assert done.stderr.startswith(b"packhorse: error: crashed by SIGSEGV\n  where: packhorse index\n  next:  "), done.stderr
