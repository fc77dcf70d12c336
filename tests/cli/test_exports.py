"""Exports of annotation tools as they come: LabelMe, CVAT, tables of boxes, Label Studio, VIA, DOTA, KITTI, CreateML."""

import json
import re
import shlex

import annotated_support as made
import export_support as exports
import numpy
import objects_support as objects
import pytest
from PIL import Image
from python_support import DAMAGE, DONE, USAGE, packhorse, run

WIDTH, HEIGHT = made.SIZE
BOXES = [[float(v) for v in corners] for _, corners in made.BOXES]
LABELS = [label for label, _ in made.BOXES]


def pack(source, out, *options):
    return run("pack", source, out, "--format=wds", "--json", *options)


def columns_of(dataset):
    return [objects.parse(sample["objects"]) for sample in objects.of_tar(dataset / "shard-000000.tar")]


def check(dataset, images=2):
    """Each image has the cat and the dog."""
    found = columns_of(dataset)
    assert len(found) == images
    for columns in found:
        numpy.testing.assert_allclose(columns["boxes"], BOXES, atol=1e-4)
        assert columns["labels"].tolist() == LABELS
    assert json.loads((dataset / "dataset.json").read_text())["targets"][0]["classes"] == made.CLASSES
    return found


def packed(source, out, *options):
    result = pack(source, out, *options)
    assert result.code == DONE, result
    return result


def rejected(source, out, *options):
    """Why images are rejected, by their names."""
    log = out.with_suffix(".log")
    result = run("pack", source, out, "--format=wds", "--log", log, *options)
    assert result.code == DAMAGE, result
    return result.err


def refused(source, out, words, *options):
    result = run("pack", source, out, "--format=wds", *options)
    assert result.code == USAGE and words in result.err and "next: " in result.err, result
    assert not out.exists()
    return result.err


@pytest.mark.parametrize("kind", [*exports.KINDS, "via_csv"])
def test_an_export_is_recognised_and_packed_with_its_objects(tmp_path, kind):
    {**exports.KINDS, "via_csv": exports.via_csv}[kind](tmp_path / "source")
    result = packed(tmp_path / "source", tmp_path / "out")
    check(tmp_path / "out")
    name = {"labelme": "LabelMe's annotations: beside the images", "cvat": "CVAT's annotations: annotations.xml", "table": "a table of boxes: _annotations.csv",
            "label-studio": "Label Studio's annotations: project", "via": "VIA's annotations: via_project.json", "dota": "DOTA's annotations: labelTxt",
            "kitti": "KITTI's annotations: label_2", "createml": "CreateML's annotations: _annotations.createml.json", "via_csv": "VIA's annotations: via_export_csv.csv"}
    assert result.json["detected"].startswith(name[kind])
    assert any("the 2 classes of the objects are those in the annotations, sorted: 'cat', 'dog'" in note for note in result.json["notes"])
    packhorse("inspect", tmp_path / "out", "--verify=full")
    packhorse("inspect", tmp_path / "out", "--against", tmp_path / "source")
    said = run("check", tmp_path / "source")
    assert name[kind] in said.out, said
    preview = run("pack", tmp_path / "source", tmp_path / "none", "--format=wds", "--dry-run")
    assert "4 objects of 2 classes in 2 images" in preview.out, preview


@pytest.mark.parametrize("kind", exports.KINDS)
def test_an_annotation_file_may_be_named(tmp_path, kind):
    exports.KINDS[kind](tmp_path / "source")
    packed(tmp_path / "source", tmp_path / "out", "--targets", f"{kind}:{tmp_path / 'source' / exports.PLACES[kind]}")
    check(tmp_path / "out")


@pytest.mark.parametrize("kind", [kind for kind in exports.KINDS if kind not in ("cvat", "label-studio")])
def test_each_split_has_its_annotations(tmp_path, kind):
    for split in ("train", "valid"):
        exports.KINDS[kind](tmp_path / "source" / split, [f"{split}-{i}.jpg" for i in range(2)])
    result = packed(tmp_path / "source", tmp_path / "out")
    assert [split["split"] for split in result.json["splits"]] == ["train", "val"]
    for split in ("train", "val"):
        check(tmp_path / "out" / split)


@pytest.mark.parametrize("kind", ["table", "createml", "dota"])
def test_a_split_without_annotations_is_refused_unless_it_is_the_test(tmp_path, kind):
    exports.KINDS[kind](tmp_path / "source/train")
    made.image(tmp_path / "source/test/9.jpg")
    result = packed(tmp_path / "source", tmp_path / "out")
    assert "'test' is left out: it has no annotations" in result.json["notes"]
    (tmp_path / "source/test").rename(tmp_path / "source/val")
    refused(tmp_path / "source", tmp_path / "other", "there are none for the images in 'val'")


