"""Packing boxes, masks and key points: --targets."""

import io
import json
import shutil
import tarfile

import numpy
import objects_support as objects
import pytest
from objects_support import fields_of
from PIL import Image
from python_support import CARRIERS, DAMAGE, DONE, ROOT, USAGE, copy_tree, packhorse, photos, put, run

SPLITS = ["train", "val", "test"]
CLASSES = ["RBC", "WBC", "Platelets"]


@pytest.fixture(scope="module")
def bccd():
    return photos("bccd/bccd")


def coco_of(bccd):
    return [f"--targets={split}=coco:{bccd}/annotations/instances_{split}.json" for split in SPLITS]


@pytest.fixture(scope="module")
def few(bccd, tmp_path_factory):
    """Ten of the photos, and a file of COCO for them."""
    folder = tmp_path_factory.mktemp("few")
    content = json.loads((bccd / "annotations/instances_val.json").read_text())
    content["images"] = content["images"][:10]
    ids = {image["id"] for image in content["images"]}
    content["annotations"] = [one for one in content["annotations"] if one["image_id"] in ids]
    for image in content["images"]:
        put(folder / "photos" / image["file_name"], (bccd / "images/val" / image["file_name"]).read_bytes())
    put(folder / "instances.json", json.dumps(content))
    return folder


def of_few(few):
    return [few / "photos", f"--targets=coco:{few}/instances.json"]


@pytest.fixture(scope="module")
def packed(few, tmp_path_factory):
    """packed(format): the few photos in this format. It is only read."""
    folder = tmp_path_factory.mktemp("packed")

    def made(format):
        if not (folder / format).exists():
            source, targets = of_few(few)
            packhorse("pack", source, folder / format, "--format", format, targets)
        return folder / format

    return made


@pytest.fixture
def classes(tmp_path):
    path = tmp_path / "cells.txt"
    path.write_text("".join(f"{name}\n" for name in CLASSES))
    return f"--target-classes={path}"


@pytest.mark.thorough
def test_three_notations_of_real_photos_become_the_same_objects(bccd, tmp_path, classes):
    packhorse("pack", bccd, tmp_path / "coco", "--format=wds", *coco_of(bccd))
    packhorse("pack", bccd, tmp_path / "yolo", "--format=wds", "--targets=yolo", classes, "--optional-field-from=txt=labels/{split}")
    packhorse("pack", bccd, tmp_path / "voc", "--format=wds", "--targets=voc", classes, "--field-from=xml=voc/{split}")
    for split in SPLITS:
        # The order is the same, as it depends on paths and seed alone.
        a, b, c = (fields_of(tmp_path / kind / split, "objects") for kind in ["coco", "yolo", "voc"])
        assert len(a) == len(b) == len(c) == {"train": 205, "val": 87, "test": 72}[split]
        for x, y, z in zip(map(objects.parse, a), map(objects.parse, b), map(objects.parse, c)):
            assert (x["labels"] == y["labels"]).all() and (x["labels"] == z["labels"]).all()
            assert (x["boxes"] == z["boxes"]).all()
            assert numpy.abs(x["boxes"] - y["boxes"]).max() < 1e-3
        packhorse("inspect", "--verify", "full", tmp_path / "coco" / split)
        manifest = json.loads((tmp_path / "coco" / split / "dataset.json").read_text())
        source = json.loads((bccd / f"annotations/instances_{split}.json").read_text())
        del source["images"], source["annotations"]
        assert json.loads(manifest["targets"][0].pop("head")) == source
        assert manifest["targets"] == [{"name": "objects", "kind": "objects", "text": "json", "classes": CLASSES, "keypoints": []}]
        assert manifest["fields"] == ["json", "objects"]
    assert "objects of 3 classes: RBC, WBC, Platelets" in packhorse("inspect", tmp_path / "coco/val").out


def test_the_records_of_coco_are_kept_as_they_are_in_each_format(few, packed):
    source = json.loads((few / "instances.json").read_text())
    images, annotations = [], []
    for text in fields_of(packed("wds"), "json"):
        record = json.loads(text)
        images.append(record["image"])
        annotations += record["annotations"]
    assert sorted(images, key=lambda i: i["id"]) == source["images"]
    assert sorted(annotations, key=lambda a: a["id"]) == source["annotations"]
    for format in CARRIERS:
        for field in ["objects", "json"]:
            assert fields_of(packed(format), field) == fields_of(packed("wds"), field)
        packhorse("inspect", "--verify", "full", packed(format))


