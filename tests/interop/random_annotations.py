"""Random annotation sets in every odd form, each with what an independent reader makes of it: pycocotools of COCO, ElementTree of
VOC, a plain reading of YOLO. packhorse refuses them, or finds the same.

    PACKHORSE_BIN=build/release/bin .venv/bin/python tests/interop/random_annotations.py 10000 [SEED]
"""

import contextlib
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from pycocotools import mask as masks
from pycocotools.coco import COCO

CLASSES = ["cat", "dog", "中猫", "l'été & fils"]
SIZE = (60, 40)


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


class Raw(str):
    """A value that is written as it is."""


def json_text(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{json_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    return json.dumps(value)


# COCO


def odd_id(rng, number):
    """One of the ways to write an id, mostly the plain one."""
    return rng.choice([number] * 60 + [float(number), Raw(f"{number}e0"), str(number), Raw(f'"\\u003{number % 10}"'), f"x{number}", f"é{number}"])


def odd_box(rng, x, y, w, h):
    box = [x, y, w, h]
    return rng.choice([box] * 60 + [[box], [str(x), y, w, h], [[x, y], [w, h]], [x, y, w], None, [x, y, -w, h], [float(v) for v in box]])


def odd_segmentation(rng, x, y, w, h):
    flat = [x, y, x + w, y, x + w, y + h, x, y + h]
    runs = {"size": [SIZE[1], SIZE[0]], "counts": [7, SIZE[0] * SIZE[1] - 7]}
    return rng.choice([[flat]] * 12 + [flat, [[]], [], [flat, []], [flat, flat], runs, [runs], [runs, runs], {**runs, "counts": [7.0, SIZE[0] * SIZE[1] - 7.0]},
                                      [[[x, y], [x + w, y]]], [[x, y, w, h]], None, "x", {}, [flat[:7]]])


def random_coco(rng):
    ids = rng.sample(range(30), rng.randint(1, 4))
    images = []
    for i in ids:
        image = {"id": odd_id(rng, i), "file_name": rng.choice([f"{i}.jpg"] * 80 + [f"a\\{i}.jpg", f"https://h/{i}.jpg?t=1"])}
        size = rng.choice([SIZE] * 60 + [(float(SIZE[0]), SIZE[1]), (str(SIZE[0]), SIZE[1]), (SIZE[0] + 0.5, SIZE[1])])
        if rng.random() < 0.97:
            image.update(width=size[0], height=size[1])
        images.append(image)
    categories = [{"id": odd_id(rng, n + 1), "name": name} for n, name in enumerate(CLASSES)]
    rng.shuffle(categories)
    annotations = []
    for number in range(rng.randint(0, 5)):
        x, y, w, h = rng.randrange(20), rng.randrange(10), rng.randint(1, 30), rng.randint(1, 20)
        one = {"id": number, "image_id": rng.choice([image["id"] for image in images] * 40 + [rng.choice(ids), 99]),
               "category_id": rng.choice([c["id"] for c in categories] * 8 + [1, 77]), "bbox": odd_box(rng, x, y, w, h), "iscrowd": rng.choice([0, 0, 0, 1, False, 1.0] * 5 + ["0"])}
        if rng.random() < 0.4:
            one["segmentation"] = odd_segmentation(rng, x, y, w, h)
        if rng.random() < 0.2:
            one["caption"] = "a cat"
        if rng.random() < 0.2:
            one["area"] = rng.choice([1, 2.5, w * h, None, 0] * 3 + ["7"])
        for name in ("image_id", "category_id", "bbox", "iscrowd"):
            if rng.random() < 0.02:
                del one[name]
        annotations.append(one)
    text = json_text({"images": images, "annotations": annotations, "categories": categories})
    if rng.random() < 0.1 and annotations:  # a member twice: the last counts
        text = text.replace('"image_id":', f'"image_id":{json_text(images[0]["id"])},"image_id":', 1)
    if rng.random() < 0.1:
        text = text.replace('"image_id"', '"image\\u005fid"', 1)
    return text


def characters(identity):
    """The stated rule: an id is the same as a number and as a text, where only one has its characters."""
    return str(int(identity)) if isinstance(identity, float) and identity.is_integer() else str(identity)


def same_id(wanted, ids):
    if wanted in ids:
        return wanted
    fits = [one for one in ids if characters(one) == characters(wanted)]
    return fits[0] if len(fits) == 1 else None


def coco_oracle(path):
    """The annotations of each image as pycocotools reads them, and the ids of the categories by label."""
    dataset, coco = json.loads(path.read_text()), None
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(KeyError):  # it reads no file with a member less
        coco = COCO(str(path))
        assert coco.dataset == dataset
    images, categories = ({one["id"]: one for one in dataset[name]} for name in ("images", "categories"))
    assert coco is None or (coco.imgs == images and coco.cats == categories)
    found = []
    for image in dataset["images"]:
        own = [one for one in dataset["annotations"] if same_id(one["image_id"], list(images)) == image["id"]]
        found.append((image, [one for one in own if "caption" not in one or {"bbox", "category_id", "segmentation"} & one.keys()]))
    return coco, sorted(categories, key=lambda one: (isinstance(one, str), one)), found


def check_object(coco, categories, image, mine, theirs):
    segmentation = theirs.get("segmentation")
    if box := theirs.get("bbox"):
        x, y, w, h = map(float, box[0] if len(box) == 1 else box)
        corners = x, y, x + w, y + h
    else:  # the box is that of the polygons
        numbers = segmentation if isinstance(segmentation[0], (int, float)) else sum(segmentation, [])
        corners = min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])
    assert mine["box"] == [single(v) for v in corners]
    assert mine["label"] == categories.index(same_id(theirs["category_id"], categories))
    assert mine["flags"] == (1 if theirs.get("iscrowd") else 0)
    assert ("mask" in mine) == bool(segmentation and segmentation != [[]])
    polygons = isinstance(segmentation, list) and all(isinstance(one, list) and one for one in segmentation)
    if coco and "mask" in mine and "width" in image and polygons:
        assert mine["mask"]["area"] == masks.area(coco.annToRLE({**theirs, "image_id": image["id"]}))


