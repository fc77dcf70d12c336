"""packhorse-train finds objects: fit and eval --task detect on drawn boxes, crowds, empty images, and misused."""

import json
import os
import shutil
import tarfile

import numpy as np
import pytest
from boxes_support import CPU, DETECT, NANO, PLAIN, QUICK, SIDE, pack_drawn
from PIL import Image
from python_support import DAMAGE, DONE, SHAPES, TRAIN, USAGE, packhorse, train
from test_train_processes import results, start

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
DRAWN = {"count": 8, "empty": True, "crowd_only": True}  # image 1 has nothing in it, image 2 crowds alone


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    """8 images, and the same to score."""
    return pack_drawn(tmp_path_factory.mktemp("boxes"), train=DRAWN, val=DRAWN)


@pytest.fixture(scope="module", name="many")
def many_fixture(tmp_path_factory):
    """Each of those images 16 times."""
    return pack_drawn(tmp_path_factory.mktemp("many"), train=DRAWN | {"copies": 16})


def fit(data, out, *options):
    result = train("fit", "--data", data, "--out", out, "--json", *options)
    assert result.code == DONE, result
    return result.json


def together(data, out, *options):
    """fit() on two processes."""
    done = results(start(2, "fit", "--data", data, "--out", out, "--json", *options))
    assert [result.code for result in done] == [DONE, DONE], done
    return done[0].json


def logged(out):
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [{name: row[name] for name in ["epoch", "train_loss", "ap", "ap50", "recall100"]} for row in rows]


@pytest.fixture(scope="module", name="learnt")
def learnt_fixture(packed, many, tmp_path_factory):
    """A checkpoint of a network that has seen these images until it knows them, and what fit said last."""
    run = tmp_path_factory.mktemp("learnt") / "run"
    report = fit(many, run, "--val", packed / "val", *PLAIN, "--epochs", "16", "--optimizer", "adamw", "--lr", "0.01",
                 "--weight-decay", "0", "--ema-decay", "0.95")  # fmt: skip
    return run / "last.pt", report


@pytest.fixture(scope="module", name="scores")
def scores_fixture(packed, learnt):
    return train("eval", "--checkpoint", learnt[0], "--data", packed, "--json").json


def test_a_few_images_are_learnt_by_heart(packed, learnt, scores):
    _, report = learnt
    assert report["ap50"] > 0.9 and report["ap"] > 0.5
    assert scores["task"] == "detect" and scores["images"] == 8
    assert scores["ap"] == pytest.approx(report["ap"], abs=1e-9)
    found = {of["name"]: of for of in scores["classes"]}
    assert found["red"]["ap50"] > 0.9 and len(found["red"]["precision50"]) == 101
    assert found["green"]["objects"] == 0 and found["green"]["ap"] is None  # of which there is nothing to be found
    few = train("eval", "--checkpoint", learnt[0], "--data", packed, "--json", "--batch-size", "3").json
    assert few["images"] == 8 and few["ap"] == pytest.approx(report["ap"], abs=1e-3)  # other sums


@pytest.mark.thorough
def test_two_processes_score_alike(packed, many, learnt, tmp_path):
    """Each a share, of which the first has the rest."""
    shutil.copytree(learnt[0].parent, tmp_path / "run")
    again = together(many, tmp_path / "run", "--val", packed / "val", *PLAIN, "--resume")
    assert again["ap"] == pytest.approx(learnt[1]["ap"], abs=1e-9)


def test_a_report_shows_the_curves_of_what_is_there(packed, learnt, tmp_path):
    done = train("eval", "--checkpoint", learnt[0], "--data", packed, "--report", tmp_path / "report.html")
    assert done.code == DONE and "AP50" in done.out and " red\n" in done.out, done
    page = (tmp_path / "report.html").read_text()
    assert page.count("<polyline") == 2 and "green" in page
    assert "No picture has a mistake" in page or "data:image/jpeg" in page


@pytest.mark.thorough
def test_a_report_shows_the_worst_pictures(packed, many, tmp_path):
    fit(packed, tmp_path / "untaught", *PLAIN, "--max-steps", "1")
    report = tmp_path / "report.html"
    done = train("eval", "--checkpoint", tmp_path / "untaught/last.pt", "--data", many / "train", "--report", report)
    page = report.read_text()
    assert done.code == DONE and page.count("data:image/jpeg") == 24  # of the 12 worst: what is there, what was found
    assert "2 missed" in page


