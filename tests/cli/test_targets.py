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
from python_support import CARRIERS, DAMAGE, DONE, ROOT, USAGE, packhorse, photos, run

SPLITS = ["train", "val", "test"]
CLASSES = ["RBC", "WBC", "Platelets"]


@pytest.fixture(scope="module")
def bccd():
    return photos("bccd/bccd")


def coco_of(bccd):
    return [f"--targets={split}=coco:{bccd}/annotations/instances_{split}.json" for split in SPLITS]


@pytest.fixture
def classes(tmp_path):
    path = tmp_path / "cells.txt"
    path.write_text("".join(f"{name}\n" for name in CLASSES))
    return f"--target-classes={path}"


def boxes_by_image(dataset, record):
    """Boxes and labels of each image by its name, which `record` finds in a sample."""
    found = {}
    for sample in objects.of_tar(dataset / "shard-000000.tar"):
        columns = objects.parse(sample["objects"])
        found[record(sample)] = (columns["boxes"], columns["labels"])
    return found


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


def test_the_records_of_coco_are_kept_as_they_are(bccd, tmp_path):
    packhorse("pack", bccd, tmp_path / "out", "--format=wds", *coco_of(bccd))
    source = json.loads((bccd / "annotations/instances_val.json").read_text())
    images, annotations = [], []
    for text in fields_of(tmp_path / "out/val", "json"):
        record = json.loads(text)
        images.append(record["image"])
        annotations += record["annotations"]
    assert sorted(images, key=lambda i: i["id"]) == source["images"]
    assert sorted(annotations, key=lambda a: a["id"]) == source["annotations"]


@pytest.mark.parametrize("format", CARRIERS)
def test_all_formats_hold_the_same_objects(bccd, tmp_path, format):
    for name in ["wds", format]:
        packhorse("pack", bccd, tmp_path / name, "--format", name, "--overwrite", *coco_of(bccd))
    for field in ["objects", "json"]:
        assert fields_of(tmp_path / format / "val", field) == fields_of(tmp_path / "wds/val", field)
    packhorse("inspect", "--verify", "full", tmp_path / format / "val")


def test_a_dataset_is_compared_with_its_source_and_repaired(bccd, tmp_path):
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


def test_a_changed_annotation_is_found_and_changes_the_id(bccd, tmp_path):
    copy = tmp_path / "bccd"
    shutil.copytree(bccd, copy)
    packhorse("pack", copy, tmp_path / "out", "--format=wds", *coco_of(copy))
    path = copy / "annotations/instances_val.json"
    content = json.loads(path.read_text())
    content["annotations"][7]["bbox"][2] -= 1
    path.write_text(json.dumps(content))
    result = run("inspect", tmp_path / "out/val", "--against", copy, *coco_of(copy))
    assert result.code == DAMAGE and "the field 'objects' differs from the source" in result.out + result.err


def test_boxes_are_scaled_as_pixels_are(bccd, tmp_path):
    packhorse("pack", bccd, tmp_path / "out", "--format=wds", *coco_of(bccd))
    half = packhorse("pack", bccd, tmp_path / "half", "--format=wds", "--image=resize", "--short-side=240", *coco_of(bccd))
    assert "packed without the field 'json', whose numbers would not fit them" in half.out
    packhorse("pack", bccd, tmp_path / "square", "--format=wds", "--image=raw", "--size=320", "--fit=letterbox", *coco_of(bccd))
    for original, half, square in zip(*(fields_of(tmp_path / name / "val", "objects") for name in ["out", "half", "square"])):
        boxes = objects.parse(original)["boxes"]
        assert numpy.allclose(objects.parse(half)["boxes"], boxes / 2)
        assert numpy.allclose(objects.parse(square)["boxes"], boxes / 2 + [0, 40, 0, 40])
        areas = objects.parse(original)["areas"]
        assert numpy.allclose(objects.parse(half)["areas"], areas / 4)
    assert all("json" not in sample for sample in objects.of_tar(tmp_path / "half/val/shard-000000.tar"))
    crop = run("pack", bccd, tmp_path / "crop", "--format=wds", "--image=raw", "--size=320", *coco_of(bccd))
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


