"""What packing, verifying and describing report: objects made of the JSON that the commands print, which is in `json`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from html import escape
from typing import Any


@dataclass(frozen=True)
class _Report:
    json: dict[str, Any] = field(repr=False)  # all that `packhorse ... --json` prints

    def __repr__(self) -> str:
        """A line: lists by their length, and nothing that is empty."""
        values = [(one.name, getattr(self, one.name)) for one in dataclasses.fields(self) if one.repr]
        shown = [
            f"len({name})={len(value)}" if isinstance(value, (list, dict)) else f"{name}={value!r}"
            for name, value in values
            if value not in ("", None, [], {})
        ]
        return f"packhorse.{type(self).__name__}({', '.join(shown)})"

    @classmethod
    def of(cls, json: dict[str, Any], **more: Any):
        """A report of its JSON, whose members of the same names become attributes."""
        names = [one.name for one in dataclasses.fields(cls) if one.name not in ("json", *more)]
        return cls(json=json, **{name: json[name] for name in names}, **more)


@dataclass(frozen=True)
class Reject:
    """An input that could not be packed, by its path in the source; docs/reference/codes.md lists the codes. `finding` is the
    code of check(), "" for a row of a table."""

    path: str
    reason: str
    code: str
    finding: str = ""


@dataclass(frozen=True)
class PackedSplit:
    """One dataset that was published; `split` is "" where there is only one."""

    split: str
    path: str
    id: str
    samples: int
    shards: int


@dataclass(frozen=True, repr=False)
class PackReport(_Report):
    """What came of packing: seen = packed + rejected + skipped. `id` names the dataset by its content."""

    seen: int
    packed: int
    rejected: int
    skipped: int
    bytes_in: int
    bytes_out: int
    shards: int
    shards_kept: int
    seconds: float
    id: str
    published: bool
    estimate: int
    classes: int
    notes: list[str]
    image_notes: dict[str, int]
    skipped_by_rule: dict[str, int]
    duplicates: list[dict[str, Any]]
    splits: list[PackedSplit]
    rejects: list[Reject]

    @classmethod
    def of(cls, json: dict[str, Any], **more: Any) -> PackReport:
        splits = [PackedSplit(**split) for split in json["splits"]]
        return super().of(json, splits=splits, rejects=[Reject(**reject) for reject in json["rejects"]], **more)


@dataclass(frozen=True)
class Finding:
    """Something that is not as it was packed or, with a `path`, not as it is in the source."""

    kind: str
    shard: str
    sample: int | None
    key: str
    offset: int
    length: int
    detail: str
    path: str = ""


@dataclass(frozen=True, repr=False)
class VerifyReport(_Report):
    """What a check has found. `problem` and `advice` say what is wrong and what to do; both are "" if `ok`."""

    ok: bool
    files: int
    samples: int
    bytes: int
    walked: int
    decoded: int
    isolated: bool
    notes: list[str]
    findings: list[Finding]
    problem: str = ""
    advice: str = ""

    @classmethod
    def of(cls, json: dict[str, Any], **more: Any) -> VerifyReport:
        findings = [Finding(**finding) for finding in json["findings"]]
        return super().of(json, findings=findings, **json["checked"], **more)


@dataclass(frozen=True)
class CheckFinding:
    """Something that will go wrong with `count` samples, classes or splits: docs/reference/codes.md explains the codes."""

    code: str
    severity: str
    family: str
    count: int
    message: str
    why: str
    remedy: str
    examples: list[dict[str, str]]

    def __str__(self) -> str:
        lines = [f"{self.code} {self.severity}: {self.message}"]
        lines += [f"      {': '.join(filter(None, (one['path'], one['detail'])))}" for one in self.examples]
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class CheckReport(_Report):
    """What will go wrong with a source. print(report) shows the findings, a notebook a table of them."""

    samples: int
    classes: int
    objects: int
    looked_at: int
    decoded: int
    known: int
    errors: int
    warnings: int
    notes: list[str]
    findings: list[CheckFinding]

    @classmethod
    def of(cls, json: dict[str, Any], **more: Any) -> CheckReport:
        return super().of(json, findings=[CheckFinding(**finding) for finding in json["findings"]], **more)

    @property
    def ok(self) -> bool:
        """There is no error; there may be warnings."""
        return self.errors == 0

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or f"nothing found in {self.samples} samples"

    def _repr_html_(self) -> str:
        rows = [
            f"<tr><td>{one.code}<td>{one.severity}<td>{escape(one.message)}<td>"
            + "<br>".join(escape(f"{example['path']} {example['detail']}".strip()) for example in one.examples)
            for one in self.findings
        ]
        return f"<table><tr><th>code<th>severity<th>finding<th>examples{''.join(rows)}</table>"


@dataclass(frozen=True, repr=False)
class DatasetSummary(_Report):
    """A dataset, described by its indexes."""

    path: str
    format: str
    compress: str
    image: str
    image_settings: str
    split: str
    samples: int
    bytes: int
    payload_bytes: int
    id: str
    kinds: dict[str, int]
    classes: list[dict[str, Any]]
    fields: list[dict[str, Any]]
    shards: list[dict[str, Any]]
    accounting: dict[str, Any]
    objects: dict[str, Any] | None  # how many there are, of which classes and sizes; None: the images have none

    @classmethod
    def of(cls, json: dict[str, Any], **more: Any) -> DatasetSummary:
        return super().of(json, objects=json.get("objects"), **more)


@dataclass(frozen=True, repr=False)
class InspectReport(_Report):
    """The dataset at a path, or all splits there."""

    datasets: list[DatasetSummary]

    @classmethod
    def of(cls, json: dict[str, Any], **more: Any) -> InspectReport:
        return cls(json=json, datasets=[DatasetSummary.of(one) for one in json.get("datasets", [json])], **more)

    def __repr__(self) -> str:
        return f"packhorse.InspectReport({', '.join(map(repr, self.datasets))})"

    @property
    def samples(self) -> int:
        return sum(one.samples for one in self.datasets)


@dataclass(frozen=True, repr=False)
class CopyReport(_Report):
    """What was copied; `kept`: files that an interrupted copy had brought."""

    samples: int
    files: int
    bytes: int
    kept: int
    notes: list[str]


@dataclass(frozen=True, repr=False)
class UnpackReport(_Report):
    """What was written back; of a notation also the objects, and what it does not say with the number of each."""

    samples: int
    bytes: int
    objects: int = 0
    unsaid: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, json: dict[str, Any], **more: Any) -> UnpackReport:
        return super().of(json, objects=json.get("objects", 0), unsaid=json.get("unsaid", {}), **more)


@dataclass(frozen=True)
class ExportedFiles:
    """The files that other readers want beside the shards of one dataset."""

    path: str
    written: list[str]
    unchanged: list[str]
    bytes: int


@dataclass(frozen=True, repr=False)
class ExportReport(_Report):
    """What export_index() wrote; `card` is what came of README.md: "written", "unchanged", "kept" or "none"."""

    card: str
    datasets: list[ExportedFiles]

    @classmethod
    def of(cls, json: dict[str, Any], **more: Any) -> ExportReport:
        names = [one.name for one in dataclasses.fields(ExportedFiles)]
        made = [ExportedFiles(**{name: one[name] for name in names}) for one in json.get("datasets", [json])]
        return super().of(json, datasets=made, **more)


@dataclass(frozen=True, repr=False)
class ParquetReport(_Report):
    """What to_parquet() wrote: `files`, by their places in the dataset; `upload`, the command that sends it to the Hub."""

    files: list[str]
    samples: int
    upload: str
