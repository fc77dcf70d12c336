"""packhorse-train finds objects: fit and eval --task detect on drawn boxes, crowds, empty images, and misused."""

import json
import os
import shutil
import tarfile

import numpy as np
import pytest
from boxes_support import NANO, PLAIN, QUICK, SIDE, draw
from PIL import Image
from python_support import DAMAGE, DONE, SHAPES, TRAIN, USAGE, pack, packhorse, train
from test_train_processes import results, start

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")


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


@pytest.fixture(scope="module", name="learnt")
def learnt_fixture(packed, tmp_path_factory):
    """A network that has seen these images until it knows them, and what fit said last."""
    run = tmp_path_factory.mktemp("learnt") / "run"
    report = fit(packed, run, *PLAIN, "--epochs", "110", "--optimizer", "adamw", "--lr", "0.004", "--weight-decay", "0",
                 "--ema-decay", "0.9")  # fmt: skip
    return run, report


def test_a_few_images_are_learnt_by_heart(packed, learnt):
    run, report = learnt
    assert report["ap50"] > 0.99 and report["ap"] > 0.7
    scores = train("eval", "--checkpoint", run / "last.pt", "--data", packed, "--json").json
    assert scores["task"] == "detect" and scores["images"] == 16
    assert scores["ap"] == pytest.approx(report["ap"], abs=1e-9)
    found = {of["name"]: of for of in scores["classes"]}
    assert found["red"]["ap50"] > 0.99 and len(found["red"]["precision50"]) == 101
    assert found["green"]["objects"] == 0 and found["green"]["ap"] is None  # of which there is nothing to be found
    few = train("eval", "--checkpoint", run / "last.pt", "--data", packed, "--json", "--batch-size", "3").json
    assert few["images"] == 16 and few["ap"] == pytest.approx(report["ap"], abs=1e-3)  # other sums
    text = train("eval", "--checkpoint", run / "last.pt", "--data", packed)
    assert "AP50" in text.out and " red\n" in text.out
    # Two processes score it alike: each a share, of which the first has the rest.
    again = together(packed, run, *PLAIN, "--resume")
    assert again["ap"] == pytest.approx(report["ap"], abs=1e-9)


def test_a_report_shows_curves_and_the_worst_pictures(packed, learnt, tmp_path):
    run, _ = learnt
    done = train("eval", "--checkpoint", run / "last.pt", "--data", packed, "--report", tmp_path / "good.html")
    assert done.code == DONE, done
    page = (tmp_path / "good.html").read_text()
    assert page.count("<polyline") == 2 and "green" in page  # no curve of what is never there
    assert "No picture has a mistake" in page or "data:image/jpeg" in page
    fit(packed, tmp_path / "new", *PLAIN, "--epochs", "1")  # knows nothing yet
    done = train("eval", "--checkpoint", tmp_path / "new/last.pt", "--data", packed, "--report", tmp_path / "bad.html")
    page = (tmp_path / "bad.html").read_text()
    assert done.code == DONE and page.count("data:image/jpeg") == 24  # of the 12 worst: what is there, what was found
    assert "2 missed" in page


def test_a_classifier_has_no_such_report(tmp_path):
    pack(SHAPES, tmp_path / "wds", "--format", "wds")
    fit(tmp_path / "wds", tmp_path / "run", *QUICK, "--arch", "smallnet", "--epochs", "1")
    done = train("eval", "--checkpoint", tmp_path / "run/last.pt", "--data", tmp_path / "wds", "--report", tmp_path / "r")
    assert done.code == USAGE and "leave out --report" in done.err and not (tmp_path / "r").exists()
    done = train("detect", SHAPES, "--checkpoint", tmp_path / "run/last.pt")
    assert done.code == USAGE and "classify" in done.err


