"""Runs a command once, syncs the file system it wrote to, and says what both cost.

    cost, printed = run(["tar", "-cf", out, "-C", source, "."], synced=out.parent)

The clock of a command runs from its start to its end. One that `waits` is a Python program that first imports what it
needs, prints `ready`, begins when it reads a line, prints `done`, and then ends its workers (peer.py); its clock
runs from that line to `done`. Behind `ready`, and in a last line `used`, it says what it and its children have used so
far. Other commands are run by such a program (launch.py), which does nothing else.
"""

import contextlib
import ctypes
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from common.usage import group_lives, machine_busy

LAUNCH = [sys.executable, "-S", str(Path(__file__).resolve().parent / "launch.py")]
LIBC = ctypes.CDLL(None, use_errno=True)
GRACE, DYING = 1.0, 30.0  # seconds that workers have to end by themselves, and when they are killed
REASON = 300  # characters of stderr that are kept


class Failed(Exception):
    """A command ended badly; the text says how."""


@dataclasses.dataclass
class Cost:
    """What one run took. CPU time and bytes are those of the command and all children it waited for."""

    seconds: float  # the work and the sync behind it
    sync_seconds: float  # the sync alone
    cpu_seconds: float
    max_rss_bytes: int  # of the largest single process
    read_bytes: int  # from block devices: 0 when all came from the page cache
    written_bytes: int
    foreign_cpus: float  # cores kept busy by others meanwhile, the kernel's writing included


def sync(path):
    """As `sync -f`: everything of the file system of `path` is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if LIBC.syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), "syncfs", str(path))
    finally:
        os.close(descriptor)


class Process:
    """A program that waits, in a process group of its own, which is killed when it takes too long and at the end."""

    def __init__(self, argv, timeout):
        self.err = tempfile.TemporaryFile()
        self.child = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err, start_new_session=True
        )
        self.late = False
        self.timer = threading.Timer(timeout, self.kill, [True])
        self.timer.start()

    def kill(self, late=False):
        self.late = self.late or late
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.timer.cancel()
        self.wait_for_workers(GRACE)  # some remove what would be left in /dev/shm
        self.kill()  # others outlive the program itself
        self.child.wait()
        self.wait_for_workers(DYING)
        for stream in (self.err, self.child.stdin, self.child.stdout):
            stream.close()

    def wait_for_workers(self, seconds):
        """They take time to end, and what they have mapped stays in memory as long."""
        deadline = time.monotonic() + seconds
        while group_lives(self.child.pid) and time.monotonic() < deadline:
            time.sleep(0.01)

    def reads(self, word):
        """The JSON behind `word`, on the next line that begins with it."""
        for line in self.child.stdout:
            if line.startswith(word + b" "):
                return json.loads(line[len(word) :])
        raise Failed(self.why())

    def begin(self):
        self.child.stdin.write(b"go\n")
        self.child.stdin.flush()

    def why(self):
        """How the program ended, with the first and last words of what it had to say."""
        how = f"exit code {self.child.wait()}"
        self.err.seek(0)
        said = " ".join(self.err.read().decode(errors="replace").split())
        if len(said) > REASON:
            said = f"{said[:REASON // 2]} ... {said[-REASON // 2 :]}"
        return ": ".join(filter(None, ["took too long" if self.late else how, said]))


def timed(work, synced):
    """(seconds with sync, seconds of the sync, CPU seconds of the whole machine) of a call."""
    sync(synced)
    busy, start = machine_busy(), time.perf_counter()
    work()
    worked = time.perf_counter()
    sync(synced)
    end = time.perf_counter()
    return end - start, end - worked, machine_busy() - busy


def run(argv, synced, timeout=900, waits=False, watch=None):
    """(Cost, stdout) of one run; raises Failed. What was dirty on the file system before is written beforehand.

    `watch` is a context manager, made of the number of the process, to be in meanwhile (memory.py).
    """
    with tempfile.NamedTemporaryFile() as printed:
        with Process(argv if waits else [*LAUNCH, printed.name, *argv], timeout) as process:
            before = process.reads(b"ready")
            watching = watch(process.child.pid) if watch else contextlib.nullcontext()

            def work():
                process.begin()
                process.reads(b"done")

            with watching:
                seconds, sync_seconds, busy = timed(work, synced)
            after = process.reads(b"used")
        return cost_of(before, after, seconds, sync_seconds, busy), printed.read()


def cost_of(before, after, seconds, sync_seconds, busy):
    used = {key: after[key] - before[key] for key in before}
    return Cost(
        seconds=seconds,
        sync_seconds=sync_seconds,
        cpu_seconds=used["cpu"],
        max_rss_bytes=after["max_rss"],
        read_bytes=used["read"],
        written_bytes=used["written"],
        foreign_cpus=max(0.0, busy - used["cpu"]) / seconds,
    )
