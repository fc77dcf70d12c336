"""Labels that do not come from class folders: labels files of many kinds, for some splits or all, patterns, metadata."""

import csv
import io
import json
import shutil
import tarfile

import pytest
from python_support import DAMAGE, DONE, USAGE, balanced, listed, photo, put, rejects_of, run, tree

CATS = ("cat", "dog")


def source_of(root, *names):
    for number, name in enumerate(names):
        put(root / name, photo() + number.to_bytes(4, "little"))
    return root


def train_and_flat_val(root, val=4):
    return source_of(
        root,
        *(f"train/{name}/{name}{i}.jpg" for name in CATS for i in range(2)),
        *(f"val/v{i}.jpg" for i in range(val)),
    )


def classes_of(dataset):
    """path -> class"""
    return {sample["path"]: sample["class"] for sample in listed(dataset)}


def packed(source, out, *options):
    result = run("pack", source, out, "--format", "wds", "--json", *options)
    assert result.code == DONE and balanced(result.json), result
    return result.json


def proved(source, out, *options):
    """As packed(); the dataset is also compared with the source, by the same options."""
    report = packed(source, out, *options)
    proof = run("inspect", out, "--against", source, *options)
    assert proof.code == DONE, proof
    return report


def refusal(source, out, *options):
    result = run("pack", source, out, "--format", "wds", *options)
    assert result.code == USAGE and "next: " in result.err and not out.exists(), result
    return result.err


# --- a file for one split


def test_a_labels_file_for_one_split(tmp_path):
    source = train_and_flat_val(tmp_path / "source")
    labels = put(tmp_path / "val.txt", "".join(f"v{i}.jpg {CATS[i % 2]}\n" for i in range(4)))
    out = tmp_path / "out"
    proved(source, out, "--labels", f"val={labels}")
    assert classes_of(out / "val") == {f"v{i}.jpg": CATS[i % 2] for i in range(4)}
    assert classes_of(out / "train") == {f"{name}/{name}{i}.jpg": name for name in CATS for i in range(2)}
    for split in ("train", "val"):
        assert (out / split / "classes.txt").read_text() == "cat\ndog\n"
    for form in ("zip", "tar"):
        archive = shutil.make_archive(tmp_path / "source", form, root_dir=source)
        packed(archive, tmp_path / form, "--labels", f"val={labels}")
        assert tree(tmp_path / form) == tree(out)
    shard = next((out / "val").glob("*.tar"))
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-600])
    assert run("repair", out, source, "--labels", f"val={labels}").code == DONE
    assert shard.read_bytes() == whole


def test_a_class_that_no_folder_has_is_refused_by_name(tmp_path):
    source = train_and_flat_val(tmp_path / "source")
    labels = put(tmp_path / "val.txt", "v0.jpg cat\nv1.jpg cow\nv2.jpg dog\nv3.jpg dog\n")
    words = refusal(source, tmp_path / "out", "--labels", f"val={labels}")
    assert "line 2" in words and "'cow' is not in the class list" in words
    put(tmp_path / "classes", "cat\ncow\ndog\n")
    packed(source, tmp_path / "out", "--labels", f"val={labels}", "--classes", tmp_path / "classes")
    assert classes_of(tmp_path / "out/val")["v1.jpg"] == "cow"


def test_integers_for_one_split_are_places_among_the_class_folders_and_that_is_said(tmp_path):
    source = train_and_flat_val(tmp_path / "source")
    labels = put(tmp_path / "val.txt", "v0.jpg 1\nv1.jpg 0\nv2.jpg 0\nv3.jpg 0\n")
    report = packed(source, tmp_path / "out", "--labels", f"val={labels}")
    assert classes_of(tmp_path / "out/val") == {"v0.jpg": "dog", "v1.jpg": "cat", "v2.jpg": "cat", "v3.jpg": "cat"}
    assert any("counted from 0: 1 is 'dog'" in note for note in report["notes"]), report["notes"]


def test_integers_are_never_places_among_class_folders_named_by_integers(tmp_path):
    source = source_of(tmp_path / "source", *(f"train/{n}/{n}{i}.jpg" for n in (1, 2) for i in range(2)), "val/a.jpg", "val/b.jpg")
    labels = put(tmp_path / "val.txt", "a.jpg 0\nb.jpg 1\n")
    assert "line 1" in refusal(source, tmp_path / "out", "--labels", f"val={labels}")
    put(labels, "a.jpg 2\nb.jpg 1\n")
    packed(source, tmp_path / "out", "--labels", f"val={labels}")
    assert classes_of(tmp_path / "out/val") == {"a.jpg": "2", "b.jpg": "1"}


def test_labels_files_for_all_splits_share_one_class_list(tmp_path):
    source = source_of(tmp_path / "source", *(f"{split}/{i}.jpg" for split in ("train", "test") for i in range(3)))
    train = put(tmp_path / "train.csv", "filename,class\n0.jpg,cat\n1.jpg,cow\n2.jpg,dog\n")
    test = put(tmp_path / "test.csv", "filename,class\n0.jpg,dog\n1.jpg,dog\n2.jpg,cow\n")
    both = ("--labels", f"train={train},test={test}")
    packed(source, tmp_path / "out", *both)
    assert classes_of(tmp_path / "out/test") == {"0.jpg": "dog", "1.jpg": "dog", "2.jpg": "cow"}
    assert (tmp_path / "out/test/classes.txt").read_text() == "cat\ncow\ndog\n"
    packed(source, tmp_path / "again", "--labels", f"train={train}", "--labels", f"test={test}")
    put(test, "filename,class\n0.jpg,dog\n1.jpg,emu\n2.jpg,cow\n")
    assert "the split test has the class 'emu', which train lacks" in refusal(source, tmp_path / "no", *both)


