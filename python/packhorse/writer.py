"""Packing samples that a program has at hand, one by one."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._objects import ObjectArrays
from .errors import UsageError
from ._options import Path, WriterOptions, takes
from .packing import Progress, _native, _packed, following
from .reports import PackReport

if TYPE_CHECKING:
    from typing import Unpack  # since Python 3.11

_PIL_KINDS = {"JPEG", "PNG", "WEBP", "BMP", "TIFF", "PPM", "GIF"}  # what is packed as it is


class Writer:
    """Packs samples that are added one by one; leaving the block publishes them, in one rename, unless an exception
    leaves it: then nothing stays.

        with packhorse.Writer("packed", format="wds", classes=["cat", "dog"]) as writer:
            for image, label in samples:
                writer.add(image, label)
        print(writer.report.packed)

    The shards are those that packhorse.pack makes, with its options; the same samples and options give the same bytes.
    Samples wait in an unnamed file beside `out` until then, so the disk must hold them twice. Threads may share a
    Writer; the order in which they add is then the samples' order.

    classes    class names in the order of their labels. Without it, labels are either all names, numbered by their
               byte order, or all numbers
    object_classes
               class names of the objects in the images, whose boxes add() then wants of each sample
    keypoint_names
               names of an object's key points
    shuffle    mix the samples, by `seed`; samples with keys keep the order of their keys
    progress   called with (done, total) while they are packed, in this thread; an exception of it stops the packing
    """

    @takes(WriterOptions)
    def __init__(
        self,
        out: Path,
        *,
        object_classes: Sequence[str] = (),
        keypoint_names: Sequence[str] = (),
        progress: Progress | None = None,
        **options: Unpack[WriterOptions],
    ):
        self.path = os.fspath(out)
        self.report: PackReport = None  # type: ignore[assignment]  # until finish()
        self._progress = progress
        self._objects = ObjectArrays(object_classes, len(keypoint_names))
        self._native = _native().Writer(os.fsencode(out), options, list(object_classes), list(keypoint_names))

    def __repr__(self) -> str:
        return f"packhorse.Writer({self.path!r}, {len(self)} samples)"

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.abandon()
        elif self.report is None:
            self.finish()

    def __len__(self) -> int:
        return self.report.seen if self.report else self._native.size()

    def add(
        self,
        image: Any,
        label: int | str,
        *,
        fields: Mapping[str, bytes | str] | None = None,
        key: str | None = None,
        path: str | None = None,
        split: str | None = None,
        boxes: Any = None,
        box_labels: Sequence[int | str] | None = None,
        masks: Any = None,
        keypoints: Any = None,
        crowd: Sequence[bool] | None = None,
        difficult: Sequence[bool] | None = None,
        truncated: Sequence[bool] | None = None,
        occluded: Sequence[bool] | None = None,
        area: Sequence[float] | None = None,
        caption: str | None = None,
    ) -> None:
        """Adds a sample. One that is refused (UsageError, RejectedError) leaves the writer as it was.

        image    a file's bytes; a numpy array, uint8 [height, width, 3] or [height, width], packed as a PNG; or a PIL
                 image, packed as the file it was opened from as long as it was not loaded, else as a PNG
        label    a class's name, or its number
        fields   extra fields: {"json": b"...", "seg.png": b"..."}; str is written as UTF-8
        key      its name in the shards; without keys, it is the sample's place
        path     its path when it is unpacked; <class>/<key>.<kind> by default
        split    the split it belongs to; OUT/train and OUT/val are then datasets with the same classes

        With object_classes=, in pixels of the image as it is stored, before its EXIF orientation:

        boxes       [n, 4]: left, top, right, bottom of each object; [] where there is none
        box_labels  their classes, by name or number
        masks       for each object bool or uint8 [height, width], or a list of polygons [[x, y], ...], or None
        keypoints   [n, k, 3]: x, y, visibility (0 not labelled, 1 hidden, 2 visible)
        crowd       whether a box is COCO's crowd of many objects
        difficult, truncated, occluded
                    what VOC says of an object
        area        in pixels, as the annotations say

        Nothing is clipped or guessed: an object that cannot be right is a UsageError that names it.

        caption  text, stored as the field `caption`, which a Loader with targets delivers"""
        named = dict(fields or {})
        if caption is not None and "caption" in named:
            raise UsageError("a caption is given twice", advice="give caption=, or the field of that name")
        if caption is not None and not isinstance(caption, str):
            raise UsageError(f"a caption is text, not a {type(caption).__name__}")
        flags = {"crowd": crowd, "difficult": difficult, "truncated": truncated, "occluded": occluded}
        more = (
            _label(label),
            [(name, _field(name, value)) for name, value in named.items()],
            _key(key),
            b"" if path is None else os.fsencode(path),
            split or "",
            self._objects(boxes, box_labels, masks, keypoints, flags, area),
            caption,
        )
        content = _content(image)
        if isinstance(content, bytes):
            self._native.add(content, *more)
        else:
            self._native.add_pixels(content, *more)

    def finish(self) -> PackReport:
        """Packs and publishes what was added; the end of a with block does. Too many rejects raise RejectedError."""
        with following(self._progress) as moved:
            made = self._native.finish(moved)
        self.report = _packed(made, self.path, expected=True)
        return self.report

    def abandon(self) -> None:
        """Gives the dataset up: nothing of it stays. Does nothing after finish()."""
        self._native.abandon()


def _label(label: Any) -> int | str:
    """Also takes numpy's integers, but no bool, and no float that happens to be whole."""
    if isinstance(label, str):
        return label
    if isinstance(label, bool) or not hasattr(label, "__index__"):
        raise UsageError(f"a label is a class's name or number, not a {type(label).__name__}")
    number = label.__index__()
    if not -(2**63) <= number < 2**63:
        raise UsageError(f"the label {number} is out of range")
    return number


