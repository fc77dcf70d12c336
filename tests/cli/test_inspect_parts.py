"""`packhorse inspect` beyond the summary: the choices of --list, contact sheets, the HTML report, output to a
terminal."""

import base64
import html.parser
import io
import re
import shutil

import pytest
from PIL import Image, ImageOps
from python_support import (
    DAMAGE,
    FAILED,
    SHAPES,
    USAGE,
    copy_tree,
    flip_byte,
    listed,
    on_terminal,
    pack,
    packhorse,
    refused,
    run,
)

STRANGE = ["<b>alert(1)<script>", "wood & \"straw'", "wölkchen", "x" * 90]


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    out = tmp_path_factory.mktemp("inspect") / "packed"
    pack(SHAPES, out, "--format", "wds", "--shard-samples", "30")
    return out / "train"


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    """Classes of 5, 10, 15 and 20 images whose names are hard to print safely."""
    root = tmp_path_factory.mktemp("strange")
    for i, (name, of) in enumerate(zip(STRANGE, ["balls", "wood", "clouds", "bricks"])):
        (root / "source" / name).mkdir(parents=True)
        for image in sorted((SHAPES / "train" / of).glob("*.*"))[: 5 * (i + 1)]:
            shutil.copy(image, root / "source" / name)
    pack(root / "source", root / "out", "--format", "hdf5")
    return root / "out"


