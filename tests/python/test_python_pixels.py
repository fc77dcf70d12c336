"""packhorse.Loader's dtype, mean, std and channels_last: bit for bit torchvision's ToTensor() and Normalize()."""

import numpy as np
import pytest
from package import packed_photos, packhorse
from python_support import pack

torch = pytest.importorskip("torch", reason="torch is not installed")
transforms = pytest.importorskip("torchvision.transforms", reason="torchvision is not installed")

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CIFAR = {"mean": (0.4914, 0.4822, 0.4465), "std": (0.2470, 0.2435, 0.2616)}


@pytest.fixture(scope="module", name="values")
def values_fixture(tmp_path_factory):
    """Pictures that hold each value in each channel, 17 pixels wide and high."""
    folder, out = tmp_path_factory.mktemp("values"), tmp_path_factory.mktemp("packed") / "values"
    for number in range(9):
        pixels = np.random.default_rng(number).permutation(np.resize(np.arange(256), 3 * 17 * 17)).astype(np.uint8)
        picture = folder / ("a" if number % 2 else "b") / f"{number}.ppm"
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(b"P6\n17 17\n255\n" + pixels.tobytes())
    pack(folder, out, "--format", "wds")
    return out


def epoch(path, **options):
    return list(packhorse.Loader(path, 4, **{"size": 17, "seed": 2, **options}))


def as_torchvision(batches, *more):
    """The batches of bytes as torchvision's transforms give them, each image by itself."""
    transform = transforms.Compose([transforms.ToTensor(), *more])
    return [torch.stack([transform(image.permute(1, 2, 0).numpy()) for image in b.images]) for b in batches]


@pytest.mark.parametrize(
    "statistics, channels_last",
    [({}, True), ({"mean": MEAN, "std": STD}, True), (CIFAR, False), ({"mean": [0.5] * 3, "std": np.full(3, 0.5)}, False)],
)
def test_floats_are_those_of_torchvision(values, statistics, channels_last):
    steps = [transforms.Normalize(**statistics)] if statistics else []
    expected = as_torchvision(epoch(values), *steps)
    memory = torch.channels_last if channels_last else torch.contiguous_format
    for dtype in ("float32", torch.float32, np.float32, "float16", torch.float16, np.dtype("float16")):
        batches = epoch(values, dtype=dtype, channels_last=channels_last, **statistics)
        for batch, theirs in zip(batches, expected, strict=True):
            wanted = theirs.to(batch.images.dtype)
            assert str(batch.images.dtype).removeprefix("torch.") in str(dtype)
            assert batch.images.shape == wanted.shape and torch.equal(batch.images, wanted)
            assert batch.images.is_contiguous(memory_format=memory)


def test_photos_with_every_augmentation(tmp_path):
    photos = packed_photos(tmp_path / "photos", "--limit", "40")
    augment = [packhorse.RandomResizedCrop(63), packhorse.ColorJitter(0.4, 0.4, 0.4, 0.1), packhorse.RandomErasing(0.5)]
    expected = as_torchvision(epoch(photos, size=None, augment=augment), transforms.Normalize(MEAN, STD))
    for workers in (0, 3):
        options = {"dtype": "float32", "mean": MEAN, "std": STD, "workers": workers, "channels_last": False}
        batches = epoch(photos, size=None, augment=augment, **options)
        assert all(torch.equal(b.images, theirs) for b, theirs in zip(batches, expected, strict=True))


def test_bytes_channels_first(values):
    for last, first in zip(epoch(values), epoch(values, channels_last=False), strict=True):
        assert first.images.dtype == torch.uint8 and first.images.is_contiguous()
        assert torch.equal(first.images, last.images) and not last.images.is_contiguous()
        assert last.images.is_contiguous(memory_format=torch.channels_last) and last.labels.dtype == torch.int64


def test_what_makes_no_sense_is_refused(values):
    for options, words in [
        ({"dtype": "float64"}, "dtype=.float64.: give one of uint8, uint16, float32, float16"),
        ({"dtype": torch.bfloat16}, "bfloat16.: give one of"),
        ({"dtype": float}, "float64.: give one of"),
        ({"mean": MEAN, "std": STD}, "choose float32 or float16"),
        ({"dtype": "float32", "mean": MEAN}, "one number for each channel, of which there are 3"),
        ({"dtype": "float32", "mean": MEAN, "std": STD[:2]}, "one number for each channel, of which there are 3"),
        ({"dtype": "float32", "mean": MEAN, "std": (1, 0, 1)}, "above 0"),
        ({"dtype": "float32", "mean": (123.675, 116.28, 103.53), "std": (58.4, 57.1, 57.4)}, "divide it by 255"),
        ({"dtype": "float16", "mean": MEAN, "std": (1e-6, 1, 1)}, "exceed the range of their type"),
    ]:
        with pytest.raises(ValueError, match=words):
            packhorse.Loader(values, 4, size=17, **options)
