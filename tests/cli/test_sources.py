"""The sources of pack: odd folders, fields, list files, packed datasets. More about them is in tests/unit/libpack/sources."""

import csv
import json
import os
import tempfile
from pathlib import Path

import pytest
from python_support import (
    DAMAGE,
    DONE,
    USAGE,
    balanced,
    flip_byte,
    listed,
    make_source,
    pack,
    packhorse,
    paths,
    photo,
    put,
    refused,
    rejects_of,
    run,
    run_unprivileged,
    tree,
)

JPEG = photo()


def rows_of(source):
    """path, class of each image of a folder of class folders."""
    return [(p.relative_to(source).as_posix(), p.parent.name) for p in sorted(source.rglob("*.jpg"))]


def fielded(path, images=12):
    """A folder whose images have fields; some images lack some of them."""
    source = make_source(path, images)
    for i, image in enumerate(sorted(source.rglob("*.jpg"))):
        put(image.with_suffix(".json"), json.dumps({"number": i}))
        if i % 3:
            put(image.with_suffix(".seg.png"), bytes([i]) * (i + 1))
    return source


# --- folders


def test_each_odd_thing_in_a_folder_has_its_verdict(tmp_path):
    source = tmp_path / "source"
    raw = os.fsencode(source / "a")
    put(source / "a/1.jpg")
    names = [b"line\nbreak.jpg", b"\xff\xfe.jpg", b"n" * 251 + b".jpg", b"a.JPG", b"a.jpg", b"a.png", b"x.y.z.jpg"]
    for name in [*names, b".hidden.jpg", b"notes.txt"]:
        with open(os.path.join(raw, name), "wb") as file:
            file.write(JPEG if name != b"notes.txt" else b"text")
    put(source / "dot.ted.class/2.jpg")
    put(source / "a/.ipynb_checkpoints/1-checkpoint.jpg")
    put(source / "stray.jpg")
    put(source / "README.md", "text")
    put(source / "a/deeper/3.jpg")
    put(source / "a/sniffed")
    put(source / "a/zero.jpg", b"")
    (source / "empty").mkdir()
    (source / "a/self").symlink_to(".")
    (source / "a/dangling.jpg").symlink_to("nowhere")
    (source / "a/dangling").symlink_to("nowhere")
    (source / "a/circle.jpg").symlink_to("circle.jpg")
    (source / "a/link.jpg").symlink_to("1.jpg")
    os.mkfifo(source / "a/pipe.jpg")
    os.mkfifo(source / "a/pipe")
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--allow-odd-classes", "--max-rejects", "4", "--json")
    assert result.code == DONE, result
    report = result.json
    assert balanced(report)
    assert rejects_of(report) == {
        "stray.jpg": "not in a class folder",
        "a/dangling.jpg": "a link that leads nowhere",
        "a/circle.jpg": "a link that leads nowhere",
        "a/zero.jpg": "empty file",
    }
    assert report["skipped_by_rule"] == {
        "hidden (its name starts with a dot)": 2,
        "not an image, by name and first bytes": 2, "a link that leads nowhere": 1,
        "not a regular file": 2,
        "a link to a folder above it": 1,
    }
    assert report["packed"] == len(names) + 5
    assert (tmp_path / "out/classes.txt").read_text() == "a\ndot.ted.class\nempty\n"
    packhorse("unpack", tmp_path / "out", tmp_path / "back")
    for name in names:
        with open(os.path.join(os.fsencode(tmp_path / "back/a"), name), "rb") as file:
            assert file.read() == JPEG


def test_an_unreadable_folder_and_file_are_rejects():
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o777)
        source = Path(scratch) / "source"
        put(source / "a/1.jpg")
        put(source / "a/closed.jpg").chmod(0)
        put(source / "b/2.jpg")
        put(source / "c/3.jpg")
        (source / "b").chmod(0)
        (source / "c").chmod(0o444)
        options = ("--format", "wds", "--max-rejects", "9", "--json")
        result = run_unprivileged("pack", source, f"{scratch}/out", *options, cwd=scratch)
        (source / "b").chmod(0o755)
        (source / "c").chmod(0o755)
        assert result.code == DONE and balanced(result.json), result
        reasons = rejects_of(result.json)
        assert reasons["b"] == "unreadable folder: Permission denied"
        assert reasons["c/3.jpg"] == "unreadable: Permission denied"
        assert "Permission denied" in reasons["a/closed.jpg"] and result.json["packed"] == 1


