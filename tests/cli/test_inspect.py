"""`packhorse inspect` from outside: summary, lists, single images, verification of intact datasets."""

import re

import pytest
from PIL import Image
from python_support import (
    BROKEN,
    DAMAGE,
    DONE,
    FAILED,
    FORMATS,
    SHAPES,
    USAGE,
    copy_tree,
    files_of,
    flip_byte,
    listed,
    pack,
    packhorse,
    refused,
    run,
    run_closed,
)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """samples/shapes: `train` in four shards, `val` in two."""
    out = tmp_path_factory.mktemp("packed") / "packed"
    pack(SHAPES, out, "--format", "wds", "--shard-samples", "30")
    return out


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_summarised_listed_shown_and_verified(form, tmp_path):
    report = pack(SHAPES, tmp_path / "out", "--format", form, "--shard-samples", "30")
    train, val = tmp_path / "out/train", tmp_path / "out/val"
    summary = packhorse("inspect", val, "--json").json
    assert (summary["format"], summary["image"], summary["samples"]) == (form, "original", 36)
    names = ["balls", "bricks", "clouds", "flowers", "pebbles", "wood"]
    assert [(c["name"], c["samples"]) for c in summary["classes"]] == [(name, 6) for name in names]
    assert [shard["samples"] for shard in summary["shards"]] == [30, 6]
    assert all((val / shard["file"]).stat().st_size == shard["bytes"] for shard in summary["shards"])
    assert summary["bytes"] == sum(shard["bytes"] for shard in summary["shards"])
    assert summary["id"] == {split["path"]: split["id"] for split in report["splits"]}[str(val)]
    samples = listed(train)
    for number in (0, 29, 30, 119):
        source = (SHAPES / "train" / samples[number]["path"]).read_bytes()
        packhorse("inspect", train, "--show", str(number), "-o", tmp_path / "image")
        assert (tmp_path / "image").read_bytes() == source
        assert packhorse("inspect", train, "--show", samples[number]["key"], "-o", "-").raw == source
        assert packhorse("inspect", train, "--show", str(number), "--json").json == samples[number]
    files = len(files_of(tmp_path / "out")) - (tmp_path / "out/README.md").exists()  # the card is no part of a dataset
    shards = sum(d["bytes"] for d in packhorse("inspect", tmp_path / "out", "--json").json["datasets"])
    for level in ("quick", "full"):
        said = packhorse("inspect", tmp_path / "out", "--verify", level, "--jobs", "1").out
        assert re.fullmatch(rf"ok: {files} files, 156 samples, [\d.]+ (B|MiB) read\n", said)
        assert packhorse("inspect", tmp_path / "out", "--verify", level, "--jobs", "3").out == said
        report = packhorse("inspect", tmp_path / "out", "--verify", level, "--json").json
        assert report["ok"] is True and report["findings"] == []
        assert report["checked"]["samples"] == 156 and report["checked"]["files"] == files
        assert report["checked"]["bytes"] == (shards if level == "full" else 0)


def test_a_folder_of_splits_is_shown_as_its_datasets(packed):
    both = packhorse("inspect", packed, "--json").json["datasets"]
    assert both == [packhorse("inspect", packed / split, "--json").json for split in ("train", "val")]
    text = "\n".join(packhorse("inspect", packed / split).out for split in ("train", "val"))
    assert packhorse("inspect", packed).out == text


def test_the_list_has_a_line_for_each_sample(packed):
    lines = packhorse("inspect", packed / "train", "--list").out.splitlines()
    samples = listed(packed / "train")
    assert len(lines) == len(samples) == 120
    kinds = {"JPEG": "jpeg", "PNG": "png", "WEBP": "webp", "BMP": "bmp"}
    for i, (line, s) in enumerate(zip(lines, samples)):
        size = f"{s['width']}x{s['height']}"
        words = [i, s["key"], s["label"], s["class"], s["bytes"], size, s["kind"], s["path"]]
        assert line.split("\t") == [str(word) for word in words]
        assert s["sample"] == i and s["class"] == s["path"].split("/")[0]
        with Image.open(SHAPES / "train" / s["path"]) as image:
            assert (s["width"], s["height"]) == image.size, s
            assert s["kind"] == kinds[image.format], s
            assert s["orientation"] == image.getexif().get(0x0112, 1), s
            assert s["components"] == len(image.getbands()) or s["kind"] != "jpeg", s


def test_an_unknown_sample_is_named(packed):
    for name, words in (
        ("nokey", "no sample with the key 'nokey'"),
        ("000009999", "key '000009999'"),
        ("120", "no sample 120: the last is 119"),
        ("-1", "-1"),
    ):
        result = refused("inspect", packed / "train", f"--show={name}")
        assert words in result.err and str(packed / "train") in result.err, result


def test_show_of_a_damaged_image_writes_nothing(packed, tmp_path):
    sample = listed(packed / "val")[3]
    copy_tree(packed / "val", tmp_path / "val")
    flip_byte(tmp_path / "val" / sample["shard"], sample["offset"])
    result = refused("inspect", tmp_path / "val", "--show", "3", "-o", tmp_path / "image", code=DAMAGE)
    assert sample["key"] in result.err and not (tmp_path / "image").exists()


def test_what_is_no_dataset_is_refused_with_advice(tmp_path):
    assert "does not exist" in refused("inspect", tmp_path / "nowhere").err
    (tmp_path / "empty").mkdir()
    for options in ((), ("--verify", "full"), ("--list",), ("--show", "0")):
        result = refused("inspect", tmp_path / "empty", *options, code=FAILED)
        assert "no dataset.json" in result.err and "next: " in result.err, result


def test_senseless_options_are_usage_errors(packed):
    for options in (("--verify", "some"), ("--list", "--verify", "full"), ("-o", "x"), ("--list", "--show", "1")):
        refused("inspect", packed / "val", *options, code=USAGE)
    assert str(packed / "train") in refused("inspect", packed, "--show", "0", code=USAGE).err  # it wants one dataset


def test_the_list_of_rejects_is_part_of_what_is_verified(tmp_path):
    assert run("pack", BROKEN, tmp_path / "out", "--format", "wds", "--max-rejects", "8").code == 0
    with open(tmp_path / "out/rejects.jsonl", "ab") as file:
        file.write(b"x")
    result = run("inspect", tmp_path / "out", "--verify", "quick")
    assert result.code == DAMAGE and "damage: rejects.jsonl: size" in result.out


@pytest.mark.thorough
@pytest.mark.parametrize(
    "args",
    [
        ("inspect", "source"),
        ("inspect", "source", "--verify", "full"),
        ("unpack", "source", "out"),
        ("pack", "source", "out", "--format", "lmdb"),
        ("stats", "source"),
        ("diff", "source", "source"),
        ("duplicates", "source"),
        ("bench", "source", "--repeats", "1"),
    ],
    ids=" ".join,
)
def test_a_split_that_cannot_be_looked_into_ends_the_run(packed, args):
    result = run_closed(lambda root: copy_tree(packed, root), "val", *args)
    assert result.code == FAILED and result.out == "", result
    assert re.search(r"cannot (tell whether this is a split of the dataset|list): Permission denied", result.err)
    assert "where: source/val" in result.err


@pytest.mark.thorough
def test_what_the_system_closes_on_a_volume_is_no_split(packed):
    def make(root):
        copy_tree(packed, root)
        (root / "lost+found").mkdir()

    result = run_closed(make, "lost+found", "inspect", "source", "--verify", "full")
    assert result.code == DONE and "156 samples" in result.out, result
