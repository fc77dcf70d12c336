"""Fields whose files lie in other folders of a source (--field-from), and sources without classes (--unlabelled)."""

import os
import shlex
import shutil
import tarfile

import pytest
from python_support import DAMAGE, DONE, USAGE, pack, pack_closed, photo, put, rejects_of, run, tree

WDS = ("--format", "wds")


def image(path, number):
    put(path, photo() + number.to_bytes(4, "little"))


def source_with_masks(root, stems=(1, 2, 3), masks=(1, 2, 3)):
    """images/1.jpg ... and masks/1.png ..."""
    for number in stems:
        image(root / f"images/{number}.jpg", number)
    for number in masks:
        put(root / f"masks/{number}.png", f"mask {number}")
    return root


def refusal(*arguments, **options):
    result = run("pack", *arguments, **options)
    assert result.code == USAGE and "  next:  " in result.err, result
    return result.err


def members(dataset):
    """Path in the source -> its fields, by unpacking."""
    out = dataset.parent / f"{dataset.name}-unpacked"
    assert run("unpack", dataset, out).code == DONE
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_a_dataset_holds_the_bytes_of_the_files(tmp_path):
    source = source_with_masks(tmp_path / "source")
    options = ("--field-from", "mask.png=masks", "--unlabelled")
    pack(source, tmp_path / "out", "--format", "hdf5", *options)
    found = members(tmp_path / "out")
    assert {path: data for path, data in found.items() if path.endswith(".mask.png")} == {
        f"images/{n}.mask.png": f"mask {n}".encode() for n in (1, 2, 3)
    }
    assert run("inspect", tmp_path / "out", "--verify", "full").code == DONE
    assert "cannot hold the extra fields mask.png" in refusal(source, tmp_path / "no", "--format", "lmdb", *options)


def test_a_folder_and_its_archives_give_the_same_shards(tmp_path):
    source = source_with_masks(tmp_path / "source", masks=(1, 3, 9))
    shutil.make_archive(str(tmp_path / "source"), "zip", source)
    shutil.make_archive(str(tmp_path / "source"), "gztar", source)
    options = (*WDS, "--optional-field-from", "mask.png=masks", "--unlabelled")
    reports = [
        pack(tmp_path / name, tmp_path / f"out-{name}", *options) for name in ("source", "source.zip", "source.tar.gz")
    ]
    assert len({report["id"] for report in reports}) == 1
    assert [(r["packed"], r["rejected"], r["skipped"]) for r in reports] == [(3, 0, 1)] * 3
    assert tree(tmp_path / "out-source") == tree(tmp_path / "out-source.zip") == tree(tmp_path / "out-source.tar.gz")


def test_an_image_without_a_required_field_is_rejected_by_name(tmp_path):
    source = source_with_masks(tmp_path / "source", masks=(1, 3))
    result = run("pack", source, tmp_path / "out", *WDS, "--field-from", "mask.png=masks", "--unlabelled")
    assert result.code == DAMAGE and not (tmp_path / "out").exists()
    assert "rejected: images/2.jpg: it has no field mask.png: there is no 'masks/2.png'" in result.err
    assert "--optional-field-from" in result.err


def test_an_image_without_an_optional_field_is_packed_and_counted(tmp_path):
    source = source_with_masks(tmp_path / "source", masks=(1, 3, 9))
    options = (*WDS, "--optional-field-from", "mask.png=masks", "--unlabelled")
    result = run("pack", source, tmp_path / "out", *options)
    assert result.code == DONE, result
    assert "note: without the field mask.png: 1 of 3 images; for 'images/2.jpg' it would be 'masks/2.png'" in result.out
    assert "skipped 1: a field without its image" in result.out
    assert len([path for path in members(tmp_path / "out") if path.endswith(".mask.png")]) == 2


