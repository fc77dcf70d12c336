"""Pictures with their boxes made ready for a detector, beside other loaders: the same photos, the same run, in turns.

    .venv/bin/python bench/detection                                              # prints Markdown
    .venv/bin/python bench/detection --write docs/measured/detection.md           # about ten minutes
    .venv/bin/python bench/detection --copies 1 --rounds 1 --seconds 1            # a quick try

Photos are those of imagenet200.tar, with made boxes and polygons, and of bccd.tar.zst, with their own boxes, both in
PACKHORSE_DATA (default ../shared/data). Each loader is a process that makes batches for --seconds, then waits for the
others. Needs the preset release, and bench/setup; loaders that are not there are named.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import machine  # noqa: E402
from common.environment import ARCHIVES, PEERS_PYTHON, ROOT, built, require, version_of  # noqa: E402
from common.markdown import parser, show, spread_text, table  # noqa: E402
from data import bccd, imagenet  # noqa: E402

LOAD = Path(__file__).with_name("load.py")
OURS, TURNED = "packhorse", "packhorse, turned and sheared"
ROI = "packhorse, packed with --image roi"
PEERS = ("torchvision v2", "albumentations", "ultralytics", "DALI")
ABSENT = {("DALI", "mosaic"): "has no Mosaic"}
SIDE, BATCH = 640, 16
GOALS = {"letterbox": 4, "mosaic": 8}
TITLES = {"letterbox": "letterbox", "mosaic": "Mosaic, affine, HSV, flip"}


class Ours:
    """`packhorse bench`, a process each time."""

    def __init__(self, dataset, augment, jobs):
        about = ["--augment", augment, "--size", SIDE, "--targets", "--batch-size", BATCH, "--workers", jobs]
        self.command = [built("packhorse"), "bench", dataset, *about, "--repeats", 1, "--json", "--min-seconds"]

    def measure(self, seconds):
        done = subprocess.run([str(word) for word in [*self.command, seconds]], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"detection: packhorse bench failed:\n{done.stderr}")
        return json.loads(done.stdout)["runs"][0]

    def end(self):
        pass


class Peer:
    """Another loader, in a process that goes on between rounds."""

    def __init__(self, name, photos, workload, jobs, log):
        self.name, self.log = name, log
        command = [PEERS_PYTHON, LOAD, "read", name, photos.folder, workload, SIDE, BATCH, jobs]
        # What it keeps of its settings goes where the photos are.
        environment = os.environ | {"YOLO_CONFIG_DIR": str(log.parent), "YOLO_OFFLINE": "true", "NO_ALBUMENTATIONS_UPDATE": "1"}
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("w"),
            text=True,
            cwd=log.parent,
            env=environment,
        )
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"detection: {self.name} failed:\n{self.log.read_text()[-3000:]}")
        return line

    def measure(self, seconds):
        print(seconds, file=self.process.stdin, flush=True)
        return json.loads(self.answer())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Suite:
    """Loaders on one set of photos for one workload."""

    def __init__(self, photos, dataset, roi, workload):
        self.photos, self.dataset, self.roi, self.workload = photos, dataset, roi, workload
        self.runs, self.absent = {}, {}

    def loaders(self, options, work):
        made = {OURS: Ours(self.dataset, self.workload, options.jobs)}
        if self.workload == "mosaic":
            made[ROI] = Ours(self.roi, self.workload, options.jobs)
            made[TURNED] = Ours(self.dataset, "mosaic-turned", options.jobs)
        for name in PEERS:
            why = ABSENT.get((name, self.workload)) or version_of(LOAD, name)[1]
            if why:
                self.absent[name] = why
            else:
                made[name] = Peer(name, self.photos, self.workload, options.jobs, work / f"{name.split()[0]}.log")
        return made

    def measure(self, options, work):
        loaders = self.loaders(options, work)
        self.runs = {name: [] for name in loaders}
        for _ in range(options.rounds):
            for name, loader in loaders.items():
                found = loader.measure(options.seconds)
                run = {
                    "cpu": found["images"] / found["cpu_s"],
                    "rate": found["images"] / found["seconds"],
                    "objects": found["objects"] / found["images"],
                }
                self.runs[name].append(run)
                print(f"detection: {self.workload}: {name}: {run['cpu']:,.0f} images/CPU s", file=sys.stderr)
        for loader in loaders.values():
            loader.end()
        self.check()

    def check(self):
        """Whether each has placed objects: all that there are, or of a mosaic's four pictures those that are seen."""
        have = self.photos.objects / self.photos.pictures
        least, most = (0.7, 1.3) if self.workload == "letterbox" else (1, 4)
        for name, runs in self.runs.items():
            objects = statistics.mean(run["objects"] for run in runs)
            if not least * have <= objects <= most * have:
                sys.exit(f"detection: {name} delivers {objects:.1f} objects an image, of {have:.1f} in the data")

    def best(self):
        """The peer that is the fastest."""
        peers = [name for name in self.runs if name in PEERS]
        return max(peers, key=lambda name: statistics.median(run["cpu"] for run in self.runs[name]), default=None)

    def ratio(self, ours, best):
        ratios = [mine["cpu"] / theirs["cpu"] for mine, theirs in zip(self.runs[ours], self.runs[best])]
        return spread_text(ratios, lambda x: f"{x:.2f}")

    def text(self):
        rows = []
        for name, runs in self.runs.items():
            figures = [spread_text([run[key] for run in runs], lambda x: f"{x:,.0f}") for key in ("cpu", "rate")]
            rows.append([name, *figures, f"{statistics.mean(run['objects'] for run in runs):.1f}"])
        rows += [[name, f"not measured: {why}", "", ""] for name, why in self.absent.items()]
        head = ["loader", "images a CPU-second", "images/s", "objects an image"]
        text = f"### {self.photos.title}: {TITLES[self.workload]}\n\n{table(head, rows)}"
        if best := self.best():
            ratio = f"**{self.ratio(OURS, best)}**"
            if ROI in self.runs:
                ratio += f", with `--image roi` **{self.ratio(ROI, best)}**"
            text += f"\n\nImages a CPU-second, packhorse to {best}: {ratio} (goal: {GOALS[self.workload]})."
        return text


