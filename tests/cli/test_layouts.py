"""The layouts that data sets come in, beside those of test_layout_table.py and layout_test.cc.

Some are also packed as a tar and as a zip, which must agree with the folder."""

import re
import shutil
from collections import Counter
from dataclasses import dataclass, field

import objects_support
import pytest
from python_support import DAMAGE, DONE, USAGE, balanced, photo, put, run, tree

FORMS = ["folder", "tar", "zip"]
JUNK = "left by a system or an archiver"
HIDDEN = "hidden (its name starts with a dot)"
NOT_AN_IMAGE = "not an image, by name and first bytes"
OUTSIDE_SPLITS = "outside the split folders"
OUTSIDE_CLASSES = "outside the folder of the class folders"


@dataclass
class Layout:
    """Files by their paths (a picture where the name ends in .jpg; a folder where it ends in /), and the expected
    result: images by split and class, or the words of the refusal."""

    name: str
    files: list
    packs: dict = None
    refuses: list = None
    skips: dict = field(default_factory=dict)
    options: tuple = ()


def images(*folders, count=2):
    """Files of unlike names in each folder: those of the same names would be renderings of the same pictures."""
    return [f"{folder}/{folder.split('/')[-1]}{i}.jpg" for folder in folders for i in range(count)]


def both(classes=("cat", "dog"), count=2):
    return {name: count for name in classes}


CATS = ("cat", "dog")
SPLIT = {"train": both(), "val": both()}


def split(*folders, classes=CATS, count=2):
    return images(*(f"{folder}/{name}" for folder in folders for name in classes), count=count)


PACKS = [
    Layout("a fold in each split", [*split("train/fold1"), *split("val/fold2")], SPLIT),
    Layout("digits", images(*"0123456789"), {"": both("0123456789")}),
    Layout("val and test without train", split("val", "test"), {"test": both(), "val": both()}),
    Layout("Training and Testing", split("Training", "Testing"), {"test": both(), "train": both()}),
    Layout("doubled training_set", split("training_set/training_set", "test_set/test_set"), {"test": both(), "train": both()}),
    Layout("TrainImages and TestImages", split("TrainImages", "TestImages"), {"test": both(), "train": both()}),
    Layout("GTSRB", split("Final_Training/Images", "Final_Test/Images"), {"test": both(), "train": both()}),
    Layout("cifar10_train and cifar10_test", split("cifar10_train", "cifar10_test"), {"test": both(), "train": both()}),
    Layout("one folder around splits", split("ds/train", "ds/val"), SPLIT),
    Layout("three folders around splits", split("a/b/c/train", "a/b/c/val"), SPLIT),
    Layout("doubled folder around class folders", split("PetImages/PetImages"), {"": both()}),
    Layout("splits below images", split("images/train", "images/val"), SPLIT),
    Layout("a file beside the one folder", [*split("ds"), "README.txt"], {"": both()}, skips={OUTSIDE_CLASSES: 1}),
    Layout(
        "CUB-200: images, attributes and parts",
        [*split("CUB/images"), "CUB/attributes/a.txt", "CUB/parts/p.txt", "CUB/classes.txt"],
        {"": both()},
        skips={OUTSIDE_CLASSES: 3},
    ),
    Layout(
        "Stanford Dogs: Images and Annotation",
        [*split("Images"), "Annotation/cat/n02", "Annotation/dog/n03"],
        {"": both()},
        skips={OUTSIDE_CLASSES: 2},
    ),
    Layout(
        "splits and annotations",
        [*split("train", "val"), "annotations/train.json", "annotations/val.json"],
        SPLIT,
        skips={OUTSIDE_SPLITS: 2},
    ),
    Layout(
        "splits and a folder without images",
        [*split("train", "val"), "scripts/a.py", "LICENSE"],
        SPLIT,
        skips={OUTSIDE_SPLITS: 2},
    ),
    Layout(
        "splits and __MACOSX",
        [*split("train", "val"), "__MACOSX/._train", "__MACOSX/train/cat/._0.jpg"],
        SPLIT,
        skips={JUNK: 1},
    ),
    Layout(
        "a folder around all, and __MACOSX",
        [*split("ds/train", "ds/val"), "__MACOSX/ds/._train"],
        SPLIT,
        skips={JUNK: 1},
    ),
    Layout(
        "all junk there is",
        [
            *images(*CATS),
            *("cat/.DS_Store", "cat/._0.jpg", "dog/.ipynb_checkpoints/0-checkpoint.jpg", ".git/x.jpg"),
            *("cat/Thumbs.db", "cat/desktop.ini", "dog/@eaDir/0.jpg/SYNOPHOTO_THUMB_M.jpg", "lost+found/x.jpg"),
            *("$RECYCLE.BIN/1.jpg", "System Volume Information/2.jpg", "#recycle/3.jpg", "PaxHeaders.77/cat/0.jpg"),
            "__pycache__/x.pyc",
        ],
        {"": both()},
        skips={HIDDEN: 4, JUNK: 9},
    ),
    Layout(
        "some classes with a split's name among other words",
        images("bullet_train", "cat", "test_tube"),
        {"": both(("bullet_train", "cat", "test_tube"))},
    ),
    Layout("classes that all are like one split", images("valley", "valve"), {"": both(("valley", "valve"))}),
    Layout("annotations beside class folders", [*images(*CATS), "annotations/cat.xml"], {"": both()}, skips={NOT_AN_IMAGE: 1}),
    Layout("a class that one split lacks", [*split("train"), *images("val/cat")], {"train": both(), "val": {"cat": 2}}),
]

