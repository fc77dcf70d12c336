"""Samples of more than colours of 8 bits: what was stored is what is delivered, and geometry moves it as it moves colours.

The oracles: the arrays that tifffile and Pillow wrote; torch's own antialiased resize; and the colours of 8 bits, which
test_augment.py and test_mosaic.py compare with torchvision."""

import json

import numpy as np
import pytest
import tifffile
from PIL import Image

from package import packhorse
from python_support import DONE, put, run
from python_support import packhorse as packhorse_command

torch = pytest.importorskip("torch")

HEIGHT, WIDTH = 37, 52
RANDOM = np.random.default_rng(54)
Y, X = np.mgrid[:HEIGHT, :WIDTH]


def made(bands, kind):
    """Waves and some noise, over all of what the type holds."""
    waves = np.stack([np.sin(X / (3 + i) + i) * np.cos(Y / (2 + i)) for i in range(bands)], -1)
    values = 0.45 * waves + 0.5 + RANDOM.uniform(-0.05, 0.05, waves.shape)
    if kind == np.float32:
        return (values * 7000 - 3000).astype(np.float32)
    return (values * np.iinfo(kind).max).round().astype(kind)


def write_tiff(path, array, orientation=1, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    array = array[..., 0] if array.shape[2] == 1 else array
    tags = [(274, 3, 1, orientation, True)]
    if options.get("planarconfig") == "separate":
        array = np.ascontiguousarray(np.moveaxis(array, 2, 0))
    photometric = options.pop("photometric", "minisblack")
    tifffile.imwrite(path, array, photometric=photometric, extratags=tags, metadata=None, **options)


def packed(source, out, *options):
    more = ("--format", "wds", "--bands", "--allow-odd-classes", "--no-shuffle", *options)
    packhorse_command("pack", source, out, *more)
    assert run("inspect", out, "--verify", "full", "--decode").code == DONE
    return out


KINDS = {
    "10 bands of 16 bits": (10, np.uint16, {"planarconfig": "contig", "compression": "zlib", "predictor": 2}),
    "7 bands in planes": (7, np.uint16, {"planarconfig": "separate", "tile": (16, 16)}),
    "5 bands of 8 bits": (5, np.uint8, {"planarconfig": "contig"}),
    "2 bands": (2, np.uint16, {"planarconfig": "contig"}),
    "floats": (1, np.float32, {"compression": "zlib"}),
    "4 bands of floats": (4, np.float32, {"planarconfig": "contig"}),
    "grey of 16 bits": (1, np.uint16, {}),
    "RGB of 16 bits": (3, np.uint16, {"photometric": "rgb"}),
}


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS.keys())
def tiffs(request, tmp_path_factory):
    """A dataset of three such TIFFs, the last of which lies on its side; and their arrays, upright."""
    bands, kind, options = request.param
    folder = tmp_path_factory.mktemp("bands")
    arrays = [made(bands, kind) for _ in range(3)]
    for i, array in enumerate(arrays):
        stored = np.rot90(array, 1) if i == 2 else array
        write_tiff(folder / f"source/a/{i}.tif", stored, 6 if i == 2 else 1, **options)
    return packed(folder / "source", folder / "packed"), arrays


def test_what_was_stored(tiffs):
    packed_at, arrays = tiffs
    dataset = packhorse.Dataset(packed_at, image="numpy", bands="all")
    for i, array in enumerate(arrays):
        pixels, label = dataset[i]
        assert label == 0 and pixels.dtype == array.dtype
        np.testing.assert_array_equal(pixels, array)
        last = array.shape[2] - 1
        np.testing.assert_array_equal(dataset.decode(i, bands=[last, 0]), array[..., [last, 0]])


def batch_of(dataset, **options):
    (batch,) = packhorse.Loader(dataset, 3, shuffle=False, **{"bands": "all", **options})
    return batch.images.numpy()


