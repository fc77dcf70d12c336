"""A corpus of hostile inputs, made by program: images, archives and datasets that want time, memory or places they
must not have. corpus() lists it; run.py gives each to the commands it concerns."""

from dataclasses import dataclass, field
from typing import Callable


@dataclass(frozen=True)
class Hostile:
    """One hostile input. `make(path)` writes it to `path`, a file or folder that is not there yet."""

    name: str
    kind: str  # "image", "archive", "shard", "dataset"
    make: Callable = field(repr=False)


# Their mends are on the way: what make_hostile runs, and the test not yet. Empty it.
WAITING = (
    # A budget of memory and of pixels x scans, from the header.
    "jpeg-scans-13000x13000.jpg",
    "jpeg-scans-2000x2000.jpg",
    "png-16-bit-13000x13000.png",
    "png-13000x13000.png",
    "png-interlaced-8000x8000.png",
    "tiff-deflate-bomb.tiff",
    # A limit on depth, and no trust in what a manifest counts or an index says of images.
    "manifest-deep",
    "manifest-deep-object",
    "manifest-shard-samples",
    "index-images-pnm-3000",
    "lmdb-images-pnm-3000",
    "hdf5-images-pnm-3000",
    # One door for names on the way to a terminal.
    "manifest-shard-escape",
    "manifest-format-unknown",
    "index-paths-control",
    "index-keys-control",
    "classes-control",
)


def corpus():
    from . import archives, datasets, images

    entries = [*images.entries(), *archives.entries(), *datasets.entries()]
    names = [entry.name for entry in entries]
    assert len(names) == len(set(names)), "two entries have one name"
    return entries
