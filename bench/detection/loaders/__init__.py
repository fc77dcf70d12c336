"""Loaders of pictures with boxes, each as its documentation has it, by the names that the bench gives them. Each module
has PACKAGES, WORKLOADS, and batches(folder, workload, side, batch, workers): an endless iterator of (images, boxes), a
uint8 array or tensor of the batch, and the number of boxes in it. Imported in the peers' own environment (bench/setup).
"""

import importlib
from importlib import metadata

MODULES = {
    "torchvision v2": "torchvision_v2",
    "albumentations": "albumentations_cv2",
    "ultralytics": "ultralytics_own",
    "DALI": "dali_coco",
}


def module(name):
    return importlib.import_module(f"loaders.{MODULES[name]}")


def version_text(name):
    """The versions of its packages, without importing them."""
    found = importlib.util.find_spec(f"loaders.{MODULES[name]}")
    packages = next(line for line in open(found.origin) if line.startswith("PACKAGES"))
    return ", ".join(f"{one} {metadata.version(one)}" for one in eval(packages.split("=")[1], {}))
