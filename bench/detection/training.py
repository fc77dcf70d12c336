"""Training a detector beside torchvision's network in a plain loop, and ultralytics' trainer: images/s, and waiting.

    .venv/bin/python bench/detection/training.py                                   # prints Markdown; some minutes
    .venv/bin/python bench/detection/training.py --write docs/measured/detection.md
    .venv/bin/python bench/detection/training.py --share 0.2 --rounds 1            # a quick try

BCCD's photos in batches of 8, fitted into 320 x 320 pixels, on the CPU. Each run is a process that trains two epochs, of
which the second counts. FCOS is the same network with the same losses on both sides; ultralytics' smallest network is
another one than YOLOX-nano, so that figure is for orientation only. Needs the preset release, and bench/setup; peers that
are not there are named.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import machine  # noqa: E402
from common.environment import ARCHIVES, PEERS_PYTHON, ROOT, built, require, version_of  # noqa: E402
from common.markdown import parser, show, spread_text, table  # noqa: E402
from data import bccd  # noqa: E402

PEER = Path(__file__).with_name("train_peer.py")
LOAD = Path(__file__).with_name("load.py")
SIDE, BATCH, EPOCHS = 320, 8, 2
FCOS, MOSAIC = "FCOS, ResNet-50, flip", "smallest YOLO, Mosaic"
IMAGES = {FCOS: 16, MOSAIC: 128}
SETTINGS = {
    FCOS: ["--arch", "fcos-resnet50", "--augment", "flip"],
    MOSAIC: ["--arch", "yolox-nano", "--mosaic", 1, "--close-mosaic", 0, "--multi-scale", 0, "--ema-decay", 0.9998],
}


def train(options, data, work, settings):
    """packhorse-train: the last line of its log."""
    about = ["--image-size", SIDE, "--batch-size", BATCH, "--epochs", EPOCHS, "--device", "cpu", "--workers", options.workers]
    with tempfile.TemporaryDirectory(dir=work) as out:
        command = [built("packhorse-train"), "fit", "--data", data, "--out", f"{out}/run", "--task", "detect", *about, *settings]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"training: packhorse-train failed:\n{done.stderr}")
        last = json.loads(Path(f"{out}/run/log.jsonl").read_text().splitlines()[-1])
    return {"rate": last["images_per_s"], "wait": last["data_wait_share"]}


def peer(options, name, folder, work):
    command = [PEERS_PYTHON, PEER, name, folder, SIDE, BATCH, options.workers, EPOCHS]
    environment = os.environ | {"YOLO_CONFIG_DIR": str(work), "YOLO_OFFLINE": "true", "OMP_WAIT_POLICY": "passive"}  # as ours
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, cwd=work, env=environment)
    if done.returncode != 0:
        sys.exit(f"training: {name} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def runs_of(options, work):
    """What is run by its name, or why it is not."""
    runs = {}
    for what, settings in SETTINGS.items():
        photos, packed = inputs(work / SETTINGS[what][1], max(BATCH, int(IMAGES[what] * options.share)))
        for name, data in (("packhorse, shards", packed), ("packhorse, images and COCO's file", photos.folder)):
            runs[what, name] = lambda data=data, settings=settings: train(options, data, work, settings)
        theirs, load = ("torchvision", "torchvision v2") if what == FCOS else ("ultralytics", "ultralytics")
        why = version_of(LOAD, load)[1]
        title = "torchvision, DataLoader" if what == FCOS else "ultralytics, YOLOv8n (3.2 M parameters instead of 0.9 M)"
        runs[what, title] = why or (lambda theirs=theirs, photos=photos: peer(options, theirs, photos.folder, work))
    return runs


def coco_layout(photos):
    """The names by which COCO's layout is known."""
    annotations = photos.folder / "annotations"
    annotations.mkdir()
    (annotations / "instances.json").write_bytes(photos.coco.read_bytes())


def first(photos, count):
    """Leaves the first photos alone."""
    told = json.loads(photos.coco.read_text())
    kept = {image["id"] for image in told["images"][:count]}
    for image in told["images"][count:]:
        (photos.images / image["file_name"]).unlink()
        (photos.folder / "labels" / image["file_name"]).with_suffix(".txt").unlink()
    told["images"] = told["images"][:count]
    told["annotations"] = [one for one in told["annotations"] if one["image_id"] in kept]
    photos.coco.write_text(json.dumps(told))


def inputs(folder, count):
    """Photos as a folder, and packed."""
    photos = bccd(ARCHIVES / "bccd.tar.zst", folder, 1)
    first(photos, count)
    command = [built("packhorse"), "pack", photos.images, folder / "packed", "--format", "wds", "--targets", f"coco:{photos.coco}"]
    subprocess.run(command, check=True, capture_output=True)
    coco_layout(photos)
    return photos, folder / "packed"


def measured(options, work):
    runs = runs_of(options, work)
    found = {key: [] for key, run in runs.items() if callable(run)}
    for _ in range(options.rounds):
        for key in found:
            found[key].append(runs[key]())
            print(f"training: {key}: {found[key][-1]['rate']:.1f} images/s", file=sys.stderr)
    rows = []
    for (what, name), run in runs.items():
        if not callable(run):
            rows.append([what, name, f"not measured: {run}", "", ""])
            continue
        all_of = found[what, name]
        ours = found[what, "packhorse, shards"]
        ratio = spread_text([mine["rate"] / one["rate"] for mine, one in zip(ours, all_of)], lambda x: f"{x:.2f}")
        wait = spread_text([100 * one["wait"] for one in all_of], lambda x: f"{x:.1f} %")
        rate = spread_text([one["rate"] for one in all_of], lambda x: f"{x:.1f}")
        rows.append([what, name, rate, wait, "" if name == "packhorse, shards" else ratio])
    cpu = machine.first_match(r"model name\s*: (.*)", "/proc/cpuinfo")
    conditions = (
        f"{options.rounds} rounds, {IMAGES[FCOS]} and {IMAGES[MOSAIC]} photos, batches of {BATCH}, {SIDE} x {SIDE} pixels, {options.workers} reader "
        f"threads or processes, on {len(os.sched_getaffinity(0))} CPUs. {cpu}. "
        f"{machine.packhorse_versions(built('packhorse')).split(' (')[0]}; "
        + "; ".join(version_of(LOAD, name)[0] or f"{name} missing" for name in ("torchvision v2", "ultralytics"))
    )
    head = ["network", "trainer", "images/s", "waiting for data", "packhorse from shards, times"]
    return f"{conditions}.\n\n{table(head, rows)}"


def main():
    arguments = parser("detection/training.py", __doc__)
    arguments.add_argument("--share", type=float, default=1, help="of the photos")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--workers", type=int, default=2)
    options = arguments.parse_args()
    require(built("packhorse-train"))
    if options.write and (options.rounds < 3 or options.share < 1):
        sys.exit("training: measured with fewer than 3 rounds, or not all photos")
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        text = measured(options, Path(work))
    show(options, "detector training", text)


if __name__ == "__main__":
    main()
