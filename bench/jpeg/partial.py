"""Measures what reading only the rows that a crop needs would save on cold `roi` images.

    packhorse pack PHOTOS packed/roi --format wds --image roi
    packhorse pack PHOTOS packed/256 --format wds --image resize
    python3 bench/jpeg/partial.py packed/roi packed/256
    python3 bench/jpeg/partial.py packed/roi packed/256 --write docs/measured/jpeg.md

Reads the payloads of the tars in random order, each after the page cache has dropped the shards: whole, or the header
and the rows of MCUs under a RandomResizedCrop, where the file's own table (packhorse/roi_layout.h) says that they lie.
The table's numbers come for free here: an index would have to hold them. Nothing is decoded. Prints Markdown.
"""

import os
import random
import statistics
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common.loaders.pipelines import crop_box  # noqa: E402
from common.markdown import parser, show, table  # noqa: E402
from common.usage import tree_read_bytes  # noqa: E402

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
        _, top, _, height = crop_box(self.width, self.height, rng)
        bottom = top + height
        margin = 1 if self.mcu > 8 else 0
        first = max(0, (top - margin) // self.mcu)
        last = min(len(self.rows) - 2, (bottom - 1 + margin) // self.mcu)
        begin, end = self.scan + self.rows[first], self.scan + self.rows[last + 1]
        if first == 0:
            return [(self.offset, end)]
        return [(self.offset, self.scan), (self.offset + begin, end - begin)]


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

    before, start = tree_read_bytes(), time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        asked = sum(pool.map(read, work))
    return asked, tree_read_bytes() - before, time.perf_counter() - start


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
    arguments = parser("jpeg/partial.py", __doc__)
    arguments.add_argument("datasets", type=Path, nargs="+", help="packed with --format wds --image roi or resize")
    arguments.add_argument("--threads", type=int, default=8, help="that read at the same time")
    arguments.add_argument("--repeats", type=int, default=5)
    args = arguments.parse_args()
    rows = [row for dataset in args.datasets for row in rows_of(dataset, args.threads, args.repeats)]
    head = ["dataset", "read", "an image", "from the disk", "", "images a second"]
    show(args, "jpeg partial", f"{args.threads} threads.\n\n{table(head, rows)}")


if __name__ == "__main__":
    main()
