"""`packhorse unpack --as coco|yolo|voc`: objects go out as they came in."""

import json
import xml.etree.ElementTree as xml

import numpy
import objects_support as objects
import pytest
from objects_support import fields_of
from PIL import Image
from python_support import CARRIERS, DAMAGE, FAILED, USAGE, listed, packhorse, photo, photos, put, run, staging

SPLITS = ["train", "val", "test"]
CLASSES = ["RBC", "WBC", "Platelets"]


@pytest.fixture(scope="module")
def bccd():
    return photos("bccd/bccd")


@pytest.fixture(scope="module")
def packed(bccd, tmp_path_factory):
    """The same real photos with the same boxes, packed from each notation."""
    out = tmp_path_factory.mktemp("packed")
    pack(bccd, out / "coco", "wds", *coco_of(bccd))
    pack(bccd, out / "yolo", "wds", *names(out), "--targets=yolo", "--optional-field-from=txt=labels/{split}")
    pack(bccd, out / "voc", "wds", *names(out), "--targets=voc", "--field-from=xml=voc/{split}")
    return out


def coco_of(source):
    return [f"--targets={split}=coco:{source}/annotations/instances_{split}.json" for split in SPLITS]


def names(folder):
    (folder / "cells.txt").write_text("".join(f"{name}\n" for name in CLASSES))
    return [f"--target-classes={folder}/cells.txt"]


def pack(source, out, format, *options):
    return packhorse("pack", source, out, "--format", format, *options)


def unpack(dataset, out, notation):
    return packhorse("unpack", dataset, out, "--as", notation, "--json").json


def by_name(dataset):
    """The columns of each image's objects, by the name of its file."""
    fields = fields_of(dataset, "objects")
    samples = listed(dataset)
    assert len(fields) == len(samples)
    return {sample["path"].rsplit("/", 1)[-1]: objects.parse(field) for sample, field in zip(samples, fields)}


def same(a, b, besides=()):
    assert a.keys() == b.keys()
    for name in a:
        for column in a[name].keys() - set(besides):
            assert numpy.array_equal(a[name][column], b[name][column]), (name, column)


def canonical(content):
    """A file of COCO whose lists have the order of their ids."""
    if isinstance(content, dict):
        ordered = dict(content)
        for name in ["images", "annotations", "categories"]:
            ordered[name] = sorted(content[name], key=lambda record: str(record["id"]))
        return json.dumps(ordered, sort_keys=True)
    return canonical(json.loads(content.read_text()))


def test_coco_comes_back_as_it_was(bccd, packed, tmp_path):
    report = unpack(packed / "coco", tmp_path / "out", "coco")
    assert report["samples"] == 364 and report["objects"] == 4888 and "unsaid" not in report
    assert not staging(tmp_path / "out").exists()
    for split in SPLITS:
        name = f"annotations/instances_{split}.json"
        assert canonical(tmp_path / "out" / name) == canonical(bccd / name)
        for image in json.loads((bccd / name).read_text())["images"]:
            path = f"images/{split}/{image['file_name']}"
            assert (tmp_path / "out" / path).read_bytes() == (bccd / path).read_bytes()
    pack(tmp_path / "out", tmp_path / "again", "wds", *coco_of(tmp_path / "out"))
    for split in SPLITS:
        same(by_name(tmp_path / "again" / split), by_name(packed / "coco" / split))


@pytest.mark.parametrize(
    "origin,notation",
    [
        *[("coco", "yolo"), ("yolo", "voc"), ("voc", "coco")],
        *[pytest.param(notation, notation, marks=pytest.mark.thorough) for notation in ["coco", "yolo", "voc"]],
        *[pytest.param(*two, marks=pytest.mark.thorough) for two in [("yolo", "coco"), ("voc", "yolo"), ("coco", "voc")]],
    ],
)
def test_objects_of_real_photos_are_equal_after_each_notation(packed, tmp_path, origin, notation):
    unpack(packed / origin / "val", tmp_path / "out", notation)
    source = tmp_path / "out"
    options = {
        "coco": [f"--targets=coco:{source}/annotations/instances.json"],
        "yolo": ["--targets=yolo", "--field-from=txt=labels", *names(tmp_path)],
        "voc": ["--targets=voc", "--field-from=xml=Annotations", *names(tmp_path)],
    }[notation]
    pack(source, tmp_path / "again", "wds", *options)
    # The other notations have no areas, COCO has one for each object, and YOLO has no flags.
    besides = [] if origin == notation == "coco" else ["areas", "flags"] if notation == "yolo" else ["areas"]
    same(by_name(tmp_path / "again"), by_name(packed / origin / "val"), besides)
    assert len(by_name(tmp_path / "again")) == 87


