"""Mixup and CutMix in packhorse.Loader: images and labels as torchvision and timm mix them."""

import numpy as np
import pytest
from package import packhorse
from python_support import SHAPES, pack

torch = pytest.importorskip("torch", reason="torch is not installed")
KINDS = {"mixup": {"mixup": 0.8}, "cutmix": {"cutmix": 1.0}, "both": {"mixup": 0.8, "cutmix": 1.0, "mix_prob": 0.7}}


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "shapes"
    pack(SHAPES, out, "--format", "wds", "--image", "resize", "--short-side", "32")
    return out / "train"


def loader(packed, batch_size=16, **options):
    return packhorse.Loader(packed, batch_size, **{"augment": packhorse.RandomResizedCrop(24), "seed": 5, **options})


def pairs_of(plain, mixed):
    """For each image of a batch, the place of its partner: the only one whose share explains the pixels. With `plain`,
    the batch before it was mixed."""
    lam, count = mixed.mixed.lam, len(plain.samples)
    before, after = (np.asarray(batch.images, np.float64).reshape(count, -1) for batch in (plain, mixed))
    rest = after - lam * before
    return [int(np.argmin(np.abs(rest[i] - (1 - lam) * before).max(axis=1))) for i in range(count)]


def torchvisions(transform, plain, partner, place, **params):
    """What torchvision makes of an image and its label. Its partner is the image before."""
    images, labels = plain.images[[partner, place]].contiguous(), plain.labels[[partner, place]]
    params |= {"labels": labels, "batch_size": 2}
    return transform.transform(images, params)[1], transform.transform(labels, params)[1]


def test_mixup_is_torchvisions_with_the_same_share_and_partners(packed):
    v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")
    classes = len(packhorse.Dataset(packed).classes)
    theirs = v2.MixUp(num_classes=classes)
    for plain, mixed in zip(loader(packed, dtype="float32"), loader(packed, dtype="float32", mixup=0.8), strict=True):
        assert (plain.samples == mixed.samples).all() and (plain.labels == mixed.mixed.labels).all()
        for place, partner in enumerate(pairs_of(plain, mixed)):
            image, label = torchvisions(theirs, plain, partner, place, lam=mixed.mixed.lam)
            assert (image - mixed.images[place]).abs().max() < 1e-6
            assert (label - mixed.labels[place]).abs().max() < 1e-6
            assert plain.labels[partner] == mixed.mixed.partners[place]


