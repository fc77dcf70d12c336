"""The reader bench's suites as Markdown: the bars, and beside them every contender."""

import statistics

from common.report import Book, bar_text, folders_text, value_text, verdict_text

ROUNDS = 3  # fewer are no table


def number_text(value, like):
    """With as many digits as a figure like `like` deserves."""
    return f"{value:,.{0 if like >= 100 else 1 if like >= 10 else 3}f}"


def spread_text(values):
    middle = statistics.median(values)
    low, middle, high = (number_text(value, middle) for value in (min(values), middle, max(values)))
    return f"{middle} ({low} .. {high})"


def row_line(suite, row):
    cells = [row["subject"], row["against"] or "", bar_text(row)]
    if "not_measured" in row:
        return f"| {' | '.join([*cells, 'not measured', ''])} |"
    return f"| {' | '.join([*cells, value_text(row), verdict_text(suite, row)])} |"


def column_text(entry, field):
    """The median, where the contender tells."""
    values = [run[field] for run in entry["runs"] if field in run]
    return number_text(statistics.median(values), max(values)) if values else ""


def entry_line(suite, entry):
    cells = [entry["name"], entry["failed"] or "not measured"]
    if entry["runs"] and not entry["failed"]:
        cells[1] = spread_text([run[suite["field"]] for run in entry["runs"]])
    cells += [column_text(entry, column["field"]) for column in suite["columns"]]
    memory = max((run["max_rss_bytes"] for run in entry["runs"]), default=None)
    cells += [f"{memory >> 20:,}" if memory else "", f"`{entry['command']}`"]
    return f"| {' | '.join(cells)} |"


def suite_text(suite):
    foreign = max((run["foreign_cpus"] for entry in suite["entries"] for run in entry["runs"]), default=0)
    headings = ["contender", suite["unit"], *(column["heading"] for column in suite["columns"])]
    headings += ["MiB, largest process", "command"]
    lines = [
        f"### `{suite['name']}`: {suite['title']}",
        "",
        f"{folders_text(suite)}. Cache {suite['cache']}, {suite['jobs']} threads or processes, {suite['repeats']}"
        f" rounds; other work, the kernel's included, kept up to {foreign:.2f} cores busy.",
        "",
        "| packhorse | against | bar | measured | bar met |",
        "|---|---|---|---|---|",
        *(row_line(suite, row) for row in suite["rows"]),
        "",
        f"| {' | '.join(headings)} |",
        "|---" * len(headings) + "|",
        *(entry_line(suite, entry) for entry in suite["entries"]),
    ]
    return "\n".join(lines)


BOOK = Book("reader", suite_text, ROUNDS)
