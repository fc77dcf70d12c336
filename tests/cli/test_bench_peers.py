"""The bench of the field in bench/peers from outside, on a few images: what it writes, and what each peer
delivers. A peer that is not installed (bench/setup) is skipped with a note. No test asserts a time."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from python_support import FORMATS, PACKHORSE, ROOT, SHAPES

BENCH = ROOT / "bench/peers"
LOAD = ROOT / "bench/common/load.py"
PEERS_PYTHON = ROOT / "bench/.venv/bin/python"
PAGE = ROOT / "docs/measured/peers.md"
IMAGES = 200  # one of the 50 copies
BASELINE = "ImageFolder + PIL"
PEERS = [
    BASELINE,
    "ImageFolder + torchvision.io",
    "webdataset + torchvision.io",
    "LMDB + PIL",
    "LMDB + torchvision.io",
    "h5py + torchvision.io",
    "DALI",
    "FFCV",
    "SPDL",
    "LitData + torchvision.io",
    "MDS + torchvision.io",
    "turboloader",
    "datago",
    "Lance + torchvision.io",
    "packhorse.Loader",
]
AS_THEY_COME = ["DALI", "FFCV"]
KNOWN = {"turboloader": ["delivers 4 crops again"]}  # one of the samples, twice there, it cannot decode: it comes black

SUITE_FIELDS = {"name", "title", "cache", "jobs", "side", "seconds", "baseline", "repeats", "scale", "only", "entries"}
ENTRY_FIELDS = {"name", "command", "failed", "version", "shuffle", "disk_bytes", "bytes", "convert_s", "runs"}
RUN_FIELDS = {
    "images_per_s",
    "images",
    "seconds",
    "cpu_s",
    "read_bytes",
    "first_batch_s",
    "samples",
    "memory_bytes",
    "mapped_bytes",
    "foreign_cpus",
    "cache_as_asked",
    "held",
}


def call(*arguments, bench=BENCH):
    command = [sys.executable, bench, *arguments]
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, check=False)


def jpegs():
    """Our own pictures that are JPEGs, whatever their names say: torchvision.io's decoder takes nothing else."""
    return [path for path in sorted(SHAPES.rglob("*.jpg")) if path.read_bytes().startswith(b"\xff\xd8")]


def run_suite(scratch, suite, only, *options, bench=BENCH):
    """Runs the suite on a few of our own pictures; returns its results."""
    result, photos = scratch / "results.json", scratch / "photos"
    for path in [] if photos.exists() else jpegs()[:100]:
        copied = photos / path.parent.name / path.name
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copied)
    where = ["--data", scratch / "disk", "--tmpfs", scratch / "memory", "--photos", photos]
    short = ["--copies", "1", "--seconds", "0.01", "--packhorse", PACKHORSE, "--json", result]
    done = call("run", suite, "--only", only, *where, *short, *options, bench=bench)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(result.read_text())["suites"]
    return found


@pytest.fixture
def short_path():
    """A folder with a short path: DataLoaders make sockets below it."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def skip_without(peer):
    if not PEERS_PYTHON.exists():
        pytest.skip(f"{peer}: no bench/.venv: run bench/setup")
    done = subprocess.run([PEERS_PYTHON, LOAD, "version", peer], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{peer} is not installed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")


def runs_of(suite):
    assert [entry["failed"] for entry in suite["entries"]] == [None] * len(suite["entries"]), suite
    return {entry["name"]: entry["runs"] for entry in suite["entries"]}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A folder with results.json: packhorse on the folder and on a dataset, twice."""
    scratch = tmp_path_factory.mktemp("bench")
    run_suite(scratch, "photos", "packhorse folder;packhorse wds roi", "--repeats", "2")
    return scratch


def test_json_has_the_documented_fields(measured):
    results = json.loads((measured / "results.json").read_text())
    assert (results["bench"], results["schema"]) == ("peers", 1)
    (suite,) = results["suites"]
    assert set(suite) >= SUITE_FIELDS
    assert (suite["name"], suite["cache"], suite["side"], suite["repeats"]) == ("photos", "warm", 224, 2)
    assert suite["scale"] == 1 / 50 and [folder["files"] for folder in suite["folders"]] == [IMAGES]
    for entry in suite["entries"]:
        assert set(entry) == ENTRY_FIELDS and entry["bytes"] > 0
        for run in entry["runs"]:
            assert set(run) >= RUN_FIELDS
            assert run["samples"] == IMAGES and run["images"] % IMAGES == 0 and run["images_per_s"] > 0
    folder, packed = suite["entries"]
    assert folder["convert_s"] == 0 < packed["convert_s"] and len(folder["runs"]) == len(packed["runs"]) == 2


