"""Packed datasets at URLs: the same samples as on the disk, through whatever stands between, each byte fetched once."""

import json
import os
import re
import shutil
import subprocess

import pytest
from fault_plan import Plan, Rule
from faults import (
    Cut, EndlessBody, Flip, Garbage, Hangup, Length, OtherRange, Reset, Stall, TooMany, Unavailable, WholeForRange,
)  # fmt: skip
from python_support import DAMAGE, DONE, PACKHORSE, ROOT, TRAIN, USAGE, packhorse, run, tree
from servers import wait_until

PHOTOS = 96  # of the fixture `local`


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


@pytest.mark.parametrize(("kind", "how"), [("http", "memory"), ("https", "cache"), ("s3", "cache"), ("s3", "memory")])
def test_a_dataset_at_a_url_is_the_one_on_the_disk(request, kind, how, local, unpacked, tmp_path, monkeypatch):
    server = request.getfixturevalue("bucket" if kind == "s3" else "web")
    place = {
        "http": lambda: Place(f"{server.url}/packed/train"),
        "https": lambda: Place(f"{server.https}/packed/train", os.environ | {"SSL_CERT_FILE": str(server.certificate)}),
        "s3": lambda: Place("s3://private/packed/train", server.environment()),
    }[kind]()
    cache = [f"--cache={tmp_path}/cache"] if how == "cache" else ["--no-cache"]
    assert unpack(place, tmp_path / "out", monkeypatch, *cache) == unpacked
    shown = place.run("inspect", place.url, "--list", "--json", *cache, monkeypatch=monkeypatch)
    here = run("inspect", local, "--list", "--json")
    assert shown.code == DONE and shown.out.replace(place.url, str(local)) == here.out
    read = place.run("bench", place.url, "--work=read", "--repeats=1", "--min-seconds=0", "--json", *cache, monkeypatch=monkeypatch)
    assert read.code == DONE and read.json["runs"][0]["images"] == PHOTOS, read
    if how == "cache":
        packhorse("cache", "verify", f"--cache={tmp_path}/cache")


@pytest.mark.parametrize("kind", ["rclone_http", "rclone_s3"])
def test_other_servers_give_it_too(request, kind, local, unpacked, tmp_path, monkeypatch):
    """rclone as S3 answers ranges with 200 instead of 206."""
    server = request.getfixturevalue(kind)
    shutil.copytree(local, server.root / "private/train", dirs_exist_ok=True)
    s3 = kind == "rclone_s3"
    place = Place("s3://private/train" if s3 else f"{server.url}/private/train", server.environment() if s3 else None)
    assert unpack(place, tmp_path / "out", monkeypatch, "--no-cache") == unpacked


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


