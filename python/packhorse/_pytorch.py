"""What a script for PyTorch writes that is written in another way here. Each answer is a line of an error."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from .errors import UsageError

_WITH_DATALOADER = "give packhorse.Dataset(path) to torch.utils.data.DataLoader"

LOADER_KEYWORDS = {
    "num_workers": "give workers=, a number of threads, or leave it out: one for each CPU",
    "prefetch_factor": "give slots=, a number of batches in memory",
    "persistent_workers": "leave it out: the threads stay from epoch to epoch",
    "multiprocessing_context": "leave it out: packhorse.Loader reads in threads",
    "worker_init_fn": "leave it out: no Python runs in the threads",
    "timeout": "leave it out: Ctrl-C ends every wait",
    "in_order": "leave it out: batches always come in order",
    "generator": "give seed=, a number",
    "pin_memory_device": 'give device="cuda"',
    "num_replicas": "give world_size=",
    "target_transform": f"change the labels in transform=, which gets each batch, or {_WITH_DATALOADER}",
    "collate_fn": f"give transform=, which gets each batch, or {_WITH_DATALOADER}",
    "sampler": f"give weights=, repeats= or indices=; for another order, {_WITH_DATALOADER}",
    "batch_sampler": f"give weights=, repeats= or indices=; for another order, {_WITH_DATALOADER}",
}

_ORDER = "the Loader has its own order: its set_epoch() and seed= choose it"
LOADER_ATTRIBUTES = {
    "sampler": _ORDER,
    "batch_sampler": _ORDER,
    "classes": "loader.dataset has them",
    "class_to_idx": "loader.dataset has it",
    "num_workers": "stats() has the number of its threads",
}

_FILES = "the images are in shards: dataset.labels has the labels, dataset.read(i) an image's file"
DATASET_ATTRIBUTES = {
    "samples": _FILES,
    "imgs": _FILES,
    "data": "dataset.decode(i) gives the pixels of an image",
    "root": "dataset.path has the path",
    "loader": 'Dataset(path, image="pil", "numpy", "torch" or "bytes") chooses how images are opened',
}

# What has all of these attributes is given where a path is expected.
_GIVEN = (
    (("dataset", "indices"), "packhorse.Loader reads a Subset of a packhorse.Dataset; pack the dataset first"),
    (("dataset", "batch_size"), "packhorse.Loader replaces it, and takes the path of a packed dataset"),
    (("datasets",), "packhorse.Loader reads a ConcatDataset of packhorse.Datasets; pack the datasets first"),
    (("root", "samples"), "pack its folder first: packhorse.pack('{root}', 'packed', format='wds')"),
    (("classes", "read"), "it is open already"),
    (("__getitem__",), "write its samples with packhorse.Writer, or read it with torch.utils.data.DataLoader"),
)


# The same where a path of any files is expected.
_SOURCES = (
    (("classes", "read"), "give its path, as in {name}.path"),
    (("dataset", "batch_size"), "give the path of the files that it reads, or write its samples with packhorse.Writer"),
    (("root", "samples"), "give its folder, '{root}'"),
    (("__getitem__",), "write its samples with packhorse.Writer"),
)


def place_bytes(given: Any) -> bytes:
    """The path of files, or of a dataset, as the file system has it."""
    if isinstance(given, (str, bytes, os.PathLike)):
        return os.fsencode(given)
    raise TypeError(f"expected a path, not {type(given).__name__}{_answer(given, _SOURCES)}")


def missing(holder: object, name: str, answers: dict[str, str]) -> AttributeError:
    """The error of an attribute that it does not have, with the answer to those that PyTorch's have."""
    answer = answers.get(name, "")
    what = f"packhorse.{type(holder).__name__} has no attribute {name!r}{answer and f': {answer}'}"
    return AttributeError(what, name=name, obj=holder)


def refuse_keywords(options: Iterable[str]) -> None:
    """Raises TypeError for what only PyTorch's DataLoader and its samplers take."""
    for name in options:
        if name in LOADER_KEYWORDS:
            raise TypeError(f"packhorse.Loader has no {name}=: {LOADER_KEYWORDS[name]}")


def holds(given: Any, attribute: str, wanted: type) -> bool:
    """Whether it is one of PyTorch's datasets made of datasets, in `attribute`, that are all `wanted`, or made of such."""
    held = getattr(given, attribute, None)
    if held is None or isinstance(given, wanted):
        return False
    held = held if isinstance(held, (list, tuple)) else [held]
    return all(isinstance(one, wanted) or holds(one, "dataset", wanted) or holds(one, "datasets", wanted) for one in held)


def path_text(given: Any) -> str:
    """The path of a dataset."""
    if isinstance(given, (str, bytes, os.PathLike)):
        text = os.fsdecode(given)
        if not text:
            raise UsageError("the path of the dataset is empty", advice="give the folder of a packed dataset")
        return text
    raise TypeError(f"expected the path of a dataset, not {type(given).__name__}{_answer(given, _GIVEN)}")


def _answer(given: Any, answers: Iterable[tuple[tuple[str, ...], str]]) -> str:
    names = dir(given)
    for attributes, answer in answers:
        if all(name in names for name in attributes):
            return f": {answer.format(root=getattr(given, 'root', ''), name=type(given).__name__.lower())}"
    return ""
