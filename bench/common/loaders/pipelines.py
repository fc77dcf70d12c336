"""Loaders that are pipelines of their own: they read, decode and crop without a DataLoader."""

import glob
import itertools
import json
import math
import os
import random
import tarfile
import warnings
from concurrent.futures import ThreadPoolExecutor

from common.loaders.decode import TorchvisionIo
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


class TurboLoader(Loader):
    """Threads over one tar, which decode the crop alone where JPEG allows it. It has no labels, but the numbers of the
    samples, and no uint8: floats of 0 to 1. Its threads are as many as the CPUs, whatever JOBS says."""

    packages, modules = ["turboloader"], ["turboloader", "torch"]
    dtype = "float32"

    def open(self, source, jobs):
        import numpy
        import turboloader

        (path,) = glob.glob(os.path.join(source, "*.tar"))
        with tarfile.open(path) as tar:
            self.labels = numpy.array([int(tar.extractfile(member).read()) for member in tar if member.name.endswith(".cls")])
        self.numbers = itertools.count()
        self.loader = turboloader.DataLoader(
            path,
            batch_size=BATCH,
            image_size=self.side,
            output_format="pytorch",
            shuffle=True,
            train_aug=True,
            num_workers=jobs,
        )

    def epoch(self):
        import torch

        self.loader.set_epoch(next(self.numbers))
        for images, about in self.loader:
            yield torch.from_numpy(images), self.labels[about["indices"]]


class Datago(Loader):
    """Threads that decode whole pictures. It has no random crop: torchvision's makes it, in threads here."""

    packages, modules = ["datago"], ["datago", "torchvision.transforms.v2"]

    def open(self, source, jobs):
        import datago
        import torch

        torch.set_num_threads(1)
        os.environ["DATAGO_MAX_TASKS"] = str(jobs)
        classes = sorted(entry.name for entry in os.scandir(source) if entry.is_dir())
        self.labels = {name: label for label, name in enumerate(classes)}
        files = sum(len(os.listdir(os.path.join(source, name))) for name in classes)
        settings = {
            "source_type": "file",
            "source_config": {"root_path": str(source), "random_sampling": True},
            "image_config": {"crop_and_resize": False, "image_to_rgb8": True},
            "limit": files,
            "samples_buffer_size": BATCH,
        }
        self.client = datago.DatagoClient(json.dumps(settings))
        self.crop = TorchvisionIo(self.side).crop
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")  # the crop only reads it
        self.threads = ThreadPoolExecutor(jobs)

    def epoch(self):
        import torch

        self.client.start()
        samples = iter(self.client.get_sample, None)
        while batch := list(itertools.islice(samples, BATCH)):
            yield torch.stack(list(self.threads.map(self.cropped, batch))), [self.label(sample) for sample in batch]

    def cropped(self, sample):
        import torch

        return self.crop(torch.from_numpy(sample.image.to_numpy_array()).permute(2, 0, 1))

    def label(self, sample):
        return self.labels[os.path.basename(os.path.dirname(json.loads(sample.id)))]
