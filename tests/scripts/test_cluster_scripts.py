"""pack_xargs.sh, with a stand-in for ssh, and what the scripts for schedulers say. tests/cluster has the schedulers."""

import os
import subprocess

from python_support import PACKHORSE, ROOT, SHAPES, pack, tree

CLUSTER = ROOT / "scripts/cluster"
OPTIONS = ("--format", "wds", "--shard-samples", "20")


def run(*command, **environment):
    env = {**os.environ, "PACKHORSE": str(PACKHORSE), **environment}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout


def check(tmp_path, out):
    pack(SHAPES, tmp_path / "whole", *OPTIONS)
    assert tree(out) == tree(tmp_path / "whole")


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


def test_without_arguments_the_scripts_say_how_to_use_them():
    for script in ("pack_slurm.sh", "pack_xargs.sh", "train_slurm.sh"):
        done = subprocess.run([CLUSTER / script], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and f"scripts/cluster/{script} " in done.stdout
