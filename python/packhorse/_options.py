"""The keyword arguments that packing's functions take. scripts/options writes this file; do not edit it."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Required, TypedDict, TypeVar

Path = str | os.PathLike
Function = TypeVar("Function", bound=Callable)


def takes(options: Any) -> Callable[[Function], Function]:
    """Shows the options in a function's signature, for help()."""

    def decorate(function: Function) -> Function:
        own = inspect.signature(function)
        named = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        for name, annotation in options.__annotations__.items():
            default = inspect.Parameter.empty if name in options.__required_keys__ else None
            named.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
        function.__signature__ = own.replace(parameters=named)  # type: ignore[attr-defined]
        return function

    return decorate


class PackOptions(TypedDict, total=False):
    format: Required[str]
    overwrite: bool | None
    dry_run: bool | None
    jobs: int | None
    source_kind: str | None
    classes: Path | Iterable[str] | None
    split_folders: str | Iterable[str] | Mapping[str, str] | None
    classes_at: int | None
    labels: Path | Iterable[Path] | Mapping[str, Path] | None
    path_column: int | str | None
    label_column: int | str | None
    label_ids: Path | None
    label_pattern: str | None
    unlabelled: bool | None
    fields: str | Iterable[str] | Mapping[str, str] | None
    key_dot: str | None
    field_from: str | Iterable[str] | Mapping[str, str] | None
    optional_field_from: str | Iterable[str] | Mapping[str, str] | None
    targets: Path | Iterable[Path] | Mapping[str, Path] | None
    target_classes: Path | Iterable[str] | None
    target_keypoints: int | None
    keypoint_numbers: int | None
    memory: int | str | None
    include: str | Iterable[str] | None
    exclude: str | Iterable[str] | None
    limit: int | None
    samples_per_class: int | None
    split: str | None
    deduplicate: str | None
    allow_odd_classes: bool | None
    max_rejects: int | str | None
    max_pixels: int | None
    max_scan_pixels: int | None
    max_decoded_bytes: int | str | None
    first_frame: bool | None
    bands: bool | None
    pages_as_bands: bool | None
    decode: bool | None
    image: str | None
    short_side: int | None
    quality: int | None
    chroma: str | None
    restart_mcus: int | None
    size: int | None
    fit: str | None
    codec: str | None
    shard_bytes: int | str | None
    shard_samples: int | None
    seed: int | None
    shuffle: bool | None
    compress: str | None
    check_space: bool | None
    task: str | None
    finish: bool | None
    staging: Path | None


class VerifyOptions(TypedDict, total=False):
    jobs: int | None
    source_kind: str | None
    classes: Path | Iterable[str] | None
    split_folders: str | Iterable[str] | Mapping[str, str] | None
    classes_at: int | None
    labels: Path | Iterable[Path] | Mapping[str, Path] | None
    path_column: int | str | None
    label_column: int | str | None
    label_ids: Path | None
    label_pattern: str | None
    unlabelled: bool | None
    fields: str | Iterable[str] | Mapping[str, str] | None
    key_dot: str | None
    field_from: str | Iterable[str] | Mapping[str, str] | None
    optional_field_from: str | Iterable[str] | Mapping[str, str] | None
    targets: Path | Iterable[Path] | Mapping[str, Path] | None
    target_classes: Path | Iterable[str] | None
    target_keypoints: int | None
    keypoint_numbers: int | None
    memory: int | str | None
    include: str | Iterable[str] | None
    exclude: str | Iterable[str] | None
    limit: int | None
    samples_per_class: int | None
    split: str | None
    deduplicate: str | None
    max_pixels: int | None
    max_scan_pixels: int | None
    max_decoded_bytes: int | str | None
    first_frame: bool | None
    bands: bool | None
    pages_as_bands: bool | None
    decode: bool | None


class WriterOptions(TypedDict, total=False):
    format: Required[str]
    overwrite: bool | None
    jobs: int | None
    classes: Path | Iterable[str] | None
    split: str | None
    deduplicate: str | None
    max_rejects: int | str | None
    max_pixels: int | None
    max_scan_pixels: int | None
    max_decoded_bytes: int | str | None
    first_frame: bool | None
    bands: bool | None
    pages_as_bands: bool | None
    decode: bool | None
    image: str | None
    short_side: int | None
    quality: int | None
    chroma: str | None
    restart_mcus: int | None
    size: int | None
    fit: str | None
    codec: str | None
    shard_bytes: int | str | None
    shard_samples: int | None
    seed: int | None
    shuffle: bool | None
    compress: str | None
    check_space: bool | None


class IndexOptions(TypedDict, total=False):
    overwrite: bool | None
    jobs: int | None
    classes: Path | Iterable[str] | None
    fields: str | Iterable[str] | Mapping[str, str] | None
    targets: Path | Iterable[Path] | Mapping[str, Path] | None
    target_classes: Path | Iterable[str] | None
    target_keypoints: int | None
    max_rejects: int | str | None
    max_pixels: int | None
    first_frame: bool | None
    bands: bool | None
    pages_as_bands: bool | None


class RemoteOptions(TypedDict, total=False):
    cache: Path | None
    cache_size: int | str | None
    memory: int | str | None
    endpoint: str | None
    region: str | None
    sign: bool | None
    url_command: str | Iterable[str] | None
