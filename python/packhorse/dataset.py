"""A packed dataset, sample by sample: what torch.utils.data.DataLoader and plain loops read."""

from __future__ import annotations

import copy
import functools
import io
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, overload

from . import _pixels, _pytorch, _reader, _sampling, remote
from .augment import DetectionAugment
from .errors import UnsupportedError, UsageError
from .targets import Targets

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KINDS = ("pil", "numpy", "torch", "bytes")


class Dataset:
    """`image, label = dataset[i]`, and all that a map-style dataset of PyTorch has. Threads may share it; it can be
    pickled, and used after fork().

        dataset = packhorse.Dataset("packed/train", transform=transform)      # PIL images, as ImageFolder gives them
        loader = torch.utils.data.DataLoader(dataset, batch_size=256, shuffle=True, num_workers=8)

    path        a packed dataset, which may lie at a URL (configure_remote()); then it can't be used after fork(). Or a
                list of datasets, which become one: members, member()
    split       which of its splits ("train" where there is one)
    indices     the numbers of the samples that it is to have, in their order; a number may come several times
    subset      which samples it is to have: a packhorse.Subset, a function of the columns of all samples, as in
                lambda columns: columns["width"] >= 224, or an array of bools
    join_classes
                of several datasets: classes of one name are one class; False keeps them apart, as "0/cat" and "1/cat"
    image       "pil" (RGB, by Pillow), "numpy" (uint8 [height, width, 3], by packhorse's decoder, upright),
                "torch" (the same, uint8 [3, height, width]) or "bytes" (the file)
    bands       "all", or a list of bands, counted from 0: "numpy" and "torch" are then not colours, but these samples
                as they are stored, uint8, uint16 or float32
    transform   of the image; target_transform of the label, or of the target
    targets     samples are (image, target), as torchvision's detection datasets give them: the target is a dictionary
                of boxes, labels, iscrowd, area, image_id, and of keypoints where there are any, in pixels of the image:
                Targets.split()
    masks, first_label, tv_tensors
                of the targets, as in Targets.split()
    transforms  of image and target together: transforms(image, target), as torchvision.transforms.v2 takes them
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str] | Dataset],
        *,
        split: str = "",
        indices: Any = None,
        subset: _sampling.Subset | _sampling.Where | Any = None,
        join_classes: bool = True,
        image: str = "pil",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        targets: bool = False,
        masks: bool | str = False,
        first_label: int = 0,
        tv_tensors: bool = False,
        transforms: Callable | None = None,
        bands: str | Sequence[int] | None = None,
    ):
        if not isinstance(split, str):
            raise TypeError(f"split={split!r}: give the name of a split")
        self.members: list[Dataset] = [_member(one, split) for one in path] if isinstance(path, (list, tuple)) else []
        """The datasets that it was made of."""
        self.path: str = ", ".join(member.path for member in self.members) or _pytorch.path_text(path)
        self.split, self.image, self._join_classes = split, image, join_classes
        if not join_classes and not self.members:
            raise ValueError("join_classes is about a list of datasets")
        if bands is not None and image not in ("numpy", "torch"):
            raise ValueError(f'bands= are decoded by packhorse: they need image="numpy" or "torch", not {image!r}')
        numbers = _pixels.band_numbers(bands)
        self.bands = bands if not numbers else numbers
        if image not in _KINDS:
            raise ValueError(f"image={image!r}: give one of {', '.join(_KINDS)}")
        self.transform, self.target_transform = transform, target_transform
        self._asked: dict[str, Any] = {"masks": masks, "first_label": first_label, "tv_tensors": tv_tensors}
        self._with_targets, self.transforms = targets, transforms
        if not targets and (masks or first_label or tv_tensors or transforms is not None):
            raise ValueError("masks, first_label, tv_tensors and transforms are about targets: give targets=True")
        self._parts: list[NDArray[np.uint64]] = []  # the numbers of the samples, in those of the part before
        self._whole: list[int] | None = None  # how many samples the members have, of which they are parts
        self._open()
        self._choose(indices, subset)
        if targets:
            self.require_targets()

    def __getstate__(self) -> dict:
        state = {name: value for name, value in self.__dict__.items() if name not in ("_native", "labels", "id")}
        return state | {"_remote": remote.options()} if remote.is_url(self.path) else state

    def __setstate__(self, state: dict) -> None:
        remote.adopt(state.pop("_remote", {}))
        self.__dict__.update(state)
        self._open()

    def _open(self) -> None:
        if self.members:
            self._native: Any = _reader.Dataset.concat([member._native for member in self.members], self._join_classes)
        else:
            remote.prepare(self.path, _reader)
            self._native = _reader.Dataset.open(os.fsencode(self.path), self.split)
        for numbers in self._parts:
            self._native = _reader.Dataset.subset(self._native, numbers)
        remote.guard(self)

    def _choose(self, indices: Any, subset: Any) -> None:
        numbers = _sampling.chosen(self._native, indices, subset)
        if numbers is None:
            return
        if self.members and not self._parts and (numbers[1:] >= numbers[:-1]).all():  # then its members are parts of theirs
            self._whole = self._whole or [len(member) for member in self.members]
            self.members = _sampling.parts_of(self.members, numbers)
            self._open()
        else:
            self._native = _reader.Dataset.subset(self._native, numbers)
            self._parts.append(numbers)

    def part(self, indices: Any = None, subset: Any = None) -> Dataset:
        """A dataset of some of its samples, chosen as by Dataset(path, indices=, subset=)."""
        made = copy.copy(self)
        for name in ("labels", "id"):
            made.__dict__.pop(name, None)
        made._parts = list(self._parts)
        made._choose(indices, subset)
        remote.guard(made)
        return made

    @property
    def indices(self) -> NDArray[np.uint64] | None:
        """The numbers of its samples in the whole dataset; None for a whole one."""
        if not self._parts and self._whole is None:
            return None
        parts = self._parts
        if self._whole is not None:
            parts = [_sampling.numbers_in_whole(self.members, self._whole), *parts]
        return functools.reduce(lambda numbers, part: numbers[part.astype(int)], parts)

    def member(self, index):
        """Which of its members a sample is of, and its number there. Also of an array of numbers, as batch.samples: two
        arrays."""
        import numpy  # noqa: PLC0415

        numbers = numpy.asarray(index)
        if not numpy.issubdtype(numbers.dtype, numpy.integer):
            raise TypeError(f"the number of a sample is a whole number, not {numbers.dtype}")
        numbers = numbers.astype(int)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(self):
            raise IndexError(f"sample {numbers.max() if numbers.min() >= 0 else numbers.min()} of {len(self)}")
        for part in reversed(self._parts if self.members else []):
            numbers = part[numbers].astype(int)
        begins = numpy.cumsum([0, *(len(member) for member in self.members)], dtype=int)
        member = numpy.searchsorted(begins[1:], numbers, side="right") if self.members else numpy.zeros_like(numbers)
        within = numbers - begins[member]
        return (member, within) if numbers.ndim else (int(member), int(within))

    def __repr__(self) -> str:
        split = f", split={self.split!r}" if self.split else ""
        kind, classes = ("object class", self.object_classes) if self.object_classes else ("class", self.classes)
        size = f"{len(self)} samples, {len(classes)} {kind}{'es' * (len(classes) != 1)}"
        return f"packhorse.Dataset({self.path!r}{split}, {size}, {self._native.format})"

    def _repr_html_(self) -> str:
        from . import _sheet  # noqa: PLC0415: for notebooks alone

        return _sheet.html(self)

    if not TYPE_CHECKING:  # it would hide misspelt names

        def __getattr__(self, name: str) -> NoReturn:
            raise _pytorch.missing(self, name, _pytorch.DATASET_ATTRIBUTES)

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, index: SupportsIndex) -> tuple[Any, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[Any, Any]]: ...
    def __getitem__(self, index):
        """A sample, by its number or counted from the end; of a slice, a list of them."""
        if isinstance(index, slice):
            return self.__getitems__(range(len(self))[index])
        index = _place(index)
        image = self._image(index)
        label = self._target(index) if self._with_targets else self._native.label(index)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return (image, label) if self.transforms is None else self.transforms(image, label)

    def __getitems__(self, indices: Iterable[SupportsIndex]) -> list[tuple[Any, Any]]:
        return [self[index] for index in indices]

    @functools.cached_property
    def id(self) -> str:
        """The same for copies of a dataset, wherever they lie; another packing has another id."""
        return self._native.id

    @property
    def classes(self) -> list[str]:
        return self._native.classes

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class."""
        return {name: label for label, name in enumerate(self.classes)}

    @property
    def fields(self) -> list[str]:
        """Names of what samples may have besides their image."""
        return self._native.fields

    @property
    def target_records(self) -> list[dict]:
        """Which fields say more of a sample than its label: name, kind, text (the field that told it), classes and
        keypoints."""
        return self._native.targets

    @property
    def object_classes(self) -> list[str]:
        """Classes of the objects: what the labels of boxes number. Empty where the dataset has no objects."""
        return self._objects_record().get("classes", [])

    @property
    def keypoint_names(self) -> list[str]:
        """Names of an object's key points."""
        return self._objects_record().get("keypoints", [])

    @functools.cached_property
    def labels(self) -> NDArray[np.int64]:
        """The labels of all samples, a numpy array int64."""
        return self._native.labels()

    @property
    def targets(self) -> list[int]:
        """The labels, as torchvision's datasets call them."""
        return self.labels.tolist()

    def read(self, index: SupportsIndex) -> bytes:
        """The image's file as it was packed. Its hash is checked."""
        return self._native.read(_place(index))

    def decode(self, index: SupportsIndex, augment=None, *, seed: int = 0, epoch: int = 0, bands=None) -> NDArray[Any]:
        """The image's pixels, a numpy array uint8 [height, width, 3], by packhorse's decoder: whole and upright, or
        what a Loader with this `augment`, a crop, seed and epoch makes of it. `bands`: "all", or a list: these samples
        as they are stored, uint8, uint16 or float32 [height, width, bands]; by default the dataset's own."""
        if isinstance(augment, DetectionAugment):
            raise UsageError(
                "decode() makes crops of one image, and a DetectionAugment may take others",
                advice="read it through packhorse.Loader(..., augment=..., shuffle=False)",
            )
        numbers = _pixels.band_numbers(self.bands if bands is None else bands)
        if numbers is not None:
            return self._native.decode_bands(_place(index), augment, seed, epoch, numbers)
        return self._native.decode(_place(index), augment, seed, epoch)

    def read_field(self, index: SupportsIndex, name: str) -> bytes | None:
        """A field of the sample, its hash checked; None where this sample has none. KeyError where none has."""
        return self._native.read_field(_place(index), name)

    def objects(self, index: SupportsIndex, *, upright: bool = False) -> Targets:
        """The objects in the image, uncut, in pixels of the stored picture; `upright`: of the picture as its EXIF
        orientation turns it, which is what decode() gives."""
        columns, height, width = self._native.objects(_place(index), upright)
        return Targets(columns, (height, width))

    def said(self, index: SupportsIndex, *, upright: bool = False) -> dict[str, Any]:
        """What is said of the sample besides its label and its objects, where the dataset has it: "classes" (places in
        the target's classes) and perhaps their "scores", "caption", "semantic_mask" (uint8 [height, width]; None where
        this sample has none), in pixels of the stored picture or, `upright`, as it is turned."""
        found, kinds = self._native.said(_place(index), upright), self._kinds()
        made: dict[str, Any] = {}
        if "classes" in kinds:
            made["classes"] = found["classes"]
            if found["scores"]:
                made["scores"] = found["scores"]
        if "caption" in kinds:
            made["caption"] = found["caption"].decode()
        if "mask" in kinds:
            made["semantic_mask"] = found.get("mask")
        return made

    def _kinds(self) -> set[str]:
        return {record["kind"] for record in self._native.targets}

    def describe(self, index: SupportsIndex) -> str:
        """The sample's name for people: its key and shard."""
        return self._native.describe(_place(index))

    def _image(self, index: int):
        if self.image == "bytes":
            return self.read(index)
        if self.image == "pil":
            return self._pil(index)
        pixels = self.decode(index)
        if self.image == "numpy":
            return pixels
        import torch

        return torch.from_numpy(pixels).permute(2, 0, 1)

    def as_it_is(self, split: str, **taken: Any) -> Dataset:
        """This dataset, for a Loader or a list of datasets: raises UsageError where it was given what these do not use,
        unless they are told it by options of their own, `taken`."""
        if split:
            raise UsageError("split= chooses from a path, not of a Dataset", self.path, "give Dataset(path, split=)")
        asked = {name: getattr(self, name) for name in ("transform", "target_transform", "transforms", "bands")}
        asked["targets"] = self._with_targets or None
        for name, value in asked.items():
            if value is not None and not taken.get(name):
                raise UsageError(
                    f"a Loader does not use {name}= of a Dataset",
                    self.path,
                    f"give {name}= to the Loader"
                    if name in taken
                    else "give augment=, or read the Dataset with torch.utils.data.DataLoader",
                )
        return self

    def require_targets(self) -> None:
        """Raises UsageError where samples have nothing but their label."""
        if not self._native.targets:
            raise UsageError(
                "the dataset has no targets",
                self.path,
                "pack it with targets= or Writer(object_classes=), or read it without targets",
            )

    def _objects_record(self) -> dict:
        return next((record for record in self._native.targets if record["kind"] == "objects"), {})

    def _target(self, index: int) -> dict:
        upright = self.image in ("numpy", "torch")  # Pillow's pictures are as stored
        kinds = self._kinds()
        target: dict[str, Any] = {}
        if "objects" in kinds:
            [target] = self.objects(index, upright=upright).split(**self._asked)
        if kinds - {"objects"}:
            target |= self.said(index, upright=upright)
        target["image_id"] = index if index >= 0 else index + len(self)
        return target

    def _pil(self, index: int):
        try:
            from PIL import Image
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError('PIL images need Pillow: pip install pillow, or image="numpy"') from error
        if self._native.is_raw(index):
            return Image.fromarray(self.decode(index))
        return Image.open(io.BytesIO(self.read(index))).convert("RGB")


def _member(given: Any, split: str) -> Dataset:
    return given.as_it_is(split) if isinstance(given, Dataset) else Dataset(given, split=split)


def _place(index: Any) -> int:
    try:
        number = operator.index(index)
    except TypeError:
        raise TypeError(f"the number of a sample is a whole number, not a {type(index).__name__}") from None
    if not -(2**63) <= number < 2**63:
        raise IndexError(f"there is no sample {number}")
    return number
