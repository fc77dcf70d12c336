"""What becomes of whole pictures whose objects matter: the steps of DetectionAugment, by their names and numbers."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _reader
from .pixel_steps import PixelStep, RandomAffine

Range = tuple[float, float]


@dataclass(frozen=True)
class Mosaic:
    """4 or 9 pictures at once, the others from the whole dataset."""

    p: float = 1.0
    pictures: int = 4


@dataclass(frozen=True)
class RandomZoomOut:
    """torchvision's RandomZoomOut: the picture somewhere on a larger background, of `sides` times its sides."""

    p: float = 0.5
    sides: Range = (1.0, 4.0)


@dataclass(frozen=True)
class RandomIouCrop:
    """torchvision's RandomIoUCrop: a part of the picture that holds the centre of an object."""

    p: float = 1.0
    scale: Range = (0.3, 1.0)
    ratio: Range = (0.5, 2.0)
    tries: int = 40


@dataclass(frozen=True)
class RandomPerspective:
    """torchvision's RandomPerspective."""

    p: float = 0.5
    distortion: float = 0.5


@dataclass(frozen=True)
class CopyPaste:
    """Copies objects with masks of another sample onto this one. Needs TargetRules(masks="run_lengths")."""

    p: float = 0.5


@dataclass(frozen=True)
class ObjectMixup:
    """Adds another sample to this one, with a share drawn from Beta(alpha, alpha); the objects of both stay."""

    p: float = 0.5
    alpha: float = 32.0


@dataclass(frozen=True)
class DetectionAugment:
    """Whole pictures, in rectangles of any size, with their boxes, masks and key points (docs/augment.md). By default
    a letterbox. The steps in their order:

        DetectionAugment(640, mosaic=1.0, affine=RandomAffine(scale=(0.5, 1.5)), flip=0.5)
        DetectionAugment((480, 640), iou_crop=RandomIouCrop(), flip=0.5)

    size        of the output: (height, width), or a number for both
    fit         "letterbox": the largest of its shape, in the middle; "stretch": torchvision's Resize(size)
    mosaic, zoom_out, iou_crop, perspective, copy_paste, mixup
                a step, or a number: that step with this probability. zoom_out and iou_crop are not done in a mosaic
    affine      a RandomAffine, always sampled bilinearly, in front of the background
    flip, vertical_flip
                probabilities
    background  three levels of 0 to 255, where there is no picture
    """

    size: int | tuple[int, int] = (640, 640)
    fit: str = "letterbox"
    _: dataclasses.KW_ONLY
    mosaic: Mosaic | float | None = None
    zoom_out: RandomZoomOut | float | None = None
    iou_crop: RandomIouCrop | float | None = None
    perspective: RandomPerspective | float | None = None
    affine: PixelStep | None = None
    flip: float = 0.0
    vertical_flip: float = 0.0
    copy_paste: CopyPaste | float | None = None
    mixup: ObjectMixup | float | None = None
    background: Sequence[int] = (114, 114, 114)

    def __post_init__(self):
        self._set("size", self._sides())
        self._set("background", tuple(self.background))
        for name, step in _STEPS.items():
            self._set(name, _step(name, getattr(self, name), step))
        native(self)  # refuses what makes no sense

    def _sides(self) -> tuple[int, int]:
        sides = self.size if isinstance(self.size, (tuple, list)) else (self.size, self.size)
        if len(sides) != 2 or not all(isinstance(side, numbers.Integral) for side in sides):
            raise ValueError(f"size={self.size!r}: give (height, width), or one whole number for both")
        return sides[0], sides[1]

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """With what differs from the defaults."""
        height, width = self._sides()
        given = [f"{height}" if height == width else f"{self.size}"]
        for field in dataclasses.fields(self)[1:]:
            value = getattr(self, field.name)
            if value != field.default:
                given.append(f"{field.name}={value!r}")
        return f"DetectionAugment({', '.join(given)})"


_STEPS = {
    "mosaic": Mosaic,
    "zoom_out": RandomZoomOut,
    "iou_crop": RandomIouCrop,
    "perspective": RandomPerspective,
    "affine": RandomAffine,
    "copy_paste": CopyPaste,
    "mixup": ObjectMixup,
}


def _step(name: str, given: Any, step: type) -> Any:
    if given is None or isinstance(given, step):
        return given
    if step is RandomAffine:
        raise TypeError(f"{name}={given!r}: give a packhorse.RandomAffine")
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return step(p=float(given)) if given else None
    raise TypeError(f"{name}={given!r}: give a packhorse.{step.__name__}, or its probability")


def native(augment: Any) -> Any:
    """What the C++ reader takes."""
    if not isinstance(augment, DetectionAugment):
        return augment
    steps = {
        name: dataclasses.astuple(getattr(augment, name) or step(p=0.0))
        for name, step in _STEPS.items()
        if step is not RandomAffine
    }
    return _reader.DetectionAugment(
        size=augment._sides(),
        fit=augment.fit,
        flip=augment.flip,
        vertical_flip=augment.vertical_flip,
        background=list(augment.background),
        affine=_affine(augment.affine),
        **{**steps, "copy_paste": steps["copy_paste"][0]},
    )


def _affine(step: PixelStep | None) -> tuple:
    """Ranges of degrees, shares of both sides, and ranges of scales and both shears."""
    given = step.parameters if step is not None else RandomAffine().parameters
    usual = RandomAffine().parameters
    for name in ("interpolation", "fill"):
        if given[name] != usual[name]:
            raise ValueError(f"affine=RandomAffine({name}={given[name]!r}): whole images are sampled bilinearly, and have background=")
    angles = _either_way(given["shear"] or 0.0)
    return (
        _either_way(given["degrees"]),
        given["translate"] or (0.0, 0.0),
        given["scale"] or (1.0, 1.0),
        angles[:2],
        angles[2:] or (0.0, 0.0),
    )


def _either_way(angles: Any) -> tuple:
    """torchvision's: a number is that much to either side."""
    return tuple(angles) if hasattr(angles, "__len__") else (-angles, angles)
