"""Damages image files of every kind and compares what packhorse shows of each with what Pillow shows, tifffile (with
imagecodecs, where that is installed), heif-convert or djxl:

    PACKHORSE_BIN=build/release/bin PYTHONPATH=tests:tests/interop:tests/python .venv/bin/python tests/interop/random_images.py 100000 [KIND ...]

Either of them may refuse a file; where both show one, the pixels must be theirs, as docs/image_kinds.md makes colours of
them. Libraries differ in what they forgive, so what only one of them shows is counted, and no more.
"""

import collections
import concurrent.futures
import io
import logging
import multiprocessing
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

import numpy as np
import test_codecs
import tifffile
from package import packhorse
from PIL import Image, ImageOps
from python_support import DONE, paths, run

AT_ONCE = 2000
PROGRAMS = {"heic": ("heif-enc", "heif-convert"), "jxl": ("cjxl", "djxl")}
KINDS = ("png", "webp", "tiff", "bmp", "pnm", "gif", "jpeg", "avif", "npy", "heic", "jxl")
PNM = ("pbm", "pgm", "ppm", "plain")
MOST = {"avif": 3}  # levels apart: versions of libavif round differently where the matrix of colours is unusual
Image.MAX_IMAGE_PIXELS = None
warnings.simplefilter("ignore")  # Pillow's
logging.getLogger("tifffile").disabled = True


def files_of(kind):
    """The files that are damaged: those of test_codecs, and a larger one."""
    if kind in PROGRAMS:
        return made_by_programs(kind)
    if kind == "npy":
        return [npy(np.ascontiguousarray(array)) for array in arrays()]
    first = [(name.split()[0].rstrip(","), data) for name, data, _ in test_codecs.ALL]
    found = [data for name, data in first if name == kind or (kind == "pnm" and name in PNM)]
    found += [data for (name, data), (whole, _, _) in zip(first, test_codecs.ALL) if name == "animated" and kind in whole]
    y, x = np.mgrid[:90, :120]
    picture = Image.fromarray(np.stack([x * 2, y * 2, (x * y) % 251], -1).astype(np.uint8))
    options = {"tiff": {"compression": "tiff_lzw"}, "pnm": {}, "webp": {"quality": 70}, "jpeg": {"progressive": True}}
    file = io.BytesIO()
    picture.save(file, {"pnm": "PPM"}.get(kind, kind.upper()), **options.get(kind, {}))
    return [*found, file.getvalue()]


def arrays():
    """Pictures in NumPy arrays: bytes and 16 bits, grey and colours, bands last and first."""
    y, x = np.mgrid[:30, :40]
    colours = np.stack([x * 6, y * 8, (x * y) % 251], -1)
    for kind, scale in ((np.uint8, 1), (np.uint16, 257), (">u2", 257)):
        array = (colours * scale).astype(kind)
        yield from (array, array.transpose(2, 0, 1), array[..., 0])


def made_by_programs(kind):
    lossless, lossy = (["-L"], ["-q", "60"]) if kind == "heic" else (["-d", "0"], ["-d", "2"])
    rgba = np.dstack([test_codecs.RGB, test_codecs.ALPHA])
    pictures = {"lossless": (test_codecs.RGB, lossless), "lossy": (test_codecs.RGB, lossy), "alpha": (rgba, lossless),
                "grey": (test_codecs.GREY, lossless), "odd": (test_codecs.RGB[:15, :23], lossy)}  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        names = [name for name, _ in test_codecs.made_by(PROGRAMS[kind], kind, pictures, Path(place))]
        return [(Path(place) / name).read_bytes() for name in names]


