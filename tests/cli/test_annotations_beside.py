"""Annotations that lie beside class folders: refused with readings, each of which packs what it says."""

import json
import re
import shlex
import zipfile
import zlib

import pytest

from annotated_support import text
from python_support import DONE, USAGE, listed, run

SITES = ("siteA/1", "siteB/2")
VOC = (
    "<annotation><object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox>"
    "</object></annotation>"
)
YOLO = "0 0.5 0.5 0.25 0.25\n"
CVAT_BOX = '<box label="cat" xtl="1" ytl="1" xbr="2" ybr="2"/>'
CVAT = f'<annotations><image id="0" name="siteA/1.ppm">{CVAT_BOX}</image><image id="1" name="2.ppm">{CVAT_BOX}</image></annotations>'
VIA = json.dumps({"1.ppm9": {"filename": "1.ppm", "regions": [{"shape_attributes": {"name": "rect"}}]}})
FIFTYONE = json.dumps({"classes": ["cat"], "labels": {"1": [{"label": 0, "bounding_box": [0, 0, 0.5, 0.5]}]}})
STUDIO = json.dumps([{"data": {"image": "/upload/ab-1.ppm"}, "annotations": [{"result": [{"value": {"x": 1}}]}]}])
LABELME = json.dumps({"shapes": [{"label": "cat", "points": [[1, 1], [2, 2]]}]})


def coco(names, categories=("cat",), box=(1, 1, 2, 2)):
    images = [{"id": i, "file_name": name, "width": 4, "height": 4} for i, name in enumerate(names)]
    made = [{"id": i, "image_id": i, "category_id": i % len(categories), "bbox": box} for i in range(len(names))]
    named = [{"id": i, "name": name} for i, name in enumerate(categories)]
    return json.dumps({"images": images, "annotations": made, "categories": named})


def images(root, *paths):
    for path in paths:
        place = root / f"{path}.ppm"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"P6 4 4 255 %048d" % zlib.crc32(path.encode()))


def source_of(root, folder="", beside=None, files=None):
    """Two class folders in `folder`, with a text for each image (folder, extension, content) and other files."""
    images(root, *(folder + name for name in SITES))
    for name in SITES if beside else ():
        text(root / f"{beside[0]}{name}.{beside[1]}", beside[2])
    for name, content in (files or {}).items():
        text(root / name, content)
    return root


def refused(source, out):
    result = run("pack", source, out, "--format", "wds")
    assert result.code == USAGE, result
    return result.err


def readings(message):
    """The options that the advice names, with the number of images that they pack; and "objects" where it has them."""
    told = []
    for line in message.split("next:")[1].splitlines():
        found = re.match(r"(-.*?)  packs (\d+) images(.*)", line.strip())
        if found:
            told.append((shlex.split(found[1]), int(found[2]), "objects" in found[3]))
    return told


def check_readings(source, tmp_path, message, names=None):
    """Each reading packs what it says. Returns their options."""
    told = readings(message)
    assert told, message
    for number, (options, count, objects) in enumerate(told):
        options = [str(names) if word == "FILE" else word for word in options]
        result = run("pack", source, tmp_path / f"out{number}", "--format", "wds", "--json", *options)
        assert result.code == DONE, (options, result)
        assert result.json["packed"] == count, (options, result.json)
        assert not objects or result.json["objects"]["objects"] > 0, (options, result.json)
    return [" ".join(options) for options, _, _ in told]


