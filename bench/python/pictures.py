"""What the benches of Python read: photos and CIFAR-10 as class folders, and datasets of them; and where."""

import os
import shutil
import subprocess
import sys
from importlib import metadata

from common import machine
from common.environment import ARCHIVES, built

WHOLE = 4  # copies of the photos from which on all of CIFAR-10 is read


def run(command):
    """What a command prints; it finds the package that was built. Ends the bench when it fails."""
    environment = os.environ | {"PYTHONPATH": str(built("packhorse").parent.parent / "python")}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(f"python: {' '.join(map(str, command))} failed:\n{done.stderr}")
    return done.stdout


def photos(work, copies):
    """A class folder of real copies of the photos."""
    (work / "once").mkdir(parents=True)
    run(["tar", "-xf", ARCHIVES / "imagenet200.tar", "-C", work / "once"])
    files = sorted(path for path in (work / "once").rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    for copy in range(copies):
        for number, path in enumerate(files):
            target = work / "photos" / f"class{number % 10}" / f"{copy:03}-{path.name}"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    return work / "photos"


def cifar(work, copies):
    """Folders train and test of all files; of few copies of the photos, of 100 files a class for each, to try things."""
    folder = work / "cifar"
    folder.mkdir()
    run(["tar", "-xf", ARCHIVES / "cifar10-jpeg.tar.zst", "-C", folder])
    whole = next(path for path in folder.rglob("train") if path.is_dir()).parent
    for name in [*(whole / "train").iterdir(), *(whole / "test").iterdir()]:
        for path in sorted(name.iterdir())[100 * copies :] if copies < WHOLE else []:
            path.unlink()
    return whole


def packed(source, out, *options):
    run([built("packhorse"), "pack", source, out, "--format", "wds", "--split-folders", "none", *options])
    return out


def conditions():
    cpu = machine.first_match(r"model name\s*: (.*)", "/proc/cpuinfo")
    packhorse = machine.packhorse_versions(built("packhorse")).split(" (")[0]
    torch = f"torch {metadata.version('torch')}, torchvision {metadata.version('torchvision')}"
    return f"{cpu}. packhorse {packhorse}, Python {sys.version.split()[0]}, {torch}."
