"""The reader bench in bench/reader from outside, on a few images: the results it writes. No test asserts a time."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from python_support import BIN, PACKHORSE, ROOT, SHAPES

BENCH = ROOT / "bench/reader"
PAGE = ROOT / "docs/measured/reading.md"
IMAGES = 80

SUITE_FIELDS = {"name", "title", "cache", "jobs", "seconds", "unit", "field", "columns", "repeats", "scale", "only"}
RUN_FIELDS = {
    "images_per_s",
    "images",
    "seconds",
    "cpu_s",
    "samples",
    "max_rss_bytes",
    "foreign_cpus",
    "cache_as_asked",
}

if not (BIN / "reader_loops").exists():
    pytest.skip("reader_loops is not built", allow_module_level=True)


def call(*arguments, bench=BENCH):
    command = [sys.executable, bench, *arguments]
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, check=False)


def run_suite(scratch, suite, only, *options, count=2000, bench=BENCH):
    """Runs the suite on a few of our own pictures, once; returns its results."""
    result = scratch / "results.json"
    where = ["--data", scratch / "disk", "--tmpfs", scratch / "memory", "--photos", SHAPES / "train"]
    scale = ["--repeats", "1", "--scale", IMAGES / count, "--seconds", "0.01", "--packhorse", PACKHORSE]
    loops = ["--loops", BIN / "reader_loops"]
    done = call("run", suite, "--only", only, "--json", result, *where, *scale, *loops, *options, bench=bench)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(result.read_text())["suites"]
    return found


def entries_of(suite):
    assert [entry["failed"] for entry in suite["entries"]] == [None] * len(suite["entries"]), suite
    return {entry["name"]: entry["runs"] for entry in suite["entries"]}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A folder with results.json: the loader and a bare loop on a few images."""
    scratch = tmp_path_factory.mktemp("bench")
    run_suite(scratch, "overhead", "wds;no loader, wds")
    return scratch


def test_json_has_the_documented_fields(measured):
    results = json.loads((measured / "results.json").read_text())
    assert (results["bench"], results["schema"]) == ("reader", 1)
    (suite,) = results["suites"]
    assert set(suite) >= SUITE_FIELDS
    assert (suite["name"], suite["cache"], suite["repeats"]) == ("overhead", "warm", 1)
    assert suite["machine"]["cpus"] >= 1 and set(suite["versions"]) == {"packhorse", "python"}
    assert [folder["files"] for folder in suite["folders"]] == [IMAGES]
    for (run,) in entries_of(suite).values():
        assert set(run) >= RUN_FIELDS
        assert run["samples"] == IMAGES and run["images"] % IMAGES == 0 and run["images_per_s"] > 0


def test_a_row_compares_the_two(measured):
    (suite,) = json.loads((measured / "results.json").read_text())["suites"]
    (row,) = suite["rows"]
    assert (row["figure"], row["subject"], row["against"]) == ("overhead", "wds", "no loader, wds")
    rates = {name: runs[0]["images_per_s"] for name, runs in entries_of(suite).items()}
    assert row["value"]["median"] == pytest.approx(100 * (rates["no loader, wds"] / rates["wds"] - 1))
    assert row["bar"] == {"at_most": 3} and isinstance(row["met"], bool)


def test_only_the_folders_to_be_used_again_are_left(measured):
    left = {path.name for path in (measured / "disk/packhorse-bench").iterdir()}
    assert left == {f"train-{IMAGES}"}


def test_whole_decodes_and_reads_are_measured_beside_every_format(tmp_path):
    suite = run_suite(tmp_path, "photos", "libjpeg-turbo, whole;hdf5 roi;lmdb original")
    assert [(row["subject"], row["against"]) for row in suite["rows"]] == [("hdf5 roi", "libjpeg-turbo, whole")]
    assert set(entries_of(suite)) == {"hdf5 roi", "lmdb original", "libjpeg-turbo, whole"}
    names = [name for form in ("wds", "lmdb", "hdf5") for name in (form, f"memcpy {form}")]
    suite = run_suite(tmp_path / "read", "read-warm", ";".join(names), count=10_000)
    assert list(entries_of(suite)) == names and len(suite["rows"]) == 3


