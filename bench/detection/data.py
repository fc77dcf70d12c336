"""Photos with objects, as a folder of each notation that the loaders read:

    images/NAME.jpg        the photos
    instances.json         COCO: boxes, and polygons in what is made
    labels/NAME.txt        YOLO: the same boxes
    data.yaml              YOLO: the classes
"""

import json
import math
import random
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

CLASSES = 80  # as COCO has
OBJECTS = 7.3  # an image has, in COCO's training images on average


@dataclass(frozen=True)
class Photos:
    """A folder as above."""

    title: str
    folder: Path
    pictures: int
    objects: int

    @property
    def images(self):
        return self.folder / "images"

    @property
    def coco(self):
        return self.folder / "instances.json"


def unpacked(archive, to):
    to.mkdir(parents=True)
    subprocess.run(["tar", "-xf", archive, "-C", to], check=True)
    return to


def polygon(rng, box):
    """A polygon of 8 to 40 corners around the middle of the box, which it touches at all sides."""
    x, y, w, h = box
    corners = rng.randint(8, 40)
    ring = [(a, rng.uniform(0.6, 1)) for a in (2 * math.pi * i / corners for i in range(corners))]
    points = [(r * math.cos(a), r * math.sin(a)) for a, r in ring]
    columns, rows = zip(*points)
    left, top, wide, high = min(columns), min(rows), max(columns) - min(columns), max(rows) - min(rows)
    return [round(v, 2) for px, py in points for v in (x + (px - left) / wide * w, y + (py - top) / high * h)]


def made_box(rng, width, height):
    """Sides as COCO's: most of them small, few as large as the picture."""
    w, h = (max(4.0, side * min(1, rng.lognormvariate(-1.8, 1))) for side in (width, height))
    x, y = rng.uniform(0, width - w), rng.uniform(0, height - h)
    return [round(v, 2) for v in (x, y, w, h)]


def annotations_of(rng, image):
    """None in a hundredth of the images, otherwise OBJECTS on average."""
    number = 0 if rng.random() < 0.01 else max(1, round(rng.expovariate(1 / OBJECTS)))
    for _ in range(number):
        box = made_box(rng, image["width"], image["height"])
        yield {
            "image_id": image["id"],
            "category_id": rng.randint(1, CLASSES),
            "bbox": box,
            "area": round(box[2] * box[3] * 0.7, 2),
            "segmentation": [polygon(rng, box)],
            "iscrowd": 0,
        }


def imagenet(archive, work, copies):
    """Copies of the 200 photos, with objects that are made: the same ones each time."""
    found = unpacked(archive, work / "once")
    (work / "photos/images").mkdir(parents=True)
    rng, images, annotations = random.Random(26), [], []
    for copy in range(copies):
        for path in sorted(path for path in found.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg")):
            name = f"{copy:03}-{path.stem}.jpg"
            shutil.copy(path, work / "photos/images" / name)
            with Image.open(path) as picture:
                width, height = picture.size
            images.append({"id": len(images) + 1, "file_name": name, "width": width, "height": height})
            annotations += annotations_of(rng, images[-1])
    categories = [{"id": i + 1, "name": f"class{i}"} for i in range(CLASSES)]
    return written("ImageNet photos with made objects", work / "photos", images, annotations, categories)


def bccd(archive, work, copies):
    """Copies of BCCD's training photos, with its own boxes."""
    source = unpacked(archive, work / "bccd-once") / "bccd"
    told = json.loads((source / "annotations/instances_train.json").read_text())
    (work / "bccd/images").mkdir(parents=True)
    images, annotations = [], []
    for copy in range(copies):
        number = {}
        for image in told["images"]:
            name = f"{copy:03}-{image['file_name']}"
            shutil.copy(source / "images/train" / image["file_name"], work / "bccd/images" / name)
            number[image["id"]] = len(images) + 1
            images.append(image | {"id": len(images) + 1, "file_name": name})
        annotations += [one | {"image_id": number[one["image_id"]]} for one in told["annotations"]]
    return written("BCCD photos of blood cells", work / "bccd", images, annotations, told["categories"])


def written(title, folder, images, annotations, categories):
    annotations = [one | {"id": i + 1} for i, one in enumerate(annotations)]
    told = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "instances.json").write_text(json.dumps(told))
    labels = {image["id"]: [] for image in images}
    sizes = {image["id"]: (image["width"], image["height"]) for image in images}
    place = {category["id"]: i for i, category in enumerate(categories)}
    for one in annotations:
        (x, y, w, h), (width, height) = one["bbox"], sizes[one["image_id"]]
        numbers = ((x + w / 2) / width, (y + h / 2) / height, w / width, h / height)
        labels[one["image_id"]].append(f"{place[one['category_id']]} " + " ".join(f"{v:.6f}" for v in numbers))
    (folder / "labels").mkdir()
    for image in images:
        text = "\n".join(labels[image["id"]])
        (folder / "labels" / image["file_name"]).with_suffix(".txt").write_text(text)
    names = "".join(f"  {i}: {category['name']}\n" for i, category in enumerate(categories))
    (folder / "data.yaml").write_text(f"path: {folder}\ntrain: images\nval: images\nnames:\n{names}")
    return Photos(title, folder, len(images), len(annotations))
