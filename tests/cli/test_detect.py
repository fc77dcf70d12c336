"""packhorse-train finds objects: fit and eval --task detect on drawn boxes, crowds, empty images, and misused."""

import json

import numpy as np
import pytest
from PIL import Image
from python_support import DONE, SHAPES, TRAIN, USAGE, pack, train
from test_train_processes import results, start

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
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


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    """16 images, and the same to score, of which one has nothing in it and one crowds alone."""
    place = tmp_path_factory.mktemp("boxes")
    (place / "source/annotations").mkdir(parents=True)
    for split in ["train", "val"]:
        content = draw(place / f"source/{split}", 16, 1, empty=True, crowd_only=True)
        (place / f"source/annotations/instances_{split}.json").write_text(json.dumps(content))
    pack(place / "source", place / "wds", "--format", "wds", "--source-kind", "coco")
    return place / "wds"


def fit(data, out, *options):
    result = train("fit", "--data", data, "--out", out, "--json", *options)
    assert result.code == DONE, result
    return result.json


def together(data, out, *options):
    """fit() on two processes."""
    command = ["fit", "--data", data, "--out", out, "--json", *options]
    done = results(start(2, *map(str, command)))
    assert [result.code for result in done] == [DONE, DONE], done
    return done[0].json


def logged(out):
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [{name: row[name] for name in ["epoch", "train_loss", "ap", "ap50", "recall100"]} for row in rows]


def test_a_few_images_are_learnt_by_heart(packed, tmp_path):
    report = fit(packed, tmp_path / "run", *PLAIN, "--epochs", "90", "--optimizer", "adamw", "--lr", "0.002", "--ema-decay", "0.9")
    assert report["ap50"] > 0.99 and report["ap"] > 0.7
    scores = train("eval", "--checkpoint", tmp_path / "run/last.pt", "--data", packed, "--json").json
    assert scores["task"] == "detect" and scores["images"] == 16
    assert scores["ap"] == pytest.approx(report["ap"], abs=1e-9)
    found = {of["name"]: of for of in scores["classes"]}
    assert found["red"]["ap50"] > 0.99 and len(found["red"]["precision50"]) == 101
    assert found["green"]["objects"] == 0 and found["green"]["ap"] is None  # of which there is nothing to be found
    text = train("eval", "--checkpoint", tmp_path / "run/last.pt", "--data", packed)
    assert "AP50" in text.out and " red\n" in text.out
    # Two processes score it alike: each a share, of which the first has the rest.
    again = together(packed, tmp_path / "run", *PLAIN, "--resume")
    assert again["ap"] == pytest.approx(report["ap"], abs=1e-9)


def test_a_resumed_run_has_the_same_curve(packed, tmp_path):
    options = [*NANO, "--epochs", "4", "--augment", "affine", "--mosaic", "1", "--close-mosaic", "2", "--mixup", "8",
               "--multi-scale", "0.4", "--lr", "0.002"]  # fmt: skip
    fit(packed, tmp_path / "whole", *options)
    stopped = train("fit", "--data", packed, "--out", tmp_path / "parts", *options, "--max-steps", "5")
    assert stopped.code == DONE, stopped
    fit(packed, tmp_path / "parts", *options, "--resume")
    assert logged(tmp_path / "parts") == logged(tmp_path / "whole")
    assert (tmp_path / "whole/log.csv").read_text().startswith("epoch,step,lr,train_loss,ap,ap50,")


def test_two_processes_train(packed, tmp_path):
    done = together(packed, tmp_path / "run", *PLAIN, "--epochs", "2")
    assert done["steps"] == 4 and done["loss"] > 0


def test_weights_alone_are_scored(packed, tmp_path):
    fit(packed, tmp_path / "run", *PLAIN, "--epochs", "1")
    done = train("eval", "--weights", tmp_path / "run/last.pt", "--arch", "yolox-nano", "--image-size", SIDE, "--data",
                 packed, "--json")  # fmt: skip
    assert done.code == DONE and done.json["images"] == 16, done


def refused(*args):
    done = train("fit", *args, *QUICK)
    assert done.code == USAGE and done.out == "", done
    return done.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--arch", "resnet18"], "resnet18 is made for another task: classify"),
        (["--image-size", "100"], "multiple of 32"),
        (["--augment", "rrc"], "whole pictures"),
        (["--cutmix", "1"], "CutMix"),
        (["--cuda-graph"], "CUDA graph"),
    ],
)
def test_settings_that_do_not_suit_are_refused(options, says, packed):
    assert says in refused("--data", packed, "--task", "detect", *options)


def test_data_without_objects_are_refused(tmp_path):
    pack(SHAPES, tmp_path / "wds", "--format", "wds")
    for data in [tmp_path / "wds", SHAPES]:
        assert "says nothing of objects" in refused("--data", data, "--task", "detect")


def test_a_classifier_has_no_mosaic(packed):
    assert "--task detect" in refused("--data", packed, "--mosaic", "1")