def test_cutmix_is_torchvisions_with_the_same_box_and_partners(packed):
    v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")
    theirs = v2.CutMix(num_classes=len(packhorse.Dataset(packed).classes))
    boxes = 0
    for plain, mixed in zip(loader(packed), loader(packed, cutmix=1.0), strict=True):
        changed = (plain.images != mixed.images).any(dim=1).any(dim=0)  # in any image: the box
        rows, columns = (torch.nonzero(changed.any(dim=side)).flatten() for side in (1, 0))
        if not len(rows):
            continue
        box = (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
        area = (box[2] - box[0]) * (box[3] - box[1])
        assert mixed.mixed.lam == pytest.approx(1 - area / 24**2)
        inside = (slice(None), slice(None), slice(box[1], box[3]), slice(box[0], box[2]))
        before, after = plain.images[inside].flatten(1).int(), mixed.images[inside].flatten(1).int()
        for place in range(len(before)):
            [partner] = [other for other in range(len(before)) if (before[other] == after[place]).all()]
            image, label = torchvisions(theirs, plain, partner, place, box=box, lam_adjusted=mixed.mixed.lam)
            assert (image == mixed.images[place]).all()
            assert (label - mixed.labels[place]).abs().max() < 1e-6
            boxes += 1
    assert boxes >= 64


def test_labels_are_timms_with_smoothing(packed):
    mixup = pytest.importorskip("timm.data.mixup", reason="timm is not installed")
    classes = len(packhorse.Dataset(packed).classes)
    for batch in loader(packed, mixup=0.8, label_smoothing=0.1):
        own, partners, lam = batch.mixed
        smooth = [mixup.one_hot(labels, classes, on_value=1 - 0.1 + 0.1 / classes, off_value=0.1 / classes) for labels in (own, partners)]
        assert (smooth[0] * lam + smooth[1] * (1 - lam) - batch.labels).abs().max() < 1e-6
        assert batch.labels.dtype == torch.float32 and own.dtype == partners.dtype == torch.int64
        assert (batch.labels.sum(dim=1) - 1).abs().max() < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_all_types_and_layouts_are_mixed_alike_by_any_number_of_workers(packed, kind):
    options = KINDS[kind]
    expected = list(loader(packed, workers=0, **options))
    assert len({batch.mixed.lam for batch in expected}) > 2
    for channels_last in (True, False):
        for dtype, most in (("uint8", 0), ("float32", 0.51 / 255), ("float16", 0.51 / 255 + 1e-3)):
            for workers in (1, 3):
                made = list(loader(packed, workers=workers, dtype=dtype, channels_last=channels_last, **options))
                for a, b in zip(expected, made, strict=True):
                    assert (a.labels == b.labels).all() and a.mixed.lam == b.mixed.lam
                    images = a.images.double() / (1 if dtype == "uint8" else 255)
                    assert (images - b.images.double()).abs().max() <= most


def test_bands_of_16_bits_are_mixed(tmp_path):
    Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    random = np.random.default_rng(1)
    for number in range(12):
        folder = tmp_path / f"grey/{'ab'[number % 2]}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 65536, (16, 16), np.uint16)).save(folder / f"{number}.png")
    pack(tmp_path / "grey", tmp_path / "packed", "--format", "wds", "--bands")
    options = {"size": 8, "augment": None, "batch_size": 6}
    plain = list(loader(tmp_path / "packed", **options, dtype="uint16"))
    mixed = list(loader(tmp_path / "packed", **options, dtype="uint16", mixup=0.8))
    floats = list(loader(tmp_path / "packed", **options, dtype="float32", bands="all", mixup=0.8))
    for a, b, c in zip(plain, mixed, floats, strict=True):
        own, after = (np.asarray(batch.images, np.float64) for batch in (a, b))
        found = pairs_of(a, b)
        assert np.abs(b.mixed.lam * own + (1 - b.mixed.lam) * own[found] - after).max() <= 0.5
        assert np.abs(np.asarray(c.images, np.float64) * 65535 - after).max() < 1.01  # rounded once, not twice


def content(batches):
    return [(np.asarray(b.images).tobytes(), np.asarray(b.labels).tobytes(), b.mixed.lam) for b in batches]


def test_a_run_goes_on_with_the_same_mixes_and_each_epoch_and_rank_has_its_own(packed):
    options = KINDS["both"]
    reader = loader(packed, **options)
    first, second = content(reader), content(reader)
    assert {lam for *_, lam in first} != {lam for *_, lam in second}
    batches = iter(loader(packed, **options))
    started = loader(packed, **options)
    begun = iter(started)
    for _ in range(3):
        next(begun)
    resumed = loader(packed, **options)
    resumed.load_state_dict(started.state_dict())
    assert content(resumed) == first[3:] == content(batches)[3:]
    ranks = [loader(packed, 8, rank=rank, world_size=2, **options) for rank in range(2)]
    assert not {lam for *_, lam in content(ranks[0])} & {lam for *_, lam in content(ranks[1])} - {1.0}


def test_without_torch_labels_are_arrays(packed, monkeypatch):
    monkeypatch.delitem(__import__("sys").modules, "torch")
    batch = next(iter(loader(packed, mixup=1.0)))
    assert isinstance(batch.labels, np.ndarray) and batch.labels.dtype == np.float32
    assert isinstance(batch.mixed.partners, np.ndarray)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mixup": -1}, "mixup"),
        ({"mixup": "0.2"}, "mixup"),
        ({"cutmix": 1.0, "mix_prob": 1.5}, "mix_prob"),
        ({"mix_prob": 0.5}, "give mixup= or cutmix="),
        ({"label_smoothing": 0.1}, "give mixup= or cutmix="),
        ({"mixup": 0.2, "switch_prob": 0.1}, "give both mixup= and cutmix="),
        ({"mixup": 0.2, "augment": packhorse.DetectionAugment(24)}, "DetectionAugment"),
        ({"mixup": 0.2, "bands": "all", "mixed_bits": True, "dtype": "float32"}, "mixed_bits="),
    ],
)
def test_what_cannot_be_mixed_is_refused(packed, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        loader(packed, **options)
