"""The memory of a run while it lasts, all its processes together.

    with MemoryWatch(pid) as watch: ...
    watch.own, watch.mapped

A page that several processes share counts once (PSS). Looked at every so often from outside, so that programs in any
language are measured alike; what lasts for less can be missed. A look at the three processes of a DataLoader takes
25 ms of CPU time, so that looking more often would be felt.
"""

import re
import threading

from common.usage import processes, tree_of

FIRST, EVERY = 0.3, 2.0  # seconds
FIELDS = re.compile(r"^Pss_(Anon|File|Shmem): +(\d+) kB", re.M)


def memory_of(pid):
    """(bytes of its own, bytes of mapped files) of a process; nothing of one that has ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            found = {name: int(kib) * 1024 for name, kib in FIELDS.findall(file.read())}
    except OSError:
        return 0, 0
    return found.get("Anon", 0) + found.get("Shmem", 0), found.get("File", 0)


class MemoryWatch:
    """The largest sums over all that stems from a process, without the process itself, which is measure.py's."""

    def __init__(self, pid):
        self.pid = pid
        self.own = self.mapped = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look_on, daemon=True)

    def look_on(self):
        wait = FIRST
        while not self.over.wait(wait):
            self.look()
            wait = EVERY

    def look(self):
        tree = [pid for pid in tree_of(self.pid, processes()) if pid != self.pid]
        sums = [sum(values) for values in zip(*map(memory_of, tree))] or [0, 0]
        self.own, self.mapped = max(self.own, sums[0]), max(self.mapped, sums[1])

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
