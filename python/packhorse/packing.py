"""Packing, verifying and unpacking from Python. The extension behind it is loaded with the first call."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from . import remote
from ._options import CheckOptions, IndexOptions, PackOptions, Path, VerifyOptions, takes
from ._program import program
from ._pytorch import place_bytes
from .errors import RejectedError, UnsupportedError, UsageError
from .reports import CheckReport, CopyReport, ExportReport, InspectReport, PackReport, UnpackReport, VerifyReport

if TYPE_CHECKING:
    from typing import Unpack  # since Python 3.11

Progress = Callable[[int, int], object] | Literal[True]

_logger = logging.getLogger("packhorse")
_logger.addHandler(logging.NullHandler())  # a library prints nothing by itself
_REJECTS_LOGGED = 50


@contextlib.contextmanager
def following(progress: Progress | None) -> Iterator[Callable[[int, int], object] | None]:
    """What is called with (done, total): `progress`, or for True what moves a bar of tqdm's, also in a notebook."""
    if progress is not True:
        yield progress
        return
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]
    except ImportError as error:
        raise UsageError(
            "progress=True needs tqdm", advice="install it (pip install tqdm), or give a function of (done, total)"
        ) from error
    with tqdm() as bar:

        def move(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield move


@takes(PackOptions)
def pack(
    source: Path,
    out: Path,
    *,
    log: Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[PackOptions],
) -> PackReport:
    """Packs a source of images into the dataset `out`, as the command `packhorse pack` does, with the options of that
    command (`packhorse pack --help`). `out` appears in one rename once it is complete; it may be an s3 URL
    (configure_remote()), where its dataset.json comes last.

        report = packhorse.pack("imagenet", "packed", format="wds", progress=lambda done, total: ...)

    classes        class names in the order of their labels, or a file with one on each line
    labels         a file of lines `path label`, or one for each of some splits: {"val": "val.csv"}
    fields         extra fields to pack with x.jpg: ["json", "seg.png"]; [] = none
    field_from     extra fields that lie elsewhere in the source: {"seg.png": "masks"}
    targets        which objects are in the images: "coco:FILE", or one for each split: {"val": "coco:FILE"}; "hf:FILE",
                   "yolo", "voc"; what else is said of them: ["classes:tags.csv", "caption:txt", "mask:seg.png"]
    split_folders  which folders are splits: {"train": "Training"}; [] = none
    classes_at     which of the folders around an image is its class: the Nth from the source on
    shard_bytes    an int, "512MiB", or 0 for one shard a split
    memory         what the list of samples may take, an int or "512MiB"; the rest goes to a temporary file
    staging        of a URL: the directory where shards wait to be stored; else in the working directory
    log            a file that gets a line of JSON for each reject, skip and duplicate
    progress       called with (done, total) samples in this thread; an exception of it stops the packing. True: a bar
                   of tqdm's

    Too many rejects raise RejectedError, with the report in its attribute `report`. Ctrl-C, too, leaves the finished
    shards in OUT.partial, where the same call goes on.

    A `.parquet` file, a pattern of them, or hf://datasets/OWNER/NAME is packed by from_parquet()."""
    if is_table(source):
        from .tables import from_parquet  # noqa: PLC0415: it reads with pyarrow

        if log is not None:
            raise UsageError("log= is not written for tables", advice="leave it out; the report has the rejects")
        return from_parquet(source, out, progress=progress, **options)  # type: ignore[misc, arg-type]
    with following(progress) as moved:
        result = _native(source, out).pack(place_bytes(source), place_bytes(out), options, _bytes(log), moved)
    return _packed(result, source, expected=not options.get("dry_run") and options.get("task") is None)


@takes(VerifyOptions)
def verify(
    dataset: Path,
    level: str = "full",
    *,
    subset: str | None = None,
    against: Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[VerifyOptions],
) -> VerifyReport:
    """Checks that a dataset is as it was packed, as `packhorse inspect --verify` does; `report.ok` says so, and
    `report.findings` what is not. `against=` compares it with its source, too; the other options are those it was
    packed with.

        report = packhorse.verify("packed")
        if not report.ok:
            print(report.problem, report.advice)

    level    "quick" (files, sizes, indexes) or "full" (every byte, and every shard by its format's own library)
    decode   also decode every image
    subset   only part I of N: "0/10" """
    arguments = place_bytes(dataset), level, subset or "", _bytes(against), options, os.fsencode(program())
    with following(progress) as moved:
        text, problem, advice = _native(dataset, against).verify(*arguments, moved)
    return VerifyReport.of(json.loads(text), problem=problem, advice=advice)


@takes(CheckOptions)
def check(
    source: Path,
    *,
    decode: str = "sample",
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    config: Path | None = None,
    baseline: Path | None = None,
    examples: int = 3,
    progress: Progress | None = None,
    **options: Unpack[CheckOptions],
) -> CheckReport:
    """Says what will go wrong in training with a source of images, as `packhorse check` does: damage, labels that
    contradict each other, the same image in train and val, boxes of no size. Nothing is changed.

        report = packhorse.check("photos")
        print(report)

    source    whatever pack() reads; the options that say how are those of pack()
    decode    which images: "headers" for none, "sample" until the share of bad ones is known within 1 %, "all"
    select    only findings whose codes begin so: ["PH5"]; `ignore`: all but those
    config    a file of settings; None: the source's packhorse.yaml, if it has one
    baseline  a file that `packhorse check --write-baseline` wrote: what is in it is counted as `known`
    examples  of each finding; 0 = all"""
    codes = [[given] if isinstance(given, str) else list(given) for given in (select, ignore)]
    with following(progress) as moved:
        more = (_bytes(config), _bytes(baseline), examples, options, moved)
        text = _native(source).check(place_bytes(source), decode, *codes, *more)
    return CheckReport.of(json.loads(text))


def inspect(dataset: Path) -> InspectReport:
    """Describes a dataset, or the splits in a directory, from their indexes, as `packhorse inspect` does."""
    return InspectReport.of(json.loads(_native(dataset).inspect(place_bytes(dataset))))


def unpack(dataset: Path, out: Path, *, as_: str = "folder", progress: Progress | None = None) -> UnpackReport:
    """Writes a dataset back as a folder of files, byte for byte. `out` appears once it is complete.

    as_    "coco", "yolo" or "voc": the images, and the objects in them in that notation; what it cannot say is counted
           in the report's `unsaid`
    """
    with following(progress) as moved:
        text = _native(dataset).unpack(place_bytes(dataset), place_bytes(out), as_, moved)
    return UnpackReport.of(json.loads(text))


@takes(IndexOptions)
def index(
    shards: Path | Iterable[Path],
    *,
    out: Path | None = None,
    labels: Path | None = None,
    images: str | None = None,
    offsets: str | None = None,
    label_array: str | None = None,
    keys: str | None = None,
    log: Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[IndexOptions],
) -> PackReport:
    """Makes a dataset of shards that other tools wrote, without rewriting them, as `packhorse index` does. `shards`
    are files, folders of them, or patterns; `images`, `offsets`, `label_array` and `keys` name arrays in HDF5 files.
    `targets` says what the field `objects` of shards that packhorse wrote was made from, as for pack().
    """
    named = [shards] if isinstance(shards, (str, os.PathLike)) else list(shards)
    arrays = images or "", offsets or "", label_array or "", keys or ""
    places = [place_bytes(one) for one in named], _bytes(out), _bytes(labels), arrays
    with following(progress) as moved:
        made = _native().index(*places, options, _bytes(log), os.fsencode(program()), moved)
    return _packed(made, named[0], expected=True)


def copy(
    source: Path, target: Path, *, jobs: int = 0, staging: Path | None = None, progress: Progress | None = None
) -> CopyReport:
    """Copies a packed dataset, or a directory of splits, byte for byte between disks and URLs, as `packhorse copy` does:
    each file is compared with the SHA-256 in the manifest, and `target` appears once all are there.

        packhorse.copy("s3://bucket/packed/train", "/scratch/train")"""
    with following(progress) as moved:
        text = _native(source, target).copy(place_bytes(source), place_bytes(target), jobs, _bytes(staging), moved)
    return CopyReport.of(json.loads(text))


def export_index(
    dataset: Path, *, output: Path | None = None, dali_version: str = "1.2", jobs: int = 0
) -> ExportReport:
    """Writes the indexes that DALI, wids and timm expect beside tar shards, as `packhorse export-index` does."""
    text = _native().export_index(place_bytes(dataset), _bytes(output), dali_version, jobs)
    return ExportReport.of(json.loads(text))


def is_table(source: Path) -> bool:
    """Whether a source is one of Parquet files, which tables.py reads."""
    text = os.fsdecode(place_bytes(source))
    return text.startswith("hf://") or text.endswith(".parquet")


def _native(*places: Path | None):
    """The extension; where one of the `places` is a URL, with what opens it."""
    try:
        from . import _pack  # noqa: PLC0415: reading needs none of it
    except ImportError as error:
        raise UnsupportedError(
            f"this installation of packhorse cannot pack: {error}",
            advice="install a wheel of packhorse, or build the package with all its parts",
        ) from error
    for place in places:
        if place is not None:
            remote.prepare(os.fsdecode(place_bytes(place)), _pack, _pack.may_name_urls(place_bytes(place)))
    return _pack


def _bytes(path: Path | None) -> bytes:
    return b"" if path is None else place_bytes(path)


def _packed(result: tuple[str, int], source: Path, expected: bool) -> PackReport:
    """Logs what the command prints, and raises RejectedError where a dataset was `expected` and none was published."""
    text, allowed = result
    report = PackReport.of(json.loads(text))
    for reject in report.rejects[:_REJECTS_LOGGED]:
        _logger.warning("rejected: %s: %s", reject.path, reject.reason)
    if len(report.rejects) > _REJECTS_LOGGED:
        _logger.warning("rejected: ... and %d more", len(report.rejects) - _REJECTS_LOGGED)
    for note in report.notes:
        _logger.info("note: %s", note)
    if expected and not report.published:
        error = RejectedError(
            f"{report.rejected} of {report.seen} inputs were rejected, {allowed} allowed: nothing was published",
            os.fspath(source),
            "fix or remove them, or allow them with max_rejects=; the error's `report` lists all of them",
        )
        error.report = report
        raise error
    return report
