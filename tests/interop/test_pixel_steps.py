"""The pixel steps match torchvision v2 (and timm): the distributions of their draws, and their pixels."""

import collections
import functools
import math
import re

import pytest
from augment_support import DRAWS, alike, ks_distance, np, some_photos, torch
from package import packhorse
from PIL import Image
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.v2 import functional as F

MODES = {mode.value: mode for mode in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR)}


@pytest.fixture(autouse=True)
def seed():
    """Torchvision draws the same in every run, as the reader does."""
    torch.manual_seed(1)


def explained(step, sample, height, width):
    """[(operation, its numbers, its interpolation)] of a sample."""
    made = []
    for name, words in re.findall(r"(\w+)\(([^)]*)\)", step.explain(height, width, sample=sample)):
        parts = words.split(", ") if words else []
        mode = parts.pop() if parts and parts[-1].isalpha() else "nearest"
        made.append((name, [float(part) for part in parts], mode))
    return made


def sheared(image, x, y, mode, fill):
    angles = [math.degrees(math.atan(x)), math.degrees(math.atan(y))]
    return F.affine(image, 0.0, [0, 0], 1.0, angles, MODES[mode], fill, center=[0, 0])


def moved(image, x, y, mode, fill):
    return F.affine(image, 0.0, [int(x), int(y)], 1.0, [0.0, 0.0], MODES[mode], fill)


THEIRS = {
    "Identity": lambda image: image,
    "Brightness": F.adjust_brightness,
    "Contrast": F.adjust_contrast,
    "Saturation": F.adjust_saturation,
    "Hue": F.adjust_hue,
    "Channels": lambda image, *channels: F.permute_channels(image, [int(channel) for channel in channels]),
    "Sharpness": F.adjust_sharpness,
    "Posterize": lambda image, bits: F.posterize(image, int(bits)),
    "Solarize": F.solarize,
    "Autocontrast": F.autocontrast,
    "Equalize": F.equalize,
    "Invert": F.invert,
    "Grayscale": lambda image: F.rgb_to_grayscale(image, 3),
    "GaussianBlur": lambda image, width, height, sigma: F.gaussian_blur(image, [int(width), int(height)], sigma),
    "HorizontalFlip": F.horizontal_flip,
    "VerticalFlip": F.vertical_flip,
}
THEIRS_MOVED = {
    "ShearX": lambda image, x, mode, fill: sheared(image, x, 0, mode, fill),
    "ShearY": lambda image, y, mode, fill: sheared(image, 0, y, mode, fill),
    "TranslateX": lambda image, x, mode, fill: moved(image, x, 0, mode, fill),
    "TranslateY": lambda image, y, mode, fill: moved(image, 0, y, mode, fill),
    "Rotate": lambda image, degrees, mode, fill: F.rotate(image, degrees, MODES[mode], fill=fill),
    "Affine": lambda image, degrees, x, y, scale, shear_x, shear_y, mode, fill: F.affine(
        image, degrees, [int(x), int(y)], scale, [shear_x, shear_y], MODES[mode], fill
    ),
}


def theirs(image, operations, fill=None):
    """Torchvision's pixels after the operations."""
    tensor = torch.from_numpy(image).permute(2, 0, 1)
    for name, values, mode in operations:
        more = (mode, fill) if name in THEIRS_MOVED else ()
        tensor = (THEIRS | THEIRS_MOVED)[name](tensor, *values, *more)
    return tensor.permute(1, 2, 0).numpy()


def apart(a, b):
    return np.abs(a.astype(int) - b)


@functools.cache
def pictures():
    """A photo, a wide one, noise, and every grey; as HWC bytes."""
    photo = Image.open(some_photos(1)[0]).convert("RGB")
    noise = np.random.default_rng(1).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    greys = np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(16, 16, 3)
    return [np.array(photo.resize((224, 224))), np.array(photo.resize((201, 97))), noise, greys]


def check_pixels(step, picture, sample, fill=None):
    """Colours within 1 level. Of the pixels that a map moves without interpolation, those that come from the boundary
    of two pixels may be either: whole rows of a shear, a diagonal of a turn by 45 degrees. Returns the share of others."""
    operations = explained(step, sample, *picture.shape[:2])
    difference = apart(step(picture, sample=sample), theirs(picture, operations, fill))
    assert {name for name, _, _ in operations} <= THEIRS.keys() | THEIRS_MOVED.keys()
    is_nearest = any(name in THEIRS_MOVED and mode == "nearest" for name, _, mode in operations)
    others = np.mean(difference > 1)
    assert others <= (0.01 if is_nearest else 0), (operations, others)
    return others


