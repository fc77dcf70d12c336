"""Small data sets in the layouts of COCO, YOLO, Pascal VOC and Hugging Face: images of 100 x 80 with a cat and a dog each,
or with what a test gives."""

import json

from PIL import Image

SIZE = (100, 80)
CLASSES = ["cat", "dog"]
#: Label and corners, in pixels.
BOXES = [(0, (10, 20, 30, 60)), (1, (50, 8, 90, 40))]


def image(path, colour=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", SIZE, (colour, 50, 90)).save(path)


def images(root, *paths):
    for i, path in enumerate(paths):
        image(root / path, i)


def text(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def coco_text(names, annotations=None, categories=CLASSES):
    """A file of COCO for these images."""
    made = []
    for i in range(len(names)):
        for label, (left, top, right, bottom) in BOXES:
            made.append({"image_id": i, "category_id": label + 1, "bbox": [left, top, right - left, bottom - top]})
    made = made if annotations is None else annotations
    return json.dumps({
        "images": [{"id": i, "file_name": name, "width": SIZE[0], "height": SIZE[1]} for i, name in enumerate(names)],
        "categories": [{"id": i + 1, "name": name} for i, name in enumerate(categories)],
        "annotations": [{"id": i, **one} for i, one in enumerate(made)],
    })


def yolo_text():
    lines = []
    for label, (left, top, right, bottom) in BOXES:
        x, y = (left + right) / 2 / SIZE[0], (top + bottom) / 2 / SIZE[1]
        lines.append(f"{label} {x} {y} {(right - left) / SIZE[0]} {(bottom - top) / SIZE[1]}\n")
    return "".join(lines)


def voc_object(name, left, top, right, bottom):
    corners = f"<xmin>{left + 1}</xmin><ymin>{top + 1}</ymin><xmax>{right}</xmax><ymax>{bottom}</ymax>"
    return f"<object><name>{name}</name><bndbox>{corners}</bndbox></object>"


def voc_text(content=None):
    content = content or "".join(voc_object(CLASSES[label], *corners) for label, corners in BOXES)
    return f"<annotation><size><width>{SIZE[0]}</width><height>{SIZE[1]}</height></size>{content}</annotation>"


def coco(root, splits=("train2017", "val2017"), images_in="", **more):
    """images_in: the folder around those of the splits."""
    for i, split in enumerate(splits):
        names = [f"{split}-{n}.jpg" for n in range(2)]
        for n, name in enumerate(names):
            image(root / images_in / split / name, 10 * i + n)
        text(root / f"annotations/instances_{split}.json", coco_text(names, **more))


def yolo(root, splits=("train", "val"), yaml=None, labels=None):
    """images/SPLIT, labels/SPLIT and data.yaml."""
    for i, split in enumerate(splits):
        for n in range(2):
            image(root / f"images/{split}/{split}-{n}.jpg", 10 * i + n)
            text(root / f"labels/{split}/{split}-{n}.txt", yolo_text() if labels is None else labels)
    places = "".join(f"{split}: images/{split}\n" for split in splits)
    text(root / "data.yaml", yaml or f"path: .\n{places}names: [cat, dog]\n")


def hf_row(name, objects=None, **more):
    columns = {
        "bbox": [[left, top, right - left, bottom - top] for _, (left, top, right, bottom) in BOXES],
        "categories": [CLASSES[label] for label, _ in BOXES],
    }
    return json.dumps({"file_name": name, "objects": columns if objects is None else objects, **more}) + "\n"


def hf(root, splits=("train", "validation"), **more):
    """A folder for each split, with its metadata.jsonl."""
    for i, split in enumerate(splits):
        names = [f"{split}-{n}.jpg" for n in range(2)]
        for n, name in enumerate(names):
            image(root / split / name, 10 * i + n)
        text(root / split / "metadata.jsonl", "".join(hf_row(name, **more) for name in names))


def voc(root, sets=("train", "val"), content=None):
    """Two images a set, and one in none."""
    for i, name in enumerate(sets):
        for n in range(2):
            image(root / f"JPEGImages/{name}-{n}.jpg", 10 * i + n)
            text(root / f"Annotations/{name}-{n}.xml", voc_text(content))
        text(root / f"ImageSets/Main/{name}.txt", f"{name}-0\n{name}-1\n")
        text(root / f"ImageSets/Main/cat_{name}.txt", f"{name}-0  1\n{name}-1 -1\n")
    image(root / "JPEGImages/other.jpg", 99)
    text(root / "Annotations/other.xml", voc_text(content))
