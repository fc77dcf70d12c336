"""Measures packhorse's JPEG decoder beside libjpeg-turbo, on photos as they are, as `--image roi` stores them, and
shrunk to a short side of 256 by `--image resize`; and the transcode of `--image roi` by our decoder beside that by
libjpeg-turbo's.

    cmake --build --preset release --target jpeg_bench
    python3 bench/jpeg build/test-data/imagenet/imagenet200
    python3 bench/jpeg build/test-data/imagenet/imagenet200 --write docs/measured/jpeg.md --json jpeg.json

and the decoders on pictures of some hundred bytes, where preparing takes as long as decoding:

    python3 bench/jpeg build/test-data/cifar10/train --tiny --limit 3000 --write docs/measured/jpeg.md

and on the same photos as progressive files, which jpegtran makes of them:

    python3 bench/jpeg build/test-data/imagenet/imagenet200 --progressive --write docs/measured/jpeg.md

The decoders take turns, so that what else the machine does hits all of them alike; a ratio is the median of those of each
turn.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common.environment import built, packhorse_version, processor, require  # noqa: E402
from common.page import parser, show, spread_text, table  # noqa: E402

KINDS = ["original", "roi", "short side 256"]
PEERS = {"whole": "libjpeg-turbo", "crop": "libjpeg-turbo crop/skip"}


def measure(*arguments):
    command = [str(word) for word in [require(built("jpeg_bench")), *arguments]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"jpeg: jpeg_bench failed:\n{done.stderr}")
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


def decoders(run, kinds):
    rates, rows = run["rates"], []
    for kind in kinds:
        whole = rates[f"{kind}, whole: libjpeg-turbo"]
        for work, peer in PEERS.items():
            ours, theirs = rates[f"{kind}, {work}: packhorse"], rates[f"{kind}, {work}: {peer}"]
            name = f"{kind}, {work}" + (" (crop/skip)" if "crop" in peer else "")
            rows.append([name, spread(theirs), spread(ours), ratio(ours, theirs), ratio(ours, whole)])
    return table(["work", "libjpeg-turbo", "packhorse", "ratio", "to libjpeg-turbo's whole picture"], rows)


def transcoders(run):
    theirs, ours = (run["rates"][f"transcode: {way}"] for way in ("through libjpeg-turbo", "packhorse"))
    head = ["transcode to `roi`", "coefficients by libjpeg-turbo", "by packhorse", "ratio"]
    return table(head, [["original", spread(theirs), spread(ours), ratio(ours, theirs)]])


def tables(run, section):
    threads = f"{run['threads']} thread{'s' if run['threads'] > 1 else ''}"
    pictures = "pictures" if section == "tiny" else "photos"
    heading = f"{run['photos']} {pictures}, {threads}; {pictures} a second."
    text = "\n\n".join([heading, decoders(run, KINDS[:1] if section == "progressive" else KINDS), transcoders(run)])
    words = {"tiny": ("short side 256", "`resize`"), "progressive": ("original", "progressive")}
    return text.replace(*words[section]) if section in words else text


def main():
    arguments = parser("jpeg", __doc__)
    arguments.add_argument("folder", type=Path, help="of JPEGs")
    what = arguments.add_mutually_exclusive_group()
    sections = {"tiny": "pictures too small to be scaled", "progressive": "progressive copies of the photos"}
    for name, about in sections.items():
        what.add_argument(f"--{name}", dest="section", action="store_const", const=name, help=about)
    arguments.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--limit", type=int, default=200, help="photos to take")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = options.folder
        if options.section == "progressive":
            folder = progressive_copies(folder, options.limit, Path(place))
        usual = [folder, "--repeats", options.repeats, "--limit", options.limit]
        runs = [measure(*usual, "--threads", n) for n in options.threads]
    text = "\n\n".join(tables(run, options.section) for run in runs)
    about = {"cpu": processor(), "packhorse": packhorse_version(), "runs": runs}
    show(options, f"jpeg {options.section or 'bench'}", text, about)


if __name__ == "__main__":
    main()
