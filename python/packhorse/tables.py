"""Parquet files and Hugging Face's datasets as sources. docs/containers.md.

It needs pyarrow; hf:// needs huggingface_hub. The extra `packhorse[hf]` names both.
"""

import dataclasses
import glob
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._hub import fetched, module
from ._options import Path, WriterOptions, takes
from .dataset import Dataset
from ._pytorch import place_bytes
from .errors import CorruptError, Error, NotFoundError, RejectedError, StorageError, UnsupportedError, UsageError
from .packing import Progress
from .reports import PackReport, Reject
from .writer import Writer

if TYPE_CHECKING:
    from typing import Unpack  # since Python 3.11

Fields = Iterable[str] | Mapping[str, str]
Files = Path | Iterable[Path] | Mapping[str, Any]  # of a mapping: split -> files

_SPLITS = {"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "dev": "val", "test": "test"}
_PART = re.compile(r"(?P<split>.+)-(?P<part>\d+)-of-(?P<of>\d+)(-[0-9a-f]+)?")
_MOST_FOOTER, _MOST_FEATURES = 256 << 20, 16 << 20  # bytes
_MOST_COLUMNS, _MOST_FILES = 10_000, 100_000
_ROWS_AT_ONCE, _BYTES_AT_ONCE = 64, 256 << 20
_UNLABELLED = "unlabelled"


class TableOptions(WriterOptions, total=False):
    image_column: str | None
    label_column: str | None
    caption_column: str | None
    objects_column: str | None
    fields: Fields | None
    object_classes: Sequence[str] | None
    boxes: str | None
    unlabelled: bool | None


_OWN_OPTIONS = TableOptions.__annotations__.keys() - WriterOptions.__annotations__.keys()


@takes(TableOptions)
def from_parquet(files: Files, out: Path, *, progress: Progress | None = None, **options: "Unpack[TableOptions]") -> PackReport:
    """Packs the images in Parquet files, as Hugging Face's datasets have them, unchanged. Rows are streamed into a Writer;
    then every image and label is read back and compared. An interrupted call starts over; what came from the Hub is kept.

        packhorse.from_parquet("data/*.parquet", "packed", format="wds")
        packhorse.from_parquet("hf://datasets/OWNER/NAME", "packed", format="wds")     # .../NAME@REVISION/SUBSET

    files           Parquet files or a pattern, which are splits by their names (train-00000-of-00002.parquet); or the files
                    of each split: {"train": [...]}
    image_column    structs of `bytes` and `path`, or bytes. By default the only such column
    label_column    numbers or names. By default the only ClassLabel, else the column `label`
    caption_column  texts. By default the column `caption`
    objects_column  boxes and categories: lists `bbox` and `category`, perhaps `area` and `iscrowd`. By default the only such
                    column. What else is said of objects is left out
    boxes           "xywh" (left, top, width, height) or "xyxy" (left, top, right, bottom)
    fields          other columns to pack as fields: their names, or {"json": "about"}. Texts and bytes are packed as they
                    are, everything else as JSON. [] = none. Without it, other columns are refused
    unlabelled      the images have no classes
    max_rejects     rows whose image is refused; the same number again where only decoding shows the damage
    """
    arrow = module("pyarrow.parquet")
    named = _files(files)
    opened = [(split, path, _open(arrow, path)) for split, paths in named.items() for path in paths]
    chosen = _Columns(opened[0][2].schema_arrow, opened[0][1], options)
    for _, path, file in opened:
        chosen.refuse_other(file.schema_arrow, path)
    rows = ((split, row, where) for split, path, file in opened for row, where in _rows(file, path, chosen.read))
    total = sum(file.metadata.num_rows for _, _, file in opened)
    return _pack(rows, total, chosen, out, progress, options)


@takes(TableOptions)
def from_datasets(dataset: Any, out: Path, *, progress: Progress | None = None, **options: "Unpack[TableOptions]") -> PackReport:
    """Packs a `datasets.Dataset`, or a `DatasetDict` as its splits, as from_parquet() does. Images that are files of this
    machine are read."""
    hub = module("datasets")
    splits = dict(dataset) if isinstance(dataset, Mapping) else {"": dataset}
    if not splits or not all(isinstance(split, hub.Dataset) for split in splits.values()):
        given = ", ".join(sorted({type(split).__name__ for split in splits.values()})) or "nothing"
        raise UsageError(f"a datasets.Dataset, or a DatasetDict of such, is expected, not {given}", advice="load it without streaming=True")
    names = {name: _SPLITS.get(name, name) for name in splits}
    if len(set(names.values())) < len(names):
        raise UsageError(f"two of the splits {', '.join(names)} are one split of a packed dataset", advice="rename one of them")
    chosen = _Columns(next(iter(splits.values())).features.arrow_schema, "the dataset", options, read_paths=True)
    encoded = hub.Image(decode=False)

    def rows() -> Iterator[tuple[str, dict[str, Any], str]]:
        for name, split in splits.items():
            chosen.refuse_other(split.features.arrow_schema, name)
            bare = split.with_format(None).select_columns(chosen.read)
            if chosen.is_image_feature:
                bare = bare.cast_column(chosen.image, encoded)
            for number, row in enumerate(bare):
                yield names[name], row, f"{name or 'the dataset'}, row {number}"

    return _pack(rows(), sum(len(split) for split in splits.values()), chosen, out, progress, options)


# Which files


def _files(files: Files) -> dict[str, list[str]]:
    """split -> its files."""
    if isinstance(files, Mapping) and files:
        return {split: _listed(one) for split, one in files.items()}
    paths = _listed(files)
    if len(paths) > _MOST_FILES:
        raise UnsupportedError(f"{len(paths)} Parquet files; the limit is {_MOST_FILES}", advice="pack them in several parts")
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(_split_of(path), []).append(path)
    said = {path: {_SPLITS[word] for word in re.split("[^a-z]+", path.lower()) if word in _SPLITS} for path in found.get("", ())}
    if "" in found and (len(found) > 1 or any(splits != said[paths[0]] for splits in said.values())):
        raise UsageError(
            "some of these files may be splits by their names, and it is not clear which", found[""][0],
            'give the files of each split: {"train": [...]}, or {"": [...]} for one dataset of all',
        )  # fmt: skip
    for split, of in found.items():
        _refuse_missing_parts(split, of)
    return found


def _listed(files: Any) -> list[str]:
    """One file at least, for each pattern."""
    if hasattr(files, "__iter__") and not isinstance(files, (str, bytes, os.PathLike)):
        found = [path for one in files for path in _listed(one)]
    else:
        text = os.fsdecode(place_bytes(files))
        if text.startswith("hf://"):
            return fetched(text)
        found = [text] if os.path.exists(text) or not glob.has_magic(text) else sorted(glob.glob(text, recursive=True))
    if not found:
        raise NotFoundError("no Parquet files are there", str(files), "name them, or give a pattern")
    return found


def _split_of(path: str) -> str:
    """By `train-00000-of-00002.parquet`, `train/0000.parquet` or `train.parquet`; "" if these name none."""
    folder, name = os.path.split(path)
    stem = name.removesuffix(".parquet")
    part = _PART.fullmatch(stem)
    return _SPLITS.get(part["split"] if part else os.path.basename(folder) if stem.isdigit() else stem, "")


def _refuse_missing_parts(split: str, paths: list[str]) -> None:
    parts = [part for path in paths if (part := _PART.fullmatch(os.path.basename(path).removesuffix(".parquet")))]
    numbers = sorted(int(part["part"]) for part in parts)
    if parts and numbers != list(range(int(parts[0]["of"]))):
        raise NotFoundError(
            f"there are {len(parts)} of the {int(parts[0]['of'])} files that their names speak of"
            + (", some twice" if len(set(numbers)) < len(numbers) else ""), paths[0],
            f"give each of them once; to pack only these, say so: {{{split or 'train'!r}: [...]}}",
        )  # fmt: skip


# What is in them


def _open(arrow: Any, path: str) -> Any:
    """A Parquet file whose footer is not made to fill the memory. Its pages are read one after the other."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 8, 0))
            end = file.read(8)
        footer = int.from_bytes(end[:4], "little")
        if end[4:] != b"PAR1" or footer > size - 12:
            raise CorruptError("this is no whole Parquet file", path, "fetch it again")
        if footer > _MOST_FOOTER:
            raise UnsupportedError(f"the footer has {footer} bytes; the limit is {_MOST_FOOTER}", path, "write larger row groups")
        opened = arrow.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True)
    except FileNotFoundError as error:
        raise NotFoundError("there is no such file", path, "check the name") from error
    except IsADirectoryError as error:
        raise UsageError("this is a directory", path, f"give a pattern of its files: {os.path.join(path, '*.parquet')}") from error
    except Error:
        raise
    except Exception as error:  # pyarrow's say of damage, too, that they are OSErrors, but with no number
        if getattr(error, "errno", None):
            raise StorageError(f"cannot be read: {error}", path, "look at the disk") from error
        raise CorruptError(f"this is no sound Parquet file: {error}", path, "fetch it again") from error
    if opened.metadata.num_columns > _MOST_COLUMNS:
        raise UnsupportedError(f"{opened.metadata.num_columns} columns; the limit is {_MOST_COLUMNS}", path, "write fewer")
    return opened


def _rows(file: Any, path: str, columns: list[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """(row, where it is). So few rows are held at once that they are no larger than 256 MiB, though each be as large as
    the row group says of all."""
    number = 0
    try:
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).total_byte_size  # to ask for its columns ends the process if they are encrypted
            at_once = min(max(_BYTES_AT_ONCE // max(size, 1), 1), _ROWS_AT_ONCE)
            for batch in file.iter_batches(at_once, row_groups=[group], columns=columns, use_threads=False):
                for row in batch.to_pylist():
                    yield row, f"{path}, row {number}"
                    number += 1
    except Exception as error:  # pyarrow's, of many types: OSError, ArrowInvalid, OverflowError, ...
        raise CorruptError(f"the rows after {number} cannot be read: {error}", path, "fetch it again") from error
    if number != file.metadata.num_rows:
        raise CorruptError(f"{number} rows, where the file speaks of {file.metadata.num_rows}", path, "fetch it again")


class _Columns:
    """Which columns are what, by their types and what Hugging Face's `features` say."""

    def __init__(self, schema: Any, where: str, options: Mapping[str, Any], read_paths: bool = False):
        self.boxes, fields, unlabelled = options.get("boxes") or "xywh", options.get("fields"), options.get("unlabelled")
        image, label, caption, objects = (options.get(f"{one}_column") for one in ("image", "label", "caption", "objects"))
        if self.boxes not in ("xywh", "xyxy"):
            raise UsageError(f"boxes={self.boxes!r}", advice='give "xywh" or "xyxy"')
        self.where, self.names, self.read_paths = where, list(schema.names), read_paths
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise UsageError(f"several columns have the name {twice[0]!r}", where, "rename them")
        features = _features(schema, where)
        types = {name: schema.field(name).type for name in self.names}
        for name in (image, label, caption, objects):
            if name is not None and name not in types:
                raise UsageError(f"there is no column {name!r}", where, self._there())
        of_images = {name for name in self.names if _is(features, name, "Image")}
        found = of_images or {name for name, kind in types.items() if _members(kind) >= {"bytes", "path"}}
        found = found or {name for name, kind in types.items() if "binary" in str(kind)}
        self.image = image or self._only(found, "the images", "image_column") or ""
        self.is_image_feature = self.image in of_images
        labelled = {name for name in self.names if _is(features, name, "ClassLabel")} or {"label"} & set(types)
        self.label = None if unlabelled else label or self._only(labelled, "the labels", "label_column", needed=False)
        self.classes = features.get(self.label or "", {}).get("names")
        self.caption = caption or ("caption" if "caption" in types else None)
        with_boxes = {name for name, kind in types.items() if {"bbox", "category"} <= _members(kind)}
        if objects is not None and objects not in with_boxes:
            raise UsageError(f"the column {objects} has no lists `bbox` and `category`", where, f"name another. {self._there()}")
        self.objects = objects or self._only(with_boxes, "the objects", "objects_column", needed=False)
        if not (self.label or unlabelled or self.caption or self.objects):
            raise UsageError("no column has the labels", where, f"give label_column=, or unlabelled=True. {self._there()}")
        self.object_classes = list(options.get("object_classes") or ()) or self._categories(features)
        used = {self.image, self.label, self.caption, self.objects}
        self._used = None if fields is not None else used
        self._refuse_rest(self.names, where)
        fields = [fields] if isinstance(fields, str) else fields
        self.fields = dict(fields) if isinstance(fields, Mapping) else {name: name for name in fields or ()}
        for name in self.fields.values():
            if name not in types:
                raise UsageError(f"there is no column {name!r}", where, self._there())
        self.read = [name for name in self.names if name in used or name in self.fields.values()]
        self._said = {name: (types[name], features.get(name)) for name in self.read}

    def _refuse_rest(self, names: list[str], where: str) -> None:
        """Without fields=, no column is left out."""
        rest = [name for name in names if self._used is not None and name not in self._used]
        if rest:
            raise UsageError(
                f"the columns {', '.join(rest[:20])} would be left out", where,
                f"pack them with fields={rest[:3]}, or leave them out with fields=[]; caption_column= and the like name others",
            )  # fmt: skip

    def _there(self) -> str:
        return f"the columns are: {', '.join(self.names[:50])}"

    def _only(self, found: set[str], what: str, option: str, needed: bool = True) -> str | None:
        if len(found) == 1 or not (found or needed):
            return next(iter(found), None)
        several = f"several columns may have {what}: {', '.join(sorted(found)[:20])}"
        raise UsageError(several if found else f"no column has {what}", self.where, f"give {option}=. {self._there()}")

    def _categories(self, features: dict[str, Any]) -> list[str]:
        if self.objects is None:
            return []
        said = features.get(self.objects, {})
        category = _get(_get(said, "feature") or said, "category")  # a list of objects, or lists of their members
        names = _get(_get(category, "feature") or category, "names")
        if not names or not _are_names(names):
            raise UsageError(f"the categories in {self.objects} have no names", self.where, "give object_classes=")
        return names

    def refuse_other(self, schema: Any, where: str) -> None:
        """Labels are numbers: files whose features differ would be mixed up."""
        features = _features(schema, where)
        for name, said in self._said.items():
            if schema.names.count(name) != 1 or (schema.field(name).type, features.get(name)) != said:
                raise UsageError(f"the column {name} is not as in {self.where}", where, "pack these files apart")
        self._refuse_rest(list(schema.names), where)

    def class_of(self, row: dict[str, Any]) -> int | str:
        if self.label is None:
            return _UNLABELLED
        label = row[self.label]
        if label is None or (label == -1 and self.classes):
            raise UsageError("the row has no label", advice="leave these files out, or give unlabelled=True")
        return label

    def image_of(self, row: dict[str, Any]) -> bytes:
        image = row[self.image]
        if not isinstance(image, dict):
            content = image
        elif image.get("bytes") is None and image.get("path") and self.read_paths:
            try:
                with open(image["path"], "rb") as file:
                    content = file.read()
            except OSError as error:
                what = f"the row's image cannot be read: {image['path']}: {error.strerror}"
                raise StorageError(what, advice="bring the file to this machine, or embed the images in the table") from error
        else:
            content = image.get("bytes")
        if not isinstance(content, bytes):
            raise UsageError("the row has no image's bytes", advice="embed the images in the table, as push_to_hub() does")
        return content

    def rest_of(self, row: dict[str, Any]) -> dict[str, Any]:
        """What Writer.add() takes besides image and label."""
        more: dict[str, Any] = {}
        if self.fields:
            given = {field: row[name] for field, name in self.fields.items()}
            more["fields"] = {field: _as_field(field, value) for field, value in given.items() if value is not None}
        if self.caption and row[self.caption] is not None:
            more["caption"] = row[self.caption]
        if self.objects:
            more |= self._objects_of(row[self.objects])
        return more

    def _objects_of(self, given: Any) -> dict[str, Any]:
        if given is None or isinstance(given, list):  # a list of objects
            of = [one or {} for one in given or ()]
            given = {name: [one.get(name) for one in of] for name in ("bbox", "category", "area", "iscrowd", "is_crowd")}
        boxes = given.get("bbox") or []
        for box in boxes:
            if not isinstance(box, list) or len(box) != 4 or None in box:
                raise UsageError(f"an object's bbox is {box}", advice="a box has four numbers")
        if self.boxes == "xywh":
            boxes = [[x, y, x + width, y + height] for x, y, width, height in boxes]
        more = {"boxes": boxes, "box_labels": given.get("category") or []}
        for name, argument in (("area", "area"), ("iscrowd", "crowd"), ("is_crowd", "crowd")):
            said = given.get(name) or []
            if said.count(None) == len(said):
                continue
            if None in said:
                raise UsageError(f"some of the row's objects have no {name}", advice="give it for all objects of an image, or for none")
            more[argument] = said
        return more


def _features(schema: Any, where: str) -> dict[str, Any]:
    """What Hugging Face's metadata say of the columns; {} where there are none."""
    text = (schema.metadata or {}).get(b"huggingface", b"{}")
    if len(text) > _MOST_FEATURES:
        raise UnsupportedError(f"the features have {len(text)} bytes; the limit is {_MOST_FEATURES}", where, "write fewer")
    try:
        found = _without_lists(json.loads(text).get("info", {}).get("features", {}))
        if not all(_are_names(one.get("names") or []) for one in found.values()):
            raise TypeError
        return found
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise CorruptError("the metadata `huggingface` are not as the Hub writes them", where, "fetch the file again") from error


def _without_lists(said: Any) -> Any:
    """Earlier versions of `datasets` wrote [what is in it] for a list."""
    if isinstance(said, dict):
        return {name: _without_lists(one) for name, one in said.items()}
    return {"feature": _without_lists(said[0])} if isinstance(said, list) and said and isinstance(said[0], (dict, list)) else said


def _get(said: Any, name: str) -> Any:
    return said.get(name) if isinstance(said, dict) else None


def _are_names(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(name, str) for name in given)


def _is(features: dict[str, Any], name: str, kind: str) -> bool:
    return features.get(name, {}).get("_type") == kind


def _members(kind: Any) -> set[str]:
    """The names in a struct, or in the structs of a list."""
    inner = getattr(kind, "value_type", None) or kind
    return {inner.field(i).name for i in range(inner.num_fields)} if str(inner).startswith("struct<") else set()


def _as_field(field: str, value: Any) -> bytes | str:
    if isinstance(value, (bytes, str)):
        return value

    def other(part: Any) -> str:
        if isinstance(part, bytes):
            raise UsageError(f"the field {field!r} has bytes in a struct, which JSON cannot hold", advice="leave it out of fields=")
        return str(part)

    try:
        return json.dumps(value, default=other, allow_nan=False)
    except ValueError as error:
        if isinstance(error, Error):
            raise
        raise UsageError(f"the field {field!r} has a number that JSON cannot hold: nan or inf", advice="replace it by null") from error


# Into a dataset, and out of it


def _pack(rows: Iterator[tuple[str, dict[str, Any], str]], total: int, chosen: _Columns, out: Path,
          progress: Progress | None, options: Mapping[str, Any]) -> PackReport:  # fmt: skip
    classes = options.get("classes") or ([_UNLABELLED] if chosen.label is None else chosen.classes)
    rejects: list[Reject] = []
    proof = _Proof(bytes_too=options.get("image") in (None, "original"), by_split=not options.get("split"))
    settings = {name: value for name, value in options.items() if name not in _OWN_OPTIONS} | {"classes": classes}
    with Writer(out, object_classes=chosen.object_classes, progress=progress, **settings) as writer:  # type: ignore[arg-type]
        most = _most_rejects(options.get("max_rejects"), total)
        for split, row, where in rows:
            try:
                image, label = chosen.image_of(row), chosen.class_of(row)
                writer.add(image, label, split=split or None, **chosen.rest_of(row))
            except RejectedError as error:
                if len(rejects) == most:
                    raise _at(error, where) from error
                rejects.append(Reject(where, str(error.what), error.code))
                continue
            except Error as error:
                raise _at(error, where) from error
            proof.add(split, image, label)
    report = writer.report
    if not (report.rejected or report.skipped):  # else it is not known here which they are
        proof.compare(report)
    if not rejects:
        return report
    seen, rejected = report.seen + len(rejects), report.rejected + len(rejects)
    listed = [*report.json["rejects"], *map(dataclasses.asdict, rejects)]
    told = {**report.json, "seen": seen, "rejected": rejected, "rejects": listed}
    return dataclasses.replace(report, json=told, seen=seen, rejected=rejected, rejects=[*report.rejects, *rejects])


def _at(error: Error, where: str) -> Error:
    return type(error)(error.what, where, error.advice, error.key, error.code)


def _most_rejects(given: Any, total: int) -> int:
    """`max_rejects` as a number; the Writer has refused anything else."""
    text = str(given or 0)
    return int(float(text[:-1]) * total / 100) if text.endswith("%") else int(text)


class _Proof:
    """Sums of hashes, whatever the order: of the images and labels that went in, and of those that are read back."""

    def __init__(self, bytes_too: bool, by_split: bool):
        self._bytes_too, self._by_split, self._names = bytes_too, by_split, False
        self._sums: dict[str, list[int]] = {}

    def add(self, split: str, image: bytes, label: int | str) -> None:
        content = image if self._bytes_too else b""
        self._names = isinstance(label, str)
        sums = self._sums.setdefault(split if self._by_split else "", [0, 0])
        sums[0] += 1
        sums[1] += int.from_bytes(hashlib.sha256(b"%s\0%d:%s" % (str(label).encode(), len(content), content)).digest(), "big")

    def compare(self, report: PackReport) -> None:
        again = _Proof(self._bytes_too, self._by_split)
        for packed in report.splits:
            dataset = Dataset(packed.path)
            for i, label in enumerate(dataset.labels.tolist()):
                again.add(packed.split, dataset.read(i), dataset.classes[label] if self._names else label)
        if again._sums != self._sums:
            raise CorruptError("what was packed is not what the table has", report.splits[0].path, "remove it, and pack it again")
