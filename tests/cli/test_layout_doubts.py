"""Class folders with something else among them: refused, and each reading that is told packs what it says."""

import shutil

from annotated_support import text
from python_support import DONE, USAGE, run
from test_annotations_beside import images

WDS = ("--format", "wds")


def refusal(source, out):
    result = run("pack", source, out, *WDS)
    assert result.code == USAGE, result
    return result.err


def packs(source, out, count, *options):
    result = run("pack", source, out, *WDS, *options, "--json")
    assert result.code == DONE and result.json["packed"] == count, result


def test_class_folders_in_packed_data(tmp_path):
    images(tmp_path / "photos", "a/1", "b/2")
    packs(tmp_path / "photos", tmp_path / "mixed", 2)
    images(tmp_path / "mixed", "c/1", "d/2")
    assert "the source is packed data, and there are folders of images in it" in refusal(tmp_path / "mixed", tmp_path / "out")
    packs(tmp_path / "mixed", tmp_path / "again", 2, "--source-kind", "packed")


def test_a_link_that_makes_one_folder_two_classes(tmp_path):
    images(tmp_path / "source", "cat/1", "dog/2", "dog/3")
    (tmp_path / "source/pet").symlink_to("cat")  # as long as the other name
    message = refusal(tmp_path / "source", tmp_path / "out")
    assert "'cat', 'pet' are the same folder" in message
    assert "--exclude 'pet/*'  packs 3 images of 2 classes" in message
    packs(tmp_path / "source", tmp_path / "out", 3, "--exclude", "pet/*")


def test_a_link_may_be_the_same_class_of_two_splits(tmp_path):
    images(tmp_path / "source", "train/a/1", "train/b/2", "val/b/3")
    (tmp_path / "source/val/a").symlink_to("../train/a")
    packs(tmp_path / "source", tmp_path / "out", 4)


def test_a_split_that_is_an_archive_still(tmp_path):
    source = tmp_path / "source"
    images(source, "train/a/1", "train/b/2", "val/a/3", "val/b/4")
    shutil.make_archive(source / "val", "tar", source, "val")
    shutil.rmtree(source / "val")
    assert "--split-folders train=train,val=val.tar  packs 4 images of 2 classes" in refusal(source, tmp_path / "out")
    packs(source, tmp_path / "all", 4, "--split-folders", "train=train,val=val.tar")
    packs(source, tmp_path / "train", 2, "--exclude", "val.tar")


def test_empty_folders_among_classes(tmp_path):
    images(tmp_path / "source", "a/1", "b/2")
    for name in ("logs", "runs [1]"):
        (tmp_path / "source" / name).mkdir()
    message = refusal(tmp_path / "source", tmp_path / "out")
    assert "--exclude 'logs/*' --exclude $'runs \\\\[1]/*'  packs 2 images of 2 classes" in message, message
    packs(tmp_path / "source", tmp_path / "out", 2, "--exclude", "logs/*", "--exclude", "runs \\[1]/*")


def test_many_masks_of_one_image(tmp_path):
    images(tmp_path / "source", "a/1", "b/2", *(f"a/1_mask_{i}" for i in range(12)))
    message = refusal(tmp_path / "source", tmp_path / "out")
    assert "12 files beside images are named like a mask" in message
    assert "--exclude '*_mask_*.ppm'" not in message  # it would leave out the larger part
    packs(tmp_path / "source", tmp_path / "out", 2, "--exclude", "*_mask_*.ppm")


def test_a_reading_is_no_folder_of_an_archive(tmp_path):
    images(tmp_path / "z", "Art/a/1", "Art/b/2", "Real/a/3")
    text(tmp_path / "z/notes.txt", "x")
    archive = shutil.make_archive(tmp_path / "z", "tar", tmp_path, "z")
    message = refusal(archive, tmp_path / "out")
    assert "the source" not in message and "--classes-at 3  packs 3 images" in message
