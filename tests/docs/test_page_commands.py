"""Every command in a console block of docs/ and AGENTS.md runs and prints what the page says. README.md has its test in
tests/cli."""

import re

import pytest
from python_support import ROOT
from test_readme_commands import check_commands

PAGES = [page for page in [ROOT / "AGENTS.md", *sorted((ROOT / "docs").rglob("*.md"))]
         if re.search(r"^\$ ", page.read_text(), re.M)]  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_the_page_runs(page, tmp_path):
    check_commands(page, tmp_path)
