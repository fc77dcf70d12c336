"""The tables of a suite: its rows, held against their bars, and its contenders, a column for each figure.

    tables=(bars(), contenders(RATE, ratio("ImageFolder + PIL"), CPU, fastest_first=True))

A column is (heading, function of a suite and one of its entries, both in JSON -> text).
"""

import statistics

from common.page import shown, spread_text, table
from common.rows import is_noisy

NONE = ""
WHOLE_UNITS = ("MiB", "samples/s", "us a batch")


# --- rows


def number(value, unit):
    return f"{value:,.0f}" if unit in WHOLE_UNITS else f"{value:.2f}"


def bar_text(row):
    """With its unit; the unit alone where there is no bar."""
    if not row["bar"]:
        return row["unit"]
    word, value = next(iter(row["bar"].items()))
    limit = f"{value:,.0f}" if value >= 1000 else f"{value:g}"
    return f"{'>=' if word == 'at_least' else '<='} {limit} {row['unit']}".replace(" x", "x")


def value_text(row):
    value = {key: number(figure, row["unit"]) for key, figure in row["value"].items()}
    return f"{value['median']} ({value['min']} .. {value['max']})"


def verdict_text(suite, row):
    """Whether the bar is met, and what speaks against the figure."""
    words = [] if row["met"] is None else ["yes" if row["met"] else "**no**"]
    if row["noisy"]:
        words.append(f"noisy: {' and '.join(row['noisy'])}")
    if row["cache_not_as_asked"]:
        words.append(f"cache not {suite['cache']}: {' and '.join(row['cache_not_as_asked'])}")
    return ", ".join(words)


def seconds_of(side):
    """A column: the seconds of a row's `subject` or `against`."""

    def text(suite, row):
        taken = [run["seconds"] for entry in suite["entries"] if entry["name"] == row[side] for run in entry["runs"]]
        return spread_text(taken, "{:.2f}".format) if taken else NONE

    return text


def bars(*more):
    """The rows and their bars. `more`: further columns behind the figure, (heading, suite and row -> text)."""

    def cells(suite, row):
        known = [row["subject"], row["against"] or NONE, bar_text(row)]
        if "not_measured" in row:
            return [*known, "not measured", *[NONE] * len(more), NONE]
        return [*known, value_text(row), *(text(suite, row) for _, text in more), verdict_text(suite, row)]

    def made(suite):
        head = ["packhorse", "against", "bar", "measured", *(heading for heading, _ in more), "bar met"]
        return table(head, [cells(suite, row) for row in suite["rows"]]) if suite["rows"] else ""

    return made


# --- contenders


def values(entry, field):
    """Of all rounds; `field` may name a part of one: `second.images_per_s`."""
    found = []
    for run in entry["runs"]:
        for name in field.split("."):
            run = run.get(name) if run else None
        if run is not None:
            found.append(run)
    return found


def spread(heading, field, scale=1):
    def text(suite, entry):
        found = [scale * value for value in values(entry, field)]
        return spread_text(found) if found else NONE

    return heading, text


def median(heading, field, scale=1):
    def text(suite, entry):
        found = values(entry, field)
        return shown(scale * statistics.median(found)) if found else NONE

    return heading, text


def most(heading, field, scale=1):
    """The largest of all rounds; 0 is what nobody saw."""

    def text(suite, entry):
        found = values(entry, field)
        return NONE if not found else shown(scale * max(found)) if max(found) else "over too soon"

    return heading, text


def fact(heading, field, text=str):
    """What is known of the entry itself."""
    return heading, lambda suite, entry: text(entry[field]) if entry.get(field) else NONE


def best_of(suite, names, field, worst=False):
    """The entry of those names that has the highest median (or the lowest)."""
    known = [entry for entry in suite["entries"] if entry["name"] in names and entry["runs"]]
    choose = min if worst else max
    return choose(known, key=lambda entry: statistics.median(values(entry, field)), default=None)


def ratio(heading, base, field="images_per_s", worst=False, inverse=False):
    """To another contender, or to the fastest (the slowest) of several, in each round by itself; `inverse`: of that one
    to this."""

    def text(suite, entry):
        other = best_of(suite, (base,) if isinstance(base, str) else base, field, worst)
        if other is None:
            return "not measured"
        pairs = zip(*(values(one, field) for one in ((other, entry) if inverse else (entry, other))))
        return spread_text([one / two for one, two in pairs])

    return heading, text


def rate(heading="images/s", field="images_per_s"):
    """With what speaks against it."""

    def text(suite, entry):
        found = values(entry, field)
        noisy = ", noisy" if len(found) > 1 and is_noisy(found) else ""
        right = all(run.get("cache_as_asked", True) for run in entry["runs"])
        return spread_text(found) + noisy + ("" if right else f", cache not {suite['cache']}")

    return heading, text


CPU = median("CPU s / 1000 images", "cpu_s_per_1000")
CPU_RATE = median("images a CPU-second", "images_per_cpu_s")
COMMAND = fact("command", "command", "`{}`".format)


def contenders(*columns, fastest_first=False, name="contender"):
    """A line for each that was measured, without the columns that have nothing to say of any of them."""

    def made(suite):
        entries = [entry for entry in suite["entries"] if entry["runs"] and not entry["failed"]]
        if fastest_first:
            entries.sort(key=lambda entry: -statistics.median(values(entry, suite["field"])))
        told = {heading: [text(suite, entry) for entry in entries] for heading, text in columns}
        told = {heading: texts for heading, texts in told.items() if not texts or set(texts) != {NONE}}
        return table([name, *told], zip([entry["name"] for entry in entries], *told.values()))

    return made