@pytest.mark.thorough
@pytest.mark.parametrize("format", CARRIERS[1:])
def test_every_format_unpacks_to_the_same_files(packed, tmp_path, format):
    pack(packed / "coco" / "val", tmp_path / "packed", format)
    for notation in ["coco", "yolo", "voc"]:
        unpack(packed / "coco" / "val", tmp_path / f"wds_{notation}", notation)
        unpack(tmp_path / "packed", tmp_path / notation, notation)
        files = [path.relative_to(tmp_path / notation) for path in (tmp_path / notation).rglob("*") if path.is_file()]
        assert len(files) > 87
        for path in files:
            assert (tmp_path / notation / path).read_bytes() == (tmp_path / f"wds_{notation}" / path).read_bytes(), path


@pytest.mark.parametrize("mode", [["--image=roi"], ["--image=resize", "--short-side=96", "--quality=90"]])
def test_objects_are_equal_after_each_notation_in_other_image_modes(bccd, packed, tmp_path, mode):
    pack(bccd, tmp_path / "made", "wds", *mode, *coco_of(bccd))
    made = tmp_path / "made" / "val"
    before = by_name(made)
    for notation, options in [("coco", []), ("yolo", ["--field-from=txt=labels"]), ("voc", ["--field-from=xml=Annotations"])]:
        unpack(made, tmp_path / notation, notation)
        given = f"--targets=coco:{tmp_path}/coco/annotations/instances.json" if notation == "coco" else f"--targets={notation}"
        pack(tmp_path / notation, tmp_path / f"{notation}_again", "wds", given, *options, *([] if notation == "coco" else names(tmp_path)))
        same(by_name(tmp_path / f"{notation}_again"), before, [] if notation == "coco" else ["areas"])
    content = json.loads((tmp_path / "coco/annotations/instances.json").read_text())
    source = json.loads((bccd / "annotations/instances_val.json").read_text())
    assert content["categories"] == source["categories"] and content.keys() == source.keys()


def test_letterboxed_pixels_are_numpy_files_that_coco_names(packed, tmp_path):
    pack(packed / "coco" / "val", tmp_path / "raw", "wds", "--image=raw", "--size=64", "--fit=letterbox", "--limit=3")
    report = unpack(tmp_path / "raw", tmp_path / "out", "coco")
    content = json.loads((tmp_path / "out/annotations/instances.json").read_text())
    assert report["samples"] == len(content["images"]) == 3
    for image in content["images"]:
        assert numpy.load(tmp_path / "out/images" / image["file_name"]).shape == (64, 64, 3)
        assert (image["width"], image["height"]) == (64, 64)


def made(tmp_path, annotations, categories=None, **more):
    """Two images, a.jpg in a folder, with these annotations on it; packed."""
    (tmp_path / "source/deep").mkdir(parents=True)
    for i, name in enumerate(["deep/a.jpg", "b é.jpg"]):
        Image.new("RGB", (100, 80), (i, 50, 90)).save(tmp_path / "source" / name)
    content = {
        "info": {"année": 2026},
        "licenses": [{"id": 1, "name": "MIT"}],
        "images": [
            {"id": 70, "file_name": "deep/a.jpg", "width": 100, "height": 80, "license": 1},
            {"id": "b", "file_name": "b é.jpg", "width": 100, "height": 80, "coco_url": None},
        ],
        "categories": categories or [{"id": 90, "name": "cat", "supercategory": "thing"}, {"id": 2, "name": "dog & co"}],
        "annotations": [{"id": 10 + i, "image_id": 70, "category_id": 90, **a} for i, a in enumerate(annotations)],
        **more,
    }
    (tmp_path / "instances.json").write_text(json.dumps(content))
    pack(tmp_path / "source", tmp_path / "packed", "wds", f"--targets=coco:{tmp_path}/instances.json")
    return content


