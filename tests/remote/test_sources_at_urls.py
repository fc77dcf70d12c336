"""Sources at URLs: what lies in a bucket or on a web server packs into the bytes of the same files on the disk."""

import json
import shutil
import subprocess

import pytest
from fault_plan import Plan, Rule
from faults import Cut, Etag, Hangup, Reset, Stall, Unavailable
from python_support import FAILED, PACKHORSE, make_source, packhorse, photo, put, refused, run, tree
from servers import wait_until
from test_pack_to_bucket import BUCKET, DENIED, Bucket, files_below, place_fixture  # noqa: F401: `place` is a fixture

NO_FIELDS = "--fields=none"
OPTIONS = ["--format=wds", "--shard-samples=8", NO_FIELDS]
NO_CACHE = "--no-cache"


@pytest.fixture(scope="module", name="source")
def source_fixture(tmp_path_factory):
    """Splits, fields beside images and elsewhere, and what is no sample."""
    folder = make_source(tmp_path_factory.mktemp("sources") / "source/train", 20).parent
    make_source(folder / "val", 4)
    for image in folder.rglob("*.jpg"):
        put(image.with_suffix(".json"), json.dumps({"of": image.name}))
        put(folder / "masks" / image.relative_to(folder).with_suffix(".txt"), "a mask")
    put(folder / "train/class-0/.hidden.jpg")
    put(folder / "train/class-1/readme.txt", "no image")
    put(folder / "__MACOSX/train/class-0/x.jpg")
    put(folder / "train/class-2/ü & + %.jpg")
    return folder


@pytest.fixture(scope="module", name="stored_once")
def stored_once_fixture(seaweed, source):
    return stored_at(Bucket(seaweed), source, "source")


@pytest.fixture(name="stored")
def stored_fixture(stored_once, place):  # `place` sets the environment by which the bucket is found
    return stored_once


def stored_at(place, source, name):
    """Stores a folder; its URL."""
    place.client.put_folder(BUCKET, source, f"{place.prefix}/{name}")
    return place.url.replace("/packed", f"/{name}")


def both(url, source, tmp_path, *options):
    """Packs from there and from here: the same report and the same bytes."""
    some = any(option.startswith("--fields") for option in options)
    options = [*(option for option in OPTIONS if option != NO_FIELDS or not some), *options, "--json"]
    here = run("pack", source, tmp_path / "here", *options)
    there = run("pack", url, tmp_path / "there", *options, NO_CACHE)
    assert there.code == here.code, (there, here)
    if here.code == 0:
        assert tree(tmp_path / "there") == tree(tmp_path / "here")
        ours, theirs = here.json, there.json
        for report in (ours, theirs):
            for name in ("seconds", "splits", "out"):
                report.pop(name, None)
        assert json.loads(json.dumps(theirs).replace(str(tmp_path / "there"), "OUT")) == json.loads(
            json.dumps(ours).replace(str(tmp_path / "here"), "OUT"))  # fmt: skip
    return there


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--fields=json"],
        ["--fields=none", "--field-from=mask.txt=masks/{split}/{class}/{stem}.txt", "--max-rejects=1"],
        ["--image=raw", "--size=32"],
        ["--split-folders=train", "--limit=10"],
    ],
    ids=" ".join,
)
def test_class_folders_in_a_bucket(options, stored, source, tmp_path):
    assert both(stored, source, tmp_path, *options).code == 0
    assert not list(tmp_path.glob("*.partial"))


def test_labels_of_a_file_on_the_disk(place, tmp_path):
    source = tmp_path / "flat"
    lines = [f"{i:03}.jpg,{'cat' if i % 2 else 'dog'}" for i in range(10) if put(source / f"{i:03}.jpg", photo(i))]
    labels = put(tmp_path / "labels.csv", "path,label\n" + "\n".join(lines) + "\n")
    both(stored_at(place, source, "flat"), source, tmp_path, f"--labels={labels}")


