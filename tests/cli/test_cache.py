"""`packhorse cache`, on caches that are made here, byte by byte: so the format (docs/formats/cache.md) is held, too."""

import ctypes
import ctypes.util
import fcntl
import hashlib
import json
import os
import re
import struct
import time

import pytest
from python_support import DAMAGE, DONE, ROOT, USAGE, packhorse, put, refused, run, tree

RUN = 4 << 20
HEADER = 96
F_OFD_SETLK = getattr(fcntl, "F_OFD_SETLK", 37)


def xxh3(data):
    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    library.XXH3_64bits.restype = ctypes.c_uint64
    library.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return library.XXH3_64bits(data, len(data))


def account(most=1 << 30, stored=0):
    return f'{{"packhorse_cache": 1, "most": {most:20}, "stored": {stored:20}}}\n'


def runs_of(data):
    return -(-len(data) // RUN)


class Cache:
    """A cache directory, written without packhorse."""

    def __init__(self, path):
        self.path = path
        put(path / "packhorse-cache.json", account())

    def file(self, digest, ending):
        return self.path / digest[:2] / (digest + ending)

    def add(self, data, there=None, used=0, digest=None):
        """Adds a file with the runs `there`, by default all of them; its SHA-256."""
        digest = digest or hashlib.sha256(data).hexdigest()
        there = range(runs_of(data)) if there is None else there
        begin = struct.pack("<8sIIQQ", b"PHRUNS01", 1, HEADER, RUN, len(data)) + bytes.fromhex(digest)
        header = begin + struct.pack("<Qq16x", xxh3(begin), used)
        assert len(header) == HEADER
        put(self.file(digest, ".runs"), header + bytes(n in there for n in range(runs_of(data))))
        with open(self.file(digest, ".data"), "wb") as file:
            for n in there:
                file.seek(n * RUN)
                file.write(data[n * RUN : (n + 1) * RUN])
            file.truncate(len(data))
        return digest

    def __call__(self, action, *options):
        return packhorse("cache", action, "--cache", self.path, *options)

    def listed(self):
        return {file["sha256"]: file for file in self("list", "--json").json["files"]}


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


def lease(cache, digest):
    """Opens a file of the cache as a process that reads from it does."""
    file = open(cache.file(digest, ".runs"), "r+b")
    lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 1, 0)
    fcntl.fcntl(file, F_OFD_SETLK, lock)
    return file


PHOTO, LARGE = b"a photo" * 1000, bytes(range(256)) * 4 * 4096 * 2 + b"more"


def test_files_are_listed_with_what_is_there_of_them(cache):
    whole = cache.add(PHOTO, used=1_790_000_000 * 10**9)
    part = cache.add(LARGE, there=[2], used=1_790_000_001 * 10**9 + 5)
    assert runs_of(LARGE) == 3
    report = cache("list", "--json").json
    assert report["cache"] == str(cache.path) and report["most"] == 1 << 30 and report["stored"] == len(PHOTO) + 4
    assert report["files"] == sorted([
        {"sha256": whole, "bytes": 7000, "stored": 7000, "in_use": False, "used": 1_790_000_000},
        {"sha256": part, "bytes": len(LARGE), "stored": 4, "in_use": False, "used": 1_790_000_001},
    ], key=lambda file: file["sha256"])  # fmt: skip
    text = cache("list").out
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(1_790_000_000))
    assert re.search(rf"^{whole} +6.8 KiB +6.8 KiB +whole +{stamp}$", text, re.M), text
    assert re.search(rf"^{part} +8.0 MiB +4 B +0 % +", text, re.M), text
    assert text.endswith(f"{cache.path}: 2 files, 6.8 KiB of at most 1.0 GiB, 0 in use\n")


def test_an_empty_cache_has_nothing_to_list(cache):
    assert cache("list").out == f"{cache.path}: 0 files, 0 B of at most 1.0 GiB, 0 in use\n"
    assert cache("verify").out == "ok: 0 files compared with their SHA-256, 0 damaged; 0 not there completely\n"
    assert cache("clear").out == "0 files removed, 0 B are free now\n"


def test_looking_changes_nothing(cache):
    cache.add(PHOTO)
    cache.add(LARGE, there=[0])
    before = tree(cache.path)
    for options in ((), ("--json",)):
        cache("list", *options)
        cache("verify", *options)
    assert tree(cache.path) == before


