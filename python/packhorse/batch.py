"""What a Loader delivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import _pixels
from .targets import Targets

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Mixed(NamedTuple):
    """The labels that Mixup or CutMix joined: `lam * loss(output, labels) + (1 - lam) * loss(output, partners)`."""

    labels: Any  # of the images themselves, int64 [batch]
    partners: Any  # of what each was mixed with, int64 [batch]
    lam: float  # the share of the image itself; 1 in a batch that was not mixed


class _Delivered:
    """What every batch has beside its tuple."""

    samples: NDArray[np.uint64] = None  # type: ignore[assignment]
    """The samples' numbers in the dataset, a numpy array uint64 [batch]."""
    mixed: Mixed | None = None
    """With mixup= or cutmix=, the labels before they were joined."""
    fields: dict[str, Any] = {}  # noqa: RUF012
    """With fields=, what each is for the samples: of .npy an array [batch, ...], otherwise a list of bytes, or of str
    for .txt and captions; None where a sample has none."""
    _done = 0  # samples of the epoch, over all ranks, when this batch is delivered

    def moved(self: Any, images, labels):
        """This batch with its images (those of all views) and labels elsewhere."""
        batch = self._replace(**{self._fields[0]: images, "labels": labels})
        batch.__dict__.update(self.__dict__)
        return batch

    def __repr__(self: Any) -> str:
        held = [f"{name}={_pixels.shown(value)}" for name, value in zip(self._fields, self, strict=True)]
        return f"packhorse.{type(self).__name__}({', '.join(held)})"


class Batch(_Delivered, NamedTuple("Batch", [("images", Any), ("labels", Any)])):
    """`images, labels = batch`. The arrays are yours: they stay valid when the loader goes on, or goes.

    images are of the loader's dtype, labels int64 [batch], or float32 [batch, classes] with mixup= or cutmix=. Where torch
    is imported they are tensors, otherwise numpy arrays:

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


class ViewsBatch(_Delivered, NamedTuple("ViewsBatch", [("views", list), ("labels", Any)])):
    """`views, labels = batch`, for a Loader with views=: a list of images as in Batch, one for each view. `views[i][j]` are
    of the same sample for every i."""
