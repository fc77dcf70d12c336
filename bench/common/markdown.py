"""Tables and figures in Markdown, and their place in a page: between two lines that name them."""

import argparse
import statistics
import sys
from pathlib import Path


def table(head, rows):
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


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


def parser(name, about):
    """Of a bench that has found all there is when it ends: `bench NAME` prints it, or puts it into a page."""
    made = argparse.ArgumentParser(
        f"python3 bench/{name}", description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--write", type=Path, metavar="PAGE", help="replace what stands between the page's markers")
    return made


def show(options, name, text):
    if options.write:
        put(options.write, name, text)
    else:
        print(text)
