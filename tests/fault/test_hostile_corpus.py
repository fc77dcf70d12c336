"""Hostile inputs end in one verdict: no signal, no hang, at most 512 MiB, and writes only where they are allowed.

tests/fault/make_hostile writes the corpus, and gives each input to all the commands it concerns. Here each meets one or
two of them, in turn."""

import pytest
from hostile import corpus
from hostile.run import run_entry

EVERY = 9  # of each kind, one in so many is for the fast tests, the others are for the thorough ones


def words_of(entry, ending, wrong):
    return f"{entry.name}: {wrong}: {ending}\n{ending.err.decode(errors='backslashreplace')[-500:]}"


@pytest.mark.parametrize("kind", ["image", "archive", "shard", "dataset"])
@pytest.mark.parametrize("part", ["some", pytest.param("others", marks=pytest.mark.thorough)])
def test_hostile_inputs_end_in_a_verdict(kind, part, tmp_path):
    entries = [entry for entry in corpus() if entry.kind == kind]
    for number, entry in enumerate(entries):
        if (number % EVERY == 0) == (part == "some"):
            endings, wrong = run_entry(entry, tmp_path / "corpus", number)
            assert endings and not wrong, "\n".join(words_of(entry, *one) for one in wrong)
