"""A suite of this bench: every contender reads the form of the folder that suits it, in a process of its own."""

import collections
import contextlib
import dataclasses
import math
import shutil
from pathlib import Path

from common import cache
from common.data import MAKERS, files_below, measured
from common.inputs import AsIs, Kit
from common.measure import Failed, run
from common.memory import MemoryWatch
from common.session import Session, say

WARM_SHARE = 0.05  # of what a warm pass reads, it may have this from the disk
COLD_SHARE = 0.90  # and a cold pass must have this
ATTEMPTS = 3
NOT_COLD = ("not cold", "cannot be made cold")  # as packhorse says it

VERIFIED = 1000  # photos at most, no multiple of the batch
COLOURS_ALIKE, RED_BLUE_ALIKE = 0.8, 0.5  # correlations with the original; of wrong labels, about 0
DEVIATIONS = 5  # standard ones, by which the share of flipped pictures may differ from a half


class FormSession(Session):
    """Makes what the entries read, each form once. Not for more than one thread."""

    def __init__(self, suite, settings):
        super().__init__(suite, settings)
        self.work = settings.places.data / "peers-work"
        self.kits = {}  # of each (data, count)
        self.inputs = {}  # of each entry: a path
        self.clear()
        for path in (self.work, settings.tools.scratch):
            path.mkdir(parents=True)

    def make(self, entry):
        key = (entry.data, entry.count)
        if key not in self.kits:
            say(f"{self.suite.name}: folder: {entry.data}, {self.scaled(entry.count):,} files")
            self.folders[key] = MAKERS[entry.data](self.settings.places, self.scaled(entry.count))
            self.kits[key] = Kit(self.folders[key], self.settings.tools, self.work)
        kit = self.kits[key]
        if entry.form not in kit.paths:
            cache.warm(kit.folder.path)
        say(f"{self.suite.name}: input of {entry.name}")
        path = self.inputs[entry.name] = kit.path(entry.form)
        size = measured(path)
        self.entries[entry.name] |= {
            "version": entry.contender.version(self.settings.tools),
            "shuffle": entry.contender.shuffle,
            "disk_bytes": size.disk_bytes,
            "bytes": size.bytes,
            "convert_s": 0.0 if isinstance(entry.form, AsIs) else kit.costs[entry.form].seconds,
        }

    def folder(self, entry):
        return self.folders[entry.data, entry.count]

    def clear(self):
        for path in (self.work, self.settings.tools.scratch):
            shutil.rmtree(path, ignore_errors=True)

    def facts(self):
        tools = self.settings.tools
        return {"jobs": tools.jobs, "side": self.suite.side, "seconds": tools.seconds, "baseline": self.suite.baseline}


