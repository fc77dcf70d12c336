"""Damage is found and named: a flipped byte anywhere, or a file truncated or missing, in every file of every format.

`inspect --verify` takes a folder of datasets, so one run checks many copies with one damage each.
"""

import os
import random

import pytest
from python_support import (
    BROKEN,
    DAMAGE,
    DONE,
    FORMATS,
    copy_tree,
    files_of,
    flip_byte,
    listed,
    make_source,
    pack,
    packhorse,
    refused,
    run,
    truncate,
)

FLIPS = 60
FILES = {"wds": 12, "lmdb": 8, "hdf5": 8}  # per dataset here: tar shards come with indexes for other readers


@pytest.fixture(scope="module", params=FORMATS)
def dataset(request, tmp_path_factory):
    """30 images in two shards, and eight rejects, so that every kind of file exists."""
    scratch = tmp_path_factory.mktemp(request.param)
    make_source(scratch / "source", 29, classes=3)
    copy_tree(BROKEN, scratch / "source/broken")
    result = run(
        "pack",
        scratch / "source",
        scratch / "out",
        "--format",
        request.param,
        "--shard-samples",
        "20",
        "--max-rejects",
        "8",
    )
    assert result.code == DONE, result
    assert [len(files_of(scratch / "out")), (scratch / "out/rejects.jsonl").exists()] == [
        FILES[request.param],
        True,
    ]
    return scratch / "out"


def variant(dataset, path, file):
    """Makes a copy of the dataset at `path` out of links, except `file`, whose path it returns: it may be damaged."""
    for name in files_of(dataset):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        if name != file:
            os.link(dataset / name, path / name)
    (path / file).write_bytes((dataset / file).read_bytes())
    return path / file


def found_in(folder, level):
    """The findings of verification in each dataset in `folder`, by name. It must find damage."""
    result = run("inspect", folder, "--verify", level, "--json")
    assert result.code == DAMAGE and result.json["ok"] is False, the_unexpected(folder, level)
    assert "the dataset is damaged" in result.err and "next: " in result.err
    found = {path.name: [] for path in folder.iterdir()}
    for finding in result.json["findings"]:
        name, finding["shard"] = finding["shard"].split("/", 1)
        found[name].append(finding)
    return found


def the_unexpected(folder, level):
    """The datasets in which verification ended in another way than with damage."""
    results = ((path.name, run("inspect", path, "--verify", level)) for path in sorted(folder.iterdir()))
    return next(
        (f"{name}: {result}" for name, result in results if result.code != DAMAGE), "none of them alone"
    )


def names(finding, file):
    return finding["shard"] == file or (file == "SHA256SUMS" and file in finding["detail"])


