"""Changes to the pixels of each crop: a class for each step that the reader has, with its parameters and defaults."""

from __future__ import annotations

import inspect
from typing import Any

from . import _reader


class PixelStep(_reader.PixelStep):
    """A step with its parameters. Cannot be changed; equal ones compare equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _reader.PixelStep) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _numbers(parameter: str, value: Any) -> list[float] | None:
    if value is None:
        return None
    if isinstance(value, str):
        raise TypeError(f"{parameter or 'a parameter'}={value!r}: give numbers, or None where the step allows it")
    return [float(number) for number in value] if isinstance(value, (tuple, list)) else [float(value)]


def _class(name: str, summary: str, parameters: list) -> type:
    def initialise(self, *values: Any, **named: Any) -> None:
        given = [("", value) for value in values] + list(named.items())
        PixelStep.__init__(self, name, [(parameter, _numbers(parameter, value)) for parameter, value in given])

    usual = {parameter: value if value is None else tuple(value) for parameter, value in parameters}
    signature = inspect.Signature(  # what help() and editors show
        [
            inspect.Parameter(
                parameter,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=value[0] if value is not None and len(value) == 1 else value,
            )
            for parameter, value in [("self", None), *usual.items()]
        ]
    )
    initialise.__signature__ = signature  # type: ignore[attr-defined]
    return type(name, (PixelStep,), {"__init__": initialise, "__doc__": summary, "__module__": "packhorse"})


_made = {name: _class(name, summary, parameters) for name, summary, parameters in _reader.pixel_step_kinds()}
ColorJitter: Any = _made["ColorJitter"]
PhotometricDistort: Any = _made["PhotometricDistort"]
RandomErasing: Any = _made["RandomErasing"]
