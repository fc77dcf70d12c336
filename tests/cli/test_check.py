"""packhorse check: each code is found in an input made for it, and sound sources have none of it."""

import base64
import io
import json
import os
import re
import shutil
import tarfile
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


def test_headers_alone_are_read_where_they_say_enough(source):
    """A file without its end is sound by its first bytes; what these do not say is read whole."""
    large = {"large.jpg": {}, "large.png": {}, "progressive.jpg": {"progressive": True}, "large.webp": {"lossless": True}}
    for name, options in large.items():
        picture(source / "train/cats" / name, size=(300, 200), **options)
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "x" * 60_000  # the frame begins behind the first bytes
    picture(source / "train/cats/exif.jpg", size=(300, 200), exif=exif)
    shutil.copy(source / "train/cats/large.png", source / "train/cats/copy.png")
    assert list(found(check(source))) == ["PH201", "PH506"]
    assert list(found(check(source, "--decode", "headers"))) == ["PH201"]
    for name in [*large, "exif.jpg"]:
        cut(source / "train/cats" / name)
    assert found(check(source))["PH103"]["count"] == 5
    report = found(check(source, "--decode", "headers"))
    assert list(report) == ["PH103"]
    assert [one["path"] for one in report["PH103"]["examples"]] == ["train/cats/exif.jpg", "train/cats/large.webp"]


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
    for option in ("--select=PH5", "--ignore=PH001"):
        assert list(found(check(tmp_path, option))) == ["PH001"]  # or an unread source would be without faults
    known = tmp_path.parent / "known.txt"
    assert run("check", tmp_path, "--write-baseline", known).code == DAMAGE and not known.exists()
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


def test_packing_gains_nothing_for_what_is_no_files(tmp_path):
    for i in range(1000):
        picture(tmp_path / "source" / "ab"[i % 2] / f"{i}.png", size=(8, 8))
    packhorse("pack", tmp_path / "source", tmp_path / "packed", "--format", "wds")
    assert check(tmp_path / "packed")["findings"] == []
    rows = "".join(f"source/{'ab'[i % 2]}/{i}.png\t{'ab'[i % 2]}\n" for i in range(1000))
    (tmp_path / "list.tsv").write_text("path\tlabel\n" + rows)
    assert list(found(check(tmp_path / "list.tsv"))) == ["PH801"]


def test_folders_of_many_files_are_noted(tmp_path):
    first = picture(tmp_path / "source/a/first.png", size=(8, 8))
    picture(tmp_path / "source/b/other.png", size=(8, 8))
    for i in range(50_000):
        os.link(first, tmp_path / "source/a" / f"{i}.png")
    (finding,) = check(tmp_path / "source", "--decode", "headers", "--select", "PH802")["findings"]
    assert finding["code"] == "PH802"
    assert finding["examples"] == [{"path": "a", "detail": "50001 files"}]


def shard(path, members):
    """A shard of WebDataset; a member without bytes is a picture."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i, (name, data) in enumerate(members):
            if data is None:
                data = picture(path.parent / "scratch" / f"{i}.png", size=(20, 20)).read_bytes()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    shutil.rmtree(path.parent / "scratch")


SOUND_SHARD = [(f"{i:03}.{kind}", b"0" if kind == "cls" else None) for i in range(10) for kind in ("cls", "png")]


@pytest.mark.parametrize(
    "code, more",
    [
        ("PH109", [("../x/a.cls", b"0"), ("../x/a.png", None)]),
        ("PH110", [("000.cls", b"0"), ("000.png", None)]),
        ("PH111", [("010.cls", b"0")]),
        ("PH402", [("010.cls", b" "), ("010.png", None)]),
    ],
)
def test_samples_of_a_shard(tmp_path, code, more):
    shard(tmp_path / "s-000000.tar", SOUND_SHARD + more)
    report = found(check(tmp_path, "--ignore", "PH408"))
    assert list(report) == [code]
    shard(tmp_path / "s-000000.tar", SOUND_SHARD)
    assert check(tmp_path, "--ignore", "PH408")["findings"] == []


def test_a_field_that_is_missing(tmp_path):
    for i in range(6):
        picture(tmp_path / "images" / f"{i}.jpg")
        picture(tmp_path / "masks" / f"{i}.png", mode="L")
    options = "--field-from", "mask.png=masks", "--unlabelled"
    assert check(tmp_path, *options)["findings"] == []
    (tmp_path / "masks/3.png").unlink()
    (finding,) = check(tmp_path, *options)["findings"]
    assert finding["code"] == "PH410" and finding["examples"][0]["path"] == "images/3.jpg"


def test_an_alpha_channel_of_opaque_pixels_loses_nothing(source):
    opaque = np.dstack([np.random.default_rng(3).integers(0, 256, (30, 40, 3), np.uint8), np.full((30, 40), 255, np.uint8)])
    for name, mode in {"a.png": "RGBA", "b.webp": "RGBA", "c.png": "LA"}.items():
        Image.fromarray(opaque if mode == "RGBA" else np.ascontiguousarray(opaque[:, :, 2:]), mode).save(
            source / "train/cats" / name, lossless=True)
    assert check(source)["findings"] == []
    opaque[29, 39, 3] = 254
    Image.fromarray(opaque).save(source / "train/cats/d.png")
    assert [one["path"] for one in found(check(source))["PH203"]["examples"]] == ["train/cats/d.png"]


CONFIG = """
check:
  ignore: PH506
  ignore_in:
    "train/cats/*": [PH203, PH2]
    "t*.png": [PH1]
