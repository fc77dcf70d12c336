"""Measures what `packhorse pack --image` makes of photos: bytes, decibels, memory. Prints Markdown.

    python3 bench/image_modes build/test-data/imagenet/imagenet200
    python3 bench/image_modes build/test-data/imagenet/imagenet200 --write docs/image_modes.md

Needs the packages of scripts/requirements-test.txt, and djpeg for the last table.
"""

import argparse
import io
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- image modes bench: begin -->", "<!-- image modes bench: end -->"
SIDE = 256
LARGE = (4000, 3000)


class Packhorse:
    def __init__(self, program, scratch):
        self.program, self.scratch = program, scratch

    def pack(self, source, *options):
        """Packs, and returns the peak memory in bytes."""
        out = self.scratch / "packed"
        shutil.rmtree(out, ignore_errors=True)
        command = [self.program, "pack", source, out, "--format", "wds", "--no-shuffle", "--allow-odd-classes", "--jobs", "1", *options]
        return run([*map(str, command)])[1]

    def files(self, source, *options):
        """path -> the bytes that a mode makes of it."""
        self.pack(source, *options)
        out = self.scratch / "unpacked"
        shutil.rmtree(out, ignore_errors=True)
        run([str(self.program), "unpack", str(self.scratch / "packed"), str(out)])
        return {p.relative_to(out): p.read_bytes() for p in jpegs_in(out)}


def run(command):
    """Its CPU seconds, and the peak of its memory in bytes; fails when it does.

    ru_maxrss would count what Python itself had when it started the program, too.
    """
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        peak = status = 0
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                break
            found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
            peak = max(peak, int(found.group(1)) * 1024 if found else 0)
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if process.returncode != 0:
            sys.exit(f"image_modes: {' '.join(command)} failed:\n{errors.read().decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime, peak


def jpegs_in(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))


def table(head, *rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


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
    return f"{table(head, ['bytes', *more])}\n\nThe table of offsets is {100 * offsets / whole:.2f} % of that."


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
        if image.format != "JPEG" or image.mode != "RGB" or image.getexif().get(0x112, 1) != 1 or min(image.size) <= SIDE:
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
    return table(
        ["file", "quality", "chroma", "photos", "number", "mean dB", "least dB"],
        *([*row, str(len(found[key])), f"{statistics.mean(found[key]):.1f}", f"{min(found[key]):.1f}"]
          for *row, key in rows if found[key]),
    )


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
    return table([f"JPEG of {LARGE[0]} x {LARGE[1]}", *(f"`{mode}`" for mode in modes)], *rows)


def time_of_scales(photo):
    if not shutil.which("djpeg"):
        return "(Not measured: there is no djpeg.)"

    def seconds(eighths):
        command = ["djpeg", "-scale", f"{eighths}/8", "-outfile", os.devnull, str(photo)]
        return min(run(command)[0] for _ in range(3))

    scales = range(1, 8)
    whole = seconds(8)
    return table(["decoded at", *(f"{n}/8" for n in scales)],
                 ["CPU time", *(f"{seconds(n) / whole:.2f}" for n in scales)])


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


def write(page, text):
    old = page.read_text()
    if BEGIN not in old or END not in old:
        sys.exit(f"image_modes: {page} has no markers {BEGIN} and {END}")
    before, after = old.split(BEGIN)[0], old.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main():
    parser = argparse.ArgumentParser("python3 bench/image_modes", description=__doc__.split("\n")[0])
    parser.add_argument("photos", type=Path, help="a folder of class folders of JPEG files")
    parser.add_argument("--packhorse", type=Path, default=ROOT / "build/release/bin/packhorse", metavar="FILE")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="replace what stands between the page's markers")
    options = parser.parse_args()
    if not options.packhorse.exists():
        sys.exit(f"image_modes: there is no {options.packhorse}: build it, or say --packhorse FILE")
    with tempfile.TemporaryDirectory() as scratch:
        text = report(Packhorse(options.packhorse.resolve(), Path(scratch)), options.photos.resolve(), Path(scratch))
    if options.write:
        write(options.write, text)
    else:
        print(text)


if __name__ == "__main__":
    main()
