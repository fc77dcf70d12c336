"""Copies of datasets between disks and a bucket: every byte proved, nothing visible before it is whole, resumed."""

import shutil
import subprocess

import pytest
from fault_plan import Plan, Rule
from faults import Cut, Flip, Hangup, Reset, Stall, Unavailable
from python_support import DAMAGE, FAILED, FORMATS, PACKHORSE, copy_tree, flip_byte, make_source, packhorse, refused, run, tree
from servers import wait_until
from test_pack_to_bucket import BUCKET, files_below, place_fixture, put_padded  # noqa: F401: `place` is a fixture

NO_CACHE = "--no-cache"


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    """A dataset in each format, and one with splits, a card and two shards of more than a part (8 MiB)."""
    folder = tmp_path_factory.mktemp("copies")
    source = make_source(folder / "source", 30)
    for name in FORMATS:
        packhorse("pack", source, folder / name, f"--format={name}", "--shard-samples=8")
    for split, images in (("train", 20), ("val", 4)):
        for i in range(images):
            bytes = 9_000_000 if split == "train" and i in (2, 3) else 1000
            put_padded(folder / f"large/{split}/class{i % 2}/{i:03}.jpg", bytes)
    packhorse("pack", folder / "large", folder / "splits", "--format=wds", "--shard-samples=10")
    assert (folder / "splits/README.md").exists()
    return folder


@pytest.mark.parametrize("name", [*FORMATS, "splits"])
def test_there_and_back_every_byte_is_the_same(name, packed, place, tmp_path):
    there = packhorse("copy", packed / name, place.url, NO_CACHE, "--json").json
    assert place.files() == files_below(packed / name)
    back = packhorse("copy", place.url, tmp_path / "back", NO_CACHE, "--json").json
    assert tree(tmp_path / "back") == tree(packed / name)
    here = packhorse("copy", packed / name, tmp_path / "here", "--json").json
    assert tree(tmp_path / "here") == tree(packed / name)
    size = sum(path.stat().st_size for path in (packed / name).rglob("*") if path.is_file() and path.name != "README.md")
    for report in (there, back, here):
        assert report["kept"] == 0 and report["bytes"] == size
        assert report["files"] == len(files_below(packed / name))
    assert not any(path.suffix == ".partial" for path in tmp_path.iterdir())


def test_from_one_bucket_to_another(packed, place, tmp_path):
    packhorse("copy", packed / "wds", place.url, NO_CACHE)
    packhorse("copy", place.url, place.url.replace("/packed", "/other"), NO_CACHE)
    assert place.files("other") == files_below(packed / "wds")
    assert not (tmp_path / "other.partial").exists()


def test_what_is_there_stays(packed, place, tmp_path):
    packhorse("copy", packed / "wds", place.url, NO_CACHE)
    assert packhorse("copy", packed / "wds", place.url, NO_CACHE, "--json").json["kept"] > 0  # the same: nothing to do
    result = refused("copy", packed / "hdf5", place.url, NO_CACHE)
    assert "there is another dataset already" in result.err, result
    assert place.files() == files_below(packed / "wds")
    (tmp_path / "mine").mkdir()
    assert "the target already exists" in refused("copy", packed / "wds", tmp_path / "mine").err
    result = refused("copy", packed / "wds", tmp_path / "out", f"--staging={tmp_path}/s", code=2)
    assert "from one URL to another only" in result.err, result


def test_damage_is_never_copied(packed, place, tmp_path):
    damaged = copy_tree(packed / "wds", tmp_path / "damaged")
    flip_byte(damaged / "shard-000001.tar", 3000)
    for target in (place.url, tmp_path / "out"):
        options = [NO_CACHE] if target == place.url else []
        result = refused("copy", damaged, target, *options, code=DAMAGE)
        assert "not the one that the manifest names" in result.err and "shard-000001.tar" in result.err, result
    assert b"dataset.json" not in place.files() and not (tmp_path / "out").exists()
    sums = copy_tree(packed / "wds", tmp_path / "sums")
    flip_byte(sums / "SHA256SUMS", 5)
    assert "SHA256SUMS" in refused("copy", sums, tmp_path / "out", code=DAMAGE).err
    place.client.put(BUCKET, f"{place.prefix}/bad/shard-000001.tar", damaged / "shard-000001.tar")
    for path in packed.glob("wds/*"):
        if path.name != "shard-000001.tar":
            place.client.put(BUCKET, f"{place.prefix}/bad/{path.name}", path)
    result = refused("copy", place.url.replace("/packed", "/bad"), tmp_path / "out", NO_CACHE, code=DAMAGE)
    assert "shard-000001.tar" in result.err and not (tmp_path / "out").exists(), result


