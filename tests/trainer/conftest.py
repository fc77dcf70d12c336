"""One CPU and one thread for LibTorch: with more threads than free cores, a training takes twice the CPU time."""

import os
import sys

import pytest

# packhorse-train starts over to set these. They are read when LibTorch is loaded, so before any test imports it.
SETTINGS = {"OMP_WAIT_POLICY": "passive", "TORCH_CPP_LOG_LEVEL": "FATAL"}


@pytest.fixture(scope="module", autouse=True)
def one_cpu():
    """This process and the programs that it starts; another worker of pytest-xdist takes another CPU."""
    cpus = os.sched_getaffinity(0)
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else 0
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        os.sched_setaffinity(0, {sorted(cpus)[worker % len(cpus)]})
        if torch:
            torch.set_num_threads(1)
        yield
        os.sched_setaffinity(0, cpus)
        if torch:
            torch.set_num_threads(threads)
