"""Folders whose layout says where their annotations lie: COCO, YOLO with a data.yaml, Pascal VOC, Hugging Face's metadata."""

import json
import re
import shlex

import annotated_support as made
import objects_support as objects
import pytest
from python_support import DAMAGE, DONE, FAILED, USAGE, pack_closed, packhorse, photos, rejects_of, run


def pack(source, out, *options):
    return run("pack", source, out, "--format=wds", "--json", *options)


def boxes_in(dataset):
    """Boxes and labels of each image."""
    found = []
    for sample in objects.of_tar(dataset / "shard-000000.tar"):
        columns = objects.parse(sample["objects"])
        found.append((columns["boxes"].tolist(), columns["labels"].tolist()))
    return found


EXPECTED = ([[float(v) for v in corners] for _, corners in made.BOXES], [label for label, _ in made.BOXES])


def check_splits(result, out, splits=("train", "val")):
    assert result.code == DONE, result
    assert [split["split"] for split in result.json["splits"]] == list(splits)
    for split in splits:
        assert boxes_in(out / split) == [EXPECTED] * 2
        assert json.loads((out / split / "dataset.json").read_text())["targets"][0]["classes"] == made.CLASSES


def refused(source, out, words, *options):
    result = run("pack", source, out, "--format=wds", *options)
    assert result.code == USAGE and words in result.err and "next: " in result.err, result
    assert not out.exists()
    return result.err


def commands_in(message):
    return [shlex.split(command)[1:] for command in re.findall(r"packhorse pack .*? OUT(?: --[\w-]+ [^\s,;]+)+", message)]


KINDS = {"coco": made.coco, "yolo": made.yolo, "voc": made.voc, "hf": made.hf}


@pytest.mark.parametrize("kind", KINDS)
def test_a_layout_that_is_clear_is_packed_with_its_objects(tmp_path, kind):
    KINDS[kind](tmp_path / "source")
    result = pack(tmp_path / "source", tmp_path / "out")
    check_splits(result, tmp_path / "out")
    name = {"coco": "COCO's annotations: train: annotations/instances_train2017.json for train2017",
            "yolo": "YOLO: 2 classes and 2 splits from ", "voc": "Pascal VOC: images in JPEGImages",
            "hf": "Hugging Face's metadata with objects: train/metadata.jsonl, validation/metadata.jsonl"}[kind]
    assert result.json["detected"].startswith(name)
    said = packhorse("pack", tmp_path / "source", tmp_path / "out", "--format=wds", "--overwrite").out
    assert said.startswith(f"found {name}")
    packhorse("inspect", tmp_path / "out", "--verify=full")
    packhorse("inspect", tmp_path / "out", "--against", tmp_path / "source")
    shard = tmp_path / "out/val/shard-000000.tar"
    before = shard.read_bytes()
    shard.write_bytes(before[:700] + b"x" + before[701:])
    packhorse("repair", tmp_path / "out/val", tmp_path / "source")
    assert shard.read_bytes() == before


def edited_coco(change):
    def edit(source):
        for file in (source / "annotations").iterdir():
            content = json.loads(file.read_text())
            change(content)
            file.write_text(json.dumps(content))

    return edit


def edited_yaml(names):
    def edit(source):
        path = source / "data.yaml"
        path.write_text(path.read_text().replace("names: [cat, dog]", f"names: [{names}]"))

    return edit


def swap_names(content):
    first, second = content["categories"]
    first["name"], second["name"] = second["name"], first["name"]


SWAPPED = "relabelled: targets in the field 'objects': 2 of its classes have other names in the source"


@pytest.mark.parametrize(
    "kind, edit, words",
    [
        ("coco", edited_coco(swap_names), SWAPPED),
        ("coco", edited_coco(lambda content: content["categories"].append({"id": 3, "name": "cow"})), "changed: targets in the field 'objects': the dataset has 2 classes, the source 3"),
        ("coco", edited_coco(lambda content: content.update(info={"version": "2"})), "changed: targets in the field 'objects': "),
        ("yolo", edited_yaml("dog, cat"), SWAPPED),
        ("yolo", edited_yaml("cat, wolf"), "relabelled: targets in the field 'objects': 1 of its classes has another name"),
    ],
)
def test_a_source_that_names_the_labels_otherwise_does_not_match(tmp_path, kind, edit, words):
    KINDS[kind](tmp_path / "source")
    pack(tmp_path / "source", tmp_path / "out")
    edit(tmp_path / "source")
    result = run("inspect", tmp_path / "out/val", "--against", tmp_path / "source")
    assert result.code == DAMAGE and f"difference: dataset.json: {words}" in result.out, result
    assert "1 finding in 2 inputs" in result.out


def test_what_coco_says_besides_survives_packing_again_with_captions(tmp_path):
    made.coco(tmp_path / "source", splits=("train2017",))
    names = [f"train2017-{n}.jpg" for n in range(2)]
    captions = {"images": [{"id": i, "file_name": name} for i, name in enumerate(names)],
                "annotations": [{"id": i, "image_id": i, "caption": "one"} for i in range(2)]}
    made.text(tmp_path / "source/annotations/captions_train2017.json", json.dumps(captions))
    pack(tmp_path / "source", tmp_path / "out")
    packhorse("pack", tmp_path / "out", tmp_path / "again", "--format=hdf5")
    packhorse("inspect", tmp_path / "again/train", "--against", tmp_path / "out")
    ours, theirs = (json.loads((tmp_path / name / "train/dataset.json").read_text())["targets"] for name in ("out", "again"))
    assert ours == theirs and any("head" in target for target in ours)


@pytest.mark.parametrize("kind", KINDS)
def test_a_byte_order_mark_is_no_part_of_an_annotation(tmp_path, kind):
    KINDS[kind](tmp_path / "source")
    for file in (tmp_path / "source").rglob("*"):
        if file.is_file() and file.suffix != ".jpg":
            file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    check_splits(pack(tmp_path / "source", tmp_path / "out"), tmp_path / "out")


@pytest.mark.parametrize("kind", KINDS)
def test_options_that_say_otherwise_decline(tmp_path, kind):
    KINDS[kind](tmp_path / "source")
    result = pack(tmp_path / "source", tmp_path / "out", "--source-kind=folder", "--unlabelled", "--split-folders=none")
    assert result.code == DONE and "detected" not in result.json
    assert "objects" not in objects.of_tar(tmp_path / "out/shard-000000.tar")[0]
    refused(tmp_path / "source", tmp_path / "no", "would change nothing", f"--source-kind={kind}", "--unlabelled")


