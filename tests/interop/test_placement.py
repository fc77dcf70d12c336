"""Pictures and their objects go where torchvision's transforms of tv_tensors put them."""

import json
import subprocess

import pytest
from python_support import BIN

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
mask_api = pytest.importorskip("pycocotools.mask")
from test_augment import as_rows, some_photos, tensor_of  # noqa: E402
from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import v2  # noqa: E402
from torchvision.transforms.v2 import functional as F  # noqa: E402

MASKS = 100  # the masks of so many samples are compared


@pytest.fixture(params=[300, pytest.param(4_000, marks=pytest.mark.thorough)])
def count(request):
    """How many pictures are compared, with 2.5 objects each on average."""
    return request.param


def made_sample(i, random):
    """A picture of a few objects, and what the probe is to do with it."""
    width, height = (int(side) for side in random.integers(40, 160, 2))
    boxes, polygons, points = [], [], []
    for _ in range(random.integers(1, 5)):
        x, y = sorted(random.uniform(0, width, 2)), sorted(random.uniform(0, height, 2))
        box = [x[0], y[0], max(x[1], x[0] + 8), max(y[1], y[0] + 8)]
        boxes.append([float(np.float32(min(side, limit))) for side, limit in zip(box, [width, height] * 2, strict=True)])
        angles = np.sort(random.uniform(0, 2 * np.pi, 7))
        centre, radius = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2], random.uniform(15, 60)
        polygons.append([[centre[0] + radius * np.cos(a), centre[1] + radius * np.sin(a)] for a in angles])
        points.append([float(np.float32(random.uniform(0, width))), float(np.float32(random.uniform(0, height)))])
    return {"sample": i, "width": width, "height": height,
            "objects": {"boxes": boxes, "polygons": polygons, "keypoints": points}}