def test_a_split_is_compared_with_its_source_and_repaired_by_the_same_options(bccd, tmp_path):
    packhorse("pack", bccd, tmp_path / "out", "--format=wds", *coco_of(bccd))
    val = tmp_path / "out/val"
    packhorse("inspect", val, "--against", bccd, *coco_of(bccd))
    without = run("inspect", val, "--against", bccd)
    assert without.code == USAGE and "annotations in several notations" in without.err and "or give --targets" in without.err
    folder = run("inspect", val, "--against", bccd, "--source-kind=folder", "--unlabelled")
    assert folder.code == USAGE and "give the same --targets as for `pack`" in folder.err
    before = (val / "shard-000000.tar").read_bytes()
    (val / "shard-000000.tar").write_bytes(before[:5000] + b"x" + before[5001:])
    packhorse("repair", val, bccd, *coco_of(bccd))
    assert (val / "shard-000000.tar").read_bytes() == before


def test_boxes_are_scaled_as_pixels_are(few, packed, tmp_path):
    source, targets = of_few(few)
    half = packhorse("pack", source, tmp_path / "half", "--format=wds", "--image=resize", "--short-side=240", targets)
    assert "packed without the field 'json', whose numbers would not fit them" in half.out
    raw = ["--format=wds", "--image=raw", "--size=320"]
    packhorse("pack", source, tmp_path / "square", *raw, "--fit=letterbox", targets)
    datasets = [packed("wds"), tmp_path / "half", tmp_path / "square"]
    for original, half, square in zip(*(fields_of(dataset, "objects") for dataset in datasets)):
        boxes = objects.parse(original)["boxes"]
        assert numpy.allclose(objects.parse(half)["boxes"], boxes / 2)
        assert numpy.allclose(objects.parse(square)["boxes"], boxes / 2 + [0, 40, 0, 40])
        areas = objects.parse(original)["areas"]
        assert numpy.allclose(objects.parse(half)["areas"], areas / 4)
    assert all("json" not in sample for sample in objects.of_tar(tmp_path / "half/shard-000000.tar"))
    crop = run("pack", source, tmp_path / "crop", *raw, targets)
    assert crop.code == USAGE and "give --fit letterbox" in crop.err


def small(tmp_path, annotations=(), images=("a.jpg", "b.jpg"), orientation=None, **more):
    """A folder of two images of 100 x 80, and a file of COCO for it."""
    source = tmp_path / "source"
    source.mkdir()
    for i, name in enumerate(["a.jpg", "b.jpg"]):
        exif = Image.Exif()
        if orientation:
            exif[0x0112] = orientation
        Image.new("RGB", (100, 80), (i, 50, 90)).save(source / name, exif=exif)
    content = {
        "images": [{"id": i, "file_name": name, "width": 100, "height": 80, **more} for i, name in enumerate(images)],
        "categories": [{"id": 4, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": [{"image_id": 0, "category_id": 4, "id": i, **a} for i, a in enumerate(annotations)],
    }
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(content))
    return source, f"--targets=coco:{path}"


def pack_small(tmp_path, *options, **content):
    source, targets = small(tmp_path, **content)
    return run("pack", source, tmp_path / "out", "--format=wds", targets, "--json", *options)


def test_objects_of_all_kinds(tmp_path):
    result = pack_small(
        tmp_path,
        annotations=[
            {"bbox": [1, 2, 30, 40], "area": 7.5, "iscrowd": 0, "segmentation": [[1, 2, 31, 2, 31, 42], [5, 5, 9, 5, 9, 9.25]]},
            {"bbox": [0, 0, 100, 80], "iscrowd": 1, "category_id": 2, "segmentation": {"size": [80, 100], "counts": [0, 8000]}},
            {"bbox": [3, 3, 1, 1]},
        ],
    )
    assert result.code == DONE, result
    a, b = (objects.parse(data) for data in sorted(fields_of(tmp_path / "out", "objects"), key=len, reverse=True))
    assert a["boxes"].tolist() == [[1, 2, 31, 42], [0, 0, 100, 80], [3, 3, 4, 4]]
    assert a["labels"].tolist() == [1, 0, 1]  # by ascending id
    assert a["flags"].tolist() == [0, 1, 0]
    assert a["areas"].tolist() == [7.5, 8000, 1]
    assert a["polygons"].tolist() == [0, 2, 2, 2] and a["points"].tolist() == [0, 3, 6]
    assert a["outlines"][5].tolist() == [9, 9.25]
    assert a["runs"].tolist() == [0, 0, 2, 2] and a["counts"].tolist() == [0, 8000]
    assert len(b["boxes"]) == 0
    assert json.loads((tmp_path / "out/dataset.json").read_text())["targets"][0]["classes"] == ["dog", "cat"]


@pytest.mark.parametrize(
    "content, words",
    [
        ({"images": ("a.jpg",)}, "no annotations: instances.json has no image of that name"),
        ({"images": ("a.jpg", "b.jpg", "c.jpg")}, "c.jpg: not there, but in instances.json"),
        ({"width": 99}, "its annotations are for an image of 99 x 80, but it has 100 x 80"),
        ({"width": 80, "height": 100, "orientation": 6}, "they are for the turned picture"),
    ],
)
def test_annotations_that_do_not_fit_the_images_are_rejects(tmp_path, content, words):
    result = pack_small(tmp_path, **content)
    assert result.code == DAMAGE and words in result.err, result


def test_each_split_has_the_category_ids_of_its_own_file(tmp_path):
    for split, first in [("train", 1), ("val", 2)]:
        (tmp_path / "source" / split).mkdir(parents=True)
        Image.new("RGB", (100, 80)).save(tmp_path / "source" / split / "a.jpg")
        content = {
            "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 80}],
            "categories": [{"id": first, "name": "cat"}, {"id": first + 1, "name": "dog"}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 2, "bbox": [1, 1, 2, 2]}],
        }
        (tmp_path / f"{split}.json").write_text(json.dumps(content))
    packhorse("pack", tmp_path / "source", tmp_path / "out", "--format=wds", *(f"--targets={s}=coco:{tmp_path}/{s}.json" for s in ["train", "val"]))
    labels = [objects.parse(fields_of(tmp_path / "out" / split, "objects")[0])["labels"].tolist() for split in ["train", "val"]]
    assert labels == [[1], [0]]


