"""The tables of layouts in docs/sources.md and more_layouts.md: each row's command is run on a fixture, and gives the
result it says.

Every image of a fixture knows its class. No row may pack another one, whatever it ends with."""

import re
import shlex
import shutil
import tarfile

import annotated_support as made
import pytest
from PIL import Image
from python_support import DAMAGE, DONE, ROOT, USAGE, pack, photo, put, run

SYNSETS = ("n01440764", "n01443537", "n01484850")
CATS = ("cat", "dog")


class Fixture:
    """Writes what a data set consists of. Images differ in their last bytes, which also give their class."""

    def __init__(self, root):
        self.root = root
        self.classes = {}  # path -> class
        self.truth = {}  # an image's bytes -> class
        self.fields = {}  # an image's bytes -> its fields' bytes, by name

    def image(self, path, name):
        content = photo() + len(self.classes).to_bytes(4, "little")
        put(self.root / path, content)
        self.classes[path] = self.truth[content] = name

    def classes_in(self, folder, names=CATS, count=2, pattern="{name}_{i}.jpg"):
        for name in names:
            for i in range(count):
                self.image(f"{folder}/{name}/{pattern.format(name=name, i=i)}".lstrip("/"), name)

    def with_fields(self, image, name, **files):
        """An image with the files of its fields: x_y=path is the field x.y."""
        self.image(image, name)
        content = (self.root / image).read_bytes()
        for field, path in files.items():
            put(self.root / path, (data := f"GIF89a {path}".encode()))
            self.fields.setdefault(content, {})[field.replace("_", ".")] = data

    def text(self, path, text):
        put(self.root / path, text)

    def flat(self, folder, names, pattern="{i}.jpg"):
        """Images without class folders; returns (file name, class) of each."""
        rows = []
        for i, name in enumerate(names):
            file = pattern.format(i=i + 1, name=name)
            self.image(f"{folder}/{file}".lstrip("/"), name)
            rows.append((file, name))
        return rows

    def tar(self, path, folder):
        """Puts a folder into a tar, and removes it."""
        with tarfile.open(self.root / path, "w") as tar:
            for file in sorted((self.root / folder).rglob("*")):
                if file.is_file():
                    tar.add(file, file.relative_to(self.root / folder).as_posix())
        shutil.rmtree(self.root / folder)

    def zip(self, path, folder):
        shutil.make_archive(str(self.root / path).removesuffix(".zip"), "zip", self.root / folder)
        shutil.rmtree(self.root / folder)


VAL = [SYNSETS[i] for i in (2, 0, 1, 0, 2, 2)]
VAL_NAME = "ILSVRC2012_val_{i:08}.JPEG"


def train_tar(f):
    for name in SYNSETS:
        f.classes_in("work", [name], pattern="{name}_{i}.JPEG")
        f.tar(f"work/{name}.tar", f"work/{name}")
    f.tar("imagenet/ILSVRC2012_img_train.tar", "work")


def with_train_tar(f):
    (f.root / "imagenet").mkdir()
    train_tar(f)
    return f.flat("imagenet/val", VAL, VAL_NAME)


def imagenet_train(f):
    (f.root / "imagenet").mkdir()
    train_tar(f)


def imagenet_two_tars(f):
    rows = with_train_tar(f)
    f.tar("imagenet/ILSVRC2012_img_val.tar", "imagenet/val")
    f.text("val.txt", "".join(f"{file} {SYNSETS.index(name)}\n" for file, name in rows))


def imagenet_val_tar(f):
    rows = f.flat("work", VAL, VAL_NAME)
    f.tar("ILSVRC2012_img_val.tar", "work")
    f.text("val.txt", "".join(f"{file} {name}\n" for file, name in rows))


def loc_rows(rows):
    return "ImageId,PredictionString\n" + "".join(f"{file[:-5]},{name} 1 2 3 4 \n" for file, name in rows)


def imagenet_flat_val(f):
    f.text("LOC_val_solution.csv", loc_rows(with_train_tar(f)))


