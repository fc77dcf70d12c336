"""Bands from NumPy files and from the pages of a TIFF: what NumPy and tifffile wrote is what every door delivers."""

import io
import subprocess
import tarfile

import numpy as np
import pytest
import tifffile
from PIL import Image

from package import packhorse
from python_support import DONE, run
from python_support import packhorse as packhorse_command

torch = pytest.importorskip("torch")

HEIGHT, WIDTH = 30, 40
RANDOM = np.random.default_rng(55)


def made(shape, kind):
    if kind == np.float32:
        return RANDOM.normal(0, 1000, shape).astype(np.float32)
    return RANDOM.integers(0, np.iinfo(kind).max, shape, endpoint=True).astype(kind)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def write_tar(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


# An array as it is saved, and as the picture that it is: height, width, bands.
ARRAYS = {
    "bands last": lambda: [made((HEIGHT, WIDTH, 5), np.uint16)] * 2,
    "bands first": lambda: (lambda a: [a, a.transpose(1, 2, 0)])(made((5, HEIGHT, WIDTH), np.uint16)),
    "no axis of bands": lambda: (lambda a: [a, a[..., None]])(made((HEIGHT, WIDTH), np.float32)),
    "columns first": lambda: (lambda a: [np.asfortranarray(a), a])(made((HEIGHT, WIDTH, 4), np.float32)),
    "big end first": lambda: (lambda a: [a.astype(">u2"), a])(made((HEIGHT, WIDTH, 2), np.uint16)),
    "big floats": lambda: (lambda a: [a.astype(">f4"), a])(made((HEIGHT, WIDTH, 2), np.float32)),
    "many bands of a square": lambda: (lambda a: [a, a])(made((20, 20, 200), np.uint8)),
    "many bands first": lambda: (lambda a: [a, a.transpose(1, 2, 0)])(made((200, 20, 20), np.uint8)),
    "colours": lambda: [made((HEIGHT, WIDTH, 3), np.uint8)] * 2,
    "grey": lambda: (lambda a: [a, a[..., None]])(made((HEIGHT, WIDTH), np.uint8)),
}


@pytest.fixture(scope="module", params=ARRAYS.values(), ids=ARRAYS.keys())
def arrays(request):
    pairs = [request.param() for _ in range(3)]
    return [saved for saved, _ in pairs], [shown for _, shown in pairs]


def check_pixels(dataset_at, shown):
    dataset = packhorse.Dataset(dataset_at, image="numpy", bands="all")
    for i, array in enumerate(shown):
        pixels, label = dataset[i]
        assert label == i % 2 and pixels.dtype == array.dtype
        np.testing.assert_array_equal(pixels, array)
    (batch,) = packhorse.Loader(
        dataset_at, len(shown), augment=packhorse.CenterCrop(8), bands="all", dtype=shown[0].dtype, shuffle=False
    )
    y, x = round((shown[0].shape[0] - 8) / 2.0), (shown[0].shape[1] - 8) // 2
    crops = np.stack(shown)[:, y : y + 8, x : x + 8].transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(batch.images.numpy(), crops)


def check_sound(dataset_at, source, *options):
    assert run("inspect", dataset_at, "--verify", "full", "--decode").code == DONE
    result = run("inspect", dataset_at, "--against", source, "--bands", *options)
    assert result.code == DONE, result


def test_members_of_shards(arrays, tmp_path):
    """Adopted where they are, and packed from there into all formats."""
    saved, shown = arrays
    members = []
    for i, array in enumerate(saved):
        members += [(f"{i:03}.npy", npy(array)), (f"{i:03}.cls", str(i % 2).encode())]
    write_tar(tmp_path / "shards/s-000.tar", members)
    packhorse_command("index", tmp_path / "shards", "--bands")
    check_pixels(tmp_path / "shards", shown)
    for form in ("wds", "lmdb", "lmdb-members", "hdf5"):
        out = tmp_path / form
        packhorse_command("pack", tmp_path / "shards/s-000.tar", out, "--format", form, "--bands", "--no-shuffle")
        check_sound(out, tmp_path / "shards/s-000.tar")
        check_pixels(out, shown)
        files = packhorse.Dataset(out, image="bytes")
        assert [files[i][0] for i in range(len(saved))] == [npy(array) for array in saved]


def test_class_folders(arrays, tmp_path):
    saved, shown = arrays
    for i, array in enumerate(saved):
        folder = tmp_path / f"source/{'ab'[i % 2]}"
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{i}.npy", array)
    out = tmp_path / "packed"
    packhorse_command("pack", tmp_path / "source", out, "--format", "wds", "--bands", "--no-shuffle")
    check_sound(out, tmp_path / "source")
    order = [0, 2, 1]  # a/0, a/2, b/1
    dataset = packhorse.Dataset(out, image="numpy", bands="all")
    for i, which in enumerate(order):
        np.testing.assert_array_equal(dataset[i][0], shown[which])
    with tarfile.open(tmp_path / "source.tar", "w") as tar:
        tar.add(tmp_path / "source", "source")
    packhorse_command("pack", tmp_path / "source.tar", tmp_path / "again", "--format", "wds", "--bands", "--no-shuffle")
    for name in ("shard-000000.tar", "classes.txt"):
        assert (tmp_path / "again" / name).read_bytes() == (out / name).read_bytes()
    packhorse_command("unpack", out, tmp_path / "unpacked")
    for i, array in enumerate(saved):
        found = tmp_path / f"unpacked/{'ab'[i % 2]}/{i}.npy"
        assert found.read_bytes() == npy(array)


def test_colours_are_colours(tmp_path):
    """Arrays of bytes with three bands are packed without an option, and are the colours of a PNG of them."""
    arrays = [made((HEIGHT, WIDTH, 3), np.uint8) for _ in range(4)]
    for i, array in enumerate(arrays):
        for kind in ("npy", "png"):
            (tmp_path / f"{kind}/{'ab'[i % 2]}").mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / f"npy/{'ab'[i % 2]}/{i}.npy", array)
        Image.fromarray(array).save(tmp_path / f"png/{'ab'[i % 2]}/{i}.png")
    batches = []
    for kind in ("npy", "png"):
        packhorse_command("pack", tmp_path / kind, tmp_path / f"packed-{kind}", "--format", "wds")
        loader = packhorse.Loader(tmp_path / f"packed-{kind}", 4, augment=packhorse.RandomResizedCrop(16), seed=3)
        batches.append(next(iter(loader)).images.numpy())
    np.testing.assert_array_equal(*batches)
    packhorse_command("pack", tmp_path / "npy", tmp_path / "lossless", "--format", "wds", "--image", "lossless")
    assert packhorse.Dataset(tmp_path / "lossless", image="bytes")[0][0][:4] == b"\x89PNG"