def test_a_folder_with_annotations_is_read_as_it_is(packed, learnt, tmp_path):
    """The same scores from COCO's layout as from shards, and a comparison of both in speed."""
    run, report = learnt
    source = packed.parent / "source"
    scores = train("eval", "--checkpoint", run / "last.pt", "--data", source, "--json")
    assert scores.code == DONE, scores
    assert scores.json["images"] == 16 and scores.json["ap"] == pytest.approx(report["ap"], abs=1e-3)
    bench = packhorse("bench", source, "--targets", "--augment", "letterbox", "--size", str(SIDE), "--json", "--repeats", "1")
    assert bench.json["runs"][0]["objects"] > 0
    short = ["--repeats", "1", "--steps", "2", "--warmup-steps", "1", "--max-seconds", "0.1"]
    measured = train("measure", "--folder", source, "--packed", packed, *NANO, *short, "--json", "--save", tmp_path / "m.json")
    assert measured.code == DONE, measured
    assert [one["format"] for one in measured.json["inputs"]] == ["folder", "wds"]
    predicted = train("predict", tmp_path / "m.json", "--cpus", "64", "--devices", "4", "--device-rate", "100")
    assert predicted.code == DONE, predicted


def test_a_folder_whose_images_and_annotations_do_not_go_together_is_refused(packed, tmp_path):
    """Not trained on in silence with what is left."""
    shutil.copytree(packed.parent / "source", tmp_path / "source")
    shutil.copy(tmp_path / "source/train/001.png", tmp_path / "source/train/unknown.png")
    done = train("fit", "--data", tmp_path / "source", "--out", tmp_path / "run", *PLAIN)
    assert done.code == USAGE and "unknown.png" in done.err, done
    (tmp_path / "source/train/unknown.png").unlink()
    (tmp_path / "source/train/003.png").unlink()
    done = train("fit", "--data", tmp_path / "source", "--out", tmp_path / "run", *PLAIN)
    assert done.code == USAGE and "003.png" in done.err, done


def detect(*args):
    done = train("detect", *args, "--device", "cpu", "--workers", "1")
    assert done.code == DONE, done
    return done


def lines(done):
    return [json.loads(line) for line in done.out.splitlines()]


def by_number(found, packed=None):
    """By the images' ids: those that the dataset keeps, or those in the names of files."""
    if packed is None:
        return {int(one["image"].split("/")[-1].split(".")[0]): one for one in found}
    with tarfile.open(next((packed / "val").glob("*.tar"))) as tar:
        records = {name[:-5]: json.load(tar.extractfile(name)) for name in tar.getnames() if name.endswith(".json")}
    return {records[one["image"]]["image"]["id"]: one for one in found}


def test_objects_are_found_in_a_dataset(packed, learnt):
    run, _ = learnt
    found = lines(detect(packed, "--checkpoint", run / "last.pt", "--json"))
    assert [one["sample"] for one in found] == list(range(16))
    found = by_number(found, packed)
    assert found[1]["objects"] == []
    truth = json.loads((packed.parent / "source/annotations/instances_val.json").read_text())
    for image in truth["images"]:
        one = found[image["id"]]
        assert (one["width"], one["height"]) == (image["width"], image["height"])
        wanted = [a for a in truth["annotations"] if a["image_id"] == image["id"] and not a["iscrowd"]]
        if image["id"] == 2:
            continue  # crowds alone: anything may be found there, or nothing
        for annotation in wanted:
            x, y, w, h = annotation["bbox"]
            near = [o for o in one["objects"] if o["label"] == annotation["category_id"] - 1
                    and np.allclose(o["box"], [x, y, w, h], atol=6)]  # fmt: skip
            assert near and near[0]["score"] > 0.25 and near[0]["class"] in {"red", "blue"}


def test_folders_files_and_pictures(packed, learnt, tmp_path):
    """The same images as files: the same is found, drawn where it is, and told in words."""
    run, _ = learnt
    folder = packed.parent / "source/val"
    in_dataset = by_number(lines(detect(packed, "--checkpoint", run / "last.pt", "--json")), packed)
    in_folder = by_number(lines(detect(folder, "--checkpoint", run / "last.pt", "--json")))
    assert sorted(in_folder) == list(range(1, 17))
    for number, one in in_folder.items():
        for ours, theirs in zip(one["objects"], in_dataset[number]["objects"], strict=True):
            assert ours["box"] == pytest.approx(theirs["box"], abs=0.01)  # another batch, other sums
            assert (ours["label"], ours["score"]) == (theirs["label"], pytest.approx(theirs["score"], abs=1e-4))
    assert in_folder[5]["image"].endswith("val/005.png") and in_folder[5]["dataset"] == str(folder)
    files = [folder / "003.png", folder / "001.png"]
    done = detect(*files, "--checkpoint", run / "last.pt", "--pictures", tmp_path / "out")
    assert done.out.splitlines()[1] == f"{files[1]}: nothing" and "2 pictures" in done.err
    assert done.out.startswith(f"{files[0]}: ")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["000000_003.jpg", "000001_001.jpg"]
    drawn, plain = (np.asarray(Image.open(p).convert("RGB"), int) for p in [tmp_path / "out/000000_003.jpg", files[0]])
    assert drawn.shape == plain.shape
    changed = np.argwhere(np.abs(drawn - plain).max(2) > 60)
    for one in in_dataset[3]["objects"]:
        x, y, w, h = one["box"]
        for row, column in [(y, x + w / 2), (y + h, x + w / 2), (y + h / 2, x), (y + h / 2, x + w)]:  # the middles of its sides
            assert np.abs(changed - [row, column]).max(1).min() < 4, one
    middle = np.abs(changed - [y + h / 2, x + w / 2]).max(1).min()
    assert middle > 4  # and not all over the picture
    again = train("detect", files[0], "--checkpoint", run / "last.pt", "--pictures", tmp_path / "out")
    assert again.code == USAGE and "exists" in again.err
    again = train("detect", files[0], "--checkpoint", run / "last.pt", "--split", "val")
    assert again.code == USAGE and "no splits" in again.err


