"""scripts/cluster/train_slurm.sh on a Slurm with four nodes: a job that is preempted, stopped or loses a process is
queued again, and ends as one that was not: with two processes bit for bit."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from python_support import PACKHORSE, ROOT, SHAPES, TRAIN, pack, tree

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
SCRIPT = ROOT / "scripts/cluster/train_slurm.sh"
RECIPE = ["--arch=smallnet", "--batch-size=16", "--device=cpu", "--workers=1", "--seed=3", "--timeout=20"]


@pytest.fixture(scope="module", name="data")
def data_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("data") / "packed"
    pack(SHAPES, out, "--format=wds")
    return out


def submitted(slurm, nodes, data, out, epochs=12, **environment):
    words = f"--output={out}.log --cpus-per-task=1 {environment.pop('SBATCH', '')}"
    done = subprocess.run(
        [SCRIPT, str(nodes), data, out, *RECIPE, f"--epochs={epochs}"],
        env={**slurm.environment, "PACKHORSE": str(PACKHORSE), "PACKHORSE_TRAIN": str(TRAIN), "OMP_NUM_THREADS": "1",
             "SBATCH_OPTIONS": words, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
    return re.search(r"job (\d+) trains", done.stdout)[1]


def parameters(path):
    import torch

    saved = torch.load(path, weights_only=True)
    return {name: tensor for name, tensor in saved["model"].items()}


def losses(log):
    return re.findall(r"^epoch \d+/\d+: train loss (\d\.\d\d)", log.read_text(), re.M)


def test_four_nodes_preempted_and_queued_again_end_as_if_nothing_had_been(slurm, data, tmp_path):
    calm = submitted(slurm, 4, data, tmp_path / "calm")
    slurm.wait_for_job(calm, seconds=300)
    job = submitted(slurm, 4, data, tmp_path / "stopped")
    slurm.wait_for(lambda: (tmp_path / "stopped/last.pt").exists(), "the first checkpoint", seconds=120)
    urgent = slurm.run("sbatch", "--parsable", "--partition=urgent", "--nodelist=n0", "--exclusive", "-o", "/dev/null",
                       "--wrap", "sleep 1").strip()  # fmt: skip
    slurm.wait_for_job(urgent)
    slurm.wait_for_job(job, seconds=300)
    assert int(slurm.job(job)["Restarts"]) >= 1
    log = (tmp_path / "stopped.log").read_text()
    assert "train_slurm: stopped (75), and queued again" in log and "epoch 12/12" in log
    one, other = parameters(tmp_path / "calm/last.pt"), parameters(tmp_path / "stopped/last.pt")
    # Four numbers are added in another order in the first step of a process: the sums are the same but for rounding,
    # which the steps after it magnify.
    apart = sum(float(((one[name] - other[name]) ** 2).sum()) for name in one if name.endswith(("weight", "bias")))
    size = sum(float((one[name] ** 2).sum()) for name in one if name.endswith(("weight", "bias")))
    assert (apart / size) ** 0.5 < 0.02
    assert losses(tmp_path / "stopped.log")[:4] == losses(tmp_path / "calm.log")[:4], "no batch is another one"


def test_every_node_copies_the_data_first_and_uses_a_copy_that_is_there(slurm, data, tmp_path):
    places = {"COPY_TO": str(tmp_path / "local-%N")}
    slurm.wait_for_job(submitted(slurm, 2, data, tmp_path / "first", epochs=1, **places), seconds=300)
    copies = sorted(tmp_path.glob("local-*"))
    assert len(copies) == 2 and all(tree(copy) == tree(data) for copy in copies)
    stamps = [copy.stat().st_mtime_ns for copy in copies]
    slurm.wait_for_job(submitted(slurm, 2, data, tmp_path / "second", epochs=1, SBATCH="--nodelist=n0,n1", **places),
                       seconds=300)  # fmt: skip
    assert [copy.stat().st_mtime_ns for copy in copies] == stamps


def test_a_copy_of_other_data_ends_the_job_before_anything_is_trained(slurm, data, tmp_path):
    for node in range(4):
        pack(SHAPES, tmp_path / f"local-n{node}", "--format=wds", "--limit=10")
    job = submitted(slurm, 2, data, tmp_path / "run", COPY_TO=str(tmp_path / "local-%N"))
    slurm.wait_for_job(job, ("FAILED",))
    assert not (tmp_path / "run").exists()


def test_a_job_whose_time_is_up_saves_and_ends_with_the_same_parameters(slurm, data, tmp_path):
    import torch

    slurm.wait_for_job(submitted(slurm, 2, data, tmp_path / "calm"), seconds=300)
    job = submitted(slurm, 2, data, tmp_path / "run")
    slurm.wait_for(lambda: (tmp_path / "run/last.pt").exists(), "the first checkpoint", seconds=120)
    slurm.run("scancel", "--batch", "--signal=TERM", job)  # as Slurm sends it before the time is up
    slurm.wait_for(lambda: int(slurm.job(job)["Restarts"]) == 1, "the job in the queue again")
    slurm.wait_for_job(job, seconds=300)
    log = (tmp_path / "run.log").read_text()
    assert "train_slurm: stopped (75), and queued again" in log and "epoch 12/12" in log
    one, other = parameters(tmp_path / "calm/last.pt"), parameters(tmp_path / "run/last.pt")
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_killed_process_is_no_end(slurm, data, tmp_path):
    job = submitted(slurm, 2, data, tmp_path / "run")
    slurm.wait_for(lambda: (tmp_path / "run/last.pt").exists(), "the first checkpoint", seconds=120)
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == str(TRAIN).encode() and str(tmp_path / "run").encode() in words:
            os.kill(int(path.parent.name), signal.SIGKILL)
            break
    slurm.wait_for_job(job, seconds=300)
    assert int(slurm.job(job)["Restarts"]) == 1 and "epoch 12/12" in (tmp_path / "run.log").read_text()
