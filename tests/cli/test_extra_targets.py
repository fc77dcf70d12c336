"""Several classes, captions and semantic masks: --targets classes:, caption: and mask:."""

import csv
import io
import json
import struct

import numpy
import objects_support as objects
import pytest
from PIL import Image
from python_support import CARRIERS, DAMAGE, USAGE, packhorse, run

NAMES = ["a.jpg", "b.jpg", "sub/c.jpg"]


@pytest.fixture
def pictures(tmp_path):
    """Three images of 40 x 24 without classes, of one grey each."""
    folder = tmp_path / "pictures"
    (folder / "sub").mkdir(parents=True)
    for i, name in enumerate(NAMES):
        Image.new("RGB", (40, 24), (40 * i, 80, 80)).save(folder / name, quality=95)
    return folder


def write_table(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def samples_of(dataset):
    """The members of each sample of a tar dataset; --no-shuffle keeps the order of the paths."""
    return objects.of_tar(dataset / "shard-000000.tar")


def parse_classes(data):
    assert data[:8] == b"PHCLS1\0\0"
    labels, scores = struct.unpack("<2I", data[8:16])
    assert len(data) == 16 + 4 * (labels + scores)
    return list(numpy.frombuffer(data, "<i4", labels, 16)), list(numpy.frombuffer(data, "<f4", scores, 16 + 4 * labels))


def pack(source, out, *args, code=0):
    result = run("pack", source, out, "--format=wds", "--no-shuffle", *args)
    assert result.code == code, result
    return result


def target_of(dataset, kind):
    targets = json.loads((dataset / "dataset.json").read_text())["targets"]
    return next(target for target in targets if target["kind"] == kind)


def test_a_column_of_lists_gives_several_classes(pictures, tmp_path):
    for separator in ("|", ",", "; "):
        lists = [separator.join(names) for names in (["haze", "clear sky"], [], ["road", "haze"])]
        table = write_table(tmp_path / "tags.csv", [["image_name", "tags"], *zip(["a", "b", "c"], lists)])
        said = pack(pictures, tmp_path / "out", f"--targets=classes:{table}", "--overwrite").out
        assert f"the classes of an image are separated by '{separator[0]}'" in said
        assert target_of(tmp_path / "out", "classes")["classes"] == ["clear sky", "haze", "road"]
        found = [parse_classes(sample["classes"]) for sample in samples_of(tmp_path / "out")]
        assert found == [([0, 1], []), ([], []), ([1, 2], [])]
    assert [json.loads(sample["classes.json"]) for sample in samples_of(tmp_path / "out")] == [["clear sky", "haze"], [], ["haze", "road"]]
    packhorse("inspect", "--verify=full", tmp_path / "out")
    assert "several of 3 classes: clear sky, haze, road" in packhorse("inspect", tmp_path / "out").out


def test_a_column_for_each_class(pictures, tmp_path):
    rows = [["image_id", "Smiling", "Bald", "Hat"], ["a.jpg", 1, -1, 1], ["b.jpg", -1, -1, -1], ["c.jpg", -1, 1, -1]]
    table = write_table(tmp_path / "attributes.csv", rows)
    pack(pictures, tmp_path / "out", f"--targets=classes:{table}:*")
    assert target_of(tmp_path / "out", "classes")["classes"] == ["Smiling", "Bald", "Hat"]
    assert [parse_classes(s["classes"])[0] for s in samples_of(tmp_path / "out")] == [[0, 2], [], [1]]
    rows[1][1] = 0.25
    pack(pictures, tmp_path / "scores", f"--targets=classes:{write_table(table, rows)}:*")
    assert parse_classes(samples_of(tmp_path / "scores")[0]["classes"]) == ([0, 1, 2], [0.25, -1, 1])
    assert json.loads(samples_of(tmp_path / "scores")[0]["classes.json"]) == {"Smiling": 0.25, "Bald": -1, "Hat": 1}


def test_lists_in_jsonl(pictures, tmp_path):
    table = tmp_path / "metadata.jsonl"
    rows = [{"file_name": "a.jpg", "tags": ["x", "y"]}, {"file_name": "b.jpg", "tags": None}, {"file_name": "sub/c.jpg", "tags": ["y"]}]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pack(pictures, tmp_path / "out", f"--targets=classes:{table}:tags")
    assert [parse_classes(s["classes"])[0] for s in samples_of(tmp_path / "out")] == [[0, 1], [], [1]]


def test_tables_that_are_not_clear_are_refused(pictures, tmp_path):
    def refused(*rows, column=""):
        table = write_table(tmp_path / "table.csv", rows)
        return pack(pictures, tmp_path / "out", f"--targets=classes:{table}{column}", code=USAGE).err

    assert "-1, 0 and 1" in refused(["image", "x", "y"], ["a", 1, 0], ["b", -1, 0], ["c", 0, 0], column=":*")
    assert "not a number" in refused(["image", "x", "y"], ["a", 1, "yes"], ["b", 1, 0], ["c", 0, 0], column=":*")
    assert "two rows" in refused(["image", "x", "y"], ["a", 1, 0], ["a", 1, 0], ["c", 0, 0], column=":*")
    index = refused(["", "image", "x"], [0, "a", 1], [1, "b", 0], [2, "c", 1], column=":*")
    assert "column 1 has no name in line 1" in index and "to_csv(index=False)" in index
    assert "'Unnamed: 0' numbers the rows" in refused(["Unnamed: 0", "image", "x"], [0, "a", 1], [1, "b", 0], [2, "c", 1], column=":*")
    for cells in (["cat,dog", "cat|fox", "dog;fox"], ["cat", "cat|dog", "a, b"]):
        words = refused(["image", "tags"], *zip("abc", cells), column=":tags")
        assert "separates names otherwise than line 3" in words and "'cat|" in words
    assert "FILE:COLUMN" in refused(["image", "x", "y"], ["a", 1, 0], ["b", 1, 0])
    assert "no column 'z'" in refused(["image", "x", "y"], ["a", 1, 0], column=":z")
    assert "names no image" in refused(["image", "tags"], ["d", "x"], ["e", "y"])
    assert run("pack", pictures, tmp_path / "out", "--format=wds", "--targets=classes:none.csv").code != 0
    names = tmp_path / "names.txt"
    names.write_text("x\n")
    table = write_table(tmp_path / "table.csv", [["image", "tags"], ["a", "x"], ["b", "z"], ["c", "x"]])
    assert "'z' is not in the class list" in pack(
        pictures, tmp_path / "out", f"--targets=classes:{table}", f"--target-classes={names}", code=USAGE
    ).err


def test_an_image_that_a_table_does_not_name_is_a_reject(pictures, tmp_path):
    table = write_table(tmp_path / "tags.csv", [["image_name", "tags"], ["a", "x"], ["b", "y"]])
    assert "tags.csv: not in the labels file" in pack(pictures, tmp_path / "out", f"--targets=classes:{table}", code=DAMAGE).err
    pack(pictures, tmp_path / "out", f"--targets=classes:{table}", "--max-rejects=1")
    assert len(samples_of(tmp_path / "out")) == 2


def test_captions_from_fields_tables_and_coco(pictures, tmp_path):
    for name, text in zip(NAMES, ["one", "zwölf", "three\nlines"]):
        (pictures / name).with_suffix(".txt").write_text(text)
    pack(pictures, tmp_path / "field", "--unlabelled", "--fields=txt", "--targets=caption:txt")
    assert target_of(tmp_path / "field", "caption")["name"] == "txt"
    assert [s["txt"].decode() for s in samples_of(tmp_path / "field")] == ["one", "zwölf", "three\nlines"]

    rows = [["image", "caption"], ["a.jpg", "one"], ["a.jpg", "uno, due"], ["b.jpg", ""], ["sub/c.jpg", "three"]]
    table = write_table(tmp_path / "captions.csv", rows)
    pack(pictures, tmp_path / "table", "--unlabelled", f"--targets=caption:{table}:caption")
    assert target_of(tmp_path / "table", "caption")["name"] == "caption"
    assert "captions, field caption\n" in packhorse("inspect", tmp_path / "table").out
    expected = ["one\nuno, due", "", "three"]
    assert [s["caption"].decode() for s in samples_of(tmp_path / "table")] == expected

    images = [{"id": i, "file_name": name} for i, name in enumerate(NAMES)]
    captions = [{"image_id": 2, "caption": "three\n"}, {"image_id": 0, "caption": "one"}, {"image_id": 0, "caption": "uno, due"}]
    (tmp_path / "captions.json").write_text(json.dumps({"images": images, "annotations": captions}))
    pack(pictures, tmp_path / "coco", "--unlabelled", f"--targets=caption:{tmp_path}/captions.json")
    assert [s["caption"].decode() for s in samples_of(tmp_path / "coco")] == expected


def test_a_file_of_captions_is_refused_in_plain_words(pictures, tmp_path):
    image, caption = {"id": 1, "file_name": "a.jpg"}, {"image_id": 1, "caption": "x"}
    for images, captions, words in (
        ([{"id": 1}], [caption], 'image 1 of its list: it has no file_name'),
        ([{**image, "id": [1]}], [caption], "image 1 of its list: "),
        ([image], [{**caption, "caption": 3}], "annotation 1 of its list: its caption is not a text"),
        ([image], [{**caption, "image_id": "2"}], 'a caption is for the image "2", which is not in its list'),
        ([image], [7], "annotation 1 of its list: it is not a JSON object"),
    ):
        file = tmp_path / "captions.json"
        file.write_text(json.dumps({"images": images, "annotations": captions}))
        assert words in pack(pictures, tmp_path / "out", "--unlabelled", "--targets", f"caption:{file}", code=USAGE).err


def test_classes_in_two_letter_cases_are_refused(pictures, tmp_path):
    table = write_table(tmp_path / "t.csv", [["file", "tags"], *([name, tag] for name, tag in zip(NAMES, ("cat", "dog|Cat", ""), strict=True))])
    words = pack(pictures, tmp_path / "out", "--targets", f"classes:{table}:tags", code=USAGE).err
    assert "'Cat' in line 3 and 'cat' in line 2 differ only in letter case" in words
    table = write_table(table, [["file", "cat", "Cat"], *([name, 1, 0] for name in NAMES)])
    assert "the columns 'cat' and 'Cat' differ only" in pack(pictures, tmp_path / "out", "--targets", f"classes:{table}:*", code=USAGE).err


def test_the_number_of_a_column_leaves_a_header_one(pictures, tmp_path):
    table = write_table(tmp_path / "t.csv", [["path", "tags"], *([name, "cat"] for name in NAMES)])
    pack(pictures, tmp_path / "out", "--targets", f"classes:{table}:2")
    assert target_of(tmp_path / "out", "classes")["classes"] == ["cat"]


def test_a_caption_that_is_no_text_is_a_reject(pictures, tmp_path):
    for name in NAMES:
        (pictures / name).with_suffix(".txt").write_bytes(b"\xff" if name == "b.jpg" else b"x")
    result = pack(pictures, tmp_path / "out", "--unlabelled", "--fields=txt", "--targets=caption:txt", code=DAMAGE)
    assert "b.jpg" in result.err and "UTF-8" in result.err
    assert "no field and no file 'text'" in pack(pictures, tmp_path / "out", "--unlabelled", "--targets=caption:text", code=USAGE).err


def mask_png(labels, palette=True):
    picture = Image.fromarray(labels, mode="P" if palette else "L")
    if palette:
        picture.putpalette([value for i in range(256) for value in (i, 255 - i, 7 * i % 256)])
    data = io.BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()


@pytest.fixture
def masks(pictures):
    labels = {}
    for i, name in enumerate(NAMES):
        labels[name] = numpy.random.default_rng(i).integers(0, 3, (24, 40), dtype=numpy.uint8)
        labels[name][0, 0] = 255
        (pictures / name).with_suffix(".seg.png").write_bytes(mask_png(labels[name], palette=i != 1))
    return labels


SEGMENTED = ["--unlabelled", "--fields=seg.png", "--targets=mask:seg.png"]


def read_mask(data):
    return numpy.asarray(Image.open(io.BytesIO(data)))


@pytest.mark.parametrize("form", CARRIERS)
def test_masks_are_kept_as_they_are(pictures, masks, tmp_path, form):
    packhorse("pack", pictures, tmp_path / "out", f"--format={form}", *SEGMENTED)
    assert target_of(tmp_path / "out", "mask") == {
        "name": "seg.png", "kind": "mask", "text": "", "classes": [], "keypoints": [], "ignore": 255
    }
    packhorse("inspect", "--verify=full", "--against", pictures, tmp_path / "out", *SEGMENTED)
    assert "masks of pixels, field seg.png\n" in packhorse("inspect", tmp_path / "out").out
    packhorse("unpack", tmp_path / "out", tmp_path / "back")
    for name in NAMES:
        back = next((tmp_path / "back").rglob(name)).with_suffix(".seg.png")
        assert back.read_bytes() == (pictures / name).with_suffix(".seg.png").read_bytes()


def test_masks_move_with_the_pixels(pictures, masks, tmp_path):
    pack(pictures, tmp_path / "out", *SEGMENTED, "--image=resize", "--short-side=12")
    for name, sample in zip(NAMES, samples_of(tmp_path / "out")):
        expected = numpy.asarray(Image.fromarray(masks[name]).resize((20, 12), Image.NEAREST))
        assert (read_mask(sample["seg.png"]) == expected).all()
    # The same for a dataset that is packed again.
    pack(pictures, tmp_path / "first", *SEGMENTED)
    pack(tmp_path / "first", tmp_path / "again", "--image=resize", "--short-side=12")
    assert target_of(tmp_path / "again", "mask")["ignore"] == 255
    for a, b in zip(samples_of(tmp_path / "out"), samples_of(tmp_path / "again")):
        assert a["seg.png"] == b["seg.png"]


def test_masks_that_are_none_are_rejects(pictures, masks, tmp_path):
    def reason(data, *args):
        (pictures / "b.seg.png").write_bytes(data)
        result = pack(pictures, tmp_path / "out", *SEGMENTED, *args, code=DAMAGE)
        assert "b.jpg" in result.err
        return result.err

    colours = io.BytesIO()
    Image.new("RGB", (40, 24)).save(colours, "PNG")
    good = mask_png(masks["b.jpg"])
    assert "colours" in reason(colours.getvalue())
    assert "24 x 40 pixels" in reason(mask_png(numpy.ascontiguousarray(masks["b.jpg"].T)))
    assert "no whole PNG" in reason(good[:-30])
    assert "no whole PNG" in reason(b"JPEG")
    names = tmp_path / "names.txt"
    names.write_text("wall\nfloor\nsky\n")
    (pictures / "b.seg.png").write_bytes(good)
    pack(pictures, tmp_path / "good", *SEGMENTED, f"--target-classes={names}")
    assert target_of(tmp_path / "good", "mask")["classes"] == ["wall", "floor", "sky"]
    beyond = masks["b.jpg"].copy()
    beyond[5, 5] = 3
    assert "the label 3" in reason(mask_png(beyond), f"--target-classes={names}")


def test_an_image_mode_that_cuts_is_refused(pictures, masks, tmp_path):
    raw = ["--image=raw", "--size=16"]
    assert "--fit letterbox" in pack(pictures, tmp_path / "out", *SEGMENTED, *raw, code=USAGE).err
    pack(pictures, tmp_path / "out", *SEGMENTED, *raw, "--fit=letterbox")
    mask = read_mask(samples_of(tmp_path / "out")[0]["seg.png"])
    assert mask.shape == (16, 16) and (mask[0] == 255).all() and mask[8].max() < 3


def test_sheets_show_masks_classes_and_captions(pictures, masks, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("wall\nfloor\nsky\n")
    for name in NAMES:
        (pictures / name).with_suffix(".txt").write_text("a caption")
    table = write_table(tmp_path / "tags.csv", [["image_name", "tags"], ["a", "x|y"], ["b", "x"], ["c", ""]])
    pack(pictures, tmp_path / "out", "--fields=seg.png,txt", "--targets=mask:seg.png", "--targets=caption:txt", f"--targets=classes:{table}")
    pack(pictures, tmp_path / "plain", "--unlabelled")
    for name in ["out", "plain"]:
        packhorse("inspect", tmp_path / name, f"--sheet={tmp_path / name}.jpg", "--sheet-tile=200")
    with Image.open(tmp_path / "out.jpg") as sheet, Image.open(tmp_path / "plain.jpg") as plain:
        assert sheet.height > plain.height  # captions and the colours' names
    packhorse("inspect", tmp_path / "out", "--show=0", "--draw", "-o", tmp_path / "a.png")
    drawn = numpy.asarray(Image.open(tmp_path / "a.png")).astype(int)
    image = numpy.asarray(Image.open(pictures / "a.jpg")).astype(int)
    changed = drawn - image // 2  # half the class's colour, for each class the same
    for label in range(3):
        assert numpy.ptp(changed[masks["a.jpg"] == label], axis=0).max() <= 2
    assert (drawn[masks["a.jpg"] == 255] == image[masks["a.jpg"] == 255]).all()
    packhorse("inspect", tmp_path / "out", f"--report={tmp_path}/report.html")
    assert "[x, y] a caption" in (tmp_path / "report.html").read_text()


def test_a_packed_dataset_keeps_its_targets_beside_those_given(pictures, masks, tmp_path):
    for name in NAMES:
        (pictures / name).with_suffix(".txt").write_text(name)
    pack(pictures, tmp_path / "first", "--unlabelled", "--fields=seg.png,txt", "--targets=mask:seg.png")
    pack(tmp_path / "first", tmp_path / "again", "--targets=caption:txt", "--image=resize", "--short-side=12")
    assert target_of(tmp_path / "again", "mask")["ignore"] == 255 and target_of(tmp_path / "again", "caption")
    for name, sample in zip(NAMES, samples_of(tmp_path / "again")):
        assert read_mask(sample["seg.png"]).shape == (12, 20) and sample["txt"].decode() == name
    pack(tmp_path / "again", tmp_path / "third", "--targets=caption:txt")
    assert "kind mask already" in pack(tmp_path / "first", tmp_path / "no", "--targets=mask:txt", code=USAGE).err
    table = write_table(tmp_path / "captions.csv", [["image", "caption"], ["a", "x"]])
    for options in (["caption:txt", f"val=caption:{table}"], [f"val=caption:{table}", "caption:txt"]):
        result = pack(pictures, tmp_path / "no", "--fields=txt", *(f"--targets={text}" for text in options), code=USAGE)
        assert "two of caption" in result.err


def test_targets_that_the_source_does_not_bring_are_asked_for(pictures, masks, tmp_path):
    pack(pictures, tmp_path / "masked", *SEGMENTED)
    table = write_table(tmp_path / "t.csv", [["file", "classes"], *([name, "x;y"] for name in NAMES)])
    given = f"--targets=classes:{table}:classes"
    pack(tmp_path / "masked", tmp_path / "both", given)
    assert run("inspect", tmp_path / "both", "--against", tmp_path / "masked", given).code == 0
    result = run("inspect", tmp_path / "both", "--against", tmp_path / "masked")
    assert result.code == USAGE and "give the same --targets as for `pack`" in result.err, result
    write_table(table, [["file", "classes"], *([name, "x;z"] for name in NAMES)])
    result = run("inspect", tmp_path / "both", "--against", tmp_path / "masked", given)
    assert result.code == DAMAGE and "1 of its classes has another name in the source: number 1 is 'y' in the dataset, 'z' there" in result.out


def test_a_caption_is_one_line_and_an_empty_cell_none(pictures, tmp_path):
    table = write_table(tmp_path / "t.csv", [["file", "caption"], ["a.jpg", "one\ntwo"], ["a.jpg", "three"], ["b.jpg", ""], ["b.jpg", "x"], ["sub/c.jpg", ""]])
    pack(pictures, tmp_path / "out", "--unlabelled", f"--targets=caption:{table}:caption")
    assert [sample["caption"] for sample in samples_of(tmp_path / "out")] == [b"one two\nthree", b"x", b""]


def test_a_table_that_names_an_image_in_two_ways_or_a_class_twice(pictures, tmp_path):
    table = write_table(tmp_path / "t.csv", [["file", "caption"], ["sub/c.jpg", "one"], ["c.jpg", "two"], ["a.jpg", "a"], ["b.jpg", "b"]])
    result = pack(pictures, tmp_path / "out", "--unlabelled", f"--targets=caption:{table}:caption", code=DAMAGE)
    assert "sub/c.jpg: t.csv: lines 2 and 3 of the labels file say different things of it" in result.err
    write_table(table, [["file", "caption"], *([name, text] for text in "xy" for name in (*NAMES, "c.jpg"))])
    pack(pictures, tmp_path / "same", "--unlabelled", f"--targets=caption:{table}:caption")
    assert [sample["caption"] for sample in samples_of(tmp_path / "same")] == [b"x\ny"] * 3
    table = write_table(tmp_path / "c.csv", [["file", "x", "x"], *([name, 1, 0] for name in NAMES)])
    result = pack(pictures, tmp_path / "out", "--unlabelled", f"--targets=classes:{table}:*", code=USAGE)
    assert "names the column 'x' twice" in result.err
