"""Packed datasets at URLs: the same samples as on the disk, through whatever stands between, each byte fetched once."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from fault_plan import Plan, Rule
from faults import (
    ContentRange, Cut, EndlessBody, Flip, Garbage, Hangup, Length, OkForRange, OtherRange, Reset, Size, TooMany,
    Unavailable, WholeForRange,
)  # fmt: skip
from python_support import BIN, DAMAGE, DONE, USAGE, packhorse, run, tree

ROOT = Path(__file__).resolve().parents[2]
PHOTOS = 160  # of the fixture `local`


@pytest.fixture(scope="module", name="unpacked")
def unpacked_fixture(local, tmp_path_factory):
    out = tmp_path_factory.mktemp("unpacked") / "out"
    packhorse("unpack", local, out)
    return tree(out)


class Place:
    """Where the dataset lies: a URL, options for it, and the process's environment."""

    def __init__(self, url, environment=None, *options):
        self.url, self.environment, self.options = url, environment or dict(os.environ), options

    def run(self, *args, monkeypatch):
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)
        return run(*args, *self.options)


def unpack(place, out, monkeypatch, *options):
    result = place.run("unpack", place.url, out, *options, monkeypatch=monkeypatch)
    assert result.code == DONE, result
    return tree(out)


# The same samples


@pytest.mark.parametrize("how", ["cache", "memory"])
@pytest.mark.parametrize("kind", ["http", "https", "s3"])
def test_a_dataset_at_a_url_is_the_one_on_the_disk(request, kind, how, local, unpacked, tmp_path, monkeypatch):
    server = request.getfixturevalue("bucket" if kind == "s3" else "web")
    place = {
        "http": lambda: Place(f"{server.url}/packed/train"),
        "https": lambda: Place(f"{server.https}/packed/train", os.environ | {"SSL_CERT_FILE": str(server.certificate)}),
        "s3": lambda: Place("s3://private/packed/train", server.environment()),
    }[kind]()
    cache = [f"--cache={tmp_path}/cache"] if how == "cache" else ["--no-cache"]
    for _ in range(2):
        assert unpack(place, tmp_path / f"out{_}", monkeypatch, *cache) == unpacked
    shown = place.run("inspect", place.url, "--list", "--json", *cache, monkeypatch=monkeypatch)
    here = run("inspect", local, "--list", "--json")
    assert shown.code == DONE and shown.out.replace(place.url, str(local)) == here.out
    read = place.run("bench", place.url, "--work=read", "--repeats=1", "--min-seconds=0", "--json", *cache, monkeypatch=monkeypatch)
    assert read.code == DONE and read.json["runs"][0]["images"] == PHOTOS, read
    if how == "cache":
        packhorse("cache", "verify", f"--cache={tmp_path}/cache")


def test_splits_are_found_above_a_dataset(bucket, web, unpacked, tmp_path, monkeypatch):
    for place in (Place("s3://private/packed", bucket.environment()), Place(f"{web.url}/packed")):
        out = tmp_path / place.url[:2]
        unpack(place, out, monkeypatch, "--no-cache")
        assert tree(out / "train") == unpacked
        result = place.run("inspect", place.url, "--no-cache", monkeypatch=monkeypatch)
        assert result.code == DONE and f"{place.url}/train" in result.out


# What is fetched


def bytes_of(proxy, suffix):
    return sum(found["bytes"] for name, found in proxy.counters()["objects"].items() if name.endswith(suffix))


def test_each_byte_is_fetched_once_and_then_found_in_the_cache(web, local, unpacked, in_front_of, tmp_path, monkeypatch):
    proxy = in_front_of(web)
    place, cache = Place(f"{proxy.url}/packed/train"), f"--cache={tmp_path}/cache"
    assert unpack(place, tmp_path / "a", monkeypatch, cache) == unpacked
    stored = sum(path.stat().st_size for path in local.glob("*.tar"))
    assert bytes_of(proxy, ".tar") == stored
    proxy.reset()
    assert unpack(place, tmp_path / "b", monkeypatch, cache) == unpacked
    assert bytes_of(proxy, ".tar") == bytes_of(proxy, ".index") == 0


def test_processes_share_a_cache(web, local, in_front_of, tmp_path):
    proxy = in_front_of(web, delay_ms=5)
    command = [BIN / "packhorse", "bench", f"{proxy.url}/packed/train", f"--cache={tmp_path}/cache", "--work=read", "--repeats=1", "--min-seconds=0"]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, said
    assert bytes_of(proxy, ".tar") == sum(path.stat().st_size for path in local.glob("*.tar"))