def test_an_image_with_a_damaged_annotation_is_rejected_with_its_reason(tmp_path):
    result = pack_small(tmp_path, annotations=[{"bbox": [1, 2, 0, 4]}, {"bbox": [1, 2, 3, 4]}])
    assert result.code == DAMAGE and not (tmp_path / "out").exists()
    assert "a.jpg" in result.err and "annotation 0: its box has no area" in result.err
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format=wds", f"--targets=coco:{tmp_path}/instances.json", "--max-rejects=1")
    assert result.code == DONE
    [reject] = [json.loads(line) for line in (tmp_path / "out/rejects.jsonl").read_text().splitlines()]
    assert reject == {"path": "a.jpg", "reason": "annotation 0: its box has no area"}
    assert len(fields_of(tmp_path / "out", "objects")) == 1


@pytest.mark.parametrize(
    "content, words",
    [
        ({"images": ("a.jpg",)}, "no annotations: instances.json has no image of that name"),
        ({"images": ("a.jpg", "b.jpg", "c.jpg")}, "c.jpg: not there, but in instances.json"),
        ({"annotations": [{"bbox": [0, 0, 1, 1], "image_id": 9}]}, "annotation 1 of the list: no image has the id 9"),
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


def test_annotations_of_other_images_are_refused(tmp_path):
    result = pack_small(tmp_path, images=("x.jpg",))
    assert result.code == USAGE
    assert "the annotations name none of the images: they have 'x.jpg', the source 'a.jpg'" in result.err


@pytest.mark.parametrize(
    "options, words",
    [
        (["--targets=koko:x"], "'koko' is no notation"),
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
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path, options, words):
    source, _ = small(tmp_path)
    result = run("pack", source, tmp_path / "out", "--format=wds", *options)
    assert result.code not in (DONE, DAMAGE) and words in result.err, result


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


def test_a_packed_dataset_is_packed_again_with_its_objects(bccd, tmp_path):
    packhorse("pack", bccd, tmp_path / "out", "--format=wds", *coco_of(bccd))
    packhorse("pack", tmp_path / "out", tmp_path / "again", "--format=hdf5")
    packhorse("pack", tmp_path / "out", tmp_path / "half", "--format=wds", "--image=resize", "--short-side=240")
    packhorse("pack", bccd, tmp_path / "direct", "--format=wds", "--image=resize", "--short-side=240", *coco_of(bccd))
    for field in ["objects", "json"]:
        assert fields_of(tmp_path / "again/val", field) == fields_of(tmp_path / "out/val", field)
    assert fields_of(tmp_path / "half/val", "objects") == fields_of(tmp_path / "direct/val", "objects")
    for name in ["again", "half"]:
        manifest = json.loads((tmp_path / name / "val/dataset.json").read_text())
        assert manifest["targets"][0]["classes"] == CLASSES
        packhorse("inspect", "--verify", "full", tmp_path / name / "val")
    crop = run("pack", tmp_path / "out", tmp_path / "crop", "--format=wds", "--image=raw")
    assert crop.code == USAGE and "cuts the images" in crop.err
    packhorse("pack", tmp_path / "out", tmp_path / "without", "--format=lmdb", "--fields=none")
    assert "targets" not in json.loads((tmp_path / "without/val/dataset.json").read_text())


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
def test_every_change_of_annotations_is_found_with_its_image(bccd, tmp_path, edit):
    source = bccd / "images/val"
    content = json.loads((bccd / "annotations/instances_val.json").read_text())
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(content))
    targets = f"--targets=coco:{path}"
    packhorse("pack", source, tmp_path / "before", "--format=hdf5", targets)
    packhorse("inspect", tmp_path / "before", "--against", source, targets)
    changed = edit(content)
    path.write_text(json.dumps(content))
    [name] = [image["file_name"] for image in content["images"] if image["id"] == changed]

    against = run("inspect", tmp_path / "before", "--against", source, targets)
    assert against.code == DAMAGE
    fields = ["json"] if edit is edit_only_the_record else ["json", "objects"]
    found = [line for line in (against.out + against.err).splitlines() if "differs from the source" in line]
    assert len(found) == len(fields), against
    assert all(name in line and f"the field '{field}'" in line for line, field in zip(found, fields)), against

    packhorse("pack", source, tmp_path / "after", "--format=hdf5", targets)
    diff = run("diff", tmp_path / "before", tmp_path / "after", "--json")
    assert diff.code == DAMAGE
    assert [(change["a"]["path"], change["what"]) for change in diff.json["changes"]] == [(name, ["fields"])]


@pytest.mark.parametrize("format", CARRIERS)
@pytest.mark.parametrize("field", ["objects", "json"])
def test_a_flipped_byte_of_a_field_is_found_and_repaired(bccd, tmp_path, format, field):
    packhorse("pack", bccd, tmp_path / "out", "--format", format, *coco_of(bccd))
    val = tmp_path / "out/val"
    value = fields_of(val, field)[5]
    [shard] = [path for path in val.iterdir() if path.suffix in (".tar", ".h5", ".lmdb")]
    shard = shard / "data.mdb" if shard.is_dir() else shard
    before = shard.read_bytes()
    at = before.index(value) + len(value) // 2
    shard.write_bytes(before[:at] + bytes([before[at] ^ 4]) + before[at + 1 :])
    for command in [["inspect", val, "--verify", "full"], ["inspect", val, "--against", bccd, *coco_of(bccd)]]:
        result = run(*command)
        assert result.code == DAMAGE and field in result.out + result.err, result
    repaired = packhorse("repair", val, bccd, *coco_of(bccd))
    assert shard.read_bytes() == before, repaired
    packhorse("inspect", val, "--verify", "full")


def test_records_in_shards_are_packed_again_as_targets(bccd, tmp_path):
    targets = f"--targets=coco:{bccd}/annotations/instances_val.json"
    packhorse("pack", bccd / "images/val", tmp_path / "packed", "--format=wds", targets)
    shards = tmp_path / "shards"
    shards.mkdir()
    shutil.copy(tmp_path / "packed/shard-000000.tar", shards / "train-0.tar")
    records = f"--targets=coco-records:{bccd}/annotations/instances_val.json"
    both = run("pack", shards, tmp_path / "again", "--format=wds", records)
    assert both.code == USAGE and "leave it out with --fields" in both.err
    packhorse("pack", shards, tmp_path / "again", "--format=wds", "--fields=json", "--no-shuffle", records)
    for field in ["objects", "json"]:
        assert fields_of(tmp_path / "again", field) == fields_of(tmp_path / "packed", field)
    manifests = [json.loads((tmp_path / name / "dataset.json").read_text()) for name in ["again", "packed"]]
    assert manifests[0]["targets"] == manifests[1]["targets"]
    packhorse("inspect", tmp_path / "again", "--against", shards, "--fields=json", records)

    # A shard from elsewhere, with records that nobody has checked.
    with tarfile.open(shards / "train-0.tar", "w") as tar:
        for name, data in [("x.jpg", sorted((bccd / "images/val").iterdir())[0].read_bytes()), ("x.json", b'{"image": 5}'), ("x.cls", b"0")]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    result = run("pack", shards, tmp_path / "third", "--format=wds", "--fields=json", records)
    assert result.code == DAMAGE and "its annotations" in result.err, result


def test_objects_in_shards_are_adopted(bccd, tmp_path):
    annotations = bccd / "annotations/instances_val.json"
    packhorse("pack", bccd / "images/val", tmp_path / "packed", "--format=wds", f"--targets=coco:{annotations}")
    shards = tmp_path / "shards"
    shards.mkdir()
    shutil.copy(tmp_path / "packed/shard-000000.tar", shards / "train-0.tar")
    result = packhorse("index", shards, "--out", tmp_path / "plain")
    assert "give --targets" in result.out
    packhorse("index", shards, "--out", tmp_path / "out", f"--targets=coco-records:{annotations}")
    manifests = [json.loads((tmp_path / name / "dataset.json").read_text()) for name in ["out", "packed", "plain"]]
    assert manifests[0]["targets"] == manifests[1]["targets"] and "targets" not in manifests[2]
    packhorse("inspect", "--verify", "full", tmp_path / "out")
    packhorse("unpack", tmp_path / "out", tmp_path / "coco", "--as=coco")
    packhorse("unpack", tmp_path / "packed", tmp_path / "direct", "--as=coco")
    one, other = (json.loads((tmp_path / name / "annotations/instances.json").read_text()) for name in ["coco", "direct"])
    assert one == other

    (tmp_path / "one.txt").write_text("RBC\n")
    few = run("index", shards, "--out", tmp_path / "few", "--targets=yolo", f"--target-classes={tmp_path}/one.txt")
    assert few.code == DAMAGE and "an object's class is none of those given" in few.err
    packhorse("pack", bccd / "images/val", tmp_path / "bare", "--format=wds", "--unlabelled")
    bare = run("index", tmp_path / "bare/shard-000000.tar", "--out", tmp_path / "x", f"--targets=coco-records:{annotations}")
    assert bare.code == USAGE and "pack them: packhorse pack SHARDS OUT --targets" in bare.err
    assert not (tmp_path / "x").exists() and not (tmp_path / "few").exists()
