"""Runs a suite: its entries take turns, A B C A B C, each by itself."""

import collections
import dataclasses
import shutil
import sys
from pathlib import Path

from common import cache
from common.data import MAKERS, CannotMake, Places, files_below
from common.inputs import AsIs, Kit
from common.measure import Failed, run
from common.rows import row_of

WARM_SHARE = 0.05  # of its input a warm run may read this from the disk, as a kernel may take pages back at any time
COLD_SHARE = 0.90  # and a cold run must read this
ATTEMPTS = 3  # something else may touch the files meanwhile
NOT_COLD = ("not cold", "cannot be made cold")  # as packhorse says it


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a run was asked to do; `tools` is what a bench's commands are made of."""

    places: Places
    tools: object
    repeats: int = 3
    timeout: float = 900
    scale: float = 1.0  # of the number of files
    only: tuple = ()  # names of contenders; empty: all
    options: object = None  # of the command line, for those that a bench adds


def say(*words):
    print(*words, file=sys.stderr, flush=True)


class Session:
    """One suite on this machine; a bench says what a run is in the report. Not for more than one thread."""

    round = 0
    watch = None  # a context manager to be in during a run (measure.py)

    def __init__(self, suite, settings):
        self.suite, self.settings = suite, settings
        self.work = settings.places.data / "work"
        self.folders = {}  # of each (data, count): what data.py made
        self.kits, self.class_files = {}, {}  # of each (data, count)
        self.inputs = {}  # of each entry: a path
        self.entries = {}

    # What a bench may do otherwise.

    def made(self):
        """After all entries have what they read."""

    def cache_as_asked(self, entry):
        """Puts the input into the page cache or out of it, as the suite has it."""
        if self.suite.cache == "cold":
            # Names matter in a folder of many files only; dropping them takes the pages of all other programs, too.
            wake = entry.contender.woken(self.settings.tools)
            cache.cool(self.inputs[entry.name], wake, names=isinstance(entry.form, AsIs))
        elif self.suite.cache == "warm":
            cache.warm(self.inputs[entry.name])

    def run_of(self, entry, cost, figures):
        """A run as a dictionary for the report, with `cache_as_asked`."""
        raise NotImplementedError

    def words(self, run):
        """A run in a line."""
        memory = f", {run['max_rss_bytes'] >> 20} MiB" if "max_rss_bytes" in run else ""
        figure = f"{run[self.suite.field]:,.4g} {self.suite.unit}"
        return f"{figure}{memory}, {run['foreign_cpus']:.2f} cores busy with other things"

    def facts(self):
        """What the report says of the suite beside what all benches say."""
        return {}

    # What all have in common.

    def make(self, entry):
        """Makes what the entry reads. May raise CannotMake, which ends the suite, or Failed, which ends the entry."""
        key, count = (entry.data, entry.count), self.scaled(entry.count)
        if key not in self.kits:
            say(f"{self.suite.name}: folder: {entry.data}, {count:,} files")
            self.folders[key] = MAKERS[entry.data](self.settings.places, count)
            self.kits[key] = Kit(self.folders[key], self.settings.tools, self.work)
        self.inputs[entry.name] = self.kit(entry).path(entry.form)

    def kit(self, entry):
        return self.kits[entry.data, entry.count]

    def folder(self, entry):
        return self.folders[entry.data, entry.count]

    def measured(self, entry):
        """A run whose cache was in the state asked for, as the bytes it read from the disk prove, or one marked so."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                found = self.one_run(entry)
            except Failed as failure:
                if attempt == ATTEMPTS or not any(words in str(failure) for words in NOT_COLD):
                    raise
                say(f"{self.suite.name}: {entry.name}: {failure}")
                continue
            if found["cache_as_asked"]:
                break
            say(f"{self.suite.name}: {entry.name}: what it read from the disk says: not {self.suite.cache}")
        return found

    def one_run(self, entry):
        tools, out = self.settings.tools, self.work / "out"
        command = entry.contender.command(tools, self.inputs[entry.name], out, self.folder(entry).path, self.round)
        self.cache_as_asked(entry)
        cost, printed = run(command, self.work, self.settings.timeout, entry.contender.waits, self.watch)
        figures = entry.contender.figures(printed, tools, out)
        self.require_all(entry, figures)
        return self.run_of(entry, cost, figures)

    def require_all(self, entry, figures):
        """Each sample once, as far as what a contender says of them tells."""
        wanted = entry.samples or self.folder(entry).files
        if figures.get("samples", wanted) != wanted:
            raise Failed(f"{figures['samples']:,} of {wanted:,} samples")
        labels = figures.pop("labels", None)
        if labels and labels != self.labels(entry):
            raise Failed("read other samples than there are: some labels come too often")

    def labels(self, entry):
        """How many files each class has, in the order of their names."""
        key, path = (entry.data, entry.count), self.folder(entry).path
        if key not in self.class_files:
            counts = collections.Counter(Path(file).relative_to(path).parts[0] for file in files_below(path))
            self.class_files[key] = [counts[name] for name in sorted(counts)]
        return self.class_files[key]

    def cache_was_right(self, read, size):
        """By the bytes that came from the disk, of those of the input."""
        if self.suite.cache == "warm":
            return read <= WARM_SHARE * size
        return self.suite.cache == "any" or read >= COLD_SHARE * size

    def run(self):
        """The suite in JSON."""
        try:
            self.empty(self.work, self.settings.tools.scratch)
            self.prepare()
            for repeat in range(self.settings.repeats):
                for entry in self.suite.entries:
                    if entry.name in self.entries and not self.entries[entry.name]["failed"]:
                        self.turn(entry, repeat)
        finally:
            self.clear()
        return self.report()

    def prepare(self):
        """Decides who takes part, and makes what they read."""
        for entry in self.taking_part():
            reason = entry.contender.missing(self.settings.tools)
            self.entries[entry.name] = {"command": entry.contender.shown, "failed": reason, "runs": []}
            if reason:
                say(f"{self.suite.name}: {entry.name}: not measured: {reason}")
            else:
                say(f"{self.suite.name}: input of {entry.name}")
                self.attempt(entry, self.make)
        self.made()

    def turn(self, entry, repeat):
        self.round = repeat
        run = self.attempt(entry, self.measured)
        if run:
            self.entries[entry.name]["runs"].append(run)
            say(f"{self.suite.name} {repeat + 1}/{self.settings.repeats}: {entry.name}: {self.words(run)}")

    def attempt(self, entry, work):
        try:
            return work(entry)
        except Failed as failure:
            self.entries[entry.name]["failed"] = str(failure)
            say(f"{self.suite.name}: {entry.name}: failed: {failure}")

    def taking_part(self):
        return [entry for entry in self.suite.entries if not self.settings.only or entry.name in self.settings.only]

    def scaled(self, count):
        return max(1, round(count * self.settings.scale))

    def empty(self, *folders):
        for path in folders:
            self.remove(path)
            path.mkdir(parents=True)

    def remove(self, path):
        shutil.rmtree(path, ignore_errors=True)

    def clear(self):
        """Removes what was made for the suite, in whatever state it is."""
        for path in (self.work, self.settings.tools.scratch):
            self.remove(path)

    def fail_all(self, reason):
        """The report of a suite that could not begin."""
        for entry in self.taking_part():
            self.entries[entry.name] = {"command": entry.contender.shown, "failed": reason, "runs": []}
        return self.report()

    def report(self):
        rows = [row.among(self.entries) for row in self.suite.rows]
        return {
            "name": self.suite.name,
            "title": self.suite.title,
            "cache": self.suite.cache,
            "unit": self.suite.unit,
            "field": self.suite.field,
            "side": self.suite.side,
            "jobs": self.settings.tools.jobs,
            **self.facts(),
            "repeats": self.settings.repeats,
            "scale": self.settings.scale,
            "only": list(self.settings.only),
            "folders": [
                {"data": data, "files": folder.files, "bytes": folder.bytes}
                for (data, _), folder in self.folders.items()
            ],
            "entries": [{"name": name, **entry} for name, entry in self.entries.items()],
            "rows": [row_of(row, self.entries) for row in rows if all(name in self.entries for name in row.names())],
        }


def run_suite(session):
    try:
        return session.run()
    except CannotMake as reason:
        say(f"{session.suite.name}: not measured: {reason}")
        return session.fail_all(str(reason))
