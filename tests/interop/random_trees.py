"""Random trees of images, each with what is true of it, for test_random_trees.py.

A tree is made by somebody who knows the class of each image, and then shaped as people shape such folders: with splits,
folders around them, parts, copies, masks and files that mean nothing. Where the shape leaves several readings, or where
files are no images of their own, only a refusal is right."""

import random
from dataclasses import dataclass, field

WORDS = ["cat", "dog", "Maus", "great white shark", "été", "猫", "a.b", "x-ray", "no", "n01440764", "n01443537", "7", "07", "12"]
TRAIN = ["train", "Train", "training", "train2017", "training_set", "TrainImages"]
VAL = ["val", "valid", "Validation", "dev", "val_set"]
TEST = ["test", "Testing", "test1", "tst", "testset"]
JUNK = ["README.md", ".DS_Store", "Thumbs.db", "._x.jpg", "__MACOSX/x.jpg", "notes.txt", "@eaDir/x.jpg"]


@dataclass
class Tree:
    images: dict = field(default_factory=dict)  # path -> (split, class)
    others: list = field(default_factory=list)  # files that are no images, and folders where they end in a slash
    ambiguous: bool = False  # only a refusal is right


def names(rng, count):
    style = rng.choice(["number", "class", "any"])
    for i in range(count):
        yield {"number": f"{i + 1:04d}", "class": f"img_{i}", "any": f"{rng.getrandbits(40):x}"}[style]


def class_folders(rng, root, classes, split):
    """Images directly in class folders, unlike many in each."""
    return {
        f"{root}{name}/{stem}.jpg": (split, name)
        for number, name in enumerate(classes)
        for stem in names(rng, number + rng.randint(1, 2) + number)
    }


def plain(rng, classes):
    return Tree(class_folders(rng, "", classes, ""))


def splits(rng, classes):
    folders = {"train": rng.choice(TRAIN), "val": rng.choice(VAL), "test": rng.choice(TEST)}
    chosen = ["train", *rng.sample(["val", "test"], rng.randint(0, 2))]
    tree = Tree()
    for split in chosen:
        tree.images |= class_folders(rng, folders[split] + "/", classes, split)
    return tree


def around(rng, tree):
    """A folder around everything."""
    name = rng.choice(["data", "ds", "images", "My set (1)", "v1.0"])
    return Tree({f"{name}/{path}": truth for path, truth in tree.images.items()}, [f"{name}/{o}" for o in tree.others], tree.ambiguous)


def junk(rng, tree):
    return Tree(tree.images, tree.others + rng.sample(JUNK, rng.randint(1, 3)), tree.ambiguous)


def letters(rng, classes):
    """Class folders in folders that group them."""
    images = {f"{name[0]}{n % 2}/{path}": truth for n, name in enumerate(classes) for path, truth in class_folders(rng, "", [name], "").items()}
    return Tree(images, ambiguous=True)


def parts(rng, classes):
    name = rng.choice([
        "part_{}", "fold{}", "batch-{}", "images_part_{}", "video{}", "chunk {}", "set{}", "subject0{}_session1", "2021-05-0{}",
        "2011_09_2{}_drive_0001_sync",
    ])  # fmt: skip
    start = rng.randint(0, 1)
    numbers = [str(start + i) for i in range(rng.randint(2, 4))]
    if name in ("part_{}", "batch-{}"):
        numbers = rng.choice([numbers, "abcd"[: len(numbers)], ["I", "II", "III", "IV"][: len(numbers)]])
    images = {f"{name.format(n)}/{rng.getrandbits(40):x}.jpg": ("", "") for n in numbers for _ in range(rng.randint(1, 3))}
    return Tree(images, ambiguous=len({path.split("/")[0] for path in images}) > 1)


def parts_of_classes(rng, classes):
    images = {}
    for i in range(2):
        images |= class_folders(rng, f"fold{i}/", classes, "")
    return Tree(images, ambiguous=True)


def copies(rng, classes):
    """The whole once more among its classes."""
    images = class_folders(rng, "", classes, "")
    return Tree(images | {f"all/{path}": truth for path, truth in images.items()}, ambiguous=True)


def masks(rng, classes):
    name = rng.choice(["{}_mask.png", "{}-seg.png", "{}_depth.tif", "{}.png", "{}_GT.bmp", "mask_{}.png", "{} (mask).png", "{}_mask.png"])
    images = class_folders(rng, "", classes, "")
    marked = rng.random() < 0.3 and "mask" in name  # "1_image.jpg" beside "1_mask.png"
    companions = {}
    for path in list(images):
        folder, file = path.split("/")
        companions[f"{folder}/{name.format(file[:-4])}"] = ("", "")
        if marked:
            images[f"{folder}/{file[:-4]}_image.jpg"] = images.pop(path)
    return Tree(images | companions, ambiguous=True)