def test_small_pictures_reach_the_peers_without_our_restart_markers(tmp_path):
    if not shutil.which("jpegtran"):
        pytest.skip("jpegtran is not installed")
    suite = run_suite(tmp_path, "small256", "wds;libjpeg-turbo, whole")
    assert all(runs[0]["samples"] == IMAGES for runs in entries_of(suite).values())


def test_cold_reads_stand_beside_dd_or_say_why_not(tmp_path):
    suite = run_suite(tmp_path, "read-cold", "wds, sequential;dd wds", count=10_000)
    failed = {entry["name"]: entry["failed"] for entry in suite["entries"] if entry["failed"]}
    if failed:  # a file system in memory
        assert "not_measured" in suite["rows"][0] and all(failed.values())
    else:
        ours, theirs = (runs[0] for runs in entries_of(suite).values())
        assert ours["disk_bytes"] > 0 and theirs["bytes"] > ours["bytes"] > 0
        assert suite["rows"][0]["value"]["median"] == ours["mb_per_s"] / theirs["mb_per_s"]


def test_the_start_of_many_samples_has_its_time_and_its_memory(tmp_path):
    suite = run_suite(tmp_path, "start", "hdf5", count=40_000)  # 2,000 files
    ((run,),) = entries_of(suite).values()
    assert run["samples"] == 2000 and run["first_batch_s"] > run["open_s"] > 0
    assert [row["unit"] for row in suite["rows"]] == ["s", "bytes a sample"]
    assert not (tmp_path / "memory/packhorse-bench").exists()


def test_what_is_not_installed_is_named_and_its_rows_are_not_measured(tmp_path):
    bench = tmp_path / "bench"
    shutil.copytree(BENCH.parent, bench, ignore=shutil.ignore_patterns(".venv"))
    suite = run_suite(tmp_path, "photos", "wds roi;FFCV;DALI", bench=bench / "reader")
    failed = {entry["name"]: entry["failed"] for entry in suite["entries"]}
    assert failed["wds roi"] is None and all("not installed" in failed[name] for name in ("FFCV", "DALI"))
    (row,) = suite["rows"]
    assert row["against"] in ("FFCV", "DALI") and "not installed" in row["not_measured"]
    text = call("report", tmp_path / "results.json").stdout
    assert re.search(r"^\| DALI \| not installed: ", text, re.M)


def whole(results, repeats):
    results["suites"][0] |= {"scale": 1.0, "only": [], "repeats": repeats}
    return json.dumps(results)


def test_a_page_gets_its_tables_between_the_markers(measured, tmp_path):
    results = json.loads((measured / "results.json").read_text())
    (tmp_path / "whole.json").write_text(whole(results, 3))
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- reader bench: begin -->\nold\n<!-- reader bench: end -->\nafter\n")
    for _ in range(2):
        assert call("report", tmp_path / "whole.json", "--write", page).returncode == 0
        text = page.read_text()
        assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
        assert text.count("| wds | no loader, wds | <= 3 % |") == 1
        assert text.count("\n| no loader, wds | ") == 1 and "`reader_loops pixels INPUT" in text


@pytest.mark.parametrize("why", ["in part", "fewer than 3 rounds"])
def test_a_measurement_in_part_or_too_short_is_kept_out_of_pages(measured, tmp_path, why):
    results = json.loads((measured / "results.json").read_text())
    (tmp_path / "results.json").write_text(json.dumps(results) if why == "in part" else whole(results, 2))
    page = shutil.copy(PAGE, tmp_path)
    done = call("report", tmp_path / "results.json", "--write", page)
    assert done.returncode == 1 and why in done.stderr
    assert open(page).read() == PAGE.read_text()


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
    commands = re.findall(r"^python3 bench/reader (.*?)(?: +#.*)?$", text, re.M)
    assert len(commands) >= 6
    program = [sys.executable, "-c", PARSE, str(BENCH)]
    done = subprocess.run([*program, *commands], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f"`{suite}`" in text for suite in done.stdout.split())
    begin, end = "<!-- reader bench: begin -->", "<!-- reader bench: end -->"
    assert text.count(begin) == text.count(end) == 1
