"""Packs image folders into verified shards, and reads them as fast as the hardware allows.

    import packhorse

    for images, labels in packhorse.Loader("packed/train", batch_size=256, augment=packhorse.RandomResizedCrop(224)):
        ...

Loader makes batches in threads of its own; Dataset gives single samples to PyTorch's DataLoader; pack() and Writer make
datasets, verify() proves them. docs/python.md.
"""

from . import _reader, errors, reports
from ._reader import CenterCrop, PadCrop, RandomResizedCrop, Resize, ResizeCenterCrop
from .augment import (
    CopyPaste,
    DetectionAugment,
    Mosaic,
    ObjectMixup,
    RandomAffine,
    RandomIouCrop,
    RandomPerspective,
    RandomZoomOut,
)
from .dataset import Dataset
from .errors import Error
from .loader import Batch, Loader, TargetBatch, ViewsBatch
from .packing import copy, export_index, index, inspect, pack, unpack, verify
from .pixel_steps import ColorJitter, PhotometricDistort, RandomErasing
from .remote import configure_remote, remote_counters
from .tables import from_datasets, from_parquet, to_parquet
from .targets import TargetRules, Targets
from .writer import Writer

__version__ = _reader.version()

__all__ = [
    "Batch",
    "CenterCrop",
    "ColorJitter",
    "CopyPaste",
    "Dataset",
    "DetectionAugment",
    "Error",
    "Loader",
    "Mosaic",
    "ObjectMixup",
    "PadCrop",
    "PhotometricDistort",
    "RandomAffine",
    "RandomErasing",
    "RandomIouCrop",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomZoomOut",
    "Resize",
    "ResizeCenterCrop",
    "TargetBatch",
    "TargetRules",
    "Targets",
    "ViewsBatch",
    "Writer",
    "configure_remote",
    "copy",
    "errors",
    "export_index",
    "from_datasets",
    "from_parquet",
    "index",
    "inspect",
    "pack",
    "remote_counters",
    "reports",
    "to_parquet",
    "unpack",
    "verify",
]
