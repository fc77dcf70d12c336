"""What reads from the storage: programs that bring one object here, and loaders that read an epoch of pictures."""

import dataclasses
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from common.environment import LOAD, PEERS_PYTHON, TEST_SERVERS, built, version_of
from common.loaders import REMOTE_NAMES

sys.path.insert(1, str(TEST_SERVERS))

import servers  # noqa: E402

PART = 4 << 20  # bytes of a range
SHARD_BYTES = 16 << 20  # there are several, though the dataset is small
PACKED_SHARD_BYTES = 64 << 20  # of what is packed to the bucket


class Unavailable(Exception):
    """A contender that cannot run here; the text says why."""


@dataclasses.dataclass(frozen=True)
class Task:
    """An object, or what lies below a key, and where it goes: an empty folder."""

    endpoint: str
    bucket: str
    key: str
    bytes: int
    out: Path
    connections: int

    @property
    def url(self):
        return f"{self.endpoint}/{self.bucket}/{self.key}"

    @property
    def s3(self):
        return f"s3://{self.bucket}/{self.key}"


OURS = "packhorse copy"


def packhorse(task):
    """The dataset whose only shard is the object, with the proof that it is the right one."""
    dataset = task.s3.rpartition("/")[0]
    return [str(built("packhorse")), "copy", dataset, str(task.out / "copy"), "--no-sign-request", "--quiet"]


def program(name):
    """A program of the peers' environment, of .venv or of the system."""
    beside = PEERS_PYTHON.parent / name
    if beside.exists():
        return str(beside)
    try:
        return servers.program(name)
    except servers.Missing as missing:
        raise Unavailable(f"{missing}, or bench/setup") from missing


def curl(connections):
    """One curl, ranges of PART bytes, so many at once."""

    def command(task):
        lines = []
        for begin in range(0, task.bytes, PART):
            last = min(begin + PART, task.bytes) - 1
            part = task.out / f"part-{begin // PART:06}"
            lines += [f'url = "{task.url}"', f'range = "{begin}-{last}"', f'output = "{part}"', "fail", "silent", "next"]
        plan = task.out.parent / "curl.txt"
        plan.write_text("\n".join(lines[:-1]) + "\n")
        parallel = ["--parallel", "--parallel-immediate", "--parallel-max", str(connections)]
        return [program("curl"), *parallel, "--config", str(plan)]

    return command


def s5cmd(task):
    return [program("s5cmd"), "--endpoint-url", task.endpoint, "--no-sign-request", "cp", "--concurrency",
            str(task.connections), "--part-size", str(PART >> 20), task.s3, f"{task.out}/"]  # fmt: skip


def fetchers(connections):
    """name -> a command for a task; the baselines first."""
    return {
        "curl, 1 connection": curl(1),
        f"curl, {connections} connections": curl(connections),
        f"s5cmd, {connections} connections": s5cmd,
        OURS: packhorse,
    }


TO_DISK = "to the disk"
UPLOAD = "s5cmd to the bucket, of what is packed already"


def packers(packhorse, source, packed):
    """name -> a command for a task, whose key is where the dataset goes. `packed`: the dataset that comes of it."""

    def pack(*words):
        shards = ["--shard-bytes", PACKED_SHARD_BYTES]
        return [*map(str, [packhorse, "pack", source, *words, "--format", "wds", *shards, "--quiet"])]

    def to_disk(task):
        return pack(task.out / "packed")

    def sent(task, folder):
        return [program("s5cmd"), "--endpoint-url", task.endpoint, "cp", "--concurrency", str(task.connections),
                f"{folder}/", f"{task.s3}/"]  # fmt: skip

    def upload(task):
        if not packed.exists():
            subprocess.run(pack(packed), check=True)
        return sent(task, packed)

    def then_s5cmd(task):
        return ["sh", "-ec", f"{shlex.join(to_disk(task))} && {shlex.join(sent(task, task.out / 'packed'))}"]

    def to_bucket(task):
        return pack(task.s3, "--staging", task.out / "staging", "--no-cache")

    return {
        TO_DISK: to_disk,
        UPLOAD: upload,
        "to the disk, then s5cmd to the bucket": then_s5cmd,
        "straight to the bucket": to_bucket,
    }


def loader(name):
    """A loader of common/loaders, cold: one epoch from opening on."""

    def command(task, jobs):
        _, reason = version_of(LOAD, name)
        if reason:
            raise Unavailable(reason)
        return [str(PEERS_PYTHON), str(LOAD), "run", name, task.s3, str(jobs), "0", "--cold", "--scratch", str(task.out)]

    return command


LOADERS = {name: loader(name) for name in REMOTE_NAMES if not name.endswith("PIL")}
LOCAL = "packhorse.Loader, local disk"
# What each of them reads: a form of forms.py.
FORM_OF = {
    "webdataset": "webdataset",
    "MDS": "mds",
    "LitData": "litdata",
    "s3torchconnector": "files",
    "packhorse.Loader": "packhorse",
}


def readers(dataset):
    """name -> a command for a task and a number of processes. `dataset`: ours on the disk, for comparison."""
    here = loader("packhorse.Loader")

    def local(task, jobs):
        return [str(dataset) if word == task.s3 else word for word in here(task, jobs)]

    return {**LOADERS, LOCAL: local}


def digest(folder):
    """The SHA-256 of all files of a folder, one behind the other; of a dataset, of its shards."""
    found = hashlib.sha256()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in [path for path in files if path.suffix == ".tar"] or files:
        with open(path, "rb") as file:
            while data := file.read(1 << 20):
                found.update(data)
    return found.hexdigest()


def emptied(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder
