"""Files that change while they are being packed are named and counted, and never go missing silently."""

import json
import os
import shutil
import signal
import subprocess

import pytest
from fault_loop import PRELOAD, Fault, counts_in, halted
from python_support import (
    DAMAGE,
    DONE,
    FAILED,
    PACKHORSE,
    finish,
    listed,
    make_source,
    pack,
    packhorse,
    run,
    staging,
    tree,
)

IMAGES, SHARDS = 72, 12
OPTIONS = ("--no-shuffle", "--shard-samples", str(IMAGES // SHARDS))
LATE = "class-3/000071.jpg"  # last in the order of paths


@pytest.fixture
def source(tmp_path):
    return make_source(tmp_path / "source", IMAGES)


def pack_while(change, source, out, *options):
    """Packs, and calls `change` while the packer is halted between its first and its last shard."""
    process = halted((PACKHORSE, "pack", source, out, *OPTIONS, "--jobs", "1", "--json", *options), out, "rename", 8)
    assert 1 <= len(list((staging(out) / "receipts").glob("*.json"))) < SHARDS // 2
    change(source)
    process.send_signal(signal.SIGCONT)
    return finish(process)


def vanish(source):
    (source / LATE).unlink()


def shrink(source):
    os.truncate(source / LATE, 100)


def grow(source):
    with open(source / LATE, "ab") as file:
        file.write(b"more")


def numbers(report):
    return [report[name] for name in ("seen", "packed", "rejected", "published")]


@pytest.mark.parametrize(
    ("form", "change", "reason"),
    [("wds", vanish, "No such file"), ("lmdb", shrink, "changed its size"), ("hdf5", grow, "changed its size")],
)
def test_a_file_that_changes_while_packing_is_named_and_nothing_is_published(source, tmp_path, form, change, reason):
    out = tmp_path / "out"
    result = pack_while(change, source, out, "--format", form)
    assert result.code == DAMAGE and not out.exists(), result
    assert f"rejected: {LATE}: " in result.err and reason in result.err and "next: " in result.err
    assert numbers(result.json) == [IMAGES, IMAGES - 1, 1, False]
    assert run("inspect", out).code == run("inspect", staging(out)).code == FAILED
    # The next run packs what is there then.
    shutil.copyfile(source / "class-0/000000.jpg", source / LATE)
    assert pack(source, out, "--format", form, *OPTIONS)["shards_kept"] == SHARDS - 1
    pack(source, tmp_path / "fresh", "--format", form, *OPTIONS)
    assert tree(out) == tree(tmp_path / "fresh")


def test_within_the_limit_it_is_published_and_listed(source, tmp_path):
    out = tmp_path / "out"
    result = pack_while(vanish, source, out, "--format", "wds", "--max-rejects", "1")
    assert result.code == DONE and numbers(result.json) == [IMAGES, IMAGES - 1, 1, True], result
    (line,) = [json.loads(line) for line in (out / "rejects.jsonl").read_text().splitlines()]
    assert line["path"] == LATE and "No such file" in line["reason"]
    stored = [sample["path"] for sample in listed(out)]
    assert len(stored) == IMAGES - 1 and LATE not in stored
    packhorse("inspect", out, "--verify", "full")


def test_a_class_folder_that_vanishes_is_many_rejects(source, tmp_path):
    """The first are shown; all are in the file."""
    out = tmp_path / "out"

    def remove(source):
        (source / "class-3").rename(tmp_path / "gone")

    result = pack_while(remove, source, out, "--format", "lmdb")
    assert result.code == DAMAGE and not out.exists(), result
    assert numbers(result.json) == [IMAGES, IMAGES * 3 // 4, IMAGES // 4, False]
    assert f"rejected: {LATE}" not in result.err and "more\n" in result.err
    assert LATE in (staging(out) / "rejects.jsonl").read_text()


def test_a_copy_that_cannot_be_read_again_is_a_finding(source):
    """check looks at every file, and then at those again that look identical."""
    copy = source / "class-3/copy.jpg"
    shutil.copyfile(source / LATE, copy)
    command = ["check", source, "--decode", "all", "--jobs", "1", "--json", "--select", "PH1,PH5"]
    assert [one["code"] for one in run(*command).json["findings"]] == ["PH506"]
    preload = os.environ | {"LD_PRELOAD": str(PRELOAD), "FAULT_ROOT": str(source)}
    opened = source.parent / "counts"
    subprocess.run([PACKHORSE, *map(str, command)], env=preload | {"FAULT_COUNT": str(opened)}, capture_output=True, check=True)
    next_to_last = Fault("open", counts_in(opened)["open"] - 1, "EIO", False)
    done = subprocess.run([PACKHORSE, *map(str, command)], env=preload | next_to_last.environment(), capture_output=True, check=False)
    assert done.returncode == DAMAGE and done.stderr == b"", done
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["code"] == "PH108" and finding["examples"][0]["path"] in (LATE, "class-3/copy.jpg"), finding
