"""Results as JSON, and as the Markdown that docs/benchmarks.md shows between two markers."""

import dataclasses
import json
from collections.abc import Callable

SCHEMA = 1
WHOLE_UNITS = ("MiB", "bytes a sample", "samples/s")


class CannotWrite(Exception):
    """A page cannot be written; the text says why."""


@dataclasses.dataclass(frozen=True)
class Book:
    """The results of one bench: a file of them, and its part of a page."""

    bench: str  # as the file and the page's markers name it
    suite_text: Callable  # a suite's JSON -> Markdown
    rounds: int = 1  # that a page asks for at least, of suites that do not say otherwise

    @property
    def markers(self):
        return f"<!-- {self.bench} bench: begin -->", f"<!-- {self.bench} bench: end -->"

    def add_to(self, path, suites):
        """Puts suites into a file of results, in the place of older ones of the same name."""
        kept = self.load(path) if path.exists() else []
        path.parent.mkdir(parents=True, exist_ok=True)
        book = {"bench": self.bench, "schema": SCHEMA, "suites": merged(kept, suites)}
        path.write_text(json.dumps(book, indent=1) + "\n")

    def load(self, path):
        found = json.loads(path.read_text())
        if found.get("bench") != self.bench or found.get("schema") != SCHEMA:
            raise CannotWrite(f"{path} holds no results of the {self.bench} bench")
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
            raise CannotWrite(f"measured in part only (--scale, --only): {', '.join(partial)}")
        short = [suite["name"] for suite in suites if suite["repeats"] < suite.get("rounds", self.rounds)]
        if short:
            raise CannotWrite(f"measured in fewer than {self.rounds} rounds: {', '.join(short)}")
        text = page.read_text()
        begin, end = self.markers
        if text.count(begin) != 1 or text.count(end) != 1:
            raise CannotWrite(f"{page} has no pair of lines `{begin}` and `{end}`")
        before, rest = text.split(begin)
        after = rest.split(end)[1]
        page.write_text(f"{before}{begin}\n\n{self.markdown(suites)}\n\n{end}{after}")


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


def folders_text(suite):
    texts = [f"{folder['files']:,} files, {folder['bytes'] / 1e6:,.1f} MB" for folder in suite["folders"]]
    return "; ".join(texts) or "no folder"


def failures_text(suite):
    reasons = {entry["name"]: entry["failed"] for entry in suite["entries"] if entry["failed"]}
    return ["", "Not measured:", *(f"- {name}: {reason}" for name, reason in reasons.items())] if reasons else []


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