@pytest.mark.parametrize("kind", exports.KINDS)
def test_they_come_back_as_coco(tmp_path, kind):
    exports.KINDS[kind](tmp_path / "source")
    packed(tmp_path / "source", tmp_path / "out")
    packhorse("unpack", tmp_path / "out", tmp_path / "back", "--as=coco")
    packed(tmp_path / "back", tmp_path / "again")
    before, after = check(tmp_path / "out"), check(tmp_path / "again")
    for a, b in zip(before, after):
        assert all((a[name] == b[name]).all() for name in a)


def test_several_notations_are_refused_with_commands_that_work(tmp_path):
    exports.table(tmp_path / "source")
    exports.labelme(tmp_path / "source")
    message = refused(tmp_path / "source", tmp_path / "out", "annotations in several notations")
    commands = [shlex.split(command)[1:] for command in re.findall(r"packhorse pack .*? OUT --source-kind [\w-]+", message)]
    assert len(commands) == 2
    for number, command in enumerate(commands):
        out = tmp_path / f"out{number}"
        packhorse(*[str(out) if word == "OUT" else word for word in command], "--format=wds")
        check(out)


def test_several_files_of_a_notation_are_refused_with_a_command_that_works(tmp_path):
    exports.table(tmp_path / "source", file="a.csv")
    exports.table(tmp_path / "source", file="b.csv")
    message = refused(tmp_path / "source", tmp_path / "out", "there are several for the same images: a.csv and b.csv")
    [command] = re.findall(r"packhorse pack .*? OUT --targets \S+(?=;)", message)
    packhorse(*[str(tmp_path / "out") if word == "OUT" else word for word in shlex.split(command)[1:]], "--format=wds")
    check(tmp_path / "out")


def test_the_classes_may_be_named_in_their_order(tmp_path):
    exports.labelme(tmp_path / "source")
    made.text(tmp_path / "names.txt", "dog\ncat\n")
    packed(tmp_path / "source", tmp_path / "out", f"--targets=labelme:{tmp_path}/source", f"--target-classes={tmp_path}/names.txt")
    assert [columns["labels"].tolist() for columns in columns_of(tmp_path / "out")] == [[1, 0]] * 2
    made.text(tmp_path / "names.txt", "dog\n")
    message = rejected(tmp_path / "source", tmp_path / "less", f"--targets=labelme:{tmp_path}/source", f"--target-classes={tmp_path}/names.txt")
    assert "no class is called 'cat'" in message


@pytest.mark.parametrize("kind", ["labelme", "cvat", "table", "label-studio"])
def test_a_size_that_is_not_the_images_is_rejected(tmp_path, kind):
    exports.KINDS[kind](tmp_path / "source")
    for path in (tmp_path / "source").rglob("1.jpg"):
        Image.new("RGB", (50, 40)).save(path)
    assert "its annotations are for an image of 100 x 80, but it has 50 x 40" in rejected(tmp_path / "source", tmp_path / "out")


def test_the_size_of_the_picture_as_turned_is_named(tmp_path):
    exports.labelme(tmp_path / "source", ["1.jpg"])
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (HEIGHT, WIDTH)).save(tmp_path / "source/1.jpg", exif=exif)
    assert "they are for the turned picture" in rejected(tmp_path / "source", tmp_path / "out")


SHAPE = {"label": "cat", "points": [[1, 1], [9, 9]], "shape_type": "rectangle"}


@pytest.mark.parametrize(
    "shape, words",
    [
        ({**SHAPE, "shape_type": "circle"}, "shape 1: a shape of the type 'circle' is neither a polygon nor a rectangle"),
        ({**SHAPE, "shape_type": "linestrip"}, "a shape of the type 'linestrip'"),
        ({**SHAPE, "shape_type": "mask"}, "a shape of the type 'mask'"),
        ({**SHAPE, "shape_type": 7}, "shape_type is not a text"),
        ({**SHAPE, "points": [[1, 1]]}, "a rectangle has 1 points"),
        ({**SHAPE, "points": [[1, 1], [1, 9]]}, "its box has no area"),
        ({**SHAPE, "points": [[1, 1], [109, 9]]}, "is beyond the image"),
        ({**SHAPE, "shape_type": "polygon"}, "a polygon of 2 points"),
        ({**SHAPE, "points": [[1, 1, 1], [2, 2]]}, "a point is not x and y"),
        ({**SHAPE, "points": "x"}, "its points is not a list"),
        ({**SHAPE, "label": ""}, "it has no class"),
        ({"points": []}, "it has no label"),
    ],
)
def test_a_shape_of_labelme_that_is_no_object_rejects_its_image(tmp_path, shape, words):
    exports.labelme(tmp_path / "source", ["1.jpg"], shapes=[shape])
    exports.labelme(tmp_path / "source", ["2.jpg"])
    assert words in rejected(tmp_path / "source", tmp_path / "out")


