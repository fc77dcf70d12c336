"""The choice of samples to pack: globs, limits, splits by content, duplicates; and the log that gives the reasons."""

import json
import shutil
from collections import Counter

import pytest
from python_support import SHAPES, USAGE, balanced, listed, make_source, pack, packhorse, paths, refused

TRAIN, VAL = SHAPES / "train", SHAPES / "val"


def test_include_and_exclude_are_globs_of_names_and_paths(tmp_path):
    everything = [p.relative_to(VAL).as_posix() for p in VAL.rglob("*") if p.is_file()]
    classes = sorted({p.split("/")[0] for p in everything})
    includes = ("--include", f"{classes[0]}/*", "--include", f"{classes[1]}/*")
    report = pack(VAL, tmp_path / "a", "--format", "wds", *includes)
    kept = [p for p in everything if p.split("/")[0] in classes[:2]]
    assert sorted(paths(tmp_path / "a")) == sorted(kept)
    assert balanced(report) and report["skipped_by_rule"]["matches no --include"] == len(everything) - len(kept)
    name = everything[0].rsplit("/", 1)[1]
    pack(VAL, tmp_path / "b", "--format", "wds", "--exclude", name)
    assert sorted(paths(tmp_path / "b")) == sorted(p for p in everything if not p.endswith("/" + name))


def test_with_splits_the_path_of_a_glob_begins_with_the_split(tmp_path):
    report = pack(SHAPES, tmp_path / "out", "--format", "wds", "--exclude", "train/*", "--log", tmp_path / "log")
    assert [split["split"] for split in report["splits"]] == ["val"]
    log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert len(log) == report["skipped"]
    excluded = [line["path"] for line in log if line == {**line, "event": "skip", "rule": "matches an --exclude"}]
    assert len(excluded) == report["skipped_by_rule"]["matches an --exclude"] > 100
    assert all(path.startswith("train/") for path in excluded)


def test_classes_and_splits_that_a_selection_leaves_without_an_image_are_noted(tmp_path):
    leaves, excluded = "the selection leaves no image in the ", "no image is left in '{} (--exclude)"
    notes = {
        ("--exclude", "train/*"): ["beside the split folders, left out: 'train'", excluded.format("train/balls', 'train/bricks', 'train/clouds', 'train/flowers' and 2 more")],
        ("--include", "*/balls/*"): [leaves + "classes 'bricks', 'clouds', 'flowers', 'pebbles' and 1 more"],
        ("--exclude", "*/balls/*"): [excluded.format("train/balls', 'val/balls'")],
        ("--exclude", "val/balls/*"): [excluded.format("val/balls'")],
        ("--samples-per-class", "1"): [],
    }
    for options, expected in notes.items():
        assert pack(SHAPES, tmp_path / "out", "--format", "wds", "--dry-run", *options)["notes"] == expected
    source = make_source(tmp_path / "source", 2)
    report = pack(source, tmp_path / "out", "--format", "wds", "--dry-run", "--split", "1000000:1")
    assert report["notes"] == [leaves + "split 'val'"]


def test_sample_per_class_and_limit_take_so_many_and_always_the_same(tmp_path):
    report = pack(TRAIN, tmp_path / "a", "--format", "wds", "--samples-per-class", "3")
    assert set(Counter(sample["label"] for sample in listed(tmp_path / "a")).values()) == {3}
    assert balanced(report)
    pack(TRAIN, tmp_path / "b", "--format", "lmdb", "--samples-per-class", "3", "--jobs", "1")
    assert sorted(paths(tmp_path / "a")) == sorted(paths(tmp_path / "b"))
    pack(TRAIN, tmp_path / "c", "--format", "wds", "--samples-per-class", "3", "--seed", "1")
    assert sorted(paths(tmp_path / "a")) != sorted(paths(tmp_path / "c"))
    report = pack(TRAIN, tmp_path / "d", "--format", "wds", "--limit", "10")
    assert report["packed"] == 10 and balanced(report)
    everything = sorted(p.relative_to(TRAIN).as_posix() for p in TRAIN.rglob("*") if p.is_file())
    pack(TRAIN, tmp_path / "e", "--format", "wds", "--limit", "10", "--no-shuffle")
    assert paths(tmp_path / "e") == everything[:10] and sorted(paths(tmp_path / "d")) != everything[:10]


