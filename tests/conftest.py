import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import skips


@pytest.fixture(autouse=True)
def no_program_outlives_its_test():
    from python_support import end_all_started

    yield
    end_all_started()


def note_if_skipped(report):
    if report.skipped and not hasattr(report, "wasxfail"):
        _, _, reason = report.longrepr
        skips.note(report.nodeid, reason.removeprefix("Skipped: "))


pytest_runtest_logreport = note_if_skipped
pytest_collectreport = note_if_skipped