@pytest.mark.thorough
def test_a_classifier_finds_no_objects(packed_shapes, tmp_path):
    data = packed_shapes("wds")
    fit(data, tmp_path / "run", *QUICK, "--arch", "smallnet", "--max-steps", "1")
    done = train("eval", "--checkpoint", tmp_path / "run/last.pt", "--data", data, "--report", tmp_path / "r")
    assert done.code == USAGE and "--report" in done.err and not (tmp_path / "r").exists()
    done = train("detect", SHAPES, "--checkpoint", tmp_path / "run/last.pt")
    assert done.code == USAGE and "classify" in done.err


def test_a_folder_with_annotations_is_scored_as_its_shards(packed, learnt):
    scores = train("eval", "--checkpoint", learnt[0], "--data", packed.parent / "source", "--json")
    assert scores.code == DONE, scores
    assert scores.json["images"] == 8 and scores.json["ap"] == pytest.approx(learnt[1]["ap"], abs=1e-3)


@pytest.mark.thorough
def test_a_folder_with_annotations_is_compared_with_its_shards_in_speed(packed, tmp_path):
    source = packed.parent / "source"
    bench = packhorse("bench", source, "--targets", "--augment", "letterbox", "--size", str(SIDE), "--json",
                      "--repeats", "1", "--min-seconds", "0.1")  # fmt: skip
    assert bench.json["runs"][0]["objects"] > 0
    short = ["--repeats", "1", "--steps", "1", "--warmup-steps", "1", "--max-seconds", "0.1"]
    saved = tmp_path / "measured.json"
    measured = train("measure", "--folder", source, "--packed", packed, *NANO, *short, "--json", "--save", saved)
    assert measured.code == DONE, measured
    assert [one["format"] for one in measured.json["inputs"]] == ["folder", "wds"]
    predicted = train("predict", saved, "--cpus", "64", "--devices", "4", "--device-rate", "100")
    assert predicted.code == DONE, predicted


@pytest.mark.thorough
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
    done = train("detect", *args, *CPU)
    assert done.code == DONE, done
    return done


def lines(done):
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture(scope="module", name="found")
def found_fixture(packed, learnt):
    """What is found in the dataset, by the images' ids, which it keeps."""
    found = lines(detect(packed, "--checkpoint", learnt[0], "--json"))
    assert [one["sample"] for one in found] == list(range(8))
    with tarfile.open(next((packed / "val").glob("*.tar"))) as tar:
        records = {name[:-5]: json.load(tar.extractfile(name)) for name in tar.getnames() if name.endswith(".json")}
    return {records[one["image"]]["image"]["id"]: one for one in found}


def annotations_of(packed):
    return packed.parent / "source/annotations/instances_val.json"


def test_objects_are_found_in_a_dataset(packed, found):
    assert found[1]["objects"] == []
    truth = json.loads(annotations_of(packed).read_text())
    for image in truth["images"]:
        one = found[image["id"]]
        assert (one["width"], one["height"]) == (image["width"], image["height"])
        for annotation in truth["annotations"]:
            if annotation["image_id"] != image["id"] or annotation["iscrowd"]:
                continue  # of crowds, anything may be found, or nothing
            near = [o for o in one["objects"] if o["label"] == annotation["category_id"] - 1
                    and np.allclose(o["box"], annotation["bbox"], atol=5)]  # fmt: skip
            assert near and near[0]["score"] > 0.25 and near[0]["class"] in {"red", "blue"}


