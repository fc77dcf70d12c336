"""bench/pack, bench/reader and bench/peers, which have contenders take turns: their results, tables and pages, on a few
pictures. Of other loaders only the baseline takes part, ImageFolder + PIL, in the Python that runs the tests. No test
asserts a time."""

import dataclasses
import fcntl
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import types

import pytest
from python_support import BIN, FORMATS, PACKHORSE, ROOT, SHAPES

if importlib.util.find_spec("torchvision") is None:
    pytest.skip("torchvision is not installed", allow_module_level=True)

IMAGES = 40
BASELINE = "ImageFolder + PIL"


@dataclasses.dataclass(frozen=True)
class Bench:
    """What is expected of one: its page in docs/measured, the rounds that the page asks for, a suite and some of its
    contenders, options that make it short, fields of its results, and a row that its tables begin with."""

    name: str
    page: str
    rounds: int
    suite: str
    only: str
    count: int  # files of the whole suite
    options: tuple
    suite_fields: set
    run_fields: set
    row: str


BENCHES = {
    "pack": Bench(
        "pack", "packing.md", 1, "photos", "wds;tar", 10_000, (),
        {"title", "jobs", "scale", "machine", "versions", "place"},
        {"seconds", "sync_seconds", "cpu_seconds", "max_rss_bytes", "read_bytes", "written_bytes", "foreign_cpus",
         "output_bytes", "cache_as_asked"},
        "| wds | tar | >= 0.95x |",
    ),
    "reader": Bench(
        "reader", "reading.md", 3, "overhead", "wds;no loader, wds", 2000,
        ("--seconds", "0.01", "--loops", BIN / "reader_loops"),
        {"title", "jobs", "seconds", "unit", "field", "columns", "scale", "machine", "versions"},
        {"images_per_s", "images", "seconds", "cpu_s", "max_rss_bytes", "foreign_cpus", "cache_as_asked"},
        "| wds | no loader, wds | <= 3 % |",
    ),
    "peers": Bench(
        "peers", "peers.md", 5, "photos", f"{BASELINE};FFCV;packhorse folder;packhorse wds roi", 10_000,
        ("--seconds", "0.01"),
        {"title", "jobs", "seconds", "side", "baseline", "scale", "machine", "versions"},
        {"images_per_s", "images", "seconds", "cpu_s", "read_bytes", "first_batch_s", "memory_bytes", "mapped_bytes",
         "foreign_cpus", "cache_as_asked", "held"},
        f"| {BASELINE} | torchvision ",
    ),
}  # fmt: skip


def call(benches, name, *arguments, env=None):
    command = [sys.executable, benches / name, *arguments]
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600, env=env, check=False)


def run_suite(benches, name, scratch, suite, only, *options, images=IMAGES, count=None, env=None):
    """Runs some contenders of a suite, once each, on a few of our own pictures; returns its results."""
    bench, result = BENCHES[name], scratch / "results.json"
    where = ["--data", scratch / "disk", "--tmpfs", scratch / "memory", "--photos", SHAPES / "train"]
    short = ["--repeats", "1", "--jobs", "1", "--scale", images / (count or bench.count), *bench.options]
    done = call(benches, name, "run", suite, "--only", only, "--json", result, "--packhorse", PACKHORSE, *where, *short,
                *options, env=env)  # fmt: skip
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(result.read_text())["suites"]
    return found


def runs_of(suite):
    """The one run of each contender."""
    assert [entry["failed"] for entry in suite["entries"]] == [None] * len(suite["entries"]), suite
    return {entry["name"]: entry["runs"][0] for entry in suite["entries"]}


def copied(folder):
    return shutil.copytree(ROOT / "bench", folder, ignore=shutil.ignore_patterns(".venv", "__pycache__"))


@pytest.fixture(scope="module", name="benches")
def benches_fixture(tmp_path_factory):
    """A copy of bench/. Its environment of other loaders is the Python of the tests, where FFCV cannot be imported."""
    benches = copied(tmp_path_factory.mktemp("copy") / "bench")
    (benches / "hidden").mkdir()
    (benches / "hidden/ffcv.py").write_text("raise ImportError('there is no FFCV here')\n")
    python = benches / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{benches}/hidden" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return benches


