"""What a notebook shows of a dataset: its line, and some of its images with their labels."""

from __future__ import annotations

import base64
import struct
import zlib
from html import escape
from typing import TYPE_CHECKING

from . import _reader
from .errors import Error

if TYPE_CHECKING:
    from .dataset import Dataset

_IMAGES, _SIDE = 12, 96  # at most so many, each a square of so many pixels


def html(dataset: Dataset) -> str:
    """Images from all over the dataset. One that cannot be decoded is named instead."""
    numbers = range(0, len(dataset), max(1, len(dataset) // _IMAGES))[:_IMAGES]
    return f"<div>{escape(repr(dataset))}</div>" + "".join(_tile(dataset, number) for number in numbers)


def _tile(dataset: Dataset, number: int) -> str:
    try:
        label = dataset.classes[dataset.labels[number]]
        if dataset.object_classes:
            objects = len(dataset.objects(number).boxes)
            label = f"{objects} object{'s' * (objects != 1)}"
        pixels = dataset._native.decode(number, _reader.ResizeCenterCrop(_SIDE, _SIDE), 0, 0)
    except Error as error:
        return f"<pre>{escape(str(error))}</pre>"
    image = f'<img src="data:image/png;base64,{base64.b64encode(_png(pixels)).decode()}">'
    return f'<figure style="display:inline-block;margin:2px">{image}<figcaption>{escape(label)}</figcaption></figure>'


def _png(pixels) -> bytes:
    """The file of an image, uint8 [height, width, 3] (https://www.w3.org/TR/png)."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # each begins with its filter: none

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # of 8 bits, in RGB
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
