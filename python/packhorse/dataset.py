"""A packed dataset, sample by sample: what torch.utils.data.DataLoader and plain loops read."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Callable, Sequence

from . import _reader
from .errors import UnsupportedError

_KINDS = ("pil", "numpy", "torch", "bytes")


class Dataset:
    """`image, label = dataset[i]`, and all that a map-style dataset of PyTorch has. Threads may share it; it can be
    pickled, and used after fork().

        dataset = packhorse.Dataset("packed/train", transform=transform)      # PIL images, as ImageFolder gives them
        loader = torch.utils.data.DataLoader(dataset, batch_size=256, shuffle=True, num_workers=8)

    path        a packed dataset
    split       which of its splits ("train" where there is one)
    image       "pil" (RGB, by Pillow), "numpy" (uint8 [height, width, 3], by packhorse's decoder, upright),
                "torch" (the same, uint8 [3, height, width]) or "bytes" (the file)
    transform   of the image; target_transform of the label
    """

    def __init__(
        self,
        path: str | os.PathLike,
        *,
        split: str = "",
        image: str = "pil",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
    ):
        self.path, self.split, self.image = os.fspath(path), split, image
        if image not in _KINDS:
            raise ValueError(f"image={image!r} is none of {', '.join(_KINDS)}")
        self.transform, self.target_transform = transform, target_transform
        self._native = _reader.Dataset.open(self.path, split)

    def __getstate__(self) -> dict:
        return {name: value for name, value in self.__dict__.items() if name not in ("_native", "labels")}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._native = _reader.Dataset.open(self.path, self.split)

    def __repr__(self) -> str:
        return f"packhorse.Dataset({self.path!r}, {len(self)} samples, {len(self.classes)} classes)"

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, index: int) -> tuple:
        image, label = self._image(index), self._native.label(index)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label

    def __getitems__(self, indices: Sequence[int]) -> list[tuple]:
        return [self[index] for index in indices]

    @property
    def classes(self) -> list[str]:
        return self._native.classes

    @functools.cached_property
    def labels(self):
        """The labels of all samples, a numpy array int64."""
        return self._native.labels()

    @property
    def targets(self) -> list[int]:
        """The labels, as torchvision's datasets call them."""
        return self.labels.tolist()

    def read(self, index: int) -> bytes:
        """The image's file as it was packed. Its hash is checked."""
        return self._native.read(index)

    def decode(self, index: int, augment=None, *, seed: int = 0, epoch: int = 0):
        """The image's pixels, a numpy array uint8 [height, width, 3], by packhorse's decoder: whole and upright, or
        what a Loader with this `augment`, seed and epoch makes of it."""
        return self._native.decode(index, augment, seed, epoch)

    def describe(self, index: int) -> str:
        """The sample's name for people: its key and shard."""
        return self._native.describe(index)

    def _image(self, index: int):
        if self.image == "bytes":
            return self.read(index)
        if self.image == "pil":
            return self._pil(index)
        try:
            pixels = self.decode(index)
        except UnsupportedError as error:
            error.advice = 'open such images with Pillow: packhorse.Dataset(..., image="pil")'
            raise
        if self.image == "numpy":
            return pixels
        import torch

        return torch.from_numpy(pixels).permute(2, 0, 1)

    def _pil(self, index: int):
        try:
            from PIL import Image
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError('PIL images need Pillow: pip install pillow, or image="numpy"') from error
        if self._native.image_mode == "raw":
            return Image.fromarray(self.decode(index))
        return Image.open(io.BytesIO(self.read(index))).convert("RGB")
