"""`packhorse inspect --verify`, `--decode`, `--subset` and `--against` from outside: every kind of finding.

What single damaged bytes do is in tests/fault.
"""

import json
import os
import shutil
import signal
import struct
import subprocess

import pytest
from python_support import (
    BROKEN,
    DAMAGE,
    DONE,
    FORMATS,
    PACKHORSE,
    SHAPES,
    USAGE,
    copy_tree,
    files_of,
    flip_byte,
    listed,
    make_source,
    pack,
    packhorse,
    refused,
    run,
    tree,
    truncate,
)


@pytest.fixture
def source(tmp_path):
    return make_source(tmp_path / "source", 24, classes=3)


@pytest.fixture
def dataset(source, tmp_path):
    pack(source, tmp_path / "out", "--format", "wds", "--shard-samples", "6")
    return tmp_path / "out"


def findings(*args):
    """The findings of inspect. There must be some, and stderr must say so."""
    result = run("inspect", *args, "--json")
    assert result.code == DAMAGE and result.json["ok"] is False and "next: " in result.err, result
    return result.json["findings"]


def kinds(*args):
    return sorted((f["kind"], f.get("path", "")) for f in findings(*args))


# The walk with the format's own library


@pytest.mark.parametrize("form", ["lmdb", "hdf5", "wds"])
def test_a_walk_of_a_damaged_shard_names_the_shard(source, tmp_path, form):
    pack(source, tmp_path / "out", "--format", form, "--shard-samples", "12")
    shard = tmp_path / "out" / listed(tmp_path / "out")[0]["shard"]
    shard.write_bytes(os.urandom(shard.stat().st_size))
    found = findings(tmp_path / "out", "--verify", "full")
    assert {f["shard"] for f in found} == {str(shard.relative_to(tmp_path / "out"))}
    assert [f["sample"] for f in found if f["kind"] == "payload"] == list(range(12))
    assert len([f for f in found if f["kind"] == "structure"]) == 1


def test_a_library_that_crashes_is_a_finding(source, tmp_path):
    """The size of an LMDB value leads out of the file: the library returns it, and touching it would crash."""
    pack(source, tmp_path / "out", "--format", "lmdb-members", "--shard-samples", "12")
    file, page = "shard-000000.lmdb/data.mdb", 4096
    data = bytearray((tmp_path / "out" / file).read_bytes())
    nodes = []
    for at in range(2 * page, len(data), page):
        flags, lower = struct.unpack_from("<HH", data, at + 10)
        if flags == 0x02 and 16 <= lower < page:  # a leaf: the offsets of its nodes follow 16 bytes of header
            nodes += [at + place for (place,) in struct.iter_unpack("<H", data[at + 16 : at + lower])]
    images = [node for node in nodes if struct.unpack_from("<H", data, node + 4) == (0x01,)]  # on pages of their own
    struct.pack_into("<H", data, images[-1] + 2, 0x4000)  # 1 GiB
    (tmp_path / "out" / file).write_bytes(data)
    found = findings(tmp_path / "out", "--verify", "full")
    assert {f["shard"] for f in found} == {file} and [f["kind"] for f in found] == ["hash", "structure"], found
    assert "crashed on it" in found[1]["detail"] and found[1]["key"] == "000000011", found
    assert list(tmp_path.rglob("core*")) == []


@pytest.mark.parametrize("memory,good", [(1 << 20, False), (1 << 30, True)])
def test_a_walk_without_memory_ends_badly(dataset, memory, good):
    """Talks to the walking process in its own protocol. Libraries may report that they got no memory."""
    task = {"kind": "structure", "format": "wds", "first": 0, "rows": 99, "cpu_s": 60, "memory": memory}
    task["adopted"] = ""
    for name in ("shard-000000.tar", "shard-000000.index"):
        task["index" if name.endswith("index") else "data"] = str(dataset / name).encode().hex()
    pipe = subprocess.PIPE
    with subprocess.Popen([PACKHORSE, "serve-walks"], stdin=pipe, stdout=pipe, text=True) as process:
        for _ in range(2):  # the process survives a walk that ended badly
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            answers = [{}]
            while "end" not in answers[-1]:
                line = process.stdout.readline()
                assert line != "", process.wait()
                answers.append(json.loads(line.strip() or "{}"))
            found = [answer["finding"] for answer in answers if "finding" in answer]
            assert (found == [] and answers[-1]["end"] == "done") is good, answers
        process.stdin.close()
        assert process.wait() == 0


