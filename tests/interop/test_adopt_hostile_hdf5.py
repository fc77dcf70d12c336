"""HDF5 files made to do harm: `packhorse index` opens no other file, and neither crashes nor hangs on their content."""

import os
import random

import adopt_support as other
import h5py
import numpy as np
import pytest
from python_support import DAMAGE, DONE, FAILED, USAGE, finish, start, tree

TIME = 120  # seconds; a guard against hanging, on any machine
PIXELS = np.zeros((4, 8, 8, 3), np.uint8)


@pytest.fixture
def shards(tmp_path):
    """A folder for shards, and beside it a pipe: opening it would wait for ever."""
    (tmp_path / "shards").mkdir()
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "shards"


def index(shards, *options):
    """Checks that a failed command leaves nothing behind."""
    before = tree(shards)
    result = finish(start("index", shards, *options), timeout=TIME)
    assert 0 <= result.code < 128, result
    if result.code != DONE:
        assert "packhorse: error: " in result.err and tree(shards) == before, result
    return result


def make(shards, build):
    with h5py.File(shards / "s.h5", "w") as file:
        build(file)


def virtual(file, source):
    layout = h5py.VirtualLayout((4, 8, 8, 3), np.uint8)
    layout[:] = h5py.VirtualSource(source, "images", (4, 8, 8, 3))
    file.create_virtual_dataset("images", layout)


def unlimited_virtual(file, source):
    """Only its size comes from its source."""
    layout = h5py.VirtualLayout((4, 8, 8, 3), np.uint8, maxshape=(None, 8, 8, 3))
    of = h5py.VirtualSource(source, "images", (4, 8, 8, 3), maxshape=(None, 8, 8, 3))
    layout[: h5py.h5s.UNLIMITED] = of[: h5py.h5s.UNLIMITED]
    file.create_virtual_dataset("images", layout)


def labels_elsewhere(file, source):
    file["images"] = PIXELS
    file["labels"] = h5py.ExternalLink(source, "labels")


def group_elsewhere(file, source):
    file["images"] = h5py.ExternalLink(source, "images")
    file["x"] = PIXELS


def soft_then_elsewhere(file, source):
    file["away"] = h5py.ExternalLink(source, "/")
    file["images"] = h5py.SoftLink("/away/images")


def external_storage(file, source):
    file.create_dataset("images", (4, 8, 8, 3), np.uint8, external=[(source, 0, h5py.h5f.UNLIMITED)])


LEADS_OUT = [
    lambda file, source: file.__setitem__("images", h5py.ExternalLink(source, "images")),
    group_elsewhere,
    labels_elsewhere,
    soft_then_elsewhere,
    external_storage,
    virtual,
    unlimited_virtual,
]
NAMES = ["link", "link to a group", "link of labels", "soft and external link", "raw file", "virtual", "unlimited virtual"]


@pytest.mark.parametrize("build", LEADS_OUT, ids=NAMES)
def test_a_file_that_leads_to_a_pipe_is_refused_without_opening_it(shards, build):
    make(shards, lambda file: build(file, str(shards.parent / "pipe")))
    result = index(shards)
    assert result.code == FAILED and "s.h5" in result.err, result
    assert build is soft_then_elsewhere or "another file" in result.err, result
    # So is one that leads to a file which can be read.
    with h5py.File(shards.parent / "there.h5", "w") as file:
        file["images"], file["labels"] = PIXELS, np.arange(4)
    make(shards, lambda file: build(file, "../there.h5"))
    assert index(shards).code == FAILED


def test_soft_links_that_run_in_a_circle_or_nowhere_are_no_arrays(shards):
    def circle(file):
        file["images"], file["b"] = h5py.SoftLink("/b"), h5py.SoftLink("/images")
        file["x"] = h5py.SoftLink("/nowhere")
        file["data"] = h5py.SoftLink("/data/data")

    make(shards, circle)
    assert "no array with a usual name" in index(shards).err
    assert index(shards, "--images", "data/data/data", "--jobs", "1").code == USAGE


def test_soft_links_inside_the_file_lead_to_its_arrays(shards):
    def inside(file):
        file["deep/down/pixels"] = PIXELS
        file["images"] = h5py.SoftLink("/deep/down/pixels")

    make(shards, inside)
    assert index(shards).code == DONE


def seeds(path, photos):
    return {
        "arrays": lambda: other.arrays_hdf5(path, photos),
        "vlen": lambda: other.vlen_hdf5(path, photos),
        "flat": lambda: other.flat_hdf5(path, photos),
    }


def mutate(whole, rng):
    """Changes a few bytes near the ends of the file, which are most likely not pixels or photos."""
    data = bytearray(whole)
    for _ in range(rng.choice((1, 2, 8, 64))):
        at = rng.randrange(min(len(data), 4096))
        at = at if rng.random() < 0.5 else len(data) - 1 - at
        data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(data)


@pytest.mark.parametrize("layout", ["arrays", "vlen", "flat"])
def test_scrambled_files_get_a_clean_verdict(shards, layout):
    path = shards / "s.h5"
    seeds(path, other.some_photos(each=1))[layout]()
    whole = path.read_bytes()
    rng = random.Random(f"{layout} 22")
    verdicts = set()
    for _ in range(12):
        path.write_bytes(mutate(whole, rng))
        result = index(shards)
        verdicts.add(result.code)
        if result.code == DONE:
            for file in shards.iterdir():
                if file != path:
                    file.unlink()
    assert verdicts <= {DONE, FAILED, USAGE, DAMAGE}, verdicts