def cost_of_targets(suites, options):
    """CPU time of packhorse with objects to that without, in rounds of pairs."""
    rows = []
    for suite in suites:
        ours = Ours(suite.dataset, suite.workload, options.jobs)
        bare = Ours(suite.dataset, suite.workload, options.jobs)
        bare.command.remove("--targets")
        pairs = []
        for _ in range(options.rounds):
            found = [loader.measure(options.seconds) for loader in (ours, bare)]
            pairs.append([one["cpu_s"] / one["images"] for one in found])
        cost = spread_text([100 * (with_them / without - 1) for with_them, without in pairs], lambda x: f"{x:.1f} %")
        rows.append([f"{suite.photos.title}: {TITLES[suite.workload]}", cost])
    return f"### What objects cost beside pixels (goal: under 3 %)\n\n{table(['photos', 'more CPU time'], rows)}"


def packed(photos, out, *options):
    command = [built("packhorse"), "pack", photos.images, out, "--format", "wds", "--targets", f"coco:{photos.coco}", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"detection: packing failed:\n{done.stderr}")
    return out


def measured(options, work):
    suites = []
    for make, archive in ((imagenet, "imagenet200.tar"), (bccd, "bccd.tar.zst")):
        photos = make(ARCHIVES / archive, work, options.copies)
        dataset = packed(photos, work / f"{photos.folder.name}-packed")
        roi = packed(photos, work / f"{photos.folder.name}-roi", "--image", "roi")
        suites += [Suite(photos, dataset, roi, workload) for workload in TITLES]
    for suite in suites:
        suite.measure(options, work)
    cpu = machine.first_match(r"model name\s*: (.*)", "/proc/cpuinfo")
    conditions = (
        f"{options.rounds} rounds, passes of {options.seconds:g} s or more, {options.jobs} workers, batches of {BATCH}, "
        f"{SIDE} x {SIDE} pixels, warm. {cpu}."
    )
    names = [OURS, *(name for name in PEERS if name not in suites[0].absent)]
    versions = [machine.packhorse_versions(built("packhorse")).split(" (")[0]]
    versions += [version_of(LOAD, name)[0] for name in names[1:]]
    told = "; ".join(f"{name}: {version}" for name, version in zip(names, versions))
    parts = [f"{conditions} {told}.", *(suite.text() for suite in suites), cost_of_targets(suites, options)]
    return "\n\n".join(parts)


def main():
    arguments = parser("detection", __doc__)
    arguments.add_argument("--copies", type=int, default=2, help="of each photo")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=3.0)
    arguments.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = arguments.parse_args()
    require(built("packhorse"))
    if options.write and options.rounds < 5:
        sys.exit("detection: measured in fewer than 5 rounds")
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        text = measured(options, Path(work))
    show(options, "detection bench", text)


if __name__ == "__main__":
    main()
