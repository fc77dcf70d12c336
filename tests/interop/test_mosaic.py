"""Samples made of several pictures, against a plain reference: every picture is resized and put on a canvas, the canvas
is warped once, and masks are drawn pixel by pixel."""

import json
import subprocess

import pytest
from python_support import BIN, packhorse, photos

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
mask_api = pytest.importorskip("pycocotools.mask")
from PIL import Image  # noqa: E402
from torchvision.transforms import v2  # noqa: E402
from torchvision.transforms.v2 import functional as F  # noqa: E402

HEIGHT, WIDTH = 160, 200
PICTURES = 8


class Made:
    """Photos with a few objects each, packed in the order of their names."""

    def __init__(self, folder):
        found = sorted(photos("imagenet/imagenet200").rglob("*.*"))
        random = np.random.default_rng(3)
        images, annotations = [], []
        self.pictures, self.objects = [], []
        (folder / "source").mkdir()
        for i, path in enumerate(found[:: len(found) // PICTURES][:PICTURES]):
            with Image.open(path) as picture:
                picture.convert("RGB").save(folder / f"source/{i:03}.jpg", quality=92)
            with Image.open(folder / f"source/{i:03}.jpg") as picture:
                self.pictures.append(torch.from_numpy(np.array(picture)).permute(2, 0, 1))
            height, width = self.pictures[-1].shape[1:]
            images.append({"id": i, "file_name": f"{i:03}.jpg", "width": width, "height": height})
            self.objects.append([])
            for _ in range(i % 4):
                centre, radius = random.uniform((0.3 * width, 0.3 * height), (0.7 * width, 0.7 * height)), 0.25 * min(width, height)
                angles = np.sort(random.uniform(0, 2 * np.pi, 8))
                polygon = np.stack([centre[0] + radius * np.cos(angles), centre[1] + radius * np.sin(angles)], 1)
                low, high = polygon.min(0), polygon.max(0)
                self.objects[-1].append((np.float32([*low, *high]), polygon))
                annotations.append({"id": len(annotations) + 1, "image_id": i, "category_id": 1, "bbox": [*low.tolist(), *(high - low).tolist()],
                                    "segmentation": [polygon.ravel().tolist()], "area": 1.0})
        coco = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "thing"}]}
        (folder / "coco.json").write_text(json.dumps(coco))
        self.dataset = folder / "packed"
        packhorse("pack", folder / "source", self.dataset, "--format=wds", "--no-shuffle", f"--targets=coco:{folder}/coco.json")
        self.scratch = folder / "pixels"

    def compose(self, sample, **options):
        asked = {"dataset": str(self.dataset), "pixels": str(self.scratch), "sample": sample, "height": HEIGHT, "width": WIDTH, **options}
        done = subprocess.run([BIN / "placement_probe", "compose", json.dumps(asked)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        pixels = np.frombuffer(self.scratch.read_bytes(), np.uint8).reshape(HEIGHT, WIDTH, 3)
        return pixels.astype(int), json.loads(done.stdout)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Made(tmp_path_factory.mktemp("mosaic"))


def fitted(picture):
    height, width = picture.shape[1:]
    scale = min(WIDTH / width, HEIGHT / height)
    return F.resize(picture, [round(height * scale), round(width * scale)], antialias=True)


def warped_canvas(made, said):
    """(pixels, which picture covers each pixel wholly, or -1, boxes) of the plain way."""
    draws = said["draws"]
    # Larger than ours, so that the sides are cut as ours are: by the board around the middle.
    high, wide = 6 * HEIGHT, 6 * WIDTH
    left, top = 2 * WIDTH, 2 * HEIGHT
    canvas = torch.full((3, high, wide), 114, dtype=torch.uint8)
    owner = torch.full((high, wide), -1)
    boxes = []
    for number, (sample, (x, y)) in enumerate(zip(said["base"], said["corners"], strict=True)):
        small = fitted(made.pictures[sample])
        h, w = small.shape[1:]
        canvas[:, top + int(y) : top + int(y) + h, left + int(x) : left + int(x) + w] = small
        owner[top + int(y) : top + int(y) + h, left + int(x) : left + int(x) + w] = number
        height, width = made.pictures[sample].shape[1:]
        scale = np.array([w / width, h / height] * 2)
        boxes += [box * scale + [x, y, x, y] for box, _ in made.objects[sample]]
    board = torch.zeros(high, wide, dtype=torch.bool)
    board[top : top + 2 * HEIGHT, left : left + 2 * WIDTH] = True
    canvas[:, ~board] = 114
    owner[~board] = -1
    part = slice(top, top + 2 * HEIGHT), slice(left, left + 2 * WIDTH)
    canvas, owner = canvas[:, part[0], part[1]], owner[part]

    def warp(tensor, fill):
        tensor = F.affine(tensor, draws["angle"], [draws["x"], draws["y"]], draws["scale"], [draws["shear_x"], draws["shear_y"]],
                          interpolation=v2.InterpolationMode.BILINEAR, fill=fill)
        return F.center_crop(tensor, [HEIGHT, WIDTH])

    pixels = warp(canvas, 114.0).permute(1, 2, 0).numpy().astype(int)
    sure = np.full((HEIGHT, WIDTH), -1)
    for number in range(len(said["base"])):
        sure[warp((owner == number).float()[None], 0.0)[0].numpy() > 0.9999] = number
    return pixels, sure, boxes


def matrix_of(draws):
    """torchvision's, from the canvas to the output, both around their centres."""
    from torchvision.transforms.functional import _get_inverse_affine_matrix as inverse

    m = inverse([0.0, 0.0], draws["angle"], [draws["x"], draws["y"]], draws["scale"], [draws["shear_x"], draws["shear_y"]], inverted=False)
    return np.array(m).reshape(2, 3)


def reference_boxes(boxes, draws):
    made = []
    matrix = matrix_of(draws)
    for box in boxes:
        box = np.clip(box, 0, [2 * WIDTH, 2 * HEIGHT] * 2)
        if box[2] <= box[0] or box[3] <= box[1]:
            continue
        corners = np.array([[box[i], box[j]] for i in (0, 2) for j in (1, 3)]) - [WIDTH, HEIGHT]
        corners = corners @ matrix[:, :2].T + matrix[:, 2] + [WIDTH / 2, HEIGHT / 2]
        low, high = corners.min(0), corners.max(0)
        box = np.clip([*low, *high], 0, [WIDTH, HEIGHT] * 2)
        if box[2] - box[0] >= 1 and box[3] - box[1] >= 1:
            made.append(box)
    return np.array(made).reshape(-1, 4)


@pytest.mark.parametrize("pictures", [4, 9])
@pytest.mark.parametrize("affine", [{}, {"degrees": 12, "translate": 0.1, "min_scale": 0.6, "max_scale": 1.4, "shear": 5}], ids=["straight", "affine"])
def test_a_mosaic_is_a_warped_canvas(made, pictures, affine):
    shared = 0
    for sample in range(PICTURES):
        ours, said = made.compose(sample, mosaic=1, pictures=pictures, **affine)
        assert len(said["base"]) == pictures and said["base"][0] == sample
        theirs, sure, boxes = warped_canvas(made, said)
        assert np.abs(ours - theirs)[sure >= 0].max() <= 1
        assert (sure >= 0).mean() > 0.2
        shared += len(np.unique(sure[sure >= 0])) > 1
        wanted = reference_boxes(boxes, said["draws"])
        found = np.array(said["objects"]["boxes"]).reshape(-1, 4)
        assert wanted.shape == found.shape and np.abs(wanted - found).max(initial=0) < 1e-2
    assert shared > PICTURES // 2


def letterboxed(made, sample):
    """(pixels, masks) of one sample, mirrored."""
    small = fitted(made.pictures[sample])
    h, w = small.shape[1:]
    left, top = (WIDTH - w) // 2, (HEIGHT - h) // 2
    padded = F.pad(small, [left, top, WIDTH - w - left, HEIGHT - h - top], fill=114)
    height, width = made.pictures[sample].shape[1:]
    masks = []
    for _, polygon in made.objects[sample]:
        stored = mask_api.decode(mask_api.merge(mask_api.frPyObjects([polygon.ravel().tolist()], height, width)))
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        # The pixel nearest to the centre of each.
        rows = np.floor((np.arange(h) + 0.5) * height / h).astype(int)
        columns = np.floor((np.arange(w) + 0.5) * width / w).astype(int)
        mask[top : top + h, left : left + w] = stored[rows][:, columns]
        masks.append(mask[:, ::-1].astype(bool))
    return F.hflip(padded).permute(1, 2, 0).numpy().astype(int), masks


def decoded(objects):
    return [mask_api.decode({"size": [HEIGHT, WIDTH], "counts": counts.encode()}).astype(bool) for counts in objects["masks"]]


def box_around(mask):
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]


def test_copy_paste_is_what_masks_say(made):
    pasted = 0
    for sample in range(PICTURES):
        ours, said = made.compose(sample, copy_paste=1, flip=1)
        (partner,) = said["pasted"]
        below, own = letterboxed(made, sample)
        above, others = letterboxed(made, partner)
        masks = decoded(said["objects"])
        # Which of the other's objects were chosen is chance: those that are there.
        chosen = [mask for mask in others if any((mask == found).all() for found in masks)]
        cover = np.logical_or.reduce([np.zeros((HEIGHT, WIDTH), bool), *chosen])
        assert np.abs(ours - np.where(cover[..., None], above, below)).max() <= 1
        left = [(mask & ~cover, (mask & cover).any()) for mask in own if (mask & ~cover).any()]
        assert len(masks) == len(left) + len(chosen)
        for found, box, (mask, was_cut) in zip(masks, said["objects"]["boxes"], left):
            assert (found == mask).all()
            if was_cut:
                assert box == box_around(mask)
        pasted += len(chosen)
    assert pasted > 5


def test_mixup_adds_two_samples(made):
    for sample in range(PICTURES):
        ours, said = made.compose(sample, mixup=1, flip=1)
        (partner,) = said["mixed"]
        below, own = letterboxed(made, sample)
        above, others = letterboxed(made, partner)
        assert len(said["objects"]["boxes"]) == len(own) + len(others)
        if partner == sample:
            continue
        difference = (below - above).ravel()
        share = ((ours - above).ravel() @ difference) / (difference @ difference)
        assert 0.2 < share < 0.8  # Beta(32, 32)
        assert np.abs(ours - (share * below + (1 - share) * above)).max() <= 2
