"""`packhorse diff`: the differences between two datasets, from their indexes alone."""

import shutil

import pytest
from python_support import DAMAGE, DONE, FAILED, SHAPES, copy_tree, flip_byte, make_source, pack, packhorse, refused, run


def diff(a, b, *options, code=DAMAGE):
    result = run("diff", a, b, "--json", *options)
    assert result.code == code and result.err == "", result
    return result.json


def some(counts):
    return {name: count for name, count in counts.items() if count and name != "in_both"}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    source = make_source(folder / "source", 40)
    pack(source, folder / "out", "--format", "wds", "--shard-samples", "15", "--no-shuffle")
    return source, folder / "out"


def changed(base, tmp_path, change, *options):
    """The base dataset, and one packed the same way after `change` was made to its source."""
    source, out = base
    copy_tree(source, tmp_path / "source")
    change(tmp_path / "source")
    pack(tmp_path / "source", tmp_path / "out", "--format", "wds", "--shard-samples", "15", "--no-shuffle", *options)
    return out, tmp_path / "out"


def test_the_same_source_and_options_give_equal_datasets(base, tmp_path):
    a, b = changed(base, tmp_path, lambda source: None)
    report = diff(a, b, code=DONE)
    assert report["equal"] and report["id_a"] == report["id_b"]
    assert report["settings"] == report["changes"] == [] and some(report["counts"]) == {}
    assert report["counts"]["in_both"] == 40
    assert packhorse("diff", a, b).out == f"equal: id {report['id_a'][:12]}\n"


def test_samples_that_went_came_and_changed_are_told_apart(base, tmp_path):
    def change(source):
        (source / "class-3/000039.jpg").unlink()
        shutil.copyfile(next((SHAPES / "val").rglob("*.png")), source / "class-3/000999.png")
        with open(source / "class-1/000012.jpg", "ab") as file:
            file.write(b"more")
        (source / "class-0/000003.jpg").rename(source / "class-2/000003.jpg")

    report = diff(*changed(base, tmp_path, change))
    counts = some(report["counts"])
    assert {name: counts[name] for name in ("only_a", "only_b", "bytes", "relabelled", "renamed")} == {
        "only_a": 1, "only_b": 1, "bytes": 1, "relabelled": 1, "renamed": 1,
    }  # fmt: skip
    assert [s["path"] for s in report["only_a"]] == ["class-3/000039.jpg"]
    assert [s["path"] for s in report["only_b"]] == ["class-3/000999.png"]
    by_path = {c["a"]["path"]: c for c in report["changes"]}
    assert by_path["class-1/000012.jpg"]["what"][0] == "bytes"
    away = by_path["class-0/000003.jpg"]
    assert away["what"][:2] == ["relabelled", "renamed"] and away["b"]["class"] == "class-2"
    # Samples after it in the order of paths took its place and key, up to the place it moved to.
    moved = by_path["class-0/000004.jpg"]
    assert moved["what"] == ["rekeyed", "moved"] and moved["b"]["row"] == moved["a"]["row"] - 1


def test_the_text_says_the_same(base, tmp_path):
    def change(source):
        (source / "class-3/000039.jpg").rename(source / "class-3/zzz.jpg")

    a, b = changed(base, tmp_path, change)
    result = run("diff", a, b)
    assert result.code == DAMAGE and result.err == ""
    lines = result.out.splitlines()
    assert "~ class-3/000039.jpg (class-3, key 000000039): renamed; now class-3/zzz.jpg" in lines
    assert lines[-1] == (
        "40 samples in both: 0 with different bytes, 0 with different fields, 0 described differently, 0 relabelled, "
        "1 renamed, 0 rekeyed, 0 moved; 0 only in A, 0 only in B"
    )


def test_what_was_not_packed_is_a_difference_with_a_line_of_its_own(base, tmp_path):
    a, b = changed(base, tmp_path, lambda source: (source / "class-1/.hidden.jpg").write_bytes(b"x"))
    result = run("diff", a, b)
    assert result.code == DAMAGE and "! seen: 40 -> 41\n! skipped: 0 -> 1\n" in result.out, result
    assert "! skipped_by_rule.hidden" in result.out, result


