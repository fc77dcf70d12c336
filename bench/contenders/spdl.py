"""SPDL: threads over FFmpeg's decoder and filters."""

import math
import random

import spdl.io
from spdl.pipeline import PipelineBuilder

from contenders import RATIO, SCALE, Epochs, files

PACKAGES = ["spdl"]


def prove():
    spdl.io.demux_config()  # FFmpeg's libraries are the system's


def crop_box(width, height):
    """torchvision's RandomResizedCrop.get_params: left, top, width and height."""
    for _ in range(10):
        area = width * height * random.uniform(*SCALE)
        ratio = math.exp(random.uniform(*map(math.log, RATIO)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side


def batch(items):
    return spdl.io.to_torch(spdl.io.convert_frames([frames for frames, _ in items])), [label for _, label in items]


def batches(source, options):
    found = files(source)

    def decode(file):
        packets = spdl.io.demux_image(file[0])
        left, top, width, height = crop_box(packets.width, packets.height)
        filters = [f"crop={width}:{height}:{left}:{top}:exact=1", f"scale={options.side}:{options.side}:flags=bilinear"]
        filters += ["hflip"] if random.random() < 0.5 else []
        return spdl.io.decode_packets(packets, filter_desc=",".join([*filters, "format=pix_fmts=rgb24"])), file[1]

    def epoch():
        builder = PipelineBuilder().add_source(random.sample(found, len(found)))
        builder = builder.pipe(decode, concurrency=options.jobs).aggregate(options.batch).pipe(batch).add_sink(3)
        pipeline = builder.build(num_threads=options.jobs)
        with pipeline.auto_stop():
            yield from pipeline

    return Epochs(epoch)