def test_label_options_that_make_no_sense_are_refused(tmp_path):
    source = train_and_flat_val(tmp_path / "source")
    labels = put(tmp_path / "val.txt", "".join(f"v{i}.jpg {i % 2}\n" for i in range(4)))
    for options, words in (
        (("--labels", "dev=val.txt"), ["no split 'dev'", "'train', 'val'"]),
        (("--labels", "val=val.txt,val=val.txt"), ["two files for the split 'val'"]),
        (("--labels", "val=val.txt", "--labels", "val.txt"), ["whole source"]),
        (("--labels", "val="), ["file name is missing"]),
        (("--labels", "v/al=val.txt"), [f"'v/al={labels}' is not SPLIT=FILE"]),
        (("--labels", "val=val.txt", "--label-pattern", "(.)"), ["--label-pattern and --labels"]),
        (("--label-column", "x"), ["--label-column needs --labels"]),
        (("--path-column", "x"), ["--path-column needs --labels"]),
        (("--label-ids", "x"), ["--label-ids needs --labels"]),
    ):
        err = refusal(source, tmp_path / "out", *(option.replace("=val.txt", f"={labels}") for option in options))
        for word in words:
            assert word in err, err


# --- ImageNet as it is downloaded

SYNSETS = ("n01440764", "n01443537", "n01484850")
VAL = ("n01484850", "n01440764", "n01443537", "n01440764", "n01484850", "n01484850")
IDS = {"n01440764": 2, "n01443537": 3, "n01484850": 1}  # of the devkit: not in sorted order


def val_name(i):
    return f"ILSVRC2012_val_{i + 1:08}.JPEG"


def add_tar(path, root):
    with tarfile.open(path, "w") as tar:
        for file in sorted(root.rglob("*")):
            if file.is_file():
                tar.add(file, file.relative_to(root).as_posix())
    return path


def imagenet(root, flat_val=False):
    """The two tars of ImageNet, of three classes."""
    root.mkdir()
    work = root.parent / "work"
    for synset in SYNSETS:
        folder = source_of(work / "one" / synset, *(f"{synset}_{i}.JPEG" for i in range(2)))
        (work / "train").mkdir(exist_ok=True)
        add_tar(work / "train" / f"{synset}.tar", folder)
    add_tar(root / "ILSVRC2012_img_train.tar", work / "train")
    val = source_of(work / "val", *(val_name(i) for i in range(len(VAL))))
    if flat_val:
        shutil.copytree(val, root / "val")
    else:
        add_tar(root / "ILSVRC2012_img_val.tar", val)
    return root


def labels_of_val(folder, kind):
    """The options for one of the files in which the labels of val come."""
    if kind == "val.txt":
        return ["--labels", f"val={put(folder / kind, ''.join(f'{val_name(i)} {SYNSETS.index(s)}' + chr(10) for i, s in enumerate(VAL)))}"]
    if kind == "LOC_val_solution.csv":
        boxes = [f"{val_name(i)[:-5]},{s} 85 1 499 272 " + (f"{s} 1 2 3 4 " if i % 2 else "") for i, s in enumerate(VAL)]
        return ["--labels", f"val={put(folder / kind, chr(10).join(['ImageId,PredictionString', *reversed(boxes)]) + chr(10))}"]
    if kind == "synset_labels.txt":
        return ["--labels", f"val={put(folder / kind, chr(10).join(VAL) + chr(10))}"]
    truth = put(folder / "ILSVRC2012_validation_ground_truth.txt", "".join(f"{IDS[s]}\n" for s in VAL))
    ids = put(folder / "ids.txt", "".join(f"{i} {s}\n" for s, i in IDS.items()))
    return ["--labels", f"val={truth}", "--label-ids", ids]


def check_val(out, report):
    assert classes_of(out / "val") == {val_name(i): s for i, s in enumerate(VAL)}
    assert all(path.startswith(name) for path, name in classes_of(out / "train").items())
    assert report["packed"] == 12 and report["skipped"] == 0
    assert (out / "val/classes.txt").read_text().split() == list(SYNSETS)


@pytest.mark.parametrize("flat_val", [False, True])
def test_imagenet_as_downloaded(tmp_path, flat_val):
    """Labels without paths for the val of tar and of folder; the other files of labels with one of the two."""
    source = imagenet(tmp_path / "imagenet", flat_val)
    val = "val" if flat_val else "ILSVRC2012_img_val.tar"
    splits = ("--split-folders", f"train=ILSVRC2012_img_train.tar,val={val}")
    for kind in ("synset_labels.txt", *(("val.txt",) if flat_val else ("LOC_val_solution.csv", "ground truth"))):
        out = tmp_path / f"out-{kind}"
        check_val(out, proved(source, out, *splits, *labels_of_val(tmp_path, kind)))