BESIDE = {
    "voc": (dict(folder="JPEGImages/", beside=("Annotations/", "xml", VOC)), "--source-kind voc", 2),
    "yolo": (dict(folder="images/", beside=("labels/", "txt", YOLO)), "--targets yolo", 2),
    "yolo-named": (
        dict(folder="images/", beside=("labels/", "txt", YOLO), files={"classes.txt": "cat\n"}),
        "--targets yolo",
        2,
    ),
    "coco": (dict(folder="images/", files={"annotations.json": coco([f"{s}.ppm" for s in SITES])}), "--targets coco:", 2),
    "root-coco": (dict(files={"_annotations.coco.json": coco([f"{s}.ppm" for s in SITES])}), "--targets coco:", 1),
    "studio": (dict(folder="images/", files={"result.json": STUDIO}), None, 2),
    "cvat": (dict(folder="images/", files={"annotations.xml": CVAT}), "--targets cvat:", 2),
    "fiftyone": (dict(folder="data/", files={"labels.json": FIFTYONE}), None, 2),
    "via": (dict(files={"via_export.json": VIA}), None, 1),
    "xml": (dict(beside=("", "xml", VOC)), "--targets voc --fields xml", 1),
    "txt": (dict(beside=("", "txt", YOLO)), "--targets yolo", 1),
    "captions": (dict(beside=("", "txt", "a cat\n")), "--fields txt", 1),
    "labelme": (dict(beside=("", "json", LABELME)), "--fields json", 1),
    "cls": (dict(beside=("", "cls", "1")), None, 1),
    "metadata": (
        dict(files={"metadata.csv": "file_name,label\nsiteA/1.ppm,dog\nsiteB/2.ppm,cat\n"}),
        "--labels",
        1,
    ),
    "jsonl": (dict(files={"about.jsonl": '{"file_name": "siteA/1.ppm", "text": "a dog"}\n'}), None, 1),
}


@pytest.mark.parametrize("kind", BESIDE)
def test_annotations_beside_class_folders_are_refused_with_readings_that_work(tmp_path, kind):
    how, first, depth = BESIDE[kind]
    source = source_of(tmp_path / "source", **how)
    names = tmp_path / "names.txt"
    names.write_text("cat\n")
    message = refused(source, tmp_path / "out")
    assert "would not be read" in message
    options = check_readings(source, tmp_path, message, names)
    assert f"--classes-at {depth}" in options
    if first:
        assert options[0].startswith(first), options


@pytest.mark.parametrize(
    "options",
    [("--classes-at", "1"), ("--unlabelled",), ("--allow-odd-classes",), ("--fields", "txt"), ("--classes", "names.txt")],
)
def test_what_the_options_say_is_not_doubted(tmp_path, options):
    source = source_of(tmp_path / "source", beside=("", "txt", "a cat\n"))
    text(tmp_path / "names.txt", "siteA\nsiteB\n")
    options = [str(tmp_path / word) if word == "names.txt" else word for word in options]
    result = run("pack", source, tmp_path / "out", "--format", "wds", *options)
    assert result.code == DONE, result


def test_less_than_half_of_the_images_and_files_that_are_no_texts_are_no_doubt(tmp_path):
    source = source_of(tmp_path / "source", files={"siteA/1.txt": "a cat\n"})
    images(source, "siteA/3", "siteA/4")
    (source / "siteB" / "2.npy").write_bytes(b"\x93NUMPY\0\0\0")
    assert run("pack", source, tmp_path / "out", "--format", "wds").code == DONE


def test_a_table_beside_class_folders_is_named_and_no_doubt(tmp_path):
    files = {"train.csv": "path,label\nsiteA/1.ppm,dog\nsiteB/2.ppm,cat\n", "README.txt": "See siteA/1.ppm.\n"}
    source = source_of(tmp_path / "source", files={**files, "LICENSE": "MIT\n", "classes.txt": "siteA\nsiteB\n"})
    result = run("pack", source, tmp_path / "out", "--format", "wds")
    assert result.code == DONE, result
    assert f"'train.csv' is not read: the class folders give the labels; --labels {source}/train.csv" in result.out
    assert "README" not in result.out and "classes.txt" not in result.out


def test_texts_beside_images_in_an_archive_are_told_by_their_names(tmp_path):
    source = source_of(tmp_path / "source", folder="images/", beside=("labels/", "txt", YOLO))
    archive = tmp_path / "source.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for path in sorted(source.rglob("*.*")):
            out.write(path, path.relative_to(source))
    message = refused(archive, tmp_path / "out")
    assert "'labels/siteA/1.txt'" in message
    check_readings(archive, tmp_path, message)
    assert run("pack", archive, tmp_path / "classes", "--format", "wds", "--classes-at", "2").code == DONE


