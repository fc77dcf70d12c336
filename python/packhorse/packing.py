"""Packing, verifying and unpacking from Python. The extension behind it is loaded with the first call."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import remote
from ._program import program
from .errors import RejectedError, UnsupportedError, UsageError
from .reports import CopyReport, ExportReport, InspectReport, PackReport, UnpackReport, VerifyReport

Path = str | os.PathLike
Progress = Callable[[int, int], object]

_logger = logging.getLogger("packhorse")
_logger.addHandler(logging.NullHandler())  # a library prints nothing by itself
_REJECTS_LOGGED = 50


def pack(
    source: Path,
    out: Path,
    *,
    format: str,  # noqa: A002: the command's word
    image: str = "original",
    short_side: int | None = None,
    quality: int | None = None,
    chroma: str | None = None,
    restart_mcus: int | None = None,
    size: int | None = None,
    fit: str | None = None,
    codec: str | None = None,
    shard_bytes: int | str | None = None,
    shard_samples: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    compress: str | None = None,
    check_space: bool = True,
    classes: Path | Sequence[str] | None = None,
    labels: Path | Mapping[str, Path] | None = None,
    path_column: str | int | None = None,
    label_column: str | int | None = None,
    label_ids: Path | None = None,
    label_pattern: str | None = None,
    unlabelled: bool | None = None,
    fields: Iterable[str] | None = None,
    key_dot: str | None = None,
    field_from: Mapping[str, str] | None = None,
    optional_field_from: Mapping[str, str] | None = None,
    targets: str | Sequence[str] | Mapping[str, str] | None = None,
    target_classes: Path | Sequence[str] | None = None,
    target_keypoints: int | None = None,
    keypoint_numbers: int | None = None,
    source_kind: str | None = None,
    split_folders: Mapping[str, str] | Sequence[str] | None = None,
    classes_at: int | None = None,
    allow_odd_classes: bool = False,
    include: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    limit: int | None = None,
    samples_per_class: int | None = None,
    split: str | None = None,
    deduplicate: str | None = None,
    max_rejects: int | str = 0,
    first_frame: bool = False,
    bands: bool = False,
    pages_as_bands: bool = False,
    max_pixels: int | None = None,
    max_scan_pixels: int | None = None,
    max_decoded_bytes: int | str | None = None,
    decode: bool = False,
    jobs: int = 0,
    memory: int | str | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    task: str | None = None,
    finish: bool = False,
    staging: Path | None = None,
    log: Path | None = None,
    progress: Progress | None = None,
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
    progress       called with (done, total) samples in this thread; an exception of it stops the packing

    Too many rejects raise RejectedError, with the report in its attribute `report`. Ctrl-C, too, leaves the finished
    shards in OUT.partial, where the same call goes on."""
    given = _options(locals())
    result = _native(source, out).pack(os.fsencode(source), os.fsencode(out), given, _bytes(log), progress)
    return _packed(result, source, expected=not dry_run and task is None)