def test_labelme_joins_the_parts_of_a_group_and_keeps_what_else_a_shape_says(tmp_path):
    part = {"label": "cat", "points": [[1, 1], [9, 1], [9, 9]], "shape_type": "polygon", "group_id": 3}
    other = {"label": "cat", "points": [[20, 20], [30, 20], [30, 40]], "shape_type": "polygon", "group_id": 3, "flags": {"occluded": True}}
    alone = {"label": "dog", "points": [[40, 40], [50, 60]], "shape_type": "rectangle", "group_id": None}
    exports.labelme(tmp_path / "source", ["1.jpg"], shapes=[part, other, alone])
    packed(tmp_path / "source", tmp_path / "out")
    [columns] = columns_of(tmp_path / "out")
    assert columns["boxes"].tolist() == [[1, 1, 30, 40], [40, 40, 50, 60]]
    assert columns["flags"].tolist() == [8, 0]
    assert columns["outlines"].tolist() == [[1, 1], [9, 1], [9, 9], [20, 20], [30, 20], [30, 40]]
    record = json.loads(objects.of_tar(tmp_path / "out/shard-000000.tar")[0]["json"])
    assert record["annotations"][0]["attributes"] == {"group_id": 3}


def test_labelme_finds_an_image_where_its_path_leads(tmp_path):
    made.images(tmp_path / "source", "images/1.jpg", "images/2.jpg")
    made.text(tmp_path / "source/labels/1.json", exports.labelme_text("..\\images\\1.jpg"))
    made.text(tmp_path / "source/labels/2.json", exports.labelme_text("C:\\me\\2.jpg"))
    made.text(tmp_path / "source/labels/classes.json", "[]")
    result = packed(tmp_path / "source", tmp_path / "out", f"--targets=labelme:{tmp_path}/source/labels")
    check(tmp_path / "out")
    assert any("1 .json files are not LabelMe's annotations, and are not read: 'classes.json'" in note for note in result.json["notes"])
    made.text(tmp_path / "source/labels/2.json", "{")
    message = rejected(tmp_path / "source", tmp_path / "cut", f"--targets=labelme:{tmp_path}/source/labels")
    assert "2.json: not valid JSON" in message


def test_labelme_may_hold_the_image_itself(tmp_path):
    exports.labelme(tmp_path / "source", imageData="A" * (20 << 20))
    packed(tmp_path / "source", tmp_path / "out")
    check(tmp_path / "out")


BOX = 'label="cat" xtl="10" ytl="20" xbr="30" ybr="40"'


@pytest.mark.parametrize(
    "shapes, words",
    [
        ('<polyline label="cat" points="1,1;2,2"/>', "polyline 1: it is neither a box, a polygon nor a mask"),
        ('<ellipse label="cat" cx="9" cy="9" rx="2" ry="2"/>', "ellipse 1: it is neither"),
        ('<skeleton label="cat"><points label="1" points="1,1"/></skeleton>', "skeleton 1: it is neither"),
        ('<box label="cat" xtl="x" ytl="20" xbr="30" ybr="60"/>', "its xtl is not a number"),
        ('<box label="cat" xtl="30" ytl="20" xbr="10" ybr="60"/>', "its box has no area"),
        ('<box xtl="10" ytl="20" xbr="30" ybr="60"/>', "it has no class"),
        (f'<box {BOX} rotation="45"/><box label="cat" xtl="0" ytl="0" xbr="30" ybr="30" rotation="45"/>', "is beyond the image"),
        ('<polygon label="cat" points="1,1;2"/>', "its points are not x,y;x,y;..."),
        ('<mask label="cat" rle="0, 4" left="99" top="0" width="2" height="2"/>', "its mask is empty, or beyond the image"),
        ('<mask label="cat" rle="0, 5" left="0" top="0" width="2" height="2"/>', "its runs are more than its mask has pixels"),
        ('<mask label="cat" rle="0, 3" left="0" top="0" width="2" height="2"/>', "its runs are fewer than its mask has pixels"),
        ('<mask label="cat" rle="a" left="0" top="0" width="2" height="2"/>', "its rle is not a list of numbers"),
    ],
)
def test_a_shape_of_cvat_that_is_no_object_rejects_its_image(tmp_path, shapes, words):
    exports.cvat(tmp_path / "source", ["1.jpg"], shapes=f"{shapes}<box {BOX}/>")
    assert words in rejected(tmp_path / "source", tmp_path / "out")


