"""Every command in README.md runs and prints what it says there, unless the output depends on the machine. (tests/docs
does the same with the other pages.)"""

import json
import os
import re
import shlex
import shutil
import subprocess

import pytest
from python_support import BIN, ROOT

BLOCK = re.compile(r"^```(?:console|sh|bash)\n(.*?)^```$", re.M | re.S)
RUN = ("packhorse ", "packhorse-train ")
# Other tests run these, or they are much too long for a test: only the files they name must exist.
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
    found = [*described["configurePresets"], *described["workflowPresets"]]
    return {preset["name"] for preset in found if not preset.get("hidden")}


def check_named(command):
    for word in shlex.split(command):
        if word.startswith(("scripts/", "./scripts/")):
            assert os.access(ROOT / word, os.X_OK), f"{command}: there is no program {word}"
    for preset in re.findall(r"--preset[= ](\S+)", command):
        assert preset in presets(), f"{command}: there is no preset {preset}"


def masked(line):
    """A line without its times, and without what depends on the versions of the LMDB and HDF5 libraries."""
    line = re.sub(r"\d+\.\d\d s\b", "TIME", line)
    if "wds" not in line:
        line = re.sub(r"id [0-9a-f]{12}|[\d.]+ \w+ out", "DIFFERS", line)
    return line


def is_steady(command):
    """Whether the command prints the same on every machine, apart from times."""
    return re.match("packhorse (pack|inspect|unpack) ", command) and "|" not in command


def check_commands(page, folder):
    """Runs the page's commands in a folder with our samples."""
    shutil.copytree(ROOT / "samples", folder / "samples")
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}")
    steps, missing = session(page), set()
    assert steps, f"{page.name}: its lines with `$ ` stand in no console block"
    for command, printed in steps:
        program = command.split()[0]
        if command.startswith(NAMED_ONLY):
            check_named(command)
            continue
        assert command.startswith(RUN), f"{page.name}: no test knows how to check `{command}`"
        if not (BIN / program).exists():
            missing.add(program)
            continue
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        if is_steady(command):
            while printed and printed[-1] == "":  # before the next prompt
                printed.pop()
            said = done.stdout.splitlines()
            if printed and printed[-1] == "...":  # the page shows the first lines
                printed.pop()
                assert len(printed) < len(said), f"{command}: there is nothing that ... stands for"
                said = said[: len(printed)]
            assert not printed or [*map(masked, said)] == [*map(masked, printed)], command
    if missing:
        pytest.skip(f"{page.name}: not built here: {', '.join(sorted(missing))}")


def test_every_command_of_the_readme_runs_and_prints_what_it_shows(tmp_path):
    page = ROOT / "README.md"
    assert len([command for command, _ in session(page) if command.startswith("packhorse ")]) >= 4
    check_commands(page, tmp_path)
