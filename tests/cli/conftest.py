import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


@pytest.fixture(autouse=True)
def no_program_outlives_its_test():
    from python_support import end_all_started

    yield
    end_all_started()
