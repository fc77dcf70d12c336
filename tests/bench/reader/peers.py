#!/usr/bin/env python3
"""Other loaders, each as its documentation has it, in the peers' own environment (tests/bench/setup).

    peers.py run NAME INPUT JOBS SECONDS   reads INPUT for whole epochs until SECONDS are over, prints the cost as JSON
    peers.py version NAME                  prints the version; fails where the peer cannot be imported

All deliver batches of 64 pictures, uint8, 224 x 224, from RandomResizedCrop and a random flip, in a shuffled order, and
make nothing else of them. The first epoch is not timed: it fills caches and compiles what a peer compiles.
"""

import collections
import importlib
import json
import math
import os
import random
import sys
import time
from importlib import metadata

BATCH, SIDE = 64, 224
SCALE, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
TICKS = os.sysconf("SC_CLK_TCK")


class Peer:
    """A loader: the packages that have its version, what is imported at first, and epochs of (images, labels)."""

    packages, modules = [], []

    def prove(self):
        """Fails where the peer can be imported and still not work."""

    def open(self, source, jobs):
        """Makes what epoch() uses. Before the clock runs."""
        raise NotImplementedError

    def epoch(self):
        """Batches of one epoch."""
        raise NotImplementedError


class TorchLoader(Peer):
    """A DataLoader of PyTorch with JOBS processes over a map-style dataset."""

    def dataset(self, source):
        raise NotImplementedError

    def open(self, source, jobs):
        import torch

        torch.set_num_threads(1)  # in the processes: they are the parallelism
        self.loader = torch.utils.data.DataLoader(
            self.dataset(source), BATCH, shuffle=True, num_workers=jobs, persistent_workers=True
        )

    def epoch(self):
        return self.loader


class FolderPil(TorchLoader):
    """What the examples of torchvision do."""

    packages = ["torchvision", "torch", "pillow"]
    modules = ["torchvision.datasets", "torchvision.transforms", "PIL.Image"]

    def dataset(self, source):
        from torchvision import datasets, transforms

        crop = [transforms.RandomResizedCrop(SIDE), transforms.RandomHorizontalFlip(), transforms.PILToTensor()]
        return datasets.ImageFolder(source, transforms.Compose(crop))


class LmdbSamples:
    """The LMDB of the packing bench: a label of four bytes, then the file. Opened in each process on first use."""

    def __init__(self, path):
        import lmdb
        from torchvision.transforms import v2

        self.path, self.values = path, None
        with lmdb.open(path, subdir=False, readonly=True, lock=False) as environment:
            self.size = environment.stat()["entries"]
        self.crop = v2.Compose([v2.RandomResizedCrop(SIDE, antialias=True), v2.RandomHorizontalFlip()])

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        import lmdb
        import torch
        from torchvision.io import ImageReadMode, decode_jpeg

        if self.values is None:
            environment = lmdb.open(self.path, subdir=False, readonly=True, lock=False, readahead=False)
            self.values = environment.begin(buffers=True)
        value = self.values.get(b"%08d" % i)
        file = torch.frombuffer(value, dtype=torch.uint8, offset=4)
        return self.crop(decode_jpeg(file, mode=ImageReadMode.RGB)), int.from_bytes(value[:4], "little")


class LmdbTorchvision(TorchLoader):
    """torchvision's own JPEG decoder, fed without copies."""

    packages = ["lmdb", "torchvision", "torch"]
    modules = ["lmdb", "torchvision.io", "torchvision.transforms.v2"]

    def dataset(self, source):
        return LmdbSamples(source)


class Ffcv(Peer):
    """Its decoder decodes the crop alone where JPEG allows it."""

    packages, modules = ["ffcv"], ["ffcv.loader", "ffcv.fields.rgb_image", "ffcv.transforms"]

    def open(self, source, jobs):
        import torch
        from ffcv.fields.basics import IntDecoder
        from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
        from ffcv.loader import Loader, OrderOption
        from ffcv.transforms import RandomHorizontalFlip, Squeeze, ToTensor

        torch.set_num_threads(1)
        crop = RandomResizedCropRGBImageDecoder((SIDE, SIDE), SCALE, RATIO)
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
            drop_last=False,
            pipelines=pipelines,
        )

    def epoch(self):
        return self.loader