def test_two_notations_in_one_folder_are_refused_with_the_commands_to_choose(tmp_path):
    made.coco(tmp_path / "source", splits=("train", "val"), images_in="images")
    made.yolo(tmp_path / "source")
    for split in ("train", "val"):  # both are about all images
        for n in range(2):
            made.text(tmp_path / f"source/labels/{split}/{split}-{n}.txt", made.yolo_text())
    message = refused(tmp_path / "source", tmp_path / "out", "annotations in several notations")
    commands = commands_in(message)
    assert [command[-1] for command in commands] == ["coco", "yolo"]
    for i, command in enumerate(commands):
        command[command.index("OUT")] = tmp_path / f"out-{i}"
        check_splits(run(*command, "--format=wds", "--json"), tmp_path / f"out-{i}")


# COCO


def test_coco_takes_instances_and_names_what_it_does_not_read(tmp_path):
    made.coco(tmp_path / "source", images_in="images")
    for name in ("person_keypoints_train2017", "captions_train2017"):
        made.text(tmp_path / f"source/annotations/{name}.json", "{}")
    made.image(tmp_path / "source/images/test2017/1.jpg", 200)
    result = pack(tmp_path / "source", tmp_path / "out")
    check_splits(result, tmp_path / "out")
    notes = "\n".join(result.json["notes"])
    assert "'images/test2017' is left out: no annotation file is about its images" in notes
    assert "not read: 'annotations/captions_train2017.json'; captions are packed with --targets caption:FILE" in notes
    assert "not read: 'annotations/person_keypoints_train2017.json'; instead of the others, --targets coco:FILE reads such a file" in notes


def test_coco_takes_the_captions_of_all_its_images(tmp_path):
    made.coco(tmp_path / "source")
    for split in ("train", "val"):
        names = [f"{split}2017-{n}.jpg" for n in range(2)]
        texts = [{"image_id": i, "caption": f"{text} of {split}"} for i in range(2) for text in ("A cat", "A dog")]
        made.text(tmp_path / f"source/annotations/captions_{split}2017.json", made.coco_text(names, annotations=texts))
    result = pack(tmp_path / "source", tmp_path / "out")
    check_splits(result, tmp_path / "out")
    assert "instances_val2017.json and captions for val2017" in result.json["detected"]
    samples = objects.of_tar(tmp_path / "out/val/shard-000000.tar")
    assert [sample["caption"] for sample in samples] == [b"A cat of val\nA dog of val"] * 2
    packhorse("inspect", tmp_path / "out/train", "--against", tmp_path / "source")


def test_coco_of_roboflow_and_of_one_file(tmp_path):
    for split in ("train", "valid"):
        names = [f"{split}-{n}.jpg" for n in range(2)]
        made.images(tmp_path / "source" / split, *names)
        made.text(tmp_path / "source" / split / "_annotations.coco.json", made.coco_text(names))
    check_splits(pack(tmp_path / "source", tmp_path / "out"), tmp_path / "out")
    made.images(tmp_path / "whole/images", "a.jpg", "b.jpg")
    made.text(tmp_path / "whole/annotations/instances.json", made.coco_text(["a.jpg", "b.jpg"]))
    result = pack(tmp_path / "whole", tmp_path / "one")
    assert result.code == DONE and boxes_in(tmp_path / "one") == [EXPECTED] * 2, result
    made.text(tmp_path / "whole/annotations/instances_default.json", made.coco_text(["a.jpg", "b.jpg"]))
    said = refused(tmp_path / "whole", tmp_path / "no", "two annotation files are for one split, the whole")
    [command] = commands_in(said)
    assert run(*[tmp_path / "either" if word == "OUT" else word for word in command], "--format=wds").code == DONE
    assert boxes_in(tmp_path / "either/images") == [EXPECTED] * 2
    (tmp_path / "whole/annotations/instances.json").rename(tmp_path / "whole/annotations/instances_default.json")  # CVAT
    again = pack(tmp_path / "whole", tmp_path / "again")
    assert again.code == DONE and (tmp_path / "again/dataset.json").read_bytes() == (tmp_path / "one/dataset.json").read_bytes()


def test_coco_that_is_not_complete_is_refused_with_the_command_for_the_rest(tmp_path):
    made.coco(tmp_path / "source")
    (tmp_path / "source/annotations/instances_val2017.json").unlink()
    message = refused(tmp_path / "source", tmp_path / "out", "there is no annotation file for the images in 'val2017'")
    (command,) = commands_in(message)
    command[command.index("OUT")] = tmp_path / "out"
    check_splits(run(*command, "--format=wds", "--json"), tmp_path / "out", ["train"])
    made.text(tmp_path / "source/annotations/instances_val2017.json", made.coco_text([]))
    made.text(tmp_path / "source/annotations/instances_minival.json", made.coco_text([]))
    refused(tmp_path / "source", tmp_path / "no", "there are no images for 'annotations/instances_minival.json'")


# YOLO


@pytest.mark.parametrize(
    "yaml",
    [
        "train: images/train\nval: images/val\nnames: {0: cat, 1: dog}\n",
        "path: /of/another/machine\ntrain: [images/train]\nval: images/val/\nnames:\n  - cat\n  - dog\nnc: 2\n",
        "train: ../images/train\nval: ../images/val\nnames: [cat, dog]\n",
        "train: images/tr*\nval: ['images/v?l']\nnames: [cat, dog]\ndownload: https://host/x.zip\n",
        "train: train.txt\nval: lists/val.txt\nnames: ['cat', \"dog\"]\n",
        "path: .\ntrain: {root}/images/train\nval: ./images/val\nnames: [cat, dog]\ntest:\n",
    ],
)
def test_a_data_yaml_names_images_in_many_ways(tmp_path, yaml):
    source = tmp_path / "source"
    made.yolo(source, yaml=yaml.replace("{root}", str(source)))
    made.text(source / "train.txt", "./images/train/train-0.jpg\nimages/train/train-1.jpg\n\n")
    made.text(source / "lists/val.txt", f"images/val/val-0.jpg\r\n{source}/images/val/val-1.jpg\n")
    check_splits(pack(source / "data.yaml", tmp_path / "out"), tmp_path / "out")