REFUSES = [
    Layout("splits and masks that are images", [*split("train", "val"), *images("masks")], refuses=["'masks' holds images", "--split-folders train=train,val=val"]),
    Layout("images in a folder of each class", images("cat/images", "dog/images"), refuses=["lie deeper", "--classes-at 1  packs 4 images of 2 classes, cat and dog"]),
    Layout("letters", images("a/abbey", "a/airport", "b/bar"), refuses=["--classes-at 2  packs 6 images of 3 classes, abbey ... bar", "--classes-at 1  packs 6 images of 2 classes, a and b"]),
    Layout("some classes with the same folders", images("cat/a", "cat/b", "dog/a", "dog/b", "cow"), refuses=["some images lie directly", "--classes-at 1"]),
    Layout("a copy of the whole", [*split("."), *split("data")], refuses=["some images lie directly", "/data  packs 4 images of 2 classes"]),
    Layout("domains of which one lacks a class", images("p1/0", "p1/1", "p2/0", "p2/1", "p3/0"), refuses=["--classes-at 2  packs 10 images of 2 classes, 0 and 1"]),
    Layout("numbered parts", images("X_images_part_1", "X_images_part_2"), refuses=["numbered parts", "--unlabelled"]),
    Layout("renderings", ["HR/1.jpg", "HR/2.jpg", "LR/1.jpg", "LR/2.jpg"], refuses=["the same names", "--field-from 'hr.jpg=HR/{stem}.jpg' --unlabelled  packs 2 images without classes"]),
    Layout("renderings in many folders", [f"{kind}/scene{i}.jpg" for kind in "abcdef" for i in (1, 4, 5)], refuses=["the same names"]),
    Layout("MVTec, one thing", ["default/good/0.jpg", "default/bad/0.jpg", "ground_truth/bad/0_mask.jpg"], refuses=["--optional-field-from 'mask.jpg=ground_truth/{dir}/{stem}_mask.jpg'  packs 2 images of 2 classes, bad and good"]),
    Layout("CamVid", [f"{split}{kind}/{split}{i}.jpg" for split in ("train", "val") for kind in ("", "annot") for i in range(2)], refuses=["--field-from 'annot.jpg={split}annot' --unlabelled  packs 4 images without classes, in train, val"]),
    Layout("panoptic masks", ["images/train/a.jpg", "images/val/b.jpg", "annotations/panoptic_train/a.jpg", "annotations/panoptic_val/b.jpg"], refuses=["--field-from 'mask.jpg=annotations/panoptic_{split}' --unlabelled  packs 2 images"]),
    Layout("VOC with a folder that nobody knows", ["JPEGImages/1.jpg", "SegmentationClass/1.jpg", "Viz/1.jpg"], refuses=["--exclude 'Viz/*' --unlabelled  packs 1 image"], options=("--field-from", "mask.jpg=SegmentationClass")),
    Layout("a repository with a picture of its own", [*images("VOC/JPEGImages", count=3), "example.jpg"], refuses=["/VOC with --classes-at 1  packs 3 images"]),
    Layout("masks beside images", ["cat/1.jpg", "cat/1_mask.jpg", "dog/2.jpg", "dog/2_mask.jpg"], refuses=["'1_mask.jpg' beside '1.jpg'", "--field-from 'mask.jpg={dir}/{stem}_mask.jpg'  packs 2 images of 2 classes, cat and dog"]),
    Layout("classes that differ in case", images("cat", "Cat"), refuses=["'Cat', 'cat'", "letter case"]),
    Layout("YOLO", [*images("images"), "labels/0.txt"], refuses=["'images'"]),
    Layout("YOLO in splits, without data.yaml", [*images("train/images", "valid/images"), "train/labels/0.txt"], refuses=["'images'"]),
    Layout("YOLO with splits inside", [*images("images/train", "images/val"), "labels/train/0.txt"], refuses=["'train', 'val'", "instead of class folders"]),
    Layout("COCO", [*images("train2017", "val2017"), "annotations/instances.json"], refuses=["'train2017', 'val2017'", "instead of class folders"]),
    Layout("images and masks", images("images", "masks"), refuses=["'images'"]),
    Layout("VOC without annotations", images("VOC/JPEGImages", "VOC/SegmentationClass"), refuses=["'JPEGImages', 'SegmentationClass'"]),
    Layout("CelebA", [*images("img_align_celeba"), "list_attr_celeba.txt"], refuses=["only one class, 'img_align_celeba'"]),
    Layout("CelebA, doubled", images("img_align_celeba/img_align_celeba"), refuses=["only one class"]),
    Layout("Oxford Pets", [*images("images"), "annotations/list.txt", *images("annotations/trimaps")], refuses=["deeper"]),
    Layout("Flowers 102", [*images("jpg"), "imagelabels.mat"], refuses=["'jpg'"]),
    Layout("Tiny ImageNet", [*images("train/n01/images", "train/n02/images", "val/images"), "val/val_annotations.txt"], refuses=["deeper"]),
    Layout("flat test folder", [*split("train"), *images("test")], refuses=["'test'", "--split-folders train=train"]),
    Layout("dogs vs cats", images("train", "test1"), refuses=["'test1', 'train'"]),
    Layout(
        "val and valid",
        split("train", "val", "valid"),
        refuses=["'val', 'valid'", "the split val", "--split-folders train=train,val=val  packs"],
    ),
    Layout("train1 and train2", split("train1", "train2"), refuses=["the split train"]),
    Layout("an unknown split", split("train", "val", "extra"), refuses=["'extra'", "--split-folders train=train,val=val"]),
    Layout("chest x-ray: the data set twice", [*split("train", "test"), *split("chest_xray/train", "chest_xray/test")], refuses=["'chest_xray'"]),
    Layout("a split among classes", images("plane", "train"), refuses=["'train'", "'plane'"]),
    Layout("trainval", images("trainval", "cat"), refuses=["'trainval'"]),
    Layout("valid and invalid", images("valid", "invalid"), refuses=["'valid'", "'invalid'"]),
    Layout("one class", images("cat"), refuses=["only one class, 'cat'"]),
    Layout("one class in splits", images("train/cat", "val/cat"), refuses=["only one class, 'cat'"]),
    Layout("an empty class", [*images(*CATS), "cow/notes.txt"], refuses=["'cow' holds no image"]),
    Layout("an empty folder", [*images(*CATS), "cow/"], refuses=["'cow' holds no image"]),
    Layout(
        "classes that differ in case between splits",
        [*split("train"), *split("val", classes=("Cat", "Dog"))],
        refuses=["'Cat', 'cat' differ only in letter case"],
    ),
    Layout(
        "class folders that lie deeper in one split",
        [*split("train"), *split("val/data")],
        refuses=["deeper", "--classes-at 2"],
    ),
    Layout("Kaggle: test/unknown", [*split("train"), *images("test/unknown")], refuses=["the split test has the class 'unknown'"]),
    Layout(
        "data sets side by side",
        [*split("dsA/train", "dsA/val"), *split("dsB/train", "dsB/val")],
        refuses=["deeper", "--split-folders train=dsA/train,val=dsA/val  packs 8 images"],
    ),
    Layout(
        "MVTec",
        images(*(f"{thing}/{part}" for thing in ("bottle", "cable") for part in ("train/good", "test/bent", "ground_truth/bent"))),
        refuses=["deeper", "--classes-at"],
    ),
    Layout("folds", [*split("fold1"), *split("fold2")], refuses=["deeper", "--split-folders fold1=fold1,fold2=fold2"]),
    Layout(
        "Office-31: images of each domain",
        [*split("amazon/images"), *split("dslr/images"), *split("webcam/images")],
        refuses=["deeper", "--classes-at 3  packs 12 images of 2 classes, cat and dog"],
    ),
    Layout(
        "COVID: images and masks in each class",
        images("COVID/images", "COVID/masks", "Normal/images", "Normal/masks"),
        refuses=["deeper", "--classes-at 1"],
    ),
    Layout("masks in a folder of one class", images("cat", "cat/masks", "dog"), refuses=["some images lie directly", "--classes-at 1"]),
    Layout("splits with another word each", split("train_clean", "val_noisy"), refuses=["deeper", "--split-folders train=train_clean,val=val_noisy"]),
    Layout("splits in a word", images("mytrain", "myval"), refuses=["named like splits: 'mytrain', 'myval'"]),
    Layout("evaluation with another word", images("train_clean", "eval_noisy"), refuses=["like splits"]),
    Layout("a test folder that is a class", images("fail", "pass", "test"), refuses=["beside 'test', named like a split", "'fail', 'pass' hold images", "--classes-at 1  packs 6 images of 3 classes, fail ... test"]),
    Layout("an unknown split and a flat one", [*split("train"), *images("test", "other")], refuses=["--split-folders train=train  packs"]),
    Layout("val without images", [*split("train"), "val/labels.csv"], refuses=["the split folder 'val' holds no image", "--split-folders train=train  packs"]),
    Layout("val without a file", [*split("train"), "val/"], refuses=["the split folder 'val' holds no image"]),
    Layout("images of all classes with a mask folder in each split", images("train/images", "train/masks", "val/images", "val/masks"), refuses=["'images'"]),
]

