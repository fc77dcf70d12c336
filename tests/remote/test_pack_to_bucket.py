"""Packing to a bucket: the bytes of a local dataset, nothing visible before it is whole, nothing there replaced."""

import hashlib
import json
import os
import random
import subprocess
import sys
import textwrap
import uuid
import xml.etree.ElementTree

import pytest
from fault_plan import Plan, Rule
from faults import Cut, Hangup, Reset, Stall, Status, TooMany, Unavailable
from python_support import (
    BIN, DONE, FAILED, FORMATS, PACKHORSE, USAGE, make_source, packhorse, photo, put, refused, run, run_on_small_disk, tree,
)  # fmt: skip
from servers import wait_until

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


def put_padded(path, bytes):
    """A picture with noise behind it."""
    put(path, photo() + random.Random(path.name).randbytes(bytes))


@pytest.fixture(scope="module", name="source")
def source_fixture(tmp_path_factory):
    """In each of three shards one photo is larger than a part of an upload (8 MiB)."""
    folder = tmp_path_factory.mktemp("bucket") / "source"
    for i in range(15):
        put_padded(folder / f"class{i // 5}/{i:03}.jpg", 9_000_000 if i % 5 == 2 else 1000)
    return folder


OPTIONS = ["--format=wds", "--shard-samples=5"]
DENIED = Status(status=403, code="AccessDenied")  # is not asked for again


