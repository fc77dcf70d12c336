"""Results as JSON, and as the Markdown that docs/benchmarks.md shows between two markers."""

import json
import statistics
from pathlib import Path

SCHEMA = 1
BEGIN, END = "<!-- pack bench: begin -->", "<!-- pack bench: end -->"
HEAD = """| packhorse | against | bar | measured | seconds, ours | seconds, theirs | bar met |
|---|---|---|---|---|---|---|"""


class CannotWrite(Exception):
    """A page cannot be written; the text says why."""


def add_to(path, suites):
    """Puts suites into a file of results, in the place of older ones of the same name."""
    kept = load(path) if path.exists() else []
    write(path, merged(kept, suites))


def load(path):
    found = json.loads(Path(path).read_text())
    if found.get("bench") != "pack" or found.get("schema") != SCHEMA:
        raise CannotWrite(f"{path} holds no results of the pack bench")
    return found["suites"]


def merged(old, new):
    suites = {suite["name"]: suite for suite in [*old, *new]}
    return list(suites.values())


def write(path, suites):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"bench": "pack", "schema": SCHEMA, "suites": suites}, indent=1) + "\n")


def number(value, unit):
    return f"{value:.0f}" if unit in ("MiB", "bytes a sample") else f"{value:.2f}"


def bar_text(row):
    word, value = next(iter(row["bar"].items()))
    return f"{'>=' if word == 'at_least' else '<='} {value:g} {row['unit']}".replace(" x", "x")


def value_text(row):
    value = {key: number(figure, row["unit"]) for key, figure in row["value"].items()}
    return f"{value['median']} ({value['min']} .. {value['max']})"


def seconds_text(suite, name):
    entry = next((entry for entry in suite["entries"] if entry["name"] == name), None)
    if not entry or not entry["runs"]:
        return ""
    taken = [run["seconds"] for run in entry["runs"]]
    return f"{statistics.median(taken):.2f} ({min(taken):.2f} .. {max(taken):.2f})"


def row_line(suite, row):
    cells = [row["subject"], row["against"] or "", bar_text(row)]
    if "not_measured" in row:
        cells += ["not measured", "", "", ""]
    else:
        verdict = "yes" if row["met"] else "**no**"
        noise = f", noisy: {' and '.join(row['noisy'])}" if row["noisy"] else ""
        if row["cache_not_as_asked"]:
            noise += f", cache not {suite['cache']}: {' and '.join(row['cache_not_as_asked'])}"
        theirs = seconds_text(suite, row["against"]) if row["against"] else ""
        cells += [value_text(row), seconds_text(suite, row["subject"]), theirs, verdict + noise]
    return f"| {' | '.join(cells)} |"


def folder_text(folder):
    return f"{folder['files']:,} files, {folder['bytes'] / 1e6:,.1f} MB"


def suite_text(suite):
    folders = "; ".join(folder_text(folder) for folder in suite["folders"]) or "no folder"
    foreign = max((run["foreign_cpus"] for entry in suite["entries"] for run in entry["runs"]), default=0)
    lines = [f"### `{suite['name']}`: {suite['title']}", ""]
    lines += [
        f"{folders}. Cache {suite['cache']}, {suite['jobs']} jobs, {suite['repeats']} rounds; other work, the kernel's"
        f" included, kept up to {foreign:.2f} cores busy.",
        "",
        HEAD,
    ]
    lines += [row_line(suite, row) for row in suite["rows"]]
    reasons = {e["name"]: e["failed"] for e in suite["entries"] if e["failed"]}
    if reasons:
        lines += ["", "Not measured:", *(f"- {name}: {reason}" for name, reason in reasons.items())]
    return "\n".join(lines)


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


def markdown(suites):
    """Machine and versions once where all suites share them, then a table for each suite."""
    settings = {}
    for suite in suites:
        key = json.dumps(suite["machine"], sort_keys=True)
        settings.setdefault(key, (suite["machine"], {}))[1].update(suite["versions"])
    return "\n\n".join([*map(setting_text, settings.values()), *map(suite_text, suites)])


def put_into(page, suites):
    """Replaces what stands between the markers of a page."""
    partial = [suite["name"] for suite in suites if suite["scale"] != 1 or suite["only"]]
    if partial:
        raise CannotWrite(f"measured in part only (--scale, --only): {', '.join(partial)}")
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise CannotWrite(f"{page} has no pair of lines `{BEGIN}` and `{END}`")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n{markdown(suites)}\n\n{END}{after}")