@pytest.fixture(scope="module", name="measured", params=BENCHES)
def measured_fixture(request, benches, tmp_path_factory):
    """A bench that has measured some contenders once, its results, and where they are."""
    bench = BENCHES[request.param]
    if bench.name == "reader" and not (BIN / "reader_loops").exists():
        pytest.skip("reader_loops is not built")
    scratch = tmp_path_factory.mktemp(bench.name)
    suite = run_suite(benches, bench.name, scratch, bench.suite, bench.only)
    page = ROOT / "docs/measured" / bench.page
    return types.SimpleNamespace(bench=bench, suite=suite, scratch=scratch, results=scratch / "results.json", page=page)


def report(benches, measured, suite, folder, *options):
    """The bench's report of changed results."""
    file = folder / "changed.json"
    file.write_text(json.dumps(json.loads(measured.results.read_text()) | {"suites": [suite]}))
    return call(benches, measured.bench.name, "report", file, *options)


def whole(measured, repeats):
    """The results as those of a complete run have them."""
    return measured.suite | {"scale": 1.0, "only": [], "repeats": repeats}


def heads(text):
    return set(re.findall(r"^(\| .*)\n\| ?---", text, re.M))


def test_results_have_the_documented_fields_and_every_sample(measured):
    bench, suite = measured.bench, measured.suite
    book = json.loads(measured.results.read_text())
    assert (book["bench"], book["schema"]) == (bench.name, 1)
    assert set(suite) >= bench.suite_fields
    assert (suite["name"], suite["cache"], suite["repeats"]) == (bench.suite, "warm", 1)
    assert suite["only"] == [entry["name"] for entry in suite["entries"]] == bench.only.split(";")
    assert suite["machine"]["cpus"] >= 1 and suite["versions"]["packhorse"]
    assert [folder["files"] for folder in suite["folders"]] == [IMAGES]
    for entry in suite["entries"]:
        if entry["name"] == "FFCV":
            assert entry["failed"] == "not installed: ImportError: there is no FFCV here" and entry["runs"] == []
            continue
        (run,) = entry["runs"]
        assert entry["failed"] is None and set(run) >= bench.run_fields and run["samples"] == IMAGES
        assert run.get("images", IMAGES) % IMAGES == 0 and run["seconds"] > 0
    left = {path.name for path in (measured.scratch / "disk/packhorse-bench").iterdir()}
    assert left == {f"train-{IMAGES}"}, "only the folders to be used again"


def test_a_page_gets_its_tables_between_the_markers(measured, benches, tmp_path):
    bench, old = measured.bench, measured.page.read_text()
    begin, end = f"<!-- {bench.name} bench: begin -->", f"<!-- {bench.name} bench: end -->"
    page = tmp_path / "page.md"
    page.write_text(old)
    for _ in range(2):
        done = report(benches, measured, whole(measured, bench.rounds), tmp_path, "--write", page)
        assert done.returncode == 0, done.stderr
        new = page.read_text()
        assert (new.split(begin)[0], new.split(end)[1]) == (old.split(begin)[0], old.split(end)[1])
        tables = new.split(begin)[1].split(end)[0]
        assert tables.count(f"\n{bench.row}") == 1 and f"### `{bench.suite}`" in tables
        assert heads(tables) <= heads(old)


def test_a_measurement_in_part_or_too_short_is_kept_out_of_the_page(measured, benches, tmp_path):
    page = tmp_path / "page.md"
    shutil.copy(measured.page, page)
    bench, refused = measured.bench, {"in part": measured.suite}
    if bench.rounds > 1:
        refused[f"fewer than {bench.rounds} rounds"] = whole(measured, bench.rounds - 1)
    for why, suite in refused.items():
        done = report(benches, measured, suite, tmp_path, "--write", page)
        assert done.returncode == 1 and why in done.stderr
        assert page.read_text() == measured.page.read_text()


PARSE = """
import runpy, shlex, sys
bench, *commands = sys.argv[1:]
sys.path.insert(0, bench)
program = runpy.run_path(bench + "/__main__.py", run_name="bench")
for command in commands:
    program["parse"](shlex.split(command))
print(*program["SUITES"])
"""


@pytest.mark.parametrize("name", BENCHES)
def test_every_command_of_the_page_is_one_the_bench_takes(name):
    text = (ROOT / "docs/measured" / BENCHES[name].page).read_text()
    commands = re.findall(rf"^python3 bench/{name} (.*?)(?: +#.*)?$", text, re.M)
    assert len(commands) >= 6
    command = [sys.executable, "-c", PARSE, str(ROOT / "bench" / name), *commands]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f"`{suite}`" in text for suite in done.stdout.split())


