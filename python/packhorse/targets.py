"""What samples have besides their label: objects with boxes, masks and key points, classes, captions, masks of pixels."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from . import _reader
from .errors import UnsupportedError


@dataclass(frozen=True)
class TargetRules:
    """Which objects of a sample stay, and how.

    min_side, min_visible
                boxes are cut at the edge of what is seen; those with fewer pixels than min_side on either side left, or
                a smaller share of their area than min_visible, are dropped
    masks       "stored": polygons stay polygons, with their corners moved; "run_lengths": every mask is one of the
                output's pixels, by the nearest stored one
    """

    min_side: float = 1.0
    min_visible: float = 0.0
    masks: str = "stored"

    def __post_init__(self):
        if self.masks not in ("stored", "run_lengths"):
            raise ValueError(f'masks={self.masks!r} is neither "stored" nor "run_lengths"')


def native_rules(targets: Any) -> tuple | None:
    """What the C++ loader takes for targets=True, a TargetRules, or neither."""
    if targets is None or targets is False:
        return None
    rules = TargetRules() if targets is True else targets
    if not isinstance(rules, TargetRules):
        raise TypeError(f"targets={targets!r}: give True or a packhorse.TargetRules")
    return rules.min_side, rules.min_visible, rules.masks == "run_lengths"


class Targets:
    """What the samples of a batch have besides their label, in pixels of its images: columns, one object after the
    other. They are yours, as the batch is. Tensors where torch is imported, otherwise numpy arrays; nothing is copied.

    Image i has the objects offsets[i] to offsets[i + 1] - 1 of

    boxes       float32 [n, 4]: left, top, right, bottom, as torchvision's XYXY
    labels      int32 [n]: places in Dataset.object_classes
    flags       uint8 [n]: 1 crowd, 2 difficult, 4 truncated, 8 occluded
    areas       float32 [n]: in pixels
    keypoints   float32 [n, k, 3]: x, y, visibility (0 not seen, 1 hidden, 2 visible); None where the dataset has none

    and masks, as polygons or run lengths: object j has the polygons polygons[j] to polygons[j + 1] - 1, of which p has
    the corners points[p] to points[p + 1] - 1 of outlines (float64 [q, 2]); or it has the counts runs[j] to
    runs[j + 1] - 1, COCO's run lengths of the image. split() makes of them what torchvision's models take.

    What the dataset has no target for is None, of these:

    class_offsets, class_labels, class_scores
                image i has the classes class_offsets[i] to class_offsets[i + 1] - 1 of class_labels (int32 [m]); their
                scores are float32 [m], or none; multi_hot() makes a matrix of them
    captions    a list of texts; several captions of an image are lines
    masks       uint8 [batch, height, width]: the class of each pixel
    """

    COLUMNS = (
        "offsets", "boxes", "labels", "flags", "areas", "polygons", "points", "outlines", "runs", "counts", "keypoints",
    )  # fmt: skip
    CLASSES = ("class_offsets", "class_labels", "class_scores")
    __slots__ = (*COLUMNS, *CLASSES, "captions", "masks", "size")

    offsets: Any
    boxes: Any
    labels: Any
    flags: Any
    areas: Any
    polygons: Any
    points: Any
    outlines: Any
    runs: Any
    counts: Any
    keypoints: Any
    class_offsets: Any
    class_labels: Any
    class_scores: Any
    captions: list[str] | None
    masks: Any
    size: tuple[int, int]  # height and width of the images

    def __init__(self, columns: dict[str, Any], size: tuple[int, int], kinds: Collection[str] = ()):
        """kinds: the dataset's, besides objects."""
        self.size = (int(size[0]), int(size[1]))
        for name in self.COLUMNS:
            self._set(name, columns.get(name))
        for name in self.CLASSES:
            self._set(name, columns[name] if "classes" in kinds else None)
        self._set("masks", columns["masks"].reshape(-1, *self.size) if "mask" in kinds else None)
        self.captions = None
        if "caption" in kinds:
            ends = columns["caption_offsets"].tolist()
            self.captions = [columns["captions"][a:b].decode() for a, b in zip(ends[:-1], ends[1:], strict=True)]

    def _set(self, name: str, column: Any) -> None:
        torch = sys.modules.get("torch")
        setattr(self, name, column if torch is None or column is None else torch.from_numpy(column))

    def multi_hot(self, classes: int) -> Any:
        """float32 [batch, classes]: 1 for each class that an image has, or its score; 0 for all others."""
        if self.class_offsets is None:
            raise UnsupportedError(
                "the dataset gives its samples one class each", advice="pack it with targets='classes:TABLE'"
            )
        import numpy as np

        offsets, labels, scores = (_array(getattr(self, name)) for name in self.CLASSES)
        made = np.zeros((len(self), classes), np.float32)
        rows = np.repeat(np.arange(len(self)), np.diff(offsets))
        made[rows, labels] = scores if len(scores) else 1
        return _tensor(made) if _is_tensor(self.class_labels) else made

    def __len__(self) -> int:
        """Images."""
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"packhorse.Targets({len(self.boxes)} objects in {len(self)} images of {self.size[0]} x {self.size[1]})"

    def __getstate__(self) -> dict:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def split(
        self, *, masks: bool | str = False, first_label: int = 0, tv_tensors: bool = False, device: Any = None
    ) -> list[dict[str, Any]]:
        """A dictionary for each image, as torchvision's detection models take them: boxes, labels (int64), iscrowd
        (int64), area, and keypoints where there are any. Boxes, areas and key points are views of the columns. Where
        the dataset has them, also classes (int64), scores, caption and semantic_mask.

        masks       also "masks", uint8 [n, height, width]; masks="bool": of the type bool. An object without a mask has
                    an empty one
        first_label
                    what the first class is called: 1 for models whose class 0 is the background (Faster R-CNN, SSD)
        tv_tensors  boxes and masks are torchvision's tv_tensors, for its transforms, and so are key points: then
                    "keypoints" are KeyPoints [n, k, 2], and "visibility" is [n, k]
        device      where the tensors shall be
        """
        if masks not in (False, True, "uint8", "bool"):
            raise ValueError(f'masks={masks!r}: True, "bool" or False')
        columns = self._columns(first_label)
        wrap = _wrapper(self.size, self.keypoints is not None) if tv_tensors else None
        offsets = self.offsets.tolist()
        made: list[dict[str, Any]] = []
        for begin, end in zip(offsets[:-1], offsets[1:], strict=True):
            one = {name: column[begin:end] for name, column in columns.items()}
            if masks:
                drawn = self.draw_masks(begin, end)
                one["masks"] = drawn if masks != "bool" else drawn != 0
            self._add_others(one, len(made))
            caption = one.pop("caption", None)
            if tv_tensors or device is not None:
                one = {name: _tensor(value) for name, value in one.items()}
            if device is not None:
                one = {name: value.to(device) for name, value in one.items()}
            one = one if wrap is None else wrap(one)
            made.append(one if caption is None else {**one, "caption": caption})
        return made

    def _add_others(self, one: dict[str, Any], i: int) -> None:
        """What image i has besides objects."""
        if self.class_offsets is not None:
            begin, end = int(self.class_offsets[i]), int(self.class_offsets[i + 1])
            one["classes"] = _int64(self.class_labels[begin:end])
            if len(self.class_scores) > 0:
                one["scores"] = self.class_scores[begin:end]
        if self.masks is not None:
            one["semantic_mask"] = self.masks[i]
        if self.captions is not None:
            one["caption"] = self.captions[i]

    def draw_masks(self, begin: int, end: int) -> Any:
        """The masks of the objects begin to end - 1, uint8 [end - begin, height, width] of 0 and 1."""
        polygons, points, outlines = (_array(column) for column in (self.polygons, self.points, self.outlines))
        runs, counts = _array(self.runs), _array(self.counts)
        drawn = _reader.draw_masks(polygons, points, outlines, runs, counts, begin, end, *self.size)
        return _tensor(drawn) if _is_tensor(self.boxes) else drawn

    def _columns(self, first_label: int) -> dict[str, Any]:
        columns = {
            "boxes": self.boxes,
            "labels": _int64(self.labels) + first_label,
            "iscrowd": _int64(self.flags & 1),
            "area": self.areas,
        }
        return columns if self.keypoints is None else {**columns, "keypoints": self.keypoints}


