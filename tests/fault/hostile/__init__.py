"""A corpus of hostile inputs, made by program: images, archives and datasets that would take too much time or memory,
or reach places they must not. corpus() lists it; run.py gives each input to the commands it concerns."""

from dataclasses import dataclass, field
from typing import Callable


@dataclass(frozen=True)
class Hostile:
    """One hostile input. `make(path)` writes it to `path`, a file or folder that does not exist yet."""

    name: str
    kind: str  # "image", "archive", "shard", "dataset"
    make: Callable = field(repr=False)


def corpus():
    from . import archives, datasets, images

    entries = [*images.entries(), *archives.entries(), *datasets.entries()]
    names = [entry.name for entry in entries]
    assert len(names) == len(set(names)), "two entries have one name"
    return entries
