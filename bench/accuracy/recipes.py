"""Recipes in PyTorch, fed by packhorse.Loader or by a DataLoader. All else is the same code."""

import copy
from pathlib import Path

import numpy as np
import timm
import timm.data.distributed_sampler
import timm.loss
import timm.optim
import torch
import torchvision
from network import BATCH, MEAN, STD, smallnet
from torch.nn import functional
from torch.utils.data import DataLoader, Subset, WeightedRandomSampler
from torchvision.transforms import v2

import packhorse

CLASSES, SIDE = 10, 32
NUMBERS = {"dtype": "float32", "mean": MEAN, "std": STD, "drop_last": True}
TO_NUMBERS = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]


class Files:
    """The first `counts` files of each class."""

    def __init__(self, options, counts):
        self.options = options
        every = torchvision.datasets.ImageFolder(options.folder / "train")
        seen, self.numbers = [0] * CLASSES, []
        for number, label in enumerate(every.targets):
            seen[label] += 1
            if seen[label] <= counts[label]:
                self.numbers.append(number)
        self.labels = np.array(every.targets)[self.numbers]
        self.names = {"/".join(Path(every.samples[number][0]).parts[-2:]) for number in self.numbers}

    def folder(self, transform):
        return Subset(torchvision.datasets.ImageFolder(self.options.folder / "train", transform), self.numbers)

    def packed(self):
        chosen = lambda columns: np.array([path in self.names for path in columns["path"]])  # noqa: E731
        return packhorse.Dataset(self.options.packed / "train", subset=chosen)


