"""What the rows of the packing bench compare: time and memory of whole runs."""

import dataclasses

from common.rows import is_noisy


def seconds(runs):
    return [run["seconds"] for run in runs]


@dataclasses.dataclass(frozen=True)
class Speed:
    """How many times as fast as another contender."""

    subject: str
    against: str
    at_least: float
    unit = "x"
    judged = "median"

    def bar(self):
        return {"at_least": self.at_least}

    def figures(self, ours, theirs):
        return [theirs / mine for mine, theirs in zip(seconds(ours), seconds(theirs))]

    def noisy(self, ours, theirs):
        return [name for name, runs in ((self.subject, ours), (self.against, theirs)) if is_noisy(seconds(runs))]


@dataclasses.dataclass(frozen=True)
class Duration:
    """Seconds of a run."""

    subject: str
    at_most: float
    against = None
    unit = "s"
    judged = "median"

    def bar(self):
        return {"at_most": self.at_most}

    def figures(self, ours):
        return seconds(ours)

    def noisy(self, ours):
        return [self.subject] if is_noisy(seconds(ours)) else []


@dataclasses.dataclass(frozen=True)
class Peak:
    """The largest memory of the process, in MiB."""

    subject: str
    at_most: float
    against = None
    unit = "MiB"
    judged = "max"

    def bar(self):
        return {"at_most": self.at_most}

    def figures(self, ours):
        return [run["max_rss_bytes"] / 2**20 for run in ours]

    def noisy(self, ours):
        return [self.subject] if is_noisy(self.figures(ours)) else []


@dataclasses.dataclass(frozen=True)
class Growth:
    """Bytes of memory for each sample more than the smaller folder has."""

    subject: str
    against: str
    at_most: float
    unit = "bytes a sample"
    judged = "median"

    def bar(self):
        return {"at_most": self.at_most}

    def figures(self, large, small):
        return [
            (a["max_rss_bytes"] - b["max_rss_bytes"]) / (a["samples"] - b["samples"]) for a, b in zip(large, small)
        ]

    def noisy(self, large, small):
        return [self.subject] if is_noisy([run["max_rss_bytes"] for run in large]) else []


@dataclasses.dataclass(frozen=True)
class Slowdown:
    """Time for a sample of the larger folder over time for a sample of the smaller: 1 is linear."""

    subject: str
    against: str
    at_most: float
    unit = "x the time a sample"
    judged = "median"

    def bar(self):
        return {"at_most": self.at_most}

    def figures(self, large, small):
        return [(a["seconds"] / a["samples"]) / (b["seconds"] / b["samples"]) for a, b in zip(large, small)]

    def noisy(self, large, small):
        return [name for name, runs in ((self.subject, large), (self.against, small)) if is_noisy(seconds(runs))]
