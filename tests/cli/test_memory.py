"""`packhorse pack --memory`: lists of samples that do not fit into it, from every kind of source, from outside."""

import io
import os
import shutil
import struct
import tarfile
import zlib

import numpy as np
import pytest
from python_support import DAMAGE, FAILED, flip_byte, make_source, pack, packhorse, put, run

SMALL = ("--memory", "16MiB", "--no-space-check")
LONG = "x" * 230  # of half of 16 MiB, a sample with such a name takes 300 bytes, one of an array 64
COUNT = 34_000
MANY = 145_000  # of an array


def tiny(number):
    """The bytes of a PNG of one pixel; each number has a comment of its own."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixel = chunk(b"IDAT", zlib.compress(bytes([0, 7])))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"tEXt", b"number\0%d" % number) + pixel + chunk(b"IEND", b"")


def write_tar(path, members):
    with tarfile.open(path, "w") as tar:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files in 17 class folders, which file systems list in an order of their own; links, as they take no room."""
    root = tmp_path_factory.mktemp("folder") / "source"
    for label in range(17):
        image = put(root / f"class-{label}/{COUNT // 17}{LONG}.png", tiny(label))
        for i in range(COUNT // 17):
            os.link(image, root / f"class-{label}/{i}{LONG}.png")
    return root


@pytest.fixture(scope="module")
def first(folder, tmp_path_factory):
    """The folder as a packed dataset."""
    out = tmp_path_factory.mktemp("first") / "packed"
    pack(folder, out, "--format", "hdf5", "--shard-samples", "9000", "--no-space-check")
    return out


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """A list that names three files again and again."""
    root = tmp_path_factory.mktemp("list")
    files = [put(root / f"{i}{LONG}.png", tiny(i)) for i in range(3)]
    rows = "".join(f"{files[i % 3].name},{i % 3 % 2}\n" for i in range(COUNT))
    return put(root / "list.csv", "path,label\n" + rows)


def ids_of(report):
    return [(split["split"], split["id"]) for split in report["splits"]]


def assert_same(source, tmp_path, *options):
    """Packs with much memory and with little, which must be said, and must change nothing else."""
    much = pack(source, tmp_path / "much", "--no-space-check", *options)
    little = pack(source, tmp_path / "little", *SMALL, *options)
    assert not any("--memory" in note for note in much["notes"])
    assert any("more than the 16 MiB of --memory" in note for note in little["notes"])
    assert ids_of(much) == ids_of(little) and ids_of(much)
    assert [n for n in little["notes"] if "--memory" not in n] == much["notes"]
    return little


def test_a_list_that_names_files_again(names, tmp_path):
    assert_same(names, tmp_path, "--format", "lmdb", "--shard-samples", "9000")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [
        ("--format", "lmdb", "--shard-bytes", "1MiB", "--seed", "3"),
        ("--format", "hdf5", "--shard-samples", "9000", "--no-shuffle"),
        ("--format", "wds", "--shard-bytes", "none", "--limit", "30000"),
        ("--format", "lmdb", "--samples-per-class", "14000", "--no-shuffle", "--exclude", "2*", "--include", "*.png"),
    ],
    ids=["bytes", "in-order", "one-shard-limit", "per-class-globs"],
)
def test_plans_and_selections(options, names, tmp_path):
    assert_same(names, tmp_path, *options)


@pytest.mark.thorough
def test_a_folder_with_what_looks_at_it(folder, tmp_path):
    report = assert_same(folder, tmp_path, "--format", "lmdb", "--shard-samples", "9000")
    assert report["packed"] == COUNT + 17
    packhorse("inspect", tmp_path / "little", "--against", folder, "--memory", "16MiB")