@pytest.mark.parametrize("size", [24, 64])
def test_resized_as_torch_does(tiffs, size):
    """And delivered as floats and as integers, in planes and interleaved, normalised and not."""
    packed_at, arrays = tiffs
    planes = torch.from_numpy(np.stack(arrays).astype(np.float64)).permute(0, 3, 1, 2)
    expected = torch.nn.functional.interpolate(planes, size=(size, size), mode="bilinear", antialias=True).numpy()
    kind = arrays[0].dtype
    full = 1 if kind == np.float32 else np.iinfo(kind).max
    scale = 7000 if kind == np.float32 else 1
    floats = batch_of(packed_at, size=size, dtype="float32")
    assert floats.dtype == np.float32 and floats.shape == expected.shape
    np.testing.assert_allclose(floats, expected / full, atol=2e-6 * scale)
    np.testing.assert_array_equal(batch_of(packed_at, size=size, dtype="float32", channels_last=False), floats)
    np.testing.assert_array_equal(batch_of(packed_at, size=size, dtype="float16"), floats.astype(np.float16))
    bands = expected.shape[1]
    chosen = batch_of(packed_at, size=size, dtype="float32", bands=[bands - 1])
    np.testing.assert_array_equal(chosen, floats[:, bands - 1 :])
    mean, std = np.linspace(0.2, 0.6, bands), np.linspace(0.1, 0.3, bands)
    normalised = batch_of(packed_at, size=size, dtype="float32", mean=mean, std=std)
    shape = (1, bands, 1, 1)
    expected_normalised = (floats - mean.astype(np.float32).reshape(shape)) / std.astype(np.float32).reshape(shape)
    np.testing.assert_array_equal(normalised, expected_normalised)
    if kind == np.float32:
        with pytest.raises(packhorse.errors.UsageError, match="floating-point"):
            batch_of(packed_at, size=size, dtype="uint16")
        return
    integers = batch_of(packed_at, size=size, dtype=kind)
    assert integers.dtype == kind
    assert np.abs(integers.astype(int) - expected).max() <= 0.5 + 0.15
    if kind == np.uint16:
        np.testing.assert_array_equal(batch_of(packed_at, size=size, dtype="uint16", bands=None), integers)


def test_a_crop_that_is_not_scaled_is_what_was_stored(tiffs):
    packed_at, arrays = tiffs
    top, left = round((HEIGHT - 16) / 2.0), (WIDTH - 16) // 2
    crops = np.stack(arrays)[:, top : top + 16, left : left + 16].transpose(0, 3, 1, 2)
    got = batch_of(packed_at, augment=packhorse.CenterCrop(16), dtype=arrays[0].dtype)
    np.testing.assert_array_equal(got, crops)


def test_what_is_no_number_stays_where_it_is(tmp_path):
    """Pixels that are not scaled have no share of their neighbours."""
    array = np.zeros((12, 12, 2), np.float32)
    array[5, 5, 0], array[6, 2, 1] = np.nan, np.inf
    write_tiff(tmp_path / "source/a/0.tif", array, planarconfig="contig")
    packed(tmp_path / "source", tmp_path / "packed")
    for augment in (packhorse.CenterCrop(12), packhorse.Resize(12), packhorse.DetectionAugment(12)):
        (batch,) = packhorse.Loader(tmp_path / "packed", 1, augment=augment, dtype="float32", bands="all")
        np.testing.assert_array_equal(batch.images.numpy()[0].transpose(1, 2, 0), array)
    found = packhorse_command("stats", tmp_path / "packed", "--bands").out
    assert "std = [nan, nan]" in found or "std = [nan, -nan]" in found or "nan" in found.split("std = ")[1]


@pytest.mark.parametrize("photometric", ["minisblack", "miniswhite"])
def test_bands_are_not_turned_over(tmp_path, photometric):
    array = made(5, np.uint16)
    write_tiff(tmp_path / "source/a/0.tif", array, photometric=photometric, planarconfig="contig")
    dataset = packhorse.Dataset(packed(tmp_path / "source", tmp_path / "packed"), image="numpy", bands="all")
    np.testing.assert_array_equal(dataset[0][0], array)
    np.testing.assert_array_equal(dataset.decode(0), array)


def test_a_predictor_that_a_compression_does_not_have_is_refused(tmp_path):
    path = tmp_path / "source/a/0.tif"
    write_tiff(path, made(5, np.uint16), planarconfig="contig", compression="adobe_deflate", predictor=True)
    with tifffile.TiffFile(path, mode="r+b") as file:
        file.pages[0].tags["Compression"].overwrite(32773)  # PackBits, which tifffile alone cannot write
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format", "wds", "--bands", "--allow-odd-classes")
    assert result.code != DONE and "unsupported: TIFF of a predictor with the compression 32773" in result.err, result


