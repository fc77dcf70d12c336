"""Annotations as people write them: read with the right value, or refused in plain words; never published as no objects."""

import json

import annotated_support as made
import objects_support as objects
import pytest
from PIL import Image
from python_support import DAMAGE, DONE, USAGE, packhorse, run


def pack(source, out, *options):
    return run("pack", source, out, "--format=wds", "--json", *options)


def boxes_of(dataset):
    """Boxes of each image, by its label; the images in the order of the source."""
    return [objects.parse(sample["objects"])["boxes"].tolist() for sample in objects.of_tar(dataset / "shard-000000.tar")]


def coco(root, images=None, annotations=None, names=("1.ppm", "2.ppm")):
    """Two images of 100 x 80, each with a box, but for the members that are given."""
    for i in range(2):
        made.image(root / f"images/{i + 1}.ppm", i)
    images = images or [{}, {}]
    annotations = annotations or [{}, {}]
    content = {
        "images": [{"id": i + 1, "file_name": names[i], "width": 100, "height": 80, **images[i]} for i in range(2)],
        "annotations": [{"id": i, "image_id": i + 1, "category_id": 1, "bbox": [10, 10, 20, 20], **annotations[i]} for i in range(2)],
        "categories": [{"id": 1, "name": "cat"}],
    }
    for one in content["images"] + content["annotations"]:
        for name in [name for name, value in one.items() if value is ...]:
            del one[name]
    made.text(root / "annotations/instances.json", json.dumps(content))


BOX = [[[10, 10, 30, 30]]]


@pytest.mark.parametrize(
    "images, annotations, note",
    [
        (None, [{"caption": "a cat"}, {}], None),
        ([{"id": 1.0}, {}], None, None),
        (None, [{"image_id": 1.0}, {}], None),
        ([{"id": "ü"}, {}], [{"image_id": "ü"}, {}], None),
        (None, [{"image_id": "1"}, {}], "ids as numbers in one list and as texts in another"),
        (None, [{"category_id": "1"}, {}], "ids as numbers in one list and as texts in another"),
        ([{"width": 100.0}, {}], None, None),
        ([{"width": ..., "height": ...}, {}], None, "1 of 2 images have no width and height"),
        ([{"file_name": "images\\1.ppm"}, {}], None, "have backslashes, which are taken for slashes"),
        (None, [{"bbox": [[10, 10, 20, 20]]}, {}], None),
        (None, [{"segmentation": [[]]}, {}], None),
        (None, [{"segmentation": [10, 10, 30, 10, 30, 30]}, {}], None),
        (None, [{"segmentation": [{"size": [80, 100], "counts": [0, 8000]}]}, {}], None),
    ],
)
def test_a_form_of_coco_that_has_one_reading_is_read(tmp_path, images, annotations, note):
    coco(tmp_path / "source", images, annotations)
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DONE, result
    assert boxes_of(tmp_path / "out") == BOX * 2
    assert result.json["objects"] == {"objects": 2, "images_without": 0, "images_turned": 0}
    assert note is None or note in "\n".join(result.json["notes"]), result
    packhorse("inspect", tmp_path / "out", "--against", tmp_path / "source")
    assert pack(tmp_path / "source", tmp_path / "no", "--dry-run").json["preview"]["targets"]["rejected"] == 0