class PassSession(FormSession):
    """Passes over warm or cold inputs."""

    def __init__(self, suite, settings):
        super().__init__(suite, settings)
        self.class_files = {}  # of each (data, count)
        self.watch = None

    def measured(self, entry):
        """A pass whose cache was in the state asked for, as the bytes it read from the disk prove, or one marked so."""
        for attempt in range(ATTEMPTS):
            try:
                found = self.one_pass(entry)
            except Failed as failure:
                if attempt + 1 == ATTEMPTS or not any(words in str(failure) for words in NOT_COLD):
                    raise
                say(f"{self.suite.name}: {entry.name}: {failure}")
                continue
            if found["cache_as_asked"]:
                break
            say(f"{self.suite.name}: {entry.name}: {found['read_bytes']:,} bytes from the disk: not {self.suite.cache}")
        return found

    def one_pass(self, entry):
        tools, path, cold = self.settings.tools, self.inputs[entry.name], self.suite.cache == "cold"
        command = list(map(str, entry.contender.pass_over(tools, path, self.suite.side, cold)))
        with (self.cold if cold else self.warm)(entry, path) as facts:
            cost, printed = run(command, self.work, self.settings.timeout, watch=self.watching)
        figures = entry.contender.figures(printed)
        self.require_all(entry, figures)
        return {
            "foreign_cpus": cost.foreign_cpus,
            **facts,
            **figures,
            "memory_bytes": self.watch.own,
            "mapped_bytes": self.watch.mapped,
            "cache_as_asked": self.cache_was_right(entry, figures),
        }

    @contextlib.contextmanager
    def cold(self, entry, path):
        # Names matter in a folder of many files only; dropping them takes the pages of all other programs, too.
        cache.cool(path, list(map(str, entry.contender.wake(self.settings.tools))), names=isinstance(entry.form, AsIs))
        yield {}

    @contextlib.contextmanager
    def warm(self, entry, path):
        cache.warm(path)
        with cache.held(path) as held:
            yield {"held": held}

    def watching(self, pid):
        self.watch = MemoryWatch(pid)
        return self.watch

    def require_all(self, entry, figures):
        """An epoch has each sample once, as far as the labels tell; of the `verify` suite they tell all."""
        wanted = self.folder(entry).files
        if figures["samples"] != wanted:
            raise Failed(f"read {figures['samples']:,} of {wanted:,} samples")
        labels = figures.pop("labels", None)
        if labels and labels != self.labels(entry):
            raise Failed("read other samples than there are: some labels come too often")

    def cache_was_right(self, entry, figures):
        # A dataset of ours has lists that a pass does not read: `bytes` are those of its pictures.
        size = figures.get("bytes", self.entries[entry.name]["bytes"])
        if self.suite.cache == "cold":
            return figures["read_bytes"] >= COLD_SHARE * size
        return figures["read_bytes"] <= WARM_SHARE * size

    def labels(self, entry):
        """How many files each class has, in the order of their names."""
        key = (entry.data, entry.count)
        if key not in self.class_files:
            path = self.folders[key].path
            counts = collections.Counter(Path(file).relative_to(path).parts[0] for file in files_below(path))
            self.class_files[key] = [counts[name] for name in sorted(counts)]
        return self.class_files[key]

    def words(self, run):
        first = f", first epoch {run['warmup']['images_per_s']:,.0f}" if "warmup" in run else ""
        return (
            f"{run['images_per_s']:,.0f} images/s{first}, first batch after {run['first_batch_s']:.2f} s,"
            f" {run['memory_bytes'] >> 20} MiB, {run['foreign_cpus']:.2f} cores busy with other things"
        )


class VerifySession(FormSession):
    """Holds what each delivers against the folder, once. What is wrong ends the bench with an exit code, but for the
    contenders that are left as they come: they are there to show it."""

    def __init__(self, suite, settings):
        super().__init__(suite, dataclasses.replace(settings, repeats=1))
        self.wrong = []

    def scaled(self, count):
        return min(VERIFIED, super().scaled(count))

    def measured(self, entry):
        tools = self.settings.tools
        words = entry.contender.check(tools, self.inputs[entry.name], self.folder(entry).path, self.suite.side)
        cost, printed = run(list(map(str, words)), self.work, self.settings.timeout)
        facts = entry.contender.facts(printed)
        if facts["samples"] != self.folder(entry).files:
            raise Failed(f"knows {facts['samples']:,} of {self.folder(entry).files:,} samples")
        found = wrong(facts)
        if not entry.contender.defaults:
            self.wrong += [f"{entry.name} {words}" for words in found]
        return {"foreign_cpus": cost.foreign_cpus, **facts, "wrong": found}

    def words(self, run):
        return "; ".join(run["wrong"]) or "all samples once, pictures and labels belong together"

    def facts(self):
        return super().facts() | {"rounds": 1, "wrong": self.wrong}


def wrong(facts):
    """What speaks against a loader, in words."""
    found = []
    if any(facts["lost"]):
        found.append(f"loses {each_epoch(facts['lost'])} of {facts['samples']:,} samples")
    if any(facts["repeated"]):
        found.append(f"repeats {each_epoch(facts['repeated'])}")
    if facts.get("packed_only"):
        return found
    if facts["colours_alike"] < COLOURS_ALIKE:
        found.append(f"labels and pictures do not belong together (colours alike by {facts['colours_alike']:.2f})")
    if facts["red_blue_alike"] < RED_BLUE_ALIKE:
        found.append("red and blue are not where they were")
    if facts["upright_of"] and abs(facts["upright"] - 0.5) > DEVIATIONS * 0.5 / math.sqrt(facts["upright_of"]):
        found.append(f"flips {1 - facts['upright']:.0%} of the pictures")
    if facts["same_crops"]:
        found.append(f"delivers {facts['same_crops']:,} crops again")
    return found


def each_epoch(numbers):
    return f"{numbers[0]:,}" if len(set(numbers)) == 1 else ", ".join(f"{number:,}" for number in numbers)