def timm_a3(options, packed, seed):
    """The mean loss of each epoch of timm's resnet18, as in "ResNet strikes back" (arXiv:2110.00476), A3."""
    torch.manual_seed(seed)
    files = Files(options, [500] * CLASSES)
    policy, mixes = "rand-m6-mstd0.5-inc1", {"label_smoothing": 0.1}
    if packed:
        crop = packhorse.RandomResizedCrop(SIDE, interpolation="bicubic")
        loader = packhorse.Loader(files.packed(), BATCH, augment=[crop, policy], mixup=0.1, cutmix=1.0, repeats=3, seed=seed,
                                  **mixes, **NUMBERS)  # fmt: skip
        mix = lambda images, labels: (images, labels)  # noqa: E731
    else:
        transform = timm.data.create_transform(SIDE, is_training=True, auto_augment=policy, interpolation="bicubic", mean=MEAN,
                                               std=STD)  # fmt: skip
        data = files.folder(transform)
        sampler = timm.data.distributed_sampler.RepeatAugSampler(data, num_replicas=1, rank=0, num_repeats=3)
        loader = DataLoader(data, BATCH, sampler=sampler, drop_last=True)
        mix = timm.data.Mixup(mixup_alpha=0.1, cutmix_alpha=1.0, num_classes=CLASSES, **mixes)
    model = timm.create_model("resnet18", num_classes=CLASSES)
    loss_of = timm.loss.BinaryCrossEntropy(target_threshold=0.2)
    optimizer = timm.optim.create_optimizer_v2(model, opt="lamb", lr=3e-3, weight_decay=0.02)
    curve = []
    for epoch in range(options.epochs):
        if not packed:
            sampler.set_epoch(epoch + 1000 * seed)
        losses = []
        for images, labels in loader:
            images, targets = mix(images, labels)
            loss = loss_of(model(images), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        curve.append(float(np.mean(losses)))
    return curve



def dino(options, packed, seed):
    """The mean loss of each epoch of a small DINO (arXiv:2104.14294): two global crops and four local ones."""
    torch.manual_seed(seed)
    files = Files(options, [250] * CLASSES)
    whole, local = {"size": SIDE, "scale": (0.4, 1)}, {"size": SIDE // 2, "scale": (0.05, 0.4)}
    if packed:
        p = packhorse
        colours = [p.ColorJitter(0.4, 0.4, 0.2, 0.1, p=0.8), p.RandomGrayscale(0.2)]
        blur = lambda share: p.GaussianBlur(3, p=share)  # noqa: E731
        crop = lambda of: p.RandomResizedCrop(of["size"], scale=of["scale"], interpolation="bicubic")  # noqa: E731
        views = [crop(whole), *colours, blur(1.0), crop(whole), *colours, blur(0.1), p.RandomSolarize(128, 0.2)]
        views += [crop(local), *colours, blur(0.5)] * 4
        loader = p.Loader(files.packed(), BATCH, views=views, seed=seed, **NUMBERS)
    else:
        colours = [v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8), v2.RandomGrayscale(0.2)]
        blur = lambda share: v2.RandomApply([v2.GaussianBlur(3, (0.1, 2))], share)  # noqa: E731
        crop = lambda of: [v2.RandomResizedCrop(of["size"], of["scale"], interpolation=v2.InterpolationMode.BICUBIC),  # noqa: E731
                           v2.RandomHorizontalFlip()]  # fmt: skip
        views = [v2.Compose([*crop(whole), *colours, blur(1.0), *TO_NUMBERS]),
                 v2.Compose([*crop(whole), *colours, blur(0.1), v2.RandomSolarize(128, 0.2), *TO_NUMBERS]),
                 *[v2.Compose([*crop(local), *colours, blur(0.5), *TO_NUMBERS])] * 4]  # fmt: skip
        loader = DataLoader(files.folder(lambda image: [view(image) for view in views]), BATCH, shuffle=True, drop_last=True)
    student = torch.nn.Sequential(smallnet(64), torch.nn.GELU(), torch.nn.Linear(64, 256))
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.AdamW(student.parameters(), 1e-3)
    centre, curve = torch.zeros(256), []
    for _ in range(options.epochs):
        losses = []
        for images, _ in loader:
            outputs = [functional.log_softmax(student(view) / 0.1, 1) for view in images]
            with torch.no_grad():
                raw = [teacher(view) for view in images[:2]]
            wanted = [functional.softmax((one - centre) / 0.04, 1) for one in raw]
            pairs = [-(t * s).sum(1).mean() for i, t in enumerate(wanted) for j, s in enumerate(outputs) if i != j]
            loss = sum(pairs) / len(pairs)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                centre = 0.9 * centre + 0.1 * torch.cat(raw).mean(0)
                for old, new in zip(teacher.parameters(), student.parameters(), strict=True):
                    old.lerp_(new, 0.01)
            losses.append(loss.item())
        curve.append(float(np.mean(losses)))
    return curve


GROUPS = {"the 3 largest classes": (0, 3), "the 4 between": (3, 7), "the 3 smallest": (7, 10)}


def long_tail(weights, options, packed, seed):
    """Top-1 on test images of large, middle and small classes, in percent: 5,000 images of the first class, 50 of the last
    (arXiv:1901.05555), sampled by `weights`."""
    torch.manual_seed(seed)
    counts = [int(5000 * 0.01 ** (label / (CLASSES - 1))) for label in range(CLASSES)]
    files = Files(options, counts)
    if packed:
        augment = [packhorse.ResizeCenterCrop(SIDE, SIDE), packhorse.RandomHorizontalFlip()]
        drawn = {"weights": weights, "replacement": True} if weights else {}
        loader = packhorse.Loader(files.packed(), BATCH, augment=augment, seed=seed, **drawn, **NUMBERS)
    else:
        seen = np.bincount(files.labels)
        of_class = {"balanced": 1 / seen, "sqrt": 1 / np.sqrt(seen)}.get(weights)
        sampler = WeightedRandomSampler(of_class[files.labels], len(files.labels)) if weights else None
        data = files.folder(v2.Compose([v2.RandomHorizontalFlip(), *TO_NUMBERS]))
        loader = DataLoader(data, BATCH, shuffle=not weights, sampler=sampler, drop_last=True)
    model = smallnet(CLASSES)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, 0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs * len(loader))
    for _ in range(options.epochs):
        for images, labels in loader:
            loss = functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()
    right, tested = torch.zeros(CLASSES), torch.zeros(CLASSES)
    test = torchvision.datasets.ImageFolder(options.folder / "test", v2.Compose(TO_NUMBERS))
    with torch.no_grad():
        for images, labels in DataLoader(test, 500):
            found = model(images).argmax(1)
            tested += torch.bincount(labels, minlength=CLASSES)
            right += torch.bincount(labels[found == labels], minlength=CLASSES)
    of_class = 100 * right / tested.clamp(min=1)
    return [of_class[first:last].mean().item() for first, last in GROUPS.values()]