def test_other_settings_and_places_are_named(base, tmp_path):
    source, out = base
    pack(source, tmp_path / "out", "--format", "lmdb", "--shard-samples", "20", "--seed", "5")
    report = diff(out, tmp_path / "out", "--limit", "3")
    settings = {s["name"]: (s["a"], s["b"]) for s in report["settings"]}
    assert settings["format"] == ("wds", "lmdb") and settings["shuffle"] == ("false", "true")
    assert settings["seed"] == ("0", "5") and settings["shards"] == ("3", "2")
    counts = some(report["counts"])
    assert set(counts) == {"moved", "rekeyed"} and counts["moved"] > 30
    assert len(report["changes"]) == 3
    assert len(diff(out, tmp_path / "out", "--limit", "0")["changes"]) >= counts["moved"]


def test_fields_are_compared(tmp_path):
    source = make_source(tmp_path / "source", 8, classes=2)
    for i, image in enumerate(sorted(source.rglob("*.jpg"))):
        image.with_suffix(".txt").write_text(str(i))
    pack(source, tmp_path / "a", "--format", "wds", "--fields", "txt", "--no-shuffle")
    (source / "class-0/000002.txt").write_text("else")
    (source / "class-1/000005.txt").unlink()
    pack(source, tmp_path / "b", "--format", "wds", "--fields", "txt", "--no-shuffle")
    report = diff(tmp_path / "a", tmp_path / "b")
    assert some(report["counts"]) == {"fields": 2}
    assert [c["a"]["path"] for c in report["changes"]] == ["class-0/000002.jpg", "class-1/000005.jpg"]
    pack(source, tmp_path / "c", "--format", "wds", "--no-shuffle", "--classes-at", "1")
    report = diff(tmp_path / "b", tmp_path / "c")
    assert some(report["counts"]) == {"fields": 7}
    assert {"name": "fields", "a": "txt", "b": ""} in report["settings"]


def test_another_class_list_does_not_relabel(base, tmp_path):
    source, out = base
    (tmp_path / "classes.txt").write_text("new\nclass-0\nclass-1\nclass-2\nclass-3\n")
    _, b = changed(base, tmp_path, lambda source: None, "--classes", tmp_path / "classes.txt")
    report = diff(out, b)
    assert some(report["counts"]) == {} and not report["equal"]
    assert {"name": "classes", "a": "4", "b": "5"} in report["settings"]


def test_identical_images_are_matched_one_to_one(tmp_path):
    source = make_source(tmp_path / "source", 4, classes=1)
    for name in ("x", "y"):
        shutil.copyfile(source / "class-0/000000.jpg", source / f"class-0/{name}.jpg")
    pack(source, tmp_path / "a", "--format", "wds", "--allow-odd-classes")
    (source / "class-0/y.jpg").rename(source / "class-0/z.jpg")
    (source / "class-0/x.jpg").unlink()
    pack(source, tmp_path / "b", "--format", "wds", "--allow-odd-classes")
    counts = diff(tmp_path / "a", tmp_path / "b")["counts"]
    assert (counts["in_both"], counts["only_a"], counts["only_b"], counts["renamed"]) == (5, 1, 0, 1)


def test_only_indexes_are_needed(base, tmp_path):
    source, out = base
    shutil.copytree(out, tmp_path / "a", ignore=shutil.ignore_patterns("*.tar"))
    diff(tmp_path / "a", out, code=DONE)
    flip_byte(tmp_path / "a" / "shard-000001.index", 200)
    assert "damaged index" in refused("diff", tmp_path / "a", out, code=DAMAGE).err
    refused("diff", source, out, code=FAILED)


def test_splits_are_compared_by_name(tmp_path):
    pack(SHAPES, tmp_path / "a", "--format", "wds")
    removed = len(list(SHAPES.glob("val/*/*3.jpg")))
    pack(SHAPES, tmp_path / "b", "--format", "wds", "--exclude", "val/*/*3.jpg")
    report = diff(tmp_path / "a", tmp_path / "b")
    assert [(d["split"], d["equal"]) for d in report["datasets"]] == [("train", True), ("val", False)]
    assert report["datasets"][1]["counts"]["only_a"] == removed and not report["equal"]
    shutil.rmtree(tmp_path / "b/train")
    result = run("diff", tmp_path / "a", tmp_path / "b")
    assert result.code == DAMAGE and result.out.startswith("- split train: only in A\n")
    packhorse("diff", tmp_path / "a", tmp_path / "a")
