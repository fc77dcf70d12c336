"""What is measured: reading from Python, kinds of images, and training."""

import json
import statistics
from pathlib import Path

from common import tables
from common.commands import decodes, loader
from common.inputs import AsIs, Packed
from common.rows import batch_cost, ratio
from common.session import Session
from common.suite import Contender, Entry, Suite, by_name
from kinds import KINDS

CPP, OURS, MAP, FOLDER = "packhorse bench (C++)", "packhorse.Loader", "packhorse.Dataset", "ImageFolder + PIL"
NOTHING = "no reading: one batch again and again"
READING = (tables.bars(), tables.contenders(tables.spread("images/s", "images_per_s"), tables.CPU))
ROI = Packed("wds", ("--image", "roi"))
PHOTOS, CIFAR_TRAIN = 800, 50_000
EPOCHS = "3"


def read_photos():
    """A DataLoader over our dataset beside one over the folder, too."""
    made = {decodes(CPP): ROI, loader(OURS): ROI, loader(MAP): ROI, loader(FOLDER): AsIs()}
    entries = tuple(Entry(contender, "photos", PHOTOS, form) for contender, form in made.items())
    rows = (ratio(OURS, CPP), batch_cost(OURS, CPP, 64), ratio(MAP, FOLDER))
    return Suite("photos", "800 ImageNet photos, crops of 224", entries, rows, side=224, tables=READING)


def read_cifar():
    made = (decodes(CPP, 32, 256), loader(OURS, "--side", 32, "--batch", 256))
    entries = tuple(Entry(contender, "cifar train", CIFAR_TRAIN, Packed("wds")) for contender in made)
    rows = (ratio(OURS, CPP), batch_cost(OURS, CPP, 256, 30))
    return Suite("cifar", "50,000 files of CIFAR-10, crops of 32", entries, rows, side=32, tables=READING)


def kinds():
    """A suite for each, with the loaders that read it."""
    rate = tables.spread("images for a CPU second", "images_per_cpu_s")
    beside = tables.ratio("packhorse beside it", OURS, "images_per_cpu_s", inverse=True)
    for name, kind in KINDS.items():
        channels = ("--channels", kind.channels)
        entries = [Entry(loader(OURS, *channels, peer=kind.ours), kind.data, 200, Packed("wds", ("--bands",)))]
        entries += [Entry(loader(peer, *channels), kind.data, 200) for peer in kind.peers]
        title = f"200 photos as {kind.title}"
        yield Suite(name, title, tuple(entries), side=224, tables=(tables.contenders(rate, beside),))


def augmentations():
    """Beside torchvision's of tensors and timm's of PIL, each in a DataLoader; images for a second of the CPU."""
    steps = ("RandAugment", "SimCLR", "timm")
    entries, rows = [], []
    for name in steps:
        ours, theirs = f"{OURS} + {name}", f"ImageFolder + {name}"
        entries += [Entry(loader(ours), "photos", PHOTOS, ROI), Entry(loader(theirs), "photos", PHOTOS)]
        rows.append(ratio(ours, theirs, None if name == "SimCLR" else 4, "images_per_cpu_s"))
    columns = (tables.spread("images for a CPU second", "images_per_cpu_s"), tables.spread("images/s", "images_per_s"))
    title = "800 ImageNet photos, crops of 224, with pixel steps"
    return Suite("augment", title, tuple(entries), tuple(rows), side=224, tables=(tables.bars(), tables.contenders(*columns)))


class TrainSession(Session):
    """Each training has the seed of its round."""

    def run_of(self, entry, cost, figures):
        return {"foreign_cpus": cost.foreign_cpus, "cache_as_asked": True, **figures}


def figures_of_training(printed, *_):
    found = json.loads(printed)
    epoch = statistics.median(found["seconds"][1:] or found["seconds"])  # the first one starts workers
    return {"epoch_s": epoch, "images_per_s": found["images"] / epoch, "right": found["right"]}


def training():
    """A small network learns CIFAR-10; how long an epoch takes that reads nothing."""

    def trains(shown, kind):
        argv = ("{python}", str(Path(__file__).with_name("train.py")), kind, "{source}", EPOCHS, "{jobs}", "{round}")
        return Contender(shown, argv, f"train.py {kind}", figures_of_training, peer=OURS)

    packed = Packed("wds")
    forms = {trains(OURS, "loader"): packed, trains(FOLDER, "folder"): AsIs(), trains(NOTHING, "nothing"): packed}
    columns = [
        tables.spread("an epoch, s", "epoch_s"),
        tables.ratio(f"x {FOLDER}", FOLDER),
        tables.median("images/s", "images_per_s"),
        tables.spread("right after it, %", "right", 100),
    ]
    entries = tuple(Entry(contender, "cifar", 60_000, form) for contender, form in forms.items())
    title = f"a small network learns CIFAR-10 in {EPOCHS} epochs"
    return Suite("training", title, entries, tables=(tables.contenders(*columns),), session=TrainSession)


SUITES = by_name(read_photos(), read_cifar(), augmentations(), *kinds(), training())
