"""Every format and image mode gives the same bytes for any number of threads, tasks and deaths."""

import random
import shutil
import signal
import time

import pytest
from python_support import (
    SHAPES,
    USAGE,
    listed,
    make_source,
    pack,
    packhorse,
    photos,
    refused,
    start,
    tree,
)

LAYOUTS = [("wds",), ("wds", "--compress", "zstd"), ("lmdb",), ("lmdb-members",), ("hdf5",)]
MODES = [
    ("original",),
    ("roi",),
    ("resize", "--short-side", "40"),
    ("resize", "--short-side", "48", "--chroma", "420", "--quality", "70"),
    ("raw", "--size", "32"),
    ("raw", "--size", "32", "--fit", "letterbox"),
]
KINDS = [(layout, MODES[i % len(MODES)]) for i, layout in enumerate(LAYOUTS)] + [
    (LAYOUTS[i % len(LAYOUTS)], mode) for i, mode in enumerate(MODES, 1)
]


def name(value):
    return "-".join(value).replace("--", "")


def options_of(layout, mode):
    return ("--format", *layout, "--image", *mode, "--shard-samples", "30")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return make_source(tmp_path_factory.mktemp("source") / "source", 400)


@pytest.mark.parametrize("mode", MODES, ids=name)
@pytest.mark.parametrize("layout", LAYOUTS, ids=name)
def test_threads_and_tasks_change_no_byte(tmp_path, layout, mode):
    options = options_of(layout, mode)
    pack(SHAPES, tmp_path / "1", *options, "--jobs", "1")
    first = tree(tmp_path / "1")
    for jobs in ("2", "7"):
        pack(SHAPES, tmp_path / jobs, *options, "--jobs", jobs)
        assert tree(tmp_path / jobs) == first, f"{jobs} jobs"
    for task in range(4):
        pack(SHAPES, tmp_path / "tasks", *options, "--task", f"{task}/4")
    pack(SHAPES, tmp_path / "tasks", *options, "--finish")
    assert tree(tmp_path / "tasks") == first, "tasks"
    assert packhorse("inspect", tmp_path / "1", "--verify", "full", "--json").json["ok"]


@pytest.mark.parametrize(("layout", "mode"), KINDS, ids=name)
def test_ten_deaths_at_random_moments_change_no_byte(tmp_path, source, layout, mode):
    options = (*options_of(layout, mode), "--jobs", "2")
    begin = time.monotonic()
    pack(source, tmp_path / "whole", *options)
    usual = time.monotonic() - begin
    moments = random.Random(name(layout + mode))
    for _ in range(10):
        process = start("pack", source, tmp_path / "out", *options, "--overwrite")
        time.sleep(moments.uniform(0.02, usual * 0.8))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    pack(source, tmp_path / "out", *options, "--overwrite")
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")
    assert not (tmp_path / "out.partial").exists()


@pytest.fixture(scope="module")
def with_fields(tmp_path_factory):
    """Images with all of the fields, some, none, and empty ones."""
    root = tmp_path_factory.mktemp("fields") / "source"
    shutil.copytree(SHAPES / "val", root)
    for i, image in enumerate(sorted(p for p in root.rglob("*") if p.suffix == ".jpg")):
        if i % 3 < 2:
            image.with_suffix(".json").write_text('{"number": %d}' % i)
        if i % 3 < 1:
            image.with_suffix(".txt").write_bytes(b"" if i % 2 else b"caption %d" % i)
    return root


@pytest.mark.parametrize("other", ["lmdb-members", "hdf5"])
def test_converting_to_a_compressed_tar_and_back_changes_no_byte(tmp_path, with_fields, other):
    options = ("--shard-samples", "10")
    pack(with_fields, tmp_path / "a", "--format", other, "--fields", "json,txt", *options)
    pack(tmp_path / "a", tmp_path / "b", "--format", "wds", "--compress", "zstd:7", *options)
    pack(tmp_path / "b", tmp_path / "c", "--format", other, *options)
    is_shard = lambda name: name.startswith(b"shard-")  # noqa: E731
    assert tree(tmp_path / "c", is_shard) == tree(tmp_path / "a", is_shard)
    packhorse("unpack", tmp_path / "b", tmp_path / "folder")
    assert tree(tmp_path / "folder", lambda name: name.endswith((b".jpg", b".json", b".txt"))) == tree(
        with_fields, lambda name: name.endswith((b".jpg", b".json", b".txt"))
    )


