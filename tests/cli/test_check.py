"""packhorse check: each code is found in an input made for it, and sound sources have none of it."""

import json
import shutil
import zlib

import numpy as np
import pytest
from PIL import Image
from python_support import DAMAGE, DONE, USAGE, packhorse, photos, refused, run

CODES = [line.split()[:2] for line in packhorse("check", "--explain", "all").out.splitlines()]


def check(source, *options):
    """The report of a check, with all examples."""
    done = run("check", source, "--json", "--all", *map(str, options))
    assert done.code == (DAMAGE if done.json["errors"] else DONE) and done.err == "", done
    return done.json


def found(report):
    return {finding["code"]: finding for finding in report["findings"]}


def picture(path, seed=None, size=(40, 30), mode="RGB", **options):
    """Noise, so that no two pictures are alike."""
    path.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(zlib.crc32(str(path).encode()) if seed is None else seed)
    bands = len(Image.new(mode, (1, 1)).getbands())
    levels = random.integers(0, 256, (size[1], size[0], bands), np.uint8)
    Image.fromarray(levels[:, :, 0] if bands == 1 else levels, mode).save(path, **options)
    return path


@pytest.fixture(name="source")
def source_fixture(tmp_path):
    """A sound source of two classes in two splits."""
    for split in ("train", "val"):
        for name in ("cats", "dogs"):
            for i in range(6):
                picture(tmp_path / "source" / split / name / f"{name[0]}{i}.jpg")
    return tmp_path / "source"


def test_a_sound_source_has_no_findings(source):
    report = check(source)
    assert report["findings"] == []
    assert report["taken_for"] == "folder"
    assert report["samples"] == report["looked_at"] == report["decoded"] == 24
    assert report["splits"] == [{"split": "train", "samples": 12}, {"split": "val", "samples": 12}]


