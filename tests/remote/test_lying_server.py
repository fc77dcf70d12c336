"""What a storage claims costs nothing: sizes in lists, manifests and heads of answers, and lists without end."""

import itertools
import resource
import shutil
import subprocess

import pytest
from hostile import forge
from lying_server import LyingServer
from python_support import DAMAGE, DONE, FAILED, PACKHORSE, Result, make_source, pack, packhorse, photo, put, rejects_of

HUGE, MANY = 12 << 30, 1 << 43
MEMORY = 1 << 30  # of addresses: the program alone takes some hundred MiB
DISK = 64 << 20  # of one file
TIME = 60


@pytest.fixture(autouse=True)
def no_cache_of_others(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))


@pytest.fixture(name="server")
def server_fixture():
    with LyingServer({}) as server:
        yield server


def run_bounded(server, *args, disk=DISK):
    """Runs with little memory, and where files may not become large; both kinds of allocation would fail."""

    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (disk, disk))

    done = subprocess.run(
        [PACKHORSE, *args, *server.options], preexec_fn=limit, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=TIME, check=False,
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


def put_source(server, images=4):
    for i in range(images):
        server.objects[f"source/class-{i % 2}/{i}.jpg"] = photo(i)


def pack_bounded(server, out, *options):
    return run_bounded(server, "pack", server.s3("source"), out, "--format=wds", "--max-rejects=2", "--json", "-j2", *options)


@pytest.mark.parametrize("size", [3 << 30, HUGE, MANY, (1 << 64) - 1])
def test_an_object_that_is_said_to_be_huge_is_one_reject(server, tmp_path, size):
    put_source(server)
    server.claims["source/class-0/2.jpg"] = size
    result = pack_bounded(server, tmp_path / "out")
    assert result.code == DONE, result
    assert result.json["packed"] == 3
    assert rejects_of(result.json) == {"class-0/2.jpg": "larger than 2 GiB, which no image is that can be read"}


def test_an_object_of_another_size_than_listed_is_one_reject(server, tmp_path):
    put_source(server)
    page, key = server.page, "source/class-0/2.jpg"

    def lying_page(query):
        return page(query).replace(f"<Size>{len(server.objects[key])}</Size>", "<Size>1500000000</Size>")

    server.page = lying_page
    result = pack_bounded(server, tmp_path / "out", "--no-space-check")
    assert result.code == DONE and result.json["packed"] == 3, result
    assert list(rejects_of(result.json)) == ["class-0/2.jpg"]


def test_fields_that_are_said_to_be_huge_are_one_reject(server, tmp_path):
    put_source(server)
    for i in range(4):
        server.objects[f"source/class-{i % 2}/{i}.txt"] = b"a text"
    server.claims["source/class-0/2.txt"] = HUGE
    result = pack_bounded(server, tmp_path / "out", "--fields=txt")
    assert result.code == DONE and result.json["packed"] == 3, result
    assert rejects_of(result.json) == {"class-0/2.jpg": "its extra fields have more than 4 GiB together"}


def test_a_list_of_urls_is_asked_for_sizes_that_are_not_believed(server, tmp_path):
    server.objects.update({"a.jpg": photo(0), "b.jpg": photo(1)})
    server.claims["b.jpg"] = MANY
    rows = "".join(f"{server.url}/{name},x\n" for name in ("a.jpg", "b.jpg"))
    source = put(tmp_path / "list.csv", "path,label\n" + rows)
    result = run_bounded(server, "pack", source, tmp_path / "out", "--format=wds", "--max-rejects=1", "--json")
    assert result.code == DONE and result.json["packed"] == 1, result
    assert "larger than 2 GiB" in result.json["rejects"][0]["reason"]


def test_an_archive_that_is_said_to_be_huge_takes_no_room_before_it_comes(server, tmp_path):
    folder = make_source(tmp_path / "source", 8)
    archive = shutil.make_archive(tmp_path / "source", "tar", folder)
    server.objects["source.tar"] = open(archive, "rb").read()
    server.claims["source.tar"] = MANY
    result = run_bounded(server, "pack", server.s3("source.tar"), tmp_path / "out", "--format=wds", disk=MANY)
    assert result.code in (FAILED, DAMAGE) and "next: " in result.err, result
    assert not (tmp_path / "out").exists()


@pytest.fixture(name="dataset")
def dataset_fixture(tmp_path):
    pack(make_source(tmp_path / "source", 8), tmp_path / "packed", "--format=wds")
    return tmp_path / "packed"


def claim_index(dataset, bytes, samples=None):
    def edit(manifest):
        shard = manifest["shards"][0]
        shard["index_bytes"] = bytes
        if samples:
            shard["samples"] = manifest["samples"] = samples

    forge.edit_manifest(dataset, edit)


READERS = [("inspect",), ("stats",), ("inspect", "--verify=full"), ("inspect", "--verify=quick")]


@pytest.mark.parametrize("command", READERS, ids=" ".join)
@pytest.mark.parametrize("bytes, samples", [(MANY, None), (HUGE, None), (MANY, 1 << 36), (HUGE, 1 << 26)])
def test_an_index_that_a_manifest_says_is_huge_is_refused(server, dataset, tmp_path, command, bytes, samples):
    claim_index(dataset, bytes, samples)
    server.put_folder(dataset, "packed")
    key = next(key for key in server.objects if key.endswith(".index"))
    server.claims[key] = bytes
    name, *options = command
    cache = ("--cache", tmp_path / "cache") if name != "inspect" else ()
    result = run_bounded(server, name, server.s3("packed"), *options, *cache, disk=MANY)
    assert result.code in (FAILED, DAMAGE) and "bytes" in result.err + result.out, result


def test_a_sample_that_an_index_says_is_huge_is_an_error_of_its_own(server, dataset):
    def edit(index):
        index.put(forge.RANGES, 0, 8, "Q", HUGE)
        index.data_bytes = MANY

    forge.edit_index(dataset, edit)
    forge.edit_manifest(dataset, lambda manifest: manifest["shards"][0].update(bytes=MANY))
    server.put_folder(dataset, "packed")
    server.claims["packed/shard-000000.tar"] = MANY
    result = run_bounded(server, "stats", server.s3("packed"), "--no-cache")
    assert result.code != DONE and "4 GiB" in result.err, result


def endless(server, objects):
    """Pages without an end, each with what objects(number) gives."""
    numbers = itertools.count()

    def page(_):
        number = next(numbers)
        return server.list_text(objects(number), next_token=f"token-{number}")

    server.page = page


@pytest.mark.parametrize(
    "objects, words",
    [
        (lambda number: [], "does not end"),
        (lambda number: [("source/class/", 0)], "does not end"),
        (lambda number: [("source/class/1.jpg", 9)], "turns in a circle"),
        (lambda number: [(f"source/class/{number % 7}.jpg", 9)], "turns in a circle"),
    ],
    ids=["no names", "folders alone", "one name", "the same names"],
)
def test_a_list_without_end_is_refused(server, tmp_path, objects, words):
    endless(server, objects)
    result = run_bounded(server, "pack", server.s3("source"), tmp_path / "out", "--format=wds")
    assert result.code == DAMAGE and words in result.err and "next: " in result.err, result
    assert server.requests < 3000


def test_pages_without_names_are_read_on(server, tmp_path):
    put_source(server)
    page, numbers = server.page, itertools.count()

    def sparse(query):
        if "delimiter" in query:
            return page(query)
        number = next(numbers)
        return page(query) if number == 200 else server.list_text([], next_token=f"token-{number}")

    server.page = sparse
    assert packhorse("pack", server.s3("source"), tmp_path / "out", "--format=wds", "--json", *server.options).json["packed"] == 4