def test_of_decoded_pixels_nothing_else_is_made(tmp_path):
    pack(SHAPES, tmp_path / "a", "--format", "wds", "--image", "raw", "--size", "32")
    made = sorted(tmp_path.iterdir())
    for mode in ("roi",), ("resize",), ("raw", "--size", "33"), ("raw", "--size", "32", "--fit", "letterbox"):
        result = refused("pack", tmp_path / "a", tmp_path / "b", "--format", "wds", "--image", *mode, code=USAGE)
        assert f"decoded pixels (raw size=32 fit=crop), which the image mode {mode[0]}" in result.err
        assert "next: " in result.err and "rejected" not in result.err
        assert sorted(tmp_path.iterdir()) == made
    for mode in ("original",), ("raw", "--size", "32"):
        pack(tmp_path / "a", tmp_path / mode[0], "--format", "wds", "--image", *mode)
        is_tar = lambda name: name.endswith(b".tar")  # noqa: E731
        assert tree(tmp_path / mode[0], is_tar) == tree(tmp_path / "a", is_tar)


def test_fields_without_a_place_are_refused_before_any_work(tmp_path, with_fields):
    result = refused("pack", with_fields, tmp_path / "out", "--format", "lmdb", "--fields", "json", code=USAGE)
    assert "cannot hold the extra fields json" in result.err and "lmdb-members" in result.err
    assert list(tmp_path.iterdir()) == []
    pack(with_fields, tmp_path / "a", "--format", "wds", "--fields", "json")
    refused("pack", tmp_path / "a", tmp_path / "b", "--format", "lmdb", code=USAGE)
    pack(tmp_path / "a", tmp_path / "b", "--format", "lmdb", "--fields", "none")


@pytest.mark.parametrize("form", ["lmdb", "lmdb-members", "hdf5"])
def test_formats_that_cannot_compress_say_so(tmp_path, form):
    result = refused("pack", SHAPES, tmp_path / "out", "--format", form, "--compress", "zstd", code=USAGE)
    assert "cannot be compressed" in result.err and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("level", ["", "gzip", "zstd:0", "zstd:20", "zstd:", "zstd:x", "zstd3"])
def test_a_senseless_compression_is_a_usage_error(tmp_path, level):
    refused("pack", SHAPES, tmp_path / "out", "--format", "wds", f"--compress={level}", code=USAGE)


@pytest.mark.parametrize(
    "option",
    [
        ("--short-side", "0"),
        ("--quality", "0"),
        ("--quality", "101"),
        ("--restart-mcus", "0"),
        ("--size", "0"),
        ("--chroma", "422"),
        ("--fit", "stretch"),
    ],
    ids=name,
)
def test_senseless_settings_are_usage_errors(tmp_path, option):
    refused("pack", SHAPES, tmp_path / "out", "--format", "wds", *option, code=USAGE)


def test_the_summary_counts_what_a_mode_did(tmp_path):
    report = pack(SHAPES, tmp_path / "roi", "--format", "wds", "--image", "roi")
    kept = sum(s["kind"] != "jpeg" for split in ("train", "val") for s in listed(tmp_path / "roi" / split))
    assert report["image_notes"]["kept: not a JPEG"] == kept
    text = packhorse("pack", SHAPES, tmp_path / "roi2", "--format", "wds", "--image", "roi").out
    assert f"  images {kept}: kept: not a JPEG\n" in text
    again = pack(tmp_path / "roi", tmp_path / "again", "--format", "wds", "--image", "roi")
    assert again["image_notes"]["kept: already roi-ready"] == again["packed"] - kept


@pytest.mark.parametrize("mode", ["roi", "resize", "raw"])
def test_the_photos_in_every_mode(tmp_path, mode):
    report = pack(photos("imagenet/imagenet200"), tmp_path / "out", "--format", "wds", "--image", mode)
    assert report["packed"] == 200 and report["rejected"] == 0
    assert packhorse("inspect", tmp_path / "out", "--verify", "full", "--json").json["ok"]
