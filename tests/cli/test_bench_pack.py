"""The pack bench in bench/pack from outside, on a few images: the results it writes. No test asserts a time."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from python_support import PACKHORSE, ROOT, SHAPES

BENCH = ROOT / "bench/pack"
PAGE = ROOT / "docs/measured/packing.md"
IMAGES = 40

RUN_FIELDS = {
    "seconds",
    "sync_seconds",
    "cpu_seconds",
    "max_rss_bytes",
    "read_bytes",
    "written_bytes",
    "foreign_cpus",
    "output_bytes",
    "samples",
    "cache_as_asked",
}


def bench(*arguments, env=None):
    command = [sys.executable, BENCH, *arguments]
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, env=env, check=False)


def run_suite(scratch, suite, *options, env=None):
    """Runs the suite on a few of our own pictures, once; returns its results."""
    result = scratch / "results.json"
    where = ["--data", scratch / "disk", "--tmpfs", scratch / "memory", "--photos", SHAPES / "train"]
    scale = ["--repeats", "1", "--scale", IMAGES / 10_000, "--packhorse", PACKHORSE]
    done = bench("run", suite, "--json", result, *where, *scale, *options, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(result.read_text())


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A folder with results.json: packhorse and tar on a few images."""
    scratch = tmp_path_factory.mktemp("bench")
    run_suite(scratch, "photos", "--only", "wds;tar")
    return scratch


def test_json_has_the_documented_fields(measured):
    results = json.loads((measured / "results.json").read_text())
    assert (results["bench"], results["schema"]) == ("pack", 1)
    (suite,) = results["suites"]
    assert (suite["name"], suite["cache"], suite["repeats"], suite["only"]) == ("photos", "warm", 1, ["wds", "tar"])
    assert suite["machine"]["cpus"] >= 1 and suite["machine"]["memory_bytes"] > 0
    assert set(suite["versions"]) == {"packhorse", "tar", "python"}
    assert [folder["files"] for folder in suite["folders"]] == [IMAGES]


def test_every_contender_has_a_run_with_all_samples(measured):
    (suite,) = json.loads((measured / "results.json").read_text())["suites"]
    assert [entry["name"] for entry in suite["entries"]] == ["wds", "tar"]
    for entry in suite["entries"]:
        (run,) = entry["runs"]
        assert entry["failed"] is None and "SOURCE" in entry["command"]
        assert set(run) >= RUN_FIELDS
        assert run["samples"] == IMAGES and run["output_bytes"] > suite["folders"][0]["bytes"]
        assert run["seconds"] > run["sync_seconds"] >= 0 and run["cpu_seconds"] > 0 and run["max_rss_bytes"] > 0


def test_a_row_compares_the_two(measured):
    (suite,) = json.loads((measured / "results.json").read_text())["suites"]
    (row,) = suite["rows"]
    seconds = {entry["name"]: entry["runs"][0]["seconds"] for entry in suite["entries"]}
    assert (row["figure"], row["subject"], row["against"], row["bar"]) == ("speed", "wds", "tar", {"at_least": 0.95})
    assert row["value"]["min"] == row["value"]["median"] == row["value"]["max"] == seconds["tar"] / seconds["wds"]
    assert row["noisy"] == [] and isinstance(row["met"], bool)


def test_only_the_folders_to_be_used_again_are_left(measured):
    left = {path.name for path in (measured / "disk/packhorse-bench").iterdir()}
    assert left == {f"train-{IMAGES}"}


def test_memory_and_growth_are_rows_too(tmp_path):
    (suite,) = run_suite(tmp_path, "million", "--only", "dry run, 1000k;dry run, 250k")["suites"]
    assert [folder["files"] for folder in suite["folders"]] == [4000, 1000]
    assert [row["figure"] for row in suite["rows"]] == ["growth", "slowdown"]
    assert all("value" in row for row in suite["rows"])
    assert not (tmp_path / "memory/packhorse-bench").exists()


def test_a_verification_checks_as_many_files_as_sha256sum(tmp_path):
    (suite,) = run_suite(tmp_path, "verify-warm", "--only", "lmdb;sha256sum, lmdb")["suites"]
    ours, theirs = (entry["runs"][0]["samples"] for entry in suite["entries"])
    assert ours == theirs == suite["folders"][0]["files"] > 3
    assert [row["against"] for row in suite["rows"]] == ["sha256sum, lmdb"]


def test_what_is_not_installed_is_named_and_its_rows_are_not_measured(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").symlink_to(shutil.which("sh"))
    env = dict(os.environ, PATH=str(tmp_path / "bin"))
    (suite,) = run_suite(tmp_path, "roi", "--only", "jpegtran;roi", env=env)["suites"]
    failed = {entry["name"]: entry["failed"] for entry in suite["entries"]}
    assert failed["jpegtran"] == "jpegtran is not installed"
    assert "jpegtran is not installed" in suite["rows"][0]["not_measured"]


def test_a_page_gets_its_table_between_the_markers(measured, tmp_path):
    results = json.loads((measured / "results.json").read_text())
    results["suites"][0] |= {"scale": 1.0, "only": []}
    (tmp_path / "whole.json").write_text(json.dumps(results))
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- pack bench: begin -->\nold\n<!-- pack bench: end -->\nafter\n")
    for _ in range(2):
        assert bench("report", tmp_path / "whole.json", "--write", page).returncode == 0
        text = page.read_text()
        assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
        assert text.count("| wds | tar | >= 0.95x |") == 1


def test_a_report_has_the_suites_as_list_has_them_whenever_they_ran(measured, tmp_path):
    results = json.loads((measured / "results.json").read_text())
    (suite,) = results["suites"]
    results["suites"] = [suite | {"name": name} for name in ("gone", "summary", "tmpfs", "photos")]
    (tmp_path / "results.json").write_text(json.dumps(results))
    titles = re.findall(r"^### `([\w-]+)`", bench("report", tmp_path / "results.json").stdout, re.M)
    assert titles == ["photos", "tmpfs", "summary", "gone"]


def test_a_measurement_in_part_is_kept_out_of_pages(measured, tmp_path):
    page = shutil.copy(PAGE, tmp_path)
    done = bench("report", measured / "results.json", "--write", page)
    assert done.returncode == 1 and "in part" in done.stderr
    assert open(page).read() == PAGE.read_text()


def test_every_command_of_the_page_is_one_the_bench_takes(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    spec = importlib.util.spec_from_file_location("pack_bench", BENCH / "__main__.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    text = PAGE.read_text()
    commands = re.findall(r"^python3 bench/pack (.*?)(?: +#.*)?$", text, re.M)
    assert len(commands) >= 8
    for command in commands:
        program.parse(shlex.split(command))
    assert all(f"`{suite}`" in text for suite in program.SUITES)