"""


def test_settings_in_the_source_say_what_is_left_out_and_where(source, tmp_path):
    shutil.copy(source / "train/cats/c0.jpg", source / "train/cats/copy.jpg")
    turned(source / "train/cats/a.jpg"), turned(source / "train/dogs/a.jpg")
    assert list(found(check(source))) == ["PH201", "PH506"]
    (source / "packhorse.yaml").write_text(CONFIG)
    report = check(source)
    assert [one["path"] for one in found(report)["PH201"]["examples"]] == ["train/dogs/a.jpg"]
    assert list(found(report)) == ["PH201"]  # nor is the file itself a finding
    assert any("packhorse.yaml choose" in note for note in report["notes"])
    assert list(found(check(source, "--select", "PH5"))) == []
    (tmp_path / "other.yaml").write_text("check: {select: [PH5]}\n")
    assert list(found(check(source, "--config", tmp_path / "other.yaml"))) == ["PH506"]
    assert list(found(check(source, "--config", tmp_path / "other.yaml", "--select", "PH2"))) == ["PH201"]


@pytest.mark.parametrize(
    "text, why",
    [
        ("check: {ignored: [PH2]}", "line 1: 'ignored' is none of select, ignore, ignore_in and baseline"),
        ("check:\n  ignore: [PX2]", "no finding has a code that begins with 'PX2'"),
        ("check:\n  ignore_in: [PH2]", "line 2: ignore_in needs a list of codes for each glob"),
        ("check:\n  ignore_in: {'a*': [PX2]}", "no finding has a code that begins with 'PX2'"),
        ("pack: {}", "line 1: 'pack' is not check"),
        ("", "there is no check"),
        ("check: [PH2]", "line 1: check needs select, ignore, ignore_in or baseline"),
        ("check: {ignore: []}\n---\ncheck: {}", "a second document"),
        ("check: {ignore: {PH2: 1}}", "a list of codes is expected"),
    ],
)
def test_settings_that_are_not_known_are_refused(source, text, why):
    (source / "packhorse.yaml").write_text(text)
    error = refused("check", source, code=USAGE).err
    assert why in error and "packhorse.yaml" in error


def test_findings_of_a_baseline_are_counted_and_are_no_failure(source, tmp_path):
    (source / "train/cats/a.jpg").write_bytes(b"")
    turned(source / "train/cats/b.jpg")
    known = tmp_path / "known.txt"
    assert packhorse("check", source, "--write-baseline", known).out == f"2 findings written to {known}\n"
    assert known.read_text() == "PH101 train/cats/a.jpg\nPH201 train/cats/b.jpg\n"
    report = check(source, "--baseline", known)
    assert report["findings"] == [] and report["known"] == 2
    assert "2 known findings are not shown" in packhorse("check", source, "--baseline", known).out
    (source / "train/cats/e.jpg").write_bytes(b"")
    assert [one["path"] for one in found(check(source, "--baseline", known))["PH101"]["examples"]] == ["train/cats/e.jpg"]
    (source / "packhorse.yaml").write_text(f"check: {{baseline: {known}}}\n")
    assert check(source)["known"] == 2
    packhorse("check", source, "--write-baseline", known)
    assert check(source)["known"] == 3, "a new baseline has the known findings, too"
    known.write_text("train/cats/a.jpg\n")
    assert "line 1 of the baseline is no code and path" in refused("check", source, code=USAGE).err


def test_a_page_explains_the_findings_and_shows_them(source, tmp_path):
    turned(source / "train/cats/<a>.jpg")
    (source / "train/cats/b.jpg").write_bytes(b"")
    page = tmp_path / "page.html"
    done = run("check", source, "--report", page)
    assert done.code == DAMAGE and "PH101 error" in done.out
    html = page.read_text()
    assert '<h3 id="PH101">' in html and '<h3 id="PH201">' in html and "What to do: " in html
    assert "train/cats/&lt;a&gt;.jpg" in html and "<a>" not in html
    (picture_of,) = re.findall(r'src="data:image/jpeg;base64,([^"]+)"', html)
    with Image.open(io.BytesIO(base64.b64decode(picture_of))) as image:
        assert image.size == (30, 40), "upright"
    assert "://" not in html.replace("http://www.w3.org", "")


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


def test_every_code_is_explained_and_tested():
    text = open(__file__).read()
    untested = [code for code, _ in CODES if f'"{code}"' not in text]
    assert untested == []
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
