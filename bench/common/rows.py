"""The rows of the table: a figure of merit, the bar it must clear, and what the runs say about it.

A figure is taken from each round by itself, so that what changes between rounds does not fall between the two that are
compared; the row has its median, smallest and largest. The median is held against the bar, of memory the largest.
"""

import statistics

NOISE = 0.10  # runs that lie further apart than this share of their median are marked


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def is_noisy(values):
    return max(values) - min(values) > NOISE * statistics.median(values)


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
