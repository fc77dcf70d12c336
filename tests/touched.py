"""Chooses tests: those that were named, or those that a change since a commit can touch.

A test program is touched by the files that it was compiled from, as ninja knows them; a Python test by its own file, and by
the programs that the tests of its folder start. A file that is none of these touches everything.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
# What the Python tests of a folder start, as targets of ninja, beside bin/packhorse; and what else they read.
PROGRAMS = {
    "cli": ["bin/packhorse-train", "bin/core_reads"],
    "fault": ["bin/packhorse-train", "bin/packhorse_faults.so", "bin/damage_shards"],
    "interop": ["python/all", "bin/reader_probe", "bin/placement_probe", "bin/objects_probe", "bin/scores_probe"],
    "python": ["python/all", "bin/epoch_probe", "bin/placement_probe"],
    "remote": ["python/all", "bin/packhorse-train"],
    "trainer": ["bin/packhorse-train", "bin/model_probe", "bin/detect_probe"],
    "bench": ["all"],
    "cluster": ["all"],
    "docs": ["all"],
    "scripts": ["all"],
}
READS = {"bench": ("bench/", "docs/"), "cli": ("README.md", "docs/sources.md", "tests/cli/more_layouts.md"),
         "cluster": ("scripts/cluster/",),
         "docs": ("docs/", "README.md", "AGENTS.md", "CHANGELOG.md", "changes/", "mkdocs.yml", "scripts/", "python/packhorse/"),
         "python": ("python/packhorse/", "docs/examples/", "docs/python-training.md"),
         "scripts": ("scripts/", "Containerfile"),
         "trainer": ("docs/schemas/", "docs/grafana/", "docs/examples/")}  # fmt: skip
TOUCHES_NOTHING = re.compile(r".*\.md|LICENSE|\.git.*|\.clang.*")
TOUCHES_ALL = re.compile(r".*CMake.*|.*\.cmake|scripts/(setup|packages\.txt|requirements.*)|tests/[^/]*|tests/support/.*")


@dataclass
class Chosen:
    programs: set | None  # names of ctest; None: all
    files: list  # for pytest

    def as_ctest(self):
        if self.programs is None:
            return ()
        return ("--tests-regex", f"^({'|'.join(sorted(self.programs)) or 'none'})$", "--no-tests=ignore")


def ninja(*arguments):
    return subprocess.run(["ninja", "-C", BUILD, "-t", *arguments], capture_output=True, text=True, check=True).stdout


def own(name):
    """A path of ninja's relative to the project, or None for a file of the system, of a package, or made by the build."""
    path = os.path.relpath(os.path.join(BUILD, name), ROOT)
    return None if path.startswith(("..", ".venv", "build")) else path


def headers_of():
    """object file -> the files of the project that it was compiled from"""
    found, files = {}, set()
    for line in ninja("deps").splitlines():
        if line.startswith("    "):
            files.add(own(line.strip()))
        elif line:
            files = found.setdefault(line.partition(":")[0], set())
    return found


def sources_of(target, headers):
    """The files of the project that a target of ninja is made of."""
    return {name for step in ninja("inputs", target).splitlines() for name in {own(step), *headers.get(step, ())} if name}


def changed_since(commit):
    def git(*arguments):
        return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout.split("\0")

    return set(filter(None, [*git("diff", "--name-only", "-z", commit), *git("ls-files", "-o", "--exclude-standard", "-z")]))


def test_programs():
    """name of ctest -> the target of ninja that it is about; all of them where its command names none"""
    listed = subprocess.run(["ctest", "-N", "-V"], cwd=BUILD, capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^\d+: Test command: (.*)\n(?:.*\n)*?\s+Test\s+#\d+: (\S+)", listed, re.M)
    found = {name: re.search(rf"{re.escape(str(BUILD))}/(bin/[\w-]+)", command) for command, name in commands}
    return {name: place[1] if place else "all" for name, place in found.items()}


def is_touched(folder, file, changed, sources):
    if str(file.relative_to(ROOT)) in changed:
        return True
    if any(name.startswith(READS.get(folder, ())) for name in changed):
        return True
    beside = {name for name in changed if name.startswith(f"tests/{folder}/") and not Path(name).name.startswith("test_")}
    return bool(beside) or any(sources(target) & changed for target in ["bin/packhorse", *PROGRAMS[folder]])


def python_files():
    return [(folder, file) for folder in PROGRAMS for file in sorted((ROOT / "tests" / folder).glob("test_*.py"))]


def since(commit):
    changed = changed_since(commit)
    headers, known = headers_of(), {}

    def sources(target):
        if target not in known:
            known[target] = sources_of(target, headers)
        return known[target]

    programs = {name for name, target in test_programs().items() if sources(target) & changed}
    files = [str(file) for folder, file in python_files() if is_touched(folder, file, changed, sources)]
    known_to_tests = (*(f"tests/{folder}/" for folder in PROGRAMS), *(prefix for read in READS.values() for prefix in read))
    for name in sorted(changed):
        explained = name in sources("all") or name.startswith(known_to_tests) or TOUCHES_NOTHING.fullmatch(name)
        if TOUCHES_ALL.fullmatch(name) or not explained:
            print(f"test: all tests, since {name} may touch any", flush=True)
            return Chosen(None, ["tests"])
    print(f"test: {len(changed)} files have changed since {commit}: {len(programs)} test programs, {len(files)} Python files", flush=True)
    return Chosen(programs, files)


def is_pytest(path):
    """Whether it is a file or a folder of tests: programs are called like folders of the code."""
    return path.is_relative_to(ROOT / "tests") and (path.suffix == ".py" or path.is_dir())


def chosen(tests, commit):
    if commit:
        return since(commit)
    if not tests:
        return Chosen(None, ["tests"])
    files = [test for test in tests if is_pytest(Path(ROOT, test.partition("::")[0]))]
    programs, known = set(tests) - set(files), test_programs()
    if unknown := programs - known.keys():
        sys.exit(f"test: there is no test {', '.join(sorted(unknown))}\n  next: give a file of tests/, or one of: {', '.join(sorted(known))}")
    return Chosen({re.escape(name) for name in programs}, files)
