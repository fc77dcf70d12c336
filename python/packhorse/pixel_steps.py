"""Changes to the pixels of each crop: a class for each step that the reader has, with its parameters and defaults."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from . import _reader


class PixelStep(_reader.PixelStep):
    """A step with its parameters. Cannot be changed; equal ones compare equal. step(image, seed=, epoch=, sample=) is the
    changed copy of a uint8 array [height, width, 3]; step.explain(height, width, ...) says what it does to it."""

    parameters: dict[str, Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _reader.PixelStep) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __reduce__(self) -> Any:
        return functools.partial(type(self), **self.parameters), ()


def _plain(value: Any) -> Any:
    """What the reader takes: a word, None, or numbers. torchvision's InterpolationMode is the word that it has."""
    value = getattr(value, "value", value)
    if value is None or isinstance(value, str):
        return value
    return [float(number) for number in value] if hasattr(value, "__iter__") else [float(value)]


def _shown(value: Any) -> Any:
    """The other way round: as a user writes it."""
    if not isinstance(value, list):
        return value
    return value[0] if len(value) == 1 else tuple(value)


def _class(name: str, summary: str, parameters: list) -> type:
    usual = {parameter: _shown(value) for parameter, value in parameters}

    def initialise(self, *values: Any, **named: Any) -> None:
        given = [("", _plain(value)) for value in values] + [(key, _plain(value)) for key, value in named.items()]
        PixelStep.__init__(self, name, given)
        self.parameters = {**usual, **dict(zip(usual, values)), **named}

    signature = inspect.Signature(  # what help() and editors show
        [
            inspect.Parameter(parameter, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value)
            for parameter, value in [("self", None), *usual.items()]
        ]
    )
    initialise.__signature__ = signature  # type: ignore[attr-defined]
    return type(name, (PixelStep,), {"__init__": initialise, "__doc__": summary, "__module__": "packhorse"})


_made = {name: _class(name, summary, parameters) for name, summary, parameters in _reader.pixel_step_kinds()}
AugMix: Any = _made["AugMix"]
AutoAugment: Any = _made["AutoAugment"]
ColorJitter: Any = _made["ColorJitter"]
GaussianBlur: Any = _made["GaussianBlur"]
PhotometricDistort: Any = _made["PhotometricDistort"]
RandAugment: Any = _made["RandAugment"]
RandomAdjustSharpness: Any = _made["RandomAdjustSharpness"]
RandomAffine: Any = _made["RandomAffine"]
RandomAutocontrast: Any = _made["RandomAutocontrast"]
RandomEqualize: Any = _made["RandomEqualize"]
RandomErasing: Any = _made["RandomErasing"]
RandomGrayscale: Any = _made["RandomGrayscale"]
RandomHorizontalFlip: Any = _made["RandomHorizontalFlip"]
RandomInvert: Any = _made["RandomInvert"]
RandomPosterize: Any = _made["RandomPosterize"]
RandomRotation: Any = _made["RandomRotation"]
RandomSolarize: Any = _made["RandomSolarize"]
RandomVerticalFlip: Any = _made["RandomVerticalFlip"]
ThreeAugment: Any = _made["ThreeAugment"]
TimmRandAugment: Any = _made["TimmRandAugment"]
TrivialAugmentWide: Any = _made["TrivialAugmentWide"]
