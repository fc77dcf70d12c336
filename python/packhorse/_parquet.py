"""Parquet files for Hugging Face's Hub, of a packed dataset. docs/containers.md."""

import json
import os
import re
import shlex
import tempfile
from collections.abc import Sequence
from typing import Any

from . import packing, remote
from ._hub import module
from ._options import Path
from .dataset import Dataset
from .errors import Error, ExistsError, StorageError, UsageError
from .reports import ParquetReport

_HUB_SPLITS = {"val": "validation", "": "train"}
_HUB_SPLIT = re.compile(r"\w+(\.\w+)*")  # what `datasets` takes for the name of a split
_GROUP_ROWS, _GROUP_BYTES = 1000, 64 << 20  # of what is written


def to_parquet(dataset: Path, out: Path, *, rows_per_file: int = 10_000) -> ParquetReport:
    """Writes a packed dataset, or a directory of splits, as Parquet files for Hugging Face's Hub, with a card (README.md):
    `datasets.load_dataset(out)` reads images and ClassLabels. Captions are texts, boxes `objects` with `bbox` (xywh) and
    `category`, `area` and `iscrowd`; other fields are bytes. `out` appears when it is complete. The report's `upload` is the command for the Hub.
    """
    if rows_per_file < 1:
        raise UsageError(f"rows_per_file={rows_per_file}", advice="give 1 or more")
    if remote.is_url(os.fsdecode(out)):
        raise UsageError("Parquet files are written to a disk", os.fsdecode(out), "give a directory; the report's `upload` is for the Hub")
    target = os.path.abspath(os.fsdecode(out))
    if os.path.lexists(target):
        raise ExistsError("the target already exists", target, "choose another")
    described = packing.inspect(dataset).datasets
    _refuse_splits(described)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{os.path.basename(target)}.partial-", dir=os.path.dirname(target)) as place:
            building = f"{place}/new"
            os.makedirs(f"{building}/data")
            written = [file for one in described for file in _write_split(one, f"{building}/data", rows_per_file)]
            _write_card(described, f"{building}/README.md", os.path.basename(target))
            os.rename(building, target)
    except OSError as error:
        if isinstance(error, Error):
            raise
        raise StorageError(f"cannot write: {error.strerror}", target, "free some space, or choose another place") from error
    upload = f"hf upload OWNER/NAME {shlex.quote(target)} . --repo-type dataset"
    return ParquetReport.of({"files": written, "samples": sum(one.samples for one in described), "upload": upload})


def _name_of(described: Any) -> str:
    """The split's name on the Hub."""
    return _HUB_SPLITS.get(described.split, described.split)


def _refuse_splits(described: Sequence[Any]) -> None:
    names = [_name_of(one) for one in described]
    for one, name in zip(described, names, strict=True):
        if names.count(name) > 1 or not _HUB_SPLIT.fullmatch(name):
            why = f"several splits are {name!r} on the Hub" if names.count(name) > 1 else f"the Hub takes no split of the name {name!r}"
            raise UsageError(why, one.path, "rename the directory of this split, or write the splits one by one")


def _write_split(described: Any, folder: str, rows_per_file: int) -> list[str]:
    """The files of a split, by their places in the dataset on the Hub."""
    arrow, parquet = module("pyarrow"), module("pyarrow.parquet")
    dataset = Dataset(described.path)
    if described.image == "raw":
        raise UsageError("raw pixels are not image files", described.path, 'pack the source with image="lossless", or unpack it')
    for name in {"image", "label"} & set(dataset.fields):
        raise UsageError(f"the field {name!r} has the name of a column that each file has", described.path, "pack it under another name")
    kinds = {record["name"]: record["kind"] for record in dataset.target_records}
    types, features = _schema_of(arrow, dataset, kinds)
    schema = arrow.schema(types, {"huggingface": json.dumps({"info": {"features": features}})})
    name = _name_of(described)
    count = max(-(-len(dataset) // rows_per_file), 1)
    written = []
    for part in range(count):
        written.append(f"data/{name}-{part:05}-of-{count:05}.parquet")
        place = os.path.join(folder, os.path.basename(written[-1]))
        with parquet.ParquetWriter(place, schema, use_dictionary=False, write_page_checksum=True) as writer:
            group: list[dict[str, Any]] = []
            held = 0
            for i in range(part * rows_per_file, min((part + 1) * rows_per_file, len(dataset))):
                group.append(_row_of(dataset, i, kinds))
                held += len(group[-1]["image"]["bytes"])
                if len(group) == _GROUP_ROWS or held >= _GROUP_BYTES:
                    writer.write_table(arrow.Table.from_pylist(group, schema))
                    group, held = [], 0
            if group:
                writer.write_table(arrow.Table.from_pylist(group, schema))
    return written


def _schema_of(arrow: Any, dataset: Dataset, kinds: dict[str, str]) -> tuple[list[tuple[str, Any]], dict[str, Any]]:
    box = arrow.list_(arrow.float32(), 4)
    types = [("image", arrow.struct([("bytes", arrow.binary()), ("path", arrow.string())])), ("label", arrow.int64())]
    features: dict[str, Any] = {"image": {"_type": "Image"}, "label": {"names": dataset.classes, "_type": "ClassLabel"}}
    number = {"dtype": "float32", "_type": "Value"}
    for field in dataset.fields:
        if kinds.get(field) == "objects":
            members = {"bbox": (box, {"feature": number, "length": 4, "_type": "List"}),
                       "category": (arrow.int64(), {"names": dataset.object_classes, "_type": "ClassLabel"}),
                       "area": (arrow.float32(), number),
                       "iscrowd": (arrow.bool_(), {"dtype": "bool", "_type": "Value"})}  # fmt: skip
            types.append((field, arrow.struct([(name, arrow.list_(kind)) for name, (kind, _) in members.items()])))
            features[field] = {name: {"feature": feature, "_type": "List"} for name, (_, feature) in members.items()}
        else:
            text = kinds.get(field) == "caption"
            types.append((field, arrow.string() if text else arrow.binary()))
            features[field] = {"dtype": "string" if text else "binary", "_type": "Value"}
    return types, features


def _row_of(dataset: Dataset, i: int, kinds: dict[str, str]) -> dict[str, Any]:
    row: dict[str, Any] = {"image": {"bytes": dataset.read(i), "path": None}, "label": int(dataset.labels[i])}
    for field in dataset.fields:
        if kinds.get(field) == "objects":
            [found] = dataset.objects(i).split()
            boxes = [[left, top, right - left, bottom - top] for left, top, right, bottom in found["boxes"].tolist()]
            crowd = [bool(one) for one in found["iscrowd"].tolist()]
            row[field] = {"bbox": boxes, "category": found["labels"].tolist(), "area": found["area"].tolist(), "iscrowd": crowd}
        else:
            content = dataset.read_field(i, field)
            row[field] = content.decode() if content is not None and kinds.get(field) == "caption" else content
    return row


def _write_card(described: Sequence[Any], path: str, name: str) -> None:
    lines = ["---", "configs:", "- config_name: default", "  data_files:"]
    for one in described:
        split = _name_of(one)
        lines += [f"  - split: {json.dumps(split)}", f"    path: {json.dumps(f'data/{split}-*')}"]
    lines += ["---", "", f"# {name}", ""]
    lines += [f"- {_name_of(one)}: {one.samples} images of {len(one.classes)} classes" for one in described]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, ""]))
