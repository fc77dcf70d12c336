"""Batches of pixels from a packed dataset, as fast as the C++ loader makes them."""

from __future__ import annotations

import dataclasses
import operator
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, overload

from . import _device, _pixels, _pytorch, _reader
from ._options import LoaderOptions, takes
from .augment import DetectionAugment, native
from .dataset import Dataset
from .errors import UnsupportedError, UsageError
from .targets import TargetRules, Targets, native_rules

if TYPE_CHECKING:
    from typing import Unpack  # since Python 3.11

    import numpy as np
    from numpy.typing import NDArray

Augment = (
    _reader.RandomResizedCrop
    | _reader.ResizeCenterCrop
    | _reader.Resize
    | _reader.CenterCrop
    | _reader.PadCrop
    | DetectionAugment
)

OTHER_KINDS = 'open such images with Pillow: packhorse.Dataset(..., image="pil"); or pack them with --image resize or raw'


class _Delivered:
    """What every batch has beside its tuple."""

    samples: NDArray[np.uint64] = None  # type: ignore[assignment]
    """The samples' numbers in the dataset, a numpy array uint64 [batch]."""
    _done = 0  # samples of the epoch, over all ranks, when this batch is delivered

    def moved(self: Any, images, labels):
        """This batch with its images and labels elsewhere."""
        batch = self._replace(images=images, labels=labels)
        batch.samples, batch._done = self.samples, self._done
        return batch

    def __repr__(self: Any) -> str:
        held = [f"{name}={_pixels.shown(value)}" for name, value in zip(self._fields, self, strict=True)]
        return f"packhorse.{type(self).__name__}({', '.join(held)})"


class Batch(_Delivered, NamedTuple("Batch", [("images", Any), ("labels", Any)])):
    """`images, labels = batch`. The arrays are yours: they stay valid when the loader goes on, or goes.

    images are of the loader's dtype, labels int64 [batch]. Where torch is imported they are tensors, otherwise numpy
    arrays:

                            torch                           numpy
        channels_last=True  [batch, 3, height, width]       [batch, height, width, 3]
                            in torch.channels_last order
        channels_last=False [batch, 3, height, width]       [batch, 3, height, width]
                            contiguous

    With bands=, they have as many channels as bands.
    """


class TargetBatch(_Delivered, NamedTuple("TargetBatch", [("images", Any), ("labels", Any), ("targets", Targets)])):
    """`images, labels, targets = batch`, for a Loader with targets=: a Batch, and the packhorse.Targets of its images.
    With device= they stay in the host's memory; targets.split(device=...) moves them."""


Delivers = TypeVar("Delivers", bound=Batch | TargetBatch, covariant=True)

if TYPE_CHECKING:

    class _Keywords(LoaderOptions, total=False):
        size: int | None
        augment: Augment | Sequence[Augment | _reader.PixelStep | str] | None
        split: str
        dtype: Any
        pin_memory: bool
        device: Any


