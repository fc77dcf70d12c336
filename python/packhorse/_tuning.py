"""What Loader.tune() found."""

from __future__ import annotations

from typing import Any


class Tuning(dict[str, Any]):
    """Options of a Loader by their names: `Loader(path, 256, **tuning)`. As text, a line to paste into such a call."""

    def __init__(self, options: dict[str, Any], reasons: list[str]):
        super().__init__(options)
        self.reasons = reasons  # a sentence for each choice

    def __str__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.items())

    def __repr__(self) -> str:
        return f"packhorse.Tuning({self}; {'; '.join(self.reasons)})"
