"""Code shared by the tests that drive the programs from outside: running them, sources, damage, comparisons.

PACKHORSE_BIN is the folder of the programs, PACKHORSE_ROOT the project's root, PACKHORSE_TEST_DATA a folder with
imagenet/imagenet200/, cifar10/{train,test}/ and the archives those come in; tests on those skip without it.
"""

import contextlib
import fcntl
import hashlib
import itertools
import json
import os
import pty
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import termios
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("PACKHORSE_ROOT", Path(__file__).resolve().parent.parent))
BIN = Path(os.environ.get("PACKHORSE_BIN", ROOT / "build/release/bin"))
PACKHORSE = BIN / "packhorse"
TRAIN = BIN / "packhorse-train"
SHAPES = ROOT / "samples/shapes"
BROKEN = ROOT / "samples/broken"
FORMATS = ["wds", "lmdb", "hdf5"]
LAYOUTS = ["wds", "lmdb", "lmdb-members", "hdf5"]
CARRIERS = ["wds", "lmdb-members", "hdf5"]  # of extra fields

DONE, FAILED, USAGE, DAMAGE, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143

# On a slow machine a run lasts ten seconds; then it prints its progress.
PROGRESS = re.compile(rb"^(packing|indexing|verifying|unpacking|decoding|comparing|repairing): .*\n", re.M)


class Result:
    """How a program ended, and the text it wrote; bytes that are not UTF-8 are escaped."""

    def __init__(self, code, out, err):
        self.code = code
        self.raw = out
        self.out = out.decode(errors="backslashreplace")
        self.err = PROGRESS.sub(b"", err).decode(errors="backslashreplace")

    @property
    def json(self):
        """The one JSON object on stdout; fails for more than one, or for anything beside it."""
        value = json.loads(self.raw)
        assert isinstance(value, dict)
        return value

    def __repr__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out}--- stderr\n{self.err}"


