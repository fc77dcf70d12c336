"""What people read shards with today, each damage in a child process: a reader may crash, or never come back."""

import hashlib
import os
import signal
import tarfile
import tempfile
from collections import namedtuple
from pathlib import Path

import damages

SAME, NOTICED, WRONG = 0, 1, 2
SECONDS = 30


def with_tarfile(path):
    with tarfile.open(path) as tar:
        for member in tar:
            yield member.name, tar.extractfile(member).read()


def with_h5py(path):
    import h5py

    with h5py.File(path, "r") as file:
        offsets, labels, keys = file["images/offsets"][:], file["labels"][:], file["keys"][:]
        for i in range(len(labels)):
            image = file["images/data"][offsets[i] : offsets[i + 1]].tobytes()
            yield keys[i], image + str(int(labels[i])).encode()


def with_lmdb(path):
    import lmdb

    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        for key, value in txn.cursor():
            yield key, bytes(value)


Peer = namedtuple("Peer", "name read")


def of_format(form):
    """Its stock reader, where Python has one (3.11 has none for tar in zstd)."""
    found = {"wds": Peer("tarfile", with_tarfile), "hdf5": Peer("h5py", with_h5py)}
    found |= {name: Peer("py-lmdb", with_lmdb) for name in ("lmdb", "lmdb-members")}
    return [found[form]] if form in found else []


def versions():
    import platform

    import h5py
    import lmdb

    liblmdb = ".".join(map(str, lmdb.version()))
    return {
        "Python (tarfile)": platform.python_version(),
        "h5py": f"{h5py.__version__} (HDF5 {h5py.version.hdf5_version})",
        "py-lmdb": f"{lmdb.__version__} (LMDB {liblmdb})",
    }


def digest(samples):
    """Of names and bytes: any byte, order or number that is another gives another."""
    hasher = hashlib.sha256()
    for name, data in samples:
        name = name.encode(errors="surrogateescape") if isinstance(name, str) else name
        hasher.update(b"%d %d " % (len(name), len(data)) + name + data)
    return hasher.digest()


def in_child(peer, whole, damage, truth, scratch):
    """Starts the child that reads one damaged file."""
    pid = os.fork()
    if pid > 0:
        return pid
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries complain
    signal.alarm(SECONDS)
    code = NOTICED
    try:
        path = Path(scratch) / f"{os.getpid()}"
        path.write_bytes(damages.damaged(whole, damage))
        code = SAME if digest(peer.read(path)) == truth else WRONG
    except BaseException:  # whatever a reader raises, it noticed
        code = NOTICED
    finally:
        os._exit(code)


def judge(peer, dataset, plan, jobs):
    """Counts of damages by what the reader did: noticed, delivered all the same, delivered wrong bytes or lost samples
    without a word, crashed, hung."""
    files = {file: (dataset / file).read_bytes() for file in damages.shards(dataset)}
    count = dict.fromkeys(["noticed", "same", "wrong", "crashed", "hung"], 0)
    with tempfile.TemporaryDirectory(dir=dataset.parent) as scratch:
        truth = {}
        for file, data in files.items():  # from children too: HDF5 and LMDB must not be at work when we fork
            truth[file] = truth_of(peer, data, Path(scratch))
        running = set()
        for damage in [*plan, *[None] * jobs]:
            if damage is not None:
                running.add(in_child(peer, files[damage.file], damage, truth[damage.file], scratch))
            if running and (damage is None or len(running) >= jobs):
                pid, status = os.wait()
                running.discard(pid)
                count[outcome(status)] += 1
                (Path(scratch) / f"{pid}").unlink(missing_ok=True)
    return count


def truth_of(peer, data, scratch):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        (scratch / "whole").write_bytes(data)
        os.write(writer, digest(peer.read(scratch / "whole")))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        truth = pipe.read()
    os.waitpid(pid, 0)
    if not truth:
        raise SystemExit(f"{peer.name} cannot read a whole shard")
    return truth


def outcome(status):
    if os.WIFSIGNALED(status):
        return "hung" if os.WTERMSIG(status) == signal.SIGALRM else "crashed"
    return {SAME: "same", NOTICED: "noticed", WRONG: "wrong"}[os.WEXITSTATUS(status)]
