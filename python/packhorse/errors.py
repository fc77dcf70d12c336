"""What packhorse raises. Each error also is what Python programs would catch: a missing file is a FileNotFoundError."""

import builtins
from typing import Any


class Error(Exception):
    """What failed, and where: `path` and `key` (of a sample) may be empty. `advice` says what to do next.

    `code` says why a sample is rejected, as `Reject.code`; it is empty where the error is not about one.
    """

    def __init__(self, what: str, path: str = "", advice: str = "", key: str = "", code: str = ""):
        super().__init__(what)
        self.what, self.path, self.advice, self.key, self.code = what, path, advice, key, code

    def __str__(self) -> str:
        where = f"\n  where: {self.path}" if self.path else ""
        return self.what + where + (f"\n  next:  {self.advice}" if self.advice else "")

    def __reduce__(self):
        return type(self), (self.what, self.path, self.advice, self.key, self.code)


class UsageError(Error, ValueError):
    """The caller asked for something that makes no sense."""


class NotFoundError(Error, builtins.FileNotFoundError):
    """A file, folder, sample or format is not there."""


class ExistsError(Error, builtins.FileExistsError):
    """The target is already there, or another writer holds it."""


class StorageError(Error, builtins.OSError):
    """The operating system refused a read or a write."""


class NoSpaceError(StorageError):
    """The disk (or a quota) is full."""


class CorruptError(Error):
    """Bytes are not what was packed."""


class RejectedError(Error):
    """Inputs were rejected beyond the limit. `report`: what pack() and the like return where they do not raise."""

    report: Any = None


class UnsupportedError(Error):
    """Valid, but this build or version cannot handle it."""


class InterruptedError(Error, builtins.InterruptedError):
    """A stop was requested."""