@pytest.mark.parametrize(
    "text, words",
    [
        ("<annotations><track/><image ", "not valid XML"),
        ('<annotations><track id="0" label="cat"/></annotations>', "it has tracks of a video: export the task as 'CVAT for images'"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><annotations><image id="0" name="1.jpg"/></annotations>', "it defines entities of its own"),
        ('<annotations><image id="0" name=""/></annotations>', "an <image> has no name"),
        ('<annotations><image name="1.jpg"/></annotations><annotations/>', "it has several <annotations>"),
    ],
)
def test_a_file_of_cvat_that_cannot_be_right_is_refused(tmp_path, text, words):
    made.image(tmp_path / "source/1.jpg")
    made.text(tmp_path / "source/annotations.xml", text)
    refused(tmp_path / "source", tmp_path / "out", words)


def test_cvat_turns_boxes_draws_masks_and_keeps_attributes(tmp_path):
    mask = numpy.zeros((4, 3), bool)
    mask[0, 1:] = mask[1:3, 0] = mask[3, 2] = True
    runs, last = [], False
    for value in mask.ravel():
        if value != last or not runs:
            runs.append(0) if value == last else runs.extend([0] if runs else [0, 0])
            last = value
        runs[-1] += 1
    shapes = (f'<box {BOX} rotation="90" occluded="1"><attribute name="colour">red</attribute></box>'
              f'<mask label="dog" occluded="0" rle="{", ".join(map(str, runs))}" left="5" top="6" width="3" height="4"/><tag label="indoor"/>')
    head = "<task><labels><label><name>ant</name></label><label><name>indoor</name><type>tag</type></label></labels></task>"
    exports.cvat(tmp_path / "source", ["1.jpg"], shapes=shapes, head=head)
    result = packed(tmp_path / "source", tmp_path / "out")
    assert "not read, because they are not objects: 1 tags of images" in result.json["notes"]
    sample = objects.of_tar(tmp_path / "out/shard-000000.tar")[0]
    columns = objects.parse(sample["objects"])
    numpy.testing.assert_allclose(columns["outlines"], [[30, 20], [30, 40], [10, 40], [10, 20]])
    assert columns["boxes"].tolist() == [[10, 20, 30, 40], [5, 6, 8, 10]] and columns["flags"].tolist() == [8, 0]
    assert columns["labels"].tolist() == [1, 2], "ant, cat, dog"
    drawn = numpy.zeros(WIDTH * HEIGHT, bool)
    at = 0
    for i, run_length in enumerate(columns["counts"]):
        drawn[at : at + run_length] = i % 2
        at += run_length
    whole = numpy.zeros((HEIGHT, WIDTH), bool)
    whole[6:10, 5:8] = mask
    assert (drawn.reshape(WIDTH, HEIGHT).T == whole).all()
    assert json.loads(sample["json"])["annotations"][0]["attributes"] == {"colour": "red"}


def test_images_of_one_name_are_told_by_their_subset(tmp_path):
    text = exports.cvat_text(["1.jpg"], more='subset="Train"').replace("</annotations>", "")
    text += re.search("<image.*</image>", exports.cvat_text(["1.jpg"], more='subset="Validation"', shapes=""))[0]
    made.images(tmp_path / "source/images", "Train/1.jpg", "Validation/1.jpg")
    made.text(tmp_path / "source/annotations.xml", text + "</annotations>")
    packed(tmp_path / "source", tmp_path / "out")
    check(tmp_path / "out/train", 1)
    assert columns_of(tmp_path / "out/val")[0]["boxes"].size == 0


def test_masks_that_are_larger_than_their_file_can_mean_are_rejected(tmp_path):
    side = 1 << 15
    shapes = f'<mask label="cat" rle="0, {side * side}" left="0" top="0" width="{side}" height="{side}"/>' * 3
    made.image(tmp_path / "source/1.jpg")
    made.text(tmp_path / "source/annotations.xml", f'<annotations><image id="0" name="1.jpg" width="{side}" height="{side}">{shapes}<box {BOX}/></image></annotations>')
    assert "the masks of the file are too large for its size" in rejected(tmp_path / "source", tmp_path / "out")


def corners(head, form="{name},{label},{left},{top},{right},{bottom}", **scale):
    """A table's header and rows."""
    def row(name, label, left, top, right, bottom):
        sx, sy = scale.get("sx", 1), scale.get("sy", 1)
        left, right, top, bottom = left / sx, right / sx, top / sy, bottom / sy
        return form.format(name=name, stem=name[:-4], label=label, left=left, top=top, right=right, bottom=bottom, w=right - left, h=bottom - top,
                           cx=(left + right) / 2, cy=(top + bottom) / 2, width=WIDTH, height=HEIGHT)

    return dict(header=head, row=row)


CENTRE = "{name},{label},{cx},{cy},{w},{h}"
CORNER = "{name},{label},{left},{top},{w},{h}"
TABLES = {
    "tensorflow": corners("filename,width,height,class,xmin,ymin,xmax,ymax", "{name},{width},{height},{label},{left},{top},{right},{bottom}"),
    "vott": corners('"image","xmin","ymin","xmax","ymax","label"', '"{name}",{left},{top},{right},{bottom},"{label}"'),
    "open images": corners("ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded", "{stem},xclick,{label},1,{left},{right},{top},{bottom},0", sx=WIDTH, sy=HEIGHT),
    "gtsrb": corners("Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;Label", "{name};{width};{height};{left};{top};{right};{bottom};{label}"),
    "kaggle": corners("image_name,label_name,x1,y1,x2,y2"),
    "kaggle sizes": corners("image_name,label_name,x1,y1,w,h", CORNER),
    "sizes twice": corners("image,label,x_min,y_min,x_max,y_max,width,height", "{name},{label},{left},{top},{right},{bottom},{w},{h}"),
    "centres": corners("path,class,x_center,y_center,width,height", CENTRE),
    "fractions of centres": corners("path,class,cx,cy,w,h", CENTRE, sx=WIDTH, sy=HEIGHT),
    "tabs": corners("path\tclass\tbbox_left\tbbox_top\tbbox_width\tbbox_height", CORNER.replace(",", "\t")),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_boxes_is_read_by_its_columns(tmp_path, name):
    exports.table(tmp_path / "source", **TABLES[name])
    result = packed(tmp_path / "source", tmp_path / "out")
    check(tmp_path / "out")
    assert result.json["detected"] == "a table of boxes: _annotations.csv"
    packhorse("inspect", tmp_path / "out", "--against", tmp_path / "source")
    packhorse("unpack", tmp_path / "out", tmp_path / "back", "--as=coco")
    packed(tmp_path / "back", tmp_path / "again")
    check(tmp_path / "again")


BBOX = '"[{left}, {top}, {right}, {bottom}]"'
AMBIGUOUS = {
    "x y w h": (corners("image_id,label,x,y,w,h", CORNER), "xywh", ["xywh", "cxcywh"]),
    "x y width height": (corners("image_id,label,x,y,width,height", CENTRE), "cxcywh", ["xywh", "cxcywh"]),
    "bbox": (corners("image_id,width,height,label,bbox", "{name},{width},{height},{label}," + BBOX), "xyxy", ["xyxy", "xywh", "cxcywh"]),
    "retinanet": (corners("", "{name},{left:.0f},{top:.0f},{right:.0f},{bottom:.0f},{label}"), "xyxy", ["xyxy", "xywh", "cxcywh"]),
    "no header": (corners("", CORNER), "xywh", ["xyxy", "xywh", "cxcywh"]),
    "tiny": (corners("path,class,cx,cy,w,h", CENTRE, sx=WIDTH / 2, sy=HEIGHT / 2), "cxcywh-pixels", ["cxcywh-pixels", "cxcywh-fractions"]),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_table_that_can_be_read_in_several_ways_is_refused_with_all_of_them(tmp_path, name):
    how, right, readings = AMBIGUOUS[name]
    exports.table(tmp_path / "source", **how)
    file = tmp_path / "source/_annotations.csv"
    target = [] if how["header"] else [f"--targets=table:{file}"]
    message = refused(tmp_path / "source", tmp_path / "out", "", *target)
    options = [shlex.split(option) for option in re.findall(r"--targets \S+?(?=,|$)", message, re.M)]
    assert options == [["--targets", f"table:{file}:{reading}"] for reading in readings]
    result = pack(tmp_path / "source", tmp_path / "out", "--targets", f"table:{file}:{right}")
    assert result.code == DONE, result
    if name != "tiny":
        check(tmp_path / "out")


@pytest.mark.parametrize(
    "text, words",
    [
        ("path,class,xmin,ymin,xmax,ymax\n1.jpg,cat,1,1,9\n", "line 2 has 5 cells, the first line 6"),
        ("path,xmin,ymin,xmax,ymax\n1.jpg,1,1,9,9\n", "no column of the table names the class of a box"),
        ("path,class,xmin,ymin,xmax,ymax\n1.jpg,0,1,1,9,9\n", "the classes of the table are numbers"),
        ("path,class,xmin,ymin,xmax,ymax,split\n1.jpg,cat,1,1,9,9,train\n2.jpg,cat,1,1,9,9,val\n", "its column 'split' names splits"),
        ("path,image_id,class,xmin,ymin,xmax,ymax\n1.jpg,1.jpg,cat,1,1,9,9\n", "several columns may be the path of the image"),
        ("path,class,xmin,ymin,xmax,ymax\n,cat,1,1,9,9\n", "line 2 names no image"),
        ("path,class,xmin,ymin,xmax,ymax\n1.jpg,cat,0,0,1,1\n", "no number of the boxes is more than 2"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused(tmp_path, text, words):
    made.images(tmp_path / "source", "1.jpg", "2.jpg")
    made.text(tmp_path / "source/boxes.csv", text)
    refused(tmp_path / "source", tmp_path / "out", words)


@pytest.mark.parametrize(
    "row, words",
    [
        ("1.jpg,cat,1,1,x,9", "line 2: its box is not four numbers"),
        ("1.jpg,cat,1,1,,9", "line 2: its box is not four numbers"),
        ("1.jpg,cat,nan,1,9,9", "line 2: it has a number that is not finite"),
        ("1.jpg,cat,9,9,1,1", "its box has no area"),
        ("1.jpg,cat,1,1,109,9", "is beyond the image"),
        ("1.jpg,,1,1,9,9", "line 2: it has no class"),
        ("3.jpg,cat,1,1,9,9", "3.jpg: not there, but in boxes.csv"),
    ],
)
def test_a_row_that_is_no_object_rejects_its_image(tmp_path, row, words):
    made.images(tmp_path / "source", "1.jpg", "2.jpg")
    made.text(tmp_path / "source/boxes.csv", f"path,class,xmin,ymin,xmax,ymax\n{row}\n2.jpg,cat,1,1,9,9\n")
    assert words in rejected(tmp_path / "source", tmp_path / "out")


def test_a_table_may_have_images_without_boxes_one_class_or_numbers_of_classes(tmp_path):
    made.images(tmp_path / "source", "1.jpg", "2.jpg")
    file = tmp_path / "source/boxes.csv"
    made.text(file, "path,xmin,ymin,xmax,ymax\n1.jpg,1,1,9,9\n2.jpg,,,,\n")
    made.text(tmp_path / "one.txt", "cat\n")
    packed(tmp_path / "source", tmp_path / "out", f"--targets=table:{file}", f"--target-classes={tmp_path}/one.txt")
    assert sorted(len(columns["boxes"]) for columns in columns_of(tmp_path / "out")) == [0, 1]
    made.text(file, "path,class_id,xmin,ymin,xmax,ymax,IsGroupOf\n1.jpg,1,1,1,9,9,1\n2.jpg,0,1,1,9,9,0\n")
    made.text(tmp_path / "two.txt", "cat\ndog\n")
    packed(tmp_path / "source", tmp_path / "two", f"--targets=table:{file}", f"--target-classes={tmp_path}/two.txt")
    found = [(columns["labels"].tolist(), columns["flags"].tolist()) for columns in columns_of(tmp_path / "two")]
    assert sorted(found) == [([0], [0]), ([1], [1])]


def region(**more):
    return exports.label_studio_region("cat", 10, 20, 30, 60, **more)


def value(**more):
    return {**region()["value"], **more}


@pytest.mark.parametrize(
    "regions, words",
    [
        ([region(type="brushlabels", value={"format": "rle", "rle": [1], "brushlabels": ["cat"]})], "a region of brushlabels is neither a box nor a polygon"),
        ([region(type="ellipselabels")], "a region of ellipselabels is neither"),
        ([region(image_rotation=90)], "it is for the image turned in Label Studio"),
        ([region(value=value(rectanglelabels=["cat", "dog"]))], "it has 2 classes"),
        ([region(type="rectangle", value={k: v for k, v in value().items() if k != "rectanglelabels"})], "it has no class"),
        ([region(value=value(x="1"))], "its x is not a number"),
        ([region(value=value(x=90))], "is beyond the image"),
        ([region(original_width=None)], "it has no original_width"),
        ([region(original_width=99)], "its size: it is 99 x 80, and elsewhere 100 x 80"),
    ],
)
def test_a_region_of_label_studio_that_is_no_object_rejects_its_image(tmp_path, regions, words):
    exports.label_studio(tmp_path / "source", ["1.jpg"], regions=[*regions, region(id="good")])
    assert words in rejected(tmp_path / "source", tmp_path / "out")


def test_label_studio_has_polygons_turned_boxes_and_classes_apart(tmp_path):
    polygon = region(id="p", type="polygonlabels", value={"points": [[10, 25], [30, 25], [30, 75]], "polygonlabels": ["cat"]})
    turned = region(id="t", value=value(x=50, y=25, width=20, height=25, rotation=90))
    plain = {k: v for k, v in value().items() if k != "rectanglelabels"}
    apart = [region(id="a", type="rectangle", value=plain), region(id="a", type="labels", value={**plain, "labels": ["dog"]})]
    choice = {"id": "c", "type": "choices", "value": {"choices": ["indoor"]}}
    exports.label_studio(tmp_path / "source", ["1.jpg"], regions=[polygon, turned, *apart, choice], address="/data/upload/7/")
    result = packed(tmp_path / "source", tmp_path / "out")
    assert "not read, because they are not objects: 1 results of the type 'choices'" in result.json["notes"]
    [columns] = columns_of(tmp_path / "out")
    numpy.testing.assert_allclose(columns["boxes"], [[10, 20, 30, 60], [30, 20, 50, 40], [10, 20, 30, 60]], atol=1e-4)
    numpy.testing.assert_allclose(columns["outlines"][3:], [[50, 20], [50, 40], [30, 40], [30, 20]], atol=1e-9)
    assert columns["labels"].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda task: task["annotations"].append(task["annotations"][0]), "there are several, of one image, to choose from"),
        (lambda task: task["annotations"][0].update(was_cancelled=True), "nobody has finished them"),
    ],
)
def test_tasks_that_are_not_done_once_are_rejected(tmp_path, change, words):
    exports.label_studio(tmp_path / "source")
    [file] = (tmp_path / "source").glob("*.json")
    tasks = json.loads(file.read_text())
    change(tasks[0])
    file.write_text(json.dumps(tasks))
    assert words in rejected(tmp_path / "source", tmp_path / "out")


@pytest.mark.parametrize("data, words", [({"image": "x.txt"}, "its data names no images"), ({"a": "1.jpg", "b": "2.jpg"}, "its data names several images"), ([], "its data is not a JSON object")])
def test_a_task_must_name_one_image(tmp_path, data, words):
    exports.label_studio(tmp_path / "source", ["1.jpg"])
    [file] = (tmp_path / "source").glob("*.json")
    tasks = json.loads(file.read_text())
    tasks[0]["data"] = data
    file.write_text(json.dumps(tasks))
    refused(tmp_path / "source", tmp_path / "out", f"task 1: {words}")


RECT = {"name": "rect", "x": 1, "y": 1, "width": 8, "height": 8}


@pytest.mark.parametrize(
    "shape, words",
    [
        ({"name": "circle", "cx": 9, "cy": 9, "r": 2}, "region 1: a region of 'circle' is neither a rectangle nor a polygon"),
        ({"name": "polygon", "all_points_x": [1, 2, 3], "all_points_y": [1, 2]}, "its points have not as many x as y"),
        ({**RECT, "width": 0}, "its box has no area"),
        ({**RECT, "x": None}, "it has no x"),
    ],
)
def test_a_region_of_via_that_is_no_object_rejects_its_image(tmp_path, shape, words):
    exports.via(tmp_path / "source", ["1.jpg"], regions=[{"shape_attributes": shape, "region_attributes": {"class": "cat"}}])
    text = json.loads((tmp_path / "source/via_project.json").read_text())
    text["_via_img_metadata"].update(exports.via_entries(["2.jpg"]))
    made.image(tmp_path / "source/2.jpg")
    made.text(tmp_path / "source/via_project.json", json.dumps(text))
    assert words in rejected(tmp_path / "source", tmp_path / "out")


def test_via_says_which_attribute_is_the_class(tmp_path):
    regions = [exports.via_region(made.CLASSES[label], *box) for label, box in made.BOXES]
    for one in regions:
        one["region_attributes"]["colour"] = {"red": True, "blue": False}
    exports.via(tmp_path / "source", regions=regions)
    file = tmp_path / "source/via_project.json"
    message = refused(tmp_path / "source", tmp_path / "out", "several attributes of the regions may be their class")
    assert f"--targets via:{file}:class, or --targets via:{file}:colour" in message
    packed(tmp_path / "source", tmp_path / "out", f"--targets=via:{file}:class")
    check(tmp_path / "out")
    record = json.loads(objects.of_tar(tmp_path / "out/shard-000000.tar")[0]["json"])
    assert record["annotations"][0]["attributes"] == {"colour": "red"}


def test_via_numbered_regions_in_its_first_version(tmp_path):
    exports.via(tmp_path / "source", regions={str(i): exports.via_region(made.CLASSES[label], *box) for i, (label, box) in enumerate(made.BOXES)})
    packed(tmp_path / "source", tmp_path / "out")
    check(tmp_path / "out")


def test_dota_and_kitti_say_flags(tmp_path):
    exports.dota(tmp_path / "dota", ["1.jpg"], lines="10 10 20 15 15 25 5 20 cat 1\n")
    packed(tmp_path / "dota", tmp_path / "a")
    [columns] = columns_of(tmp_path / "a")
    assert columns["outlines"].tolist() == [[10, 10], [20, 15], [15, 25], [5, 20]] and columns["flags"].tolist() == [2]
    lines = exports.kitti_line("Car", 1, 1, 9, 9, 0.5, 2) + exports.kitti_line("DontCare", 20, 20, 40, 40, -1, -1)
    exports.kitti(tmp_path / "kitti", ["1.jpg"], lines=lines)
    packed(tmp_path / "kitti", tmp_path / "b")
    [columns] = columns_of(tmp_path / "b")
    assert columns["flags"].tolist() == [4 | 8, 1]


@pytest.mark.parametrize(
    "kind, line, words",
    [
        ("dota", "1 1 9 1 9 9 1 9\n", "line 2: it has 8 words"),
        ("dota", "1 1 9 1 9 9 1 x cat 0\n", "line 2: a corner is not a number"),
        ("dota", "1 1 9 1 9 9 1 9 cat 7\n", "line 2: its last word, whether it is difficult, is not 0, 1 or 2"),
        ("dota", "-5 1 9 1 9 9 1 9 cat 0\n", "is beyond the image"),
        ("kitti", "Car 0 0 0 1 1 9 9\n", "line 2: it has 8 words, not a type and 14 numbers"),
        ("kitti", "Car 0 0 0 1 1 9 y 0 0 0 0 0 0 0\n", "line 2: a word after the type is not a number"),
    ],
)
def test_a_line_that_is_no_object_rejects_its_image(tmp_path, kind, line, words):
    first = {"dota": exports.dota_line, "kitti": exports.kitti_line}[kind]("cat", 1, 1, 9, 9)
    exports.KINDS[kind](tmp_path / "source", ["1.jpg"], lines=first + line)
    assert words in rejected(tmp_path / "source", tmp_path / "out")


@pytest.mark.parametrize(
    "text, words",
    [
        ('[{"image": "1.jpg", "annotations": [{"label": "cat", "coordinates": {"x": 1}}]}]', "it has no width"),
        ('[{"annotations": [{"label": "a", "coordinates": {}}]}]', "image 1: it has no image"),
        ('{"annotations": [], "coordinates": 1, "label": 2}', "it is not a list of images"),
    ],
)
def test_a_file_of_create_ml_that_is_wrong_is_named(tmp_path, text, words):
    made.image(tmp_path / "source/1.jpg")
    made.text(tmp_path / "source/a.json", text)
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format=wds", f"--targets=createml:{tmp_path}/source/a.json")
    assert result.code != DONE and words in result.err, result


def test_corners_of_yolo_are_polygons(tmp_path):
    """Ultralytics' YOLO-OBB is a class and four corners."""
    made.yolo(tmp_path / "source", labels="0 0.1 0.1 0.2 0.15 0.15 0.25 0.05 0.2\n")
    packed(tmp_path / "source", tmp_path / "out")
    for columns in columns_of(tmp_path / "out/train"):
        numpy.testing.assert_allclose(columns["outlines"], [[10, 8], [20, 12], [15, 20], [5, 16]])


@pytest.mark.parametrize("kind", exports.KINDS)
def test_files_that_are_cut_anywhere_are_refused_or_rejected(tmp_path, kind):
    exports.KINDS[kind](tmp_path / "whole", ["1.jpg"])
    place = tmp_path / "whole" / exports.PLACES[kind]
    file = place if place.is_file() else next(path for path in place.rglob("*") if path.suffix in (".json", ".txt"))
    content = file.read_bytes()
    for i, length in enumerate(range(0, len(content), max(1, len(content) // 12))):
        file.write_bytes(content[:length])
        result = run("pack", tmp_path / "whole", tmp_path / f"out{i}", "--format=wds", "--targets", f"{kind}:{place}")
        assert result.code in (DONE, USAGE, DAMAGE), result
        if result.code == DONE:
            assert kind in ("table", "via", "dota", "kitti"), "a line may be cut off whole"


def options_in(message, before):
    """The options that a message names behind some words, until the next sentence."""
    return [shlex.split(one) for one in re.search(re.escape(before) + r" (--.*)", message)[1].split(", or ")]


def test_a_choice_is_named_for_the_files_of_all_splits(tmp_path):
    regions = [exports.via_region(made.CLASSES[label], *box) for label, box in made.BOXES]
    for one in regions:
        one["region_attributes"]["colour"] = "red"
    for split in ("train", "val"):
        exports.via(tmp_path / "source" / split, [f"{split}-{i}.jpg" for i in range(2)], regions=regions)
    message = refused(tmp_path / "source", tmp_path / "out", "several attributes of the regions may be their class")
    first = options_in(message, "say which is:")[0]
    packed(tmp_path / "source", tmp_path / "out", *first)
    for split in ("train", "val"):
        check(tmp_path / "out" / split)


def test_several_files_of_splits_are_refused_with_a_command_that_works(tmp_path):
    for split in ("train", "val"):
        names = [f"{split}-{i}.jpg" for i in range(2)]
        for file in ("a.csv", "b.csv"):
            exports.table(tmp_path / "source" / split, names, file=file)
    made.image(tmp_path / "source/test/9.jpg")
    message = refused(tmp_path / "source", tmp_path / "out", "there are several for the same images: a.csv and b.csv")
    command = shlex.split(re.search(r"packhorse (pack .*?);", message)[1])
    packhorse(*[str(tmp_path / "out") if word == "OUT" else word for word in command], "--format=wds")
    for split in ("train", "val"):
        check(tmp_path / "out" / split)


def number_via(root):
    exports.via(root, regions=[{"shape_attributes": exports.via_region("x", *box)["shape_attributes"], "region_attributes": {}} for _, box in made.BOXES])


@pytest.mark.parametrize(
    "write, words, names",
    [
        (number_via, "no region has an attribute that would name its class", ["thing"]),
        (lambda root: exports.table(root, row=lambda name, label, *box: f"{name},{WIDTH},{HEIGHT},{made.CLASSES.index(label)},{','.join(map(str, box))}"),
         "the classes of the table are numbers", made.CLASSES),
    ],
)
def test_classes_that_annotations_do_not_name_are_given_alone(tmp_path, write, words, names):
    write(tmp_path / "source")
    message = refused(tmp_path / "source", tmp_path / "out", words)
    assert message.rstrip().endswith("--target-classes FILE")
    made.text(tmp_path / "names.txt", "\n".join(names) + "\n")
    packed(tmp_path / "source", tmp_path / "out", f"--target-classes={tmp_path}/names.txt")
    assert json.loads((tmp_path / "out/dataset.json").read_text())["targets"][0]["classes"] == names
    packhorse("inspect", tmp_path / "out", "--verify=full", "--against", tmp_path / "source", f"--target-classes={tmp_path}/names.txt")


def test_images_without_a_file_of_labelme_name_the_folder(tmp_path):
    exports.labelme(tmp_path / "source")
    made.image(tmp_path / "source/3.jpg")
    assert "no annotations: source has no image of that name" in rejected(tmp_path / "source", tmp_path / "out")
