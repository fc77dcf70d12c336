"""The keyword arguments that packing's functions take. scripts/options writes this file; do not edit it."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

Path = str | os.PathLike[str]
Function = TypeVar("Function", bound=Callable)


def takes(options: Any) -> Callable[[Function], Function]:
    """Shows the options in a function's signature, for help(), and what its text says of them."""

    def decorate(function: Function) -> Function:
        own = inspect.signature(function)
        named = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        for name, annotation in options.__annotations__.items():
            default = inspect.Parameter.empty if name in options.__required_keys__ else None
            named.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
        if options.__doc__:
            function.__doc__ = f"{function.__doc__ or ''}\n{options.__doc__}"
        function.__signature__ = own.replace(parameters=named)  # type: ignore[attr-defined]
        return function

    return decorate


class _PackOptions(TypedDict):
    format: str


class PackOptions(_PackOptions, total=False):
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
    split_column: int | str | None
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
    split_column: int | str | None
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


class _WriterOptions(TypedDict):
    format: str


class WriterOptions(_WriterOptions, total=False):
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


class CheckOptions(TypedDict, total=False):
    jobs: int | None
    source_kind: str | None
    classes: Path | Iterable[str] | None
    split_folders: str | Iterable[str] | Mapping[str, str] | None
    classes_at: int | None
    labels: Path | Iterable[Path] | Mapping[str, Path] | None
    path_column: int | str | None
    label_column: int | str | None
    split_column: int | str | None
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
    max_pixels: int | None
    max_scan_pixels: int | None
    max_decoded_bytes: int | str | None
    first_frame: bool | None
    bands: bool | None
    pages_as_bands: bool | None


class RemoteOptions(TypedDict, total=False):
    """
    cache                Directory that keeps what was fetched, for all processes of this machine; default:
                         $XDG_CACHE_HOME/packhorse or ~/.cache/packhorse
    cache_size           What the cache may hold, e.g. 200GB; what was used least recently goes first (50GiB)
    memory               What is kept in memory without a cache, and may be on its way ahead (256MiB)
    endpoint             s3: where the storage is, if not at AWS, e.g. http://localhost:8333
    region               s3: the bucket's region
    sign=False           s3: do not sign requests, for public buckets
    requester_pays=True  s3: pay for requests and transfer, where the bucket's owner does not
    url_command          Command that prints a signed URL for the name of a file, its last argument
    """

    cache: Path | None
    cache_size: int | str | None
    memory: int | str | None
    endpoint: str | None
    region: str | None
    sign: bool | None
    requester_pays: bool | None
    url_command: str | Iterable[str] | None


class LoaderOptions(TypedDict, total=False):
    """
    order                global: any sample may come next; window: large reads, mixed within 256 MiB, for disks and
                         network storage; window-first: the first epoch by windows, the others global; sequential: as
                         stored; default: global, and for datasets at URLs window-first, or window where no cache
                         holds them
    shuffle=False        The same as `order=sequential`
    replacement=True     With weights of classes: draw each sample from all. Otherwise the samples of a class come
                         equally often, or once more. Weights of samples always draw so
    repeats              Repeated augmentation: each sample comes so many times, one after the other, each time
                         augmented in another way. With several ranks these are on different ones. An epoch gets no
                         longer, so it has fewer different samples (1)
    num_samples          Samples in an epoch, repeats included; default: those of the dataset; of several datasets
                         with weights, as `until=` says
    until                When an epoch of several datasets with weights ends: when the first of them ends, or when all
                         have ended; shorter ones begin again (first)
    seed                 Seed of the order, and of what is done to the samples (0)
    drop_last=True       Leave out a last, short batch. Otherwise it is delivered, and with several ranks filled up
                         with samples of the epoch's start, so that all ranks have the same number of batches
    workers              Reader threads; -1: one for each CPU this process may use; 0: none, batches are made by the
                         thread that takes them (-1)
    slots                Batches in memory: finished, in progress, or in use by the caller (4)
    rank                 Which of `world_size=` processes this is, counted from 0; default: torch.distributed's, or
                         RANK and WORLD_SIZE of the environment
    world_size           Processes that share each epoch; default: as for `rank=`
    max_bad              Damaged images per epoch to replace with others, e.g. 10 or 0.1%; one more is an error (0)
    huge_pages=True      Keep batches in memory pages of 2 MiB
    mean                 Three numbers, or one for each band: with `std=`, normalise floating-point images by (x / 255
                         - mean) / std. Bit for bit what torchvision's ToTensor() and Normalize() make of the pixels;
                         float16 is that, rounded
    std                  The same for the standard deviation
    channels_last=False  Images as planes, one channel after the other, instead of interleaved pixels; packhorse.Batch
                         shows the shapes
    bands                The samples as they are stored, instead of colours of 8 bits: all, or bands, counted from 0.
                         Floats are as they are stored, integers of 16 bits are 0..1 of 65535 as float32. All images
                         must have these bands, and as many bits. No ColorJitter and the like
    mixed_bits=True      With `bands=`: take images of 8 and 16 bits together
    mixup                Mix whole batches by Mixup, with shares from Beta(alpha, alpha); 0: not. Labels are then what
                         each image is trained towards, float32 [batch, classes]
    cutmix               The same for CutMix. With both, each batch is mixed in one of the two ways
    mix_prob             Probability that a batch is mixed (1)
    switch_prob          Probability of CutMix instead of Mixup, with both (0.5)
    label_smoothing      Share of mixed labels that is spread over all classes (0)
    fields               Fields that batches have, too, e.g. caption or emb.npy: batch.fields
    close_mosaic_from    From this epoch on, samples are of one picture: no mosaic, copy_paste or mixup
    """

    order: str | None
    shuffle: bool | None
    replacement: bool | None
    repeats: int | None
    num_samples: int | None
    until: str | None
    seed: int | None
    drop_last: bool | None
    workers: int | None
    slots: int | None
    rank: int | None
    world_size: int | None
    max_bad: int | str | None
    huge_pages: bool | None
    mean: str | Sequence[float] | None
    std: str | Sequence[float] | None
    channels_last: bool | None
    bands: str | Sequence[float] | None
    mixed_bits: bool | None
    mixup: float | None
    cutmix: float | None
    mix_prob: float | None
    switch_prob: float | None
    label_smoothing: float | None
    fields: str | Iterable[str] | None
    close_mosaic_from: int | None
