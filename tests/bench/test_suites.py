"""The benches of suites: each runs, on a few pictures, and its tables are those of its page. Of other loaders those take
part that the Python of the tests can import. No test asserts a time."""

import dataclasses
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from bench_support import DALI, call, copied, heads, photos_and_cells
from python_support import BIN, FORMATS, PACKHORSE, ROOT, SHAPES

pytest.importorskip("torchvision")

IMAGES = 40
PIL = "ImageFolder + PIL"


@dataclasses.dataclass(frozen=True)
class Case:
    """A suite of a bench, some of its contenders, how many files the whole suite has, and options that make it short."""

    bench: str
    page: str
    suite: str
    only: tuple
    count: int
    options: tuple = ()
    images: int = IMAGES


SHORT = ("--seconds", "0.01")
OURS, CPP, NOTHING = "packhorse.Loader", "packhorse bench (C++)", "no reading: one batch again and again"
CASES = {
    "pack": Case("pack", "packing.md", "photos", ("wds", "tar", "webdataset", "py-lmdb", "h5py"), 10_000),
    "reader": Case("reader", "reading.md", "overhead", ("wds", "no loader, wds"), 2000, SHORT),
    "peers": Case(
        "peers", "peers.md", "photos",
        (PIL, "LMDB + torchvision.io", "FFCV", f"{OURS} wds roi", "packhorse folder", "packhorse wds roi"),
        10_000, SHORT,
    ),
    "python": Case("python", "python.md", "photos", (CPP, OURS, "packhorse.Dataset", PIL), 800, SHORT),
    "python kinds": Case("python", "python.md", "png-16", (OURS, "ImageFolder + all bands"), 200, SHORT),
    "python training": Case("python", "python.md", "training", (OURS, PIL, NOTHING), 60_000),
    "detection": Case(
        "detection", "detection.md", "letterbox", ("packhorse", "packhorse, without objects", "torchvision v2"), 410, SHORT
    ),
    "scale": Case("scale", "scale.md", "opening", ("10,000 in 2",), 10_000, images=1000),
    "scale packing": Case(
        "scale", "scale.md", "packing", ("1,000,000, 1GiB", "10,000,000, 128MiB"), 1_000_000, images=1000
    ),
    "remote": Case(
        "remote", "remote.md", "small-object-1ms", ("curl, 1 connection", "packhorse copy"), 256, ("--mbit", "8000"), 1
    ),
}  # fmt: skip


@pytest.fixture(scope="module", name="benches")
def benches_fixture(tmp_path_factory):
    """A copy of bench/, whose environment of other loaders is the Python of the tests, where FFCV cannot be imported."""
    return copied(tmp_path_factory.mktemp("copy") / "bench")


@pytest.fixture(scope="module", name="environment")
def environment_fixture(tmp_path_factory):
    """Archives of the names that the benches read, of our own pictures."""
    data = photos_and_cells(tmp_path_factory.mktemp("data"))
    return {**os.environ, "PACKHORSE_BIN": str(BIN), "PACKHORSE_DATA": str(data), "OMP_NUM_THREADS": "1"}


def run(benches, case, scratch, only=None, env=None, suite=None, count=None, images=None):
    """Runs some contenders of a suite once; returns its results."""
    where = ["--data", scratch / "disk", "--photos", SHAPES / "train"]
    scale = (images or case.images) / (count or case.count)
    words = [suite or case.suite, "--only", ";".join(only or case.only), "--json", scratch / "results.json"]
    short = ["--packhorse", PACKHORSE, "--repeats", "1", "--jobs", "1", "--scale", scale, *case.options]
    done = call(benches, case.bench, "run", *words, *where, *short, env=env)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((scratch / "results.json").read_text())["suites"]
    return found


def runs_of(suite):
    """The one run of each contender."""
    assert [entry["failed"] for entry in suite["entries"]] == [None] * len(suite["entries"]), suite
    return {entry["name"]: entry["runs"][0] for entry in suite["entries"]}


