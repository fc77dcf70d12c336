"""The objects of a sample on their way into a Writer, as arrays of what the extension takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .errors import UsageError

_FLAGS = {"crowd": 1, "difficult": 2, "truncated": 4, "occluded": 8}  # as the extension has them


class ObjectArrays:
    """Makes arrays of boxes, labels, masks and key points as users have them. `classes`: of the objects; `keypoints`:
    how many each has."""

    def __init__(self, classes: Sequence[str], keypoints: int):
        self._classes = {name: number for number, name in enumerate(classes)}
        self._keypoints = keypoints

    def __call__(self, boxes, labels, masks, keypoints, flags, area) -> dict[str, Any] | None:
        """None where nothing is said of objects. `flags`: by their names, for each box or None."""
        if boxes is None:
            others = {"box_labels": labels, "masks": masks, "keypoints": keypoints, **flags, "area": area}
            alone = [name for name, value in others.items() if value is not None]
            if alone:
                raise UsageError(f"{' and '.join(alone)} without boxes", advice="give the boxes, too; [] for no objects")
            return None
        boxes = _numbers("boxes", boxes, "float32", (-1, 4))
        count = len(boxes)
        if labels is None and count:
            raise UsageError("boxes without box_labels", advice="give a class's name or number for each box")
        given: dict[str, Any] = {
            "boxes": boxes,
            "labels": [self._label(label) for label in _each("box_labels", () if labels is None else labels, count)],
            "flags": _joined(flags, count),
        }
        if area is not None:
            given["areas"] = _numbers("area", area, "float32", (count,)).tolist()
        if masks is not None:
            given["masks"] = [_mask(one) for one in _each("masks", masks, count)]
        if keypoints is not None:
            given["keypoints"] = _numbers("keypoints", keypoints, "float32", (count, self._keypoints, 3))
        return given

    def _label(self, label: Any) -> int:
        if isinstance(label, str):
            if label not in self._classes:
                raise UsageError(f"no class of objects is called {label!r}", advice="name it in object_classes=")
            return self._classes[label]
        if isinstance(label, bool) or not hasattr(label, "__index__"):
            raise UsageError(f"an object's label is a class's name or number, not a {type(label).__name__}")
        number = label.__index__()
        if not 0 <= number < len(self._classes):
            raise UsageError(f"the object's label {number} is none of the {len(self._classes)} classes of objects")
        return number


def _joined(flags: Mapping[str, Any], count: int) -> list[int]:
    """The flags of each box in one number."""
    joined = [0] * count
    for name, values in flags.items():
        for i, value in enumerate(() if values is None else _each(name, values, count)):
            joined[i] |= _FLAGS[name] if value else 0
    return joined


def _numbers(name: str, values: Any, dtype: str, shape: tuple[int, ...]):
    """An array of that type and shape; -1: any number."""
    import numpy as np

    try:
        made = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} are no array of numbers: {error}") from error
    wanted = [str(side) if side >= 0 else "n" for side in shape]
    if made.size == 0 and (shape[0] <= 0 or 0 in shape):
        made = made.reshape([max(side, 0) for side in shape])
    if made.ndim != len(shape) or any(side not in (-1, have) for side, have in zip(shape, made.shape, strict=True)):
        raise UsageError(f"{name} of the shape {list(made.shape)}", advice=f"give [{', '.join(wanted)}]")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(made, dtype=dtype)


def _each(name: str, values: Any, count: int) -> Sequence[Any]:
    values = values.tolist() if name != "masks" and hasattr(values, "tolist") else values
    if len(values) != count:
        raise UsageError(f"{len(values)} {name} for {count} boxes", advice="give one for each box")
    return values


def _mask(mask: Any):
    """An array of pixels, or a list of polygons [m, 2]; None: the object has no mask."""
    import numpy as np

    if mask is None:
        return None
    if isinstance(mask, (list, tuple)):
        polygons = [np.asarray(polygon, dtype=np.float64) for polygon in mask]
        flat = [polygon.reshape(-1, 2) if polygon.ndim == 1 and polygon.size % 2 == 0 else polygon for polygon in polygons]
        if any(polygon.ndim != 2 or polygon.shape[1] != 2 for polygon in flat):
            raise UsageError(
                "masks: a polygon is no list of points", advice="give [[x, y], ...], or COCO's [x, y, x, y, ...]"
            )
        return [np.ascontiguousarray(polygon) for polygon in flat]
    pixels = np.asarray(mask)
    if pixels.ndim != 2 or pixels.dtype not in (np.bool_, np.uint8):
        raise UsageError(
            f"masks: an object's is {pixels.dtype} of the shape {list(pixels.shape)}",
            advice="give bool or uint8 [height, width], or a list of polygons",
        )
    return np.ascontiguousarray(pixels != 0).view(np.uint8)