def test_a_process_killed_while_it_fetches_leaves_a_cache_that_is_right(web, unpacked, in_front_of, tmp_path, monkeypatch):
    proxy = in_front_of(web, bytes_per_s=8 << 20)
    place, cache = Place(f"{proxy.url}/packed/train"), f"--cache={tmp_path}/cache"
    for killed in range(10):
        process = subprocess.Popen([BIN / "packhorse", "bench", place.url, cache, "--work=read", "--repeats=1"], stdout=subprocess.DEVNULL)
        time.sleep(0.02 * killed)  # whenever that is: the cache is right at any time
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert unpack(place, tmp_path / "out", monkeypatch, cache) == unpacked
    packhorse("cache", "verify", cache)


@pytest.mark.parametrize("how", ["cache", "memory"])
def test_a_run_that_ends_while_more_is_on_its_way_ends_well(web, in_front_of, tmp_path, how):
    proxy = in_front_of(web, delay_ms=20, bytes_per_s=4 << 20)
    cache = f"--cache={tmp_path}/cache" if how == "cache" else "--no-cache"
    for _ in range(3):
        result = run("bench", f"{proxy.url}/packed/train", cache, "--batch-size=4", "--max-images=8", "--repeats=1", "--min-seconds=0")
        assert result.code == DONE and result.err == "", result


# Faults

MENDED = [
    Cut(1000), Reset(), Hangup(), Unavailable(retry_after=0), Unavailable(), TooMany(retry_after=0), OtherRange(), Flip(at=100),
]  # fmt: skip
LIES = [Length(-7), Length(7), ContentRange(1), WholeForRange(), OkForRange(), Garbage(), Size(1)]


@pytest.mark.parametrize("how", ["cache", "memory"])
@pytest.mark.parametrize("kind", ["web", "bucket"])
def test_faults_that_pass_change_nothing(request, kind, how, unpacked, in_front_of, tmp_path, monkeypatch):
    server = request.getfixturevalue(kind)
    others = [Unavailable(retry_after=0), Reset()]
    plan = Plan([Rule(MENDED, path="*.tar", chance=0.7, each=1), Rule(others, chance=0.5, each=1)], seed=11)
    proxy = in_front_of(server, plan=plan)
    s3 = kind == "bucket"
    place = Place("s3://private/packed/train" if s3 else f"{proxy.url}/packed/train", server.environment(proxy.url) if s3 else None)
    cache = f"--cache={tmp_path}/cache" if how == "cache" else "--no-cache"
    assert unpack(place, tmp_path / "out", monkeypatch, cache) == unpacked
    assert sum(proxy.counters()["faults"].values()) > 3
    if how == "cache":
        packhorse("cache", "verify", cache)


@pytest.mark.parametrize("fault", LIES, ids=lambda fault: type(fault).__name__)
def test_a_lie_is_an_error_and_nothing_wrong_is_kept(fault, web, unpacked, in_front_of, tmp_path, monkeypatch):
    """Or mended, where it is told once: never a wrong byte."""
    proxy = in_front_of(web, plan=Plan([Rule(fault, path="*.tar", times=1)]))
    place, cache = Place(f"{proxy.url}/packed/train"), f"--cache={tmp_path}/cache"
    result = place.run("unpack", place.url, tmp_path / "out", cache, monkeypatch=monkeypatch)
    assert sum(proxy.counters()["faults"].values()) == 1
    if result.code == DONE:
        assert tree(tmp_path / "out") == unpacked
    else:
        assert result.code in (DAMAGE, 1) and "packed/train/shard-" in result.err and "next: " in result.err, result
        assert not (tmp_path / "out").exists()
    packhorse("cache", "verify", cache)
    assert unpack(place, tmp_path / "again", monkeypatch, cache) == unpacked


@pytest.mark.parametrize("fault", [Flip(at=5000), OtherRange(), EndlessBody(), Size(1)], ids=["flip", "range", "endless", "size"])
def test_faults_that_stay_are_errors_and_nothing_wrong_is_kept(fault, web, unpacked, in_front_of, tmp_path, monkeypatch):
    proxy = in_front_of(web, plan=Plan([Rule(fault, path="*.tar")]))
    cache = f"--cache={tmp_path}/cache"
    place = Place(f"{proxy.url}/packed/train")
    result = place.run("unpack", place.url, tmp_path / "out", cache, monkeypatch=monkeypatch)
    assert result.code in (DAMAGE, 1) and "shard-00000" in result.err and "next: " in result.err, result
    assert not (tmp_path / "out").exists()
    assert unpack(Place(f"{web.url}/packed/train"), tmp_path / "right", monkeypatch, cache) == unpacked


def test_what_is_not_there_or_not_allowed_is_said_without_secrets(bucket, tmp_path, monkeypatch):
    nothing = Place("s3://private/nothing", bucket.environment())
    result = nothing.run("inspect", nothing.url, "--no-cache", monkeypatch=monkeypatch)
    assert result.code != DONE and "there is no dataset.json below the URL" in result.err
    wrong = Place("s3://private/packed/train", bucket.environment() | {"AWS_SECRET_ACCESS_KEY": "very-secret-but-wrong"})
    result = wrong.run("inspect", wrong.url, "--no-cache", monkeypatch=monkeypatch)
    assert result.code != DONE and "very-secret" not in result.err + result.out and "next: " in result.err, result
    unsigned = Place("s3://private/packed/train", bucket.environment(), "--no-sign-request")
    assert unsigned.run("inspect", unsigned.url, "--no-cache", monkeypatch=monkeypatch).code != DONE