def test_fields_beside_images_are_packed_with_them(tmp_path):
    source = fielded(tmp_path / "source")
    put(source / "class-0/alone.json", "{}")
    report = pack(source, tmp_path / "out", "--format", "wds", "--fields", "json,seg.png")
    assert balanced(report) and report["packed"] == 12
    assert report["skipped_by_rule"] == {"a field without its image": 1}
    packhorse("unpack", tmp_path / "out", tmp_path / "back")
    (source / "class-0/alone.json").unlink()
    assert tree(tmp_path / "back") == tree(source)


def test_a_changed_field_is_packed_anew_when_an_interrupted_run_goes_on(tmp_path):
    source = fielded(tmp_path / "source")
    bad = put(source / "class-3/bad.jpg", b"")
    command = ("--format", "wds", "--fields", "json,seg.png", "--shard-samples", "2", "--no-shuffle")
    assert run("pack", source, tmp_path / "out", *command).code == DAMAGE
    bad.unlink()
    changed = sorted(source.rglob("*.json"))[0]
    put(changed, json.dumps({"number": 7}))
    os.utime(changed, ns=(1, 1))
    pack(source, tmp_path / "out", *command)
    pack(source, tmp_path / "fresh", *command)
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")


def test_a_field_that_leads_nowhere_rejects_its_sample(tmp_path):
    source = fielded(tmp_path / "source")
    victim = sorted(source.rglob("*.json"))[0]
    victim.unlink()
    victim.symlink_to("nowhere")
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--fields", "json,seg.png", "--json")
    assert result.code == DAMAGE and balanced(result.json)
    ((path, reason),) = rejects_of(result.json).items()
    assert path == "class-0/000000.jpg" and reason.startswith("its field json: ")


# --- labels files


def test_a_labels_file_with_class_names_and_a_class_list(tmp_path):
    images = make_source(tmp_path / "images", 8, classes=2)
    with open(tmp_path / "labels.csv", "w", newline="") as file:
        csv.writer(file).writerows([("path", "label"), *((p, "big, old dog") for p, _ in rows_of(images))])
    (tmp_path / "classes").write_text("cat\nbig, old dog\n")
    pack(
        *(images, tmp_path / "out", "--format", "wds", "--labels", tmp_path / "labels.csv"),
        *("--classes", tmp_path / "classes"),
    )
    assert {(s["label"], s["class"]) for s in listed(tmp_path / "out")} == {(1, "big, old dog")}


# --- list files


def test_a_list_gives_the_samples_a_folder_would_in_its_own_order(tmp_path):
    source = make_source(tmp_path / "data/source", 12)
    rows = [(f"source/{path}", name) for path, name in rows_of(source)][::-1]
    pack(source, tmp_path / "folder", "--format", "wds", "--no-shuffle")
    keys = ("label", "class", "path", "xxh3")
    wanted = [[s["label"], s["class"], f"source/{s['path']}", s["xxh3"]] for s in listed(tmp_path / "folder")][::-1]
    put(tmp_path / "data/list.csv", "label,path\n" + "".join(f"{name},{path}\n" for path, name in rows))
    put(tmp_path / "data/list.jsonl", "".join(json.dumps({"label": name, "path": path}) + "\n" for path, name in rows))
    for kind in ("csv", "jsonl"):
        report = pack(tmp_path / f"data/list.{kind}", tmp_path / kind, "--format", "hdf5", "--no-shuffle")
        assert balanced(report) and report["packed"] == 12
        assert [[s[k] for k in keys] for s in listed(tmp_path / kind)] == wanted