def plans(samples, **augment):
    lines = [json.dumps(sample | {"augment": augment | sample.get("augment", {})}) for sample in samples]
    done = subprocess.run([BIN / "placement_probe", "plans"], input="\n".join(lines), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def samples_of_one_size(count, seed):
    random = np.random.default_rng(seed)
    return [made_sample(i, random) for i in range(count)]


def samples_of_own_size(count, seed):
    """Samples whose output is as large as the picture, so that nothing is scaled."""
    made = samples_of_one_size(count, seed)
    return [sample | {"augment": {"width": sample["width"], "height": sample["height"]}} for sample in made]


def as_tensors(sample, masks):
    """(boxes, key points, masks) as tv_tensors, masks only where they are asked for."""
    size, objects = (sample["height"], sample["width"]), sample["objects"]
    boxes = tv_tensors.BoundingBoxes(torch.tensor(objects["boxes"], dtype=torch.float64), format="XYXY",
                                     canvas_size=size, clamping_mode=None)
    points = tv_tensors.KeyPoints(torch.tensor(objects["keypoints"], dtype=torch.float64), canvas_size=size)
    if not masks:
        return boxes, points, None
    drawn = [mask_api.decode(mask_api.merge(mask_api.frPyObjects([np.ravel(polygon).tolist()], *size)))
             for polygon in objects["polygons"]]
    return boxes, points, tv_tensors.Mask(torch.from_numpy(np.stack(drawn)))


def compare(samples, transform, **augment):
    """`transform(draws, tensor, plan)` is torchvision's. Masks agree in 999 of 1,000 pixels of all of them."""
    boxes, points, sides, chosen, objects, shared, united = [], [], [], [], 0, 0, 0
    placed = plans(samples, **augment)
    for i, (sample, plan) in enumerate(zip(samples, placed, strict=True)):
        ours, parts = plan["objects"], as_tensors(sample, i < MASKS)
        box, point, masks = [part if part is None else transform(plan["draws"], part, plan) for part in parts]
        boxes.append(box.numpy())
        points.append(point.numpy())
        sides += [box.canvas_size[::-1]] * len(box)
        chosen += [objects + label for label in ours["labels"]]
        objects += len(box)
        for label, counts in zip(ours["labels"], ours["masks"] if i < MASKS else []):
            drawn, theirs = mask_api.decode({"size": box.canvas_size, "counts": counts}), masks.numpy()[label]
            shared, united = shared + (drawn & theirs).sum(), united + (drawn | theirs).sum()
    assert shared >= 0.999 * united > 0, shared / united

    def ours(what, numbers):
        return np.array([row for plan in placed for row in plan["objects"][what]]).reshape(-1, numbers)

    boxes, points, sides = np.concatenate(boxes), np.concatenate(points), np.array(sides)
    boxes = np.clip(boxes, 0, np.tile(sides, 2))  # at the picture's edge, which torchvision leaves to a step of its own
    wide = (boxes[:, 2:] - boxes[:, :2] > 1e-3).all(1)
    assert set(np.flatnonzero(wide)) <= set(chosen)
    assert np.abs(ours("boxes", 4) - boxes[chosen]).max() < 1e-3
    seen, points, sides = ours("keypoints", 3)[:, 2] > 0, points[chosen], sides[chosen]
    assert (seen >= ((points >= 1e-3) & (points <= sides - 1e-3)).all(1)).all()
    assert np.abs(ours("keypoints", 3)[:, :2] - points)[seen].max() < 1e-3


def test_affine(count):
    def transform(draws, tensor, _plan):
        return F.affine(tensor, draws["angle"], [draws["x"], draws["y"]], draws["scale"],
                        [draws["shear_x"], draws["shear_y"]])

    compare(samples_of_own_size(count, 1), transform, degrees=40, translate=0.2, min_scale=0.5, max_scale=1.5, shear=15)


def test_perspective(count):
    def transform(draws, tensor, plan):
        width, height = plan_size(tensor)
        corners = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        return F.perspective(tensor, corners, draws["corners"], fill=0)

    compare(samples_of_own_size(count, 2), transform, perspective=1)


def plan_size(tensor):
    height, width = tensor.shape[-2:] if isinstance(tensor, tv_tensors.Mask) else tensor.canvas_size
    return width, height


def test_flips(count):
    # torchvision takes key points for numbers of pixels when it mirrors them (and for coordinates elsewhere).
    def flip(function, axis, tensor):
        flipped = function(tensor)
        if isinstance(tensor, tv_tensors.KeyPoints):
            flipped[..., axis] += 1
        return flipped

    def transform(_draws, tensor, plan):
        tensor = flip(F.horizontal_flip, 0, tensor) if plan["matrix"][0] < 0 else tensor
        return flip(F.vertical_flip, 1, tensor) if plan["matrix"][4] < 0 else tensor

    compare(samples_of_own_size(count, 3), transform, flip=0.5, vertical_flip=0.5)


def nearest(tensor, height, width):
    if not isinstance(tensor, tv_tensors.Mask):
        return F.resize(tensor, [height, width])
    # torchvision resizes a Mask by its older rule, which is half a pixel off.
    pixels = F.resize(tensor.as_subclass(torch.Tensor), [height, width], interpolation=v2.InterpolationMode.NEAREST_EXACT)
    return tv_tensors.Mask(pixels)


def test_resize(count):
    compare(samples_of_one_size(count, 4), lambda _d, tensor, _p: nearest(tensor, 90, 120), height=90, width=120, stretch=True)


def test_letterbox(count):
    def transform(_draws, tensor, _plan):
        width, height = plan_size(tensor)
        scale = min(128 / width, 100 / height)
        wide, high = min(round(width * scale), 128), min(round(height * scale), 100)
        left, top = (128 - wide) // 2, (100 - high) // 2
        return F.pad(nearest(tensor, high, wide), [left, top, 128 - wide - left, 100 - high - top])

    compare(samples_of_one_size(count, 5), transform, height=100, width=128)


def test_iou_crop_is_one_that_torchvision_could_draw(count):
    samples = samples_of_one_size(count, 6)
    cropped = 0
    for sample, plan in zip(samples, plans(samples, height=90, width=120, stretch=True, crop=1), strict=True):
        left, top, right, bottom = plan["shown"]
        if (right - left, bottom - top) == (sample["width"], sample["height"]):
            continue
        cropped += 1
        assert all(side == int(side) for side in plan["shown"]) and left >= 0 and top >= 0
        assert right <= sample["width"] and bottom <= sample["height"]
        share = [(right - left) / sample["width"], (bottom - top) / sample["height"]]
        assert all(0.3 - 1 / 40 <= s <= 1 for s in share) and 0.5 <= (right - left) / (bottom - top) <= 2
        boxes = np.array(sample["objects"]["boxes"])
        x, y = boxes[:, 0::2].mean(1), boxes[:, 1::2].mean(1)
        centred = (x > left) & (x < right) & (y > top) & (y < bottom)
        assert centred.any() and set(plan["objects"]["labels"]) <= set(np.flatnonzero(centred))
        crop = tv_tensors.BoundingBoxes(torch.from_numpy(boxes), format="XYXY", clamping_mode="soft",
                                        canvas_size=(sample["height"], sample["width"]))
        crop = F.clamp_bounding_boxes(F.crop(crop, int(top), int(left), int(bottom - top), int(right - left)))
        theirs = nearest(crop, 90, 120).numpy()
        labels = plan["objects"]["labels"]
        assert np.abs(theirs[labels] - np.array(plan["objects"]["boxes"]).reshape(-1, 4)).max(initial=0) < 1e-3
    assert 0.5 * count < cropped < count  # one draw in seven takes the whole picture


def test_zoom_out(count):
    def transform(_draws, tensor, plan):
        width, height = plan_size(tensor)
        scale_x, left, scale_y, top = (plan["matrix"][i] for i in (0, 2, 4, 5))
        canvas, before = (120 / scale_x, 90 / scale_y), (left / scale_x, top / scale_y)
        assert all(abs(side - round(side)) < 1e-6 for side in (*canvas, *before))
        left, top, wide, high = (round(side) for side in (*before, *canvas))
        assert 1 <= wide / width < 4.01
        return nearest(F.pad(tensor, [left, top, wide - width - left, high - height - top]), 90, 120)

    compare(samples_of_one_size(count, 7), transform, height=90, width=120, stretch=True, zoom_out=1)


def test_turned_pictures():
    """A stored picture of each EXIF orientation gives the objects that the upright one gives."""
    corners = {1: (0, 0), 2: (1, 0), 3: (1, 1), 4: (0, 1), 5: (0, 0), 6: (0, 1), 7: (1, 1), 8: (1, 0)}
    random = np.random.default_rng(8)
    for orientation, (mirror_x, mirror_y) in corners.items():
        upright = [made_sample(i, random) for i in range(50)]

        def stored(point, sample, orientation=orientation, mirror_x=mirror_x, mirror_y=mirror_y):
            # EXIF says how the stored picture's rows and columns lie in the upright one.
            x, y = point if orientation < 5 else point[::-1]
            width, height = (sample["width"], sample["height"])[:: 1 if orientation < 5 else -1]
            return [width - x if mirror_x else x, height - y if mirror_y else y]

        turned = []
        for sample in upright:
            objects, swap = sample["objects"], orientation >= 5
            ends = [np.array([stored(box[:2], sample), stored(box[2:], sample)]) for box in objects["boxes"]]
            turned.append({"sample": sample["sample"], "orientation": orientation,
                           "width": sample["height"] if swap else sample["width"],
                           "height": sample["width"] if swap else sample["height"],
                           "objects": {"boxes": [[*pair.min(0), *pair.max(0)] for pair in ends],
                                       "polygons": [[stored(p, sample) for p in polygon]
                                                    for polygon in objects["polygons"]],
                                       "keypoints": [stored(p, sample) for p in objects["keypoints"]]}})
        options = {"height": 90, "width": 120, "degrees": 30, "flip": 0.5}
        for ours, theirs in zip(plans(turned, **options), plans(upright, **options), strict=True):
            assert ours["objects"]["labels"] == theirs["objects"]["labels"]
            for what in "boxes", "keypoints":
                a, b = np.array(ours["objects"][what]), np.array(theirs["objects"][what])
                assert np.abs(a - b).max(initial=0) < 1e-3


def drawn(path, **options):
    done = subprocess.run([BIN / "placement_probe", "draw", json.dumps(options)], input=path.read_bytes(), capture_output=True)
    assert done.returncode == 0, done.stderr
    return np.frombuffer(done.stdout, np.uint8).reshape(options["height"], options["width"], 3).astype(int)


def test_pixels_of_a_letterbox():
    for path in some_photos(6):
        picture = tensor_of(path)
        height, width = picture.shape[1:]
        scale = min(640 / width, 480 / height)
        wide, high = round(width * scale), round(height * scale)
        left, top = (640 - wide) // 2, (480 - high) // 2
        theirs = F.pad(F.resize(picture, [high, wide], antialias=True),
                       [left, top, 640 - wide - left, 480 - high - top], fill=114)
        assert np.abs(drawn(path, height=480, width=640, sample=0) - as_rows(theirs)).max() <= 1, path


def warped(path, sample, **options):
    """(ours, torchvision's, where the picture covers pixels wholly or not at all)."""
    options = {"height": 160, "width": 200, "stretch": True, **options}
    plan = plans([{"sample": sample, "width": 9, "height": 9,
                   "objects": {"boxes": [], "polygons": [], "keypoints": []}}], **options)[0]
    draws = plan["draws"]
    picture = F.resize(tensor_of(path), [160, 200], antialias=True)

    def transform(tensor, fill):
        if "corners" in draws:
            corners = [[0, 0], [199, 0], [199, 159], [0, 159]]
            tensor = F.perspective(tensor, corners, draws["corners"], fill=fill)
        if options.get("degrees"):
            tensor = F.affine(tensor, draws["angle"], [draws["x"], draws["y"]], draws["scale"],
                              [draws["shear_x"], draws["shear_y"]], interpolation=v2.InterpolationMode.BILINEAR, fill=fill)
        return tensor

    covered = transform(torch.ones(1, 160, 200), 0.0)[0].numpy()
    return drawn(path, sample=sample, **options), as_rows(transform(picture, 114.0)), (covered == 0) | (covered > 0.9999)


@pytest.mark.parametrize("options", [{"degrees": 45, "translate": 0.2, "min_scale": 0.6, "max_scale": 1.6, "shear": 20},
                                     {"perspective": 1}], ids=["affine", "perspective"])
def test_pixels_that_are_warped(options):
    # Pictures that must grow are sampled once, not resized first.
    large = [path for path in some_photos(8) if all(np.array(tensor_of(path).shape[1:]) >= [160, 200])]
    assert len(large) > 4
    for sample, path in enumerate(large):
        ours, theirs, clear = warped(path, sample, **options)
        assert clear.mean() > 0.9
        assert np.abs(ours - theirs)[clear].max() <= 1, path