@pytest.mark.parametrize(
    "images, annotations, words",
    [
        (None, [{"image_id": 9}, {}], "annotation 1 of its list: no image of its list has the id 9: the first has the id 1"),
        (None, [{"image_id": ...}, {}], "annotation 1 of its list: it has no image_id"),
        ([{"id": True}, {}], None, "its id is neither a number nor a text"),
        ([{"id": "01"}, {"id": "1"}], [{"image_id": "1"}, {"image_id": 2}], "no image of its list has the id 2"),
        ([{"width": ...}, {}], None, "image 1 of its list: it has a height and no width"),
        ([{"width": "100"}, {}], None, "image 1 of its list: its width is not a number"),
        ([{"file_name": 7}, {}], None, "image 1 of its list: its file_name is not a text"),
    ],
)
def test_a_file_of_coco_that_names_no_image_is_refused_whatever_may_be_rejected(tmp_path, images, annotations, words):
    coco(tmp_path / "source", images, annotations)
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format=wds", "--max-rejects=9")
    assert result.code == USAGE and words in result.err and "instances.json" in result.err, result
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "annotation, words",
    [
        ({"segmentation": [{"size": [80, 100], "counts": [8000]}] * 2}, "its segmentation has several masks"),
        ({"segmentation": "x"}, "its segmentation is not a list"),
        ({"segmentation": [[[1, 2], [3, 4]]]}, "its polygon is not a list of numbers"),
        ({"bbox": [[10, 10], [20, 20]]}, "its box is not a list of numbers"),
        ({"bbox": "10"}, "its box is not a list"),
        ({"bbox": [10, 10, "20", 20]}, "its box is not a list of numbers"),
        ({"area": "7"}, "its area is not a number"),
        ({"iscrowd": "0"}, "its iscrowd is not a number"),
        ({"category_id": ...}, "it has no category_id"),
    ],
)
def test_an_object_that_cannot_be_read_rejects_its_image_in_plain_words(tmp_path, annotation, words):
    coco(tmp_path / "source", annotations=[annotation, {}])
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format=wds")
    assert result.code == DAMAGE and f"1.ppm: annotation 0: {words}" in result.err, result


def test_an_address_with_a_secret_is_neither_printed_nor_published(tmp_path):
    secret = "https://host/1.ppm?token=SECRET"
    coco(tmp_path / "coco", [{"file_name": secret}, {}])
    made.hf(tmp_path / "hf", splits=("train",))
    with (tmp_path / "hf/train/metadata.jsonl").open("a") as file:
        file.write(made.hf_row(secret))
    made.yolo(tmp_path / "yolo", splits=("train",), yaml="train: train.txt\nnames: [cat, dog]\n")
    made.text(tmp_path / "yolo/train.txt", f"images/train/train-0.jpg\n{secret}\n")
    made.yolo(tmp_path / "yaml", splits=("train",), yaml=f"train: {secret}\nnames: [cat, dog]\n")
    for name in ("coco", "hf", "yolo", "yaml"):
        result = run("pack", tmp_path / name, tmp_path / "out", "--format=wds", "--max-rejects=9")
        assert result.code == USAGE and "https://host/1.ppm" in result.err, result
        assert "SECRET" not in result.err + result.out and not (tmp_path / "out").exists()


def test_a_query_without_an_address_is_not_printed(tmp_path):
    coco(tmp_path / "source", [{"file_name": "3.ppm?token=SECRET"}, {}])
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format=wds", "--max-rejects=9")
    assert "SECRET" not in result.err + result.out and "3.ppm?..." in result.err, result
    for file in (tmp_path / "out").rglob("*"):
        assert file.is_dir() or b"SECRET" not in file.read_bytes()


def test_a_column_called_caption_hides_no_object_of_hugging_face(tmp_path):
    made.hf(tmp_path / "source", objects={"bbox": [[10, 10, 20, 20]], "categories": ["cat"], "caption": ["a cat"]})
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DONE and result.json["objects"]["objects"] == 4, result


def test_captions_among_objects_are_told(tmp_path):
    coco(tmp_path / "source", annotations=[{}, {"category_id": ..., "bbox": ..., "caption": "a cat"}])
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DONE and "1 annotations of instances.json are captions and no objects" in "\n".join(result.json["notes"]), result
    assert result.json["objects"] == {"objects": 1, "images_without": 1, "images_turned": 0}


def test_pictures_that_may_be_turned_are_told(tmp_path):
    coco(tmp_path / "source", [{"width": 80}, {"width": 80}])
    exif = Image.Exif()
    exif[0x0112] = 6
    for i in range(2):
        (tmp_path / f"source/images/{i + 1}.ppm").unlink()
        Image.new("RGB", (80, 80), (i, 0, 0)).save(tmp_path / f"source/images/{i + 1}.ppm", "JPEG", exif=exif)
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.json["objects"]["images_turned"] == 2, result
    assert "2 images with objects are turned by their EXIF orientation" in "\n".join(result.json["notes"])


