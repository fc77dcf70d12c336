"""Measures packhorse's JPEG decoder beside libjpeg-turbo, on photos as they are and as `--image roi` stores them.

    cmake --build --preset release --target jpeg_bench
    python3 tests/bench/jpeg build/test-data/imagenet/imagenet200
    python3 tests/bench/jpeg build/test-data/imagenet/imagenet200 --write docs/jpeg.md --json jpeg.json

Prints Markdown. The decoders take turns, so that what else the machine does hits all of them alike; a ratio is the
median of those of each turn.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BEGIN, END = "<!-- jpeg bench: begin -->", "<!-- jpeg bench: end -->"
WORK = {
    "original, whole": "libjpeg-turbo",
    "original, crop": "libjpeg-turbo crop/skip",
    "roi, whole": "libjpeg-turbo",
    "roi, crop": "libjpeg-turbo crop/skip",
}


def measure(program, folder, threads, repeats, limit):
    command = [program, folder, "--threads", threads, "--repeats", repeats, "--limit", limit]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"jpeg: {program} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def spread(rates):
    return f"{statistics.median(rates):.0f} ({min(rates):.0f} to {max(rates):.0f})"


def ratio(ours, theirs):
    return f"{statistics.median(a / b for a, b in zip(ours, theirs)):.2f}"


def table(run):
    rates = run["rates"]
    lines = [
        f"{run['photos']} photos, {run['threads']} thread{'s' if run['threads'] > 1 else ''}; photos a second.",
        "",
        "| work | libjpeg-turbo | packhorse | ratio | to libjpeg-turbo's whole picture |",
        "| --- | --- | --- | --- | --- |",
    ]
    for work, peer in WORK.items():
        ours, theirs = rates[f"{work}: packhorse"], rates[f"{work}: {peer}"]
        whole = rates[f"{work.split(',')[0]}, whole: libjpeg-turbo"]
        name = work + (" (crop/skip)" if "crop" in peer else "")
        lines.append(f"| {name} | {spread(theirs)} | {spread(ours)} | {ratio(ours, theirs)} | {ratio(ours, whole)} |")
    return "\n".join(lines)


def put(path, text):
    old = path.read_text()
    if BEGIN not in old:
        sys.exit(f"jpeg: {path} has no line {BEGIN}")
    between = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    path.write_text(between.sub(lambda _: f"{BEGIN}\n{text}\n{END}", old))


def find_program():
    bin_dirs = [os.environ.get("PACKHORSE_BIN"), *(ROOT / "build" / p / "bin" for p in ("release", "core"))]
    for folder in filter(None, bin_dirs):
        if (Path(folder) / "jpeg_bench").exists():
            return Path(folder) / "jpeg_bench"
    sys.exit("jpeg: no jpeg_bench; build it: cmake --build --preset release --target jpeg_bench")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of JPEGs")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit", type=int, default=200, help="photos to take")
    parser.add_argument("--write", type=Path, help="Markdown file to put the tables into")
    parser.add_argument("--json", type=Path, help="file for all rates")
    args = parser.parse_args()
    runs = [measure(find_program(), args.folder, n, args.repeats, args.limit) for n in args.threads]
    text = "\n\n".join(map(table, runs))
    if args.json:
        args.json.write_text(json.dumps({"runs": runs}, indent=1) + "\n")
    if args.write:
        put(args.write, text)
    print(text)


if __name__ == "__main__":
    main()