ONE_OPERATION = {
    "RandAugment": packhorse.TrivialAugmentWide(),  # each operation of each magnitude
    "bilinear": packhorse.TrivialAugmentWide(interpolation="bilinear"),
    "ColorJitter": packhorse.ColorJitter(brightness=0.8),
    "contrast": packhorse.ColorJitter(contrast=(0.0, 3.0)),
    "saturation": packhorse.ColorJitter(saturation=(0.0, 3.0)),
    "hue": packhorse.ColorJitter(hue=0.5),
    "GaussianBlur": packhorse.GaussianBlur(23),
    "another blur": packhorse.GaussianBlur((5, 9), sigma=(0.5, 5.0)),
    "RandomGrayscale": packhorse.RandomGrayscale(1),
    "RandomSolarize": packhorse.RandomSolarize(100.5, 1),
    "RandomPosterize": packhorse.RandomPosterize(3, 1),
    "RandomEqualize": packhorse.RandomEqualize(1),
    "RandomAutocontrast": packhorse.RandomAutocontrast(1),
    "RandomAdjustSharpness": packhorse.RandomAdjustSharpness(3.7, 1),
    "RandomInvert": packhorse.RandomInvert(1),
    "RandomRotation": packhorse.RandomRotation(180),
    "RandomAffine": packhorse.RandomAffine(180, (0.3, 0.2), (0.5, 2), (-20, 20, -10, 30)),
    "RandomHorizontalFlip": packhorse.RandomHorizontalFlip(1),
    "RandomVerticalFlip": packhorse.RandomVerticalFlip(1),
    "ThreeAugment": packhorse.ThreeAugment(),
}


@pytest.mark.parametrize("name", ONE_OPERATION)
def test_each_operation_has_torchvisions_pixels(name):
    others = [
        check_pixels(ONE_OPERATION[name], picture, sample)
        for number, picture in enumerate(pictures())
        for sample in range(number * 1000, number * 1000 + 30)
    ]
    assert np.mean(others) <= 0.001


@pytest.mark.thorough
def test_ten_thousand_draws_have_torchvisions_pixels():
    others = []
    for sample in range(DRAWS):
        step = list(ONE_OPERATION.values())[sample % len(ONE_OPERATION)]
        if isinstance(step, packhorse.GaussianBlur):
            step = packhorse.GaussianBlur(9)  # torchvision takes a second for a few of 23
        others.append(check_pixels(step, pictures()[1 + sample % 3], sample))
    assert np.mean(others) <= 0.001


@pytest.mark.parametrize("step", [packhorse.RandAugment(), packhorse.RandAugment(4, 25), packhorse.AutoAugment()])
def test_policies_have_torchvisions_pixels_where_the_same_is_chosen(step):
    """A level that differs by 1 can become many: equalize, posterize and solarize part neighbours."""
    exact, total = 0, 0
    for sample in range(200):
        picture = pictures()[sample % 2]
        operations = explained(step, sample, *picture.shape[:2])
        difference = apart(step(picture, sample=sample), theirs(picture, operations))
        assert np.mean(difference > 1) < 0.01, (operations, np.mean(difference > 1))
        exact += np.sum(difference == 0)
        total += difference.size
    assert exact / total > 0.995


def test_colours_fill_what_is_empty():
    step = packhorse.RandomRotation((30, 30), fill=(10, 200, 3))
    check_pixels(step, pictures()[0], 0, [10.0, 200.0, 3.0])
    assert (step(pictures()[0])[0, 0] == (10, 200, 3)).all()


def test_bicubic_is_pillows():
    for angle, picture in [(11.5, pictures()[0]), (-70.2, pictures()[1])]:
        ours = packhorse.RandomRotation((angle, angle), "bicubic", fill=9)(picture)
        pillows = np.array(Image.fromarray(picture).rotate(angle, Image.Resampling.BICUBIC, fillcolor=(9, 9, 9)))
        difference = apart(ours, pillows)
        assert np.mean(difference > 1) < 0.001 and difference.mean() < 0.6, (np.mean(difference > 1), difference.mean())