def test_a_list_with_splits_fields_and_a_file_listed_twice(tmp_path):
    source = make_source(tmp_path / "source", 4)
    names = [path for path, _ in rows_of(source)]
    rows = [
        (names[0], "x", "val", "first, of them"),
        (names[1], "y", "train", 'a "quoted"\nline'),
        (names[1], "y", "train", ""),
        (names[2], "x", "extra", "third"),
    ]
    with open(source / "list.csv", "w", newline="") as file:
        csv.writer(file).writerows([("path", "label", "split", "caption"), *rows])
    report = pack(source / "list.csv", tmp_path / "out", "--format", "wds", "--no-shuffle")
    assert [split["split"] for split in report["splits"]] == ["train", "val", "extra"]
    packhorse("unpack", tmp_path / "out", tmp_path / "back")
    stem = names[1].removesuffix(".jpg")
    assert (tmp_path / "back/train" / f"{stem}.caption").read_text() == 'a "quoted"\nline'
    assert (tmp_path / "back/train/~2" / names[1]).read_bytes() == (source / names[1]).read_bytes()
    assert not (tmp_path / "back/train/~2" / f"{stem}.caption").exists()
    assert [s["class"] for s in listed(tmp_path / "out/train")] == ["y", "y"]
    assert "1 row lists a file again: each is a sample" in report["notes"]


@pytest.mark.parametrize("splits", [("", ""), (",train", ",val")])
def test_a_list_that_gives_an_image_two_labels_is_refused(tmp_path, splits):
    source = make_source(tmp_path / "source", 2)
    (path, name), (other, _) = rows_of(source)
    head = "path,label" + (",split" if splits[0] else "")
    put(source / "list.csv", f"{head}\n{path},{name}{splits[0]}\n{other},x{splits[0]}\n./{path},y{splits[1]}\n")
    result = run("pack", source / "list.csv", tmp_path / "out", "--format", "wds")
    assert result.code == USAGE and "lines 2 and 4 of the list give" in result.err and not (tmp_path / "out").exists(), result


@pytest.mark.parametrize("values", ["train Train", "val valid", "training train", "train nan", "Fold fold"])
def test_splits_of_a_list_that_look_like_one_are_refused(tmp_path, values):
    source = make_source(tmp_path / "source", 2)
    text = "path,label,split\n"
    for (path, name), split in zip(rows_of(source), values.split()):
        text += f"{path},{name},{split}\n"
    put(source / "list.csv", text)
    result = run("pack", source / "list.csv", tmp_path / "out", "--format", "wds")
    assert result.code == USAGE and "the column of the splits has" in result.err and values.split()[1] in result.err, result
    put(source / "list.csv", text.replace(f"{values.split()[1]}\n", "train2017\n").replace(f"{values.split()[0]}\n", "train2012\n"))
    pack(source / "list.csv", tmp_path / "out", "--format", "wds")


def test_a_list_may_lie_beside_its_images_and_be_given_by_its_bare_name(tmp_path):
    source = make_source(tmp_path / "images", 4)
    text = "path,label\n" + "".join(f"../images/{path},{name}\n" for path, name in rows_of(source))
    put(tmp_path / "lists/list.csv", text)
    packhorse("pack", "list.csv", "../out", "--format", "wds", cwd=tmp_path / "lists")
    assert sorted(paths(tmp_path / "out")) == [path for path, _ in rows_of(source)]
    assert str(tmp_path).encode() not in b"".join(p.read_bytes() for p in (tmp_path / "out").iterdir())


# --- packed datasets


KEYS = ("key", "label", "class", "path", "bytes", "xxh3", "width", "height", "components", "kind")


def samples_of(dataset):
    return [[sample[key] for key in KEYS] for sample in listed(dataset)]


def convert(first, folder, layouts):
    """Packs a dataset again and again. All hold the same samples, and those of one layout the same shards."""
    made = {}
    for number, layout in enumerate(layouts):
        before, first = first, folder / f"{number}-{layout}"
        report = pack(before, first, "--format", layout, "--shard-samples", "7")
        assert balanced(report) and samples_of(first) == samples_of(before)
        assert packhorse("inspect", first, "--verify", "full").out.startswith("ok: ")
        shards = tree(first, lambda name: name.startswith(b"shard-") or name == b"data.mdb")
        assert made.setdefault(layout, shards) == shards
    return first


def test_converting_keeps_every_byte_label_key_path_and_field(tmp_path):
    source = fielded(tmp_path / "source", 15)
    pack(source, tmp_path / "first", "--format", "wds", "--fields", "json,seg.png", "--shard-samples", "4")
    last = convert(tmp_path / "first", tmp_path, ["wds", "hdf5", "lmdb-members", "hdf5", "wds"])
    packhorse("unpack", last, tmp_path / "back")
    assert tree(tmp_path / "back") == tree(source)