SQUARE = [10, 10, 30, 10, 30, 30.5, 10, 30.5]
ANNOTATIONS = [
    {"bbox": [10, 10, 20, 20.5], "area": 12.25, "iscrowd": 0, "segmentation": [SQUARE], "extra": {"a": [1, None, True, 1e-3]}},
    {"bbox": [10, 10, 20, 20.5], "area": 5, "segmentation": [SQUARE, [50, 50, 60, 50, 60, 60]]},
    {"bbox": [0, 0, 100, 80], "category_id": 2, "iscrowd": 1, "segmentation": {"size": [80, 100], "counts": [0, 8000]}},
    {"bbox": [-0.5, 3, 1, 1], "segmentation": {"size": [80, 100], "counts": [10, 1, 7989]}},
]


def test_everything_that_coco_says_comes_back(tmp_path):
    content = made(tmp_path, ANNOTATIONS, videos=[{"id": 3}])
    unpack(tmp_path / "packed", tmp_path / "out", "coco")
    assert canonical(tmp_path / "out/annotations/instances.json") == canonical(content)
    assert (tmp_path / "out/images/deep/a.jpg").read_bytes() == (tmp_path / "source/deep/a.jpg").read_bytes()
    assert (tmp_path / "out/images/b é.jpg").exists()


def test_what_yolo_and_voc_cannot_say_is_counted(tmp_path):
    made(tmp_path, ANNOTATIONS)
    report = unpack(tmp_path / "packed", tmp_path / "yolo", "yolo")
    assert report["objects"] == 4
    assert report["unsaid"] == {
        "areas": 3,
        "boxes beyond their image, which others may refuse": 1,
        "crowds, left out": 1,
        "masks of run lengths, written as boxes": 1,
        "outlines of several parts, written as boxes": 1,
    }
    lines = (tmp_path / "yolo/labels/deep/a.txt").read_text().splitlines()
    assert [len(line.split()) for line in lines] == [9, 5, 5]
    assert [float(v) for v in lines[0].split()] == [1, 0.1, 0.125, 0.3, 0.125, 0.3, 0.38125, 0.1, 0.38125]
    assert (tmp_path / "yolo/labels/b é.txt").read_text() == ""
    assert (tmp_path / "yolo/data.yaml").read_text() == 'train: images\nnc: 2\nnames:\n  0: "dog & co"\n  1: "cat"\n'

    result = packhorse("unpack", tmp_path / "packed", tmp_path / "voc", "--as=voc")
    assert "what voc does not say:\n" in result.out
    for words in ["3  areas", "1  crowds, left out", "2  outlines, written as boxes", "3  boxes with fractions of pixels"]:
        assert f" {words}" in result.out, result.out
    root = xml.parse(tmp_path / "voc/Annotations/deep/a.xml").getroot()
    assert [root.findtext(f"size/{name}") for name in ["width", "height", "depth"]] == ["100", "80", "3"]
    assert [node.text for node in root.find("object/bndbox")] == ["11", "11", "30", "30.5"]
    assert len(root.findall("object")) == 3 and root.findtext("object/name") == "cat"
    assert sorted((tmp_path / "voc/ImageSets/Main/trainval.txt").read_text().splitlines()) == ["b é", "deep/a"]