def some_offsets(size, images):
    """Offsets: first, last, around the ends of a few images, and random ones."""
    dice = random.Random(size)
    offsets = {0, 1, size // 2, size - 2, size - 1}
    for image in images[:6]:
        end = image["offset"] + image["bytes"]
        offsets |= {image["offset"] - 1, image["offset"], end - 1, end, dice.randrange(image["offset"], end)}
    while len(offsets) < min(FLIPS, size):
        offsets.add(dice.randrange(size))
    return sorted(offsets)


@pytest.mark.parametrize(
    ("dataset", "number"),
    [(form, number) for form in FORMATS for number in range(FILES[form])],
    indirect=["dataset"],
)
def test_a_flipped_byte_is_found_and_named(dataset, tmp_path, number):
    file = files_of(dataset)[number]
    images = [sample for sample in listed(dataset) if sample["shard"] == file]
    for offset in some_offsets((dataset / file).stat().st_size, images):
        flip_byte(variant(dataset, tmp_path / f"{offset}", file), offset, mask=1 << offset % 8)
    for offset, found in found_in(tmp_path, "full").items():
        offset = int(offset)
        assert found and all(names(finding, file) for finding in found), (file, offset, found)
        hit = [s for s in images if s["offset"] <= offset < s["offset"] + s["bytes"]]
        for sample in hit:
            assert [(f["kind"], f["sample"], f["key"], f["offset"], f["length"]) for f in found] == [
                ("payload", sample["sample"], sample["key"], sample["offset"], sample["bytes"])
            ]
        if not hit:  # messages of the format's own library may name a sample
            kinds = [f["kind"] for f in found]
            assert (found[0]["sample"], found[0]["key"]) == (None, ""), (file, offset, found)
            assert set(kinds[1:]) <= {"structure"}, (file, offset, found)


def test_a_flip_of_any_byte_of_the_manifest_is_found(tmp_path):
    pack(make_source(tmp_path / "source", 3, classes=2), tmp_path / "out", "--format", "wds")
    size = (tmp_path / "out/dataset.json").stat().st_size
    for mask in (0x02, 0x80):
        folder = tmp_path / f"mask {mask}"
        for offset in range(size):
            flip_byte(variant(tmp_path / "out", folder / f"{offset}", "dataset.json"), offset, mask)
        found = found_in(folder, "quick")
        assert [offset for offset in found if not found[offset]] == []
        assert {finding["shard"] for some in found.values() for finding in some} == {"dataset.json"}


@pytest.mark.parametrize("level", ["quick", "full"])
def test_a_file_that_was_cut_is_found(dataset, tmp_path, level):
    for i, file in enumerate(files_of(dataset)):
        size = (dataset / file).stat().st_size
        for cut in (1, size // 2, size):
            truncate(variant(dataset, tmp_path / f"{i} {cut}", file), size - cut)
    for name, found in found_in(tmp_path, level).items():
        file = files_of(dataset)[int(name.split()[0])]
        assert found and all(names(finding, file) for finding in found), (file, name, found)


@pytest.mark.parametrize("level", ["quick", "full"])
def test_a_file_that_grew_is_found(dataset, tmp_path, level):
    for i, file in enumerate(files_of(dataset)):
        with open(variant(dataset, tmp_path / f"{i}", file), "ab") as damaged:
            damaged.write(b"\0")
    for name, found in found_in(tmp_path, level).items():
        file = files_of(dataset)[int(name)]
        assert found and all(names(finding, file) for finding in found), (file, found)


@pytest.mark.parametrize("level", ["quick", "full"])
def test_a_missing_file_is_found(dataset, tmp_path, level):
    gone = [file for file in files_of(dataset) if file != "dataset.json"]
    for i, file in enumerate(gone):
        variant(dataset, tmp_path / f"{i}", file).unlink()
    for name, found in found_in(tmp_path, level).items():
        assert found and all(names(finding, gone[int(name)]) for finding in found), (gone[int(name)], found)


def test_without_its_manifest_it_is_no_dataset(dataset, tmp_path):
    variant(dataset, tmp_path / "out", "dataset.json").unlink()
    for command in (("inspect",), ("inspect", "--verify", "full"), ("bench", "--work", "read")):
        assert "next: " in refused(*command, tmp_path / "out").err
    assert "no dataset.json" in refused("unpack", tmp_path / "out", tmp_path / "folder").err
    assert not (tmp_path / "folder").exists()


def test_swapped_shards_are_found(dataset, tmp_path):
    copy = copy_tree(dataset, tmp_path / "out")
    first, second = (copy / shard["file"] for shard in packhorse("inspect", dataset, "--json").json["shards"])
    first.rename(copy / "x")
    second.rename(first)
    (copy / "x").rename(second)
    assert run("inspect", copy, "--verify", "full").code == DAMAGE


def test_a_restored_byte_makes_it_whole_again(dataset, tmp_path):
    copy = copy_tree(dataset, tmp_path / "out")
    for file in files_of(copy):
        flip_byte(copy / file, 20)
        assert run("inspect", copy, "--verify", "full").code == DAMAGE
        flip_byte(copy / file, 20)
        assert packhorse("inspect", copy, "--verify", "full").out.startswith("ok: ")


def test_damage_is_worded_for_people(dataset, tmp_path):
    copy = copy_tree(dataset, tmp_path / "out")
    sample = listed(dataset)[25]
    flip_byte(copy / sample["shard"], sample["offset"] + 10)
    result = run("inspect", copy, "--verify", "full")
    end = sample["offset"] + sample["bytes"]
    assert result.code == DAMAGE and result.out.startswith(
        f"damage: {sample['shard']}: payload, sample 25, key {sample['key']}, bytes {sample['offset']} to {end}: "
    ), result
    assert f"1 finding in {len(files_of(dataset))} files" in result.out and str(copy) in result.err


@pytest.mark.parametrize("work", ["read", "decode"])
def test_the_reader_never_delivers_a_damaged_image(dataset, tmp_path, work):
    copy = copy_tree(dataset, tmp_path / "out")
    sample = listed(dataset)[7]
    flip_byte(copy / sample["shard"], sample["offset"] + sample["bytes"] // 2)
    size = ["--size", "32"] if work == "decode" else []
    result = refused("bench", copy, "--work", work, *size, "--batch-size", "4", code=DAMAGE)
    assert sample["key"] in result.err and sample["shard"] in result.err and "next: " in result.err, result


@pytest.mark.parametrize("cut", [1, 40000])
def test_the_reader_refuses_a_cut_shard(dataset, tmp_path, cut):
    copy = copy_tree(dataset, tmp_path / "out")
    shard = copy / listed(dataset)[0]["shard"]
    truncate(shard, shard.stat().st_size - cut)
    result = refused("bench", copy, "--work", "read", code=DAMAGE)
    assert str(shard) in result.err and "next: " in result.err, result


def test_the_reader_refuses_a_damaged_index(dataset, tmp_path):
    file = "shard-000001.index"
    dice = random.Random(1)
    for i in range(8):
        index = variant(dataset, tmp_path / f"{i}", file)
        flip_byte(index, dice.randrange(index.stat().st_size))
        assert file in refused("bench", tmp_path / f"{i}", "--work", "read", code=DAMAGE).err
