"""Every command in README.md runs and prints what it says there; of what depends on the machine, the words are compared.
(tests/docs does the same with the other pages.)"""

import json
import os
import re
import shlex
import shutil
import subprocess

import pytest
from python_support import BIN, ROOT, photos

BLOCK = re.compile(r"^```(?:console|sh|bash)\n(.*?)^```$", re.M | re.S)
RUN = ("packhorse ", "packhorse-train ")
# Other tests run these, or they are much too long for a test: only the files they name must exist.
NAMED_ONLY = ("scripts/", "./scripts/", "cmake ", "ctest ", "sudo ", "cd ", "git ")


def session(page):
    """(command, lines printed) for each line of the page's console blocks that begins with `$ `."""
    return [step for block in BLOCK.findall(page.read_text()) for step in steps_of(block)]


def steps_of(block):
    steps, lines = [], block.splitlines()
    while lines:
        line = lines.pop(0)
        if line.startswith("$ "):
            while line.endswith("\\") and lines:
                line = line[:-1] + lines.pop(0).removeprefix(">")
            steps.append((line[2:], []))
        elif steps:
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


def numberless(line):
    """A line of what depends on the machine: its words. ~ marks a figure that varies much."""
    return " ".join(re.sub(r"~?-?\d[\d,]*(\.\d+)?~?", "N", line).split())


def check_printed(command, printed, shown):
    """Whether a command prints what the page shows, where a line ... stands for one line or more."""
    same = numberless if re.match("packhorse bench|packhorse-train", command) else masked
    said = [same(line) for line in printed.splitlines() if line.strip()]
    lines = [line if line == "..." else same(line) for line in shown if line.strip()]
    place = 0
    for i, line in enumerate(lines):
        if line == "...":
            place += 1
            assert place <= len(said), f"$ {command}\nprints nothing that the last ... stands for"
        elif i and lines[i - 1] == "...":
            assert line in said[place:], f"$ {command}\nprints no such line any more: {line}\n{printed}"
            place = said.index(line, place) + 1
        else:
            assert said[place : place + 1] == [line], f"$ {command}\nprints no such line here: {line}\n{printed}"
            place += 1
    assert not lines or lines[-1] == "..." or place == len(said), f"$ {command}\nprints more than the page shows: {said[place]}"


def photos_of(command):
    """The datasets of real photos that a command names: (name in the page, folder)."""
    places = {"cifar10": "cifar10", "bccd": "bccd/bccd"}
    return [(name, photos(places[name])) for name in places if name in command.split()]


def check_commands(page, folder):
    """Runs the page's commands in a folder with the samples, and compares what they print with what the page shows."""
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
        for name, place in photos_of(command):
            if not (folder / name).exists():
                (folder / name).symlink_to(place)
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, f"$ {command}\n{done.stdout}"
        check_printed(command, done.stdout, printed)
    if missing:
        pytest.skip(f"{page.name}: not built here: {', '.join(sorted(missing))}")


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_every_command_of_the_readme_runs_and_prints_what_it_shows(tmp_path):
    page = ROOT / "README.md"
    assert len([command for command, _ in session(page) if command.startswith("packhorse ")]) >= 4
    check_commands(page, tmp_path)