def test_without_loss_what_a_png_cannot_hold_is_kept(tmp_path):
    arrays = [made(2, np.uint16), made(4, np.uint8), made(1, np.float32), made(3, np.float32)]
    for i, array in enumerate(arrays):
        planar = {"planarconfig": "contig"} if array.shape[2] > 1 else {}
        write_tiff(tmp_path / f"source/a/{i}.tif", array, **planar)
    packed(tmp_path / "source", tmp_path / "packed", "--image", "lossless")
    dataset = packhorse.Dataset(tmp_path / "packed", image="numpy", bands="all")
    for i, array in enumerate(arrays):
        np.testing.assert_array_equal(dataset[i][0], array)


def test_statistics_of_unlike_samples_are_refused(tmp_path):
    for i, kind in enumerate((np.uint16, np.float32, np.uint8)):
        write_tiff(tmp_path / f"source/a/{i}.tif", made(3, kind), planarconfig="contig")
    packed(tmp_path / "source", tmp_path / "packed")
    result = run("stats", tmp_path / "packed", "--bands")
    assert result.code != DONE and "differ in their bands or bits" in result.err, result


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    """PNGs of 8 bits, some turned, with boxes and masks: the same pixels as colours and as bands."""
    folder = tmp_path_factory.mktemp("colours")
    images, annotations = [], []
    for i in range(6):
        array = np.asarray(Image.fromarray(made(3, np.uint8)).resize((52 + 9 * i, 61)))
        path = folder / f"source/{i}.tif"
        write_tiff(path, array, (1, 6, 3, 1, 8, 5)[i], photometric="rgb")
        height, width = array.shape[:2]
        images.append({"id": i, "file_name": path.name, "width": width, "height": height})
        box = [5 + i, 6, 20, 25]
        polygon = [5 + i, 6, 25 + i, 6, 25 + i, 31, 5 + i, 31]
        annotations.append({"id": i + 1, "image_id": i, "category_id": 1, "bbox": box, "area": 500, "iscrowd": 0,
                            "segmentation": [polygon]})
    objects = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "thing"}]}
    put(folder / "objects.json", json.dumps(objects).encode())
    return packed(folder / "source", folder / "packed", "--targets", f"coco:{folder / 'objects.json'}")


AUGMENTS = {
    "random crop": packhorse.RandomResizedCrop(40),
    "pad": packhorse.PadCrop(32),
    "resize and crop": packhorse.ResizeCenterCrop(48, 32),
    "letterbox": packhorse.DetectionAugment((48, 64), flip=0.5, vertical_flip=0.5),
    "stretch": packhorse.DetectionAugment((48, 64), fit="stretch", zoom_out=0.7, iou_crop=0.7),
    "affine": packhorse.DetectionAugment(64, affine=packhorse.RandomAffine(degrees=30, scale=(0.4, 1.6), shear=10)),
    "perspective": packhorse.DetectionAugment(64, perspective=1.0),
    "mosaic": packhorse.DetectionAugment(64, mosaic=1.0, affine=packhorse.RandomAffine(scale=(0.5, 1.5))),
    "mixed": packhorse.DetectionAugment(64, mixup=1.0, copy_paste=1.0),
}


@pytest.mark.parametrize("name", AUGMENTS)
def test_geometry_is_that_of_colours(colours, name):
    """Within the rounding of 8 bits and of positions; the objects are the same."""
    rules = packhorse.TargetRules(masks="run_lengths")
    for epoch in range(3):
        loaders = [
            packhorse.Loader(colours, 6, augment=AUGMENTS[name], seed=3, targets=rules, bands=bands)
            for bands in (None, "all")
        ]
        for loader in loaders:
            loader.set_epoch(epoch)
        (a,), (b,) = loaders
        np.testing.assert_array_equal(a.samples, b.samples)
        assert a.targets.boxes.tolist() == b.targets.boxes.tolist() and len(a.targets.boxes) > 0
        apart = np.abs(a.images.numpy().astype(int) - b.images.numpy())
        assert apart.max() <= (8 if name in ("affine", "perspective", "mosaic", "mixed") else 1), apart.max()
        assert apart.mean() < 0.6