def test_key_points_go_out_and_in(tmp_path):
    points = [12.5, 20, 2, 0, 0, 0, 99, 79, 1]
    made(tmp_path, [{"bbox": [10, 10, 20, 20], "keypoints": points, "num_keypoints": 2}, {"bbox": [1, 1, 2, 2]}],
         categories=[{"id": 90, "name": "cat", "keypoints": ["nose", "tail", "ear"], "skeleton": [[1, 2]]}])
    unpack(tmp_path / "packed", tmp_path / "yolo", "yolo")
    assert "kpt_shape: [3, 3]\n" in (tmp_path / "yolo/data.yaml").read_text()
    (tmp_path / "cats.txt").write_text("cat\n")
    pack(tmp_path / "yolo", tmp_path / "again", "wds", "--targets=yolo", "--target-keypoints=3", f"--target-classes={tmp_path}/cats.txt", "--field-from=txt=labels")
    same(by_name(tmp_path / "again"), by_name(tmp_path / "packed"), ["areas"])
    unpack(tmp_path / "again", tmp_path / "coco", "coco")
    content = json.loads((tmp_path / "coco/annotations/instances.json").read_text())
    assert content["annotations"][0]["keypoints"] == points and content["annotations"][0]["num_keypoints"] == 2
    assert content["categories"] == [{"id": 1, "name": "cat", "keypoints": ["0", "1", "2"]}]
    pack(tmp_path / "coco", tmp_path / "third", "wds", f"--targets=coco:{tmp_path}/coco/annotations/instances.json")
    same(by_name(tmp_path / "third"), by_name(tmp_path / "packed"), ["areas"])


def test_flags_of_voc_survive_every_notation_that_has_them(tmp_path):
    (tmp_path / "source").mkdir()
    Image.new("RGB", (100, 80)).save(tmp_path / "source/a.jpg")
    box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>10</xmax><ymax>8</ymax></bndbox>"
    text = f"<annotation><owner>me</owner><object><name>cat</name><difficult>1</difficult><truncated>1</truncated><occluded>1</occluded>{box}</object></annotation>"
    (tmp_path / "source/a.xml").write_text(text)
    (tmp_path / "cats.txt").write_text("cat\n")
    given = [f"--target-classes={tmp_path}/cats.txt", "--targets=voc"]
    pack(tmp_path / "source", tmp_path / "packed", "wds", *given, "--fields=xml")
    unpack(tmp_path / "packed", tmp_path / "coco", "coco")
    pack(tmp_path / "coco", tmp_path / "from_coco", "wds", f"--targets=coco:{tmp_path}/coco/annotations/instances.json")
    same(by_name(tmp_path / "from_coco"), by_name(tmp_path / "packed"), ["areas"])
    # A file of VOC goes out as it came, and is made where there is none.
    unpack(tmp_path / "packed", tmp_path / "voc", "voc")
    assert (tmp_path / "voc/Annotations/a.xml").read_text() == text
    unpack(tmp_path / "from_coco", tmp_path / "made", "voc")
    pack(tmp_path / "made", tmp_path / "from_voc", "wds", *given, "--field-from=xml=Annotations")
    same(by_name(tmp_path / "from_voc"), by_name(tmp_path / "packed"))
    assert unpack(tmp_path / "packed", tmp_path / "yolo", "yolo")["unsaid"] == {
        "objects that are difficult, truncated or occluded, written as any other": 1
    }


def test_fields_and_classes_that_a_notation_lacks_are_counted(tmp_path):
    made(tmp_path, ANNOTATIONS[:1])
    for name in ["deep/a", "b é"]:
        (tmp_path / f"source/{name}.caption").write_text("a cat")
    pack(tmp_path / "source", tmp_path / "more", "wds", "--fields=caption", f"--targets=coco:{tmp_path}/instances.json")
    assert unpack(tmp_path / "more", tmp_path / "out", "coco")["unsaid"] == {"fields 'caption'": 2}


def test_names_that_lead_elsewhere_are_kept_but_not_followed(tmp_path):
    content = made(tmp_path, ANNOTATIONS[:1])
    content["images"][0]["file_name"] = "/data/deep/a.jpg"
    content["images"][1]["file_name"] = "../b é.jpg"
    (tmp_path / "instances.json").write_text(json.dumps(content))
    pack(tmp_path / "source", tmp_path / "odd", "wds", f"--targets=coco:{tmp_path}/instances.json")
    report = unpack(tmp_path / "odd", tmp_path / "out", "coco")
    assert report["unsaid"] == {"names of files that lead elsewhere: the images are at the paths of the dataset": 2}
    assert canonical(tmp_path / "out/annotations/instances.json") == canonical(content)
    assert sorted(path.name for path in (tmp_path / "out/images").rglob("*.jpg")) == ["a.jpg", "b é.jpg"]
    assert not (tmp_path / "b é.jpg").exists()


