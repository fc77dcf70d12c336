"""Runs a suite: its contenders take turns, A B C A B C, on a cache in the same state and into an empty folder."""

import dataclasses
import shutil
import sys
from pathlib import Path

import cache
from contenders import Tools, samples_in
from data import MAKERS, CannotMake, Places, require_space
from measure import Failed, run, sync
from rows import row_of

WARM_SHARE = 0.05  # of its folder a warm run may read this from the disk, as a kernel may take pages back at any time
COLD_SHARE = 0.90  # and a cold run must read this
ATTEMPTS = 3


@dataclasses.dataclass(frozen=True)
class Settings:
    places: Places
    tools: Tools
    repeats: int = 3
    timeout: float = 900
    scale: float = 1.0  # of the number of files
    only: tuple = ()  # names of contenders; empty: all


def say(*words):
    print(*words, file=sys.stderr, flush=True)


class Session:
    """One suite on this machine. Not for more than one thread."""

    def __init__(self, suite, settings):
        self.suite, self.settings = suite, settings
        where = settings.places.memory if suite.place == "memory" else settings.places.data
        self.work = where / "work"
        self.folders = {}  # of each (data, count): what data.py made
        self.entries = {}

    def run(self):
        """The suite in JSON."""
        try:
            self.prepare()
            for repeat in range(self.settings.repeats):
                for entry in self.suite.entries:
                    if entry.name in self.entries and not self.entries[entry.name]["failed"]:
                        self.turn(entry, repeat)
        finally:
            self.clear()
        return self.report()

    def prepare(self):
        """Decides who takes part, and makes the folders."""
        for entry in self.suite.entries:
            if self.is_left_out(entry.name):
                continue
            reason = entry.contender.missing(self.settings.tools)
            self.entries[entry.name] = {"command": entry.contender.shown, "failed": reason, "runs": []}
            if reason:
                say(f"{self.suite.name}: {entry.name}: not measured: {reason}")
            else:
                self.make_folder(entry)
        most = max(self.folders.values(), key=lambda folder: folder.bytes, default=None)
        if most:
            require_space(self.work.parent, 1.6 * most.bytes + 3072 * most.files, "the output")

    def is_left_out(self, name):
        return bool(self.settings.only) and name not in self.settings.only

    def make_folder(self, entry):
        key = (entry.data, entry.count)
        if key not in self.folders:
            say(f"{self.suite.name}: folder: {entry.data}, {self.scaled(entry.count):,} files")
            self.folders[key] = MAKERS[entry.data](self.settings.places, self.scaled(entry.count))

    def scaled(self, count):
        return max(1, round(count * self.settings.scale))

    def folder(self, entry):
        return self.folders[entry.data, entry.count]

    def turn(self, entry, repeat):
        try:
            cost = self.checked_run(entry)
        except Failed as failure:
            self.entries[entry.name]["failed"] = str(failure)
            say(f"{self.suite.name}: {entry.name}: failed: {failure}")
            return
        self.entries[entry.name]["runs"].append(dataclasses.asdict(cost))
        say(
            f"{self.suite.name} {repeat + 1}/{self.settings.repeats}: {entry.name}: {cost.seconds:.2f} s"
            f" ({cost.sync_seconds:.2f} s of it sync), {cost.cpu_seconds:.2f} CPU s, {cost.max_rss_bytes >> 20} MiB,"
            f" {cost.read_bytes >> 20} MiB read, {cost.foreign_cpus:.2f} cores busy with other things"
        )

    def checked_run(self, entry):
        """A run whose cache was in the state asked for, as the bytes it read from the disk prove, or one marked so."""
        for _ in range(ATTEMPTS):
            cost = self.one_run(entry)
            cost.cache_as_asked = self.cache_was_right(entry, cost)
            if cost.cache_as_asked:
                break
            say(f"{self.suite.name}: {entry.name}: {cost.read_bytes:,} bytes from the disk: not {self.suite.cache}")
        return cost

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

    def report(self):
        return {
            "name": self.suite.name,
            "title": self.suite.title,
            "cache": self.suite.cache,
            "place": self.suite.place,
            "repeats": self.settings.repeats,
            "jobs": self.settings.tools.jobs,
            "scale": self.settings.scale,
            "only": list(self.settings.only),
            "folders": [
                {"data": data, "files": folder.files, "bytes": folder.bytes}
                for (data, _), folder in self.folders.items()
            ],
            "entries": [{"name": name, **entry} for name, entry in self.entries.items()],
            "rows": [
                row_of(row, self.entries)
                for row in self.suite.rows
                if not any(self.is_left_out(name) for name in (row.subject, row.against) if name)
            ],
        }


def failed(suite, settings, reason):
    """The report of a suite that could not begin."""
    session = Session(suite, settings)
    for entry in suite.entries:
        session.entries[entry.name] = {"command": entry.contender.shown, "failed": reason, "runs": []}
    return session.report()


def run_suite(suite, settings):
    try:
        return Session(suite, settings).run()
    except CannotMake as reason:
        say(f"{suite.name}: not measured: {reason}")
        return failed(suite, settings, str(reason))
