"""Packing to a bucket: the bytes of a local dataset, nothing visible before it is whole, nothing there ever replaced."""

import hashlib
import json
import os
import random
import subprocess
import sys
import textwrap
import time
import uuid
import xml.etree.ElementTree

import pytest
from fault_plan import Plan, Rule
from faults import Cut, Hangup, Reset, TooMany, Unavailable
from python_support import BIN, DONE, FAILED, PACKHORSE, SHAPES, USAGE, make_source, packhorse, refused, run, run_on_small_disk, tree

BUCKET = "private"


class Bucket:
    """A place of its own in the bucket."""

    def __init__(self, server):
        self.server, self.client = server, server.client()
        self.prefix = uuid.uuid4().hex
        self.url = f"s3://{BUCKET}/{self.prefix}/packed"

    def files(self, below="packed"):
        """name -> SHA-256, as python_support.tree() has them of a folder without its folders."""
        found = {}
        for key in self.client.list(BUCKET, f"{self.prefix}/{below}/"):
            name = key.removeprefix(f"{self.prefix}/{below}/")
            found[name.encode()] = hashlib.sha256(self.client.get(BUCKET, key)).hexdigest()
        return found

    def uploads(self):
        """Keys of uploads that have begun and not ended."""
        query = [("uploads", ""), ("prefix", self.prefix)]
        document = xml.etree.ElementTree.fromstring(self.client.request("GET", BUCKET, query=query).body)
        return [one.findtext("{*}Key") for one in document.findall("{*}Upload")]


@pytest.fixture(name="place")
def place_fixture(seaweed, monkeypatch, tmp_path):
    for name, value in seaweed.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)  # where the staging directory is
    return Bucket(seaweed)


def files_below(path):
    return {name: sum for name, sum in tree(path).items() if sum is not None}


def through(place, proxy, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)


@pytest.fixture(scope="module", name="source")
def source_fixture(tmp_path_factory):
    """Photos of noise, so that shards are larger than a part (8 MiB)."""
    folder = tmp_path_factory.mktemp("bucket") / "source"
    for i in range(60):
        path = folder / f"class{i % 3}" / f"{i:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(next(SHAPES.rglob("*.jpg")).read_bytes() + random.Random(i).randbytes(1_000_000))
    return folder


OPTIONS = ["--format=wds", "--shard-samples=20"]


