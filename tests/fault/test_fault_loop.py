"""A short, even choice of the faults of fault_loop.py, and more of some kinds. fault_loop.py says how each must end."""

import signal
import tempfile
from pathlib import Path

import fault_loop
import pytest
from python_support import FAILED, PACKHORSE, SHAPES, TRAIN

STRIDE = 400


@pytest.fixture(autouse=True)
def preload_is_built():
    if not fault_loop.PRELOAD.exists():
        pytest.fail(f"{fault_loop.PRELOAD} is not built")


def met(tally, *hows):
    """How many faults were met and ended in one of these ways."""
    return sum(n for (_, _, how), n in tally.ended.items() if how in (hows or ("done", "refused", "killed")))


@pytest.fixture
def scratch(tmp_path):
    """A folder in memory, if there is one: a run syncs some 30 files and folders."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


def test_every_nth_fault_kill_and_failed_allocation_leaves_the_old_or_the_new_state(scratch):
    tally = fault_loop.loop(scratch, stride=STRIDE)
    assert tally.violations == []
    assert met(tally) > 40, tally.ended
    assert met(tally, "refused") > 10 and met(tally, "killed") > 2, f"nothing is injected: {tally.ended}"


@pytest.mark.parametrize(
    ("only", "stride"),
    [
        # A signal interrupts opening, reading, signing the lock and syncing, while files are listed or copied.
        ("pack-wds-zstd,EINTR", 3),
        ("index-overwrite,EINTR", 3),
        ("repair-copy,EINTR", 3),
        # When a folder cannot be listed, no class and no field is lost, and no image gets another label.
        ("pack-hdf5-fields,open,EIO", 1),
        # A file that cannot be removed is reported, or the next run recognises it as its own.
        ("index,index-overwrite,repair,repair-copy,unlink,EIO", 1),
    ],
)
def test_faults_of_a_kind_leave_the_old_or_the_new_state(scratch, only, stride):
    tally = fault_loop.loop(scratch, only.split(","), stride)
    assert tally.violations == []
    assert met(tally) > 10, tally.ended


@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
def test_a_signal_at_any_opening_does_not_end_a_training(scratch):
    tally = fault_loop.loop(scratch, ["fit-overwrite", "open", "EINTR"])
    assert tally.violations == []
    assert met(tally, "done") > 10, tally.ended


def test_storage_without_file_locks_is_refused_with_what_to_do(scratch):
    first = fault_loop.Fault("flock", 1, "ENOLCK", always=True)
    command = (PACKHORSE, "pack", SHAPES / "val", scratch / "out", "--format", "wds")
    done = fault_loop.run(command, scratch, **first.environment())
    assert done.returncode == FAILED and not (scratch / "out").exists()
    assert b"this storage has no file locks (flock)" in done.stderr and b"option flock" in done.stderr, done.stderr


def test_no_memory_before_the_program_begins_is_said(tmp_path):
    first = fault_loop.Fault("alloc", 1, "ENOMEM", always=True)
    done = fault_loop.run((PACKHORSE, "--version"), tmp_path, **first.environment())
    assert done.returncode == FAILED
    assert done.stderr.startswith(b"packhorse: error: out of memory\n"), done.stderr


def test_a_crash_is_said_before_the_signal_ends_the_program(tmp_path):
    (tmp_path / "shard.tar").write_bytes(b"")
    crash = fault_loop.Fault("open", 1, "SEGV", always=False)
    done = fault_loop.run((PACKHORSE, "index", tmp_path / "shard.tar"), tmp_path, **crash.environment())
    assert done.returncode == -signal.SIGSEGV
    assert done.stderr.startswith(b"packhorse: error: crashed by SIGSEGV\n  where: packhorse index\n  next:  "), done.stderr
