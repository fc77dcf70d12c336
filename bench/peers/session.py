"""A suite of this bench: every contender reads the form of the folder that suits it, in a process of its own."""

import contextlib
import dataclasses
import math

from common import cache
from common.data import measured
from common.inputs import AsIs
from common.memory import MemoryWatch
from common.session import Session

VERIFIED = 1000  # photos at most, no multiple of the batch
COLOURS_ALIKE, RED_BLUE_ALIKE = 0.8, 0.5  # correlations with the original; of wrong labels, about 0
DEVIATIONS = 5  # standard ones, by which the share of flipped pictures may differ from a half


class FormSession(Session):
    """Says of each entry what it reads, too."""

    field, unit = "images_per_s", "images/s"

    def make(self, entry):
        super().make(entry)
        size = measured(self.inputs[entry.name])
        self.entries[entry.name] |= {
            "version": entry.contender.version_text(self.settings.tools),
            "shuffle": entry.contender.shuffle,
            "disk_bytes": size.disk_bytes,
            "bytes": size.bytes,
            "convert_s": 0.0 if isinstance(entry.form, AsIs) else self.kit(entry).costs[entry.form].seconds,
        }

    def facts(self):
        about = {"side": self.suite.side, "baseline": self.suite.baseline}
        return {"seconds": self.settings.tools.seconds, **about}


class PassSession(FormSession):
    """Passes over warm or cold inputs."""

    def watch(self, pid):
        self.memory = MemoryWatch(pid)
        return self.memory

    @contextlib.contextmanager
    def cache_as_asked(self, entry):
        with super().cache_as_asked(entry) as state:
            if self.suite.cache == "cold":
                yield state
                return
            with cache.held(self.inputs[entry.name]) as held:
                yield {"held": held}

    def run_of(self, entry, cost, figures):
        # A dataset of ours has lists that a pass does not read: `bytes` are those of its pictures.
        size = figures.get("bytes", self.entries[entry.name]["bytes"])
        return {
            "foreign_cpus": cost.foreign_cpus,
            **figures,
            "memory_bytes": self.memory.own,
            "mapped_bytes": self.memory.mapped,
            "cache_as_asked": self.cache_was_right(figures["read_bytes"], size),
        }


class VerifySession(FormSession):
    """Holds what each delivers against the folder, once. What is wrong ends the bench with an exit code, but for the
    contenders that are left as they come: they are there to show it."""

    def __init__(self, suite, settings):
        super().__init__(suite, dataclasses.replace(settings, repeats=1))
        self.wrong = []

    def scaled(self, count):
        return min(VERIFIED, super().scaled(count))

    def measured(self, entry):
        return self.one_run(entry)  # whatever came from the disk

    def run_of(self, entry, cost, figures):
        found = wrong(figures)
        if not entry.contender.defaults:
            self.wrong += [f"{entry.name} {words}" for words in found]
        return {"foreign_cpus": cost.foreign_cpus, **figures, "wrong": found}

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
