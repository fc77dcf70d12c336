"""What reads from the storage and writes to it: programs that bring one object here, loaders that read an epoch of
pictures, and ways to pack."""

import dataclasses
import hashlib
import json
import shlex
from collections.abc import Callable
from pathlib import Path

from common.data import files_below
from common.environment import PEER, PEERS_PYTHON, built, packhorse_version, peer_version
from common.measure import Failed
from common.suite import Contender
from session import CONNECTIONS, servers

PART = 4 << 20  # bytes of a range
PACKED_SHARD_BYTES = 64 << 20  # of what is packed to the bucket


@dataclasses.dataclass(frozen=True)
class Remote(Contender):
    build: Callable | None = None  # a task -> the command
    needs: str = ""  # a program
    from_bucket: bool = True

    def missing(self, tools):
        if self.peer:
            return peer_version(self.peer)[1]
        try:
            return found(self.needs) and None if self.needs else None
        except servers.Missing as missing:
            return f"{missing}, or bench/setup"

    def version(self, tools):
        return peer_version(self.peer)[0] if self.peer else packhorse_version()


def found(name):
    """A program of the peers' environment, of .venv or of the system."""
    beside = PEERS_PYTHON.parent / name
    return str(beside) if beside.exists() else servers.program(name)


def digest(folder):
    """The SHA-256 of all files of a folder, one behind the other; of a dataset, of its shards."""
    hasher = hashlib.sha256()
    files = sorted(map(Path, files_below(folder)))
    for path in [path for path in files if path.suffix == ".tar"] or files:
        with open(path, "rb") as file:
            while data := file.read(1 << 20):
                hasher.update(data)
    return hasher.hexdigest()


# --- one object: the only shard of a dataset

SHARD = "shard-000000.tar"


def brought(printed, task, cost):
    if digest(task.out) != digest(task.local):
        raise Failed("what it brought is not the object")
    size = (task.local / SHARD).stat().st_size
    return {"mb_per_s": size / cost.seconds / 1e6, "cpu_s_per_gb": cost.cpu_seconds / size * 1e9}


def packhorse_copy(task):
    """With the proof that it is the right one."""
    return [str(built("packhorse")), "copy", task.source, str(task.out / "copy"), "--no-sign-request", "--quiet"]


def curl(connections):
    """One curl, ranges of PART bytes, so many at once."""

    def command(task):
        lines, size = [], (task.local / SHARD).stat().st_size
        for begin in range(0, size, PART):
            part = task.out / f"part-{begin // PART:06}"
            url = f"{task.endpoint}/{task.source.removeprefix('s3://')}/{SHARD}"
            lines += [f'url = "{url}"', f'range = "{begin}-{min(begin + PART, size) - 1}"', f'output = "{part}"']
            lines += ["fail", "silent", "next"]
        plan = task.out.parent / "curl.txt"
        plan.write_text("\n".join(lines[:-1]) + "\n")
        parallel = ["--parallel", "--parallel-immediate", "--parallel-max", str(connections)]
        return [found("curl"), *parallel, "--config", str(plan)]

    return command


def s5cmd(task, *words):
    return [found("s5cmd"), "--endpoint-url", task.endpoint, *words]


def s5cmd_get(task):
    part = ["--concurrency", str(CONNECTIONS), "--part-size", str(PART >> 20)]
    return s5cmd(task, "--no-sign-request", "cp", *part, f"{task.source}/{SHARD}", f"{task.out}/")


FETCHERS = {
    "curl, 1 connection": (curl(1), "curl"),
    f"curl, {CONNECTIONS} connections": (curl(CONNECTIONS), "curl"),
    f"s5cmd, {CONNECTIONS} connections": (s5cmd_get, "s5cmd"),
    "packhorse copy": (packhorse_copy, ""),
}


def fetchers():
    return [Remote(name, (), name, brought, build=build, needs=needs) for name, (build, needs) in FETCHERS.items()]


# --- packing

TO_DISK, UPLOAD = "to the disk", "s5cmd to the bucket, of what is packed already"


def sent_bytes(printed, task, cost):
    return {"mb_per_s": task.bytes / cost.seconds / 1e6, "cpu_s_per_gb": cost.cpu_seconds / task.bytes * 1e9}


def pack(task, *words):
    shards = ["--shard-bytes", PACKED_SHARD_BYTES]
    return [*map(str, [built("packhorse"), "pack", task.local, *words, "--format", "wds", *shards, "--quiet"])]


def to_disk(task):
    return pack(task, task.out / "packed")


def send(task, folder):
    return s5cmd(task, "cp", "--concurrency", str(CONNECTIONS), f"{folder}/", f"s3://private/{task.key}/")


def then_s5cmd(task):
    return ["sh", "-ec", f"{shlex.join(to_disk(task))} && {shlex.join(send(task, task.out / 'packed'))}"]


def to_bucket(task):
    return pack(task, f"s3://private/{task.key}", "--staging", task.out / "staging", "--no-cache")


PACKERS = {
    TO_DISK: (to_disk, ""),
    UPLOAD: (lambda task: send(task, task.local), "s5cmd"),  # its form is the packed dataset
    "to the disk, then s5cmd to the bucket": (then_s5cmd, "s5cmd"),
    "straight to the bucket": (to_bucket, ""),
}


def packers():
    return [
        Remote(name, (), name, sent_bytes, build=build, needs=needs, from_bucket=False)
        for name, (build, needs) in PACKERS.items()
    ]


# --- epochs


def two_epochs(printed, task, cost):
    run = json.loads(printed)
    rates = {"images_per_s": run["images_per_s"], "images_per_cpu_s": run["images"] / run["cpu_s"]}
    return {**rates, "first_batch_s": run["first_batch_s"], "second": run["second"]}


def loader(name, peer, from_bucket=True):
    """Cold: one epoch from opening on, and another one."""

    def command(task):
        words = [PEERS_PYTHON, PEER, "read", peer, task.source, task.jobs, "0", "--cold", "--scratch", task.out]
        return [*map(str, words)]

    return Remote(name, (), f"peer.py read '{peer}'", two_epochs, peer=peer, build=command, from_bucket=from_bucket)