def test_other_kinds(tmp_path):
    """PNGs and PNMs of 16 bits; an alpha, a palette, a JPEG, which are bands, too."""
    deep = made(3, np.uint16)
    grey = deep[..., 0]
    source = tmp_path / "source/a"
    source.mkdir(parents=True)
    wanted = {}
    Image.fromarray(grey).save(source / "0.png")
    wanted[0] = grey[..., None]
    header = b"P6 %d %d 65535\n" % (WIDTH, HEIGHT)
    (source / "1.ppm").write_bytes(header + deep.astype(">u2").tobytes())
    wanted[1] = deep
    rgba = np.dstack([made(3, np.uint8), (X * 4).astype(np.uint8)])
    Image.fromarray(rgba, "RGBA").save(source / "2.png")
    wanted[2] = rgba
    palette = Image.fromarray(rgba[..., :3]).quantize(64)
    palette.save(source / "3.png")
    wanted[3] = np.asarray(palette.convert("RGB"))
    Image.fromarray(rgba[..., :3]).save(source / "4.jpg", quality=95)
    wanted[4] = np.asarray(Image.open(source / "4.jpg"))
    Image.fromarray(rgba[..., 0]).save(source / "5.jpg", quality=95)
    wanted[5] = np.asarray(Image.open(source / "5.jpg"))[..., None]
    dataset = packhorse.Dataset(packed(tmp_path / "source", tmp_path / "packed"), image="numpy", bands="all")
    for i, expected in wanted.items():
        pixels = dataset[i][0]
        assert pixels.dtype == expected.dtype
        np.testing.assert_array_equal(pixels, expected)


def loader(path, **options):
    return packhorse.Loader(path, 2, **{"size": 16, "bands": "all", "dtype": "uint16", "shuffle": False, **options})


def test_what_makes_no_sense_is_refused(tmp_path):
    for name, arrays in {
        "bands": [made(4, np.uint16), made(5, np.uint16)],
        "bits": [made(5, np.uint8), made(5, np.uint16)],
        "numbers": [made(5, np.uint16), made(5, np.float32)],
        "one": [made(5, np.uint16)] * 2,
    }.items():
        for i, array in enumerate(arrays):
            write_tiff(tmp_path / name / f"a/{i}.tif", array, planarconfig="contig")
        packed(tmp_path / name, tmp_path / f"packed-{name}")
    unsupported, usage = packhorse.errors.UnsupportedError, packhorse.errors.UsageError
    with pytest.raises(usage, match="choose uint16"):
        loader(tmp_path / "packed-one", dtype="uint8")
    with pytest.raises(ValueError, match="mixed_bits"):
        loader(tmp_path / "packed-one", bands=None, dtype="float32", mixed_bits=True)
    with pytest.raises(unsupported, match="different numbers of bands: 4 bands of 16 bits, 5 bands of 16 bits"):
        loader(tmp_path / "packed-bands")
    assert loader(tmp_path / "packed-bands", bands=[3, 0])
    assert loader(tmp_path / "packed-bands", bands=np.array([3, 0]), dtype="float32", mean=[0.5] * 2, std=[1] * 2)
    with pytest.raises(usage, match="no band 4, counted from 0, in images of 4 bands"):
        loader(tmp_path / "packed-bands", bands=[4])
    with pytest.raises(unsupported, match="different numbers of bits: 5 bands of 8 bits, 5 bands of 16 bits"):
        loader(tmp_path / "packed-bits")
    (both,) = loader(tmp_path / "packed-bits", mixed_bits=True, dtype="float32")
    assert 0.9 < both.images.max() <= 1
    with pytest.raises(unsupported, match="integers and floating-point numbers"):
        loader(tmp_path / "packed-numbers", mixed_bits=True, dtype="float32")
    one = tmp_path / "packed-one"
    with pytest.raises(unsupported, match="some of its images cannot be decoded here: TIFF of 5 bands that are no colours") as raised:
        loader(one, bands=None, dtype="uint8")
    assert "`packhorse-train fit --channels N`" in raised.value.advice
    with pytest.raises(usage, match="bands"):
        loader(one, size=None, augment=[packhorse.CenterCrop(16), packhorse.ColorJitter(brightness=0.2)])
    with pytest.raises(usage, match="grey"):
        loader(one, size=None, augment=packhorse.DetectionAugment(16, background=(1, 2, 3)))
    with pytest.raises(usage, match="one number for each channel, of which there are 5"):
        loader(one, dtype="float32", mean=[0.5] * 3, std=[0.5] * 3)
    for bands in ("some", [], [-1], [255], [0.5]):
        with pytest.raises(ValueError, match="bands="):
            loader(one, bands=bands)
    with pytest.raises(ValueError, match="bands="):
        packhorse.Dataset(one, bands="all")
    with pytest.raises(unsupported, match="TIFF of 5 bands that are no colours"):
        packhorse.Dataset(one, image="numpy")[0]


