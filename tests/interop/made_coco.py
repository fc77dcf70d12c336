"""A COCO annotation file with what such files hold: ids with gaps, crowds, polygons of many kinds, images without objects, names
in folders and in other scripts; and what cannot be right in such files."""

import math
import random

import numpy
from pycocotools import mask as masks

NAMES = ["{:06d}.jpg", "{:06d}.jpg", "deep/er/{:06d}.jpg", "été/猫 {:06d}.jpg"]
KEYPOINTS = ["nose", "left_eye", "right_eye"]


def polygon(rng, width, height):
    """A polygon around some place: convex or folded, with decimals as COCO has them, in places on the image's edge."""
    corners = rng.choice([3, 4, 5, 8, 30])
    x, y = rng.uniform(0, width), rng.uniform(0, height)
    reach = rng.choice([2.5, 20, 200])
    points = []
    for i in range(corners):
        angle = 2 * math.pi * i / corners if rng.random() < 0.7 else rng.uniform(0, 2 * math.pi)
        r = reach * rng.uniform(0.2, 1)
        digits = rng.choice([0, 1, 2, 2, 2, 13])
        points.append(round(min(max(x + r * math.cos(angle), 0), width), digits))
        points.append(round(min(max(y + r * math.sin(angle), 0), height), digits))
    if rng.random() < 0.2:
        points += points[-2:]  # a corner twice
    return points


def crowd(rng, width, height):
    mask = numpy.zeros((height, width), numpy.uint8, order="F")
    for _ in range(rng.randint(1, 5)):
        x, y = rng.randrange(width), rng.randrange(height)
        mask[y : y + rng.randint(1, height), x : x + rng.randint(1, width)] = 1
    text = masks.encode(mask)["counts"].decode()
    if rng.random() < 0.5:
        return {"size": [height, width], "counts": text}
    runs, value = [0], 0
    for pixel in mask.flatten(order="F"):
        if pixel != value:
            runs.append(0)
            value = pixel
        runs[-1] += 1
    return {"size": [height, width], "counts": runs}


def annotation(rng, number, image, categories):
    width, height = image["width"], image["height"]
    if rng.random() < 0.05:
        shape, is_crowd = crowd(rng, width, height), 1
        x, y, w, h = masks.toBbox(masks.frPyObjects(shape, height, width) if isinstance(shape["counts"], list) else shape)
    else:
        shape = [polygon(rng, width, height) for _ in range(rng.choice([1, 1, 1, 2, 4]))]
        is_crowd = 0
        xs = [v for part in shape for v in part[::2]]
        ys = [v for part in shape for v in part[1::2]]
        x, y, w, h = min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
    result = {
        "id": number,
        "image_id": image["id"],
        "category_id": rng.choice(categories)["id"],
        "bbox": [float(v) for v in (x, y, w, h)],
        "segmentation": shape,
        "iscrowd": is_crowd,
        "area": round(rng.uniform(1, 1e5), 4),
    }
    if result["category_id"] == categories[0]["id"] and rng.random() < 0.5:
        result["keypoints"] = [
            v
            for _ in KEYPOINTS
            for v in rng.choice([(0, 0, 0), (rng.randrange(width), rng.randrange(height), 1), (width, height, 2)])
        ]
        result["num_keypoints"] = sum(v > 0 for v in result["keypoints"][2::3])
    return result


def make(images, seed=0, most_objects=12):
    """A file of `images` images, as a dictionary."""
    rng = random.Random(seed)
    categories = [
        {"id": number, "name": name, "supercategory": "thing"}
        for number, name in [(1, "person"), (3, "car"), (90, "tooth brush"), (17, "chat é"), (2, "bike")]
    ]
    categories[0]["keypoints"] = KEYPOINTS
    records = [
        {"id": 7 * i + 3, "file_name": NAMES[i % len(NAMES)].format(i), "width": rng.randint(30, 640), "height": rng.randint(30, 480)}
        for i in range(images)
    ]
    annotations = []
    for image in records:
        for _ in range(rng.choice([0, 1, 2, 5, most_objects])):
            made = annotation(rng, 1000 + len(annotations), image, categories)
            if min(made["bbox"][2:]) > 0:
                annotations.append(made)
    rng.shuffle(annotations)
    for number in range(0, len(annotations), 50):
        annotations[number]["attributes"] = {"occluded": True, "score": 0.1 + 0.2, "über": None}
    return {"info": {"year": 2026}, "licenses": [{"id": 4, "name": "MIT"}], "images": records, "annotations": annotations, "categories": categories}


def add_traps(content):
    """Adds images that cannot be packed, each with a box, and what is wrong with it. Returns their names with words of the reason."""
    box = [5, 5, 10, 10]
    wrong = [
        ({"bbox": [5, 5, 0, 10]}, {}, "no area"),
        ({"bbox": [5, 5, 10, -1]}, {}, "no area"),
        ({"bbox": [90, 5, 20, 10]}, {}, "is beyond the image"),
        ({"bbox": [float(10**6), 5, 20, 10]}, {}, "is beyond the image"),
        ({"bbox": box, "segmentation": [[5, 5, 15, 15]]}, {}, "a polygon of 2 points"),
        ({"bbox": box, "segmentation": {"size": [100, 80], "counts": [8000]}}, {}, "its mask is 80 x 100"),
        ({"bbox": box, "segmentation": {"size": [80, 100], "counts": [7, 7]}}, {}, "damaged run lengths"),
        ({"bbox": box, "category_id": 4}, {}, "no category has the id 4"),
        ({"bbox": box}, {"width": 101}, "its annotations are for an image of 101 x 80"),
        ({"bbox": box}, {"width": 80, "height": 100}, "they are for the turned picture"),
    ]
    reasons = {}
    for i, (annotation, image, reason) in enumerate(wrong):
        name = f"trap {i}.jpg"
        reasons[name] = reason
        content["images"].append({"id": 10**6 + i, "file_name": name, "width": 100, "height": 80, **image})
        content["annotations"].append({"id": 10**7 + i, "image_id": 10**6 + i, "category_id": 90, "iscrowd": 0, **annotation})
    return reasons
