"""The sources of pack: folders with odd things in them, fields and labels files, list files, packed datasets."""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from python_support import (
    CARRIERS,
    DAMAGE,
    DONE,
    LAYOUTS,
    USAGE,
    balanced,
    flip_byte,
    listed,
    make_source,
    pack,
    packhorse,
    paths,
    photo,
    photos,
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
        "not an image, by name and first bytes": 3,
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


def test_a_file_growing_while_it_is_read_is_rejected_or_whole_as_it_was(tmp_path):
    source = make_source(tmp_path / "source", 200)
    grows = source / "class-3/999.jpg"
    grows.write_bytes(JPEG)
    script = "import os,sys\nf=os.open(sys.argv[1],os.O_WRONLY|os.O_APPEND)\nprint(flush=True)\n"
    script += "while True: os.write(f,b'x')"
    with subprocess.Popen([sys.executable, "-c", script, grows], stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        result = run("pack", source, tmp_path / "out", "--format", "wds", "--max-rejects", "1", "--json")
        writer.kill()
    assert result.code == DONE and balanced(result.json), result
    if result.json["rejected"]:
        assert rejects_of(result.json) == {"class-3/999.jpg": "changed its size since it was listed"}
    else:
        assert "class-3/999.jpg" in paths(tmp_path / "out")
    assert packhorse("inspect", tmp_path / "out", "--verify", "full").out.startswith("ok: ")


@pytest.mark.parametrize("form", CARRIERS)
def test_fields_beside_images_are_packed_with_them(tmp_path, form):
    source = fielded(tmp_path / "source")
    put(source / "class-0/alone.json", "{}")
    report = pack(source, tmp_path / "out", "--format", form, "--fields", "json,seg.png")
    assert balanced(report) and report["packed"] == 12
    assert report["skipped_by_rule"] == {"a field without its image": 1}
    packhorse("unpack", tmp_path / "out", tmp_path / "back")
    (source / "class-0/alone.json").unlink()
    assert tree(tmp_path / "back") == tree(source)


def test_fields_not_asked_for_stay_behind_and_are_counted(tmp_path):
    source = fielded(tmp_path / "source")
    for mask in source.rglob("*.seg.png"):
        mask.unlink()
    report = pack(source, tmp_path / "out", "--format", "wds")
    assert balanced(report) and report["packed"] == 12
    assert report["skipped_by_rule"] == {"not an image, by name and first bytes": 12}


def test_a_mask_not_asked_for_is_an_image_of_its_own(tmp_path):
    put(tmp_path / "source/a/1.jpg")
    put(tmp_path / "source/a/1.seg.png")
    assert pack(tmp_path / "source", tmp_path / "out", "--format", "wds", "--allow-odd-classes")["packed"] == 2


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


@pytest.mark.parametrize("fields", ["png", "cls", "JSON", "xml", "a/b"])
def test_fields_that_cannot_be_or_are_nowhere_are_refused(tmp_path, fields):
    source = fielded(tmp_path / "source")
    result = refused("pack", source, tmp_path / "out", "--format", "wds", "--fields", fields, code=USAGE)
    assert f"'{fields}'" in result.err and "next: " in result.err
    assert not (tmp_path / "out").exists()


# --- labels files


def test_a_flat_folder_with_a_labels_file(tmp_path):
    images = make_source(tmp_path / "images", 20)
    flat = tmp_path / "flat"
    flat.mkdir()
    lines = []
    for path, name in rows_of(images):
        shutil.copy(images / path, flat / Path(path).name)
        lines.append(f"{Path(path).name} {name[-1]}")
    (tmp_path / "val.txt").write_text("\n".join(lines) + "\nmissing.jpg 0\n")
    put(flat / "unknown.jpg")
    result = run(
        *("pack", flat, tmp_path / "out", "--format", "lmdb", "--labels", tmp_path / "val.txt"),
        *("--max-rejects", "1", "--json"),
    )
    assert result.code == DONE and balanced(result.json), result
    assert rejects_of(result.json) == {"unknown.jpg": "not in the labels file"}
    assert result.json["notes"] == ["1 line of the labels file matched no image of the source"]
    assert {f"{s['path']} {s['label']}" for s in listed(tmp_path / "out")} == set(lines)
    assert (tmp_path / "out/classes.txt").read_text() == "0\n1\n2\n3\n"


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


@pytest.mark.parametrize(
    "text,words",
    [
        ("a.jpg 1\na.jpg 2\n", ["lines 1 and 2", "'a.jpg'", "different labels"]),
        ("a.jpg\n", ["line 1", "no label"]),
        ("a.jpg 1\nb.jpg -1\n", ["line 2", "negative"]),
        ("", ["empty"]),
    ],
)
def test_a_labels_file_that_cannot_be_right_is_refused(tmp_path, text, words):
    source = make_source(tmp_path / "source", 4)
    put(tmp_path / "labels.txt", text)
    result = refused(
        "pack", source, tmp_path / "out", "--format", "wds", "--labels", tmp_path / "labels.txt", code=USAGE
    )
    for word in (*words, str(tmp_path / "labels.txt")):
        assert word in result.err, result


# --- list files


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_a_list_gives_the_samples_a_folder_would(tmp_path, kind):
    source = make_source(tmp_path / "data/source", 20)
    rows = [(f"source/{path}", name) for path, name in rows_of(source)]
    with open(tmp_path / f"data/list.{kind}", "w", newline="") as file:
        if kind == "jsonl":
            file.writelines(json.dumps({"label": name, "path": path}) + "\n" for path, name in rows)
        else:
            writer = csv.writer(file, delimiter="," if kind == "csv" else "\t")
            writer.writerows([("path", "label"), *rows])
    report = pack(tmp_path / f"data/list.{kind}", tmp_path / "list", "--format", "wds", "--no-shuffle")
    pack(source, tmp_path / "folder", "--format", "wds", "--no-shuffle")
    assert balanced(report) and report["packed"] == 20
    keys = ("key", "label", "class", "xxh3")
    assert [[s[k] for k in keys] for s in listed(tmp_path / "list")] == [
        [s[k] for k in keys] for s in listed(tmp_path / "folder")
    ]
    assert paths(tmp_path / "list") == [path for path, _ in rows]


def test_a_list_is_packed_in_its_own_order_without_shuffle(tmp_path):
    source = make_source(tmp_path / "source", 12)
    rows = rows_of(source)[::-1]
    put(source / "list.csv", "label,path\n" + "".join(f"{name},{path}\n" for path, name in rows))
    pack(source / "list.csv", tmp_path / "out", "--format", "hdf5", "--no-shuffle")
    assert paths(tmp_path / "out") == [path for path, _ in rows]


def test_each_bad_row_of_a_list_is_rejected_with_its_line(tmp_path):
    put(tmp_path / "1.jpg")
    put(tmp_path / "text.jpg", "text")
    put(
        tmp_path / "list.csv",
        "path,label\n1.jpg,cat\ngone.jpg,cat\ntext.jpg,cat\n1.jpg\n,cat\n1.jpg,\n\n.,cat\n",
    )
    result = run(
        "pack", tmp_path / "list.csv", tmp_path / "out", "--format", "wds", "--max-rejects", "6", "--json"
    )
    assert result.code == DONE and balanced(result.json) and result.json["packed"] == 1, result
    reasons = sorted((reject["path"], reject["reason"]) for reject in result.json["rejects"])
    assert [reason for _, reason in reasons if reason.startswith("line")] == [
        "line 7: no label",
        "line 3: the file is not there",
        "line 5: not 2 columns but 1",
        "line 6: no path",
        "line 9: not a regular file",
    ]
    assert reasons[-1][0] == "text.jpg" and reasons[-1][1].startswith("not an image")


def test_a_list_with_splits_fields_and_a_file_listed_twice(tmp_path):
    source = make_source(tmp_path / "source", 4)
    names = [path for path, _ in rows_of(source)]
    rows = [
        (names[0], "x", "val", "first, of them"),
        (names[1], "y", "train", 'a "quoted"\nline'),
        (names[1], "x", "train", ""),
        (names[2], "y", "extra", "third"),
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
    assert [s["class"] for s in listed(tmp_path / "out/train")] == ["y", "x"]


def test_a_list_may_lie_beside_its_images_and_be_given_by_its_bare_name(tmp_path):
    source = make_source(tmp_path / "images", 4)
    text = "path,label\n" + "".join(f"../images/{path},{name}\n" for path, name in rows_of(source))
    put(tmp_path / "lists/list.csv", text)
    packhorse("pack", "list.csv", "../out", "--format", "wds", cwd=tmp_path / "lists")
    assert sorted(paths(tmp_path / "out")) == [path for path, _ in rows_of(source)]
    assert str(tmp_path).encode() not in b"".join(p.read_bytes() for p in (tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    "name,text,words",
    [
        ("a.csv", "file,label\n", ["no column 'path'", "file, label"]),
        ("b.csv", 'path,label\n"1.jpg,x\n', ["line 2", "quote that is never closed"]),
        ("c.csv", "path,label,cls\n1.jpg,x,y\n", ["'cls'", "--fields"]),
        ("d.jsonl", "{}\n", ["no column 'path'"]),
    ],
)
def test_a_list_nobody_can_read_is_refused(tmp_path, name, text, words):
    put(tmp_path / name, text)
    result = refused("pack", tmp_path / name, tmp_path / "out", "--format", "wds", code=USAGE)
    for word in (*words, str(tmp_path / name), "next: "):
        assert word in result.err, result


# --- packed datasets


@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_converting_keeps_every_byte_label_key_path_and_field(tmp_path, first, second):
    fields = first in CARRIERS and second in CARRIERS
    source = fielded(tmp_path / "source", 30) if fields else make_source(tmp_path / "source", 30)
    wanted = ("--fields", "json,seg.png") if fields else ()
    pack(source, tmp_path / "first", "--format", first, "--shard-samples", "7", *wanted)
    report = pack(tmp_path / "first", tmp_path / "second", "--format", second, "--shard-samples", "11")
    assert balanced(report) and report["packed"] == 30
    keys = ("key", "label", "class", "path", "bytes", "xxh3", "width", "height")
    before, after = ([[s[k] for k in keys] for s in listed(tmp_path / name)] for name in ("first", "second"))
    assert before == after
    packhorse("unpack", tmp_path / "second", tmp_path / "back")
    assert tree(tmp_path / "back") == tree(source)
    assert packhorse("inspect", tmp_path / "second", "--verify", "full").out.startswith("ok: ")


def test_converting_there_and_back_gives_the_same_shards(tmp_path):
    source = fielded(tmp_path / "source", 30)
    shards = ("--shard-samples", "7")
    pack(source, tmp_path / "first", "--format", "wds", "--fields", "json,seg.png", *shards)
    pack(tmp_path / "first", tmp_path / "second", "--format", "hdf5", *shards)
    pack(tmp_path / "second", tmp_path / "third", "--format", "wds", *shards)
    is_shard = lambda name: name.startswith(b"shard-")  # noqa: E731
    assert tree(tmp_path / "first", is_shard) == tree(tmp_path / "third", is_shard)


def test_converting_real_photos_with_splits(tmp_path):
    source = photos("imagenet/imagenet200")
    classes = sorted(p for p in source.iterdir() if p.is_dir())[:6]
    for split, some in (("train", classes), ("val", classes[:3])):
        for folder in some:
            shutil.copytree(folder, tmp_path / "source" / split / folder.name)
    pack(tmp_path / "source", tmp_path / "first", "--format", "lmdb")
    report = pack(tmp_path / "first", tmp_path / "second", "--format", "wds")
    assert [split["split"] for split in report["splits"]] == ["train", "val"]
    packhorse("unpack", tmp_path / "second", tmp_path / "back")
    only = lambda name: name.endswith(b".JPEG")  # noqa: E731
    assert tree(tmp_path / "back/train", only) == tree(tmp_path / "source/train", only)


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
    pack(source, tmp_path / "0", "--format", "hdf5", "--image", *image)
    for i, form in enumerate(["wds", "lmdb", "lmdb-members", "hdf5"]):
        pack(tmp_path / str(i), tmp_path / str(i + 1), "--format", form)
    keys = ("key", "label", "path", "bytes", "xxh3", "width", "height", "components", "kind")
    first, last = ([[s[k] for k in keys] for s in listed(tmp_path / name)] for name in ("0", "4"))
    assert first == last
    told = [packhorse("inspect", tmp_path / name, "--json").json["image"] for name in ("0", "4")]
    assert told[0] == told[1] == image[0]
    assert tree(tmp_path / "0", lambda name: name.endswith(b".h5")) == tree(
        tmp_path / "4", lambda name: name.endswith(b".h5")
    )
