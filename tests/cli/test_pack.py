"""`packhorse pack` from outside: exit code, empty stderr, output, and the files on disk afterwards."""

import itertools
import os
import re
import shutil
import struct
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
    ROOT,
    SHAPES,
    USAGE,
    balanced,
    files_of,
    listed,
    make_source,
    pack,
    packhorse,
    paths,
    photo,
    put,
    refused,
    rejects_of,
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
    assert os.listdir(tmp_path) == ["packed"]


def test_json_is_one_object_with_the_documented_fields(tmp_path):
    out = tmp_path / "out"
    report = pack(SHAPES, out, "--format", "wds")
    for field in ("seen", "packed", "rejected", "skipped", "bytes_in", "bytes_out", "shards"):
        assert type(report[field]) is int, field
    assert report["seconds"] > 0 and re.fullmatch("[0-9a-f]{64}", report["id"])
    assert (report["seen"], report["packed"], report["shards"]) == (159, 156, 2) and balanced(report)
    assert report["bytes_in"] == sum(s["bytes"] for split in ("train", "val") for s in listed(out / split))
    assert report["bytes_out"] == sum((out / name).stat().st_size for name in files_of(out))
    assert report["published"] is True


def test_what_is_published_is_what_the_formats_page_lists(packed_shapes):
    files = ["SHA256SUMS", "classes.txt", "dataset.json", "shard-000000.index", "shard-000000.lmdb/data.mdb"]
    assert files_of(packed_shapes("lmdb")) == [f"{split}/{name}" for split in ("train", "val") for name in files]


def test_published_files_hold_no_time_host_or_absolute_path(packed_shapes):
    out = packed_shapes("wds")
    for name in files_of(out):
        content = (out / name).read_bytes()
        assert str(out.parent).encode() not in content and str(SHAPES).encode() not in content
        assert os.uname().nodename.encode() not in content or len(os.uname().nodename) < 5


def test_each_broken_file_is_rejected_with_its_reason(tmp_path):
    out = tmp_path / "out"
    result = run("pack", BROKEN, out, "--format", "wds", "--json")
    assert result.code == DAMAGE and not out.exists(), result
    assert balanced(result.json) and result.json["packed"] == 1 and result.json["published"] is False
    reasons = rejects_of(result.json)
    assert sorted(reasons) == sorted(VERDICTS)
    for path, verdict in VERDICTS.items():
        assert reasons[path].startswith(verdict)
        assert f"rejected: {path}: {verdict}" in result.err
    check_refused(result, out, "8 of 9 inputs were rejected, 0 allowed: nothing was published", "--max-rejects")


@pytest.mark.parametrize(("within", "beyond"), [("8", "7"), ("88.9%", "88%")])
def test_rejects_within_the_limit_are_published_and_listed_and_those_beyond_are_not(tmp_path, within, beyond):
    out = tmp_path / "out"
    result = run("pack", BROKEN, out, "--format", "wds", "--max-rejects", beyond)
    assert result.code == DAMAGE and not out.exists(), result
    assert (staging(out) / "rejects.jsonl").read_text().count("\n") == 8
    result = run("pack", BROKEN, out, "--format", "wds", "--max-rejects", within, "--json")
    assert result.code == DONE and balanced(result.json), result
    lines = (out / "rejects.jsonl").read_text().splitlines()
    assert len(lines) == 8
    for line, path in zip(lines, sorted(VERDICTS)):
        assert line.startswith(f'{{"path":"{path}","reason":"{VERDICTS[path]}')
    assert packhorse("inspect", out, "--verify", "full").out.startswith("ok: ")


def test_without_shuffle_samples_are_in_the_order_of_their_paths_and_fill_every_shard_but_the_last(tmp_path):
    source = make_source(tmp_path / "source", 25)
    pack(source, tmp_path / "out", "--format", "wds", "--no-shuffle", "--shard-samples", "10")
    shards = packhorse("inspect", tmp_path / "out", "--json").json["shards"]
    assert [(shard["file"], shard["samples"]) for shard in shards] == [
        ("shard-000000.tar", 10),
        ("shard-000001.tar", 10),
        ("shard-000002.tar", 5),
    ]
    assert paths(tmp_path / "out") == sorted(str(p.relative_to(source)) for p in source.rglob("*.jpg"))


def test_the_seed_decides_the_order_and_each_sample_is_packed_once(tmp_path):
    source = make_source(tmp_path / "source", 40)
    for name, seed in (("a", "0"), ("b", "1"), ("c", "1")):
        pack(source, tmp_path / name, "--format", "wds", "--seed", seed)
    a, b, c = (paths(tmp_path / name) for name in "abc")
    assert a != b == c and a != sorted(a)
    assert sorted(a) == sorted(b) and len(set(a)) == 40


