"""Files that change while they are being packed are named and counted, and never go missing silently."""

import json
import os
import shutil
import signal
import time

import pytest
from python_support import (
    DAMAGE,
    DONE,
    FAILED,
    FORMATS,
    finish,
    listed,
    make_source,
    pack,
    packhorse,
    run,
    staging,
    start,
    tree,
)

IMAGES, SHARDS = 600, 24
LATE = "class-3/000599.jpg"  # last in the order of paths


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return make_source(tmp_path_factory.mktemp("source") / "source", IMAGES)


def pack_while(change, source, out, *options):
    """Packs, and calls `change` while the packer is halted between its first and its last shard."""
    for _ in range(20):
        process = start(
            "pack",
            source,
            out,
            "--no-shuffle",
            "--shard-samples",
            str(IMAGES // SHARDS),
            "--jobs",
            "1",
            "--json",
            *options,
        )
        receipts = staging(out) / "receipts"
        while process.poll() is None and not (receipts.is_dir() and any(receipts.glob("*.json"))):
            time.sleep(0.0005)
        process.send_signal(signal.SIGSTOP)
        late = process.poll() is not None or len(list(receipts.glob("*.json"))) > SHARDS // 2
        if not late:
            change()
        process.send_signal(signal.SIGCONT)
        result = finish(process)
        if not late:
            return result
    return pytest.fail("the packer was always done before it could be disturbed")


def vanish(source):
    (source / LATE).unlink()


def shrink(source):
    os.truncate(source / LATE, 100)


def grow(source):
    with open(source / LATE, "ab") as file:
        file.write(b"more")


CHANGES = {vanish: "No such file", shrink: "changed its size", grow: "changed its size"}


@pytest.fixture(params=CHANGES, ids=lambda change: change.__name__)
def disturbed(request, source, tmp_path):
    """A copy of the source, a function that changes it, and the expected reason."""
    copy = tmp_path / "source"
    shutil.copytree(source, copy, copy_function=os.link)
    late = (copy / LATE).read_bytes()
    (copy / LATE).unlink()
    (copy / LATE).write_bytes(late)  # not a link, because it is changed
    return copy, lambda: request.param(copy), CHANGES[request.param]


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_that_changes_while_packing_is_named_and_nothing_is_published(disturbed, tmp_path, form):
    source, change, reason = disturbed
    out = tmp_path / "out"
    result = pack_while(change, source, out, "--format", form)
    assert result.code == DAMAGE and not out.exists(), result
    assert f"rejected: {LATE}: " in result.err and reason in result.err and "next: " in result.err
    report = result.json
    assert (report["seen"], report["packed"], report["rejected"], report["published"]) == (
        IMAGES,
        IMAGES - 1,
        1,
        False,
    )
    for command in ("inspect", "bench"):
        assert run(command, out).code == run(command, staging(out)).code == FAILED


def test_within_the_limit_it_is_published_and_listed(disturbed, tmp_path):
    source, change, reason = disturbed
    out = tmp_path / "out"
    result = pack_while(change, source, out, "--format", "wds", "--max-rejects", "1")
    assert result.code == DONE, result
    report = result.json
    assert report["published"] and (report["seen"], report["packed"], report["rejected"]) == (
        IMAGES,
        IMAGES - 1,
        1,
    )
    (line,) = [json.loads(line) for line in (out / "rejects.jsonl").read_text().splitlines()]
    assert line["path"] == LATE and reason in line["reason"]
    assert LATE not in [sample["path"] for sample in listed(out)]
    assert packhorse("inspect", out, "--json").json["samples"] == IMAGES - 1
    packhorse("inspect", out, "--verify", "full")


def test_the_next_run_packs_what_is_there_then(disturbed, tmp_path):
    source, change, _ = disturbed
    command = ("--format", "wds", "--no-shuffle", "--shard-samples", str(IMAGES // SHARDS))
    assert pack_while(change, source, tmp_path / "out", "--format", "wds").code == DAMAGE
    (source / LATE).write_bytes((source / "class-0/000000.jpg").read_bytes())
    assert pack(source, tmp_path / "out", *command)["shards_kept"] == SHARDS - 1
    pack(source, tmp_path / "fresh", *command)
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")


def test_a_class_folder_that_vanishes_is_many_rejects(source, tmp_path):
    copy = tmp_path / "source"
    shutil.copytree(source, copy, copy_function=os.link)
    result = pack_while(
        lambda: (copy / "class-3").rename(tmp_path / "gone"), copy, tmp_path / "out", "--format", "lmdb"
    )
    assert result.code == DAMAGE and not (tmp_path / "out").exists(), result
    assert result.json["rejected"] == IMAGES // 4 and result.json["packed"] == IMAGES - IMAGES // 4
    assert (
        f"rejected: {LATE}" not in result.err and "more\n" in result.err
    )  # the first 50 are shown, all are in the file
    assert LATE in (staging(tmp_path / "out") / "rejects.jsonl").read_text()
