"""What the numbers of a batch are: their type, their scale and how they lie in memory."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_TYPES = ("uint8", "uint16", "float32", "float16")


def number_format(dtype, mean: Sequence[float] | None, std: Sequence[float] | None, bands=None, mixed_bits=False) -> dict:
    """The arguments of the C++ loader for `dtype`, a name or one of numpy's or torch's types, `mean` and `std`, and for
    `bands`: None, "all" or their numbers."""
    name = _name_of(dtype)
    if bands is None and mixed_bits and name != "uint16":
        raise ValueError("mixed_bits= is about bands: give bands=")
    if (mean is None) != (std is None):
        raise ValueError("mean and std: give both, or neither")
    if bands is None and name == "uint16":
        bands = "all"
    numbers = band_numbers(bands)
    made = {"dtype": name, "bands": numbers, "mixed_bits": mixed_bits, "mean": [], "deviation": []}
    if mean is None or std is None:
        return made
    if name.startswith("uint"):
        raise ValueError('mean= and std= make fractions: they need dtype="float32" or "float16"')
    channels = 3 if numbers is None else len(numbers) or None
    return made | {"mean": _channels("mean", mean, channels), "deviation": _channels("std", std, channels)}


def band_numbers(bands) -> list[int] | None:
    """Those of `bands`, empty for "all" of them; None for None, which stands for colours."""
    if bands is None:
        return None
    if isinstance(bands, str):
        if bands != "all":
            raise ValueError(f'bands={bands!r}: give "all", or the numbers of bands, counted from 0')
        return []
    try:
        numbers = [operator.index(band) for band in bands]
    except TypeError as error:
        raise TypeError(f'bands={bands!r}: give "all", or a list of the numbers of bands, counted from 0') from error
    if not numbers or min(numbers) < 0 or max(numbers) > 254:
        raise ValueError(f"bands={bands!r}: give the numbers of one band or more, counted from 0")
    return numbers


def as_tensors(images: np.ndarray, labels: np.ndarray, channels_last: bool) -> tuple:
    """Tensors over the same memory, where torch is imported."""
    torch = sys.modules.get("torch")
    if torch is None:
        return images, labels
    images = torch.from_numpy(images)
    return images.permute(0, 3, 1, 2) if channels_last else images, torch.from_numpy(labels)


def _name_of(dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    if name not in _TYPES:
        import numpy as np  # here: importing packhorse takes a moment, numpy takes longer

        try:
            name = np.dtype(dtype).name
        except TypeError:
            pass
    if name not in _TYPES:
        raise ValueError(f"dtype={name} is none of {', '.join(_TYPES)}")
    return name


def _channels(option: str, values: Sequence[float], channels: int | None) -> list[float]:
    try:
        numbers = [float(value) for value in values]
    except TypeError:
        numbers = []
    if not numbers or (channels is not None and len(numbers) != channels):
        count = "three" if channels == 3 else channels or "some"
        raise ValueError(f"{option}={values!r}: give {count} numbers, one for each channel")
    return numbers
