"""The page cache before a run: all of a folder in it, or nothing of it."""

import contextlib
import fcntl
import os
import resource
import subprocess
from pathlib import Path

from common.data import files_below

DROP = Path("/proc/sys/vm/drop_caches")
PAGES_AND_NAMES = "3"
PAGE = os.sysconf("SC_PAGE_SIZE")
PIPE_BYTES = 1 << 20  # what a pipe may hold without special rights


def warm(path):
    """Reads every file once."""
    buffer = bytearray(1 << 20)
    for file in files_below(path):
        descriptor = os.open(file, os.O_RDONLY)
        while os.readv(descriptor, [buffer]):
            pass
        os.close(descriptor)


class Pipes:
    """As many as it takes to hold any number of pages."""

    def __init__(self):
        self.ends = []
        self.room = 0  # pages of the last one

    def take(self, file):
        """Raises OSError where there may be no more pipes."""
        descriptor = os.open(file, os.O_RDONLY)
        try:
            while taken := self.splice(descriptor):
                self.room -= -(-taken // PAGE)
        finally:
            os.close(descriptor)

    def splice(self, descriptor):
        if self.room == 0:
            self.ends += os.pipe()
            self.room = fcntl.fcntl(self.ends[-1], fcntl.F_SETPIPE_SZ, PIPE_BYTES) // PAGE
        return os.splice(descriptor, self.ends[-1], self.room * PAGE, flags=os.SPLICE_F_NONBLOCK)

    def close(self):
        for end in self.ends:
            os.close(end)


@contextlib.contextmanager
def held(path):
    """Keeps a folder's pages in the page cache; gives whether that may be done, which above 64 MiB takes root.

    A kernel may take pages away that nobody has read for a while. Pages that lie in a pipe, too, stay. Locking them
    (mlock) would have to map them, and half of each page that a contender maps would then be ours (PSS).
    """
    pipes = Pipes()
    try:
        yield take_all(pipes, path)
    finally:
        pipes.close()


def take_all(pipes, path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        for file in files_below(path):
            pipes.take(file)
    except OSError:
        return False
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))  # a contender has what it had
    return True


def cool(path, wake, names=True):
    """Puts a folder's pages out of memory, and with `names`, for root, all directories and inodes of the machine too.

    `wake` is a command that brings the contender's own program back: a cold source is measured, not a cold program.
    """
    os.sync()  # a page not yet written stays
    for file in files_below(path):
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
    if names and can_drop_names():
        DROP.write_text(PAGES_AND_NAMES)
    subprocess.run(wake, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def can_drop_names():
    return os.geteuid() == 0 and os.access(DROP, os.W_OK)
