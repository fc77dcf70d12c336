"""Cases of fault_loop.py whose command works with a storage, with the work of tasks, or from Python.

The storage is one of our own in this process (tests/remote/lying_server.py), and does not lie: what fails is here.
"""

import hashlib
import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "remote"))

from fault_loop import (  # noqa: E402
    BIN, GROUPS, PACKHORSE, Case, Violation, contents, is_unfinished, make_source, must, packed, photos, prepare_repair, run,
)  # fmt: skip
from lying_server import LyingServer  # noqa: E402

NO_ALLOCATIONS = [group for group in GROUPS if group != "alloc"]


class WithServer(Case):
    """The command gets the server, which is a new one for each bench."""

    def __init__(self, name, prepare, command, **how):
        super().__init__(name, self.begin, lambda place: command(place, self.server), **how)
        self.prepare_with, self.server = prepare, None

    def begin(self, place):
        self.server = LyingServer({}).__enter__()
        self.prepare_with(place, self.server)


def serve(place, server):
    packed(place, "--format", "wds")
    server.put_folder(place / "packed", "packed")


class CacheCase(WithServer):
    """Reading by way of a cache: what is read is right, whatever becomes of the cache, and it holds nothing wrong."""

    def __init__(self):
        super().__init__("unpack-cache", self.serve_alone, self.unpack, refuses=True)

    @staticmethod
    def serve_alone(place, server):
        serve(place, server)
        shutil.rmtree(place / "packed")
        (place / "beside").write_bytes(b"not ours")

    @staticmethod
    def unpack(place, server):
        return (PACKHORSE, "unpack", server.s3("packed"), place / "out", "--cache", place / "cache", *server.options)

    def published(self, place):
        return {name: digest for name, digest in super().published(place).items() if not name.startswith(b"cache")}

    def left_over(self, place):
        return [name for name in super().left_over(place) if not name.startswith("cache")]

    def check_end(self, place):
        done = run((PACKHORSE, "cache", "verify", "--cache", place / "cache"))
        if done.returncode != 0:
            raise Violation(f"the cache holds what is wrong: {done.stdout.decode()}")


class BucketCase(WithServer):
    """Packing to a bucket: each object is the right one or not there, and dataset.json comes last."""

    def __init__(self):
        super().__init__("pack-s3", lambda place, _: make_source(place.parent / "source", photos(6)), self.pack, one_step=False, refuses=True)

    @staticmethod
    def pack(place, server):
        options = ("--format", "wds", "--shard-samples", "2", "--jobs", "2", "--staging", place / "staging.partial")
        return (PACKHORSE, "pack", place.parent / "source", server.s3("new"), *options, *server.options)

    def reset(self, place):
        place.mkdir(exist_ok=True)
        self.server.objects.clear()
        self.server.sums.clear()

    def published(self, place):
        with self.server.lock:
            objects = dict(self.server.objects)
        return {os.fsencode(key.removeprefix("new/")): hashlib.sha256(data).hexdigest() for key, data in objects.items()}


def tasks_of(place):
    return (PACKHORSE, "pack", place.parent / "source", place / "out", "--format", "wds", "--shard-samples", "2", "--jobs", "1")


def prepare_tasks(place):
    make_source(place.parent / "source", photos(6))
    (place / "beside").write_bytes(b"not ours")


def prepare_finish(place):
    prepare_tasks(place)
    for task in ("0/2", "1/2"):
        must(*tasks_of(place), "--task", task)


class TaskCase(Case):
    """A task publishes nothing: its shards and receipts wait for --finish, and so do images that could not be read."""

    def __init__(self):
        super().__init__("pack-task", prepare_tasks, lambda place: (*tasks_of(place), "--task", "0/2"), one_step=False)

    def published(self, place):
        kept = (b"out.partial/data/", b"out.partial/receipts/")
        return {name: digest for name, digest in contents(place).items() if name.startswith(kept) and not name.endswith((b".tmp", b".new"))}

    def left_over(self, place):
        return sorted(os.fsdecode(name) for name in contents(place) if name.endswith((b".tmp", b".new")))

    def told_of_less(self, done):
        return done.returncode == 0 and b"rejected: " in done.stdout + done.stderr


WRITER = """
import sys
import packhorse
source, out = sys.argv[1:]
try:
    with packhorse.Writer(out, format="wds", shard_samples=2, classes=["a", "b"], jobs=1) as writer:
        for i in range(6):
            writer.add(open(f"{source}/{i}.jpg", "rb").read(), label=i % 2, key=str(i))
except (packhorse.Error, OSError) as error:
    sys.exit(f"error: {error}")
"""


class WriterCase(Case):
    """Python's Writer. Python itself is not what is tried: it crashes without memory."""

    groups = [group for group in NO_ALLOCATIONS if group != "mmap"]
    stops = False  # Python decides what a signal does

    def __init__(self):
        super().__init__("writer", self.prepare_images, self.write, refuses=True)

    @staticmethod
    def prepare_images(place):
        for i, photo in enumerate(photos(6)):
            target = place.parent / "images" / f"{i}.jpg"
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(photo, target)
        (place / "beside").write_bytes(b"not ours")

    @staticmethod
    def write(place):
        return ("/usr/bin/env", f"PYTHONPATH={BIN.parent / 'python'}", sys.executable, "-c", WRITER, place.parent / "images", place / "out")


def prepare_repair_at_url(place, server):
    prepare_repair(place)
    same = place.parent / "same"
    must(PACKHORSE, "pack", place.parent / "source", same, "--shard-samples", "2", "--format", "wds")
    server.put_folder(same, "packed")


def distant_cases():
    found = [
        CacheCase(),
        BucketCase(),
        WithServer(
            "repair-url",
            prepare_repair_at_url,
            lambda place, server: (PACKHORSE, "repair", place / "packed", server.s3("packed"), *server.options),
            one_step=False,
        ),
        TaskCase(),
        Case("pack-finish", prepare_finish, lambda place: (*tasks_of(place), "--finish"), refuses=True),
    ]
    built = (BIN.parent / "python/packhorse/_pack.pyi").exists()
    return [*found, WriterCase()] if built else found
