"""What people read shards with today, each damage in a child process: a reader may crash, or never come back."""

import hashlib
import os
import platform
import signal
import tarfile
import tempfile
from pathlib import Path

import damages

SAME, NOTICED, WRONG = 0, 1, 2
OUTCOMES = {SAME: "same", NOTICED: "noticed", WRONG: "wrong"}
SECONDS = 30


def with_tarfile(path):
    with tarfile.open(path) as tar:
        for member in tar:
            yield member.name.encode(errors="surrogateescape"), tar.extractfile(member).read()


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


# The stock reader of a format, where Python has one (3.11 has none for tar in zstd).
READERS = {
    "wds": ("tarfile", with_tarfile),
    "lmdb": ("py-lmdb", with_lmdb),
    "lmdb-members": ("py-lmdb", with_lmdb),
    "hdf5": ("h5py", with_h5py),
}


def versions():
    import h5py
    import lmdb

    return {
        "Python (tarfile)": platform.python_version(),
        "h5py": f"{h5py.__version__} (HDF5 {h5py.version.hdf5_version})",
        "py-lmdb": f"{lmdb.__version__} (LMDB {'.'.join(map(str, lmdb.version()))})",
    }


def digest(samples):
    """Of names and bytes: any byte, order or number that is another gives another."""
    hasher = hashlib.sha256()
    for name, data in samples:
        hasher.update(b"%d %d " % (len(name), len(data)) + name + data)
    return hasher.digest()


def in_child(read, data, truth, scratch):
    """Starts the child that reads one file; how it ends is the outcome. HDF5 and LMDB are at work in children alone."""
    pid = os.fork()
    if pid > 0:
        return pid
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries complain
    signal.alarm(SECONDS)
    code = NOTICED  # whatever a reader raises, it noticed
    try:
        path = scratch / f"{os.getpid()}"
        path.write_bytes(data)
        found = digest(read(path))
        if truth.exists():
            code = SAME if found == truth.read_bytes() else WRONG
        else:
            truth.write_bytes(found)
            code = SAME
    finally:
        os._exit(code)


def outcome(status):
    if os.WIFSIGNALED(status):
        return "hung" if os.WTERMSIG(status) == signal.SIGALRM else "crashed"
    return OUTCOMES[os.WEXITSTATUS(status)]


def judge(form, dataset, plan, jobs):
    """Counts of damages by what the reader did: noticed, delivered all the same, delivered wrong bytes or lost samples
    without a word, crashed, hung."""
    name, read = READERS[form]
    files = {file: (dataset / file).read_bytes() for file in damages.shards(dataset)}
    count = dict.fromkeys(["noticed", "same", "wrong", "crashed", "hung"], 0)
    with tempfile.TemporaryDirectory(dir=dataset.parent) as folder:
        scratch = Path(folder)
        truths = {file: scratch / f"truth-{number}" for number, file in enumerate(files)}
        for file, data in files.items():
            os.waitpid(in_child(read, data, truths[file], scratch), 0)
            if not truths[file].exists():
                raise SystemExit(f"{name} cannot read a whole shard")
        running = 0
        for damage in [*plan, *[None] * jobs]:
            if damage is not None:
                in_child(read, damages.damaged(files[damage.file], damage), truths[damage.file], scratch)
                running += 1
            if running and (damage is None or running >= jobs):
                pid, status = os.wait()
                running -= 1
                count[outcome(status)] += 1
                (scratch / f"{pid}").unlink(missing_ok=True)
    return {"name": name, **count}
