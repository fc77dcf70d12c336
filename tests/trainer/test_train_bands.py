"""packhorse-train on pictures of five bands of 16 bits, of which the last alone tells the class."""

import json
import re

import numpy as np
import pytest
import tifffile
from package import packhorse
from python_support import DONE, TRAIN, USAGE, train
from python_support import packhorse as packhorse_command

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
SIZE, BANDS, EACH = 16, 5, 40
QUICK = ("--arch", "smallnet", "--image-size", str(SIZE), "--batch-size", "24", "--device", "cpu", "--json")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bands")
    random = np.random.default_rng(7)
    for split, each in (("train", EACH), ("val", 12)):
        for label in range(3):
            (folder / f"source/{split}/{label}").mkdir(parents=True)
            for i in range(each):
                picture = random.integers(0, 65536, (SIZE, SIZE, BANDS)).astype(np.uint16)
                picture[..., 4] = 20000 + 700 * label + random.integers(0, 300, (SIZE, SIZE))
                path = folder / f"source/{split}/{label}/{label}-{split}{i}.tif"
                tifffile.imwrite(path, picture, photometric="minisblack", planarconfig="contig", metadata=None)
    packhorse_command("pack", folder / "source", folder / "packed", "--format", "wds", "--bands")
    return folder / "packed"


def fit(data, out, *options):
    result = train("fit", "--data", data, "--out", out, *QUICK, "--channels", BANDS, *options)
    assert result.code == DONE, result
    return result


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    run = tmp_path_factory.mktemp("whole") / "run"
    return run, fit(data, run, "--epochs", "4")


def test_what_only_a_band_tells_is_learnt(whole, data):
    run, result = whole
    assert result.json["top1"] > 90
    assert "the bands are normalised by means of" in result.err
    scores = train("eval", "--checkpoint", run / "last.pt", "--data", data, "--device", "cpu", "--json").json
    assert scores["top1"] == result.json["top1"]
    meta = torch.load(run / "last.pt", weights_only=True)
    pixels = np.concatenate([b.images.numpy() for b in packhorse.Loader(data, 40, size=SIZE, dtype="float32", bands="all")])
    np.testing.assert_allclose(meta["mean"], pixels.mean((0, 2, 3), dtype=np.float64), rtol=1e-5)
    np.testing.assert_allclose(meta["std"], pixels.std((0, 2, 3), dtype=np.float64), rtol=1e-4)


def test_a_resumed_run_is_the_same(whole, data, tmp_path):
    fit(data, tmp_path / "run", "--epochs", "4", "--max-steps", "7")
    result = train("fit", "--data", data, "--out", tmp_path / "run", "--resume", "--device", "cpu", "--json")
    assert result.code == DONE, result
    one, two = (torch.load(run / "last.pt", weights_only=True)["model"] for run in (whole[0], tmp_path / "run"))
    assert one.keys() == two.keys() and all(one[name].equal(two[name]) for name in one)


def test_a_run_goes_on_with_its_own_channels(whole, data):
    result = train("fit", "--data", data, "--out", whole[0], "--resume", "--channels", "4", "--device", "cpu")
    assert result.code == USAGE and "another --channels (it is 5)" in result.err, result


def test_the_exported_network_takes_the_loaders_batches(whole, data, tmp_path):
    run, result = whole
    assert train("export", "--checkpoint", run / "last.pt", "--output", tmp_path / "net.pt", "--device", "cpu").code == DONE
    extra = {"packhorse.json": ""}
    network = torch.jit.load(tmp_path / "net.pt", _extra_files=extra)
    said = json.loads(extra["packhorse.json"])
    right = total = 0
    for images, labels in packhorse.Loader(
        data, 36, split="val", size=SIZE, dtype="float32", bands="all", mean=said["mean"], std=said["stddev"]
    ):
        right += int((network(images).argmax(1) == labels).sum())
        total += len(labels)
    assert right / total == pytest.approx(result.json["top1"] / 100, abs=1e-9)


def test_weights_alone_are_scored_with_the_means_that_fit_printed(whole, data, tmp_path):
    run, result = whole
    meta = torch.load(run / "last.pt", weights_only=True)
    torch.save(meta["model"], tmp_path / "weights.pth")
    told = re.search(r"means of (.*) and deviations of (.*)", result.err)
    mean, std = (told[i].replace(" ", "") for i in (1, 2))
    options = ("--arch", "smallnet", "--image-size", SIZE, "--channels", BANDS)
    weights = ("eval", "--weights", tmp_path / "weights.pth", "--data", data, "--device", "cpu", "--json", *options)
    scored = train(*weights, "--mean", mean, "--std", std)
    assert scored.json["top1"] == result.json["top1"], scored
    assert train(*weights, "--mean", mean, "--std", ",".join(["1e9"] * BANDS)).json["top1"] != result.json["top1"]
    for more, words in (
        ((), "need as many means and standard deviations"),
        (("--mean", mean, "--std", "1,1"), "weights of 5 channels need as many means"),
        (("--mean", mean, "--std", "1,1,1,1,0"), "above 0"),
    ):
        refused = train(*weights, *more)
        assert refused.code == USAGE and words in refused.err, refused


def test_measure_packs_bands(data, tmp_path):
    options = ("--folder", data.parent / "source", "--pack-all", "--formats", "wds", "--steps", "1", "--max-seconds", "1")
    result = train("measure", *options, *QUICK, "--channels", BANDS, "--repeats", "1", "--warmup-steps", "1", cwd=tmp_path)
    assert result.code == DONE, result
    assert [cost["input"] for cost in result.json["packing"]] == ["wds original", "wds roi", "wds lossless"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--channels", "3"], "other bands than the 3 that are wanted: 5 bands of 16 bits"),
        ([], "some of its images cannot be decoded here: TIFF of 5 bands that are no colours"),
        (["--channels", "5", "--pixel-steps", "ColorJitter(0.2)"], "not with --channels"),
        (["--channels", "300"], "0 to 255"),
    ],
)
def test_what_does_not_fit_is_refused(data, tmp_path, options, words):
    result = train("fit", "--data", data, "--out", tmp_path / "run", *QUICK, "--epochs", "1", *options)
    assert result.code != DONE and words in result.err, result
    assert result.code in (1, USAGE)
