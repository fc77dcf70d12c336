"""Functions of the caller's in the loader's threads: what they get, what they may return, and what they raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import Error

SampleTransform = Callable[[Any, int, int], Any]
"""image, label, seed -> None, or an array like the image."""


class SampleHook:
    """Calls a `sample_transform`. The extension holds it by a weak reference, and calls it in any thread."""

    def __init__(self, function: SampleTransform):
        if not callable(function):
            raise TypeError(f"sample_transform={function!r}: give a function of (image, label, seed)")
        self._function = function
        self._raised: dict[str, BaseException] = {}  # by the words that the extension was given

    def __call__(self, image: Any, label: int, sample: int, seed: int) -> Any:
        """The array that the function made, None where it changed `image`, or words that say what failed."""
        try:
            made = self._function(image, label, seed)
            return None if made is None or made is image else _like(image, made)
        except BaseException as error:  # any: it goes on in the thread that reads from the loader
            words = f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()
            self._raised[words] = error
            return words

    def explained(self, error: Error) -> BaseException:
        """`error`, which an epoch ended with, caused by what the function raised; an exit or Ctrl-C is raised itself."""
        raised, self._raised = self._raised, {}
        for words, cause in raised.items():
            if not isinstance(cause, Exception):
                return cause
            if words in str(error):
                error.__cause__ = cause
        return error


def _like(image: Any, made: Any) -> Any:
    import numpy as np

    array = np.ascontiguousarray(made)
    if (array.shape, array.dtype) != (image.shape, image.dtype):
        raise TypeError(
            f"it returned {array.dtype} {list(array.shape)} for an image that is {image.dtype} {list(image.shape)}; "
            "return an array of that shape and type, or None after changing it in place"
        )
    return array