def test_fields_of_an_array_may_be_arrays(tmp_path):
    """Keys end at the first dot, as with images of other kinds."""
    members = []
    for i in range(4):
        for name in ("npy", "depth.npy", "normal.npy"):
            members.append((f"{i:03}.{name}", npy(made((HEIGHT, WIDTH, 3), np.uint8))))
        members.append((f"{i:03}.cls", str(i % 2).encode()))
    write_tar(tmp_path / "source.tar", members)
    packhorse_command("pack", tmp_path / "source.tar", tmp_path / "packed", "--format", "wds", "--no-shuffle")
    dataset = packhorse.Dataset(tmp_path / "packed", image="bytes")
    assert dataset.fields == ["depth.npy", "normal.npy"]
    assert [dataset[i][0] for i in range(4)] == [members[4 * i][1] for i in range(4)]


def test_pages_are_bounded_as_a_whole(tmp_path):
    """Strips of one row in the first page, and one strip in the others."""
    path = tmp_path / "source/a/0.tif"
    path.parent.mkdir(parents=True)
    with tifffile.TiffWriter(path) as tiff:
        for page in range(8):
            options = {"rowsperstrip": 1 if page == 0 else 1000, "compression": "zlib", "metadata": None}
            tiff.write(np.zeros((1000, 1000), np.uint8), photometric="minisblack", **options)
    pack = ("pack", tmp_path / "source", tmp_path / "packed", "--format", "wds", "--classes-at", "1", "--pages-as-bands")
    result = run(*pack, "--max-decoded-bytes", "6M")
    assert result.code != DONE and "--max-decoded-bytes" in result.err, result
    result = run(*pack, "--max-scan-pixels", "7000000")
    assert result.code != DONE and "8 scans of 1000 x 1000 pixels" in result.err, result
    assert run(*pack, "--max-decoded-bytes", "8M").code == DONE


