"""The reader's augmentations match torchvision's: the distributions of their draws, and their pixels."""

import functools
import json
import subprocess

import pytest
from python_support import BIN, photos

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
from PIL import Image, ImageOps  # noqa: E402
from torchvision.transforms import v2  # noqa: E402
from torchvision.transforms.v2 import functional as F  # noqa: E402

DRAWS = 10_000
# Kolmogorov and Smirnov: two samples of one distribution differ by more than this once in a thousand times.
KS_LIMIT = 1.95 * (2 / DRAWS) ** 0.5


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


BILINEAR, BICUBIC, RANDOM = range(3)  # as the probe numbers them


def decoded(path, size, **options):
    pixels = probe("decode", path.read_bytes(), size=size, **options)
    return np.frombuffer(pixels, np.uint8).reshape(options.get("rows", size), size, 3).astype(int)


def as_rows(tensor):
    return tensor.permute(1, 2, 0).numpy().astype(int)


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


def test_random_erasing_draws_torchvisions_boxes():
    ours = draws("erase", width=224, height=160)
    picture = torch.empty(3, 160, 224)
    get_params = torchvision.transforms.RandomErasing.get_params
    boxes = [get_params(picture, (0.02, 0.33), (0.3, 3.3), [0.0])[:4] for _ in range(DRAWS)]
    # Torchvision returns the whole picture for no box at all; ours is empty.
    boxes = [(0, 0, 0, 0) if (h, w) == (160, 224) else (y, x, h, w) for y, x, h, w in boxes]
    alike([(x, y, w, h, w * h) for x, y, w, h in ours], [(x, y, w, h, w * h) for y, x, h, w in boxes])


def test_colour_jitter_draws_torchvisions_factors_and_orders():
    amounts = dict(brightness=0.4, contrast=1.5, saturation=0.2, hue=0.1)
    ours = draws("jitter", **amounts)
    jitter = v2.ColorJitter(**amounts)
    theirs = [jitter.make_params([]) for _ in range(DRAWS)]
    alike([[d[name] for name in amounts] for d in ours], [[d[f"{name}_factor"] for name in amounts] for d in theirs])
    orders = {}
    for d in ours:
        orders[tuple(d["order"])] = orders.get(tuple(d["order"]), 0) + 1
    assert len(orders) == 24 and max(abs(n - DRAWS / 24) for n in orders.values()) < 4.5 * (DRAWS / 24) ** 0.5


def distortions(count):
    """What torchvision draws, as the probe prints it."""
    transform = v2.RandomPhotometricDistort(p=0.5)
    colours = torch.zeros(3, 2, 2, dtype=torch.uint8)
    for _ in range(count):
        params = transform.make_params([colours])
        draw = {name: params[f"{name}_factor"] for name in NAMES}
        for name, neutral in zip(NAMES, (1, 1, 1, 0)):
            draw[name] = neutral if draw[name] is None else draw[name]
        channels = params["channel_permutation"]
        draw["channels"] = [0, 1, 2] if channels is None else channels.tolist()
        draw["order"] = [0, 1, 2, 3] if params["contrast_before"] else [0, 2, 3, 1]
        yield draw


@pytest.mark.thorough
def test_photometric_distortion_draws_torchvisions_values():
    ours, theirs = draws("distort", p=0.5), list(distortions(DRAWS))
    row = lambda d: [*(d[name] for name in NAMES), *d["channels"], d["order"][1]]
    alike([row(d) for d in ours], [row(d) for d in theirs])


def test_photometric_distortion_has_torchvisions_pixels():
    for draw in distortions(8):
        transform = v2.RandomPhotometricDistort()
        params = {f"{name}_factor": draw[name] for name in NAMES}
        params |= {"contrast_before": draw["order"][1] == 1, "channel_permutation": torch.tensor(draw["channels"])}
        for picture in pictures()[:2]:
            ours = np.frombuffer(probe("distort", picture.tobytes(), **draw), np.uint8).reshape(picture.shape)
            theirs = transform.transform(torch.from_numpy(picture).permute(2, 0, 1), params).permute(1, 2, 0).numpy()
            difference = np.abs(ours.astype(int) - theirs)
            assert difference.max() <= 4 and difference.mean() < 0.05, draw


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


@functools.cache
def pictures():
    """A photo, noise, and every grey; as HWC bytes."""
    noise = np.random.default_rng(1).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    greys = np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(16, 16, 3)
    photo = np.array(Image.open(some_photos(1)[0]).convert("RGB").resize((224, 224)))
    return [photo, noise, greys]


STEPS = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue]
NAMES = ["brightness", "contrast", "saturation", "hue"]


def adjusted(picture, order, factors):
    """(ours, torchvision's) after all four steps."""
    ours = probe("adjust", picture.tobytes(), order=order, **dict(zip(NAMES, factors, strict=True)))
    theirs = torch.from_numpy(picture).permute(2, 0, 1)
    for step in order:
        theirs = STEPS[step](theirs, factors[step])
    return np.frombuffer(ours, np.uint8).reshape(picture.shape).astype(int), as_rows(theirs)


@pytest.mark.parametrize("step", range(4))
def test_each_colour_step_has_torchvisions_pixels(step):
    for picture in pictures():
        for factor in (0.0, 0.6, 1.05, 2.5) if step < 3 else (-0.5, -0.02, 0.25):
            factors = [1, 1, 1, 0]
            factors[step] = factor
            ours, theirs = adjusted(picture, [0, 1, 2, 3], factors)
            difference = np.abs(ours - theirs)
            assert difference.max() <= 1 and difference.mean() < 0.02, (factor, difference.mean())


def test_colour_steps_in_any_order_have_torchvisions_pixels():
    for draw in draws("jitter", 8, brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1):
        for picture in pictures()[:2]:
            ours, theirs = adjusted(picture, draw["order"], [draw[name] for name in NAMES])
            difference = np.abs(ours - theirs)
            assert difference.max() <= 4 and difference.mean() < 0.05, (draw, difference.max(), difference.mean())


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
