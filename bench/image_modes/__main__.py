"""Measures what `packhorse pack --image` makes of photos: bytes, decibels, memory. Prints Markdown.

    python3 bench/image_modes build/test-data/imagenet/imagenet200
    python3 bench/image_modes build/test-data/imagenet/imagenet200 --write docs/image_modes.md

Needs the packages of scripts/requirements-test.txt, and djpeg for the last table.
"""

import io
import math
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import measure  # noqa: E402
from common.environment import built, require  # noqa: E402
from common.markdown import parser, show, table  # noqa: E402

SIDE = 256
LARGE = (4000, 3000)


class Packhorse:
    def __init__(self, program, scratch):
        self.program, self.scratch = program, scratch

    def pack(self, source, *options):
        """Packs, and returns the peak memory in bytes."""
        out = self.scratch / "packed"
        shutil.rmtree(out, ignore_errors=True)
        usual = ["--format", "wds", "--no-shuffle", "--allow-odd-classes", "--jobs", "1"]
        return run(self.program, "pack", source, out, *usual, *options).max_rss_bytes

    def files(self, source, *options):
        """path -> the bytes that a mode makes of it."""
        self.pack(source, *options)
        out = self.scratch / "unpacked"
        shutil.rmtree(out, ignore_errors=True)
        run(self.program, "unpack", self.scratch / "packed", out)
        return {p.relative_to(out): p.read_bytes() for p in jpegs_in(out)}


def run(*command):
    """What it cost; ends the bench when it fails."""
    try:
        return measure.run([*map(str, command)], synced=tempfile.gettempdir())[0]
    except measure.Failed as failure:
        sys.exit(f"image_modes: {' '.join(map(str, command))} failed: {failure}")


def jpegs_in(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))


# --- bytes


def offsets_bytes(jpeg):
    """Of the segment of offsets, its marker included."""
    at = jpeg.find(b"PHROI")
    return 0 if at < 0 else 2 + int.from_bytes(jpeg[at - 2 : at], "big")


def bytes_of_roi(packhorse, photos):
    whole = sum(len(jpeg) for jpeg in packhorse.files(photos).values())
    more, offsets = [], 0
    intervals = [1, 2, 4, 8, 16, 8192]
    for interval in intervals:
        made = packhorse.files(photos, "--image", "roi", "--restart-mcus", str(interval))
        more.append(f"{100 * (sum(map(len, made.values())) / whole - 1):+.1f} %")
        if interval == 4:
            offsets = sum(map(offsets_bytes, made.values()))
    head = ["`--restart-mcus`", *map(str, intervals[:-1]), "a whole row"]
    return f"{table(head, [['bytes', *more]])}\n\nThe table of offsets is {100 * offsets / whole:.2f} % of that."


# --- quality


def overlaps(length, parts):
    """By how much each of `parts` equal parts of a line covers each of its `length` pixels."""
    edges = np.arange(parts + 1) * (length / parts)
    pixels = np.arange(length)
    inside = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    return np.clip(inside, 0, None) * (parts / length)


def by_area(image, size):
    pixels = np.asarray(image, dtype=float)
    across = overlaps(image.width, size[0]) @ pixels
    return np.tensordot(overlaps(image.height, size[1]), across, 1).round()


def decibels(jpeg, expected):
    error = np.mean((np.asarray(decoded(jpeg), dtype=float) - expected) ** 2)
    return 10 * math.log10(255**2 / error)


def decoded(jpeg):
    return Image.open(io.BytesIO(jpeg)).convert("RGB")


def by_pillow(pixels):
    out = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(out, "JPEG", quality=90, subsampling="4:2:0")
    return out.getvalue()


