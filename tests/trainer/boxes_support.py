"""Made images of coloured boxes, with annotations, and settings to train on them."""

import json

import numpy as np
from PIL import Image
from python_support import pack

SIDE = 64
COLORS = {1: (220, 30, 30), 2: (30, 60, 220), 3: (30, 200, 60)}  # the third class is never drawn
CPU = ["--device", "cpu", "--workers", "1"]
QUICK = [*CPU, "--batch-size", "8"]
DETECT = ["--task", "detect", "--arch", "yolox-nano", "--image-size", SIDE]
NANO = [*QUICK, *DETECT]
PLAIN = [*NANO, "--augment", "none", "--mosaic", "0", "--multi-scale", "0"]


def draw(folder, count, *, copies=1, crowd_only=False, empty=False, outlines=False):
    """Images of one or two coloured boxes, as COCO; wide and high ones are fitted into the network's input."""
    folder.mkdir(parents=True)
    images, annotations = [], []
    for copy in range(copies):
        random = np.random.default_rng(1)
        for number in range(1, count + 1):
            width, height = [(SIDE, SIDE), (SIDE * 3 // 2, SIDE), (SIDE * 3 // 4, SIDE)][number % 3]
            pixels = np.full((height, width, 3), 120, np.uint8)
            image = copy * count + number
            for place in range(0 if empty and number == 1 else 1 + number % 2):
                category = int(random.integers(1, 3))
                w, h = (int(n) for n in random.integers(SIDE * 3 // 16, SIDE * 5 // 16, 2))
                x = place * width // 2 + int(random.integers(0, width // 2 - w))
                y = int(random.integers(0, height - h))
                pixels[y : y + h, x : x + w] = COLORS[category]
                annotations.append({"id": len(annotations) + 1, "image_id": image, "category_id": category,
                                    "bbox": [x, y, w, h], "area": w * h,
                                    "iscrowd": int(crowd_only and number == 2)})  # fmt: skip
                if outlines:
                    annotations[-1]["segmentation"] = [[x, y, x + w, y, x + w, y + h, x, y + h]]
            Image.fromarray(pixels).save(folder / f"{image:03}.png")
            images.append({"id": image, "file_name": f"{image:03}.png", "width": width, "height": height})
    categories = [{"id": n, "name": name} for n, name in enumerate(["red", "blue", "green"], 1)]
    return {"images": images, "annotations": annotations, "categories": categories}


def pack_drawn(place, **splits):
    """Draws the splits, each with draw()'s options, in place/source, and packs them to place/wds."""
    (place / "source/annotations").mkdir(parents=True)
    for split, options in splits.items():
        content = draw(place / "source" / split, **options)
        (place / f"source/annotations/instances_{split}.json").write_text(json.dumps(content))
    pack(place / "source", place / "wds", "--format", "wds", "--source-kind", "coco")
    return place / "wds"