def test_files_are_found_and_drawn_as_the_dataset(packed, learnt, found, tmp_path):
    """The same images as files: the same is found, drawn where it is, and told in words."""
    folder = packed.parent / "source/val"
    in_folder = {int(one["image"][-7:-4]): one for one in lines(detect(folder, "--checkpoint", learnt[0], "--json"))}
    assert sorted(in_folder) == sorted(found)
    for number, one in in_folder.items():
        for ours, theirs in zip(one["objects"], found[number]["objects"], strict=True):
            assert ours["box"] == pytest.approx(theirs["box"], abs=0.01)  # another batch, other sums
            assert (ours["label"], ours["score"]) == (theirs["label"], pytest.approx(theirs["score"], abs=1e-4))
    assert in_folder[5]["image"].endswith("val/005.png") and in_folder[5]["dataset"] == str(folder)
    files = [folder / "003.png", folder / "001.png"]
    done = detect(*files, "--checkpoint", learnt[0], "--pictures", tmp_path / "out")
    assert done.out.splitlines()[1] == f"{files[1]}: nothing" and "2 pictures" in done.err
    assert done.out.startswith(f"{files[0]}: ")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["000000_003.jpg", "000001_001.jpg"]
    drawn, plain = (np.asarray(Image.open(p).convert("RGB"), int) for p in [tmp_path / "out/000000_003.jpg", files[0]])
    assert drawn.shape == plain.shape
    changed = np.argwhere(np.abs(drawn - plain).max(2) > 60)
    for one in found[3]["objects"]:
        x, y, w, h = one["box"]
        # The middles of its sides.
        for row, column in [(y, x + w / 2), (y + h, x + w / 2), (y + h / 2, x), (y + h / 2, x + w)]:
            assert np.abs(changed - [row, column]).max(1).min() < 4, one
    middle = np.abs(changed - [y + h / 2, x + w / 2]).max(1).min()
    assert middle > 2  # and not all over the picture
    again = train("detect", files[0], "--checkpoint", learnt[0], "--pictures", tmp_path / "out")
    assert again.code == USAGE and "exists" in again.err


@pytest.mark.parametrize("given", ["dataset", "unpacked", pytest.param("names", marks=pytest.mark.thorough),
                                   pytest.param("annotations", marks=pytest.mark.thorough)])  # fmt: skip
