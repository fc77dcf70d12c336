"""`packhorse inspect` from outside: summary, lists, single images, verification of intact datasets."""

import re

import pytest
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


@pytest.fixture(scope="module", params=FORMATS)
def packed(request, tmp_path_factory):
    """samples/shapes in one of the formats: `train` in four shards, `val` in two."""
    out = tmp_path_factory.mktemp(request.param) / "packed"
    pack(SHAPES, out, "--format", request.param, "--shard-samples", "30")
    return out


def test_the_summary_says_what_the_dataset_is(packed):
    form = packhorse("inspect", packed / "train", "--json").json["format"]
    text = packhorse("inspect", "train", cwd=packed).out
    lines = text.splitlines()
    assert lines[0] == "train"
    assert lines[1] == f"  format   {form}, images original"
    assert re.fullmatch(r"  samples  120 in 4 shards, 1\.0 MiB of images in [\d.]+ MiB of shards", lines[2])
    assert lines[3] == "  classes  6, each with 20 images"
    assert lines[4] == "  kinds    1 bmp, 114 jpeg, 4 png, 1 webp"
    assert "  source   seen 122 = packed 120 + rejected 0 + skipped 2" in lines
    assert "  order    shuffled, seed 0" in lines
    assert len([line for line in lines if re.fullmatch(r"  id       [0-9a-f]{64}", line)]) == 1
    assert len([line for line in lines if line.startswith("  shard-00000")]) == 4


def test_the_json_has_the_documented_fields(packed):
    summary = packhorse("inspect", packed / "val", "--json").json
    assert summary["format"] in FORMATS and summary["image"] == "original" and summary["samples"] == 36
    assert [c["name"] for c in summary["classes"]] == [
        "balls",
        "bricks",
        "clouds",
        "flowers",
        "pebbles",
        "wood",
    ]
    assert [c["samples"] for c in summary["classes"]] == [6] * 6
    assert [shard["samples"] for shard in summary["shards"]] == [30, 6]
    for shard in summary["shards"]:
        assert (packed / "val" / shard["file"]).stat().st_size == shard["bytes"]
    assert summary["bytes"] == sum(shard["bytes"] for shard in summary["shards"])
    assert re.fullmatch("[0-9a-f]{64}", summary["id"])


def test_a_folder_of_splits_is_shown_as_its_datasets(packed):
    both = packhorse("inspect", packed, "--json").json["datasets"]
    assert both == [packhorse("inspect", packed / split, "--json").json for split in ("train", "val")]
    assert packhorse("inspect", packed).out == "\n".join(
        packhorse("inspect", packed / s).out for s in ("train", "val")
    )


def test_pack_and_inspect_agree_about_the_id(tmp_path):
    report = pack(BROKEN, tmp_path / "out", "--format", "wds", "--dry-run")
    assert report["id"] == "" and report["published"] is False
    report = pack(SHAPES, tmp_path / "out", "--format", "wds")
    for split in report["splits"]:
        assert packhorse("inspect", split["path"], "--json").json["id"] == split["id"]


def test_the_list_has_a_line_for_each_sample(packed):
    lines = packhorse("inspect", packed / "val", "--list").out.splitlines()
    samples = listed(packed / "val")
    assert len(lines) == len(samples) == 36
    for i, (line, s) in enumerate(zip(lines, samples)):
        assert line.split("\t") == [
            str(i),
            s["key"],
            str(s["label"]),
            s["class"],
            str(s["bytes"]),
            f"{s['width']}x{s['height']}",
            s["kind"],
            s["path"],
        ]
        assert s["sample"] == i and s["class"] == s["path"].split("/")[0]


def test_the_list_knows_size_kind_and_orientation_of_the_odd_ones(packed):
    Image = pytest.importorskip("PIL.Image")
    kinds = {"JPEG": "jpeg", "PNG": "png", "WEBP": "webp", "BMP": "bmp"}
    for s in listed(packed / "train"):
        with Image.open(SHAPES / "train" / s["path"]) as image:
            assert (s["width"], s["height"]) == image.size, s
            assert s["kind"] == kinds[image.format], s
            assert s["orientation"] == image.getexif().get(0x0112, 1), s
            if s["kind"] == "jpeg":
                assert s["components"] == len(image.getbands()), s


@pytest.mark.parametrize("number", [0, 29, 30, 119])
def test_show_writes_the_bytes_of_the_source(packed, tmp_path, number):
    sample = listed(packed / "train")[number]
    source = (SHAPES / "train" / sample["path"]).read_bytes()
    by_number = packhorse("inspect", packed / "train", "--show", str(number), "-o", tmp_path / "a")
    by_key = packhorse("inspect", packed / "train", "--show", sample["key"], "-o", tmp_path / "b")
    assert by_number.out == by_key.out and by_key.out.split("\t")[1] == sample["key"]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == source
    assert packhorse("inspect", packed / "train", "--show", sample["key"], "-o", "-").raw == source
    assert packhorse("inspect", packed / "train", "--show", str(number), "--json").json == sample


