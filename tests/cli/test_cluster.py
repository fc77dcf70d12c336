"""The scripts for schedulers: each runs with a stand-in that does what the real scheduler would be asked to do."""

import os
import re
import stat
import subprocess

from python_support import PACKHORSE, ROOT, SHAPES, pack, tree

CLUSTER = ROOT / "scripts/cluster"
OPTIONS = ("--format", "wds", "--shard-samples", "20")

# Runs every index of the array, the first one twice as after a death, and a dependent job when it is submitted.
SBATCH = """#!/usr/bin/env bash
set -e
for option in "$@"; do
  case $option in
    --array=0-*) last=${option#--array=0-} ;;
    --dependency=afterok:*) [[ ${option#*:} == 41 ]] ;;
    --wrap=*) wrap=${option#--wrap=} ;;
  esac
done
if [[ -n ${last-} ]]; then
  for i in 0 $(seq 0 "$last"); do SLURM_ARRAY_TASK_ID=$i bash -c "$wrap" >&2; done
  echo "41;cluster"
else
  bash -c "$wrap" >&2
  echo 42
fi
"""


def run(*command, **environment):
    done = subprocess.run(
        command, env={**os.environ, "PACKHORSE": str(PACKHORSE), **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done
    return done.stdout


def check(tmp_path, out):
    pack(SHAPES, tmp_path / "whole", *OPTIONS)
    assert tree(out) == tree(tmp_path / "whole")


def test_a_slurm_array_packs_and_then_finishes(tmp_path):
    sbatch = tmp_path / "bin/sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(SBATCH)
    sbatch.chmod(sbatch.stat().st_mode | stat.S_IXUSR)
    out = tmp_path / "with space/out"
    out.parent.mkdir()
    said = run(
        CLUSTER / "pack_slurm.sh", "3", SHAPES, out, *OPTIONS, PATH=f"{sbatch.parent}:{os.environ['PATH']}"
    )
    assert "job 41 packs 3 shares" in said and "job 42 publishes" in said
    check(tmp_path, out)


def test_xargs_packs_and_then_finishes(tmp_path):
    out = tmp_path / "with space"
    run(CLUSTER / "pack_xargs.sh", "3", SHAPES, out, *OPTIONS)
    check(tmp_path, out)


def test_xargs_over_ssh_takes_the_hosts_in_turn(tmp_path):
    ssh = tmp_path / "bin/ssh"
    ssh.parent.mkdir()
    ssh.write_text(f'#!/bin/sh\necho "$3" >>{tmp_path}/hosts\nexec sh -c "$4"\n')
    ssh.chmod(0o755)
    out = tmp_path / "out"
    path = f"{ssh.parent}:{os.environ['PATH']}"
    run(CLUSTER / "pack_xargs.sh", "4", SHAPES, out, *OPTIONS, PATH=path, HOSTS="node1 node2")
    assert sorted((tmp_path / "hosts").read_text().split()) == ["node1", "node1", "node2", "node2"]
    check(tmp_path, out)


def test_the_pods_of_the_kubernetes_job_pack_all_shares(tmp_path):
    manifest = (CLUSTER / "pack_kubernetes.yaml").read_text()
    completions = int(re.search(r"completions: (\d+)", manifest)[1])
    command = re.search(r"- exec (packhorse pack .*)$", manifest, re.M)[1]
    assert f'--task "$JOB_COMPLETION_INDEX/{completions}"' in command and "completionMode: Indexed" in manifest
    out = tmp_path / "out"
    command = command.replace("packhorse", str(PACKHORSE), 1).replace("/data/imagenet", str(SHAPES))
    command = command.replace("/data/packed", str(out)) + " --shard-samples 20"
    for index in reversed(range(completions)):
        run("/bin/sh", "-c", command, JOB_COMPLETION_INDEX=str(index))
    run(PACKHORSE, "pack", SHAPES, out, *OPTIONS, "--finish")
    check(tmp_path, out)


def test_without_arguments_the_scripts_say_how_to_use_them():
    for script in ("pack_slurm.sh", "pack_xargs.sh"):
        done = subprocess.run([CLUSTER / script], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and f"scripts/cluster/{script} " in done.stdout