def _process_group() -> tuple[int, int]:
    """Rank and world size: torch.distributed's, or those of the environment (torchrun), or 0 of 1."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return 0, 1


class Loader(Generic[Delivers]):
    """Reads, decodes and augments a packed dataset in threads of its own, into batches.

        for images, labels in packhorse.Loader("packed/train", batch_size=256, augment=packhorse.RandomResizedCrop(224)):
            ...

    The same seed, epoch and batch_size give the same batches for any number of workers, and those of the C++ loader.
    Each iteration is an epoch: the one after the last begun, or that of set_epoch(). It begins with its first batch.
    There is one at a time: an iteration that another one cuts short raises UsageError.

    path        a packed dataset (with splits: see `split`), or a packhorse.Dataset
    size        resize whole images to size x size, or
    augment     a crop or a DetectionAugment, or a list of one and the pixel steps that follow it: RandAugment,
                ColorJitter and others (docs/augment.md), or their text, "RandAugment(2, 9), RandomErasing(0.25)"
    targets     True, or packhorse.TargetRules: batches are packhorse.TargetBatch, `images, labels, targets`, with the
                boxes, masks and key points of the images. The dataset must have some
    batch_size  images in a batch
    dtype       of the images: "uint8", 0 to 255; "float32" or "float16", scaled to 0..1; "uint16", of bands; or one of
                numpy's or torch's
    pin_memory  make batches in pinned memory, from which GPUs copy faster, and while they compute
    device      "cuda" or "cuda:N": deliver batches there. They are copied ahead, on a stream of their own, from pinned
                memory. Without such a GPU this is an error
    """

    @overload
    def __init__(
        self: Loader[Batch],
        path: str | os.PathLike[str] | Dataset,
        batch_size: int,
        *,
        targets: Literal[False] = False,
        **options: Unpack[_Keywords],
    ): ...
    @overload
    def __init__(
        self: Loader[TargetBatch],
        path: str | os.PathLike[str] | Dataset,
        batch_size: int,
        *,
        targets: Literal[True] | TargetRules,
        **options: Unpack[_Keywords],
    ): ...
    @overload
    def __init__(
        self: Loader[Any],
        path: str | os.PathLike[str] | Dataset,
        batch_size: int,
        *,
        targets: bool | TargetRules,
        **options: Unpack[_Keywords],
    ): ...
    @takes(LoaderOptions)
    def __init__(
        self,
        path: str | os.PathLike[str] | Dataset,
        batch_size: int,
        *,
        size: int | None = None,
        augment: Augment | Sequence | None = None,
        targets: bool | TargetRules = False,
        split: str = "",
        dtype="uint8",
        pin_memory: bool = False,
        device=None,
        **options: Unpack[LoaderOptions],
    ):
        _pytorch.refuse_keywords(options)
        self.device = _device.cuda_device(device)
        pin_memory = pin_memory or self.device is not None
        if pin_memory and options.get("huge_pages"):
            raise ValueError("huge_pages and pinned memory: choose one")
        self.dataset = _as_it_is(path, split) if isinstance(path, Dataset) else Dataset(path, split=split)
        crop, pixels = _stages(size, augment)
        rules = native_rules(targets)
        if rules is not None:
            self.dataset.require_targets()
        self._kinds = {record["kind"] for record in self.dataset.target_records}
        self.channels_last = options.get("channels_last") is not False
        rank, world_size = options.get("rank"), options.get("world_size")
        if (rank is None) != (world_size is None):
            raise ValueError("rank and world_size: give both, or neither")
        if rank is None or world_size is None:
            rank, world_size = _process_group()
        self.batch_size, self.seed = _whole("batch_size", batch_size), options.get("seed") or 0
        self.rank, self.world_size = rank, world_size
        own = {"batch_size": self.batch_size, "dtype": _pixels.type_name(dtype), "rank": rank, "world_size": world_size}
        self._native = _reader.Loader(
            self.dataset._native,
            augment=native(crop),
            pixels=pixels,
            given=options | own,
            pinning=_device.pinning(self.device) if pin_memory else None,
            targets=rules,
        )
        self._shown = (
            f"batch_size={self.batch_size}, augment={[crop, *pixels] if pixels else crop}, dtype={own['dtype']!r}, "
            f"workers={self._native.counters()['workers']}"
        )
        self._epoch, self._done = 0, 0  # what the next iteration begins with
        self._pass: _Pass | None = None  # the one begun last
        self._one_at_a_time = threading.Lock()  # of threads that share the loader

    def __repr__(self) -> str:
        ranks = f", rank={self.rank}, world_size={self.world_size}" if self.world_size > 1 else ""
        return f"packhorse.Loader({self.dataset.path!r}, {self._shown}{ranks}, len={len(self)})"

    def __len__(self) -> int:
        """Batches of a whole epoch, also while load_state_dict() left less of one."""
        return self._native.steps()

    def __iter__(self) -> Iterator[Delivers]:
        if len(self) == 0:
            raise ValueError(
                f"an epoch has no batch: {len(self.dataset)} samples make no batch of {self.batch_size} "
                f"for each of {self.world_size} ranks; use drop_last=False or a smaller batch_size"
            )
        return self._batches()

    def _batches(self) -> Iterator[Any]:
        this = self._begin()  # not before the first batch is wanted: some programs make iterators and drop them
        batches = self._host_batches(this)
        if self.device is not None:
            batches = _device.on_device(batches, self._native.is_ready, _device.CudaCopies(self.device))
        for batch in batches:
            self._check_newest(this)
            this.done, this.left = batch._done, this.left - 1
            yield batch

    def _host_batches(self, this: _Pass) -> Iterator[Any]:
        while this.left > 0:
            self._native.check()  # before a lock that may be another process's
            with self._one_at_a_time:
                self._check_newest(this)
                try:
                    arrays = self._native.next()
                except UnsupportedError as error:
                    error.advice = OTHER_KINDS
                    raise
                if arrays is None:
                    return
                batch = self._batch(*arrays)
            yield batch

    def _check_newest(self, this: _Pass) -> None:
        if self._pass is not this:
            raise UsageError(
                f"another iteration of this Loader has begun, or a state was loaded: {this.left} batches of epoch "
                f"{this.epoch} were not delivered",
                self.dataset.path,
                advice="end one loop before the next, or make a second Loader",
            )

    def _begin(self) -> _Pass:
        self._native.check()
        with self._one_at_a_time:
            self._native.start_epoch(self._epoch, self._done)
            self._pass = _Pass(self._epoch, self._done, self._native.steps(self._done))
            self._epoch, self._done = self._epoch + 1, 0
            return self._pass

    def _batch(self, images, labels, samples, targets=None) -> Batch | TargetBatch:
        size = images.shape[1:3] if self.channels_last else images.shape[2:4]
        arrays = _pixels.as_tensors(images, labels, self.channels_last)
        batch = Batch(*arrays) if targets is None else TargetBatch(*arrays, Targets(targets, size, self._kinds))
        batch.samples, batch._done = samples, self._native.done()
        return batch

    @property
    def epoch(self) -> int:
        """The epoch of the next iteration."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, from its start."""
        self._epoch, self._done = epoch, 0

    def state_dict(self) -> dict:
        """Where the iteration is: after the batches delivered so far; after the last one, at the start of the next
        epoch. Some numbers and the order's name, valid at any other world size. For torchdata's and Lightning's
        checkpoints, too."""
        epoch, done = self._epoch, self._done
        if self._pass is not None and self._pass.left > 0:
            epoch, done = self._pass.epoch, self._pass.done
        return {"seed": self.seed, "epoch": epoch, "done": done, "order": self._native.order, "data": self.dataset.id}

    def load_state_dict(self, state: dict, *, other_data: bool = False) -> None:
        """The next iteration goes on where `state` was taken. len() remains that of a whole epoch. A state from the
        middle of an epoch is refused where the dataset has other samples, or another order of them, unless
        `other_data` says that this is meant; one from an epoch's start gives a warning."""
        epoch, done, seed = (_number(state, name) for name in ("epoch", "done", "seed"))
        if seed != self.seed:
            raise UsageError(f"the state is of seed {seed}, this loader has seed {self.seed}")
        self._check_data(state, done, other_data)
        if done > 0 and (order := state.get("order", self._native.order)) != self._native.order:
            raise UsageError(
                f"the state is from the middle of an epoch in the order {order!r}, and this loader has "
                f"{self._native.order!r}: give order={order!r}"
            )
        if done > 0 and self._native.steps(done) == 0:  # less than a batch of that epoch is left, and dropped
            epoch, done = epoch + 1, 0
        self._epoch, self._done, self._pass = epoch, done, None

    def _check_data(self, state: dict, done: int, other_data: bool) -> None:
        data = state.get("data")  # earlier versions did not say
        if data is None or data == self.dataset.id or other_data:
            return
        what = (
            f"the state is of other data, or of another packing: its dataset has the id {data[:12]}, "
            f"this one {self.dataset.id[:12]}"
        )
        if done == 0:
            warnings.warn(what, stacklevel=3)
            return
        raise UsageError(
            f"{what}; {done} of its samples were done",
            self.dataset.path,
            advice="open the dataset it was taken from, or load_state_dict(state, other_data=True), which leaves out the "
            "first samples of this one",
        )

    def stats(self) -> dict:
        """Counters since the loader was made, in seconds over all threads, and who waits for whom: `limit`."""
        counters = self._native.counters()
        waits, idle = counters["consumer_wait_s"], counters["workers_wait_s"] / max(counters["workers"], 1)
        counters["limit"] = "none" if not counters["batches"] else "loader" if waits > idle else "consumer"
        return counters

    def bad_samples(self) -> list[dict]:
        """The samples that were replaced: epoch, sample, by (what replaced it), what (the error)."""
        return self._native.bad_samples()