@pytest.mark.parametrize("option", ["--field-from", "--optional-field-from"])
def test_a_folder_of_fields_that_cannot_be_listed_rejects_its_images(option):
    def make(root):
        for name in ("a/1", "a/2", "b/3"):
            (root / "images" / name).parent.mkdir(parents=True, exist_ok=True)
            image(root / f"images/{name}.jpg", 1)
            put(root / f"masks/{name}.png", "mask")

    result = pack_closed(make, "masks/b", option, "mask.png=masks")
    assert result.code == DAMAGE, result
    assert rejects_of(result.json) == {
        "images/b/3.jpg": "its field mask.png: unreadable folder 'masks/b': Permission denied"
    }


def test_a_field_that_no_image_has_names_the_path_it_looked_for(tmp_path):
    source = source_with_masks(tmp_path / "source")
    options = ("--unlabelled", "--optional-field-from")
    err = refusal(source, tmp_path / "out", *WDS, *options, "mask.png=mask")
    assert "no image has the field mask.png: for 'images/1.jpg' it would be 'mask/1.png'" in err
    err = refusal(source, tmp_path / "out", *WDS, *options, "mask.gif=masks")
    assert "it would be 'masks/1.gif', and there is 'masks/1.png'" in err
    err = refusal(source, tmp_path / "out", *WDS, *options, "mask.png={split}_masks/{stem}.png")
    assert "no file's name could be made for 'images/1.jpg'" in err


def test_a_file_for_two_images_is_refused(tmp_path):
    for number, name in enumerate(("cat/1.jpg", "dog/1.jpg")):
        image(tmp_path / "source" / name, number)
    put(tmp_path / "source/masks/1.png", "whose?")
    err = refusal(tmp_path / "source", tmp_path / "out", *WDS, "--field-from", "mask.png=masks/{stem}.png")
    assert "two images would take one file as their field mask.png, 'masks/1.png'" in err and "{dir}" in err


def test_images_that_differ_in_their_extension_share_a_file(tmp_path):
    source = source_with_masks(tmp_path / "source", stems=(1,), masks=(1,))
    image(source / "images/1.png", 7)
    report = pack(source, tmp_path / "out", *WDS, "--field-from", "mask.png=masks", "--unlabelled")
    assert report["packed"] == 2


def test_class_folders_are_mirrored_and_stay_the_classes(tmp_path):
    for number, name in enumerate(("cat/a/1", "cat/2", "dog/1")):
        image(tmp_path / f"source/images/{name}.jpg", number)
        put(tmp_path / f"source/masks/{name}.png", f"mask of {name}")
    pack(tmp_path / "source", tmp_path / "out", *WDS, "--field-from", "mask.png=masks", "--classes-at", "2")
    assert (tmp_path / "out/classes.txt").read_text() == "cat\ndog\n"
    found = members(tmp_path / "out")
    assert found["images/cat/a/1.mask.png"] == b"mask of cat/a/1" and found["images/dog/1.mask.png"] == b"mask of dog/1"


def test_other_pictures_in_the_folder_of_a_field_are_no_images(tmp_path):
    source = source_with_masks(tmp_path / "source", masks=())
    for number in (1, 2, 3):
        put(source / f"masks/{number}_labels.png", f"mask {number}")
        image(source / f"masks/{number}_colours.png", 10 + number)
    for options in (("--unlabelled",), ("--label-pattern", "^(images)/"), ("--allow-odd-classes",)):
        out = tmp_path / options[0]
        result = run("pack", source, out, *WDS, "--field-from", "mask.png=masks/{stem}_labels.png", *options, "--json")
        assert result.code == DONE and (result.json["packed"], result.json["skipped"]) == (3, 3), result
        assert (out / "classes.txt").read_text() in ("unlabelled\n", "images\n")


def test_images_and_masks_in_one_folder(tmp_path):
    for number in (1, 2, 3):
        image(tmp_path / f"source/images/{number}.jpg", number)
        if number < 3:
            put(tmp_path / f"source/images/{number}_mask.png", f"mask {number}")
    result = run("pack", tmp_path / "source", tmp_path / "out", *WDS, "--unlabelled", "--field-from",
                 "mask.png=images/{stem}_mask.png")
    assert result.code == DAMAGE and "rejected: images/3.jpg: it has no field mask.png" in result.err, result


