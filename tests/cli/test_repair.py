"""`packhorse repair` from outside: rebuilt files are identical to the packed ones, or nothing changes."""

import itertools

import pytest
from python_support import (
    BROKEN,
    DAMAGE,
    DONE,
    SHAPES,
    copy_tree,
    files_of,
    flip_byte,
    listed,
    make_source,
    pack,
    packhorse,
    refused,
    run,
    staging,
    tree,
    truncate,
)


@pytest.fixture
def source(tmp_path):
    return make_source(tmp_path / "source", 24, classes=3)


@pytest.fixture
def dataset(source, tmp_path):
    pack(source, tmp_path / "out", "--format", "wds", "--shard-samples", "6")
    return tmp_path / "out"


@pytest.mark.parametrize("form,options", [("wds", ()), ("wds", ("--compress", "zstd")), ("lmdb", ()), ("hdf5", ())])
def test_damaged_files_are_made_again(tmp_path, form, options):
    source = make_source(tmp_path / "source", 24, classes=3)
    copy_tree(BROKEN, source / "broken")
    pack_options = ("--format", form, "--shard-samples", "10", "--max-rejects", "8", *options)
    assert run("pack", source, tmp_path / "out", *pack_options).code == DONE
    whole = tree(tmp_path / "out")
    names = files_of(tmp_path / "out")
    damages = itertools.cycle((lambda p: flip_byte(p, 30), lambda p: truncate(p, 10), lambda p: p.unlink()))
    for file in names:
        if file == "dataset.json":
            continue
        next(damages)(tmp_path / "out" / file)
        report = packhorse("repair", tmp_path / "out", source, "--json").json
        assert report["ok"] is True and report["repaired"] == {"copied": [], "rebuilt": [file]}
        assert tree(tmp_path / "out") == whole
    for file in names:
        if file != "dataset.json":
            (tmp_path / "out" / file).unlink()
    report = packhorse("repair", tmp_path / "out", source, "--json").json
    assert len(report["repaired"]["rebuilt"]) == len(names) - 1
    assert tree(tmp_path / "out") == whole and not staging(tmp_path / "out").exists()
    assert packhorse("repair", tmp_path / "out", source).out.startswith("nothing to repair\nok: ")


def test_a_source_that_gives_other_bytes_changes_nothing(source, dataset):
    for shard in range(4):
        flip_byte(dataset / f"shard-{shard:06}.tar", 600)
    before = tree(dataset)
    path = listed(dataset)[7]["path"]  # in the second shard
    with open(source / path, "ab") as file:
        file.write(b"x")
    result = refused("repair", dataset, source, code=DAMAGE)
    assert "shard-000001.tar" in result.err and "nothing was changed" in result.err
    assert tree(dataset) == before and not staging(dataset).exists()


def test_sound_files_of_a_copy_are_taken(dataset, tmp_path):
    whole = tree(dataset)
    copy = copy_tree(dataset, tmp_path / "copy")
    flip_byte(dataset / "shard-000002.tar", 600)
    (dataset / "SHA256SUMS").unlink()
    report = packhorse("repair", dataset, copy, "--json").json
    assert report["repaired"] == {"copied": ["shard-000002.tar"], "rebuilt": ["SHA256SUMS"]}
    assert tree(dataset) == whole


def test_what_a_link_leads_to_is_left_alone(source, dataset, tmp_path):
    shard = dataset / "shard-000002.tar"
    shard.rename(tmp_path / "elsewhere.tar")
    shard.symlink_to("../elsewhere.tar")
    flip_byte(tmp_path / "elsewhere.tar", 600)
    before = (tmp_path / "elsewhere.tar").read_bytes()
    assert "outside the dataset" in refused("repair", dataset, source).err
    assert (tmp_path / "elsewhere.tar").read_bytes() == before and shard.is_symlink()


def test_splits_are_repaired_together(tmp_path):
    pack(SHAPES, tmp_path / "out", "--format", "hdf5", "--image", "roi")
    whole = tree(tmp_path / "out")
    (tmp_path / "out/train/shard-000000.h5").unlink()
    flip_byte(tmp_path / "out/val/shard-000000.index", 99)
    result = packhorse("repair", tmp_path / "out", SHAPES)
    assert "repaired: train/shard-000000.h5: made again" in result.out
    assert "repaired: val/shard-000000.index: made again" in result.out
    assert tree(tmp_path / "out") == whole


def test_a_manifest_that_is_not_the_published_one_cannot_be_repaired(source, dataset):
    text = (dataset / "dataset.json").read_text()
    (dataset / "dataset.json").write_text(text.replace('"packhorse": "', '"packhorse": "9'))
    result = refused("repair", dataset, source, code=DAMAGE)
    assert "dataset.json" in result.err and "cannot be repaired" in result.err
