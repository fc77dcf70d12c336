"""The study of docs/measured/study.md: what packing gains, and loses, for each format, mode and storage.

    python3 bench/study run                                   all parts, into build/study
    python3 bench/study run photos delay --out build/again    some of them, elsewhere
    python3 bench/study report --again build/again --write docs/measured/study.md
                                                                    the page, and build/study/report.html
    python3 bench/study agree build/study build/again         whether two runs agree within their spread

Needs imagenet200.tar and cifar10-jpeg.tar.zst in PACKHORSE_DATA (default ../shared/data), 20 GB of disk below --data,
and an idle machine.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import agree  # noqa: E402
import page  # noqa: E402
from common import data  # noqa: E402
from common.environment import ARCHIVES, ROOT, built, require  # noqa: E402
from common.markdown import show  # noqa: E402
from parts import PARTS, find, scratch_of  # noqa: E402

TRAIN = built("packhorse-train")


def say(text):
    print(f"study: {text}", file=sys.stderr, flush=True)


def stop(text):
    raise SystemExit(f"study: {text}")


def output_of(arguments):
    done = subprocess.run([str(part) for part in [TRAIN, *arguments]], stdout=subprocess.PIPE, check=False, cwd=ROOT)
    if done.returncode != 0:
        stop(f"packhorse-train {' '.join(map(str, arguments))} failed, see above")
    return done.stdout


def folder_of(part, options):
    """Relative to the project, as the commands in the page show it."""
    places = data.Places(data=options.data, memory=Path("/dev/shm"), archives=ARCHIVES, photos=None,
                         packhorse=TRAIN.with_name("packhorse"))  # fmt: skip
    made = data.photos(places, options.photos) if part.folder == "photos" else data.cifar(places, 0)
    return Path(os.path.relpath(made.path, ROOT))


def run(options):
    require(TRAIN)
    options.out.mkdir(parents=True, exist_ok=True)
    with data.reserved(options.data):
        for part in [find(name) for name in options.parts] or PARTS:
            say(f"{part.name}: {part.title}")
            measure(part, options)


def measure(part, options):
    folder = scratch = None
    if part.folder:
        folder = folder_of(part, options)
        scratch = scratch_of(Path(os.path.relpath(options.data, ROOT)), folder)
    arguments = part.arguments(folder, scratch, Path(os.path.relpath(options.out, ROOT)), options)
    result = options.out / f"{part.name}.json"
    partial = result.with_suffix(".partial")
    partial.write_bytes(output_of([*arguments, "--json"]))
    partial.replace(result)


def documents_in(folder):
    found = {part.name: folder / f"{part.name}.json" for part in PARTS}
    documents = {name: json.loads(path.read_text()) for name, path in found.items() if path.exists()}
    if not documents:
        stop(f"{folder} holds no results; `python3 bench/study run` makes them")
    return documents


def report(options):
    documents = documents_in(options.out)
    prediction = None
    if "delay" in documents:
        prediction = json.loads(output_of(["predict", options.out / "delay.json", "--json"]))
    again = documents_in(options.again) if options.again else {}
    if again:
        require_common_part(documents, again)
    text = page.page(documents, prediction, again)
    pictures = [options.out / f"{name}.json" for name in documents]
    subprocess.run([ROOT / "scripts/plot", *pictures, "--out", options.out / "report.html", "--images",
                    options.out / "pictures"], check=True)  # fmt: skip
    show(options, "study", text)


def require_common_part(one, two):
    if not one.keys() & two.keys():
        stop(f"the runs have no part in common: {', '.join(one)} and {', '.join(two)}; run one of the parts again")


def agreement(options):
    one, two = documents_in(options.one), documents_in(options.two)
    require_common_part(one, two)
    for kind in agree.agreements(one, two):
        print("\n".join([*kind.lines(), str(kind)]))


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    runs = commands.add_parser("run", help="measure")
    runs.add_argument("parts", nargs="*", metavar="PART", help=", ".join(part.name for part in PARTS))
    runs.add_argument("--out", type=Path, default=ROOT / "build/study")
    runs.add_argument("--data", type=Path, default=ROOT / "build/packhorse-bench", help="for folders and datasets")
    runs.add_argument("--photos", type=int, default=10000, help="how many the 200 are repeated to")
    runs.add_argument("--repeats", type=int, default=5)
    runs.add_argument("--seconds", type=float, default=1, help="of a pass (%(default)s)")
    runs.set_defaults(do=run)
    reports = commands.add_parser("report", help="write the page and draw the pictures")
    reports.add_argument("--out", type=Path, default=ROOT / "build/study")
    reports.add_argument("--again", type=Path, help="a second run, and whether it agrees")
    reports.add_argument("--write", type=Path)
    reports.set_defaults(do=report)
    agrees = commands.add_parser("agree", help="compare two runs")
    agrees.add_argument("one", type=Path)
    agrees.add_argument("two", type=Path)
    agrees.set_defaults(do=agreement)
    options = parser.parse_args(arguments)
    unknown = set(getattr(options, "parts", [])) - {part.name for part in PARTS}
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(p.name for p in PARTS)}")
    return options


if __name__ == "__main__":
    chosen = parse()
    try:
        chosen.do(chosen)
    except data.CannotMake as error:
        stop(str(error))
