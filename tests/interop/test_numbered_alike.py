"""Class folders whose images have the same numbers: unlike photos are classes; renderings of one photo are not, be they
negatives, edges, masks, or frames of one film."""

import numpy as np
import pytest
from PIL import Image, ImageFilter, ImageOps
from python_support import DONE, photos, run

COUNT = 12


def photo(number, size=(160, 120)):
    files = sorted(path for path in photos("imagenet/imagenet200").rglob("*") if path.is_file())
    return Image.open(files[number]).convert("RGB").resize(size)


def threshold(least, most):
    return lambda picture: picture.convert("L").point(lambda value: 255 if least <= value < most else 0)


RENDERINGS = {
    "smaller": lambda picture: picture.resize((80, 60)),
    "grey": lambda picture: picture.convert("L"),
    "negative": ImageOps.invert,
    "edges": lambda picture: picture.convert("L").filter(ImageFilter.FIND_EDGES),
    "dark things white": threshold(0, 90),
    "bright things white": threshold(120, 256),
    "solarised": lambda picture: ImageOps.solarize(picture, 100),
}


def write(folder, name, pictures):
    (folder / name).mkdir(parents=True)
    for i, picture in enumerate(pictures):
        picture.save(folder / f"{name}/{i:04}.png")


@pytest.mark.parametrize("rendering", RENDERINGS)
@pytest.mark.parametrize("first", [0, 50, 100])
def test_renderings_are_no_classes(tmp_path, rendering, first):
    pictures = [photo(first + i) for i in range(COUNT)]
    write(tmp_path, "camera", pictures)
    write(tmp_path, "other", [RENDERINGS[rendering](picture) for picture in pictures])
    result = run("pack", tmp_path, tmp_path.parent / f"{tmp_path.name}-out", "--format", "wds", "--dry-run")
    assert result.code != DONE and "have the same names, as renderings" in result.err, result


def test_frames_of_a_film_do_not_tell(tmp_path):
    """Each is as like the next as the two of a pair are."""
    whole = photo(7, (400, 300))
    frames = [whole.crop((i, i, i + 320, i + 240)) for i in range(COUNT)]
    rng = np.random.default_rng(3)
    depth = rng.integers(0, 255, (12, 16), np.uint8)
    write(tmp_path, "frames", frames)
    write(tmp_path, "depth", [Image.fromarray(np.roll(depth, i, 1)).resize((320, 240)) for i in range(COUNT)])
    result = run("pack", tmp_path, tmp_path.parent / f"{tmp_path.name}-out", "--format", "wds", "--dry-run")
    assert result.code != DONE and "have the same names, as renderings" in result.err, result


def test_unlike_photos_are_classes_and_it_is_said(tmp_path):
    """Nearly always: what looks alike by chance is refused."""
    packed = 0
    for first in (0, 40, 80, 120):
        source = tmp_path / f"source{first}"
        write(source, "cat", [photo(first + i) for i in range(COUNT)])
        write(source, "dog", [photo(first + COUNT + i) for i in range(COUNT)])
        result = run("pack", source, tmp_path / "out", "--format", "wds", "--dry-run")
        packed += result.code == DONE
        said = "eight pairs that were looked at are unlike" if result.code == DONE else "have the same names, as renderings"
        assert said in result.out + result.err, result
    assert packed >= 3
