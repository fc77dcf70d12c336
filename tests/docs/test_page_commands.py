"""Every command in docs/ runs and prints what the page says, unless the output depends on the machine. README.md has
its test in tests/cli; the commands of docs/demo.md are those that scripts/demo runs (tests/scripts)."""

import re

import pytest
from python_support import ROOT
from test_readme_commands import check_commands

PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.name != "demo.md" and re.search(r"^\$ ", page.read_text(), re.M)
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_the_page_runs(page, tmp_path):
    check_commands(page, tmp_path)
