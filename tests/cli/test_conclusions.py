"""docs/benchmarks.md: each figure of a conclusion is one of the tables that the conclusion links to."""

import re
import runpy
from pathlib import Path

import pytest
from python_support import ROOT

CHECK = runpy.run_path(str(ROOT / "scripts/check"))
PAGE = "docs/benchmarks.md"
TEXT = (ROOT / PAGE).read_text()
CONCLUSIONS = re.findall(r"^- .*(?:\n  .*)*", TEXT, re.M)
LINKS = dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", TEXT, re.M))


def figures(text):
    """The numbers in a text, but not those that are a part of a name: CIFAR-10, sha256sum."""
    return set(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", re.sub(r"[A-Za-z]\w*-?\d+\w*", "", text)))


def section(link):
    """What stands from the heading that a link names to the next one, or the whole page."""
    path, _, anchor = link.partition("#")
    page = str(Path(PAGE).parent / path)
    lines = (ROOT / page).read_text().splitlines()
    if not anchor:
        return "\n".join(lines)
    starts = [number - 1 for number, line in CHECK["prose"](page) if re.match("#{1,6} ", line)]
    place = list(CHECK["anchors"](page)).index(anchor)
    return "\n".join(lines[starts[place] : (*starts, None)[place + 1]])


@pytest.mark.parametrize("conclusion", CONCLUSIONS, ids=lambda text: re.sub(r"\W+", " ", text)[1:30])
def test_every_figure_of_a_conclusion_is_in_the_tables_it_links_to(conclusion):
    references = re.findall(r"\]\[([\w-]+)\]", conclusion)
    measured = "".join(section(LINKS[reference]) for reference in references)
    claimed = figures(re.sub(r"\]\[[\w-]+\]|\]\([^)]*\)", "]", conclusion))
    assert references or not claimed, "nothing says where its figures are from"
    assert claimed <= figures(measured), f"not in the tables: {sorted(claimed - figures(measured))}"


def test_the_page_has_conclusions_with_figures():
    assert sum(len(figures(conclusion)) > 1 for conclusion in CONCLUSIONS) > 20
