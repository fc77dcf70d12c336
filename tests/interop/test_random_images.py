"""Damaged image files show what Pillow and tifffile show, or are refused: a short run of random_images.py."""

import pytest
import random_images


@pytest.mark.parametrize("kind", random_images.KINDS)
def test_damaged_files_are_shown_right_or_refused(kind):
    counts = random_images.compare(kind, 300)
    assert counts["DIFFERENT"] == 0, counts
    assert counts["the same"] > 20, counts