def test_a_folder_its_data_yaml_and_the_option_with_it_give_the_same(tmp_path):
    source = tmp_path / "source"
    made.yolo(source)
    ways = [(source / "data.yaml",), (source,), (source, f"--targets=yolo:{source}/data.yaml")]
    for i, (given, *options) in enumerate(ways):
        check_splits(pack(given, tmp_path / f"{i}", *options), tmp_path / f"{i}")
    shards = {(tmp_path / f"{i}/train/shard-000000.tar").read_bytes() for i in range(3)}
    assert len(shards) == 1


def test_a_data_yaml_that_cannot_be_right_is_refused(tmp_path):
    source = tmp_path / "source"
    (tmp_path / "elsewhere").mkdir()
    made.yolo(source)
    made.image(source / "nolabels/1.jpg")
    (source / "empty").mkdir()
    for yaml, words in (
        ("train: images/train\n", "it has no names"),
        ("train: images/train\nnames: [cat, dog]\nnc: 3\n", "nc is 3, but there are 2 names"),
        ("train: images/train\nnames: {1: cat, 2: dog}\n", "numbers up to 2, but there are 2"),
        ("train: images/train\nnames: {a: cat}\n", "'a' is not the number of a class"),
        ("train: images/train\nnames: [cat, cat]\n", "two classes are called cat"),
        ("names: [cat, dog]\n", "neither train nor val nor test"),
        ("train: images/trian\nnames: [cat, dog]\n", "there is no "),
        ("train: images/x*\nnames: [cat, dog]\n", "nothing matches 'images/x*'"),
        ("train: /etc\nnames: [cat, dog]\n", "which is not in the source"),
        ("train: ../../other\nnames: [cat, dog]\n", "which is not in the source"),
        ("train: https://host/a.zip\nnames: [cat, dog]\n", "a URL"),
        ("path: {elsewhere}\ntrain: .\nnames: [cat, dog]\n", "is not in the folder that it lies in"),
        ("train: images/train\nnames: [cat, dog]\nkpt_shape: [17]\n", "kpt_shape is not"),
        ("train: &a images/train\nval: *a\nnames: [cat, dog]\n", "line 1: an anchor"),
        ("train: images/train\ntrain: images/val\nnames: [cat, dog]\n", "line 2: 'train' is there twice"),
        ("train: [images/train\nnames: [cat, dog]\n", "not a YAML file that can be used: line "),
        ("- a\n", "it has no members"),
        ("train: none\nnames: [cat, dog]\n", "there is no "),
        ("train: empty\nnames: [cat, dog]\n", "the split train has no images"),
        ("train: nolabels\nnames: [cat, dog]\n", "none of the images has labels: for nolabels/1.jpg they would be nolabels/1.txt"),
        ("train: images/train\nval: [images/train]\nnames: [cat, dog]\n", "two splits hold the same image"),
    ):
        made.text(source / "data.yaml", yaml.replace("{elsewhere}", str(tmp_path / "elsewhere")))
        assert "data.yaml" in refused(source / "data.yaml", tmp_path / "out", words)