def test_imagenet_as_kaggle_has_it(tmp_path):
    root = tmp_path / "imagenet"
    data = root / "ILSVRC/Data/CLS-LOC"
    source_of(data, *(f"train/{s}/{s}_{i}.JPEG" for s in SYNSETS for i in range(2)), *(f"val/{val_name(i)}" for i in range(len(VAL))), "test/ILSVRC2012_test_00000001.JPEG")
    put(root / "ILSVRC/Annotations/CLS-LOC/val/ILSVRC2012_val_00000001.xml", "<annotation/>")
    put(root / "ILSVRC/ImageSets/CLS-LOC/val.txt", "text")
    put(root / "LOC_synset_mapping.txt", "".join(f"{s} a fish, or another\n" for s in SYNSETS))
    splits = ("--split-folders", "train=ILSVRC/Data/CLS-LOC/train,val=ILSVRC/Data/CLS-LOC/val")
    for kind in ("synset_labels.txt", "val.txt"):
        packed(root, tmp_path / f"out-{kind}", *splits, *labels_of_val(tmp_path, kind))
        assert classes_of(tmp_path / f"out-{kind}/val") == {val_name(i): s for i, s in enumerate(VAL)}
    # The images of test have no labels: without --split-folders, this is said with the option that leaves it out.
    err = refusal(root, tmp_path / "no", *labels_of_val(tmp_path, "LOC_val_solution.csv"))
    assert "'test' holds images, but no class folders" in err and splits[1] in err


def test_the_ids_of_the_devkit_are_asked_for(tmp_path):
    source = imagenet(tmp_path / "imagenet", True)
    split = ("--split-folders", "train=ILSVRC2012_img_train.tar,val=val")
    labels = labels_of_val(tmp_path, "ground truth")
    err = refusal(source, tmp_path / "out", *split, *labels[:2])
    assert "--label-ids" in err and "data/meta.mat" in err
    put(tmp_path / "ids.txt", "1 n01484850\n2 n01440764\n")
    assert "the label '3', which is not in the ids" in refusal(source, tmp_path / "out", *split, *labels)
    put(tmp_path / "ids.txt", "1 n01484850\n1 n01440764\n")
    assert "gives the id '1' again" in refusal(source, tmp_path / "out", *split, *labels)


@pytest.mark.parametrize("change", ["one missing", "one more", "other names", "other order"])
def test_labels_without_paths_need_numbered_images(tmp_path, change):
    source = imagenet(tmp_path / "imagenet", True)
    val = source / "val"
    if change == "one missing":
        (val / val_name(2)).unlink()
    elif change == "one more":
        put(val / val_name(6))
    elif change == "other names":
        (val / val_name(5)).rename(val / "z.JPEG")
    else:
        for i in range(len(VAL)):  # 5 ... 10: by their names, 10 comes first
            (val / val_name(i)).rename(val / f"{i + 5}.JPEG")
    err = refusal(
        *(source, tmp_path / "out", "--split-folders", "train=ILSVRC2012_img_train.tar,val=val"),
        *labels_of_val(tmp_path, "synset_labels.txt"),
    )
    assert "labels alone" in err


def test_line_numbers_are_no_labels(tmp_path):
    """ImageSets/CLS-LOC/val.txt: the name of each image, and the number of its line."""
    source = source_of(tmp_path / "source", *(f"{i}.jpg" for i in range(100)))
    labels = put(tmp_path / "val.txt", "".join(f"{i} {i + 1}\n" for i in range(100)))
    assert "numbers its lines" in refusal(source, tmp_path / "out", "--labels", labels)


def test_an_archive_among_the_split_folders_must_be_there(tmp_path):
    source = imagenet(tmp_path / "imagenet")
    labels = labels_of_val(tmp_path, "val.txt")
    err = refusal(source, tmp_path / "out", "--split-folders", "train=ILSVRC2012_img_train.tar,val=val.tar", *labels)
    assert "nor an archive of that name, for the split val" in err
    err = refusal(source, tmp_path / "out", "--split-folders", "train=ILSVRC2012_img_train.tar,val=ILSVRC2012_img_val.tar")
    assert "no class folders" in err


def test_archives_that_are_splits_give_what_folders_give(tmp_path):
    """With fields, files that are skipped or rejected, and one more class."""
    folder = source_of(tmp_path / "folder", *(f"{s}/{s}/{c}/{c}{i}.jpg" for s in ("train", "val") for c in CATS for i in range(2)))
    put(folder / "train/train/cat/cat0.json", "{}")
    put(folder / "val/val/dog/note.txt", "text")
    put(folder / "val/val/dog/bad.jpg", "text")
    archives = tmp_path / "archives"
    archives.mkdir()
    for split in ("train", "val"):
        add_tar(archives / f"{split}.tar", folder / split)
    more = ("--fields", "json", "--max-rejects", "1", "--format", "wds", "--json")
    one = run("pack", folder, tmp_path / "one", *more)
    two = run("pack", archives, tmp_path / "two", "--split-folders", "train=train.tar,val=val.tar", *more)
    assert one.code == two.code == DONE, (one, two)
    for key in ("seen", "packed", "rejected", "skipped_by_rule"):
        assert one.json[key] == two.json[key], key
    for split in ("train", "val"):
        assert listed(tmp_path / "one" / split) == listed(tmp_path / "two" / split)


# --- tables as they come


def flat(root, *names):
    return source_of(root, *names)


@pytest.mark.parametrize(
    "text",
    [
        "breed,id\ncat,a\ndog,b\n",
        "Image,Species\na.jpg,cat\nb.jpg,dog\n",
        "a,cat\nb,dog\n",
        'filename,width,class,xmin\na.jpg,3,cat,4\nb.jpg,3,"dog",5\n',
    ],
)
def test_tables_of_labels(tmp_path, text):
    """Beside those of test_layout_table.py."""
    source = flat(tmp_path / "source", "a.jpg", "b.jpg")
    packed(source, tmp_path / "out", "--labels", put(tmp_path / "labels.csv", text))
    assert classes_of(tmp_path / "out") == {"a.jpg": "cat", "b.jpg": "dog"}
    assert (tmp_path / "out/classes.txt").read_text() == "cat\ndog\n"