@pytest.mark.parametrize("container", ["folder", "tar", "shard"])
def test_beside_images_they_are_none(tmp_path, container):
    """There they hold depths or features of the images."""
    members = []
    for i in range(4):
        picture = io.BytesIO()
        Image.fromarray(made((HEIGHT, WIDTH, 3), np.uint8)).save(picture, "PNG")
        name = f"{i:03}" if container == "shard" else f"{'ab'[i % 2]}/{i:03}"
        members += [(f"{name}.npy", npy(made((HEIGHT, WIDTH), np.float32))), (f"{name}.png", picture.getvalue())]
        if container == "shard":
            members.append((f"{name}.cls", str(i % 2).encode()))
    write_tar(tmp_path / "source.tar", members)
    source = tmp_path / "source.tar"
    if container == "folder":
        (tmp_path / "source").mkdir()
        subprocess.run(["tar", "-xf", source, "-C", tmp_path / "source"], check=True)
        source = tmp_path / "source"
    kind = {"source_kind": "archive", "classes_at": 1} if container == "tar" else {}
    report = packhorse.pack(source, tmp_path / "packed", format="wds", bands=True, **kind)
    assert report.packed == 4
    dataset = packhorse.Dataset(tmp_path / "packed", image="bytes")
    assert {dataset[i][0][:4] for i in range(4)} == {b"\x89PNG"}
    assert report.skipped == (0 if container == "shard" else 4)


