"""Packing that is killed, interrupted or done twice at once: nothing half-made is ever taken for a dataset, and
the same command again ends with the very bytes of an undisturbed run."""

import io
import os
import random
import re
import shutil
import signal
import tarfile
import time

import pytest
from python_support import (
    FAILED,
    FORMATS,
    INTERRUPTED,
    TERMINATED,
    finish,
    flip_byte,
    make_source,
    pack,
    packhorse,
    photos,
    refused,
    run,
    staging,
    start,
    tree,
)

IMAGES, SHARDS = 600, 24
OPTIONS = ("--shard-samples", str(IMAGES // SHARDS), "--jobs", "1")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return make_source(tmp_path_factory.mktemp("source") / "source", IMAGES)


@pytest.fixture(scope="module", params=FORMATS)
def form(request):
    return request.param


@pytest.fixture(scope="module")
def undisturbed(source, form, tmp_path_factory):
    out = tmp_path_factory.mktemp(form) / "out"
    pack(source, out, "--format", form, *OPTIONS)
    return tree(out)


def receipts(out):
    return list((staging(out) / "receipts").rglob("*.json"))


def start_and_stop(out, command, begun=None, anew=None):
    """Starts a command and halts it (SIGSTOP) in the middle: when `begun` is true, and still true once it is halted.

    Without `begun`: when a few shards are packed, at least three, and nothing is published. `anew` resets everything
    for another attempt, since the command may end before it can be halted."""
    begun = begun or (lambda: not out.exists() and 3 <= len(receipts(out)) < SHARDS)
    for _ in range(20):
        process = start(*command)
        while process.poll() is None and not begun():
            time.sleep(0.0005)
        process.send_signal(signal.SIGSTOP)
        if process.poll() is None and begun():
            return process
        process.kill()
        process.communicate()
        shutil.rmtree(out, ignore_errors=True)
        shutil.rmtree(staging(out), ignore_errors=True)
        if anew:
            anew()
    return pytest.fail("it was always over before it could be halted")


def no_reader_accepts(out, folder):
    for path in (out, staging(out)):
        for command in (
            ("inspect", path),
            ("inspect", path, "--verify", "quick"),
            ("inspect", path, "--verify", "full"),
            ("bench", path),
            ("unpack", path, folder),
        ):
            result = refused(*command, code=FAILED)
            assert "next: " in result.err, result
    assert "run the same pack command again" in refused("inspect", staging(out)).err
    assert "no dataset.json" in refused("inspect", staging(out) / "data").err
    assert not folder.exists()


def only(path, *names):
    return sorted(os.listdir(path)) == sorted(names)


def test_a_killed_run_is_no_dataset_and_the_same_command_completes_it(source, form, undisturbed, tmp_path):
    out = tmp_path / "out"
    command = ("pack", source, out, "--format", form, "--json", *OPTIONS)
    process = start_and_stop(out, command)
    done = len(receipts(out))
    process.kill()
    assert finish(process).code == -signal.SIGKILL
    no_reader_accepts(out, tmp_path / "unpacked")
    report = packhorse(*command).json
    assert done <= report["shards_kept"] < SHARDS
    assert tree(out) == undisturbed and only(tmp_path, "out")


def test_kills_at_any_moment_do_no_harm(source, form, undisturbed, tmp_path):
    """Kills at the first shard, in the middle, at the sealing and at the rename: the next run always recovers."""
    out = tmp_path / "out"
    command = ("pack", source, out, "--format", form, *OPTIONS)
    begin = time.monotonic()
    packhorse(*command)
    whole = time.monotonic() - begin
    shutil.rmtree(out)
    dice, killed = random.Random(form), 0
    for _ in range(40):
        if killed >= 4:
            break
        for _ in range(dice.choice((1, 1, 3))):  # and sometimes the next run is killed as well
            process = start(*command)
            time.sleep(whole * dice.random())
            process.kill()
            killed += finish(process).code == -signal.SIGKILL
            if out.exists():
                whole *= 0.8  # the machine is less busy than it was
                break
            assert run("inspect", out).code == run("inspect", staging(out)).code == FAILED
        if not out.exists():
            packhorse(*command)
        assert tree(out) == undisturbed
        shutil.rmtree(out)
        shutil.rmtree(staging(out), ignore_errors=True)
    assert killed >= 4


def test_a_kill_right_after_publishing_leaves_nothing_the_next_run_keeps(source, form, undisturbed, tmp_path):
    """Makes by hand the moment between the rename and the removal of the staging directory."""
    out = tmp_path / "out"
    command = ("pack", source, out, "--format", form, *OPTIONS)
    packhorse(*command)
    (staging(out) / "receipts").mkdir(parents=True)
    (staging(out) / "receipts/shard-000000.json").write_text("{}")
    (staging(out) / "lock").write_text("process 1 on a machine")
    result = run(*command)
    assert result.code == 0 or "already exists" in result.err, result
    assert tree(out) == undisturbed and only(tmp_path, "out")


def test_a_kill_right_before_publishing_leaves_no_manifest_beside_other_shards(source, tmp_path):
    """A pack is sealed but not renamed; then the source changes, and the next run is halted among the new shards."""
    copy, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(source, copy)
    command = ("pack", copy, out, "--format", "wds", "--no-shuffle", *OPTIONS)
    packhorse(*command)
    (staging(out) / "receipts").mkdir(parents=True)
    (staging(out) / "lock").write_text("")
    out.rename(staging(out) / "data")
    first = copy / "class-0/000000.jpg"
    first.write_bytes(first.read_bytes()[:-4] + b"4321")
    process = start_and_stop(out, command)
    try:
        refused("inspect", staging(out) / "data")
    finally:
        process.kill()
        finish(process)
    packhorse(*command)
    pack(copy, tmp_path / "fresh", "--format", "wds", "--no-shuffle", *OPTIONS)
    assert tree(out) == tree(tmp_path / "fresh") and only(tmp_path, "fresh", "out", "source")


def test_a_damaged_shard_of_a_killed_run_is_made_again(source, form, undisturbed, tmp_path):
    out = tmp_path / "out"
    command = ("pack", source, out, "--format", form, "--json", *OPTIONS)
    process = start_and_stop(out, command, lambda: not out.exists() and len(receipts(out)) >= 6)
    process.kill()
    finish(process)
    finished = sorted(receipts(out))[:5]
    stems = [receipt.stem for receipt in finished]
    data = staging(out) / "data"
    shards = [
        next(p for p in sorted(data.rglob("*")) if p.is_file() and stem in str(p) and p.suffix != ".index")
        for stem in stems
    ]
    flip_byte(shards[0], shards[0].stat().st_size // 2)
    os.truncate(shards[1], 100)
    shards[2].unlink()
    flip_byte(data / f"{stems[3]}.index", 100)
    finished[4].write_text(finished[4].read_text()[:50])
    kept = packhorse(*command).json["shards_kept"]
    assert 1 <= kept < SHARDS - 5
    assert tree(out) == undisturbed and only(tmp_path, "out")


def test_a_changed_source_is_packed_as_it_is_now(source, tmp_path):
    copy, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(source, copy)
    command = ("pack", copy, out, "--format", "wds", "--no-shuffle", "--json", *OPTIONS)
    process = start_and_stop(out, command)
    process.kill()
    finish(process)
    first = copy / "class-0/000000.jpg"
    first.write_bytes(first.read_bytes()[:-4] + b"4321")
    second = copy / "class-0/000050.jpg"
    second.rename(copy / "class-0/000050x.jpg")
    packhorse(*command)
    pack(copy, tmp_path / "fresh", "--format", "wds", "--no-shuffle", *OPTIONS)
    assert tree(out) == tree(tmp_path / "fresh")


@pytest.mark.parametrize("then", ["wds", "lmdb", "hdf5"])
def test_after_a_kill_other_options_leave_no_trace_of_the_first(source, form, then, tmp_path):
    out = tmp_path / "out"
    process = start_and_stop(out, ("pack", source, out, "--format", form, *OPTIONS))
    process.kill()
    finish(process)
    other = ("--format", then, "--shard-samples", "250", "--seed", "5")
    pack(source, out, *other)
    pack(source, tmp_path / "fresh", *other)
    assert tree(out) == tree(tmp_path / "fresh") and only(tmp_path, "fresh", "out")


def test_a_killed_overwrite_leaves_the_old_dataset(source, form, undisturbed, tmp_path):
    out = tmp_path / "out"
    make_source(tmp_path / "old", 10)
    pack(tmp_path / "old", out, "--format", form)
    old = tree(out)
    command = ("pack", source, out, "--format", form, "--overwrite", "--json", *OPTIONS)
    process = start_and_stop(out, command, lambda: 3 <= len(receipts(out)) < SHARDS,
                             lambda: pack(tmp_path / "old", out, "--format", form))  # fmt: skip
    process.kill()
    assert finish(process).code == -signal.SIGKILL
    assert tree(out) == old
    packhorse("inspect", out, "--verify", "full")
    assert packhorse(*command).json["shards_kept"] >= 3
    assert tree(out) == undisturbed and only(tmp_path, "old", "out")


@pytest.mark.parametrize("number,code", [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)])
def test_a_signal_ends_it_promptly_and_says_how_to_go_on(source, form, undisturbed, tmp_path, number, code):
    out = tmp_path / "out"
    command = ("pack", source, out, "--format", form, "--json", *OPTIONS)
    process = start_and_stop(out, command)
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    result = finish(process)
    assert result.code == code and result.out == "", result
    assert "nothing was published" in result.err and str(staging(out)) in result.err
    assert "run the same command again" in result.err and not out.exists()
    assert not [
        p for p in staging(out).rglob("*") if ".tmp" in p.name
    ], "an orderly end leaves no half-written file"
    assert packhorse(*command).json["shards_kept"] >= 3
    assert tree(out) == undisturbed and only(tmp_path, "out")


def test_the_second_of_two_writers_is_refused_and_the_first_goes_on(source, form, undisturbed, tmp_path):
    out = tmp_path / "out"
    command = ("pack", source, out, "--format", form, "--json", *OPTIONS)
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
    command = ("pack", source, out, "--format", "wds", *OPTIONS)
    process = start_and_stop(out, command)
    out.mkdir()
    process.send_signal(signal.SIGCONT)
    result = finish(process)
    assert result.code == FAILED and "already exists" in result.err and os.listdir(out) == [], result
    out.rmdir()
    assert f"{SHARDS} shards kept" in packhorse(*command).out


def test_something_else_under_the_staging_name_is_left_alone(tmp_path):
    source, out = make_source(tmp_path / "source", 4), tmp_path / "out"
    staging(out).mkdir()
    (staging(out) / "thesis.txt").write_text("years of work")
    result = refused("pack", source, out, "--format", "wds")
    assert str(staging(out)) in result.err and "next: " in result.err
    assert (staging(out) / "thesis.txt").read_text() == "years of work" and not out.exists()


def test_60000_photos_survive_a_kill(tmp_path):
    source, out = photos("cifar10"), tmp_path / "out"
    command = ("pack", source, out, "--format", "wds", "--shard-samples", "2000", "--jobs", "1", "--json")
    process = start_and_stop(out, command, lambda: not out.exists() and len(receipts(out)) >= 10)
    process.kill()
    finish(process)
    assert "run the same pack command again" in refused("inspect", staging(out)).err
    report = packhorse(*command).json
    assert 10 <= report["shards_kept"] < 30 and report["packed"] == 60000
    pack(source, tmp_path / "fresh", "--format", "wds", "--shard-samples", "2000")
    assert tree(out) == tree(tmp_path / "fresh") and only(tmp_path, "fresh", "out")
    both = packhorse("inspect", out, "--json").json["datasets"]
    assert {d["split"]: (d["samples"], len(d["classes"])) for d in both} == {
        "train": (50000, 10),
        "test": (10000, 10),
    }
    packhorse("inspect", out, "--verify", "full")


def write_foreign_tar(path, images):
    """A tar by another program, large enough that reading it can be interrupted."""
    picture = b"P6\n600 600\n255\n" + bytes(range(240)) * (600 * 600 * 3 // 240)
    with tarfile.open(path, "w") as archive:
        for i in range(images):
            for name, content in ((f"{i:06}.ppm", picture), (f"{i:06}.cls", b"0")):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize("number,code", [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)])
def test_a_signal_ends_adoption_and_leaves_nothing(tmp_path, number, code):
    shard, out = tmp_path / "foreign.tar", tmp_path / "out"
    write_foreign_tar(shard, 200)
    before = shard.read_bytes()
    command = ("index", shard, "--out", out, "--jobs", "1")
    process = start_and_stop(out, command, lambda: (staging(out) / "data").exists() and not out.exists())
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    result = finish(process)
    assert result.code == code and result.out == "" and "nothing was published" in result.err, result
    assert "run the same command again" in result.err
    assert not out.exists() or not list(out.iterdir())
    assert shard.read_bytes() == before
    packhorse("index", shard, "--out", out)
    assert packhorse("inspect", out, "--verify", "full", "--json").json["ok"]