def test_converting_to_a_layout_without_fields_and_back(tmp_path):
    source = make_source(tmp_path / "source", 15)
    pack(source, tmp_path / "first", "--format", "hdf5", "--shard-samples", "4")
    last = convert(tmp_path / "first", tmp_path, ["lmdb", "lmdb-members", "lmdb", "hdf5"])
    packhorse("unpack", last, tmp_path / "back")
    assert tree(tmp_path / "back") == tree(source)


def test_converting_keeps_splits(tmp_path):
    source = tmp_path / "source"
    make_source(source / "train", 8)
    make_source(source / "val", 4)
    pack(source, tmp_path / "first", "--format", "lmdb")
    report = pack(tmp_path / "first", tmp_path / "second", "--format", "wds")
    assert [split["split"] for split in report["splits"]] == ["train", "val"]
    packhorse("unpack", tmp_path / "second", tmp_path / "back")
    assert tree(tmp_path / "back") == tree(source)


def test_converting_leaves_fields_out_on_demand(tmp_path):
    source = fielded(tmp_path / "source")
    pack(source, tmp_path / "first", "--format", "wds", "--fields", "json,seg.png")
    result = refused("pack", tmp_path / "first", tmp_path / "second", "--format", "lmdb", code=USAGE)
    assert "json" in result.err and "--fields none" in result.err
    pack(tmp_path / "first", tmp_path / "second", "--format", "lmdb", "--fields", "none")
    pack(tmp_path / "first", tmp_path / "third", "--format", "hdf5", "--fields", "json")
    packhorse("unpack", tmp_path / "third", tmp_path / "back")
    assert tree(tmp_path / "back") == {k: v for k, v in tree(source).items() if not k.endswith(b".png")}


def test_a_damaged_sample_is_rejected_when_it_is_converted(tmp_path):
    pack(make_source(tmp_path / "source", 10), tmp_path / "first", "--format", "wds")
    victim = listed(tmp_path / "first")[4]
    flip_byte(tmp_path / "first" / victim["shard"], victim["offset"] + 50)
    result = run("pack", tmp_path / "first", tmp_path / "second", "--format", "hdf5", "--json")
    assert result.code == DAMAGE and balanced(result.json), result
    ((path, reason),) = rejects_of(result.json).items()
    assert path == victim["path"] and "not the ones that were packed" in reason


def test_a_class_list_orders_the_classes_of_a_packed_dataset_anew(tmp_path):
    pack(make_source(tmp_path / "source", 12, classes=3), tmp_path / "first", "--format", "wds")
    (tmp_path / "classes").write_text("class-2\nclass-0\nclass-1\n")
    pack(tmp_path / "first", tmp_path / "second", "--format", "wds", "--classes", tmp_path / "classes")
    assert {s["class"]: s["label"] for s in listed(tmp_path / "second")} == {"class-2": 0, "class-0": 1, "class-1": 2}
    for sample in listed(tmp_path / "second"):
        assert sample["path"].startswith(sample["class"])


def test_a_folder_with_a_dataset_json_of_its_own_is_a_folder(tmp_path):
    source = make_source(tmp_path / "source", 8)
    put(source / "dataset.json", "{}")
    put(source / "class-0/dataset.json", "{}")
    report = pack(source, tmp_path / "out", "--format", "wds")
    assert report["packed"] == 8 and report["skipped"] == 2


def test_the_kind_of_a_source_can_be_said(tmp_path):
    pack(make_source(tmp_path / "source", 8), tmp_path / "out", "--format", "wds")
    result = refused("pack", tmp_path / "out", tmp_path / "again", "--format", "wds", "--source-kind", "folder")
    assert "no images" in result.err


@pytest.mark.parametrize("image", [("raw", "--size", "32"), ("resize", "--short-side", "40"), ("roi",)])
def test_converting_keeps_what_was_made_of_the_images(tmp_path, image):
    source = make_source(tmp_path / "source", 9)
    pack(source, tmp_path / "first", "--format", "hdf5", "--image", *image, "--shard-samples", "7")
    last = convert(tmp_path / "first", tmp_path, ["wds", "lmdb", "lmdb-members", "hdf5"])
    assert packhorse("inspect", last, "--json").json["image"] == image[0]
    shards = lambda name: name.endswith(b".h5")  # noqa: E731
    assert tree(tmp_path / "first", shards) == tree(last, shards)