TOLD = [
    Layout("split folders said", split("one", "two"), {"train": both(), "val": both()}, options=("--split-folders", "train=one,val=two")),
    Layout("split folders said by name", split("extra", "train"), {"extra": both(), "train": both()}, options=("--split-folders", "train,extra")),
    Layout(
        "a split left out",
        [*split("train", "val"), *images("test")],
        SPLIT,
        skips={OUTSIDE_SPLITS: 2},
        options=("--split-folders", "train,val"),
    ),
    Layout("split folders deep down", split("a/b/Training", "a/c"), {"test": both(), "train": both()}, options=("--split-folders", "train=a/b/Training,test=a/c/")),
    Layout("no split folders", images("train", "plane"), {"": both(("plane", "train"))}, options=("--split-folders", "none")),
    Layout("no split folders, but one around all", split("train"), {"": both()}, options=("--split-folders", "none")),
    Layout(
        "another class in val is meant",
        [*split("train"), *split("val", classes=("cat", "cow"))],
        {"train": both(), "val": both(("cat", "cow"))},
        options=("--allow-odd-classes",),
    ),
    Layout(
        "another class in val is in the list",
        [*split("train"), *split("val", classes=("cat", "cow"))],
        {"train": both(), "val": both(("cat", "cow"))},
        options=("--classes", "cat cow dog"),
    ),
    Layout("class folders that lie deeper are said", [*split("train"), *split("val/data")], SPLIT, options=("--split-folders", "train=train,val=val/data")),
    Layout("val and test of other classes without train", [*split("val"), *split("test", classes=("cow", "dog"))], {"test": both(("cow", "dog")), "val": both()}),
    Layout("a folder around class folders is taken off even so", split("dogs", classes=("a", "b")), {"": both(("a", "b"))}, options=("--allow-odd-classes",)),
    Layout("a folder around class folders is a class of the list", split("dogs", classes=("a", "b")), {"": {"dogs": 4}}, options=("--classes", "dogs")),
    Layout("folds are meant", [*split("fold1"), *split("fold2")], {"": {"fold1": 4, "fold2": 4}}, options=("--allow-odd-classes",)),
    Layout("folds are splits", [*split("fold1"), *split("fold2")], SPLIT, options=("--split-folders", "train=fold1,val=fold2")),
    Layout(
        "domains are splits",
        [*split("amazon/images"), *split("dslr/images")],
        {"amazon": both(), "dslr": both()},
        options=("--split-folders", "amazon,dslr"),
    ),
    Layout(
        "the splits of one data set beside another",
        [*split("dsA/train", "dsA/val"), *split("dsB/train", "dsB/val")],
        SPLIT,
        skips={OUTSIDE_SPLITS: 8},
        options=("--split-folders", "train=dsA/train,val=dsA/val"),
    ),
    Layout(
        "masks in class folders are left out",
        images("COVID/images", "COVID/masks", "Normal/images", "Normal/masks"),
        {"": both(("COVID", "Normal"))},
        skips={"matches an --exclude": 4},
        options=("--exclude", "*/masks/*", "--classes-at", "1"),
    ),
    Layout("names like splits are meant", images("mytrain", "myval"), {"": both(("mytrain", "myval"))}, options=("--split-folders", "none")),
    Layout("test is a class", images("fail", "pass", "test"), {"": both(("fail", "pass", "test"))}, options=("--split-folders", "none")),
    Layout("one of two folders for a split", split("train", "val", "valid"), SPLIT, skips={OUTSIDE_SPLITS: 4}, options=("--split-folders", "train=train,val=val")),
    Layout("an empty split is meant", [*split("train"), "val/"], {"train": both(), "val": {}}, options=("--allow-odd-classes",)),
    Layout("an empty split is left out", [*split("train"), "val/"], {"train": both()}, options=("--split-folders", "train=train")),
    Layout("one class is meant", images("cat"), {"": {"cat": 2}}, options=("--allow-odd-classes",)),
    Layout("an empty class is meant", [*images(*CATS), "cow/"], {"": both()}, options=("--allow-odd-classes",)),
    Layout("images and masks are meant", images("images", "masks"), {"": both(("images", "masks"))}, options=("--allow-odd-classes",)),
    Layout("trains are meant", images("train", "plane"), {"": both(("plane", "train"))}, options=("--allow-odd-classes",)),
    Layout("valid is meant", images("valid", "invalid"), {"": both(("invalid", "valid"))}, options=("--classes", "invalid valid")),
    Layout("one class of a list", images("cat"), {"": {"cat": 2}}, options=("--classes", "cat dog")),
    Layout("trains in splits are meant", split("train", "val", classes=("plane", "train")), {"train": both(("plane", "train")), "val": both(("plane", "train"))}, options=("--classes", "plane train")),
]


