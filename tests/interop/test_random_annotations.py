"""Random annotation sets in odd forms: packhorse refuses each, or reads what an independent reader does."""

import os

import random_annotations
from python_support import BIN


def test_random_sets_are_refused_or_read_as_others_read_them(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "PACKHORSE_BIN", str(BIN))
    counts = random_annotations.run(300, 53, tmp_path)
    for states in counts.values():  # a generator of nothing but nonsense proves nothing
        assert sum(states.values()) == 300 and min(states.values()) > 50, counts
