"""What the numbers of a batch are: their type, their scale and how they lie in memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_TYPES = ("uint8", "float32", "float16")


def number_format(dtype, mean: Sequence[float] | None, std: Sequence[float] | None) -> dict:
    """The arguments of the C++ loader for `dtype`, a name or one of numpy's or torch's types, `mean` and `std`."""
    name = _name_of(dtype)
    if (mean is None) != (std is None):
        raise ValueError("mean and std: give both, or neither")
    if mean is None or std is None:
        return {"dtype": name, "mean": [0.0] * 3, "deviation": [1.0] * 3}
    if name == "uint8":
        raise ValueError('mean= and std= make fractions: they need dtype="float32" or "float16"')
    return {"dtype": name, "mean": _channels("mean", mean), "deviation": _channels("std", std)}


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


def _channels(option: str, values: Sequence[float]) -> list[float]:
    try:
        numbers = [float(value) for value in values]
    except TypeError:
        numbers = []
    if len(numbers) != 3:
        raise ValueError(f"{option}={values!r}: give three numbers, one for each channel")
    return numbers