@pytest.fixture(scope="module", name="expected")
def expected_fixture(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("expected") / "packed"
    packhorse("pack", source, out, *OPTIONS)
    return tree(out)


@pytest.mark.parametrize("name", FORMATS)
def test_the_bytes_are_those_of_a_local_dataset_with_its_splits_and_card(name, place, tmp_path):
    make_source(tmp_path / "source/train", 20)
    make_source(tmp_path / "source/val", 8)
    options = [f"--format={name}", "--shard-samples=8", "--json"]
    here = packhorse("pack", tmp_path / "source", tmp_path / "here", *options).json
    there = packhorse("pack", tmp_path / "source", place.url, *options, "--no-cache").json
    assert place.files() == files_below(tmp_path / "here")
    assert all(there[name] == here[name] for name in ("id", "bytes_out", "shards"))
    assert not (tmp_path / "packed.partial").exists() and place.uploads() == []
    verified = run("inspect", place.url, "--verify=full", "--json", "--no-cache")
    assert verified.code == DONE and verified.json["findings"] == []
    assert "train" in run("inspect", place.url, "--no-cache").out


def test_what_is_there_is_never_replaced(source, place, expected, tmp_path):
    packhorse("pack", source, place.url, *OPTIONS, "--no-cache")
    assert place.files() == expected
    result = refused("pack", source, place.url, *OPTIONS, "--no-cache")
    assert "the target already exists" in result.err, result
    result = refused("pack", source, place.url, *OPTIONS, "--no-cache", "--overwrite", code=USAGE)
    assert "never replaced" in result.err, result
    assert place.files() == expected
    assert not (tmp_path / "packed.partial").exists()


@pytest.mark.parametrize("name", ["shard-000001.tar", "classes.txt", "dataset.json"])
def test_a_file_in_the_way_is_an_error_and_stays(name, source, place, expected):
    """dataset.json: somebody else is faster, while shards are being stored."""
    key = f"{place.prefix}/packed/{name}"
    if name == "dataset.json":
        packhorse("pack", source, place.url, *OPTIONS, "--no-cache", "--task=0/2")
    place.client.put(BUCKET, key, b"mine")
    result = run("pack", source, place.url, *OPTIONS, "--no-cache")
    assert result.code == FAILED and "which is not replaced" in result.err and name in result.err, result
    assert place.client.get(BUCKET, key) == b"mine"
    place.client.delete(BUCKET, key)
    packhorse("pack", source, place.url, *OPTIONS, "--no-cache")
    assert place.files() == expected


HALTS = {
    "shard": {"path": "*.tar"},
    "second part": {"path": "*.tar", "query": "partNumber=2*"},
    "second index": {"path": "*.index", "skip": 1},
    "manifest": {"path": "*dataset.json", "method": "PUT"},
}


@pytest.mark.parametrize("where", HALTS.values(), ids=HALTS)
def test_killed_at_any_request_the_same_command_completes_it(where, source, place, expected, in_front_of, seaweed, monkeypatch):
    """The answer to a request stalls: there the process is killed."""
    proxy = in_front_of(seaweed, plan=Plan([Rule(Stall(), **where)]))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
    command = [PACKHORSE, "pack", source, place.url, *OPTIONS, "--no-cache"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: proxy.counters()["faults"])
    process.kill()
    process.wait()
    proxy.plan = Plan()
    assert b"dataset.json" not in place.files() or place.files() == expected
    if place.files() != expected:
        packhorse(*command[1:])
    assert place.files() == expected and place.uploads() == []


def test_of_several_writers_at_once_one_comes_to_an_end(source, place, expected, tmp_path):
    for turn in range(3):
        place.url = f"{place.url}-{turn}"
        folders = [tmp_path / f"{turn}-{i}" for i in range(4)]
        for folder in folders:
            folder.mkdir()
        command = [PACKHORSE, "pack", source, place.url, *OPTIONS, "--no-cache"]
        writers = [subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for folder in folders]
        said = [writer.communicate()[1].decode() for writer in writers]
        codes = [writer.returncode for writer in writers]
        assert DONE in codes, said
        assert all(code == DONE or "exists" in text for code, text in zip(codes, said, strict=True)), said
        assert place.files(f"packed-{turn}") == expected and place.uploads() == []
        place.url = place.url.removesuffix(f"-{turn}")


def test_faults_on_the_way_change_nothing(source, place, expected, in_front_of, seaweed, monkeypatch):
    faults = [Unavailable(retry_after=0), TooMany(retry_after=0), Reset(), Hangup(), Cut(10)]
    proxy = in_front_of(seaweed, plan=Plan([Rule(faults, chance=0.4, each=1)], seed=5))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
    packhorse("pack", source, place.url, *OPTIONS, "--no-cache")
    assert place.files() == expected and place.uploads() == []
    assert sum(proxy.counters()["faults"].values()) > 5


def test_a_storage_that_stops_answering_leaves_what_a_later_run_goes_on_with(source, place, expected, in_front_of, seaweed, monkeypatch, tmp_path):
    plan = Plan([Rule(Unavailable(retry_after=0), path="*shard-000002.tar")])
    with monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL_S3", in_front_of(seaweed, plan=plan).url)
        result = refused("pack", source, place.url, *OPTIONS, "--no-cache")
        assert "shard-000002.tar" in result.err and "next: " in result.err, result
    assert (tmp_path / "packed.partial").exists() and b"dataset.json" not in place.files()
    report = packhorse("pack", source, place.url, *OPTIONS, "--no-cache", "--json").json
    assert report["shards_kept"] == 3 and place.files() == expected


def test_machines_pack_one_dataset_together(source, place, expected, tmp_path):
    """A slash at the end of the place changes nothing, and a shard that was packed of something else counts no more."""

    def machine(name, *options):  # each has a disk of its own
        return ["pack", source, place.url, "--format=wds", "--no-cache", f"--staging={tmp_path}/{name}", *options]

    packhorse(*machine("a", "--shard-samples=5", "--task=2/3"))
    result = refused(*machine("last", "--shard-samples=5", "--finish"))
    assert "2 of 3 shards are not packed yet" in result.err, result
    for name, task in (("b", "0/3"), ("c", "1/3")):
        command = machine(name, "--shard-samples=5", f"--task={task}")
        command[2] += "/"
        packhorse(*command)
        assert not list((tmp_path / name).rglob("*.tar")) and b"dataset.json" not in place.files()
    result = refused(*machine("last", "--shard-samples=3", "--finish"))
    assert "tasks with other options" in result.err, result
    receipt = next((tmp_path / "a/receipts").rglob("*.json"))
    receipt.write_text(receipt.read_text().replace('"inputs": "', '"inputs": "old'))
    packhorse(*machine("a", "--shard-samples=5", "--finish"))
    assert place.files() == expected and place.files("packed.partial") == {}


@pytest.fixture(name="unstored")
def unstored_fixture(source, place, tmp_path, in_front_of, seaweed, monkeypatch):
    """The command of a task whose shards are finished, but lie on its machine alone, in tmp_path / "a"."""
    command = ["pack", source, place.url, *OPTIONS, "--no-cache"]
    with monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL_S3", in_front_of(seaweed, plan=Plan([Rule(DENIED, path="*.tar")])).url)
        refused(*command, "--task=0/2", f"--staging={tmp_path}/a")
    assert list((tmp_path / "a").rglob("*.tar")) and not any(name.endswith(b".tar") for name in place.files())
    return command


def test_what_a_task_could_not_store_is_stored_at_the_finish(unstored, place, expected, tmp_path):
    packhorse(*unstored, "--task=1/2", f"--staging={tmp_path}/b")
    result = refused(*unstored, "--finish", f"--staging={tmp_path}/b")
    assert "shards are not packed yet" in result.err and b"dataset.json" not in place.files(), result
    packhorse(*unstored, "--finish", f"--staging={tmp_path}/a")
    assert place.files() == expected and place.files("packed.partial") == {}


def test_what_lies_unstored_on_one_machine_gives_way_to_what_another_stored(unstored, place, expected, tmp_path):
    for path in (tmp_path / "a").rglob("*.tar"):
        path.write_bytes(b"of another time")
    for task in ("--task=0/2", "--task=1/2"):
        packhorse(*unstored, task, f"--staging={tmp_path}/b")
    packhorse(*unstored, "--finish", f"--staging={tmp_path}/a")
    assert place.files() == expected


def test_the_disk_holds_some_shards_only(place, tmp_path):
    """Twelve shards of 1 MB through a directory of 9 MiB: two that are packed, six that are stored."""
    for i in range(24):
        put_padded(tmp_path / f"source/class{i % 3}/{i:03}.jpg", 500_000)
    small = tmp_path / "small"
    small.mkdir()
    options = ("--format=wds", "--shard-samples=2", "--jobs=2", "--no-cache", f"--staging={small}/staging")
    result = run_on_small_disk("9m", small, "pack", tmp_path / "source", place.url, *options)
    assert result.code == DONE, result
    assert sum(place.client.list(BUCKET, f"{place.prefix}/packed/").values()) > 12_000_000


def test_what_cannot_be_written_to_says_so(source, place, seaweed, nginx, tmp_path, monkeypatch):
    result = refused("pack", source, f"{nginx.url}/packed-here", *OPTIONS, "--no-cache")
    assert "cannot be written to" in result.err and not (nginx.root / "packed-here").exists(), result
    for options, said in (
        ([tmp_path / "out", f"--staging={tmp_path}/s"], "for datasets at URLs only"),
        (["ftp://host/packed"], "ftp"),
        ([f"s3://{BUCKET}", "--no-cache", "--task=0/2", f"--staging={tmp_path}/a"], "tasks need a place beside the dataset"),
    ):
        result = refused("pack", source, *options, *OPTIONS, code=USAGE)
        assert said in result.err, result
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
        report = packhorse.pack(source, url, format="wds", shard_samples=5)
        verified = packhorse.verify(url)
        copied = packhorse.copy(url, out)
        print(json.dumps([report.published, verified.ok, verified.samples, copied.samples, copied.kept]))
    """
    env = os.environ | {"PYTHONPATH": str(PACKAGE)}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), source, place.url, tmp_path / "copy"], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, True, 15, 15, 0]
    assert place.files() == expected == tree(tmp_path / "copy")
