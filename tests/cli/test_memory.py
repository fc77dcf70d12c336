"""`packhorse pack --memory`: lists of samples that do not fit into it, from every kind of source, from outside."""

import io
import os
import shutil
import struct
import tarfile
import zlib

import numpy as np
import pytest
from python_support import DAMAGE, FAILED, SHAPES, USAGE, flip_byte, pack, packhorse, put, refused, run

COUNT = 170_000  # half of 16 MiB holds some 130,000 samples
SMALL = ("--memory", "16MiB", "--no-space-check")


def tiny(number):
    """The bytes of a PNG of one pixel, a different one for each number."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixel = zlib.compress(bytes([0, number]))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    draws = np.random.default_rng(0)
    for split, count in (("train", COUNT), ("test", 1000)):
        np.save(folder / f"{split}_images.npy", draws.integers(0, 256, (count, 2, 2, 3), np.uint8))
        np.save(folder / f"{split}_labels.npy", draws.integers(0, 10, count))
    return folder


def ids_of(report):
    return [(split["split"], split["id"]) for split in report["splits"]]


def assert_same(source, tmp_path, *options, spills=True):
    """Packs with much memory and with little, which must be said, and must change nothing else."""
    much = pack(source, tmp_path / "much", "--no-space-check", *options)
    little = pack(source, tmp_path / "little", *SMALL, *options)
    assert not any("--memory" in note for note in much["notes"])
    assert any("more than the 16 MiB of --memory" in note for note in little["notes"]) == spills
    assert ids_of(much) == ids_of(little) and ids_of(much)
    assert [n for n in little["notes"] if "--memory" not in n] == much["notes"]
    return little


@pytest.mark.parametrize(
    "options",
    [
        ("--format", "lmdb", "--shard-samples", "10000"),
        ("--format", "lmdb", "--shard-bytes", "1MiB", "--seed", "3"),
        ("--format", "hdf5", "--shard-samples", "50000", "--no-shuffle"),
        ("--format", "hdf5", "--shard-bytes", "none"),
    ],
    ids=["samples", "bytes", "in-order", "one-shard"],
)
def test_arrays(options, arrays, tmp_path):
    assert_same(arrays, tmp_path, *options)


@pytest.mark.parametrize(
    "options",
    [
        ("--limit", "150000"),
        ("--sample-per-class", "14000", "--no-shuffle"),
        ("--exclude", "*7.png", "--include", "*/0*"),
        ("--deduplicate", "drop"),
    ],
    ids=["limit", "per-class", "globs", "duplicates"],
)
def test_selections(options, arrays, tmp_path):
    assert_same(arrays, tmp_path, "--format", "lmdb", "--shard-samples", "40000", *options)


def test_a_packed_dataset(arrays, tmp_path):
    pack(arrays, tmp_path / "first", "--format", "lmdb", "--no-space-check", "--shard-samples", "60000")
    for name, options in (("kept", ()), ("again", ("--seed", "5"))):
        (tmp_path / name).mkdir()
        common = ("--format", "hdf5", "--shard-samples", "50000", *options)
        assert_same(tmp_path / "first/train", tmp_path / name, *common)


def test_a_list_that_names_files_again(tmp_path):
    files = [put(tmp_path / f"{i}.png", tiny(i)) for i in range(3)]
    rows = "".join(f"{files[i % 3].name},{i % 2}\n" for i in range(COUNT))
    put(tmp_path / "list.csv", "path,label\n" + rows)
    assert_same(tmp_path / "list.csv", tmp_path, "--format", "lmdb", "--shard-samples", "40000")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files in class folders, which file systems list in an order of their own; links, as they take no room."""
    root = tmp_path_factory.mktemp("folder")
    for label in range(17):
        first = put(root / "source" / f"class-{label}" / "0.png", tiny(label))
        for i in range(1, COUNT // 17):
            os.link(first, first.with_name(f"{i}.png"))
        put(first.parent / "below/0.png", tiny(100 + label))
    return root / "source"


def test_a_folder(folder, tmp_path):
    report = assert_same(folder, tmp_path, "--format", "lmdb", "--shard-samples", "40000")
    assert report["packed"] == COUNT + 17
    packhorse("inspect", tmp_path / "little", "--against", folder, "--memory", "16MiB")


def test_a_folder_divided_by_content(folder, tmp_path):
    common = ("--format", "lmdb", "--shard-samples", "40000", "--split", "80:20", "--deduplicate", "report")
    report = assert_same(folder, tmp_path, *common)
    assert sum(len(group["members"]) for group in report["duplicates"]) > COUNT - 17
    shutil.rmtree(tmp_path / "much")
    shutil.rmtree(tmp_path / "little")
    report = assert_same(folder, tmp_path, *common[:-1], "drop")
    assert report["packed"] < 100


def test_an_archive(folder, tmp_path):
    with tarfile.open(tmp_path / "source.tar", "w") as tar:
        for path in sorted(folder.rglob("*.png"), reverse=True):
            member = tarfile.TarInfo(str(path.relative_to(folder)))
            member.size = path.stat().st_size
            tar.addfile(member, path.open("rb"))
    assert_same(tmp_path / "source.tar", tmp_path, "--format", "hdf5", "--shard-samples", "40000")


def test_shards_that_others_wrote(tmp_path):
    image = tiny(0)
    with tarfile.open(tmp_path / "shard-0.tar", "w") as tar:
        for i in range(COUNT):
            for suffix, data in ((".png", image), (".cls", b"%d" % (i % 3))):
                member = tarfile.TarInfo(f"{i:08}{suffix}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    source = tmp_path / "shard-0.tar"
    assert_same(source, tmp_path, "--source-kind", "webdataset", "--format", "lmdb", "--shard-samples", "40000")


def test_tasks_and_what_goes_on_after_a_stop_agree_on_it(arrays, tmp_path):
    """A run that was begun with little memory is finished with much."""
    options = ("--format", "lmdb", "--shard-samples", "40000", "--no-space-check")
    whole = pack(arrays, tmp_path / "whole", *options)
    pack(arrays, tmp_path / "out", *options, "--memory", "16MiB", "--task", "0/2")
    pack(arrays, tmp_path / "out", *options, "--task", "1/2")
    report = pack(arrays, tmp_path / "out", *options, "--memory", "20MiB", "--finish")
    assert ids_of(report) == ids_of(whole) and report["shards_kept"] == report["shards"]


def test_a_damaged_shard_is_packed_again_with_little_memory(arrays, tmp_path):
    pack(arrays, tmp_path / "out", "--format", "hdf5", "--shard-samples", "40000", "--no-space-check")
    shard = tmp_path / "out/train/shard-000002.h5"
    before = shard.read_bytes()
    flip_byte(shard, 100_000)
    packhorse("repair", tmp_path / "out/train", arrays, "--memory", "16MiB")
    assert shard.read_bytes() == before


def test_a_dry_run_shows_the_same(arrays, tmp_path):
    def shown(*options):
        found = run("pack", arrays, tmp_path / "out", "--format", "lmdb", "--dry-run", "--json", *options).json
        found.pop("seconds")
        return found | {"notes": [note for note in found["notes"] if "--memory" not in note]}

    assert shown() == shown("--memory", "16MiB")


def test_a_place_that_takes_no_file_is_named(arrays, tmp_path):
    result = run("pack", arrays, tmp_path / "out", "--format", "lmdb", "--dry-run", *SMALL, prefix=("env", "TMPDIR=/proc"))
    assert result.code == FAILED and "temporary file" in result.err and "/proc" in result.err, result


def test_what_compares_datasets(arrays, tmp_path):
    common = ("--format", "hdf5", "--shard-samples", "40000", "--no-space-check")
    pack(arrays, tmp_path / "a", *common)
    pack(arrays, tmp_path / "b", *common, "--seed", "1", "--exclude", "*77.png")
    a, b = tmp_path / "a/train", tmp_path / "b/train"
    much, little = run("diff", a, b), run("diff", a, b, "--memory", "1MiB")
    assert much.code == little.code == DAMAGE and much.out == little.out
    assert run("diff", a, b, "--json", "--memory", "1").json["counts"]["only_a"] == COUNT // 100
    found = run("duplicates", a, b, "--identical", "--json").json
    assert run("duplicates", a, b, "--identical", "--json", "--memory", "1MiB").json == found
    assert len(found["groups"]) == COUNT - COUNT // 100


@pytest.mark.parametrize("size", ["15MiB", "0", "much", "1.5"])
def test_sizes_that_are_none(size, tmp_path):
    refused("pack", SHAPES, tmp_path / "out", "--format", "wds", "--memory", size, code=USAGE)