def build(layout, root):
    for number, name in enumerate(layout.files):
        if name.endswith("/"):
            (root / name).mkdir(parents=True)
        else:
            put(root / name, photo() + number.to_bytes(4, "little") if name.endswith(".jpg") else "text")
    return root


def sources(layout, tmp_path):
    """The same tree in each form."""
    folder = build(layout, tmp_path / "source")
    found = {"folder": folder}
    for form in FORMS[1:]:
        found[form] = shutil.make_archive(tmp_path / "source", form, root_dir=folder)
    return found


def options_of(layout, tmp_path):
    options = list(layout.options)
    if "--classes" in options:
        names = tmp_path / "classes"
        names.write_text(options[-1].replace(" ", "\n") + "\n")
        options[-1] = names
    return options


def counted(out, report, folder):
    """Images by split and class, by Python's tarfile. Each image's class must be the name of a folder around it."""
    paths = {path.read_bytes(): path.relative_to(folder).parts for path in folder.rglob("*.jpg") if path.is_file()}
    counts = {}
    for split in (one["split"] for one in report["splits"]):
        names = (out / split / "classes.txt").read_text().splitlines()
        counts[split] = Counter()
        for shard in (out / split).glob("*.tar"):
            for sample in objects_support.of_tar(shard):
                name = names[int(sample["cls"])]
                assert name in paths[sample["jpg"]][:-1]
                counts[split][name] += 1
    return counts


