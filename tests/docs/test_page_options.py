"""Every option of a command that a page shows is one that the command takes."""

import re
import subprocess

import pytest
from python_support import BIN, ROOT

PAGES = [ROOT / "README.md", ROOT / "AGENTS.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "changes").glob("*.md"))]
OPTION = r"(?<![\w-])--[a-z0-9][a-z0-9-]*"


def help_of(*command, flag="--help-all"):
    return subprocess.run([*command, flag], capture_output=True, text=True, check=True).stdout


def options(program):
    """{subcommand: its options}"""
    text = help_of(BIN / program, flag="--help")
    names = re.findall(r"^  ([a-z-]+) {2,}\S", text[text.index("Subcommands:") :], re.M)
    return {name: set(re.findall(OPTION, help_of(BIN / program, name))) for name in names}


@pytest.mark.parametrize("program", ["packhorse", "packhorse-train"])
def test_every_option_that_a_page_shows_is_one_of_the_command(program):
    if not (BIN / program).exists():
        pytest.skip(f"{program} is not part of this build")
    known, wrong, shown = options(program), [], 0
    for page in PAGES:
        text = re.sub(r"\\\n", " ", page.read_text())
        for command in re.findall(rf"(?:^|[ `]){program} +([^`\n]*)", text, re.M):
            name, _, rest = command.partition(" ")
            if name in known:
                used = re.findall(OPTION, re.sub(r"'[^']*'| #.*| -- .*", "", rest))
                shown += len(used)
                wrong += [f"{page.relative_to(ROOT)}: {program} {name} {option}" for option in used if option not in known[name]]
    assert not wrong and shown > 20