def test_coco_results_have_the_ap_of_eval(given, packed, learnt, scores, tmp_path):
    """pycocotools reads them beside the annotations, whose ids they have, and computes what eval says."""
    coco = pytest.importorskip("pycocotools.coco")
    cocoeval = pytest.importorskip("pycocotools.cocoeval")
    annotations = annotations_of(packed)
    if given == "unpacked":  # what is written of the packed dataset is of the packed dataset
        packhorse("unpack", packed / "val", tmp_path / "un", "--as", "coco")
        (annotations,) = (tmp_path / "un").rglob("*.json")
    truth = coco.COCO(annotations)
    inputs = [packed if given in ("dataset", "unpacked") else packed.parent / "source/val"]
    options = ["--annotations", annotations] if given in ("annotations", "unpacked") else []
    done = detect(*inputs, "--checkpoint", learnt[0], "--min-score", "0.001", "--coco", tmp_path / "r.json", *options)
    assert ("as the dataset keeps them" in done.err) == (given == "dataset")
    assert ("numbers in their names" in done.err) == (given == "names")
    evaluation = cocoeval.COCOeval(truth, truth.loadRes(str(tmp_path / "r.json")), "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    for place, key in enumerate(["ap", "ap50", "ap75"]):
        assert evaluation.stats[place] == pytest.approx(scores[key], abs=1e-6)


@pytest.mark.thorough
def test_ids_and_splits_that_do_not_fit_are_refused(packed, learnt, tmp_path):
    folder, result, other = packed.parent / "source/val", tmp_path / "r.json", tmp_path / "other.json"
    content = json.loads(annotations_of(packed).read_text()) | {"annotations": []}
    fewer = {"categories": content["categories"][:2]}, {"images": content["images"][:3]}
    for options, change, said in [
        ([packed, folder, "--coco", result], {}, "mixed up"),
        ([folder, "--coco", result, "--annotations", other], fewer[0], "no category 'green'"),
        ([folder, "--coco", result, "--annotations", other], fewer[1], "004.png"),
        ([folder / "003.png", "--split", "val"], {}, "no splits"),
        ([packed, packed, "--coco", result, "--pictures", tmp_path / "out"], {}, ""),
    ]:
        other.write_text(json.dumps(content | change))
        done = train("detect", *options, "--checkpoint", learnt[0], *CPU)
        assert done.code == USAGE and said in done.err, done
    assert [path.name for path in tmp_path.iterdir()] == ["other.json"]  # the folder of pictures is made last


def test_weights_find_objects_with_the_names_they_were_trained_for(packed, learnt, tmp_path):
    (tmp_path / "names").write_bytes("réd\nblue\ngreen\n".encode())
    (tmp_path / "turned").write_text("green\nblue\nred\n")
    weights = ["--weights", learnt[0], "--arch", "yolox-nano", "--image-size", SIDE]
    found = lines(detect(packed, *weights, "--json", "--classes", tmp_path / "names"))
    assert len(found) == 8 and {told["class"] for one in found for told in one["objects"]} == {"réd", "blue"}
    done = train("detect", packed, *weights)
    assert done.code == USAGE and "--classes" in done.err
    done = train("detect", packed, *weights, "--classes", tmp_path / "turned")
    assert done.code == USAGE and "label 0 is 'red' in the model, but 'green' here" in done.err


def as_yolox_authors(weights):
    """The same network for BGR from 0 to 255. YOLOX's first layer takes four pixels at once, each with its channels."""
    torch = pytest.importorskip("torch")
    stem = "backbone.backbone.stem.conv"
    mean, deviation = (255 * torch.tensor(x).view(1, 1, 3, 1, 1) for x in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    kernel = weights[f"{stem}.conv.weight"].unflatten(1, (4, 3)) / deviation
    shift = (kernel * mean).sum((1, 2, 3, 4))
    running_mean = weights[f"{stem}.bn.running_mean"] + shift
    return weights | {f"{stem}.conv.weight": kernel.flip(2).flatten(1, 2), f"{stem}.bn.running_mean": running_mean}


@pytest.mark.thorough
def test_weights_for_bytes_in_another_order(packed, learnt, tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"model": as_yolox_authors(torch.load(learnt[0], weights_only=True)["model"])}, tmp_path / "w.pth")
    about = ["--arch", "yolox-nano", "--image-size", SIDE, "--data", packed, "--json"]
    given = [[learnt[0]], [tmp_path / "w.pth", "--bgr-weights"], [tmp_path / "w.pth"]]
    ours, converted, taken_as_ours = (train("eval", "--weights", *one, *about).json["ap"] for one in given)
    assert converted == pytest.approx(ours, abs=1e-3) and taken_as_ours < 0.9 * ours
    done = train("eval", "--checkpoint", learnt[0], "--data", packed, "--bgr-weights")
    assert done.code == USAGE and "--weights" in done.err, done
    begun = fit(packed, tmp_path / "run", *PLAIN, "--epochs", "1", "--lr", "1e-9", "--init-from", *given[1])
    assert begun["ap"] > 0.9 * ours


@pytest.mark.thorough
def test_what_is_no_picture_is_named(learnt, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 and nothing more")
    for path, says in [("broken.jpg", "broken.jpg"), ("missing.jpg", "does not exist"), ("empty", "no images")]:
        done = train("detect", tmp_path / path, "--checkpoint", learnt[0], *CPU)
        assert done.code != DONE and says in done.err, done


@pytest.mark.thorough
def test_damaged_pictures_are_named_and_left_out(packed, learnt, tmp_path):
    """Where --max-bad allows for them; the others are told as if they were alone."""
    good = [packed.parent / "source/val" / f"{number:03}.png" for number in [3, 4, 5]]
    bad = tmp_path / "cut.png"
    bad.write_bytes(good[0].read_bytes()[:-50])
    model = ["--checkpoint", learnt[0], "--json", *CPU]
    files = [good[0], bad, *good[1:]]
    done = train("detect", *files, *model)
    assert done.code == DAMAGE and "cut.png" in done.err, done
    done = train("detect", *files, *model, "--max-bad", "1", "--batch-size", "3")
    assert done.code == DONE and "left out: " in done.err and "cut.png" in done.err, done
    assert "3 pictures; 1 damaged picture left out" in done.err
    assert [one["sample"] for one in lines(done)] == [0, 2, 3]
    for ours, alone in zip(lines(done), lines(train("detect", *good, *model)), strict=True):
        assert len(ours["objects"]) == len(alone["objects"]) > 0
        for a, b in zip(ours["objects"], alone["objects"], strict=True):
            assert a["box"] == pytest.approx(b["box"], abs=0.01)
    done = train("detect", bad, *model, "--max-bad", "1", "--coco", tmp_path / "none.json")
    assert (done.code, done.out) == (DONE, "") and "0 pictures; 1 damaged picture left out" in done.err, done
    assert json.loads((tmp_path / "none.json").read_text()) == []
    done = train("detect", *files, bad, *model, "--max-bad", "1")
    assert done.code == DAMAGE and "too many bad samples" in done.err, done
    done = train("detect", good[0], tmp_path / "missing.png", *model, "--max-bad", "9")
    assert done.code != DONE and "missing.png" in done.err, done


@pytest.mark.thorough
def test_every_place_may_be_told_and_lies_in_its_picture(packed, learnt):
    rules = ["--checkpoint", learnt[0], "--min-score", "0", "--max-overlap", "1", "--json"]
    places = sum((SIDE // stride) ** 2 for stride in [8, 16, 32])
    found = lines(detect(packed, *rules, "--most", "100000"))
    counts = [len(one["objects"]) for one in found]
    assert places / 2 < max(counts) <= places
    for one in found:
        for x, y, w, h in (told["box"] for told in one["objects"]):
            assert w > 0 and h > 0 and x >= 0 and y >= 0
            assert x + w <= one["width"] + 1e-3 and y + h <= one["height"] + 1e-3
    few = [len(one["objects"]) for one in lines(detect(packed, *rules, "--most", "20"))]
    assert few == [20] * 8  # those in the border around a picture take nobody's place


@pytest.mark.thorough
def test_names_that_are_no_utf8_are_told(packed, learnt, tmp_path):
    name = os.fsencode(tmp_path) + b"/caf\xe9.png"
    with open(name, "wb") as file:
        file.write((packed.parent / "source/val/003.png").read_bytes())
    found = lines(detect(os.fsdecode(name), "--checkpoint", learnt[0], "--json"))
    assert found[0]["image"].endswith("caf\\xe9.png") and found[0]["objects"]


@pytest.mark.thorough
def test_a_resumed_run_has_the_same_curve(packed, tmp_path):
    options = [*CPU, *DETECT, "--batch-size", "4", "--epochs", "4", "--augment", "affine", "--mosaic", "1",
               "--close-mosaic", "2", "--mixup", "8", "--multi-scale", "0.4", "--lr", "0.002"]  # fmt: skip
    fit(packed, tmp_path / "whole", *options)
    stopped = train("fit", "--data", packed, "--out", tmp_path / "parts", *options, "--max-steps", "5")
    assert stopped.code == DONE, stopped
    fit(packed, tmp_path / "parts", *options, "--resume")
    assert logged(tmp_path / "parts") == logged(tmp_path / "whole")
    assert (tmp_path / "whole/log.csv").read_text().startswith("epoch,step,lr,train_loss,ap,ap50,")


@pytest.mark.thorough
def test_objects_are_copied_and_pasted(tmp_path):
    """Where there are outlines of them."""
    data = pack_drawn(tmp_path, train={"count": 8, "outlines": True})
    done = fit(data, tmp_path / "run", *NANO, "--epochs", "1", "--copy-paste", "1")
    assert done["steps"] == 1 and done["loss"] > 0


@pytest.mark.thorough
def test_two_processes_train(packed, tmp_path):
    done = together(packed, tmp_path / "run", *PLAIN, "--epochs", "2")
    assert done["steps"] == 2 and done["loss"] > 0


REFUSED = [
    (["--arch", "fcos-resnet50", "--close-mosaic", "1"], "--close-mosaic 0"),
    (["--arch", "resnet18"], "resnet18 is made for another task: classify"),
    (["--image-size", "100"], "multiple of 32"),
    (["--augment", "rrc"], "whole pictures"),
    (["--cutmix", "1"], "CutMix"),
    (["--cuda-graph"], "CUDA graph"),
    (["--min-scale", "0.5"], "rrc"),
    (["--copy-paste", "0.5"], "no object to copy: none of 8 samples"),
]


@pytest.mark.parametrize(
    "options, says", [REFUSED[0], *(pytest.param(*one, marks=pytest.mark.thorough) for one in REFUSED[1:])]
)
def test_settings_that_do_not_suit_are_refused(options, says, packed):
    refused("--data", packed, "--task", "detect", *options, says=says)


def refused(*args, says):
    done = train("fit", *args, *QUICK)
    assert done.code == USAGE and done.out == "" and says in done.err, done


@pytest.mark.parametrize("data", ["wds", pytest.param("folder", marks=pytest.mark.thorough)])
def test_data_without_objects_are_refused(data, packed_shapes):
    refused("--data", SHAPES if data == "folder" else packed_shapes(data), "--task", "detect", says="has no objects")


@pytest.mark.thorough
@pytest.mark.parametrize("option", ["--mosaic", "--copy-paste", "--close-mosaic"])
def test_a_classifier_has_no_mosaic(option, packed):
    refused("--data", packed, option, "1", says="--task detect")
