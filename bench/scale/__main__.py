"""Datasets of very many samples: what opening, starting, reading at random and resuming cost beside their number.

    python3 bench/scale                                     # prints Markdown; needs 15 GB of disk for a while
    python3 bench/scale --write docs/measured/scale.md
    python3 bench/scale --sizes 10000:2 100000:11           # a quick try: SAMPLES:SHARDS

The datasets are made by `scale_probe make`: real indexes and manifests, and shards that are holes in files, with
pictures of 4 x 4 pixels. Each size is read --rounds times by a process of its own, in turns, after one that is not
counted. Needs the preset release.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import machine  # noqa: E402
from common.environment import ROOT, built, require  # noqa: E402
from common.markdown import parser, show, table  # noqa: E402

SIZES = [(10_000, 2), (1_000_000, 110), (100_000_000, 11_000), (11_000_000, 110_000)]
STRIDE = 16  # bytes from picture to picture: all of them fit into memory


def size(text):
    samples, _, shards = text.partition(":")
    if not shards:
        raise argparse.ArgumentTypeError("give SAMPLES:SHARDS")
    return int(samples), int(shards)


class Made:
    """A dataset, and what reading it cost."""

    def __init__(self, work, samples, shards):
        self.samples, self.shards, self.runs = samples, shards, []
        self.path = work / f"{samples}-{shards}"
        command = [built("scale_probe"), "make", self.path, "--samples", samples, "--shards", shards, "--sample-bytes", STRIDE]
        subprocess.run([*map(str, command)], check=True)

    def read(self, counts):
        done = subprocess.run([built("scale_probe"), "read", self.path], check=True, capture_output=True, text=True)
        if counts:
            self.runs.append(json.loads(done.stdout))
            print(f"scale: {self.samples:,} in {self.shards:,}: {json.dumps(self.runs[-1])}", file=sys.stderr)

    def median(self, *names):
        values = []
        for run in self.runs:
            for name in names:
                run = run[name]
            values.append(run)
        return statistics.median(values)

    def row(self):
        opened = self.median("open_s")
        return [
            f"{self.samples:,}", f"{self.shards:,}", f"{1e3 * opened:,.1f}", f"{1e9 * opened / self.samples:,.1f}",
            f"{self.median('opened', 'own_mb'):,.1f}", f"{1e3 * self.median('first_batch_s'):,.1f}",
            f"{1e3 * self.median('resumed_batch_s'):,.1f}", f"{self.median('order_ns'):,.0f}",
            f"{self.median('in_order_ns'):,.0f}", f"{self.median('random_ns'):,.0f}", f"{self.median('again_ns'):,.0f}",
        ]  # fmt: skip


HEAD = ["samples", "shards", "open, ms", "ns a sample", "own memory, MB", "first batch, ms", "resumed, ms", "order, ns",
        "read in order, ns", "at random, ns", "and again, ns"]  # fmt: skip


def main():
    arguments = parser("scale", __doc__)
    arguments.add_argument("--sizes", type=size, nargs="+", default=SIZES, metavar="SAMPLES:SHARDS")
    arguments.add_argument("--rounds", type=int, default=5)
    options = arguments.parse_args()
    require(built("scale_probe"))
    if options.write and (options.rounds < 3 or options.sizes != SIZES):
        sys.exit("scale: measured in fewer than 3 rounds, or in part")
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        made = [Made(Path(work), *one) for one in options.sizes]
        for number in range(options.rounds + 1):
            for one in made:
                one.read(number > 0)
    cpu = machine.first_match(r"model name\s*: (.*)", "/proc/cpuinfo")
    most = Path("/proc/sys/vm/max_map_count").read_text().strip()
    about = f"{cpu}. {options.rounds} rounds, medians; vm.max_map_count {most}; files in the page cache as far as they fit."
    show(options, "scale bench", f"{about}\n\n{table(HEAD, [one.row() for one in made])}")


if __name__ == "__main__":
    main()
