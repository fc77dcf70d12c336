"""packhorse.Loader: every picture and label of photos and of CIFAR-10 is that of the C++ loader, also after a resume."""

import hashlib
import json
import subprocess

import numpy as np
import pytest
from package import packed_photos, packhorse
from python_support import BIN, pack, photos

EPOCH = 2


@pytest.fixture(scope="module", name="many_photos")
def many_photos_fixture(tmp_path_factory):
    """200 of them."""
    return packed_photos(tmp_path_factory.mktemp("photos") / "packed")


@pytest.fixture(scope="module", name="cifar")
def cifar_fixture(tmp_path_factory):
    """1,000 images."""
    out = tmp_path_factory.mktemp("cifar") / "packed"
    pack(photos("cifar10/test"), out, "--format", "lmdb", "--samples-per-class", "100")
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
        place = {"rank": rank, "world": world, "tail": tail, "order": options.get("order", "global")}
        assert found == read_by_cpp(packed, EPOCH, batch_size=batch_size, seed=options["seed"], **place, **known)
    return np.concatenate(seen)


def test_each_of_two_hundred_photos(many_photos):
    steps = [packhorse.ColorJitter(0.4, 0.4, 0.4, 0.1), packhorse.RandomErasing(0.5)]
    augment = [packhorse.RandomResizedCrop(64), *steps]
    known = {"augment": "RandomResizedCrop", "size": 64, "pixels": ", ".join(map(repr, steps))}
    seen = held_against_cpp(many_photos, 24, augment, known, seed=11)
    assert sorted(seen) == list(range(200))


def test_photos_by_three_ranks_in_windows(many_photos):
    known = {"augment": "ResizeCenterCrop", "size": 48, "resize": 56}
    augment = packhorse.ResizeCenterCrop(48, 56)
    seen = held_against_cpp(many_photos, 16, augment, known, world=3, order="window", drop_last=True, seed=5)
    assert len(set(seen)) == len(seen) == 200 // (3 * 16) * 3 * 16


def test_each_of_cifar_10(cifar):
    known = {"augment": "PadCrop", "size": 32, "padding": 4}
    for world, order in ((1, "global"), (2, "global"), (1, "sequential")):
        seen = held_against_cpp(cifar, 64, packhorse.PadCrop(32, 4), known, world=world, order=order, seed=world)
        assert sorted(set(seen)) == list(range(1_000))


def test_a_state_is_where_the_cpp_loader_goes_on(cifar):
    known = {"augment": "PadCrop", "size": 32, "padding": 4, "batch_size": 30, "seed": 9}
    reader, resumed = (packhorse.Loader(cifar, 30, augment=packhorse.PadCrop(32, 4), seed=9) for _ in range(2))
    reader.set_epoch(EPOCH)
    batches = iter(reader)
    for _ in range(11):
        next(batches)
    state = reader.state_dict()
    assert state == {"seed": 9, "epoch": EPOCH, "done": 330, "order": "global", "data": reader.dataset.id}
    rest = read_by_cpp(cifar, state["epoch"], done=state["done"], **known)
    assert [digest(batch) for batch in batches] == rest and len(rest) == 23
    resumed.load_state_dict(state)
    assert [digest(batch) for batch in resumed] == rest
