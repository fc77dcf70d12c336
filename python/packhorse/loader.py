"""Batches of pixels from a packed dataset, as fast as the C++ loader makes them."""

from __future__ import annotations

import dataclasses
import functools
import operator
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar, overload

from . import _device, _pixels, _pytorch, _reader, _sampling
from ._hooks import SampleHook, SampleTransform
from ._options import LoaderOptions, takes
from ._tuning import Tuning
from .augment import DetectionAugment, native
from .batch import Batch, Mixed, TargetBatch, ViewsBatch
from .dataset import Dataset
from .errors import Error, UnsupportedError, UsageError
from .targets import TargetRules, Targets, native_rules

if TYPE_CHECKING:
    from typing import Unpack  # since Python 3.11

Augment = (
    _reader.RandomResizedCrop
    | _reader.ResizeCenterCrop
    | _reader.Resize
    | _reader.CenterCrop
    | _reader.PadCrop
    | DetectionAugment
)

Source = str | os.PathLike[str] | Dataset | Sequence[str | os.PathLike[str] | Dataset] | Any

_MOST = 2**64  # numbers of epochs and samples are less

OTHER_KINDS = 'open such images with Pillow: packhorse.Dataset(..., image="pil"); or pack them with --image resize or raw'


Delivers = TypeVar("Delivers", covariant=True)
Made = TypeVar("Made")

if TYPE_CHECKING:

    class _Keywords(LoaderOptions, total=False):
        size: int | None
        augment: Augment | Sequence[Augment | _reader.PixelStep | str] | None
        split: str
        indices: Any
        subset: _sampling.Subset | _sampling.Where | Any
        weights: Any
        dtype: Any
        pin_memory: bool
        device: Any
        sample_transform: SampleTransform | None


