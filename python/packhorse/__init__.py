"""Reads datasets that packhorse packed, as fast as the hardware allows.

    import packhorse

    for images, labels in packhorse.Loader("packed/train", batch_size=256, augment=packhorse.RandomResizedCrop(224)):
        ...

Loader makes batches in threads of its own; Dataset gives single samples to PyTorch's DataLoader. docs/python.md.
"""

from . import errors
from ._reader import (
    CenterCrop,
    ColorJitter,
    PadCrop,
    RandomErasing,
    RandomResizedCrop,
    Resize,
    ResizeCenterCrop,
)
from .dataset import Dataset
from .errors import Error
from .loader import Batch, Loader

__all__ = [
    "Batch",
    "CenterCrop",
    "ColorJitter",
    "Dataset",
    "Error",
    "Loader",
    "PadCrop",
    "RandomErasing",
    "RandomResizedCrop",
    "Resize",
    "ResizeCenterCrop",
    "errors",
]