@pytest.fixture
def damaged(packed, tmp_path):
    """The dataset with sample 1 damaged."""
    sample = listed(packed)[1]
    copy_tree(packed, tmp_path / "damaged")
    flip_byte(tmp_path / "damaged" / sample["shard"], sample["offset"] + sample["bytes"] // 2)
    return tmp_path / "damaged"


# The plain summary, without the parts that depend on the versions of libraries and of packhorse.
SUMMARY = """\
train
  format   wds, images original
  samples  120 in 4 shards, 1.0 MiB of images in 1.3 MiB of shards
  classes  6, each with 20 images
  kinds    1 bmp, 114 jpeg, 4 png, 1 webp
  colours  2 grey, 116 colour, 2 colour with alpha or CMYK; 3 rotated when shown, by their EXIF
  sizes    short side 96 to 400 pixels, median 133
  bytes    1.6 KiB to 37.1 KiB per image, median 6.8 KiB
  source   seen 122 = packed 120 + rejected 0 + skipped 2
  order    shuffled, seed 0
  id       0514f162baeaf9acc90853b1ee57af89292aa39e831ec88c644fcd43dd75f197
  made by  packhorse VERSION: pack SOURCE OUT --format wds --image original --shard-samples 30 --seed 0
  short side, pixels
    96-127   52   43.3 %  ########################################
    128-159  26   21.7 %  ####################
    160-191  20   16.7 %  ###############
    192-223  17   14.2 %  #############
    224-255   1    0.8 %  #
    256-287   2    1.7 %  ##
    288-400   2    1.7 %  ##
  shape (width : height), rounded
    9:16   7    5.8 %  ############
    2:3    4    3.3 %  #######
    3:4    6    5.0 %  ##########
    4:5   19   15.8 %  #################################
    1:1   20   16.7 %  ###################################
    5:4   23   19.2 %  ########################################
    4:3   17   14.2 %  ##############################
    3:2   14   11.7 %  ########################
    16:9  10    8.3 %  #################
  size of an image
    1.6 KiB to 8 KiB    72   60.0 %  ########################################
    8 KiB to 16 KiB     34   28.3 %  ###################
    16 KiB to 24 KiB     8    6.7 %  ####
    24 KiB to 32 KiB     4    3.3 %  ##
    32 KiB to 37.1 KiB   2    1.7 %  #
  shard             samples       size        sha256
  shard-000000.tar       30  310.5 KiB  6eb61fa63f7f
  shard-000001.tar       30  291.0 KiB  9e5bd8c87d34
  shard-000002.tar       30  385.0 KiB  ab626d9d9eb6
  shard-000003.tar       30  301.0 KiB  c53dc6170850
"""


def test_the_plain_summary(packed):
    text = packhorse("inspect", "train", cwd=packed.parent).out
    assert re.sub(r"packhorse \d[^:]*:", "packhorse VERSION:", text) == SUMMARY


def test_the_numbers_are_those_of_the_list(packed):
    """The summary's counts, made again from --list."""
    samples, summary = listed(packed), packhorse("inspect", packed, "--json").json
    upright = [(s["height"], s["width"]) if s["orientation"] > 4 else (s["width"], s["height"]) for s in samples]
    for name, values in [
        ("width", [w for w, _ in upright]),
        ("height", [h for _, h in upright]),
        ("short_side", [min(size) for size in upright]),
        ("image_bytes", [s["bytes"] for s in samples]),
    ]:
        said = summary[name]
        assert (said["min"], said["max"]) == (min(values), max(values))
        assert abs(said["median"] - sorted(values)[len(values) // 2]) <= max(values) / 512
        assert (said["bins"][0]["from"], said["bins"][-1]["below"]) == (min(values), max(values) + 1)
        for bin in said["bins"]:
            assert bin["samples"] == sum(bin["from"] <= v < bin["below"] for v in values), name
    assert summary["turned"] == sum(s["orientation"] > 1 for s in samples)
    assert summary["components"] == {
        str(n): sum(s["components"] == n for s in samples) for n in sorted({s["components"] for s in samples})
    }
    assert sum(s["samples"] for s in summary["shapes"]) == len(samples)


def test_class_balance(strange):
    balance = packhorse("inspect", strange, "--json").json["class_balance"]
    assert balance["largest"]["samples"] == 20 and balance["smallest"] == {"name": STRANGE[0], "samples": 5}
    assert balance["ratio"] == 4 and balance["empty"] == 0
    text = packhorse("inspect", strange).out
    assert "4, from 5 (<b>alert(1)<script>) to 20 images" in text and "x" * 60 not in text


@pytest.mark.parametrize("image", [("resize", "--quality", "80"), ("raw", "--size", "32")])
def test_the_recorded_options_make_the_same_dataset(tmp_path, image):
    options = ("--image", *image, "--shard-bytes", "64KiB", "--seed", "3")
    first = pack(SHAPES / "val", tmp_path / "a", "--format", "wds", *options)
    recorded = packhorse("inspect", tmp_path / "a", "--json").json["options"]
    assert pack(SHAPES / "val", tmp_path / "b", *recorded)["id"] == first["id"]


def test_many_shards_are_one_line(tmp_path):
    pack(SHAPES / "val", tmp_path / "out", "--format", "wds", "--shard-samples", "3")
    lines = packhorse("inspect", tmp_path / "out").out.splitlines()
    assert "shard-000000.tar to shard-000011.tar, each of 3 samples" in lines[-1]
    assert not [line for line in lines[:-1] if "shard-0" in line]


def test_a_terminal_gets_colour_and_bars_of_its_width(packed):
    text = on_terminal("inspect", packed)
    assert "\x1b[" in text and "█" in text and "####" not in text
    bars = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in text.splitlines() if "█" in line]
    assert max(len(bar) for bar in bars) <= 60
    for refusal in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        text = on_terminal("inspect", packed, **refusal)
        assert "\x1b" not in text and "█" in text
    text = on_terminal("inspect", packed, LC_ALL="C")
    assert text.isascii() and "####" in text


def test_the_list_can_be_narrowed(packed):
    everything = packhorse("inspect", packed, "--list").out.splitlines()

    def of(*options):
        return packhorse("inspect", packed, "--list", *options).out.splitlines()

    assert of("--samples", "3-5,0,119") == [everything[i] for i in (3, 4, 5, 0, 119)]
    balls = [line for line in everything if line.split("\t")[3] == "balls"]
    assert len(balls) == 20 and of("--class", "balls") == of("--class", "0") == balls
    two = [line for line in everything if line.split("\t")[3] in ("balls", "wood")]
    assert of("--class", "wood", "--class", "balls") == two
    assert of("--class", "balls", "--samples", "0-50") == [b for b in balls if int(b.split("\t")[0]) <= 50]
    (one,) = packhorse("inspect", packed, "--list", "--json", "--samples", "7").json["samples"]
    assert one["sample"] == 7


def test_a_choice_that_makes_no_sense_is_refused(packed):
    for name, value, code in (
        ("--samples", "5-3", USAGE),
        ("--samples", "one", USAGE),
        ("--samples", "1,,2", USAGE),
        ("--samples", "120", FAILED),
        ("--class", "dragons", FAILED),
        ("--class", "6", FAILED),
    ):
        assert "next: " in refused("inspect", packed, "--list", name, value, code=code).err
    refused("inspect", packed, "--class", "balls", code=USAGE)  # nothing shows it


def test_show_finds_a_source_path(packed):
    sample = listed(packed)[40]
    assert packhorse("inspect", packed, "--show", sample["path"], "--json").json == sample


def opened(path):
    image = Image.open(path)
    image.load()
    return image


def sheet(dataset, path, *options):
    return packhorse("inspect", dataset, "--sheet", path, "--json", *options).json["sheet"]


def test_a_sheet_has_the_tiles_it_says(packed, tmp_path):
    options = ("--sheet-count", "10", "--sheet-columns", "5", "--sheet-tile", "64")
    said = sheet(packed, tmp_path / "a.png", *options)
    image = opened(tmp_path / "a.png")
    assert image.size == (said["width"], said["height"]) == (10 + 5 * 74, 10 + 2 * (64 + 34 + 10))
    assert len(said["samples"]) == 10 and said["columns"] == 5 and said["damaged"] == []
    samples = listed(packed)
    for one in said["samples"]:
        s = samples[one["sample"]]
        assert (one["key"], one["label"], one["class"]) == (s["key"], s["label"], s["class"])


def test_tiles_keep_their_shape_and_show_the_image(packed, tmp_path):
    sheet(packed, tmp_path / "a.png", "--samples", "0-11", "--sheet-columns", "4", "--sheet-tile", "96")
    whole = opened(tmp_path / "a.png").convert("RGB")
    for i, s in enumerate(listed(packed)[:12]):
        x, y = 10 + i % 4 * 106, 10 + i // 4 * 140
        with Image.open(SHAPES / "train" / s["path"]) as source:
            picture = ImageOps.exif_transpose(source).convert("RGB")
        scale = 96 / max(picture.size)
        size = [max(1, int(n * scale + 0.5)) for n in picture.size]
        small = picture.resize(size, Image.BOX)
        left, top = x + (96 - size[0]) // 2, y + (96 - size[1]) // 2
        tile = whole.crop((left, top, left + size[0], top + size[1]))
        difference = sum(abs(a - b) for a, b in zip(small.tobytes(), tile.tobytes())) / len(tile.tobytes())
        # Libraries' filters differ a little; a shift by one pixel gives 20 and more.
        assert difference < 14, (s["path"], difference)


def test_a_sheet_is_deterministic_and_follows_its_seed(packed, tmp_path):
    first = sheet(packed, tmp_path / "a.jpg")
    again = sheet(packed, tmp_path / "b.jpg", "--jobs", "1")
    numbers = [s["sample"] for s in first["samples"]]
    assert numbers == sorted(set(numbers)) and numbers[-1] >= 60
    assert first["samples"] == again["samples"] and len(first["samples"]) == 48
    assert (tmp_path / "a.jpg").read_bytes() == (tmp_path / "b.jpg").read_bytes()
    other = sheet(packed, tmp_path / "c.jpg", "--sheet-seed", "1")
    assert other["samples"] != first["samples"]
    assert opened(tmp_path / "a.jpg").format == "JPEG"


def test_a_sheet_of_classes_keeps_them_together(packed, tmp_path):
    said = sheet(packed, tmp_path / "a.jpg", "--sheet-of", "per-class", "--sheet-count", "3")
    assert [s["label"] for s in said["samples"]] == [label for label in range(6) for _ in range(3)]
    assert said["columns"] % 3 == 0
    some = sheet(packed, tmp_path / "a.jpg", "--sheet-of", "first", "--class", "wood", "--sheet-count", "5")
    wood = [s["sample"] for s in listed(packed) if s["class"] == "wood"]
    assert [s["sample"] for s in some["samples"]] == wood[:5]


def test_a_sheet_shows_damage_and_counts_it(damaged, tmp_path):
    result = run("inspect", damaged, "--sheet", tmp_path / "a.png", "--samples", "0-3", "--sheet-columns", "4")
    assert result.code == DAMAGE and "1 of 4 images could not be shown" in result.err
    assert "damaged: sample 1, key 000000001" in result.err
    corners = [opened(tmp_path / "a.png").convert("RGB").getpixel((10 + i * 138, 10)) for i in range(4)]
    assert [red > 180 and green < 80 and blue < 80 for red, green, blue in corners] == [False, True, False, False]


def test_strange_names_can_be_drawn(strange, tmp_path):
    assert len(sheet(strange, tmp_path / "a.png", "--sheet-of", "per-class")["samples"]) == 5 + 8 + 8 + 8


def test_a_sheet_that_cannot_be_is_a_usage_error(packed, tmp_path):
    for options in (
        ("--sheet", "x.txt"),
        ("--sheet", "x.jpg", "--sheet-count", "120", "--sheet-tile", "1024", "--sheet-columns", "120"),
        ("--sheet-count", "3"),
        ("--sheet", "x.jpg", "--list"),
    ):
        refused("inspect", packed, *options, code=USAGE, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


class Page(html.parser.HTMLParser):
    """The parts of a page: elements, addresses it refers to, its text, the elements left open at its end."""

    ALONE = {"meta", "img", "rect", "br"}

    def __init__(self, path):
        super().__init__()
        self.tags, self.addresses, self.words, self.open = [], [], [], []
        self.feed(path.read_text())
        self.close()
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.ALONE:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)
        else:
            assert "url(" not in data and "@import" not in data


def report(dataset, path, *options):
    said = packhorse("inspect", dataset, "--report", path, "--json", *options).json["report"]
    page = Page(path)
    assert page.open == [] and not {"script", "link", "iframe", "object"} & set(page.tags)
    assert all(address.startswith("data:image/jpeg;base64,") for address in page.addresses)
    return said, page


def test_a_report_holds_summary_charts_and_pictures_as_many_as_asked_for(packed, tmp_path):
    said, page = report(packed, tmp_path / "a.html", "--report-images", "4")
    assert said["pictures"] == len(page.addresses) == 24 and said["damaged"] == 0
    assert page.tags.count("svg") == 3 and page.tags.count("h4") == 6
    assert "6, each with 20 images" in page.text and "Verification" not in page.text
    for address in page.addresses:
        assert max(opened(io.BytesIO(base64.b64decode(address.split(",")[1]))).size) <= 112
    said, page = report(packed, tmp_path / "b.html", "--report-classes", "2", "--report-images", "1")
    assert said["pictures"] == 2 and "2 of 6 classes" in page.text
    assert report(packed, tmp_path / "c.html", "--report-classes", "0")[1].addresses == []


def test_a_report_escapes_names(strange, tmp_path):
    _, page = report(strange, tmp_path / "a.html")
    assert "b" not in page.tags and all(name in page.text for name in STRANGE)


def test_a_report_of_splits_has_a_part_for_each(packed, tmp_path):
    said, page = report(packed.parent, tmp_path / "a.html", "--report-images", "1")
    assert said["datasets"] == 2 and page.tags.count("svg") == 6
    assert page.text.count("order shuffled, seed 0") == 2


def test_a_report_is_deterministic(packed, tmp_path):
    report(packed, tmp_path / "a.html", "--jobs", "1")
    report(packed, tmp_path / "b.html", "--jobs", "3")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_report_says_what_was_verified(packed, damaged, tmp_path):
    for level, words in [("full", "MiB read"), ("quick", "no image was read")]:
        good = packhorse("inspect", packed, "--verify", level, "--report", tmp_path / "a.html")
        text = Page(tmp_path / "a.html").text
        assert good.out.startswith("ok: ") and "No damage found." in text and words in text
    bad = run("inspect", damaged, "--verify", "full", "--json", "--report", tmp_path / "b.html")
    assert bad.code == DAMAGE and len(bad.json["findings"]) == 1
    page = Page(tmp_path / "b.html")
    assert "1 finding." in page.text and bad.json["findings"][0]["detail"] in page.text


def test_a_report_shows_a_damaged_image_as_such(damaged, tmp_path):
    result = run("inspect", damaged, "--report", tmp_path / "a.html", "--report-images", "20")
    assert result.code == DAMAGE and "1 of 120 images could not be shown" in result.err
    page = Page(tmp_path / "a.html")
    assert len(page.addresses) == 119 and " damaged #1 " in page.text


def test_a_report_of_what_cannot_be_opened_needs_a_verification(packed, tmp_path):
    copy_tree(packed, tmp_path / "broken")
    (tmp_path / "broken/shard-000001.index").unlink()
    assert run("inspect", tmp_path / "broken", "--report", tmp_path / "a.html").code == FAILED
    assert not (tmp_path / "a.html").exists()
    result = run("inspect", tmp_path / "broken", "--verify", "quick", "--report", tmp_path / "a.html")
    assert result.code == DAMAGE and "Cannot be opened:" in Page(tmp_path / "a.html").text