def imagenet_truth(f):
    rows = with_train_tar(f)
    ids = {name: 3 - i for i, name in enumerate(SYNSETS)}
    f.text("ILSVRC2012_validation_ground_truth.txt", "".join(f"{ids[name]}\n" for _, name in rows))
    f.text("ids.txt", "".join(f"{number} {name}\n" for name, number in ids.items()))


def imagenet_kaggle(f):
    data = "imagenet/ILSVRC/Data/CLS-LOC"
    f.classes_in(f"{data}/train", SYNSETS, pattern="{name}_{i}.JPEG")
    f.text("imagenet/LOC_val_solution.csv", loc_rows(f.flat(f"{data}/val", VAL, VAL_NAME)))
    f.flat(f"{data}/test", ["unknown"], "ILSVRC2012_test_{i:08}.JPEG")
    f.text("imagenet/ILSVRC/Annotations/CLS-LOC/val/1.xml", "<annotation/>")


def tiny_imagenet(f):
    f.classes_in("tiny-imagenet-200/train", SYNSETS, pattern="images/{name}_{i}.JPEG")
    rows = f.flat("tiny-imagenet-200/val/images", VAL, "val_{i}.JPEG")
    f.text("tiny-imagenet-200/val/val_annotations.txt", "".join(f"{file}\t{name}\t0\t32\t44\t62\n" for file, name in rows))


def table(f, folder, file, header, pattern="{i}.jpg", row="{file},{name}"):
    rows = f.flat(folder, ["dog", "cat", "cat", "dog"], pattern)
    lines = [row.format(file=name, stem=name.rsplit(".", 1)[0], name=kind, i=i) for i, (name, kind) in enumerate(rows)]
    f.text(file, "".join(f"{line}\n" for line in ([header] if header else []) + lines))


def metadata(f, split, kind):
    rows = f.flat(f"data/{split}".rstrip("/"), ["dog", "cat", "cat", "dog"])
    if kind == "csv":
        text = "file_name,text,label\n" + "".join(f'{file},"a, b",{name}\n' for file, name in rows)
    else:
        text = "".join(f'{{"file_name": "{file}", "label": "{name}"}}\n' for file, name in rows)
    f.text(f"data/{split}/metadata.{kind}", text)


def shards(f):
    f.classes_in("work")
    for path, name in f.classes.items():
        f.text((f.root / path).with_suffix(".cls").relative_to(f.root), name)
    (f.root / "shards").mkdir()
    f.tar("shards/train-000000.tar", "work")


def packed(f):
    f.classes_in("work/train")
    pack(f.root / "work", f.root / "packed", "--format", "lmdb")


def listed_images(f):
    f.classes_in("images")
    lines = [f"{path},{name},{'val' if '_1' in path else 'train'}\n" for path, name in f.classes.items()]
    f.text("images.csv", "path,label,split\n" + "".join(lines))


def zipped(f):
    f.classes_in("work/train")
    f.classes_in("work/val")
    f.zip("photos.zip", "work")


def fields(f):
    f.classes_in("photos")
    for path in list(f.classes):
        f.text((f.root / path).with_suffix(".json").relative_to(f.root), "{}")


def seg_train(f):
    f.classes_in("intel/seg_train/seg_train")
    f.classes_in("intel/seg_test/seg_test")
    f.flat("intel/seg_pred/seg_pred", ["unknown"] * 2)


def flat_test(f):
    f.classes_in("data/train")
    f.flat("data/test", ["unknown"] * 2)


def masks(f, folder="photos", images="{folder}/images/{i}.jpg", splits=("",), **files):
    """Images without classes, with the files of their fields."""
    for split in splits:
        for i in (1, 2):
            words = {"folder": folder, "i": i, "split": split}
            paths = {field: path.format(**words) for field, path in files.items()}
            f.with_fields(images.format(**words), "unlabelled", **paths)


