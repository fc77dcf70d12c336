"""Measures what reading only the rows that a crop needs would save on cold `roi` images.

    packhorse pack PHOTOS packed/roi --format wds --image roi
    packhorse pack PHOTOS packed/256 --format wds --image resize
    python3 bench/jpeg/partial.py packed/roi packed/256
    python3 bench/jpeg/partial.py packed/roi packed/256 --write docs/jpeg.md

Reads the payloads of the tars in random order, each after the page cache has dropped the shards: whole, or the header
and the rows of MCUs under a RandomResizedCrop, where the file's own table (packhorse/roi_layout.h) says that they lie.
The table's numbers come for free here: an index would have to hold them. Nothing is decoded. Prints Markdown.
"""

import argparse
import math
import os
import random
import re
import statistics
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BEGIN, END = "<!-- jpeg partial: begin -->", "<!-- jpeg partial: end -->"
IDENTIFIER = b"PHROI\0\1\0"


class Image:
    def __init__(self, file, offset, data):
        self.file, self.offset, self.size = file, offset, len(data)
        at = 2
        rows = 0
        while True:
            marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
            body = data[at + 4 : at + 2 + length]
            if marker in (0xC0, 0xC1):
                self.height, self.width = (int.from_bytes(body[i : i + 2], "big") for i in (1, 3))
                sampling = [body[7 + 3 * c] for c in range(body[5])] if body[5] > 1 else [0x11]
                self.mcu = 8 * max(s & 15 for s in sampling)
                rows = -(-self.height // self.mcu)
            if marker == 0xE9 and body.startswith(IDENTIFIER):
                numbers = body[len(IDENTIFIER) + 2 :]
                self.rows = [int.from_bytes(numbers[i : i + 4], "little") for i in range(0, len(numbers), 4)]
            at += 2 + length
            if marker == 0xDA:
                break
        self.scan = at
        if len(self.rows) != rows + 1:
            raise ValueError("no table of rows")

    def whole(self, _):
        return [(self.offset, self.size)]

    def part(self, rng):
        """The header, and the rows of a crop with a row around it where chroma is interpolated."""
        top, bottom = crop_rows(self.width, self.height, rng)
        margin = 1 if self.mcu > 8 else 0
        first = max(0, (top - margin) // self.mcu)
        last = min(len(self.rows) - 2, (bottom - 1 + margin) // self.mcu)
        begin, end = self.scan + self.rows[first], self.scan + self.rows[last + 1]
        if first == 0:
            return [(self.offset, end)]
        return [(self.offset, self.scan), (self.offset + begin, end - begin)]


def crop_rows(width, height, rng):
    """As torchvision draws a RandomResizedCrop; its first row, and the one behind it."""
    for _ in range(10):
        area = width * height * rng.uniform(0.08, 1)
        ratio = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            top = rng.randint(0, height - h)
            return top, top + h
    return 0, height


def images_in(dataset):
    images = []
    for path in sorted(dataset.glob("*.tar")):
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)  # no more than is asked for
        with tarfile.open(path) as tar:
            for member in tar:
                if not member.name.endswith((".jpg", ".jpeg")):
                    continue
                try:
                    images.append(Image(file, member.offset_data, tar.extractfile(member).read()))
                except (ValueError, AttributeError, IndexError):
                    pass  # kept as it is: not a JPEG that can be read in part
    if not images:
        sys.exit(f"partial: no roi images in the tars of {dataset}")
    return images


def disk_bytes():
    return int(re.search(r"^read_bytes: (\d+)", Path("/proc/self/io").read_text(), re.M).group(1))


def epoch(images, ranges_of, threads, seed):
    """(bytes asked for, bytes from the disk, seconds) for each image once."""
    for file in {image.file for image in images}:
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    rng = random.Random(seed)
    work = [(image.file, ranges_of(image, rng)) for image in rng.sample(images, len(images))]

    def read(item):
        file, ranges = item
        return sum(len(os.pread(file, length, offset)) for offset, length in ranges)

    before, start = disk_bytes(), time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        asked = sum(pool.map(read, work))
    return asked, disk_bytes() - before, time.perf_counter() - start


def rows_of(dataset, threads, repeats):
    images = images_in(dataset)
    found = {"whole": [], "header and rows": []}
    for repeat in range(repeats):
        for name, ranges_of in (("whole", Image.whole), ("header and rows", Image.part)):
            found[name].append(epoch(images, ranges_of, threads, repeat))
    whole = statistics.median(disk for _, disk, _ in found["whole"])
    if whole < sum(image.size for image in images):
        sys.exit("partial: the disk delivered less than was read: this file system keeps its pages, or has no disk")
    for name, runs in found.items():
        asked, disk, seconds = (statistics.median(column) for column in zip(*runs))
        sizes = [f"{size / len(images) / 1024:.1f} KiB" for size in (asked, disk)]
        yield [dataset.name, name, *sizes, f"{100 * disk / whole:.0f} %", f"{len(images) / seconds:.0f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path, nargs="+", help="packed with --format wds --image roi or resize")
    parser.add_argument("--threads", type=int, default=8, help="that read at the same time")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", type=Path, help="Markdown file to put the table into")
    args = parser.parse_args()
    head = ["dataset", "read", "an image", "from the disk", "", "images a second"]
    rows = [head, ["---"] * len(head)]
    for dataset in args.datasets:
        rows.extend(rows_of(dataset, args.threads, args.repeats))
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    text = f"{args.threads} threads.\n\n{table}"
    if args.write:
        old = args.write.read_text()
        between = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
        args.write.write_text(between.sub(lambda _: f"{BEGIN}\n{text}\n{END}", old))
    print(text)


if __name__ == "__main__":
    main()
