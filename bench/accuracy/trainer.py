"""packhorse-train, and a loop that shares nothing with it: it reads the files with torchvision, and has its own network,
mirroring and schedule, and the optimiser of torch.optim."""

import functools
import json
import math
import subprocess

import torch
import torchvision
from common.environment import built
from network import BATCH, MEAN, STD, smallnet

LR, MOMENTUM, WEIGHT_DECAY, WARMUP_SHARE = 0.1, 0.9, 5e-4, 0.2


def ours(options, seed):
    """Top-1 on the test images, in percent."""
    command = [built("packhorse-train"), "fit", "--data", options.packed, "--out", options.work / f"run-{seed}", "--arch",
               "smallnet", "--device", "cpu", "--epochs", options.epochs, "--batch-size", BATCH, "--lr", LR, "--momentum",
               MOMENTUM, "--weight-decay", WEIGHT_DECAY, "--warmup-epochs", WARMUP_SHARE * options.epochs, "--seed", seed,
               "--json"]  # fmt: skip
    done = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE)
    return [json.loads(done.stdout)["top1"]]


@functools.cache
def images(folder):
    data = torchvision.datasets.ImageFolder(folder)
    pixels = [torchvision.transforms.functional.pil_to_tensor(image) for image, _ in data]
    return torch.stack(pixels), torch.tensor(data.targets)


def normalised(images):
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    return ((images.float() / 255 - mean) / std).contiguous(memory_format=torch.channels_last)


def mirrored(images):
    """Half of them, by chance."""
    return torch.where((torch.rand(len(images)) < 0.5).view(-1, 1, 1, 1), images.flip(3), images)


def loop(options, seed):
    """Top-1 on the test images, in percent."""
    torch.manual_seed(seed)
    pixels, labels = images(options.folder / "train")
    model = smallnet(10).to(memory_format=torch.channels_last)
    weights = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": weights, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0}]
    optimizer = torch.optim.SGD(groups, lr=LR, momentum=MOMENTUM, nesterov=True)
    each = len(pixels) // BATCH
    total, warm = options.epochs * each, WARMUP_SHARE * options.epochs * each
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: (s + 1) / warm if s < warm else 0.5 * (1 + math.cos(math.pi * (s - warm) / (total - warm))))
    for _ in range(options.epochs):
        order = torch.randperm(len(pixels))
        for step in range(each):
            chosen = order[step * BATCH : (step + 1) * BATCH]
            loss = torch.nn.functional.cross_entropy(model(normalised(mirrored(pixels[chosen]))), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    pixels, labels = images(options.folder / "test")
    model.eval()
    with torch.no_grad():
        found = torch.cat([model(normalised(part)).argmax(1) for part in pixels.split(500)])
    return [100 * (found == labels).float().mean().item()]
