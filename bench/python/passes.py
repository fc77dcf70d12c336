#!/usr/bin/env python3
"""One pass of a loader from Python, as JSON: whole epochs until SECONDS are over, after one that is not timed.

    passes.py loader DATASET SIDE BATCH WORKERS SECONDS           packhorse.Loader
    passes.py dataset DATASET SIDE BATCH WORKERS SECONDS          DataLoader over packhorse.Dataset, pictures by PIL
    passes.py folder FOLDER SIDE BATCH WORKERS SECONDS            DataLoader over torchvision's ImageFolder
    passes.py folder_io FOLDER SIDE BATCH WORKERS SECONDS         the same with torchvision's own decoders
    passes.py folder_cv FOLDER SIDE BATCH WORKERS SECONDS         the same with OpenCV's
    passes.py folder_codec FOLDER SIDE BATCH WORKERS SECONDS      the same with torchcodec's
    passes.py dali FOLDER SIDE BATCH WORKERS SECONDS              DALI's pipeline for CPUs
    passes.py bands DATASET SIDE BATCH WORKERS SECONDS            packhorse.Loader, all bands as floats
    passes.py folder_bands FOLDER SIDE BATCH WORKERS SECONDS      DataLoader over ImageFolder, floats by tifffile or Pillow
"""

import json
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from common.usage import tree_cpu  # noqa: E402


def loader(path, side, batch, workers):
    import packhorse

    return packhorse.Loader(path, batch, augment=packhorse.RandomResizedCrop(side), workers=workers)


def by_pil(dataset, batch, workers):
    import torch

    torch.set_num_threads(1)
    return torch.utils.data.DataLoader(
        dataset, batch_size=batch, shuffle=True, num_workers=workers, persistent_workers=True
    )


def crops(side):
    from torchvision import transforms

    steps = [transforms.RandomResizedCrop(side, antialias=True), transforms.RandomHorizontalFlip(), transforms.PILToTensor()]
    return transforms.Compose(steps)


def dataset(path, side, batch, workers):
    import packhorse

    return by_pil(packhorse.Dataset(path, transform=crops(side)), batch, workers)


def folder(path, side, batch, workers):
    from torchvision import datasets

    return by_pil(datasets.ImageFolder(path, crops(side)), batch, workers)


def by_tensors(path, side, batch, workers, read):
    """An ImageFolder whose pictures `read` makes tensors [channels, height, width] of."""
    from torchvision import datasets
    from torchvision.transforms import v2

    crop = v2.Compose([v2.RandomResizedCrop(side, antialias=True), v2.RandomHorizontalFlip()])
    return by_pil(datasets.ImageFolder(path, crop, loader=read), batch, workers)


def folder_io(path, side, batch, workers):
    from torchvision.io import ImageReadMode, decode_image, read_file

    def read(path):
        return decode_image(read_file(path), mode=ImageReadMode.RGB)

    return by_tensors(path, side, batch, workers, read)


def folder_cv(path, side, batch, workers):
    import cv2
    import torch

    cv2.setNumThreads(1)

    def read(path):
        picture = cv2.cvtColor(cv2.imread(path, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        return torch.from_numpy(picture).permute(2, 0, 1)

    return by_tensors(path, side, batch, workers, read)


def folder_codec(path, side, batch, workers):
    from torchcodec.decoders import ImageReadMode, decode_image

    def read(path):
        return decode_image(path, mode=ImageReadMode.RGB)

    return by_tensors(path, side, batch, workers, read)


def dali(path, side, batch, workers):
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

    @pipeline_def(batch_size=batch, num_threads=workers, device_id=None)
    def pipeline():
        files, labels = fn.readers.file(file_root=path, random_shuffle=True, name="files")
        crops = fn.decoders.image_random_crop(files, output_type=types.RGB, random_area=[0.08, 1], random_aspect_ratio=[3 / 4, 4 / 3])
        crops = fn.resize(crops, size=[side, side], interp_type=types.INTERP_LINEAR, antialias=True)
        return fn.flip(crops, horizontal=fn.random.coin_flip()), labels

    class Batches:
        def __init__(self):
            self.made = DALIGenericIterator(
                pipeline(), ["images", "labels"], reader_name="files", last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True
            )

        def __iter__(self):
            for [made] in self.made:
                yield made["images"], made["labels"]

    return Batches()


def bands(path, side, batch, workers):
    import packhorse

    crop = packhorse.RandomResizedCrop(side)
    return packhorse.Loader(path, batch, augment=crop, workers=workers, bands="all", dtype="float32")


def folder_bands(path, side, batch, workers):
    import numpy as np
    import tifffile
    import torch
    from PIL import Image

    def read(path):
        picture = tifffile.imread(path) if path.endswith(".tif") else np.asarray(Image.open(path))
        picture = torch.from_numpy(picture.astype(np.float32) / np.float32(65535))
        return picture[None] if picture.ndim == 2 else picture.permute(2, 0, 1)

    return by_tensors(path, side, batch, workers, read)


def epoch(batches, dtype):
    images = 0
    for pictures, labels in batches:
        if len(pictures) != len(labels) or str(pictures.dtype) != dtype:
            sys.exit(f"delivers {len(labels)} labels for {tuple(pictures.shape)} of {pictures.dtype}")
        images += len(labels)
    return images


def main(kind, path, side, batch, workers, seconds):
    import torch  # noqa: F401: batches are tensors where it is imported

    dtype = "torch.float32" if "bands" in kind else "torch.uint8"
    works = (loader, dataset, folder, folder_io, folder_cv, folder_codec, dali, bands, folder_bands)
    batches = {work.__name__: work for work in works}[kind](path, int(side), int(batch), int(workers))
    whole, images = epoch(batches, dtype), 0
    begin, cpu = time.perf_counter(), tree_cpu()
    while images == 0 or time.perf_counter() - begin < float(seconds):
        read = epoch(batches, dtype)
        if read != whole:
            sys.exit(f"an epoch had {read} pictures, another one {whole}")
        images += read
    print(json.dumps({"images": images, "seconds": time.perf_counter() - begin, "cpu_s": tree_cpu() - cpu, "epoch": whole}))


if __name__ == "__main__":
    main(*sys.argv[1:])
