"""A Slurm of the tests' own, and an S3 server, each started once."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "remote")]

import servers  # noqa: E402
from slurm import Missing, Slurm  # noqa: E402


@pytest.fixture(scope="session", name="slurm")
def slurm_fixture(tmp_path_factory):
    try:
        with Slurm(tmp_path_factory.mktemp("slurm")) as slurm:
            yield slurm
    except Missing as missing:
        pytest.skip(f"no Slurm of one's own: {missing}")


@pytest.fixture(scope="session", name="seaweed")
def seaweed_fixture(tmp_path_factory):
    try:
        with servers.Seaweed(tmp_path_factory.mktemp("seaweed")) as server:
            yield server
    except servers.Missing as missing:
        pytest.skip(str(missing))
