#!/usr/bin/env python3
"""Runs one of the other loaders, or packhorse.Loader (common/loaders), in the peers' own environment (bench/setup), as JSON.

    load.py run NAME INPUT JOBS SECONDS     reads INPUT for whole epochs until SECONDS are over
    load.py verify NAME INPUT JOBS SOURCE   holds three epochs against SOURCE, a folder of one class a picture
    load.py version NAME                    prints the version; fails where the loader cannot be imported

All deliver batches of 64 pictures, uint8 (turboloader: floats), 224 x 224 (--side), from RandomResizedCrop and a random flip, shuffled, and
make nothing else of them. The first epoch is not timed (its figures are `warmup`): it fills caches and compiles what a
loader compiles. With --cold it is timed, from opening on, and the next one, too (`second`).
"""

import argparse
import collections
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # not this folder: its names are those of others, too

from common import loaders  # noqa: E402
from common.check import check  # noqa: E402
from common.loaders.loader import SIDE  # noqa: E402
from common.usage import machine_busy, tree_cpu, tree_read_bytes  # noqa: E402


def since_start():
    """Seconds since this program was started."""
    with open("/proc/self/stat") as file:
        started = int(file.read().rsplit(")", 1)[1].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")


class Epoch:
    """Reads an epoch; counts the pictures of each label. Ends the program when a batch is not as asked for."""

    def __init__(self, loader):
        self.labels = collections.Counter()
        self.first_batch_at = None
        for images, labels in loader.epoch():
            self.first_batch_at = self.first_batch_at or time.perf_counter()
            shape = tuple(images.shape)
            if sorted(shape[1:]) != sorted([3, loader.side, loader.side]) or loader.dtype not in str(images.dtype):
                sys.exit(f"delivers {shape} of {images.dtype}")
            if shape[0] != len(labels):
                sys.exit(f"delivers {len(labels)} labels for {shape[0]} pictures")
            self.labels.update(int(label) for label in labels)


class Clock:
    """What some epochs cost this program and all that stem from it."""

    def __init__(self):
        self.cpu, self.busy, self.read = tree_cpu(), machine_busy(), tree_read_bytes()
        self.begin = time.perf_counter()

    def seconds(self):
        return time.perf_counter() - self.begin

    def cost(self, images):
        seconds, cpu = self.seconds(), tree_cpu() - self.cpu
        return {
            "images": images,
            "seconds": seconds,
            "images_per_s": images / seconds,
            "cpu_s": cpu,
            "read_bytes": tree_read_bytes() - self.read,
            "foreign_cpus": max(0.0, machine_busy() - self.busy - cpu) / seconds,
        }


def run(loader, options):
    imported, opened, clock = since_start(), time.perf_counter(), Clock()
    loader.open(options.source, options.jobs)
    clock = clock if options.cold else Clock()  # some read ahead as soon as they are opened
    first = Epoch(loader)
    warmup = clock.cost(first.labels.total())
    cost = {
        "samples": first.labels.total(),
        "labels": [first.labels[i] for i in range(max(first.labels) + 1)],
        "import_s": imported,
        "first_batch_s": first.first_batch_at - opened,
    }
    if options.cold:
        again = Clock()
        return cost | warmup | {"second": again.cost(Epoch(loader).labels.total())}
    clock, images = Clock(), 0
    while images == 0 or clock.seconds() < options.seconds:
        images += Epoch(loader).labels.total()
    return cost | {"warmup": warmup} | clock.cost(images)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    works = parser.add_subparsers(dest="work", required=True)
    for work in ("run", "verify", "version"):
        one = works.add_parser(work)
        one.add_argument("name", choices=(*loaders.NAMES, *loaders.REMOTE_NAMES), metavar="NAME")
        if work == "version":
            continue
        one.add_argument("source", metavar="INPUT")
        one.add_argument("jobs", type=int)
        one.add_argument("--side", type=int, default=SIDE)
        one.add_argument("--scratch", default="", help="a folder of the loader's own, which it may clear")
        one.add_argument("--defaults", action="store_true", help="as it comes, where that loses or repeats samples")
        if work == "run":
            one.add_argument("seconds", type=float)
            one.add_argument("--cold", action="store_true")
        else:
            one.add_argument("original", metavar="SOURCE")
    return parser.parse_args()


def main():
    options = parse()
    if options.work == "version":
        loader = loaders.make(options.name)
        loader.prove()
        print(loader.version_text())
        return
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the loader prints is no answer
    # Workers that are ended leave sockets in it. Its name must be short enough for theirs.
    temporary = tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="load-")
    try:
        loader = loaders.make(options.name, side=options.side, scratch=options.scratch, defaults=options.defaults)
        answer = run(loader, options) if options.work == "run" else check(loader, options)
        print(json.dumps(answer), file=answers, flush=True)
        loader.close()
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    os._exit(0)  # some wait for threads that never end


if __name__ == "__main__":
    main()
