"""--quiet: a run that succeeds prints no progress and no summary; errors, warnings and what was asked for stay."""

import os
import pty
import shutil
import subprocess

import pytest
from python_support import DAMAGE, DONE, PACKHORSE, SHAPES, TRAIN, USAGE, make_source, packhorse, run, train


@pytest.fixture
def packed(packed_shapes):
    return packed_shapes("wds")


def on_a_terminal(*command):
    """(exit code, stdout, what stderr shows) of a command whose stderr is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 65536)
            except OSError:  # what a terminal answers when nobody writes to it any more
                break
        out = process.stdout.read().decode()
    os.close(ours)
    return process.returncode, out, shown.decode()


def test_what_succeeds_says_nothing(tmp_path, packed):
    shutil.copytree(packed, tmp_path / "sound")
    for command in [
        ("pack", SHAPES, tmp_path / "other", "-f", "hdf5", "-q"),
        ("inspect", packed, "--verify", "full", "--quiet"),
        ("inspect", packed, "--against", SHAPES, "--report", tmp_path / "report.html", "-q"),
        ("repair", tmp_path / "sound", SHAPES, "--quiet"),
        ("unpack", packed / "val", tmp_path / "photos", "-q"),
        ("index", packed / "train/shard-000000.tar", "--out", tmp_path / "adopted", "--quiet"),
    ]:
        assert packhorse(*command).out == "", command
    assert (tmp_path / "report.html").exists() and (tmp_path / "adopted/dataset.json").exists()


def test_the_terminal_stays_clean(tmp_path, packed):
    usual = on_a_terminal(PACKHORSE, "inspect", packed, "--verify", "full")
    assert usual[0] == DONE and "ok: " in usual[1] and "\x1b[K" in usual[2]
    assert on_a_terminal(PACKHORSE, "inspect", packed, "--verify", "full", "-q") == (DONE, "", "")
    bench = ["bench", packed, "--split", "train", "--size", "32", "--repeats", "1", "--min-seconds", "0.01"]
    usual, quiet = on_a_terminal(PACKHORSE, *bench), on_a_terminal(PACKHORSE, *bench, "--quiet")
    assert "repeat 1 of 1" in usual[2] and quiet[2] == ""
    assert quiet[0] == DONE and "img/s" in quiet[1]


def test_what_was_asked_for_stays(packed):
    for command in ("stats", packed / "val"), ("duplicates", packed / "val"):
        assert packhorse(*command, "-q").out == packhorse(*command).out != ""
    assert packhorse("inspect", packed, "--verify", "quick", "-q", "--json").json["ok"]


def test_errors_and_warnings_stay(tmp_path, packed):
    (tmp_path / "wrapped").mkdir()
    source = make_source(tmp_path / "wrapped/source", 6)
    noted = packhorse("pack", tmp_path / "wrapped", tmp_path / "noted", "-f", "wds")
    notes = [line for line in noted.out.splitlines(keepends=True) if line.startswith("note: ")]
    assert notes, noted
    assert packhorse("pack", tmp_path / "wrapped", tmp_path / "quiet", "-f", "wds", "-q").out == "".join(notes)
    next(source.rglob("*.jpg")).write_bytes(b"no image")
    allowed = run("pack", source, tmp_path / "allowed", "-f", "wds", "-q", "--max-rejects", "1")
    assert (allowed.code, allowed.out) == (DONE, "") and allowed.err.startswith("rejected: "), allowed
    refused = run("pack", source, tmp_path / "refused", "-f", "wds", "-q")
    assert refused.code == DAMAGE and "seen 6 = " in refused.out and "nothing was published" in refused.err, refused
    shutil.copytree(packed / "val", tmp_path / "damaged")
    (tmp_path / "damaged/classes.txt").write_text("no class\n")
    damaged = run("inspect", tmp_path / "damaged", "--verify", "quick", "-q")
    assert damaged.code == DAMAGE and "damage: " in damaged.out and "packhorse: error: " in damaged.err, damaged


def test_quiet_where_it_would_change_nothing_is_refused(tmp_path, packed):
    refused = run("inspect", packed, "--list", "--quiet")
    assert refused.code == USAGE and "--quiet needs --verify or --against" in refused.err, refused
    assert run("pack", SHAPES, tmp_path / "out", "-f", "wds", "--dry-run", "-q").code == USAGE
    assert run("diff", packed, packed, "-q").code == USAGE


@pytest.mark.thorough
@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
def test_the_trainer_is_quiet_too(packed):
    small = ["--arch", "smallnet", "--image-size", "32", "--max-steps", "1", "--workers", "1"]
    done = train("fit", "--data", packed, *small, "-q")
    assert (done.code, done.out) == (DONE, ""), done
    # A note may come, such as that the reader threads are too few.
    assert all(line.startswith("packhorse-train: note: ") for line in done.err.splitlines()), done
    assert train("fit", "--data", packed, *small, "-q", "--json").json["steps"] == 1
    assert train("-V").out.startswith("packhorse-train ")


def test_versions_and_jobs_have_a_short_option(tmp_path, packed):
    assert packhorse("-V").out == packhorse("--version").out
    packs = ("pack", SHAPES, tmp_path / "out", "-f", "wds")
    for command in [("inspect", packed, "--verify", "full"), ("stats", packed), packs]:
        assert packhorse(*command, "-j", "1").out != ""
    refused = run("inspect", packed, "-j", "many")
    assert refused.code == USAGE and "--jobs" in refused.err, refused
