"""packhorse.Loader(views=...): several samples of each image; crops of any shape and filter."""

import numpy as np
import pytest
import torch
from package import packhorse
from python_support import SHAPES, pack
from torchvision.transforms import InterpolationMode


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    """120 images, all of kinds that the package decodes."""
    out = tmp_path_factory.mktemp("packed") / "shapes"
    pack(SHAPES, out, "--format", "wds", "--image", "resize", "--short-side", "64")
    return out / "train"


GLOBAL = packhorse.RandomResizedCrop(48, scale=(0.4, 1))
LOCAL = packhorse.RandomResizedCrop(16, scale=(0.05, 0.4))
BRIGHT = packhorse.ColorJitter(brightness=0.4)


def epoch(packed, views, **options):
    return list(packhorse.Loader(packed, 32, views=views, seed=3, **options))


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_a_batch_has_a_tensor_for_each_view_of_the_same_samples(packed):
    for batch in epoch(packed, [GLOBAL * 2, LOCAL * 8]):
        views, labels = batch
        assert isinstance(batch, packhorse.ViewsBatch) and isinstance(views, list)
        assert [tuple(view.shape) for view in views] == [(len(labels), 3, 48, 48)] * 2 + [(len(labels), 3, 16, 16)] * 8
        assert all(view.is_contiguous(memory_format=torch.channels_last) for view in views)
        assert len(batch.samples) == len(labels)


def test_the_first_view_is_what_augment_gives_and_every_view_draws_for_itself(packed):
    views = epoch(packed, [2 * GLOBAL, LOCAL * 2])
    alone = list(packhorse.Loader(packed, 32, augment=GLOBAL, seed=3))
    for several, one in zip(views, alone, strict=True):
        assert torch.equal(several.views[0], one.images) and torch.equal(several.labels, one.labels)
        assert not torch.equal(several.views[0], several.views[1])
        assert not torch.equal(several.views[2], several.views[3])


def test_the_steps_after_a_crop_are_those_of_its_view(packed):
    steps = epoch(packed, [GLOBAL, BRIGHT, LOCAL, GLOBAL, "RandomErasing(1)"])
    plain = epoch(packed, [GLOBAL, LOCAL, GLOBAL])
    for a, b in zip(steps, plain, strict=True):
        assert [torch.equal(x, y) for x, y in zip(a.views, b.views, strict=True)] == [False, True, False]
    twice = epoch(packed, [[GLOBAL, BRIGHT] * 2])
    assert all(len(batch.views) == 2 for batch in twice)
    assert same(twice[0].views[:1], steps[0].views[:1])


def test_views_do_not_depend_on_workers_and_stay_when_the_loader_is_gone(packed):
    expected = epoch(packed, [GLOBAL, LOCAL * 3], workers=0)
    for workers in (1, 3):
        for a, b in zip(epoch(packed, [GLOBAL, LOCAL * 3], workers=workers), expected, strict=True):
            assert same(a.views, b.views)


def test_views_have_every_type_and_layout(packed):
    (expected, *_) = epoch(packed, [GLOBAL, LOCAL])
    (planes, *_) = epoch(packed, [GLOBAL, LOCAL], channels_last=False, dtype="float32")
    for view, plane in zip(expected.views, planes.views, strict=True):
        assert plane.is_contiguous()
        assert torch.equal(plane, view.float() / 255)


def test_a_run_with_views_goes_on_where_it_was(packed):
    whole = epoch(packed, [GLOBAL, LOCAL])
    loader = packhorse.Loader(packed, 32, views=[GLOBAL, LOCAL], seed=3)
    batches = iter(loader)
    next(batches)
    resumed = packhorse.Loader(packed, 32, views=[GLOBAL, LOCAL], seed=3)
    resumed.load_state_dict(loader.state_dict())
    for a, b in zip(resumed, whole[1:], strict=True):
        assert same(a.views, b.views)


def test_a_loader_of_views_shows_them(packed):
    loader = packhorse.Loader(packed, 32, views=[GLOBAL, LOCAL])
    assert "views=[RandomResizedCrop(48, scale=(0.4, 1.0)" in repr(loader)
    batch = next(iter(loader))
    assert repr(batch).startswith("packhorse.ViewsBatch(views=[uint8 [32, 3, 48, 48], uint8 [32, 3, 16, 16]], labels=")


def test_sizes_are_a_number_or_height_and_width(packed):
    def images(augment):
        return next(iter(packhorse.Loader(packed, 4, augment=augment, seed=3))).images

    for crop in (packhorse.RandomResizedCrop, packhorse.Resize, packhorse.CenterCrop, packhorse.ResizeCenterCrop):
        assert torch.equal(images(crop(40)), images(crop((40, 40))))
        assert tuple(images(crop((24, 40))).shape) == (4, 3, 24, 40)
        assert crop(40).size == crop([40, 40]).size == 40 and crop((24, 40)).size == (24, 40)
    assert repr(packhorse.Resize((24, 40))) == "Resize((24, 40))"
    assert packhorse.Dataset(packed).decode(0, packhorse.PadCrop((24, 40))).shape == (24, 40, 3)


def test_filters_have_torchvisions_names(packed):
    def images(**options):
        crop = packhorse.RandomResizedCrop(24, **options)
        return np.asarray(next(iter(packhorse.Loader(packed, 32, augment=crop, seed=3))).images)

    bilinear, bicubic = images(), images(interpolation="bicubic")
    assert (images(interpolation=InterpolationMode.BICUBIC) == bicubic).all()
    assert (images(interpolation=InterpolationMode.BILINEAR) == bilinear).all()
    mixed = images(interpolation="random")
    chosen = {(mixed[i] == bilinear[i]).all() + 2 * (mixed[i] == bicubic[i]).all() for i in range(32)}
    assert chosen == {1, 2}
    assert repr(packhorse.Resize(24, interpolation="bicubic")) == "Resize(24, interpolation='bicubic')"
    with pytest.raises(ValueError, match='give "bilinear", "bicubic" or "random"'):
        packhorse.Resize(24, interpolation=InterpolationMode.NEAREST)


@pytest.mark.parametrize("views", [[GLOBAL], [GLOBAL * 2]])
def test_views_come_without_what_is_made_for_one_image(packed, tmp_path, views):
    with packhorse.Writer(tmp_path / "objects", format="wds", object_classes=["x"]) as writer:
        writer.add(np.zeros((9, 9, 3), np.uint8), 0, boxes=[])
    for path, options in ((tmp_path / "objects", {"targets": True}), (packed, {"mixup": 1.0}), (packed, {"cutmix": 1.0})):
        with pytest.raises(packhorse.errors.UsageError, match="views of an image come without targets, Mixup and CutMix"):
            packhorse.Loader(path, 8, views=views, **options)
