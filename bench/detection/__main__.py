"""Pictures with their boxes made ready for a detector, beside other loaders: the same photos, the same run, in turns.

    python3 bench/detection run all --json build/detection-bench.json           # about ten minutes
    python3 bench/detection run letterbox --scale 0.2 --repeats 1 --seconds 1   # a quick try
    python3 bench/detection report build/detection-bench.json --write docs/measured/detection.md

docs/measured/detection.md says how. Needs Python 3.11 with Pillow and bench/setup; loaders that are not there are named.
"""

import dataclasses
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import cells  # noqa: E402
from common import program, tables  # noqa: E402
from common.commands import loader, packhorse_bench  # noqa: E402
from common.inputs import AsIs  # noqa: E402
from common.measure import Failed  # noqa: E402
from common.reading import ReadSession  # noqa: E402
from common.rows import fastest, overhead  # noqa: E402
from common.suite import Entry, Suite, by_name  # noqa: E402

SIDE, BATCH = 640, 16
OURS, ROI, TURNED = "packhorse", "packhorse, packed with --image roi", "packhorse, turned and sheared"
BARE = "packhorse, without objects"
PEERS = {
    "letterbox": ("torchvision v2", "albumentations", "ultralytics", "DALI"),
    "mosaic": ("albumentations", "ultralytics"),
}
TITLES = {"letterbox": "letterbox", "mosaic": "Mosaic, affine, HSV, flip"}
PHOTOS = 410  # each of BCCD's photos to train on twice
GOALS = {"letterbox": 4, "mosaic": 8}
MOST_MORE = 3  # percent of CPU time that objects may cost
CPU_RATE = "images_per_cpu_s"


@dataclasses.dataclass(frozen=True)
class Packed:
    """A dataset of ours, of the images and COCO's file of a folder."""

    options: tuple = ()

    def make(self, kit):
        source, out = kit.folder.path, kit.new_path()
        words = ("--format", "wds", "--targets", f"coco:{source}/instances.json", *self.options)
        kit.costs[self] = kit.packhorse("pack", source / "images", out, *words)
        return out


class BoxSession(ReadSession):
    def require_all(self, entry, figures):
        """Whether each has placed objects: all that there are, or of a mosaic's four pictures those that are seen."""
        if entry.name == BARE:
            return
        pictures, objects = cells.counts(self.folder(entry).path)
        figures["objects_an_image"] = figures["objects"] / figures["images"]
        seen = figures["objects_an_image"] / (objects / pictures)
        least, most = (0.7, 1.3) if self.suite.name == "letterbox" else (1, 4)
        if not least <= seen <= most:
            raise Failed(f"delivers {seen:.2f} times the objects that the data has an image")


def ours(name, augment, *options):
    about = ("--augment", augment, "--size", SIDE, "--batch-size", BATCH)
    return packhorse_bench(name, *about, *options)


def suite(workload):
    made = [(ours(OURS, workload, "--targets"), Packed()), (ours(BARE, workload), Packed())]
    if workload == "mosaic":
        made += [(ours(ROI, workload, "--targets"), Packed(("--image", "roi")))]
        made += [(ours(TURNED, "mosaic-turned", "--targets"), Packed())]
    options = ("--workload", workload, "--side", SIDE, "--batch", BATCH)
    made += [(loader(name, *options, peer=f"boxes/{name}", work="boxes"), AsIs()) for name in PEERS[workload]]
    subjects = [name for name in (OURS, ROI) if name in {contender.name for contender, _ in made}]
    rows = [fastest(name, PEERS[workload], GOALS[workload], CPU_RATE) for name in subjects]
    columns = [
        tables.spread("images a CPU-second", CPU_RATE),
        tables.spread("images/s", "images_per_s"),
        tables.median("objects an image", "objects_an_image"),
    ]
    return Suite(
        workload,
        f"BCCD photos of blood cells, {TITLES[workload]}",
        tuple(Entry(contender, "cells", PHOTOS, form) for contender, form in made),
        (*rows, overhead(OURS, BARE, MOST_MORE, CPU_RATE)),
        side=SIDE,
        tables=(tables.bars(), tables.contenders(*columns)),
    )


SUITES = by_name(*map(suite, TITLES))
BENCH = program.Bench("detection", __doc__.split("\n")[0], SUITES, BoxSession, rounds=5, least=5, seconds=3.0)

if __name__ == "__main__":
    program.main(BENCH)
