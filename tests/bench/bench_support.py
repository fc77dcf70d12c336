"""What the tests of benches share: a copy of bench/, small archives, and the tables of a page."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys

from python_support import ROOT, SHAPES, put

DALI = "DALI" if importlib.util.find_spec("nvidia") and importlib.util.find_spec("nvidia.dali") else ""


def call(benches, name, *arguments, env=None):
    command = [sys.executable, benches / name, *arguments]
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=900, env=env, check=False)


def copied(folder):
    """bench/, whose environment of other tools is this Python, but without FFCV."""
    benches = shutil.copytree(ROOT / "bench", folder, ignore=shutil.ignore_patterns(".venv", "__pycache__"))
    (benches.parent / "tests").symlink_to(ROOT / "tests")  # the servers of bench/remote
    (benches.parent / "samples").symlink_to(ROOT / "samples")
    put(benches / "hidden/ffcv.py", b"raise ImportError('there is no FFCV here')\n")
    put(benches / ".venv/bin/python", f'#!/bin/sh\nPYTHONPATH="{benches}/hidden" exec "{sys.executable}" "$@"\n'.encode())
    (benches / ".venv/bin/python").chmod(0o755)
    return benches


def photos_and_cells(data):
    """Archives of the names that the benches read: CIFAR-10 of 300 pictures of 32 x 32, BCCD of 40 pictures with boxes."""
    from PIL import Image

    pictures = sorted(SHAPES.glob("train/*/*.jpg"))
    for number in range(300):
        folder = data / "cifar" / ("train" if number < 280 else "test") / f"class{number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        with Image.open(pictures[number % len(pictures)]) as picture:
            picture.convert("RGB").resize((32, 32)).save(folder / f"{number:04}.jpg")
    images, annotations = [], []
    for number, path in enumerate(pictures[:40]):
        put(data / "bccd/images/train" / path.name, path.read_bytes())
        with Image.open(path) as picture:
            images.append({"id": number, "file_name": path.name, "width": picture.width, "height": picture.height})
        boxes = [[10 * i, 5, 40, 60] for i in range(1 + number % 3)]
        annotations += [{"id": len(annotations) + i, "image_id": number, "category_id": 1, "bbox": box, "area": 2400,
                         "iscrowd": 0, "segmentation": []} for i, box in enumerate(boxes)]  # fmt: skip
    coco = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "cell"}]}
    put(data / "bccd/annotations/instances_train.json", json.dumps(coco).encode())
    subprocess.run(["tar", "-caf", data / "cifar10-jpeg.tar.zst", "-C", data / "cifar", "train", "test"], check=True)
    subprocess.run(["tar", "-caf", data / "bccd.tar.zst", "-C", data, "bccd"], check=True)
    return data


def heads(text):
    """The heads of all tables, as lists of their cells."""
    return [[cell.strip() for cell in head.strip("|").split("|")] for head in re.findall(r"^(\|.*)\n\| ?---", text, re.M)]