def run(*args, cwd=None, prefix=()):
    done = subprocess.run(
        [*prefix, PACKHORSE, *args], cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    return Result(done.returncode, done.stdout, done.stderr)


def packhorse(*args, cwd=None, prefix=()):
    """Runs the program, which must succeed and print nothing on stderr."""
    result = run(*args, cwd=cwd, prefix=prefix)
    assert result.code == DONE and result.err == "", result
    return result


def run_unprivileged(*args, cwd):
    """As run(), for whom access rights are checked: root may read and write anything."""
    user = 65534 if os.geteuid() == 0 else None
    try:
        done = subprocess.run([PACKHORSE, *args], user=user, cwd=cwd, capture_output=True, check=False)
    except PermissionError:
        pytest.skip("another user cannot run the program from here")
    return Result(done.returncode, done.stdout, done.stderr)


def run_on_small_disk(size, place, *args):
    """Runs while a disk of `size` (as `mount -o size=` takes it) is mounted at `place`, which nobody else sees."""
    mount = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o size={size} tmpfs "$0" && exec "$@"', place]
    tried = subprocess.run([*mount, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"cannot mount a small disk: {tried.stderr.strip()}")
    return run(*args, prefix=mount)


def run_closed(make, closed, *args):
    """Runs beside `source`, which make(root) makes, for a user who may not look into `closed` in it."""
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o777)
        source = Path(scratch) / "source"
        make(source)
        mode = (source / closed).stat().st_mode
        (source / closed).chmod(0)
        try:
            result = run_unprivileged(*args, cwd=scratch)
        finally:
            (source / closed).chmod(mode)
        assert result.code == DONE or not (Path(scratch) / "out").exists(), result
        return result


def pack_closed(make, closed, *options):
    return run_closed(make, closed, "pack", "source", "out", "--format", "wds", "--json", *options)


def train(*args, cwd=None):
    """Runs packhorse-train."""
    done = subprocess.run([TRAIN, *map(str, args)], cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def refused(*args, code=FAILED, cwd=None, prefix=()):
    """Runs the program, which must end with `code`, give the reason on stderr, and write nothing to stdout."""
    result = run(*args, cwd=cwd, prefix=prefix)
    assert result.code == code and result.out == "" and result.err != "", result
    return result


def pack(source, out, *options):
    return packhorse("pack", source, out, "--json", *options).json


def balanced(report):
    return report["seen"] == report["packed"] + report["rejected"] + report["skipped"]


def rejects_of(report):
    """path -> reason"""
    return {reject["path"]: reject["reason"] for reject in report["rejects"]}


STARTED = []


def start(*args, cwd=None):
    process = subprocess.Popen(
        [PACKHORSE, *args], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    STARTED.append(process)
    return process


def end_all_started():
    """Ends processes that a failed test left running or halted."""
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            process.kill()
            process.communicate()


def free_ports(count=1):
    """The first of so many neighbouring ports that nobody uses, and that the kernel gives nobody by chance."""
    # The kernel's begin above; training in a Slurm takes those from 20000 on.
    for first in range(12000 + os.getpid() % 700 * 10, 20000, count):
        with contextlib.ExitStack() as made, contextlib.suppress(OSError):
            for port in range(first, first + count):
                made.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
    raise RuntimeError("no free ports")


def finish(process, timeout=120):
    out, err = process.communicate(timeout=timeout)
    return Result(process.returncode, out, err)


def listed(dataset):
    """One dictionary for each sample, in stored order."""
    return packhorse("inspect", dataset, "--list", "--json").json["samples"]


def paths(dataset):
    """The paths of the samples in the source, in stored order."""
    return [sample["path"] for sample in listed(dataset)]


def shards_of(dataset):
    return [dataset / shard["file"] for shard in packhorse("inspect", dataset, "--json").json["shards"]]


def staging(out):
    return Path(f"{out}.partial")


def photo(number=0):
    """The bytes of a sample picture, a different one for each number."""
    return sorted(SHAPES.rglob("*.jpg"))[number].read_bytes()


def put(path, content=None):
    """Writes a file and its parent folders: `bytes`, text, or a picture when neither is given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(photo() if content is None else content if isinstance(content, bytes) else content.encode())
    return path


def photos(name):
    """A folder of real photos, or a skip that says which one is missing."""
    data = os.environ.get("PACKHORSE_TEST_DATA", "")
    path = Path(data) / name
    if not data or not path.is_dir():
        import pytest  # imported here: the fault loop and make_hostile run without it

        pytest.skip(f"PACKHORSE_TEST_DATA has no {name}")
    return path


def tree(path, only=lambda name: True):
    """Everything below `path`: relative path (bytes, as names may be anything) -> SHA-256, or None for a folder."""
    root = os.fsencode(path)
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders:
            found[os.path.relpath(os.path.join(folder, name), root)] = None
        for name in files:
            if not only(name):
                continue
            full = os.path.join(folder, name)
            with open(full, "rb") as file:
                found[os.path.relpath(full, root)] = hashlib.sha256(file.read()).hexdigest()
    assert found, path
    return found


def files_of(dataset):
    return sorted(str(p.relative_to(dataset)) for p in Path(dataset).rglob("*") if p.is_file())


def make_source(path, images, classes=4):
    """A folder of `images` sample pictures, all different: each has its own bytes after its end."""
    originals = sorted(SHAPES.rglob("*.jpg"))[:40]
    for i, original in zip(range(images), itertools.cycle(originals)):
        target = Path(path) / f"class-{i * classes // images}" / f"{i:06}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(original.read_bytes() + i.to_bytes(4, "little"))
    return Path(path)


def copy_tree(source, target):
    shutil.copytree(source, target)
    return Path(target)


def flip_byte(path, offset, mask=0xFF):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ mask]))


def truncate(path, size):
    os.truncate(path, size)


def on_terminal(*args, columns=60, **environment):
    """The bytes that a terminal of `columns` columns receives."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    with subprocess.Popen(
        [PACKHORSE, *args],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        env={**plain, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment},
    ) as process:
        os.close(follower)
        sent = b""
        try:
            while piece := os.read(leader, 65536):
                sent += piece
        except OSError:  # the other end was closed
            pass
        os.close(leader)
        assert process.wait() == DONE
    return sent.decode().replace("\r\n", "\n")
