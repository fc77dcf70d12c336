"""Makes each system call of packhorse fail once, and from then on, kills and stops it at each, and lets each allocation fail.

    python tests/fault/fault_loop.py                      all of it: see docs/measured/reliability.md
    python tests/fault/fault_loop.py --stride 50          every 50th
    python tests/fault/fault_loop.py --only pack-wds,fsync,EIO

build/*/bin/packhorse_faults.so (tests/fault/preload) is loaded into the program. A first run without faults counts
the calls on files below the scratch folder; then the same command meets one fault, on a fresh copy of its files:

- what is published is the old state or the new one, byte for byte, and nothing in between;
- exit code 0 only with the new state, complete and with nothing left over; an error says so on stderr; no signal ends it
  but our own; a SIGTERM ends it by an error that says so, and nothing is published then, or it has done all its work;
- the same command, run again without faults, succeeds and ends with the very bytes of a run that met none. Where the
  first run has come as far as to publish, it may be told that the target is there.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import zipfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

sys.modules.setdefault("fault_loop", sys.modules[__name__])  # run as a program, distant_cases.py finds it here

from python_support import BIN, PACKHORSE, SHAPES, STARTED, TERMINATED, TRAIN, finish  # noqa: E402

PRELOAD = BIN / "packhorse_faults.so"
GROUPS = (
    "open read write pwrite fsync rename link unlink mkdir truncate close mmap flock alloc change".split()
)
FAULTS = {
    "open": ("EIO", "ENOSPC", "EINTR"),
    "read": ("EIO", "EINTR", "SHORT"),
    "write": ("EIO", "ENOSPC", "EINTR", "SHORT"),
    "pwrite": ("EIO", "ENOSPC", "EINTR", "SHORT"),
    "fsync": ("EIO", "ENOSPC", "EINTR"),
    "rename": ("EIO", "ENOSPC"),
    "link": ("EIO", "ENOSPC"),
    "unlink": ("EIO",),
    "mkdir": ("EIO", "ENOSPC", "EEXIST"),
    "truncate": ("EIO", "ENOSPC", "EINTR"),
    "close": ("EIO",),
    "mmap": ("ENOMEM",),
    "flock": ("EIO", "EINTR"),
    "alloc": ("ENOMEM",),
    "change": ("KILL", "TORN", "TERM"),
}
# Faults that a program must survive: it goes on as if nothing had happened.
INTERRUPTED = ("open", "read", "write", "pwrite", "fsync", "truncate", "flock")
HARMLESS = {(group, "EINTR") for group in INTERRUPTED} | {(group, "SHORT") for group in ("read", "write", "pwrite")}
# Libraries that crash by themselves when they get no memory, and how many of the innermost calls must be theirs to
# prove it: what libstdc++ destroys for us may be our fault, what it destroys for itself is its own. The files they
# leave must be as good as after any kill.
CRASHING = {"libhdf5_serial": 1, "libarchive": 1, "libtbb": 1, "libstdc++": 2}
C_LIBRARY = ("libc.so", "ld-linux", PRELOAD.name)
ALLOCATIONS = 150  # allocations of a command that are tried, spread evenly
LONGEST = 120  # seconds
FRAME = "FAULT FRAME: "
# What libraries print before they end the program themselves because they get no memory.
FATAL = {
    b"Fatal Internal Error in libarchive": "libarchive",
    b"Fatal glibc error: failed to register TLS destructor": "glibc",
}
COUNTS = Path(__file__).resolve().parent / "counts.json"  # from the last run of each case
MARKS = ("<!-- faults: begin -->", "<!-- faults: end -->")
ENDS = ("done", "refused", "killed", "stopped", "crashed", "violation")  # not "missed"
UNFINISHED = (".partial", ".packhorse-index", ".packhorse-repair")


@dataclass(frozen=True)
class Fault:
    group: str
    at: int
    what: str
    always: bool

    @property
    def kills(self):
        return self.what in ("KILL", "TORN")

    def __str__(self):
        return f"{self.group} {self.at} {self.what}{' always' if self.always else ''}"

    def environment(self):
        extra = {"FAULT_ALWAYS": "1"} if self.always else {}
        return {"FAULT_CALL": self.group, "FAULT_AT": str(self.at), "FAULT_DO": self.what, **extra}


class Violation(Exception):
    pass


def run(command, root=None, **environment):
    """Runs the command; with `root`, under the preload."""
    env = dict(os.environ)
    if root is not None:
        env |= {"LD_PRELOAD": str(PRELOAD), "FAULT_ROOT": str(root), **environment}
    try:
        return subprocess.run(
            list(map(str, command)), env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        raise Violation(f"not ended after {LONGEST} s") from None


def calls(command, root, group, scratch):
    """How many calls of a group the command makes below `root`. `scratch` is a file's name."""
    run(command, root, FAULT_COUNT=str(scratch))
    return counts_in(scratch)[group]


