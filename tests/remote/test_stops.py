"""A first SIGTERM ends every command in every phase of its work with a storage, also where that never answers.

Each request that stalls here would be repeated for two minutes. The promise is 2 s; the tests wait for far longer.
"""

import fcntl
import functools
import os
import shutil
import signal
import struct
import subprocess
import sys

import pytest
from lying_server import LyingServer
from python_support import (
    BIN, DONE, STARTED, TERMINATED, TRAIN, finish, free_ports, make_source, pack, packhorse, put, staging, start, tree,
)  # fmt: skip
from servers import wait_until

PATIENCE = 60  # seconds; a request that stalls is given up after 120


@pytest.fixture(scope="module", name="folder")
def folder_fixture(tmp_path_factory):
    """A source, as files and as an archive, and two datasets made of it."""
    root = tmp_path_factory.mktemp("stops")
    source = make_source(root / "source", 12)
    shutil.make_archive(root / "archive", "tar", source)
    for name, seed in (("packed", 1), ("other", 2)):
        pack(source, root / name, "--format=wds", f"--seed={seed}")
    return root


@pytest.fixture(autouse=True)
def no_cache_of_others(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))


@pytest.fixture(name="server")
def server_fixture(folder):
    with LyingServer({"archive.tar": (folder / "archive.tar").read_bytes()}) as server:
        for name in ("source", "packed", "other"):
            server.put_folder(folder / name, name)
        yield server


def is_list(*, folders):
    return lambda method, key, query: "list-type" in query and ("delimiter" in query) == folders


def asks_for(end, method="GET"):
    return lambda asked, key, query: asked == method and key.endswith(end) and "list-type" not in query


MANIFEST, INDEX, SHARD = asks_for("dataset.json"), asks_for(".index"), asks_for(".tar")

SOURCE = "pack {s3}/source {out} --format=wds"
PHASES = {
    "pack: is it a dataset": (SOURCE, asks_for("dataset.json", "HEAD")),
    "pack: folders": (SOURCE, is_list(folders=True)),
    "pack: objects": (SOURCE, is_list(folders=False)),
    "pack: images": (SOURCE, asks_for(".jpg")),
    "pack: images, compared": (SOURCE + " --deduplicate=drop", asks_for(".jpg")),
    "pack: images, looked at": (SOURCE + " --dry-run", is_list(folders=False)),
    "pack: an archive's size": ("pack {s3}/archive.tar {out} --format=wds", asks_for(".tar", "HEAD")),
    "pack: an archive": ("pack {s3}/archive.tar {out} --format=wds", SHARD),
    "pack: a dataset": ("pack {s3}/packed {out} --format=lmdb", SHARD),
    "pack: looks of URLs": ("pack {list} {out} --format=wds", asks_for(".jpg", "HEAD")),
    "pack: images at URLs": ("pack {list} {out} --format=wds", asks_for(".jpg")),
    "pack: to a bucket, is it there": ("pack {source} {s3}/new --format=wds", asks_for("dataset.json", "HEAD")),
    "pack: to a bucket, a shard": ("pack {source} {s3}/new --format=wds", lambda method, key, _: method in ("PUT", "POST")),
    "inspect: manifest": ("inspect {s3}/packed", MANIFEST),
    "inspect: index": ("inspect {s3}/packed", INDEX),
    "inspect: splits": ("inspect {s3}", is_list(folders=True)),
    "inspect: list": ("inspect {s3}/packed --list", INDEX),
    "inspect: verify": ("inspect {s3}/packed --verify=full", SHARD),
    "inspect: verify against": ("inspect {dataset} --verify=full --against {s3}/source", asks_for(".jpg")),
    "inspect: sheet": ("inspect {s3}/packed --sheet {out}.jpg", SHARD),
    "stats": ("stats {s3}/packed", SHARD),
    "duplicates": ("duplicates {s3}/packed", SHARD),
    "diff": ("diff {s3}/packed {s3}/other", INDEX),
    "unpack": ("unpack {s3}/packed {out}", SHARD),
    "copy": ("copy {s3}/packed {out}", SHARD),
    "copy: to a bucket": ("copy {dataset} {s3}/new", lambda method, key, _: method in ("PUT", "POST")),
    "repair": ("repair {damaged} {s3}/packed", SHARD),
    "bench": ("bench {s3}/packed", SHARD),
    "bench: index": ("bench {s3}/packed", INDEX),
}


def places(folder, server, tmp_path):
    """What the words in the commands stand for."""
    damaged = shutil.copytree(folder / "packed", tmp_path / "damaged")
    shard = next(damaged.glob("*.tar"))
    shard.write_bytes(shard.read_bytes()[:-1] + b"x")
    rows = "".join(f"{server.url}/{key},x\n" for key in server.objects if key.endswith(".jpg"))
    return {
        "s3": server.s3("").removesuffix("/"),
        "out": tmp_path / "out",
        "list": put(tmp_path / "list.csv", "path,label\n" + rows),
        "source": folder / "source",
        "dataset": folder / "packed",
        "damaged": damaged,
    }


