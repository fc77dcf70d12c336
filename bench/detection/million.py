"""What a million pictures with eight million boxes take: to pack, on disk, to open, and of memory.

    .venv/bin/python bench/detection/million.py --write docs/measured/detection.md
    .venv/bin/python bench/detection/million.py --images 10000                      # a quick try

The pictures are small and all the same, as only what comes with them is measured. pycocotools opens the file of COCO
that they are packed from. Each opening is a process of its own. Needs the preset release, bench/setup for pycocotools,
and 6 GB in build/.
"""

import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import machine  # noqa: E402
from common.environment import PEERS_PYTHON, ROOT, built, require  # noqa: E402
from common.markdown import parser, show, spread_text, table  # noqa: E402
from PIL import Image  # noqa: E402

WIDTH, HEIGHT, CLASSES = 64, 48, 80
WHOLE = 1_000_000  # images, for the page

# What opens in a process of its own: it prints the seconds and the peak of its memory beyond that of its libraries.
PEAK = """
import sys, time
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
def opened(libraries, begin):
    print(time.perf_counter() - begin, peak() - libraries)
"""
OPEN_OURS = PEAK + """
import packhorse
libraries, begin = peak(), time.perf_counter()
dataset = packhorse.Dataset(sys.argv[1])
assert len(dataset.objects(len(dataset) // 2).boxes) >= 0
opened(libraries, begin)
"""
OPEN_COCO = PEAK + """
import contextlib, io
from pycocotools.coco import COCO
libraries, begin = peak(), time.perf_counter()
with contextlib.redirect_stdout(io.StringIO()):
    coco = COCO(sys.argv[1])
assert coco.getAnnIds(imgIds=[1]) is not None
opened(libraries, begin)
"""
FIELDS = """
import sys, packhorse
dataset = packhorse.Dataset(sys.argv[1])
for name in ("objects", "json"):
    print(sum(len(dataset.read_field(i, name)) for i in range(len(dataset))))
"""


def make_pictures(path, images):
    picture = io.BytesIO()
    Image.new("RGB", (WIDTH, HEIGHT), (90, 120, 30)).save(picture, "JPEG")
    with tarfile.open(path, "w") as tar:
        for i in range(images):
            entry = tarfile.TarInfo(f"{i:07}.jpg")
            entry.size = len(picture.getvalue())
            tar.addfile(entry, io.BytesIO(picture.getvalue()))


def make_boxes(path, images, boxes):
    """`boxes` an image, on average."""
    rng, number = random.Random(26), 0
    with path.open("w") as file:
        told = (f'{{"id":{i},"file_name":"{i:07}.jpg","width":{WIDTH},"height":{HEIGHT}}}' for i in range(images))
        file.write('{"images":[' + ",\n".join(told) + '],"annotations":[')
        for i in range(images):
            for _ in range(rng.randint(0, 2 * boxes)):
                x, y = rng.randint(0, 40), rng.randint(0, 30)
                w, h = rng.randint(200, 2300) / 100, rng.randint(200, 1700) / 100
                comma = ",\n" if number else ""
                number += 1
                file.write(
                    f'{comma}{{"id":{number},"image_id":{i},"category_id":{rng.randint(1, CLASSES)},'
                    f'"bbox":[{x},{y},{w},{h}],"area":{w * h:.2f},"iscrowd":0}}'
                )
        categories = [{"id": i + 1, "name": f"class{i}"} for i in range(CLASSES)]
        file.write(f'],"categories":{json.dumps(categories)}}}')
    return number


def run(command):
    package = os.environ | {"PYTHONPATH": str(built("packhorse").parents[1] / "python")}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=package)
    if done.returncode != 0:
        sys.exit(f"million: {command[0]} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def pack(source, out, *options):
    """Seconds, and the peak of memory in bytes."""
    command = [str(word) for word in (built("packhorse"), "pack", source, out, "--source-kind", "archive", "--quiet", *options)]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"million: packing failed:\n{said[-3000:]}")
    return time.perf_counter() - begin, usage.ru_maxrss * 1024


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def openings(python, script, path, rounds):
    found = [run([python, "-c", script, path]).split() for _ in range(rounds)]
    return [[float(row[column]) for row in found] for column in (0, 1)]


def mib(size):
    return f"{size / 2**20:,.0f}"


def opening_row(name, figures):
    seconds, memory = figures
    return [name, spread_text(seconds, lambda x: f"{x:.3f}"), spread_text(memory, mib)]


def measured(options, work):
    pictures, coco = work / "pictures.tar", work / "instances.json"
    make_pictures(pictures, options.images)
    boxes = make_boxes(coco, options.images, options.boxes)
    print(f"million: {options.images:,} images, {boxes:,} boxes made", file=sys.stderr)
    packing, opening, sizes = [], [], []
    for form in ("wds", "hdf5"):
        bare, out = work / f"{form}-bare", work / form
        pack(pictures, bare, "--format", form, "--unlabelled")
        seconds, memory = pack(pictures, out, "--format", form, "--targets", f"coco:{coco}")
        packing.append([form, f"{seconds:.1f}", mib(memory), f"{(size_of(out) - size_of(bare)) / boxes:.1f}"])
        print(f"million: packed as {form} in {seconds:.1f} s", file=sys.stderr)
        opening.append(opening_row(f"packhorse.Dataset, {form}", openings(sys.executable, OPEN_OURS, out, options.rounds)))
        sizes = sizes or run([sys.executable, "-c", FIELDS, out]).split()
    theirs = openings(PEERS_PYTHON, OPEN_COCO, coco, options.rounds)
    opening.append(opening_row("pycocotools.COCO, the source's file", theirs))
    cpu = machine.first_match(r"model name\s*: (.*)", "/proc/cpuinfo")
    each = " and ".join(f"{int(size) / boxes:.1f}" for size in sizes)
    return "\n\n".join(
        [
            f"{options.images:,} images of {WIDTH} x {HEIGHT} pixels, {boxes:,} boxes; COCO's file has {mib(coco.stat().st_size)} MiB, "
            f"{coco.stat().st_size / boxes:.0f} bytes a box. {options.rounds} openings each. {cpu}. "
            f"packhorse {machine.packhorse_versions(built('packhorse')).split(' (')[0]}.",
            f"The fields `objects` and `json` of the samples take {each} bytes a box.",
            table(["format", "packing, s", "its memory, MiB", "bytes a box in the shards and indexes"], packing),
            table(["opens, and finds the boxes of an image", "s", "memory, MiB"], opening),
        ]
    )


def main():
    arguments = parser("detection/million.py", __doc__)
    arguments.add_argument("--images", type=int, default=WHOLE)
    arguments.add_argument("--boxes", type=int, default=8, help="an image, on average")
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    require(built("packhorse"))
    if options.write and options.images < WHOLE:
        sys.exit("million: measured with fewer images")
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        text = measured(options, Path(work))
    show(options, "detection million", text)


if __name__ == "__main__":
    main()