def test_splits_have_their_own_folders(tmp_path):
    for number, split in enumerate(("Training", "valid")):
        image(tmp_path / f"source/{split}/images/1.jpg", number)
        put(tmp_path / f"source/{split}/labels/1.txt", split)
    report = pack(tmp_path / "source", tmp_path / "out", *WDS, "--field-from", "txt={split}/labels", "--unlabelled")
    assert [split["split"] for split in report["splits"]] == ["train", "val"]
    assert members(tmp_path / "out/train")["images/1.txt"] == b"Training"
    assert members(tmp_path / "out/val")["images/1.txt"] == b"valid"


def test_against_and_repair_take_the_same_options(tmp_path):
    source = source_with_masks(tmp_path / "source")
    options = ("--field-from", "mask.png=masks", "--unlabelled")
    pack(source, tmp_path / "out", *WDS, *options)
    assert run("inspect", tmp_path / "out", "--against", source, *options).code == DONE
    missing = run("inspect", tmp_path / "out", "--against", source, "--unlabelled")
    assert missing.code != DONE and "--field-from mask.png=FOLDER" in missing.err, missing
    shard = tmp_path / "out/shard-000000.tar"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:1000] + b"?" + whole[1001:])
    assert run("repair", tmp_path / "out", source, *options).code == DONE
    assert shard.read_bytes() == whole
    put(source / "masks/2.png", "another")
    changed = run("inspect", tmp_path / "out", "--against", source, *options)
    assert changed.code == DAMAGE and "mask.png" in changed.out + changed.err, changed


def test_the_preview_shows_the_fields(tmp_path):
    source = source_with_masks(tmp_path / "source")
    put(source / "captions/1.txt", "a caption")
    options = ("--field-from", "mask.png=masks", "--optional-field-from", "txt=captions", "--unlabelled", "--dry-run")
    text = run("pack", source, tmp_path / "out", *WDS, *options).out
    assert "images/1.jpg is unlabelled, label 0, with mask.png, txt\n" in text
    assert "images/2.jpg is unlabelled, label 0, with mask.png\n" in text
    examples = pack(source, tmp_path / "out", *WDS, *options)["preview"]["splits"][0]["examples"]
    assert [example["fields"] for example in examples] == [["mask.png", "txt"], ["mask.png"], ["mask.png"]]


def test_no_place_leads_out_of_the_source(tmp_path):
    source = source_with_masks(tmp_path / "source", masks=(1, 3))
    put(tmp_path / "secret/2.png", "secret")
    for place in ("../secret", "/etc", "masks/../../secret"):
        result = run("pack", source, tmp_path / "out", *WDS, "--unlabelled", "--field-from", f"mask.png={place}")
        assert result.code == USAGE and not (tmp_path / "out").exists(), result
    os.symlink(tmp_path / "secret/2.png", source / "masks/2.png")
    result = run("pack", source, tmp_path / "out", *WDS, "--unlabelled", "--field-from", "mask.png=masks")
    assert result.code == DAMAGE and not (tmp_path / "out").exists()
    assert "rejected: images/2.jpg: its field mask.png: a link that leads out of the source" in result.err, result
    os.remove(source / "masks/2.png")
    os.symlink("1.png", source / "masks/2.png")
    assert pack(source, tmp_path / "out", *WDS, "--unlabelled", "--field-from", "mask.png=masks")["packed"] == 3


