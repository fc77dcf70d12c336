"""Every format and image mode gives the same bytes for any number of threads, tasks and deaths."""

import shutil
import signal

import pytest
from python_support import BIN, SHAPES, USAGE, listed, pack, packhorse, photos, refused, run, staging, tree

LAYOUTS = [("wds",), ("wds", "--compress", "zstd"), ("lmdb",), ("lmdb-members",), ("hdf5",)]
MODES = [
    ("original",),
    ("roi",),
    ("resize", "--short-side", "40"),
    ("resize", "--short-side", "48", "--chroma", "420", "--quality", "70"),
    ("raw", "--size", "32"),
    ("raw", "--size", "32", "--fit", "letterbox"),
]
KINDS = [(LAYOUTS[i % len(LAYOUTS)], mode) for i, mode in enumerate(MODES, 1)]


def name(value):
    return "-".join(value).replace("--", "")


def options_of(layout, mode):
    return ("--format", *layout, "--image", *mode, "--shard-samples", "10")


def killed(scratch, change, *options):
    """Packs, and is killed at a call that changes files below `scratch`: a whole run makes more than 100 of them."""
    fault = ["FAULT_CALL=change", f"FAULT_AT={change}", "FAULT_DO=KILL"]
    fault += [f"LD_PRELOAD={BIN / 'packhorse_faults.so'}", f"FAULT_ROOT={scratch}"]
    result = run("pack", SHAPES / "val", scratch / "out", *options, prefix=("env", *fault))
    assert result.code == -signal.SIGKILL and not (scratch / "out").exists(), result


@pytest.mark.parametrize(("layout", "mode"), KINDS, ids=name)
def test_threads_tasks_and_deaths_change_no_byte(tmp_path, layout, mode):
    source, out, options = SHAPES / "val", tmp_path / "out", options_of(layout, mode)
    pack(source, tmp_path / "1", *options, "--jobs", "1")
    first = tree(tmp_path / "1")
    pack(source, tmp_path / "7", *options, "--jobs", "7")
    assert tree(tmp_path / "7") == first
    for change in (30, 20, 40, 5):
        killed(tmp_path, change, *options)
    pack(source, out, *options)
    assert tree(out) == first and not staging(out).exists()
    assert packhorse("inspect", out, "--verify", "full", "--json").json["ok"]
    shutil.rmtree(out)
    killed(tmp_path, 40, *options, "--task", "1/2")
    for task in range(2):
        pack(source, out, *options, "--task", f"{task}/2")
    pack(source, out, *options, "--finish")
    assert tree(out) == first and not staging(out).exists()


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
    is_content = lambda name: name.endswith((b".jpg", b".json", b".txt"))  # noqa: E731
    assert tree(tmp_path / "folder", is_content) == tree(with_fields, is_content)


def test_of_decoded_pixels_nothing_else_is_made(tmp_path):
    pack(SHAPES / "val", tmp_path / "a", "--format", "wds", "--image", "raw", "--size", "32")
    for mode in ("roi",), ("resize",), ("raw", "--size", "33"), ("raw", "--size", "32", "--fit", "letterbox"):
        result = refused("pack", tmp_path / "a", tmp_path / "b", "--format", "wds", "--image", *mode, code=USAGE)
        assert f"decoded pixels (raw size=32 fit=crop), which the image mode {mode[0]}" in result.err
        assert list(tmp_path.iterdir()) == [tmp_path / "a"]
    is_tar = lambda name: name.endswith(b".tar")  # noqa: E731
    for mode in ("original",), ("raw", "--size", "32"):
        pack(tmp_path / "a", tmp_path / mode[0], "--format", "wds", "--image", *mode)
        assert tree(tmp_path / mode[0], is_tar) == tree(tmp_path / "a", is_tar)


def test_fields_without_a_place_are_refused_before_any_work(tmp_path, with_fields):
    result = refused("pack", with_fields, tmp_path / "out", "--format", "lmdb", "--fields", "json", code=USAGE)
    assert "cannot hold the extra fields json" in result.err and "lmdb-members" in result.err
    assert list(tmp_path.iterdir()) == []
    pack(with_fields, tmp_path / "a", "--format", "wds", "--fields", "json")
    refused("pack", tmp_path / "a", tmp_path / "b", "--format", "lmdb", code=USAGE)
    pack(tmp_path / "a", tmp_path / "b", "--format", "lmdb", "--fields", "none")


def test_the_summary_counts_what_a_mode_did(tmp_path):
    report = pack(SHAPES / "train", tmp_path / "roi", "--format", "wds", "--image", "roi")
    kept = sum(s["kind"] != "jpeg" for s in listed(tmp_path / "roi"))
    assert report["image_notes"]["kept: not a JPEG"] == kept > 0
    text = packhorse("pack", tmp_path / "roi", tmp_path / "again", "--format", "wds", "--image", "roi").out
    assert f"  images {kept}: kept: not a JPEG\n" in text
    assert f"  images {report['packed'] - kept}: kept: already roi-ready\n" in text


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["roi", "resize", "raw"])
def test_the_photos_in_every_mode(tmp_path, mode):
    options = ("--format", "wds", "--image", mode, "--allow-odd-classes", "--limit", "60")
    report = pack(photos("imagenet/imagenet200"), tmp_path / "out", *options)
    assert report["packed"] == 60 and report["rejected"] == 0
    assert packhorse("inspect", tmp_path / "out", "--verify", "full", "--json").json["ok"]