def _key(key: Any) -> str:
    if key is None:
        return ""
    if not isinstance(key, str) or not key:
        raise UsageError(f"{key!r} cannot be a key", advice="give up to 64 letters, digits, '_' and '-', or None")
    return key


def _field(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise UsageError(f"the field {name!r} is neither bytes nor str but a {type(value).__name__}")


def _content(image: Any):
    """A file's bytes, or an array of pixels."""
    if isinstance(image, (bytes, bytearray, memoryview)):
        return bytes(image)
    if hasattr(image, "getbands"):  # a PIL image; nothing here needs Pillow
        return _pil_content(image)
    if hasattr(image, "__array_interface__"):
        return _pixels(image)
    raise UsageError(
        f"an image is bytes, a numpy array or a PIL image, not a {type(image).__name__}",
        advice="read the file: pathlib.Path(name).read_bytes()"
        if isinstance(image, (str, os.PathLike))
        else "a torch tensor: image.permute(1, 2, 0).numpy()",
    )


def _pixels(image: Any):
    import numpy as np  # noqa: PLC0415: as in the rest of the package, only where it is used

    pixels = np.asarray(image)
    shape = list(pixels.shape)
    if pixels.dtype != np.uint8:
        raise UsageError(
            f"pixels are uint8, not {pixels.dtype}",
            advice="convert them, e.g. (x * 255).round().astype('uint8') for values from 0 to 1",
        )
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 3)) or 0 in pixels.shape:
        raise UsageError(f"the pixels have the shape {shape}", advice="give [height, width, 3] or [height, width]")
    return np.ascontiguousarray(pixels)


def _pil_content(image: Any):
    original = _original_file(image)
    if original is not None:
        return original
    if image.mode not in ("RGB", "L"):
        raise UsageError(
            f"a PIL image of the mode {image.mode} cannot be packed as a PNG of 8-bit grey or RGB pixels",
            advice='convert it, e.g. image.convert("RGB"), or give the file\'s bytes',
        )
    return _pixels(image)


def _original_file(image: Any) -> bytes | None:
    """The file that a PIL image was opened from, if the image surely still is what the file holds: it was not loaded,
    so nothing can have been drawn on it, and not set to another frame, size or mode."""
    file = getattr(image, "fp", None)
    if file is None or not getattr(image, "tile", None) or image.format not in _PIL_KINDS or image.tell() != 0:
        return None
    from PIL import Image  # noqa: PLC0415: there, since this is one of its images

    try:
        place = file.tell()
        file.seek(0)
        content = file.read()
        file.seek(place)
        with Image.open(io.BytesIO(content)) as again:
            same = (again.format, again.mode, again.size) == (image.format, image.mode, image.size)
    except (OSError, ValueError):
        return None
    return content if same else None