def shown_by_program(kind, data):
    """The picture by the library's own program; None where that refuses it."""
    with tempfile.TemporaryDirectory() as place:
        file, out = Path(place) / f"a.{kind}", Path(place) / "out.png"
        file.write_bytes(data)
        done = subprocess.run([PROGRAMS[kind][1], file, out], capture_output=True, check=False)
        png = out.read_bytes() if done.returncode == 0 and out.exists() else b""
        # djxl 0.7 writes 9 to 15 bits as other numbers than it has decoded.
        deep = kind == "jxl" and png[24:25] == b"\x10"
        return None if deep or not png else shown_by_pillow(png)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def shown_by_numpy(data):
    """As docs/image_kinds.md has it; None for what NumPy refuses, or what is no colour."""
    array = np.load(io.BytesIO(data))
    if array.ndim == 3 and array.shape[0] <= min(array.shape[1:]) // 2:
        array = array.transpose(1, 2, 0)
    array = array if array.ndim == 3 else array[..., None]
    if array.shape[2] not in (1, 3) or array.dtype.kind != "u":
        return None
    eight = array if array.dtype == np.uint8 else ((array.astype(int) + 128) // 257).astype(np.uint8)
    return np.repeat(eight, 3, 2) if eight.shape[2] == 1 else eight


def with_right_sums(data):
    """A PNG whose chunks have the sums of what is in them now."""
    out, at = data[:8], 8
    while at + 12 <= len(data):
        length = struct.unpack(">I", data[at : at + 4])[0]
        body = data[at + 4 : at + 8 + length]
        if len(body) < 4 + length:
            break
        out += data[at : at + 4] + body + struct.pack(">I", zlib.crc32(body))
        at += 12 + length
    return out + data[at:]


def damaged(data, chance):
    """The file with one to four faults, more of them near its begin, where headers are."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        if not data:
            break
        at = int(len(data) * chance.random() ** chance.choice((1, 3)))
        match chance.randrange(7):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                data[at] = chance.choice((0, 1, 2, 3, 4, 8, 16, 127, 128, 255))
            case 2:
                value = chance.choice((0, 1, 2, 3, 8, 16, 255, 256, 65535))
                data[at : at + 2] = struct.pack(chance.choice("<>") + "H", value)[: len(data) - at]
            case 3:
                value = chance.choice((0, 1, 24, 16, 255, 65536, 0x7FFFFFFF, 0xFFFFFFFF))
                data[at : at + 4] = struct.pack(chance.choice("<>") + "I", value)[: len(data) - at]
            case 4:
                del data[at : at + chance.randrange(1, 9)]
            case 5:
                other = chance.randrange(len(data))
                data[at:at] = data[other : other + chance.randrange(1, 20)]
            case 6:
                if chance.random() < 0.3:
                    del data[at:]
    return bytes(data)


def turned(picture, orientation):
    """The stored picture upright."""
    steps = {2: lambda a: a[:, ::-1], 3: lambda a: a[::-1, ::-1], 4: lambda a: a[::-1], 5: lambda a: a.swapaxes(0, 1),
             6: lambda a: np.rot90(a, -1), 7: lambda a: np.rot90(a, 2).swapaxes(0, 1), 8: lambda a: np.rot90(a, 1)}
    return steps.get(orientation, lambda a: a)(picture)


def shown_by_tifffile(data):
    """As shown_by_pillow(): Pillow reads planes of 16 bits as if they were together, and more of the kind."""
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        page = next(page for page in file.pages if not page.subfiletype & 5)
        array = page.asarray()
        if any(isinstance(tag.value, bytes) for tag in page.tags if tag.code in (274, 284)):
            return None  # a number of another type, which libtiff takes and tifffile does not
        bits, photometric = page.bitspersample, int(page.photometric)
        if array.dtype.kind != "u" or bits > 16 or photometric not in (0, 1, 2, 5):
            return None
        if page.planarconfig == 2 and array.ndim == 3:
            array = np.moveaxis(array, 0, 2)
        samples = array if array.ndim == 3 else array[..., None]
        full = (1 << bits) - 1
        samples = (samples.astype(int) * 255 + full // 2) // full
        colours = {0: 1, 1: 1, 2: 3, 5: 4}[photometric]
        if photometric == 0:
            samples[..., 0] = 255 - samples[..., 0]
        extra = int(page.extrasamples[0]) if samples.shape[2] > colours and page.extrasamples else 0
        shown = samples[..., :colours]
        if photometric == 5:
            shown = ((255 - shown[..., :3]) * (255 - shown[..., 3:]) + 127) // 255
        if extra == 2:
            shown = test_codecs.flattened(shown, samples[..., colours])
        orientation = page.tags.get(274)
        return turned(np.repeat(shown, 4 - shown.shape[2], 2)[..., :3] if shown.shape[2] == 1 else shown,
                      orientation.value if orientation else 1)


def tifffile_or_nothing(data):
    """Not all of its exceptions can travel between processes."""
    try:
        return shown_by_tifffile(data)
    except (Exception, SystemError):  # noqa: BLE001: whatever it says of it
        return None


class Apart:
    """A process of its own for what crashes on damaged files, as imagecodecs does."""

    def __init__(self):
        self.pool = None

    def __call__(self, function, data):
        """What the function gives; None where it crashes."""
        if self.pool is None:
            self.pool = concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        try:
            return self.pool.submit(function, data).result()
        except concurrent.futures.process.BrokenProcessPool:
            self.pool = None
            return None


apart = Apart()


def shown_by_pillow(data):
    """The picture as packhorse makes colours of it; None where Pillow refuses it, or shows what is no colour."""
    try:
        if data[:4] in (b"II*\0", b"MM\0*"):
            return apart(tifffile_or_nothing, data)
        if data[:6] == b"\x93NUMPY":
            return shown_by_numpy(data)
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            upright = ImageOps.exif_transpose(image)
            mode = upright.mode
            if mode in ("L", "RGB", "1", "P") and "transparency" not in image.info:
                return np.asarray(upright.convert("RGB"))
            if mode in ("L", "RGB", "RGBA", "LA", "PA", "P"):
                rgba = np.asarray(upright.convert("RGBA"))
                if image.format == "BMP" and not rgba[..., 3].any():
                    return rgba[..., :3]
                return test_codecs.flattened(rgba[..., :3], rgba[..., 3])
            if mode.startswith("I;16"):
                return test_codecs.three((np.asarray(upright).astype(int) + 128) // 257)
            if mode == "CMYK":
                cmyk = 255 - np.asarray(upright).astype(int)
                return (cmyk[..., :3] * cmyk[..., 3:] + 127) // 255
    except (Exception, SystemError):  # noqa: BLE001: whatever Pillow says of it
        pass
    return None


def a_round(kind, bases, count, chance, counts, place):
    folder = place / "source"
    shutil.rmtree(folder, ignore_errors=True)
    files = {}
    for i in range(count):
        data = damaged(chance.choice(bases), chance)
        if kind == "png" and chance.random() < 0.8:
            data = with_right_sums(data)
        name = f"class/{i:05}.{'ppm' if kind == 'pnm' else kind}"
        files[name] = data
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    options = ("--format", "wds", "--max-rejects", "100%", "--allow-odd-classes", "--first-frame", "--max-pixels", "1000000")
    result = run("pack", folder, place / "out", "--overwrite", *options)
    assert result.code == DONE, result
    assert all(line.startswith("rejected: ") for line in result.err.splitlines()), result.err
    dataset = packhorse.Dataset(place / "out", image="numpy")
    packed = set()
    for sample, path in enumerate(paths(place / "out")):
        packed.add(path)
        theirs = shown_by_program(kind, files[path]) if kind in PROGRAMS else shown_by_pillow(files[path])
        try:
            ours = dataset[sample][0]
        except packhorse.Error:
            counts["refused by packhorse when it is decoded"] += 1
            continue
        if theirs is None:
            counts["shown by packhorse alone"] += 1
        elif ours.shape != theirs.shape or np.abs(ours.astype(int) - theirs).max() > MOST.get(kind, 1):
            counts["DIFFERENT"] += 1
            kept = Path(tempfile.gettempdir()) / f"different-{kind}-{counts['DIFFERENT']}.{kind}"
            kept.write_bytes(files[path])
            print(f"{kept}: {ours.shape} and {theirs.shape}", flush=True)
        else:
            counts["the same"] += 1
    counts["refused by packhorse"] += count - len(packed)


def compare(kind, total, seed=0):
    """How many files of a kind ended how."""
    chance = random.Random(f"{kind} {seed}")
    bases, counts = files_of(kind), collections.Counter()
    with tempfile.TemporaryDirectory() as place:
        for done in range(0, total, AT_ONCE):
            a_round(kind, bases, min(AT_ONCE, total - done), chance, counts, Path(place))
    return counts


if __name__ == "__main__":
    wrong = 0
    for chosen in sys.argv[2:] or KINDS:
        found = compare(chosen, int(sys.argv[1]))
        wrong += found["DIFFERENT"]
        print(chosen, ", ".join(f"{found[what]:,} {what}" for what in sorted(found)), flush=True)
    sys.exit(wrong > 0)
