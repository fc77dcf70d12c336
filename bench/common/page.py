"""The one page writer: tables in Markdown, their place in a page, between two lines that name them, and the JSON of the
figures that they are made of."""

import argparse
import dataclasses
import json
import statistics
import sys
from pathlib import Path

SCHEMA = 1


def table(head, rows):
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def shown(value):
    """With the digits that mean something."""
    if abs(value) < 0.1:
        return f"{value:.2g}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread_text(values, text=shown):
    """The median, and behind it the smallest and the largest: `312 (298 .. 320)`."""
    return f"{text(statistics.median(values))} ({text(min(values))} .. {text(max(values))})"


def put(page, name, text):
    """Replaces what stands in a page between its lines `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    old = page.read_text()
    if old.count(begin) != 1 or old.count(end) != 1:
        sys.exit(f"{page} has no lines {begin} and {end}")
    before, rest = old.split(begin)
    page.write_text(f"{before}{begin}\n\n{text.rstrip()}\n\n{end}{rest.split(end)[1]}")


def parser(name, about):
    """Of a bench that has found all there is when it ends: `bench NAME` prints it, or puts it into a page."""
    made = argparse.ArgumentParser(
        f"python3 bench/{name}", description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--write", type=Path, metavar="PAGE", help="replace what stands between the page's markers")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the raw figures to FILE")
    return made


def show(options, name, text, figures):
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"bench": name, "schema": SCHEMA, **figures}, indent=1) + "\n")
    if options.write:
        put(options.write, name, text)
    else:
        print(text)


@dataclasses.dataclass(frozen=True)
class Book:
    """The results of a bench of suites: a file of them, and its part of a page."""

    bench: str  # as the file and the page's markers name it
    suites: dict  # name -> Suite, in the order of the page
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
        gone = [suite["name"] for suite in found["suites"] if suite["name"] not in self.suites]
        if gone:
            sys.exit(f"{path} has suites that the {self.bench} bench has no more: {', '.join(gone)}")
        return found["suites"]

    def markdown(self, suites):
        """Machine and versions once where all suites share them, then a section for each suite."""
        places = list(self.suites)
        suites = sorted(suites, key=lambda suite: places.index(suite["name"]))
        settings = {}
        for suite in suites:
            key = json.dumps(suite["machine"], sort_keys=True)
            settings.setdefault(key, (suite["machine"], {}))[1].update(suite["versions"])
        return "\n\n".join([*map(setting_text, settings.values()), *map(self.section, suites)])

    def section(self, suite):
        made = self.suites[suite["name"]]
        head = f"### `{suite['name']}`: {suite['title']}"
        parts = [head, conditions_text(suite), *(make(suite) for make in made.tables), failures_text(suite)]
        return "\n\n".join(filter(None, parts))

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


def runs_of(suite):
    return [run for entry in suite["entries"] for run in entry["runs"]]


def conditions_text(suite):
    """What the suite was measured on, and beside what."""
    texts = [f"{folder['files']:,} files, {folder['bytes'] / 1e6:,.1f} MB" for folder in suite["folders"]]
    foreign = max((run["foreign_cpus"] for run in runs_of(suite)), default=0)
    crops = f", crops of {suite['side']}" if suite["side"] else ""
    return (
        f"{'; '.join(texts) or 'no folder'}. Cache {suite['cache']}{crops}, {suite['jobs']} jobs, {suite['repeats']} "
        f"rounds; other work, the kernel's included, kept up to {foreign:.2f} cores busy."
    )


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