def test_split_divides_by_content_and_adding_images_moves_none(tmp_path):
    source = make_source(tmp_path / "source", 200)
    report = pack(source, tmp_path / "a", "--format", "wds", "--split", "80:10:10")
    sizes = {split["split"]: split["samples"] for split in report["splits"]}
    assert list(sizes) == ["train", "val", "test"] and sum(sizes.values()) == 200
    assert 130 <= sizes["train"] <= 185 and sizes["val"] >= 6 and sizes["test"] >= 6
    before = {name: set(paths(tmp_path / "a" / name)) for name in sizes}
    first = sorted(p for p in source.rglob("*") if p.is_file())[0]
    shutil.copy(first, first.with_name("zz-copy" + first.suffix))
    pack(source, tmp_path / "b", "--format", "wds", "--split", "80:10:10")
    after = {name: set(paths(tmp_path / "b" / name)) for name in sizes}
    assert all(before[name] <= after[name] for name in sizes)
    home = next(name for name in sizes if first.relative_to(source).as_posix() in before[name])
    assert any("zz-copy" in path for path in after[home]), "identical bytes belong to one split"


def test_a_senseless_split_is_a_usage_error(tmp_path):
    for split in ("90", "90:", ":10", "0:10", "a:b", "1:2:3:4", "90:-10", "90 :10"):
        refused("pack", TRAIN, tmp_path / "out", "--format", "wds", f"--split={split}", code=USAGE)
    result = refused("pack", SHAPES, tmp_path / "out", "--format", "wds", "--split", "90:10", code=USAGE)
    assert "already has splits" in result.err


@pytest.fixture
def with_duplicates(tmp_path):
    """Two classes; a.ppm and b.ppm of one class are identical, and so is an image of val."""
    source = tmp_path / "source"
    images = sorted(p for p in TRAIN.rglob("*") if p.is_file())[:4]
    for place, image in {
        "train/one/a": 0,
        "train/one/b": 0,
        "train/two/c": 1,
        "train/two/d": 2,
        "val/one/e": 0,
        "val/two/f": 3,
        "val/one/g": 2,
    }.items():
        target = source / (place + images[image].suffix)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(images[image], target)
    return source


def test_duplicates_are_reported_with_leaks_and_contradictions(tmp_path, with_duplicates):
    report = pack(with_duplicates, tmp_path / "out", "--format", "wds", "--deduplicate", "report")
    assert report["packed"] == 7
    groups = [sorted(m["path"].split(".")[0] for m in group["members"]) for group in report["duplicates"]]
    assert sorted(groups) == [["train/one/a", "train/one/b", "val/one/e"], ["train/two/d", "val/one/g"]]
    assert all(group["across_splits"] for group in report["duplicates"])
    assert [group["across_classes"] for group in report["duplicates"]] == [False, True]
    options = ("--format", "wds", "--deduplicate", "report", "--overwrite")
    text = packhorse("pack", with_duplicates, tmp_path / "out", *options).out
    assert "5 images have the same bytes as another (2 groups; 2 of the groups across splits, 1 across classes)" in text


def test_dropping_duplicates_keeps_the_evaluation_images(tmp_path, with_duplicates):
    log = tmp_path / "log"
    report = pack(with_duplicates, tmp_path / "out", "--format", "wds", "--deduplicate", "drop", "--log", log)
    assert balanced(report) and report["skipped_by_rule"]["identical to another input (--deduplicate drop)"] == 3
    assert [p.split(".")[0] for p in sorted(paths(tmp_path / "out" / "train"))] == ["two/c"]
    assert [p.split(".")[0] for p in sorted(paths(tmp_path / "out" / "val"))] == ["one/e", "one/g", "two/f"]
    events = Counter(json.loads(line)["event"] for line in log.read_text().splitlines())
    assert events == {"skip": 3, "duplicate": 2}


def test_files_of_equal_size_but_other_bytes_are_no_duplicates(tmp_path):
    source = make_source(tmp_path / "source", 50)
    report = pack(source, tmp_path / "out", "--format", "wds", "--deduplicate", "drop")
    assert report["packed"] == 50 and report["duplicates"] == []
