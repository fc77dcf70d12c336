"""scripts/cluster/pack_slurm.sh and train_slurm.sh on a Slurm with four nodes: whatever happens to its processes, an
array packs, and a job of two nodes trains, as a run to which nothing has happened."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from halting import halted, halting, is_waiting, running
from python_support import PACKHORSE, ROOT, SHAPES, TRAIN, make_source, pack, run, staging, tree

RECIPE = ["--arch=smallnet", "--batch-size=16", "--device=cpu", "--workers=1", "--seed=3", "--timeout=60"]


def submit(slurm, script, *arguments, options, **environment):
    """What the script prints."""
    done = subprocess.run(
        [ROOT / "scripts/cluster" / script, *map(str, arguments)],
        env={**slurm.environment, "PACKHORSE": str(PACKHORSE), "PACKHORSE_TRAIN": str(TRAIN), "OMP_NUM_THREADS": "1",
             "SBATCH_OPTIONS": options, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
    return done.stdout


def pack_by(slurm, tasks, source, out, *options, **environment):
    """The jobs that pack and that publish."""
    log = f"--output={out.parent}/log-%A-%a.txt"
    said = submit(slurm, "pack_slurm.sh", tasks, source, out, *options, options=log, **environment)
    return re.search(r"job (\d+) packs", said)[1], re.search(r"job (\d+) publishes", said)[1]


def logs(out):
    return "\n".join(path.read_text() for path in sorted(out.parent.glob("log-*.txt")))


def take_the_nodes(slurm, *options):
    """A job that goes before others, and takes their nodes from them."""
    return slurm.run("sbatch", "--parsable", "--partition=urgent", *options, "-o", "/dev/null", "--wrap", "true").strip()


def test_an_array_whose_tasks_are_killed_queued_again_stopped_and_preempted_packs_as_one_run(slurm, tmp_path):
    source = make_source(tmp_path / "source", 160)
    out, options = tmp_path / "out", ("--format", "wds", "--shard-samples", "5", "--jobs", "1")
    which = '[ "$SLURM_ARRAY_TASK_ID" ] && [ -z "$SLURM_RESTART_COUNT" ]'
    program = halting(tmp_path / "packhorse", PACKHORSE, staging(out), "rename", 8, which)
    array, finish = pack_by(slurm, 8, source, out, *options, PACKHORSE=str(program))
    slurm.run("scontrol", "hold", finish)
    pids = [halted(PACKHORSE, f"{task}/8", str(out)) for task in range(8)]
    assert {slurm.job(f"{array}_{task}")["NodeList"] for task in range(8)} == {"n0", "n1", "n2", "n3"}
    assert len(list((staging(out) / "receipts").rglob("*.json"))) >= 8, "each has finished a shard"
    os.kill(pids[1], signal.SIGKILL)
    slurm.run("scontrol", "requeue", f"{array}_2")
    slurm.run("scancel", "--batch", "--signal=TERM", f"{array}_3")  # as Slurm sends it before the time is up
    slurm.wait_for(lambda: is_waiting(pids[3], signal.SIGTERM), "the signal")
    os.kill(pids[3], signal.SIGCONT)
    slurm.wait_for_job(take_the_nodes(slurm, "--nodes=4", "--ntasks=8"))
    slurm.wait_for_job(array)
    assert [int(slurm.job(f"{array}_{task}")["Restarts"]) for task in range(8)] == [1] * 8
    for task, code in ((1, 137), (3, 143), (5, 143)):
        assert f"share {task} was stopped ({code}), and is queued again" in logs(out)
    found = json.loads(run("pack", "--status", out, "--json").out)
    assert [task["state"] for task in found["tasks"]] == ["done"] * 8 and found["done"] == found["shards"] == 32
    slurm.run("scontrol", "release", finish)
    slurm.wait_for_job(finish)
    pack(source, tmp_path / "whole", *options)
    assert tree(out) == tree(tmp_path / "whole")


def test_a_task_that_fails_otherwise_fails_its_job_and_nothing_is_published(slurm, tmp_path):
    out = tmp_path / "out"
    array, finish = pack_by(slurm, 2, SHAPES, out, "--format", "wds", "--quality", "3")
    slurm.wait_for_job(array, ("FAILED",))
    slurm.wait_for_job(finish, ("CANCELLED",))
    assert not out.exists() and not staging(out).exists() and "quality" in logs(out)


def test_a_task_that_is_killed_again_and_again_gives_up(slurm, tmp_path):
    killed = tmp_path / "killed"
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    killed.chmod(0o755)
    array, finish = pack_by(slurm, 1, SHAPES, tmp_path / "out", "--format", "wds", PACKHORSE=str(killed), GIVE_UP_AFTER="1")
    slurm.wait_for_job(array, ("FAILED",))
    assert slurm.job(f"{array}_0")["Restarts"] == "1"
    slurm.wait_for_job(finish, ("CANCELLED",))


def train_by(slurm, data, out, epochs, words="", **environment):
    """The job that trains on two nodes."""
    options = f"--output={out}.log --cpus-per-task=1 {words}"
    said = submit(slurm, "train_slurm.sh", 2, data, out, *RECIPE, f"--epochs={epochs}", options=options, **environment)
    return re.search(r"job (\d+) trains", said)[1]


needs_trainer = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")


@needs_trainer
def test_a_job_that_is_stopped_killed_and_preempted_ends_with_the_same_parameters(slurm, packed_shapes, tmp_path):
    import torch

    data, out = packed_shapes("wds"), tmp_path / "run"
    calm = train_by(slurm, data, tmp_path / "calm", 10)
    which = '[ "$SLURM_PROCID" = 0 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]'
    program = halting(tmp_path / "train", TRAIN, out, "rename", 8, which)  # in its second epoch
    job = train_by(slurm, data, out, 10, "--partition=graceful", PACKHORSE_TRAIN=str(program))

    def halts_again(restarts):
        slurm.wait_for_restart(job, restarts)
        return halted(TRAIN, str(out))

    first = halted(TRAIN, str(out))
    slurm.run("scancel", "--batch", "--signal=TERM", job)  # as Slurm sends it before the time is up
    slurm.wait_for(lambda: is_waiting(first, signal.SIGTERM), "the signal")
    os.kill(first, signal.SIGCONT)
    first = halts_again(1)
    (other,) = set(running(TRAIN, str(out))) - {first}
    os.kill(other, signal.SIGKILL)
    os.kill(first, signal.SIGCONT)
    halts_again(2)
    slurm.wait_for_job(take_the_nodes(slurm, f"--nodelist={slurm.job(job)['BatchHost']}", "--exclusive"))
    slurm.wait_for_job(job)
    assert slurm.job(job)["Restarts"] == "3"
    log = (tmp_path / "run.log").read_text()
    assert log.count("train_slurm: stopped (75), and queued again") == 2 and "epoch 10/10" in log
    slurm.wait_for_job(calm)
    ours, theirs = (torch.load(place / "last.pt", weights_only=True)["model"] for place in (out, tmp_path / "calm"))
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


@needs_trainer
def test_every_node_copies_the_data_first_and_uses_a_copy_that_is_there(slurm, packed_shapes, tmp_path):
    data, copy_to = packed_shapes("wds"), str(tmp_path / "local-%N")
    slurm.wait_for_job(train_by(slurm, data, tmp_path / "first", 1, "--nodelist=n0,n1", COPY_TO=copy_to))
    copies = [tmp_path / "local-n0", tmp_path / "local-n1"]
    assert all(tree(copy) == tree(data) for copy in copies)
    stamps = [copy.stat().st_mtime_ns for copy in copies]
    slurm.wait_for_job(train_by(slurm, data, tmp_path / "second", 1, "--nodelist=n0,n1", COPY_TO=copy_to))
    assert [copy.stat().st_mtime_ns for copy in copies] == stamps


@needs_trainer
def test_a_copy_of_other_data_ends_the_job_before_anything_is_trained(slurm, packed_shapes, tmp_path):
    pack(SHAPES, tmp_path / "local-n1", "--format=wds", "--limit=10")
    data, copy_to = packed_shapes("wds"), str(tmp_path / "local-%N")
    job = train_by(slurm, data, tmp_path / "run", 1, "--nodelist=n0,n1", COPY_TO=copy_to)
    slurm.wait_for_job(job, ("FAILED",))
    assert not (tmp_path / "run").exists()


def test_torchrun_on_two_nodes(slurm, packed_shapes, tmp_path):
    """docs/examples/train_slurm.sh with train_ddp.py, on nodes without GPUs, and with small images."""
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    data, examples = packed_shapes("wds"), ROOT / "docs/examples"
    (tmp_path / "packed").symlink_to(data)
    code = (examples / "train_ddp.py").read_text()
    (tmp_path / "train_ddp.py").write_text(code.replace("224", "32") + 'print(f"rank {rank} of {world}: {loader.epoch} epochs")\n')
    job = (examples / "train_slurm.sh").read_text().replace(" --cpus-per-task=64 --gpus-per-node=8", "")
    (tmp_path / "job.sh").write_text(job.replace("--nproc-per-node=8", "--nproc-per-node=1"))
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    python = f"PYTHONPATH={PACKHORSE.parent.parent / 'python'}"
    exported = ",".join(["ALL", python, *(f"{name}={value}" for name, value in environment.items())])
    log = tmp_path / "log.txt"
    job = slurm.run("sbatch", "--parsable", f"--export={exported}", f"--chdir={tmp_path}", f"--output={log}", tmp_path / "job.sh")
    slurm.wait_for_job(job.strip())
    assert sorted(re.findall(r"rank (\d) of 2: 2 epochs", log.read_text())) == ["0", "1"]
    assert (tmp_path / "last.pt").exists()
