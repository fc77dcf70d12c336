"""Made images of coloured boxes, with annotations, and settings to train on them."""

import numpy as np
from PIL import Image

SIDE = 96
COLORS = {1: (220, 30, 30), 2: (30, 60, 220), 3: (30, 200, 60)}  # the third class is never drawn
QUICK = ["--device", "cpu", "--workers", "1", "--batch-size", "8"]
NANO = [*QUICK, "--task", "detect", "--arch", "yolox-nano", "--image-size", SIDE]
PLAIN = [*NANO, "--augment", "none", "--mosaic", "0", "--multi-scale", "0"]


def draw(folder, count, seed, *, crowd_only=False, empty=False):
    """Images of one or two coloured boxes, as COCO; also wide and high ones, which are fitted into the network's input."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    images, annotations = [], []
    for number in range(1, count + 1):
        width, height = [(SIDE, SIDE), (144, 96), (72, 96)][number % 3]
        pixels = np.full((height, width, 3), 120, np.uint8)
        name = f"{number:03}.png"
        for place in range(0 if empty and number == 1 else 1 + number % 2):
            category = int(random.integers(1, 3))
            w, h = (int(n) for n in random.integers(18, 30, 2))
            x = place * width // 2 + int(random.integers(0, width // 2 - w))
            y = int(random.integers(0, height - h))
            pixels[y : y + h, x : x + w] = COLORS[category]
            annotations.append({"id": len(annotations) + 1, "image_id": number, "category_id": category, "area": w * h,
                                "bbox": [x, y, w, h], "iscrowd": int(crowd_only and number == 2)})  # fmt: skip
        Image.fromarray(pixels).save(folder / name)
        images.append({"id": number, "file_name": name, "width": width, "height": height})
    categories = [{"id": n, "name": name} for n, name in enumerate(["red", "blue", "green"], 1)]
    return {"images": images, "annotations": annotations, "categories": categories}
