"""The bench of remote storage on a small object: what it prints, and what it says of programs that are not there."""

import re
import subprocess
import sys

import pytest
import servers

BENCH = servers.ROOT / "bench/remote"


def bench(*options):
    small = ["--parts", "object", "--object-mib", "1", "--rounds", "2", "--mbit", "8000"]
    command = [sys.executable, BENCH, *small, *options]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module", name="printed")
def printed_fixture():
    try:
        servers.program("weed")
    except servers.Missing as missing:
        pytest.skip(str(missing))
    done = bench("--delays", "1,5", "--shaping", "proxy", "--connections", "4")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_delay_has_a_table_beside_the_fastest_of_the_others(printed):
    assert re.findall(r"^### (.*)$", printed, re.M) == ["1 ms", "5 ms"]
    assert len(re.findall(r"^\| program \| MB/s \| beside (?:curl|s5cmd)", printed, re.M)) == 2
    for name in ("curl, 1 connection", "curl, 4 connections"):
        assert len(re.findall(rf"^\| {name} \| \d+ \(\d+ \.\. \d+\) \| \d+\.\d\d \(", printed, re.M)) == 2
    assert "by proxy; 4 connections" in printed


def test_ours_is_measured_and_what_cannot_be_is_named(printed):
    assert len(re.findall(r"^\| packhorse copy \| \d+ \(", printed, re.M)) == 2
    s5cmd = len(re.findall(r"^\| s5cmd, 4 connections \|", printed, re.M))
    assert s5cmd == 2 or len(re.findall(r"^- s5cmd, 4 connections: not measured: ", printed, re.M)) == 2


def test_a_page_is_not_written_of_a_measurement_in_part(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- remote bench: begin -->\n<!-- remote bench: end -->\n")
    done = bench("--write", page)
    assert done.returncode == 1 and "fewer than 5 rounds" in done.stderr
    assert page.read_text().count("\n") == 2