def test_shards_of_a_single_image_each_are_noted(tmp_path):
    source = make_source(tmp_path / "source", 40)
    notes = pack(source, tmp_path / "small", "--format", "wds", "--shard-bytes", "256", "--dry-run")["notes"]
    assert any("40 images" in note and "of 256 bytes" in note and "40 shards" in note for note in notes)
    for i, usual in enumerate((("--shard-bytes", "16KiB"), ("--shard-samples", "1"), ())):
        assert pack(source, tmp_path / f"usual{i}", "--format", "wds", *usual)["notes"] == []


def tiff(bits, channels, form, photometric):
    """A TIFF of 16 x 16 pixels, all zero."""
    pixels = bytes(16 * 16 * bits * channels // 8)
    each = struct.pack(f"<{channels}H", *[bits] * channels), struct.pack(f"<{channels}H", *[form] * channels)
    at = [8 + len(pixels), 8 + len(pixels) + 2 * channels]
    entries = [(256, 4, 1, 16), (257, 4, 1, 16)]
    entries.append((258, 3, channels, at[0] if channels > 2 else int.from_bytes(each[0], "little")))
    entries += [(259, 4, 1, 1), (262, 4, 1, photometric), (273, 4, 1, 8), (277, 4, 1, channels), (278, 4, 1, 16)]
    entries.append((279, 4, 1, len(pixels)))
    entries.append((339, 3, channels, at[1] if channels > 2 else int.from_bytes(each[1], "little")))
    directory = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in entries) + bytes(4)
    return b"II*\0" + struct.pack("<I", at[1] + 2 * channels) + pixels + each[0] + each[1] + directory


def test_a_tiff_is_packed_if_and_only_if_it_can_be_decoded(tmp_path):
    """And so are JPEGs: of 12 bits, which nothing decodes, and with arithmetic coding, which libjpeg-turbo does."""
    source = tmp_path / "source"
    for bits, form, (channels, photometric) in itertools.product(
        (1, 2, 4, 8, 12, 16, 32, 64), (1, 2, 3, 4), ((1, 1), (3, 2), (4, 5), (5, 2))
    ):
        put(source / f"a/{bits}-{channels}-{form}.tif", tiff(bits, channels, form, photometric))
    twelve = bytearray(photo())
    frame = twelve.index(b"\xff\xc0")
    twelve[frame + 1 : frame + 5] = b"\xc1" + twelve[frame + 2 : frame + 4] + b"\x0c"
    put(source / "b/12.jpg", bytes(twelve))
    put(source / "b/8.jpg")
    more = ("--format", "wds", "--max-rejects", "999", "--json")
    by_header = run("pack", source, tmp_path / "out", *more).json
    packhorse("inspect", tmp_path / "out", "--verify", "full", "--decode")
    by_pixels = run("pack", source, tmp_path / "raw", *more, "--image", "raw", "--size", "16").json
    assert by_header["rejects"] == by_pixels["rejects"]
    assert all(one["reason"].startswith("unsupported: ") for one in by_header["rejects"])
    reasons = rejects_of(by_header)
    assert reasons["b/12.jpg"] == "unsupported: JPEG of 12 bits"
    assert reasons["a/32-1-3.tif"] == "unsupported: TIFF of floating-point numbers (--bands packs them as they are)"
    decoded = {f"a/{bits}-{channels}-1.tif" for bits in (1, 2, 4, 8, 12, 16) for channels in (1, 3, 4, 5)}
    assert {s["path"] for s in listed(tmp_path / "out")} == decoded | {"b/8.jpg"}