def test_the_summary_says_how_many_objects_were_packed_also_by_an_earlier_run(tmp_path):
    coco(tmp_path / "source", [{}, {}], [{}, {"image_id": 1}])
    said = packhorse("pack", tmp_path / "source", tmp_path / "out", "--format=wds").out
    assert "2 objects, 1 image without any\n" in said
    share = [tmp_path / "source", tmp_path / "shared", "--format=wds"]
    packhorse("pack", *share, "--task=0/1")
    assert "2 objects, 1 image without any\n" in packhorse("pack", *share, "--finish").out
    assert "objects," not in packhorse("pack", tmp_path / "source", tmp_path / "bare", "--format=wds", "--source-kind=folder", "--unlabelled", "--split-folders=none").out


# VOC

CORNERS = "<xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax>"


def voc_xml(name, *corners, head=""):
    size = f"<size><width>{made.SIZE[0]}</width><height>{made.SIZE[1]}</height></size>"
    return f"{head}<annotation>{size}<object><name>{name}</name><bndbox>{CORNERS.format(*corners)}</bndbox></object></annotation>"


def voc(root, *files, images="JPEGImages", xml="Annotations"):
    for i, content in enumerate(files):
        made.image(root / images / f"{i}.jpg", i)
        path = root / xml / f"{i}.xml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def classes_of(dataset):
    return json.loads((dataset / "dataset.json").read_text())["targets"][0]["classes"]


@pytest.mark.parametrize(
    "encoding, codec",
    [("gb2312", "gb2312"), ("GBK", "gbk"), ("GB18030", "gb18030"), ("Big5", "big5"), ("Shift_JIS", "shift_jis"), ("EUC-JP", "euc_jp"),
     ("UTF-8", "utf-8"), ("utf-8", "utf-8-sig"), ("UTF-16", "utf-16"), ("utf-16", "utf-16-be-bom")],
)
def test_a_class_is_read_in_the_encoding_that_its_file_says(tmp_path, encoding, codec):
    text = voc_xml("中車" if encoding in ("Big5", "Shift_JIS", "EUC-JP") else "中猫", 1, 1, 20, 20, head=f'<?xml version="1.0" encoding="{encoding}"?>')
    content = b"\xfe\xff" + text.encode("utf-16-be") if codec == "utf-16-be-bom" else text.encode(codec)
    voc(tmp_path / "source", content)
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DONE, result
    assert classes_of(tmp_path / "out") == ["中車" if "車" in text else "中猫"]


@pytest.mark.parametrize(
    "content, words",
    [
        (voc_xml("x", 1, 1, 9, 9, head='<?xml version="1.0" encoding="gb2312"?>').encode().replace(b">x<", b">\xfb\xfb<"), "line 1: it says that it is in gb2312, and its bytes are not"),
        (voc_xml("x", 1, 1, 9, 9, head='<?xml version="1.0" encoding="klingon"?>').encode(), "it is in klingon, which is not known here"),
        (voc_xml("x", 1, 1, 9, 9, head='<?xml version="1.0" encoding="latin1//TRANSLIT"?>').encode(), "which is not an encoding"),
        (voc_xml("x", 1, 1, 9, 9, head='<?xml version="1.0" encoding="utf-16"?>').encode(), "it says that it is in utf-16, and its bytes are not"),
        (voc_xml("x", 1, 1, 9, 9, head="\n").encode().replace(b">x<", b">caf\xe9<"), "line 2: it does not say what it is in, and it is not UTF-8"),
    ],
)
def test_a_class_in_no_encoding_is_refused_at_once(tmp_path, content, words):
    voc(tmp_path / "source", voc_xml("cat", 1, 1, 9, 9), content)
    for options in ([], ["--dry-run"], ["--max-rejects=9"], ["--targets=voc"]):
        result = run("pack", tmp_path / "source", tmp_path / "out", "--format=wds", *options)
        assert result.code == USAGE and words in result.err and "1.jpg" in result.err and "json" not in result.err, result
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("<annotation>", '<!DOCTYPE annotation [<!ENTITY cat "dog">]><annotation>').replace(">cat<", ">&cat;<"),
        lambda text: text.replace("<object>", "<objects><object>").replace("</object>", "</object></objects>"),
        lambda text: text + "<annotation/>",
        lambda text: text.replace("<xmin>", "<xmin>3</xmin><xmin>"),
        lambda text: text.replace(f"<width>{made.SIZE[0]}<", f"<width>{made.SIZE[0]}.5<"),
        lambda text: text.replace(">cat<", ">&#xD800;<"),
    ],
)
def test_an_xml_file_that_could_be_read_in_two_ways_is_a_reject(tmp_path, change):
    voc(tmp_path / "source", voc_xml("cat", 2, 2, 9, 9), change(voc_xml("cat", 2, 2, 9, 9)))
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format=wds")
    assert result.code == DAMAGE and "1.jpg: " in result.err, result


