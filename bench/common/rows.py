"""The rows of the table: a figure of merit, the bar it must clear, and what the runs say about it.

A figure is taken from each round by itself, so that what changes between rounds does not fall between the two that are
compared; the row has its median, smallest and largest. The median is held against the bar, of memory the largest.
"""

import dataclasses
import statistics
from collections.abc import Callable

NOISE = 0.10  # runs that lie further apart than this share of their median are marked


@dataclasses.dataclass(frozen=True)
class Row:
    """`figure` is taken from a run of the subject and one of `against`, both of the same round."""

    kind: str
    subject: str
    against: str | None
    bar: dict
    unit: str
    figure: Callable
    scatter: str  # the field of the runs by which they are noisy
    judged: str = "median"
    noise_of: tuple = ("subject", "against")
    peers: tuple = ()  # `against` is whichever of them turns out the fastest

    def among(self, entries):
        """The row against one of `peers`: the best median of those measured, or one that says why not."""
        if not self.peers:
            return self
        known = [name for name in self.peers if name in entries]
        measured = [name for name in known if entries[name]["runs"]]
        rates = {name: statistics.median(values(entries[name]["runs"], self.scatter)) for name in measured}
        return dataclasses.replace(self, against=max(rates, key=rates.get, default=[*known, *self.peers][0]), peers=())

    def names(self):
        return [name for name in (self.subject, self.against) if name]

    def noisy(self, entries):
        names = [name for name in (getattr(self, side) for side in self.noise_of) if name]
        return [name for name in names if is_noisy(values(entries[name]["runs"], self.scatter))]


def speed(subject, against, at_least):
    """How many times as fast as another contender."""
    bar = {"at_least": at_least}
    return Row("speed", subject, against, bar, "x", lambda a, b: b["seconds"] / a["seconds"], "seconds")


def ratio(subject, against, at_least, field="images_per_s"):
    """How many times another contender's rate."""
    return Row("ratio", subject, against, {"at_least": at_least}, "x", lambda a, b: a[field] / b[field], field)


def fastest(subject, peers, at_least):
    """A ratio against whichever of the peers turns out to be the fastest."""
    return dataclasses.replace(ratio(subject, f"the fastest of {', '.join(peers)}", at_least), peers=peers)


def overhead(subject, against, at_most):
    """By how much slower than another contender, in percent."""
    bar, field = {"at_most": at_most}, "images_per_s"
    return Row("overhead", subject, against, bar, "%", lambda a, b: 100 * (b[field] / a[field] - 1), field)


def figure(subject, field, bar, unit):
    """A figure by itself."""
    return Row("figure", subject, None, bar, unit, lambda a: a[field], field)


def duration(subject, at_most):
    """Seconds of a run."""
    return dataclasses.replace(figure(subject, "seconds", {"at_most": at_most}, "s"), kind="duration")


def peak(subject, at_most):
    """The largest memory of the process, in MiB."""
    field = "max_rss_bytes"
    return Row("peak", subject, None, {"at_most": at_most}, "MiB", lambda a: a[field] / 2**20, field, "max")


def growth(subject, against, at_most):
    """Bytes of memory for each sample more than the smaller folder has."""

    def grown(large, small):
        return (large["max_rss_bytes"] - small["max_rss_bytes"]) / (large["samples"] - small["samples"])

    bar = {"at_most": at_most}
    return Row("growth", subject, against, bar, "bytes a sample", grown, "max_rss_bytes", noise_of=("subject",))


def slowdown(subject, against, at_most):
    """Time for a sample of the larger folder over time for a sample of the smaller: 1 is linear."""

    def slower(large, small):
        return (large["seconds"] / large["samples"]) / (small["seconds"] / small["samples"])

    return Row("slowdown", subject, against, {"at_most": at_most}, "x the time a sample", slower, "seconds")


def values(runs, field):
    return [run[field] for run in runs]


def is_noisy(values):
    return max(values) - min(values) > NOISE * statistics.median(values)


def row_of(row, entries):
    """The row in JSON. `entries` has the runs of each contender, or the reason why it has none."""
    names = row.names()
    result = {
        "figure": row.kind,
        "subject": row.subject,
        "against": row.against,
        "unit": row.unit,
        "bar": row.bar,
    }
    reasons = [f"{name}: {entries[name]['failed']}" for name in names if entries[name]["failed"]]
    if reasons:
        return {**result, "not_measured": "; ".join(reasons)}
    figures = [row.figure(*runs) for runs in zip(*(entries[name]["runs"] for name in names))]
    value = {"median": statistics.median(figures), "min": min(figures), "max": max(figures)}
    met = is_met(row.bar, value[row.judged])
    unsure = [name for name in names if not all(run["cache_as_asked"] for run in entries[name]["runs"])]
    return {**result, "value": value, "met": met, "noisy": row.noisy(entries), "cache_not_as_asked": unsure}


def is_met(bar, value):
    return value >= bar["at_least"] if "at_least" in bar else value <= bar["at_most"]
