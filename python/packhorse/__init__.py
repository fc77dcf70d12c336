"""Packs image folders into verified shards, and reads them as fast as the hardware allows.

    import packhorse

    for images, labels in packhorse.Loader("packed/train", batch_size=256, augment=packhorse.RandomResizedCrop(224)):
        ...

Loader makes batches in threads of its own; Dataset gives single samples to PyTorch's DataLoader; pack() and Writer make
datasets, verify() proves them. docs/python.md.
"""

from . import _reader, errors, reports
from ._reader import CenterCrop, PadCrop, RandomResizedCrop, Resize, ResizeCenterCrop
from ._sampling import Subset
from .augment import (
    CopyPaste,
    DetectionAugment,
    Mosaic,
    ObjectMixup,
    RandomIouCrop,
    RandomPerspective,
    RandomZoomOut,
)
from ._parquet import to_parquet
from .batch import Batch, Mixed, TargetBatch, ViewsBatch
from .dataset import Dataset
from .errors import Error
from .loader import Loader
from .packing import check, copy, export_index, index, inspect, pack, unpack, verify
from .pixel_steps import (
    AugMix,
    AutoAugment,
    ColorJitter,
    GaussianBlur,
    PhotometricDistort,
    RandAugment,
    RandomAdjustSharpness,
    RandomAffine,
    RandomAutocontrast,
    RandomEqualize,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomInvert,
    RandomPosterize,
    RandomRotation,
    RandomSolarize,
    RandomVerticalFlip,
    ThreeAugment,
    TimmRandAugment,
    TrivialAugmentWide,
)
from .remote import configure_remote, remote_counters
from .tables import from_datasets, from_parquet
from .targets import TargetRules, Targets
from .writer import Writer

__version__ = _reader.version()

__all__ = [
    "AugMix",
    "AutoAugment",
    "Batch",
    "CenterCrop",
    "ColorJitter",
    "CopyPaste",
    "Dataset",
    "DetectionAugment",
    "Error",
    "GaussianBlur",
    "Loader",
    "Mixed",
    "Mosaic",
    "ObjectMixup",
    "PadCrop",
    "PhotometricDistort",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomAutocontrast",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomIouCrop",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Resize",
    "ResizeCenterCrop",
    "Subset",
    "TargetBatch",
    "TargetRules",
    "Targets",
    "ThreeAugment",
    "TimmRandAugment",
    "TrivialAugmentWide",
    "ViewsBatch",
    "Writer",
    "check",
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