def test_a_dataset_without_objects_is_refused_and_nothing_is_left(tmp_path):
    made(tmp_path, [])
    pack(tmp_path / "source", tmp_path / "plain", "wds", "--unlabelled")
    for notation in ["coco", "yolo", "voc"]:
        result = run("unpack", tmp_path / "plain", tmp_path / "out", "--as", notation)
        assert result.code == USAGE and "pack the source with --targets" in result.err
        assert not (tmp_path / "out").exists() and not staging(tmp_path / "out").exists()
    result = run("unpack", tmp_path / "packed", tmp_path / "packed", "--as=coco")
    assert result.code == FAILED and "already exists" in result.err
    assert run("unpack", tmp_path / "packed", tmp_path / "out", "--as=csv").code == USAGE


def test_two_images_of_one_name_are_refused(tmp_path):
    (tmp_path / "source").mkdir()
    for name in ["a.jpg", "a.png"]:
        Image.new("RGB", (100, 80)).save(tmp_path / "source" / name)
    content = {
        "images": [{"id": i, "file_name": name, "width": 100, "height": 80} for i, name in enumerate(["a.jpg", "a.png"])],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [],
    }
    (tmp_path / "instances.json").write_text(json.dumps(content))
    pack(tmp_path / "source", tmp_path / "packed", "wds", f"--targets=coco:{tmp_path}/instances.json")
    unpack(tmp_path / "packed", tmp_path / "coco", "coco")
    for notation in ["yolo", "voc"]:
        result = run("unpack", tmp_path / "packed", tmp_path / "out", "--as", notation)
        assert result.code == FAILED and "two images or fields have the same path" in result.err
        assert not (tmp_path / "out").exists()


def test_a_damaged_field_ends_it_and_nothing_is_left(tmp_path):
    made(tmp_path, ANNOTATIONS)
    shard = tmp_path / "packed/shard-000000.tar"
    data = bytearray(shard.read_bytes())
    data[data.index(b"PHOBJ1") + 60] ^= 1
    shard.write_bytes(data)
    result = run("unpack", tmp_path / "packed", tmp_path / "out", "--as=yolo")
    assert result.code == DAMAGE and "objects" in result.err
    assert not (tmp_path / "out").exists() and not staging(tmp_path / "out").exists()


def voc_folder(root, names, lists=None):
    box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
    for i, name in enumerate(names):
        put(root / f"JPEGImages/{name}.jpg", photo(i))
        put(root / f"Annotations/{name}.xml", f"<annotation><object><name>x</name>{box}</object></annotation>")
    for name, text in (lists or {}).items():
        put(root / f"ImageSets/Main/{name}.txt", text)
    return root


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "cat 1", " cat", "cat ", "cat\t-1"])
def test_voc_is_not_given_names_that_its_lists_cannot_hold(tmp_path, name):
    source = voc_folder(tmp_path / "source", ["good", name])
    packhorse("pack", source, tmp_path / "packed", "--format=wds")
    result = run("unpack", tmp_path / "packed", tmp_path / "voc", "--as=voc")
    assert result.code == FAILED and "VOC's lists" in result.err and "unpack as coco" in result.err, result
    assert not (tmp_path / "voc").exists() and not staging(tmp_path / "voc").exists()
    unpack(tmp_path / "packed", tmp_path / "coco", "coco")
    assert (tmp_path / f"coco/train/{name}.jpg").exists() or list((tmp_path / "coco").rglob(f"{name}.jpg"))


def test_names_with_blanks_come_back_through_voc(tmp_path):
    source = voc_folder(tmp_path / "source", ["a cat", "cat 1 b"], {"train": "a cat\n  cat 1 b  \n", "a_train": "a cat -1\ncat 1 b  1\n"})
    report = packhorse("pack", source, tmp_path / "packed", "--format=wds", "--json").json
    assert report["packed"] == 2 and report["rejected"] == 0, report
    unpack(tmp_path / "packed", tmp_path / "voc", "voc")
    again = packhorse("pack", tmp_path / "voc", tmp_path / "again", "--format=wds", "--json").json
    assert again["packed"] == 2 and again["rejected"] == 0, again
