"""A Slurm of the tests' own, started once."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from slurm import Missing, Slurm  # noqa: E402


@pytest.fixture(scope="session", name="slurm")
def slurm_fixture(tmp_path_factory):
    try:
        with Slurm(tmp_path_factory.mktemp("slurm")) as slurm:
            yield slurm
    except Missing as missing:
        pytest.skip(f"no Slurm of one's own: {missing}")
