"""Every command in README.md and docs/ runs and prints what the page says, unless the output depends on the machine."""

import json
import os
import re
import shlex
import shutil
import subprocess

import pytest
from python_support import BIN, ROOT

PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if page.exists() and re.search(r"^\$ ", page.read_text(), re.M)
]
BLOCK = re.compile(r"^```(?:console|sh|bash)\n(.*?)^```$", re.M | re.S)

RUN = ("packhorse ", "packhorse-train ")
# The tests run these themselves, or they are much too long for a test: only the files they name must exist.
NAMED_ONLY = ("scripts/", "./scripts/", "cmake ", "ctest ", "sudo ", "cd ", "git ")


def session(page):
    """(command, lines printed) for each line of the page's console blocks that begins with `$ `."""
    steps = []
    for block in BLOCK.findall(page.read_text()):
        steps_before = len(steps)
        lines = block.splitlines()
        while lines:
            line = lines.pop(0)
            if line.startswith("$ "):
                while line.endswith("\\") and lines:
                    line = line[:-1] + lines.pop(0).removeprefix(">")
                steps.append((line[2:], []))
            elif len(steps) > steps_before:
                steps[-1][1].append(line)
    return steps


def presets():
    described = json.loads((ROOT / "CMakePresets.json").read_text())
    return {
        p["name"]
        for kind in ("configurePresets", "workflowPresets")
        for p in described[kind]
        if not p.get("hidden")
    }


def check_named(command):
    for word in shlex.split(command):
        if word.startswith(("scripts/", "./scripts/")):
            assert os.access(ROOT / word, os.X_OK), f"{command}: there is no program {word}"
    for preset in re.findall(r"--preset[= ](\S+)", command):
        assert preset in presets(), f"{command}: there is no preset {preset}"


def masked(line):
    """A line without its times, and without the versions of the LMDB and HDF5 libraries."""
    line = re.sub(r"\d+\.\d\d s\b", "TIME", line)
    if "wds" not in line:
        line = re.sub(r"id [0-9a-f]{12}|[\d.]+ \w+ out", "DIFFERS", line)
    return line


def is_steady(command):
    """Whether the command prints the same on every machine, apart from times."""
    return (
        command.startswith("packhorse ")
        and command.split()[1] in ("pack", "inspect", "unpack")
        and "|" not in command
    )


def test_the_readme_shows_a_session():
    page = ROOT / "README.md"
    if not page.exists():
        pytest.skip("README.md is not written yet")
    assert len([c for c, _ in session(page) if c.startswith("packhorse ")]) >= 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_the_page_runs(page, tmp_path):
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}")
    steps, missing = session(page), set()
    for command, printed in steps:
        program = command.split()[0]
        if command.startswith(NAMED_ONLY):
            check_named(command)
            continue
        assert command.startswith(RUN), f"{page.name}: no test knows how to check `{command}`"
        if not (BIN / program).exists():
            missing.add(program)
            continue
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        while printed and printed[-1] == "":  # before the next prompt
            printed.pop()
        if printed and is_steady(command):
            assert [masked(line) for line in done.stdout.splitlines()] == [
                masked(line) for line in printed
            ], command
    if missing:
        pytest.skip(f"{page.name}: not built here: {', '.join(sorted(missing))}")
    assert steps, f"{page.name}: its lines with `$ ` stand in no console block"
