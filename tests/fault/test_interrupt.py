"""Packing that is killed, interrupted or done twice at once: nothing half-made is ever taken for a dataset, and
the same command again ends with the very bytes of an undisturbed run.

The preload of fault_loop.py halts the program at a chosen call. fault_loop.py kills it at each.
"""

import io
import os
import re
import shutil
import signal
import tarfile

import fault_loop
import pytest
from python_support import (
    FAILED,
    FORMATS,
    INTERRUPTED,
    PACKHORSE,
    SHAPES,
    TERMINATED,
    finish,
    make_source,
    pack,
    packhorse,
    refused,
    staging,
    tree,
)

SHARDS = 12
OPTIONS = ("--format", "wds", "--shard-samples", "2", "--jobs", "1", "--no-shuffle", "--json")
SIGNALS = [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return make_source(tmp_path_factory.mktemp("source") / "source", 2 * SHARDS)


@pytest.fixture(scope="module")
def undisturbed(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    pack(source, out, *OPTIONS)
    return tree(out)


def receipts(out):
    return list((staging(out) / "receipts").rglob("*.json"))


def start_and_stop(out, command):
    """Starts a `pack` and halts it when a few shards are packed: three and more files are renamed for each."""
    process = fault_loop.halted((PACKHORSE, *command), out, "rename", 16)
    assert 3 <= len(receipts(out)) < SHARDS - 3
    return process


def start_and_kill(out, command):
    process = start_and_stop(out, command)
    process.kill()
    assert finish(process).code == -signal.SIGKILL
    return len(receipts(out))


def no_reader_accepts(out, folder):
    for path in (out, staging(out)):
        for command in (("inspect", path, "--verify", "full"), ("bench", path), ("unpack", path, folder)):
            assert "next: " in refused(*command, code=FAILED).err
    assert "run the same pack command again" in refused("inspect", staging(out)).err
    assert "no dataset.json" in refused("inspect", next((staging(out) / "data").iterdir())).err
    assert not folder.exists()


def only(path, *names):
    return sorted(os.listdir(path)) == sorted(names)


@pytest.mark.parametrize("form", FORMATS)
def test_a_killed_run_is_no_dataset_and_the_same_command_completes_it(tmp_path, form):
    out = tmp_path / "out"
    options = ("--format", form, "--shard-samples", "13", "--jobs", "1", "--json")
    done = start_and_kill(out, ("pack", SHAPES, out, *options))
    no_reader_accepts(out, tmp_path / "unpacked")
    assert pack(SHAPES, out, *options)["shards_kept"] == done
    pack(SHAPES, tmp_path / "undisturbed", *options)
    assert tree(out) == tree(tmp_path / "undisturbed") and only(tmp_path, "out", "undisturbed")


def test_a_kill_right_before_publishing_leaves_no_manifest_beside_other_shards(source, tmp_path):
    """A pack is sealed but not renamed; then the source changes, and the next run is killed among the new shards."""
    copy, out, counts = tmp_path / "source", tmp_path / "out", tmp_path / "counts"
    shutil.copytree(source, copy)
    command = ("pack", copy, out, *OPTIONS)
    renames = fault_loop.calls((PACKHORSE, *command), out, "rename", counts)
    shutil.rmtree(out)
    process = fault_loop.halted((PACKHORSE, *command), out, "rename", renames)
    process.kill()
    finish(process)
    assert (staging(out) / "data/dataset.json").exists() and not out.exists()
    first = copy / "class-0/000000.jpg"
    first.write_bytes(first.read_bytes()[:-4] + b"4321")
    (copy / "class-0/000001.jpg").rename(copy / "class-0/000001x.jpg")
    process = fault_loop.halted((PACKHORSE, *command), out, "rename", 1)
    process.kill()
    finish(process)
    refused("inspect", staging(out) / "data")
    packhorse(*command)
    pack(copy, tmp_path / "fresh", *OPTIONS)
    assert tree(out) == tree(tmp_path / "fresh") and only(tmp_path, "counts", "fresh", "out", "source")


def test_a_changed_source_is_packed_as_it_is_now(source, tmp_path):
    copy, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(source, copy)
    start_and_kill(out, ("pack", copy, out, *OPTIONS))
    first = copy / "class-0/000000.jpg"
    first.write_bytes(first.read_bytes()[:-4] + b"4321")
    (copy / "class-0/000003.jpg").rename(copy / "class-0/000003x.jpg")
    pack(copy, out, *OPTIONS)
    pack(copy, tmp_path / "fresh", *OPTIONS)
    assert tree(out) == tree(tmp_path / "fresh")


@pytest.mark.parametrize("form", FORMATS)
def test_after_a_kill_other_options_leave_no_trace_of_the_first(source, form, tmp_path):
    out = tmp_path / "out"
    start_and_kill(out, ("pack", source, out, *OPTIONS))
    other = ("--format", form, "--shard-samples", "7", "--seed", "5")
    pack(source, out, *other)
    pack(source, tmp_path / "fresh", *other)
    assert tree(out) == tree(tmp_path / "fresh") and only(tmp_path, "fresh", "out")


def test_a_killed_overwrite_leaves_the_old_dataset(source, undisturbed, tmp_path):
    out = tmp_path / "out"
    pack(make_source(tmp_path / "old", 10), out, "--format", "wds")
    old = tree(out)
    start_and_kill(out, ("pack", source, out, "--overwrite", *OPTIONS))
    assert tree(out) == old
    packhorse("inspect", out, "--verify", "full")
    assert pack(source, out, "--overwrite", *OPTIONS)["shards_kept"] >= 3
    assert tree(out) == undisturbed and only(tmp_path, "old", "out")


@pytest.mark.parametrize("number,code", SIGNALS)
def test_a_signal_ends_it_and_says_how_to_go_on(source, undisturbed, tmp_path, number, code):
    out = tmp_path / "out"
    process = start_and_stop(out, ("pack", source, out, *OPTIONS))
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    result = finish(process)
    assert result.code == code and result.out == "", result
    assert "nothing was published" in result.err and str(staging(out)) in result.err
    assert "run the same command again" in result.err and not out.exists()
    assert not list(staging(out).rglob("*.tmp*")), "an orderly end leaves no half-written file"
    assert pack(source, out, *OPTIONS)["shards_kept"] >= 3
    assert tree(out) == undisturbed and only(tmp_path, "out")


def test_the_second_of_two_writers_is_refused_and_the_first_goes_on(source, undisturbed, tmp_path):
    out = tmp_path / "out"
    command = ("pack", source, out, *OPTIONS)
    first = start_and_stop(out, command)
    result = refused(*command, code=FAILED)
    assert "another process is writing" in result.err and "next: " in result.err
    assert re.search(rf"process {first.pid} on {re.escape(os.uname().nodename)}", result.err), result
    assert refused("inspect", out).err and not out.exists()
    first.send_signal(signal.SIGCONT)
    result = finish(first)
    assert result.code == 0 and result.err == "" and result.json["shards_kept"] == 0
    assert tree(out) == undisturbed and only(tmp_path, "out")


def test_a_target_that_appears_while_packing_is_not_replaced(source, tmp_path):
    out = tmp_path / "out"
    process = start_and_stop(out, ("pack", source, out, *OPTIONS))
    out.mkdir()
    process.send_signal(signal.SIGCONT)
    result = finish(process)
    assert result.code == FAILED and "already exists" in result.err and os.listdir(out) == [], result
    out.rmdir()
    assert pack(source, out, *OPTIONS)["shards_kept"] == SHARDS


def write_foreign_tar(path, images):
    """A tar by another program."""
    picture = b"P6\n10 10\n255\n" + bytes(300)
    with tarfile.open(path, "w") as archive:
        for i in range(images):
            for name, content in ((f"{i:06}.ppm", picture), (f"{i:06}.cls", b"0")):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize("number,code", SIGNALS)
def test_a_signal_ends_adoption_and_leaves_nothing(tmp_path, number, code):
    shard, out = tmp_path / "foreign.tar", tmp_path / "out"
    write_foreign_tar(shard, 5)
    before = shard.read_bytes()
    command = (PACKHORSE, "index", shard, "--out", out, "--jobs", "1")
    process = fault_loop.halted(command, staging(out) / "data", "open", 1)
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    result = finish(process)
    assert result.code == code and result.out == "" and "nothing was published" in result.err, result
    assert "run the same command again" in result.err
    assert not out.exists() or not list(out.iterdir())
    assert shard.read_bytes() == before
    packhorse("index", shard, "--out", out)
    assert packhorse("inspect", out, "--verify", "full", "--json").json["ok"]