def test_whole_files_are_compared_and_damaged_ones_forgotten(cache):
    cache.add(PHOTO)
    cache.add(LARGE, there=[0, 1])
    zeros = cache.add(bytes(len(LARGE)), digest=hashlib.sha256(LARGE + b"lost in a power cut").hexdigest())
    assert cache("list").out.count(" whole ") == 2
    result = run("cache", "verify", "--cache", cache.path)
    assert result.code == DAMAGE and result.err == "", result
    assert result.out == (
        f"damaged, and forgotten: {zeros}\n"
        "2 files compared with their SHA-256, 1 damaged; 1 not there completely\n"
    )
    listed = cache.listed()
    assert listed[zeros]["stored"] == 0 and sum(file["stored"] for file in listed.values()) == len(PHOTO) + 2 * RUN
    assert os.stat(cache.file(zeros, ".data")).st_blocks == 0
    assert cache.file(zeros, ".runs").read_bytes()[HEADER:] == bytes(3)
    assert cache("verify", "--json").json == {
        "cache": str(cache.path), "ok": True, "compared": 1, "incomplete": 2, "damaged": []
    }  # fmt: skip


def test_clear_removes_all_that_nobody_has_open(cache):
    kept, other = cache.add(PHOTO), cache.add(LARGE)
    with lease(cache, kept):
        assert cache.listed()[kept]["in_use"] and not cache.listed()[other]["in_use"]
        assert cache("list").out.endswith(", 1 in use\n")
        result = cache("clear", "--json").json
        assert (result["removed"], result["in_use"]) == (1, 1) and result["freed"] >= len(LARGE)
        assert cache.file(kept, ".data").read_bytes() == PHOTO and not cache.file(other, ".data").exists()
        assert cache("clear").out == "0 files removed, 0 B are free now\n1 file is in use and stayed, with 6.8 KiB\n"
    assert re.fullmatch(r"1 file removed, \S+ KiB are free now\n", cache("clear").out)
    assert cache.listed() == {}
    assert json.loads((cache.path / "packhorse-cache.json").read_text()) == {
        "packhorse_cache": 1, "most": 1 << 30, "stored": 0
    }  # fmt: skip


def test_the_account_is_written_as_the_page_says(cache):
    cache.add(PHOTO)
    cache("clear")
    assert (cache.path / "packhorse-cache.json").read_text() == account()
    assert account(68719476736, 528482304) in (ROOT / "docs/formats/cache.md").read_text()


def test_what_the_cache_has_not_made_is_left_alone(cache, tmp_path):
    digest = cache.add(PHOTO)
    for name in ("aa/" + 64 * "a" + ".data", "aa/" + 64 * "a" + ".runs", "aa/notes", "notes", "b/c"):
        put(cache.path / name, "no file of a cache")
    elsewhere = put(tmp_path / "elsewhere", PHOTO)
    cache.file(digest, ".data").unlink()
    cache.file(digest, ".data").symlink_to(elsewhere)
    before = tree(cache.path, only=lambda name: b"cache.json" not in name)
    assert cache("clear").out.startswith("0 files removed")
    assert cache("verify").out.startswith("ok: ")
    assert tree(cache.path, only=lambda name: b"cache.json" not in name) == before
    assert elsewhere.read_bytes() == PHOTO


def test_a_header_that_is_not_as_the_page_says_is_none(cache):
    for offset in (0, 8, 12, 16, 24, 40, 64):
        file = cache.file(cache.add(PHOTO), ".runs")
        data = bytearray(file.read_bytes())
        data[offset] ^= 1
        file.write_bytes(data)
        assert cache.listed() == {}
        cache("clear")
        assert file.exists()


def test_the_default_is_the_users_cache(cache, tmp_path, monkeypatch):
    digest = cache.add(PHOTO)
    (tmp_path / "home/.cache").mkdir(parents=True)
    (tmp_path / "home/.cache/packhorse").symlink_to(cache.path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert digest in packhorse("cache", "list").out
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    assert str(tmp_path / "none/packhorse") in refused("cache", "list").err
    assert not (tmp_path / "none").exists()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    assert "give its directory: --cache DIR" in refused("cache", "list", code=USAGE).err


def test_a_directory_that_is_no_cache_is_refused_and_stays(tmp_path):
    put(tmp_path / "photos/a.jpg")
    put(tmp_path / "other/packhorse-cache.json", '{"id": 5}')
    put(tmp_path / "later/packhorse-cache.json", '{"packhorse_cache": 2}')
    before = tree(tmp_path)
    for action in ("list", "verify", "clear"):
        assert "there is no cache here" in refused("cache", action, "--cache", tmp_path / "photos").err
        assert "no cache of packhorse" in refused("cache", action, "--cache", tmp_path / "other", code=USAGE).err
        assert "use a newer packhorse" in refused("cache", action, "--cache", tmp_path / "later").err
    assert tree(tmp_path) == before
    assert run("cache", "list", "--cache", tmp_path / "none").code != DONE
