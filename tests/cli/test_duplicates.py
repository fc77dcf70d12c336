"""`packhorse duplicates`: identical and near-identical images, in one dataset and across two."""

import io
import shutil

import pytest
from PIL import Image, ImageEnhance
from python_support import DAMAGE, SHAPES, USAGE, flip_byte, listed, pack, packhorse, photos, refused


def groups(*options):
    report = packhorse("duplicates", *options, "--json").json
    assert report["counts"]["identical"] + report["counts"]["near"] == len(report["groups"])
    return report["groups"]


def paths(group):
    return sorted(member["path"] for member in group["members"])


def jpeg(image, quality=90):
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()


def copies(file):
    """Altered copies of one photo, by the way they were altered."""
    image = Image.open(file).convert("RGB")
    image.info.pop("icc_profile", None)  # libpng complains about damaged ones
    width, height = image.size
    turned = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # stored turned by a quarter; shown upright
    image.transpose(Image.Transpose.ROTATE_90).save(turned, "JPEG", quality=90, exif=exif)
    png = io.BytesIO()
    image.resize((width // 2, height // 2)).save(png, "PNG")
    return {
        "q30.jpg": jpeg(image, 30),
        "half.png": png.getvalue(),
        "third.jpg": jpeg(image.resize((width // 3, height // 3))),
        "larger.jpg": jpeg(image.resize((width * 3 // 2, height * 3 // 2))),
        "stretched.jpg": jpeg(image.resize((width, height * 3 // 4))),
        "brighter.jpg": jpeg(ImageEnhance.Brightness(image).enhance(1.15)),
        "darker.jpg": jpeg(ImageEnhance.Brightness(image).enhance(0.7)),
        "grey.jpg": jpeg(image.convert("L")),
        "turned.jpg": turned.getvalue(),
    }


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    out = tmp_path_factory.mktemp("real") / "out"
    pack(photos("imagenet/imagenet200"), out, "--format", "wds")
    return out


def test_different_photos_are_no_duplicates_even_at_the_largest_distance(real):
    assert groups(real, "--distance", "7") == []


def test_copies_of_real_photos_are_found_and_nothing_else(real, tmp_path):
    files = sorted(p for p in photos("imagenet/imagenet200").rglob("*") if p.is_file())[::20]
    for i, file in enumerate(files):
        folder = tmp_path / "source" / f"{i:03}"
        folder.mkdir(parents=True)
        shutil.copyfile(file, folder / "original.jpg")
        for name, data in copies(file).items():
            (folder / name).write_bytes(data)
    pack(tmp_path / "source", tmp_path / "out", "--format", "lmdb", "--classes-at", "1")  # each has the same names
    found = groups(tmp_path / "out")
    assert len(found) == len(files)
    for group in found:
        folder = group["members"][0]["class"]
        assert paths(group) == sorted(f"{folder}/{p.name}" for p in (tmp_path / "source" / folder).iterdir())
        assert group["kind"] == "near" and not group["across_classes"]
        assert all(m["distance"] <= 12 for m in group["members"])
    # Across two datasets: only images that are in both.
    leaks = groups(real, tmp_path / "out")
    assert len(leaks) == len(files) and all(group["across_datasets"] for group in leaks)
    assert groups(real, tmp_path / "out", "--identical") != []


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """Two splits: one picture in both, one twice in train under two labels, one with a near duplicate."""
    folder = tmp_path_factory.mktemp("twins") / "source"
    pictures = sorted((SHAPES / "train").rglob("*.jpg"))[::10]
    for i, picture in enumerate(pictures):
        target = folder / "train" / picture.parent.name / f"{i}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, target)
    klass = sorted((folder / "train").iterdir())
    (folder / "val" / klass[0].name).mkdir(parents=True)
    shutil.copyfile(pictures[0], folder / "val" / klass[0].name / "leak.jpg")
    shutil.copyfile(pictures[0], klass[-1] / "other-label.jpg")
    (klass[0] / "again.jpg").write_bytes(jpeg(Image.open(pictures[1]).convert("RGB"), 60))
    pack(folder, folder.parent / "out", "--format", "hdf5", "--shard-samples", "5")
    return folder.parent / "out", [klass[0].name, klass[-1].name]


def test_groups_say_what_and_where_and_whether_labels_differ(twins):
    out, (first, last) = twins
    identical, near = sorted(groups(out), key=lambda group: group["kind"])
    assert paths(identical) == sorted([f"{first}/0.jpg", f"{last}/other-label.jpg", f"{first}/leak.jpg"])
    assert identical["across_datasets"] and identical["across_classes"]
    assert {m["class"] for m in identical["members"]} == {first, last}
    assert paths(near) == sorted([f"{first}/1.jpg", f"{first}/again.jpg"])
    assert not near["across_datasets"] and not near["across_classes"]
    assert [m["identical"] for m in near["members"]] == [True, False]
    keys = {s["path"]: s["key"] for s in listed(out / "train")}
    assert {m["path"]: m["key"] for m in near["members"]} == {path: keys[path] for path in paths(near)}


def test_the_text_lists_the_groups(twins):
    out, (first, last) = twins
    said = [packhorse("duplicates", out, "--jobs", jobs).out for jobs in ("1", "4")]
    assert said[0] == said[1]
    lines = said[0].splitlines()
    assert "identical: 3 images, across datasets, labels differ" in lines
    assert "near: 2 images" in lines
    assert any(line.split("\t")[2:] == [last, "same bytes", f"{last}/other-label.jpg"] for line in lines)
    assert lines[-1].endswith(" in 2 groups: 1 identical, 1 near; 1 across datasets, 1 with different labels")


def test_by_bytes_alone_nothing_is_decoded(twins):
    out, _ = twins
    report = packhorse("duplicates", out, "--identical", "--json").json
    assert [group["kind"] for group in report["groups"]] == ["identical"] and report["max_distance"] is None


def test_pictures_without_features_are_counted_not_grouped(tmp_path):
    (tmp_path / "source/a").mkdir(parents=True)
    for level in range(0, 250, 50):
        Image.new("RGB", (40 + level, 40), (level, level, level)).save(tmp_path / f"source/a/{level}.png")
    shutil.copyfile(tmp_path / "source/a/50.png", tmp_path / "source/a/same.png")
    pack(tmp_path / "source", tmp_path / "out", "--format", "wds", "--allow-odd-classes")
    report = packhorse("duplicates", tmp_path / "out", "--json").json
    assert report["featureless"] == 6
    assert [paths(group) for group in report["groups"]] == [["a/50.png", "a/same.png"]]


def test_what_makes_no_sense_is_refused(twins, tmp_path):
    out, _ = twins
    refused("duplicates", out, "--distance", "8", code=USAGE)
    refused("duplicates", out, "--identical", "--distance", "3", code=USAGE)
    refused("duplicates", out, "--identical", "--max-pixels", "3", code=USAGE)
    refused("duplicates", out, tmp_path / "nothing")
    shutil.copytree(out, tmp_path / "out")
    sample = listed(tmp_path / "out" / "train")[7]
    flip_byte(tmp_path / "out" / "train" / sample["shard"], sample["offset"])
    assert sample["key"] in refused("duplicates", tmp_path / "out", code=DAMAGE).err