SPLITS = ("train", "val", "test")


def split_source(root, beside=None, files=None):
    for split in SPLITS:
        images(root, *(f"images/{split}/{split}{i}" for i in range(2)))
        for i in range(2) if beside else ():
            text(root / f"{beside[0]}/{split}/{split}{i}.{beside[1]}", beside[2])
    for name, content in (files or {}).items():
        text(root / name, content)
    return root


YAML = "train: images/train\nval: images/val\ntest: images/test\nnames: [cat]\n"


@pytest.mark.parametrize(
    "beside, files, first",
    [
        (("voc", "xml", VOC), {}, "--targets voc --field-from xml=voc/{split}"),
        (("labels", "txt", YOLO), {"coco8.yaml": YAML}, "--targets yolo:"),
        (("labels", "txt", YOLO), {"data.yml": YAML}, "--targets yolo:"),
        (("labels", "txt", YOLO), {}, "--targets yolo --target-classes "),
    ],
)
def test_the_first_reading_of_split_folders_has_the_objects(tmp_path, beside, files, first):
    source = split_source(tmp_path / "source", beside, files)
    names = tmp_path / "names.txt"
    names.write_text("cat\n")
    assert check_readings(source, tmp_path, refused(source, tmp_path / "out"), names)[0].startswith(first)


def test_masks_are_not_offered_as_a_split(tmp_path):
    source = tmp_path / "source"
    images(source, *(f"{kind}/site{s}/{s}{i}" for kind in ("images", "masks") for s in "AB" for i in range(2)))
    message = refused(source, tmp_path / "out")
    assert "--split-folders" not in message and readings(message)[0][0][0] == "--field-from"


def test_a_file_of_coco_for_each_split_of_one_folder_of_images(tmp_path):
    source = tmp_path / "source"
    for split in ("train", "val"):
        images(source, f"images/{split}1", f"images/{split}2")
        text(source / f"annotations/instances_{split}.json", coco([f"{split}1.ppm", f"{split}2.ppm"]))
    images(source, "images/other")
    result = run("pack", source, tmp_path / "out", "--format", "wds")
    assert result.code == DONE, result
    assert "1 image is left out: no annotation file names it" in result.out
    assert "the split  is" not in result.out
    for split in ("train", "val"):
        keys = [sample["path"] for sample in listed(tmp_path / "out" / split)]
        assert sorted(keys) == [f"{split}1.ppm", f"{split}2.ppm"]
    text(source / "annotations/instances_val.json", coco(["train1.ppm", "val1.ppm", "val2.ppm"]))
    assert "train1.ppm is in annotations/instances_" in refused(source, tmp_path / "no")


def test_folders_around_images_of_coco_are_named(tmp_path):
    source = tmp_path / "source"
    for split in ("train", "val"):
        images(source, f"{split}/cat/1{split}", f"{split}/dog/2{split}")
        text(source / f"annotations/instances_{split}.json", coco([f"cat/1{split}.ppm", f"dog/2{split}.ppm"]))
    text(source / "annotations/captions_train.json", coco([]))
    result = run("pack", source, tmp_path / "out", "--format", "wds")
    assert result.code == DONE, result
    assert "'train/cat', are not packed as classes" in result.out
    assert "captions are packed with --targets caption:FILE" in result.out
    by_class = run("pack", source, tmp_path / "classes", "--format", "wds", "--json", "--classes-at", "2")
    assert by_class.code == DONE and by_class.json["classes"] == 2, by_class


