"""The packing bench's suites as Markdown."""

import statistics

from common.report import Book, bar_text, failures_text, folders_text, verdict_text, value_text

HEAD = """| packhorse | against | bar | measured | seconds, ours | seconds, theirs | bar met |
|---|---|---|---|---|---|---|"""


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
        theirs = seconds_text(suite, row["against"]) if row["against"] else ""
        cells += [value_text(row), seconds_text(suite, row["subject"]), theirs, verdict_text(suite, row)]
    return f"| {' | '.join(cells)} |"


def suite_text(suite):
    foreign = max((run["foreign_cpus"] for entry in suite["entries"] for run in entry["runs"]), default=0)
    lines = [
        f"### `{suite['name']}`: {suite['title']}",
        "",
        f"{folders_text(suite)}. Cache {suite['cache']}, {suite['jobs']} jobs, {suite['repeats']} rounds; other work,"
        f" the kernel's included, kept up to {foreign:.2f} cores busy.",
        "",
        HEAD,
    ]
    return "\n".join([*lines, *(row_line(suite, row) for row in suite["rows"]), *failures_text(suite)])


BOOK = Book("pack", suite_text)