def test_a_cut_shard_names_the_first_sample_that_is_lost(dataset):
    sample = listed(dataset)[9]
    truncate(dataset / sample["shard"], sample["offset"] + 10)
    found = findings(dataset, "--verify", "full")
    assert [f["kind"] for f in found] == ["size", "structure"]
    assert (found[0]["sample"], found[0]["key"]) == (9, sample["key"]), found
    assert "3 images are cut off" in found[0]["detail"]


def test_the_walking_process_ends_with_ours(source, tmp_path):
    for i in range(8):
        pack(source, tmp_path / f"all/{i}", "--format", "hdf5", "--shard-samples", "1")
    process = subprocess.Popen(
        [PACKHORSE, "inspect", tmp_path / "all", "--verify", "full"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    children = set()
    while process.poll() is None and not children:
        task = f"/proc/{process.pid}/task"
        try:
            for thread in os.listdir(task):
                children |= set(open(f"{task}/{thread}/children").read().split())
        except OSError:
            pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert children, "it was over before its helper was seen"
    for child in children:  # its input has ended
        for _ in range(1000):
            try:
                state = open(f"/proc/{child}/stat").read().rsplit(")", 1)[1].split()[0]
            except OSError:
                break
            if state == "Z":
                break
            subprocess.run(["sleep", "0.01"], check=True)
        else:
            pytest.fail(f"process {child} still runs")


# --decode


@pytest.mark.parametrize("form", FORMATS)
def test_decode_finds_what_only_a_decoder_sees(tmp_path, form):
    source = make_source(tmp_path / "source", 8, classes=2)
    photo = source / "class-1/000005.jpg"
    whole = photo.read_bytes()
    photo.write_bytes(whole[: len(whole) // 2] + b"\xff\xd9")  # ends like a JPEG, but too early
    pack(source, tmp_path / "out", "--format", form)
    packhorse("inspect", tmp_path / "out", "--verify", "full")
    (found,) = findings(tmp_path / "out", "--verify", "full", "--decode")
    sample = next(s for s in listed(tmp_path / "out") if s["path"] == "class-1/000005.jpg")
    assert (found["kind"], found["sample"], found["key"]) == ("decode", sample["sample"], sample["key"])
    assert (found["offset"], found["length"]) == (sample["offset"], sample["bytes"])
    assert "damaged JPEG" in found["detail"]


def test_what_was_damaged_before_it_was_packed_is_not_sent_to_a_repair(tmp_path):
    source = make_source(tmp_path / "source", 8, classes=2)
    photo = source / "class-1/000005.jpg"
    whole = photo.read_bytes()
    photo.write_bytes(whole[: len(whole) // 2] + b"\xff\xd9")
    pack(source, tmp_path / "out", "--format", "wds")
    result = run("inspect", tmp_path / "out", "--verify", "full", "--decode")
    assert result.code == DAMAGE and "images of the dataset cannot be decoded" in result.err, result
    assert "`pack --decode`" in result.err and "packhorse repair" not in result.err and "7 images decoded" in result.out, result
    # Repair mends damage to the dataset's own bytes, and keeps the bytes of a source that was damaged itself.
    flip_byte(tmp_path / "out/shard-000000.tar", 3)
    both = run("inspect", tmp_path / "out", "--verify", "full", "--decode")
    assert "the dataset is damaged" in both.err and "packhorse repair DATASET SOURCE" in both.err and "`pack --decode`" in both.err, both
    repaired = run("repair", tmp_path / "out", source, "--verify", "full")
    assert repaired.code == USAGE
    repaired = run("repair", tmp_path / "out", source)
    assert repaired.code == DONE and "made again" in repaired.out, repaired
    # The advice works.
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--overwrite", "--decode", "--max-rejects", "1")
    assert result.code == DONE
    packhorse("inspect", tmp_path / "out", "--verify", "full", "--decode")


def test_an_image_beyond_a_limit_is_not_called_damaged(tmp_path):
    pack(SHAPES / "val", tmp_path / "out", "--format", "wds")
    few = ("--verify", "full", "--decode", "--max-pixels", "20000")
    found = findings(tmp_path / "out", *few)
    assert 0 < len(found) < 36 and {f["kind"] for f in found} == {"limit"}
    result = run("inspect", tmp_path / "out", *few)
    assert "not decoded: shard-000000.tar: limit, sample " in result.out and "damage" not in result.out + result.err, result
    assert "images of the dataset exceed the limits" in result.err and "raise the limit" in result.err, result
    assert "packhorse repair" not in result.err and "pack --decode" not in result.err, result
    assert "(--max-pixels)" in result.out


# Foreign shards


@pytest.fixture
def adopted(source, tmp_path):
    pack(source, tmp_path / "theirs", "--format", "wds", "--shard-samples", "12")
    (tmp_path / "adopted").mkdir()
    for shard in ("shard-000000.tar", "shard-000001.tar"):
        shutil.copy(tmp_path / "theirs" / shard, tmp_path / "adopted" / shard)
    packhorse("index", tmp_path / "adopted")
    return tmp_path / "adopted"


def advised(dataset):
    result = run("inspect", dataset, "--verify", "full")
    assert result.code == DAMAGE and "the dataset is damaged" in result.err, result
    return result.err.split("next:  ")[1]


def test_a_damaged_shard_of_others_is_not_sent_to_a_repair_that_refuses_it(adopted):
    flip_byte(adopted / "shard-000001.tar", listed(adopted)[20]["offset"] + 2000)
    advice = advised(adopted)
    assert "get fresh copies of the shards named above" in advice and "packhorse repair" not in advice
    packhorse("index", adopted, "--overwrite")
    packhorse("inspect", adopted, "--verify", "full")


@pytest.mark.parametrize("file", ["shard-000000.tar.index", "classes.txt", "SHA256SUMS"])
def test_damage_beside_shards_of_others_is_mended_as_advised(adopted, tmp_path, file):
    whole, copy = tree(adopted), copy_tree(adopted, tmp_path / "copy")
    truncate(adopted / file, 5)
    advice = advised(adopted)
    assert "`packhorse index --overwrite`" in advice and "packhorse repair DATASET COPY" in advice and "SOURCE" not in advice
    damaged = copy_tree(adopted, tmp_path / "damaged")
    packhorse("repair", damaged, copy)
    (adopted / file).unlink()
    packhorse("index", adopted, "--overwrite")
    assert tree(adopted) == tree(damaged) == whole


def test_a_dataset_packed_with_decode_is_compared_and_repaired_with_it(tmp_path):
    source = make_source(tmp_path / "source", 8, classes=2)
    photo = source / "class-1/000005.jpg"
    whole = photo.read_bytes()
    photo.write_bytes(whole[: len(whole) // 2] + b"\xff\xd9")
    run("pack", source, tmp_path / "out", "--format", "wds", "--decode", "--max-rejects", "1")
    report = packhorse("inspect", tmp_path / "out", "--against", source, "--decode", "--json").json
    assert report["against"] == {"compared": 8, "bytes": report["against"]["bytes"], "rejected": 1}
    before = tree(tmp_path / "out")
    flip_byte(tmp_path / "out/shard-000000.tar", 600)
    packhorse("repair", tmp_path / "out", source, "--decode")
    assert tree(tmp_path / "out") == before


@pytest.mark.parametrize("options", [(), ("--image", "raw", "--size", "16"), ("--image", "roi"), ("--compress", "zstd")])
def test_decode_of_whole_images_of_every_kind_is_ok(tmp_path, options):
    pack(SHAPES, tmp_path / "out", "--format", "wds", *options)
    report = packhorse("inspect", tmp_path / "out", "--verify", "full", "--decode", "--json").json
    assert report["checked"]["decoded"] == 156 and report["isolated"] is True
    assert "156 images decoded" in packhorse("inspect", tmp_path / "out", "--verify", "full", "--decode").out


# --subset


@pytest.mark.parametrize("parts", [2, 4, 9])
def test_the_parts_together_find_all_damage(dataset, parts):
    samples = listed(dataset)
    for sample in samples:
        flip_byte(dataset / sample["shard"], sample["offset"] + 9)
    flip_byte(dataset / "shard-000001.tar", 3)  # between the images
    whole = findings(dataset, "--verify", "full")
    assert [f["sample"] for f in whole if f["kind"] == "payload"] == list(range(24))
    found, checked, notes = [], 0, set()
    for part in range(parts):
        result = run("inspect", dataset, "--verify", "full", "--subset", f"{part}/{parts}", "--json")
        found += result.json["findings"]
        checked += result.json["checked"]["samples"]
        (note,) = result.json["notes"]
        assert note.startswith(f"part {part} of {parts}: ")
        notes.add(note)
    assert {json.dumps(f) for f in found} == {json.dumps(f) for f in whole}
    assert len(notes) == parts and checked >= 24
    if parts <= 4:
        assert checked == 24 and sum("shards: " in note for note in notes) == parts


def test_the_parts_together_see_each_file_between_the_images(dataset):
    """With more parts than shards, each shard is still read and walked whole in one of them."""
    for shard in range(4):
        flip_byte(dataset / f"shard-{shard:06}.tar", 3)
    found = []
    for part in range(9):
        result = run("inspect", dataset, "--verify", "full", "--subset", f"{part}/9", "--json")
        found += [f["shard"] for f in result.json["findings"] if f["kind"] == "hash"]
    assert sorted(found) == [f"shard-{shard:06}.tar" for shard in range(4)]


@pytest.mark.parametrize("part", ["1", "4/4", "-1/3", "1/0", "a/b", "1/3x", ""])
def test_senseless_parts_are_usage_errors(dataset, part):
    refused("inspect", dataset, "--verify", "full", f"--subset={part}", code=USAGE)


# --against


@pytest.mark.parametrize("form", [*FORMATS, "lmdb-members"])
@pytest.mark.parametrize("image", ["original", "roi", "resize", "raw"])
def test_a_dataset_holds_what_its_source_does(tmp_path, form, image):
    pack(SHAPES, tmp_path / "out", "--format", form, "--image", image)
    result = packhorse("inspect", tmp_path / "out", "--verify", "quick", "--against", SHAPES, "--json").json
    assert result["ok"] is True and result["against"]["compared"] == 156
    assert packhorse("inspect", tmp_path / "out/val", "--against", SHAPES).out.splitlines()[1].startswith(
        "ok: 36 inputs of the source"
    )


def test_every_kind_of_difference_is_named(source, dataset):
    (source / "class-0/000001.jpg").unlink()
    shutil.copy(source / "class-1/000010.jpg", source / "class-1/new.jpg")
    with open(source / "class-2/000020.jpg", "ab") as file:
        file.write(b"x")
    (source / "class-0/000002.jpg").write_bytes(b"no image")
    (source / "class-0/bad.jpg").write_bytes(b"no image")
    found = findings(dataset, "--against", source)
    assert {(f["kind"], f["path"]) for f in found} == {
        ("extra", "class-0/000001.jpg"),
        ("missing", "class-1/new.jpg"),
        ("changed", "class-2/000020.jpg"),
        ("changed", "class-0/000002.jpg"),
        ("missing", "class-0/bad.jpg"),
    }
    samples = {s["path"]: s for s in listed(dataset)}
    for f in found:
        if f["kind"] == "missing":
            assert f["shard"] == "" and f["sample"] is None
        else:
            sample = samples[f["path"]]
            assert (f["shard"], f["sample"], f["key"]) == (sample["shard"], sample["sample"], sample["key"])
    result = run("inspect", dataset, "--against", source)
    assert "difference: class-1/new.jpg: missing: " in result.out and "does not match the source" in result.err


def test_another_label_is_a_finding(tmp_path):
    source = make_source(tmp_path / "source", 6, classes=1)
    labels = tmp_path / "labels.csv"
    names = sorted(p.name for p in source.rglob("*.jpg"))
    labels.write_text("".join(f"{name},{'ab'[i % 2]}\n" for i, name in enumerate(names)))
    pack(source, tmp_path / "out", "--format", "lmdb", "--labels", labels)
    packhorse("inspect", tmp_path / "out", "--against", source, "--labels", labels)
    labels.write_text(labels.read_text().replace(f"{names[2]},a", f"{names[2]},b"))
    (found,) = findings(tmp_path / "out", "--against", source, "--labels", labels)
    assert (found["kind"], found["path"]) == ("relabelled", f"class-0/{names[2]}")
    assert found["detail"] == "its class is 'a' in the dataset and 'b' in the source"


def test_a_class_the_source_got_since_is_missing_and_moves_no_label(source, dataset):
    (source / "class-00").mkdir()
    shutil.copy(source / "class-1/000010.jpg", source / "class-00/x.jpg")
    assert kinds(dataset, "--against", source) == [("missing", "class-00/x.jpg")]


def test_fields_are_compared(tmp_path):
    source = make_source(tmp_path / "source", 6, classes=2)
    for photo in source.rglob("*.jpg"):
        photo.with_suffix(".json").write_text(photo.name)
    pack(source, tmp_path / "out", "--format", "hdf5", "--fields", "json")
    packhorse("inspect", tmp_path / "out", "--against", source)
    (source / "class-0/000001.json").write_text("other")
    (source / "class-1/000004.json").unlink()
    assert kinds(tmp_path / "out", "--against", source) == [
        ("changed", "class-0/000001.jpg"),
        ("changed", "class-1/000004.jpg"),
    ]


def test_rejects_are_expected_to_be_missing(tmp_path):
    source = make_source(tmp_path / "source", 6, classes=2)
    copy_tree(BROKEN, source / "broken")
    assert run("pack", source, tmp_path / "out", "--format", "wds", "--max-rejects", "8").code == DONE
    report = packhorse("inspect", tmp_path / "out", "--against", source, "--json").json
    assert report["against"]["rejected"] == 8 and report["notes"] == []
    bad = json.loads((tmp_path / "out/rejects.jsonl").read_text().splitlines()[0])["path"]
    shutil.copy(source / "class-0/000001.jpg", source / bad)
    report = packhorse("inspect", tmp_path / "out", "--against", source, "--json").json
    assert report["notes"] == ["1 input listed in rejects.jsonl could be packed now"]


@pytest.mark.parametrize(
    "options",
    [
        ("--limit", "5"),
        ("--sample-per-class", "2"),
        ("--include", "*00002*"),
        ("--exclude", "*00002*"),
        ("--deduplicate", "drop"),
    ],
)
def test_a_selection_must_be_given_again(source, tmp_path, options):
    shutil.copy(source / "class-1/000010.jpg", source / "class-1/twin.jpg")
    pack(source, tmp_path / "out", "--format", "wds", "--seed", "3", *options)
    result = refused("inspect", tmp_path / "out", "--verify", "quick", "--against", source, code=USAGE)
    assert options[0] in result.err and "next: " in result.err
    packhorse("inspect", tmp_path / "out", "--against", source, *options)


def test_a_divided_source_must_be_divided_again(source, tmp_path):
    pack(source, tmp_path / "out", "--format", "wds", "--split", "60:40")
    assert "--split" in refused("inspect", tmp_path / "out", "--verify", "quick", "--against", source, code=USAGE).err
    packhorse("inspect", tmp_path / "out", "--against", source, "--split", "60:40")
    found = findings(tmp_path / "out", "--against", source, "--split", "40:60")
    assert {f["kind"] for f in found} == {"missing", "extra"}


def test_other_kinds_of_sources_and_a_missing_split(dataset, tmp_path):
    pack(dataset, tmp_path / "converted", "--format", "hdf5")
    packhorse("inspect", tmp_path / "converted", "--against", dataset)
    packhorse("inspect", dataset, "--against", tmp_path / "converted")
    pack(SHAPES, tmp_path / "shapes", "--format", "wds")
    copy_tree(SHAPES, tmp_path / "more")
    copy_tree(SHAPES / "val", tmp_path / "more/test")
    assert kinds(tmp_path / "shapes", "--against", tmp_path / "more") == [("missing", "test")]


def test_a_damaged_dataset_is_reported_not_compared(source, dataset):
    flip_byte(dataset / "shard-000001.index", 200)
    found = findings(dataset, "--against", source)
    assert found[0]["shard"] == "shard-000001.index"


@pytest.mark.parametrize(
    "options",
    [
        ("--decode", "--verify", "quick"),
        ("--subset", "0/2"),
        ("--against", "x", "--verify", "full", "--subset", "0/2"),
        ("--list", "--against", "x"),
        ("--show", "1", "--against", "x"),
    ],
)
def test_options_that_do_not_go_together_are_usage_errors(dataset, options):
    refused("inspect", dataset, *options, code=USAGE)
