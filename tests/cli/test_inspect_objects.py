"""`packhorse inspect` of datasets with objects: the numbers in the summary, and what is drawn where."""

import json
import math

import numpy
import pytest
from PIL import Image
from python_support import DAMAGE, SHAPES, USAGE, copy_tree, flip_byte, listed, pack, packhorse, photos, refused, run

SPLITS = ["train", "val", "test"]
GREY = 128


def class_colour(label):
    """docs/inspect.md: hues of Oklab by the golden angle, from 142 degrees on, clipped to sRGB."""
    hue = math.radians((142 + 137.50776405003785 * label) % 360)
    lightness, a, b = [0.74, 0.62, 0.84][label // 8 % 3], 0.19 * math.cos(hue), 0.19 * math.sin(hue)
    l, m, s = (
        (lightness + x * a + y * b) ** 3
        for x, y in [(0.3963377774, 0.2158037573), (-0.1055613458, -0.0638541728), (-0.0894841775, -1.2914855480)]
    )
    light = numpy.clip(
        [
            4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
            -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
            -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
        ],
        0,
        1,
    )
    return numpy.round(255 * numpy.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055))


def is_colour(pixel, label):
    return numpy.abs(numpy.array(pixel, float) - class_colour(label)).max() <= 2


def is_tinted(pixel, label):
    """Whether grey shows through the class's colour."""
    return numpy.abs(numpy.array(pixel, float) - (0.6 * GREY + 0.4 * class_colour(label))).max() <= 2


def is_grey(pixel):
    return numpy.abs(numpy.array(pixel, float) - GREY).max() <= 2


# Of an image of 300 x 200, upright: a box of class 0, a triangle of class 1, a mask of class 2, key points of class 3.
BOX = [20, 30, 60, 40]
TRIANGLE = [100, 20, 180, 20, 100, 100]
MASK = (slice(120, 180), slice(200, 280))  # rows, columns
POINTS = [40, 150, 2, 80, 150, 1, 0, 0, 0]


def run_lengths(mask):
    """COCO's, of a mask in rows."""
    flat = numpy.concatenate([[0], mask.T.reshape(-1), [0]]).astype(int)
    edges = numpy.flatnonzero(numpy.diff(flat))
    return [int(n) for n in numpy.diff(numpy.concatenate([[0], edges, [mask.size]]))]


def stored(orientation, upright):
    """Where the pixel (x, y) of the upright picture of 300 x 200 is in the stored one: for corners, too."""
    x, y = upright
    w, h = 300, 200
    return {
        1: (x, y),
        2: (w - x, y),
        3: (w - x, h - y),
        4: (x, h - y),
        5: (y, x),
        6: (y, w - x),
        7: (h - y, w - x),
        8: (h - y, x),
    }[orientation]


def turned_box(orientation, box):
    a, b = stored(orientation, box[:2]), stored(orientation, (box[0] + box[2], box[1] + box[3]))
    return [min(a[0], b[0]), min(a[1], b[1]), abs(a[0] - b[0]), abs(a[1] - b[1])]


def turned_mask(orientation, mask):
    flips = {1: (), 2: (1,), 3: (0, 1), 4: (0,), 5: (), 6: (1,), 7: (0, 1), 8: (0,)}[orientation]
    mask = numpy.flip(mask, flips)
    return mask.T if orientation >= 5 else mask