def test_a_dry_run_says_what_it_says_of_the_disk(stored, source, tmp_path):
    here = packhorse("pack", source, tmp_path / "out", *OPTIONS, "--dry-run").out
    there = packhorse("pack", stored, tmp_path / "out", *OPTIONS, "--dry-run", NO_CACHE).out
    assert there == here.replace(str(source), stored)


@pytest.mark.parametrize("kind", ["https", "s3"])
def test_an_archive(kind, source, place, nginx, tmp_path, monkeypatch):
    archive = shutil.make_archive(tmp_path / "photos", "tar", source)
    if kind == "s3":
        place.client.put(BUCKET, f"{place.prefix}/photos.tar", tmp_path / "photos.tar")
        url = place.url.replace("/packed", "/photos.tar")
    else:
        monkeypatch.setenv("SSL_CERT_FILE", str(nginx.certificate))
        shutil.copy(archive, nginx.root / f"{place.prefix}.tar")
        url = f"{nginx.https}/{place.prefix}.tar"
    both(url, archive, tmp_path, "--source-kind=archive")
    assert not list(tmp_path.glob("packhorse-archive-*"))


def test_from_one_bucket_into_another(stored, source, place, tmp_path):
    packhorse("pack", source, tmp_path / "here", *OPTIONS)
    packhorse("pack", stored, place.url, *OPTIONS, NO_CACHE)
    assert place.files() == files_below(tmp_path / "here")


def test_faults_on_the_way_change_nothing(stored, source, tmp_path, in_front_of, seaweed, monkeypatch):
    faults = [Unavailable(retry_after=0), Reset(), Hangup(), Cut(10)]
    proxy = in_front_of(seaweed, plan=Plan([Rule(faults, chance=0.5, each=1)], seed=3))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
    both(stored, source, tmp_path)
    assert sum(proxy.counters()["faults"].values()) > 10


def test_an_object_that_cannot_be_had_now_can_be_had_later(stored, source, place, tmp_path, in_front_of, seaweed, monkeypatch):
    """Into a bucket, where a shard without it could not be replaced."""
    packhorse("pack", source, tmp_path / "here", *OPTIONS)
    command = ["pack", stored, place.url, *OPTIONS, NO_CACHE]
    with monkeypatch.context() as patch:
        proxy = in_front_of(seaweed, plan=Plan([Rule(DENIED, path="*class-1/000008.jpg")]))
        patch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
        result = run(*command)
        assert result.code != 0 and "000008.jpg" in result.err, result
    assert b"dataset.json" not in place.files()
    packhorse(*command)
    assert place.files() == files_below(tmp_path / "here")


def test_rejects_that_were_allowed_stay_when_publishing_goes_on(stored, place, in_front_of, seaweed, monkeypatch):
    command = ["pack", stored, place.url, *OPTIONS, NO_CACHE, "--max-rejects=1", "--json"]
    with monkeypatch.context() as patch:
        lost = [Rule(Unavailable(retry_after=0), path="*class-1/000008.jpg"), Rule(DENIED, path="*dataset.json", method="PUT")]
        patch.setenv("AWS_ENDPOINT_URL_S3", in_front_of(seaweed, plan=Plan(lost)).url)
        refused_at = run(*command)
        assert refused_at.code == FAILED and "dataset.json" in refused_at.err, refused_at
    result = run(*command)
    assert result.code == 0 and result.json["rejected"] == 1 and "000008.jpg" in result.err, result
    assert run("inspect", place.url, "--verify=full", NO_CACHE).code == 0


def test_an_object_that_changes_is_no_sample(stored, tmp_path, in_front_of, seaweed, monkeypatch):
    proxy = in_front_of(seaweed, plan=Plan([Rule(Etag(), path="*class-1/000008.jpg")]))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
    result = run("pack", stored, tmp_path / "out", *OPTIONS, NO_CACHE)
    assert result.code != 0 and "000008.jpg" in result.err and "not the one that it was at first" in result.err, result


