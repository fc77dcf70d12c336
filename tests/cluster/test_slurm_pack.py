"""scripts/cluster/pack_slurm.sh on a Slurm with four nodes: an array packs, whatever happens to its tasks, and the result
is that of a single run."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from python_support import PACKHORSE, ROOT, SHAPES, make_source, pack, photos, run, staging, tree
from slurm import Failed

SCRIPT = ROOT / "scripts/cluster/pack_slurm.sh"


def submitted(slurm, tasks, source, out, *options, **environment):
    """The jobs that pack and that publish."""
    log = out.parent / "log-%A-%a.txt"
    environment = {"SBATCH_OPTIONS": f"--output={log}", **environment}
    done = subprocess.run(
        [SCRIPT, str(tasks), source, out, *options],
        env={**slurm.environment, "PACKHORSE": str(PACKHORSE), **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
    return re.search(r"job (\d+) packs", done.stdout)[1], re.search(r"job (\d+) publishes", done.stdout)[1]


def logs(out):
    return "\n".join(path.read_text() for path in sorted(out.parent.glob("log-*.txt")))


def same_as_one_run(out, tmp_path, source, *options):
    pack(source, tmp_path / "whole", *options)
    assert tree(out) == tree(tmp_path / "whole")


def process_of(share, out, seconds=60):
    """The pid of the process that packs a share into OUT."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0] == str(PACKHORSE).encode() and share.encode() in words and str(out).encode() in words:
                return int(path.parent.name)
        time.sleep(0.005)
    raise AssertionError(f"share {share} does not run")


def has_pending(pid, number):
    """Whether a signal waits for a process that is stopped."""
    (bits,) = re.findall(r"^ShdPnd:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(bits, 16) >> (number - 1) & 1


def tell_to_stop(slurm, job, pid):
    """Sends TERM as Slurm does before the time is up, until it has come: a step that has just begun may not take it."""
    for attempt in range(12):
        slurm.run("scancel", "--batch", "--signal=TERM", job)
        try:
            return slurm.wait_for(lambda: has_pending(pid, signal.SIGTERM), "the signal", seconds=5)
        except Failed:
            if attempt == 11:
                raise


def test_an_array_of_eight_on_four_nodes_with_one_task_killed_and_one_requeued(slurm, tmp_path):
    source = photos("cifar10/train")
    out, options = tmp_path / "out", ("--format", "wds", "--shard-bytes", "1MiB", "--jobs", "1", "--no-space-check")
    array, finish = submitted(slurm, 8, source, out, *options)
    os.kill(process_of("1/8", out), signal.SIGKILL)
    process_of("2/8", out)
    slurm.run("scontrol", "requeue", f"{array}_2")
    slurm.wait_for_job(finish, seconds=240)
    assert slurm.job(f"{array}_1")["Restarts"] == "1" and slurm.job(f"{array}_2")["Restarts"] == "1"
    assert "share 1 was stopped (137), and is queued again" in logs(out)
    assert len({slurm.job(f"{array}_{i}")["NodeList"] for i in range(8)}) == 4
    same_as_one_run(out, tmp_path, source, *options)


def test_a_task_whose_time_is_up_leaves_what_is_finished_and_goes_on(slurm, tmp_path):
    source = make_source(tmp_path / "source", 4000)
    out, options = tmp_path / "out", ("--format", "wds", "--shard-samples", "20", "--jobs", "1")
    array, finish = submitted(slurm, 2, source, out, *options)
    pid = process_of("1/2", out)
    os.kill(pid, signal.SIGSTOP)
    tell_to_stop(slurm, f"{array}_1", pid)
    os.kill(pid, signal.SIGCONT)
    slurm.wait_for_job(finish)
    assert slurm.job(f"{array}_1")["Restarts"] == "1"
    assert "share 1 was stopped (143), and is queued again" in logs(out)
    same_as_one_run(out, tmp_path, source, *options)


def test_a_preempted_task_is_queued_again_and_the_status_says_so(slurm, tmp_path):
    source = make_source(tmp_path / "source", 3000)
    out, options = tmp_path / "out", ("--format", "wds", "--shard-samples", "50", "--jobs", "1")
    array, finish = submitted(slurm, 4, source, out, *options)
    for task in range(4):
        os.kill(process_of(f"{task}/4", out), signal.SIGSTOP)  # it is not done before it is preempted
    urgent = slurm.run("sbatch", "--parsable", "--partition=urgent", "--nodes=4", "--ntasks=8", "-o", "/dev/null",
                       "--wrap", "sleep 2").strip()  # fmt: skip
    slurm.wait_for_job(urgent)
    slurm.wait_for_job(finish)
    restarts = [int(slurm.job(f"{array}_{i}")["Restarts"]) for i in range(4)]
    assert min(restarts) >= 1, "somebody was not preempted"
    same_as_one_run(out, tmp_path, source, *options)


def test_a_task_that_fails_otherwise_fails_its_job_and_nothing_is_published(slurm, tmp_path):
    source = make_source(tmp_path / "source", 60)
    out, options = tmp_path / "out", ("--format", "wds", "--shard-samples", "20", "--quality", "3")
    array, finish = submitted(slurm, 2, source, out, *options)
    slurm.wait_for_job(array, ("FAILED",))
    slurm.wait_for_job(finish, ("CANCELLED",))
    assert not out.exists() and not staging(out).exists() and "quality" in logs(out)


def test_whoever_keeps_being_killed_gives_up_in_the_end(slurm, tmp_path):
    killed = tmp_path / "killed"
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    killed.chmod(0o755)
    array, finish = submitted(slurm, 1, SHAPES, tmp_path / "out", "--format", "wds", PACKHORSE=str(killed), GIVE_UP_AFTER="1")
    slurm.wait_for_job(array, ("FAILED",), seconds=240)
    assert slurm.job(f"{array}_0")["Restarts"] == "1"
    slurm.wait_for_job(finish, ("CANCELLED",))


def test_the_status_of_an_array_names_its_tasks(slurm, tmp_path):
    out, options = tmp_path / "out", ("--format", "wds", "--shard-samples", "20")
    array, finish = submitted(slurm, 3, SHAPES, out, *options)
    slurm.run("scontrol", "hold", finish)
    slurm.wait_for_job(array)
    found = json.loads(run("pack", "--status", out, "--json").out)
    assert [task["state"] for task in found["tasks"]] == ["done"] * 3 and found["done"] == found["shards"] == 8
    slurm.run("scontrol", "release", finish)
    slurm.wait_for_job(finish)