def made(tmp_path, orientation=1, annotations=None, names=("box", "triangle", "mask", "points"), options=(), split=""):
    """A packed dataset of one flat grey picture with the objects above."""
    mask = numpy.zeros((200, 300), bool)
    mask[MASK] = True
    mask = turned_mask(orientation, mask)
    triangle = [n for i in range(0, 6, 2) for n in stored(orientation, TRIANGLE[i : i + 2])]
    points = [n for i in range(0, 9, 3) for n in ((*stored(orientation, POINTS[i : i + 2]), POINTS[i + 2]) if POINTS[i + 2] else (0, 0, 0))]
    if annotations is None:
        annotations = [
            {"category_id": 1, "bbox": turned_box(orientation, BOX)},
            {"category_id": 2, "bbox": turned_box(orientation, [100, 20, 80, 80]), "segmentation": [triangle]},
            {"category_id": 3, "bbox": turned_box(orientation, [200, 120, 80, 60]), "segmentation": {"size": list(mask.shape), "counts": run_lengths(mask)}},
            {"category_id": 4, "bbox": turned_box(orientation, [10, 120, 100, 60]), "keypoints": points},
        ]
    source = tmp_path / "source" / split
    source.mkdir(parents=True)
    size = (mask.shape[1], mask.shape[0])
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.new("RGB", size, (GREY,) * 3).save(source / "a.jpg", exif=exif, quality=100)
    content = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": size[0], "height": size[1]}],
        "categories": [{"id": i + 1, "name": name} for i, name in enumerate(names)],
        "annotations": [{"id": i, "image_id": 1, **a} for i, a in enumerate(annotations)],
    }
    content["categories"][-1]["keypoints"] = ["nose", "tail", "ear"]
    (tmp_path / "instances.json").write_text(json.dumps(content))
    pack(tmp_path / "source", tmp_path / "out", "--format=wds", f"--targets=coco:{tmp_path}/instances.json", *options)
    return tmp_path / "out"


def drawn(dataset, tmp_path):
    packhorse("inspect", dataset, "--show", "0", "--draw", "-o", tmp_path / "drawn.png")
    return Image.open(tmp_path / "drawn.png").convert("RGB")


@pytest.mark.parametrize(
    "orientation", [1, 6, *[pytest.param(n, marks=pytest.mark.thorough) for n in (2, 3, 4, 5, 7, 8)]]
)
def test_objects_are_drawn_where_they_are_in_the_upright_picture(tmp_path, orientation):
    picture = drawn(made(tmp_path, orientation), tmp_path)
    assert picture.size == (300, 200)
    at = picture.getpixel
    for x, y in [(20, 50), (79, 60), (40, 30), (70, 69)]:
        assert is_colour(at((x, y)), 0), (x, y)
    for x, y in [(19, 50), (80, 60), (70, 70), (50, 50)]:
        assert is_grey(at((x, y))), (x, y)
    for x, y in [(115, 60), (140, 45), (105, 80)]:
        assert is_tinted(at((x, y)), 1), (x, y)
    assert is_grey(at((165, 60))) and is_grey(at((150, 80)))  # in its box
    for x, y in [(203, 160), (276, 176), (240, 150)]:
        assert is_tinted(at((x, y)), 2), (x, y)
    assert is_colour(at((200, 150)), 2) and is_grey(at((198, 150))) and is_grey(at((240, 182)))
    # The corner of a pixel is where a key point lies: either neighbour is its middle.
    visible, hidden = (numpy.array(picture)[148:152, x - 2 : x + 2].reshape(-1, 3) for x in (40, 80))
    assert any(is_colour(pixel, 3) for pixel in visible) and any(is_grey(pixel) for pixel in hidden)
    assert not any(is_grey(pixel) for pixel in visible)


