"""Whether two runs of the study agree: each figure's repeats in one run overlap those in the other.

Compared are the rates, and the speedups against the folder. The inputs take turns within a run, so that a machine
which is slower for some minutes slows all of them: a speedup, taken turn by turn, says less of the hour than a rate.
"""

import dataclasses
import statistics

TOLERANCE = 0.01  # between spreads that are next to nothing: a clock decides no agreement


@dataclasses.dataclass(frozen=True)
class Difference:
    """Two spreads of images a second, or of speedups, that do not overlap."""

    where: str
    unit: str
    one: dict
    two: dict

    @property
    def gap(self):
        """How far apart they lie, of the smaller median."""
        low, high = sorted([self.one, self.two], key=lambda spread: spread["median"])
        return (high["min"] - low["max"]) / low["median"]

    def __str__(self):
        digits = 0 if self.unit == "images/s" else 2
        spreads = [" .. ".join(f"{s[key]:,.{digits}f}" for key in ("min", "max")) for s in (self.one, self.two)]
        return f"{self.where}: {spreads[0]} and {spreads[1]} {self.unit}, {100 * self.gap:.1f} % apart"


def spread_of(values):
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def rates(document):
    """(what, spread) of all the rates of a measurement or a sweep."""
    if document["schema"].startswith("packhorse-sweep"):
        for point in document["points"]:
            yield f"{point['workers']} workers, {point['slots']} batches", point["images_per_s"]
    elif document["schema"].startswith("packhorse-measurement"):
        yield "device limit", document["device_limit"]["images_per_s"]
        for run in document["runs"]:
            for work in ("read", "decode", "training"):
                yield f"{run['input']}, {run['condition']}, {work}", run[work]["images_per_s"]


def speedups(document):
    """(what, spread) of every input's rates against the folder's of the same turn and condition."""
    if not document["schema"].startswith("packhorse-measurement"):
        return
    folder = document["inputs"][0]["name"]
    folders = {run["condition"]: run for run in document["runs"] if run["input"] == folder}
    for run in document["runs"]:
        if run["input"] == folder or run["condition"] not in folders:
            continue
        for work in ("read", "decode", "training"):
            ours, theirs = (r[work]["images_per_s"]["values"] for r in (run, folders[run["condition"]]))
            turns = [mine / its for mine, its in zip(ours, theirs, strict=True)]
            yield f"{run['input']}, {run['condition']}, {work}", spread_of(turns)


def overlap(one, two):
    return one["min"] <= two["max"] * (1 + TOLERANCE) and two["min"] <= one["max"] * (1 + TOLERANCE)


def compare(one, two, figures, unit):
    """How many of the figures both documents have, and those that disagree."""
    others = dict(figures(two))
    pairs = [(where, spread, others[where]) for where, spread in figures(one) if where in others]
    return len(pairs), [Difference(where, unit, *pair) for where, *pair in pairs if not overlap(*pair)]


KINDS = [(rates, "rates", "images/s"), (speedups, "speedups", "x")]


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Of two runs' documents by part: how many figures of a kind both have, and those that lie apart."""

    what: str
    count: int
    apart: list  # of (part, Difference), the furthest first

    def __str__(self):
        agree = self.count - len(self.apart)
        return f"{agree} of {self.count} {self.what} agree within their spread, or {100 * TOLERANCE:g} %"

    def lines(self):
        return [f"{part}: {difference}" for part, difference in self.apart]


def agreements(one, two):
    """An Agreement for each kind of figure, over the parts that both runs have."""
    for figures, what, unit in KINDS:
        count, apart = 0, []
        for part in sorted(one.keys() & two.keys()):
            both, differences = compare(one[part], two[part], figures, unit)
            count += both
            apart += [(part, difference) for difference in differences]
        yield Agreement(what, count, sorted(apart, key=lambda pair: -pair[1].gap))
