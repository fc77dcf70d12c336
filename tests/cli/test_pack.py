"""`packhorse pack` from outside: exit code, empty stderr, output, and the files on disk afterwards."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from python_support import (
    BROKEN,
    DAMAGE,
    DONE,
    FAILED,
    FORMATS,
    PACKHORSE,
    SHAPES,
    USAGE,
    balanced,
    files_of,
    listed,
    make_source,
    pack,
    packhorse,
    paths,
    refused,
    run,
    run_closed,
    run_unprivileged,
    staging,
    tree,
)

VERDICTS = {
    "bad/bomb.png": "too large: 60000 x 60000 pixels",
    "bad/damaged_header.jpg": "damaged header",
    "bad/huge.bmp": "truncated",
    "bad/text.jpg": "not an image",
    "bad/truncated.jpg": "truncated: no end-of-image marker",
    "bad/truncated.png": "truncated: no IEND chunk",
    "bad/truncated.webp": "truncated",
    "bad/zero_byte.jpg": "empty file",
}


def masked(text):
    """The text without the parts that differ between versions of the libraries and between machines."""
    text = re.sub(r"\bid [0-9a-f]{12}\b", "id ID", text)
    text = re.sub(r"[\d.]+ (B|KiB|MiB) out", "SIZE out", text)
    return re.sub(r"\d+\.\d\d s\b", "TIME", text)


def check_refused(result, out, *words):
    """Checks for one message that says what failed, where, and what to do, and that nothing is published."""
    for word in (*words, "where: ", "next: "):
        assert word in result.err, result
    assert result.err.count("error: ") == 1, result
    assert not out.exists()


@pytest.mark.parametrize("form", FORMATS)
def test_samples_are_packed_with_the_known_words(tmp_path, form):
    result = packhorse("pack", SHAPES, "packed", "--format", form, cwd=tmp_path)
    assert masked(result.out) == (
        "seen 159 = packed 156 + rejected 0 + skipped 3\n"
        "  skipped 1: hidden (its name starts with a dot)\n"
        "  skipped 1: not an image, by name and first bytes\n"
        "  skipped 1: outside the split folders\n"
        "6 classes: balls ... wood\n"
        f"packed/train: 120 images, 6 classes, 1 {form} shard, id ID\n"
        f"packed/val: 36 images, 6 classes, 1 {form} shard, id ID\n"
        "1.3 MiB in, SIZE out, TIME\n"
    )
    assert sorted(os.listdir(tmp_path)) == ["packed"]


def test_json_is_one_object_with_the_documented_fields(tmp_path):
    report = pack(SHAPES, tmp_path / "out", "--format", "wds")
    for field in ("seen", "packed", "rejected", "skipped", "bytes_in", "bytes_out", "shards"):
        assert type(report[field]) is int, field
    assert report["seconds"] > 0 and re.fullmatch("[0-9a-f]{64}", report["id"])
    assert (report["seen"], report["packed"], report["shards"]) == (159, 156, 2) and balanced(report)
    assert report["bytes_in"] == sum(
        s["bytes"] for split in ("train", "val") for s in listed(tmp_path / "out" / split)
    )
    assert report["bytes_out"] == sum(p.stat().st_size for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert report["published"] is True


def test_what_is_published_is_what_the_formats_page_lists(tmp_path):
    pack(SHAPES, tmp_path / "out", "--format", "lmdb")
    assert sorted(os.listdir(tmp_path / "out")) == ["train", "val"]
    assert files_of(tmp_path / "out/val") == [
        "SHA256SUMS",
        "classes.txt",
        "dataset.json",
        "shard-000000.index",
        "shard-000000.lmdb/data.mdb",
    ]


def test_published_files_hold_no_time_host_or_absolute_path(tmp_path):
    pack(SHAPES, tmp_path / "out", "--format", "wds")
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert str(tmp_path).encode() not in content and str(SHAPES).encode() not in content
            assert os.uname().nodename.encode() not in content or len(os.uname().nodename) < 5


@pytest.mark.parametrize("form", FORMATS)
def test_each_broken_file_is_rejected_with_its_reason(tmp_path, form):
    out = tmp_path / "out"
    result = run("pack", BROKEN, out, "--format", form, "--json")
    assert result.code == DAMAGE and not out.exists(), result
    assert balanced(result.json) and result.json["packed"] == 1 and result.json["published"] is False
    reasons = {reject["path"]: reject["reason"] for reject in result.json["rejects"]}
    assert sorted(reasons) == sorted(VERDICTS)
    for path, verdict in VERDICTS.items():
        assert reasons[path].startswith(verdict)
        assert f"rejected: {path}: {verdict}" in result.err
    check_refused(
        result, out, "8 of 9 inputs were rejected, 0 allowed: nothing was published", "--max-rejects"
    )


@pytest.mark.parametrize("limit", ["8", "100%", "88.9%"])
def test_rejects_within_the_limit_are_published_and_listed(tmp_path, limit):
    out = tmp_path / "out"
    result = run("pack", BROKEN, out, "--format", "wds", "--max-rejects", limit, "--json")
    assert result.code == DONE and balanced(result.json), result
    lines = (out / "rejects.jsonl").read_text().splitlines()
    assert len(lines) == 8
    for line, path in zip(lines, sorted(VERDICTS)):
        assert line.startswith(f'{{"path":"{path}","reason":"{VERDICTS[path]}')
    assert packhorse("inspect", out, "--verify", "full").out.startswith("ok: ")


@pytest.mark.parametrize("limit", ["7", "88%", "0%"])
def test_one_reject_beyond_the_limit_publishes_nothing(tmp_path, limit):
    result = run("pack", BROKEN, tmp_path / "out", "--format", "wds", "--max-rejects", limit)
    assert result.code == DAMAGE and not (tmp_path / "out").exists(), result
    assert (staging(tmp_path / "out") / "rejects.jsonl").read_text().count("\n") == 8


def test_after_mending_the_files_the_same_command_publishes(tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    make_source(source, 30)
    bad = source / "class-1/000012.jpg"
    good = bad.read_bytes()
    bad.write_bytes(good[:100])
    command = ("--format", "wds", "--shard-samples", "5", "--no-shuffle")
    assert run("pack", source, out, *command).code == DAMAGE
    bad.write_bytes(good)
    assert pack(source, out, *command)["shards_kept"] == 5
    pack(source, tmp_path / "undisturbed", *command)
    assert tree(out) == tree(tmp_path / "undisturbed")
    assert not staging(out).exists()


def test_only_bad_images_are_no_dataset_whatever_the_limit(tmp_path):
    (tmp_path / "source/a").mkdir(parents=True)
    (tmp_path / "source/a/x.jpg").write_bytes(b"")
    result = run("pack", tmp_path / "source", tmp_path / "out", "--format", "wds", "--allow-odd-classes", "--max-rejects", "100%")
    assert result.code == DAMAGE and not (tmp_path / "out").exists(), result


def test_dry_run_writes_nothing(tmp_path):
    result = packhorse(
        "pack", SHAPES, "out", "--format", "hdf5", "--shard-samples", "10", "--dry-run", cwd=tmp_path
    )
    assert re.search(r"would pack them into 16 shards, of \S+ MiB at most; nothing was written\n$", result.out)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("form", FORMATS)
def test_any_number_of_jobs_gives_the_same_bytes(tmp_path, form):
    source = make_source(tmp_path / "source", 200)
    trees = []
    for jobs in ("1", "2", "7"):
        for shards in (("--shard-samples", "30"), ()):
            out = tmp_path / f"{jobs}{len(shards)}"
            pack(source, out, "--format", form, "--jobs", jobs, *shards)
            trees.append(tree(out))
    assert trees[0] == trees[2] == trees[4]
    assert trees[1] == trees[3] == trees[5]


def test_shard_samples_fills_every_shard_but_the_last(tmp_path):
    pack(make_source(tmp_path / "source", 25), tmp_path / "out", "--format", "wds", "--shard-samples", "10")
    shards = packhorse("inspect", tmp_path / "out", "--json").json["shards"]
    assert [shard["samples"] for shard in shards] == [10, 10, 5]
    assert [shard["file"] for shard in shards] == ["shard-000000.tar", "shard-000001.tar", "shard-000002.tar"]


def test_shard_bytes_makes_shards_of_about_equal_size(tmp_path):
    report = pack(
        make_source(tmp_path / "source", 200), tmp_path / "out", "--format", "hdf5", "--shard-bytes", "128KiB"
    )
    sizes = [shard["bytes"] for shard in packhorse("inspect", tmp_path / "out", "--json").json["shards"]]
    assert len(sizes) == -(-report["bytes_in"] // (128 << 10))
    assert max(sizes) < 1.5 * min(sizes)


@pytest.mark.parametrize("form", FORMATS)
def test_one_shard_of_any_size_for_each_split(tmp_path, form):
    """The target size is left out of the plan, of what `inspect` says, and when a shard is made again."""
    source = make_source(tmp_path / "source", 40)
    several = pack(source, tmp_path / "several", "--format", form, "--shard-bytes", "16KiB")
    assert several["shards"] > 1
    assert pack(source, tmp_path / "one", "--format", form, "--shard-bytes", "none")["shards"] == 1
    assert "--shard-bytes none" in packhorse("inspect", tmp_path / "one").out
    assert paths(tmp_path / "one") == paths(tmp_path / "several")
    whole = tree(tmp_path / "one")
    (shard,) = [name for name in files_of(tmp_path / "one") if name.endswith((".tar", ".mdb", ".h5"))]
    (tmp_path / "one" / shard).unlink()
    packhorse("repair", tmp_path / "one", source)
    assert tree(tmp_path / "one") == whole


@pytest.mark.parametrize("size", ["0", "-1", "x", "1XB", "", "None"])
def test_a_senseless_shard_size_is_a_usage_error(tmp_path, size):
    refused("pack", SHAPES, tmp_path / "out", "--format", "wds", f"--shard-bytes={size}", code=USAGE)
    assert os.listdir(tmp_path) == []


def test_without_shuffle_the_order_is_that_of_the_paths(tmp_path):
    source = make_source(tmp_path / "source", 40)
    pack(source, tmp_path / "out", "--format", "wds", "--no-shuffle")
    paths = [sample["path"] for sample in listed(tmp_path / "out")]
    assert paths == sorted(str(p.relative_to(source)) for p in source.rglob("*.jpg"))


def test_the_seed_decides_the_order_and_each_sample_is_packed_once(tmp_path):
    source = make_source(tmp_path / "source", 40)
    orders = []
    for name, seed in (("a", "0"), ("b", "1"), ("c", "1")):
        pack(source, tmp_path / name, "--format", "wds", "--seed", seed)
        orders.append([sample["path"] for sample in listed(tmp_path / name)])
    assert orders[0] != orders[1] and orders[1] == orders[2]
    assert sorted(orders[0]) == sorted(orders[1]) and len(set(orders[0])) == 40
    assert orders[0] != sorted(orders[0])


def test_a_class_list_pins_the_labels(tmp_path):
    source = make_source(tmp_path / "source", 12, classes=3)
    (tmp_path / "classes").write_text("unseen\nclass-2\nclass-0\nclass-1\n")
    pack(source, tmp_path / "out", "--format", "lmdb", "--classes", tmp_path / "classes")
    labels = {sample["class"]: sample["label"] for sample in listed(tmp_path / "out")}
    assert labels == {"class-2": 1, "class-0": 2, "class-1": 3}
    assert (tmp_path / "out/classes.txt").read_text() == "unseen\nclass-2\nclass-0\nclass-1\n"


def test_a_class_the_list_does_not_name_is_refused(tmp_path):
    source = make_source(tmp_path / "source", 12, classes=3)
    (tmp_path / "classes").write_text("class-0\nclass-1\n")
    result = refused(
        "pack", source, tmp_path / "out", "--format", "wds", "--classes", tmp_path / "classes", code=USAGE
    )
    check_refused(result, tmp_path / "out", "class-2")


def test_an_existing_target_is_left_alone(tmp_path):
    out = tmp_path / "out"
    pack(SHAPES, out, "--format", "wds")
    before = tree(out)
    result = refused("pack", SHAPES, out, "--format", "lmdb")
    assert "already exists" in result.err and str(out) in result.err and "--overwrite" in result.err
    assert tree(out) == before and not staging(out).exists()


@pytest.mark.parametrize("first,then", [("wds", "lmdb"), ("lmdb", "hdf5"), ("hdf5", "wds"), ("wds", "wds")])
def test_overwrite_replaces_a_dataset_by_another(tmp_path, first, then):
    pack(make_source(tmp_path / "old", 9), tmp_path / "out", "--format", first, "--shard-samples", "2")
    source = make_source(tmp_path / "new", 12)
    pack(source, tmp_path / "out", "--format", then, "--overwrite")
    pack(source, tmp_path / "fresh", "--format", then)
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")
    assert not staging(tmp_path / "out").exists()


def test_overwrite_replaces_nothing_but_a_dataset(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.txt").write_text("years of work")
    result = refused("pack", SHAPES, tmp_path / "out", "--format", "wds", "--overwrite")
    assert "not a packed dataset" in result.err and "next: " in result.err
    assert (tmp_path / "out/thesis.txt").read_text() == "years of work"


def test_rejects_with_overwrite_leave_the_old_dataset(tmp_path):
    pack(SHAPES, tmp_path / "out", "--format", "wds")
    before = tree(tmp_path / "out")
    assert run("pack", BROKEN, tmp_path / "out", "--format", "wds", "--overwrite").code == DAMAGE
    assert tree(tmp_path / "out") == before


def test_a_refused_run_in_another_format_leaves_nothing_behind(tmp_path):
    assert run("pack", BROKEN, tmp_path / "out", "--format", "lmdb").code == DAMAGE
    assert run("pack", BROKEN, tmp_path / "out", "--format", "wds", "--max-rejects", "8").code == DONE
    assert run("pack", BROKEN, tmp_path / "fresh", "--format", "wds", "--max-rejects", "8").code == DONE
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")


def test_a_refused_run_with_splits_leaves_nothing_behind(tmp_path):
    shutil.copytree(BROKEN, tmp_path / "source/train")
    assert run("pack", tmp_path / "source", tmp_path / "out", "--format", "wds").code == DAMAGE
    pack(make_source(tmp_path / "other", 8), tmp_path / "out", "--format", "wds")
    pack(tmp_path / "other", tmp_path / "fresh", "--format", "wds")
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")


def test_a_missing_source_is_named(tmp_path):
    result = refused("pack", tmp_path / "nowhere", tmp_path / "out", "--format", "wds")
    check_refused(result, tmp_path / "out", "does not exist", str(tmp_path / "nowhere"))


@pytest.mark.parametrize("content", ["nothing", "empty class", "text only"])
def test_a_source_without_images_is_refused(tmp_path, content):
    source = tmp_path / "source"
    source.mkdir()
    if content != "nothing":
        (source / "class").mkdir()
    if content == "text only":
        (source / "class/notes.txt").write_text("no image")
    result = refused("pack", source, tmp_path / "out", "--format", "wds")
    check_refused(result, tmp_path / "out", "no images", str(source), "SOURCE/<class>/<image>")
    assert sorted(os.listdir(tmp_path)) == ["source"]


def test_a_target_below_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = refused("pack", SHAPES, tmp_path / "file/out", "--format", "wds")
    for word in ("cannot create", "Not a directory", f"where: {tmp_path / 'file'}", "next: "):
        assert word in result.err, result


def test_a_target_in_a_read_only_folder_cannot_be_written():
    with tempfile.TemporaryDirectory() as scratch:
        closed = Path(scratch) / "closed"
        closed.mkdir()
        os.chmod(scratch, 0o755)
        os.chmod(closed, 0o555)
        result = run_unprivileged("pack", SHAPES, closed / "out", "--format", "wds", cwd=scratch)
        if str(SHAPES) in result.err:
            pytest.skip("another user cannot read the samples from here")
        assert result.code == FAILED and "Permission denied" in result.err and str(closed) in result.err
        assert "next: " in result.err and os.listdir(closed) == []


def test_a_dataset_that_cannot_be_looked_into_is_not_called_another_thing():
    args = ("pack", SHAPES, "source", "--format", "wds", "--overwrite")
    result = run_closed(lambda root: pack(SHAPES, root, "--format", "wds"), "val", *args)
    if str(SHAPES) in result.err:
        pytest.skip("another user cannot read the samples from here")
    assert result.code == FAILED and "cannot tell whether this is a split" in result.err, result
    assert "where: source/val" in result.err and "not a packed dataset" not in result.err


def test_a_target_inside_the_source_is_refused(tmp_path):
    source = make_source(tmp_path / "source", 8)
    result = refused("pack", source, source / "packed", "--format", "wds", code=USAGE)
    check_refused(result, source / "packed", "inside the source")


def test_an_unknown_format_is_answered_with_the_known_ones(tmp_path):
    result = refused("pack", SHAPES, tmp_path / "out", "--format", "zip", code=USAGE)
    for word in ("'zip'", *FORMATS):
        assert word in result.err, result
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "option",
    [
        ("--image", "nonsense"),
        ("--max-rejects", "-1"),
        ("--max-rejects", "101%"),
        ("--jobs", "-1"),
        ("--no-such-option",),
        ("--seed", "1", "--no-shuffle"),
        ("--shard-samples", "5", "--shard-bytes", "1MiB"),
    ],
)
def test_senseless_options_are_usage_errors(tmp_path, option):
    refused("pack", SHAPES, tmp_path / "out", "--format", "wds", *option, code=USAGE)
    assert os.listdir(tmp_path) == []


def test_the_program_alone_is_a_usage_error():
    assert "--help" in refused(code=USAGE).err


def test_an_unknown_subcommand_is_a_usage_error():
    refused("pak", code=USAGE)


@pytest.mark.parametrize("command", ["pack", "inspect", "unpack", "bench"])
def test_the_help_of_each_subcommand_has_an_example(command):
    assert f":\n  packhorse {command} " in packhorse(command, "--help").out


def test_the_help_names_every_subcommand_and_format():
    text = packhorse("--help").out + packhorse("pack", "--help").out
    for word in ("pack", "inspect", "unpack", "bench", *FORMATS):
        assert re.search(rf"\b{word}\b", text), word


def test_the_version_lists_the_libraries():
    lines = packhorse("--version").out.splitlines()
    assert re.fullmatch(r"packhorse \d+\.\d+\.\d+", lines[0])
    names = [line.split()[0] for line in lines[1:]]
    for library in ("wds", "lmdb", "hdf5", "openssl", "tbb", "xxhash", "libjpeg-turbo"):
        assert library in names
    assert all(re.search(r"\d", line) for line in lines)


def test_a_full_stdout_is_no_success():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PACKHORSE, "--version"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == FAILED and b"cannot write to standard output" in done.stderr