def report(benches, case, suite, folder, *options):
    """What the bench makes of results."""
    file = folder / "changed.json"
    file.write_text(json.dumps({"bench": case.bench, "schema": 1, "suites": [suite]}))
    return call(benches, case.bench, "report", file, *options)


def sections(text):
    """The tables' heads of each suite in a page."""
    parts = re.split(r"^### `([\w-]+)`: .*$", text, flags=re.M)
    return {name: heads(body) for name, body in zip(parts[1::2], parts[2::2])}


@pytest.mark.parametrize("name", CASES)
def test_a_suite_runs_and_its_tables_are_those_of_its_page(name, benches, environment, tmp_path_factory):
    case, tmp_path = CASES[name], tmp_path_factory.mktemp("b")  # a short name: sockets of a server have theirs in it
    suite = run(benches, case, tmp_path, env=environment)
    assert (suite["name"], suite["repeats"]) == (case.suite, 1) and suite["machine"]["cpus"] >= 1
    assert suite["only"] == [entry["name"] for entry in suite["entries"]] == list(case.only)
    for entry in suite["entries"]:
        if entry["name"] == "FFCV":
            assert entry["failed"] == "not installed: ImportError: there is no FFCV here" and entry["runs"] == []
            continue
        assert entry["failed"] is None, entry
        (one,) = entry["runs"]
        assert one["foreign_cpus"] >= 0 and "cache_as_asked" in one
        assert one[suite["field"]] > 0
        if len(suite["folders"]) == 1 and "samples" in one:
            assert one["samples"] == suite["folders"][0]["files"]
    assert all("value" in row for row in suite["rows"])
    page = tmp_path / "page.md"
    old = (ROOT / "docs/measured" / case.page).read_text()
    page.write_text(old)
    # A measurement in part, or too short, is no page's.
    assert "measured in part only" in report(benches, case, suite, tmp_path, "--write", page).stderr
    whole = suite | {"scale": 1.0, "only": []}
    assert "measured in fewer than" in report(benches, case, whole, tmp_path, "--write", page).stderr
    assert page.read_text() == old
    done = report(benches, case, whole | {"repeats": 5}, tmp_path, "--write", page)
    assert done.returncode == 0, done.stderr
    new = page.read_text()
    begin, end = f"<!-- {case.bench} bench: begin -->", f"<!-- {case.bench} bench: end -->"
    assert (new.split(begin)[0], new.split(end)[1]) == (old.split(begin)[0], old.split(end)[1])
    written = sections(new.split(begin)[1].split(end)[0])
    assert list(written) == [case.suite] and written[case.suite]
    for head in written[case.suite]:
        assert any(set(head) <= set(known) for known in sections(old)[case.suite]), head


PARSE = """
import runpy, shlex, sys
bench, *commands = sys.argv[1:]
sys.path.insert(0, bench)
from pathlib import Path
bench = runpy.run_path(bench + "/__main__.py", run_name="bench")["BENCH"]
from common import program
for command in commands:
    program.parse(bench, shlex.split(command))
print(*bench.suites)
"""


@pytest.mark.parametrize("name", sorted({case.bench for case in CASES.values()}))
def test_every_command_of_the_page_is_one_the_bench_takes_and_every_suite_is_in_it(name):
    page = next(case.page for case in CASES.values() if case.bench == name)
    text = (ROOT / "docs/measured" / page).read_text()
    commands = re.findall(rf"^python3 bench/{name} (.*?)(?: +#.*)?$", text, re.M)
    assert len(commands) >= 3
    command = [sys.executable, "-c", PARSE, str(ROOT / "bench" / name), *commands]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f"`{suite}`" in text or f"`{suite}" in text for suite in done.stdout.split())


