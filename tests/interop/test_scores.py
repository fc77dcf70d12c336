"""DetectionScores beside pycocotools' COCOeval: the same detections, the same scores, to the last digits."""

import contextlib
import io
import json
import subprocess

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from python_support import BIN

CLASSES = 5


def box(draws, side=400):
    """On a grid of eighths, where overlaps of exactly 0.5 or 0.75 and equal scores happen."""
    x, y = draws.integers(0, side, 2) / 8
    w, h = draws.choice([8, 16, 31, 32, 33, 64, 96, 97, 200], 2)
    return [float(x), float(y), float(w), float(h)]


def shaken(draws, one):
    moved = np.array(one) + draws.choice([0, 0, 1, -1, 4, 8, -16], 4)
    return [*map(float, moved[:2]), *map(float, np.maximum(moved[2:], 1))]


def made(seed, images=40, empty_class=True):
    """Pictures with and without objects, crowds, classes that nobody detects or that are not there, many detections."""
    draws = np.random.default_rng(seed)
    found = []
    for _ in range(images):
        objects, detections = [], []
        for _ in range(draws.integers(0, 12) if draws.random() > 0.2 else 0):
            one = box(draws)
            label = int(draws.integers(0, CLASSES - empty_class))
            crowd = int(draws.random() < 0.15)
            share = draws.choice([1.0, 0.5, 0.9])  # the area of the outline, not of the box
            objects.append([label, *one, one[2] * one[3] * float(share), crowd])
            for _ in range(draws.integers(0, 4)):
                wrong = int(draws.integers(0, CLASSES)) if draws.random() < 0.2 else label
                detections.append([wrong, *shaken(draws, one), float(draws.choice([0.1, 0.3, 0.5, 0.5, 0.7, draws.random()]))])
        for _ in range(draws.integers(0, 6)):
            detections.append([int(draws.integers(0, CLASSES)), *box(draws), float(draws.choice([0.2, draws.random()]))])
        if draws.random() < 0.1:  # more than 100 of a class
            detections += [[0, *box(draws), float(draws.random())] for _ in range(130)]
        found.append({"objects": objects, "detections": detections})
    return found


def ours(images, parts=1):
    given = json.dumps({"classes": CLASSES, "parts": parts, "images": images})
    done = subprocess.run([BIN / "scores_probe"], input=given, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def theirs(images):
    annotations, results = [], []
    for number, image in enumerate(images, 1):
        for label, x, y, w, h, area, crowd in image["objects"]:
            annotations.append({"id": len(annotations) + 1, "image_id": number, "category_id": label + 1,
                                "bbox": [x, y, w, h], "area": area, "iscrowd": crowd})  # fmt: skip
        for label, x, y, w, h, score in image["detections"]:
            results.append({"image_id": number, "category_id": label + 1, "bbox": [x, y, w, h], "score": score})
    coco = COCO()
    coco.dataset = {
        "images": [{"id": number} for number in range(1, len(images) + 1)],
        "annotations": annotations,
        "categories": [{"id": label + 1} for label in range(CLASSES)],
        "info": {},
    }
    with contextlib.redirect_stdout(io.StringIO()):
        coco.createIndex()
        judge = COCOeval(coco, coco.loadRes(results) if results else COCO(), "bbox")
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return judge


def mean(values):
    values = values[values > -1]
    return values.mean() if values.size else -1.0


def assert_equal(images, parts=1):
    mine, judge = ours(images, parts), theirs(images)
    np.testing.assert_allclose(mine["stats"], judge.stats, rtol=0, atol=1e-12)
    precision, recall = judge.eval["precision"], judge.eval["recall"]  # [T, R, K, A, M], [T, K, A, M]
    for label, one in enumerate(mine["classes"]):
        assert one["ap"] == pytest.approx(mean(precision[:, :, label, 0, 2]), abs=1e-12)
        assert one["ap50"] == pytest.approx(mean(precision[0, :, label, 0, 2]), abs=1e-12)
        assert one["recall"] == pytest.approx(mean(recall[:, label, 0, 2]), abs=1e-12)
        assert one["objects"] == sum(o[0] == label and not o[6] for image in images for o in image["objects"])
        if one["objects"] > 0:
            np.testing.assert_allclose(one["precision50"], precision[0, :, label, 0, 2], rtol=0, atol=1e-12)
        else:
            assert one["precision50"] == []


@pytest.mark.parametrize("seed", range(4))
def test_made_detections_with_crowds_and_ties(seed):
    assert_equal(made(seed))


@pytest.mark.parametrize("parts", [2, 7])
def test_several_processes_say_what_one_says(parts):
    assert_equal(made(100), parts)
    assert ours(made(100), parts) == ours(made(100))


def test_perfect_detections_and_none():
    images = made(7)
    perfect = [
        {"objects": one["objects"], "detections": [[*o[:5], 0.5] for o in one["objects"] if not o[6]]} for one in images
    ]
    assert_equal(perfect)
    assert ours(perfect)["stats"][0] == pytest.approx(1.0, abs=1e-9)
    one = [{"objects": images[0]["objects"] or [[0, 1, 1, 50, 50, 2500, 0]], "detections": [[4, 0, 0, 1, 1, 0.1]]}]
    assert_equal(one)
    assert ours([{"objects": [], "detections": []}])["stats"] == [-1.0] * 12


def test_a_thing_found_twice_and_a_crowd_found_often():
    crowd = [[0, 0, 0, 200, 200, 40_000, 1]]
    inside = [[0, 10 * i, 10 * i, 20, 20, 0.9 - i / 100] for i in range(8)]
    thing = [[0, 300, 300, 40, 40, 1600, 0]]
    twice = [[0, 300, 300, 40, 40, 0.5], [0, 300, 300, 40, 40, 0.5]]
    assert_equal([{"objects": crowd + thing, "detections": inside + twice}])
    assert_equal([{"objects": thing + crowd, "detections": twice + inside}] * 3, parts=2)
