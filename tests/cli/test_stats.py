"""`packhorse stats` compared with numpy and Pillow on the same images."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image
from python_support import DAMAGE, SHAPES, USAGE, flip_byte, listed, pack, packhorse, photos, refused


def flattened(file):
    """RGB, with alpha flattened onto black and 16 bits scaled; convert() would drop the one and clip the other."""
    image = Image.open(file)
    if image.mode == "I;16":
        return image.point(lambda value: value / 257 + 0.5).convert("L").convert("RGB")
    if image.mode not in ("RGBA", "LA"):
        return image.convert("RGB")
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, (0, 0, 0, 255)), image).convert("RGB")


def by_numpy(files):
    """Pixels, and ((mean, std) by pixel, (mean, std) by image) of RGB in [0, 1]."""
    pixels, sums, squares, means, mean_squares = 0, 0, 0, [], []
    for file in files:
        image = np.asarray(flattened(file)).reshape(-1, 3)
        total, square = image.sum(0) / 255, (image.astype(np.uint32) ** 2).sum(0, dtype=np.uint64) / 255**2
        pixels, sums, squares = pixels + len(image), sums + total, squares + square
        means.append(total / len(image))
        mean_squares.append(square / len(image))
    mean, image_mean = sums / pixels, np.mean(means, 0)
    return pixels, (
        (mean, np.sqrt(squares / pixels - mean**2)),
        (image_mean, np.sqrt(np.mean(mean_squares, 0) - image_mean**2)),
    )


def assert_stats(report, files):
    pixels, wanted = by_numpy(files)
    assert report["pixels"] == pixels
    for found, (mean, deviation) in zip((report["by_pixel"], report["by_image"]), wanted, strict=True):
        # JPEG decoders may differ by one level in places.
        assert found["mean"] == pytest.approx(list(mean), abs=5e-4)
        assert found["std"] == pytest.approx(list(deviation), abs=5e-4)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """40 photos."""
    folder, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("real") / "out"
    for file in sorted(file for file in photos("imagenet/imagenet200").rglob("*") if file.is_file())[::5]:
        (folder / file.parent.name).mkdir(exist_ok=True)
        shutil.copy(file, folder / file.parent.name)
    pack(folder, out, "--format", "wds", "--shard-samples", "15", "--allow-odd-classes")
    return folder, out


def test_statistics_of_real_photos_are_those_of_numpy(real):
    folder, out = real
    report = packhorse("stats", out, "--json").json
    assert report["images"] == report["samples"] == 40
    assert_stats(report, [file for file in folder.rglob("*") if file.is_file()])


def test_statistics_do_not_depend_on_threads_or_format(real, tmp_path):
    folder, out = real
    reports = [packhorse("stats", out, "--json", "--jobs", jobs).out for jobs in ("1", "3")]
    assert reports[0] == reports[1]
    pack(folder, tmp_path / "h5", "--format", "hdf5", "--allow-odd-classes")
    other = packhorse("stats", tmp_path / "h5", "--json").json
    assert other["by_pixel"] == json.loads(reports[0])["by_pixel"]


def test_a_subset_is_a_function_of_the_seed(real):
    folder, out = real

    def of(*options):
        return packhorse("stats", out, "--json", "--sample", *options).json

    first = of("10")
    assert first["images"] == 10 and first["samples"] == 40
    assert first == of("10", "--jobs", "1")
    assert first["by_pixel"] != of("10", "--seed", "1")["by_pixel"]
    assert of("40") == of("0") == of("1000")
    refused("inspect", out, "--sample", "3", code=USAGE)


def test_every_kind_of_image_counts(tmp_path):
    """Images in JPEG, PNG, WebP and BMP, some grey, and raw pixels of them."""
    pack(SHAPES / "train", tmp_path / "files", "--format", "wds")
    sources = [SHAPES / "train" / sample["path"] for sample in listed(tmp_path / "files")]
    assert_stats(packhorse("stats", tmp_path / "files", "--json").json, sources)
    pack(SHAPES / "train", tmp_path / "raw", "--format", "lmdb", "--image", "raw", "--size", "16")
    raw = packhorse("stats", tmp_path / "raw", "--json").json
    assert raw["pixels"] == 120 * 16 * 16
    assert raw["by_pixel"]["mean"] == pytest.approx(raw["by_image"]["mean"], abs=1e-12)


def test_class_weights_are_inverse_frequencies_of_mean_one(tmp_path):
    for name, count in (("a", 1), ("b", 4), ("c", 16)):
        (tmp_path / "source" / name).mkdir(parents=True)
        for i, picture in enumerate(sorted(SHAPES.rglob("*.jpg"))[:count]):
            shutil.copyfile(picture, tmp_path / "source" / name / f"{i}.jpg")
    (tmp_path / "classes.txt").write_text("a\nempty\nb\nc\n")
    pack(tmp_path / "source", tmp_path / "out", "--format", "wds", "--classes", tmp_path / "classes.txt")
    report = packhorse("stats", tmp_path / "out", "--json").json
    assert report["class_samples"] == [1, 0, 4, 16]
    for name, power in (("class_weights", 1), ("class_weights_sqrt", 0.5)):
        weights = report[name]
        assert weights[1] == 0 and sum(weights) / 3 == pytest.approx(1)
        assert weights[0] / weights[2] == pytest.approx(4**power)
        assert weights[2] / weights[3] == pytest.approx(4**power)


def test_the_text_is_python(real, tmp_path):
    folder, out = real
    values = {}
    exec(packhorse("stats", out).out, values)
    assert len(values["mean"]) == len(values["std"]) == 3 and "class_weights" not in values
    pack(SHAPES, tmp_path / "splits", "--format", "wds", "--include", "*/balls/*", "--include", "*/wood/00*")
    text = packhorse("stats", tmp_path / "splits").out
    assert text.count("\nmean, std = [") == 4
    both = packhorse("stats", tmp_path / "splits", "--json").json["datasets"]
    assert [d["path"].rsplit("/")[-1] for d in both] == ["train", "val"]


def test_a_damaged_image_is_named(real, tmp_path):
    _, out = real
    shutil.copytree(out, tmp_path / "out")
    sample = listed(out)[20]
    flip_byte(tmp_path / "out" / sample["shard"], sample["offset"] + 1000)
    result = refused("stats", tmp_path / "out", code=DAMAGE)
    assert sample["key"] in result.err and sample["shard"] in result.err


def test_an_image_that_cannot_be_decoded_is_named(tmp_path):
    image = sorted(SHAPES.rglob("*.jpg"))[0].read_bytes()
    (tmp_path / "source/a").mkdir(parents=True)
    (tmp_path / "source/a/0.jpg").write_bytes(image)
    scan = image.index(b"\xff\xda") + 20
    (tmp_path / "source/a/1.jpg").write_bytes(image[:scan] + image[-2:])
    pack(tmp_path / "source", tmp_path / "out", "--format", "wds", "--no-shuffle", "--allow-odd-classes")
    result = refused("stats", tmp_path / "out", code=DAMAGE)
    assert "cannot be decoded" in result.err and "000000001" in result.err
