"""Several processes pack one dataset: shares, repeats, overlaps, and the finish. Deaths are in test_modes.py."""

import os
import shutil
import signal
import time

import pytest
from python_support import (
    DAMAGE,
    FAILED,
    FORMATS,
    SHAPES,
    USAGE,
    finish,
    flip_byte,
    make_source,
    pack,
    packhorse,
    refused,
    run,
    staging,
    start,
    tree,
)


def whole(tmp_path, source, *options):
    pack(source, tmp_path / "whole", *options)
    return tree(tmp_path / "whole")


def all_of(out, number):
    return list(staging(out).rglob(f"shard-{number:06}.*"))


def test_four_tasks_of_a_source_with_splits_and_a_finish_give_the_bytes_of_one_run(tmp_path):
    options = ("--format", "wds", "--shard-samples", "9")
    out = tmp_path / "out"
    for task in (2, 0, 3, 1):
        report = pack(SHAPES, out, *options, "--task", f"{task}/4")
        assert not report["published"] and not out.exists()
    report = pack(SHAPES, out, *options, "--finish")
    assert report["published"] and report["shards_kept"] == report["shards"]
    assert tree(out) == whole(tmp_path, SHAPES, *options)
    assert not staging(out).exists()


def test_tasks_at_the_same_time_do_not_disturb_each_other(tmp_path):
    source = make_source(tmp_path / "source", 150)
    options = ("--format", "lmdb", "--shard-samples", "5")
    out = tmp_path / "out"
    # Each share runs twice, as when a scheduler restarts a task too early.
    processes = [start("pack", source, out, *options, "--task", f"{i % 3}/3") for i in range(6)]
    for process in processes:
        assert finish(process).code == 0
    packhorse("pack", source, out, *options, "--finish")
    assert tree(out) == whole(tmp_path, source, *options)


def test_a_source_that_changed_after_the_tasks_is_noticed_by_the_finish(tmp_path):
    source = make_source(tmp_path / "source", 60)
    options = ("--format", "hdf5", "--shard-samples", "10", "--no-shuffle")
    out = tmp_path / "out"
    for task in range(2):
        pack(source, out, *options, "--task", f"{task}/2")
    changed = sorted(p for p in source.rglob("*") if p.is_file())[0]
    os.utime(changed, ns=(1, 1))
    error = refused("pack", source, out, *options, "--finish", code=FAILED).err
    assert "1 of 6 shards are not packed yet" in error and "changed" in error and "number 0\n" in error
    pack(source, out, *options, "--task", "0/1")
    packhorse("pack", source, out, *options, "--finish")


@pytest.mark.parametrize("form", FORMATS)
def test_what_was_lost_after_a_refused_finish_is_packed_again_by_its_tasks_alone(tmp_path, form):
    """Of 10 shards a data file is gone, a receipt gone, an index damaged and a data file damaged."""
    source = make_source(tmp_path / "source", 50)
    options = ("--format", form, "--shard-samples", "5")
    out = tmp_path / "out"
    for task in (0, 1, 3):
        pack(source, out, *options, "--task", f"{task}/4")
    error = refused("pack", source, out, *options, "--finish", code=FAILED).err
    assert "2 of 10 shards are not packed" in error and "number 2, 6" in error and "run those tasks again" in error
    pack(source, out, *options, "--task", "2/4")

    for lost in (*staging(out).rglob("shard-000001.[tlh]*"), *staging(out).rglob("shard-000003.json")):
        shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    flip_byte(next(staging(out).rglob("shard-000005.index")), 80)
    (damaged,) = staging(out).rglob("shard-000009.[tlh]*")
    damaged = damaged / "data.mdb" if damaged.is_dir() else damaged
    flip_byte(damaged, damaged.stat().st_size // 2)
    kept = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for n in (0, 2, 4, 6, 7, 8) for path in all_of(out, n)}
    assert "number 1, 3, 5, 9" in refused("pack", source, out, *options, "--finish", code=FAILED).err
    for task, again in ((1, 3), (3, 1)):
        report = pack(source, out, *options, "--task", f"{task}/4")
        assert report["shards_kept"] == report["shards"] - again
    assert kept == {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in kept}
    pack(source, out, *options, "--finish")
    assert tree(out) == whole(tmp_path, source, *options)


def test_rejects_of_tasks_are_judged_at_the_finish(tmp_path):
    source = make_source(tmp_path / "source", 40)
    (source / "class-0/bad.jpg").write_bytes(b"no image")
    options = ("--format", "wds", "--shard-samples", "10")
    out = tmp_path / "out"
    for task in range(2):
        assert run("pack", source, out, *options, "--task", f"{task}/2").code == 0
    assert run("pack", source, out, *options, "--finish").code == DAMAGE and not out.exists()
    report = run("pack", source, out, *options, "--finish", "--max-rejects", "1", "--json").json
    assert report["published"] and report["rejected"] == 1


def test_tasks_with_other_options_are_refused(tmp_path):
    out = tmp_path / "out"
    pack(SHAPES, out, "--format", "wds", "--task", "0/2")
    for other in (("hdf5",), ("wds", "--seed", "7"), ("wds", "--limit", "5"), ("wds", "--exclude", "a*")):
        result = refused("pack", SHAPES, out, "--format", *other, "--task", "1/2", code=FAILED)
        assert "tasks with other options" in result.err and "next: " in result.err


def test_a_task_beside_a_whole_run_is_refused_and_told_who_is_at_work(tmp_path):
    source = make_source(tmp_path / "source", 300)
    out = tmp_path / "out"
    whole_run = start("pack", source, out, "--format", "wds", "--shard-samples", "1", "--jobs", "1")
    while not list(staging(out).glob("receipts/*")):
        assert whole_run.poll() is None
        time.sleep(0.001)
    whole_run.send_signal(signal.SIGSTOP)
    result = refused("pack", source, out, "--format", "wds", "--task", "0/2", code=FAILED)
    assert f"another process is writing to this target: process {whole_run.pid} " in result.err
    (at_work,) = packhorse("pack", "--status", out, "--json").json["tasks"]
    assert (at_work["state"], at_work["pid"]) == ("at work", whole_run.pid)
    whole_run.send_signal(signal.SIGCONT)
    assert finish(whole_run).code == 0


def test_a_senseless_task_is_a_usage_error(tmp_path):
    for task in ("", "1", "2/2", "-1/2", "1/2/3", "a/b", "0/0"):
        refused("pack", SHAPES, tmp_path / "out", "--format", "wds", f"--task={task}", code=USAGE)
    refused("pack", SHAPES, tmp_path / "out", "--format", "wds", "--task", "0/2", "--finish", code=USAGE)