def quality_of_resize(packhorse, photos):
    usual = packhorse.files(photos, "--image", "resize", "--short-side", str(SIDE))
    best = packhorse.files(photos, "--image", "resize", "--short-side", str(SIDE), "--quality", "100")
    found = {"usual": [], "pillow": [], "full": [], "half": []}
    for path, original in packhorse.files(photos).items():
        image = Image.open(io.BytesIO(original))
        upright = image.getexif().get(0x112, 1) == 1
        if (image.format, image.mode, upright) != ("JPEG", "RGB", True) or min(image.size) <= SIDE:
            continue
        expected = by_area(image, Image.open(io.BytesIO(usual[path])).size)
        found["usual"].append(decibels(usual[path], expected))
        found["pillow"].append(decibels(by_pillow(expected), expected))
        found["half" if min(image.size) >= 2 * SIDE else "full"].append(decibels(best[path], expected))
    rows = [
        ("`resize`", "90", "as the source", "all", "usual"),
        ("the same pixels, saved by Pillow", "90", "4:2:0", "all", "pillow"),
        ("`resize`", "100", "as the source", "decoded at full size", "full"),
        ("`resize`", "100", "as the source", "decoded at half size or less", "half"),
    ]
    head = ["file", "quality", "chroma", "photos", "number", "mean dB", "least dB"]

    def numbers(levels):
        return [str(len(levels)), f"{statistics.mean(levels):.1f}", f"{min(levels):.1f}"]

    return table(head, [[*row, *numbers(found[key])] for *row, key in rows if found[key]])


# --- memory and time of large pictures


def large_photo(photos, path, **options):
    """Photos side by side, so that it has as many details as one of its size."""
    picture = Image.new("RGB", LARGE)
    names = jpegs_in(photos)
    for i, (x, y) in enumerate((x, y) for y in range(0, LARGE[1], 300) for x in range(0, LARGE[0], 400)):
        with Image.open(names[i % len(names)]) as photo:
            picture.paste(photo.convert("RGB").resize((400, 300)), (x, y))
    path.parent.mkdir(parents=True)
    picture.save(path, "JPEG", quality=90, **options)
    return path


def memory_of_large(packhorse, large):
    def more(source, mode):
        bytes_more = packhorse.pack(source, "--image", mode) - packhorse.pack(source)
        return f"{max(bytes_more, 0) / 1e6:.0f} MB"

    modes = ["roi", "resize", "raw"]
    rows = ([name, *(more(path.parent.parent, mode) for mode in modes)] for name, path in large.items())
    return table([f"JPEG of {LARGE[0]} x {LARGE[1]}", *(f"`{mode}`" for mode in modes)], rows)


def time_of_scales(photo):
    if not shutil.which("djpeg"):
        return "(Not measured: there is no djpeg.)"

    def seconds(eighths):
        command = ["djpeg", "-scale", f"{eighths}/8", "-outfile", os.devnull, photo]
        return min(run(*command).cpu_seconds for _ in range(3))

    scales = range(1, 8)
    whole = seconds(8)
    shares = [f"{seconds(n) / whole:.2f}" for n in scales]
    return table(["decoded at", *(f"{n}/8" for n in scales)], [["CPU time", *shares]])


def report(packhorse, photos, scratch):
    large = {
        "4:2:0": large_photo(photos, scratch / "420/c/a.jpg", subsampling="4:2:0"),
        "4:4:4": large_photo(photos, scratch / "444/c/a.jpg", subsampling="4:4:4"),
        "4:2:0, progressive": large_photo(photos, scratch / "prog/c/a.jpg", subsampling="4:2:0", progressive=True),
    }
    return "\n\n".join([
        f"`roi`: bytes more than the {len(jpegs_in(photos))} originals have, all metadata kept.",
        bytes_of_roi(packhorse, photos),
        f"`resize`, short side {SIDE}: against a full decode, shrunk by area.",
        quality_of_resize(packhorse, photos),
        "Memory for one job, beyond that of `original`.",
        memory_of_large(packhorse, large),
        "libjpeg-turbo's time for a smaller picture, of that for the whole.",
        time_of_scales(large["4:2:0"]),
    ])  # fmt: skip


def main():
    arguments = parser("image_modes", __doc__)
    arguments.add_argument("photos", type=Path, help="a folder of class folders of JPEG files")
    arguments.add_argument("--packhorse", type=Path, default=built("packhorse"), metavar="FILE")
    options = arguments.parse_args()
    program, photos = require(options.packhorse).resolve(), options.photos.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        text = report(Packhorse(program, Path(scratch)), photos, Path(scratch))
    show(options, "image modes bench", text)


if __name__ == "__main__":
    main()
