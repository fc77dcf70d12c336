"""Measures packhorse's JPEG decoder beside libjpeg-turbo, on photos as they are, as `--image roi` stores them, and
shrunk to a short side of 256 by `--image resize`; crops that are scaled as they are decoded beside those that are
scaled afterwards; and the transcode of `--image roi` by our decoder beside that by libjpeg-turbo's.

    cmake --build --preset release --target jpeg_bench
    python3 bench/jpeg build/test-data/imagenet/imagenet200
    python3 bench/jpeg build/test-data/imagenet/imagenet200 --write docs/jpeg.md --json jpeg.json

and what restart markers and shorter Huffman codes cost in bytes and gain in time:

    cmake --build --preset release --target jpeg_tradeoff
    python3 bench/jpeg build/test-data/imagenet/imagenet200 --tradeoff --write docs/jpeg.md

and the decoders on pictures of some hundred bytes, where preparing takes as long as decoding:

    python3 bench/jpeg build/test-data/cifar10/train --tiny --limit 3000 --write docs/jpeg.md

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

ROOT = Path(__file__).resolve().parents[2]
WHOLE_ROW = 8192
KINDS = ["original", "roi", "short side 256"]
PEERS = {"whole": "libjpeg-turbo", "crop": "libjpeg-turbo crop/skip"}


def measure(program, *arguments):
    command = [find(program), *arguments]
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


def transcoders(run):
    theirs, ours = (run["rates"][f"transcode: {way}"] for way in ("through libjpeg-turbo", "packhorse"))
    head = ["transcode to `roi`", "coefficients by libjpeg-turbo", "by packhorse", "ratio"]
    return lines_of(head, [["original", spread(theirs), spread(ours), ratio(ours, theirs)]])


def heading(run, pictures="photos"):
    return f"{run['photos']} {pictures}, {run['threads']} thread{'s' if run['threads'] > 1 else ''}; {pictures} a second."


def tables(run):
    return "\n\n".join([heading(run), decoders(run), scalers(run), transcoders(run)])


def tiny(run):
    return "\n\n".join([heading(run, "pictures"), decoders(run), transcoders(run)]).replace("short side 256", "`resize`")


def tradeoff(run):
    usual = next(v for v in run["variants"] if (v["restart_mcus"], v["max_code_bits"]) == (4, 16))
    rows = []
    for v in run["variants"]:
        interval = "a whole row" if v["restart_mcus"] == WHOLE_ROW else str(v["restart_mcus"])
        more = [100 * (v["bytes"] / than - 1) for than in (run["original_bytes"], usual["bytes"])]
        rates = [f"{statistics.median(v[work]):.0f} ({ratio(v[work], usual[work])})"
                 for work in ("whole", "crop", "scaled")]
        rows.append([interval, str(v["max_code_bits"]), *(f"{p:+.1f} %" for p in more), *rates])
    head = ["`--restart-mcus`", "longest code", "bytes, to the originals", "bytes, to the default",
            "whole", "crop", "crop, scaled to 224 x 224"]
    return f"{run['photos']} photos, 1 thread; photos a second of CPU time (to the default).\n\n{lines_of(head, rows)}"


def put(path, name, text):
    begin, end = f"<!-- jpeg {name}: begin -->", f"<!-- jpeg {name}: end -->"
    old = path.read_text()
    if begin not in old:
        sys.exit(f"jpeg: {path} has no line {begin}")
    between = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    path.write_text(between.sub(lambda _: f"{begin}\n{text}\n{end}", old))


def find(program):
    bin_dirs = [os.environ.get("PACKHORSE_BIN"), *(ROOT / "build" / p / "bin" for p in ("release", "no-trainer"))]
    for folder in filter(None, bin_dirs):
        if (Path(folder) / program).exists():
            return Path(folder) / program
    sys.exit(f"jpeg: no {program}; build it: cmake --build --preset release --target {program}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of JPEGs")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--tradeoff", action="store_true", help="restart markers and shorter codes instead")
    what.add_argument("--tiny", action="store_true", help="decoding alone, of pictures too small to be scaled")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit", type=int, default=200, help="photos to take")
    parser.add_argument("--write", type=Path, help="Markdown file to put the tables into")
    parser.add_argument("--json", type=Path, help="file for all rates")
    args = parser.parse_args()
    usual = [args.folder, "--repeats", args.repeats, "--limit", args.limit]
    if args.tradeoff:
        runs = [measure("jpeg_tradeoff", *usual)]
        text = tradeoff(*runs)
    else:
        runs = [measure("jpeg_bench", *usual, "--threads", n) for n in args.threads]
        text = "\n\n".join(map(tiny if args.tiny else tables, runs))
    if args.json:
        args.json.write_text(json.dumps({"runs": runs}, indent=1) + "\n")
    if args.write:
        put(args.write, "tradeoff" if args.tradeoff else "tiny" if args.tiny else "bench", text)
    print(text)


if __name__ == "__main__":
    main()