def voc(f):
    root = "voc/VOCdevkit/VOC2012"
    for i in (1, 2, 3):
        files = {"xml": f"{root}/Annotations/2007_{i}.xml"}
        if i < 3:
            files["seg_png"] = f"{root}/SegmentationClass/2007_{i}.png"
        f.with_fields(f"{root}/JPEGImages/2007_{i}.jpg", "unlabelled", **files)
    f.text(f"{root}/ImageSets/Segmentation/train.txt", "2007_1\n")


def pets_with_trimaps(f):
    for i, name in enumerate(["Abyssinian", "great_pyrenees", "Abyssinian"]):
        f.with_fields(f"pets/images/{name}_{i}.jpg", name, trimap_png=f"pets/annotations/trimaps/{name}_{i}.png")
        f.text(f"pets/annotations/trimaps/._{name}_{i}.png", "left by a Mac")
    f.text("pets/annotations/list.txt", "Abyssinian_0 1 1 1\n")


def cityscapes(f):
    for split in ("train", "val"):
        for city in ("aachen", "ulm"):
            name = f"{split}/{city}/{city}_000001_000019"
            f.with_fields(f"cityscapes/leftImg8bit/{name}_leftImg8bit.png", "unlabelled",
                          labels_png=f"cityscapes/gtFine/{name}_gtFine_labelIds.png")
            f.text(f"cityscapes/gtFine/{name}_gtFine_color.png", "another picture")


def covid(f):
    for name in ("COVID", "Normal"):
        for i in (1, 2):
            f.with_fields(f"covid/{name}/images/{name}-{i}.png", name, mask_png=f"covid/{name}/masks/{name}-{i}.png")


def carvana(f):
    masks(f, "work", "{folder}/train/{i}.jpg", mask_gif="{folder}/train_masks/{i}_mask.gif")
    f.zip("carvana.zip", "work")


def class_masks(f):
    for name in CATS:
        for i in (1, 2):
            f.with_fields(f"photos/{name}/{name}{i}.jpg", name, mask_png=f"photos/{name}/{name}{i}_mask.png")


def each(*calls):
    def build(f):
        for method, *arguments in calls:
            getattr(f, method)(*arguments)

    return build


def annotated(notation, *images):
    """Images with a cat each, in the layout of a notation."""
    def build(f):
        names = {}
        for path in images:
            f.image(path, "unlabelled")
            names.setdefault(path.rsplit("/", 1)[0], []).append(path.rsplit("/", 1)[1])
        with Image.open(f.root / images[0]) as picture:
            width, height = picture.size
        root = images[0].split("/")[0]
        for folder, files in names.items():
            if notation == "coco":
                text = made.coco_text(files).replace('"width": 100', f'"width": {width}').replace('"height": 80', f'"height": {height}')
                f.text(f"{root}/annotations/instances_{folder.rsplit('/', 1)[1]}.json", text)
            for file in files:
                stem = file.removesuffix(".jpg")
                if notation == "yolo":
                    f.text(f"{folder.replace('/images', '/labels')}/{stem}.txt", made.yolo_text())
                if notation == "voc":
                    f.text(f"{folder.replace('JPEGImages', 'Annotations')}/{stem}.xml", f"<annotation>{made.voc_object('cat', 0, 0, 9, 9)}</annotation>")
        if notation == "voc":
            for split in ("train", "val"):
                f.text(f"{root}/VOCdevkit/VOC2012/ImageSets/Main/{split}.txt", f"{split}_1\n{split}_2\n")
        if notation == "yolo":
            places = {folder.split("/", 1)[1] for folder in names}
            f.text(f"{root}/data.yaml", "names: [cat, dog]\n" + "".join(f"{split}: {place}\n" for split in ("train", "val") for place in places if split in place))

    return build


COCO = [f"coco/{split}2017/{split}_{i}.jpg" for split in ("train", "val") for i in (1, 2)]
YOLO = [f"yolo/images/{split}/{i}.jpg" for split in ("train", "val") for i in (1, 2)]
ROBOFLOW = [f"yolo/{split}/images/{i}.jpg" for split in ("train", "val") for i in (1, 2)]
VOC = [f"voc/VOCdevkit/VOC2012/JPEGImages/{split}_{i}.jpg" for split in ("train", "val") for i in (1, 2)]

