#!/usr/bin/env python3
"""A training on the CPU, as JSON: the seconds of each epoch, and the share of test pictures that are recognised.

    train.py loader TASK TRAIN TEST EPOCHS WORKERS SEED      packhorse.Loader over packed datasets
    train.py folder TASK TRAIN TEST EPOCHS WORKERS SEED      DataLoader over torchvision's ImageFolder
    train.py nothing TASK TRAIN TEST EPOCHS WORKERS SEED     the first batch of the loader again and again: no reading

TASK is smallnet or resnet18: TASKS below.
"""

import dataclasses
import json
import sys
import time
from collections.abc import Callable

import torch
import torchvision

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def smallnet():
    """packhorse-train's, of half the widths, and halved once more at the beginning: 0.08 M parameters."""
    layers, before = [], 3
    for width, stride in ((16, 2), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        layers += [torch.nn.Conv2d(before, width, 3, stride, 1, bias=False), torch.nn.BatchNorm2d(width), torch.nn.ReLU()]
        before = width
    return torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10))


@dataclasses.dataclass(frozen=True)
class Task:
    network: Callable
    batch: int
    rate: float  # of learning, at its highest
    crops: Callable  # torchvision's or packhorse's module -> of a training, of a test


TASKS = {
    "smallnet": Task(smallnet, 128, 0.1, lambda known: (known.pad_crop(32), known.centre(32, 32))),
    "resnet18": Task(lambda: torchvision.models.resnet18(num_classes=10), 64, 0.05, lambda known: (known.crop(32), known.centre(32, 36))),
}


class Folders:
    """What a script has that reads folders."""

    @staticmethod
    def crop(side):
        transforms = torchvision.transforms
        return [transforms.RandomResizedCrop(side, antialias=True), transforms.RandomHorizontalFlip()]

    @staticmethod
    def pad_crop(side):
        return [torchvision.transforms.RandomCrop(side, padding=4), torchvision.transforms.RandomHorizontalFlip()]

    @staticmethod
    def centre(side, resize):
        return [torchvision.transforms.Resize(resize, antialias=True), torchvision.transforms.CenterCrop(side)]

    @staticmethod
    def batches(path, steps, batch, workers, seed, train):
        transforms = torchvision.transforms
        steps = transforms.Compose([*steps, transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
        dataset = torchvision.datasets.ImageFolder(path, steps)
        return torch.utils.data.DataLoader(
            dataset, batch, shuffle=train, drop_last=train, num_workers=workers, persistent_workers=True
        )


class Packed:
    """The same, of packhorse."""

    @staticmethod
    def crop(side):
        import packhorse

        return packhorse.RandomResizedCrop(side)

    @staticmethod
    def pad_crop(side):
        import packhorse

        return packhorse.PadCrop(side, 4)

    @staticmethod
    def centre(side, resize):
        import packhorse

        return packhorse.ResizeCenterCrop(side, resize)

    @staticmethod
    def batches(path, augment, batch, workers, seed, train):
        import packhorse

        numbers = {"dtype": "float32", "mean": MEAN, "std": STD}
        return packhorse.Loader(
            path, batch, augment=augment, workers=workers, seed=seed, shuffle=train, drop_last=train, **numbers
        )


class Again:
    """The first batch of a loader, as often as the loader has batches."""

    def __init__(self, batches):
        self.batch, self.length = next(iter(batches)), len(batches)

    def __len__(self):
        return self.length

    def __iter__(self):
        return iter([self.batch] * self.length)


def right_share(model, batches):
    model.eval()
    right = count = 0
    with torch.no_grad():
        for images, labels in batches:
            right += (model(images).argmax(1) == labels).sum().item()
            count += len(labels)
    return right / count


def main(kind, task, train, test, epochs, workers, seed):
    epochs, workers, seed, task = int(epochs), int(workers), int(seed), TASKS[task]
    torch.manual_seed(seed)
    known = Folders if kind == "folder" else Packed
    steps, centre = task.crops(known)
    batches = known.batches(train, steps, task.batch, workers, seed, True)
    if kind == "nothing":
        batches = Again(batches)
    model = task.network().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=task.rate, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, task.rate, total_steps=epochs * len(batches))
    seconds, images_seen = [], 0
    for _ in range(epochs):
        begin = time.perf_counter()
        model.train()
        for images, labels in batches:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            images_seen += len(labels)
        seconds.append(time.perf_counter() - begin)
    right = right_share(model, known.batches(test, centre, task.batch, workers, seed, False))
    print(json.dumps({"seconds": seconds, "images": images_seen // epochs, "right": right}))


if __name__ == "__main__":
    main(*sys.argv[1:])
