"""Measures packhorse's JPEG decoder beside libjpeg-turbo, on photos as they are, as `--image roi` stores them, and
shrunk to a short side of 256 by `--image resize`; crops that are scaled as they are decoded beside those that are
scaled afterwards; and the transcode of `--image roi` by our decoder beside that by libjpeg-turbo's.

    cmake --build --preset release --target jpeg_bench
    python3 bench/jpeg build/test-data/imagenet/imagenet200
    python3 bench/jpeg build/test-data/imagenet/imagenet200 --write docs/measured/jpeg.md --json jpeg.json

and what restart markers and shorter Huffman codes cost in bytes and gain in time:

    cmake --build --preset release --target jpeg_tradeoff
    python3 bench/jpeg build/test-data/imagenet/imagenet200 --tradeoff --write docs/measured/jpeg.md

and the decoders on pictures of some hundred bytes, where preparing takes as long as decoding:

    python3 bench/jpeg build/test-data/cifar10/train --tiny --limit 3000 --write docs/measured/jpeg.md

and on the same photos as progressive files, which jpegtran makes of them:

    python3 bench/jpeg build/test-data/imagenet/imagenet200 --progressive --write docs/measured/jpeg.md

Prints Markdown. The decoders take turns, so that what else the machine does hits all of them alike; a ratio is the
median of those of each turn.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common.environment import built, require  # noqa: E402
from common.markdown import parser, show, spread_text, table  # noqa: E402

WHOLE_ROW = 8192
KINDS = ["original", "roi", "short side 256"]
PEERS = {"whole": "libjpeg-turbo", "crop": "libjpeg-turbo crop/skip"}


def measure(program, *arguments):
    done = subprocess.run([str(word) for word in [require(built(program)), *arguments]], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"jpeg: {program} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def spread(rates):
    return spread_text(rates, "{:.0f}".format)


def ratio(ours, theirs):
    return f"{statistics.median(a / b for a, b in zip(ours, theirs)):.2f}"


def progressive_copies(folder, limit, target):
    """The same coefficients in several scans, by libjpeg-turbo's usual script."""
    if not shutil.which("jpegtran"):
        sys.exit("jpeg: jpegtran is not installed: apt-get install libjpeg-turbo-progs")
    photos = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))[:limit]
    for number, photo in enumerate(photos):
        made = subprocess.run(["jpegtran", "-progressive", "-copy", "all", "-outfile", target / f"{number}.jpg", photo])
        if made.returncode != 0:
            sys.exit(f"jpeg: jpegtran cannot make {photo} progressive")
    return target


def decoders(run, kinds=KINDS):
    rates = run["rates"]
    rows = []
    for kind in kinds:
        whole = rates[f"{kind}, whole: libjpeg-turbo"]
        for work, peer in PEERS.items():
            ours, theirs = rates[f"{kind}, {work}: packhorse"], rates[f"{kind}, {work}: {peer}"]
            name = f"{kind}, {work}" + (" (crop/skip)" if "crop" in peer else "")
            rows.append([name, spread(theirs), spread(ours), ratio(ours, theirs), ratio(ours, whole)])
    return table(["work", "libjpeg-turbo", "packhorse", "ratio", "to libjpeg-turbo's whole picture"], rows)


def scalers(run):
    rates = run["rates"]
    rows = []
    for kind in KINDS:
        first, rows_ = (rates[f"{kind}, scaled: {way}"] for way in ("the crop first", "row by row"))
        rows.append([kind, spread(first), spread(rows_), ratio(rows_, first)])
    memory = [f"{size / 1024:.0f} KB" for size in run["memory"].values()]
    rows.append(["memory kept", *memory, ""])
    return table(["crop, scaled to 224 x 224", "the crop first", "row by row", "ratio"], rows)


def transcoders(run):
    theirs, ours = (run["rates"][f"transcode: {way}"] for way in ("through libjpeg-turbo", "packhorse"))
    head = ["transcode to `roi`", "coefficients by libjpeg-turbo", "by packhorse", "ratio"]
    return table(head, [["original", spread(theirs), spread(ours), ratio(ours, theirs)]])


def heading(run, pictures="photos"):
    threads = f"{run['threads']} thread{'s' if run['threads'] > 1 else ''}"
    return f"{run['photos']} {pictures}, {threads}; {pictures} a second."


def tables(run):
    return "\n\n".join([heading(run), decoders(run), scalers(run), transcoders(run)])


def tiny(run):
    text = "\n\n".join([heading(run, "pictures"), decoders(run), transcoders(run)])
    return text.replace("short side 256", "`resize`")


def progressive(run):
    text = "\n\n".join([heading(run), decoders(run, ["original"]), transcoders(run)])
    return text.replace("original", "progressive")


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
    return f"{run['photos']} photos, 1 thread; photos a second of CPU time (to the default).\n\n{table(head, rows)}"


def main():
    arguments = parser("jpeg", __doc__)
    arguments.add_argument("folder", type=Path, help="of JPEGs")
    what = arguments.add_mutually_exclusive_group()
    what.add_argument("--tradeoff", action="store_true", help="restart markers and shorter codes instead")
    what.add_argument("--tiny", action="store_true", help="decoding alone, of pictures too small to be scaled")
    what.add_argument("--progressive", action="store_true", help="decoding alone, of progressive copies of the photos")
    arguments.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--limit", type=int, default=200, help="photos to take")
    arguments.add_argument("--json", type=Path, help="file for all rates")
    args = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = progressive_copies(args.folder, args.limit, Path(place)) if args.progressive else args.folder
        usual = [folder, "--repeats", args.repeats, "--limit", args.limit]
        if args.tradeoff:
            runs = [measure("jpeg_tradeoff", *usual)]
            text = tradeoff(*runs)
        else:
            runs = [measure("jpeg_bench", *usual, "--threads", n) for n in args.threads]
            text = "\n\n".join(map(progressive if args.progressive else tiny if args.tiny else tables, runs))
    if args.json:
        args.json.write_text(json.dumps({"runs": runs}, indent=1) + "\n")
    section = next((name for name in ("tradeoff", "tiny", "progressive") if getattr(args, name)), "bench")
    show(args, f"jpeg {section}", text)


if __name__ == "__main__":
    main()