def verify(
    dataset: Path,
    level: str = "full",
    *,
    decode: bool = False,
    subset: str | None = None,
    against: Path | None = None,
    classes: Path | Sequence[str] | None = None,
    labels: Path | Mapping[str, Path] | None = None,
    path_column: str | int | None = None,
    label_column: str | int | None = None,
    label_ids: Path | None = None,
    label_pattern: str | None = None,
    unlabelled: bool | None = None,
    fields: Iterable[str] | None = None,
    key_dot: str | None = None,
    field_from: Mapping[str, str] | None = None,
    optional_field_from: Mapping[str, str] | None = None,
    targets: str | Sequence[str] | Mapping[str, str] | None = None,
    target_classes: Path | Sequence[str] | None = None,
    target_keypoints: int | None = None,
    keypoint_numbers: int | None = None,
    source_kind: str | None = None,
    split_folders: Mapping[str, str] | Sequence[str] | None = None,
    classes_at: int | None = None,
    include: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    limit: int | None = None,
    samples_per_class: int | None = None,
    split: str | None = None,
    deduplicate: str | None = None,
    first_frame: bool = False,
    bands: bool = False,
    pages_as_bands: bool = False,
    max_pixels: int | None = None,
    max_scan_pixels: int | None = None,
    max_decoded_bytes: int | str | None = None,
    jobs: int = 0,
    progress: Progress | None = None,
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
    if against is None:
        _refuse_needless(locals())
    elif subset is not None:
        raise UsageError("subset and against exclude each other")
    given = _options(locals(), "level", "against")
    arguments = os.fsencode(dataset), level, _bytes(against), given, os.fsencode(program()), progress
    text, problem, advice = _native(dataset, against).verify(*arguments)
    return VerifyReport.of(json.loads(text), problem=problem, advice=advice)


def inspect(dataset: Path) -> InspectReport:
    """Describes a dataset, or the splits in a directory, from their indexes, as `packhorse inspect` does."""
    return InspectReport.of(json.loads(_native(dataset).inspect(os.fsencode(dataset))))


def unpack(dataset: Path, out: Path, *, as_: str = "folder", progress: Progress | None = None) -> UnpackReport:
    """Writes a dataset back as a folder of files, byte for byte. `out` appears once it is complete.

    as_    "coco", "yolo" or "voc": the images, and the objects in them in that notation; what it cannot say is counted
           in the report's `unsaid`
    """
    return UnpackReport.of(json.loads(_native(dataset).unpack(os.fsencode(dataset), os.fsencode(out), as_, progress)))


def index(
    shards: Path | Iterable[Path],
    *,
    out: Path | None = None,
    classes: Path | Sequence[str] | None = None,
    labels: Path | None = None,
    fields: Iterable[str] | None = None,
    targets: str | None = None,
    target_classes: Path | Sequence[str] | None = None,
    target_keypoints: int | None = None,
    max_rejects: int | str = 0,
    first_frame: bool = False,
    bands: bool = False,
    pages_as_bands: bool = False,
    max_pixels: int | None = None,
    images: str | None = None,
    offsets: str | None = None,
    label_array: str | None = None,
    keys: str | None = None,
    jobs: int = 0,
    overwrite: bool = False,
    log: Path | None = None,
    progress: Progress | None = None,
) -> PackReport:
    """Makes a dataset of shards that other tools wrote, without rewriting them, as `packhorse index` does. `shards`
    are files, folders of them, or patterns; `images`, `offsets`, `label_array` and `keys` name arrays in HDF5 files.
    `targets` says what the field `objects` of shards that packhorse wrote was made from, as for pack().
    """
    named = [shards] if isinstance(shards, (str, os.PathLike)) else list(shards)
    given = _options({**locals(), "labels": None})
    for name, path in (("out", out), ("labels", labels)):
        if path is not None:
            given[name] = os.fsencode(path)
    arguments = [os.fsencode(one) for one in named], given, _bytes(log), os.fsencode(program()), progress
    return _packed(_native().index(*arguments), named[0], expected=True)


def copy(
    source: Path, target: Path, *, jobs: int = 0, staging: Path | None = None, progress: Progress | None = None
) -> CopyReport:
    """Copies a packed dataset, or a directory of splits, byte for byte between disks and URLs, as `packhorse copy` does:
    each file is compared with the SHA-256 in the manifest, and `target` appears once all are there.

        packhorse.copy("s3://bucket/packed/train", "/scratch/train")"""
    arguments = os.fsencode(source), os.fsencode(target), jobs, _bytes(staging), progress
    return CopyReport.of(json.loads(_native(source, target).copy(*arguments)))


def export_index(
    dataset: Path, *, output: Path | None = None, dali_version: str = "1.2", jobs: int = 0
) -> ExportReport:
    """Writes the indexes that DALI, wids and timm expect beside tar shards, as `packhorse export-index` does."""
    text = _native().export_index(os.fsencode(dataset), _bytes(output), dali_version, jobs)
    return ExportReport.of(json.loads(text))


_SOURCE_OPTIONS = (
    "classes labels path_column label_column label_ids label_pattern unlabelled fields key_dot field_from "
    "optional_field_from targets target_classes target_keypoints keypoint_numbers source_kind split_folders classes_at "
    "include exclude limit samples_per_class split deduplicate"
).split()
_OWN = ("source", "out", "dataset", "shards", "named", "progress", "log")  # arguments, not options


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
            remote.prepare(os.fsdecode(place), _pack, _pack.may_name_urls(os.fsencode(place)))
    return _pack


def _bytes(path: Path | None) -> bytes:
    return b"" if path is None else os.fsencode(path)


def _strings(values: str | Iterable[str]) -> list[str]:
    return [values] if isinstance(values, str) else list(values)


def _refuse_needless(arguments: Mapping[str, Any]) -> None:
    """Refuses options of verify() that change nothing where it is not `against` a source."""
    for name in _SOURCE_OPTIONS:
        if arguments[name] is not None:
            raise UsageError(f"{name} needs against: no source is read")
    if arguments["decode"] and arguments["level"] != "full":
        raise UsageError('decode needs level="full", or against')
    for name in ("bands", "pages_as_bands"):
        if arguments[name]:
            raise UsageError(f"{name} needs against: no source is read")
    for name in ("first_frame", "max_pixels", "max_scan_pixels", "max_decoded_bytes"):
        if arguments[name] not in (None, False) and not arguments["decode"]:
            raise UsageError(f"{name} has no effect: no images are decoded", advice="add decode, or leave it out")


def _class_list(classes: Path | Sequence[str]) -> list[str]:
    if not isinstance(classes, (str, os.PathLike)):
        return list(classes)
    return _native().read_class_list(os.fsencode(classes))


def _labels(labels: Path | Mapping[str, Path]) -> list[str]:
    if isinstance(labels, Mapping):
        return [f"{split}={os.fspath(path)}" for split, path in labels.items()]
    return [os.fspath(labels)]


def _places(places: Mapping[str, str]) -> list[str]:
    return [f"{name}={place}" for name, place in places.items()]


def _targets(targets: str | Sequence[str] | Mapping[str, str]) -> list[str]:
    if isinstance(targets, Mapping):
        return [f"{split}={text}" for split, text in targets.items()]
    return [targets] if isinstance(targets, str) else list(targets)


def _split_folders(folders: Mapping[str, str] | Sequence[str]) -> str:
    if isinstance(folders, Mapping):
        return ",".join(f"{split}={folder}" for split, folder in folders.items())
    return ",".join(_strings(folders)) or "none"


# How the value of an option is handed on, where it is not as it is.
_FORMS: dict[str, Callable[[Any], Any]] = {
    "classes": _class_list,
    "labels": _labels,
    "label_ids": os.fsencode,
    "path_column": str,
    "label_column": str,
    "field_from": _places,
    "optional_field_from": _places,
    "targets": _targets,
    "target_classes": _class_list,
    "fields": lambda names: ",".join(_strings(names)) or "none",
    "split_folders": _split_folders,
    "include": _strings,
    "exclude": _strings,
    "max_rejects": str,
    "staging": os.fsencode,
}


def _options(arguments: Mapping[str, Any], *others: str) -> dict[str, Any]:
    """The options that were given, as the extension takes them."""
    given = {name: value for name, value in arguments.items() if value is not None and name not in (*_OWN, *others)}
    return {name: _FORMS[name](value) if name in _FORMS else value for name, value in given.items()}


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
            "fix or remove them, or allow them with max_rejects; the error's `report` lists all of them",
        )
        error.report = report
        raise error
    return report
