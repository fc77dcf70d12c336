"""Hostile inputs end in one verdict: no signal, no hang, at most 512 MiB, and writes only where they are allowed.

tests/fault/make_hostile writes the corpus and measures it."""

import pytest
from hostile import corpus
from hostile.run import run_entry

ENTRIES = corpus()


def words_of(ending, wrong):
    return f"{wrong}: {ending}\n{ending.err.decode(errors='backslashreplace')[-500:]}"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_hostile_input_ends_in_a_verdict(entry, tmp_path):
    endings, wrong = run_entry(entry, tmp_path / "corpus")
    assert endings and not wrong, "\n".join(words_of(*one) for one in wrong)