def test_tiles_of_a_sheet_have_objects_where_they_are(tmp_path):
    dataset = made(tmp_path, orientation=6)
    said = packhorse("inspect", dataset, "--sheet", tmp_path / "a.png", "--sheet-tile", "150", "--json").json["sheet"]
    assert said["samples"][0]["objects"] == 4
    sheet = Image.open(tmp_path / "a.png").convert("RGB")
    assert sheet.size == (said["width"], said["height"])
    at = lambda x, y: sheet.getpixel((10 + x // 2, 10 + 25 + y // 2))  # half of the size, in the middle of the tile
    assert is_colour(at(20, 50), 0) and is_colour(at(78, 60), 0) and is_grey(at(50, 50))
    assert is_tinted(at(115, 60), 1) and is_tinted(at(240, 150), 2) and is_grey(at(165, 60))
    # Under the tile its numbers, then the classes with their colours.
    legend = numpy.array(sheet)[10 + 150 + 34 + 10 :]
    for label in range(4):
        assert any(is_colour(pixel, label) for pixel in legend.reshape(-1, 3)), label


def test_a_crowd_is_hatched_and_dashed(tmp_path):
    mask = numpy.zeros((200, 300), bool)
    mask[50:150, 50:250] = True
    crowd = {"category_id": 1, "iscrowd": 1, "bbox": [40, 40, 220, 120], "segmentation": {"size": [200, 300], "counts": run_lengths(mask)}}
    pixels = numpy.array(drawn(made(tmp_path, annotations=[crowd]), tmp_path))
    inside = pixels[60:140:3, 60:240].reshape(-1, 3)
    tinted = sum(is_tinted(pixel, 0) for pixel in inside) / len(inside)
    assert 0.4 < tinted < 0.6 and all(is_tinted(p, 0) or is_grey(p) for p in inside)
    line = [is_colour(pixel, 0) for pixel in pixels[159, 60:240]]
    assert 0.4 < sum(line) / len(line) < 0.6


def test_objects_at_the_edge_and_boxes_without_much_area_are_drawn(tmp_path):
    annotations = [
        {"category_id": 1, "bbox": [0, 0, 300, 200]},
        {"category_id": 2, "bbox": [20, 20, 0.01, 0.01]},
        {"category_id": 3, "bbox": [0, 0, 300, 10], "segmentation": [[0, 0, 300, 0, 300, 10, 0, 10]]},
    ]
    picture = drawn(made(tmp_path, annotations=annotations), tmp_path)
    assert is_tinted(picture.getpixel((150, 4)), 2) and is_grey(picture.getpixel((150, 100)))
    assert is_colour(picture.getpixel((20, 20)), 1)
    assert is_colour(picture.getpixel((299, 100)), 0) and is_colour(picture.getpixel((150, 199)), 0)


def test_a_name_is_written_on_its_colour(tmp_path):
    pixels = numpy.array(drawn(made(tmp_path), tmp_path)).astype(int)
    above = pixels[17:29, 22:40].reshape(-1, 3)  # of the first box
    assert any(is_colour(pixel, 0) for pixel in above) and (above.sum(1) < 150).any()


def test_strange_names_of_objects_are_shown_safely(tmp_path):
    dataset = made(tmp_path, names=["<script>alert(1)</script>", "x" * 300, "\x1b[31m\u202e", "wölkchen"])
    drawn(dataset, tmp_path)
    packhorse("inspect", dataset, "--sheet", tmp_path / "a.png")
    packhorse("inspect", dataset, "--report", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    text = packhorse("inspect", dataset).out
    assert "<script" not in page
    for shown in (page, text, packhorse("stats", dataset).out):
        assert "\x1b" not in shown and "\u202e" not in shown


def coco_counts(path):
    """Counted in COCO's file."""
    content = json.loads(path.read_text())
    of_image = {image["id"]: 0 for image in content["images"]}
    areas = [a["area"] for a in content["annotations"]]
    for a in content["annotations"]:
        of_image[a["image_id"]] += 1
    classes = [sum(a["category_id"] == c["id"] for a in content["annotations"]) for c in sorted(content["categories"], key=lambda c: c["id"])]
    return sorted(of_image.values()), classes, areas


@pytest.fixture(scope="module")
def bccd(tmp_path_factory):
    source, out = photos("bccd/bccd"), tmp_path_factory.mktemp("bccd") / "out"
    pack(source, out, "--format=wds", *(f"--targets={s}=coco:{source}/annotations/instances_{s}.json" for s in SPLITS))
    return out


def test_the_numbers_are_those_of_the_file_of_coco(bccd):
    per_image, classes, areas = coco_counts(photos("bccd/bccd") / "annotations/instances_val.json")
    said = packhorse("inspect", bccd / "val", "--json").json["objects"]
    assert said["images"] == len(per_image) and said["objects"] == sum(per_image) == len(areas)
    assert said["images_without"] == per_image.count(0) and said["damaged"] == 0
    of = said["per_image"]
    assert (of["min"], of["median"], of["max"]) == (per_image[0], per_image[len(per_image) // 2], per_image[-1])
    for bin in of["bins"]:
        assert bin["images"] == sum(bin["from"] <= n < bin["below"] for n in per_image)
    assert [(c["name"], c["objects"]) for c in said["classes"]] == list(zip(["RBC", "WBC", "Platelets"], classes))
    assert said["sizes"] == {
        "small": sum(a < 32**2 for a in areas),
        "medium": sum(32**2 <= a < 96**2 for a in areas),
        "large": sum(a >= 96**2 for a in areas),
    }
    assert sum(bin["objects"] for bin in said["side"]["bins"]) == len(areas)
    assert said["crowds"] == said["with_polygons"] == said["with_keypoints"] == 0
    assert packhorse("stats", bccd / "val", "--json").json["objects"] == said
    text = packhorse("inspect", bccd / "val").out
    assert f"  objects  {len(areas):,}: {per_image[0]} to {per_image[-1]} an image, median {per_image[len(per_image) // 2]}\n" in text
    assert "  objects of a class\n    RBC " in text


def test_statistics_of_some_images_say_so(bccd):
    some = packhorse("stats", bccd / "train", "--sample", "50").out
    assert "in 50 of 205 images, drawn at random" in some
    said = packhorse("stats", bccd / "train", "--sample", "50", "--json").json["objects"]
    assert said["images"] == 50 and 0 < said["objects"] < 4888
    assert packhorse("stats", bccd / "train", "--sample", "50", "--json", "--jobs", "1").json["objects"] == said


def test_kinds_of_objects_are_counted(tmp_path):
    mask = {"size": [200, 300], "counts": [0, 60000]}
    dataset = made(
        tmp_path,
        annotations=[
            {"category_id": 1, "bbox": [0, 0, 10, 10], "segmentation": [[0, 0, 10, 0, 10, 10]]},
            {"category_id": 1, "bbox": [0, 0, 32, 32]},
            {"category_id": 1, "bbox": [0, 0, 100, 100], "area": 9216},
            {"category_id": 2, "bbox": [0, 0, 300, 200], "iscrowd": 1, "segmentation": mask},
            {"category_id": 4, "bbox": [0, 0, 10, 10], "keypoints": POINTS},
        ],
    )
    said = packhorse("inspect", dataset, "--json").json["objects"]
    assert said["sizes"] == {"small": 2, "medium": 1, "large": 2}
    assert [said[name] for name in ("with_polygons", "with_run_lengths", "with_keypoints", "crowds")] == [1, 1, 1, 1]
    text = packhorse("inspect", dataset).out
    assert "  objects  5: 5 in each image\n" in text
    assert "  areas    2 small (below 32 x 32 pixels), 1 medium, 2 large (from 96 x 96)\n" in text
    assert "  of these 1 with polygons, 1 with run lengths, 1 with key points, 1 crowd\n" in text


def test_an_empty_dataset_of_objects_is_summarised(tmp_path):
    dataset = made(tmp_path, annotations=[])
    assert "  objects  0; 1 image without\n" in packhorse("inspect", dataset).out
    packhorse("inspect", dataset, "--sheet", tmp_path / "a.png")
    packhorse("inspect", dataset, "--report", tmp_path / "a.html")
    assert "# objects: 0" in packhorse("stats", dataset).out


def test_damaged_objects_are_counted_and_named(bccd, tmp_path):
    copy_tree(bccd / "val", tmp_path / "val")
    sample = listed(tmp_path / "val")[3]
    [field] = [f for f in sample["fields"] if f["name"] == "objects"]
    flip_byte(tmp_path / "val" / sample["shard"], field["offset"] + 60)
    result = run("inspect", tmp_path / "val", "--json")
    assert result.code == DAMAGE and "the objects of 1 image could not be read" in result.err
    assert result.json["objects"]["damaged"] == 1 and result.json["objects"]["images"] == 86
    result = run("inspect", tmp_path / "val", "--sheet", tmp_path / "a.png", "--samples", "2-4")
    assert result.code == DAMAGE and f"damaged: sample 3, key {sample['key']}" in result.err
    result = refused("inspect", tmp_path / "val", "--show", "3", "--draw", "-o", tmp_path / "a.jpg", code=DAMAGE)
    assert sample["key"] in result.err and not (tmp_path / "a.jpg").exists()
    refused("stats", tmp_path / "val", code=DAMAGE)


def test_senseless_options_are_refused(tmp_path):
    dataset = made(tmp_path)
    for options in ((), ("-o", "x.txt"), ("-o", "x.jpg", "--field", "json")):
        refused("inspect", dataset, "--show", "0", "--draw", *options, code=USAGE, cwd=tmp_path)
    assert not list(tmp_path.glob("x.*"))


def test_a_dataset_without_objects_has_nothing_to_draw(tmp_path):
    pack(SHAPES / "val", tmp_path / "out", "--format=wds")
    result = refused("inspect", tmp_path / "out", "--show", "0", "--draw", "-o", tmp_path / "a.png", code=USAGE)
    assert "no objects and no masks to draw" in result.err
    assert "objects" not in packhorse("inspect", tmp_path / "out", "--json").json


def test_the_report_has_the_objects(bccd, tmp_path):
    packhorse("inspect", bccd / "val", "--report", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "<h3>Objects</h3>" in page and "Objects in an image" in page and "Objects of a class" in page
    assert page.count('<i class="swatch"') >= 5 and "Platelets</td>" in page


CAPTIONS = ["two  words\nand <b>more</b>", "", "long " * 200, b"\xff\xfe", "\x1b[31m red"]


@pytest.fixture
def captions(tmp_path):
    (tmp_path / "source").mkdir()
    for i, text in enumerate(CAPTIONS):
        Image.new("RGB", (64, 64), (GREY, GREY, i)).save(tmp_path / f"source/{i}.png")
        (tmp_path / f"source/{i}.caption").write_bytes(text if isinstance(text, bytes) else text.encode())
    pack(tmp_path / "source", tmp_path / "out", "--format=wds", "--fields=caption", "--no-shuffle", "--unlabelled")
    return tmp_path / "out"


def test_captions_stand_below_their_pictures(captions, tmp_path):
    said = packhorse("inspect", captions, "--sheet", tmp_path / "a.png", "--sheet-columns", "5", "--json").json["sheet"]
    sheet = numpy.array(Image.open(tmp_path / "a.png").convert("L"))
    assert sheet.shape == (said["height"], said["width"]) == (10 + 128 + 34 + 30 + 10, 10 + 5 * 138)
    dark = [(sheet[10 + 128 + 34 : -10, 10 + 138 * i : 10 + 138 * i + 128] < 100).any() for i in range(5)]
    assert dark == [True, False, True, False, True]
    packhorse("inspect", captions, "--report", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "two words and &lt;b&gt;more&lt;/b&gt;" in page and "\\x1b[31m red" in page and "\x1b" not in page
    assert "long " * 70 in page and "long " * 90 not in page


def test_the_text_of_objects_is_no_caption(tmp_path):
    source = photos("bccd/bccd")
    (tmp_path / "cells.txt").write_text("RBC\nWBC\nPlatelets\n")
    pack(source, tmp_path / "out", "--format=wds", "--targets=yolo", f"--target-classes={tmp_path}/cells.txt", "--optional-field-from=txt=labels/{split}")
    packhorse("inspect", tmp_path / "out/val", "--report", tmp_path / "a.html")
    assert " 0.5" not in (tmp_path / "a.html").read_text()