def _process_group() -> tuple[int, int]:
    """Rank and world size: torch.distributed's, or those of the environment (torchrun), or 0 of 1."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    rank, world_size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if not (rank and world_size):
        return 0, 1
    if not (rank.isdecimal() and world_size.isdecimal()):
        raise UsageError(f"the environment has RANK={rank} and WORLD_SIZE={world_size}", advice="set both to numbers, or neither")
    return int(rank), int(world_size)


def _share_of_cpus() -> int:
    """The threads of a process beside those that torchrun has started on this machine."""
    local = os.environ.get("LOCAL_WORLD_SIZE", "")
    if not local.isdecimal() or int(local) <= 1:
        return -1
    return max(1, _reader.available_cpus() // int(local))


class Loader(Generic[Delivers]):
    """Reads, decodes and augments a packed dataset in threads of its own, into batches.

        for images, labels in packhorse.Loader("packed/train", batch_size=256, augment=packhorse.RandomResizedCrop(224)):
            ...

    The same seed, epoch and batch_size give the same batches for any number of workers, and those of the C++ loader.
    Each iteration is an epoch: the one after the last begun, or that of set_epoch(). It begins with its first batch.
    There is one at a time: an iteration that another one cuts short raises UsageError.

    path        a packed dataset (with splits: see `split`), or a packhorse.Dataset, or a torch.utils.data.Subset of one;
                or a list of datasets, which are mixed
    indices, subset
                which of its samples, as of packhorse.Dataset
    weights     how often samples come: "balanced" or "sqrt", or a dictionary, of classes; a list with a number for each
                sample, or the name of the field that has it; of a list of datasets, a list with a number for each. Or a
                function of the epoch that gives these
    size        resize whole images to size x size, or
    augment     a crop or a DetectionAugment, or a list of one and the pixel steps that follow it: RandAugment,
                ColorJitter and others (docs/augment.md), or their text, "RandAugment(2, 9), RandomErasing(0.25)"; or
    views       several samples of each image: a list of crops, each with the pixel steps that follow it, as in
                [RandomResizedCrop(224) * 2, RandomResizedCrop(96) * 8]. Batches are packhorse.ViewsBatch,
                `views, labels`. Each image is read and decoded once
    targets     True, or packhorse.TargetRules: batches are packhorse.TargetBatch, `images, labels, targets`, with the
                boxes, masks and key points of the images. The dataset must have some
    batch_size  images in a batch
    dtype       of the images: "uint8", 0 to 255; "float32" or "float16", scaled to 0..1; "uint16", of bands; or one of
                numpy's or torch's
    pin_memory  make batches in pinned memory, from which GPUs copy faster, and while they compute
    device      "cuda" or "cuda:N": deliver batches there. They are copied ahead, on a stream of their own, from pinned
                memory. Without such a GPU this is an error
    transform   a function that gets each batch, in the thread that iterates; what it returns is delivered instead
    sample_transform
                a function of (image, label, seed) that is called in the loader's threads, one at a time (by the GIL),
                after `augment`. image is a numpy array of its own, uint8 [height, width, 3] whatever dtype= says, or
                float32 [height, width, bands] with bands=. It changes the image and returns None, or returns an array
                of the same shape and type. seed is a number for (seed, epoch, sample): a function that draws from
                numpy.random.default_rng(seed) alone gives the same batches for any number of workers
    """

    @overload
    def __init__(
        self: Loader[ViewsBatch],
        path: Source,
        batch_size: int,
        *,
        views: Sequence,
        **options: Unpack[_Keywords],
    ): ...
    @overload
    def __init__(
        self: Loader[Batch],
        path: Source,
        batch_size: int,
        *,
        views: None = None,
        targets: Literal[False] = False,
        transform: None = None,
        **options: Unpack[_Keywords],
    ): ...
    @overload
    def __init__(
        self: Loader[TargetBatch],
        path: Source,
        batch_size: int,
        *,
        targets: Literal[True] | TargetRules,
        transform: None = None,
        **options: Unpack[_Keywords],
    ): ...
    @overload
    def __init__(
        self: Loader[Made],
        path: str | os.PathLike[str] | Dataset,
        batch_size: int,
        *,
        transform: Callable[[Batch], Made],
        targets: Literal[False] = False,
        **options: Unpack[_Keywords],
    ): ...
    @overload
    def __init__(
        self: Loader[Made],
        path: str | os.PathLike[str] | Dataset,
        batch_size: int,
        *,
        transform: Callable[[TargetBatch], Made],
        targets: Literal[True] | TargetRules,
        **options: Unpack[_Keywords],
    ): ...
    @overload
    def __init__(
        self: Loader[Any],
        path: Source,
        batch_size: int,
        *,
        targets: bool | TargetRules,
        transform: Callable | None = None,
        **options: Unpack[_Keywords],
    ): ...
    @takes(LoaderOptions)
    def __init__(
        self,
        path: Source,
        batch_size: int,
        *,
        size: int | None = None,
        augment: Augment | Sequence | None = None,
        views: Sequence | None = None,
        targets: bool | TargetRules = False,
        split: str = "",
        indices: Any = None,
        subset: _sampling.Subset | _sampling.Where | Any = None,
        weights: Any = None,
        dtype="uint8",
        pin_memory: bool = False,
        device=None,
        transform: Callable | None = None,
        sample_transform: SampleTransform | None = None,
        **options: Unpack[LoaderOptions],
    ):
        _pytorch.refuse_keywords(options)
        self.device = _device.cuda_device(device)
        pin_memory = pin_memory or self.device is not None
        if pin_memory and options.get("huge_pages"):
            raise ValueError("huge_pages and pinned memory: choose one")
        if transform is not None and not callable(transform):
            raise TypeError(f"transform={transform!r}: give a function that gets a batch")
        self._transform = transform
        self._hook = None if sample_transform is None else SampleHook(sample_transform)
        self.dataset = _dataset_of(path, split, indices, subset, targets=targets, bands=options.get("bands"))
        self._weights = _sampling.Weights(self.dataset, weights, options)
        made = _views(size, augment, views)
        rules = native_rules(targets)
        if rules is not None:
            self.dataset.require_targets()
        if views is not None and (rules is not None or options.get("mixup") or options.get("cutmix")):
            raise UsageError("views of an image come without targets, Mixup and CutMix", advice="leave out views=, or these")
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
        own["weights"] = self._weights.text
        if options.get("workers") is None:
            own["workers"] = _share_of_cpus()
        self._native = _reader.Loader(
            self.dataset._native,
            views=[(native(crop), steps) for crop, steps in made],
            given=options | own,
            pinning=_device.pinning(self.device) if pin_memory else None,
            targets=rules,
            hook=self._hook,
            weights=self._weights.native,
        )
        self._several = views is not None
        shown = [[crop, *steps] if steps else crop for crop, steps in made]
        self._shown = (
            f"batch_size={self.batch_size}, {f'views={shown}' if self._several else f'augment={shown[0]}'}, "
            f"dtype={own['dtype']!r}, workers={self._native.counters()['workers']}"
        )
        self._epoch, self._done = 0, 0  # what the next iteration begins with
        self._pass: _Pass | None = None  # the one begun last
        self._one_at_a_time = threading.Lock()  # of threads that share the loader

    def __repr__(self) -> str:
        ranks = f", rank={self.rank}, world_size={self.world_size}" if self.world_size > 1 else ""
        return f"packhorse.Loader({self.dataset.path!r}, {self._shown}{ranks}, len={len(self)})"

    if not TYPE_CHECKING:  # it would hide misspelt names

        def __getattr__(self, name: str) -> NoReturn:
            raise _pytorch.missing(self, name, _pytorch.LOADER_ATTRIBUTES)

    def __len__(self) -> int:
        """Batches of a whole epoch, also while load_state_dict() left less of one."""
        return self._native.steps()

    def __iter__(self) -> Iterator[Delivers]:
        self._refuse_no_batch()
        return self._batches()

    def _refuse_no_batch(self) -> None:
        if len(self) == 0:
            raise ValueError(
                f"an epoch has no batch: {len(self.dataset)} samples make no batch of {self.batch_size} "
                f"for each of {self.world_size} rank{'s' * (self.world_size > 1)}; use drop_last=False or a smaller batch_size"
            )

    def _batches(self) -> Iterator[Any]:
        this = self._begin()  # not before the first batch is wanted: some programs make iterators and drop them
        batches: Iterator[Any] = iter(functools.partial(self._next, this), None)
        if self.device is not None:
            batches = _device.on_device(batches, self._native.is_ready, _device.CudaCopies(self.device))
        for batch in batches:
            self._check_newest(this)
            delivered = batch if self._transform is None else self._transform(batch)
            this.done, this.left = batch._done, this.left - 1
            yield delivered

    def _next(self, this: _Pass) -> Batch | TargetBatch | ViewsBatch | None:
        if this.left <= 0:
            return None
        self._native.check()  # before a lock that may be another process's
        make_tensor = _pixels.tensor_maker()
        with self._one_at_a_time:
            self._check_newest(this)
            try:
                arrays = self._native.next(make_tensor is not None)
            except Error as error:
                raise self._explained(error) from error.__cause__
            return None if arrays is None else self._batch(make_tensor, *arrays)

    def _explained(self, error: Error) -> BaseException:
        if isinstance(error, UnsupportedError) and not error.advice:
            error.advice = OTHER_KINDS
        return error if self._hook is None else self._hook.explained(error)

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
            self._weights.begin(self._native, self._epoch)
            self._native.start_epoch(self._epoch, self._done)
            left, sampling = self._native.steps(self._done), self._native.sampling_id()
            self._pass = _Pass(self._epoch, self._done, left, sampling, self._weights.changed)
            self._weights.began(self._native)
            self._epoch, self._done = self._epoch + 1, 0
            return self._pass

    def _batch(self, make_tensor, images, labels, samples, done, more) -> Batch | TargetBatch | ViewsBatch:
        if self._several and not isinstance(images, list):
            images = [images]
        if make_tensor is not None:
            labels = make_tensor(labels)
            images = [make_tensor(view) for view in images] if self._several else make_tensor(images)
        batch: Any = ViewsBatch(images, labels) if self._several else Batch(images, labels)
        if more is not None:
            batch = self._with_more(batch, more, make_tensor is None and self.channels_last)
        batch.samples, batch._done = samples, done
        return batch

    def _with_more(self, batch: Any, more: dict, interleaved: bool) -> Batch | TargetBatch | ViewsBatch:
        images, labels = batch
        if "targets" in more:
            size = tuple(images.shape[1:3] if interleaved else images.shape[2:4])
            batch = TargetBatch(images, labels, Targets(more["targets"], size, self._kinds))
        elif "mixed" in more:
            soft, partners, lam = more["mixed"]
            batch = Batch(images, _pixels.as_tensor(soft))
            batch.mixed = Mixed(labels, _pixels.as_tensor(partners), lam)
        batch.fields = {name: _pixels.as_tensor(value) for name, value in more.get("fields", {}).items()}
        return batch

    @property
    def epoch(self) -> int:
        """The epoch of the next iteration."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, from its start."""
        number = _whole("epoch", epoch)
        if not 0 <= number < _MOST:
            raise UsageError(f"there is no epoch {number}", advice="epochs are counted from 0")
        self._epoch, self._done = number, 0

    def state_dict(self) -> dict:
        """Where the iteration is: after the batches delivered so far; after the last one, at the start of the next
        epoch. Some numbers and the order's name, valid at any other world size. For torchdata's and Lightning's
        checkpoints, too."""
        epoch, done, this = self._epoch, self._done, self._pass
        within = this is not None and this.left > 0
        if this is not None and within:
            epoch, done = this.epoch, this.done
        state: dict[str, Any] = {"seed": self.seed, "epoch": epoch, "done": done, "order": self._native.order}
        return state | {"data": self.dataset.id} | self._sampling_state(this if within else None, done)

    def _sampling_state(self, this: _Pass | None, done: int) -> dict:
        """What a state has where not every sample comes once."""
        state: dict[str, Any] = {}
        sampling, weights = (self._native.sampling_id(), self._weights.changed) if this is None else (this.sampling, this.weights)
        if sampling:
            state["sampling"] = sampling
        if weights is not None:
            state["weights"] = weights
        if this is not None and weights is not self._weights.changed:
            state["next_weights"] = self._weights.changed
        if self.dataset.members:
            state["members"] = [{"data": one.id} for one in self.dataset.members]
            drawn = self._native.members_done(done) if this is not None else []
            for member, n in zip(state["members"], drawn, strict=False):
                member["done"] = n
        return state

    def set_weights(self, weights: Any) -> None:
        """Other weights of the classes, samples or datasets that have some, from the next epoch on."""
        self._weights.set(self._native, weights)

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
        held = self._weights.held()
        try:
            self._weights.resume(self._native, state, epoch)
            if done > 0 and state.get("sampling", "") != self._native.sampling_id():
                raise UsageError(
                    "the state is from the middle of an epoch with other weights, repeats or num_samples",
                    self.dataset.path,
                    advice="make the Loader as the one it was taken from",
                )
            if done > 0 and self._native.steps(done) == 0:  # less than a batch of that epoch is left, and dropped
                epoch, done = epoch + 1, 0
        except Error:
            self._weights.resume(self._native, held, self._epoch)
            raise
        self._epoch, self._done, self._pass = epoch, done, None

    def _check_data(self, state: dict, done: int, other_data: bool) -> None:
        data = state.get("data")  # earlier versions did not say
        if data is None or data == self.dataset.id or other_data:
            return
        what = (
            f"the state is of other data, or of another packing: its dataset has the id {str(data)[:12]}, "
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

    def tune(self, seconds: float = 10.0) -> Tuning:
        """Measures for about that long which workers=, slots= and order= read this dataset fastest on this machine and
        storage; the loader itself stays as it is. Best before the first epoch, while nothing else runs. Of workers and
        slots it takes the fewest within 5 % of the best, and order="window", which mixes less and makes other batches,
        only where the dataset is not in memory and any other order reads less than 80 % as fast.

            print(loader.tune())                                 # workers=8, slots=4, order='global'
        """
        self._refuse_no_batch()
        try:
            return Tuning(*self._native.tune(float(seconds)))
        except Error as error:
            raise self._explained(error) from error.__cause__

    def stats(self) -> dict:
        """Counters since the loader was made, in seconds over all threads, and who waits for whom: `limit`."""
        counters = self._native.counters()
        return counters | {"limit": _limit(counters)}

    def bad_samples(self) -> list[dict]:
        """The samples that were replaced: epoch, sample, by (what replaced it), what (the error)."""
        return self._native.bad_samples()


def _dataset_of(given: Any, split: str, indices: Any, subset: Any, **taken: Any) -> Dataset:
    """What a Loader reads of a path, a Dataset, a list of these, or PyTorch's Subset or ConcatDataset of Datasets. `taken`:
    what it is told by options of its own, too."""
    if isinstance(given, (list, tuple)):
        dataset = Dataset([_dataset_of(one, split, None, None, **taken) for one in given])
    elif _pytorch.holds(given, "datasets", Dataset):
        return _dataset_of(list(given.datasets), split, indices, subset, **taken)
    elif _pytorch.holds(given, "dataset", Dataset) and hasattr(given, "indices"):
        dataset = _dataset_of(given.dataset, split, given.indices, None, **taken)
    elif isinstance(given, Dataset):
        dataset = given.as_it_is(split, **taken)
    else:
        return Dataset(given, split=split, indices=indices, subset=subset)
    return dataset if indices is None and subset is None else dataset.part(indices, subset)


def _limit(counters: dict) -> str:
    """Who waits for whom. A wait of less than 1 % of the loader's work is none: in a short epoch nobody waits."""
    if not counters["batches"]:
        return "none"
    idle, work = counters["workers_wait_s"], counters["read_s"] + counters["decode_s"]
    return "loader" if counters["consumer_wait_s"] * max(counters["workers"], 1) > max(idle, work / 100) else "consumer"


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}={value!r}: give one whole number")
    return operator.index(value)