def _is_tensor(column: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(column, torch.Tensor)


def _int64(column: Any):
    return column.long() if _is_tensor(column) else column.astype("int64")


def _array(column: Any):
    return column.numpy() if _is_tensor(column) else column


def _tensor(column: Any):
    import torch

    return column if isinstance(column, torch.Tensor) else torch.from_numpy(column)


def _wrapper(size: tuple[int, int], keypoints: bool):
    """What makes torchvision's tv_tensors of an image's tensors."""
    try:
        from torchvision import tv_tensors
    except ImportError as error:
        raise UnsupportedError(
            "tv_tensors=True needs torchvision 0.16 or later", advice="pip install torchvision"
        ) from error
    if keypoints and not hasattr(tv_tensors, "KeyPoints"):
        raise UnsupportedError(
            "this torchvision has no tv_tensors for key points", advice="pip install 'torchvision>=0.23'"
        )

    def wrap(one: dict[str, Any]) -> dict[str, Any]:
        one["boxes"] = tv_tensors.BoundingBoxes(one["boxes"], format="XYXY", canvas_size=size)
        for name in ("masks", "semantic_mask"):
            if name in one:
                one[name] = tv_tensors.Mask(one[name])
        if keypoints:
            points = one["keypoints"]
            one["keypoints"] = tv_tensors.KeyPoints(points[..., :2], canvas_size=size)
            one["visibility"] = points[..., 2]
        return one

    return wrap