def test_colours_in_any_order_have_torchvisions_pixels():
    for step in (packhorse.ColorJitter(0.4, 0.4, 0.4, 0.1), packhorse.PhotometricDistort()):
        for sample in range(16):
            picture = pictures()[sample % 2]
            operations = explained(step, sample, *picture.shape[:2])
            difference = apart(step(picture, sample=sample), theirs(picture, operations))
            assert difference.max() <= 4 and difference.mean() < 0.05, (operations, difference.max())


def test_augmix_has_torchvisions_pixels_where_the_same_is_chosen():
    step, picture = packhorse.AugMix(), pictures()[0]
    for sample in range(20):
        (_, [own], _), *rest = explained(step, sample, *picture.shape[:2])
        mixed = own * picture.astype(np.float32)
        while rest:
            _, [weight], _ = rest.pop(0)
            ends = [i for i, (name, _, _) in enumerate(rest) if name == "Mix"] or [len(rest)]
            mixed += weight * theirs(picture, rest[: ends[0]])
            rest = rest[ends[0] :]
        difference = apart(step(picture, sample=sample), mixed.astype(np.uint8))
        assert np.mean(difference > 1) < 0.01, (sample, np.mean(difference > 1))


# What is drawn


def chi2_limit(freedom):
    """A sum of that many squares of normal numbers is above it once in a thousand times (Wilson and Hilferty)."""
    return freedom * (1 - 2 / (9 * freedom) + 3.09 * math.sqrt(2 / (9 * freedom))) ** 3


def equally_often(ours, wanted):
    """Two counts of the same number of draws have one distribution (chi2)."""
    keys = [key for key in ours | wanted if ours[key] + wanted[key] >= 10]
    assert sum(ours[key] + wanted[key] for key in keys) > 0.97 * (ours + wanted).total()
    chi2 = sum((ours[key] - wanted[key]) ** 2 / (ours[key] + wanted[key]) for key in keys)
    assert len(keys) == 1 or chi2 < chi2_limit(len(keys) - 1), (chi2, len(keys), ours, wanted)


NAMES = {"Color": "Saturation", "AutoContrast": "Autocontrast"}


def value_of(name, magnitude):
    """The number of an operation, as it is explained, of the magnitude that torchvision draws."""
    if name in ("Brightness", "Color", "Contrast", "Sharpness"):
        return 1.0 + magnitude
    if name == "Solarize":
        return 255.0 * magnitude
    # Whole pixels, but for the last bit of a float.
    return float(int(magnitude + math.copysign(1e-4, magnitude))) if name.startswith("Translate") else magnitude


def drawn_by_torchvision(transform, height, width):
    """What transform draws for a picture, one list a sample."""
    drawn = []

    def record(image, transform_id, magnitude, **_):
        has_none = transform_id in ("Identity", "AutoContrast", "Equalize", "Invert")
        name = NAMES.get(transform_id, transform_id)
        drawn[-1].append((name, () if has_none else (round(value_of(transform_id, magnitude), 4),)))
        return image

    transform._apply_image_or_video_transform = record
    image = torch.zeros(3, 1, 1, dtype=torch.uint8).expand(3, height, width)
    for _ in range(DRAWS):
        drawn.append([])
        transform(image)
    return drawn


def drawn_by_us(step, height, width):
    draws = [explained(step, sample, height, width) for sample in range(DRAWS)]
    return [[(name, tuple(round(value, 4) + 0.0 for value in values)) for name, values, _ in draw] for draw in draws]


POLICIES = [
    (packhorse.RandAugment(), v2.RandAugment()),
    (packhorse.RandAugment(3, 15, 20), v2.RandAugment(3, 15, 20)),
    (packhorse.TrivialAugmentWide(), v2.TrivialAugmentWide()),
    *((packhorse.AutoAugment(policy.value), v2.AutoAugment(policy)) for policy in v2.AutoAugmentPolicy),
]


@pytest.mark.parametrize("ours, wanted", POLICIES, ids=[repr(ours) for ours, _ in POLICIES])
def test_policies_choose_torchvisions_operations_and_magnitudes(ours, wanted):
    mine, other = drawn_by_us(ours, 160, 224), drawn_by_torchvision(wanted, 160, 224)
    count = lambda draws: collections.Counter(operation for draw in draws for operation in draw)
    equally_often(count(mine), count(other))
    lengths = lambda draws: collections.Counter(map(len, draws))
    equally_often(lengths(mine), lengths(other))
    names = lambda draws: collections.Counter(tuple(name for name, _ in draw[:2]) for draw in draws)
    equally_often(names(mine), names(other))