def _as_it_is(dataset: Dataset, split: str) -> Dataset:
    """The dataset, of which nothing was asked that a Loader would not do."""
    given = [name for name in ("transform", "target_transform", "transforms") if getattr(dataset, name) is not None]
    if split or given:
        raise UsageError(
            f"a Loader does not use {given[0]}= of a Dataset" if given else "split= chooses from a path, not of a Dataset",
            dataset.path,
            "give augment=, or read the Dataset with torch.utils.data.DataLoader" if given else "give Dataset(path, split=)",
        )
    return dataset


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}={value!r}: give one whole number")
    return operator.index(value)


def _number(state: dict, name: str) -> int:
    value = state.get(name) if isinstance(state, dict) else None
    if hasattr(value, "__index__") and value >= 0:  # also numpy's
        return value.__index__()
    held = sorted(map(str, state)) if isinstance(state, dict) else type(state).__name__
    raise UsageError(
        f"this is no state of a packhorse.Loader: {name!r} is no number from 0 on in {held}",
        advice="give what state_dict() of a Loader returned",
    )


@dataclasses.dataclass
class _Pass:
    """An iteration: its epoch, the samples delivered (over all ranks), and how many batches it will still deliver."""

    epoch: int
    done: int
    left: int


def _stages(size, augment):
    """The crop of what the caller gave, and the pixel steps in their order."""
    if (size is None) == (augment is None):
        raise ValueError("give either size=, to resize whole images, or augment=, e.g. packhorse.RandomResizedCrop(224)")
    if size is not None:
        return _reader.Resize(_whole("size", size)), []
    crop, steps = None, []
    for stage in augment if isinstance(augment, (list, tuple)) else [augment]:
        if isinstance(stage, _reader.PixelStep):
            steps.append(stage)
        elif isinstance(stage, str):
            steps += _reader.parse_pixel_steps(stage)
        elif not isinstance(stage, Augment):
            raise TypeError(f"augment: {stage!r} is none of packhorse's; give e.g. packhorse.RandomResizedCrop(224)")
        elif crop is not None:
            raise ValueError(f"augment: {type(stage).__name__} comes second; there is one crop")
        else:
            crop = stage
    if crop is None:
        raise ValueError("augment: a crop is missing, e.g. packhorse.RandomResizedCrop(224)")
    return crop, steps
