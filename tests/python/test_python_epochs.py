"""packhorse.Loader at full size: every picture and label of 10,000 photos and of CIFAR-10 is that of the C++ loader."""

import hashlib
import json
import shutil
import subprocess

import numpy as np
import pytest
from package import packhorse
from python_support import BIN, pack, photos

COPIES = 50
EPOCH = 2
JITTER = [0.4, 0.3, 0.2, 0.1]


@pytest.fixture(scope="module", name="many_photos")
def many_photos_fixture(tmp_path_factory):
    """10,000 of them: each of 200 by 50 names."""
    work = tmp_path_factory.mktemp("photos")
    originals = sorted(path for path in photos("imagenet/imagenet200").rglob("*") if path.suffix.lower() == ".jpeg")
    for number, path in enumerate(originals):
        folder = work / f"source/class{number % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        first = shutil.copy(path, folder / f"00-{path.name}")
        for copy in range(1, COPIES):
            (folder / f"{copy:02}-{path.name}").hardlink_to(first)
    pack(work / "source", work / "packed", "--format", "wds")
    yield work / "packed"
    shutil.rmtree(work)


@pytest.fixture(scope="module", name="cifar")
def cifar_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("cifar") / "packed"
    pack(photos("cifar10/train"), out, "--format", "lmdb")
    return out


def digest(batch):
    images = np.asarray(batch.images)
    hashed = hashlib.sha256(np.ascontiguousarray(images if images.shape[-1] == 3 else images.transpose(0, 2, 3, 1)))
    hashed.update(np.asarray(batch.labels))
    hashed.update(batch.samples)
    return hashed.hexdigest()


def read_by_cpp(packed, epoch, **options):
    """The hash of each batch."""
    command = [BIN / "epoch_probe", packed, json.dumps({"epoch": epoch, **options})]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def held_against_cpp(packed, batch_size, augment, known, world=1, **options):
    """Reads an epoch by all ranks, which must be the C++ loader's; returns the samples that came. `known` says to the
    probe what `augment` is."""
    seen = []
    for rank in range(world):
        place = {"rank": rank, "world_size": world} if world > 1 else {}
        reader = packhorse.Loader(packed, batch_size, augment=augment, **place, **options)
        reader.set_epoch(EPOCH)
        found = []
        for batch in reader:
            found.append(digest(batch))
            seen.append(batch.samples)
        tail = "drop" if options.get("drop_last") else "keep" if world == 1 else "pad"
        order = options.get("order", "global")
        expected = read_by_cpp(
            packed, EPOCH, batch_size=batch_size, seed=options["seed"], rank=rank, world=world, tail=tail, order=order, **known
        )
        assert found == expected
    return np.concatenate(seen)


def test_each_of_ten_thousand_photos(many_photos):
    augment = [packhorse.RandomResizedCrop(64), packhorse.ColorJitter(*JITTER), packhorse.RandomErasing(0.5)]
    known = {"augment": "RandomResizedCrop", "size": 64, "jitter": JITTER, "erase": 0.5}
    seen = held_against_cpp(many_photos, 96, augment, known, seed=11)
    assert sorted(seen) == list(range(10_000))


def test_photos_by_three_ranks_in_windows(many_photos):
    known = {"augment": "ResizeCenterCrop", "size": 48, "resize": 56}
    augment = packhorse.ResizeCenterCrop(48, 56)
    seen = held_against_cpp(many_photos, 64, augment, known, world=3, order="window", drop_last=True, seed=5)
    assert len(set(seen)) == len(seen) == 10_000 // (3 * 64) * 3 * 64


def test_each_of_cifar_10(cifar):
    known = {"augment": "PadCrop", "size": 32, "padding": 4}
    for world, order in ((1, "global"), (2, "global"), (1, "sequential")):
        seen = held_against_cpp(cifar, 256, packhorse.PadCrop(32, 4), known, world=world, order=order, seed=world)
        assert sorted(set(seen)) == list(range(50_000))


def test_a_state_is_where_the_cpp_loader_goes_on(cifar):
    known = {"augment": "PadCrop", "size": 32, "padding": 4, "batch_size": 200, "seed": 9}
    reader = packhorse.Loader(cifar, 200, augment=packhorse.PadCrop(32, 4), seed=9)
    reader.set_epoch(EPOCH)
    batches = iter(reader)
    for _ in range(33):
        next(batches)
    state = reader.state_dict()
    assert state == {"seed": 9, "epoch": EPOCH, "done": 6_600, "order": "global"}
    rest = read_by_cpp(cifar, state["epoch"], done=state["done"], **known)
    assert [digest(batch) for batch in batches] == rest and len(rest) == 217
    resumed = packhorse.Loader(cifar, 200, augment=packhorse.PadCrop(32, 4), seed=9)
    resumed.load_state_dict(state)
    assert [digest(batch) for batch in resumed] == rest