def test_only_the_folders_to_be_used_again_are_left(measured):
    assert {path.name for path in (measured / "disk/packhorse-bench").iterdir()} == {f"photos-{IMAGES}"}


def test_a_table_without_the_baseline_has_no_ratios(measured):
    text = call("report", measured / "results.json").stdout
    assert len(re.findall(r"^\| packhorse (?:folder|wds roi) \| .* \| not measured \| ", text, re.M)) == 2


def test_a_table_has_no_columns_that_say_nothing(measured):
    text = call("report", measured / "results.json").stdout
    (head,) = re.findall(r"^\| contender .*", text, re.M)
    assert "| s to convert |" in head, "the folder alone has none"
    assert "first epoch" not in head, "packhorse has none"
    assert {line.count("|") for line in text.splitlines() if line.startswith("| packhorse")} == {head.count("|")}


def test_cold_passes_read_from_the_disk_or_say_why_not(tmp_path):
    (entry,) = run_suite(tmp_path, "photos-cold", "packhorse lmdb original", "--repeats", "1")["entries"]
    if entry["failed"]:  # a file system in memory
        assert "cold" in entry["failed"]
    else:
        (run,) = entry["runs"]
        assert run["images"] == IMAGES and run["read_bytes"] > 0


def test_a_folder_that_another_bench_is_at_work_in_is_left_alone(tmp_path):
    taken = tmp_path / "packhorse-bench"
    taken.mkdir()
    folder = os.open(taken, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    done = call("run", "photos", "--only", "packhorse folder", "--packhorse", PACKHORSE, "--data", tmp_path)
    os.close(folder)
    assert done.returncode == 1 and f"another bench is at work in {taken}" in done.stderr
    assert list(taken.iterdir()) == []


def test_what_is_not_installed_is_named(tmp_path):
    bench = tmp_path / "bench"
    shutil.copytree(BENCH.parent, bench, ignore=shutil.ignore_patterns(".venv"))
    suite = run_suite(tmp_path, "photos", "packhorse folder;FFCV;DALI", "--repeats", "1", bench=bench / "peers")
    failed = {entry["name"]: entry["failed"] for entry in suite["entries"]}
    assert failed.pop("packhorse folder") is None
    assert set(failed) == {"FFCV", "DALI"} and all("not installed" in reason for reason in failed.values())
    text = call("report", tmp_path / "results.json").stdout
    assert re.search(r"^- DALI: not installed: ", text, re.M)


def test_a_peer_stands_beside_the_baseline(tmp_path):
    skip_without(BASELINE)
    suite = run_suite(tmp_path, "photos", f"{BASELINE};packhorse folder", "--repeats", "1")
    (peer,), (ours,) = runs_of(suite).values()
    assert peer["warmup"]["images"] == IMAGES and peer["import_s"] > 0 and peer["memory_bytes"] > 0
    text = call("report", tmp_path / "results.json").stdout
    ratio = re.search(r"^\| packhorse folder \| .*?\) \| ([\d.,]+) \(", text, re.M)[1]
    assert float(ratio.replace(",", "")) == pytest.approx(ours["images_per_s"] / peer["images_per_s"], rel=0.05)
    assert re.search(rf"^\| {re.escape(BASELINE)} \| torchvision .*? \| 1\.00 \(1\.00 \.\. 1\.00\) \| ", text, re.M)


@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_delivers_each_sample_once_with_its_label(peer, short_path):
    skip_without(peer)
    entry = "packhorse.Loader wds roi" if peer == "packhorse.Loader" else peer
    ((run,),) = runs_of(run_suite(short_path, "verify", entry)).values()
    assert (run["delivered"], run["lost"], run["repeated"]) == ([IMAGES] * 3, [0] * 3, [0] * 3)
    assert run["wrong"] == KNOWN.get(peer, [])


@pytest.mark.parametrize("peer", AS_THEY_COME)
def test_a_peer_as_it_comes_loses_samples_and_the_table_says_so(peer, tmp_path):
    skip_without(peer)
    ((run,),) = runs_of(run_suite(tmp_path, "verify", f"{peer}, as it comes")).values()
    assert sum(run["lost"]) > 0
    assert re.search(rf"^\| {peer}, as it comes \| .* loses ", call("report", tmp_path / "results.json").stdout, re.M)


@pytest.mark.parametrize("form", FORMATS)
def test_what_packhorse_packed_is_held_against_the_folder(form, tmp_path):
    ((run,),) = runs_of(run_suite(tmp_path, "verify", f"packhorse {form} roi")).values()
    assert (run["samples"], run["lost"], run["wrong"]) == (IMAGES, [0], [])


def test_wrong_labels_are_found(tmp_path):
    """The peer reads a folder whose pictures are in other classes than in the folder it is compared with."""
    skip_without(BASELINE)
    pictures = jpegs()[:70]
    for name, shift in (("right", 0), ("shifted", 23)):
        for i in range(len(pictures)):
            target = tmp_path / name / f"class-{i:03}" / "picture.jpg"
            target.parent.mkdir(parents=True)
            shutil.copy(pictures[(i + shift) % len(pictures)], target)
    facts = {}
    for name in ("right", "shifted"):
        command = [PEERS_PYTHON, LOAD, "verify", BASELINE, tmp_path / name, "1", tmp_path / "right"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        facts[name] = json.loads(done.stdout)
    assert facts["right"]["colours_alike"] > 0.8 > facts["shifted"]["colours_alike"]


def whole(results, repeats):
    results["suites"][0] |= {"scale": 1.0, "only": [], "repeats": repeats}
    return json.dumps(results)


def between_markers(page):
    before, rest = page.split("<!-- peers bench: begin -->")
    tables, after = rest.split("<!-- peers bench: end -->")
    return before, tables, after


def test_a_page_gets_its_tables_between_the_markers(measured, tmp_path):
    results = json.loads((measured / "results.json").read_text())
    (tmp_path / "whole.json").write_text(whole(results, 5))
    page = shutil.copy(PAGE, tmp_path)
    before, _, after = between_markers(PAGE.read_text())
    for _ in range(2):
        assert call("report", tmp_path / "whole.json", "--write", page).returncode == 0
        text_before, tables, text_after = between_markers(open(page).read())
        assert tables.count("\n| packhorse wds roi | 0.") == 1 and "Not measured yet" not in tables
        assert (text_before, text_after) == (before, after)


@pytest.mark.parametrize("why", ["in part", "fewer than 5 rounds"])
def test_a_measurement_in_part_or_too_short_is_kept_out_of_pages(measured, tmp_path, why):
    results = json.loads((measured / "results.json").read_text())
    (tmp_path / "results.json").write_text(json.dumps(results) if why == "in part" else whole(results, 4))
    page = shutil.copy(PAGE, tmp_path)
    done = call("report", tmp_path / "results.json", "--write", page)
    assert done.returncode == 1 and why in done.stderr
    assert open(page).read() == PAGE.read_text()


HOLD = """
import os, sys
bench, folder = sys.argv[1:]
sys.path.insert(0, bench)
from common import cache

def cached():
    found = 0
    for path in sorted(cache.files_below(folder)):
        file = os.open(path, os.O_RDONLY)
        size = os.fstat(file).st_size
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        try:
            found += os.preadv(file, [bytearray(size)], 0, os.RWF_NOWAIT)
        except BlockingIOError:
            pass
        os.close(file)
    return found

os.sync()
print(cached())
with cache.held(folder) as held:
    print(held, cached())
"""


def test_what_is_held_cannot_be_dropped_from_the_page_cache(tmp_path):
    sizes = [5 << 20, 4097, 1]
    for k, size in enumerate(sizes):
        (tmp_path / str(k)).write_bytes(bytes(size))
    command = [sys.executable, "-c", HOLD, BENCH.parent, tmp_path]
    free, held = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    if free != "0":
        pytest.skip("the page cache of this file system cannot be dropped")
    assert held == f"True {sum(sizes)}"


def test_a_limit_of_open_files_leaves_inputs_free_and_says_so(measured, tmp_path):
    (tmp_path / "input").write_bytes(bytes(5 << 20))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))\n"
    command = [sys.executable, "-c", limit + HOLD, BENCH.parent, tmp_path]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert printed.splitlines()[1].startswith("False ")
    results = json.loads((measured / "results.json").read_text())
    assert "not held" not in call("report", measured / "results.json").stdout
    results["suites"][0]["entries"][0]["runs"][0]["held"] = False
    (tmp_path / "results.json").write_text(json.dumps(results))
    assert "; inputs not held in the page cache (it takes root" in call("report", tmp_path / "results.json").stdout


PARSE = """
import runpy, shlex, sys
bench, *commands = sys.argv[1:]
sys.path.insert(0, bench)
program = runpy.run_path(bench + "/__main__.py", run_name="bench")
for command in commands:
    program["parse"](shlex.split(command))
print(*program["SUITES"])
"""


def test_every_command_of_the_page_is_one_the_bench_takes():
    text = PAGE.read_text()
    commands = re.findall(r"^python3 bench/peers (.*?)(?: +#.*)?$", text, re.M)
    assert len(commands) >= 6
    program = [sys.executable, "-c", PARSE, str(BENCH)]
    done = subprocess.run([*program, *commands], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f"`{suite}`" in text for suite in done.stdout.split())
    begin, end = "<!-- peers bench: begin -->", "<!-- peers bench: end -->"
    assert text.count(begin) == text.count(end) == 1
