"""Tables and figures in Markdown, and their place in a page: between two lines that name them."""

import statistics
import sys


def table(head, rows):
    lines = [" | ".join(row) for row in (head, *rows)]
    return "\n".join([f"| {lines[0]} |", "|---" * len(head) + "|", *(f"| {line} |" for line in lines[1:])])


def spread_text(values, text):
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


def show(options, name, text):
    """Prints what a bench has found, or puts it into the page that `--write` names."""
    put(options.write, name, text) if options.write else print(text)
