"""A full disk gives one clear message and no dataset; the same command completes it once there is room.

The disk is a tmpfs of 3 MiB in a mount namespace that a sleeping process holds, so nobody else sees it.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from python_support import FAILED, FORMATS, PACKHORSE, SHAPES, make_source, pack, packhorse, refused, run, tree

SMALL, LARGE = "3m", "64m"
SHARD = 100  # samples
thorough = pytest.mark.thorough


class Disk:
    """The small disk, mounted at `path` inside the namespace and visible at `outside` from without."""

    def __init__(self, path):
        self.path = path
        as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        mount = f'mount -t tmpfs -o size={SMALL} tmpfs "$0" && echo mounted && exec sleep 600'
        try:
            self.holder = subprocess.Popen(
                ["unshare", *as_root, "--mount", "sh", "-c", mount, path],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        except FileNotFoundError:
            pytest.skip("no unshare here to mount a small disk with")
        if self.holder.stdout.readline() != "mounted\n":
            pytest.skip(f"cannot mount a small disk: {self.holder.communicate()[1].strip()}")
        self.enter = ["nsenter", "--target", str(self.holder.pid), "--mount", "--root"]  # of a chroot, too
        if as_root:
            self.enter += ["--user", "--preserve-credentials"]
        self.outside = os.path.join(f"/proc/{self.holder.pid}/root", str(path).lstrip("/"))

    def grow(self, size=LARGE):
        subprocess.run([*self.enter, "mount", "-o", f"remount,size={size}", self.path], check=True)

    def names(self):
        return sorted(os.listdir(self.outside))

    def close(self):
        self.holder.kill()
        self.holder.communicate()


@pytest.fixture
def disk(tmp_path):
    (tmp_path / "disk").mkdir()
    disk = Disk(tmp_path / "disk")
    yield disk
    disk.close()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """8 MB of images."""
    return make_source(tmp_path_factory.mktemp("source") / "source", 900)


def check_says_full(result, place):
    assert result.err.count("error: ") == 1 and "No space left on device" in result.err, result
    assert f"where: {place}" in result.err and "next:  free some space" in result.err, result


@pytest.mark.parametrize(
    ("form", "samples"), [("wds", SHARD), *[pytest.param(form, 1000, marks=thorough) for form in FORMATS]]
)
def test_packing_to_a_full_disk_publishes_nothing_and_goes_on_with_room(disk, source, tmp_path, form, samples):
    out = disk.path / "out"
    options = ("--format", form, "--shard-samples", str(samples), "--no-space-check")
    result = refused("pack", source, out, *options, code=FAILED, prefix=disk.enter)
    check_says_full(result, out)
    assert disk.names() == ["out.partial"]
    refused("inspect", out, prefix=disk.enter)
    refused("inspect", f"{out}.partial", prefix=disk.enter)
    disk.grow()
    report = packhorse("pack", source, out, *options, "--json", prefix=disk.enter).json
    assert (report["shards_kept"] > 0) == (samples == SHARD)
    pack(source, tmp_path / "undisturbed", *options)
    assert tree(os.path.join(disk.outside, "out")) == tree(tmp_path / "undisturbed")
    assert disk.names() == ["out"]


def test_what_cannot_fit_is_refused_with_figures_before_any_work(disk, source):
    result = refused("pack", source, disk.path / "out", "--format", "wds", code=FAILED, prefix=disk.enter)
    figures = re.search(r"may need ([\d.]+) MiB more on this disk, but only ([\d.]+) MiB is free", result.err)
    assert figures and float(figures[1]) > 7 and float(figures[2]) <= 3, result
    assert [p for p in Path(disk.outside, "out.partial").rglob("shard*")] == []
    disk.grow()
    packhorse("pack", source, disk.path / "out", "--format", "wds", prefix=disk.enter)


@thorough
@pytest.mark.parametrize("form", FORMATS)
def test_a_shard_that_fails_does_not_cut_those_in_the_making_beside_it(disk, source, tmp_path, form):
    out = disk.path / "out"
    options = ("--format", form, "--shard-samples", str(SHARD), "--no-shuffle", "--jobs", "4", "--no-space-check")
    for size in ("3m", "5m", "7m"):
        disk.grow(size)
        refused("pack", source, out, *options, code=FAILED, prefix=disk.enter)
        for receipt in Path(disk.outside, "out.partial/receipts").iterdir():
            assert json.loads(receipt.read_text())["samples"] == SHARD, receipt.name
    disk.grow()
    packhorse("pack", source, out, *options, prefix=disk.enter)
    pack(source, tmp_path / "undisturbed", *options)
    assert tree(os.path.join(disk.outside, "out")) == tree(tmp_path / "undisturbed")


@thorough
@pytest.mark.parametrize("form", FORMATS)
def test_packing_splits_to_a_disk_that_fills_up_at_the_very_end(disk, tmp_path, form):
    """The room shrinks step by step, so that each kind of file is once the one that does not fit."""
    options = ("--format", form, "--shard-samples", "40", "--no-space-check")
    pack(SHAPES, tmp_path / "undisturbed", *options)
    whole = tree(tmp_path / "undisturbed")
    size = sum(p.stat().st_size for p in (tmp_path / "undisturbed").rglob("*") if p.is_file())
    failed = 0
    for missing in range(0, 160, 15):
        free = 3 * 2**20 - (size + 40 * 4096) + missing * 4096
        Path(disk.outside, "ballast").write_bytes(bytes(free))
        result = run("pack", SHAPES, disk.path / "out", *options, prefix=disk.enter)
        if result.code == 0:
            assert tree(os.path.join(disk.outside, "out")) == whole
        else:
            failed += 1
            assert result.code == FAILED and "No space left" in result.err, result
            assert disk.names() == ["ballast", "out.partial"]
        for name in disk.names():
            path = os.path.join(disk.outside, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    assert failed > 0


def test_unpacking_to_a_full_disk_leaves_nothing(disk, source, tmp_path):
    pack(source, tmp_path / "packed", "--format", "wds")
    result = refused("unpack", tmp_path / "packed", disk.path / "folder", code=FAILED, prefix=disk.enter)
    check_says_full(result, disk.path / "folder")
    assert disk.names() == []
    disk.grow()
    packhorse("unpack", tmp_path / "packed", disk.path / "folder", prefix=disk.enter)
    assert tree(os.path.join(disk.outside, "folder")) == tree(source)


def to_full_output(*args):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PACKHORSE, *args], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == FAILED and "cannot write to standard output" in done.stderr, done


def test_output_that_does_not_fit_is_no_success(tmp_path):
    out = tmp_path / "out"
    to_full_output("pack", SHAPES / "val", out, "--format", "wds")
    packhorse("inspect", out, "--verify", "full")  # it was published all the same
    for options in ((), ("--json",), ("--list",), ("--show", "0", "-o", "-"), ("--verify", "full")):
        to_full_output("inspect", out, *options)
    to_full_output("bench", out, "--work", "read", "--repeats", "1", "--min-seconds", "0")


@thorough
def test_no_room_for_what_is_unpacked_from_an_archive(disk, source, tmp_path):
    """The temporary file has no name, so its space on the small disk is free again afterwards."""
    archive = shutil.make_archive(tmp_path / "archive", "gztar", source)
    result = refused("pack", archive, disk.path / "out", "--format", "wds", code=FAILED, prefix=disk.enter)
    for words in ("no space left for the temporary file", f"where: {disk.path}", "next:  it must hold all images"):
        assert words in result.err, result
    assert disk.names() == []
    disk.grow()
    packhorse("pack", archive, disk.path / "out", "--format", "wds", prefix=disk.enter)
    pack(source, tmp_path / "undisturbed", "--format", "wds")
    assert tree(os.path.join(disk.outside, "out")) == tree(tmp_path / "undisturbed")