def test_a_folder_that_another_bench_is_at_work_in_is_left_alone(benches, tmp_path):
    taken = tmp_path / "packhorse-bench"
    taken.mkdir()
    folder = os.open(taken, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    options = ["--only", "packhorse folder", "--packhorse", PACKHORSE, "--data", tmp_path, "--scale", "0.001"]
    options += ["--repeats", "1", "--seconds", "0.01", "--photos", SHAPES / "train"]
    done = call(benches, "peers", "run", "photos", *options)
    os.close(folder)
    assert done.returncode == 1 and f"another bench is at work in {taken}" in done.stderr
    assert list(taken.iterdir()) == []


def test_results_of_another_bench_and_of_suites_that_are_gone_are_refused(benches, tmp_path):
    file = tmp_path / "results.json"
    for book, said in (
        ({"bench": "peers", "schema": 1, "suites": []}, "holds no results of the pack bench"),
        ({"bench": "pack", "schema": 1, "suites": [{"name": "gone"}]}, "suites that the pack bench has no more: gone"),
    ):
        file.write_text(json.dumps(book))
        done = call(benches, "pack", "report", file)
        assert done.returncode == 1 and said in done.stderr


def test_a_row_is_the_ratio_of_a_round_and_is_held_against_its_bar(benches, tmp_path):
    suite = run(benches, CASES["pack"], tmp_path, only=["wds", "tar"])
    (row,) = suite["rows"]
    runs = runs_of(suite)
    ratio = runs["tar"]["seconds"] / runs["wds"]["seconds"]
    assert (row["figure"], row["subject"], row["against"], row["bar"]) == ("speed", "wds", "tar", {"at_least": 0.95})
    assert row["value"] == {"min": ratio, "median": ratio, "max": ratio} and row["met"] == (ratio >= 0.95)
    assert all(run["output_bytes"] > suite["folders"][0]["bytes"] for run in runs.values())


def test_a_verification_checks_as_many_files_as_sha256sum(benches, tmp_path):
    suite = run(benches, CASES["pack"], tmp_path, ["lmdb", "sha256sum, lmdb"], suite="verify-warm")
    ours, theirs = (run["samples"] for run in runs_of(suite).values())
    assert ours == theirs == suite["folders"][0]["files"] > 3


def test_a_program_that_is_not_installed_is_named_and_its_rows_are_not_measured(benches, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").symlink_to(shutil.which("sh"))
    env = dict(os.environ, PATH=str(tmp_path / "bin"))
    suite = run(benches, CASES["pack"], tmp_path, ["roi", "jpegtran"], suite="roi", env=env, count=2000)
    failed = {entry["name"]: entry["failed"] for entry in suite["entries"]}
    assert failed == {"roi": None, "jpegtran": "jpegtran is not installed"}
    assert "jpegtran is not installed" in suite["rows"][0]["not_measured"]


def test_bare_loops_and_dd_stand_beside_every_format(benches, tmp_path):
    names = [name for form in FORMATS for name in (form, f"memcpy {form}")]
    suite = run(benches, CASES["reader"], tmp_path, names, suite="read-warm", count=10_000)
    assert list(runs_of(suite)) == names and len(suite["rows"]) == 3
    cold = ["wds, sequential", "dd wds"]
    suite = run(benches, CASES["reader"], tmp_path / "cold", cold, suite="read-cold", count=10_000)
    if any(entry["failed"] for entry in suite["entries"]):  # a file system in memory
        assert "not_measured" in suite["rows"][0]
    else:
        ours, theirs = runs_of(suite).values()
        assert ours["read_bytes"] > 0 and theirs["bytes"] > ours["bytes"] > 0


def test_every_sample_is_delivered_and_packed_as_it_is_in_the_folder(benches, tmp_path):
    dali = [DALI, f"{DALI}, as it comes"] if DALI else []
    names = [PIL, *dali, *(f"packhorse {form} roi" for form in FORMATS)]
    runs = runs_of(run(benches, CASES["peers"], tmp_path, names, suite="verify", images=100))
    peer = runs.pop(PIL)
    assert (peer["delivered"], peer["lost"], peer["repeated"], peer["wrong"]) == ([100] * 3, [0] * 3, [0] * 3, [])
    if DALI:
        assert runs.pop(DALI)["wrong"] == [] and "loses" in runs.pop(f"{DALI}, as it comes")["wrong"][0]
    assert all((run["samples"], run["lost"], run["wrong"]) == (100, [0], []) for run in runs.values())
