"""BCCD's photos of blood cells and their boxes, as a folder of each notation that the loaders read:

    images/NAME.jpg        the photos
    instances.json         COCO
    labels/NAME.txt        YOLO: the same boxes
    data.yaml              YOLO: the classes
"""

import dataclasses
import itertools
import json
import shutil

from common.data import MAKERS, made_once, measured, unpacked


def counts(folder):
    """Pictures and objects."""
    coco = json.loads((folder / "instances.json").read_text())
    return len(coco["images"]), len(coco["annotations"])


def cells(places, count):
    """`count` copies of BCCD's training photos."""
    source, target = unpacked(places, "bccd.tar.zst") / "bccd", places.data / f"cells-{count}"

    def make(root):
        coco = json.loads((source / "annotations/instances_train.json").read_text())
        boxes = {image["id"]: [] for image in coco["images"]}
        for one in coco["annotations"]:
            boxes[one["image_id"]].append(one)
        images, annotations = [], []
        (root / "images").mkdir()
        for i, image in zip(range(count), itertools.cycle(coco["images"])):
            name = f"{i:06}-{image['file_name']}"
            shutil.copyfile(source / "images/train" / image["file_name"], root / "images" / name)
            images.append(image | {"id": i + 1, "file_name": name})
            annotations += [one | {"image_id": i + 1} for one in boxes[image["id"]]]
        annotations = [one | {"id": i + 1} for i, one in enumerate(annotations)]
        made = coco | {"images": images, "annotations": annotations}
        (root / "instances.json").write_text(json.dumps(made))
        write_yolo(root, target, made)

    found = made_once(target, make)
    return dataclasses.replace(measured(found / "images"), path=found)


def write_yolo(root, target, coco):
    """`target`: where the folder will be when it is whole."""
    labels = {image["id"]: [] for image in coco["images"]}
    sizes = {image["id"]: (image["width"], image["height"]) for image in coco["images"]}
    place = {category["id"]: i for i, category in enumerate(coco["categories"])}
    for one in coco["annotations"]:
        (x, y, w, h), (width, height) = one["bbox"], sizes[one["image_id"]]
        numbers = ((x + w / 2) / width, (y + h / 2) / height, w / width, h / height)
        labels[one["image_id"]].append(f"{place[one['category_id']]} " + " ".join(f"{v:.6f}" for v in numbers))
    (root / "labels").mkdir()
    for image in coco["images"]:
        (root / "labels" / image["file_name"]).with_suffix(".txt").write_text("\n".join(labels[image["id"]]))
    names = "".join(f"  {i}: {category['name']}\n" for i, category in enumerate(coco["categories"]))
    (root / "data.yaml").write_text(f"path: {target}\ntrain: images\nval: images\nnames:\n{names}")


MAKERS["cells"] = cells
