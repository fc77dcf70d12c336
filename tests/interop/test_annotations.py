"""Annotation files as packhorse reads them, beside pycocotools and beside the same boxes in three notations."""

import json
import struct
import subprocess

import made_coco
import numpy
import pytest
from PIL import Image
from pycocotools.coco import COCO
from pycocotools import mask as masks
from python_support import BIN, DONE, Result, packhorse, photos, rejects_of, run

CROWD = 1


def run_probe(*arguments):
    done = subprocess.run([BIN / "objects_probe", *map(str, arguments)], capture_output=True, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def probe(*arguments):
    result = run_probe(*arguments)
    assert result.code == 0, result
    return [json.loads(line) for line in result.out.splitlines()]


def probe_coco(tmp_path, content):
    path = tmp_path / "instances.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    head, *images = probe("coco", path)
    return path, head, images


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def fnv(mask):
    value = 1469598103934665603
    for pixel in mask.tobytes(order="C"):
        value = (value ^ pixel) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
    return value


def test_every_annotation_is_as_pycocotools_sees_it(tmp_path):
    path, head, images = probe_coco(tmp_path, made_coco.make(200))
    coco = COCO(str(path))
    ids = sorted(coco.getCatIds())
    assert head == {
        "classes": [coco.cats[i]["name"] for i in ids],
        "keypoints": made_coco.KEYPOINTS,
        "notes": [],
    }
    assert [image["name"] for image in images] == [image["file_name"] for image in coco.dataset["images"]]
    objects = hashed = 0
    for image, record in zip(images, coco.dataset["images"]):
        assert image["problems"] == []
        annotations = coco.loadAnns(coco.getAnnIds(imgIds=record["id"]))
        assert len(image["objects"]) == len(annotations)
        for mine, theirs in zip(image["objects"], annotations):
            objects += 1
            x, y, w, h = theirs["bbox"]
            assert mine["box"] == [single(v) for v in (x, y, x + w, y + h)]
            assert mine["label"] == ids.index(theirs["category_id"])
            assert mine["flags"] == (CROWD if theirs["iscrowd"] else 0)
            assert mine["area"] == single(theirs["area"])
            if "keypoints" in mine:
                assert mine["keypoints"] == theirs.get("keypoints", [0] * 9)
            rle = coco.annToRLE(theirs)
            counts = rle["counts"]
            assert mine["mask"]["counts"] == (counts if isinstance(counts, str) else counts.decode())
            assert mine["mask"]["area"] == mine["mask"]["drawn"] == masks.area(rle)
            assert mine["mask"]["box"] == list(masks.toBbox(rle))
            if objects % 10 == 0:  # hashing in Python is slow
                assert mine["mask"]["hash"] == fnv(numpy.ascontiguousarray(masks.decode(rle)))
                hashed += 1
    assert objects > 500 and hashed > 50


def write_images(folder, content):
    """Pictures of the sizes that the file says; every tenth is turned by its EXIF orientation, and shown as it is stored."""
    for i, image in enumerate(content["images"]):
        path = folder / image["file_name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        exif = Image.Exif()
        trap = image["file_name"].startswith("trap")
        if trap or i % 10 == 0:
            exif[0x0112] = 6
        size = (100, 80) if trap else (image["width"], image["height"])
        Image.new("RGB", size, (i % 256, i // 256, 90)).save(path, exif=exif)


def canonical(content):
    lists = {name: sorted(content[name], key=lambda one: one["id"]) for name in ["images", "annotations", "categories"]}
    return json.dumps({**content, **lists}, sort_keys=True)


def test_a_file_with_every_trap_comes_back_through_shards(tmp_path):
    content = made_coco.make(200)
    sound = json.loads(json.dumps(content))
    traps = made_coco.add_traps(content)
    write_images(tmp_path / "photos", content)
    (tmp_path / "instances.json").write_text(json.dumps(content))
    targets = f"--targets=coco:{tmp_path}/instances.json"
    result = run("pack", tmp_path / "photos", tmp_path / "packed", "--format=wds", "--json", f"--max-rejects={len(traps)}", targets)
    assert result.code == DONE, result
    rejects = rejects_of(result.json)
    assert rejects.keys() == traps.keys()
    assert all(traps[name] in rejects[name] for name in traps)

    packhorse("unpack", tmp_path / "packed", tmp_path / "out", "--as=coco")
    back = json.loads((tmp_path / "out/annotations/instances.json").read_text())
    assert canonical(back) == canonical(sound)
    for image in sound["images"]:
        assert (tmp_path / "out/images" / image["file_name"]).read_bytes() == (tmp_path / "photos" / image["file_name"]).read_bytes()

    # Without its records, a file made of the objects alone says the same to pycocotools.
    packhorse("pack", tmp_path / "packed", tmp_path / "bare", "--format=hdf5", "--fields=objects")
    packhorse("unpack", tmp_path / "bare", tmp_path / "made", "--as=coco")
    mine, theirs = COCO(str(tmp_path / "made/annotations/instances.json")), COCO(str(tmp_path / "instances.json"))
    assert {i: c["name"] for i, c in mine.cats.items()} == {i: c["name"] for i, c in theirs.cats.items()}
    ids = {image["file_name"]: image["id"] for image in theirs.dataset["images"]}
    count = 0
    for image in mine.dataset["images"]:
        pairs = zip(mine.imgToAnns[image["id"]], theirs.imgToAnns[ids[image["file_name"]]], strict=True)
        for a, b in pairs:
            count += 1
            x, y, w, h = a["bbox"]
            assert [single(v) for v in (x, y, x + w, y + h)] == [single(v) for v in (b["bbox"][0], b["bbox"][1], b["bbox"][0] + b["bbox"][2], b["bbox"][1] + b["bbox"][3])]
            assert single(a["area"]) == single(b["area"])
            assert (a["category_id"], a["iscrowd"]) == (b["category_id"], b["iscrowd"])
            assert a.get("keypoints", [0] * 9) == b.get("keypoints", [0] * 9)
            one, other = mine.annToRLE(a), theirs.annToRLE(b)
            assert masks.area(one) == masks.area(other)
            assert (masks.decode(one) == masks.decode(other)).all()
    assert count == len(sound["annotations"]) > 500


GOOD = {
    "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 80}],
    "categories": [{"id": 5, "name": "cat"}],
    "annotations": [],
}


def with_annotation(**members):
    annotation = {"id": 9, "image_id": 1, "category_id": 5, "bbox": [10, 10, 20, 20], **members}
    return {**GOOD, "annotations": [{k: v for k, v in annotation.items() if v is not ...}]}


def test_an_annotation_that_cannot_be_right_is_named(tmp_path):
    for members, problem in (
        ({"category_id": 6}, "no category has the id 6"),
        ({"category_id": ...}, "it has no category_id"),
        ({"bbox": [10, 10, 0, 20]}, "its box has no area"),
        ({"bbox": [10, 10, -5, 20]}, "its box has no area"),
        ({"bbox": [10, 10, 20]}, "its box is not x, y, width and height"),
        ({"bbox": [90, 10, 20, 20]}, "its box, 90 10 to 110 30, is beyond the image of 100 x 80"),
        ({"bbox": [10, 10, 1e-9, 20]}, "its box has no area"),
        ({"bbox": ...}, "it has no box"),
        ({"bbox": "10"}, ""),
        ({"bbox": ["nan", 0, 10, 10]}, ""),
        ({"area": -1}, "its area is not an area"),
        ({"segmentation": [[1, 1, 5, 5]]}, "a polygon of 2 points"),
        ({"segmentation": [[1, 1, 5, 5, 9]]}, "a polygon has an odd number of coordinates"),
        ({"segmentation": [[1, 1, 5, 5, 500, 9]]}, "a polygon is beyond the image"),
        ({"segmentation": {"size": [80, 100], "counts": [5, 5]}}, "damaged run lengths: their sum"),
        ({"segmentation": {"size": [100, 80], "counts": [8000]}}, "its mask is 80 x 100, the image 100 x 80"),
        ({"segmentation": {"size": [80, 100], "counts": "!!"}}, "damaged run lengths: a character"),
        ({"keypoints": [1, 2]}, "its key points are not x, y and visibility each"),
        ({"keypoints": [1, 2, 2]}, "it has 1 key points instead of 0"),
        ({"iscrowd": "no"}, ""),
    ):
        _, _, [image] = probe_coco(tmp_path, with_annotation(**members))
        assert image["objects"] == [], members
        [found] = image["problems"]
        assert found.startswith(f"annotation 9: {problem}"), found


def test_an_annotation_without_an_image_refuses_the_file(tmp_path):
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(with_annotation(image_id=2)))
    result = run_probe("coco", path)
    assert result.code == 1 and "annotation 1 of its list: no image of its list has the id 2: the first has the id 1" in result.err


def test_a_box_may_be_beyond_the_image_by_a_rounded_pixel_and_is_kept(tmp_path):
    _, _, [image] = probe_coco(tmp_path, with_annotation(bbox=[-0.5, 0, 101, 80.5]))
    assert image["problems"] == []
    assert image["objects"][0]["box"] == [-0.5, 0, 100.5, 80.5]


def test_a_file_that_is_none_is_refused(tmp_path):
    path = tmp_path / "bad.json"
    for content, words in (
        ("{", "not valid JSON"),
        ("[]", "it is not a JSON object"),
        ("{}", 'it has no list of "images"'),
        ({**GOOD, "categories": None}, 'it has no list of "categories"'),
        ({**GOOD, "images": GOOD["images"] * 2}, "the image id 1 is there twice"),
        ({**GOOD, "categories": GOOD["categories"] * 2}, "the category id 5 is there twice"),
        ({**GOOD, "categories": [{"id": 1, "name": "x"}, {"id": 2, "name": "x"}]}, "two categories are called x"),
        ({**GOOD, "categories": [{"id": 1}]}, "a category has no id or no name"),
        ({**GOOD, "images": [{"id": 1, "width": 5, "height": 5}]}, "image 1 of its list: it has no file_name"),
        ({**GOOD, "images": [{"id": 1, "file_name": "a", "width": -5, "height": 5}]}, "image 1 of its list: its width is not a whole number"),
    ):
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        result = run_probe("coco", path)
        assert result.code == 1
        assert words in result.err and str(path) in result.err, result


@pytest.fixture(scope="module")
def bccd():
    """364 photos with boxes, as COCO, YOLO and VOC."""
    return photos("bccd/bccd")


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_real_photos_have_the_same_boxes_in_three_notations(bccd, split):
    _, *coco = probe("coco", bccd / f"annotations/instances_{split}.json")
    names = [image["name"].removesuffix(".jpg") for image in coco]
    labels = [bccd / f"labels/{split}/{name}.txt" for name in names]
    assert all(path.exists() for path in labels)
    yolo = probe("yolo", 640, 480, 3, 0, 3, *labels)
    voc = probe("voc", "RBC,WBC,Platelets", *(bccd / f"voc/{split}/{name}.xml" for name in names))
    count = 0
    for a, b, c in zip(coco, yolo, voc, strict=True):
        assert a["problems"] == b["problems"] == c["problems"] == []
        assert [o["label"] for o in a["objects"]] == [o["label"] for o in b["objects"]] == [o["label"] for o in c["objects"]]
        for x, y, z in zip(a["objects"], b["objects"], c["objects"], strict=True):
            assert x["box"] == z["box"]
            assert y["box"] == pytest.approx(x["box"], abs=1e-3)  # six digits of a share of 640 pixels
            count += 1
    assert count == {"train": 2805, "val": 1138, "test": 945}[split]


def test_lines_of_yolo(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(
        "0 0.5 0.5 0.2 0.4\n\n1 0.1 0.1 0.3 0.1 0.2 0.3\r\n"
        "2 0.5 0.5 0.1 0.1\nx 0 0 0 0\n0.5 0.5 0.5 0.1 0.1\n0 0.5 0.5 0.1\n0 0.5 0.5 0.1 0.1 0.9\n0 nan 0.5 0.1 0.1\n0 1.5 0.5 0.1 0.1\n0 0.5 0.5 0 0.1\n"
    )
    [found] = probe("yolo", 100, 50, 2, 0, 3, path)
    assert [o["box"] for o in found["objects"]] == [pytest.approx([40, 15, 60, 35]), pytest.approx([10, 5, 30, 15])]
    assert found["objects"][1]["mask"]["area"] > 50
    assert found["problems"] == [
        "line 4: its class 2 is none of the 2",
        "line 5: a word in it is not a number",
        "line 6: it does not begin with the number of a class",
        "line 7: 3 numbers follow the class, which are neither a box nor a polygon",
        "line 8: 5 numbers follow the class, which are neither a box nor a polygon",
        "line 9: its box has a number that is not finite",
        "line 10: its box, 145 22.5 to 155 27.5, is beyond the image of 100 x 50",
        "line 11: its box has no area",
    ]


def test_key_points_of_yolo(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("0 0.5 0.5 0.2 0.4 0.5 0.5 2 0 0 0\n0 0.5 0.5 0.2 0.4\n")
    [found] = probe("yolo", 100, 50, 1, 2, 3, path)
    assert [o["keypoints"] for o in found["objects"]] == [[50, 25, 2, 0, 0, 0], [0] * 6]
    path.write_text("0 0.5 0.5 0.2 0.4 0.5 0.5 0 0\n")
    [found] = probe("yolo", 100, 50, 1, 2, 2, path)
    assert [o["keypoints"] for o in found["objects"]] == [[50, 25, 2, 0, 0, 0]]


def test_files_of_voc(tmp_path):
    def voc(text):
        path = tmp_path / "a.xml"
        path.write_text(text)
        return probe("voc", "cat,dog", path)[0]

    box = "<bndbox><xmin>1</xmin><ymin> 1.0 </ymin><xmax>10</xmax><ymax>8</ymax></bndbox>"
    size = "<size><width>20</width><height>10</height></size>"
    found = voc(
        f"<annotation>{size}<object><name>dog</name><difficult>1</difficult><truncated>1</truncated>{box}"
        f"<part><name>head</name>{box}</part></object><object><name>bird</name>{box}</object>"
        f"<object>{box}</object><object><name>cat</name></object></annotation>"
    )
    assert found["objects"] == [{"box": [0, 0, 10, 8], "label": 1, "flags": 2 | 4}]
    assert found["problems"] == [
        "file: object 3: it has no class",
        "file: object 4: it has no box",
        "bird: its class 2 is none of the 2",
    ]
    assert voc(f"<annotation>{size}</annotation>")["objects"] == []
    for old, new, problem in (
        ("<xmin>1<", "<xmin>NaN<", "not finite"),
        ("<xmax>10<", "<xmax>0<", "its box has no area"),
        ("<xmax>10<", "<xmax>50<", "is beyond the image of 20 x 10"),
    ):
        bad = voc(f"<annotation>{size}<object><name>dog</name>{box.replace(old, new)}</object></annotation>")
        assert bad["objects"] == [] and problem in bad["problems"][0], bad
    for text in ["", "<annotation>", "<other/>"]:
        (tmp_path / "bad.xml").write_text(text)
        assert run_probe("voc", "cat", tmp_path / "bad.xml").code == 1
