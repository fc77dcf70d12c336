"""Trains smallnet on CIFAR-10 with packhorse-train, and with a loop of PyTorch's that shares nothing with it.

    .venv/bin/python bench/accuracy build/test-data/cifar10 --write docs/measured/accuracy.md

DIR has train/ and test/. Both train from scratch by the same recipe, each with the seeds 0, 1, ...; the loop reads the
files with torchvision, and has its own network, mirroring and schedule, and the optimiser of torch.optim. Prints Markdown: whether
the accuracies differ by more than chance does.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common.environment import ROOT, built, processor  # noqa: E402
from common.page import parser, show, table  # noqa: E402

BATCH, LR, MOMENTUM, WEIGHT_DECAY, WARMUP_SHARE = 128, 0.1, 0.9, 5e-4, 0.2
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def ours(options, packed, seed, out):
    """Top-1 on the test pictures, in percent."""
    command = [built("packhorse-train"), "fit", "--data", packed, "--out", out, "--arch", "smallnet", "--device", "cpu",
               "--epochs", options.epochs, "--batch-size", BATCH, "--lr", LR, "--momentum", MOMENTUM, "--weight-decay",
               WEIGHT_DECAY, "--warmup-epochs", WARMUP_SHARE * options.epochs, "--seed", seed, "--json"]  # fmt: skip
    done = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["top1"]


def network(torch, classes):
    nn = torch.nn
    layers, before = [], 3
    for width in (32, 64, 128):
        for stride in (1 if width == 32 else 2, 1):
            layers += [nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
            nn.init.kaiming_normal_(layers[-3].weight, mode="fan_out", nonlinearity="relu")
            before = width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes)]
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)


def pictures(folder):
    import torch
    import torchvision

    data = torchvision.datasets.ImageFolder(folder)
    pixels = [torchvision.transforms.functional.pil_to_tensor(image) for image, _ in data]
    return torch.stack(pixels), torch.tensor(data.targets), len(data.classes)


def normal(images):
    import torch

    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    return ((images.float() / 255 - mean) / std).contiguous(memory_format=torch.channels_last)


def mirrored(images):
    """Half of them, by chance."""
    import torch

    return torch.where((torch.rand(len(images)) < 0.5).view(-1, 1, 1, 1), images.flip(3), images)


def plain(options, train, test, seed):
    """The loop. Top-1 on the test pictures, in percent."""
    import torch

    torch.manual_seed(seed)
    images, labels, classes = train
    model = network(torch, classes)
    weights = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": weights, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0}]
    optimizer = torch.optim.SGD(groups, lr=LR, momentum=MOMENTUM, nesterov=True)
    each = len(images) // BATCH
    total, warm = options.epochs * each, WARMUP_SHARE * options.epochs * each
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: (s + 1) / warm if s < warm else 0.5 * (1 + math.cos(math.pi * (s - warm) / (total - warm))))
    for _ in range(options.epochs):
        model.train()
        order = torch.randperm(len(images))
        for step in range(each):
            chosen = order[step * BATCH : (step + 1) * BATCH]
            loss = torch.nn.functional.cross_entropy(model(normal(mirrored(images[chosen]))), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()
    images, labels, _ = test
    with torch.no_grad():
        right = sum((model(normal(images[i : i + 500])).argmax(1) == labels[i : i + 500]).sum().item()
                    for i in range(0, len(images), 500))  # fmt: skip
    return 100 * right / len(images)


def study(options, work):
    packed = work / "packed"
    pack = [built("packhorse"), "pack", options.folder, packed, "--format", "wds"]
    subprocess.run([str(c) for c in pack], check=True, stdout=subprocess.DEVNULL)
    train, test = pictures(options.folder / "train"), pictures(options.folder / "test")
    results, seconds = {"packhorse-train": [], "the loop": []}, {}
    for seed in range(options.repeats):
        for name, run in (("packhorse-train", lambda: ours(options, packed, seed, work / f"run-{seed}")),
                          ("the loop", lambda: plain(options, train, test, seed))):  # fmt: skip
            begin = time.monotonic()
            results[name].append(run())
            seconds.setdefault(name, []).append(time.monotonic() - begin)
            print(f"accuracy: {name}, seed {seed}: {results[name][-1]:.2f} %", file=sys.stderr, flush=True)
    rows = [[name, *(f"{one:.2f} %" for one in tops), f"{statistics.mean(tops):.2f} %", f"{statistics.stdev(tops):.2f}",
             f"{statistics.median(seconds[name]):.0f} s"] for name, tops in results.items()]  # fmt: skip
    a, b = results.values()
    apart = statistics.mean(a) - statistics.mean(b)
    error = math.sqrt((statistics.variance(a) + statistics.variance(b)) / options.repeats)
    head = ["top-1", *(f"seed {seed}" for seed in range(options.repeats)), "mean", "deviation", "a run"]
    import torch
    import torchvision

    figures = {"top1": results, "seconds": seconds}
    return figures, "\n\n".join([
        f"smallnet, {len(train[0]):,} pictures, {options.epochs} epochs, batch {BATCH}; PyTorch {torch.__version__}, "
        f"torchvision {torchvision.__version__}; {processor()}, {len(os.sched_getaffinity(0))} cores, no GPU.",
        table(head, rows),
        f"The means differ by {apart:+.2f} points; by chance alone they would by {error:.2f} (one standard error): "
        + ("no more than chance explains." if abs(apart) < 2 * error else "MORE than chance explains."),
    ])  # fmt: skip


def main():
    arguments = parser("accuracy", __doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--epochs", type=int, default=6)
    arguments.add_argument("--repeats", type=int, default=5, help="seeds (%(default)s)")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        figures, text = study(options, Path(work))
    show(options, "accuracy", text, figures)


if __name__ == "__main__":
    main()