def stopped_in(server, stalls, *args, cwd=None):
    """Runs until the server has stalled, and sends SIGTERM."""
    server.stalls = stalls
    process = start(*args, *server.options, cwd=cwd)
    wait_until(lambda: server.stalled.is_set() or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    return finish(process, timeout=PATIENCE)


def check_stopped(result):
    assert result.code == TERMINATED, result
    assert "error: stopped" in result.err and result.out == "", result


@pytest.mark.parametrize("phase", PHASES)
def test_a_storage_that_does_not_answer_keeps_no_command(folder, server, tmp_path, phase):
    command, stalls = PHASES[phase]
    words = places(folder, server, tmp_path)
    args = [word.format(**words) for word in command.split()]
    if not args[0].startswith(("pack", "copy", "repair", "inspect")):
        args.append("--no-cache")
    check_stopped(stopped_in(server, stalls, *args, cwd=tmp_path))
    assert server.stalled.is_set()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["stats", "duplicates", "unpack"])
def test_the_same_with_a_cache(folder, server, tmp_path, command):
    out = [tmp_path / "out"] if command == "unpack" else []
    cache = ["--cache", tmp_path / "cache"]
    check_stopped(stopped_in(server, SHARD, command, server.s3("packed"), *out, *cache))
    assert packhorse("cache", "verify", *cache, "--json").json["ok"]


def test_a_list_without_end_is_left(folder, server, tmp_path):
    """Each page has a name of its own, and comes at once."""
    server.page = lambda query: server.list_text(
        [(f"source/class/{server.requests}.jpg", 9)], next_token=f"token-{server.requests}"
    )
    process = start("pack", server.s3("source"), tmp_path / "out", "--format=wds", *server.options)
    wait_until(lambda: server.requests > 100)
    process.send_signal(signal.SIGTERM)
    check_stopped(finish(process, timeout=PATIENCE))


def test_a_program_that_signs_urls_and_does_not_end_is_left(folder, server, tmp_path):
    script = put(tmp_path / "sign", f"#!/bin/sh\ntouch {tmp_path}/begun\nexec sleep 600\n")
    script.chmod(0o755)
    process = start("stats", f"{server.url}/packed", "--no-cache", "--url-command", script)
    wait_until((tmp_path / "begun").exists)
    process.send_signal(signal.SIGTERM)
    check_stopped(finish(process, timeout=PATIENCE))


def test_a_lock_of_the_cache_that_another_holds_is_not_waited_for(folder, server, tmp_path):
    cache = ["--cache", tmp_path / "cache"]
    packhorse("stats", server.s3("packed"), *cache, *server.options)
    with open(next((tmp_path / "cache").rglob("*.runs")), "r+b") as runs:
        opening = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 1, 1, 0)
        fcntl.fcntl(runs, 37, opening)  # F_OFD_SETLK of the byte of who is about to open it
        requests = server.requests
        process = start("stats", server.s3("packed"), *cache, *server.options)
        wait_until(lambda: server.requests > requests)
        process.send_signal(signal.SIGTERM)
        check_stopped(finish(process, timeout=PATIENCE))


def test_after_a_stop_the_same_command_goes_on(folder, server, tmp_path):
    stopped = stopped_in(server, asks_for("000007.jpg"), "pack", server.s3("source"), tmp_path / "out", "--format=wds")
    check_stopped(stopped)
    assert "nothing was published" in stopped.err and staging(tmp_path / "out").exists()
    server.stalls = lambda *_: False
    packhorse("pack", server.s3("source"), tmp_path / "out", "--format=wds", *server.options)
    packhorse("pack", folder / "source", tmp_path / "here", "--format=wds")
    assert tree(tmp_path / "out") == tree(tmp_path / "here")


PACKAGE = BIN.parent / "python"
IN_PYTHON = """
import sys
import packhorse
endpoint, source, packed, out = sys.argv[1:]
packhorse.configure_remote(cache="", endpoint=endpoint, sign=False)
"""
PACKS, OPENS, READS = 'packhorse.pack(source, out, format="wds")', "packhorse.Dataset(packed)", "packhorse.Dataset(packed)[3]"
LOADS = "print(next(iter(packhorse.Loader(packed, batch_size=4, size=32, workers={}))))"
IN_PYTHON_PHASES = {
    "pack: is it a dataset": (PACKS, PHASES["pack: is it a dataset"][1]),
    "pack: folders": (PACKS, PHASES["pack: folders"][1]),
    "pack: objects": (PACKS, PHASES["pack: objects"][1]),
    "pack: images": (PACKS, PHASES["pack: images"][1]),
    "Dataset: manifest": (OPENS, MANIFEST),
    "Dataset: index": (OPENS, INDEX),
    "Dataset: a sample": (READS, SHARD),
    "Loader: manifest": (LOADS.format(1), MANIFEST),
    "Loader: a batch": (LOADS.format(1), SHARD),
    "Loader: a batch, without workers": (LOADS.format(0), SHARD),
}