def reading(url, *options):
    return subprocess.Popen([PACKHORSE, "bench", url, "--work=read", "--repeats=1", "--min-seconds=0", *options],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip


def test_processes_share_a_cache(web, local, in_front_of, tmp_path):
    proxy = in_front_of(web, delay_ms=5)
    processes = [reading(f"{proxy.url}/packed/train", f"--cache={tmp_path}/cache") for _ in range(4)]
    said = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, said
    assert bytes_of(proxy, ".tar") == sum(path.stat().st_size for path in local.glob("*.tar"))


@pytest.mark.parametrize(("requests", "bytes"), [(0, 0), (0, 1 << 20), (1, 1 << 20)])
def test_a_process_killed_while_it_fetches_leaves_a_cache_that_is_right(
    requests, bytes, web, unpacked, in_front_of, tmp_path, monkeypatch
):
    """A fetch of a run stalls, after some bytes of it: there the process is killed."""
    proxy = in_front_of(web, plan=Plan([Rule(Stall(bytes), path="*.tar", skip=requests)]))
    place, cache = Place(f"{proxy.url}/packed/train"), f"--cache={tmp_path}/cache"
    process = reading(place.url, cache)
    wait_until(lambda: proxy.counters()["faults"].get("stall") and proxy.counters()["bytes"] >= bytes)
    process.kill()
    process.communicate()
    proxy.plan = Plan()
    assert unpack(place, tmp_path / "out", monkeypatch, cache) == unpacked
    packhorse("cache", "verify", cache)


@pytest.mark.parametrize("how", ["cache", "memory"])
def test_a_run_that_ends_while_more_is_on_its_way_ends_well(web, in_front_of, tmp_path, how):
    proxy = in_front_of(web, delay_ms=20, bytes_per_s=4 << 20)
    cache = f"--cache={tmp_path}/cache" if how == "cache" else "--no-cache"
    result = run("bench", f"{proxy.url}/packed/train", cache, "--batch-size=4", "--max-images=8", "--repeats=1", "--min-seconds=0")
    assert result.code == DONE and result.err == "", result


# Faults

MENDED = [
    Cut(1000), Reset(), Hangup(), Unavailable(retry_after=0), Unavailable(), TooMany(retry_after=0), OtherRange(), Flip(at=100),
]  # fmt: skip
LIES = [Length(7), WholeForRange(), Garbage()]  # others: web_store_test.cc


@pytest.mark.parametrize(("kind", "how"), [("web", "cache"), ("bucket", "memory")])
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


@pytest.mark.parametrize("fault", [Flip(at=5000), EndlessBody()], ids=lambda fault: type(fault).__name__)
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


def test_a_certificate_of_nobody_or_of_another_host_is_refused(web, monkeypatch):
    for url, trusted in ((web.https, web.wrong_certificate), (web.wrong_https, web.wrong_certificate)):
        place = Place(f"{url}/packed/train", os.environ | {"SSL_CERT_FILE": str(trusted)}, "--no-cache")
        result = place.run("inspect", place.url, monkeypatch=monkeypatch)
        assert result.code != DONE and "certificate" in result.err, result


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
    page = (ROOT / "docs/reference/metrics.md").read_text()
    assert set(re.findall(r"# TYPE (packhorse_remote_\w+)", metrics)) == set(re.findall(r"`(packhorse_remote_\w+)`", page))
    assert "pass 1: 0 B in 0 requests, 0 repeated" in run("bench", url, *options).out
    assert run("bench", url, "--work=read", "--no-cache", "--json").json["runs"][0]["order"] == "window"


@pytest.mark.skipif(not TRAIN.exists(), reason="built without the trainer")
def test_training_from_a_url_is_training_from_the_disk(web, bucket, local, tmp_path, monkeypatch):
    def train(command, *options):
        done = subprocess.run([TRAIN, command, "--device=cpu", "--json", *options], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["loss"]

    for name, value in bucket.environment().items():
        monkeypatch.setenv(name, value)
    fit = ["--arch=smallnet", "--image-size=32", "--batch-size=32", "--epochs=1", "--workers=1", "--quiet"]
    cache = f"--cache={tmp_path}/cache"
    expected = train("fit", *fit, f"--data={local}", f"--out={tmp_path}/here", "--order=window-first")
    assert train("fit", *fit, f"--data={web.url}/packed/train", f"--out={tmp_path}/web", cache) == expected
    assert train("fit", *fit, "--data=s3://private/packed", f"--out={tmp_path}/bucket", cache) == expected  # its split train
    steps = next((tmp_path / "web/tensorboard").glob("*tfevents*")).read_bytes()
    assert b"counters/packhorse_remote_requests_total" in steps
    score = f"--checkpoint={tmp_path}/web/last.pt"
    assert train("eval", score, f"--data={local}") == train("eval", score, f"--data={web.url}/packed/train", cache)


def test_what_cannot_be_done_from_afar_says_so(web, local):
    url = f"{web.url}/packed/train"
    result = run("inspect", f"{url}?token=geheim", "--no-cache")
    assert result.code == USAGE and "has a query" in result.err and "geheim" not in result.err + result.out, result
    for words, command in {
        "only files can be read and written": ["repair", url, local],
        "cannot be made cold": ["bench", url, "--cold", "--no-cache"],
    }.items():
        result = run(*command)
        assert result.code != DONE and words in result.err and "next: " in result.err, result
    shortly = ["bench", url, "--no-cache", "--repeats=1", "--min-seconds=0"]
    assert run(*shortly).out.startswith("decode, from a URL, ")
    assert run(*shortly, "--warm").out.startswith("decode, warm, ")


def test_options_for_urls_say_so_where_there_is_none(local, tmp_path):
    for option in (f"--cache={tmp_path}/cache", "--no-cache", "--endpoint=http://localhost:1", "--no-sign-request"):
        result = run("bench", local, option)
        assert result.code == USAGE and "nothing lies at a URL" in result.err
    assert not (tmp_path / "cache").exists()
