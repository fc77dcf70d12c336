"""Datasets at http, https and s3 URLs: how storage is spoken to, and what is kept of it. docs/remote.md."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

from ._options import RemoteOptions, takes
from .errors import UnsupportedError, UsageError

if TYPE_CHECKING:
    from typing import Unpack  # since Python 3.11

_options: dict[str, Any] = {}
_opener: Any = None  # of packhorse._remote, once it is needed


@takes(RemoteOptions)
def configure_remote(**options: Unpack[RemoteOptions]) -> None:
    """Says how the datasets at URLs that are opened from now on are read. Without it they are read by the defaults
    here. Call it before threads open any.

    cache=None is the default, cache="" keeps what was fetched in memory alone.
    """
    global _opener  # noqa: PLW0603
    try:
        from . import _remote  # noqa: PLC0415: it loads libcurl, which local datasets need not
    except ImportError as error:
        raise UnsupportedError(
            f"this installation of packhorse reads nothing at URLs: {error}",
            advice="install a wheel of packhorse, or build the package with all its parts",
        ) from error

    _opener = _remote.enable(dict(options))
    _options.update(options)


def remote_counters() -> dict[str, int | float]:
    """What was fetched so far, in this process: requests, retries, received_bytes, runs (of 4 MiB) fetched and found
    in the cache, damaged pieces, waits of threads and their time. Empty where no URL was opened."""
    if _opener is None:
        return {}
    from . import _remote  # noqa: PLC0415

    return _remote.counters()


def is_url(path: str) -> bool:
    return "://" in path


def prepare(path: str, module, anyway: bool = False) -> None:
    """Lets `module` open `path`, if that is a URL, or `anyway`: it may name some."""
    if not is_url(path) and not anyway:
        return
    if _opener is None:
        configure_remote()
    module.set_remote_opener(_opener)


def options() -> dict[str, Any]:
    """The arguments of the last configure_remote(), to be pickled."""
    return dict(_options)


def adopt(given: dict[str, Any]) -> None:
    """Takes the options of the process that pickled a dataset, unless there are any here."""
    if given and _opener is None:
        configure_remote(**given)


class _BeforeFork:
    """Stands for a dataset in a forked child: the threads that fetch are not there."""

    def __init__(self, path: str):
        self.path = path

    def __getattr__(self, name: str) -> NoReturn:
        raise UsageError(
            "this dataset at a URL was opened before a fork, and the threads that fetch are not in this process",
            self.path,
            'start workers in another way: DataLoader(multiprocessing_context="spawn"), or read through packhorse.Loader',
        )

    def __len__(self) -> NoReturn:
        self.__getattr__("__len__")


_open: weakref.WeakSet = weakref.WeakSet()  # datasets at URLs
_kept: list = []  # what cannot be destroyed without its threads


def guard(dataset) -> None:
    """Makes a dataset at a URL an error in children of this process."""
    if is_url(dataset.path):
        _open.add(dataset)


def _in_child() -> None:
    for dataset in list(_open):
        _kept.append(dataset._native)
        dataset._native = _BeforeFork(dataset.path)


os.register_at_fork(after_in_child=_in_child)
