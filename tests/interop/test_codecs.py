"""Pictures of every kind, made by Pillow, tifffile and by hand: the same pixels from every door, within a level of what
they were made of, or refused by name."""

import io
import itertools
import re
import shutil
import struct
import subprocess
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageOps

from package import packhorse
from python_support import DONE, listed, pack, paths, rejects_of, run
from python_support import packhorse as packhorse_command

WIDTH, HEIGHT = 24, 16
Y, X = np.mgrid[:HEIGHT, :WIDTH]
RGB = np.stack([X * 10, Y * 15, 255 - (X + Y) * 6], -1).astype(np.uint8)
GREY = RGB[..., 0]
ALPHA = (Y * 16 + X // 2).astype(np.uint8)


def flattened(colours, alpha, full=255):
    return (colours.astype(int) * alpha.astype(int)[..., None] + full // 2) // full


def three(grey):
    return np.repeat(np.asarray(grey)[..., None], 3, -1)


def stored(upright, orientation):
    """The picture that has to be turned as the tag says to be upright (EXIF 2.32, 4.6.4 A)."""
    back = {1: lambda a: a, 2: lambda a: a[:, ::-1], 3: lambda a: a[::-1, ::-1], 4: lambda a: a[::-1],
            5: lambda a: a.swapaxes(0, 1), 6: lambda a: np.rot90(a, 1), 7: lambda a: np.rot90(a, 2).swapaxes(0, 1),
            8: lambda a: np.rot90(a, -1)}
    return np.ascontiguousarray(back[orientation](upright))


def tiff(array, **options):
    file = io.BytesIO()
    tifffile.imwrite(file, array, **options)
    return file.getvalue()


def saved(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def tiffs():
    """Orientation x bits x tiles x planes x colours x alpha."""
    grid = itertools.product(range(1, 9), (8, 16), (False, True), (False, True), ("grey", "white", "rgb"),
                             (None, "unassalpha", "assocalpha", "unspecified"), (None, "zlib"))
    for orientation, bits, tiled, separate, colours, extra, compression in grid:
        if orientation not in (1, 3, 6) and (tiled or compression or extra == "unspecified"):
            continue  # the rest of the grid covers them
        if colours == "white" and extra:
            continue
        name = f"tiff {orientation} {bits} {tiled} {separate} {colours} {extra} {compression}"
        scale, kind = (1, np.uint8) if bits == 8 else (257, np.uint16)
        picture = RGB if colours == "rgb" else GREY[..., None]
        expected = picture.astype(int)
        samples = picture
        if extra:
            samples = np.dstack([picture, ALPHA])
            if extra != "unspecified":
                expected = flattened(picture, ALPHA)
            if extra == "assocalpha":
                samples = np.dstack([expected, ALPHA])
        if colours == "white":
            samples = 255 - samples
        samples = samples.astype(kind) * kind(scale)
        samples = stored(samples, orientation)
        if samples.shape[2] == 1:
            if separate:
                continue
            samples = samples[..., 0]
        elif separate:
            samples = np.ascontiguousarray(np.moveaxis(samples, 2, 0))
        options = {"photometric": {"grey": "minisblack", "white": "miniswhite", "rgb": "rgb"}[colours],
                   "extratags": [(274, 3, 1, orientation, True)], "compression": compression}
        if tiled:
            options["tile"] = (16, 16)
        if samples.ndim == 3:
            options["planarconfig"] = "separate" if separate else "contig"
        if extra:
            options["extrasamples"] = [extra]
        refused = "bands" if colours == "grey" and extra == "unspecified" else None
        yield name, tiff(samples, **options), refused or (three(expected[..., 0]) if colours != "rgb" else expected)


def other_tiffs():
    for bits in (1, 2, 4, 10, 12, 14):  # packed by hand: tifffile needs another library for these
        values = (GREY.astype(int) * ((1 << bits) - 1) + 127) // 255
        rows = b"".join(
            np.packbits([int(c) for v in row for c in f"{v:0{bits}b}"]).tobytes() for row in values)
        expected = (values * 255 + ((1 << bits) - 1) // 2) // ((1 << bits) - 1)
        yield f"tiff of {bits} bits", strip_tiff(rows, bits, 1), three(expected)
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits"):
        yield f"tiff {compression}", saved(Image.fromarray(RGB), "TIFF", compression=compression), RGB
    jpeg = saved(Image.fromarray(RGB), "TIFF", compression="jpeg", quality=95)
    yield "tiff of jpeg", jpeg, np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))
    two = Image.fromarray(GREY).point(lambda v: 255 * (v > 99), "1")
    for compression in ("group3", "group4"):
        yield f"tiff {compression}", saved(two, "TIFF", compression=compression), np.asarray(two.convert("RGB"))
    palette = Image.fromarray(RGB).quantize(16)
    yield "tiff of a palette", saved(palette, "TIFF"), np.asarray(palette.convert("RGB"))
    cmyk = np.dstack([255 - RGB, np.full_like(GREY, 40)])
    expected = ((255 - cmyk[..., :3].astype(int)) * (255 - 40) + 127) // 255
    yield "tiff of cmyk", tiff(cmyk, photometric="separated"), expected
    cmyk16 = cmyk.astype(np.uint16) * 257
    yield "tiff of cmyk of 16 bits", tiff(cmyk16, photometric="separated"), expected
    for order in "<>":
        deep = RGB.astype(np.uint16) * 257
        yield f"tiff {order}", tiff(deep.astype(order + "u2"), photometric="rgb", byteorder=order), RGB
        for predictor in (False, True):
            options = {"photometric": "rgb", "byteorder": order, "compression": "zlib", "predictor": predictor}
            yield f"tiff {order} zlib {predictor} 8", tiff(RGB, **options), RGB
            yield f"tiff {order} zlib {predictor} 16", tiff(deep.astype(order + "u2"), **options), RGB
    # The last strip has all its rows, though the picture ends before.
    taller = tiff(np.tile(GREY, (2, 1)), photometric="minisblack", compression="zlib", rowsperstrip=2 * HEIGHT)
    length = struct.pack("<HHII", 257, 4, 1, 2 * HEIGHT)
    assert taller.count(length) == 1, "tifffile writes another directory"
    yield "tiff with rows below", taller.replace(length, struct.pack("<HHII", 257, 4, 1, HEIGHT)), three(GREY)
    plain = tiff(GREY, photometric="minisblack", compression="zlib")
    at = plain.index(struct.pack("<HHI", 279, 4, 1)) + 8
    yield "tiff of a strip without bytes", plain[:at] + bytes(4) + plain[at + 4 :], "not inside the file"
    yield "tiff of pages", tiff(np.stack([RGB, RGB]), photometric="rgb"), "2 pages"
    file = io.BytesIO()
    with tifffile.TiffWriter(file) as writer:
        writer.write(RGB[::2, ::2], photometric="rgb", subfiletype=1)
        writer.write(RGB, photometric="rgb")
    yield "tiff with a thumbnail", file.getvalue(), RGB
    one, two = (struct.pack("<HHI", 254, 4, count) for count in (1, 2))
    assert file.getvalue().count(one) >= 1, "tifffile writes another directory"
    yield "tiff with a thumbnail, or not", file.getvalue().replace(one, two, 1), "TIFF of 2 pages"
    yield "tiff of floats", tiff(GREY.astype(np.float32) / 255, photometric="minisblack"), "floating"
    yield "tiff of signed", tiff(GREY.astype(np.int16), photometric="minisblack"), "other samples"
    yield "tiff of 32 bits", tiff(GREY.astype(np.uint32), photometric="minisblack"), "32 bits"
    yield "tiff of 10 bands", tiff(np.dstack([GREY] * 10), photometric="minisblack", planarconfig="contig"), "bands"
    yield "tiff of lab", saved(Image.fromarray(RGB).convert("LAB"), "TIFF"), "colours 8"


def strip_tiff(rows, bits, photometric):
    tags = [(256, 4, WIDTH), (257, 4, HEIGHT), (258, 3, bits), (259, 3, 1), (262, 3, photometric), (273, 4, 0),
            (277, 3, 1), (278, 4, HEIGHT), (279, 4, len(rows))]
    at = 8 + 2 + 12 * len(tags) + 4
    out = b"II*\0" + struct.pack("<IH", 8, len(tags))
    for tag, kind, value in tags:
        out += struct.pack("<HHII", tag, kind, 1, at if tag == 273 else value)
    return out + bytes(4) + rows


def bmp(bits, rows, masks=(), palette=b"", compression=0, top_down=False, header=40):
    head = struct.pack("<IiiHHIIiiII", header, WIDTH, -HEIGHT if top_down else HEIGHT, 1, bits, compression, 0, 0, 0,
                       len(palette) // 4, 0)
    head += struct.pack(f"<{len(masks)}I", *masks)
    if header > 40:
        head = head.ljust(header, b"\0")
    begin = 14 + len(head) + len(palette)
    return b"BM" + struct.pack("<IHHI", begin + len(rows), 0, 0, begin) + head + palette + rows


def padded(rows):
    return b"".join(row + bytes(-len(row) % 4) for row in rows)


def bmps():
    upside_down = RGB[::-1]
    for top_down in (False, True):
        picture = RGB if top_down else upside_down
        rows = padded([row[:, ::-1].tobytes() for row in picture])
        yield f"bmp of 24 bits {top_down}", bmp(24, rows, top_down=top_down), RGB
        rows = np.dstack([picture[..., ::-1], np.zeros_like(GREY)]).tobytes()
        yield f"bmp of 32 bits {top_down}", bmp(32, rows, top_down=top_down), RGB
    for name, order in (("rgb", (0, 1, 2)), ("bgr", (2, 1, 0)), ("grb", (1, 0, 2))):
        words = sum(upside_down[..., c].astype(np.uint32) << (8 * place) for c, place in enumerate(order))
        masks = [0xFF << (8 * place) for place in order]
        yield f"bmp of masks {name}", bmp(32, words.astype("<u4").tobytes(), masks, compression=3), RGB
    for masks in ((0x7C00, 0x3E0, 0x1F), (0xF800, 0x7E0, 0x1F), (0x1F, 0x7E0, 0xF800), (0xF00, 0xF0, 0xF)):
        words, expected = np.zeros((HEIGHT, WIDTH), np.uint32), []
        for c, mask in enumerate(masks):
            shift = (mask & -mask).bit_length() - 1
            most = mask >> shift
            values = (RGB[..., c].astype(int) * most + 127) // 255
            words |= (values << shift).astype(np.uint32)
            expected.append((values * 255 + most // 2) // most)
        rows = padded([row.astype("<u2").tobytes() for row in words[::-1]])
        yield f"bmp of masks {masks}", bmp(16, rows, masks, compression=3), np.dstack(expected)
        if masks[0] == 0x7C00:
            yield "bmp of 16 bits", bmp(16, rows), np.dstack(expected)
    ten = [(upside_down[..., c].astype(np.uint32) * 1023 + 127) // 255 for c in range(3)]
    words = ten[0] | ten[1] << 10 | ten[2] << 20
    yield "bmp of 10 bits", bmp(32, words.astype("<u4").tobytes(), (0x3FF, 0x3FF << 10, 0x3FF << 20), compression=3), RGB
    masks = (0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    rows = np.dstack([upside_down[..., ::-1], ALPHA[::-1]]).tobytes()
    yield "bmp with alpha", bmp(32, rows, masks, compression=3, header=124), flattened(RGB, ALPHA)
    rows = np.dstack([upside_down[..., ::-1], np.zeros_like(ALPHA)]).tobytes()
    yield "bmp with an alpha that is not used", bmp(32, rows, masks, compression=3, header=124), RGB
    for colours in (2, 16, 256):
        image = Image.fromarray(RGB).quantize(colours)
        yield f"bmp of {colours} colours", saved(image, "BMP"), np.asarray(image.convert("RGB"))
    image = Image.fromarray(RGB).quantize(16)
    indices = np.asarray(image)
    table = image.getpalette()[:48]
    palette = b"".join(bytes([table[i + 2], table[i + 1], table[i], 0]) for i in range(0, 48, 3))
    runs = b"".join(b"".join(bytes([1, i]) for i in row) + b"\0\0" for row in indices[::-1].tolist()) + b"\0\1"
    yield "bmp of runs", bmp(8, runs, palette=palette, compression=1), np.asarray(image.convert("RGB"))
    runs = b""
    for row in indices[::-1].tolist():
        nibbles = bytes(a << 4 | b for a, b in zip(row[::2], row[1::2], strict=True))
        runs += bytes([0, WIDTH]) + nibbles + bytes(len(nibbles) % 2) + b"\0\0"
    yield "bmp of runs of 4", bmp(4, runs + b"\0\1", palette=palette, compression=2), np.asarray(image.convert("RGB"))
    yield "bmp without its palette", bmp(8, padded([bytes(range(WIDTH))] * HEIGHT)), "its pixels lie where its palette should be"
    yield "bmp of 2 bits", bmp(2, padded([bytes(WIDTH // 4)] * HEIGHT), palette=bytes(16)), "2 bits"
    yield "bmp of jpeg", bmp(0, b"x" * 99, compression=4), "JPEG in a BMP"


def odd_ones():
    """What looks like a picture and is refused by name."""
    header = bytearray(png(GREY, 8, 0))
    header[27] = 1
    header[29:33] = struct.pack(">I", zlib.crc32(header[12:29]))
    yield "refused png of an unknown filter", bytes(header), "methods that PNG does not have"
    yield "refused plain pfm", b"PF\n2 2\n-1.0\n" + bytes(48), "PFM"
    raw = b"P6 4 4 255 " + bytes(48)
    yield "refused ppm twice", raw + raw, "several frames"
    bands = np.dstack([RGB, ALPHA, ALPHA])
    file = io.BytesIO()
    tifffile.imwrite(file, bands, photometric="rgb", extrasamples=[0, 2], metadata=None)
    yield "refused tiff with a late alpha", file.getvalue(), "alpha behind other bands"
    file = io.BytesIO()
    with tifffile.TiffWriter(file) as tiff:
        tiff.write(RGB, photometric="rgb", subfiletype=1, subifds=1, metadata=None)
        tiff.write(RGB, photometric="rgb", metadata=None)
    yield "refused tiff of a thumbnail and a picture below it", file.getvalue(), "thumbnail alone"
    file = io.BytesIO()
    tifffile.imwrite(file, RGB, photometric="rgb", rowsperstrip=1, metadata=None)
    shared = bytearray(file.getvalue())
    with tifffile.TiffFile(io.BytesIO(shared)) as tiff:
        offsets, counts = tiff.pages[0].tags[273], tiff.pages[0].tags[279]
        first, rows = offsets.value[0], offsets.count
        size = {3: "H", 4: "I"}
        values = struct.pack(f"<{rows}{size[offsets.dtype]}", *[first] * rows)
        shared[offsets.valueoffset : offsets.valueoffset + len(values)] = values
        values = struct.pack(f"<{rows}{size[counts.dtype]}", *[len(shared) - first] * rows)
        shared[counts.valueoffset : counts.valueoffset + len(values)] = values
    yield "refused tiff whose strips are the same", bytes(shared), "share its bytes too often"


def pngs():
    for bits in (1, 2, 4, 8, 16):
        values = (GREY.astype(int) * ((1 << bits) - 1) + 127) // 255
        expected = three((values * 255 + ((1 << bits) - 1) // 2) // ((1 << bits) - 1))
        yield f"png of {bits} bits", png(values, bits, 0), expected
        yield f"png of {bits} bits, interlaced", png(values, bits, 0, interlaced=True), expected
    for bits in (8, 16):
        scale = 1 if bits == 8 else 257
        for name, kind, samples, expected in (
            ("rgb", 2, RGB, RGB),
            ("rgba", 6, np.dstack([RGB, ALPHA]), flattened(RGB, ALPHA)),
            ("grey and alpha", 4, np.dstack([GREY, ALPHA]), three(flattened(GREY[..., None], ALPHA)[..., 0])),
        ):
            for interlaced in (False, True):
                made = png(samples.astype(int) * scale, bits, kind, interlaced=interlaced)
                yield f"png {name} {bits} {interlaced}", made, expected
    for colours in (2, 4, 16, 200):
        image = Image.fromarray(RGB).quantize(colours)
        yield f"png of {colours} colours", saved(image, "PNG"), np.asarray(image.convert("RGB"))
    image = Image.fromarray(RGB).quantize(16)
    with_alpha = saved(image, "PNG", transparency=bytes([0, 128, 255]))
    rgba = np.asarray(Image.open(io.BytesIO(with_alpha)).convert("RGBA"))
    yield "png of colours with alpha", with_alpha, flattened(rgba[..., :3], rgba[..., 3])
    one = saved(Image.fromarray(RGB), "PNG", transparency=tuple(int(v) for v in RGB[3, 4]))
    hidden = RGB.copy()
    hidden[(RGB == RGB[3, 4]).all(-1)] = 0
    yield "png with a transparent colour", one, hidden
    frames = [Image.fromarray(RGB), Image.fromarray(RGB[::-1].copy())]
    yield "animated png", saved(frames[0], "PNG", save_all=True, append_images=frames[1:]), "2 frames"


def png(values, bits, kind, interlaced=False):
    """libpng's own writer has no interlacing in Pillow: rows by hand, without filters."""
    def rows(part):
        out = b""
        for row in part.reshape(part.shape[0], -1):
            if bits < 8:
                out += b"\0" + np.packbits([int(c) for v in row for c in f"{v:0{bits}b}"]).tobytes()
            else:
                out += b"\0" + row.astype(">u2" if bits == 16 else "u1").tobytes()
        return out

    values = np.asarray(values)
    passes = ([values[y::dy, x::dx] for x, y, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4),
                                                        (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))]
              if interlaced else [values])
    data = zlib.compress(b"".join(rows(part) for part in passes if part.size))

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, bits, kind, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def pnms():
    def text(values):
        return " ".join(str(v) for v in np.asarray(values).ravel()).encode()

    size = f"{WIDTH} {HEIGHT}\n".encode()
    bits = (GREY > 99).astype(int)
    white = three(255 * (1 - bits))
    yield "pbm", b"P4\n" + size + np.packbits(bits, axis=1).tobytes(), white
    yield "plain pbm", b"P1\n# drawn\n" + size + text(bits), white
    yield "plain pbm without blanks", b"P1\n" + size + text(bits).replace(b" ", b""), white
    yield "plain pgm", b"P2\n" + size + b"255\n" + text(GREY), three(GREY)
    yield "plain ppm", b"P3\n" + size + b"255\n" + text(RGB), RGB
    yield "pgm", b"P5\n" + size + b"255\n" + GREY.tobytes(), three(GREY)
    yield "ppm", b"P6\n" + size + b"255\n" + RGB.tobytes(), RGB
    yield "pgm of 16 bits", b"P5\n" + size + b"65535\n" + (GREY.astype(">u2") * 257).tobytes(), three(GREY)
    twelve = (RGB.astype(int) * 4095 + 127) // 255
    yield "ppm of 12 bits", b"P6\n" + size + b"4095\n" + twelve.astype(">u2").tobytes(), RGB
    yield "plain ppm of 12 bits", b"P3\n" + size + b"4095\n" + text(twelve), RGB
    yield "pam", b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\n0", "PAM"


def gifs():
    image = Image.fromarray(RGB).quantize(64)
    pixels = np.asarray(image.convert("RGB"))
    yield "gif", saved(image, "GIF", interlace=0), pixels
    yield "gif, interlaced", saved(image, "GIF", interlace=1), pixels
    clear = saved(image, "GIF", transparency=int(np.asarray(image)[5, 7]))
    hidden = pixels.copy()
    hidden[np.asarray(image) == np.asarray(image)[5, 7]] = 0
    yield "gif with a transparent colour", clear, hidden
    other = Image.fromarray(RGB[::-1].copy()).quantize(64)
    yield "animated gif", saved(image, "GIF", save_all=True, append_images=[other]), "2 frames"


def webps():
    lossless = saved(Image.fromarray(RGB), "WEBP", lossless=True)
    yield "webp, lossless", lossless, RGB
    rgba = Image.fromarray(np.dstack([RGB, ALPHA]), "RGBA")
    with_alpha = saved(rgba, "WEBP", lossless=True, exact=True)
    yield "webp with alpha", with_alpha, flattened(RGB, ALPHA)
    lossy = saved(Image.fromarray(RGB), "WEBP", quality=80)
    yield "webp", lossy, np.asarray(Image.open(io.BytesIO(lossy)).convert("RGB"))
    other = Image.fromarray(RGB[::-1].copy())
    yield "animated webp", saved(Image.fromarray(RGB), "WEBP", save_all=True, append_images=[other], lossless=True), "2 frames"


def jpegs():
    def decoded(file):
        return np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))

    for subsampling, progressive in itertools.product((0, 1, 2), (False, True)):
        file = saved(Image.fromarray(RGB), "JPEG", quality=92, subsampling=subsampling, progressive=progressive)
        yield f"jpeg {subsampling} {progressive}", file, decoded(file)
    grey = saved(Image.fromarray(GREY), "JPEG", quality=92)
    yield "jpeg, grey", grey, decoded(grey)
    cmyk = saved(Image.fromarray(np.dstack([255 - RGB, np.full_like(GREY, 30)]), "CMYK"), "JPEG", quality=95)
    yield "jpeg of cmyk", cmyk, decoded(cmyk)
    at = cmyk.index(b"\xff\xee")
    length = struct.unpack(">H", cmyk[at + 2:at + 4])[0]
    unmarked = cmyk[:at] + cmyk[at + 2 + length:]
    yield "jpeg of cmyk without Adobe's mark", unmarked, decoded(unmarked)
    for orientation in range(2, 9):
        exif = Image.Exif()
        exif[274] = orientation
        picture = Image.fromarray(stored(RGB, orientation))
        file = saved(picture, "JPEG", quality=95, subsampling=0, exif=exif)
        yield f"jpeg {orientation}", file, np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(file))))


def with_clean_aperture(avif):
    """The file of one item, with a property that cuts 4 pixels off its width (ISO/IEC 14496-12, 12.1.4)."""
    clap = struct.pack(">I4s8I", 40, b"clap", WIDTH - 4, 1, HEIGHT, 1, 0, 1, 0, 1)
    names = {name: avif.index(name) - 4 for name in (b"meta", b"iloc", b"iprp", b"ipco", b"ipma", b"mdat")}
    size = {name: struct.unpack_from(">I", avif, at)[0] for name, at in names.items()}
    grown = {b"meta": len(clap) + 1, b"iprp": len(clap) + 1, b"ipco": len(clap), b"ipma": 1}
    data = bytearray(avif)
    for name, more in grown.items():
        struct.pack_into(">I", data, names[name], size[name] + more)
    payload = struct.pack(">I", names[b"mdat"] + 8)
    extent = avif.index(payload, names[b"iloc"])
    assert extent < names[b"iloc"] + size[b"iloc"]
    struct.pack_into(">I", data, extent, names[b"mdat"] + 8 + len(clap) + 1)
    properties = names[b"ipco"] + 8
    count, end = 0, names[b"ipco"] + size[b"ipco"]
    while properties < end:
        count, properties = count + 1, properties + struct.unpack_from(">I", avif, properties)[0]
    associations = names[b"ipma"] + 18  # behind the header, the count of items, and the item
    data[associations] += 1
    data.insert(names[b"ipma"] + size[b"ipma"], 0x80 | count + 1)
    data[end:end] = clap
    return bytes(data)


def avifs():
    def decoded(file):
        return np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(file))).convert("RGB"))

    for quality, subsampling in itertools.product((30, 80, 100), ("4:2:0", "4:4:4")):
        file = saved(Image.fromarray(RGB), "AVIF", quality=quality, subsampling=subsampling)
        yield f"avif {quality} {subsampling}", file, decoded(file)
    with_alpha = saved(Image.fromarray(np.dstack([RGB, ALPHA]), "RGBA"), "AVIF", quality=90)
    rgba = np.asarray(Image.open(io.BytesIO(with_alpha)).convert("RGBA"))
    yield "avif with alpha", with_alpha, flattened(rgba[..., :3], rgba[..., 3])
    for orientation in range(2, 9):
        exif = Image.Exif()
        exif[274] = orientation
        file = saved(Image.fromarray(stored(RGB, orientation)), "AVIF", quality=90, subsampling="4:4:4", exif=exif)
        yield f"avif {orientation}", file, decoded(file)
    yield "avif with a clean aperture", with_clean_aperture(saved(Image.fromarray(RGB), "AVIF")), "cut picture"
    frames = [Image.fromarray(RGB), Image.fromarray(RGB[::-1].copy())]
    yield "animated avif", saved(frames[0], "AVIF", save_all=True, append_images=frames[1:]), "2 frames"


ALL = [*tiffs(), *other_tiffs(), *bmps(), *pngs(), *pnms(), *gifs(), *webps(), *jpegs(), *avifs(), *odd_ones()]
EXTENSIONS = {"tiff": "tif", "plain": "ppm", "animated": "bin", "refused": "png"}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A folder of one class with all of them, named by their numbers; and what is refused of it."""
    folder = tmp_path_factory.mktemp("codecs") / "pictures"
    (folder / "class").mkdir(parents=True)
    for i, (name, data, _) in enumerate(ALL):
        first = name.split()[0].rstrip(",")
        (folder / "class" / f"{i:05}.{EXTENSIONS.get(first, first)}").write_bytes(data)
    return folder


def reasons_of(report):
    return {int(re.search(r"(\d{5})", path).group(1)): reason for path, reason in rejects_of(report).items()}


def check(got, name, expected):
    assert got is not None, f"{name}: lost"
    assert got.shape == expected.shape, name
    apart = np.abs(got.astype(int) - expected.astype(int)).max()
    assert apart <= 1, f"{name}: {apart} levels apart"


def number_in(text):
    return int(re.search(r"(\d{5})\.\w+", text).group(1))


def packed(source, out, *options):
    """Whatever a library has to say of a file is said by us."""
    options = ("--format", "wds", "--max-rejects", str(len(ALL)), "--allow-odd-classes", "--json", *options)
    result = run("pack", source, out, *options)
    assert result.code == DONE, result
    assert all(line.startswith("rejected: ") for line in result.err.splitlines()), result.err
    return reasons_of(result.json)


@pytest.fixture(scope="module")
def original(pictures, tmp_path_factory):
    """All that packs, as it is; and why the rest does not."""
    out = tmp_path_factory.mktemp("codecs") / "original"
    return out, packed(pictures, out, "--decode")


def test_what_cannot_be_shown_is_refused_by_name(original):
    _, reasons = original
    for i, (name, _, expected) in enumerate(ALL):
        if isinstance(expected, str):
            assert expected in reasons.pop(i, "packed"), name
    assert not reasons, {ALL[i][0]: reason for i, reason in reasons.items()}


def test_a_sample_of_a_dataset(original):
    dataset = packhorse.Dataset(original[0], image="numpy")
    for sample, path in enumerate(paths(original[0])):
        name, _, expected = ALL[number_in(path)]
        check(dataset[sample][0], name, expected)


def test_a_loader(original):
    """A crop in the middle, without scaling."""
    names = paths(original[0])
    loader = packhorse.Loader(original[0], 16, augment=packhorse.CenterCrop(HEIGHT), shuffle=False, drop_last=False)
    left = (WIDTH - HEIGHT) // 2
    for batch in loader:
        for sample, image in zip(batch.samples, batch.images, strict=True):
            name, _, expected = ALL[number_in(names[int(sample)])]
            pixels = np.asarray(image)  # or torch's, if that is imported, with channels first
            check(pixels if pixels.shape[2] == 3 else pixels.transpose(1, 2, 0), name, expected[:, left : left + HEIGHT])


def test_pixels_in_a_dataset(pictures, tmp_path):
    """--image raw, with black above and below."""
    packed(pictures, tmp_path / "raw", "--image", "raw", "--size", str(WIDTH), "--fit", "letterbox")
    dataset = packhorse.Dataset(tmp_path / "raw", image="numpy")
    above = (WIDTH - HEIGHT) // 2
    for sample, path in enumerate(paths(tmp_path / "raw")):
        name, _, expected = ALL[number_in(path)]
        check(dataset[sample][0][above : above + HEIGHT], name, expected)


def test_whatever_else_looks_at_pixels(original, tmp_path):
    """Statistics of all pixels; a contact sheet; a report; duplicates; the bench, in C++."""
    expected = np.concatenate([ALL[number_in(path)][2].reshape(-1, 3) for path in paths(original[0])]) / 255
    found = packhorse_command("stats", original[0], "--json").json["by_pixel"]
    np.testing.assert_allclose(found["mean"], expected.mean(0), atol=0.001)
    np.testing.assert_allclose(found["std"], expected.std(0), atol=0.001)
    count = str(len(ALL))
    packhorse_command("inspect", original[0], "--sheet", tmp_path / "sheet.png", "--sheet-count", count)
    packhorse_command("inspect", original[0], "--report", tmp_path / "report.html")
    packhorse_command("duplicates", original[0])
    bench = packhorse_command("bench", original[0], "--work", "decode", "--size", "16", "--repeats", "1", "--json").json
    assert bench["runs"][0]["images"] >= len(paths(original[0]))


@pytest.mark.parametrize("codec", ["png", "webp"])
def test_without_loss_in_one_codec(original, pictures, tmp_path, codec):
    """--image lossless: all that is no JPEG has the same pixels as before, as one kind; what that cannot hold is kept."""
    packed(pictures, tmp_path / "one", "--image", "lossless", "--codec", codec)
    before = packhorse.Dataset(original[0], image="numpy")
    after = packhorse.Dataset(tmp_path / "one", image="numpy")
    places = {path: sample for sample, path in enumerate(paths(original[0]))}
    kept = 0
    for sample, record in enumerate(listed(tmp_path / "one")):
        name = ALL[number_in(record["path"])][0]
        np.testing.assert_array_equal(after[sample][0], before[places[record["path"]]][0], err_msg=name)
        if record["kind"] not in ("jpeg", codec):
            assert re.search("cmyk|assocalpha|unspecified" + ("" if codec == "png" else "|16|12|14|10|>|<"), name), name
            kept += 1
    assert kept > 0 and len(after) == len(before)


@pytest.mark.parametrize("how", ["original", "resize"])
def test_the_first_of_several(pictures, tmp_path, how):
    several = [i for i, (_, _, expected) in enumerate(ALL) if str(expected) in ("2 pages", "2 frames")]
    assert len(several) == 5
    for i in several:
        (file,) = (pictures / "class").glob(f"{i:05}.*")
        (tmp_path / "some/class").mkdir(parents=True, exist_ok=True)
        (tmp_path / "some/class" / file.name).write_bytes(file.read_bytes())
    refused = run("pack", tmp_path / "some", tmp_path / "out", "--format", "wds", "--allow-odd-classes")
    assert refused.code != DONE and "--first-frame" in refused.err, refused
    options = ["--image", how, "--allow-odd-classes", "--first-frame"]
    assert pack(tmp_path / "some", tmp_path / how, "--format", "wds", *options)["packed"] == len(several)
    dataset = packhorse.Dataset(tmp_path / how, image="numpy")
    assert run("inspect", tmp_path / how, "--verify", "full", "--decode").code == DONE
    for sample, path in enumerate(paths(tmp_path / how)):
        apart = np.abs(dataset[sample][0].astype(int) - RGB)
        assert apart.mean() < 10, ALL[number_in(path)][0]  # GIF's palette, and JPEG


def made_by(command, name, pictures, folder):
    """A file that another program made of a picture, and the picture that its own decoder makes of it."""
    encode, decode = command
    for program in (encode, decode):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: scripts/setup --all does that")
    for variant, (picture, options) in pictures.items():
        Image.fromarray(picture).save(folder / "in.png")
        file, out = folder / f"class/{variant}.{name}", folder / "out.png"
        file.parent.mkdir(exist_ok=True)
        arguments = [folder / "in.png", *(["-o"] if encode == "heif-enc" else []), file, *options]
        subprocess.run([encode, *arguments], check=True, capture_output=True)
        subprocess.run([decode, file, out], check=True, capture_output=True)
        yield f"class/{file.name}", np.asarray(Image.open(out))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "command", "lossless", "lossy"),
    [("heic", ("heif-enc", "heif-convert"), ["-L"], ["-q", "80"]), ("jxl", ("cjxl", "djxl"), ["-d", "0"], ["-d", "1"])],
)
def test_what_other_programs_make(name, command, lossless, lossy, tmp_path):
    """As their own decoders show it. Without those libraries such files are refused by name."""
    rgba = np.dstack([RGB, ALPHA])
    pictures = {"lossless": (RGB, lossless), "lossy": (RGB, lossy), "alpha": (rgba, lossless), "grey": (GREY, lossless),
                "odd": (RGB[:15, :23], lossless)}  # which HEIC stores as more pixels and a clean aperture
    source = tmp_path / "source"
    source.mkdir()
    wanted = dict(made_by(command, name, pictures, source))
    for left in source.glob("*.png"):
        left.unlink()
    assert packed(source, tmp_path / "out") == {}
    dataset = packhorse.Dataset(tmp_path / "out", image="numpy")
    for sample, path in enumerate(paths(tmp_path / "out")):
        expected = wanted[path]
        if expected.ndim == 2:
            expected = three(expected)
        if expected.shape[2] == 4:
            expected = flattened(expected[..., :3], expected[..., 3])
        check(dataset[sample][0], path, expected)


def icc_profile():
    """Muted primaries, and a curve that no standard names (ICC.1:2001-04)."""

    def xyz(*values):
        return b"XYZ " + bytes(4) + b"".join(struct.pack(">i", round(value * 65536)) for value in values)

    curve = b"curv" + bytes(4) + struct.pack(">I33H", 33, *(round(65535 * (i / 32) ** 1.4) for i in range(33)))
    tags = {b"desc": b"desc" + bytes(4) + struct.pack(">I", 5) + b"test" + bytes(79), b"cprt": b"text" + bytes(4) + b"none" + bytes(4),
            b"wtpt": xyz(0.9642, 1, 0.8249), b"rXYZ": xyz(0.35, 0.45, 0.1), b"gXYZ": xyz(0.4, 0.35, 0.05),
            b"bXYZ": xyz(0.2142, 0.2, 0.6749), b"rTRC": curve, b"gTRC": curve, b"bTRC": curve}  # fmt: skip
    table, body = struct.pack(">I", len(tags)), b""
    for name, tag in tags.items():
        table += name + struct.pack(">II", 132 + 12 * len(tags) + len(body), len(tag))
        body += tag + bytes(-len(tag) % 4)
    head = struct.pack(">I4sI4s4s4s", 128 + len(table + body), b"test", 0x02100000, b"mntr", b"RGB ", b"XYZ ")
    head += struct.pack(">6H", 2026, 1, 1, 0, 0, 0) + b"acsp" + bytes(28) + xyz(0.9642, 1, 0.8249)[8:] + bytes(48)
    return head + table + body


@pytest.mark.thorough
@pytest.mark.parametrize(("distance", "space"), [("0", []), ("0.1", ["--color_space=RGB_D65_SRG_Rel_SRG"])])
def test_a_jpeg_xl_with_a_profile(tmp_path, distance, space):
    """Pixels that are stored in the profile stay as they are; those in JPEG XL's own colours become sRGB."""
    if shutil.which("cjxl") is None:
        pytest.skip("cjxl is not installed: scripts/setup --all does that")
    file, out = tmp_path / "source/class/a.jxl", tmp_path / "out.png"
    file.parent.mkdir(parents=True)
    Image.fromarray(RGB).save(tmp_path / "in.png", icc_profile=icc_profile())
    subprocess.run(["cjxl", tmp_path / "in.png", file, "-d", distance], check=True, capture_output=True)
    subprocess.run(["djxl", file, out, *space], check=True, capture_output=True)
    assert packed(tmp_path / "source", tmp_path / "packed") == {}
    expected = np.asarray(Image.open(out))
    assert (np.abs(expected.astype(int) - RGB).max() == 0) == (distance == "0"), "the profile has an effect"
    check(packhorse.Dataset(tmp_path / "packed", image="numpy")[0][0], "jxl", expected)
