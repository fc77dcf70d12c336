"""What the rows of the reader's bench compare: rates, mostly of two contenders in the same round."""

import dataclasses
import statistics

from common.rows import is_noisy


def values(runs, field):
    return [run[field] for run in runs]


@dataclasses.dataclass(frozen=True)
class Ratio:
    """How many times as fast as another contender."""

    subject: str
    against: str
    at_least: float
    field: str = "images_per_s"
    unit = "x"
    judged = "median"

    def bar(self):
        return {"at_least": self.at_least}

    def figures(self, ours, theirs):
        return [mine / other for mine, other in zip(values(ours, self.field), values(theirs, self.field))]

    def noisy(self, ours, theirs):
        sides = ((self.subject, ours), (self.against, theirs))
        return [name for name, runs in sides if is_noisy(values(runs, self.field))]


@dataclasses.dataclass(frozen=True)
class Fastest:
    """A Ratio against whichever of the peers turns out to be the fastest."""

    subject: str
    peers: tuple
    at_least: float
    unit = "x"

    @property
    def against(self):
        return f"the fastest of {', '.join(self.peers)}"

    def bar(self):
        return {"at_least": self.at_least}

    def among(self, entries):
        """The Ratio against the one with the best median of those measured, or against one that says why not."""
        measured = [name for name in self.peers if name in entries and entries[name]["runs"]]
        known = [name for name in self.peers if name in entries]
        fastest = max(
            measured,
            key=lambda name: statistics.median(values(entries[name]["runs"], "images_per_s")),
            default=next(iter(known), self.peers[0]),
        )
        return Ratio(self.subject, fastest, self.at_least)


@dataclasses.dataclass(frozen=True)
class Overhead:
    """By how much slower than another contender, in percent."""

    subject: str
    against: str
    at_most: float
    unit = "%"
    judged = "median"

    def bar(self):
        return {"at_most": self.at_most}

    def figures(self, ours, theirs):
        rates = zip(values(ours, "images_per_s"), values(theirs, "images_per_s"))
        return [100 * (other / mine - 1) for mine, other in rates]

    def noisy(self, ours, theirs):
        return Ratio(self.subject, self.against, 1).noisy(ours, theirs)


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure by itself."""

    subject: str
    field: str
    limit: dict
    unit: str
    against = None
    judged = "median"

    def bar(self):
        return self.limit

    def figures(self, ours):
        return values(ours, self.field)

    def noisy(self, ours):
        return [self.subject] if is_noisy(self.figures(ours)) else []