def damaged(path):
    """Cut inside its data, with an end mark: only decoding shows it."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + data[-2:])


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def bmp_of_floats(path):
    Image.fromarray(np.ones((20, 20), np.float32)).save(path)


def animation(path):
    frames = [Image.new("RGB", (20, 20), (90 * i, 50, 0)) for i in range(3)]
    frames[0].save(path, save_all=True, append_images=frames[1:])


def turned(path):
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(path, exif=exif)


def sixteen_bits(path):
    Image.fromarray(np.arange(600, dtype=np.uint16).reshape(20, 30) * 100).save(path)


IN_ONE_FILE = {
    "PH101": ("a.jpg", lambda path: path.write_bytes(b"")),
    "PH102": ("a.jpg", lambda path: path.write_text("<html>not found</html>")),
    "PH103": ("a.jpg", lambda path: (picture(path), cut(path))),
    "PH104": ("a.psd", lambda path: path.write_bytes(b"8BPS" + bytes(100))),
    "PH105": ("a.gif", animation),
    "PH106": ("a.tif", bmp_of_floats),
    "PH120": ("a.jpg", lambda path: picture(path, format="PNG")),
    "PH121": ("a.png", lambda path: Image.new("RGB", (40, 30), (7, 8, 9)).save(path)),
    "PH122": ("a.png", lambda path: picture(path, size=(40, 7))),
    "PH124": ("a.txt", lambda path: path.write_text("a list")),
    "PH201": ("a.jpg", turned),
    "PH202": ("a.png", sixteen_bits),
    "PH203": ("a.png", lambda path: picture(path, mode="RGBA")),
    "PH204": ("a.jpg", lambda path: picture(path, mode="CMYK")),
}


@pytest.mark.parametrize("code", IN_ONE_FILE)
def test_a_file_is_named_by_its_code(source, code):
    name, make = IN_ONE_FILE[code]
    make(source / "train" / "cats" / name)
    report = found(check(source))
    assert list(report) == [code]
    assert [example["path"] for example in report[code]["examples"]] == [f"train/cats/{name}"]


def test_damage_that_only_decoding_shows_is_found_by_decoding(source):
    damaged(source / "train/cats/c3.jpg")
    assert check(source, "--decode", "headers")["findings"] == []
    for depth in ("sample", "all"):
        report = found(check(source, "--decode", depth))
        assert list(report) == ["PH103"]
        assert [example["path"] for example in report["PH103"]["examples"]] == ["train/cats/c3.jpg"]


def test_limits_are_those_of_packing(source):
    assert list(found(check(source, "--max-pixels", 1000))) == ["PH107"]
    assert found(check(source, "--max-pixels", 1000))["PH107"]["count"] == 24


def test_large_images_are_noted(source):
    Image.new("1", (8000, 6300)).save(source / "train/cats/a.png")
    assert list(found(check(source, "--ignore", "PH121"))) == ["PH123"]


def test_copies_are_told_by_what_they_spoil(source):
    shutil.copy(source / "train/cats/c0.jpg", source / "train/cats/copy.jpg")
    shutil.copy(source / "train/cats/c1.jpg", source / "train/dogs/copy.jpg")
    shutil.copy(source / "train/cats/c2.jpg", source / "val/cats/copy.jpg")
    report = found(check(source))
    assert list(report) == ["PH403", "PH501", "PH506"]
    assert report["PH506"]["examples"] == [{"path": "train/cats/c0.jpg", "detail": "= train/cats/copy.jpg"}]
    assert report["PH403"]["examples"] == [{"path": "train/cats/c1.jpg", "detail": "= train/dogs/copy.jpg"}]
    assert report["PH501"]["examples"] == [{"path": "train/cats/c2.jpg", "detail": "= val/cats/copy.jpg"}]


def test_pictures_that_look_alike_in_two_splits(source):
    photo = sorted(photos("imagenet/imagenet200").rglob("*.*"))[7]
    shutil.copy(photo, source / "train/cats/photo.jpg")
    with Image.open(photo) as image:
        image.resize((image.width // 2, image.height // 2)).save(source / "val/cats/other.jpg", quality=70)
    assert check(source)["findings"] == []
    (finding,) = check(source, "--decode", "all")["findings"]
    assert finding["code"] == "PH502"
    assert {finding["examples"][0]["path"], finding["examples"][0]["detail"][2:]} == {
        "train/cats/photo.jpg", "val/cats/other.jpg"}


def test_classes_are_counted(source):
    for i in range(500):
        picture(source / "train/cats" / f"more-{i}.png", size=(8, 8))
    picture(source / "train/birds/b0.jpg")
    for split in ("train", "val"):
        for i in range(2):
            (source / split / "dogs" / f"d{i}.jpg").unlink()
    (source / "val/dogs/d2.jpg").unlink()
    (source / "val/dogs/d3.jpg").unlink()
    report = found(check(source))
    assert list(report) == ["PH405", "PH505"]
    assert report["PH405"]["examples"] == [{"path": "birds", "detail": "1 of at most 512"}]
    assert report["PH505"]["examples"] == [{"path": "birds", "detail": "not in val"}]
    for i in range(4, 6):
        (source / "val/dogs" / f"d{i}.jpg").rename(source / "val/dogs" / f"x{i}.jpg")
    for i in range(2, 6):
        (source / "train/dogs" / f"d{i}.jpg").unlink(missing_ok=True)
    picture(source / "train/dogs/a.jpg"), picture(source / "train/dogs/b.jpg"), picture(source / "train/dogs/c.jpg")
    assert list(found(check(source, "--select", "PH404"))) == ["PH404"]


def test_classes_called_by_numbers_that_are_not_their_labels(tmp_path):
    for i in range(12):
        for j in range(5):
            picture(tmp_path / "source" / str(i) / f"{i}-{j}.png", size=(8, 8))
    report = found(check(tmp_path / "source"))
    assert list(report) == ["PH407"]
    assert {"path": "10", "detail": "its label is 2"} in report["PH407"]["examples"]
    names = tmp_path / "names.txt"
    names.write_text("".join(f"{i}\n" for i in range(12)))
    assert check(tmp_path / "source", "--classes", names)["findings"] == []


def test_names_that_differ_only_in_case(source):
    picture(source / "train/cats/A.jpg"), picture(source / "train/cats/a.JPG")
    report = found(check(source))
    assert list(report) == ["PH302"]
    assert report["PH302"]["count"] == 1


@pytest.mark.parametrize(
    "code, change",
    [
        ("PH002", lambda source: picture(source / "train/cats/deeper/0.jpg")),
        ("PH503", lambda source: [picture(source / "val/birds" / f"b{i}.jpg") for i in range(6)]),
        ("PH406", lambda source: (source / "train/empty").mkdir()),
        ("PH504", lambda source: (shutil.rmtree(source / "val"), (source / "val").mkdir())),
        ("PH409", lambda source: (source / "train/cats").rename(source / "train/images")),
        ("PH408", lambda source: [shutil.rmtree(source / split / "cats") for split in ("train", "val")]),
    ],
)
def test_what_packing_doubts_is_a_finding(source, code, change):
    change(source)
    assert code in found(check(source))
    refused("pack", source, source.parent / "out", "--format", "wds", code=USAGE)


def test_a_source_that_cannot_be_read_is_a_finding_with_the_advice_of_packing(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    report = found(check(tmp_path))
    assert list(report) == ["PH001"]
    assert "does not exist" in refused("check", tmp_path / "nowhere").err


def test_labels_from_tables(source, tmp_path):
    table = tmp_path / "labels.csv"
    flat = tmp_path / "flat"
    for i in range(12):
        picture(flat / f"{i}.jpg")
    table.write_text("".join(f"{i}.jpg,{'ab'[i % 2]}\n" for i in range(11)))
    report = found(check(flat, "--labels", table))
    assert list(report) == ["PH401"]
    assert report["PH401"]["examples"][0]["path"] == "11.jpg"


def test_files_that_a_list_names_and_that_are_not_there(tmp_path):
    rows = [f"{picture(tmp_path / f'{i}.jpg').name}\t{'ab'[i % 2]}\n" for i in range(10)]
    (tmp_path / "list.tsv").write_text("path\tlabel\n" + "".join(rows) + "nowhere.jpg\ta\n")
    report = found(check(tmp_path / "list.tsv"))
    assert list(report) == ["PH108"]


def coco(folder, change=lambda document: None):
    """Six images with a box each."""
    document = {"images": [], "annotations": [], "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]}
    for i in range(6):
        picture(folder / "images" / f"{i}.jpg")
        document["images"].append({"id": i, "file_name": f"{i}.jpg", "width": 40, "height": 30})
        box = {"bbox": [5, 6, 10, 10 + i], "category_id": 1 + i % 2, "iscrowd": 0, "area": 100}
        document["annotations"].append({"id": i, "image_id": i, "segmentation": [[5, 6, 15, 6, 15, 16, 5, 16]], **box})
    change(document)
    (folder / "annotations.json").write_text(json.dumps(document))
    return "--targets", f"coco:{folder / 'annotations.json'}"


def change(index, **values):
    return lambda document: document["annotations"][index].update(values)


@pytest.mark.parametrize(
    "code, changed",
    [
        (None, lambda document: None),
        ("PH601", change(2, bbox=[5, 6, 400, 10])),
        ("PH602", lambda document: (document["images"].pop(), document["annotations"].pop())),
        ("PH603", lambda document: document["annotations"].pop(2)),
        ("PH604", change(2, bbox=[5, 6, 1, 10], segmentation=[])),
        ("PH605", lambda document: document["annotations"].append({**document["annotations"][2], "id": 99})),
        ("PH606", change(2, bbox=[0, 0, 40, 30])),
        ("PH608", lambda document: document["categories"].append({"id": 3, "name": "bird"})),
        ("PH609", change(2, segmentation=[[5, 6, 35, 6, 35, 16, 5, 16]])),
    ],
)
def test_objects(tmp_path, code, changed):
    targets = coco(tmp_path, changed)
    report = check(tmp_path / "images", *targets)
    assert report["objects"] >= 5 or code == "PH601"
    assert list(found(report)) == ([code] if code else [])


def test_objects_of_a_turned_image(tmp_path):
    targets = coco(tmp_path)
    turned(tmp_path / "images/2.jpg")
    assert list(found(check(tmp_path / "images", *targets))) == ["PH201"]  # the file says 40 x 30: as stored


def test_objects_of_a_turned_image_that_nothing_says_are_turned(tmp_path):
    targets = coco(tmp_path, lambda document: document["images"][2].update(width=40, height=40))
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(tmp_path / "images/2.jpg", size=(40, 40), exif=exif)
    assert list(found(check(tmp_path / "images", *targets))) == ["PH607"]


def test_small_files_of_a_large_source_are_noted(tmp_path):
    for i in range(1000):
        picture(tmp_path / "source" / "ab"[i % 2] / f"{i}.png", size=(8, 8))
    assert list(found(check(tmp_path / "source"))) == ["PH801"]


def test_a_packed_dataset_is_checked_as_its_source(source, tmp_path):
    shutil.copy(source / "train/cats/c2.jpg", source / "val/cats/copy.jpg")
    packhorse("pack", source, tmp_path / "packed", "--format", "wds")
    assert list(found(check(tmp_path / "packed"))) == ["PH501"]


def test_codes_are_chosen_by_their_beginnings(source):
    shutil.copy(source / "train/cats/c0.jpg", source / "train/cats/copy.jpg")
    turned(source / "train/cats/a.jpg")
    assert list(found(check(source))) == ["PH201", "PH506"]
    assert list(found(check(source, "--select", "PH5"))) == ["PH506"]
    assert list(found(check(source, "--ignore", "PH5,PH1"))) == ["PH201"]
    assert "no finding has a code that begins with 'PH9'" in refused("check", source, "--select", "PH9", code=USAGE).err


def test_findings_do_not_depend_on_threads(source):
    for i in range(300):
        turned(source / "train/cats" / f"t{i}.jpg")
    def text(jobs):
        return packhorse("check", source, "--jobs", str(jobs)).out
    assert text(1) == text(4)
    assert "and 297 more" in text(4)


def test_sarif_and_github_have_a_result_for_each_example(source):
    (source / "train/cats/a,b.jpg").write_bytes(b"")
    done = run("check", source, "--output-format", "sarif")
    assert done.code == DAMAGE
    (one,) = done.json["runs"]
    assert [rule["id"] for rule in one["tool"]["driver"]["rules"]] == ["PH101"]
    (result,) = one["results"]
    assert result["ruleId"] == "PH101" and result["level"] == "error"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "train/cats/a,b.jpg"
    done = packhorse("check", source, "--output-format", "github", "--exit-zero")
    assert done.out == "::error file=train/cats/a%2Cb.jpg,title=PH101::file is empty: empty file\n"


# Rows of lists and shards, keys and fields, which tests of packing reject for the same reasons; folders of 50,000 files.
UNTESTED = [f"PH{code}" for code in (109, 110, 111, 402, 410, 802)]


def test_every_code_is_explained_and_tested():
    text = open(__file__).read()
    untested = [code for code, _ in CODES if f'"{code}"' not in text]
    assert untested == UNTESTED
    for code, severity in CODES:
        explained = packhorse("check", "--explain", code).out
        assert explained.startswith(f"{code} {severity}: ") and "What to do: " in explained


def test_nothing_is_changed(source):
    before = {path: path.stat().st_mtime_ns for path in source.rglob("*")}
    check(source, "--decode", "all")
    assert {path: path.stat().st_mtime_ns for path in source.rglob("*")} == before


def test_real_photos_have_no_errors():
    report = check(photos("imagenet/imagenet200"), "--decode", "all")
    assert report["decoded"] == 200 and report["errors"] == 0
    assert list(found(report)) == ["PH405"]  # there is one photo of each class