def lookalikes(root, kind):
    """Two images of which one has a 'cat' and the other a 'Cat', in a notation; options that name both."""
    names = root.parent / "names.txt"
    if kind == "coco":
        images(root, "images/1", "images/2")
        file = root / "annotations/instances.json"
        text(file, coco(["1.ppm", "2.ppm"], ("cat", "Cat")))
        return ["--targets", f"coco:{file}", "--target-classes", names]
    if kind == "hf":
        images(root, "1", "2")
        lines = [
            {"file_name": f"{i}.ppm", "objects": {"bbox": [[1, 1, 2, 2]], "categories": [name]}}
            for i, name in ((1, "cat"), (2, "Cat"))
        ]
        text(root / "metadata.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        return ["--targets", f"hf:{root}/metadata.jsonl", "--target-classes", names]
    if kind == "voc":
        images(root, "JPEGImages/1", "JPEGImages/2")
        text(root / "Annotations/1.xml", VOC)
        text(root / "Annotations/2.xml", VOC.replace("cat", "Cat"))
        return ["--targets", "voc", "--target-classes", names]
    images(root, "images/train/1", "images/train/2")
    for i in (1, 2):
        text(root / f"labels/train/{i}.txt", YOLO.replace("0 ", f"{i - 1} ", 1))
    text(root / "data.yaml", "train: images/train\nnames: [cat, Cat]\n")
    return ["--targets", f"yolo:{root}/data.yaml", "--target-classes", names]


@pytest.mark.parametrize("kind", ["coco", "hf", "voc", "yolo"])
def test_object_classes_that_look_alike_are_refused_unless_listed(tmp_path, kind):
    source = tmp_path / "source"
    options = lookalikes(source, kind)
    text(tmp_path / "names.txt", "cat\nCat\n")
    assert "differ only in letter case" in refused(source, tmp_path / "out")
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--json", *options)
    assert result.code == DONE and result.json["objects"]["objects"] == 2, result


def test_target_classes_that_a_file_of_coco_does_not_have_are_refused(tmp_path):
    options = lookalikes(tmp_path / "source", "coco")
    text(tmp_path / "names.txt", "Cat\ncat\n")
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format", "wds", *options)
    assert result.code == USAGE and "lists others, or another order" in result.err, result


@pytest.mark.parametrize("categories, box, words", [
    (("cat", ""), (1, 1, 2, 2), "empty name"),
    (("cat", "dog"), (0.1, 0.1, 0.5, 0.5), "all lie within 0 to 1"),
])
def test_what_is_odd_in_a_file_of_coco_is_told(tmp_path, categories, box, words):
    images(tmp_path / "source", "images/1", "images/2")
    text(tmp_path / "source/annotations/instances.json", coco(["1.ppm", "2.ppm"], categories, box))
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format", "wds")
    assert words in result.out + result.err, result


@pytest.mark.parametrize("tag", ["Object", "a:object", "OBJECT"])
def test_an_object_of_voc_in_other_letters_is_not_passed_over(tmp_path, tag):
    images(tmp_path / "source", "JPEGImages/1")
    content = VOC.replace("<object>", f"<{tag}>").replace("</object>", f"</{tag}>")
    text(tmp_path / "source/Annotations/1.xml", content.replace("<annotation>", '<annotation xmlns:a="x">'))
    assert f"<{tag}>, which VOC calls <object>" in refused(tmp_path / "source", tmp_path / "out")


def test_a_null_is_no_class_of_a_data_yaml_and_one_list_for_both_splits_is_told(tmp_path):
    source = split_source(tmp_path / "source", ("labels", "txt", YOLO), {"data.yaml": YAML.replace("[cat]", "[cat, ~]")})
    assert "the name of class 1 is not a text" in refused(source, tmp_path / "out")
    source = tmp_path / "darknet"
    images(source, "obj_train_data/1")
    text(source / "obj_train_data/1.txt", YOLO)
    text(source / "train.txt", "data/obj_train_data/1.ppm\n")
    text(source / "obj.names", "cat\n")
    text(source / "obj.data", "classes = 1\ntrain = data/train.txt\nvalid = data/train.txt\nnames = data/obj.names\n")
    result = run("pack", source, tmp_path / "out", "--format", "wds")
    assert result.code == DONE and "train and valid are the same list" in result.out, result


def test_neither_markdown_nor_html_is_an_annotation(tmp_path):
    pages = {"README.md": "[![x](1.ppm)](2.ppm)\n", "page.html": '<p><img src="1.ppm"></p>\n'}
    assert run("pack", source_of(tmp_path / "source", files=pages), tmp_path / "out", "--format", "wds").code == DONE


def test_fields_none_says_that_texts_beside_images_are_none(tmp_path):
    source = source_of(tmp_path / "source", beside=("", "txt", "some text"))
    refused(source, tmp_path / "out")
    done = run("pack", source, tmp_path / "out", "--format", "wds", "--fields", "none", "--json")
    assert done.code == DONE and done.json["packed"] == 2 and done.json["classes"] == 2, done


def test_no_reading_takes_an_image_without_xml_for_one_without_objects(tmp_path):
    source = source_of(tmp_path / "source", beside=("", "xml", VOC))
    images(source, "siteA/2")
    assert "--targets voc" not in refused(source, tmp_path / "out")


@pytest.mark.parametrize("drawn", [True, False])
def test_annotations_of_some_of_the_images_are_offered_with_the_rejects(tmp_path, drawn):
    """Drawings of the objects lie beside the images, as LabelMe writes them; or a file for each split lacks an image."""
    source = tmp_path / "source"
    if drawn:
        images(source, *(f"{folder}/{i}" for folder in ("JPEGImages", "Drawn") for i in (1, 2)))
        text(source / "annotations.json", coco(["JPEGImages/1.ppm", "JPEGImages/2.ppm"]))
    else:
        for split in ("train", "val"):
            images(source, *(f"{split}/{split}{i}" for i in (1, 2)))
            text(source / f"{split}.json", coco([f"{split}1.ppm"]))
    first = check_readings(source, tmp_path, refused(source, tmp_path / "out"))[0]
    assert first.startswith("--targets ") and first.endswith("--max-rejects 2")


@pytest.mark.parametrize(
    "name, header, row, option",
    [
        ("_classes.csv", "filename, cat, dog\n", "{}, 1, 0\n", "classes"),
        ("_annotations.csv", "", "{},1,1,2,3,cat\n", "table"),
    ],
)
def test_tables_in_the_folders_of_splits_are_offered(tmp_path, name, header, row, option):
    source = tmp_path / "source"
    for split in ("train", "valid"):
        images(source, *(f"{split}/{split}{i}" for i in range(3)))
        text(source / split / name, header + "".join(row.format(f"{split}{i}.ppm") for i in range(3)))
    tail = {"classes": "*", "table": "xyxy"}[option]
    first = check_readings(source, tmp_path, refused(source, tmp_path / "out"))[0]
    assert first == " ".join(f"--targets {split}={option}:{source}/{folder}/{name}:{tail}" for split, folder in (("train", "train"), ("val", "valid")))


@pytest.mark.parametrize("folders", [("train/", "valid/"), ("",)])
def test_masks_beside_images_that_lie_in_no_class_folder_are_offered_as_masks(tmp_path, folders):
    source = tmp_path / "source"
    images(source, *(f"{folder}{i}{mask}" for folder in folders for i in range(3) for mask in ("", "_mask")))
    first = readings(refused(source, tmp_path / "out"))[0]
    assert first[0][0] == "--field-from" and first[0][1].endswith("{stem}_mask.ppm") and first[1] == 3 * len(folders)
    check_readings(source, tmp_path, refused(source, tmp_path / "out"))


def test_numbered_copies_beside_images_are_not_offered_as_their_masks(tmp_path):
    source = tmp_path / "source"
    images(source, *(f"{folder}/{folder}{i}{copy}" for folder in "ab" for i in range(3) for copy in ("", f" copy {i}")))
    message = refused(source, tmp_path / "out")
    assert "field-from" not in message
    assert "--classes-at 1" in check_readings(source, tmp_path, message)
