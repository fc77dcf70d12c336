"""Whether two runs of the study agree: each figure's repeats in one run overlap those in the other."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Difference:
    """Two spreads of images a second that do not overlap."""

    where: str
    one: dict
    two: dict

    @property
    def gap(self):
        """How far apart they lie, of the smaller median."""
        low, high = sorted([self.one, self.two], key=lambda spread: spread["median"])
        return (high["min"] - low["max"]) / low["median"]


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


def overlap(one, two):
    return one["min"] <= two["max"] and two["min"] <= one["max"]


def compare(one, two):
    """How many figures both have, and those that disagree, the worst first."""
    others = dict(rates(two))
    pairs = [(where, spread, others[where]) for where, spread in rates(one) if where in others]
    apart = [Difference(*pair) for pair in pairs if not overlap(pair[1], pair[2])]
    return len(pairs), sorted(apart, key=lambda difference: -difference.gap)