def test_a_yaml_of_a_gigabyte_in_few_bytes_is_refused(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    made.yolo(tmp_path / "source", yaml="\n".join(lines) + "\n")
    refused(tmp_path / "source", tmp_path / "out", "line 1: an anchor")
    made.yolo(tmp_path / "source", yaml="names: " + "[" * 100_000)
    refused(tmp_path / "source", tmp_path / "out", "more than 16 levels")


def test_key_points_and_images_without_labels(tmp_path):
    yaml = "train: images/train\nnames: [cat, dog]\nkpt_shape: [2, 3]\nflip_idx: [1, 0]\n"
    made.yolo(tmp_path / "source", yaml=yaml, labels="1 0.5 0.5 0.2 0.2 0.5 0.5 2 0 0 0\n")
    (tmp_path / "source/labels/train/train-1.txt").unlink()
    result = pack(tmp_path / "source", tmp_path / "out", "--no-shuffle")
    assert result.code == DONE and "flip_idx is not packed" in "\n".join(result.json["notes"]), result
    one, none = (objects.parse(sample["objects"]) for sample in objects.of_tar(tmp_path / "out/train/shard-000000.tar"))
    assert one["keypoints"].tolist() == [[50, 40, 2], [0, 0, 0]] and len(none["boxes"]) == 0


WITH_TEST = "train: images/train\nval: images/val\ntest: images/test\nnames: [cat, dog]\n"


def test_a_test_split_without_labels_is_left_out_and_any_other_is_refused(tmp_path):
    made.yolo(tmp_path / "source", yaml=WITH_TEST)
    made.image(tmp_path / "source/images/test/1.jpg", 77)
    made.text(tmp_path / "source/images/test/about.txt", "photos")
    result = pack(tmp_path / "source", tmp_path / "out")
    check_splits(result, tmp_path / "out")
    assert result.json["skipped_by_rule"] == {"in a split without labels": 1, "not an image, by name and first bytes": 1}
    assert result.json["seen"] == 6
    for path in (tmp_path / "source/labels/val").iterdir():
        path.unlink()
    refused(tmp_path / "source", tmp_path / "no", "none of the images has labels: for images/val/val-0.jpg")


def test_a_test_split_that_cannot_be_read_whole_is_not_taken_for_one_without_labels():
    def make(root):
        made.yolo(root, yaml=WITH_TEST)
        made.image(root / "images/test/1.jpg", 77)
        made.image(root / "images/test/b/2.jpg", 78)
        made.text(root / "labels/test/b/2.txt", made.yolo_text())

    result = pack_closed(make, "images/test/b")
    assert result.code == USAGE, result
    assert "1 of its inputs cannot be packed: images/test/b: unreadable folder: Permission denied" in result.err


def test_a_test_split_with_labels_in_other_letter_case_is_not_left_out(tmp_path):
    made.yolo(tmp_path / "source", splits=("train", "val", "test"))
    for labels in (tmp_path / "source/labels/test").iterdir():
        labels.rename(labels.with_suffix(".TXT"))
    refused(tmp_path / "source", tmp_path / "out", "its labels would be labels/test/test-0.txt, and there is labels/test/test-0.TXT")


def test_lines_of_a_list_that_name_no_image_are_rejects(tmp_path):
    made.yolo(tmp_path / "source", yaml="train: list.txt\nnames: [cat, dog]\n")
    lines = ["images/train/train-0.jpg", "images/train/gone.jpg", "../x.jpg", "/etc/passwd", "images/train/train-0.jpg", "images"]
    made.text(tmp_path / "source/list.txt", "\n".join(lines))
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DAMAGE
    reasons = sorted(reject["reason"] for reject in result.json["rejects"])
    assert reasons == [
        "line 2 of list.txt: No such file or directory", "line 3 of list.txt: its path leads out of the source",
        "line 4 of list.txt: its path leads out of the source", "line 5 of list.txt: the image is in the split already",
        "line 6 of list.txt: not a regular file",
    ]


@pytest.mark.parametrize("closed", ["labels/train/b", "labels/val"])
def test_labels_that_cannot_be_listed_end_the_run(closed):
    def make(root):
        made.yolo(root)
        for kind, ending in (("images", "jpg"), ("labels", "txt")):
            (root / kind / "train/b").mkdir()
            (root / kind / f"train/train-1.{ending}").rename(root / kind / f"train/b/train-1.{ending}")

    result = pack_closed(make, closed)
    assert result.code == FAILED and "cannot list: Permission denied" in result.err, result
    assert f"source/{closed}" in result.err


def test_a_split_whose_images_cannot_be_listed_is_a_reject():
    result = pack_closed(made.yolo, "images/val")
    assert result.code == DAMAGE, result
    assert rejects_of(result.json) == {"images/val/": "unreadable folder: Permission denied"}


def test_label_files_of_no_image_are_skips(tmp_path):
    made.yolo(tmp_path / "source")
    for name in ("train/classes.txt", "train/train-0.txt.txt", "val/train-0.txt"):
        made.text(tmp_path / "source/labels" / name, made.yolo_text())
    result = pack(tmp_path / "source", tmp_path / "out")
    assert (result.code, result.json["packed"], result.json["skipped"]) == (DONE, 4, 3), result
    assert result.json["skipped_by_rule"] == {"labels of no image that is packed": 3}


def test_label_files_of_no_image_beside_listed_images_are_skips(tmp_path):
    made.yolo(tmp_path / "source", yaml="train: photos/list.txt\nnames: [cat, dog]\n")
    made.text(tmp_path / "source/photos/list.txt", "photos/0.jpg\nphotos/1.jpg\n")
    for n in range(2):
        made.image(tmp_path / f"source/photos/{n}.jpg", n)
        made.text(tmp_path / f"source/photos/{n}.txt", made.yolo_text())
    made.text(tmp_path / "source/photos/2.txt", made.yolo_text())
    result = pack(tmp_path / "source", tmp_path / "out")
    check_splits(result, tmp_path / "out", ["train"])
    assert result.json["skipped_by_rule"] == {"labels of no image that is packed": 1, "in no split of the data.yaml": 8}


def test_what_is_in_no_split_of_a_data_yaml_is_counted(tmp_path):
    made.yolo(tmp_path / "source", splits=("train", "val", "extra"), yaml="train: images/train\nval: list.txt\nvalid: images/extra\ndevice: 0\nnames: [cat, dog]\n")
    made.text(tmp_path / "source/list.txt", "images/val/val-0.jpg\n")
    made.text(tmp_path / "source/notes/about.txt", "photos")
    result = pack(tmp_path / "source", tmp_path / "out")
    assert (result.code, result.json["seen"], result.json["packed"]) == (DONE, 10, 3), result
    # extra: two images and their labels; val-1.jpg; about.txt. The labels of val-1.jpg are told as such.
    assert result.json["skipped_by_rule"] == {"in no split of the data.yaml": 6, "labels of no image that is packed": 1}
    assert [note for note in result.json["notes"] if "not read" in note] == [
        "not read: 'valid' in the data.yaml, where splits are called train, val and test"
    ]


@pytest.mark.parametrize("yaml", ["train: images/train\nval: images/val\nnames: [cat, dog]\n", "train: train.txt\nval: images/val\nnames: [cat, dog]\n"])
def test_what_links_lead_to_is_counted_once(tmp_path, yaml):
    made.yolo(tmp_path / "source/store", yaml=yaml)
    (tmp_path / "source/store/data.yaml").rename(tmp_path / "source/data.yaml")
    made.text(tmp_path / "source/train.txt", "images/train/train-0.jpg\nimages/train/train-1.jpg\n")
    for name in ("images", "labels"):
        (tmp_path / "source" / name).symlink_to(f"store/{name}")
    (tmp_path / "link").symlink_to("source")
    for i, options in enumerate(([], [f"--targets=yolo:{tmp_path}/link/data.yaml"])):
        result = pack(tmp_path / "source", tmp_path / f"out{i}", *options)
        check_splits(result, tmp_path / f"out{i}")
        assert result.json["skipped_by_rule"] == ({} if "train.txt" in yaml else {"in no split of the data.yaml": 1})


def test_labels_in_other_letter_case_are_not_taken_for_none(tmp_path):
    made.yolo(tmp_path / "source")
    labels = tmp_path / "source/labels/train/train-0.txt"
    labels.rename(labels.with_suffix(".TXT"))
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DAMAGE, result
    assert list(rejects_of(result.json).values()) == [
        "its labels would be labels/train/train-0.txt, and there is labels/train/train-0.TXT"
    ]


def test_a_link_to_labels_that_are_not_there_is_not_taken_for_none(tmp_path):
    made.yolo(tmp_path / "source")
    labels = tmp_path / "source/labels/train/train-0.txt"
    labels.unlink()
    labels.symlink_to("gone.txt")
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DAMAGE, result
    assert list(rejects_of(result.json).values()) == ["its labels, labels/train/train-0.txt: No such file or directory"]


def test_a_file_of_coco_for_all_splits_names_images_with_their_folders(tmp_path):
    for split in ("train", "val"):
        made.images(tmp_path / "source" / split, "1.jpg")
    options = [f"--targets=coco:{tmp_path}/all.json", "--unlabelled"]
    made.text(tmp_path / "all.json", made.coco_text(["val/1.jpg", "train/1.jpg"]))
    result = pack(tmp_path / "source", tmp_path / "both", *options)
    assert result.code == DONE and boxes_in(tmp_path / "both/train") == boxes_in(tmp_path / "both/val") == [EXPECTED], result
    made.text(tmp_path / "all.json", made.coco_text(["val/1.jpg"]))
    result = pack(tmp_path / "source", tmp_path / "one", *options, "--max-rejects=1")
    assert rejects_of(result.json) == {"train/1.jpg": "no annotations: all.json has no image of that name"}
    assert boxes_in(tmp_path / "one/val") == [EXPECTED] and not list((tmp_path / "one/train").glob("shard-*.tar"))
    made.text(tmp_path / "all.json", made.coco_text(["val/1.jpg", "train/1.jpg", "train/1.jpg"]))
    result = pack(tmp_path / "source", tmp_path / "several", *options)
    assert result.code == DAMAGE and rejects_of(result.json) == {"train/1.jpg": "no annotations: all.json has several images of that name"}
    alone = ["--split-folders=train=train", *options]
    made.text(tmp_path / "all.json", made.coco_text(["train2017/1.jpg"]))  # a folder that is called otherwise here
    assert pack(tmp_path / "source", tmp_path / "alone", *alone).code == DONE
    assert boxes_in(tmp_path / "alone/train") == [EXPECTED]
    made.text(tmp_path / "all.json", made.coco_text(["1.jpg"]))
    refused(tmp_path / "source", tmp_path / "no", "two images would get the annotations of '1.jpg', one of them val/1.jpg", *options)


def test_a_file_of_coco_with_two_lists_of_annotations_is_refused(tmp_path):
    made.coco(tmp_path / "source", splits=("train2017",))
    path = tmp_path / "source/annotations/instances_train2017.json"
    path.write_text(path.read_text().rstrip()[:-1] + ', "annotations": []}')
    refused(tmp_path / "source", tmp_path / "out", 'it has "annotations" twice')


def test_images_without_the_field_of_their_labels_are_told(tmp_path):
    made.images(tmp_path / "source", "a.jpg", "b.jpg")
    made.text(tmp_path / "source/a.txt", made.yolo_text())
    made.text(tmp_path / "names", "cat\ndog\n")
    result = pack(tmp_path / "source", tmp_path / "out", "--unlabelled", "--fields=txt", "--targets=yolo", f"--target-classes={tmp_path}/names")
    assert result.code == DONE and "1 of 2 images have no field 'txt', and so no objects" in result.json["notes"]


# Pascal VOC


def test_voc_has_the_splits_of_its_lists_and_the_classes_of_its_files(tmp_path):
    made.voc(tmp_path / "source/VOCdevkit/VOC2012")
    made.text(tmp_path / "source/VOCdevkit/VOC2012/ImageSets/Main/trainval.txt", "train-0\ntrain-1\nval-0\nval-1\n")
    result = pack(tmp_path / "source", tmp_path / "out")
    check_splits(result, tmp_path / "out")
    assert result.json["skipped_by_rule"]["in none of the lists of splits in ImageSets/Main"] == 1
    assert "the 2 classes of the objects are those in the annotations, sorted: 'cat', 'dog'" in "\n".join(result.json["notes"])
    (tmp_path / "names.txt").write_text("dog\ncat\n")
    pack(tmp_path / "source", tmp_path / "fixed", "--targets=voc", f"--target-classes={tmp_path}/names.txt")
    assert boxes_in(tmp_path / "fixed/train") == [(EXPECTED[0], [1, 0])] * 2


@pytest.mark.parametrize(
    "lists",
    [
        {"train": "Train.txt", "val": "VAL.TXT"},
        {"train": "training.txt", "val": "validation.txt"},
        {"train": "train2012.txt", "val": "valid.txt"},
    ],
)
def test_voc_knows_lists_by_the_other_names_of_splits(tmp_path, lists):
    made.voc(tmp_path / "source")
    for split, name in lists.items():
        (tmp_path / f"source/ImageSets/Main/{split}.txt").rename(tmp_path / f"source/ImageSets/Main/{name}")
    result = pack(tmp_path / "source", tmp_path / "out")
    check_splits(result, tmp_path / "out")
    assert "not read" not in "\n".join(result.json["notes"])


def voc_with_lists(source, **lists):
    """A folder of VOC with just these lists."""
    made.voc(source)
    for file in (source / "ImageSets/Main").iterdir():
        file.unlink()
    for name, content in lists.items():
        made.text(source / f"ImageSets/Main/{name}.txt", content)


TRAIN, VAL = "train-0\ntrain-1\n", "val-0\nval-1\n"


@pytest.mark.parametrize(
    "lists, unread",
    [
        ({"train": TRAIN, "val": VAL}, None),
        ({"train": TRAIN, "val": VAL, "hard": TRAIN, "train_1": TRAIN, "image_train": TRAIN}, "'hard.txt', 'image_train.txt', 'train_1.txt'"),
        # Lists of the classes "train" and "0", which say of each image whether it shows one.
        ({"train": TRAIN, "val": VAL, "train_train": "train-0 1\ntrain-1 -1\n", "0_train": "train-0  -1\n"}, None),
        ({"train": "train-0  1\ntrain-1 -1\n", "VAL": VAL}, None),  # as it is called
    ],
)
def test_voc_names_the_lists_that_it_does_not_read(tmp_path, lists, unread):
    voc_with_lists(tmp_path / "source", **lists)
    result = pack(tmp_path / "source", tmp_path / "out")
    check_splits(result, tmp_path / "out")
    assert [note for note in result.json["notes"] if "not read" in note] == ([f"not read as splits: {unread} in ImageSets/Main"] if unread else [])


@pytest.mark.parametrize(
    "lists, splits",
    [
        ({"hard": TRAIN}, [""]),
        ({"trainval2012": TRAIN, "test2012": VAL}, ["test", "trainval"]),
        ({"train_val": TRAIN, "test": VAL}, ["test", "trainval"]),
        ({"trainval": TRAIN, "train_train": "train-0 1\ntrain-1 -1\n"}, ["trainval"]),
        ({"train2012": TRAIN}, ["train"]),
        ({"train": TRAIN, "trainval": TRAIN}, ["train"]),
    ],
)
def test_voc_has_the_splits_that_its_lists_name(tmp_path, lists, splits):
    voc_with_lists(tmp_path / "source", **lists)
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DONE and [split["split"] for split in result.json["splits"]] == splits


@pytest.mark.parametrize(
    "lists, words",
    [
        ({"train_1": "train-0\n", "train_2": "train-1\n"}, "two lists are for the split train: train_1.txt and train_2.txt"),
        ({"trainval": TRAIN + VAL, "train": TRAIN}, "val-0 is in trainval.txt, but in no list of train or val"),
    ],
)
def test_voc_with_lists_that_are_not_clear_is_refused(tmp_path, lists, words):
    voc_with_lists(tmp_path / "source", **lists)
    refused(tmp_path / "source", tmp_path / "out", words)


@pytest.mark.parametrize("kind, list", [("voc", "ImageSets/Main/train.txt"), ("yolo", "train.txt"), ("yolo", "labels/train/train-0.txt")])
def test_a_carriage_return_that_ends_no_line_loses_nothing(tmp_path, kind, list):
    source = tmp_path / "source"
    KINDS[kind](source)
    if list == "train.txt":
        made.text(source / list, "images/train/train-0.jpg\nimages/train/train-1.jpg\n")
        (source / "data.yaml").write_text("path: .\ntrain: train.txt\nval: images/val\nnames: [cat, dog]\n")
    assert pack(source, tmp_path / "fine").code == DONE
    (source / list).write_bytes((source / list).read_bytes().replace(b"\n", b"\r"))
    result = run("pack", source, tmp_path / "out", "--format=wds")
    if list.startswith("labels"):
        assert result.code == DAMAGE and "line 1: a word in it is not a number" in result.err, result
    else:
        assert result.code == USAGE and "line 1 has a carriage return that ends no line" in result.err, result


def test_voc_with_two_images_of_one_name_is_refused(tmp_path):
    made.voc(tmp_path / "source")
    (tmp_path / "source/JPEGImages/train-0.png").write_bytes((tmp_path / "source/JPEGImages/train-0.jpg").read_bytes())
    refused(tmp_path / "source", tmp_path / "out", "train-0 is in train.txt, and two images are called so: train-0.jpg and train-0.png")
    made.text(tmp_path / "source/ImageSets/Main/train.txt", "train-1\n")
    assert pack(tmp_path / "source", tmp_path / "out").json["skipped_by_rule"]["in none of the lists of splits in ImageSets/Main"] == 3


def test_voc_names_are_all_the_characters_of_their_element(tmp_path):
    named = made.voc_object("x", 0, 0, 9, 9).replace("<name>x</name>", "<name>\n c<!-- was: d -->at </name>")
    made.voc(tmp_path / "source", content=named)
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DONE and "sorted: 'cat'" in "\n".join(result.json["notes"]), result
    twice = made.voc_object("cat", 0, 0, 9, 9).replace("</object>", "<name>dog</name></object>")
    made.text(tmp_path / "source/Annotations/train-0.xml", made.voc_text(twice))
    result = pack(tmp_path / "source", tmp_path / "no")
    assert list(rejects_of(result.json).values()) == ["its annotations: object 1: it has several names or boxes"]


def test_voc_counts_an_image_that_cannot_be_read_once(tmp_path):
    made.voc(tmp_path / "source", sets=("train", "test"))
    for name in ("train-0", "test-0"):
        (tmp_path / f"source/JPEGImages/{name}.jpg").unlink()
        (tmp_path / f"source/JPEGImages/{name}.jpg").symlink_to("gone")
    for n in range(2):
        (tmp_path / f"source/Annotations/test-{n}.xml").unlink()
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DAMAGE, result
    assert sorted(reject["path"] for reject in result.json["rejects"]) == ["JPEGImages/test-0.jpg", "JPEGImages/train-0.jpg"]
    assert (result.json["packed"], result.json["rejected"]) == (1, 2)


def test_voc_without_annotations_of_its_test_split(tmp_path):
    made.voc(tmp_path / "source", sets=("train", "val", "test"))
    made.text(tmp_path / "source/ImageSets/Main/test.txt", "test-0\ntest-1\ngone\n")
    for n in range(2):
        (tmp_path / f"source/Annotations/test-{n}.xml").unlink()
    result = pack(tmp_path / "source", tmp_path / "out")
    check_splits(result, tmp_path / "out")
    assert result.json["skipped_by_rule"]["in a split without annotations"] == 2
    assert result.json["skipped_by_rule"]["not there, but in the list of a split without annotations"] == 1
    (tmp_path / "source/Annotations/val-0.xml").unlink()
    made.text(tmp_path / "source/ImageSets/Main/train.txt", "train-0\ntrain-1\ngone\n")
    result = pack(tmp_path / "source", tmp_path / "no")
    assert result.code == DAMAGE
    assert {(reject["path"].split("/")[-1], reject["reason"]) for reject in result.json["rejects"]} == {
        ("val-0.jpg", "it has no annotations: its field 'xml' is missing"),
        ("gone", "not there, but in ImageSets/Main/train.txt"),
    }


def test_voc_with_an_image_in_two_splits_is_refused(tmp_path):
    made.voc(tmp_path / "source")
    made.text(tmp_path / "source/ImageSets/Main/val.txt", "val-0\ntrain-0\n")
    refused(tmp_path / "source", tmp_path / "out", "train-0 is twice in the lists of splits")


# What is damaged, in each notation


@pytest.mark.parametrize(
    "kind, closed",
    [
        (made.voc, "ImageSets/Main"),
        (made.voc, "Annotations"),
        (made.coco, "annotations"),
        (made.yolo, "."),
        (made.hf, "train"),
    ],
)
def test_a_folder_of_the_layout_that_cannot_be_read_ends_the_run(kind, closed):
    result = pack_closed(kind, closed)
    assert result.code == FAILED and "Permission denied" in result.err, result
    assert f"source/{closed}".removesuffix("/.") in result.err, result


UNKNOWN_CLASS = {
    "coco": "no category has the id 9", "yolo": "its class 7 is none of the 2", "voc": "object 'cow': no class is called that"
}  # fmt: skip


@pytest.mark.parametrize("kind, words", UNKNOWN_CLASS.items())
def test_a_damaged_annotation_is_counted_listed_and_decides_as_a_damaged_image_does(tmp_path, kind, words):
    options = []
    if kind == "coco":
        annotation = {"image_id": 0, "category_id": 9, "bbox": [0, 0, 9, 9]}
        made.coco(tmp_path / "source", splits=("train",), annotations=[annotation])
    if kind == "yolo":
        made.yolo(tmp_path / "source", splits=("train",))
        made.text(tmp_path / "source/labels/train/train-0.txt", "7 0.5 0.5 0.1 0.1\n")
    if kind == "voc":
        made.voc(tmp_path / "source", sets=("train",))
        made.text(tmp_path / "source/Annotations/train-0.xml", made.voc_text(made.voc_object("cow", 0, 0, 9, 9)))
        made.text(tmp_path / "names.txt", "cat\ndog\n")
        options = ["--targets=voc", f"--target-classes={tmp_path}/names.txt"]
    result = pack(tmp_path / "source", tmp_path / "out", *options)
    assert result.code == DAMAGE and not (tmp_path / "out").exists(), result
    assert result.json["seen"] == result.json["packed"] + result.json["rejected"] + result.json["skipped"]
    (reject,) = result.json["rejects"]
    assert reject["path"].endswith("train-0.jpg") and words in reject["reason"]
    preview = pack(tmp_path / "source", tmp_path / "out", "--dry-run", *options).json["preview"]["targets"]
    (problem,) = preview["problems_by_reason"]
    assert problem == {"reason": reject["reason"], "count": 1, "example": reject["path"], "code": "bad-annotation", "finding": "PH601"}
    assert preview["rejected"] == 1 and reject["code"] == "bad-annotation"
    said = packhorse("pack", tmp_path / "source", tmp_path / "out", "--format=wds", "--dry-run", *options).out
    assert f"  would reject 1, e.g. {reject['path']}: {reject['reason']} (PH601)\n" in said
    assert "note: 1 rejected, 0 allowed: nothing would be published" in said
    allowed = pack(tmp_path / "source", tmp_path / "out", "--max-rejects=1", *options)
    assert allowed.code == DONE and allowed.json["rejected"] == 1


# Hugging Face


def test_metadata_in_the_source_names_images_with_their_folders(tmp_path):
    for folder in ("a", "b"):  # one name in two folders
        made.image(tmp_path / f"source/{folder}/1.jpg")
    rows = made.hf_row("a/1.jpg") + made.hf_row("b/1.jpg", {"bbox": [], "categories": []}) + "\n"
    made.text(tmp_path / "source/metadata.jsonl", rows)
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DONE and result.json["packed"] == 2, result
    assert sorted(boxes_in(tmp_path / "out")) == sorted([EXPECTED, ([], [])])


@pytest.mark.parametrize("repeated", [1, 2])
def test_an_image_that_is_named_twice_gets_none_of_its_annotations(tmp_path, repeated):
    made.hf(tmp_path / "source")
    rows = tmp_path / "source/train/metadata.jsonl"
    rows.write_text(rows.read_text() + "".join(rows.read_text().splitlines(keepends=True)[:repeated]))
    result = pack(tmp_path / "source", tmp_path / "out")
    if repeated == 1:
        assert (result.code, result.json["rejected"]) == (DAMAGE, 1), result
        assert list(rejects_of(result.json).values()) == ["no annotations: metadata.jsonl has several images of that name"]
    else:
        assert result.code == USAGE and "the annotations name none of the images once" in result.err, result


def test_metadata_says_the_same_in_other_words(tmp_path):
    """A list of objects, categories by number, an image without objects, sizes."""
    (left, top, right, bottom) = made.BOXES[1][1]
    one = {"bbox": [left, top, right - left, bottom - top], "category": 1, "area": 1000.5, "iscrowd": 0}
    rows = made.hf_row("1.jpg", [one], width=100, height=80, note="seen") + made.hf_row("2.jpg", {}) + '{"file_name": "3.jpg"}\n'
    made.images(tmp_path / "source", "1.jpg", "2.jpg", "3.jpg")
    made.text(tmp_path / "source/metadata.jsonl", rows)
    refused(tmp_path / "source", tmp_path / "no", "the categories of the objects are numbers")
    made.text(tmp_path / "names.txt", "cat\ndog\n")
    targets = [f"--targets=hf:{tmp_path}/source/metadata.jsonl", f"--target-classes={tmp_path}/names.txt"]
    result = pack(tmp_path / "source", tmp_path / "out", *targets)
    assert result.code == DONE and result.json["packed"] == 3, result
    samples = objects.of_tar(tmp_path / "out/shard-000000.tar")
    found = [objects.parse(sample["objects"]) for sample in samples]
    assert sorted(len(columns["boxes"]) for columns in found) == [0, 0, 1]
    (with_one,) = [(sample, columns) for sample, columns in zip(samples, found) if len(columns["boxes"])]
    assert with_one[1]["boxes"].tolist() == [[left, top, right, bottom]] and with_one[1]["areas"].tolist() == [1000.5]
    record = json.loads(with_one[0]["json"])
    assert record["image"] == {"id": 1, "file_name": "1.jpg", "width": 100, "height": 80, "metadata": {"note": "seen"}}
    assert record["annotations"] == [{"image_id": 1, "category_id": 1, "bbox": one["bbox"], "area": 1000.5, "iscrowd": 0}]
    packhorse("unpack", tmp_path / "out", tmp_path / "coco", "--as=coco")
    back = json.loads((tmp_path / "coco/annotations/instances.json").read_text())
    assert [category["name"] for category in back["categories"]] == ["cat", "dog"] and len(back["images"]) == 3


@pytest.mark.parametrize("change, words", [
    ({"categories": ["cat", "cow"]}, 'no category has the id "cow"'),
    ({"categories": ["cat"]}, "it has no category_id"),
    ({"bbox": [[10, 20, 20, 40]]}, "it has no box"),
    ({"bbox": [[10, 20, 20, 40], [50, 8, 90, 40]]}, "is beyond the image of 100 x 80"),
])
def test_damaged_metadata_rejects_its_image(tmp_path, change, words):
    made.hf(tmp_path / "source", splits=("train",))
    file = tmp_path / "source/train/metadata.jsonl"
    row = json.loads(file.read_text().splitlines()[0])
    file.write_text(json.dumps(row | {"objects": row["objects"] | change}) + "\n" + made.hf_row("train-1.jpg"))
    made.text(tmp_path / "names.txt", "cat\ndog\n")
    targets = [f"--targets=hf:{file}", f"--target-classes={tmp_path}/names.txt"]
    result = pack(tmp_path / "source", tmp_path / "out", *targets)
    assert result.code == DAMAGE, result
    (reject,) = result.json["rejects"]
    assert reject["path"].endswith("train-0.jpg") and words in reject["reason"]


METADATA_WITH_A_BAD_LINE = [
    ('{"file_name": 1, "objects": {}}\n', "line 1: "),
    (made.hf_row("1.jpg") + "{\n", "line 2: "),
    (made.hf_row("1.jpg") + '{"objects": {}}\n', "line 2: it has no file_name"),
    (made.hf_row("1.jpg") + '{"file_name": "2.jpg", "objects": {"bbox": 1}}\n', "line 2: "),
    (made.hf_row("1.jpg", ["a"]), "line 1: "),
]


def test_metadata_that_is_none_is_refused_with_its_line(tmp_path):
    made.images(tmp_path / "source", "1.jpg", "2.jpg")
    made.text(tmp_path / "names.txt", "cat\ndog\n")
    targets = [f"--targets=hf:{tmp_path}/m.jsonl", f"--target-classes={tmp_path}/names.txt"]
    for rows, words in METADATA_WITH_A_BAD_LINE:
        made.text(tmp_path / "m.jsonl", rows)
        refused(tmp_path / "source", tmp_path / "out", words, *targets)


@pytest.mark.parametrize("splits", [(), ("train", "validation")])
def test_metadata_with_labels_and_objects_names_its_readings(tmp_path, splits):
    source = tmp_path / "source"
    for split in splits or ("",):
        made.images(source / split, "1.jpg", "2.jpg")
        made.text(source / split / "metadata.jsonl", made.hf_row("1.jpg", label="x") + made.hf_row("2.jpg", label="y"))
    commands = commands_in(refused(source, tmp_path / "out", "has labels and objects of its images"))
    assert len(commands) == 3
    found = []
    for number, (_, _, _, *options) in enumerate(commands):
        out = tmp_path / f"{number}"
        result = pack(source, out, *options)
        assert result.code == DONE, result
        dataset = out / splits[0] if splits else out
        first = objects.of_tar(dataset / "shard-000000.tar")[0]
        found.append(((dataset / "classes.txt").read_text(), "objects" in first))
    assert found == [("x\ny\n", True), ("unlabelled\n", True), ("x\ny\n", False)]


def test_metadata_whose_first_line_has_no_objects(tmp_path):
    made.images(tmp_path / "source", "1.jpg", "2.jpg")
    made.text(tmp_path / "source/metadata.jsonl", '{"file_name": "1.jpg"}\n' + made.hf_row("2.jpg"))
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DONE and "Hugging Face" in result.json["detected"], result
    assert sorted(boxes_in(tmp_path / "out")) == sorted([([], []), EXPECTED])


@pytest.mark.thorough
def test_real_photos_by_metadata_have_the_objects_of_coco(tmp_path):
    bccd = photos("bccd/bccd")
    source = json.loads((bccd / "annotations/instances_val.json").read_text())
    names = {category["id"]: category["name"] for category in source["categories"]}
    rows = ""
    for image in source["images"]:
        own = [one for one in source["annotations"] if one["image_id"] == image["id"]]
        columns = {"bbox": [one["bbox"] for one in own], "category": [names[one["category_id"]] for one in own],
                   "area": [one["area"] for one in own]}
        rows += made.hf_row(image["file_name"], columns)
    made.text(tmp_path / "metadata.jsonl", rows)
    made.text(tmp_path / "names.txt", "".join(names[i] + "\n" for i in sorted(names)))
    common = [bccd, "--format=wds", "--split-folders=val=images/val"]
    packhorse("pack", common[0], tmp_path / "coco", *common[1:], f"--targets=coco:{bccd}/annotations/instances_val.json")
    packhorse("pack", common[0], tmp_path / "hf", *common[1:], f"--targets=hf:{tmp_path}/metadata.jsonl", f"--target-classes={tmp_path}/names.txt")
    for n in ("coco", "hf"):
        packhorse("inspect", tmp_path / n / "val", "--verify=full")
    coco, hf = boxes_in(tmp_path / "coco/val"), boxes_in(tmp_path / "hf/val")
    assert len(coco) == 87 and coco == hf


# --dry-run


def test_a_dry_run_shows_the_objects(tmp_path):
    made.coco(tmp_path / "source", annotations=[
        {"image_id": 0, "category_id": 2, "bbox": [1, 1, 10, 10], "segmentation": [[1, 1, 9, 1, 9, 9]]},
        {"image_id": 0, "category_id": 2, "bbox": [0, 0, 100, 80], "iscrowd": 1, "segmentation": {"size": [80, 100], "counts": [0, 8000]}},
    ])
    result = packhorse("pack", tmp_path / "source", tmp_path / "out", "--format=wds", "--dry-run")
    assert result.out.startswith("found COCO's annotations: ")
    assert (
        "targets (coco): 4 objects of 2 classes in 4 images, 2 without objects\n"
        "  dog 4, cat 0\n  with polygons: 2\n  with masks: 2\n  crowds: 2\n" in result.out
    )
    said = pack(tmp_path / "source", tmp_path / "out", "--dry-run").json["preview"]["targets"]
    assert said == {
        "notation": "coco", "classes": [{"class": "cat", "objects": 0}, {"class": "dog", "objects": 4}], "images": 4,
        "images_without_objects": 2, "polygons": 2, "masks": 2, "keypoints": 0, "crowds": 2, "rejected": 0,
        "problems_by_reason": [], "problem_reasons_left_out": 0,
    }
    assert not (tmp_path / "out").exists()


def test_masks_with_annotations_of_their_images_are_no_images_of_voc(tmp_path):
    for folder in ("masks", "SegmentationClass"):
        source = tmp_path / folder
        for i in range(2):
            made.image(source / folder / f"{i}.png")
            made.text(source / f"xmls/{i}.xml", made.voc_text())
        refused(source, tmp_path / "out", "next: ")


@pytest.mark.parametrize("kind", ["voc", "yolo"])
def test_two_images_of_one_annotation_are_refused(tmp_path, kind):
    """One of them may be the other's mask."""
    source = tmp_path / "source"
    made.voc(source, sets=()) if kind == "voc" else made.yolo(source)
    first = min(path for path in source.rglob("*.jpg"))
    made.image(first.with_suffix(".png"))
    message = refused(source, tmp_path / "out", "two images would get the same annotations")
    assert first.name in message and first.with_suffix(".png").name in message
    assert pack(source, tmp_path / "out", "--exclude=*.png").code == DONE
