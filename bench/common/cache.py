"""The page cache before a run: all of a folder in it, or nothing of it."""

import os
import subprocess
from pathlib import Path

from common.data import files_below

DROP = Path("/proc/sys/vm/drop_caches")
PAGES_AND_NAMES = "3"


def warm(path):
    """Reads every file once."""
    buffer = bytearray(1 << 20)
    for file in files_below(path):
        descriptor = os.open(file, os.O_RDONLY)
        while os.readv(descriptor, [buffer]):
            pass
        os.close(descriptor)


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
