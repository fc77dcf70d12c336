"""Gives a hostile input to each command it concerns, in a process of its own, and judges how it ended."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from python_support import PACKHORSE, put, tree

MODES = ("original", "roi", "resize", "raw")
MOST_MEMORY = 512 << 20  # for one decoded image (--max-decoded-bytes), and for the program
HANG = 120  # seconds; not a promise, as the machine may be busy
# Not a promise either: these limits make a bomb take this process down instead of the machine.
BRAKES = {resource.RLIMIT_AS: 8 << 30, resource.RLIMIT_FSIZE: 4 << 30, resource.RLIMIT_CORE: 0}
ESCAPED = Path("/tmp/packhorse-escaped")


@dataclass
class Ending:
    command: list
    code: int
    seconds: float  # of CPU time, on which other work on the machine has little effect
    memory: int
    out: bytes
    err: bytes
    hung: bool

    def problems(self):
        said = self.err.decode(errors="replace")
        if self.hung:
            yield f"it did not end in {HANG} s"
        elif self.code < 0:
            yield f"ended by {signal.Signals(-self.code).name}"
        elif self.code not in (0, 1, 2, 3):
            yield f"exit code {self.code}"
        if self.memory > MOST_MEMORY:
            yield f"took {self.memory >> 20} MiB"
        if "terminate called" in said or "std::" in said or "bad_alloc" in said:
            yield "words for programmers"
        if self.code > 0 and "packhorse" not in said:
            yield "failed without a sentence"
        if any(c < 0x20 and c not in b"\t\n\r" for c in self.err) or b"\x1b" in self.out:
            yield "control characters reached the terminal"

    def __str__(self):
        return f"{' '.join(map(str, self.command))}: exit code {self.code}, {self.seconds:.1f} s of CPU time, {self.memory >> 20} MiB"


# Begins the program from a small process: the peak that the kernel tells of a program holds that of the process that it
# was begun from, and this one has read pictures. Writes what wait4() says to a file.
BEGIN = """import json, os, resource, sys
report, brakes, *command = sys.argv[1:]
for what, most in json.loads(brakes):
    resource.setrlimit(what, (most, most))
child = os.posix_spawn(command[0], command, os.environ)
_, status, usage = os.wait4(child, 0)
with open(report, "w") as out:
    json.dump([os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10], out)
"""


def run_limited(*command, cwd):
    out, err, report = cwd / "stdout", cwd / "stderr", cwd / "ended"
    with open(out, "wb") as stdout, open(err, "wb") as stderr:
        process = subprocess.Popen([sys.executable, "-S", "-E", "-c", BEGIN, report, json.dumps(list(BRAKES.items())), PACKHORSE, *command],
                                   cwd=cwd, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True,
                                   env=os.environ | {"TMPDIR": str(cwd / "tmp")})  # fmt: skip
        try:
            process.wait(HANG)
            hung = False
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            hung = True
    code, seconds, memory = (-signal.SIGKILL, 0.0, 0) if hung else json.loads(report.read_text())
    report.unlink(missing_ok=True)
    return Ending(["packhorse", *command], code, seconds, memory, out.read_bytes(), err.read_bytes(), hung)


def commands(entry, path, work):
    """Each command, with the folder it may write to."""
    if entry.kind == "image":
        for mode in MODES:
            yield ["pack", path.parent.parent, work / mode, "--format", "wds", "--image", mode, "--max-rejects", "1"]
        return
    if entry.kind == "archive":
        yield ["pack", path, work / "packed", "--format", "wds", "--max-rejects", "100%"]
        yield ["index", path, "--out", work / "adopted", "--max-rejects", "100%"]
        return
    if entry.kind == "shard":
        yield ["index", path, "--out", work / "adopted", "--max-rejects", "100%"]
        return
    yield ["inspect", path]
    yield ["inspect", path, "--list"]
    yield ["inspect", path, "--verify", "full", "--decode"]
    yield ["stats", path]
    yield ["duplicates", path]
    yield ["unpack", path, work / "unpacked"]
    yield ["pack", path, work / "packed", "--format", "wds"]
    yield ["bench", path, "--repeats", "1", "--min-seconds", "0", "--size", "8", "--workers", "1"]
    yield ["export-index", path, "-o", work / "exported"]


def place(entry, work):
    """Writes the input where its commands expect it. An image gets a valid one beside it."""
    if entry.kind == "image":
        path = work / "in/cat" / entry.name
        put(work / "in/dog/good.jpg")
    else:
        path = work / "in" / entry.name
    path.parent.mkdir(parents=True, exist_ok=True)
    entry.make(path)
    return path


def run_entry(entry, folder, number=None):
    """Runs all its commands, or every fourth from one on that goes by `number`, below `folder`, which is emptied.
    Returns their endings and the faults: (ending, words)."""
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "a/b/work"  # paths that lead out of it stay inside `folder` for three steps
    (work / "tmp").mkdir(parents=True)
    path = place(entry, work)
    before = tree(folder / "a/b/work/in")
    endings, wrong = [], []
    chosen = list(commands(entry, path, work))
    if number is not None:
        chosen = chosen[number % min(4, len(chosen)) :: 4]
    for command in chosen:
        ending = run_limited(*command, cwd=work)
        endings.append(ending)
        wrong += [(ending, words) for words in ending.problems()]
        if tree(work / "in") != before:
            wrong.append((ending, "changed its input"))
        strangers = [found for found in strange(folder, work) if found]
        wrong += [(ending, f"wrote {found}") for found in strangers]
    shutil.rmtree(folder, ignore_errors=True)
    return endings, wrong


def strange(folder, work):
    """Files in places where there must be none."""
    outside = {folder / "a", folder / "a/b", work}
    found = [path for top in (folder, folder / "a", folder / "a/b") for path in top.iterdir() if path not in outside]
    found += list((work / "tmp").iterdir())
    if ESCAPED.exists():
        found.append(ESCAPED)
    return found