@pytest.mark.parametrize(
    "names, folders, words",
    [
        (["a.jpg"], ["x", "y"], "two images would get the annotations of 'a.jpg'"),
        (["x/a.jpg"], ["y"], "the annotations name none of the images: they have 'x/a.jpg', the source 'y/a.jpg'"),
        (["x/a.jpg", "y/a.jpg"], ["x", "y"], None),
        (["photos/x/a.jpg"], ["x"], None),
    ],
)
def test_no_image_gets_the_annotations_of_another(tmp_path, names, folders, words):
    for i, folder in enumerate(folders):
        (tmp_path / "source" / folder).mkdir(parents=True)
        Image.new("RGB", (100, 80), (i, 0, 0)).save(tmp_path / "source" / folder / "a.jpg")
    content = {
        "images": [{"id": i, "file_name": name, "width": 100, "height": 80} for i, name in enumerate(names)],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": i, "image_id": i, "category_id": 1, "bbox": [i, 1, 2, 2]} for i in range(len(names))],
    }
    (tmp_path / "instances.json").write_text(json.dumps(content))
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format=wds", "--no-shuffle", f"--targets=coco:{tmp_path}/instances.json")
    if words:
        assert result.code == USAGE and words in result.err, result
        return
    assert result.code == DONE, result
    assert [objects.parse(data)["boxes"][0][0] for data in fields_of(tmp_path / "out", "objects")] == list(range(len(names)))


def test_options_that_make_no_sense_are_refused(tmp_path):
    source, _ = small(tmp_path)
    for options, words in (
        (["--targets=koko:x"], "'koko' is not a notation"),
        (["--targets=coco"], "coco without a file"),
        (["--targets=voc:x"], "voc is read from each sample's field 'xml'"),
        (["--targets=yolo:missing.yaml"], "missing.yaml"),
        (["--targets=val=yolo:x"], "a data.yaml is for all splits"),
        (["--targets=yolo:x", "--target-classes=samples/shapes/classes.txt"], ""),
        (["--targets=voc"], "there are no folders JPEGImages and Annotations"),
        (["--targets=yolo"], "give --target-classes FILE"),
        (["--targets=coco:x", "--targets=val=yolo"], "two notations"),
        (["--targets=coco:x", "--targets=coco:y"], "two files for one split"),
        (["--targets=coco:missing.json"], "missing.json"),
        ([f"--targets=coco:{ROOT}/samples"], "names a folder, not a file"),
        (["--targets=hf"], "hf without a file"),
        (["--targets=hf:missing.jsonl"], "missing.jsonl"),
        ([f"--targets=hf:{ROOT}/README.md"], "line 1: "),
        (["--target-classes=samples/shapes/classes.txt"], ""),
    ):
        result = run("pack", source, tmp_path / "out", "--format=wds", *options)
        assert result.code not in (DONE, DAMAGE) and words in result.err, (options, result)