class Dali(Peer):
    """On the CPU, with its fused decode and random crop."""

    packages, modules = ["nvidia-dali-cuda130"], ["nvidia.dali.fn", "nvidia.dali.plugin.pytorch"]

    def open(self, source, jobs):
        from nvidia.dali import fn, pipeline_def, types
        from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

        @pipeline_def(batch_size=BATCH, num_threads=jobs, device_id=None)
        def pictures():
            files, labels = fn.readers.file(
                file_root=source, random_shuffle=True, pad_last_batch=True, prefetch_queue_depth=2, name="Reader"
            )
            crops = fn.decoders.image_random_crop(
                files,
                device="cpu",
                random_area=list(SCALE),
                random_aspect_ratio=list(RATIO),
                output_type=types.RGB,
            )
            crops = fn.resize(crops, size=[SIDE, SIDE])
            return fn.flip(crops, horizontal=fn.random.coin_flip()), labels

        names = ["images", "labels"]
        policy = LastBatchPolicy.PARTIAL
        self.loader = DALIGenericIterator(
            [pictures()], names, reader_name="Reader", last_batch_policy=policy, auto_reset=True
        )

    def epoch(self):
        for (batch,) in self.loader:
            yield batch["images"], batch["labels"]


def crop_box(width, height):
    """torchvision's RandomResizedCrop.get_params, for a peer that has none."""
    for _ in range(10):
        area = width * height * random.uniform(*SCALE)
        ratio = math.exp(random.uniform(*map(math.log, RATIO)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side


class Spdl(Peer):
    """Threads over FFmpeg's decoder and filters."""

    packages, modules = ["spdl"], ["spdl.io", "spdl.pipeline"]

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

    @staticmethod
    def decode(file):
        import spdl.io

        packets = spdl.io.demux_image(file[0])
        left, top, width, height = crop_box(packets.width, packets.height)
        filters = [f"crop={width}:{height}:{left}:{top}:exact=1", f"scale={SIDE}:{SIDE}:flags=bilinear"]
        filters += ["hflip"] if random.random() < 0.5 else []
        return spdl.io.decode_packets(packets, filter_desc=",".join([*filters, "format=pix_fmts=rgb24"])), file[1]

    @staticmethod
    def batch(items):
        import spdl.io

        return spdl.io.to_torch(spdl.io.convert_frames([frames for frames, _ in items])), [label for _, label in items]


PEERS = {
    "ImageFolder + PIL": FolderPil,
    "LMDB + torchvision.io": LmdbTorchvision,
    "FFCV": Ffcv,
    "DALI": Dali,
    "SPDL": Spdl,
}


def process_ticks():
    """Of each process: (parent, CPU ticks)."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended
        found[int(name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    return found


def cpu_seconds():
    """Of this process and all that stem from it."""
    processes = process_ticks()
    tree, total = {os.getpid()}, 0
    while tree:
        total += sum(processes[pid][1] for pid in tree if pid in processes)
        tree = {pid for pid, (parent, _) in processes.items() if parent in tree}
    return total / TICKS


def read_epoch(peer):
    """Reads an epoch; says how many pictures of each label came. Ends the program when one is not as asked for."""
    counts = collections.Counter()
    for images, labels in peer.epoch():
        shape = tuple(images.shape)
        if sorted(shape[1:]) != [3, SIDE, SIDE] or "uint8" not in str(images.dtype):
            sys.exit(f"delivers {shape} of {images.dtype}")
        if shape[0] != len(labels):
            sys.exit(f"delivers {len(labels)} labels for {shape[0]} pictures")
        counts.update(int(label) for label in labels)
    return counts


def run(peer, source, jobs, seconds):
    peer.open(source, jobs)
    labels = read_epoch(peer)
    images, cpu, begin = 0, cpu_seconds(), time.perf_counter()
    while (taken := time.perf_counter() - begin) < seconds or images == 0:
        images += read_epoch(peer).total()
    cost = {"images": images, "seconds": taken, "images_per_s": images / taken, "cpu_s": cpu_seconds() - cpu}
    return {"samples": labels.total(), "labels": [labels[i] for i in range(max(labels) + 1)], **cost}


def version_text(peer):
    """The version of its package, or of each of them with its name."""
    if len(peer.packages) == 1:
        return metadata.version(peer.packages[0])
    return f"({', '.join(f'{name} {metadata.version(name)}' for name in peer.packages)})"


def main():
    work, name, *rest = sys.argv[1:]
    peer = PEERS[name]()
    for module in peer.modules:
        importlib.import_module(module)
    if work == "version":
        peer.prove()
        print(version_text(peer))
        return
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the peer prints is no answer
    source, jobs, seconds = rest
    print(json.dumps(run(peer, source, int(jobs), float(seconds))), file=answers, flush=True)
    os._exit(0)  # some wait for threads that never end


if __name__ == "__main__":
    main()
