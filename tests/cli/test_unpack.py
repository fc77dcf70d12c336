"""`packhorse unpack` from outside: what was packed comes back byte for byte, under any name a file can have."""

import os

import pytest
from python_support import (
    DAMAGE,
    FORMATS,
    SHAPES,
    copy_tree,
    flip_byte,
    listed,
    make_source,
    pack,
    packhorse,
    photo,
    photos,
    refused,
    run,
    staging,
    tree,
)

JPEG = photo()


def round_trip(source, scratch, form, *options):
    pack(source, scratch / "packed", "--format", form, *options)
    packhorse("unpack", scratch / "packed", scratch / "unpacked")
    assert not staging(scratch / "unpacked").exists()
    return tree(scratch / "unpacked")


@pytest.mark.parametrize("form", FORMATS)
def test_samples_come_back_byte_for_byte(tmp_path, form):
    def is_packed(name):  # packing skips the text file, the dot file and the README
        return not name.startswith(b".") and not name.endswith((b".txt", b".md"))

    assert round_trip(SHAPES, tmp_path, form, "--shard-samples", "17") == tree(SHAPES, only=is_packed)


def test_photos_come_back_byte_for_byte(tmp_path):
    source = photos("imagenet/imagenet200")
    assert round_trip(source, tmp_path, "lmdb", "--shard-bytes", "5MiB") == tree(source)


ODD_NAMES = [
    b"new\nline.jpg",
    b"tab\tand space .jpg",
    b"-rf",
    b"--help.jpg",
    b"\xff\xfe no text.jpg",
    b"\xc3.jpg",
    b"quote'\".jpg",
    b"back\\slash.jpg",
    b"*?[a].jpg",
    b"a.b.c.jpg",
    b"no_extension",
    b"wrong.png",
    b"UPPER.JPG",
    b"~",
    b"$HOME.jpg",
    "größe 漢字 🐴.jpg".encode(),
    b"0.jpg",
    b"0.cls",
    b"0.index",
    b"shard-000000.tar",
    b"dataset.json",
    b"x" * 251 + b".jpg",
    b"y" * 255,
    b"con\x01trol\x7f.jpg",
    b"%s%n.jpg",
    b"a\r.jpg",
    b"..jpg.",
]


def odd_source(path, classes):
    """Puts a file with each odd name into each class and into a deep folder of it; every file has its own bytes."""
    for c, name in enumerate(classes):
        for folder in (name, name + b"/sub folder/\xfe/" + b"z" * 255):
            full = os.path.join(os.fsencode(path), folder)
            os.makedirs(full)
            for i, file in enumerate(ODD_NAMES):
                if not file.startswith(b"."):
                    with open(os.path.join(full, file), "wb") as out:
                        out.write(JPEG + bytes([c, i, len(folder) % 256]))
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_files_with_odd_names_come_back_under_them(tmp_path, form):
    source = odd_source(tmp_path / "source", [b"-class in valid\xff", "klasse ü".encode() + b"c" * 240])
    assert round_trip(source, tmp_path, form, "--shard-samples", "50", "--classes-at", "1") == tree(source)
    packhorse("inspect", tmp_path / "packed", "--verify", "full")
    assert len(listed(tmp_path / "packed")) == 2 * 2 * (len(ODD_NAMES) - 1)


def test_a_class_name_with_a_line_break_is_refused(tmp_path):
    source = odd_source(tmp_path / "source", [b"line\nbreak", b"class"])
    result = refused("pack", source, tmp_path / "out", "--format", "wds", "--classes-at", "1", code=2)
    assert "line break" in result.err and "next: " in result.err
    assert os.listdir(tmp_path) == ["source"]


def test_a_path_that_is_too_deep_to_open_is_rejected_by_name_or_packed(tmp_path):
    """A path longer than PATH_MAX can be listed folder by folder, but not opened by its name."""
    source = make_source(tmp_path / "source", 4, classes=2)
    folder = os.open(source / "class-0", os.O_RDONLY)
    for _ in range(18):
        os.mkdir("d" * 250, dir_fd=folder)
        deeper = os.open("d" * 250, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = deeper
    with os.fdopen(os.open("deep.jpg", os.O_CREAT | os.O_WRONLY, dir_fd=folder), "wb") as file:
        file.write(JPEG)
    os.close(folder)
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--json", "--classes-at", "1")
    assert result.json["seen"] == 5 and result.json["seen"] == result.json["packed"] + result.json["rejected"]
    assert result.code == (DAMAGE if result.json["rejected"] else 0), result
    if result.json["rejected"]:
        assert "File name too long" in result.err


def test_empty_class_folders_come_back(tmp_path):
    source = make_source(tmp_path / "source", 4)
    (source / "class-9").mkdir()
    assert round_trip(source, tmp_path, "wds", "--allow-odd-classes") == tree(source)


def test_unpacking_says_what_it_did(tmp_path):
    pack(SHAPES, tmp_path / "packed", "--format", "wds")
    text = packhorse("unpack", "packed/val", "photos", cwd=tmp_path).out
    assert text == "unpacked 36 images, 228.5 KiB, into photos\n"
    report = packhorse("unpack", "packed", "all", "--json", cwd=tmp_path).json
    assert report == {
        "samples": 156,
        "bytes": sum(s["bytes"] for d in ("train", "val") for s in listed(tmp_path / "packed" / d)),
    }


def test_an_existing_target_is_left_alone(tmp_path):
    pack(make_source(tmp_path / "source", 4), tmp_path / "packed", "--format", "wds")
    before = tree(tmp_path / "source")
    result = refused("unpack", tmp_path / "packed", tmp_path / "source")
    assert "already exists" in result.err and str(tmp_path / "source") in result.err and "next: " in result.err
    assert tree(tmp_path / "source") == before


def test_what_is_no_dataset_is_not_unpacked(tmp_path):
    for source in (tmp_path / "nowhere", SHAPES):
        assert "next: " in refused("unpack", source, tmp_path / "out").err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("form", FORMATS)
def test_a_damaged_image_is_named_and_nothing_is_left(tmp_path, form):
    pack(make_source(tmp_path / "source", 20), tmp_path / "packed", "--format", form, "--shard-samples", "8")
    sample = listed(tmp_path / "packed")[13]
    damaged = copy_tree(tmp_path / "packed", tmp_path / "damaged")
    flip_byte(damaged / sample["shard"], sample["offset"] + sample["bytes"] - 1)
    result = refused("unpack", damaged, tmp_path / "out", code=DAMAGE)
    assert sample["key"] in result.err and sample["shard"] in result.err and "next: " in result.err, result
    assert sorted(os.listdir(tmp_path)) == ["damaged", "packed", "source"]
