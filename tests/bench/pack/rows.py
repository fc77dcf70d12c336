"""The rows of the table: a figure of merit, the bar it must clear, and what the runs say about it.

A figure is taken from each round by itself, so that what changes between rounds does not fall between the two that are
compared; the row has its median, smallest and largest. The median is held against the bar, of memory the largest.
"""

import dataclasses
import statistics

NOISE = 0.10  # runs that lie further apart than this share of their median are marked


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def is_noisy(values):
    return max(values) - min(values) > NOISE * statistics.median(values)


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


def row_of(row, entries):
    """The row in JSON. `entries` has the runs of each contender, or the reason why it has none."""
    names = [name for name in (row.subject, row.against) if name]
    result = {
        "figure": type(row).__name__.lower(),
        "subject": row.subject,
        "against": row.against,
        "unit": row.unit,
        "bar": row.bar(),
    }
    reasons = [f"{name}: {entries[name]['failed']}" for name in names if entries[name]["failed"]]
    if reasons:
        return {**result, "not_measured": "; ".join(reasons)}
    runs = [entries[name]["runs"] for name in names]
    value = spread(row.figures(*runs))
    met = is_met(row.bar(), value[row.judged])
    unsure = [name for name in names if not all(run["cache_as_asked"] for run in entries[name]["runs"])]
    return {**result, "value": value, "met": met, "noisy": row.noisy(*runs), "cache_not_as_asked": unsure}


def is_met(bar, value):
    return value >= bar["at_least"] if "at_least" in bar else value <= bar["at_most"]
