"""What the tests of augmentations share: photos as tensors, and whether two samples are of one distribution."""

import pytest
from python_support import photos

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
from PIL import Image, ImageOps  # noqa: E402

DRAWS = 10_000
# Kolmogorov and Smirnov: two samples of one distribution differ by more than this once in a thousand times.
KS_LIMIT = 1.95 * (2 / DRAWS) ** 0.5


def ks_distance(a, b):
    a, b = np.sort(np.asarray(a, float)), np.sort(np.asarray(b, float))
    points = np.concatenate([a, b])
    return np.abs(np.searchsorted(a, points, "right") / len(a) - np.searchsorted(b, points, "right") / len(b)).max()


def alike(ours, theirs):
    """Checks that each column has the same distribution in both."""
    distances = [ks_distance(a, b) for a, b in zip(np.transpose(ours), np.transpose(theirs), strict=True)]
    assert max(distances) < KS_LIMIT, distances


def some_photos(count):
    found = sorted(photos("imagenet/imagenet200").rglob("*.*"))
    return found[:: len(found) // count]


def tensor_of(path):
    image = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)


def as_rows(tensor):
    return tensor.permute(1, 2, 0).numpy().astype(int)
