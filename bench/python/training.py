"""Trains on the CPU from packhorse.Loader and from DataLoader + ImageFolder: the time of an epoch, and what was learnt.

    .venv/bin/python bench/python/training.py                                    # prints Markdown
    .venv/bin/python bench/python/training.py --write docs/measured/python.md
    .venv/bin/python bench/python/training.py --copies 1 --rounds 1 --epochs 1   # a quick try

A smallnet learns CIFAR-10; a ResNet-18 learns to tell 200 photos apart, in ten classes, from crops that are so small
(32) that reading the photos is the larger part of the work. Trainings take turns; each is a process of its own, with
its round's seed. Needs the preset release, and scripts/setup.
"""

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common.environment import ROOT, built, require  # noqa: E402
from common.markdown import parser, show, spread_text, table  # noqa: E402
from pictures import cifar, conditions, packed, photos, run  # noqa: E402

TRAIN = Path(__file__).with_name("train.py")
OURS, THEIRS, NONE = "packhorse.Loader", "DataLoader + ImageFolder", "no reading: one batch again and again"
LEAST_ROUNDS = 3  # of a page: each is some epochs


class Training:
    """Contenders on one task: {name: rounds of figures}."""

    def __init__(self, title, task, epochs, folders, datasets):
        self.title, self.task, self.epochs = title, task, epochs
        self.contenders = {OURS: ("loader", datasets), THEIRS: ("folder", folders), NONE: ("nothing", datasets)}
        self.runs = {name: [] for name in self.contenders}

    def round(self, number, jobs):
        for name, (kind, (train, test)) in self.contenders.items():
            found = json.loads(run([sys.executable, TRAIN, kind, self.task, train, test, self.epochs, jobs, number]))
            found["epoch"] = statistics.median(found["seconds"][1:] or found["seconds"])  # the first one starts workers
            self.runs[name].append(found)
            print(f"training: {self.title}: {name}: {found['epoch']:.2f} s an epoch, {found['right']:.1%} right", file=sys.stderr)

    def text(self):
        rows = []
        for name, runs in self.runs.items():
            epochs = [one["epoch"] for one in runs]
            faster = [theirs["epoch"] / mine for mine, theirs in zip(epochs, self.runs[THEIRS])]
            right = spread_text([100 * one["right"] for one in runs], lambda x: f"{x:.1f}") if name != NONE else ""
            seconds = spread_text(epochs, lambda x: f"{x:.2f}")
            rows.append([name, seconds, spread_text(faster, lambda x: f"{x:.2f}"), f"{runs[0]['images'] / statistics.median(epochs):,.0f}", right])
        head = ["reads with", "an epoch, s", f"x {THEIRS}", "images/s", "right after it, %"]
        return f"### {self.title}\n\n{self.epochs} epochs of {self.runs[OURS][0]['images']:,} images.\n\n{table(head, rows)}"


def measured(options, work):
    folder, small = photos(work, options.copies), cifar(work, options.copies)
    small_sets = [packed(small / split, work / f"small-{split}") for split in ("train", "test")]
    large_set = packed(folder, work / "large", "--image", "roi")
    trainings = [
        Training("A small network on CIFAR-10", "smallnet", options.epochs, [small / "train", small / "test"], small_sets),
        Training("ResNet-18 on photos, crops of 32", "resnet18", 3 * options.epochs, [folder, folder], [large_set, large_set]),
    ]
    for number in range(options.rounds):
        for training in trainings:
            training.round(number, options.jobs)
    about = f"{options.rounds} rounds, {options.jobs} workers and as many threads that compute. {conditions()}"
    return "\n\n".join([about, *(training.text() for training in trainings)])


def main():
    arguments = parser("python/training.py", __doc__)
    arguments.add_argument("--copies", type=int, default=4, help="of each photo")
    arguments.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    arguments.add_argument("--epochs", type=int, default=3, help="of CIFAR-10; of the photos, three times as many")
    arguments.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = arguments.parse_args()
    require(built("packhorse"))
    if options.write and options.rounds < LEAST_ROUNDS:
        sys.exit(f"training: measured in fewer than {LEAST_ROUNDS} rounds")
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        text = measured(options, Path(work))
    show(options, "python training", text)


if __name__ == "__main__":
    main()
