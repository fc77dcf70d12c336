#!/usr/bin/env python3
"""Runs one of the tools of contenders/ in the environment that bench/setup makes.

    peer.py version NAME                          prints its version; fails where it cannot be used
    peer.py make NAME SOURCE OUT JOBS             packs the class folder SOURCE, see below
    peer.py count NAME OUT                        prints how many samples OUT holds, read back from the disk
    peer.py read NAME INPUT JOBS SECONDS          reads INPUT for whole epochs until SECONDS are over; prints JSON
    peer.py verify NAME INPUT JOBS SOURCE         holds three epochs against SOURCE, a folder of one class a picture
    peer.py boxes NAME FOLDER JOBS SECONDS        makes batches of pictures with boxes (contenders/boxes)

`make` is a program that common/measure.py waits for: it imports, prints `ready`, packs when it reads a line, and prints
`done`. `read`: all deliver shuffled batches of 64 pictures, uint8 (turboloader: floats), 224 x 224 (--side), from
RandomResizedCrop and a random flip, and make nothing else of them. The first epoch is not timed (its figures are
`warmup`): it fills caches and compiles what a loader compiles. With --cold it is timed, from opening on, and the next
one, too (`second`).
"""

import argparse
import collections
import itertools
import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent)

import contenders  # noqa: E402
from common.usage import machine_busy, tree_cpu, tree_read_bytes, used  # noqa: E402

BOTH = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
LEAST_BATCHES, AHEAD = 8, 4  # of a pass of boxes; that each worker may have made before it


def since_start():
    """Seconds since this program was started."""
    with open("/proc/self/stat") as file:
        started = int(file.read().rsplit(")", 1)[1].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")


class Clock:
    """What some work costs this program and all that stem from it."""

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


class Epoch:
    """Reads an epoch; counts the pictures of each label. Ends the program when a batch is not as asked for."""

    def __init__(self, batches, options):
        self.labels, self.first_batch_at = collections.Counter(), None
        for images, labels in batches:
            self.first_batch_at = self.first_batch_at or time.perf_counter()
            shape = tuple(images.shape)
            if sorted(shape[1:]) != sorted([options.channels, options.side, options.side]):
                sys.exit(f"delivers batches of {shape}")
            if options.dtype not in str(images.dtype):
                sys.exit(f"delivers {images.dtype}")
            if shape[0] != len(labels):
                sys.exit(f"delivers {len(labels)} labels for {shape[0]} pictures")
            self.labels.update(int(label) for label in labels)

    @property
    def images(self):
        return self.labels.total()


def read(module, options):
    imported, opened, clock = since_start(), time.perf_counter(), Clock()
    batches = module.batches(options.source, options)
    clock = clock if options.cold else Clock()  # some read ahead as soon as they are opened
    first = Epoch(batches, options)
    warmup = clock.cost(first.images)
    cost = {
        "samples": first.images,
        "labels": [first.labels[i] for i in range(max(first.labels) + 1)],
        "import_s": imported,
        "first_batch_s": first.first_batch_at - opened,
    }
    if options.cold:
        again = Clock()
        return cost | warmup | {"second": again.cost(Epoch(batches, options).images)}
    clock, images = Clock(), 0
    while images == 0 or clock.seconds() < options.seconds:
        images += Epoch(batches, options).images
    return cost | {"warmup": warmup} | clock.cost(images)


def verify(module, options):
    from common.check import check  # not before the clocks: it imports numpy

    return check(module.batches(options.source, options), options.original)


def boxes(module, options):
    """Batches made ahead are taken first and not counted."""
    batches, wanted = module.batches(Path(options.source), options), (options.batch, options.side, options.side, 3)
    for images, _ in itertools.islice(batches, AHEAD * options.jobs + 1):
        if sorted(images.shape) != sorted(wanted) or "uint8" not in str(images.dtype):
            sys.exit(f"delivers {tuple(images.shape)} of {images.dtype}")
        if images.min() == images.max():
            sys.exit("delivers pictures of one colour")
    images, objects, clock = 0, 0, Clock()
    while images < LEAST_BATCHES * options.batch or clock.seconds() < options.seconds:
        pictures, found = next(batches)
        images, objects = images + len(pictures), objects + found
    return clock.cost(images) | {"objects": objects}


def make(module, options, answers):
    print("ready", used(*BOTH), file=answers)
    sys.stdin.readline()
    module.make(options.source, options.out, options)
    print("done {}", file=answers)
    for worker in multiprocessing.active_children():
        worker.join(10)
    print("used", used(*BOTH), file=answers)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    works = parser.add_subparsers(dest="work", required=True)
    words = {
        "version": (),
        "make": ("source", "out", "jobs"),
        "count": ("out",),
        "read": ("source", "jobs", "seconds"),
        "verify": ("source", "jobs", "original"),
        "boxes": ("source", "jobs", "seconds"),
    }
    for work, names in words.items():
        one = works.add_parser(work)
        for name in ("name", *names):
            one.add_argument(name, type={"jobs": int, "seconds": float}.get(name))
        one.add_argument("--side", type=int, default=224)
        one.add_argument("--batch", type=int, default=64)
        one.add_argument("--channels", type=int, default=3)
        one.add_argument("--scratch", default="", help="a folder of the contender's own, which it may clear")
        one.add_argument("--defaults", action="store_true", help="as it comes, where that loses or repeats samples")
        one.add_argument("--workload", choices=("letterbox", "mosaic"), help="of boxes")
        one.add_argument("--cold", action="store_true")
        one.add_argument("--shard-bytes", type=int, default=256 << 20, help="packhorse's default, where it can be chosen")
    return parser.parse_args()


def loaded(options):
    """The contender, with its decoder made a part of the options."""
    module, decoder = contenders.load(options.name)
    options.decoder = options.name.partition(" + ")[2]
    options.decode = (lambda: decoder(options.side)) if decoder else None
    options.dtype = decoder.dtype if decoder else getattr(module, "DTYPE", "uint8")
    return module


def main():
    options = parse()
    if options.work == "version":
        print(contenders.version_text(options.name))
        return
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the contender prints is no answer
    # Workers that are ended leave sockets in it. Its name must be short enough for theirs.
    temporary = tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="peer-")
    try:
        module = loaded(options)
        if options.work == "make":
            make(module, options, answers)
        elif options.work == "count":
            print(module.count(options.out), file=answers)
        else:
            work = {"read": read, "verify": verify, "boxes": boxes}[options.work]
            print(json.dumps(work(module, options)), file=answers)
        getattr(module, "close", lambda: None)()
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    os._exit(0)  # some wait for threads that never end


if __name__ == "__main__":
    main()