def test_a_corner_of_0_anywhere_makes_all_boxes_of_a_set_count_from_0(tmp_path):
    files = [voc_xml("cat", 5, 6, 20, 21), voc_xml("cat", 0, 3, 100, 80)]
    voc(tmp_path / "source", *files)
    result = pack(tmp_path / "source", tmp_path / "out", "--no-shuffle")
    assert boxes_of(tmp_path / "out") == [[[5, 6, 20, 21]], [[0, 3, 100, 80]]], result
    assert "count from 0, as edges, since one is 0 in the annotations of JPEGImages/1.jpg" in "\n".join(result.json["notes"])
    packhorse("inspect", tmp_path / "out", "--against", tmp_path / "source")
    given = ["--targets=voc", "--field-from=xml=Annotations", "--split-folders=none", "--source-kind=folder", "--unlabelled"]
    packhorse("pack", tmp_path / "source", tmp_path / "given", "--format=wds", "--no-shuffle", *given)
    assert boxes_of(tmp_path / "given") == boxes_of(tmp_path / "out")
    assert classes_of(tmp_path / "given") == ["cat"]
    (tmp_path / "source/Annotations/1.xml").write_text(voc_xml("cat", 1, 3, 100, 80))
    again = pack(tmp_path / "source", tmp_path / "again", "--no-shuffle")
    assert boxes_of(tmp_path / "again") == [[[4, 5, 20, 21]], [[0, 2, 100, 80]]], again


def test_boxes_of_a_set_that_counts_from_0_come_back_from_a_part_of_it(tmp_path):
    voc(tmp_path / "source", voc_xml("cat", 5, 6, 20, 21), voc_xml("cat", 0, 3, 99, 80))
    packhorse("pack", tmp_path / "source", tmp_path / "out", "--format=wds", "--no-shuffle")
    packhorse("unpack", tmp_path / "out", tmp_path / "back", "--as=voc")
    for name in ("Annotations/1.xml", "ImageSets/Main/trainval.txt"):  # without the proof, and without the list that names it
        (tmp_path / "back" / name).unlink()
    (tmp_path / "back/JPEGImages/1.jpg").unlink()
    packhorse("pack", tmp_path / "back", tmp_path / "again", "--format=wds")
    assert boxes_of(tmp_path / "again") == [[[5, 6, 20, 21]]]


def test_boxes_that_begin_before_the_image_come_back_from_voc(tmp_path):
    coco(tmp_path / "source", annotations=[{"bbox": [-0.5, 0, 20, 20]}, {}])
    packhorse("pack", tmp_path / "source", tmp_path / "out", "--format=wds", "--no-shuffle")
    packhorse("unpack", tmp_path / "out", tmp_path / "back", "--as=voc")
    packhorse("pack", tmp_path / "back", tmp_path / "again", "--format=wds", "--no-shuffle")
    assert boxes_of(tmp_path / "again/trainval") == boxes_of(tmp_path / "out") == [[[-0.5, 0, 19.5, 20]], *BOX]


@pytest.mark.parametrize("images, xml", [("images", "annots"), ("images", "annotations"), ("img", "labels"), ("train", "train"), ("", "")])
def test_folders_of_images_and_xml_are_voc_however_they_are_called(tmp_path, images, xml):
    voc(tmp_path / "source", *[voc_xml("cat", 2, 2, 9, 9)] * 2, images=images, xml=xml)
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DONE and result.json["detected"].startswith("Pascal VOC: "), result
    assert result.json["objects"] == {"objects": 2, "images_without": 0, "images_turned": 0}


