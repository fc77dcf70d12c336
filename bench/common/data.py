"""The folders that are packed. Each is made once below the scratch folder and used again by later runs.

A folder has its final name only when it is whole, and none is begun that the file system has no room for.
"""

import contextlib
import dataclasses
import fcntl
import itertools
import os
import shutil
import subprocess
from pathlib import Path

from common.environment import file_system

BLOCK = 4096  # what a file of a few bytes takes
JPEG = (".jpg", ".jpeg")
FORMATS = ("wds", "lmdb", "hdf5")


class CannotMake(Exception):
    """A folder cannot be made here; the text says why and what to do."""


@dataclasses.dataclass(frozen=True)
class Folder:
    """A folder that is there: where, and how much a packer must take from it."""

    path: Path
    files: int
    bytes: int
    disk_bytes: int  # whole blocks


@dataclasses.dataclass(frozen=True)
class Places:
    """Where things come from and go to."""

    data: Path  # scratch on the disk to be measured
    archives: Path  # the folder of imagenet200.tar and cifar10-jpeg.tar.zst
    photos: Path | None  # JPEG files to use instead of imagenet200.tar
    packhorse: Path  # makes the packed ones


@contextlib.contextmanager
def reserved(path):
    """Keeps other benches out of the folder meanwhile: each clears away what lies there."""
    path.mkdir(parents=True, exist_ok=True)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        lock(folder, path)
        yield
    finally:
        os.close(folder)


def lock(folder, path):
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as taken:
        raise CannotMake(f"another bench is at work in {path}: let it end, or give another --data") from taken


def files_below(path):
    """Paths of all files below `path`, in the order of the directories; of a file, its own."""
    if os.path.isfile(path):
        yield os.fspath(path)
        return
    folders = [os.fspath(path)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders.append(entry.path)
                else:
                    yield entry.path


def measured(path):
    files, size, blocks = 0, 0, 0
    for file in files_below(path):
        status = os.stat(file)
        files, size, blocks = files + 1, size + status.st_size, blocks + status.st_blocks
    return Folder(Path(path), files, size, blocks * 512)


def require_space(path, wanted, what):
    """Refuses to begin what would fill the file system."""
    path.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(path).free
    if free < wanted * 1.1:
        sizes = f"{wanted * 1.1 / 2**30:.1f} GiB in {path}, where {free / 2**30:.1f} GiB are free"
        raise CannotMake(f"{what} needs {sizes}")


def made_once(target, make):
    """The folder `target`, which `make(path)` fills if it is not there yet."""
    if not target.is_dir():
        partial = target.with_name(target.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        make(partial)
        partial.rename(target)
    return target


def unpacked(places, archive):
    """An archive of photos, unpacked."""
    path = places.archives / archive
    if not path.is_file():
        raise CannotMake(f"{path} is not there; PACKHORSE_DATA names the folder that holds it")

    def unpack(target):
        require_space(target, 8 * path.stat().st_size, archive)
        subprocess.run(["tar", "-xf", path, "-C", target], check=True)

    return made_once(places.data / archive.split(".")[0], unpack)


def photo_files(places):
    """(class, path) of the photos that the larger folders repeat."""
    root = places.photos or unpacked(places, "imagenet200.tar") / "imagenet200"
    found = [(Path(f).relative_to(root).parts, Path(f)) for f in files_below(root) if f.lower().endswith(JPEG)]
    shown = [(parts[0], path) for parts, path in found if not any(part.startswith(".") for part in parts)]
    if not shown:
        raise CannotMake(f"{root} holds no JPEG files")
    return sorted(shown, key=lambda photo: photo[1])


def photos(places, count):
    """`count` real copies, no links, of the photos, under names of their own."""
    target = places.data / f"{(places.photos or Path('imagenet200')).name}-{count}"

    def copy(root):
        originals = photo_files(places)
        mean = sum(path.stat().st_size for _, path in originals) // len(originals)
        require_space(root, count * (mean + BLOCK), target.name)
        for i, (label, path) in zip(range(count), itertools.cycle(originals)):
            copied = root / label / f"{path.stem}_{i:06}.jpg"
            copied.parent.mkdir(exist_ok=True)
            copied.write_bytes(path.read_bytes())

    return measured(made_once(target, copy))


def linked_once(target, names):
    """A folder of links: names() gives (the name in it, the file that has it)."""

    def link(root):
        for name, file in names():
            (root / name).parent.mkdir(exist_ok=True)
            os.link(file, root / name)

    return measured(made_once(target, link))


def linked_photos(places, count):
    """`count` names for a tenth as many photos: memory and time see `count` files, the disk a tenth of the bytes."""
    originals = photos(places, max(1, count // 10)).path

    def names():
        for i, path in zip(range(count), itertools.cycle(map(Path, sorted(files_below(originals))))):
            yield f"{path.parent.name}/{path.stem}_{i:06}.jpg", path

    return linked_once(places.data / f"{originals.name}-links-{count}", names)


def photos_in_memory(places, count):
    """The photos on a tmpfs, which --data names."""
    if file_system(places.data) != "tmpfs":
        raise CannotMake(f"{places.data} is on no tmpfs: give --data /dev/shm")
    return photos(places, count)


def cifar(places, count):
    """CIFAR-10 as 60,000 small files, in train/ and test/."""
    del count  # always the whole
    return measured(unpacked(places, "cifar10-jpeg.tar.zst"))


def single_photos(places, count):
    """`count` photos, each a class by itself, so that a label names its sample."""
    originals = photos(places, count).path

    def names():
        for i, path in enumerate(map(Path, sorted(files_below(originals)))):
            yield f"class-{i:06}/{path.name}", path

    return linked_once(places.data / f"{originals.name}-single", names)


def cifar_train(places, count):
    """CIFAR-10's images for training, or as many of each class as make `count`, by links."""
    train = unpacked(places, "cifar10-jpeg.tar.zst") / "train"

    def names():
        classes = sorted(folder for folder in train.iterdir() if folder.is_dir())
        for folder in classes:
            for file in sorted(folder.iterdir())[: -(-count // len(classes))]:
                yield f"{folder.name}/{file.name}", file

    return linked_once(places.data / f"cifar-train-{count}", names)


def packed(form):
    """Makes the photos packed in a format. Its samples are the files that `sha256sum` can check."""

    def make(places, count):
        def pack(target):
            folder = photos(places, count)
            require_space(target, folder.bytes, target.name)
            command = [places.packhorse, "pack", folder.path, target / "dataset", "--format", form]
            subprocess.run(command, check=True, capture_output=True)

        dataset = made_once(places.data / f"photos-{count}-{form}", pack) / "dataset"
        return dataclasses.replace(measured(dataset), files=len((dataset / "SHA256SUMS").read_text().splitlines()))

    return make


MAKERS = {
    "photos": photos,
    "linked photos": linked_photos,
    "photos in memory": photos_in_memory,
    "single photos": single_photos,
    "cifar": cifar,
    "cifar train": cifar_train,
    **{f"packed {form}": packed(form) for form in FORMATS},
}