@pytest.mark.parametrize("layout", [*PACKS, *TOLD], ids=lambda layout: layout.name)
def test_the_images_of_a_layout_have_the_classes_of_their_folders(layout, tmp_path):
    source = build(layout, tmp_path / "source")
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--json", *options_of(layout, tmp_path))
    assert result.code == DONE, result
    report = result.json
    assert balanced(report) and report["rejected"] == 0, report
    assert counted(tmp_path / "out", report, source) == layout.packs
    assert report["skipped_by_rule"] == layout.skips


@pytest.mark.parametrize("layout", REFUSES, ids=lambda layout: layout.name)
def test_a_layout_that_tells_no_classes_is_refused(layout, tmp_path):
    source = build(layout, tmp_path / "source")
    result = run("pack", source, tmp_path / "out", "--format", "wds", *options_of(layout, tmp_path))
    assert result.code == USAGE, result
    for words in (*layout.refuses, f"where: {source}\n", "next:  "):
        assert words in result.err, result
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.partial").exists()


def named(layouts, *names):
    found = [layout for layout in layouts if layout.name in names]
    assert len(found) == len(names)
    return found


@pytest.mark.parametrize(
    "layout",
    named(
        [*PACKS, *TOLD],
        "all junk there is", "CUB-200: images, attributes and parts", "a folder around all, and __MACOSX",
        "masks in class folders are left out", "an empty split is meant",
    ),
    ids=lambda layout: layout.name,
)  # fmt: skip
def test_archives_pack_as_their_folder(layout, tmp_path):
    reports, trees = [], []
    for form, source in sources(layout, tmp_path).items():
        result = run("pack", source, tmp_path / form, "--format", "wds", "--json", *options_of(layout, tmp_path))
        assert result.code == DONE, (form, result)
        reports.append(result.json["skipped_by_rule"])
        trees.append(tree(tmp_path / form))
    assert trees[0] == trees[1] == trees[2]
    assert reports == [layout.skips] * 3


