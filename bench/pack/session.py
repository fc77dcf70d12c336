"""A suite of the packing bench: every run is on a cache in the same state and into an empty folder."""

import dataclasses
import shutil

from common import cache
from common.data import MAKERS, require_space
from common.measure import Failed, run, sync
from common.session import Session, say
from contenders import samples_in

WARM_SHARE = 0.05  # of its folder a warm run may read this from the disk, as a kernel may take pages back at any time
COLD_SHARE = 0.90  # and a cold run must read this
ATTEMPTS = 3


class PackSession(Session):
    """One suite on this machine. Not for more than one thread."""

    def __init__(self, suite, settings):
        super().__init__(suite, settings)
        where = settings.places.memory if suite.place == "memory" else settings.places.data
        self.work = where / "work"

    def make(self, entry):
        key = (entry.data, entry.count)
        if key not in self.folders:
            say(f"{self.suite.name}: folder: {entry.data}, {self.scaled(entry.count):,} files")
            self.folders[key] = MAKERS[entry.data](self.settings.places, self.scaled(entry.count))

    def made(self):
        most = max(self.folders.values(), key=lambda folder: folder.bytes, default=None)
        if most:
            require_space(self.work.parent, 1.6 * most.bytes + 3072 * most.files, "the output")

    def folder(self, entry):
        return self.folders[entry.data, entry.count]

    def words(self, run):
        return (
            f"{run['seconds']:.2f} s ({run['sync_seconds']:.2f} s of it sync), {run['cpu_seconds']:.2f} CPU s,"
            f" {run['max_rss_bytes'] >> 20} MiB, {run['read_bytes'] >> 20} MiB read,"
            f" {run['foreign_cpus']:.2f} cores busy with other things"
        )

    def measured(self, entry):
        """A run whose cache was in the state asked for, as the bytes it read from the disk prove, or one marked so."""
        for _ in range(ATTEMPTS):
            cost = self.one_run(entry)
            cost.cache_as_asked = self.cache_was_right(entry, cost)
            if cost.cache_as_asked:
                break
            say(f"{self.suite.name}: {entry.name}: {cost.read_bytes:,} bytes from the disk: not {self.suite.cache}")
        return dataclasses.asdict(cost)

    def cache_was_right(self, entry, cost):
        if self.suite.cache == "warm":
            return cost.read_bytes <= WARM_SHARE * self.folder(entry).disk_bytes
        return self.suite.cache == "any" or cost.read_bytes >= COLD_SHARE * self.folder(entry).disk_bytes

    def one_run(self, entry):
        self.empty()
        tools, out = self.settings.tools, self.work / "out"
        if self.suite.cache == "warm" and self.suite.place == "disk":
            cache.warm(self.folder(entry).path)
        elif self.suite.cache == "cold":
            cache.cool(self.folder(entry).path, entry.contender.woken(tools))
        command = entry.contender.command(tools, self.folder(entry).path, out)
        cost, printed = run(command, self.work, self.settings.timeout, entry.contender.waits)
        cost.samples = samples_in(entry.contender, tools, out, printed)
        if cost.samples != self.folder(entry).files:
            raise Failed(f"wrote {cost.samples:,} of {self.folder(entry).files:,} samples")
        cost.output_bytes = sum(f.stat().st_size for f in [out, *out.rglob("*")] if f.is_file())
        return cost

    def empty(self):
        for path in (self.work, self.settings.tools.scratch):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
        sync(self.work)

    def clear(self):
        for path in (self.work, self.settings.tools.scratch):
            shutil.rmtree(path, ignore_errors=True)
        if self.suite.place == "memory":
            shutil.rmtree(self.settings.places.memory, ignore_errors=True)

    def facts(self):
        return {"place": self.suite.place, "jobs": self.settings.tools.jobs}