def test_a_folder_that_another_bench_is_at_work_in_is_left_alone(tmp_path):
    taken = tmp_path / "packhorse-bench"
    taken.mkdir()
    folder = os.open(taken, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    options = ["--only", "packhorse folder", "--packhorse", PACKHORSE, "--data", tmp_path]
    done = call(ROOT / "bench", "peers", "run", "photos", *options)
    os.close(folder)
    assert done.returncode == 1 and f"another bench is at work in {taken}" in done.stderr
    assert list(taken.iterdir()) == []


# --- bench/pack


@pytest.mark.parametrize("measured", ["pack"], indirect=True)
def test_pack_compares_with_tar(measured):
    (row,) = measured.suite["rows"]
    runs = runs_of(measured.suite)
    ratio = runs["tar"]["seconds"] / runs["wds"]["seconds"]
    assert (row["figure"], row["subject"], row["against"], row["bar"]) == ("speed", "wds", "tar", {"at_least": 0.95})
    assert row["value"] == {"min": ratio, "median": ratio, "max": ratio}
    assert row["noisy"] == [] and isinstance(row["met"], bool)
    assert all(run["output_bytes"] > measured.suite["folders"][0]["bytes"] for run in runs.values())


@pytest.mark.parametrize("measured", ["pack"], indirect=True)
def test_a_report_has_the_suites_as_list_has_them_whenever_they_ran(measured, benches, tmp_path):
    book = json.loads(measured.results.read_text())
    book["suites"] = [measured.suite | {"name": name} for name in ("gone", "summary", "tmpfs", "photos")]
    (tmp_path / "results.json").write_text(json.dumps(book))
    printed = call(benches, "pack", "report", tmp_path / "results.json").stdout
    assert re.findall(r"^### `([\w-]+)`", printed, re.M) == ["photos", "tmpfs", "summary", "gone"]


def test_pack_has_rows_of_memory_and_growth(benches, tmp_path):
    suite = run_suite(benches, "pack", tmp_path, "million", "dry run, 1000k;dry run, 250k")
    assert [folder["files"] for folder in suite["folders"]] == [4000, 1000]
    assert [row["figure"] for row in suite["rows"]] == ["growth", "slowdown"]
    assert all("value" in row for row in suite["rows"])
    assert not (tmp_path / "memory/packhorse-bench").exists()


def test_a_verification_checks_as_many_files_as_sha256sum(benches, tmp_path):
    suite = run_suite(benches, "pack", tmp_path, "verify-warm", "lmdb;sha256sum, lmdb")
    ours, theirs = (run["samples"] for run in runs_of(suite).values())
    assert ours == theirs == suite["folders"][0]["files"] > 3
    assert [row["against"] for row in suite["rows"]] == ["sha256sum, lmdb"]


def test_a_program_that_is_not_installed_is_named_and_its_rows_are_not_measured(benches, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").symlink_to(shutil.which("sh"))
    env = dict(os.environ, PATH=str(tmp_path / "bin"))
    suite = run_suite(benches, "pack", tmp_path, "roi", "jpegtran;roi", env=env)
    failed = {entry["name"]: entry["failed"] for entry in suite["entries"]}
    assert failed == {"roi": None, "jpegtran": "jpegtran is not installed"}
    assert "jpegtran is not installed" in suite["rows"][0]["not_measured"]


# --- bench/reader

needs_loops = pytest.mark.skipif(not (BIN / "reader_loops").exists(), reason="reader_loops is not built")


@pytest.mark.parametrize("measured", ["reader"], indirect=True)
def test_reader_compares_with_a_bare_loop(measured):
    (row,) = measured.suite["rows"]
    assert (row["figure"], row["subject"], row["against"]) == ("overhead", "wds", "no loader, wds")
    rates = {name: run["images_per_s"] for name, run in runs_of(measured.suite).items()}
    assert row["value"]["median"] == pytest.approx(100 * (rates["no loader, wds"] / rates["wds"] - 1))
    assert row["bar"] == {"at_most": 3} and isinstance(row["met"], bool)


@needs_loops
def test_whole_decodes_and_reads_are_measured_beside_every_format(benches, tmp_path):
    suite = run_suite(benches, "reader", tmp_path, "photos", "libjpeg-turbo, whole;hdf5 roi;lmdb original")
    assert [(row["subject"], row["against"]) for row in suite["rows"]] == [("hdf5 roi", "libjpeg-turbo, whole")]
    assert set(runs_of(suite)) == {"hdf5 roi", "lmdb original", "libjpeg-turbo, whole"}
    names = [name for form in FORMATS for name in (form, f"memcpy {form}")]
    suite = run_suite(benches, "reader", tmp_path / "read", "read-warm", ";".join(names), count=10_000)
    assert list(runs_of(suite)) == names and len(suite["rows"]) == 3


@needs_loops
def test_small_pictures_reach_the_peers_without_our_restart_markers(benches, tmp_path):
    if not shutil.which("jpegtran"):
        pytest.skip("jpegtran is not installed")
    suite = run_suite(benches, "reader", tmp_path, "small256", "wds;libjpeg-turbo, whole")
    assert all(run["samples"] == IMAGES for run in runs_of(suite).values())


@needs_loops
def test_cold_reads_stand_beside_dd_or_say_why_not(benches, tmp_path):
    suite = run_suite(benches, "reader", tmp_path, "read-cold", "wds, sequential;dd wds", count=10_000)
    failed = {entry["name"]: entry["failed"] for entry in suite["entries"] if entry["failed"]}
    if failed:  # a file system in memory
        assert "not_measured" in suite["rows"][0] and all(failed.values())
    else:
        ours, theirs = runs_of(suite).values()
        assert ours["disk_bytes"] > 0 and theirs["bytes"] > ours["bytes"] > 0
        assert suite["rows"][0]["value"]["median"] == ours["mb_per_s"] / theirs["mb_per_s"]


@needs_loops
def test_the_start_of_many_samples_has_its_time_and_its_memory(benches, tmp_path):
    suite = run_suite(benches, "reader", tmp_path, "start", "hdf5", images=2000, count=1_000_000)
    (run,) = runs_of(suite).values()
    assert run["samples"] == 2000 and run["first_batch_s"] > run["open_s"] > 0
    assert [row["unit"] for row in suite["rows"]] == ["s", "bytes a sample"]
    assert not (tmp_path / "memory/packhorse-bench").exists()


@needs_loops
def test_without_an_environment_of_other_loaders_they_are_named_and_their_rows_are_not_measured(tmp_path):
    benches = copied(tmp_path / "bench")
    suite = run_suite(benches, "reader", tmp_path, "photos", "wds roi;FFCV;DALI")
    failed = {entry["name"]: entry["failed"] for entry in suite["entries"]}
    missing = "not installed: run bench/setup"
    assert failed == {"wds roi": None, "FFCV": missing, "DALI": missing}
    (row,) = suite["rows"]
    assert row["against"] in ("FFCV", "DALI") and missing in row["not_measured"]
    text = call(benches, "reader", "report", tmp_path / "results.json").stdout
    assert re.search(rf"^\| DALI \| {missing} ", text, re.M)


# --- bench/peers


@pytest.mark.parametrize("measured", ["peers"], indirect=True)
def test_peers_are_compared_with_the_baseline(measured, benches, tmp_path):
    runs = {entry["name"]: entry["runs"][0] for entry in measured.suite["entries"] if entry["runs"]}
    peer = runs[BASELINE]
    assert peer["warmup"]["images"] == IMAGES and peer["import_s"] > 0 and peer["memory_bytes"] > 0
    text = report(benches, measured, measured.suite, tmp_path).stdout
    ratio = re.search(r"^\| packhorse folder \| .*?\) \| ([\d.,]+) \(", text, re.M)[1]
    expected = runs["packhorse folder"]["images_per_s"] / peer["images_per_s"]
    assert float(ratio.replace(",", "")) == pytest.approx(expected, rel=0.05)
    assert re.search(rf"^\| {re.escape(BASELINE)} \| torchvision .*? \| 1\.00 \(1\.00 \.\. 1\.00\) \| ", text, re.M)
    assert re.search(r"^- FFCV: not installed: ", text, re.M)
    costs = {entry["name"]: entry.get("convert_s") for entry in measured.suite["entries"]}
    assert costs["packhorse folder"] == 0 < costs["packhorse wds roi"]


@pytest.mark.parametrize("measured", ["peers"], indirect=True)
def test_a_table_without_the_baseline_has_no_ratios_and_no_empty_columns(measured, benches, tmp_path):
    ours = [entry for entry in measured.suite["entries"] if entry["name"].startswith("packhorse")]
    ours[0]["runs"][0]["held"] = False
    text = report(benches, measured, measured.suite | {"entries": ours}, tmp_path).stdout
    assert len(re.findall(r"^\| packhorse (?:folder|wds roi) \| .* \| not measured \| ", text, re.M)) == 2
    (head,) = re.findall(r"^\| contender .*", text, re.M)
    assert "| s to convert |" in head, "the folder alone has none"
    assert "first epoch" not in head, "packhorse has none"
    assert {line.count("|") for line in text.splitlines() if line.startswith("| packhorse")} == {head.count("|")}
    assert "; inputs not held in the page cache (it takes root" in text
    ours[0]["runs"][0]["held"] = True
    assert "not held" not in report(benches, measured, measured.suite | {"entries": ours}, tmp_path).stdout


def test_cold_passes_read_from_the_disk_or_say_why_not(benches, tmp_path):
    (entry,) = run_suite(benches, "peers", tmp_path, "photos-cold", "packhorse lmdb original")["entries"]
    if entry["failed"]:  # a file system in memory
        assert "cold" in entry["failed"]
    else:
        (run,) = entry["runs"]
        assert run["images"] == IMAGES and run["read_bytes"] > 0


def test_every_sample_is_delivered_and_packed_as_it_is_in_the_folder(benches, tmp_path):
    packed = [f"packhorse {form} roi" for form in FORMATS]
    runs = runs_of(run_suite(benches, "peers", tmp_path, "verify", ";".join([BASELINE, *packed]), images=100))
    peer = runs.pop(BASELINE)
    assert (peer["delivered"], peer["lost"], peer["repeated"], peer["wrong"]) == ([100] * 3, [0] * 3, [0] * 3, [])
    assert list(runs) == packed
    assert all((run["samples"], run["lost"], run["wrong"]) == (100, [0], []) for run in runs.values())


CHECK = """
import json, sys, types
bench, folder, wrong = sys.argv[1:]
sys.path[:0] = [bench, bench + "/peers"]
import numpy
from pathlib import Path
from PIL import Image
from common.check import check
import session

class Loader:
    def open(self, source, jobs):
        self.epochs, self.pictures = 0, []
        for path in sorted(Path(source).rglob("*.jpg")):
            with Image.open(path) as picture:
                self.pictures.append(numpy.asarray(picture.convert("RGB").resize((32, 32))))

    def epoch(self):
        self.epochs += 1
        count = len(self.pictures)
        for label in range(count):
            shown = (label + (23 if wrong == "labels" else 0)) % count
            pixels = self.pictures[shown][:, :: 1 if (label + self.epochs) % 2 else -1].copy()
            pixels[0, 0] = self.epochs  # no crop comes again
            yield pixels[None], [0 if wrong == "repeated" and label == 1 else label]

options = types.SimpleNamespace(original=folder, source=folder, jobs=0)
print(json.dumps(session.wrong(check(Loader(), options))))
"""


def test_what_is_wrong_with_a_loader_is_found(tmp_path):
    for number, path in enumerate(sorted(SHAPES.rglob("*.jpg"))[:70]):
        (tmp_path / f"class-{number:03}").mkdir()
        shutil.copy(path, tmp_path / f"class-{number:03}/picture.jpg")
    found = {}
    for wrong in ("nothing", "labels", "repeated"):
        command = [sys.executable, "-c", CHECK, ROOT / "bench", tmp_path, wrong]
        found[wrong] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found["nothing"] == []
    assert "labels and pictures do not belong together" in found["labels"][0]
    assert found["repeated"] == ["loses 1 of 70 samples", "repeats 1"]


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
    command = [sys.executable, "-c", HOLD, ROOT / "bench", tmp_path]
    free, held = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    if free != "0":
        pytest.skip("the page cache of this file system cannot be dropped")
    assert held == f"True {sum(sizes)}"


def test_a_limit_of_open_files_leaves_inputs_free(tmp_path):
    (tmp_path / "input").write_bytes(bytes(5 << 20))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))\n"
    command = [sys.executable, "-c", limit + HOLD, ROOT / "bench", tmp_path]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert printed.splitlines()[1].startswith("False ")
