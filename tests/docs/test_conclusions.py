"""docs/benchmarks.md and README.md: each figure is one of the tables that its conclusion, or its row, links to."""

import re
import runpy
from pathlib import Path

import pytest
from python_support import ROOT

CHECK = runpy.run_path(str(ROOT / "scripts/check"))
CONCLUSION = r"^- .*(?:\n  .*)*"
ROW = r"^\|.*\]\[.*$"


def claims(page, pattern):
    """(page, text) of all that claims figures in a page."""
    return [(page, text) for text in re.findall(pattern, (ROOT / page).read_text(), re.M)]


CLAIMS = [*claims("docs/benchmarks.md", CONCLUSION), *claims("README.md", CONCLUSION), *claims("README.md", ROW)]


def figures(text):
    """The numbers in a text, but not those that are a part of a name: CIFAR-10, sha256sum."""
    return set(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", re.sub(r"[A-Za-z]\w*-?\d+\w*", "", text)))


def links(page):
    return dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", (ROOT / page).read_text(), re.M))


def section(page, link):
    """What stands from the heading that a page's link names to the next one, or the whole page that it names."""
    path, _, anchor = link.partition("#")
    page = str(Path(page).parent / path)
    lines = (ROOT / page).read_text().splitlines()
    if not anchor:
        return "\n".join(lines)
    starts = [number - 1 for number, line in CHECK["prose"](page) if re.match("#{1,6} ", line)]
    place = list(CHECK["anchors"](page)).index(anchor)
    return "\n".join(lines[starts[place] : (*starts, None)[place + 1]])


@pytest.mark.parametrize("page, claim", CLAIMS, ids=lambda text: re.sub(r"\W+", " ", text)[1:30])
def test_every_figure_of_a_conclusion_is_in_the_tables_it_links_to(page, claim):
    references = re.findall(r"\]\[([\w-]+)\]", claim)
    measured = "".join(section(page, links(page)[reference]) for reference in references)
    claimed = figures(re.sub(r"\]\[[\w-]+\]|\]\([^)]*\)", "]", claim))
    assert references or not claimed, "nothing says where its figures are from"
    assert claimed <= figures(measured), f"not in the tables: {sorted(claimed - figures(measured))}"


def test_the_pages_have_conclusions_with_figures():
    several = [page for page, claim in CLAIMS if len(figures(claim)) > 1]
    assert several.count("docs/benchmarks.md") > 20
    assert several.count("README.md") > 3
