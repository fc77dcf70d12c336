"""The suites as Markdown: one table of the whole field each."""

import statistics

from common.markdown import spread_text, table
from common.report import Book, conditions_text, failures_text, folders_text, runs_of, suite_text
from common.rows import is_noisy

ROUNDS = 5  # fewer are no table
NONE = "none"


def shown(value):
    """With the digits that mean something."""
    if value < 0.1:
        return f"{value:.2g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def median_text(runs, field):
    values = [run[field] for run in runs if field in run]
    return shown(statistics.median(values)) if values else NONE


def memory_text(runs, field):
    largest = max(run[field] for run in runs)
    return shown(largest / 2**20) if largest else "over too soon"


def rates(entry):
    return [run["images_per_s"] for run in entry["runs"]]


def measured_entries(suite):
    return [entry for entry in suite["entries"] if entry["runs"] and not entry["failed"]]


def ratio_text(suite, entry):
    """To the baseline, in each round by itself."""
    base = next((other for other in measured_entries(suite) if other["name"] == suite["baseline"]), None)
    ratios = [mine / theirs for mine, theirs in zip(rates(entry), rates(base))] if base else []
    return spread_text(ratios, shown) if ratios else "not measured"


def rate_text(suite, entry):
    text = spread_text(rates(entry), shown)
    if len(rates(entry)) > 1 and is_noisy(rates(entry)):
        text += ", noisy"
    if not all(run["cache_as_asked"] for run in entry["runs"]):
        text += f", cache not {suite['cache']}"
    return text


def conversion_text(entry):
    return shown(entry["convert_s"]) if entry["convert_s"] else NONE


def cpu_text(entry):
    return shown(statistics.median(1000 * run["cpu_s"] / run["images"] for run in entry["runs"]))


def first_epoch_text(entry):
    return median_text([run["warmup"] for run in entry["runs"] if "warmup" in run], "images_per_s")


COLUMNS = {  # heading -> the text of a suite's entry
    "contender": lambda suite, entry: entry["name"],
    "version": lambda suite, entry: entry["version"],
    "images/s": rate_text,
    "x baseline": ratio_text,
    "CPU s / 1000 images": lambda suite, entry: cpu_text(entry),
    "first batch, s": lambda suite, entry: median_text(entry["runs"], "first_batch_s"),
    "imports before it, s": lambda suite, entry: median_text(entry["runs"], "import_s"),
    "first epoch, images/s": lambda suite, entry: first_epoch_text(entry),
    "MiB, own": lambda suite, entry: memory_text(entry["runs"], "memory_bytes"),
    "MiB, mapped": lambda suite, entry: memory_text(entry["runs"], "mapped_bytes"),
    "MB on disk": lambda suite, entry: shown(entry["disk_bytes"] / 1e6),
    "s to convert": lambda suite, entry: conversion_text(entry),
    "shuffle": lambda suite, entry: entry["shuffle"],
}
VERIFIED = {  # heading -> the text of a run that says it of itself
    "lost": lambda run: ", ".join(map(str, run["lost"])),
    "repeated": lambda run: ", ".join(map(str, run["repeated"])),
    "colours alike": lambda run: f"{run['colours_alike']:.2f}",
    "not flipped": lambda run: "" if run["upright"] is None else f"{run['upright']:.0%}",
    "moved by": lambda run: f"{run['moved']:.2f}",
    "first batch, later": lambda run: "overwritten" if run["overwritten"] else "kept",
}


def pass_table(suite, entries):
    """The fastest first, without the columns that have nothing to say of any of them."""
    entries = sorted(entries, key=lambda entry: -statistics.median(rates(entry)))
    columns = {head: [text(suite, entry) for entry in entries] for head, text in COLUMNS.items()}
    told = {head: texts for head, texts in columns.items() if not texts or set(texts) != {NONE}}
    return table(list(told), zip(*told.values()))


def verify_row(entry):
    (run,) = entry["runs"]
    if run.get("packed_only"):
        marks = [str(run["lost"][0]), "0", "as the source, by `inspect --against`", "", "", ""]
    else:
        marks = [text(run) for text in VERIFIED.values()]
    return [entry["name"], entry["version"], *marks, "; ".join(run["wrong"]) or "nothing"]


def held_text(suite):
    free = any(run.get("held") is False for run in runs_of(suite))
    return "; inputs not held in the page cache (it takes root, and some thousand open files)" if free else ""


def peers_text(suite):
    entries = measured_entries(suite)
    if suite["name"] == "verify":
        conditions = f"{folders_text(suite)}, each a class by itself"
        body = table(["contender", "version", *VERIFIED, "what is wrong"], map(verify_row, entries))
    else:
        conditions = conditions_text(suite, "threads or processes", f", crops of {suite['side']}")
        conditions += f"{held_text(suite)}. Baseline: {suite['baseline']}"
        body = pass_table(suite, entries)
    return suite_text(suite, conditions, body, failures_text(suite))


BOOK = Book("peers", peers_text, ROUNDS)