def test_bands_are_packed_where_they_are_asked_for(tmp_path):
    for i in range(2):
        write_tiff(tmp_path / f"source/a/{i}.tif", made(5, np.uint16), planarconfig="contig")
    more = ("--format", "wds", "--allow-odd-classes")
    refused = run("pack", tmp_path / "source", tmp_path / "out", *more)
    assert refused.code != DONE and "TIFF of 5 bands that are no colours (--bands packs them as they are)" in refused.err
    for mode in (("resize",), ("raw", "--size", "16")):
        refused = run("pack", tmp_path / "source", tmp_path / "out", *more, "--bands", "--image", *mode)
        assert refused.code != DONE and "unsupported: TIFF of 5 bands that are no colours" in refused.err, refused
    assert packhorse.pack(tmp_path / "source", tmp_path / "out", format="wds", bands=True, allow_odd_classes=True).packed == 2
    for command in ("duplicates", "stats"):
        refused = run(command, tmp_path / "out")
        assert refused.code != DONE and "5 bands that are no colours" in refused.err, refused
    against = ("inspect", tmp_path / "out", "--against", tmp_path / "source")
    packhorse_command(*against, "--bands")
    assert packhorse.verify(tmp_path / "out", against=tmp_path / "source", bands=True).ok


def test_statistics_are_those_of_the_samples(tiffs):
    packed_at, arrays = tiffs
    pixels = np.concatenate([a.reshape(-1, a.shape[2]) for a in arrays]).astype(np.float64)
    pixels /= 1 if arrays[0].dtype == np.float32 else np.iinfo(arrays[0].dtype).max
    found = packhorse_command("stats", packed_at, "--bands", "--json").json
    for stats in (found["by_pixel"], found["by_image"]):  # of one size
        np.testing.assert_allclose(stats["mean"], pixels.mean(0), rtol=1e-6)
        np.testing.assert_allclose(stats["std"], pixels.std(0), rtol=1e-6)
    assert "bands" in packhorse_command("stats", packed_at, "--bands").out


@pytest.mark.parametrize("bands", [1, 2, 5])
def test_a_contact_sheet_shows_the_first_bands_and_says_so(tmp_path, bands):
    array = made(bands, np.float32)[:32, :32]
    if bands == 5:
        array[0, 0, 1] = np.nan
    write_tiff(tmp_path / "source/a/0.tif", array, planarconfig="contig")
    out = packed(tmp_path / "source", tmp_path / "packed")
    sheet = ("inspect", out, "--sheet", tmp_path / "sheet.png", "--sheet-tile", "32")
    shown = [0, 1, 2] if bands == 5 else [0]
    assert packhorse_command(*sheet, "--json").json["sheet"]["samples"][0]["bands"] == shown
    words = "bands 0, 1 and 2" if bands == 5 else "band 0"
    assert f"shown by {words}, from the least to the greatest" in packhorse_command(*sheet).out
    seen = np.asarray(Image.open(tmp_path / "sheet.png"))[10:42, 10:42]
    least, most = (of(array[..., shown], axis=(0, 1)) for of in (np.nanmin, np.nanmax))
    expected = np.nan_to_num((array[..., shown] - least) / (most - least)) * 255
    assert np.abs(seen - expected).max() <= 0.51