def test_names_that_are_no_paths_are_rejects(place, tmp_path):
    for key in ("cat/1.jpg", "cat//2.jpg", "dog/4.jpg"):
        place.client.put(BUCKET, f"{place.prefix}/odd/{key}", photo(len(key)))
    listed = place.client.list(BUCKET, f"{place.prefix}/odd/")
    result = run("pack", place.url.replace("/packed", "/odd"), tmp_path / "out", "--format=wds", "--json", NO_CACHE)
    assert result.json["seen"] == len(listed)  # a storage may clean names itself
    assert result.json["rejected"] == sum("//" in key for key in listed)


def test_many_classes_are_not_looked_into_for_splits(place, tmp_path):
    source = tmp_path / "source"
    for i in range(110):
        put(source / f"class{i:03}" / "a.jpg", photo(i % 40))
    assert both(stored_at(place, source, "many"), source, tmp_path).json["packed"] == 110


def test_an_archive_with_a_name_that_is_encoded_is_packed_by_tasks(source, place, nginx, tmp_path):
    shutil.make_archive(nginx.root / f"{place.prefix} ü", "tar", source)
    url = f"{nginx.url}/{place.prefix}%20%C3%BC.tar"
    packhorse("pack", url, tmp_path / "new/dir/alone", *OPTIONS, "--source-kind=archive", NO_CACHE)
    for task in ("--task=0/2", "--task=1/2", "--finish"):
        packhorse("pack", url, tmp_path / "tasks", *OPTIONS, "--source-kind=archive", NO_CACHE, task)
    assert tree(tmp_path / "tasks") == tree(tmp_path / "new/dir/alone")


def test_killed_and_run_again_it_keeps_what_was_finished(stored, source, tmp_path, in_front_of, seaweed, monkeypatch):
    packhorse("pack", source, tmp_path / "here", *OPTIONS)
    proxy = in_front_of(seaweed, plan=Plan([Rule(Stall(), path="*train/*.jpg", method="GET", skip=18)]))  # in the third shard
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
    command = ["pack", stored, tmp_path / "out", *OPTIONS, "--jobs=1", NO_CACHE]
    process = subprocess.Popen([PACKHORSE, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: proxy.counters()["faults"] and list((tmp_path / "out.partial/receipts").rglob("*.json")))
    process.kill()
    process.wait()
    proxy.plan = Plan()
    assert packhorse(*command, "--json").json["shards_kept"] >= 1
    assert tree(tmp_path / "out") == tree(tmp_path / "here")


def test_what_has_changed_is_packed_again(source, place, tmp_path):
    """A receipt names what its shard was made of: another object of the same size is another one."""
    key = f"{place.prefix}/source/train/class-0/000000.jpg"
    command = ["pack", stored_at(place, source, "source"), tmp_path / "out", *OPTIONS, NO_CACHE]
    packhorse(*command, "--task=0/1")
    changed = bytearray(place.client.get(BUCKET, key))
    changed[-1] ^= 1
    place.client.put(BUCKET, key, bytes(changed))
    report = packhorse(*command, "--json").json
    assert 0 < report["shards_kept"] < report["shards"]


def test_what_cannot_be_read_says_so(nginx, stored, tmp_path):
    result = refused("pack", f"{nginx.url}/photos", tmp_path / "out", "--format=wds", NO_CACHE)
    assert "web servers cannot list what they hold" in result.err, result
    result = refused("pack", f"{nginx.url}/none.tar", tmp_path / "out", "--format=wds", NO_CACHE)
    assert "there is no such object" in result.err and "none.tar" in result.err, result
    result = refused("pack", stored, tmp_path / "out", "--format=wds", "--source-kind=list", NO_CACHE, code=FAILED)
    assert "not sources of the kind list" in result.err, result
    result = refused("pack", stored + "/nothing", tmp_path / "out", "--format=wds", NO_CACHE)
    assert "next: " in result.err, result
    assert not (tmp_path / "out").exists()
