"""Which samples come, and how often: parts of datasets, and weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNS = ("label", "key", "path", "bytes", "width", "height", "member")


class Columns(Mapping):
    """What the index says of all samples: a numpy array for each of label, key, path (in the source), bytes, width and
    height (of the stored image) and member. A column is made when it is first asked for."""

    def __init__(self, native: Any):
        self._native = native
        self._made: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        import numpy  # noqa: PLC0415

        if name not in COLUMNS:
            raise KeyError(f"{name}: the columns are {', '.join(COLUMNS)}")
        if name not in self._made:
            self._made[name] = numpy.asarray(self._native.column(name))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COLUMNS)

    def __len__(self) -> int:
        return len(COLUMNS)


Where = Callable[[Columns], Any]


@dataclasses.dataclass(frozen=True)
class Subset:
    """The samples of a dataset for which all that is given holds, in their order: `Dataset(path, subset=...)`.

        train = packhorse.Subset(fold=(5, 0))                  # four fifths of the dataset
        val = packhorse.Subset(fold=(5, 0), held_out=True)     # the last fifth

    classes     names or numbers
    keys        a glob of the samples' keys
    paths       a glob of their paths in the source; "*" also matches "/"
    min_side    pixels that the shorter side of the stored image has at least
    fold        (k, i): all but part i of k, with held_out=True part i. The part of a sample depends on its path in the
                source alone (its key, if that is unknown), or on the paths of its class: with stratified=True each part
                has as many samples of a class as any other, or one more
    where       a function of the columns of all samples, which gives an array of bools or of numbers:
                lambda columns: columns["width"] >= 224
    """

    classes: Sequence[str | int] = ()
    keys: str = ""
    paths: str = ""
    min_side: int = 0
    fold: tuple[int, int] | None = None
    held_out: bool = False
    stratified: bool = False
    where: Where | None = None

    def __post_init__(self):
        if self.fold is None and (self.held_out or self.stratified):
            raise ValueError("held_out and stratified are about a fold: give fold=(k, i)")
        if not hasattr(self.classes, "__iter__") or isinstance(self.classes, str):
            raise TypeError(f"classes={self.classes!r}: give a list of names or numbers")
        if not _counts([self.min_side]):
            raise TypeError(f"min_side={self.min_side!r}: give a number of pixels")
        if self.fold is not None and not (isinstance(self.fold, (tuple, list)) and len(self.fold) == 2 and _counts(self.fold)):
            raise TypeError(f"fold={self.fold!r}: give (k, i), for all but part i of k")

    def numbers_in(self, native: Any) -> NDArray[np.uint64]:
        """The numbers of the chosen samples."""
        import numpy  # noqa: PLC0415

        fold = None if self.fold is None else (*self.fold, self.held_out, self.stratified)
        names = [class_name(native, one) for one in self.classes]
        chosen = numpy.asarray(native.choose(names, self.keys, self.paths, self.min_side, fold))
        if self.where is None:
            return chosen
        picked = numbers_of(self.where(Columns(native)), len(native))
        return numpy.asarray(picked if len(chosen) == len(native) else picked[numpy.isin(picked, chosen)])


def _counts(given: Sequence[Any]) -> bool:
    """Whether all are whole numbers from 0 on, as C++ takes them."""
    return all(hasattr(one, "__index__") and 0 <= one < 2**32 for one in given)


def class_name(native: Any, one: Any) -> str:
    """The name of a class, given by name or number."""
    if isinstance(one, str):
        return one
    if isinstance(one, bool) or not hasattr(one, "__index__"):
        raise TypeError(f"a class is given by name or number, not by a {type(one).__name__}")
    if not 0 <= one < len(native.classes):
        raise UsageError(f"there is no class {one}: the dataset has {len(native.classes)}")
    return native.classes[one]


def numbers_of(given: Any, size: int) -> NDArray[np.uint64]:
    """Sample numbers of an array of bools, one for each of `size` samples, or of numbers."""
    import numpy  # noqa: PLC0415

    array = numpy.asarray(given)
    if array.ndim != 1:
        raise TypeError(f"the numbers of samples are one list, not an array of the shape {array.shape}")
    if array.dtype == bool:
        if len(array) != size:
            raise UsageError(f"{len(array)} bools for {size} samples: give one for each")
        return numpy.flatnonzero(array).astype(numpy.uint64)
    if len(array) and not numpy.issubdtype(array.dtype, numpy.integer):
        raise TypeError(f"the numbers of samples are whole numbers or bools, not {array.dtype}")
    if len(array) and array.min() < 0:
        raise UsageError(f"there is no sample {array.min()}: the dataset has {size}")
    return numpy.ascontiguousarray(array, dtype=numpy.uint64)


def chosen(native: Any, indices: Any, subset: Any) -> NDArray[np.uint64] | None:
    """The numbers that indices= and subset= choose; None where neither is given."""
    if indices is None and subset is None:
        return None
    if indices is not None and subset is not None:
        raise ValueError("give either indices= or subset=")
    if indices is not None:
        return numbers_of(indices, len(native))
    if isinstance(subset, Subset):
        return subset.numbers_in(native)
    if isinstance(subset, (str, bytes)) or not (callable(subset) or hasattr(subset, "__len__")):
        raise TypeError(f"subset={subset!r}: give a packhorse.Subset, a function of the columns, or an array")
    return numbers_of(subset(Columns(native)) if callable(subset) else subset, len(native))


def parts_of(members: Sequence[Any], numbers: NDArray[np.uint64]) -> list[Any]:
    """The parts of members that ascending numbers of the samples of all choose."""
    import numpy  # noqa: PLC0415

    begins = numpy.cumsum([0, *(len(member) for member in members)], dtype=numpy.uint64)
    if len(numbers) and numbers[-1] >= begins[-1]:
        raise UsageError(f"there is no sample {numbers[-1]}: the dataset has {begins[-1]}")
    cuts = numpy.searchsorted(numbers, begins)
    for i, member in enumerate(members):
        if cuts[i] == cuts[i + 1]:
            raise UsageError(f"dataset {i} has no samples in this subset", member.path, "leave this dataset out")
    return [member.part(numbers[cuts[i] : cuts[i + 1]] - begins[i]) for i, member in enumerate(members)]


def numbers_in_whole(members: Sequence[Any], sizes: Sequence[int]) -> NDArray[np.uint64]:
    """The numbers that samples of members had when these had `sizes` samples."""
    import numpy  # noqa: PLC0415

    begins = numpy.cumsum([0, *sizes], dtype=numpy.uint64)
    own = [numpy.arange(len(one), dtype=numpy.uint64) if one.indices is None else one.indices for one in members]
    return numpy.concatenate([begin + numbers for begin, numbers in zip(begins[:-1], own, strict=True)])


class Weights:
    """weights= of a Loader, and how they change: by epoch, or by set_weights()."""

    def __init__(self, dataset: Any, given: Any, options: Mapping[str, Any]):
        self._dataset = dataset
        replacement = options.get("replacement")
        stored = options.get("shuffle") is False or options.get("order") == "sequential"
        self._of_epoch = given if callable(given) else None
        first = given(0) if callable(given) else given
        self.text = first if isinstance(first, str) else None
        """balanced, sqrt, or the name of a field; None for all others."""
        self.native = None if self.text is not None or (first is None and stored) else self._named(first)
        """What has weights (classes, samples or members) and these; None where nothing has."""
        self.changed: list[float] | None = None  # by set_weights()
        self._following: list[float] | None = None  # what a state says of the epoch after its own
        if self._of_epoch is not None and self.native is None:
            raise TypeError(f"the weights of an epoch are numbers, not {first!r}")
        of_samples = self.text not in (None, "balanced", "sqrt") or (self.native or ("",))[0] == "samples"
        if replacement is False and of_samples:
            raise UsageError("weights of samples draw with replacement", advice="leave out replacement=False, or weigh classes")

    def _named(self, weights: Any) -> tuple[str, NDArray[np.float64] | None] | None:
        import numpy  # noqa: PLC0415

        members = 0 if self._dataset._parts else len(self._dataset.members)  # none to weigh where their samples are in another order
        if weights is None:
            return ("members", None) if members else None
        named = {}
        if isinstance(weights, Mapping):
            named = {class_name(self._dataset._native, one): weight for one, weight in weights.items()}
            if len(named) < len(weights):
                raise UsageError("a class has two weights, by its name and by its number", advice="give one for each class")
        try:
            array = numpy.ascontiguousarray([*named.values()] if named else weights, dtype=numpy.float64)
        except (TypeError, ValueError) as error:
            raise UsageError(f"weights are numbers: {error}", advice='give numbers, or "balanced", "sqrt" or a field') from error
        if named:
            return "classes", numpy.asarray(self._dataset._native.class_weights(dict(zip(named, array.tolist(), strict=True))))
        if array.ndim != 1:
            raise TypeError(f"weights are one list, not an array of the shape {array.shape}")
        return "members" if members and len(array) == members else "samples", array

    def _give(self, native: Any, weights: Any) -> list[float]:
        what, array = self._named(weights) or ("nothing", None)
        if self.native is None:
            raise UsageError(
                "this Loader has no weights that can change",
                advice="make it with weights=, a number for each sample, class or dataset",
            )
        own = self.native[0]
        if array is None or what != own:
            raise UsageError(f"these are weights of {what}, and the Loader's are of {own}", advice=f"give weights of {own}")
        native.set_weights(array)
        return array.tolist()

    def set(self, native: Any, weights: Any) -> None:
        """Gives a native loader other weights, from its next epoch on."""
        if self._of_epoch is not None:
            raise UsageError("the weights of this Loader are a function of the epoch", advice="make it with weights=, a list")
        self.changed, self._following = self._give(native, weights), None

    def begin(self, native: Any, epoch: int) -> None:
        """Gives a native loader the weights of an epoch, before it begins."""
        if self._of_epoch is not None:
            self._give(native, self._of_epoch(epoch))

    def began(self, native: Any) -> None:
        """An epoch has begun: a state that was loaded may have others for the next."""
        if self._following is not None:
            self.set(native, self._following)

    def _sizes(self) -> NDArray[np.float64]:
        """By which each sample of a mixture comes once."""
        import numpy  # noqa: PLC0415

        return numpy.array([len(member) for member in self._dataset.members], dtype=numpy.float64)

    def held(self) -> dict[str, Any]:
        """What resume() brings back."""
        return {"weights": self.changed, "next_weights": self._following}

    def resume(self, native: Any, state: Mapping[str, Any], epoch: int) -> None:
        """The weights of a state; where it has none, those that the Loader was made with."""
        if state.get("weights") is not None:
            self.set(native, state["weights"])
        elif self.changed is not None:
            own = self.native and self.native[1]
            native.set_weights(self._sizes() if own is None else own)
            self.changed = None
        self._following = state.get("next_weights")
        self.begin(native, epoch)
