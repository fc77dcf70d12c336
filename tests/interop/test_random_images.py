"""Damaged image files show what Pillow, tifffile and the libraries' programs show, or are refused: a short run of
random_images.py."""

import pytest
import random_images

KINDS = [pytest.param(kind, marks=pytest.mark.thorough) if kind in random_images.PROGRAMS else kind for kind in random_images.KINDS]


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_shown_right_or_refused(kind):
    counts = random_images.compare(kind, 300)
    assert counts["DIFFERENT"] == 0, counts
    assert counts["the same"] > 10, counts