def test_folders_that_may_be_something_else_are_not_voc(tmp_path):
    voc(tmp_path / "masks", voc_xml("cat", 2, 2, 9, 9), images="images", xml="annots")
    made.image(tmp_path / "masks/masks/0.png", 3)
    voc(tmp_path / "classes", voc_xml("cat", 2, 2, 9, 9), images="cat", xml="cat")
    made.image(tmp_path / "classes/dog/0.png", 3)
    voc(tmp_path / "other", "<page/>", images="images", xml="annots")
    for name in ("masks", "classes", "other"):
        result = run("pack", tmp_path / name, tmp_path / "out", "--format=wds")
        assert "Pascal VOC" not in result.out + result.err, result


# YOLO


def test_labels_beside_some_images_only_are_refused(tmp_path):
    made.yolo(tmp_path / "source", splits=("train",))
    (tmp_path / "source/labels/train/train-1.txt").rename(tmp_path / "source/images/train/train-1.txt")
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format=wds", "--max-rejects=9")
    assert result.code == USAGE and "there is images/train/train-1.txt beside it" in result.err, result


@pytest.mark.parametrize(
    "yaml, words",
    [
        ("train:images/train\nnames: [cat, dog]\n", "line 1: a blank is missing behind the colon or the hyphen: train:images/train"),
        ("train: images/train\nnames:[cat, dog]\n", "line 2: a blank is missing"),
        ("train: images/train\nnames:\n  0:cat\n  1:dog\n", "line 3: a blank is missing"),
        ("train: images/train\nnames:\n  -cat\n  -dog\n", "line 3: a blank is missing"),
        ('train: "images\\train"\nnames: [cat, dog]\nval: "images\\xyz"\n', "line 1: a backslash in double quotes"),
        ('train: "images/train\nnames: [cat, dog]\n', "line 1: a quote that does not end"),
        ('train: images/train"\nnames: [cat, dog]\n', "line 1: a quote that does not end"),
        ("train: images/train\nnames: [cat, dog']\n", "line 2: a quote that does not end"),
        ("train: ../other/images\nnames: [cat, dog]\n", "there is neither that nor 'other/images' in the source"),
    ],
)
def test_what_is_wrong_with_a_data_yaml_is_told_with_its_line(tmp_path, yaml, words):
    made.yolo(tmp_path / "source", yaml=yaml)
    for source in (tmp_path / "source", tmp_path / "source/data.yaml"):
        result = run("pack", source, tmp_path / "out", "--format=wds")
        assert result.code == USAGE and words in result.err and "next: " in result.err, result


def test_backslashes_of_a_data_yaml_and_its_lists_are_slashes(tmp_path):
    made.yolo(tmp_path / "source", yaml="train: images\\train\nval: val.txt\nnames: [cat, dog]\n")
    made.text(tmp_path / "source/val.txt", "images\\val\\val-0.jpg\nimages\\val\\val-1.jpg\n")
    result = pack(tmp_path / "source", tmp_path / "out")
    assert result.code == DONE and result.json["objects"]["objects"] == 8, result
    assert "are taken for slashes" in "\n".join(result.json["notes"])


def test_a_data_yaml_without_its_folders_says_which(tmp_path):
    made.text(tmp_path / "source/data.yaml", "train: ../train/images\nval: ../valid/images\nnames: [cat]\n")
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format=wds")
    assert result.code == USAGE and "there is neither that nor 'train/images' in the source" in result.err, result


def darknet(root, data=None, prefix="data/", lines=None):
    names = [f"obj_train_data/{i}.jpg" for i in range(2)]
    for i, name in enumerate(names):
        made.image(root / name, i)
        made.text(root / f"obj_train_data/{i}.txt", made.yolo_text())
    made.text(root / "obj.names", "cat\ndog\n")
    made.text(root / "train.txt", "".join(f"{prefix}{name}\n" for name in lines or names))
    made.text(root / "obj.data", data or f"classes = 2\ntrain = {prefix}train.txt\nnames = {prefix}obj.names\nbackup = backup/\n")