REFUSED = {
    "of <f8": made((HEIGHT, WIDTH), np.float32).astype("<f8"),
    "of <i2": made((HEIGHT, WIDTH, 2), np.uint16).astype("<i2"),
    "of |b1": np.ones((HEIGHT, WIDTH), bool),
    "of the shape (40)": made((40,), np.float32),
    "of the shape (5, 120, 3)": made((5, 120, 3), np.uint8),
    "of the shape (30, 30, 30)": made((30, 30, 30), np.uint8),
    "of the shape (2, 30, 40, 3)": made((2, 30, 40, 3), np.uint8),
    "of the shape (30, 30, 0), of no bands": made((30, 30, 0), np.uint8),
    "of the shape (300, 30, 30), of too many bands": made((300, 30, 30), np.uint8),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_no_picture_is_refused_by_name(tmp_path, words):
    folder = tmp_path / "source/a"
    folder.mkdir(parents=True)
    np.save(folder / "0.npy", REFUSED[words])
    result = run("pack", tmp_path / "source", tmp_path / "packed", "--format", "wds", "--bands", "--classes-at", "1")
    assert result.code != DONE and f"unsupported: NumPy array {words}" in result.err, result


def test_bands_want_their_option_and_damage_is_named(tmp_path):
    folder = tmp_path / "source/a"
    folder.mkdir(parents=True)
    np.save(folder / "0.npy", made((HEIGHT, WIDTH, 5), np.uint16))
    pack = ("pack", tmp_path / "source", tmp_path / "packed", "--format", "wds", "--classes-at", "1")
    result = run(*pack)
    assert result.code != DONE and "NumPy array of 5 bands that are no colours (--bands" in result.err, result
    file = folder / "0.npy"
    file.write_bytes(file.read_bytes()[:-1])
    result = run(*pack, "--bands")
    assert result.code != DONE and "its size is not the one in its header" in result.err, result


PAGES = {
    "pages of 16 bits": (6, 1, np.uint16, {}),
    "pages of floats, compressed": (3, 1, np.float32, {"compression": "zlib"}),
    "tiled": (4, 1, np.uint8, {"tile": (16, 16)}),
    "two bands a page": (3, 2, np.uint16, {"planarconfig": "contig"}),
    "planes": (3, 2, np.uint8, {"planarconfig": "separate"}),
}


@pytest.mark.parametrize(("pages", "samples", "kind", "options"), PAGES.values(), ids=PAGES.keys())
@pytest.mark.parametrize("orientation", [1, 6])
def test_pages_as_bands(tmp_path, pages, samples, kind, options, orientation):
    shown = [made((HEIGHT, WIDTH, pages * samples), kind) for _ in range(3)]
    for i, array in enumerate(shown):
        path = tmp_path / f"source/{'ab'[i % 2]}/{i}.tif"
        path.parent.mkdir(parents=True, exist_ok=True)
        stored = np.rot90(array, 1) if orientation == 6 else array
        with tifffile.TiffWriter(path) as tiff:
            for page in range(pages):
                part = stored[..., page * samples : (page + 1) * samples]
                part = part[..., 0] if samples == 1 else part
                if options.get("planarconfig") == "separate":
                    part = np.moveaxis(part, 2, 0)
                tags = [(274, 3, 1, orientation, True)]
                tiff.write(np.ascontiguousarray(part), photometric="minisblack", metadata=None, extratags=tags, **options)
    result = run("pack", tmp_path / "source", tmp_path / "packed", "--format", "wds", "--bands")
    assert f"TIFF of {pages} pages" in result.err and "--pages-as-bands" in result.err
    out = tmp_path / "packed"
    packhorse_command("pack", tmp_path / "source", out, "--format", "wds", "--pages-as-bands", "--no-shuffle")
    assert run("inspect", out, "--verify", "full", "--decode").code == DONE
    assert run("inspect", out, "--against", tmp_path / "source", "--pages-as-bands").code == DONE
    dataset = packhorse.Dataset(out, image="numpy", bands="all")
    for i, which in enumerate((0, 2, 1)):
        np.testing.assert_array_equal(dataset[i][0], shown[which])
    packhorse.pack(tmp_path / "source", tmp_path / "first", format="wds", bands=True, first_frame=True)
    first = packhorse.Dataset(tmp_path / "first", image="numpy", bands="all")
    assert first[0][0].shape == (HEIGHT, WIDTH, samples)
    one = packhorse.pack(tmp_path / "source", tmp_path / "python", format="wds", pages_as_bands=True, shuffle=False)
    assert one.packed == 3
    assert (tmp_path / "python/SHA256SUMS").read_bytes() == (out / "SHA256SUMS").read_bytes()
    (batch,) = packhorse.Loader(out, 3, augment=packhorse.CenterCrop(8), bands=[2], dtype=kind, shuffle=False)
    y, x = round((HEIGHT - 8) / 2.0), (WIDTH - 8) // 2
    crops = np.stack([shown[i] for i in (0, 2, 1)])[:, y : y + 8, x : x + 8, 2]
    np.testing.assert_array_equal(batch.images.numpy()[:, 0], crops)


def test_pages_that_are_not_alike_are_refused(tmp_path):
    path = tmp_path / "source/a/0.tif"
    path.parent.mkdir(parents=True)
    with tifffile.TiffWriter(path) as tiff:
        tiff.write(made((HEIGHT, WIDTH), np.uint16), photometric="minisblack", metadata=None)
        tiff.write(made((HEIGHT, WIDTH + 1), np.uint16), photometric="minisblack", metadata=None)
    pack = ("pack", tmp_path / "source", tmp_path / "packed", "--format", "wds", "--classes-at", "1", "--pages-as-bands")
    result = run(*pack)
    assert result.code != DONE
    assert "TIFF whose pages cannot be the bands of one picture: page 2 has another size" in result.err, result
    result = run(*pack, "--first-frame")
    assert result.code != DONE and "--pages-as-bands" in result.err and "excludes" in result.err, result
    with pytest.raises(packhorse.errors.UsageError, match="excludes first_frame=True"):
        packhorse.pack(tmp_path / "source", tmp_path / "x", format="wds", first_frame=True, pages_as_bands=True)
