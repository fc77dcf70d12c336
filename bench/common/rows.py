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
        return [name for name in self.names() if is_noisy(values(entries[name]["runs"], self.scatter))]


def at_least(value):
    return {} if value is None else {"at_least": value}


def at_most(value):
    return {} if value is None else {"at_most": value}


def speed(subject, against, bar):
    """How many times as fast as another contender."""
    return Row("speed", subject, against, at_least(bar), "x", lambda a, b: b["seconds"] / a["seconds"], "seconds")


def ratio(subject, against, bar=None, field="images_per_s"):
    """How many times another contender's rate."""
    return Row("ratio", subject, against, at_least(bar), "x", lambda a, b: a[field] / b[field], field)


def fastest(subject, peers, bar, field="images_per_s"):
    """A ratio against whichever of the peers turns out to be the fastest."""
    return dataclasses.replace(ratio(subject, f"the fastest of {', '.join(peers)}", bar, field), peers=peers)


def overhead(subject, against, bar, field="images_per_s"):
    """By how much slower than another contender, in percent."""
    return Row("overhead", subject, against, at_most(bar), "%", lambda a, b: 100 * (b[field] / a[field] - 1), field)


def batch_cost(subject, against, batch, bar=None):
    """Microseconds that a batch takes longer than another contender's."""
    field = "images_per_s"

    def longer(a, b):
        return 1e6 * batch * (1 / a[field] - 1 / b[field])

    return Row("batch", subject, against, at_most(bar), "us a batch", longer, field)


def figure(subject, field, bar, unit):
    """A figure by itself."""
    return Row("figure", subject, None, bar, unit, lambda a: a[field], field)


def peak(subject, bar):
    """The largest memory of the process, in MiB."""
    field = "max_rss_bytes"
    return Row("peak", subject, None, at_most(bar), "MiB", lambda a: a[field] / 2**20, field, "max")


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
    if not bar:
        return None
    return value >= bar["at_least"] if "at_least" in bar else value <= bar["at_most"]
