"""Measures packhorse's JPEG decoder beside libjpeg-turbo, on photos as they are, as `--image roi` stores them, and
shrunk to a short side of 256 by `--image resize`; and crops that are scaled as they are decoded beside those that are
scaled afterwards.

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
KINDS = ["original", "roi", "short side 256"]
PEERS = {"whole": "libjpeg-turbo", "crop": "libjpeg-turbo crop/skip"}


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


def lines_of(head, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def decoders(run):
    rates = run["rates"]
    rows = []
    for kind in KINDS:
        whole = rates[f"{kind}, whole: libjpeg-turbo"]
        for work, peer in PEERS.items():
            ours, theirs = rates[f"{kind}, {work}: packhorse"], rates[f"{kind}, {work}: {peer}"]
            name = f"{kind}, {work}" + (" (crop/skip)" if "crop" in peer else "")
            rows.append([name, spread(theirs), spread(ours), ratio(ours, theirs), ratio(ours, whole)])
    return lines_of(["work", "libjpeg-turbo", "packhorse", "ratio", "to libjpeg-turbo's whole picture"], rows)


def scalers(run):
    rates = run["rates"]
    rows = []
    for kind in KINDS:
        first, rows_ = (rates[f"{kind}, scaled: {way}"] for way in ("the crop first", "row by row"))
        rows.append([kind, spread(first), spread(rows_), ratio(rows_, first)])
    memory = [f"{size / 1024:.0f} KB" for size in run["memory"].values()]
    rows.append(["memory kept", *memory, ""])
    return lines_of(["crop, scaled to 224 x 224", "the crop first", "row by row", "ratio"], rows)


def tables(run):
    threads = f"{run['threads']} thread{'s' if run['threads'] > 1 else ''}"
    return "\n\n".join([f"{run['photos']} photos, {threads}; photos a second.", decoders(run), scalers(run)])


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
    text = "\n\n".join(map(tables, runs))
    if args.json:
        args.json.write_text(json.dumps({"runs": runs}, indent=1) + "\n")
    if args.write:
        put(args.write, text)
    print(text)


if __name__ == "__main__":
    main()
