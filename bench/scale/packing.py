"""Packing very many samples: memory, time and disk a sample, beside their number.

    python3 bench/scale/packing.py                                  # prints Markdown; needs 50 GB of disk for a while
    python3 bench/scale/packing.py --write docs/measured/scale.md
    python3 bench/scale/packing.py --sources arrays:100000:16MiB    # a quick try: SOURCE:SAMPLES:MEMORY

`arrays` are a .npy of random pictures of 4 x 4 pixels and one of labels of 1,000 classes; `folder` has class folders of
10,000 files, which are links to one PNG of each class. Each is packed into LMDB in shards of 10,000 samples, and the
dataset read once in full and compared with its hashes. Up to 10 million samples that is done --rounds times, in turns,
beyond that once. Needs the preset release.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import machine  # noqa: E402
from common.environment import ROOT, built, require  # noqa: E402
from common.markdown import parser, show, table  # noqa: E402

SOURCES = [
    ("arrays", 1_000_000, "1GiB"), ("arrays", 10_000_000, "1GiB"), ("arrays", 100_000_000, "1GiB"),
    ("arrays", 10_000_000, "128MiB"), ("folder", 1_000_000, "128MiB"), ("folder", 10_000_000, "128MiB"),
]  # fmt: skip
SIDE, CLASSES, SHARD, FOLDER = 4, 1000, 10_000, 10_000
OFTEN = 10_000_000  # samples that are packed more than once
CHUNK = 100_000  # rows at a time: the peak of a child begins with what its parent has


def source(text):
    kind, samples, memory = text.split(":")
    if kind not in ("arrays", "folder"):
        raise argparse.ArgumentTypeError("give arrays:SAMPLES:MEMORY or folder:SAMPLES:MEMORY")
    return kind, int(samples), memory


def write_array(path, shape, kind, values):
    """A .npy; `values(n)` are the bytes of n rows."""
    head = str({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with path.open("wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        for begin in range(0, shape[0], CHUNK):
            file.write(values(min(CHUNK, shape[0] - begin)))


def make_arrays(where, samples):
    draws = random.Random(0)
    write_array(where / "images.npy", (samples, SIDE, SIDE, 3), "|u1", lambda n: draws.randbytes(n * SIDE * SIDE * 3))
    few = [struct.pack("<H", label) for label in range(CLASSES)]
    write_array(where / "labels.npy", (samples,), "<u2", lambda n: b"".join(draws.choices(few, k=n)))


def png(number):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + random.Random(SIDE * number + row).randbytes(SIDE) for row in range(SIDE))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def make_folder(where, samples):
    for label in range((samples + FOLDER - 1) // FOLDER):
        folder = where / f"class-{label:05}"
        folder.mkdir()
        first = folder / "00000000.png"
        first.write_bytes(png(label))
        for i in range(1, min(FOLDER, samples - label * FOLDER)):
            os.link(first, folder / f"{i:08}.png")


class Packing:
    """A source, and what packing it cost."""

    def __init__(self, work, kind, samples, memory):
        self.kind, self.samples, self.memory, self.runs = kind, samples, memory, []
        self.source, self.out = work / f"{kind}-{samples}", work / "out"

    def make(self):
        if self.source.exists():
            return
        self.source.mkdir()
        {"arrays": make_arrays, "folder": make_folder}[self.kind](self.source, self.samples)

    def run(self):
        command = ["pack", self.source, self.out, "--format", "lmdb", "--shard-samples", SHARD, "--memory", self.memory]
        begin = time.monotonic()
        with subprocess.Popen(
            [built("packhorse"), *map(str, command), "--no-space-check", "--json"], stdout=subprocess.PIPE, text=True
        ) as process:
            report = json.loads(process.stdout.read())
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        if process.returncode != 0 or report["packed"] != self.samples:
            sys.exit(f"packing {self.source} ended with {process.returncode}")
        note = next((note for note in report["notes"] if "--memory" in note), "")
        written = int(note.split(": ")[1].split()[0]) if note else 0
        proved = [built("packhorse"), "inspect", str(self.out), "--verify", "full", "--quiet"]
        subprocess.run(proved, check=True)
        self.runs.append({
            "peak": usage.ru_maxrss * 1024, "seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime,
            "written": written * 2**20, "bytes_out": report["bytes_out"], "id": report["splits"][0]["id"],
        })  # fmt: skip
        print(f"scale: {self.kind} {self.samples:,} {self.memory}: {json.dumps(self.runs[-1])}", file=sys.stderr)
        shutil.rmtree(self.out)

    def row(self):
        def middle(name):
            return statistics.median(run[name] for run in self.runs)

        def a_sample(name, text, scale=1):
            return text.format(scale * middle(name) / self.samples)

        return [
            self.kind, f"{self.samples:,}", self.memory, str(len(self.runs)), f"{max(r['peak'] for r in self.runs) / 2**20:,.0f}",
            f"{middle('seconds'):,.1f}", a_sample("seconds", "{:.2f}", 1e6), a_sample("cpu", "{:.2f}", 1e6),
            a_sample("written", "{:.0f}"), a_sample("bytes_out", "{:.0f}"),
        ]  # fmt: skip


HEAD = ["source", "samples", "`--memory`", "runs", "peak memory, MiB", "seconds", "us a sample", "CPU us a sample",
        "list in the file, bytes a sample", "dataset, bytes a sample"]  # fmt: skip


def main():
    arguments = parser("scale/packing.py", __doc__)
    arguments.add_argument("--sources", type=source, nargs="+", default=SOURCES, metavar="SOURCE:SAMPLES:MEMORY")
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    require(built("packhorse"))
    if options.write and (options.rounds < 3 or options.sources != SOURCES):
        sys.exit("scale: measured in fewer than 3 rounds, or in part")
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        made = [Packing(Path(work), *one) for one in options.sources]
        often = [one for one in made if one.samples <= OFTEN]
        for one in often:
            one.make()
        for _ in range(options.rounds):
            for one in often:
                one.run()
        for one in often:
            shutil.rmtree(one.source, ignore_errors=True)
        for one in made:
            if one not in often:
                one.make()
                one.run()
                shutil.rmtree(one.source)
    ids = {}
    for one in made:
        ids.setdefault((one.kind, one.samples), set()).update(run["id"] for run in one.runs)
    if any(len(found) != 1 for found in ids.values()):
        sys.exit(f"scale: the same source became different datasets: {ids}")
    cpu = machine.first_match(r"model name\s*: (.*)", "/proc/cpuinfo")
    about = f"{cpu}, {os.cpu_count()} CPUs. Medians, and the highest of the peaks; the page cache holds what fits."
    show(options, "scale packing", f"{about}\n\n{table(HEAD, [one.row() for one in made])}")


if __name__ == "__main__":
    main()