@pytest.mark.parametrize(
    "name,words",
    [
        ("nokey", "no sample with the key 'nokey'"),
        ("000009999", "key '000009999'"),
        ("120", "no sample 120: the last is 119"),
        ("-1", "-1"),
    ],
)
def test_an_unknown_sample_is_named(packed, name, words):
    result = refused("inspect", packed / "train", f"--show={name}")
    assert words in result.err and str(packed / "train") in result.err, result


def test_show_wants_one_dataset(packed):
    assert str(packed / "train") in refused("inspect", packed, "--show", "0", code=USAGE).err


def test_show_of_a_damaged_image_writes_nothing(packed, tmp_path):
    sample = listed(packed / "val")[3]
    copy_tree(packed / "val", tmp_path / "val")
    flip_byte(tmp_path / "val" / sample["shard"], sample["offset"])
    result = refused("inspect", tmp_path / "val", "--show", "3", "-o", tmp_path / "image", code=DAMAGE)
    assert sample["key"] in result.err and not (tmp_path / "image").exists()


@pytest.mark.parametrize("level", ["quick", "full"])
def test_a_whole_dataset_is_verified(packed, level):
    files = len(files_of(packed)) - (packed / "README.md").exists()  # the card is no part of a dataset
    assert re.fullmatch(
        rf"ok: {files} files, 156 samples, [\d.]+ (B|MiB) read\n",
        packhorse("inspect", packed, "--verify", level).out,
    )
    report = packhorse("inspect", packed, "--verify", level, "--json").json
    assert report["ok"] is True and report["findings"] == []
    assert report["checked"]["samples"] == 156 and report["checked"]["files"] == files
    shards = sum(d["bytes"] for d in packhorse("inspect", packed, "--json").json["datasets"])
    assert report["checked"]["bytes"] == (shards if level == "full" else 0)


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_verification_does_not_depend_on_the_threads(packed, jobs):
    assert (
        packhorse("inspect", packed, "--verify", "full", "--jobs", jobs).out
        == packhorse("inspect", packed, "--verify", "full").out
    )


def test_what_is_no_dataset_is_refused_with_advice(packed, tmp_path):
    assert "does not exist" in refused("inspect", tmp_path / "nowhere").err
    (tmp_path / "empty").mkdir()
    for options in ((), ("--verify", "quick"), ("--verify", "full"), ("--list",), ("--show", "0")):
        result = refused("inspect", tmp_path / "empty", *options, code=FAILED)
        assert "no dataset.json" in result.err and "next: " in result.err, result


@pytest.mark.parametrize(
    "options", [("--verify", "some"), ("--list", "--verify", "full"), ("-o", "x"), ("--list", "--show", "1")]
)
def test_senseless_options_are_usage_errors(packed, options):
    refused("inspect", packed / "val", *options, code=USAGE)


def test_the_list_of_rejects_is_part_of_what_is_verified(tmp_path):
    assert run("pack", BROKEN, tmp_path / "out", "--format", "wds", "--max-rejects", "8").code == 0
    with open(tmp_path / "out/rejects.jsonl", "ab") as file:
        file.write(b"x")
    result = run("inspect", tmp_path / "out", "--verify", "quick")
    assert result.code == DAMAGE and "damage: rejects.jsonl: size" in result.out


COMMANDS_ON_ALL_SPLITS = [
    ("inspect", "source"),
    ("inspect", "source", "--verify", "full"),
    ("unpack", "source", "out"),
    ("pack", "source", "out", "--format", "lmdb"),
    ("stats", "source"),
    ("diff", "source", "source"),
    ("duplicates", "source"),
    ("bench", "source", "--repeats", "1"),
]


@pytest.mark.parametrize("args", COMMANDS_ON_ALL_SPLITS, ids=" ".join)
def test_a_split_that_cannot_be_looked_into_ends_the_run(args):
    result = run_closed(lambda root: pack(SHAPES, root, "--format", "wds"), "val", *args)
    assert result.code == FAILED and result.out == "", result
    assert "cannot tell whether this is a split of the dataset: Permission denied" in result.err
    assert "where: source/val" in result.err


def test_what_the_system_closes_on_a_volume_is_no_split():
    def make(root):
        pack(SHAPES, root, "--format", "wds")
        (root / "lost+found").mkdir()

    result = run_closed(make, "lost+found", "inspect", "source", "--verify", "full")
    assert result.code == DONE and "156 samples" in result.out, result
