"""What the numbers of a batch are: their type, their scale and how they lie in memory."""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_TYPES = ("uint8", "uint16", "float32", "float16")


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


def tensor_maker() -> Any:
    """What makes a tensor of a capsule of DLPack, where torch is imported; None elsewhere."""
    torch = sys.modules.get("torch")
    return None if torch is None else torch.utils.dlpack.from_dlpack


def as_tensor(value: Any) -> Any:
    """A tensor over the memory of an array, where torch is imported; all else as it is."""
    torch = sys.modules.get("torch")
    if torch is None or isinstance(value, list):
        return value
    return torch.from_numpy(value.view(value.dtype.str))  # of the two types of 64 bits that numpy has, torch knows one


def shown(value) -> str:
    """An array in a few words: "float32 [32, 3, 224, 224] on cuda:0"; or a list of them."""
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if not hasattr(value, "shape"):
        return repr(value)
    device = str(getattr(value, "device", "cpu"))
    words = f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    return words if device == "cpu" else f"{words} on {device}"


def type_name(dtype) -> str:
    """Of a name, or of one of numpy's or torch's types."""
    name = str(dtype).removeprefix("torch.")
    if name not in _TYPES:
        import numpy as np  # here: importing packhorse takes a moment, numpy takes longer

        try:
            name = np.dtype(dtype).name
        except TypeError:
            pass
    if name not in _TYPES:
        raise ValueError(f"dtype={name!r}: give one of {', '.join(_TYPES)}")
    return name