@pytest.fixture(scope="module", name="expected")
def expected_fixture(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("expected") / "packed"
    packhorse("pack", source, out, *OPTIONS)
    return tree(out)


@pytest.mark.parametrize("name", ["wds", "lmdb", "hdf5"])
def test_the_bytes_are_those_of_a_local_dataset(name, source, place, tmp_path):
    here = packhorse("pack", source, tmp_path / "here", f"--format={name}", "--shard-samples=20", "--json").json
    there = packhorse("pack", source, place.url, f"--format={name}", "--shard-samples=20", "--json", "--no-cache").json
    assert place.files() == files_below(tmp_path / "here")
    assert (there["id"], there["bytes_out"], there["shards"]) == (here["id"], here["bytes_out"], here["shards"])
    assert not (tmp_path / "packed.partial").exists() and place.uploads() == []
    verified = run("inspect", place.url, "--verify=full", "--json", "--no-cache")
    assert verified.code == DONE and verified.json["findings"] == []


def test_splits_and_the_card_are_stored_too(place, tmp_path):
    make_source(tmp_path / "source/train", 40)
    make_source(tmp_path / "source/val", 20)
    packhorse("pack", tmp_path / "source", tmp_path / "here", "--format=wds", "--shard-samples=16")
    packhorse("pack", tmp_path / "source", place.url, "--format=wds", "--shard-samples=16", "--no-cache")
    assert place.files() == files_below(tmp_path / "here")
    assert "train" in run("inspect", place.url, "--no-cache").out


def test_what_is_there_is_never_replaced(source, place, expected, tmp_path):
    packhorse("pack", source, place.url, *OPTIONS, "--no-cache")
    result = refused("pack", source, place.url, *OPTIONS, "--no-cache")
    assert "the target already exists" in result.err, result
    result = refused("pack", source, place.url, *OPTIONS, "--no-cache", "--overwrite", code=USAGE)
    assert "what lies at a URL is never replaced" in result.err, result
    assert place.files() == expected
    assert not (tmp_path / "packed.partial").exists()


@pytest.mark.parametrize("name", ["shard-000001.tar", "shard-000002.index", "classes.txt", "dataset.json"])
def test_a_file_in_the_way_is_an_error_and_stays(name, source, place, expected):
    """dataset.json: somebody else is faster, while shards are being stored."""
    key = f"{place.prefix}/packed/{name}"
    if name == "dataset.json":
        packhorse("pack", source, place.url, *OPTIONS, "--no-cache", "--task=0/2")
        place.client.put(BUCKET, key, b"{}")
        result = run("pack", source, place.url, *OPTIONS, "--no-cache")
    else:
        place.client.put(BUCKET, key, b"mine")
        result = run("pack", source, place.url, *OPTIONS, "--no-cache")
    assert result.code == FAILED and "which is not replaced" in result.err and name in result.err, result
    assert place.client.get(BUCKET, key) in (b"mine", b"{}")
    place.client.delete(BUCKET, key)
    packhorse("pack", source, place.url, *OPTIONS, "--no-cache")
    assert place.files() == expected


def test_killed_at_any_time_the_same_command_completes_it(source, place, expected, in_front_of, seaweed, monkeypatch, tmp_path):
    proxy = in_front_of(seaweed, bytes_per_s=40 << 20)
    through(place, proxy, monkeypatch)
    for killed in range(12):
        process = subprocess.Popen([PACKHORSE, "pack", source, place.url, *OPTIONS, "--no-cache"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.1 * killed)  # whenever that is
        process.kill()
        process.wait()
        assert b"dataset.json" not in place.files() or place.files() == expected
    if place.files() != expected:
        packhorse("pack", source, place.url, *OPTIONS, "--no-cache")
    assert place.files() == expected and place.uploads() == []


def test_faults_on_the_way_change_nothing(source, place, expected, in_front_of, seaweed, monkeypatch):
    faults = [Unavailable(retry_after=0), TooMany(retry_after=0), Reset(), Hangup(), Cut(10)]
    proxy = in_front_of(seaweed, plan=Plan([Rule(faults, chance=0.4, each=1)], seed=5))
    through(place, proxy, monkeypatch)
    packhorse("pack", source, place.url, *OPTIONS, "--no-cache")
    assert place.files() == expected and place.uploads() == []
    assert sum(proxy.counters()["faults"].values()) > 5


def test_a_storage_that_stops_answering_leaves_what_a_later_run_goes_on_with(source, place, expected, in_front_of, seaweed, monkeypatch, tmp_path):
    plan = Plan([Rule(Unavailable(retry_after=0), path="*shard-000002.tar")])
    with monkeypatch.context() as patch:
        through(place, in_front_of(seaweed, plan=plan), patch)
        result = refused("pack", source, place.url, *OPTIONS, "--no-cache")
        assert "shard-000002.tar" in result.err and "next: " in result.err, result
    assert (tmp_path / "packed.partial").exists() and b"dataset.json" not in place.files()
    report = packhorse("pack", source, place.url, *OPTIONS, "--no-cache", "--json").json
    assert report["shards_kept"] == 3 and place.files() == expected


def test_machines_pack_one_dataset_together(source, place, expected, tmp_path):
    for task in (2, 0, 1):  # each with a disk of its own
        machine = f"--staging={tmp_path}/machine{task}"
        packhorse("pack", source, place.url, *OPTIONS, "--no-cache", f"--task={task}/3", machine)
        left = sorted(path.name for path in (tmp_path / f"machine{task}").rglob("*.tar"))
        assert left == [] and b"dataset.json" not in place.files()
    finish = ["pack", source, place.url, "--format=wds", "--no-cache", "--finish", f"--staging={tmp_path}/last"]
    result = refused(*finish, "--shard-samples=10")
    assert "tasks with other options" in result.err, result
    packhorse(*finish, "--shard-samples=20")
    assert place.files() == expected
    assert place.files("packed.partial") == {}


def test_what_a_task_could_not_store_is_stored_at_the_finish(source, place, expected, tmp_path, in_front_of, seaweed, monkeypatch):
    """Its receipt says that a shard is finished, but it lies on that machine alone."""
    command = ["pack", source, place.url, *OPTIONS, "--no-cache"]
    plan = Plan([Rule(Unavailable(retry_after=0), path="*.tar")])
    with monkeypatch.context() as patch:
        through(place, in_front_of(seaweed, plan=plan), patch)
        refused(*command, "--task=0/2", f"--staging={tmp_path}/a")
    assert list((tmp_path / "a").rglob("*.tar")) and not any(name.endswith(b".tar") for name in place.files())
    packhorse(*command, "--task=1/2", f"--staging={tmp_path}/b")
    result = refused(*command, "--finish", f"--staging={tmp_path}/b")
    assert "shards are not packed yet" in result.err and b"dataset.json" not in place.files(), result
    packhorse(*command, "--finish", f"--staging={tmp_path}/a")
    assert place.files() == expected and place.files("packed.partial") == {}


def test_what_lies_unstored_on_one_machine_gives_way_to_what_another_stored(source, place, expected, tmp_path, in_front_of, seaweed, monkeypatch):
    command = ["pack", source, place.url, *OPTIONS, "--no-cache"]
    with monkeypatch.context() as patch:
        through(place, in_front_of(seaweed, plan=Plan([Rule(Unavailable(retry_after=0), path="*.tar")])), patch)
        refused(*command, "--task=0/2", f"--staging={tmp_path}/a")
    for path in (tmp_path / "a").rglob("*.tar"):
        path.write_bytes(b"of another time")
    for task in ("--task=0/2", "--task=1/2"):
        packhorse(*command, task, f"--staging={tmp_path}/b")
    packhorse(*command, "--finish", f"--staging={tmp_path}/a")
    assert place.files() == expected


def test_a_shard_packed_again_elsewhere_counts_at_the_finish(source, place, expected, tmp_path):
    command = ["pack", source, place.url, *OPTIONS, "--no-cache"]
    packhorse(*command, "--task=0/1", f"--staging={tmp_path}/a")
    receipt = next((tmp_path / "a/receipts").rglob("*.json"))
    receipt.write_text(receipt.read_text().replace('"inputs": "', '"inputs": "old'))
    packhorse(*command, "--finish", f"--staging={tmp_path}/a")
    assert place.files() == expected


def test_a_slash_at_the_end_changes_nothing(source, place, expected, tmp_path):
    packhorse("pack", source, f"{place.url}/", *OPTIONS, "--no-cache", "--task=0/1", f"--staging={tmp_path}/a")
    assert place.files("packed.partial") != {}
    packhorse("pack", source, place.url, *OPTIONS, "--no-cache", "--finish", f"--staging={tmp_path}/b")
    assert place.files() == expected and place.files("packed.partial") == {}


def test_tasks_need_a_place_in_the_bucket(source, place, tmp_path):
    url = f"s3://{BUCKET}"
    result = refused("pack", source, url, *OPTIONS, "--no-cache", "--task=0/2", f"--staging={tmp_path}/a", code=USAGE)
    assert "tasks need a place beside the dataset" in result.err, result


def test_a_missing_task_is_named(source, place, tmp_path):
    packhorse("pack", source, place.url, *OPTIONS, "--no-cache", "--task=0/3", f"--staging={tmp_path}/a")
    result = refused("pack", source, place.url, *OPTIONS, "--no-cache", "--finish", f"--staging={tmp_path}/b")
    assert "2 of 3 shards are not packed yet" in result.err and b"dataset.json" not in place.files(), result


def test_the_disk_holds_some_shards_only(place, tmp_path):
    """Twelve shards of 8 MB, 96 MB in all, through a directory of 70 MiB."""
    folder = tmp_path / "source"
    for i in range(48):
        path = folder / f"class{i % 3}" / f"{i:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(next(SHAPES.rglob("*.jpg")).read_bytes() + random.Random(i).randbytes(2_000_000))
    small = tmp_path / "small"
    small.mkdir()
    options = ("--format=wds", "--shard-samples=4", "--jobs=2", "--no-cache", f"--staging={small}/staging")
    result = run_on_small_disk("70m", small, "pack", folder, place.url, *options)
    assert result.code == DONE, result
    assert sum(place.client.list(BUCKET, f"{place.prefix}/packed/").values()) > 90_000_000


def test_what_cannot_be_written_to_says_so(source, nginx, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = refused("pack", source, f"{nginx.url}/packed-here", *OPTIONS, "--no-cache")
    assert "cannot be written to" in result.err and not (nginx.root / "packed-here").exists(), result
    result = refused("pack", source, tmp_path / "out", *OPTIONS, f"--staging={tmp_path}/s", code=USAGE)
    assert "for datasets at URLs only" in result.err, result
    result = refused("pack", source, "ftp://host/packed", *OPTIONS, code=USAGE)
    assert "ftp" in result.err, result


def test_who_may_not_write_is_told_so(source, place, seaweed, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", seaweed.reader_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", seaweed.reader_secret)
    result = refused("pack", source, place.url, *OPTIONS, "--no-cache")
    assert "access is denied" in result.err and seaweed.reader_secret not in result.err, result


PACKAGE = BIN.parent / "python"


@pytest.mark.skipif(not (PACKAGE / "packhorse/_remote.pyi").exists(), reason="the Python package is not built")
def test_python_packs_verifies_and_copies_there(source, place, expected, tmp_path):
    code = """
        import json, sys
        import packhorse
        source, url, out = sys.argv[1:]
        packhorse.configure_remote(cache="")
        report = packhorse.pack(source, url, format="wds", shard_samples=20)
        verified = packhorse.verify(url)
        copied = packhorse.copy(url, out)
        print(json.dumps([report.published, verified.ok, verified.samples, copied.samples, copied.kept]))
    """
    env = os.environ | {"PYTHONPATH": str(PACKAGE)}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), source, place.url, tmp_path / "copy"], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, True, 60, 60, 0]
    assert place.files() == expected == tree(tmp_path / "copy")