def counts_in(file):
    return dict(zip(GROUPS, struct.unpack(f"{len(GROUPS)}Q", file.read_bytes())))


def halted(command, root, group, at):
    """A process of the command that is halted before call `at` of a group below `root`; SIGCONT lets it go on."""
    stop = Fault(group, at, "STOP", False).environment()
    env = os.environ | {"LD_PRELOAD": str(PRELOAD), "FAULT_ROOT": str(root), **stop}
    pipe = subprocess.PIPE
    process = subprocess.Popen(list(map(str, command)), env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    STARTED.append(process)
    state = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert state.si_code == os.CLD_STOPPED, finish(process)
    return process


def must(*command):
    done = run(command)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: {done.returncode}\n{done.stderr.decode(errors='replace')}")


def crashed_in(done):
    """The library that ended the program: with words, or, one of CRASHING, by a signal or exit(-1), found by the preload;
    None if none did."""
    for words, library in FATAL.items():
        if words in done.stderr:
            return library
    if done.returncode >= 0 and done.returncode != 255:
        return None
    frames = [line.split(": ")[1] for line in done.stderr.decode(errors="replace").splitlines() if line.startswith(FRAME)]
    if done.returncode < 0:  # before the C library's frame of the signal stand those of handlers, also of ours for SIGBUS
        while frames and not Path(frames[0]).name.startswith("libc.so"):
            frames.pop(0)
    own = [name for frame in frames if not (name := Path(frame.split("(")[0]).name).startswith(C_LIBRARY)]
    inner = own[0].split(".so")[0] if own else None
    return inner if inner in CRASHING and all(name.startswith(inner + ".so") for name in own[: CRASHING[inner]]) else None


def is_unfinished(name):
    parts = os.fsdecode(name).split("/")
    return any(part.endswith(UNFINISHED) for part in parts) or parts[-1].endswith((".tmp", ".new"))


class Case:
    """A command and its files: `prepare` makes them in a folder, `command` works on such a folder.

    `one_step`: it publishes everything at once. Otherwise it publishes file by file, each whole, dataset.json last.
    """

    groups = GROUPS
    stops = True  # a SIGTERM ends it before its work is done
    where = ""  # the folder of what is published

    def __init__(self, name, prepare, command, one_step=True, refuses=False):
        self.name, self.prepare, self.command = name, prepare, command
        self.one_step, self.refuses = one_step, refuses

    def published(self, place):
        return {name: digest for name, digest in contents(place).items() if not is_unfinished(name)}

    def left_over(self, place):
        return sorted(os.fsdecode(name) for name in contents(place) if is_unfinished(name))

    def reset(self, place):
        """Undoes what a run has done elsewhere."""

    def told_of_less(self, done):
        """Whether it has done less than asked, and says so with exit code 0. The next run must do the rest."""
        return False

    def check_end(self, place):
        """What must hold besides when all is done."""

    def check_state(self, now, before, after):
        if now in (before, after):
            return
        if self.one_step:
            raise Violation(f"neither the old nor the new state: {difference(now, before, after)}")
        for name, digest in now.items():
            if digest not in (before.get(name, 0), after.get(name, 0)):
                raise Violation(f"{os.fsdecode(name)} is neither the old nor the new file")
        manifest = b"dataset.json"
        if now.get(manifest) == after.get(manifest) != before.get(manifest):
            raise Violation(f"a dataset.json before the rest: {difference(now, before, after)}")


class FitCase(Case):
    """Training over an earlier run. Checkpoints hold the time they took, so they are judged as old, new and whole, or
    broken."""

    where = "run"
    stops = False

    def __init__(self):
        self.groups = [group for group in GROUPS if group not in ("alloc", "read", "mmap")]
        super().__init__("fit-overwrite", self.prepare_run, self.fit, one_step=False)

    @staticmethod
    def fit(place):
        data = ("--data", place / "packed", "--out", place / "run", "--overwrite", "--keep", "1")
        return (TRAIN, "fit", *data, "--arch", "smallnet", "--epochs", "1", "--batch-size", "2", "--device", "cpu")

    @staticmethod
    def prepare_run(place):
        must(PACKHORSE, "pack", SHAPES, place / "packed", "--format", "wds", "--limit", "4")
        for name in ("last.pt", "best.pt", "step-000000009.pt"):
            (place / "run").mkdir(exist_ok=True)
            (place / "run" / name).write_bytes(b"old")

    def published(self, place):
        return {os.fsencode(path.name): self.state_of(path) for path in (place / "run").glob("*.pt")}

    @staticmethod
    def state_of(path):
        if path.read_bytes() == b"old":
            return "old"
        with zipfile.ZipFile(path) as checkpoint:
            return "broken" if checkpoint.testzip() else "new"

    def check_state(self, now, before, after):
        super().check_state(now, before, after)
        if b"last.pt" not in now or (now[b"last.pt"] == "new" and now != after):
            raise Violation(f"last.pt is not there, or before the others: {now}")


def contents(place):
    """Everything there, by name: a file's SHA-256, None for a folder, the target of a dangling link."""

    def what(path):
        if path.is_dir():
            return None
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else os.readlink(path)

    return {os.fsencode(path.relative_to(place)): what(path) for path in place.rglob("*")}


def difference(now, before, after):
    def names(a, b):
        return sorted(os.fsdecode(name) for name in a.keys() | b.keys() if a.get(name, 0) != b.get(name, 0))[:5]

    return f"differs from the old in {names(now, before)}, from the new in {names(now, after)}"


class Bench:
    """Runs one case in a scratch folder of its own."""

    def __init__(self, case, scratch):
        self.case, self.root = case, Path(scratch)
        self.original, self.place = self.root / "original", self.root / "place"
        self.original.mkdir(parents=True)
        case.prepare(self.original)
        self.before = case.published(self.original)
        self.counts = self.count()
        self.after = case.published(self.place)
        if self.after == self.before or case.left_over(self.place):
            raise RuntimeError(f"{case.name}: a run without faults changed nothing, or left something")

    def fresh(self):
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.original, self.place, symlinks=True)
        self.case.reset(self.place)

    def run_counted(self, **environment):
        """Returns how it ended, and the calls it made."""
        self.fresh()
        counts = self.root / "counts"
        counts.unlink(missing_ok=True)
        done = run(self.case.command(self.place), self.root, FAULT_COUNT=str(counts), **environment)
        return done, counts_in(counts)

    def unsynced(self):
        """What a run without faults writes or renames and has not synced before it publishes it, or at all."""
        log = self.root / "log"
        self.run_counted(FAULT_LOG=str(log))
        dirty, synced, wrong = set(), set(), set()
        for line in log.read_text().splitlines():
            what, inode = line.split()
            if what == "wrote":
                dirty.add(inode)
            elif what == "synced":
                done = set(dirty) if inode == "0" else {inode}
                synced, dirty = synced | done, dirty - done
            elif inode in dirty:
                wrong.add(inode)
        made = {str(path.stat().st_ino): path for path in (self.place / self.case.where).rglob("*")}
        made = {inode: path for inode, path in made.items() if self.is_made(path)}
        linked = {inode for inode, path in made.items() if path.is_file() and path.stat().st_nlink > 1}
        wrong |= dirty | made.keys() - linked - synced
        made[str((self.place / self.case.where).stat().st_ino)] = self.place
        return sorted(made[inode] for inode in wrong & made.keys())

    def is_made(self, path):
        name = os.fsencode(path.relative_to(self.place / self.case.where))
        return self.after.get(name, 0) != self.before.get(name, 0)

    def count(self):
        done, counts = self.run_counted()
        if done.returncode != 0:
            raise RuntimeError(f"{self.case.name}: {done.stderr.decode(errors='replace')}")
        return counts

    def faults(self):
        for group in self.case.groups:
            kinds = FAULTS[group]
            n = self.counts[group]
            step = max(1, n // ALLOCATIONS) if group == "alloc" else 1
            for at in range(1, n + 1, step):
                for what in kinds:
                    if what == "TERM" and not self.case.stops:
                        continue
                    yield Fault(group, at, what, False)
                    if what not in ("EINTR", "EEXIST", "KILL", "TORN", "TERM"):
                        yield Fault(group, at, what, True)

    def try_fault(self, fault):
        """How the program ended: "done", "refused", "killed" or "crashed"; "missed" when it did not reach the fault,
        since the number of its calls depends on its threads. Raises Violation."""
        done, counts = self.run_counted(**fault.environment())
        try:
            ended = self.check(fault, done)
            self.check_next(dead=ended in ("killed", "crashed"))
            if counts[fault.group] < fault.at:
                ended = "missed"
        except Violation as violation:
            text = (done.stdout + done.stderr).decode(errors="replace")
            raise Violation(f"{violation}\n  exit code {done.returncode}\n  {text.strip()[-600:]}") from None
        return ended

    def check(self, fault, done):
        now = self.case.published(self.place)
        if self.case.told_of_less(done):
            return "done"
        self.case.check_state(now, self.before, self.after)
        if done.returncode == -signal.SIGKILL and fault.kills:
            return "killed"
        if done.returncode == 0:
            if now != self.after:
                raise Violation(f"exit code 0 without the result: {difference(now, self.before, self.after)}")
            if left := self.case.left_over(self.place):
                raise Violation(f"exit code 0 and left over: {left[:3]}")
            return "done"
        if fault.what == "TERM":
            return self.check_stop(done, now)
        if fault.group == "alloc" and crashed_in(done):
            return "crashed"
        if done.returncode not in (1, 3):
            raise Violation("ended by a signal or with another code")
        if b"error: " not in done.stderr:
            raise Violation("an exit code without a word")
        if (fault.group, fault.what) in HARMLESS:
            raise Violation("ended by what it has to live with")
        return "refused"

    def check_stop(self, done, now):
        if done.returncode != TERMINATED or b"error: stopped" not in done.stderr:
            raise Violation("a stop is another error")
        if now == self.after and (self.case.one_step or b"nothing was published" in done.stderr):
            raise Violation("it says that it was stopped, and has done all")
        return "stopped"

    def check_next(self, dead):
        """`dead`: the program had no chance to clean up."""
        was_there = self.case.published(self.place) == self.after
        again = run(self.case.command(self.place))
        now = self.case.published(self.place)
        text = again.stderr.decode(errors="replace")
        if again.returncode != 0 and not (self.case.refuses and was_there and "already" in text):
            raise Violation(f"the next run ended with {again.returncode}: {text.strip()[-300:]}")
        if now != self.after:
            raise Violation(f"the next run made something else: {difference(now, self.before, self.after)}")
        left = [name for name in self.case.left_over(self.place) if self.case.one_step or not dead]
        if left:
            raise Violation(f"left over after the next run: {left[:3]}")
        self.case.check_end(self.place)


# ---- the cases

def make_source(folder, names, fields=False):
    for i, name in enumerate(names):
        target = folder / f"class-{i % 2}" / f"{i}{name.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(name, target)
        if fields:
            target.with_suffix(".json").write_text(f'{{"number": {i}}}')


def photos(number):
    return sorted(SHAPES.rglob("*.jpg"))[:number]


def make_large(folder):
    """Two pictures of 3 MiB: whole pieces bypass the page cache."""
    for i in range(2):
        target = folder / f"class-{i}" / f"{i}.ppm"
        target.parent.mkdir(parents=True)
        target.write_bytes(b"P6\n1024 1024\n255\n" + bytes([i]) * (3 << 20))


def pack_case(name, *options, make=lambda folder: make_source(folder, photos(6)), old=None, source="source"):
    def command(place):
        return (PACKHORSE, "pack", place.parent / "source" / source, place / "out", "--jobs", "2", *options)

    def prepare(place):
        make(place.parent / "source" / source)
        if old:
            old(place)
        else:
            (place / "beside").write_bytes(b"not ours")

    return Case(name, prepare, command, refuses="--overwrite" not in options)


def old_dataset(place):
    must(PACKHORSE, "pack", SHAPES / "val", place / "out", "--format", "lmdb", "--shard-samples", "20")


def make_archive(path):
    make_source(path.parent / "unpacked", photos(6))
    shutil.make_archive(str(path).removesuffix(".tar.gz"), "gztar", path.parent / "unpacked")


def packed(place, *options):
    make_source(place.parent / "source", photos(6))
    must(PACKHORSE, "pack", place.parent / "source", place / "packed", "--shard-samples", "2", *options)


def prepare_unpack(place):
    packed(place, "--format", "wds")


def prepare_foreign(place):
    """Foreign tars."""
    packed(place, "--format", "wds")
    for shard in sorted((place / "packed").glob("*.tar")):
        shard.rename(place / f"foreign-{shard.name}")
    shutil.rmtree(place / "packed")


def foreign_shards(place):
    return sorted(place.glob("foreign-*.tar"))


def prepare_export(place):
    prepare_foreign(place)
    must(PACKHORSE, "index", *foreign_shards(place))


def prepare_index_overwrite(place):
    """Adds the dataset of all shards but one beside them."""
    prepare_foreign(place)
    must(PACKHORSE, "index", *foreign_shards(place)[:-1])


def prepare_repair_copy(place):
    """Repairs from a dataset like it, whose files are copied."""
    prepare_repair(place)
    must(PACKHORSE, "pack", place.parent / "source", place.parent / "same", "--shard-samples", "2", "--format", "wds")


def prepare_repair(place):
    packed(place, "--format", "wds")
    for name in ("shard-000001.tar", "shard-000002.index", "classes.txt"):
        with open(place / "packed" / name, "r+b") as file:
            file.seek(5)
            file.write(b"\xff\xff")


def cases():
    two = ("--shard-samples", "2")
    fields = {"make": lambda folder: make_source(folder, photos(6), fields=True)}
    found = [
        pack_case("pack-wds", "--format", "wds", *two),
        pack_case("pack-wds-zstd", "--format", "wds", "--compress", "zstd", "--fields", "none", *two, **fields),
        pack_case("pack-lmdb", "--format", "lmdb", *two),
        pack_case("pack-lmdb-members", "--format", "lmdb-members", "--fields", "json", *two, **fields),
        pack_case("pack-hdf5", "--format", "hdf5", *two),
        pack_case("pack-hdf5-fields", "--format", "hdf5", "--fields", "json", *two, **fields),
        pack_case("pack-large", "--format", "wds", make=make_large),
        pack_case("pack-roi", "--format", "wds", "--image", "roi", *two),
        pack_case("pack-resize", "--format", "lmdb", "--image", "resize", "--short-side", "16", *two),
        pack_case("pack-raw", "--format", "hdf5", "--image", "raw", "--size", "16", *two),
        pack_case("pack-archive", "--format", "wds", *two, make=make_archive, source="a.tar.gz"),
        pack_case("pack-overwrite", "--format", "wds", "--overwrite", *two, old=old_dataset),
        Case(
            "unpack",
            prepare_unpack,
            lambda place: (PACKHORSE, "unpack", place / "packed", place / "out"),
            refuses=True,
        ),
        Case(
            "index",
            prepare_foreign,
            lambda place: (PACKHORSE, "index", *foreign_shards(place)),
            one_step=False,
            refuses=True,
        ),
        Case(
            "index-out",
            prepare_foreign,
            lambda place: (PACKHORSE, "index", *foreign_shards(place), "--out", place / "out"),
            refuses=True,
        ),
        Case(
            "index-overwrite",
            prepare_index_overwrite,
            lambda place: (PACKHORSE, "index", *foreign_shards(place), "--overwrite"),
            one_step=False,
        ),
        Case("export-index", prepare_export, lambda place: (PACKHORSE, "export-index", place), one_step=False),
        Case(
            "repair",
            prepare_repair,
            lambda place: (PACKHORSE, "repair", place / "packed", place.parent / "source"),
            one_step=False,
        ),
        Case(
            "repair-copy",
            prepare_repair_copy,
            lambda place: (PACKHORSE, "repair", place / "packed", place.parent / "same"),
            one_step=False,
        ),
    ]
    from distant_cases import distant_cases  # noqa: PLC0415: which is made of what is here

    return [*found, *distant_cases(), *([FitCase()] if TRAIN.exists() else [])]


# ---- the loop

class Tally:
    def __init__(self):
        self.lock = threading.Lock()
        self.ended = collections.Counter()  # (case, kind, how)
        self.violations = []

    def add(self, case, fault, how):
        kind = "kills" if fault.kills else "allocations" if fault.group == "alloc" else "faults"
        kind = "stops" if fault.what == "TERM" else kind
        with self.lock:
            self.ended[case, kind, how] += 1

    def counts(self, case, every):
        """A row of the table."""

        def count(kind, *hows):
            return sum(self.ended[case, kind, how] for how in hows or ENDS)

        return {
            "every": every,
            "faults": count("faults"),
            "faults that went on": count("faults", "done"),
            "faults refused": count("faults", "refused"),
            "kills": count("kills"),
            "stops": count("stops"),
            "allocations": count("allocations"),
            "allocations that went on": count("allocations", "done"),
            "allocations refused": count("allocations", "refused"),
            "crashes in libraries": count("allocations", "crashed"),
            "violations": sum(name == case for name, _, _ in self.violations),
        }

    def rows(self, every):
        return {case: self.counts(case, every) for case in sorted({case for case, _, _ in self.ended})}


def table(rows):
    """`rows`: from Tally.rows(), perhaps of several runs."""
    lines = [
        "| command | every | faults | went on | refused | kills | stops | allocations | went on | refused "
        "| crashes in libraries | **violations** |",
        "|" + "---|" * 12,
    ]
    for case, row in sorted(rows.items()):
        lines.append(f"| `{case}` | " + " | ".join(f"{cell:,}" for cell in row.values()) + " |")
    totals = [sum(row[name] for row in rows.values()) for name in next(iter(rows.values())) if name != "every"]
    lines.append("| all | | " + " | ".join(f"{cell:,}" for cell in totals) + " |")
    return "\n".join(lines)


class Choice:
    """A choice of cases, calls and faults by name; all of them when none is named."""

    def __init__(self, only):
        known = {case.name: case for case in cases()}
        kinds = {what for whats in FAULTS.values() for what in whats}
        if unknown := set(only) - known.keys() - set(GROUPS) - kinds:
            sys.exit(f"fault_loop: no case, call or fault: {', '.join(sorted(unknown))}\n  cases: {' '.join(sorted(known))}")
        self.cases = [known[name] for name in known if name in only or not set(only) & known.keys()]
        self.groups = set(only) & set(GROUPS) or set(GROUPS)
        self.kinds = set(only) & kinds or kinds

    def has(self, fault):
        return fault.group in self.groups and fault.what in self.kinds


def loop(scratch, only=(), stride=1, jobs=2, report=lambda line: None):
    """Runs every `stride`th fault of each chosen case. Returns the Tally."""
    choice = Choice(only)
    tally = Tally()

    def work(numbered):
        number, case = numbered
        bench = Bench(case, Path(scratch) / case.name)
        plan = [fault for fault in bench.faults() if choice.has(fault)]
        # Each case begins at another fault, so that together they see all kinds.
        for fault in plan[number * 7 % stride :: stride]:
            try:
                tally.add(case.name, fault, bench.try_fault(fault))
            except Violation as violation:
                tally.add(case.name, fault, "violation")
                with tally.lock:
                    tally.violations.append((case.name, fault, str(violation)))
                report(f"{case.name}: {fault}: {violation}")
        report(f"{case.name}: {len(plan[number * 7 % stride :: stride])} of {len(plan)} tried")
        shutil.rmtree(bench.root)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(work, enumerate(choice.cases)):
            pass
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--stride", type=int, default=1, help="only every Nth fault of each case")
    parser.add_argument("--only", default="", help="cases, calls and faults, separated by commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--scratch", help="where files are written (default: a folder in the system's place for them)")
    parser.add_argument("--write", type=Path, help="put the table into this file, between its marks, and the counts into counts.json")
    arguments = parser.parse_args()
    only = [name for name in arguments.only.split(",") if name]
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        tally = loop(scratch, only, arguments.stride, arguments.jobs, lambda line: print(line, flush=True))
    rows = tally.rows(arguments.stride)
    print(table(rows))
    if arguments.write:
        # Cases that were not run now keep the counts of their last run.
        rows = (json.loads(COUNTS.read_text()) if COUNTS.exists() else {}) | rows
        names = next(iter(tally.rows(arguments.stride).values()))
        rows = {case: {name: row.get(name, 0) for name in names} for case, row in rows.items()}
        COUNTS.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n")
        head, rest = arguments.write.read_text().split(MARKS[0])
        tail = rest.split(MARKS[1])[1]
        arguments.write.write_text(f"{head}{MARKS[0]}\n\n{table(rows)}\n\n{MARKS[1]}{tail}")
    return 1 if tally.violations else 0


if __name__ == "__main__":
    sys.exit(main())