def test_coco_results_have_the_ap_of_eval(packed, learnt, tmp_path):
    """pycocotools reads them beside the annotations, whose ids they have, and computes what eval says."""
    coco = pytest.importorskip("pycocotools.coco")
    cocoeval = pytest.importorskip("pycocotools.cocoeval")
    run, _ = learnt
    annotations = packed.parent / "source/annotations/instances_val.json"
    scores = train("eval", "--checkpoint", run / "last.pt", "--data", packed, "--json").json
    rules = ["--checkpoint", run / "last.pt", "--min-score", "0.001"]
    for number, (inputs, options) in enumerate([(packed, []), (packed.parent / "source/val", []),
                                                (packed.parent / "source/val", ["--annotations", annotations])]):  # fmt: skip
        results = tmp_path / f"{number}.json"
        done = detect(inputs, *rules, "--coco", results, *options)
        assert ("as the dataset keeps them" in done.err) == (number == 0)
        assert ("numbers in their names" in done.err) == (number == 1)
        truth = coco.COCO(annotations)
        evaluation = cocoeval.COCOeval(truth, truth.loadRes(str(results)), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        for place, key in enumerate(["ap", "ap50", "ap75"]):
            assert evaluation.stats[place] == pytest.approx(scores[key], abs=1e-6)


def test_ids_that_do_not_fit_are_refused(packed, learnt, tmp_path):
    run, _ = learnt
    model = ["--checkpoint", run / "last.pt", "--device", "cpu", "--workers", "1"]
    folder = packed.parent / "source/val"
    done = train("detect", packed, folder, *model, "--coco", tmp_path / "r.json")
    assert done.code == USAGE and "mixed up" in done.err
    other = tmp_path / "other.json"
    content = json.loads((packed.parent / "source/annotations/instances_val.json").read_text())
    other.write_text(json.dumps(content | {"categories": content["categories"][:2], "annotations": []}))
    done = train("detect", folder, *model, "--coco", tmp_path / "r.json", "--annotations", other)
    assert done.code == USAGE and "no category 'green'" in done.err
    other.write_text(json.dumps(content | {"images": content["images"][:3], "annotations": []}))
    done = train("detect", folder, *model, "--coco", tmp_path / "r.json", "--annotations", other)
    assert done.code == USAGE and "004.png" in done.err
    assert not (tmp_path / "r.json").exists()


def test_weights_find_objects_with_names(packed, learnt, tmp_path):
    run, _ = learnt
    (tmp_path / "names").write_text("red\nblue\ngreen\n")
    weights = ["--weights", run / "last.pt", "--arch", "yolox-nano", "--image-size", SIDE]
    found = lines(detect(packed, *weights, "--classes", tmp_path / "names", "--json"))
    assert len(found) == 16
    done = train("detect", packed, *weights)
    assert done.code == USAGE and "--classes" in done.err
    (tmp_path / "turned").write_text("green\nblue\nred\n")
    done = train("detect", packed, *weights, "--classes", tmp_path / "turned")
    assert done.code == USAGE and "label 0 is 'red' in the model, but 'green' here" in done.err and "--checkpoint" in done.err


def as_yolox_authors(weights):
    """The same network for BGR from 0 to 255. YOLOX's first layer takes four pixels at once, each with its channels."""
    torch = pytest.importorskip("torch")
    stem = "backbone.backbone.stem.conv"
    mean, deviation = (255 * torch.tensor(x).view(1, 1, 3, 1, 1) for x in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    kernel = weights[f"{stem}.conv.weight"].unflatten(1, (4, 3)) / deviation
    shift = (kernel * mean).sum((1, 2, 3, 4))
    return weights | {f"{stem}.conv.weight": kernel.flip(2).flatten(1, 2), f"{stem}.bn.running_mean": weights[f"{stem}.bn.running_mean"] + shift}


def test_weights_for_bytes_in_another_order(packed, learnt, tmp_path):
    torch = pytest.importorskip("torch")
    run, _ = learnt
    torch.save({"model": as_yolox_authors(torch.load(run / "last.pt", weights_only=True)["model"])}, tmp_path / "w.pth")
    about = ["--arch", "yolox-nano", "--image-size", SIDE, "--data", packed, "--json"]
    given = [[run / "last.pt"], [tmp_path / "w.pth", "--bgr-weights"], [tmp_path / "w.pth"]]
    ours, converted, taken_as_ours = (train("eval", "--weights", *one, *about).json["ap"] for one in given)
    assert converted == pytest.approx(ours, abs=1e-3) and taken_as_ours < 0.5 < ours
    done = train("eval", "--checkpoint", run / "last.pt", "--data", packed, "--bgr-weights")
    assert done.code == USAGE and "--weights" in done.err, done
    begin_with = ["--init-from", tmp_path / "w.pth", "--bgr-weights"]
    assert fit(packed, tmp_path / "run", *PLAIN, "--epochs", "1", "--lr", "1e-9", *begin_with)["ap50"] > 0.9


def test_what_is_no_picture_is_named(learnt, tmp_path):
    run, _ = learnt
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 and nothing more")
    for path, says in [("broken.jpg", "broken.jpg"), ("missing.jpg", "does not exist"),
                       ("empty", "no images in the folder")]:  # fmt: skip
        done = train("detect", tmp_path / path, "--checkpoint", run / "last.pt", "--device", "cpu")
        assert done.code != DONE and says in done.err, done


def test_damaged_pictures_are_named_and_left_out(packed, learnt, tmp_path):
    """Where --max-bad allows for them; the others are told as if they were alone."""
    run, _ = learnt
    good = [packed.parent / "source/val" / f"{number:03}.png" for number in [3, 4, 5]]
    bad = tmp_path / "cut.png"
    bad.write_bytes(good[0].read_bytes()[:-200])
    model = ["--checkpoint", run / "last.pt", "--json", "--device", "cpu", "--workers", "1"]
    files = [good[0], bad, *good[1:]]
    done = train("detect", *files, *model)
    assert done.code == DAMAGE and "cut.png" in done.err, done
    done = train("detect", *files, *model, "--max-bad", "1", "--batch-size", "3")
    assert done.code == DONE and "note: left out: " in done.err and "cut.png" in done.err, done
    assert "3 pictures; 1 damaged picture left out" in done.err
    assert [one["sample"] for one in lines(done)] == [0, 2, 3]
    for ours, alone in zip(lines(done), lines(train("detect", *good, *model)), strict=True):
        assert len(ours["objects"]) == len(alone["objects"]) > 0
        assert all(a["box"] == pytest.approx(b["box"], abs=0.01) for a, b in zip(ours["objects"], alone["objects"], strict=True))
    done = train("detect", bad, *model, "--max-bad", "1", "--coco", tmp_path / "none.json")
    assert (done.code, done.out) == (DONE, "") and "0 pictures; 1 damaged picture left out" in done.err, done
    assert json.loads((tmp_path / "none.json").read_text()) == []
    done = train("detect", *files, bad, *model, "--max-bad", "1")
    assert done.code == DAMAGE and "too many bad samples" in done.err, done
    done = train("detect", good[0], tmp_path / "missing.png", *model, "--max-bad", "9")
    assert done.code != DONE and "missing.png" in done.err, done


def test_every_place_may_be_told_and_lies_in_its_picture(packed, learnt):
    run, _ = learnt
    rules = ["--checkpoint", run / "last.pt", "--min-score", "0", "--max-overlap", "1", "--json"]
    places = sum((SIDE // stride) ** 2 for stride in [8, 16, 32])
    found = lines(detect(packed, *rules, "--most", "100000"))
    counts = [len(one["objects"]) for one in found]
    assert places / 2 < max(counts) <= places
    for one in found:
        for x, y, w, h in (told["box"] for told in one["objects"]):
            assert w > 0 and h > 0 and x >= 0 and y >= 0
            assert x + w <= one["width"] + 1e-3 and y + h <= one["height"] + 1e-3
    few = [len(one["objects"]) for one in lines(detect(packed, *rules, "--most", "30"))]
    assert few == [30] * 16  # those in the border around a picture take nobody's place


def test_names_that_are_no_utf8_are_told(packed, learnt, tmp_path):
    run, _ = learnt
    name = os.fsencode(tmp_path) + b"/caf\xe9.png"
    with open(name, "wb") as file:
        file.write((packed.parent / "source/val/003.png").read_bytes())
    found = lines(detect(os.fsdecode(name), "--checkpoint", run / "last.pt", "--json"))
    assert found[0]["image"].endswith("caf\\xe9.png") and found[0]["objects"]
    (tmp_path / "names").write_bytes(b"r\xe9d\nblue\ngreen\n")
    weights = ["--weights", run / "last.pt", "--arch", "yolox-nano", "--image-size", SIDE, "--classes", tmp_path / "names"]
    found = lines(detect(packed, *weights, "--json"))
    assert {told["class"] for one in found for told in one["objects"]} == {"r\\xe9d", "blue"}


def test_the_folder_of_pictures_is_made_last(packed, learnt, tmp_path):
    run, _ = learnt
    done = train("detect", packed, packed, "--checkpoint", run / "last.pt", "--coco", tmp_path / "r.json", "--pictures",
                 tmp_path / "out")  # fmt: skip
    assert done.code == USAGE and not (tmp_path / "out").exists(), done


def test_a_resumed_run_has_the_same_curve(packed, tmp_path):
    options = [*NANO, "--epochs", "4", "--augment", "affine", "--mosaic", "1", "--close-mosaic", "2", "--mixup", "8",
               "--multi-scale", "0.4", "--lr", "0.002"]  # fmt: skip
    fit(packed, tmp_path / "whole", *options)
    stopped = train("fit", "--data", packed, "--out", tmp_path / "parts", *options, "--max-steps", "5")
    assert stopped.code == DONE, stopped
    fit(packed, tmp_path / "parts", *options, "--resume")
    assert logged(tmp_path / "parts") == logged(tmp_path / "whole")
    assert (tmp_path / "whole/log.csv").read_text().startswith("epoch,step,lr,train_loss,ap,ap50,")


def test_objects_are_copied_and_pasted(packed, tmp_path):
    """Where there are outlines of them."""
    (tmp_path / "source/annotations").mkdir(parents=True)
    content = draw(tmp_path / "source/train", 8, 1)
    for one in content["annotations"]:
        x, y, w, h = one["bbox"]
        one["segmentation"] = [[x, y, x + w, y, x + w, y + h, x, y + h]]
    (tmp_path / "source/annotations/instances_train.json").write_text(json.dumps(content))
    pack(tmp_path / "source", tmp_path / "wds", "--format", "wds", "--source-kind", "coco")
    done = fit(tmp_path / "wds", tmp_path / "run", *NANO, "--epochs", "1", "--copy-paste", "1")
    assert done["steps"] == 1 and done["loss"] > 0


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
        (["--min-scale", "0.5"], "only the augmentation rrc"),
        (["--copy-paste", "0.5"], "no object to copy: none of 16 samples"),
        (["--arch", "fcos-resnet50", "--close-mosaic", "1"], "use --close-mosaic 0"),
    ],
)
def test_settings_that_do_not_suit_are_refused(options, says, packed):
    assert says in refused("--data", packed, "--task", "detect", *options)


def test_data_without_objects_are_refused(tmp_path):
    pack(SHAPES, tmp_path / "wds", "--format", "wds")
    for data in [tmp_path / "wds", SHAPES]:
        assert "says nothing of objects" in refused("--data", data, "--task", "detect")


@pytest.mark.parametrize("option", ["--mosaic", "--copy-paste", "--close-mosaic"])
def test_a_classifier_has_no_mosaic(option, packed):
    assert "--task detect" in refused("--data", packed, option, "1")
