"""Results as JSON, and as the Markdown that a page shows between two markers."""

import dataclasses
import json
import sys
from collections.abc import Callable

from common.markdown import put, table

SCHEMA = 1
WHOLE_UNITS = ("MiB", "bytes a sample", "samples/s")


@dataclasses.dataclass(frozen=True)
class Book:
    """The results of one bench: a file of them, and its part of a page."""

    bench: str  # as the file and the page's markers name it
    suite_text: Callable  # a suite's JSON -> Markdown
    rounds: int = 1  # that a page asks for at least, of suites that do not say otherwise

    def add_to(self, path, suites):
        """Puts suites into a file of results, in the place of older ones of the same name."""
        kept = self.load(path) if path.exists() else []
        path.parent.mkdir(parents=True, exist_ok=True)
        book = {"bench": self.bench, "schema": SCHEMA, "suites": merged(kept, suites)}
        path.write_text(json.dumps(book, indent=1) + "\n")

    def load(self, path):
        found = json.loads(path.read_text())
        if found.get("bench") != self.bench or found.get("schema") != SCHEMA:
            sys.exit(f"{path} holds no results of the {self.bench} bench")
        return found["suites"]

    def markdown(self, suites):
        """Machine and versions once where all suites share them, then a table for each suite."""
        settings = {}
        for suite in suites:
            key = json.dumps(suite["machine"], sort_keys=True)
            settings.setdefault(key, (suite["machine"], {}))[1].update(suite["versions"])
        return "\n\n".join([*map(setting_text, settings.values()), *map(self.suite_text, suites)])

    def put_into(self, page, suites):
        """Replaces what stands between the markers of a page."""
        partial = [suite["name"] for suite in suites if suite["scale"] != 1 or suite["only"]]
        if partial:
            sys.exit(f"measured in part only (--scale, --only): {', '.join(partial)}")
        short = [suite["name"] for suite in suites if suite["repeats"] < suite.get("rounds", self.rounds)]
        if short:
            sys.exit(f"measured in fewer than {self.rounds} rounds: {', '.join(short)}")
        put(page, f"{self.bench} bench", self.markdown(suites))


def merged(old, new):
    suites = {suite["name"]: suite for suite in [*old, *new]}
    return list(suites.values())


def number(value, unit):
    return f"{value:,.0f}" if unit in WHOLE_UNITS else f"{value:.2f}"


def bar_text(row):
    word, value = next(iter(row["bar"].items()))
    shown = f"{value:,.0f}" if value >= 1000 else f"{value:g}"
    return f"{'>=' if word == 'at_least' else '<='} {shown} {row['unit']}".replace(" x", "x")


def value_text(row):
    value = {key: number(figure, row["unit"]) for key, figure in row["value"].items()}
    return f"{value['median']} ({value['min']} .. {value['max']})"


def verdict_text(suite, row):
    """Whether the bar is met, and what speaks against the figure."""
    text = "yes" if row["met"] else "**no**"
    if row["noisy"]:
        text += f", noisy: {' and '.join(row['noisy'])}"
    if row["cache_not_as_asked"]:
        text += f", cache not {suite['cache']}: {' and '.join(row['cache_not_as_asked'])}"
    return text


def rows_table(suite, more=()):
    """The bars. `more`: further columns behind the figure, (heading, suite and row -> text)."""

    def cells(row):
        known = [row["subject"], row["against"] or "", bar_text(row)]
        if "not_measured" in row:
            return [*known, "not measured", *[""] * len(more), ""]
        return [*known, value_text(row), *(text(suite, row) for _, text in more), verdict_text(suite, row)]

    head = ["packhorse", "against", "bar", "measured", *(heading for heading, _ in more), "bar met"]
    return table(head, map(cells, suite["rows"]))


def runs_of(suite):
    return [run for entry in suite["entries"] for run in entry["runs"]]


def folders_text(suite):
    texts = [f"{folder['files']:,} files, {folder['bytes'] / 1e6:,.1f} MB" for folder in suite["folders"]]
    return "; ".join(texts) or "no folder"


def conditions_text(suite, workers, crops=""):
    """What the suite was measured on, and beside what."""
    foreign = max((run["foreign_cpus"] for run in runs_of(suite)), default=0)
    return (
        f"{folders_text(suite)}. Cache {suite['cache']}{crops}, {suite['jobs']} {workers}, {suite['repeats']} rounds;"
        f" other work, the kernel's included, kept up to {foreign:.2f} cores busy"
    )


def suite_text(suite, conditions, *parts):
    return "\n\n".join([f"### `{suite['name']}`: {suite['title']}", f"{conditions}.", *filter(None, parts)])


def failures_text(suite):
    reasons = {entry["name"]: entry["failed"] for entry in suite["entries"] if entry["failed"]}
    return "\n".join(["Not measured:", *(f"- {name}: {reason}" for name, reason in reasons.items())]) if reasons else ""


def setting_text(setting):
    machine, versions = setting
    facts = [
        machine["cpu"],
        f"{machine['cpus']} CPUs",
        f"{machine['memory_bytes'] / 2**30:.0f} GiB",
        machine["system"],
        f"Linux {machine['kernel']}",
        f"data on {machine['disk_file_system']}",
    ]
    return f"{', '.join(facts)}. {'; '.join(f'{name} {version}' for name, version in versions.items())}."
