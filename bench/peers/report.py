"""The suites as Markdown: one table of the whole field each."""

import statistics

from common.report import Book, failures_text, folders_text
from common.rows import is_noisy

ROUNDS = 5  # fewer are no table
NONE = "none"
COLUMNS = (
    "contender",
    "version",
    "images/s",
    "x baseline",
    "CPU s / 1000 images",
    "first batch, s",
    "imports before it, s",
    "first epoch, images/s",
    "MiB, own",
    "MiB, mapped",
    "MB on disk",
    "s to convert",
    "shuffle",
)
VERIFY_COLUMNS = (
    "contender",
    "version",
    "lost",
    "repeated",
    "colours alike",
    "not flipped",
    "moved by",
    "first batch, later",
    "what is wrong",
)


def shown(value):
    """With the digits that mean something."""
    if value < 0.1:
        return f"{value:.2g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread_text(values):
    return f"{shown(statistics.median(values))} ({shown(min(values))} .. {shown(max(values))})"


def median_text(runs, field):
    values = [run[field] for run in runs if field in run]
    return shown(statistics.median(values)) if values else NONE


def memory_text(runs, field):
    largest = max(run[field] for run in runs)
    return shown(largest / 2**20) if largest else "over too soon"


def line(cells):
    return f"| {' | '.join(cells)} |"


def table(columns, rows):
    """Without the columns that have nothing to say of any row."""
    told = [k for k in range(len(columns)) if not rows or any(row[k] != NONE for row in rows)]
    kept = [[row[k] for k in told] for row in (columns, *rows)]
    return [line(kept[0]), "|---" * len(told) + "|", *map(line, kept[1:])]


def rates(entry):
    return [run["images_per_s"] for run in entry["runs"]]


def measured_entries(suite):
    return [entry for entry in suite["entries"] if entry["runs"] and not entry["failed"]]


def ratio_text(suite, entry):
    """To the baseline, in each round by itself."""
    base = next((other for other in measured_entries(suite) if other["name"] == suite["baseline"]), None)
    return spread_text([mine / theirs for mine, theirs in zip(rates(entry), rates(base))]) if base else "not measured"


def rate_text(suite, entry):
    text = spread_text(rates(entry))
    if len(rates(entry)) > 1 and is_noisy(rates(entry)):
        text += ", noisy"
    if not all(run["cache_as_asked"] for run in entry["runs"]):
        text += f", cache not {suite['cache']}"
    return text


def entry_row(suite, entry):
    runs = entry["runs"]
    warmups = [run["warmup"] for run in runs if "warmup" in run]
    cpu = [1000 * run["cpu_s"] / run["images"] for run in runs]
    return [
        entry["name"],
        entry["version"],
        rate_text(suite, entry),
        ratio_text(suite, entry),
        shown(statistics.median(cpu)),
        median_text(runs, "first_batch_s"),
        median_text(runs, "import_s"),
        median_text(warmups, "images_per_s"),
        memory_text(runs, "memory_bytes"),
        memory_text(runs, "mapped_bytes"),
        shown(entry["disk_bytes"] / 1e6),
        shown(entry["convert_s"]) if entry["convert_s"] else NONE,
        entry["shuffle"],
    ]


def verify_row(entry):
    ((run,), marks) = entry["runs"], []
    if run.get("packed_only"):
        marks = [str(run["lost"][0]), "0", "as the source, by `inspect --against`", "", "", ""]
    else:
        marks = [*(", ".join(map(str, run[field])) for field in ("lost", "repeated")), f"{run['colours_alike']:.2f}"]
        marks += ["" if run["upright"] is None else f"{run['upright']:.0%}", f"{run['moved']:.2f}"]
        marks += ["overwritten" if run["overwritten"] else "kept"]
    return [entry["name"], entry["version"], *marks, "; ".join(run["wrong"]) or "nothing"]


def foreign_text(suite):
    foreign = max((run["foreign_cpus"] for entry in suite["entries"] for run in entry["runs"]), default=0)
    return f"other work, the kernel's included, kept up to {foreign:.2f} cores busy"


def held_text(suite):
    free = any(run.get("held") is False for entry in suite["entries"] for run in entry["runs"])
    return "; inputs not held in the page cache (it takes root, and some thousand open files)" if free else ""


def head_text(suite):
    if suite["name"] == "verify":
        return f"{folders_text(suite)}, each a class by itself."
    return (
        f"{folders_text(suite)}. Cache {suite['cache']}, crops of {suite['side']}, {suite['jobs']} threads or"
        f" processes, {suite['repeats']} rounds; {foreign_text(suite)}{held_text(suite)}."
        f" Baseline: {suite['baseline']}."
    )


def suite_text(suite):
    entries = measured_entries(suite)
    if suite["name"] == "verify":
        body = table(VERIFY_COLUMNS, [verify_row(entry) for entry in entries])
    else:
        fastest_first = sorted(entries, key=lambda entry: -statistics.median(rates(entry)))
        body = table(COLUMNS, [entry_row(suite, entry) for entry in fastest_first])
    heading = f"### `{suite['name']}`: {suite['title']}"
    return "\n".join([heading, "", head_text(suite), "", *body, *failures_text(suite)])


BOOK = Book("peers", suite_text, ROUNDS)