def test_one_shard_of_any_size_for_each_split(tmp_path):
    """The target size is left out of the plan, of what `inspect` says, and when a shard is made again."""
    source, one = make_source(tmp_path / "source", 40), tmp_path / "one"
    several = pack(source, tmp_path / "several", "--format", "hdf5", "--shard-bytes", "16KiB")
    assert several["shards"] == -(-several["bytes_in"] // (16 << 10)) > 1
    assert pack(source, one, "--format", "hdf5", "--shard-bytes", "none")["shards"] == 1
    assert "--shard-bytes none" in packhorse("inspect", one).out
    assert paths(one) == paths(tmp_path / "several")
    whole = tree(one)
    (one / "shard-000000.h5").unlink()
    packhorse("repair", one, source)
    assert tree(one) == whole


def test_a_class_list_pins_the_labels_and_has_to_name_each_class(tmp_path):
    source, classes = make_source(tmp_path / "source", 12, classes=3), tmp_path / "classes"
    classes.write_text("class-0\nclass-1\n")
    result = refused("pack", source, tmp_path / "out", "--format", "lmdb", "--classes", classes, code=USAGE)
    check_refused(result, tmp_path / "out", "class-2")
    classes.write_text("unseen\nclass-2\nclass-0\nclass-1\n")
    pack(source, tmp_path / "out", "--format", "lmdb", "--classes", classes)
    labels = {sample["class"]: sample["label"] for sample in listed(tmp_path / "out")}
    assert labels == {"class-2": 1, "class-0": 2, "class-1": 3}
    assert (tmp_path / "out/classes.txt").read_text() == classes.read_text()


def test_overwrite_alone_replaces_a_dataset_and_nothing_else(tmp_path):
    out, source = tmp_path / "out", make_source(tmp_path / "new", 12)
    pack(make_source(tmp_path / "old", 9), out, "--format", "wds", "--shard-samples", "2")
    before = tree(out)
    result = refused("pack", source, out, "--format", "lmdb")
    assert "already exists" in result.err and str(out) in result.err and "--overwrite" in result.err
    assert not staging(out).exists()
    assert run("pack", BROKEN, out, "--format", "wds", "--overwrite").code == DAMAGE
    assert tree(out) == before
    pack(source, out, "--format", "lmdb", "--overwrite")
    pack(source, tmp_path / "fresh", "--format", "lmdb")
    assert tree(out) == tree(tmp_path / "fresh") and not staging(out).exists()
    shutil.rmtree(out)
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    result = refused("pack", SHAPES, out, "--format", "wds", "--overwrite")
    assert "not a packed dataset" in result.err and "next: " in result.err
    assert (out / "thesis.txt").read_text() == "years of work"


def test_a_refused_run_with_splits_leaves_nothing_behind(tmp_path):
    shutil.copytree(BROKEN, tmp_path / "source/train")
    assert run("pack", tmp_path / "source", tmp_path / "out", "--format", "wds").code == DAMAGE
    pack(make_source(tmp_path / "other", 8), tmp_path / "out", "--format", "wds")
    pack(tmp_path / "other", tmp_path / "fresh", "--format", "wds")
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")


def test_a_source_that_is_missing_or_holds_no_images_is_refused(tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    result = refused("pack", source, out, "--format", "wds")
    check_refused(result, out, "does not exist", str(source))
    for add in (source.mkdir, (source / "class").mkdir, lambda: (source / "class/notes.txt").write_text("text")):
        add()
        result = refused("pack", source, out, "--format", "wds")
        check_refused(result, out, "no images", str(source), "SOURCE/<class>/<image>")
    (source / "class/x.jpg").write_bytes(b"")
    options = ("--format", "wds", "--allow-odd-classes", "--max-rejects", "100%")
    assert run("pack", source, out, *options).code == DAMAGE and not out.exists()


def test_a_target_that_cannot_be_written_is_named(tmp_path):
    source, file = make_source(tmp_path / "source", 8), tmp_path / "file"
    file.write_text("in the way")
    result = refused("pack", source, file / "out", "--format", "wds")
    for word in ("cannot create", "Not a directory", f"where: {file}", "next: "):
        assert word in result.err, result
    result = refused("pack", source, source / "packed", "--format", "wds", code=USAGE)
    check_refused(result, source / "packed", "inside the source")


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


def test_usage_errors_are_told_before_anything_is_done(tmp_path):
    result = refused("pack", SHAPES, tmp_path / "out", "--format", "zip", code=USAGE)
    for word in ("'zip'", *FORMATS):
        assert word in result.err, result
    for options in (
        ("--image", "nonsense"),
        ("--jobs", "-1"),
        ("--no-such-option",),
        ("--seed", "1", "--no-shuffle"),
        ("--shard-samples", "5", "--shard-bytes", "1MiB"),
    ):
        refused("pack", SHAPES, tmp_path / "out", "--format", "wds", *options, code=USAGE)
    assert "--help" in refused(code=USAGE).err
    refused("pak", code=USAGE)
    assert os.listdir(tmp_path) == []


def test_help_names_subcommands_and_formats_with_an_example_and_the_version_the_libraries():
    subcommands = ("pack", "inspect", "unpack", "bench")
    text = packhorse("--help").out
    for command in subcommands:
        assert f":\n  packhorse {command} " in packhorse(command, "--help").out
    text += packhorse("pack", "--help").out
    for word in (*subcommands, *FORMATS):
        assert re.search(rf"\b{word}\b", text), word
    lines = packhorse("--version").out.splitlines()
    assert re.fullmatch(r"packhorse \d+\.\d+\.\d+", lines[0])
    header = (ROOT / "libpack/include/packhorse/version.h").read_text()
    macros = dict(re.findall(r'#define PACKHORSE_(VERSION\w*) "?([\d.]+)', header))
    assert lines[0] == f"packhorse {macros['VERSION']}"
    assert macros["VERSION"] == ".".join(macros[f"VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH"))
    libraries = [line.split()[0] for line in lines[1:]]
    assert {"wds", "lmdb", "hdf5", "openssl", "tbb", "xxhash", "libjpeg-turbo"} <= set(libraries)
    assert all(re.search(r"\d", line) for line in lines)


def test_a_full_stdout_is_no_success():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PACKHORSE, "--version"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == FAILED and b"cannot write to standard output" in done.stderr