@pytest.mark.parametrize("bins", [2, 7, 31, 256])
def test_magnitudes_are_torchvisions_for_any_size_and_number_of_bins(bins):
    """But for the last bit of a float, which in torch.linspace() depends on the processor."""
    for height, width in [(32, 32), (224, 160), (331, 662)]:
        allowed = collections.defaultdict(set)
        for name, (table, signed) in v2.TrivialAugmentWide._AUGMENTATION_SPACE.items():
            for magnitude in map(float, table(bins, height, width) if table(bins, height, width) is not None else [0.0]):
                for sign in (1, -1) if signed else (1,):
                    allowed[NAMES.get(name, name)].add(value_of(name, sign * magnitude))
        step = packhorse.TrivialAugmentWide(bins)
        for sample in range(2000):
            [(name, values, _)] = explained(step, sample, height, width)
            nearest = min(abs(wanted - value) for wanted in allowed[name] for value in values or [0.0])
            assert nearest <= 1e-4, (name, values)


def test_augmix_draws_torchvisions_chains_and_weights():
    transform, theirs = v2.AugMix(), []
    original = transform._sample_dirichlet
    transform._sample_dirichlet = lambda params: theirs[-1].append(original(params)) or theirs[-1][-1]
    transform._apply_image_or_video_transform = lambda image, name, *_, **__: names.append(NAMES.get(name, name)) or image
    names, image = [], torch.zeros(3, 2, 2, dtype=torch.uint8)
    for _ in range(DRAWS):
        theirs.append([])
        transform(image)
    ours = [explained(packhorse.AugMix(), sample, 2, 2) for sample in range(DRAWS)]
    weights = [[draw[0][1][0]] + [values[0] for name, values, _ in draw if name == "Mix"] for draw in ours]
    alike(weights, [[float(m[0, 0]), *(float(w) * float(m[0, 1]) for w in chains[0])] for m, chains in theirs])
    mine = [name for draw in ours for name, _, _ in draw if name not in ("Keep", "Mix")]
    assert abs(len(mine) - len(names)) < 0.02 * len(names)
    cut = min(len(mine), len(names))
    equally_often(collections.Counter(mine[:cut]), collections.Counter(names[:cut]))


@pytest.mark.parametrize("text", ["rand-m9-mstd0.5-inc1", "rand-m7-n3-p0.8", "rand-m9-mstd101-mmax12"])
def test_timms_text_draws_timms_operations_and_magnitudes(text):
    timm = pytest.importorskip("timm.data.auto_augment")
    names = {
        "AutoContrast": "Autocontrast",
        "Color": "Saturation",
        "TranslateXRel": "TranslateX",
        "TranslateYRel": "TranslateY",
    }
    transform, drawn = timm.rand_augment_transform(text), []
    for op in transform.ops:
        name = op.name.removesuffix("Increasing")

        def record(image, *values, name=names.get(name, name), **_):
            sides = {"TranslateX": 224, "TranslateY": 160}
            drawn.append((name, *(value * sides.get(name, 1) for value in values)))
            return image

        op.aug_fn = record
    np.random.seed(1)
    timm.random.seed(1)
    for _ in range(DRAWS):
        transform(None)
    step = parsed(text)
    ours = [(name, *values) for sample in range(DRAWS) for name, values, _ in explained(step, sample, 160, 224)]
    assert abs(len(ours) - len(drawn)) < 0.03 * len(drawn)
    cut = min(len(ours), len(drawn))
    kinds = lambda draws: collections.Counter(name for name, *_ in draws[:cut])
    equally_often(kinds(ours), kinds(drawn))
    for name in kinds(drawn):
        mine, other = ([values[0] for kind, *values in draws if kind == name and values] for draws in (ours, drawn))
        cut_here = min(len(mine), len(other))
        if cut_here:
            distance = ks_distance(*np.round([mine[:cut_here], other[:cut_here]], 6))
            assert distance < 1.95 * (2 / cut_here) ** 0.5, (name, distance)


def parsed(text):
    """The step that a Loader makes of a text."""
    from packhorse import _reader

    [step] = _reader.parse_pixel_steps(text)
    return step


