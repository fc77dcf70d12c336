"""Masks and outlines that a small file can hold, and that take more work than their picture: refused by name, in packing
and, where they came into a dataset otherwise, in reading."""

import json
import resource
import subprocess

import numpy as np
import pytest
from package import packhorse
from PIL import Image
from hostile.images import png, texts
from python_support import DONE, PACKHORSE, run

SIDE = 3000
WHOLE = [[0, 0, SIDE, 0, SIDE, SIDE, 0, SIDE]]
RUNS = {"size": [SIDE, SIDE], "counts": [0, SIDE * SIDE]}
ZIGZAG = [value for i in range(6000) for value in (0 if i % 2 else SIDE, SIDE * i / 6000)]


def write(folder, segmentations):
    (folder / "images").mkdir(parents=True)
    Image.new("L", (SIDE, SIDE)).save(folder / "images/1.png")
    common = {"image_id": 1, "category_id": 1, "bbox": [0, 0, SIDE, SIDE], "area": 4}
    annotations = [
        {"id": i, "segmentation": one, "iscrowd": int(isinstance(one, dict)), **common} for i, one in enumerate(segmentations)
    ]
    image = {"id": 1, "file_name": "1.png", "width": SIDE, "height": SIDE}
    content = {"images": [image], "categories": [{"id": 1, "name": "x"}], "annotations": annotations}
    (folder / "objects.json").write_text(json.dumps(content))
    return ["pack", folder / "images", folder / "packed", "--format", "wds", "--unlabelled", "--targets", f"coco:{folder}/objects.json"]


@pytest.mark.parametrize(
    ("segmentations", "said"),
    [
        ([RUNS] * 1100, "cover the image more than 1,024 times"),
        ([WHOLE] * 1100, "1,024 times"),
        ([WHOLE * 1100], "1,024 times"),
        ([[ZIGZAG]], "longer than 1,024 times the sides of the image"),
    ],
    ids=["runs", "polygons", "polygons of one object", "an outline"],
)
def test_too_much_is_refused(tmp_path, segmentations, said):
    result = run(*write(tmp_path, segmentations))
    assert result.code != DONE and said in result.err, result


def test_what_is_within_the_bounds_is_read_right(tmp_path):
    """A thousand masks of a whole picture, without memory for the pixels of each."""
    result = run(*write(tmp_path, [RUNS] * 500 + [WHOLE] * 500))
    assert result.code == DONE, result
    loader = packhorse.Loader(tmp_path / "packed", 1, augment=packhorse.DetectionAugment(16), targets=True)
    (batch,) = loader
    assert len(batch.targets.labels) == 1000
    drawn = np.asarray(batch.targets.draw_masks(0, 1000))
    assert drawn.shape == (1000, 16, 16) and drawn.all()


def test_texts_in_a_mask_take_no_memory(tmp_path):
    (tmp_path / "source/a").mkdir(parents=True)
    Image.new("RGB", (64, 48)).save(tmp_path / "source/a/1.jpg")
    (tmp_path / "source/a/1.seg.png").write_bytes(png(64, 48, 8, 0, before=texts(990)))
    command = [PACKHORSE, "pack", tmp_path / "source", tmp_path / "packed", "--format", "wds", "--classes-at", "1"]
    options = ["--fields", "seg.png", "--targets", "mask:seg.png"]

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    done = subprocess.run([*command, *options], capture_output=True, text=True, preexec_fn=limited, check=False)
    assert done.returncode == DONE, done
    dataset = packhorse.Dataset(tmp_path / "packed", image="numpy", targets=True)
    assert dataset[0][1]["semantic_mask"].shape == (48, 64)


def test_many_polygons_of_one_object_are_merged(tmp_path):
    """As pycocotools merges them."""
    mask = pytest.importorskip("pycocotools.mask")
    rng = np.random.default_rng(7)
    polygons = []
    for _ in range(300):
        x, y = rng.uniform(0, SIDE - 40, 2)
        polygons.append(np.round([x, y, x + rng.uniform(5, 40), y, x + 20, y + rng.uniform(5, 40)], 2).tolist())
    assert run(*write(tmp_path, [polygons])).code == DONE
    dataset = packhorse.Dataset(tmp_path / "packed", image="numpy", targets=True, masks=True)
    drawn = np.asarray(dataset[0][1]["masks"])[0]
    expected = mask.decode(mask.merge(mask.frPyObjects(polygons, SIDE, SIDE)))
    np.testing.assert_array_equal(drawn, expected)