@pytest.mark.parametrize("prefix", ["data/", ""])
@pytest.mark.parametrize("place", ["", "obj.data"])
def test_an_obj_data_of_darknet_and_cvat_is_a_source(tmp_path, prefix, place):
    darknet(tmp_path / "data", prefix=prefix)
    result = pack(tmp_path / "data" / place, tmp_path / "out")
    assert result.code == DONE and result.json["objects"] == {"objects": 4, "images_without": 0, "images_turned": 0}, result
    assert classes_of(tmp_path / "out/train") == made.CLASSES


@pytest.mark.parametrize(
    "data, words",
    [
        ("classes = 3\ntrain = train.txt\nnames = obj.names\n", "classes is 3, but there are 2 names"),
        ("train = train.txt\n", "it has no names"),
        ("names = obj.names\n", "neither train nor valid"),
        ("train\nnames = obj.names\n", "line 1 is not NAME = VALUE"),
        ("train = a.txt\ntrain = b.txt\nnames = obj.names\n", "line 2: 'train' is there twice"),
    ],
)
def test_an_obj_data_that_cannot_be_right_is_refused(tmp_path, data, words):
    darknet(tmp_path / "source", data)
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format=wds")
    assert result.code == USAGE and words in result.err and "next: " in result.err, result


def test_annotations_of_splits_for_a_source_without_splits_name_the_split(tmp_path):
    coco(tmp_path / "source")
    file = tmp_path / "source/annotations/instances.json"
    result = run("pack", tmp_path / "source/images", tmp_path / "out", "--format=wds", f"--targets=train=coco:{file}", f"--targets=val=coco:{file}")
    assert result.code == USAGE and "the source has no splits, and --targets gives annotations for the split train alone" in result.err, result


# Texts beside images


@pytest.mark.parametrize("folder", ["", "train/"])
@pytest.mark.parametrize(
    "name, content, words",
    [("txt", "0 .5 .5 .1 .1\n", "labels of YOLO"), ("txt", "a cat on a mat", "texts"), ("json", "{}", "JSON files"), ("xml", "", "XML files, which are not VOC's,")],
)
def test_texts_beside_images_are_named_with_a_command_that_packs_them(tmp_path, folder, name, content, words):
    made.image(tmp_path / f"source/{folder}1.jpg")
    made.text(tmp_path / f"source/{folder}1.{name}", content)
    made.text(tmp_path / "source/classes.txt", "cat\n")
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format=wds")
    assert result.code == USAGE and f"the images have {words} beside them, such as 1.{name}" in result.err, result
    advice = result.err[result.err.index("packhorse pack ") :].split("; the images alone")[0]
    command = [str(tmp_path / "out") if word == "OUT" else word for word in advice.split()[1:]]
    done = run(*command, "--format=wds", "--json")
    assert done.code == DONE and done.json["packed"] == 1, done
    assert ("objects" in done.json) == (words == "labels of YOLO")


def test_faults_of_json_and_xml_are_told_in_plain_words(tmp_path):
    coco(tmp_path / "number")
    coco(tmp_path / "wide")
    for name, change in (("number", lambda text: text.replace("100", "1e999", 1).encode()), ("wide", lambda text: text.encode("utf-16"))):
        file = tmp_path / name / "annotations/instances.json"
        file.write_bytes(change(file.read_text()))
    voc(tmp_path / "xml", voc_xml("cat", 1, 1, 9, 9), voc_xml("cat", 1, 1, 9, 9).replace("</object>", "\n</objekt>"))
    for name, code, words in (
        ("number", USAGE, "the number '1e999' is too large"),
        ("wide", USAGE, "it is in UTF-16 or UTF-32, where JSON is UTF-8: `iconv -f UTF-16 -t UTF-8 FILE > NEW` converts it"),
        ("xml", DAMAGE, "line 2: an element ends that did not begin, or the text ends too early"),
    ):
        result = run("pack", tmp_path / name, tmp_path / "out", "--format=wds")
        assert result.code == code and words in result.err, result
        for word in ("overflow", "byte ", "exception", "tag"):
            assert word not in result.err, result
