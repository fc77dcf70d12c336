"""packhorse.Dataset: samples one by one, for PyTorch's DataLoader, pickling and fork."""

import base64
import html
import io
import pickle
import re

import numpy as np
import pytest
from package import packhorse
from python_support import SHAPES, pack


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "shapes"
    pack(SHAPES, out, "--format", "wds")
    return out


def test_samples_are_those_of_the_folder(packed):
    dataset = packhorse.Dataset(packed, split="train", image="bytes")
    train = SHAPES / "train"
    files = {path.read_bytes(): path.relative_to(train).parts[0] for path in train.rglob("*") if path.is_file()}
    assert len(dataset) == 120 and len(dataset.classes) == 6
    for number in range(len(dataset)):
        content, label = dataset[number]
        assert dataset.classes[label] == files[content]
    assert dataset.targets == dataset.labels.tolist() == [label for _, label in dataset]
    assert dataset[-1] == dataset[119]
    with pytest.raises(IndexError):
        dataset[120]


def test_pixels_are_those_that_pillow_sees_or_the_error_names_it(packed):
    from PIL import Image, ImageOps

    dataset = packhorse.Dataset(packed, image="numpy")
    with_pillow = packhorse.Dataset(packed)
    decoded = 0
    for number in range(len(dataset)):
        try:
            pixels, _ = dataset[number]
        except packhorse.errors.UnsupportedError as error:
            assert "Pillow" in str(error)
            continue
        image, _ = with_pillow[number]
        assert isinstance(image, Image.Image) and image.mode == "RGB"
        upright = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(dataset.read(number)))).convert("RGB"))
        assert pixels.shape == upright.shape
        decoded += 1
    assert decoded > 100


def test_a_sample_decoded_as_a_loader_would(packed, tmp_path):
    pack(packed, tmp_path / "small", "--format", "hdf5", "--image", "resize", "--short-side", "48")
    dataset = packhorse.Dataset(tmp_path / "small", split="val")
    crop = packhorse.RandomResizedCrop(24)
    [batch] = packhorse.Loader(dataset, 36, augment=crop, seed=5)
    images = np.asarray(batch.images)
    images = images if images.shape[-1] == 3 else images.transpose(0, 2, 3, 1)
    for place, sample in enumerate(batch.samples):
        assert (dataset.decode(int(sample), crop, seed=5) == images[place]).all()


def test_transforms_pickling_and_many_at_once(packed):
    dataset = packhorse.Dataset(packed, transform=np.asarray, target_transform=float)
    assert dataset.labels.shape == (120,)
    copy = pickle.loads(pickle.dumps(dataset))
    for (image, label), (same, again) in zip(dataset.__getitems__([0, 5, -1]), [copy[0], copy[5], copy[119]]):
        assert (image == same).all() and label == again and isinstance(label, float)
    assert repr(copy) == f"packhorse.Dataset({str(packed)!r}, 120 samples, 6 classes, wds)"
    assert repr(packhorse.Dataset(packed, split="val")).startswith(f"packhorse.Dataset({str(packed)!r}, split='val', 36 samples")


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.thorough)])
def test_an_unchanged_dataloader(packed, method):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    transforms = pytest.importorskip("torchvision.transforms", reason="torchvision is not installed")
    transform = transforms.Compose([transforms.RandomResizedCrop(24), transforms.ToTensor()])
    dataset = packhorse.Dataset(packed, transform=transform)
    reader = torch.utils.data.DataLoader(dataset, 32, shuffle=True, num_workers=2, multiprocessing_context=method)
    batches = list(reader)
    assert sorted(label for _, labels in batches for label in labels.tolist()) == sorted(dataset.targets)
    assert batches[0][0].shape == (32, 3, 24, 24)


def test_an_unknown_kind_of_image_is_refused(packed):
    with pytest.raises(ValueError, match="pil, numpy, torch, bytes"):
        packhorse.Dataset(packed, image="tensor")


def test_a_notebook_shows_images_from_all_over_with_their_labels(packed):
    from PIL import Image

    dataset = packhorse.Dataset(packed, split="train")
    shown = dataset._repr_html_()
    assert html.escape(repr(dataset)) in shown
    files = [base64.b64decode(text) for text in re.findall('base64,([^"]+)"', shown)]
    crop = packhorse.ResizeCenterCrop(96, 96)
    assert len(files) == 12
    for number, file in zip(range(0, 120, 10), files, strict=True):
        assert (np.asarray(Image.open(io.BytesIO(file))) == dataset.decode(number, crop)).all()
    labels = re.findall("<figcaption>([^<]*)", shown)
    assert labels == [dataset.classes[label] for label in dataset.labels[:120:10]]


def test_a_notebook_shows_objects_few_samples_and_damage(tmp_path):
    out = tmp_path / "<b>"
    with packhorse.Writer(out, format="wds", object_classes=["a"], shuffle=False) as writer:
        for i, boxes in enumerate([[], [[1, 2, 30, 40]]]):
            writer.add(np.full((64, 96, 3), 90 * i, np.uint8), "<i>", boxes=boxes, box_labels=[0] * len(boxes))
    shown = packhorse.Dataset(out)._repr_html_()
    assert re.findall("<figcaption>([^<]*)", shown) == ["0 objects", "1 object"] and "<b>" not in shown
    assert repr(packhorse.Dataset(out)).endswith("2 samples, 1 object class, wds)")
    shard = next(out.glob("*.tar"))
    content = bytearray(shard.read_bytes())
    content[content.index(b"IDAT") + 6] ^= 1
    shard.write_bytes(content)
    damaged = packhorse.Dataset(out)._repr_html_()
    assert damaged.count("<img") == 1 and "not the ones that were packed" in damaged
