"""What the Python tests of all folders share: which of them are thorough, how long each took, and what was skipped."""

import fcntl
import json
import os
import shutil
from pathlib import Path

import pytest

import skips

# Set before anything starts packhorse-train, which would start itself over to set it, and before torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
TESTS = Path(__file__).resolve().parent
# Whole folders that only `scripts/test --all` runs. Elsewhere single tests are marked.
THOROUGH = ("bench", "cluster", "docs", "remote", "scripts")


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # a worker of pytest-xdist, whose main process gets all reports
        config.pluginmanager.register(Notes())


def is_thorough(path):
    return path.is_relative_to(TESTS) and path != TESTS and path.relative_to(TESTS).parts[0] in THOROUGH


def pytest_ignore_collect(collection_path, config):
    # They import what only `scripts/setup --all` installs.
    return True if config.option.markexpr == "not thorough" and is_thorough(collection_path) else None


def pytest_collection_modifyitems(items):
    for item in items:
        if is_thorough(item.path):
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(autouse=True)
def no_program_outlives_its_test():
    from python_support import end_all_started

    yield
    end_all_started()


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """made_once(name, make): a folder that make(folder) has filled, once for all tests and all workers. It is only read."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root

    def made(name, make):
        folder = root / f"made-{name}"
        with open(root / f"made-{name}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                unfinished = root / f"made-{name}.unfinished"
                shutil.rmtree(unfinished, ignore_errors=True)  # of a test whose make() has failed
                unfinished.mkdir()
                make(unfinished)
                unfinished.rename(folder)
        return folder

    return made


@pytest.fixture(scope="session")
def packed_shapes(made_once):
    """packed_shapes(layout): samples/shapes packed with the defaults, as train and val. It is only read."""
    from python_support import SHAPES, pack

    return lambda layout: made_once(f"shapes-{layout}", lambda folder: pack(SHAPES, folder / "packed", "--format", layout)) / "packed"


CPU = {"seconds": 0.0}


def cpu_seconds():
    """What this process and those that it has waited for have used."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    now = cpu_seconds()
    report.cpu_seconds, CPU["seconds"] = now - CPU["seconds"], now
    return report


def pytest_sessionstart():
    CPU["seconds"] = cpu_seconds()


class Notes:
    """Writes what scripts/test lists at its end: skips, and the time of each test."""

    def __init__(self):
        self.failed = []

    def pytest_runtest_logreport(self, report):
        self.note_skip(report)
        if report.failed:
            self.failed.append(report.nodeid)
        if times := os.environ.get("PACKHORSE_TIMES"):
            row = {"test": f"tests/{report.nodeid}", "part": report.when, "seconds": round(report.duration, 3),
                   "cpu_seconds": round(report.cpu_seconds, 3), "outcome": report.outcome}  # fmt: skip
            with open(times, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    def note_skip(self, report):
        if report.skipped and not hasattr(report, "wasxfail"):
            _, _, reason = report.longrepr
            skips.note(report.nodeid, reason.removeprefix("Skipped: "))

    def pytest_collectreport(self, report):
        self.note_skip(report)
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter):
        for test in dict.fromkeys(self.failed):
            terminalreporter.write_line(f"run it alone: scripts/test 'tests/{test}'")