def test_members_of_archives_that_are_links_are_fields_of_their_target(tmp_path):
    source = source_with_masks(tmp_path / "source", stems=(1, 2), masks=(1,))
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name in ("masks/1.png", "images/1.jpg", "images/2.jpg"):
            tar.add(source / name, name)
        link = tarfile.TarInfo("masks/2.png")
        link.type, link.linkname = tarfile.LNKTYPE, "masks/1.png"
        tar.addfile(link)
        link = tarfile.TarInfo("masks/3.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    report = pack(tmp_path / "a.tar", tmp_path / "out", *WDS, "--unlabelled", "--field-from", "mask.png=masks")
    assert (report["packed"], report["skipped"]) == (2, 1)
    assert members(tmp_path / "out")["images/2.mask.png"] == b"mask 1"


def test_a_changed_mask_is_packed_again_after_an_interruption(tmp_path):
    source = source_with_masks(tmp_path / "source", masks=(1, 2))
    options = (*WDS, "--field-from", "mask.png=masks", "--unlabelled", "--shard-samples", "1", "--no-shuffle")
    assert run("pack", source, tmp_path / "out", *options).code == DAMAGE  # shards of 1 and 2 are kept
    put(source / "masks/1.png", "mended")
    put(source / "masks/3.png", "mask 3")
    pack(source, tmp_path / "out", *options)
    assert members(tmp_path / "out")["images/1.mask.png"] == b"mended"


def test_names_that_are_no_fields(tmp_path):
    source = source_with_masks(tmp_path / "source")
    for name in ("cls", "jpg", "Mask.png", "a/b", ".png", ""):
        refusal(source, tmp_path / "out", *WDS, "--unlabelled", "--field-from", f"{name}=masks")


def test_options_that_contradict_each_other(tmp_path):
    source = source_with_masks(tmp_path / "source")
    put(tmp_path / "two.txt", "a\nb\n")
    put(tmp_path / "one.txt", "thing\n")
    put(tmp_path / "list.csv", "path,label\nsource/images/1.jpg,a\n")
    base = (source, tmp_path / "out", *WDS)
    field = ("--field-from", "mask.png=masks")
    assert "is given twice" in refusal(*base, *field, "--optional-field-from", "mask.png=m", "--unlabelled")
    assert "is given twice" in refusal(*base, *field, "--fields", "mask.png", "--unlabelled")
    assert "--label-pattern gives them" in refusal(*base, *field, "--unlabelled", "--label-pattern", "(.)")
    assert "the class list has 2" in refusal(*base, *field, "--unlabelled", "--classes", tmp_path / "two.txt")
    assert "needs a folder or an archive" in refusal(tmp_path / "list.csv", tmp_path / "out", *WDS, *field)
    pack(*base, *field, "--unlabelled", "--classes", tmp_path / "one.txt")
    assert (tmp_path / "out/classes.txt").read_text() == "thing\n"
    assert "needs a folder or an archive" in refusal(tmp_path / "out", tmp_path / "again", *WDS, *field)


@pytest.mark.parametrize(
    "images,files,option",
    [
        ("images/{n}.jpg", "masks/{n}.png", "--field-from mask.png=masks --unlabelled"),
        ("images/{n}.jpg", "masks/{n}_mask.png", "--field-from 'mask.png=masks/{stem}_mask.png' --unlabelled"),
        ("images/{n}.jpg", "labels/{n}.txt", "--field-from txt=labels --unlabelled"),
        ("train/images/{n}.jpg", "train/labels/{n}.txt", "--field-from 'txt={split}/labels' --unlabelled"),
        ("{c}/images/{n}.jpg", "{c}/masks/{n}.png", "--field-from 'mask.png={class}/masks' --classes-at 1"),
    ],
)
def test_a_refusal_names_the_option_that_works(tmp_path, images, files, option):
    for number in (1, 2):
        words = {"n": number, "c": "cat" if number == 1 else "dog"}
        image(tmp_path / "source" / images.format(**words), number)
        put(tmp_path / "source" / files.format(**words), photo(5) if files.endswith("png") else "0 1 1 1 1")
    err = refusal(tmp_path / "source", tmp_path / "out", *WDS)
    assert option in err, err
    typed = shlex.split(option)
    assert pack(tmp_path / "source", tmp_path / "out", *WDS, *typed)["packed"] == 2