def renderings(rng, classes):
    stems = [f"{rng.getrandbits(30):x}" for _ in range(rng.randint(2, 5))]
    folders = rng.choice([("HR", "LR"), ("rgb", "depth"), ("x2", "x4", "orig"), ("A", "B"), ("rgb", "ir", "uv", "x", "y", "z")])
    ending = rng.choice(["", "", "_{}", "-{}"])
    images = {f"{folder}/{stem}{ending.format(folder.lower())}.png": ("", "") for folder in folders for stem in stems}
    if len(stems) > 3:  # one lacks a picture
        images.pop(rng.choice(sorted(images)))
    return Tree(images, ambiguous=True)


def deeper(rng, classes):
    """Folders in some class folders."""
    images = {}
    for path, (split, name) in class_folders(rng, "", classes, "").items():
        folder, file = path.split("/")
        images[f"{folder}/{rng.choice(['s1', 's2'])}/{file}" if name == classes[0] else path] = (split, name)
    return Tree(images, ambiguous=True)


def examples(rng, classes):
    tree = around(rng, plain(rng, classes))
    tree.images |= {f"Examples/{i}.jpg": ("", "") for i in range(2)}
    tree.ambiguous = True
    return tree


def stray(rng, classes):
    tree = plain(rng, classes)
    tree.images["stray.jpg"] = ("", "")
    tree.ambiguous = True
    return tree


def beside_splits(rng, classes):
    tree = splits(rng, classes)
    tree.images["logo.jpg"] = ("", "")
    tree.ambiguous = True
    return tree


def archives(rng, classes):
    """A class or a split is an archive still, or has been unpacked beside it."""
    tree = rng.choice([plain, splits])(rng, classes)
    unpacked = rng.random() < 0.5
    name = rng.choice(sorted({path.split("/")[0] for path in tree.images})) if unpacked else "zebra"
    tree.others.append(name + rng.choice([".zip", ".tar", ".tar.gz"]))
    tree.ambiguous = not unpacked
    return tree


def texts(rng, classes):
    """Texts beside the images, which may be labels."""
    tree = rng.choice([plain, splits])(rng, classes)
    ending = rng.choice([".txt", ".xml", ".json", ".cls"])
    tree.others += [path[:-4] + ending for path in tree.images]
    tree.ambiguous = True
    return tree


def flat(rng, classes):
    return Tree({f"{i}.jpg": ("", "") for i in range(3)}, ambiguous=True)


def flat_splits(rng, classes):
    return Tree({f"{split}/{i}{split}.jpg": ("", "") for split in ("train", "val") for i in range(3)}, ambiguous=True)


def empty(rng, classes):
    return Tree(class_folders(rng, "", classes, ""), ["nothing/"], ambiguous=True)


def twins(rng, classes):
    """Two classes that people cannot tell apart."""
    pair = rng.choice([("Cat", "cat"), ("caf\u00e9", "cafe\u0301"), ("ÉTÉ", "été"), ("cat", "cat "), ("cat", "cat\u200b")])
    return Tree(class_folders(rng, "", pair, ""), ambiguous=True)


def other_classes(rng, classes):
    tree = splits(rng, classes)
    tree.images |= class_folders(rng, "val/", ["zebra", *classes], "val")
    tree.images = {p: t for p, t in tree.images.items() if p.startswith("val/") or t[0] == "train"}
    tree.ambiguous = True
    return tree


def domains(rng, classes):
    images = {}
    for domain in ("amazon", "dslr"):
        images |= class_folders(rng, f"{domain}/train/", classes, "") | class_folders(rng, f"{domain}/val/", classes, "")
    return Tree(images, ambiguous=True)


KINDS = [plain, plain, plain, splits, splits, splits, letters, parts, parts, parts_of_classes, copies, masks, masks, renderings, deeper,
         examples, stray, beside_splits, archives, texts, flat, flat_splits, empty, twins, other_classes, domains]  # fmt: skip


def make(seed):
    """The tree of that number, and what it was made by."""
    rng = random.Random(seed)
    classes = sorted(rng.sample(WORDS, rng.randint(2, 5)))
    kind = rng.choice(KINDS)
    tree, made_by = kind(rng, classes), [kind.__name__]
    for change in (around, junk):
        if rng.random() < 0.3:
            tree = change(rng, tree)
            made_by.append(change.__name__)
    return tree, "+".join(made_by)