def test_erasing_draws_torchvisions_boxes():
    step = packhorse.RandomErasing(1)
    ours = [[values for _, values, _ in explained(step, sample, 160, 224)] for sample in range(DRAWS)]
    ours = [draw[0] if draw else [0, 0, 0, 0] for draw in ours]
    get_params = v2.RandomErasing._v1_transform_cls.get_params
    picture = torch.empty(3, 160, 224)
    boxes = [get_params(picture, (0.02, 0.33), (0.3, 3.3), [0.0])[:4] for _ in range(DRAWS)]
    # Torchvision returns the whole picture for no box at all; ours is empty.
    boxes = [(0, 0, 0, 0) if (h, w) == (160, 224) else (y, x, h, w) for y, x, h, w in boxes]
    alike([(x, y, w, h, w * h) for x, y, w, h in ours], [(x, y, w, h, w * h) for y, x, h, w in boxes])


COLOURS = ["Brightness", "Contrast", "Saturation", "Hue"]


@pytest.mark.parametrize("amounts", [(0.4, 1.5, 0.2, 0.1), ((0.6, 1.4), (0.1, 0.2), (2.0, 3.0), (-0.2, 0.5))], ids=["numbers", "ranges"])
def test_colour_jitter_draws_torchvisions_factors_and_orders(amounts):
    ours = [explained(packhorse.ColorJitter(*amounts), sample, 8, 8) for sample in range(DRAWS)]
    jitter = v2.ColorJitter(*amounts)
    theirs = [jitter.make_params([]) for _ in range(DRAWS)]
    values = [{name: value for name, [value], _ in draw} for draw in ours]
    alike([[v[name] for name in COLOURS] for v in values], [[d[f"{n.lower()}_factor"] for n in COLOURS] for d in theirs])
    orders = collections.Counter(tuple(name for name, _, _ in draw) for draw in ours)
    equally_often(orders, collections.Counter(tuple(COLOURS[i] for i in d["fn_idx"]) for d in theirs))


@pytest.mark.thorough
def test_photometric_distortion_draws_torchvisions_values():
    colours, transform = torch.zeros(3, 2, 2, dtype=torch.uint8), v2.RandomPhotometricDistort(p=0.5)
    neutral = dict(zip(COLOURS, (1, 1, 1, 0)))
    rows = ([], [])
    for sample in range(DRAWS):
        drawn = {name: values for name, values, _ in explained(packhorse.PhotometricDistort(), sample, 8, 8)}
        names = list(drawn)
        last = "Contrast" in drawn and "Hue" in drawn and names.index("Contrast") > names.index("Hue")
        rows[0].append([*(drawn.get(n, [neutral[n]])[0] for n in COLOURS), *drawn.get("Channels", (0, 1, 2)), last])
        params = transform.make_params([colours])
        factors = {name: params[f"{name.lower()}_factor"] for name in COLOURS}
        order = params["channel_permutation"]
        last = not params["contrast_before"] and factors["Contrast"] is not None and factors["Hue"] is not None
        rows[1].append([*(neutral[n] if v is None else v for n, v in factors.items()), *([0, 1, 2] if order is None else order.tolist()), last])
    alike(*rows)


def test_affine_draws_torchvisions_numbers():
    options = dict(degrees=(-30, 60), translate=(0.2, 0.1), scale=(0.5, 1.5), shear=(-10, 20, 0, 5))
    ours = [explained(packhorse.RandomAffine(**options), sample, 160, 224)[0][1] for sample in range(DRAWS)]
    transform = v2.RandomAffine(**options)
    drawn = [transform.make_params([torch.empty(3, 160, 224)]) for _ in range(DRAWS)]
    alike(ours, [[d["angle"], *d["translate"], d["scale"], *d["shear"]] for d in drawn])


def test_steps_happen_as_often_as_their_probability_says():
    for name in dir(packhorse):
        step = getattr(packhorse, name)
        if not isinstance(step, type) or not issubclass(step, packhorse.pixel_steps.PixelStep) or "p" not in step().parameters:
            continue
        if name in ("TimmRandAugment", "PhotometricDistort"):
            continue
        values = {"hue": 0.1} if name == "ColorJitter" else {}
        done = sum(step(p=0.3, **values).explain(64, 64, sample=sample) != "" for sample in range(DRAWS))
        assert abs(done - 0.3 * DRAWS) < 4 * (DRAWS * 0.21) ** 0.5, name
