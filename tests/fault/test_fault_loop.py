"""A short, even choice of the faults of fault_loop.py: see there what each must end with."""

import fault_loop
import pytest

STRIDE = 400


def test_every_nth_fault_kill_and_failed_allocation_leaves_the_old_or_the_new_state(tmp_path):
    if not fault_loop.PRELOAD.exists():
        pytest.fail(f"{fault_loop.PRELOAD} is not built")
    tally = fault_loop.loop(tmp_path, stride=STRIDE)
    assert tally.violations == []
    assert sum(tally.ended.values()) > 40, tally.table()