GROUND_TRUTH = "--labels val=ILSVRC2012_validation_ground_truth.txt"
TWO_SPLITS = "--split-folders train=ILSVRC2012_img_train.tar,val=val"

# What the data set is, how it is built, and the arguments of `packhorse pack` before OUT and after it.
ROWS = [
    ("class folders", each(("classes_in", "photos")), "photos"),
    ("splits of class folders", each(("classes_in", "photos/train"), ("classes_in", "photos/val")), "photos"),
    ("Kaggle's doubled split folders (Intel), with images to predict beside", seg_train, "intel"),
    ("... without those", seg_train, "intel", "--split-folders train=seg_train,test=seg_test"),
    ("a zip of splits", zipped, "photos.zip"),
    ("`images/` and `meta/` (Food-101)", each(("classes_in", "food/images"), ("text", "food/meta/classes.txt", "cat\n")), "food"),
    ("class folders, with a `.json` beside each image", fields, "photos", "--fields json"),
    ("ImageNet: the tar of class tars", imagenet_train, "imagenet/ILSVRC2012_img_train.tar"),
    ("ImageNet: both tars and Caffe's `val.txt`", imagenet_two_tars, "imagenet", "--labels val=val.txt --split-folders train=ILSVRC2012_img_train.tar,val=ILSVRC2012_img_val.tar"),
    ("ImageNet: the train tar, unpacked `val/`, Kaggle's solution", imagenet_flat_val, "imagenet", f"--labels val=LOC_val_solution.csv {TWO_SPLITS}"),
    ("ImageNet: the same with the devkit's ground truth", imagenet_truth, "imagenet", f"{GROUND_TRUTH} --label-ids ids.txt {TWO_SPLITS}"),
    ("... without saying what its numbers mean", imagenet_truth, "imagenet", f"{GROUND_TRUTH} {TWO_SPLITS}"),
    ("ImageNet: Kaggle's tree", imagenet_kaggle, "imagenet", "--labels val=imagenet/LOC_val_solution.csv --split-folders train=ILSVRC/Data/CLS-LOC/train,val=ILSVRC/Data/CLS-LOC/val"),
    ("... with its `test/`, which has no labels", imagenet_kaggle, "imagenet", "--labels val=imagenet/LOC_val_solution.csv"),
    ("ImageNet: the val tar alone", imagenet_val_tar, "ILSVRC2012_img_val.tar", "--labels val.txt"),
    ("Tiny ImageNet", tiny_imagenet, "tiny-imagenet-200", "--labels val=tiny-imagenet-200/val/val_annotations.txt --path-column 1 --label-column 2 --classes-at 2"),
    ("... without the columns", tiny_imagenet, "tiny-imagenet-200", "--labels val=tiny-imagenet-200/val/val_annotations.txt"),
    ("Oxford Pets: the class in the file name", lambda f: f.flat("pets/images", ["Abyssinian", "great_pyrenees", "Abyssinian"], "{name}_{i}.jpg"), "pets", r"--label-pattern '^(.+)_\d+\.jpg$'"),
    ("Dogs vs. Cats", lambda f: f.flat("train", ["cat", "dog", "dog"], "{name}.{i}.jpg"), "train", r"--label-pattern '^(cat|dog)\.'"),
    ("Dog breeds: `id,breed`, no extensions", lambda f: table(f, "dogs/train", "labels.csv", "id,breed", row="{stem},{name}"), "dogs", "--labels labels.csv"),
    ("`filename,class`", lambda f: table(f, "photos", "train.csv", "filename,class"), "photos", "--labels train.csv"),
    ("`image_id,label`", lambda f: table(f, "photos", "train.csv", "image_id,label"), "photos", "--labels train.csv"),
    ("no header", lambda f: table(f, "photos", "train.csv", None), "photos", "--labels train.csv"),
    ("a header of other words", lambda f: table(f, "photos", "train.csv", "id_code,kind_of", row="{stem},{name}"), "photos", "--labels train.csv --path-column id_code --label-column kind_of"),
    ("... without the columns", lambda f: table(f, "photos", "train.csv", "id_code,kind_of", row="{stem},{name}{i}"), "photos", "--labels train.csv"),
    ("many columns", lambda f: table(f, "photos", "train.csv", "image,width,group,animal", row="{file},3,{i},{name}"), "photos", "--labels train.csv --label-column animal"),
    ("Hugging Face's `imagefolder`: `metadata.csv`", lambda f: metadata(f, "", "csv"), "data"),
    ("... `metadata.jsonl` in each split", lambda f: (metadata(f, "train", "jsonl"), metadata(f, "test", "jsonl")), "data"),
    ("a list with splits", listed_images, "images.csv"),
    ("WebDataset shards", shards, "shards"),
    ("a packed dataset", packed, "packed"),
    ("images alone", lambda f: f.flat("photos", CATS), "photos"),
    ("`train/` of class folders, `test/` of images alone", flat_test, "data"),
    ("... `test/` left out", flat_test, "data", "--split-folders train"),
    ("`train2017/ val2017/` of images alone (COCO)", lambda f: (f.flat("coco/train2017", CATS), f.flat("coco/val2017", CATS)), "coco"),
    ("`images/ labels/` (YOLO)", lambda f: (f.flat("yolo/images", CATS), f.text("yolo/labels/1.txt", "0 1 2 3 4\n")), "yolo"),
    ("`JPEGImages/ SegmentationClass/` (VOC)", lambda f: (f.flat("voc/JPEGImages", CATS), f.flat("voc/SegmentationClass", CATS, "{i}.png")), "voc"),
    ("`val/ valid/`", each(("classes_in", "data/train"), ("classes_in", "data/val"), ("classes_in", "data/valid")), "data"),
    ("`images/` and `masks/`", lambda f: masks(f, mask_png="photos/masks/{i}.png"), "photos"),
    ("... the masks as a field", lambda f: masks(f, mask_png="photos/masks/{i}.png"), "photos", "--field-from mask.png=masks --unlabelled"),
    ("... with a suffix", lambda f: masks(f, mask_png="photos/masks/{i}_mask.png"), "photos", "--field-from 'mask.png=masks/{stem}_mask.png' --unlabelled"),
    ("masks beside the images of a class, with a suffix", class_masks, "photos", "--field-from 'mask.png={dir}/{stem}_mask.png'"),
    ("`images/` and `masks/` in each class (COVID-19 Radiography)", covid, "covid", "--field-from 'mask.png={class}/masks' --classes-at 1"),
    ("Oxford Pets with its trimaps", pets_with_trimaps, "pets", r"--label-pattern '^(.+)_\d+\.jpg$' --field-from trimap.png=annotations/trimaps"),
    ("VOC: boxes, and masks of some images", voc, "voc", "--field-from xml=VOCdevkit/VOC2012/Annotations --optional-field-from seg.png=VOCdevkit/VOC2012/SegmentationClass --unlabelled"),
    ("Cityscapes", cityscapes, "cityscapes", "--field-from 'labels.png=gtFine/{split}/{dir}/{stem%_leftImg8bit}_gtFine_labelIds.png' --unlabelled"),
    ("YOLO: `images/train/`, `labels/train/`", lambda f: masks(f, "yolo", "{folder}/images/{split}/{i}.jpg", splits=("train", "val"), txt="{folder}/labels/{split}/{i}.txt"), "yolo", "--field-from 'txt=labels/{split}' --unlabelled"),
    ("YOLO: `train/images/`, `train/labels/`", lambda f: masks(f, "yolo", "{folder}/{split}/images/{i}.jpg", splits=("train", "val"), txt="{folder}/{split}/labels/{i}.txt"), "yolo", "--field-from 'txt={split}/labels' --unlabelled"),
    ("COCO with `annotations/instances_train2017.json`, ...", annotated("coco", *COCO), "coco"),
    ("... without the file of a split", lambda f: (annotated("coco", *COCO)(f), (f.root / "coco/annotations/instances_val2017.json").unlink()), "coco"),
    ("YOLO: a `data.yaml` beside `images/` and `labels/`", annotated("yolo", *YOLO), "yolo"),
    ("... the file", annotated("yolo", *YOLO), "yolo/data.yaml"),
    ("... beside `train/images/` and `train/labels/`", annotated("yolo", *ROBOFLOW), "yolo"),
    ("VOC: `JPEGImages/ Annotations/ ImageSets/`", annotated("voc", *VOC), "voc"),
    ("... without their objects", annotated("voc", *VOC), "voc", "--source-kind folder --unlabelled"),
    ("captions in a folder", lambda f: masks(f, txt="photos/captions/{i}.txt"), "photos", "--field-from txt=captions --unlabelled"),
    ("Carvana: a zip", carvana, "carvana.zip", "--field-from 'mask.gif=train_masks/{stem}_mask.gif' --unlabelled"),
    ("domains as top folders (Office-31)", each(("classes_in", "office/amazon/images"), ("classes_in", "office/dslr/images")), "office"),
    ("... the domains as splits", each(("classes_in", "office/amazon/images"), ("classes_in", "office/dslr/images")), "office", "--split-folders amazon,dslr"),
]


