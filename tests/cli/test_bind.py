"""`--bind`: which CPUs training and the bench run on, from outside."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from python_support import DONE, PACKHORSE, SHAPES, TRAIN, USAGE, finish, pack, run, train

CPUS = sorted(os.sched_getaffinity(0))
LAST = CPUS[-1]


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "shapes"
    pack(SHAPES, out, "--format", "wds")
    return out


def threads_of(pid):
    """The CPUs that each thread of a process may use."""
    found = set()
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        found.add(re.search(r"^Cpus_allowed_list:\s*(\S+)", status.read_text(), re.M)[1])
    return found


def seen(process, threads):
    """What threads_of() says once there are so many threads."""
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        if len(list(Path(f"/proc/{process.pid}/task").glob("*"))) >= threads:
            return threads_of(process.pid)
        time.sleep(0.005)
    raise AssertionError(f"never {threads} threads")


def started(*command):
    return subprocess.Popen([*map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_all_threads_of_the_bench_run_where_they_are_told(packed):
    process = started(PACKHORSE, "bench", packed / "train", "--bind", f"cpus:{LAST}", "--workers", "3", "--min-seconds", "1")
    assert seen(process, 4) == {str(LAST)}
    assert finish(process).code == DONE


def test_a_numa_node_is_all_of_its_cpus(packed):
    done = run("bench", packed / "train", "--bind", "node:0", "--min-seconds", "0.01", "--json")
    if Path("/sys/devices/system/node/node0").exists():
        assert done.code == DONE, done
    result = run("bench", packed / "train", "--bind", "node:1000")
    assert result.code == USAGE and "no NUMA node 1000" in result.err, result


@pytest.mark.parametrize("bind", ["auto", "cpus:", "cpus:5-3", f"cpus:0-{LAST + 500}", "node:x", "everywhere"])
def test_what_cannot_be_is_refused(bind, packed):
    result = run("bench", packed / "train", "--bind", bind)
    assert result.code == USAGE and "next:" in result.err, result


@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
def test_training_runs_where_it_is_told(packed, tmp_path):
    common = ("--data", packed / "train", "--arch", "smallnet", "--device", "cpu", "--workers", "2", "--max-steps", "2")
    done = train("fit", *common, "--out", tmp_path / "out", "--bind", f"cpus:{LAST}")
    assert done.code == DONE and f"note: bound to the CPUs {LAST}\n" in done.err, done
    alone = train("fit", *common, "--out", tmp_path / "auto", "--bind", "auto")
    assert alone.code == DONE and "--bind auto binds nothing" in alone.err, alone
    assert train("fit", *common, "--out", tmp_path / "no", "--bind", "node:1000").code == USAGE


@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
def test_processes_share_the_cpus_of_a_machine(packed, tmp_path):
    if len(CPUS) < 2:
        pytest.skip("one CPU cannot be shared")
    from test_train_processes import results, start

    done = results(start(2, "fit", "--data", str(packed / "train"), "--out", str(tmp_path / "out"), "--arch", "smallnet",
                         "--device", "cpu", "--workers", "0", "--batch-size", "24", "--max-steps", "2", "--bind", "auto"))  # fmt: skip
    bound = [re.search(r"bound to the CPUs (\S+)", one.err)[1] for one in done]
    assert [one.code for one in done] == [DONE, DONE] and bound[0] != bound[1], done