def check_coco(path, lines):
    head, *images = lines
    if "error" in head:
        return "refused"
    coco, categories, found = coco_oracle(path)
    state = "same"
    for (image, annotations), mine in zip(found, images, strict=True):
        assert mine["name"] == image["file_name"]
        if mine["problems"]:
            state = "refused"
            continue
        for one, theirs in zip(mine["objects"], annotations, strict=True):
            check_object(coco, categories, image, one, theirs)
    return state


# VOC

#: What the first line says, and how the bytes are made.
ENCODINGS = [("", "utf-8")] * 8 + [
    ("utf-8", "utf-8"), ("UTF-8", "utf-8-sig"), ("gb2312", "gb2312"), ("gbk", "gbk"), ("GB18030", "gb18030"), ("UTF-16", "utf-16"),
    ("", "gbk"), ("gb2312", "gb18030"), ("ascii", "utf-8"), ("utf-8", "latin-1"), ("windows-1252", "cp1252"), ("x-unknown", "utf-8"), ("utf-16", "utf-8")]


def random_voc(rng):
    def number(value):
        return rng.choice([str(value)] * 120 + [f"{value}.0", f" {value} ", f"{value}.5", f"{value}px", "", f"<!-- x -->{value}", "nan", f"+{value}", f"{value}e0"])

    def box():
        x, y = rng.choice([0, 1, 2, 5, 30, -1]) if rng.random() < 0.1 else rng.randint(1, 30), rng.randint(1, 20)
        values = {"xmin": x, "ymin": y, "xmax": x + rng.randint(1, 29), "ymax": y + rng.randint(1, 19)}
        text = "".join(f"<{name}>{number(value)}</{name}>" for name, value in rng.sample(list(values.items()), 4))
        return text + ("<xmin>9</xmin>" if rng.random() < 0.03 else "")

    objects = []
    for _ in range(rng.randint(0, 4)):
        name = rng.choice(CLASSES).replace("&", rng.choice(["&amp;", "&#38;", "<![CDATA[&]]>"]))
        part = "<part><name>head</name><bndbox><xmin>1</xmin></bndbox></part>" if rng.random() < 0.1 else ""
        one = f"<object><name>{name}</name>{part}<difficult>{rng.choice('01')}</difficult><bndbox>{box()}</bndbox></object>"
        objects.append(f"<list>{one}</list>" if rng.random() < 0.02 else one)
    size = f"<size><width>{number(SIZE[0])}</width><height>{SIZE[1]}</height></size>" if rng.random() < 0.95 else ""
    declared, codec = rng.choice(ENCODINGS)
    head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    text = f"{head}\n<annotation>{size}{''.join(objects)}</annotation>" + rng.choice([""] * 80 + ["<annotation/>", "x"])
    return text.encode(codec, "replace" if codec in ("latin-1", "cp1252", "gb2312", "gbk") else "strict"), declared, codec


def voc_oracle(data, declared, codec):
    """Label, box and flags of each object; ElementTree knows no encodings of several bytes, and gets them as text."""
    text = data.decode(declared or "utf-8")
    text = text.lstrip("\ufeff")
    root = ElementTree.fromstring(text[text.index("?>") + 2 :] if text.startswith("<?xml") else text)
    found = []
    for one in root.findall("object"):
        box = [float(one.findtext(f"bndbox/{name}").strip()) for name in ("xmin", "ymin", "xmax", "ymax")]
        found.append((CLASSES.index(one.findtext("name").strip()), box, 2 if one.findtext("difficult") == "1" else 0))
    assert len(found) == len(list(root.iter("object")))
    if not any(min(box[:2]) < 1 and min(box[:2]) >= 0 for _, box, _ in found):
        found = [(label, [x - 1, y - 1, right, bottom], flags) for label, (x, y, right, bottom), flags in found]
    return found


