"""The bench of remote storage on a small object: what it prints, and how it names programs that are not there."""

import re
import subprocess
import sys

import pytest
import servers

BENCH = servers.ROOT / "bench/remote"


# Runs the bench where s5cmd is not installed.
WITHOUT = """
import runpy, sys
bench, *sys.argv[1:] = sys.argv[1:]
sys.path.insert(0, bench)
main = runpy.run_path(bench + "/__main__.py")["main"]
import contenders
found = contenders.program

def program(name):
    if name == "s5cmd":
        raise contenders.Unavailable("no s5cmd here")
    return found(name)

contenders.program = program
main()
"""


def bench(*options):
    small = ["--parts", "object", "--object-mib", "1", "--rounds", "2", "--mbit", "8000"]
    command = [sys.executable, "-c", WITHOUT, BENCH, *small, *options]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, check=False)


def test_a_delay_has_a_table_beside_the_fastest_of_the_others_and_names_what_is_missing():
    try:
        servers.program("weed")
    except servers.Missing as missing:
        pytest.skip(str(missing))
    done = bench("--delays", "1", "--shaping", "proxy", "--connections", "4")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^### (.*)$", done.stdout, re.M) == ["1 ms"] and "by proxy; 4 connections" in done.stdout
    assert re.search(r"^\| program \| MB/s \| beside curl, \d connections? ", done.stdout, re.M)
    for name in ("packhorse copy", "curl, 1 connection", "curl, 4 connections"):
        assert re.search(rf"^\| {name} \| \d+ \(\d+ \.\. \d+\) \| \d+\.\d\d \(", done.stdout, re.M)
    assert re.findall(r"^- (.*)", done.stdout, re.M) == ["s5cmd, 4 connections: not measured: no s5cmd here"]


def test_a_page_is_not_written_of_a_measurement_in_part(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- remote bench: begin -->\n<!-- remote bench: end -->\n")
    done = bench("--write", page)
    assert done.returncode == 1 and "fewer than 5 rounds" in done.stderr
    assert page.read_text().count("\n") == 2
