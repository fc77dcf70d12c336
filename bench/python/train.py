#!/usr/bin/env python3
"""A small network learns CIFAR-10 on the CPU, as JSON: the seconds of each epoch, and the share of test pictures that are
recognised.

    train.py loader DATA EPOCHS WORKERS SEED      packhorse.Loader over the packed datasets DATA/train and DATA/test
    train.py folder DATA EPOCHS WORKERS SEED      DataLoader over torchvision's ImageFolder
    train.py nothing DATA EPOCHS WORKERS SEED     the first batch of the loader again and again: no reading
"""

import json
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch  # noqa: E402
import torchvision  # noqa: E402
from contenders.packhorse_loader import packhorse  # noqa: E402
from torchvision import transforms  # noqa: E402

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def smallnet():
    """packhorse-train's, of half the widths, and halved once more at the beginning: 0.08 M parameters."""
    layers, before = [], 3
    for width, stride in ((16, 2), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        layers += [torch.nn.Conv2d(before, width, 3, stride, 1, bias=False), torch.nn.BatchNorm2d(width), torch.nn.ReLU()]
        before = width
    return torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10))


BATCH, RATE = 128, 0.1  # of learning, at its highest
FOLDER_STEPS = {
    True: [transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip()],  # in training
    False: [transforms.CenterCrop(32)],
}
OUR_STEPS = {True: packhorse.PadCrop(32, 4), False: packhorse.ResizeCenterCrop(32, 32)}


def from_folder(path, workers, seed, train):
    steps = [*FOLDER_STEPS[train], transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    dataset = torchvision.datasets.ImageFolder(path, transforms.Compose(steps))
    return torch.utils.data.DataLoader(
        dataset, BATCH, shuffle=train, drop_last=train, num_workers=workers, persistent_workers=True
    )


def from_packed(path, workers, seed, train):
    numbers = {"dtype": "float32", "mean": MEAN, "std": STD}
    order = {"shuffle": train, "drop_last": train, "seed": seed}
    return packhorse.Loader(path, BATCH, augment=OUR_STEPS[train], workers=workers, **order, **numbers)


def right_share(model, batches):
    model.eval()
    right = count = 0
    with torch.no_grad():
        for images, labels in batches:
            right += (model(images).argmax(1) == labels).sum().item()
            count += len(labels)
    return right / count


def main(kind, data, epochs, workers, seed):
    epochs, workers, seed = int(epochs), int(workers), int(seed)
    torch.manual_seed(seed)
    read = from_folder if kind == "folder" else from_packed
    batches = read(Path(data) / "train", workers, seed, True)
    if kind == "nothing":
        batches = [next(iter(batches))] * len(batches)
    model = smallnet().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=epochs * len(batches))
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
    right = None if kind == "nothing" else right_share(model, read(Path(data) / "test", workers, seed, False))
    print(json.dumps({"seconds": seconds, "images": images_seen // epochs, "right": right}))


if __name__ == "__main__":
    main(*sys.argv[1:])