def test_formats_without_fields_refuse(tmp_path):
    source, targets = small(tmp_path)
    result = run("pack", source, tmp_path / "out", "--format=lmdb", targets)
    assert result.code == USAGE and "lmdb-members" in result.err


def test_an_image_without_labels_of_yolo_has_no_objects_and_one_without_xml_is_rejected(tmp_path):
    source, _ = small(tmp_path)
    (tmp_path / "cells.txt").write_text("cat\n")
    (source / "a.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    common = [f"--target-classes={tmp_path}/cells.txt"]
    result = run("pack", source, tmp_path / "yolo", "--format=wds", "--targets=yolo", "--fields=txt", *common)
    assert result.code == DONE, result
    counts = sorted(len(objects.parse(sample["objects"])["boxes"]) for sample in objects.of_tar(tmp_path / "yolo/shard-000000.tar"))
    assert counts == [0, 1]
    (source / "b.xml").write_text("<annotation><object><name>cow</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></object></annotation>")
    result = run("pack", source, tmp_path / "voc", "--format=wds", "--targets=voc", "--fields=xml", *common)
    assert result.code == DAMAGE
    assert "a.jpg: it has no annotations: its field 'xml' is missing" in result.err
    assert "b.jpg: object 'cow': no class is called that" in result.err


def test_a_packed_dataset_is_packed_again_with_its_objects(few, packed, tmp_path):
    source, targets = of_few(few)
    resized = ["--format=wds", "--image=resize", "--short-side=240"]
    packhorse("pack", packed("wds"), tmp_path / "again", "--format=hdf5")
    packhorse("pack", packed("wds"), tmp_path / "half", *resized)
    packhorse("pack", source, tmp_path / "direct", *resized, targets)
    for field in ["objects", "json"]:
        assert fields_of(tmp_path / "again", field) == fields_of(packed("wds"), field)
    assert fields_of(tmp_path / "half", "objects") == fields_of(tmp_path / "direct", "objects")
    for name in ["again", "half"]:
        manifest = json.loads((tmp_path / name / "dataset.json").read_text())
        assert manifest["targets"][0]["classes"] == CLASSES
        packhorse("inspect", "--verify", "full", tmp_path / name)
    crop = run("pack", packed("wds"), tmp_path / "crop", "--format=wds", "--image=raw")
    assert crop.code == USAGE and "cuts the images" in crop.err
    packhorse("pack", packed("wds"), tmp_path / "without", "--format=lmdb", "--fields=none")
    assert "targets" not in json.loads((tmp_path / "without/dataset.json").read_text())


def edit_bbox(content):
    content["annotations"][7]["bbox"][2] -= 1
    return content["annotations"][7]["image_id"]


def edit_area(content):
    content["annotations"][7]["area"] = 17
    return content["annotations"][7]["image_id"]


def edit_only_the_record(content):
    content["annotations"][7]["comment"] = "checked"
    return content["annotations"][7]["image_id"]


def remove(content):
    return content["annotations"].pop(7)["image_id"]


def add(content):
    content["annotations"].append({**content["annotations"][7], "id": 10**6})
    return content["annotations"][7]["image_id"]


@pytest.mark.parametrize("edit", [edit_bbox, edit_area, edit_only_the_record, remove, add])
def test_every_change_of_annotations_is_found_with_its_image(few, packed, tmp_path, edit):
    source, targets = of_few(few)
    packhorse("inspect", packed("hdf5"), "--against", source, targets)
    content = json.loads((few / "instances.json").read_text())
    changed = edit(content)
    put(tmp_path / "instances.json", json.dumps(content))
    targets = f"--targets=coco:{tmp_path}/instances.json"
    [name] = [image["file_name"] for image in content["images"] if image["id"] == changed]

    against = run("inspect", packed("hdf5"), "--against", source, targets)
    assert against.code == DAMAGE
    fields = ["json"] if edit is edit_only_the_record else ["json", "objects"]
    found = [line for line in (against.out + against.err).splitlines() if "differs from the source" in line]
    assert len(found) == len(fields), against
    assert all(name in line and f"the field '{field}'" in line for line, field in zip(found, fields)), against

    packhorse("pack", source, tmp_path / "after", "--format=hdf5", targets)
    diff = run("diff", packed("hdf5"), tmp_path / "after", "--json")
    assert diff.code == DAMAGE
    assert [(change["a"]["path"], change["what"]) for change in diff.json["changes"]] == [(name, ["fields"])]


@pytest.mark.parametrize("format", CARRIERS)
def test_a_flipped_byte_of_a_field_is_found_and_repaired(few, packed, tmp_path, format):
    source, targets = of_few(few)
    out = copy_tree(packed(format), tmp_path / "out")
    [shard] = [path for path in out.iterdir() if path.suffix in (".tar", ".h5", ".lmdb")]
    shard = shard / "data.mdb" if shard.is_dir() else shard
    before = shard.read_bytes()
    for field in ["objects", "json"]:
        value = fields_of(packed(format), field)[5]
        at = before.index(value) + len(value) // 2
        shard.write_bytes(before[:at] + bytes([before[at] ^ 4]) + before[at + 1 :])
        for command in [["inspect", out, "--verify", "full"], ["inspect", out, "--against", source, targets]]:
            result = run(*command)
            assert result.code == DAMAGE and field in result.out + result.err, result
        repaired = packhorse("repair", out, source, targets)
        assert shard.read_bytes() == before, repaired


def test_records_in_shards_are_packed_again_as_targets(few, packed, tmp_path):
    shards = tmp_path / "shards"
    shards.mkdir()
    shutil.copy(packed("wds") / "shard-000000.tar", shards / "train-0.tar")
    records = f"--targets=coco-records:{few}/instances.json"
    both = run("pack", shards, tmp_path / "again", "--format=wds", records)
    assert both.code == USAGE and "leave it out with --fields" in both.err
    packhorse("pack", shards, tmp_path / "again", "--format=wds", "--fields=json", "--no-shuffle", records)
    for field in ["objects", "json"]:
        assert fields_of(tmp_path / "again", field) == fields_of(packed("wds"), field)
    manifests = [json.loads((dataset / "dataset.json").read_text()) for dataset in [tmp_path / "again", packed("wds")]]
    assert manifests[0]["targets"] == manifests[1]["targets"]
    packhorse("inspect", tmp_path / "again", "--against", shards, "--fields=json", records)

    # A shard from elsewhere, with records that nobody has checked.
    with tarfile.open(shards / "train-0.tar", "w") as tar:
        picture = sorted((few / "photos").iterdir())[0].read_bytes()
        for name, data in [("x.jpg", picture), ("x.json", b'{"image": 5}'), ("x.cls", b"0")]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    result = run("pack", shards, tmp_path / "third", "--format=wds", "--fields=json", records)
    assert result.code == DAMAGE and "its annotations" in result.err, result


def test_objects_in_shards_are_adopted(few, packed, tmp_path):
    records = f"--targets=coco-records:{few}/instances.json"
    shards = tmp_path / "shards"
    shards.mkdir()
    shutil.copy(packed("wds") / "shard-000000.tar", shards / "train-0.tar")
    result = packhorse("index", shards, "--out", tmp_path / "plain")
    assert "give --targets" in result.out
    packhorse("index", shards, "--out", tmp_path / "out", records)
    datasets = [tmp_path / "out", packed("wds"), tmp_path / "plain"]
    ours, theirs, plain = (json.loads((dataset / "dataset.json").read_text()) for dataset in datasets)
    assert ours["targets"] == theirs["targets"] and "targets" not in plain
    packhorse("inspect", "--verify", "full", tmp_path / "out")
    packhorse("unpack", tmp_path / "out", tmp_path / "coco", "--as=coco")
    packhorse("unpack", packed("wds"), tmp_path / "direct", "--as=coco")
    one, other = (json.loads((tmp_path / name / "annotations/instances.json").read_text()) for name in ["coco", "direct"])
    assert one == other

    put(tmp_path / "one.txt", "RBC\n")
    one_class = ["--targets=yolo", f"--target-classes={tmp_path}/one.txt"]
    beyond = run("index", shards, "--out", tmp_path / "beyond", *one_class)
    assert beyond.code == DAMAGE and "an object's class is none of those given" in beyond.err
    packhorse("pack", few / "photos", tmp_path / "bare", "--format=wds", "--unlabelled")
    bare = run("index", tmp_path / "bare/shard-000000.tar", "--out", tmp_path / "x", records)
    assert bare.code == USAGE and "pack them: `packhorse pack SHARDS OUT --targets" in bare.err
    assert not (tmp_path / "x").exists() and not (tmp_path / "beyond").exists()