@pytest.mark.parametrize(
    "layout",
    named(
        REFUSES,
        "an empty folder", "data sets side by side", "COVID: images and masks in each class", "flat test folder",
        "val without a file",
    ),
    ids=lambda layout: layout.name,
)  # fmt: skip
def test_archives_are_refused_as_their_folder_and_pack_alike_when_they_are_meant(layout, tmp_path):
    messages, results = set(), []
    for form, source in sources(layout, tmp_path).items():
        refusal = run("pack", source, tmp_path / form, "--format", "wds", "--dry-run")
        assert refusal.code == USAGE, (form, refusal)
        lines = [line.removeprefix("  next:").strip() for line in refusal.err.replace(str(source), "SOURCE").splitlines()]
        messages.add(frozenset(line for line in lines if not line.startswith("the source SOURCE/")))  # a folder in it
        meant = ("--allow-odd-classes", "--max-rejects", "99")
        result = run("pack", source, tmp_path / form, "--format", "wds", "--json", *meant)
        assert result.code == DONE, (form, result)
        report = {key: value for key, value in result.json.items() if key not in ("bytes_out", "seconds", "splits")}
        results.append((report, tree(tmp_path / form)))
    assert len(messages) == 1, messages
    assert results[0] == results[1] == results[2]


def test_images_without_folders_are_refused(tmp_path):
    """In an archive the files could also be WebDataset samples, so the kind must be given."""
    folder = build(Layout("", ["0.jpg", "1.jpg", "labels.csv"]), tmp_path / "source")
    archive = shutil.make_archive(tmp_path / "source", "tar", root_dir=folder)
    for source, kind in ((folder, "folder"), (archive, "archive")):
        result = run("pack", source, tmp_path / kind, "--format", "wds", "--source-kind", kind)
        assert result.code == USAGE and "no class folders" in result.err and "--labels" in result.err, result


def test_split_folders_that_make_no_sense_are_refused(tmp_path):
    source = build(Layout("", split("a", "b")), tmp_path / "source")
    twice = ("train=a,train=b", "train=a,val=a", "train=a,val=a/b")
    for text in (*twice, "", "train=", "=a", "tr/ain=a", "train=../a", "train=/a", "a,,b"):
        result = run("pack", source, tmp_path / "out", "--format", "wds", "--split-folders", text)
        assert result.code == USAGE and "--split-folders" in result.err, (text, result)
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--split-folders", "train=a,val=c")
    assert result.code == USAGE and "no folder 'c'" in result.err and "'a', 'b'" in result.err


