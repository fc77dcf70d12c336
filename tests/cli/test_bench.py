"""`packhorse bench` from outside: what it measures and in which fields. No test asserts a time."""

import os

import pytest
from python_support import DONE, FORMATS, SHAPES, make_source, pack, packhorse, refused, run

FIELDS = [
    "input",
    "format",
    "image",
    "work",
    "cache",
    "order",
    "workers",
    "batch_size",
    "images",
    "images_per_s",
    "images_per_cpu_s",
    "disk_bytes",
    "first_batch_s",
    "batch_ms",
    "stages",
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """The same 100 images as a plain folder and in each format."""
    scratch = tmp_path_factory.mktemp("inputs")
    make_source(scratch / "folder", 100)
    for form in FORMATS:
        pack(scratch / "folder", scratch / form, "--format", form, "--shard-samples", "40")
    return scratch


@pytest.mark.parametrize("work", ["read", "decode"])
def test_json_has_a_run_for_each_input_with_the_documented_fields(inputs, work):
    names = ["folder", *FORMATS]
    report = packhorse(
        "bench",
        *names,
        "--work",
        work,
        "--size",
        "32",
        "--repeats",
        "2",
        "--batch-size",
        "16",
        "--min-seconds",
        "0",
        "--json",
        cwd=inputs
    ).json
    assert report["machine"]["cpus"] >= 1 and report["machine"]["memory_bytes"] > 0
    assert [r["input"] for r in report["runs"]] == names and [r["format"] for r in report["runs"]] == names
    for r in report["runs"]:
        assert set(FIELDS) <= set(r)
        assert (r["work"], r["cache"], r["order"], r["batch_size"], r["images"]) == (
            work,
            "warm",
            "global",
            16,
            100,
        )
        assert 0 < r["images_per_s"]["min"] <= r["images_per_s"]["median"] <= r["images_per_s"]["max"]
        assert 0 < r["batch_ms"]["p50"] <= r["batch_ms"]["p99"] and r["first_batch_s"] > 0
        assert r["bytes"] == report["runs"][0]["bytes"]


def test_each_number_of_workers_is_a_run(inputs):
    report = packhorse(
        "bench", "wds", "--workers", "1,2,0", "--repeats", "1", "--size", "32", "--json", cwd=inputs
    ).json
    assert [r["workers"] for r in report["runs"]] == [1, 2, 0]


def test_max_images_ends_a_pass_early(inputs):
    report = packhorse(
        "bench",
        "wds",
        "folder",
        "--max-images",
        "30",
        "--batch-size",
        "10",
        "--work",
        "read",
        "--json",
        cwd=inputs,
    ).json
    assert [r["images"] for r in report["runs"]] == [30, 30]


def test_a_cold_pass_reads_from_the_disk_or_says_why_it_cannot(inputs):
    result = run(
        "bench", "folder", *FORMATS, "--work", "read", "--cold", "--repeats", "1", "--json", cwd=inputs
    )
    if result.code == DONE:
        for r in result.json["runs"]:
            assert r["cache"] == "cold" and r["disk_bytes"] > 0, r
    else:  # a file system that is memory
        assert result.code == 1 and "cannot be made cold" in result.err and "next: " in result.err, result


def test_the_table_has_a_line_for_each_input(inputs):
    lines = packhorse("bench", "folder", *FORMATS, "--work", "read", "--min-seconds", "0", cwd=inputs).out.splitlines()
    assert lines[0] == "read, warm, shuffled order, 100 images, 3 repeats"
    assert lines[1].split()[:3] == ["input", "format", "workers"]
    assert [line.split()[0] for line in lines[2:]] == ["folder", *FORMATS]
    assert lines[2].endswith("1.00x")


def test_a_folder_with_splits_is_read_like_its_datasets(tmp_path):
    pack(SHAPES, tmp_path / "packed", "--format", "hdf5")
    report = packhorse(
        "bench", SHAPES, tmp_path / "packed", "--split", "val", "--work", "read", "--min-seconds", "0", "--json"
    ).json
    assert [r["images"] for r in report["runs"]] == [36, 36]
    assert report["runs"][0]["bytes"] == report["runs"][1]["bytes"]


def test_a_missing_input_is_named(inputs):
    result = refused("bench", inputs / "wds", inputs / "nowhere")
    assert str(inputs / "nowhere") in result.err


@pytest.mark.parametrize(
    "options",
    [
        ("--work", "dream"),
        ("--cold", "--warm"),
        ("--repeats", "0"),
        ("--batch-size", "0"),
        ("--size", "0"),
        ("--workers", "-1"),
    ],
)
def test_senseless_options_are_usage_errors(inputs, options):
    refused("bench", inputs / "wds", *options, code=2)


def test_bench_changes_nothing(inputs):
    before = sorted(os.listdir(inputs))
    packhorse("bench", "wds", "--work", "read", "--repeats", "1", cwd=inputs)
    assert sorted(os.listdir(inputs)) == before


def test_a_small_input_is_read_in_whole_epochs_until_the_pass_is_long_enough(inputs):
    report = packhorse("bench", "wds", "--work", "read", "--repeats", "1", "--min-seconds", "0.05", "--json", cwd=inputs).json
    assert report["runs"][0]["images"] % 100 == 0 and report["runs"][0]["images"] > 100