@pytest.mark.skipif(not (PACKAGE / "packhorse/_remote.pyi").exists(), reason="the Python package is not built")
@pytest.mark.parametrize("phase", IN_PYTHON_PHASES)
def test_ctrl_c_in_python_waits_for_no_answer(server, tmp_path, phase):
    code, server.stalls = IN_PYTHON_PHASES[phase]
    places = [server.url, server.s3("source"), server.s3("packed"), tmp_path / "out"]
    command = [sys.executable, "-c", IN_PYTHON + code, *places]
    env = os.environ | {"PYTHONPATH": str(PACKAGE)}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    STARTED.append(process)
    wait_until(lambda: server.stalled.is_set() or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    result = finish(process, timeout=PATIENCE)
    assert server.stalled.is_set() and result.code != 0 and "KeyboardInterrupt" in result.err, result


@pytest.fixture(scope="module", name="trained")
def trained_fixture(tmp_path_factory):
    """Splits to train on, and what an undisturbed run makes of them: trained(world, *options) -> last.pt."""
    root = tmp_path_factory.mktemp("trained")
    for split, images in (("train", 48), ("val", 12)):
        pack(make_source(root / f"source-{split}", images), root / f"data/{split}", "--format=wds")
    runs = {}

    def train(*how):
        if how not in runs:
            world, *options = how
            runs[how] = root / f"run-{len(runs)}/last.pt"
            done = [finish(one, timeout=PATIENCE) for one in fit(world, root / "data", runs[how].parent, *options)]
            assert [result.code for result in done] == [DONE] * world, done
        return runs[how]

    train.data = root / "data"
    return train


def fit(world, data, out, *options):
    """Processes that train together."""
    command = [TRAIN, "fit", "--data", data, "--out", out, "--arch=smallnet", "--image-size=32", "--batch-size=16", "--lr=0.01"]
    command += ["--epochs=3", "--order=global", "--sync-bn", "--device=cpu", "--checkpoint-every=1", "--slots=2", *options]
    port, processes = free_ports(), []
    for rank in range(world):
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world, "MASTER_PORT": port}
        env = os.environ | {"MASTER_ADDR": "127.0.0.1"} | {name: str(value) for name, value in place.items()}
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(list(map(str, command)), env=env, stdout=pipe, stderr=pipe))
    STARTED.extend(processes)
    return processes


def opens(_):
    return asks_for("train/dataset.json")


def reads(split, *, once, after=0):
    """The storage stalls in a read of the split's shards, once(begun) and that many reads later."""

    def stalls(begun):
        reads_since = []

        def decide(_, key, query):
            if f"/{split}/" in key and key.endswith(".tar") and once(begun):
                reads_since.append(key)
            return len(reads_since) > after

        return decide

    return stalls


def from_the_start(_):
    return True


def has_saved(begun):
    return (begun / "last.pt").exists()


FIT_PHASES = {
    "opening": (opens, 1, False),
    "the first batch": (reads("train", once=from_the_start), 1, False),
    "a batch": (reads("train", once=has_saved), 0, True),
    "a part of a batch": (reads("train", once=has_saved, after=11), 0, True),
    "validation": (reads("val", once=from_the_start), 0, True),
}


@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
@pytest.mark.parametrize("world", [1, 2])
@pytest.mark.parametrize("phase", FIT_PHASES)
def test_a_training_does_not_wait_for_a_batch_that_does_not_come(trained, server, tmp_path, phase, world):
    """It saves the last step that is whole, and goes on from there as if nothing had happened."""
    stalls, workers, saved = FIT_PHASES[phase]
    options = [f"--workers={workers}"] + ["--accumulate=2"] * (phase == "a part of a batch")
    out = tmp_path / "run"
    server.put_folder(trained.data, "data")
    server.stalls = stalls(out)
    processes = fit(world, server.s3("data"), out, *options, "--no-cache", *server.options)
    wait_until(lambda: server.stalled.is_set() or any(process.poll() is not None for process in processes))
    for process in processes:
        process.send_signal(signal.SIGTERM)
    done = [finish(process, timeout=PATIENCE) for process in processes]
    assert server.stalled.is_set()
    if phase == "opening":
        assert all(result.code == TERMINATED and "stopped" in result.err for result in done), done
        return
    assert [result.code for result in done] == [DONE] * world and "--resume" in done[0].err, done
    load = functools.partial(pytest.importorskip("torch").load, weights_only=True)
    assert (load(out / "last.pt")["step"] > 0) == saved
    server.stalls = lambda *_: False
    rest = fit(world, server.s3("data"), out, *options, "--no-cache", *server.options, "--resume")
    assert [finish(process, timeout=PATIENCE).code for process in rest] == [DONE] * world
    model, whole = load(out / "last.pt")["model"], load(trained(world, *options))["model"]
    assert model.keys() == whole.keys() and all(model[name].equal(whole[name]) for name in model)