def test_options_about_class_folders_are_refused_where_there_are_none(tmp_path):
    put(tmp_path / "1.jpg")
    put(tmp_path / "list.csv", "path,label\n1.jpg,cat\n")
    for option in (("--split-folders", "none"), ("--classes-at", "1"), ("--allow-odd-classes",)):
        result = run("pack", tmp_path / "list.csv", tmp_path / "out", "--format", "wds", *option)
        assert result.code == USAGE and option[0] in result.err, result


def test_the_first_and_last_class_are_always_printed(tmp_path):
    source = build(Layout("", images("ant", "bee", "cow")), tmp_path / "source")
    for option, classes in (("--dry-run", "ant, bee, cow"), ("--overwrite", "ant ... cow")):
        result = run("pack", source, tmp_path / "out", "--format", "wds", option)
        assert f"\n3 classes: {classes}\n" in result.out, result
    report = run("pack", source, tmp_path / "out", "--format", "wds", "--overwrite", "--json").json
    assert (report["classes"], report["first_class"], report["last_class"]) == (3, "ant", "cow")


def test_fields_are_no_images_and_no_folders_of_images(tmp_path):
    """Fields match only in the same case, also for an image without an extension; a field has no fields."""
    fields = ["images/cat/cat0.seg.ppm", "images/cat/cat0.json", "images/cat/cat1.JSON", "images/cat/cat0.seg.json", "images/cat/named.json"]
    folder = build(Layout("", [*images("images/cat", "images/dog"), *fields, "seg/cat/9.seg.ppm"]), tmp_path / "source")
    put(folder / "images/cat/named", photo(8))
    trees = []
    for form in FORMS:
        source = folder if form == "folder" else shutil.make_archive(tmp_path / "source", form, root_dir=folder)
        kind = "folder" if form == "folder" else "archive"
        result = run("pack", source, tmp_path / form, "--format", "wds", "--json", "--source-kind", kind, "--fields", "seg.ppm,json")
        assert result.code == DONE and result.json["packed"] == 5, (form, result)
        assert result.json["skipped_by_rule"] == {NOT_AN_IMAGE: 1, "a field without its image": 1, OUTSIDE_CLASSES: 1}
        trees.append(tree(tmp_path / form))
    assert trees[0] == trees[1] == trees[2]


def test_what_was_made_of_the_folders_is_said(tmp_path):
    source = build(Layout("", [*split("ds/Training", "ds/valid"), "ds/labels/x.txt"]), tmp_path / "source")
    out = run("pack", source, tmp_path / "out", "--format", "wds").out
    assert re.findall("note: (.*)", out) == [
        "the split train is the folder 'ds/Training'",
        "the split val is the folder 'ds/valid'",
        "beside the split folders, left out: 'labels'",
    ]


def test_rejects_are_named_by_their_path_in_the_source(tmp_path):
    source = build(Layout("", split("ds/Training", "ds/valid")), tmp_path / "source")
    put(source / "ds/valid/cat/bad.jpg", "text")
    result = run("pack", source, tmp_path / "out", "--format", "wds")
    assert "rejected: ds/valid/cat/bad.jpg: not an image" in result.err, result


def test_a_dataset_is_proved_against_the_source_it_came_from(tmp_path):
    source = build(Layout("", split("ds/Training", "ds/Testing")), tmp_path / "source")
    assert run("pack", source, tmp_path / "out", "--format", "wds").code == DONE
    assert run("inspect", tmp_path / "out", "--against", source).code == DONE
    put(source / "ds/Testing/dog/9.jpg")
    assert run("inspect", tmp_path / "out", "--against", source).code == DAMAGE


