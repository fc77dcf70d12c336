"""The reader's augmentations match torchvision's: the distributions of their draws, and their pixels."""

import json
import subprocess

import pytest
import torchvision
from augment_support import DRAWS, alike, as_rows, np, some_photos, tensor_of, torch
from python_support import BIN
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F


@pytest.fixture(autouse=True)
def seed():
    """Torchvision draws the same in every run, as the reader does."""
    torch.manual_seed(1)


def probe(command, stdin=b"", **options):
    done = subprocess.run([BIN / "reader_probe", command, json.dumps(options)], input=stdin, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def draws(what, count=DRAWS, **options):
    return [json.loads(line) for line in probe("draw", what=what, count=count, **options).splitlines()]


BILINEAR, BICUBIC, RANDOM = range(3)  # as the probe numbers them


def decoded(path, size, **options):
    pixels = probe("decode", path.read_bytes(), size=size, **options)
    return np.frombuffer(pixels, np.uint8).reshape(options.get("rows", size), size, 3).astype(int)


def expected_crop(picture, size, box, flip, bicubic):
    x, y, w, h = box
    mode = v2.InterpolationMode.BICUBIC if bicubic else v2.InterpolationMode.BILINEAR
    out = F.resized_crop(picture, y, x, h, w, size, mode, antialias=True)
    return as_rows(F.horizontal_flip(out) if flip else out)


def random_resized_crops(path, size, **options):
    """(ours, torchvision's) of the box and flip that sample 3 drew."""
    picture = tensor_of(path)
    height, width = picture.shape[1:]
    drawn = draws("crop", 4, augment="RandomResizedCrop", size=size, width=width, height=height, **options)[3]
    *box, flip, bicubic = drawn
    ours = decoded(path, size, augment="RandomResizedCrop", sample=3, **options)
    return ours, expected_crop(picture, [options.get("rows", size), size], box, flip, bicubic)


@pytest.mark.parametrize("interpolation", [BILINEAR, BICUBIC, RANDOM])
@pytest.mark.parametrize("rows", [224, 96])
def test_crops_of_photos_have_torchvisions_pixels(rows, interpolation):
    for path in some_photos(10):
        ours, theirs = random_resized_crops(path, 224, rows=rows, interpolation=interpolation)
        assert np.abs(ours - theirs).max() <= 1, path


def test_a_random_filter_is_either_of_the_two_and_does_not_change_the_box():
    options = dict(augment="RandomResizedCrop", size=224, width=500, height=375)
    bilinear, random = draws("crop", **options), draws("crop", interpolation=RANDOM, **options)
    assert [line[:5] for line in bilinear] == [line[:5] for line in random]
    assert abs(sum(line[5] for line in random) - DRAWS / 2) < 4 * (DRAWS / 4) ** 0.5


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (dict(augment="ResizeCenterCrop", resize=256, size=224), [v2.Resize(256, antialias=True), v2.CenterCrop(224)]),
        (
            dict(augment="ResizeCenterCrop", resize=256, size=224, rows=180, interpolation=BICUBIC),
            [v2.Resize(256, v2.InterpolationMode.BICUBIC, antialias=True), v2.CenterCrop((180, 224))],
        ),
        (dict(augment="Resize", size=96), [v2.Resize((96, 96), antialias=True)]),
        (
            dict(augment="Resize", size=700, rows=100, interpolation=BICUBIC),
            [v2.Resize((100, 700), v2.InterpolationMode.BICUBIC, antialias=True)],
        ),
        (dict(augment="CenterCrop", size=224, rows=500), [v2.CenterCrop((500, 224))]),
        (dict(augment="CenterCrop", size=224), [v2.CenterCrop(224)]),
        (dict(augment="CenterCrop", size=700), [v2.CenterCrop(700)]),
    ],
)
def test_resized_and_centred_photos_have_torchvisions_pixels(ours, theirs):
    for path in some_photos(5):
        difference = decoded(path, **ours) - as_rows(v2.Compose(theirs)(tensor_of(path)))
        assert np.abs(difference).max() <= 1, path


@pytest.mark.thorough
def test_scaled_decoding_stays_as_near_as_the_documentation_says():
    """`pytest -s -k scaled` prints docs/augment.md's figures."""
    means, largest = [], 0
    for path in some_photos(100):
        ours, theirs = random_resized_crops(path, 64, scaled=True)
        difference = np.abs(ours - theirs)
        means.append(difference.mean())
        largest = max(largest, difference.max())
    print(f"scaled: {np.mean(means):.2f} on average, {max(means):.1f} in the worst picture, {largest} in a pixel")
    assert np.mean(means) <= 2 and max(means) <= 10 and largest <= 80


def test_random_resized_crop_draws_torchvisions_boxes():
    ours = draws("crop", augment="RandomResizedCrop", size=224, width=500, height=375)
    picture = torch.empty(1, 375, 500)
    get_params = torchvision.transforms.RandomResizedCrop.get_params
    boxes = [get_params(picture, [0.08, 1.0], [3 / 4, 4 / 3]) for _ in range(DRAWS)]
    alike([(x, y, w, h, w * h, w / h) for x, y, w, h, *_ in ours], [(x, y, w, h, w * h, w / h) for y, x, h, w in boxes])
    assert abs(sum(line[4] for line in ours) - DRAWS / 2) < 4 * (DRAWS / 4) ** 0.5


@pytest.mark.thorough
@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_mixup_draws_torchvisions_lambda(alpha):
    ours = [d["lambda"] for d in draws("mix", batch=2, width=32, height=32, mixup_alpha=alpha)]
    transform = v2.MixUp(alpha=alpha, num_classes=2)
    # Ours is a multiple of 1/256.
    alike([[lam] for lam in ours], [[round(transform.make_params([])["lam"] * 256) / 256] for _ in range(DRAWS)])


@pytest.mark.thorough
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_cutmix_draws_torchvisions_boxes(alpha):
    ours = draws("mix", batch=2, width=64, height=40, cutmix_alpha=alpha)
    transform, batch = v2.CutMix(alpha=alpha, num_classes=2), torch.empty(2, 3, 40, 64)
    theirs = [transform.make_params([batch]) for _ in range(DRAWS)]
    boxes = [(*d["box"], d["lam_adjusted"]) for d in theirs]
    alike([(d["x"], d["y"], d["x"] + d["w"], d["y"] + d["h"], d["lambda"]) for d in ours], boxes)


@pytest.mark.parametrize("options", [dict(mixup_alpha=1.0), dict(cutmix_alpha=1.0)])
def test_batches_are_mixed_as_torchvision_mixes_them(options):
    sizes, count = {"width": 32, "height": 24}, 7
    batch = np.random.default_rng(2).integers(0, 256, (count, 24, 32, 3), dtype=np.uint8)
    for step, plan in enumerate(draws("mix", 6, batch=count, **sizes, **options)):
        ours = probe("mix", batch.tobytes(), batch=count, **sizes, step=step, **options)
        partner = batch[plan["partners"]].astype(float)
        if plan["kind"] == 1:
            wanted = batch * plan["lambda"] + partner * (1 - plan["lambda"])
        else:
            x, y, w, h = (plan[name] for name in "xywh")
            wanted = batch.astype(float)
            wanted[:, y : y + h, x : x + w] = partner[:, y : y + h, x : x + w]
        assert sorted(plan["partners"]) == list(range(count))
        assert np.abs(np.frombuffer(ours, np.uint8).reshape(batch.shape) - wanted).max() <= 0.5
