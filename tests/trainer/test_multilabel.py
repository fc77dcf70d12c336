"""packhorse-train --task multilabel: several classes a picture, or none, on stripes of colours."""

import csv
import json

import numpy as np
import pytest
from PIL import Image
from python_support import DONE, TRAIN, USAGE, pack, train
from test_train_processes import results, start

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
COLORS = {"red": (220, 30, 30), "green": (30, 200, 60), "blue": (30, 60, 220)}
RUN = ["--task", "multilabel", "--arch", "smallnet", "--device", "cpu", "--workers", "1", "--batch-size", "16",
       "--lr", "0.05"]  # fmt: skip


def write_table(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    """48 pictures to train on and 20 to score; each has any of the colours, and a fourth class is never there."""
    place = tmp_path_factory.mktemp("stripes")
    random = np.random.default_rng(2)
    options = []
    for split, count in [("train", 48), ("val", 20)]:
        (place / "source" / split).mkdir(parents=True)
        rows = [["file", *COLORS, "violet"]]
        for number in range(count):
            has = random.integers(0, 2, 3)
            pixels = np.full((32, 32, 3), 120, np.uint8)
            for place_of, (there, color) in enumerate(zip(has, COLORS.values(), strict=True)):
                if there:
                    pixels[:, 10 * place_of : 10 * place_of + 8] = color
            Image.fromarray(pixels).save(place / "source" / split / f"{number:02}.png")
            rows.append([f"{number:02}.png", *has, 0])
        write_table(place / f"{split}.csv", rows)
        options.append(f"--targets={split}=classes:{place}/{split}.csv:*")
    pack(place / "source", place / "wds", "--format", "wds", *options)
    return place / "wds"


def fit(data, out, *options):
    result = train("fit", "--data", data, "--out", out, "--json", *RUN, *options)
    assert result.code == DONE, result
    return result.json


def logged(out):
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [{name: row[name] for name in ["epoch", "train_loss", "map", "f1", "val_loss"]} for row in rows]


def test_colours_are_learnt_and_scored(packed, tmp_path):
    report = fit(packed, tmp_path / "run", "--epochs", "12")
    assert report["map"] > 0.95 and report["f1"] > 0.8
    scores = train("eval", "--checkpoint", tmp_path / "run/last.pt", "--data", packed, "--json").json
    assert (scores["task"], scores["images"]) == ("multilabel", 20)
    assert scores["map"] == pytest.approx(report["map"], abs=1e-9)
    assert "mAP" in train("eval", "--checkpoint", tmp_path / "run/last.pt", "--data", packed).out
    # Two processes score it alike.
    resumed = ["--out", tmp_path / "run", *RUN, "--epochs", "12", "--resume", "--json"]
    done = results(start(2, "fit", "--data", packed, *resumed))
    assert [result.code for result in done] == [DONE, DONE], done
    assert done[0].json["map"] == pytest.approx(report["map"], abs=1e-9)
    assert done[0].json["val_loss"] == pytest.approx(report["val_loss"], abs=1e-6)


@pytest.mark.thorough
def test_a_resumed_run_has_the_same_curve(packed, tmp_path):
    options = ["--epochs", "3", "--mixup", "0.3", "--cutmix", "1", "--label-smoothing", "0.1"]
    fit(packed, tmp_path / "whole", *options)
    fit(packed, tmp_path / "parts", *options, "--max-steps", "4")
    fit(packed, tmp_path / "parts", *options, "--resume")
    assert logged(tmp_path / "parts") == logged(tmp_path / "whole")


def test_data_with_one_class_a_picture_are_refused(packed_shapes):
    done = train("fit", "--data", packed_shapes("wds"), *RUN)
    assert done.code == USAGE and "--targets classes:FILE" in done.err


@pytest.mark.thorough
@pytest.mark.parametrize("most, code", [(0.9, DONE), (2.5, USAGE)])
def test_targets_lie_between_0_and_1(most, code, packed, tmp_path):
    """A table may have any numbers."""
    source = packed.parent / "source/train"
    rows = [["file", *COLORS], *([path.name, most, 0.25, 0] for path in sorted(source.iterdir()))]
    write_table(tmp_path / "scores.csv", rows)
    pack(source, tmp_path / "wds", "--format", "wds", f"--targets=classes:{tmp_path}/scores.csv:*")
    done = train("fit", "--data", tmp_path / "wds", "--out", tmp_path / "run", *RUN, "--epochs", "1")
    assert done.code == code and (code == DONE or "0 to 1" in done.err), done


@pytest.mark.thorough
def test_speed_is_measured(packed):
    done = train("sweep", "--data", packed, "--json", *RUN[:6], "--repeats", "1", "--steps", "1", "--workers", "1",
                 "--slots", "2")  # fmt: skip
    assert done.code == DONE, done
