"""`packhorse pack --status OUT`: how far many tasks are, which of them are slow, and which are gone."""

import json
import os
import re
import subprocess
import time

import pytest
from python_support import DAMAGE, DONE, FAILED, PACKHORSE, SHAPES, USAGE, make_source, pack, put, refused, run, staging

OPTIONS = ("--format", "wds", "--shard-samples", "2")  # 28 pictures: 14 shards


@pytest.fixture(scope="module", name="source", autouse=True)
def source_fixture(tmp_path_factory):
    source = make_source(tmp_path_factory.mktemp("status") / "source", 28)
    share.source = source
    return source


@pytest.fixture(name="out")
def out_fixture(tmp_path):
    return tmp_path / "out"


def asked(out):
    result = run("pack", "--status", out, "--json")
    assert result.code == DONE, result
    return result.json


def share(out, task):
    pack(share.source, out, *OPTIONS, "--task", f"{task}/3")


def aged(path, seconds, now):
    """As if it had been written so long before `now`."""
    os.utime(path, (now - seconds, now - seconds))


def note(out, task):
    return staging(out) / f"tasks/{task}-of-3.json"


def at_work(path):
    """As while the process that wrote this note is running."""
    text = json.loads(path.read_text())
    path.write_text(json.dumps({**text, "ended": False}))


def receipts(out, task):
    return [path for path in sorted((staging(out) / "receipts").glob("shard-*.json")) if int(path.stem[6:]) % 3 == task]


def test_shares_are_counted_and_who_has_begun_is_named(out):
    share(out, 0)
    share(out, 2)
    before = os.stat(staging(out)).st_mtime_ns
    found = asked(out)
    assert (found["shards"], found["done"]) == (14, 9)
    first, second, third = found["tasks"]
    assert [task["task"] for task in found["tasks"]] == ["0/3", "1/3", "2/3"]
    assert [task["state"] for task in found["tasks"]] == ["done", "not begun", "done"]
    assert (first["shards"], second["shards"], third["shards"]) == (5, 5, 4)
    assert first["done"] == 5 and first["bytes"] > 0 and first["host"] == os.uname().nodename and first["pid"] > 1
    assert second["host"] == "" and second["done"] == 0 and second["seconds_since_last_shard"] is None
    assert found["bytes"] == first["bytes"] + third["bytes"] and found["seconds_left"] is None
    assert os.stat(staging(out)).st_mtime_ns == before, "it only looks"
    uneven = '{"task": "7/1", "host": "h", "pid": 1, "splits": ["a"], "shards": [], "ended": true}'
    for text in ("", "{}", "[[[", uneven):
        note(out, 1).write_text(text)  # one that cannot be read is none
        assert asked(out)["tasks"][1]["state"] == "not begun"
    share(out, 1)
    share(out, 2)
    words = run("pack", "--status", out).out
    assert "14 of 14 shards packed (100 %)" in words and "run the command once with --finish" in words


def test_what_a_task_is_doing_is_told_by_its_signs_of_life(out):
    for task in (0, 1, 2):
        share(out, task)
        receipts(out, task)[-1].unlink()  # one shard each is still to be packed
    at_work(note(out, 2))
    aged(note(out, 2), 100, time.time())
    at_work(note(out, 1))
    assert [task["state"] for task in asked(out)["tasks"]] == ["stopped", "at work", "silent"]
    words = run("pack", "--status", out).out
    assert "11 of 14 shards packed (79 %)" in words and "2 tasks are not running: run them again" in words


def test_a_straggler_is_found_and_the_time_left_is_estimated(out):
    now = time.time()
    for task in (0, 1, 2):
        share(out, task)
        receipts(out, task)[-1].unlink()
        for age, receipt in enumerate(reversed(receipts(out, task))):
            aged(receipt, 100 * age + (900 if task == 1 else 10), now)
    for task in (0, 1, 2):
        at_work(note(out, task))
    found = asked(out)
    assert [task["state"] for task in found["tasks"]] == ["at work", "slow", "at work"]
    assert found["seconds_left"] == found["tasks"][0]["seconds_left"] == pytest.approx(100, abs=1)
    words = run("pack", "--status", out).out
    assert "slow: no shard in three times the usual time" in words and re.search(r"1 min [34]\d s left", words)


def test_a_storage_whose_clock_is_ahead_is_named(out):
    share(out, 0)
    aged(receipts(out, 0)[0], -500, time.time())
    found = asked(out)
    assert 300 < found["clock_behind_seconds"] <= 500
    assert all((task["seconds_since_last_shard"] or 0) >= 0 for task in found["tasks"])
    assert re.search(r"newest file is \d min \d+ s ahead", run("pack", "--status", out).out)


def test_a_reader_without_the_right_to_write_is_told_whose_clock_counts(out):
    share(out, 0)
    assert not asked(out)["own_clock"]
    for folder in [out.parent, staging(out)]:
        folder.chmod(0o555)
    # root may write anywhere, unless it has no capabilities
    drop = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    done = subprocess.run([*drop, PACKHORSE, "pack", "--status", out], capture_output=True, text=True, check=True)
    for folder in [out.parent, staging(out)]:
        folder.chmod(0o755)
    assert "by this machine's clock" in done.stdout


def test_a_killed_run_without_tasks_has_a_status_and_a_finished_one_has_none(out, tmp_path):
    source = make_source(tmp_path / "source", 28)
    bad = put(source / "class-0/bad.jpg", "no image")
    assert run("pack", source, out, *OPTIONS).code == DAMAGE
    next((staging(out) / "receipts").glob("*.json")).unlink()
    at_work(staging(out) / "tasks/all.json")  # what a killed run leaves
    (task,) = asked(out)["tasks"]
    assert (task["task"], task["state"], task["shards"], task["done"]) == ("", "at work", 15, 14)
    bad.unlink()
    pack(source, out, *OPTIONS)
    assert "nobody packs there" in refused("pack", "--status", out, code=FAILED).err


def test_misuse_is_explained(out):
    assert "no staging directory" in refused("pack", "--status", out, code=FAILED).err
    assert "cannot be combined with --format" in refused("pack", "--status", out, "--format", "wds", code=USAGE).err
    assert "cannot be combined with" in refused("pack", SHAPES, "--status", out, code=USAGE).err
    assert "on a disk" in refused("pack", "--status", "s3://bucket/packed", code=FAILED).err
    assert "OUT, --format are missing" in refused("pack", SHAPES, code=USAGE).err