@pytest.mark.parametrize(
    ("layout", "options", "advice"),
    [
        (split("train"), ("--split-folders", "none"), "e.g. --split-folders none"),
        (split("one", "two"), ("--split-folders", "train=one,val=two"), "--split-folders"),
        (split("train", "more/val"), ("--split-folders", "train,dev=more/val"), "--split-folders"),
    ],
)
def test_a_source_listed_with_other_splits_is_told_which_option_is_missing(tmp_path, layout, options, advice):
    source = build(Layout("", layout), tmp_path / "source")
    assert run("pack", source, tmp_path / "out", "--format", "wds", *options).code == DONE
    result = run("inspect", tmp_path / "out", "--against", source)
    assert result.code == USAGE and advice in result.err, result
    assert run("inspect", tmp_path / "out", "--against", source, *options).code == DONE


def test_a_link_that_gives_a_class_a_second_name_is_refused(tmp_path):
    source = build(Layout("", images(*CATS)), tmp_path / "source")
    (source / "kitty").symlink_to("cat")
    result = run("pack", source, tmp_path / "out", "--format", "wds")
    assert result.code == USAGE and "the class folders 'cat', 'kitty' are the same folder" in result.err, result
    assert run("pack", source, tmp_path / "out", "--format", "wds", "--allow-odd-classes").code == DONE


def test_an_empty_split_is_refused_with_labels_from_a_file_too(tmp_path):
    source = build(Layout("", [*images("train"), "val/"]), tmp_path / "source")
    put(tmp_path / "labels.txt", "train/train0.jpg 0\ntrain/train1.jpg 1\n")
    labels = ("--labels", tmp_path / "labels.txt")
    result = run("pack", source, tmp_path / "out", "--format", "wds", *labels)
    assert result.code == USAGE and "the split folder 'val' holds no image" in result.err, result
    assert run("pack", source, tmp_path / "out", "--format", "wds", *labels, "--split-folders", "train").code == DONE


def test_labels_from_a_file_need_no_class_folders(tmp_path):
    layout = Layout("", [*images("ds/Training", "ds/Testing"), "ds/labels/x.txt"])
    put(tmp_path / "labels.txt", "".join(f"{path} {i % 2}\n" for i, path in enumerate(layout.files[:4])))
    trees = []
    for form, source in sources(layout, tmp_path).items():
        result = run("pack", source, tmp_path / form, "--format", "wds", "--json", "--labels", tmp_path / "labels.txt")
        assert result.code == DONE, (form, result)
        trees.append(tree(tmp_path / form))
    assert trees[0] == trees[1] == trees[2]
    for split, folder in (("train", "Training"), ("test", "Testing")):
        samples = objects_support.of_tar(tmp_path / f"folder/{split}/shard-000000.tar")
        images_of = {(tmp_path / f"source/ds/{folder}/{folder}{i}.jpg").read_bytes(): i for i in range(2)}
        assert sorted((images_of[sample["jpg"]], int(sample["cls"])) for sample in samples) == [(0, 0), (1, 1)]


UNSUPPORTED = {
    "JPEG 2000": [b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51"],
    "PSD": [b"8BPS\0\1"],
    "ICO": [b"\0\0\1\0\1\0\x10\x10\0\0\1\0\x20\0\x68\4\0\0\x16\0\0\0"],
    "DICOM": [bytes(128) + b"DICM"],
}


def test_images_of_other_kinds_are_rejected_as_that(tmp_path):
    layout = Layout("", images(*CATS))
    folder = build(layout, tmp_path / "source")
    wanted = {}
    for kind, heads in UNSUPPORTED.items():
        for i, head in enumerate(heads):
            name = f"cat/{kind.replace(' ', '')}-{i}"  # its kind shows only in its bytes
            put(folder / name, head + bytes(200))
            wanted[name] = f"unsupported: {kind}"
    for name, kind in {"cat/x.TGA": "TGA", "dog/x.svg": "SVG"}.items():
        put(folder / name, "text")
        wanted[name] = f"unsupported: {kind}, by its name"
    put(folder / "cat/really.gif", photo(3))  # packed: it is a JPEG
    for source in (folder, shutil.make_archive(tmp_path / "source", "tar", root_dir=folder)):
        more = ("--json", "--max-rejects", "99", "--overwrite")
        result = run("pack", source, tmp_path / "out", "--format", "wds", *more)
        assert result.code == DONE, result
        assert {one["path"]: one["reason"] for one in result.json["rejects"]} == wanted
        assert result.json["skipped"] == 0 and result.json["packed"] == 5