def command_of(source, options=""):
    return f"packhorse pack {source} out --format wds {options}".strip()


def outcome(folder, fixture, command):
    """The result as the table says it. Fails for an image with another class than its own."""
    arguments = shlex.split(command)[1:]
    result = run(*arguments, "--json", cwd=folder)
    if result.code == USAGE:
        assert not (folder / "out").exists() and "next: " in result.err, result
        return "**refused**"
    assert result.code in (DONE, DAMAGE), result
    if result.code == DAMAGE:
        return f"**rejected**: {result.json['rejected']}"
    counts, found = [], set()
    for split in result.json["splits"]:
        samples = list(samples_in(folder / "out" / split["split"]))
        for image, name, fields in samples:
            assert fixture.truth[image] == name
            if "field-from" in command:
                assert fields == fixture.fields[image]
        found |= {name for _, name, _ in samples}
        counts.append(f"`{split['split']}` {len(samples)}" if split["split"] else f"{len(samples)} images")
    return f"{', '.join(counts)}; {len(found)} {'class' if len(found) == 1 else 'classes'}"


def samples_in(dataset):
    """The bytes, the class and the extra fields of each image, by Python's tarfile."""
    classes = (dataset / "classes.txt").read_text().splitlines()
    for shard in sorted(dataset.glob("*.tar")):
        samples = {}
        with tarfile.open(shard) as tar:
            for member in tar:
                key, _, field = member.name.partition(".")
                samples.setdefault(key, {})[field] = tar.extractfile(member).read()
        for members in samples.values():
            image = members.pop("jpg", None) or members.pop("jpeg")
            yield image, classes[int(members.pop("cls"))], members


def rows_of_pages():
    pages = (ROOT / "docs/sources.md").read_text() + (ROOT / "tests/cli/more_layouts.md").read_text()
    rows = re.findall(r"^\| (.+?) \| `(packhorse pack .+?)` \| (.+?) \|$", pages, re.M)
    return {(name, command.replace("\\|", "|")): result for name, command, result in rows}


def test_the_tables_have_these_layouts():
    assert sorted(rows_of_pages()) == sorted((name, command_of(*rest)) for name, _, *rest in ROWS)


@pytest.mark.parametrize(("name", "build", "rest"), [(name, build, rest) for name, build, *rest in ROWS])
def test_a_layout_gives_what_the_table_says(tmp_path, name, build, rest):
    fixture = Fixture(tmp_path)
    build(fixture)
    command = command_of(*rest)
    assert outcome(tmp_path, fixture, command) == rows_of_pages()[name, command]
