"""The bench of the image modes from outside, on a few of our own pictures: the tables it prints."""

import re
import subprocess
import sys

from python_support import PACKHORSE, ROOT, SHAPES

BENCH = ROOT / "bench/image_modes"
PAGE = ROOT / "docs/image_modes.md"


# Runs the bench with a large picture that is not so large.
SMALL = """
import runpy, sys
bench, *sys.argv[1:] = sys.argv[1:]
main = runpy.run_path(bench)["main"]
main.__globals__["LARGE"] = (800, 600)
main()
"""


def heads(text):
    """The first row and the first column of each table."""
    tables = re.findall(r"(?:^\|.*\n?)+", text, re.M)
    cells = [[line.strip("|").split("|") for line in table.splitlines()] for table in tables]
    return [(tuple(rows[0]), tuple(row[0] for row in rows[2:])) for rows in cells]


def test_it_writes_the_tables_of_the_page(tmp_path):
    old = PAGE.read_text()
    page = tmp_path / "page.md"
    page.write_text(old)
    arguments = [BENCH / "__main__.py", SHAPES / "val", "--packhorse", PACKHORSE, "--write", page]
    command = [sys.executable, "-c", SMALL, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    new = page.read_text()
    begin, end = "<!-- image modes bench: begin -->", "<!-- image modes bench: end -->"
    assert new.split(begin)[0] == old.split(begin)[0] and new.split(end)[1] == old.split(end)[1]
    written = heads(new.split(begin)[1].replace("800 x 600", "4000 x 3000"))
    assert [head for head, _ in written] == [head for head, _ in heads(old.split(begin)[1])]
    assert len(written) == 4 and all(rows for _, rows in written)
