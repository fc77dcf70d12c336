"""Reads from Python beside C++, and in an unchanged DataLoader beside ImageFolder: the same data, the same run, in turns.

    .venv/bin/python bench/python                                       # prints Markdown
    .venv/bin/python bench/python --write docs/measured/python.md
    .venv/bin/python bench/python --copies 2 --rounds 1 --seconds 1     # a quick try

Photos are those of imagenet200.tar in PACKHORSE_DATA (default ../shared/data), `--copies` of each, packed with --image
roi; small files are CIFAR-10's. Every pass is a process of its own and lasts at least --seconds in whole epochs; a
Python pass has an epoch before it that is not timed. Needs the preset release, and scripts/setup.
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

PASSES = Path(__file__).with_name("passes.py")
BASE = "packhorse bench (C++)"
OURS = "packhorse.Loader"
FOLDER = "DataLoader + ImageFolder"
MAP = "DataLoader + packhorse.Dataset"


class Suite:
    """Contenders on one set of pictures: {name: rounds of figures}."""

    def __init__(self, title, folder, dataset, side, batch, slow):
        self.title, self.folder, self.dataset, self.side, self.batch, self.slow = title, folder, dataset, side, batch, slow
        self.runs = {name: [] for name in self.contenders(1, 1)}

    def contenders(self, jobs, seconds):
        python = [sys.executable, PASSES]
        rest = [self.side, self.batch, jobs, seconds]
        bench = [built("packhorse"), "bench", self.dataset, "--work", "decode", "--size", self.side, "--batch-size", self.batch]
        known = {
            BASE: [*bench, "--workers", jobs, "--repeats", 1, "--min-seconds", seconds, "--json"],
            OURS: [*python, "loader", self.dataset, *rest],
        }
        if self.slow:
            known |= {
                MAP: [*python, "dataset", self.dataset, *rest],
                FOLDER: [*python, "folder", self.folder, *rest],
            }
        return known

    def round(self, options):
        for name, command in self.contenders(options.jobs, options.seconds).items():
            found = json.loads(run(command))
            found = found["runs"][0] if name == BASE else found
            self.runs[name].append({"rate": found["images"] / found["seconds"], "cpu": 1000 * found["cpu_s"] / found["images"]})
            print(f"python: {self.title}: {name}: {self.runs[name][-1]['rate']:,.0f} images/s", file=sys.stderr)

    def ratios(self, name, base):
        return [mine["rate"] / theirs["rate"] for mine, theirs in zip(self.runs[name], self.runs[base])]

    def batch_cost(self):
        """Microseconds that a batch takes longer from Python, in each round."""
        pairs = zip(self.runs[OURS], self.runs[BASE])
        return [1e6 * self.batch * (1 / mine["rate"] - 1 / theirs["rate"]) for mine, theirs in pairs]

    def text(self):
        rows = []
        for name, runs in self.runs.items():
            base = FOLDER if name in (MAP, FOLDER) else BASE
            ratio = "" if name == base else f"{spread_text(self.ratios(name, base), lambda x: f'{x:.3f}')} x {base}"
            rate = spread_text([one["rate"] for one in runs], lambda x: f"{x:,.0f}")
            rows.append([name, rate, ratio, f"{statistics.median(one['cpu'] for one in runs):.2f}"])
        head = ["loader", "images/s", "beside", "CPU s / 1000 images"]
        cost = spread_text(self.batch_cost(), lambda x: f"{x:.0f}")
        files = f"{sum(path.is_file() for path in self.folder.rglob('*')):,}"
        return f"### {files} {self.title}\n\n{table(head, rows)}\n\nA batch of {self.batch} takes {cost} us longer from Python than from C++."


IMPORT = """
import sys, time
begin = time.perf_counter()
import packhorse
took = time.perf_counter() - begin
assert not {"numpy", "torch"} & set(sys.modules)
print(took)
"""


def import_text(rounds):
    seconds = [float(run([sys.executable, "-c", IMPORT])) for _ in range(rounds)]
    return f"`import packhorse` takes {spread_text(seconds, lambda x: f'{x:.3f}')} s."


def measured(options, work):
    folder, small = photos(work, options.copies), cifar(work, options.copies) / "train"
    suites = [
        Suite("ImageNet photos, crops of 224", folder, packed(folder, work / "roi", "--image", "roi"), 224, 64, True),
        Suite("files of CIFAR-10, crops of 32", small, packed(small, work / "small"), 32, 256, False),
    ]
    for _ in range(options.rounds):
        for suite in suites:
            suite.round(options)
    about = f"{options.rounds} rounds, passes of {options.seconds:g} s or more, {options.jobs} workers, warm."
    return "\n\n".join([f"{about} {conditions()} {import_text(options.rounds)}", *(suite.text() for suite in suites)])


def main():
    arguments = parser("python", __doc__)
    arguments.add_argument("--copies", type=int, default=4, help="of each photo")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=3.0)
    arguments.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = arguments.parse_args()
    require(built("packhorse"))
    if options.write and options.rounds < 5:
        sys.exit("python: measured in fewer than 5 rounds")
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        text = measured(options, Path(work))
    show(options, "python bench", text)


if __name__ == "__main__":
    main()
