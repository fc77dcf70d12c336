#!/usr/bin/env python3
"""One pass of a loader from Python, as JSON: whole epochs until SECONDS are over, after one that is not timed.

    passes.py loader DATASET SIDE BATCH WORKERS SECONDS           packhorse.Loader
    passes.py dataset DATASET SIDE BATCH WORKERS SECONDS          DataLoader over packhorse.Dataset, pictures by PIL
    passes.py folder FOLDER SIDE BATCH WORKERS SECONDS            DataLoader over torchvision's ImageFolder
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


def epoch(batches):
    images = 0
    for pictures, labels in batches:
        if len(pictures) != len(labels) or "uint8" not in str(pictures.dtype):
            sys.exit(f"delivers {len(labels)} labels for {tuple(pictures.shape)} of {pictures.dtype}")
        images += len(labels)
    return images


def main(kind, path, side, batch, workers, seconds):
    import torch  # noqa: F401: batches are tensors where it is imported

    batches = {"loader": loader, "dataset": dataset, "folder": folder}[kind](path, int(side), int(batch), int(workers))
    whole, images = epoch(batches), 0
    begin, cpu = time.perf_counter(), tree_cpu()
    while images == 0 or time.perf_counter() - begin < float(seconds):
        read = epoch(batches)
        if read != whole:
            sys.exit(f"an epoch had {read} pictures, another one {whole}")
        images += read
    print(json.dumps({"images": images, "seconds": time.perf_counter() - begin, "cpu_s": tree_cpu() - cpu, "epoch": whole}))


if __name__ == "__main__":
    main(*sys.argv[1:])
