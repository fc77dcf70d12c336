"""`--bind`: which CPUs training and the bench run on, from outside."""

import contextlib
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from python_support import DONE, PACKHORSE, TRAIN, USAGE, run, train

CPUS = sorted(os.sched_getaffinity(0))
LAST = CPUS[-1]


@pytest.fixture
def packed(packed_shapes):
    return packed_shapes("wds") / "train"


def threads_of(pid):
    """The CPUs that each thread of a process may use."""
    found = set()
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        with contextlib.suppress(OSError):  # it has ended
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


def test_all_threads_of_the_bench_run_where_they_are_told(packed):
    command = [PACKHORSE, "bench", packed, "--bind", f"cpus:{LAST}", "--workers", "3", "--min-seconds", "600"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            assert seen(process, 4) == {str(LAST)}
        finally:
            process.kill()


def test_a_numa_node_is_all_of_its_cpus(packed):
    done = run("bench", packed, "--bind", "node:0", "--min-seconds", "0.01", "--json")
    if Path("/sys/devices/system/node/node0").exists():
        assert done.code == DONE, done
    result = run("bench", packed, "--bind", "node:1000")
    assert result.code == USAGE and "no NUMA node 1000" in result.err, result


def test_what_cannot_be_is_refused(packed):
    for bind in ("auto", "cpus:", "cpus:5-3", f"cpus:0-{LAST + 500}", "node:x", "everywhere"):
        result = run("bench", packed, "--bind", bind)
        assert result.code == USAGE and "next:" in result.err, result


@pytest.mark.thorough
@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
def test_training_runs_where_it_is_told(packed, tmp_path):
    common = ("--data", packed, "--arch", "smallnet", "--device", "cpu", "--workers", "2", "--max-steps", "1")
    done = train("fit", *common, "--out", tmp_path / "out", "--bind", f"cpus:{LAST}")
    assert done.code == DONE and f"note: bound to the CPUs {LAST}\n" in done.err, done
    alone = train("fit", *common, "--out", tmp_path / "auto", "--bind", "auto")
    assert alone.code == DONE and "--bind auto binds nothing" in alone.err, alone
    assert train("fit", *common, "--out", tmp_path / "no", "--bind", "node:1000").code == USAGE


@pytest.mark.thorough
@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
def test_processes_share_the_cpus_of_a_machine(packed, tmp_path):
    if len(CPUS) < 2:
        pytest.skip("one CPU cannot be shared")
    from test_train_processes import results, start

    options = ("--arch", "smallnet", "--device", "cpu", "--workers", "0", "--batch-size", "24", "--max-steps", "1")
    done = results(start(2, "fit", "--data", packed, "--out", tmp_path / "out", *options, "--bind", "auto"))
    bound = [re.search(r"bound to the CPUs (\S+)", one.err)[1] for one in done]
    assert [one.code for one in done] == [DONE, DONE] and bound[0] != bound[1], done