def test_statistics_and_duplicates_are_those_of_the_disk(web, local):
    url = f"{web.url}/packed/train"
    for command in (["stats"], ["duplicates"]):
        there, here = run(*command, url, "--json", "--no-cache"), run(*command, local, "--json")
        assert there.code == here.code == DONE and there.out.replace(url, str(local)) == here.out, there
    both = run("duplicates", local, url, "--no-cache")
    assert both.code == DONE and f"{PHOTOS} across datasets" in both.out, both


def test_bench_says_what_was_fetched_and_reads_by_windows_first(web, tmp_path):
    url, cache = f"{web.url}/packed/train", f"--cache={tmp_path}/cache"
    options = ["--work=read", "--repeats=2", "--min-seconds=0", cache]
    result = run("bench", url, *options, "--json", f"--metrics={tmp_path}/metrics")
    assert result.code == DONE, result
    (read,) = result.json["runs"]
    first, second = read["remote"]
    assert read["order"] == "window-first" and first["runs_fetched"] > 0 == second["runs_fetched"], read["remote"]
    assert first["bytes"] >= read["bytes"] and second["bytes"] == 0 == first["retries"]
    metrics = (tmp_path / "metrics").read_text()
    assert f"packhorse_remote_fetched_runs_total {first['runs_fetched']}\n" in metrics
    page = (ROOT / "docs/trainer-watch.md").read_text()
    assert set(re.findall(r"# TYPE (packhorse_remote_\w+)", metrics)) == set(re.findall(r"`(packhorse_remote_\w+)`", page))
    words = run("bench", url, *options).out
    assert "window-first order" in words and "pass 1: 0 B in 0 requests, 0 repeated" in words, words
    assert run("bench", url, "--work=read", "--no-cache", "--json").json["runs"][0]["order"] == "window"


@pytest.mark.skipif(not (BIN / "packhorse-train").exists(), reason="built without the trainer")
def test_training_from_a_url_is_training_from_the_disk(web, bucket, local, tmp_path, monkeypatch):
    def train(data, name, *options):
        command = [BIN / "packhorse-train", "fit", f"--data={data}", "--arch=smallnet", "--image-size=32", "--batch-size=32"]
        command += ["--epochs=2", "--workers=1", "--device=cpu", f"--out={tmp_path}/{name}", "--json", "--quiet", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["loss"]

    for name, value in bucket.environment().items():
        monkeypatch.setenv(name, value)
    cache = f"--cache={tmp_path}/cache"
    expected = train(local, "here", "--order=window-first")
    assert train(f"{web.url}/packed/train", "web", cache) == expected
    assert train("s3://private/packed", "bucket", cache) == expected  # its split train
    steps = next((tmp_path / "web/tensorboard").glob("*tfevents*")).read_bytes()
    assert b"counters/packhorse_remote_requests_total" in steps
    score = [BIN / "packhorse-train", "eval", f"--checkpoint={tmp_path}/web/last.pt", "--json", "--device=cpu"]
    here, there = (subprocess.run([*score, f"--data={data}", *more], capture_output=True, text=True, check=False)
                   for data, more in ((local, []), (f"{web.url}/packed/train", [cache])))  # fmt: skip
    assert here.returncode == there.returncode == 0, there.stderr
    assert json.loads(here.stdout)["loss"] == json.loads(there.stdout)["loss"]


def test_a_url_with_a_query_is_refused_and_not_shown(web):
    result = run("inspect", f"{web.url}/packed/train?token=geheim", "--no-cache")
    assert result.code == USAGE and "has a query" in result.err and "geheim" not in result.err + result.out, result


def test_what_cannot_be_done_from_afar_says_so(web, local, tmp_path):
    url = f"{web.url}/packed/train"
    for words, command in {
        "only files can be read and written": ["repair", url, local],
        "cannot be made cold": ["bench", url, "--cold", "--no-cache"],
    }.items():
        result = run(*command)
        assert result.code != DONE and words in result.err and "next: " in result.err, result
    assert run("bench", url, "--no-cache", "--repeats=1").out.startswith("decode, from afar, ")
    assert run("bench", url, "--no-cache", "--repeats=1", "--warm").out.startswith("decode, warm, ")


def test_options_for_urls_say_so_where_there_is_none(local, tmp_path):
    for option in (f"--cache={tmp_path}/cache", "--no-cache", "--endpoint=http://localhost:1", "--no-sign-request"):
        result = run("bench", local, option)
        assert result.code == USAGE and "has no effect: nothing lies at a URL" in result.err
    assert not (tmp_path / "cache").exists()
    assert json.loads(run("inspect", local, "--json").out)["samples"] == PHOTOS