def comment_free(data):
    return b"<!--" not in data  # findtext() ends at a comment


def check_voc(case, line):
    if "error" in line or line["problems"]:
        return "refused"
    if comment_free(case[0]):
        expected = [(label, [single(v) for v in box], flags) for label, box, flags in voc_oracle(*case)]
        assert [(o["label"], o["box"], o["flags"]) for o in line["objects"]] == expected, (case, line)
    return "same"


# YOLO


def random_yolo(rng):
    def row():
        x, y = rng.uniform(0.2, 0.8), rng.uniform(0.2, 0.8)
        values = [f"{v:.6f}" for v in (x, y, rng.uniform(0.01, 0.3), rng.uniform(0.01, 0.3))]
        if rng.random() < 0.1:
            values = [f"{rng.random():.4f}" for _ in range(rng.choice([5, 6, 7, 8]))]
        if rng.random() < 0.05:
            values[rng.randrange(len(values))] = rng.choice(["nan", "1e-1", "0,5", "x", "-0.1", "+0.2", "0.5f"])
        first = rng.choice(["0", "1", "2", "3"] * 6 + ["1.0", "4", "-1", "cat", "0.5"])
        return rng.choice([" ", " ", " ", "\t", "  "]).join([first, *values])

    rows = [row() for _ in range(rng.randint(0, 5))]
    text = rng.choice(["\n", "\n", "\r\n"]).join(rows) + rng.choice(["", "\n", "\n\n", " \n"])
    return rng.choice(["", "", "", "\ufeff"]) + text


def yolo_oracle(text):
    found = []
    for line in text.lstrip("\ufeff").split("\n"):
        words = line.split()
        if not words:
            continue
        label, *v = map(float, words)
        assert label == int(label) and 0 <= label < len(CLASSES)
        w, h = SIZE
        if len(v) == 4:
            box = [(v[0] - v[2] / 2) * w, (v[1] - v[3] / 2) * h, (v[0] + v[2] / 2) * w, (v[1] + v[3] / 2) * h]
        else:
            assert len(v) >= 6 and len(v) % 2 == 0
            box = [min(v[::2]) * w, min(v[1::2]) * h, max(v[::2]) * w, max(v[1::2]) * h]
        found.append((int(label), box))
    return found


def check_yolo(text, line):
    if "error" in line or line["problems"]:
        return "refused"
    expected = yolo_oracle(text)
    assert [o["label"] for o in line["objects"]] == [label for label, _ in expected], (text, line)
    for o, (_, box) in zip(line["objects"], expected):
        assert max(abs(a - b) for a, b in zip(o["box"], box)) < 1e-4, (text, line)
    return "same"


def probe(*arguments):
    program = Path(os.environ["PACKHORSE_BIN"]) / "objects_probe"
    done = subprocess.run([program, "many", *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(count, seed, folder):
    """Checks `count` sets of each notation; returns how many were read and refused, by notation."""
    rng = random.Random(seed)
    counts = {notation: {"same": 0, "refused": 0} for notation in ("coco", "voc", "yolo")}
    at_once = 500
    for begin in range(0, count, at_once):
        n = min(at_once, count - begin)
        cocos, vocs, yolos = ([folder / f"{i}.{suffix}" for i in range(n)] for suffix in ("json", "xml", "txt"))
        voc_cases, yolo_cases = [random_voc(rng) for _ in range(n)], [random_yolo(rng) for _ in range(n)]
        for i in range(n):
            cocos[i].write_text(random_coco(rng))
            vocs[i].write_bytes(voc_cases[i][0])
            yolos[i].write_bytes(yolo_cases[i].encode())
        by_file, current = [], None
        for line in probe("coco", *cocos):
            if "classes" in line or "error" in line:
                current = []
                by_file.append(current)
            current.append(line)
        assert len(by_file) == n
        for path, lines in zip(cocos, by_file):
            counts["coco"][check_coco(path, lines)] += 1
        for case, line in zip(voc_cases, probe("voc", ",".join(CLASSES), *vocs), strict=True):
            counts["voc"][check_voc(case, line)] += 1
        for case, line in zip(yolo_cases, probe("yolo", *SIZE, len(CLASSES), 0, 3, *yolos), strict=True):
            counts["yolo"][check_yolo(case, line)] += 1
    return counts


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        counts = run(count, seed, Path(folder))
    for notation, states in counts.items():
        print(f"{notation}: {count:,} random sets, {states['same']:,} read the same, {states['refused']:,} refused, 0 silent differences")


if __name__ == "__main__":
    main()
