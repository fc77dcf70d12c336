#!/usr/bin/env python3
"""A loader of pictures with boxes, for bench/detection: makes batches for as long as it is told to.

    load.py version NAME
    load.py read NAME FOLDER WORKLOAD SIDE BATCH WORKERS

`read` waits for a number of seconds on a line of stdin, makes batches for as long, and prints a line of JSON: images,
objects, wall and CPU seconds, those of all its processes. Batches made ahead meanwhile are taken first and not counted.
"""

import itertools
import json
import os
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent)
sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import loaders  # noqa: E402
from common.usage import tree_cpu  # noqa: E402

AHEAD = 4  # batches, at most, that each worker has made ahead
LEAST = 8  # batches of a pass


def check(images, side, batch):
    """A batch must be what was asked for: bytes of pictures, of many levels."""
    shape = tuple(images.shape)
    if sorted(shape) != sorted((batch, side, side, 3)) or "uint8" not in str(images.dtype):
        sys.exit(f"delivers {shape} of {images.dtype}")
    if images.min() == images.max():
        sys.exit("delivers pictures of one colour")


def timed(batches, seconds, ahead):
    for _ in itertools.islice(batches, ahead):
        pass
    images, objects, pictures = 0, 0, [None]
    begin, cpu = time.perf_counter(), tree_cpu()
    while images < LEAST * len(pictures) or time.perf_counter() - begin < seconds:
        pictures, boxes = next(batches)
        images += len(pictures)
        objects += boxes
    return {"images": images, "objects": objects, "seconds": time.perf_counter() - begin, "cpu_s": tree_cpu() - cpu}


def read(name, folder, workload, side, batch, workers):
    side, batch, workers = int(side), int(batch), int(workers)
    # What its libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    batches = loaders.module(name).batches(Path(folder), workload, side, batch, workers)
    check(next(batches)[0], side, batch)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(timed(batches, float(line), AHEAD * workers + 1)), file=answers, flush=True)
    answers.flush()
    os._exit(0)  # loaders without an end have workers that would be waited for


if __name__ == "__main__":
    if sys.argv[1] == "version":
        print(loaders.version_text(sys.argv[2]))
    else:
        read(*sys.argv[2:])