@pytest.mark.thorough
def test_a_folder_divided_by_content(folder, tmp_path):
    common = ("--format", "lmdb", "--shard-samples", "9000", "--split", "80:20", "--deduplicate")
    report = assert_same(folder, tmp_path, *common, "report")
    assert [len(group["members"]) for group in report["duplicates"]] == [COUNT // 17 + 1] * 17
    shutil.rmtree(tmp_path / "much")
    shutil.rmtree(tmp_path / "little")
    assert assert_same(folder, tmp_path, *common, "drop")["packed"] == 17


@pytest.mark.thorough
def test_arrays_whose_contents_are_compared(tmp_path):
    """So many that their hashes are sorted by way of a file, too."""
    draws = np.random.default_rng(0)
    for split, count in (("train", MANY), ("test", 1000)):
        np.save(tmp_path / f"{split}_images.npy", draws.integers(0, 256, (count, 2, 2, 3), np.uint8))
        np.save(tmp_path / f"{split}_labels.npy", draws.integers(0, 10, count))
    assert_same(tmp_path, tmp_path.parent / f"{tmp_path.name}-out", "--format", "lmdb", "--deduplicate", "drop")


@pytest.mark.thorough
def test_a_packed_dataset_as_it_is_and_in_another_order(first, tmp_path):
    for name, options in (("kept", ()), ("again", ("--seed", "5"))):
        (tmp_path / name).mkdir()
        assert_same(first, tmp_path / name, "--format", "lmdb", "--shard-samples", "8000", *options)


@pytest.mark.thorough
def test_an_archive(tmp_path):
    members = ((f"class-{i % 5}/{i}{LONG}.png", tiny(i)) for i in reversed(range(COUNT)))
    source = write_tar(tmp_path / "source.tar", members)
    assert_same(source, tmp_path, "--format", "hdf5", "--shard-samples", "9000")


@pytest.mark.thorough
def test_shards_that_others_wrote(tmp_path):
    parts = ((".png", tiny(0)), (".cls", b"1"))
    members = ((f"{i:08}{LONG}{end}", data) for i in range(COUNT) for end, data in parts)
    source = write_tar(tmp_path / "shard-0.tar", members)
    assert_same(source, tmp_path, "--source-kind", "webdataset", "--format", "lmdb", "--shard-samples", "9000")


@pytest.mark.thorough
def test_tasks_and_what_goes_on_after_a_stop_agree_on_it(names, tmp_path):
    """A run that was begun with little memory is finished with much."""
    options = ("--format", "lmdb", "--shard-samples", "9000", "--no-space-check")
    whole = pack(names, tmp_path / "whole", *options)
    pack(names, tmp_path / "out", *options, "--memory", "16MiB", "--task", "0/2")
    pack(names, tmp_path / "out", *options, "--task", "1/2")
    report = pack(names, tmp_path / "out", *options, "--memory", "20MiB", "--finish")
    assert ids_of(report) == ids_of(whole) and report["shards_kept"] == report["shards"]


@pytest.mark.thorough
def test_a_damaged_shard_is_packed_again_with_little_memory(folder, first, tmp_path):
    shutil.copytree(first, tmp_path / "out")
    shard = tmp_path / "out/shard-000002.h5"
    before = shard.read_bytes()
    flip_byte(shard, 100_000)
    packhorse("repair", tmp_path / "out", folder, "--memory", "16MiB")
    assert shard.read_bytes() == before


@pytest.mark.thorough
def test_a_dry_run_shows_the_same(names, tmp_path):
    def shown(*options):
        found = run("pack", names, tmp_path / "out", "--format", "lmdb", "--dry-run", "--json", *options).json
        found.pop("seconds")
        return found | {"notes": [note for note in found["notes"] if "--memory" not in note]}

    assert shown() == shown("--memory", "16MiB")


def test_a_place_that_takes_no_file_is_named(names, tmp_path):
    options = ("--format", "lmdb", "--dry-run", *SMALL)
    result = run("pack", names, tmp_path / "out", *options, prefix=("env", "TMPDIR=/proc"))
    assert result.code == FAILED and "temporary file" in result.err and "/proc" in result.err, result


def test_what_compares_datasets(tmp_path):
    source = make_source(tmp_path / "source", 300)
    pack(source, tmp_path / "a", "--format", "hdf5", "--shard-samples", "100")
    pack(source, tmp_path / "b", "--format", "hdf5", "--seed", "1", "--exclude", "*77.jpg")
    a, b = tmp_path / "a", tmp_path / "b"
    much, little = run("diff", a, b), run("diff", a, b, "--memory", "1")
    assert much.code == little.code == DAMAGE and much.out == little.out
    assert run("diff", a, b, "--json", "--memory", "1").json["counts"]["only_a"] == 3
    found = run("duplicates", a, b, "--identical", "--json").json
    assert run("duplicates", a, b, "--identical", "--json", "--memory", "1").json == found
    assert len(found["groups"]) == 297
    for command in ("diff", a, b), ("duplicates", a, b, "--identical"):
        result = run(*command, "--memory", "1", prefix=("env", "TMPDIR=/proc"))
        assert result.code == FAILED and "/proc" in result.err, result
