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


def corpus():
    from . import archives, datasets, images

    entries = [*images.entries(), *archives.entries(), *datasets.entries()]
    names = [entry.name for entry in entries]
    assert len(names) == len(set(names)), "two entries have one name"
    return entries