def test_faults_on_the_way_change_nothing(packed, place, in_front_of, seaweed, monkeypatch, tmp_path):
    faults = [Unavailable(retry_after=0), Reset(), Hangup(), Cut(10)]
    flips = Rule(Flip(at=5), path="*shard*.tar", method="GET", times=1)  # what comes is compared as a whole, twice
    proxy = in_front_of(seaweed, plan=Plan([flips, Rule(faults, path="*shard*", chance=0.5, each=1)], seed=2))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
    packhorse("copy", packed / "splits", place.url, NO_CACHE)
    assert place.files() == files_below(packed / "splits") and place.uploads() == []
    packhorse("copy", place.url, tmp_path / "back", NO_CACHE)
    assert tree(tmp_path / "back") == tree(packed / "splits")
    assert sum(proxy.counters()["faults"].values()) > 5


@pytest.mark.parametrize("file", ["shard-000000.tar", "shard-000001.index", "dataset.json"])
@pytest.mark.parametrize("way", ["up", "down"])
def test_killed_at_any_file_the_same_command_completes_it(way, file, packed, place, in_front_of, seaweed, monkeypatch, tmp_path):
    """A file's request stalls: there the process is killed."""
    if way == "down":
        packhorse("copy", packed / "splits", place.url, NO_CACHE)
    method = "PUT" if way == "up" else "GET"
    proxy = in_front_of(seaweed, plan=Plan([Rule(Stall(10), path=f"*/train/{file}", method=method)]))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
    command = ["copy", packed / "splits", place.url] if way == "up" else ["copy", place.url, tmp_path / "back"]
    process = subprocess.Popen([PACKHORSE, *command, NO_CACHE], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: proxy.counters()["faults"])
    process.kill()
    process.wait()
    assert way == "up" or not (tmp_path / "back").exists()
    proxy.plan = Plan()
    packhorse(*command, NO_CACHE)
    if way == "up":
        assert place.files() == files_below(packed / "splits") and place.uploads() == []
    else:
        assert tree(tmp_path / "back") == tree(packed / "splits")


def test_an_interrupted_copy_of_another_dataset_leaves_nothing_behind(packed, tmp_path):
    staging = tmp_path / "out.partial/data/train"
    staging.mkdir(parents=True)
    (tmp_path / "out.partial/job").write_text("copy\n")
    (tmp_path / "out.partial/lock").write_text("process 1 on nowhere\n")
    (staging / "shard-000099.tar").write_bytes(b"old")
    shutil.copy(packed / "splits/train/shard-000000.tar", staging)
    report = packhorse("copy", packed / "splits", tmp_path / "out", "--json").json
    assert report["kept"] == 1 and tree(tmp_path / "out") == tree(packed / "splits")


def test_a_copy_that_is_stopped_says_so(packed, place, in_front_of, seaweed, monkeypatch, tmp_path):
    packhorse("copy", packed / "wds", place.url, NO_CACHE)
    proxy = in_front_of(seaweed, plan=Plan([Rule(Stall(3600), path="*.tar")]))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
    process = subprocess.Popen([PACKHORSE, "copy", place.url, tmp_path / "back", NO_CACHE], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: proxy.counters()["faults"])
    process.terminate()
    assert "next:" in process.communicate()[1] and process.returncode == 143
    assert not (tmp_path / "back").exists()


def test_what_is_no_dataset_is_refused(place, tmp_path):
    assert run("copy", tmp_path, tmp_path / "out").code == FAILED
    assert "there is no dataset.json" in run("copy", place.url, tmp_path / "out", NO_CACHE).err
    assert run("copy", "gs://bucket/x", tmp_path / "out").code == 2
    assert not (tmp_path / "out").exists()
