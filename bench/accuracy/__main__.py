"""Trains the same network with packhorse and without it, with several seeds, and says whether the results differ by more
than chance.

    .venv/bin/python bench/accuracy trainer build/test-data/cifar10 --write docs/measured/accuracy.md

DIR has CIFAR-10's train/ and test/. STUDY is one of:

    trainer   packhorse-train, and a loop of PyTorch's that shares nothing with it: top-1
    timm      timm's recipe A3 with RandAugment, Mixup, CutMix and repeated augmentation: the loss of each epoch
    dino      DINO's views: the loss of each epoch
    tail      50 to 5,000 images a class, sampled by weights: top-1 of large and of small classes

In the last three packhorse.Loader and a DataLoader feed the same code. Prints Markdown.
"""

import functools
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

EPOCHS = {"trainer": 6, "timm": 5, "dino": 4, "tail": 6}
STUDENT = {2: 4.30, 3: 2.78, 4: 2.45, 5: 2.31}  # 95 % of Student's t, by the number of seeds of each of two means


def runs(study):
    """What a study compares, by the heads of its tables: name of the result -> a run of each of the two loaders."""
    if study == "trainer":
        import trainer

        return ["top-1"], {"": {"packhorse-train": trainer.ours, "the loop": trainer.loop}}
    import recipes

    def both(run):
        return {"packhorse.Loader": functools.partial(run, packed=True), "DataLoader": functools.partial(run, packed=False)}

    if study == "tail":
        named = {"no weights": None, "`balanced`": "balanced", "`sqrt`": "sqrt"}
        return list(recipes.GROUPS), {name: both(functools.partial(recipes.long_tail, by)) for name, by in named.items()}
    return [f"epoch {n}" for n in range(1, EPOCHS[study] + 1)], {"": both({"timm": recipes.timm_a3, "dino": recipes.dino}[study])}


def verdict(ours, theirs):
    """Of the figures of several seeds."""
    apart = statistics.mean(ours) - statistics.mean(theirs)
    error = math.sqrt((statistics.variance(ours) + statistics.variance(theirs)) / len(ours))
    same = abs(apart) <= STUDENT[len(ours)] * error
    return f"{apart:+.3g}, standard error {error:.2g}: " + ("no measurable difference" if same else "**A DIFFERENCE**")


def measure(options):
    heads, compared = runs(options.study)
    figures, seconds, rows, said = {}, {}, [], []
    for name, loaders in compared.items():
        results = {loader: [] for loader in loaders}
        for seed in range(options.repeats):
            for loader, run in loaders.items():
                begin = time.monotonic()
                results[loader].append(run(options, seed=seed))
                seconds.setdefault(loader, []).append(time.monotonic() - begin)
                shown = ", ".join(f"{value:.4g}" for value in results[loader][-1])
                print(f"accuracy: {name} {loader}, seed {seed}: {shown}", file=sys.stderr, flush=True)
        for loader, curves in results.items():
            cells = [f"{statistics.mean(at):.4g} ± {statistics.stdev(at):.2g}" for at in zip(*curves, strict=True)]
            rows.append([name, loader, *cells] if name else [loader, *cells])
        ours, theirs = (list(zip(*curves, strict=True)) for curves in results.values())
        last = range(len(heads)) if options.study == "tail" else [len(heads) - 1]
        said += [f"- {f'{name}, ' if name else ''}{heads[at]}: {verdict(ours[at], theirs[at])}" for at in last]
        figures[name] = results
    return {"study": options.study, "results": figures, "seconds": seconds}, heads, rows, said


def written(options, heads, rows, said):
    versions = (f"{name} {sys.modules[name].__version__}" for name in ("torch", "torchvision", "timm") if name in sys.modules)
    first = ["", ""] if len(rows[0]) > len(heads) + 1 else [""]
    return "\n\n".join([
        f"{options.repeats} seeds each, {options.epochs} epochs, mean ± standard deviation. {', '.join(versions)}; "
        f"{processor()}, {len(os.sched_getaffinity(0))} cores, no GPU.",
        table([*first, *heads], rows),
        "packhorse minus the other:",
        "\n".join(said),
    ])  # fmt: skip


def main():
    arguments = parser("accuracy", __doc__)
    arguments.add_argument("study", choices=EPOCHS)
    arguments.add_argument("folder", type=Path, metavar="DIR")
    arguments.add_argument("--epochs", type=int, help="of each training")
    arguments.add_argument("--repeats", type=int, choices=STUDENT, default=3, help="seeds (%(default)s)")
    options = arguments.parse_args()
    if options.epochs:
        EPOCHS[options.study] = options.epochs
    options.epochs = EPOCHS[options.study]
    sys.path.insert(1, str(Path(built("packhorse")).parents[1] / "python"))
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        options.work, options.packed = Path(work), Path(work) / "packed"
        pack = [built("packhorse"), "pack", options.folder, options.packed, "--format", "wds"]
        subprocess.run([str(c) for c in pack], check=True, stdout=subprocess.DEVNULL)
        figures, *tables = measure(options)
    show(options, f"accuracy {options.study}", written(options, *tables), figures)


if __name__ == "__main__":
    main()