def _number(state: dict, name: str) -> int:
    value: Any = state.get(name) if isinstance(state, dict) else None
    if hasattr(value, "__index__") and 0 <= value < _MOST:  # also numpy's
        return value.__index__()
    held = sorted(map(str, state)) if isinstance(state, dict) else type(state).__name__
    raise UsageError(
        f"this is not a state of a packhorse.Loader: {held} has no whole number {name!r} of 0 or more",
        advice="give what state_dict() of a Loader returned",
    )


@dataclasses.dataclass
class _Pass:
    """An iteration: its epoch, the samples delivered (over all ranks), how many batches it will still deliver, which
    samples come (Loader::sampling_id()), and their weights, if set_weights() gave them."""

    epoch: int
    done: int
    left: int
    sampling: str
    weights: list[float] | None


def _views(size, augment, views) -> list[tuple[Augment, list]]:
    """The crops of what the caller gave, each with its pixel steps in their order."""
    if [size, augment, views].count(None) != 2:
        raise ValueError(
            "give exactly one of size=, augment= and views=, e.g. augment=packhorse.RandomResizedCrop(224)"
        )
    if size is not None:
        return [(_reader.Resize(_whole("size", size)), [])]
    name, given = ("augment", augment) if views is None else ("views", views)
    made: list[tuple[Augment, list]] = []
    for stage in _flat(given):
        if isinstance(stage, Augment):
            made.append((stage, []))
            continue
        if not isinstance(stage, (_reader.PixelStep, str)):
            raise TypeError(f"{name}: {stage!r} is not an augmentation of packhorse; give e.g. packhorse.RandomResizedCrop(224)")
        if not made:
            raise ValueError(f"{name}: a crop is missing before {stage!r}, e.g. packhorse.RandomResizedCrop(224)")
        made[-1][1].extend(_reader.parse_pixel_steps(stage) if isinstance(stage, str) else [stage])
    if not made:
        raise ValueError(f"{name}: a crop is missing, e.g. packhorse.RandomResizedCrop(224)")
    if views is None and len(made) > 1:
        raise ValueError(f"augment: {type(made[1][0]).__name__} comes second; several crops are views=")
    return made


def _flat(given) -> Iterator:
    """What is in lists, and in lists of these."""
    if isinstance(given, (list, tuple)):
        for one in given:
            yield from _flat(one)
    else:
        yield given
