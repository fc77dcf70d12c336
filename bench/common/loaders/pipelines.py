"""Loaders that are pipelines of their own: FFCV, DALI and SPDL read, decode and crop without a DataLoader."""

import math
import os
import random

from common.loaders.loader import BATCH, RATIO, SCALE, Loader


class Ffcv(Loader):
    """Its decoder decodes the crop alone where JPEG allows it."""

    packages, modules = ["ffcv"], ["ffcv.loader", "ffcv.fields.rgb_image", "ffcv.transforms"]

    def open(self, source, jobs):
        import torch
        from ffcv.fields.basics import IntDecoder
        from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
        from ffcv.loader import Loader, OrderOption
        from ffcv.transforms import RandomHorizontalFlip, Squeeze, ToTensor

        torch.set_num_threads(1)
        crop = RandomResizedCropRGBImageDecoder((self.side, self.side), SCALE, RATIO)
        pipelines = {
            "image": [crop, RandomHorizontalFlip(), ToTensor()],
            "label": [IntDecoder(), ToTensor(), Squeeze()],
        }
        self.loader = Loader(
            source,
            batch_size=BATCH,
            num_workers=jobs,
            os_cache=True,
            order=OrderOption.RANDOM,
            pipelines=pipelines,
            **({} if self.defaults else {"drop_last": False}),
        )

    def epoch(self):
        return self.loader


class Dali(Loader):
    """On the CPU, with its fused decode and random crop."""

    packages, modules = ["nvidia-dali-cuda130"], ["nvidia.dali.fn", "nvidia.dali.plugin.pytorch"]

    def open(self, source, jobs):
        from nvidia.dali import fn, pipeline_def, types
        from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

        whole_epochs = {} if self.defaults else {"pad_last_batch": True}
        partial = {} if self.defaults else {"last_batch_policy": LastBatchPolicy.PARTIAL}

        @pipeline_def(batch_size=BATCH, num_threads=jobs, device_id=None)
        def pictures():
            files, labels = fn.readers.file(
                file_root=source, random_shuffle=True, prefetch_queue_depth=2, name="Reader", **whole_epochs
            )
            crops = fn.decoders.image_random_crop(
                files,
                device="cpu",
                random_area=list(SCALE),
                random_aspect_ratio=list(RATIO),
                output_type=types.RGB,
            )
            crops = fn.resize(crops, size=[self.side, self.side])
            return fn.flip(crops, horizontal=fn.random.coin_flip()), labels

        names = ["images", "labels"]
        self.loader = DALIGenericIterator([pictures()], names, reader_name="Reader", auto_reset=True, **partial)

    def epoch(self):
        for (batch,) in self.loader:
            yield batch["images"], batch["labels"]


def crop_box(width, height, random=random):
    """torchvision's RandomResizedCrop.get_params, for what has none: left, top, width and height."""
    for _ in range(10):
        area = width * height * random.uniform(*SCALE)
        ratio = math.exp(random.uniform(*map(math.log, RATIO)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side


class Spdl(Loader):
    """Threads over FFmpeg's decoder and filters."""

    packages, modules = ["spdl"], ["spdl.io", "spdl.pipeline", "torch"]

    def prove(self):
        import spdl.io

        spdl.io.demux_config()  # FFmpeg's libraries are the system's

    def open(self, source, jobs):
        self.jobs = jobs
        classes = sorted(entry.name for entry in os.scandir(source) if entry.is_dir())
        self.files = [
            (os.path.join(source, name, file), label)
            for label, name in enumerate(classes)
            for file in sorted(os.listdir(os.path.join(source, name)))
        ]

    def epoch(self):
        from spdl.pipeline import PipelineBuilder

        builder = PipelineBuilder().add_source(random.sample(self.files, len(self.files)))
        builder = builder.pipe(self.decode, concurrency=self.jobs).aggregate(BATCH).pipe(self.batch).add_sink(3)
        pipeline = builder.build(num_threads=self.jobs)
        with pipeline.auto_stop():
            yield from pipeline

    def decode(self, file):
        import spdl.io

        packets = spdl.io.demux_image(file[0])
        left, top, width, height = crop_box(packets.width, packets.height)
        filters = [f"crop={width}:{height}:{left}:{top}:exact=1", f"scale={self.side}:{self.side}:flags=bilinear"]
        filters += ["hflip"] if random.random() < 0.5 else []
        return spdl.io.decode_packets(packets, filter_desc=",".join([*filters, "format=pix_fmts=rgb24"])), file[1]

    @staticmethod
    def batch(items):
        import spdl.io

        return spdl.io.to_torch(spdl.io.convert_frames([frames for frames, _ in items])), [label for _, label in items]
