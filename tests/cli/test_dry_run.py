"""`pack --dry-run` shows what would be packed: splits, classes, labels, and what would not be, with an example each."""

import os
import re

from python_support import DONE, SHAPES, pack, packhorse, photo, put, run


def dry(source, *options, cwd):
    return packhorse("pack", source, "out", "--format", "wds", "--dry-run", *options, cwd=cwd).out


def preview(source, tmp_path, *options):
    return pack(source, tmp_path / "out", "--format", "wds", "--dry-run", *options)["preview"]


def test_it_shows_splits_classes_counts_and_samples_and_writes_nothing(tmp_path):
    text = dry(SHAPES, "--shard-samples", "10", cwd=tmp_path)
    assert "6 classes: balls, bricks, clouds, flowers, pebbles, wood\n" in text
    assert "  class    label  train  val\n  balls        0     20    6\n  bricks       1     20    6\n" in text
    assert "train: 120 images, " in text and "val: 36 images, " in text
    assert "  train/balls/" in text and " is balls, label 0\n" in text and " is wood, label 5\n" in text
    assert "  skipped 1: hidden (its name starts with a dot), e.g. train/" in text
    assert re.search(r"would pack them into 16 shards, of \S+ MiB at most; nothing was written\n$", text)
    said = preview(SHAPES, tmp_path)
    assert [(s["split"], s["samples"], s["classes_without"], len(s["examples"])) for s in said["splits"]] == [
        ("train", 120, 0, 3),
        ("val", 36, 0, 3),
    ]
    assert said["classes"][5] == {"class": "wood", "label": 5, "samples": 26, "by_split": [20, 6]}
    example = said["splits"][1]["examples"][2]
    assert (example["class"], example["label"]) == ("wood", 5) and (SHAPES / example["path"]).is_file()
    assert sum(reason["count"] for reason in said["skipped_by_rule"]) == 3
    assert os.listdir(tmp_path) == []
    assert "preview" not in pack(SHAPES, tmp_path / "out", "--format", "wds")


def test_a_hundred_classes_are_shown_by_the_largest_and_the_smallest(tmp_path):
    for i in range(100):
        for image in range(9 if i == 50 else 1 if i == 7 else 2):
            put(tmp_path / f"source/class-{i:02}/{image}.jpg", b"\xff\xd8\xff" + bytes([i, image]))
    text = dry(tmp_path / "source", cwd=tmp_path)
    assert "100 classes: class-00, " in text and ", class-07, ..., class-99" in text
    lines = [line.split() for line in text.splitlines()]
    counts = [words for words in lines if "between" in words or words[0].startswith("class-") and len(words) == 3]
    assert counts[0] == ["class-50", "50", "9"] and counts[10] == ["class-07", "7", "1"], counts
    assert counts[5] == ["...", "90", "classes", "between"] and len(counts) == 11
    said = preview(tmp_path / "source", tmp_path)
    largest = {"class": "class-50", "label": 50, "samples": 9, "by_split": [9]}
    assert said["classes_left_out"] == 90 and said["classes"][0] == largest


def test_rejects_are_shown_by_reason_and_what_they_lead_to_is_said(tmp_path):
    for i in range(9):
        put(tmp_path / f"source/{i}.jpg")
    for name in ("cat", "dog"):
        put(tmp_path / f"source/{name}/{name}.jpg", photo(1) + name.encode())
    result = run("pack", "source", "out", "--format", "wds", "--dry-run", cwd=tmp_path)
    assert result.code == DONE and result.err == "", result
    assert "  rejected 9, e.g. 0.jpg: not in a class folder (PH401)\n" in result.out
    assert "note: 9 rejected, 0 allowed: nothing would be published; " in result.out and "--labels FILE" in result.out
    assert "checked only when they are packed" in dry(tmp_path / "source", "--max-rejects", "9", cwd=tmp_path)


def test_a_split_that_lacks_a_class_says_so(tmp_path):
    for path in ("train/cat/1.jpg", "train/dog/2.jpg", "val/cat/3.jpg"):
        put(tmp_path / "source" / path, photo() + path.encode())
    text = dry(tmp_path / "source", cwd=tmp_path)
    assert "val: 1 image, " in text and "1 shard, no image of 1 class\n" in text


def test_reasons_that_differ_in_their_numbers_count_as_one(tmp_path):
    rows = "".join(f"gone-{i}.jpg,cat\n" for i in range(30))
    put(tmp_path / "list.csv", "path,label\nhere.jpg,cat\n" + rows)
    put(tmp_path / "here.jpg")
    (reason,) = preview(tmp_path / "list.csv", tmp_path)["rejected_by_reason"]
    assert reason["count"] == 30 and "line 3" in reason["reason"]


def test_hostile_names_stay_on_their_line(tmp_path):
    put(tmp_path / "source/a\x1b[31m/x\ny.jpg")
    put(tmp_path / "source/b/" / ("z" * 200 + ".jpg"), photo(1))
    text = dry(tmp_path / "source", cwd=tmp_path)
    assert "\x1b" not in text and "x\\x0ay.jpg" in text
