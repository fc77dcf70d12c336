"""The reader bench's suites as Markdown: the bars, and beside them every contender."""

import statistics

from common.report import Book, bar_text, folders_text, value_text, verdict_text

ROUNDS = 3  # fewer are no table


def rate_text(values):
    digits = 0 if min(values) >= 100 else 1 if min(values) >= 10 else 3
    low, middle, high = (f"{value:,.{digits}f}" for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} .. {high})"


def figures_of(suite, name):
    """The suite's figure in each run of a contender."""
    entry = next((entry for entry in suite["entries"] if entry["name"] == name), None)
    return [run[suite["field"]] for run in entry["runs"]] if entry else []


def row_line(suite, row):
    cells = [row["subject"], row["against"] or "", bar_text(row)]
    if "not_measured" in row:
        return f"| {' | '.join([*cells, 'not measured', ''])} |"
    return f"| {' | '.join([*cells, value_text(row), verdict_text(suite, row)])} |"


def per_cpu_text(entry):
    """Images for each second of a CPU, where the contender tells."""
    rates = [run["images"] / run["cpu_s"] for run in entry["runs"] if run.get("cpu_s") and "images" in run]
    return f"{statistics.median(rates):,.0f}" if rates else ""


def entry_line(suite, entry):
    if entry["failed"] or not entry["runs"]:
        cells = [entry["name"], entry["failed"] or "not measured", "", ""]
    else:
        memory = max(run["max_rss_bytes"] for run in entry["runs"]) >> 20
        figures = rate_text(figures_of(suite, entry["name"]))
        cells = [entry["name"], figures, per_cpu_text(entry), f"{memory:,}"]
    return f"| {' | '.join([*cells, '`' + entry['command'] + '`'])} |"


def suite_text(suite):
    foreign = max((run["foreign_cpus"] for entry in suite["entries"] for run in entry["runs"]), default=0)
    lines = [
        f"### `{suite['name']}`: {suite['title']}",
        "",
        f"{folders_text(suite)}. Cache {suite['cache']}, {suite['jobs']} threads or processes, {suite['repeats']} rounds;"
        f" other work, the kernel's included, kept up to {foreign:.2f} cores busy.",
        "",
        "| packhorse | against | bar | measured | bar met |",
        "|---|---|---|---|---|",
        *(row_line(suite, row) for row in suite["rows"]),
        "",
        f"| contender | {suite['unit']} | images a CPU-second | MiB, largest process | command |",
        "|---|---|---|---|---|",
        *(entry_line(suite, entry) for entry in suite["entries"]),
    ]
    return "\n".join(lines)


BOOK = Book("reader", suite_text, ROUNDS)