@pytest.mark.parametrize(
    "kind, header", [("csv", True), ("tsv", False), ("txt", True), ("txt", False), ("jsonl", True)]
)
def test_columns_are_named_or_numbered(tmp_path, kind, header):
    source = flat(tmp_path / "source", "a.jpg", "b.jpg")
    rows = [("3", "a.jpg", "tabby", "cat"), ("4", "b.jpg", "poodle", "dog")]
    labels = tmp_path / f"labels.{kind}"
    names = ("no", "what", "kind", "animal")
    if kind == "jsonl":
        put(labels, "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    else:
        separator = {"csv": ",", "tsv": "\t", "txt": " "}[kind]
        put(labels, "".join(separator.join(row) + "\n" for row in ([names] if header else []) + rows))
    columns = ("--path-column", "what", "--label-column", "animal") if header else ("--path-column", "2", "--label-column", "4")
    packed(source, tmp_path / "out", "--labels", labels, *columns)
    assert classes_of(tmp_path / "out") == {"a.jpg": "cat", "b.jpg": "dog"}
    if kind != "txt":
        assert "--path-column" in refusal(source, tmp_path / "no", "--labels", labels)
    if kind != "jsonl":
        assert "no column 'colour'" in refusal(source, tmp_path / "no", "--labels", labels, "--label-column", "colour")


def test_several_tabs_are_one_unless_columns_are_numbered(tmp_path):
    source = flat(tmp_path / "source", "a.jpg", "b.jpg")
    labels = put(tmp_path / "labels.tsv", "a.jpg\t\tcat\nb.jpg\tdog\n")
    packed(source, tmp_path / "out", "--labels", labels)
    assert classes_of(tmp_path / "out") == {"a.jpg": "cat", "b.jpg": "dog"}
    put(labels, "a.jpg\tcat\t\nb.jpg\tdog\tseen twice\n")
    packed(source, tmp_path / "numbered", "--labels", labels, "--path-column", "1", "--label-column", "2")
    assert classes_of(tmp_path / "numbered") == {"a.jpg": "cat", "b.jpg": "dog"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_metadata_with_semicolons_in_any_unicode(tmp_path, encoding):
    source = flat(tmp_path / "source", "a.jpg", "ü.jpg")
    put(source / "metadata.csv", "file_name;label;note\na.jpg; \"cat\";1,5\nü.jpg;Hündin;2,5\n".encode(encoding))
    report = packed(source, tmp_path / "out")
    assert classes_of(tmp_path / "out") == {"a.jpg": "cat", "ü.jpg": "Hündin"}
    assert any("semicolons, a header, 3 columns: the path is 'file_name'" in note for note in report["notes"]), report["notes"]


def test_class_names_that_are_not_utf8_are_refused_before_packing(tmp_path):
    source = flat(tmp_path / "source", "a.jpg", "b.jpg")
    table = put(tmp_path / "tags.csv", b"path,tags\na.jpg,caf\xe9 b\nb.jpg,b\n")
    lists = put(source / "list.csv", b"path,label\na.jpg,caf\xe9\nb.jpg,b\n")
    for what in ((source, "--targets", f"classes:{table}:tags"), (source, "--labels", table, "--label-column", "tags"), (lists,)):
        for more in ((), ("--dry-run",)):
            err = refusal(what[0], tmp_path / "out", *what[1:], *more)
            assert "line 2: the class name" in err and "is not UTF-8" in err and "iconv" in err, err


def test_a_table_that_is_not_clear_is_refused(tmp_path):
    source = flat(tmp_path / "source", "a.jpg", "b.jpg")
    for text, options, words in (
        ("id_code,diagnosis\na,x\nb,x\n", (), ["line 1", "may be a header", "--path-column"]),
        ("image,label,label_group\na,x,y\nb,x,y\n", ("--label-column", "group"), ["no column 'group'"]),
        ("id,filename,label\n1,a.jpg,x\n2,b.jpg,y\n", (), ["not clear which columns"]),
        ("image,file\na.jpg,x\nb.jpg,y\n", (), ["not clear which columns"]),
        ("a.jpg,x,1\nb.jpg,y,2\n", (), ["not clear which columns"]),
        ("a.jpg\tx\t1\t2\nb.jpg\ty\t1\t2\n", (), ["not clear which columns"]),
        ("path;label\n", (), []),
        ("ImageId,PredictionString\na,x 1 2 3 4 y 1 2 3 4\nb,y 1 2 3 4\n", (), ["line 2", "no single class"]),
        ("ImageId,PredictionString\na,x 1 2 3\nb,y 1 2 3 4\n", (), ["line 2", "no single class"]),
        ("filename,class\na.jpg,x\nb.jpg\n", (), ["line 3", "no label"]),
    ):
        err = refusal(source, tmp_path / "out", "--labels", put(tmp_path / "labels.csv", text), *options)
        for word in words:
            assert word in err, err


def test_a_first_line_is_never_lost(tmp_path):
    """A row whose image is called like a file is no header, whatever its label."""
    source = flat(tmp_path / "source", "a.jpg", "b.jpg")
    packed(source, tmp_path / "out", "--labels", put(tmp_path / "labels.csv", "a.jpg,class\nb.jpg,label\n"))
    assert classes_of(tmp_path / "out") == {"a.jpg": "class", "b.jpg": "label"}


def test_a_name_without_extension_must_mean_one_image(tmp_path):
    source = flat(tmp_path / "source", "a.jpg", "a.png", "x/b.jpg", "y/b.png", "x/c.jpg", "d.jpg", "d.x.jpg")
    labels = put(tmp_path / "labels.csv", "id,label\na,cat\nb,cat\nc,dog\nd,dog\nd.x,cat\n")
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--json", "--labels", labels, "--max-rejects", "4")
    assert result.code == DONE and balanced(result.json), result
    assert set(rejects_of(result.json)) == {"a.jpg", "a.png", "x/b.jpg", "y/b.png"}
    assert all("names it and others" in reason for reason in rejects_of(result.json).values())
    assert classes_of(tmp_path / "out") == {"x/c.jpg": "dog", "d.jpg": "dog", "d.x.jpg": "cat"}


def test_a_quoted_cell_may_go_over_lines(tmp_path):
    source = flat(tmp_path / "source", "a.jpg", "b.jpg")
    with open(tmp_path / "labels.csv", "w", newline="") as file:
        csv.writer(file).writerows([("image", "note", "label"), ("a.jpg", "two\nlines", "cat"), ("b.jpg", "x", "dog")])
    packed(source, tmp_path / "out", "--labels", tmp_path / "labels.csv")
    assert classes_of(tmp_path / "out") == {"a.jpg": "cat", "b.jpg": "dog"}


# --- the class in the name


def test_the_class_in_the_file_name(tmp_path):
    names = ["images/Abyssinian_1.jpg", "images/great_pyrenees_12.jpg", "images/great_pyrenees_13.jpg"]
    source = source_of(tmp_path / "source", *names)
    report = proved(source, tmp_path / "out", "--label-pattern", r"^(.+)_\d+\.jpg$")
    assert classes_of(tmp_path / "out") == {names[0]: "Abyssinian", names[1]: "great_pyrenees", names[2]: "great_pyrenees"}
    preview = f"by --label-pattern '{names[0]}' is 'Abyssinian', '{names[1]}' is 'great_pyrenees'"
    assert preview in report["notes"]
    dry = run("pack", source, tmp_path / "dry", "--format", "wds", "--dry-run", "--label-pattern", r"^(.+)_\d+\.jpg$")
    assert f"note: {preview}\n" in dry.out


def test_what_does_not_match_is_rejected(tmp_path):
    folder = source_of(tmp_path / "source", "train/cat.0.jpg", "train/dog.0.jpg", "train/cow.0.jpg", "train/cats.jpg")
    for source in (folder, shutil.make_archive(tmp_path / "source", "zip", root_dir=folder)):
        result = run("pack", source, tmp_path / "out", "--format", "wds", "--json", "--label-pattern", r"^(cat|dog)\.")
        assert result.code == DAMAGE and not (tmp_path / "out").exists(), result
        reason = "its name does not match --label-pattern"
        assert rejects_of(result.json) == {"train/cow.0.jpg": reason, "train/cats.jpg": reason}


def test_a_pattern_with_a_slash_or_a_named_group(tmp_path):
    source = source_of(tmp_path / "source", "cat/one/1.jpg", "dog/two/2.jpg")
    packed(source, tmp_path / "path", "--label-pattern", r"^[^/]+/([^/]+)/")
    assert classes_of(tmp_path / "path") == {"cat/one/1.jpg": "one", "dog/two/2.jpg": "two"}
    packed(source, tmp_path / "named", "--label-pattern", r"^([^/]+)/(?<class>[^/]+)/")
    assert classes_of(tmp_path / "named") == {"cat/one/1.jpg": "one", "dog/two/2.jpg": "two"}


def test_a_pattern_that_cannot_be_meant_is_refused(tmp_path):
    source = source_of(tmp_path / "source", "cat_1.jpg", "a" * 200 + "!.jpg")
    for pattern, words in (
        (r"^(.+_", ["--label-pattern: ", "at character"]),
        (r"^.+_", ["it has no group"]),
        (r"^(x)_", ["gives no image a class"]),
        ("(" * 1000 + "a", ["more than 1,000 characters"]),
        (r"^((a+)+)+$", ["limit"]),
    ):
        err = refusal(source, tmp_path / "out", "--label-pattern", pattern)
        for word in words:
            assert word in err, err


def test_a_pattern_that_matches_nothing_of_the_class_rejects(tmp_path):
    source = source_of(tmp_path / "source", "cat_1.jpg", "_1.jpg", "dog_1.jpg", "..%2f_1.jpg")
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--json", "--label-pattern", r"^(.*)_\d", "--max-rejects", "9")
    assert rejects_of(result.json)["_1.jpg"] == "--label-pattern finds an empty class in its name", result


# --- Hugging Face's imagefolder


@pytest.mark.parametrize("kind, where", [("jsonl", "train/"), ("csv", "images/")])
def test_metadata_beside_the_images(tmp_path, kind, where):
    """In each split folder, and with the images in a folder of their own."""
    splits = ("train/", "test/") if where == "train/" else ("",)
    inner = where if where == "images/" else ""
    source = source_of(tmp_path / "source", *(f"{split}{inner}{i}.jpg" for split in splits for i in range(4)))
    for split in splits:
        rows = [{"file_name": f"{inner}{i}.jpg", "caption": "a, b", "label": CATS[i % 2]} for i in range(4)]
        if kind == "jsonl":
            put(source / f"{split}metadata.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        else:
            with open(source / f"{split}metadata.csv", "w", newline="") as file:
                writer = csv.DictWriter(file, ["file_name", "caption", "label"])
                writer.writeheader()
                writer.writerows(rows)
    report = proved(source, tmp_path / "out")
    for split in splits:
        assert classes_of(tmp_path / "out" / split) == {f"{inner}{i}.jpg": CATS[i % 2] for i in range(4)}
        assert any(f"{split}metadata.{kind}'" in note for note in report["notes"]), report["notes"]


def test_class_folders_beside_metadata_are_a_question(tmp_path):
    source = source_of(tmp_path / "source", *(f"{c}/{c}{i}.jpg" for c in CATS for i in range(2)))
    put(source / "metadata.csv", "file_name,label\ncat/cat0.jpg,dog\n")
    assert "'metadata.csv' says something of the images" in refusal(source, tmp_path / "no")
    packed(source, tmp_path / "out", "--classes-at", "1")
    assert classes_of(tmp_path / "out")["cat/cat0.jpg"] == "cat"


def test_metadata_without_a_label_or_twice_is_refused(tmp_path):
    source = source_of(tmp_path / "source", "0.jpg", "1.jpg")
    put(source / "metadata.csv", "file_name,text\n0.jpg,a\n1.jpg,b\n")
    assert "no class folders" in refusal(source, tmp_path / "out")
    packed(source, tmp_path / "out", "--labels", source / "metadata.csv", "--label-column", "text")
    put(source / "metadata.csv", "file_name,label\n0.jpg,a\n1.jpg,b\n")
    put(source / "metadata.jsonl", '{"file_name": "0.jpg", "label": "b"}\n')
    assert "no class folders" in refusal(source, tmp_path / "no")


def test_an_image_that_metadata_lack_is_rejected(tmp_path):
    source = source_of(tmp_path / "source", "0.jpg", "1.jpg", "a/2.jpg")
    put(source / "metadata.csv", "file_name,label\n0.jpg,a\n1.jpg,b\n2.jpg,b\n")
    assert "no class folders" not in run("pack", source, tmp_path / "out", "--format", "wds").err
    source = source_of(tmp_path / "other", "0.jpg", "1.jpg", "2.jpg")
    put(source / "metadata.csv", "file_name,label\n0.jpg,a\n1.jpg,b\nx/2.jpg,b\n")
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--json")
    assert result.code == DAMAGE and rejects_of(result.json) == {"2.jpg": "not in the labels file"}, result


# --- a flat tar


def test_a_flat_tar_with_labels_is_an_archive(tmp_path):
    folder = source_of(tmp_path / "val", *(val_name(i) for i in range(4)))
    archive = add_tar(tmp_path / "ILSVRC2012_img_val.tar", folder)
    labels = put(tmp_path / "val.txt", "".join(f"{val_name(i)} {i % 2}\n" for i in range(4)))
    proved(archive, tmp_path / "out", "--labels", labels)
    assert classes_of(tmp_path / "out") == {val_name(i): str(i % 2) for i in range(4)}
    assert "--source-kind" in refusal(archive, tmp_path / "no")


# --- names of ids, and names that contradict


@pytest.mark.parametrize(
    "name, text",
    [
        ("ids.txt", "1 great white shark\n2 great grey owl\n3 crane, bird\n4 crane machine\n"),
        ("ids.tsv", "1\tgreat white shark\n2\tgreat grey owl\n3\tcrane, bird\n4\tcrane machine\n"),
        ("ids.csv", 'id,name\n1,great white shark\n2,great grey owl\n3,"crane, bird"\n4,crane machine\n'),
    ],
)
def test_an_id_stands_for_the_whole_rest_of_its_line(tmp_path, name, text):
    source = source_of(tmp_path / "source", *(f"{i}.jpg" for i in range(1, 5)))
    labels = put(tmp_path / "labels.csv", "file,label\n" + "".join(f"{i}.jpg,{i}\n" for i in range(1, 5)))
    options = ["--labels", labels, "--label-ids", put(tmp_path / name, text)]
    packed(source, tmp_path / "out", *options)
    assert classes_of(tmp_path / "out") == {"1.jpg": "great white shark", "2.jpg": "great grey owl", "3.jpg": "crane, bird", "4.jpg": "crane machine"}
    put(tmp_path / name, text.replace("crane machine", "great grey owl"))
    report = packed(source, tmp_path / "fewer", *options)
    assert any("--label-ids stand for" in note and "'2' and '4' are both 'great grey owl'" in note for note in report["notes"])


def test_a_csv_of_ids_without_commas_is_read_as_any_other(tmp_path):
    source = source_of(tmp_path / "source", "1.jpg", "2.jpg")
    labels = put(tmp_path / "labels.csv", "file,label\n1.jpg,1\n2.jpg,2\n")
    packed(source, tmp_path / "out", "--labels", labels, "--label-ids", put(tmp_path / "ids.csv", "1 n01\n2 n02\n"))
    assert classes_of(tmp_path / "out") == {"1.jpg": "n01", "2.jpg": "n02"}
    put(tmp_path / "ids.csv", "1,crane, bird\n2,owl\n")
    words = refusal(source, tmp_path / "no", "--labels", labels, "--label-ids", tmp_path / "ids.csv")
    assert "line 1 of the ids has not two cells" in words and '1,"crane, bird"' in words


def test_lines_about_a_shards_sample_that_say_different_things(tmp_path):
    (tmp_path / "shards").mkdir()
    with tarfile.open(tmp_path / "shards/0.tar", "w") as tar:
        for name in ("a/0", "a/1"):
            member = tarfile.TarInfo(f"{name}.jpg")
            member.size = len(photo())
            tar.addfile(member, io.BytesIO(photo()))
    labels = put(tmp_path / "labels.txt", "a/0 cat\na/1 dog\n0 dog\n")
    result = run("index", tmp_path / "shards", "--labels", labels, "--out", tmp_path / "out")
    assert result.code == DAMAGE and "lines 1 and 3 of the labels file say different things of it" in result.err, result


def test_two_lines_for_an_image_that_say_different_things(tmp_path):
    source = source_of(tmp_path / "source", "a/1.jpg", "a/2.jpg")
    for other in ("1.jpg", "1", "a/1"):
        labels = put(tmp_path / "labels.csv", f"file,label\na/1.jpg,cat\n{other},dog\n2.jpg,dog\n")
        result = run("pack", source, tmp_path / "out", "--format", "wds", "--json", "--labels", labels)
        assert result.code == DAMAGE
        assert rejects_of(result.json) == {"a/1.jpg": "lines 2 and 3 of the labels file say different things of it"}
        put(labels, f"file,label\na/1.jpg,cat\n{other},cat\n2.jpg,dog\n")
        packed(source, tmp_path / other / "same", "--labels", labels)


def test_a_name_that_is_another_images_best_one_contradicts_nothing(tmp_path):
    source = source_of(tmp_path / "source", "a/1.jpg", "1.jpg", "b/2.jpg")
    labels = put(tmp_path / "labels.csv", "file,label\na/1.jpg,cat\n1.jpg,dog\n2.jpg,dog\nmore.jpg,cat\n")
    packed(source, tmp_path / "out", "--labels", labels)
    assert classes_of(tmp_path / "out") == {"a/1.jpg": "cat", "1.jpg": "dog", "b/2.jpg": "dog"}


def test_a_class_list_with_other_numbers_does_not_match(tmp_path):
    source = source_of(tmp_path / "source", "a/1.jpg", "b/1.jpg")
    names = put(tmp_path / "names", "a\nb\nc\n")
    packed(source, tmp_path / "out", "--classes", names)
    put(names, "a\nb\nc\nd\n")  # it went on
    assert run("inspect", tmp_path / "out", "--against", source, "--classes", names).code == DONE
    for content, words in (("b\na\nother\n", "class number 0 is 'a' in the dataset, and 'b'"), ("a\nb\n", "class number 2 is 'c' in the dataset, and none")):
        put(names, content)
        result = run("inspect", tmp_path / "out", "--against", source, "--classes", names)
        assert result.code == DAMAGE and f"classes.txt: relabelled: {words}" in result.out, result


# --- a column of splits


TABLE = "image,label,split\na.jpg,cat,train\nb.jpg,dog,test\nc.jpg,dog,train\nd.jpg,cat,val\n"


def test_a_column_called_split_makes_splits(tmp_path):
    source = source_of(tmp_path / "source", *(f"{name}.jpg" for name in "abcd"))
    table, out = put(tmp_path / "table.csv", TABLE), tmp_path / "out"
    report = proved(source, out, "--labels", table)
    assert "the split is 'split'" in str(report["notes"])
    found = {split: classes_of(out / split) for split in ("train", "val", "test")}
    assert found == {"train": {"a.jpg": "cat", "c.jpg": "dog"}, "val": {"d.jpg": "cat"}, "test": {"b.jpg": "dog"}}


@pytest.mark.parametrize("lines", ["csv", "jsonl", "json", "numbers"])
def test_a_column_of_splits_may_have_another_name(lines, tmp_path):
    source = source_of(tmp_path / "source", *(f"{name}.jpg" for name in "abcd"))
    rows = [line.split(",") for line in TABLE.splitlines()[1:]]
    text = TABLE.replace("split", "usage")
    options = ["--split-column", "usage"]
    if lines.startswith("json"):
        text = "".join(json.dumps({"image": a, "label": b, "usage": c}) + "\n" for a, b, c in rows)
    if lines == "numbers":
        text = TABLE.split("\n", 1)[1]
        options = ["--path-column", "1", "--label-column", "2", "--split-column", "3"]
    table, out = put(tmp_path / f"table.{'csv' if lines == 'numbers' else lines}", text), tmp_path / "out"
    proved(source, out, "--labels", table, *options)
    assert classes_of(out / "test") == {"b.jpg": "dog"}


def test_columns_that_are_not_used_are_named(tmp_path):
    source = source_of(tmp_path / "source", *(f"{name}.jpg" for name in "abcd"))
    table = put(tmp_path / "table.csv", TABLE)
    report = proved(source, tmp_path / "out", "--labels", table, "--split-column", "none")
    assert "; not used: 'split'" in str(report["notes"]) and report["packed"] == 4


def test_splits_in_a_table_must_be_those_of_the_folders(tmp_path):
    source = source_of(tmp_path / "source", "train/a.jpg", "test/b.jpg", "train/c.jpg", "val/d.jpg")
    out = tmp_path / "out"
    proved(source, out, "--labels", put(tmp_path / "table.csv", TABLE))
    assert classes_of(out / "val") == {"d.jpg": "cat"}
    shutil.rmtree(out)
    other = put(tmp_path / "other.csv", TABLE.replace("d.jpg,cat,val", "d.jpg,cat,test"))
    words = refusal(source, out, "--labels", other)
    assert "'val/d.jpg' is in the split 'val', and the labels file says 'test'" in words and "--split-column none" in words
    proved(source, out, "--labels", other, "--split-column", "none")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("cat,val", "cat,", "line 5 of the labels file has no split"),
        ("cat,val", "cat,../x", "line 5 of the labels file has the split '../x', which cannot be a folder's name"),
        ("cat,val", "cat,Train", "'train' and 'Train', which stand for one split"),
        ("cat,val", "cat,nan", "the column of the splits has 'nan', which is an empty cell"),
        ("cat,val", "cat,NONE", "the column of the splits has 'NONE', which is an empty cell"),
        ("d.jpg,cat", "e.jpg,cat", "the labels file has the split val, and no image that it names is there"),
        ("d.jpg,cat", "a.jpg,cat", "lines 2 and 5 of the labels file give 'a.jpg' different splits"),
        ("dog,test", "cow,test", "the split test has the class 'cow', which train lacks"),
        ("dog,test", "cat|dog,test", "may be one class, or several: 'cat'"),
        ("dog,test", "None,test", "the label 'None' in line 3 may be a class, or say that there is no label"),
    ],
)
def test_a_table_with_splits_that_is_not_clear_is_refused(old, new, said, tmp_path):
    source = source_of(tmp_path / "source", *(f"{name}.jpg" for name in "abcd"))
    assert said in refusal(source, tmp_path / "out", "--labels", put(tmp_path / "table.csv", TABLE.replace(old, new)))


def test_a_table_with_splits_excludes_a_split_by_chance(tmp_path):
    source = source_of(tmp_path / "source", *(f"{name}.jpg" for name in "abcd"))
    words = refusal(source, tmp_path / "out", "--labels", put(tmp_path / "table.csv", TABLE), "--split", "90:10")
    assert "the source already has splits" in words


@pytest.mark.parametrize("text", ['{\n "a.jpg": "cat"\n}\n', '[["a.jpg", "cat"]]'])
def test_a_json_document_is_no_table(text, tmp_path):
    source = source_of(tmp_path / "source", "a.jpg")
    words = refusal(source, tmp_path / "out", "--labels", put(tmp_path / "labels.json", text))
    assert "the labels file is a JSON document, and no table" in words


def test_metadata_beside_images_makes_no_splits_and_names_its_other_columns(tmp_path):
    source = source_of(tmp_path / "source", *(f"{name}.jpg" for name in "abcd"))
    put(source / "metadata.csv", TABLE.replace("image", "file_name"))
    report = proved(source, tmp_path / "out")
    assert report["packed"] == 4 and "; not used: 'split'" in str(report["notes"])


@pytest.mark.parametrize("blank", [[0], [2], [3]])
def test_splits_in_json_lines_are_in_all_rows_or_in_none(blank, tmp_path):
    source = source_of(tmp_path / "source", *(f"{name}.jpg" for name in "abcd"))
    rows = [dict(zip(("image", "label", "split"), line.split(","))) for line in TABLE.splitlines()[1:]]
    for number in blank:
        for row in ({**rows[number], "split": " "}, {k: v for k, v in rows[number].items() if k != "split"}):
            text = "".join(json.dumps(row if i == number else one) + "\n" for i, one in enumerate(rows))
            words = refusal(source, tmp_path / "out", "--labels", put(tmp_path / "table.jsonl", text))
            assert "split" in words.splitlines()[0] and "line" in words.splitlines()[0]


def test_one_split_for_all_images_is_checked_too(tmp_path):
    source = source_of(tmp_path / "source", *(f"{name}.jpg" for name in "abcd"))
    text = "".join(f"{name}.jpg,cat,nan\n" for name in "abcd")
    table = put(tmp_path / "table.csv", "image,label,split\n" + text)
    assert "which is an empty cell" in refusal(source, tmp_path / "out", "--labels", table)


def test_globs_are_about_paths_in_the_source_though_a_table_makes_the_splits(tmp_path):
    source = source_of(tmp_path / "source", "in/a.jpg", "in/b.jpg", "c.jpg", "in/d.jpg", "in/x.jpg")
    table, out = put(tmp_path / "table.csv", TABLE), tmp_path / "out"
    options = ["--labels", table, "--include", "in/*", "--max-rejects", "1"]
    assert packed(source, out, *options)["packed"] == 3
    assert list(rejects_of(run("pack", source, tmp_path / "other", "--format", "wds", "--labels", table, "--json").json)) == ["in/x.jpg"]
    assert classes_of(out / "train") == {"in/a.jpg": "cat"}


def test_names_of_one_split_agree(tmp_path):
    source = source_of(tmp_path / "source", "train/a.jpg", "test/b.jpg", "train/c.jpg", "val/d.jpg")
    text = TABLE.replace(",train", ",Training").replace(",val", ",validation")
    proved(source, tmp_path / "out", "--labels", put(tmp_path / "table.csv", text))


def test_a_file_of_labels_alone_has_no_column_of_splits(tmp_path):
    source = source_of(tmp_path / "source", *(f"v{i}.jpg" for i in (1, 2)))
    table = put(tmp_path / "labels.txt", "cat\ndog\n")
    assert "line 1 of the labels file has no label" in refusal(source, tmp_path / "out", "--labels", table, "--split-column", "3")


def test_two_columns_of_splits_are_refused(tmp_path):
    source = source_of(tmp_path / "source", *(f"{name}.jpg" for name in "abcd"))
    table = put(tmp_path / "table.csv", TABLE.replace("split", "split,Split").replace(".jpg,cat", ".jpg,cat,val").replace(".jpg,dog", ".jpg,dog,val"))
    assert "names the column 'split' twice" in refusal(source, tmp_path / "out", "--labels", table)
