"""Where the packhorse program lies in this package."""

from __future__ import annotations

from pathlib import Path

from .errors import NotFoundError

PROGRAM = Path(__file__).resolve().parent / "bin" / "packhorse"


def program() -> Path:
    """The program; commands run it, and verification runs libraries that damaged files may crash in it."""
    if not PROGRAM.is_file():
        raise NotFoundError(
            "this installation of packhorse has no program",
            str(PROGRAM),
            "install a wheel of packhorse, or build the package with all its parts",
        )
    return PROGRAM
