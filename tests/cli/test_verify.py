"""`packhorse inspect --verify`, `--decode`, `--subset` and `--against`, and `packhorse repair`: every kind of finding
is named, and rebuilt files are identical to the packed ones.

Damage in every place of a file is in tests/fault/test_flips.py, and in the C++ tests of verification.
"""

import json
import os
import random
import select
import shutil
import struct
import subprocess

import pytest
from fault_loop import calls, halted
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
    staging,
    tree,
    truncate,
)

thorough = pytest.mark.thorough


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """24 images of 3 classes, and their dataset of 4 shards."""
    folder = tmp_path_factory.mktemp("original")
    pack(make_source(folder / "source", 24, classes=3), folder / "out", "--format", "wds", "--shard-samples", "6")
    return folder


@pytest.fixture
def source(original, tmp_path):
    return copy_tree(original / "source", tmp_path / "source")


@pytest.fixture
def dataset(original, tmp_path):
    return copy_tree(original / "out", tmp_path / "out")


@pytest.fixture
def half_a_photo(tmp_path):
    """8 images, one of which ends like a JPEG, but too early."""
    source = make_source(tmp_path / "source", 8, classes=2)
    photo = source / "class-1/000005.jpg"
    whole = photo.read_bytes()
    photo.write_bytes(whole[: len(whole) // 2] + b"\xff\xd9")
    return source


def pack_with_rejects(source, out, *options):
    copy_tree(BROKEN / "bad", source / "broken")
    shutil.copy(BROKEN / "good/ok.jpg", source / "broken")
    assert run("pack", source, out, "--max-rejects", "8", *options).code == DONE
    assert (out / "rejects.jsonl").exists()


def findings(*args):
    """The findings of inspect. There must be some, and stderr must say so."""
    result = run("inspect", *args, "--json")
    assert result.code == DAMAGE and result.json["ok"] is False and "next: " in result.err, result
    return result.json["findings"]


def kinds(*args):
    return sorted((f["kind"], f.get("path", "")) for f in findings(*args))


# Damaged files


def variant(dataset, path, file):
    """Makes a copy of the dataset at `path` out of links, except `file`, whose path it returns: it may be damaged."""
    for name in files_of(dataset):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        if name != file:
            os.link(dataset / name, path / name)
    (path / file).write_bytes((dataset / file).read_bytes())
    return path / file


def found_in(folder, level):
    """What verification finds in each dataset in `folder`: (file, detail), by the dataset's name."""
    found = {path.name: [] for path in folder.iterdir()}
    for finding in findings(folder, "--verify", level):
        name, file = finding["shard"].split("/", 1)
        found[name].append((file, finding["detail"]))
    return found


@pytest.mark.parametrize("form", FORMATS)
def test_damage_of_any_file_is_found_and_named(tmp_path, form):
    source, out = make_source(tmp_path / "source", 29, classes=3), tmp_path / "out"
    pack_with_rejects(source, out, "--format", form, "--shard-samples", "20")
    files = files_of(out)
    for number, file in enumerate(files):
        size = (out / file).stat().st_size
        for offset in (0, size // 3, size // 2, size - 1):
            flip_byte(variant(out, tmp_path / f"full/{number} flipped at {offset}", file), offset, mask=1 << offset % 8)
        truncate(variant(out, tmp_path / f"quick/{number} cut", file), size - 1)
        truncate(variant(out, tmp_path / f"quick/{number} empty", file), 0)
        with open(variant(out, tmp_path / f"quick/{number} grown", file), "ab") as grown:
            grown.write(b"\0")
        if file != "dataset.json":
            variant(out, tmp_path / f"quick/{number} gone", file).unlink()
    for folder, level in (("full", "full"), ("quick", "quick"), ("quick", "full")):
        for name, found in found_in(tmp_path / folder, level).items():
            file = files[int(name.split()[0])]
            named = [f == file or (file == "SHA256SUMS" and file in detail) for f, detail in found]
            assert named and all(named), (level, name, file, found)


def test_damage_is_worded_for_people(dataset):
    sample = listed(dataset)[13]
    flip_byte(dataset / sample["shard"], sample["offset"] + 10)
    result = run("inspect", dataset, "--verify", "full")
    end = sample["offset"] + sample["bytes"]
    place = f"payload, sample 13, key {sample['key']}, bytes {sample['offset']} to {end}: "
    assert result.code == DAMAGE and result.out.startswith(f"damage: {sample['shard']}: {place}"), result
    assert f"1 finding in {len(files_of(dataset))} files" in result.out and str(dataset) in result.err


def test_the_reader_refuses_damaged_images_shards_and_indexes(original, tmp_path):
    sample = listed(original / "out")[7]
    for name, file, damage in (
        ("image", sample["shard"], lambda path: flip_byte(path, sample["offset"] + sample["bytes"] // 2)),
        ("cut", sample["shard"], lambda path: truncate(path, path.stat().st_size - 1)),
        ("index", "shard-000001.index", lambda path: flip_byte(path, 300)),
    ):
        damage(variant(original / "out", tmp_path / name, file))
        for work in (("read",), ("decode", "--size", "32")):
            result = refused("bench", tmp_path / name, "--batch-size", "4", "--work", *work, code=DAMAGE)
            assert file in result.err and "next: " in result.err, result
            assert name != "image" or sample["key"] in result.err


# The walk with the format's own library


@pytest.mark.parametrize("form", ["hdf5", pytest.param("lmdb", marks=thorough), pytest.param("wds", marks=thorough)])
def test_a_walk_of_a_damaged_shard_names_the_shard(original, tmp_path, form):
    pack(original / "source", tmp_path / "out", "--format", form, "--shard-samples", "12")
    shard = tmp_path / "out" / listed(tmp_path / "out")[0]["shard"]
    shard.write_bytes(random.Random(0).randbytes(shard.stat().st_size))
    found = findings(tmp_path / "out", "--verify", "full")
    assert {f["shard"] for f in found} == {str(shard.relative_to(tmp_path / "out"))}
    assert [f["sample"] for f in found if f["kind"] == "payload"] == list(range(12))
    assert len([f for f in found if f["kind"] == "structure"]) == 1


def test_a_library_that_crashes_is_a_finding(original, tmp_path):
    """The size of an LMDB value leads out of the file: the library returns it, and touching it would crash."""
    pack(original / "source", tmp_path / "out", "--format", "lmdb-members", "--shard-samples", "12")
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


@thorough
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


def test_the_walking_process_ends_with_ours(dataset, tmp_path):
    command = (PACKHORSE, "inspect", dataset, "--verify", "full", "--jobs", "1")
    process = halted(command, dataset, "open", calls(command, dataset, "open", tmp_path / "counts"))
    tasks = f"/proc/{process.pid}/task"
    children = {int(child) for task in os.listdir(tasks) for child in open(f"{tasks}/{task}/children").read().split()}
    assert children
    ends = [os.pidfd_open(child) for child in children]
    process.kill()
    process.communicate()
    for end in ends:  # a process's descriptor can be read when it has ended
        assert select.select([end], [], [], 60)[0] != []
        os.close(end)


# --decode


def test_what_was_damaged_before_it_was_packed_is_found_and_not_sent_to_a_repair(half_a_photo, tmp_path):
    source, out = half_a_photo, tmp_path / "out"
    pack(source, out, "--format", "wds")
    packhorse("inspect", out, "--verify", "full")  # only a decoder sees it
    (found,) = findings(out, "--verify", "full", "--decode")
    sample = next(s for s in listed(out) if s["path"] == "class-1/000005.jpg")
    assert (found["kind"], found["sample"], found["key"]) == ("decode", sample["sample"], sample["key"])
    assert (found["offset"], found["length"]) == (sample["offset"], sample["bytes"])
    assert "damaged JPEG" in found["detail"]
    result = run("inspect", out, "--verify", "full", "--decode")
    assert result.code == DAMAGE and "images of the dataset cannot be decoded" in result.err, result
    assert "7 images decoded" in result.out, result
    assert "`packhorse pack --decode`" in result.err and "packhorse repair" not in result.err, result
    # Repair mends damage to the dataset's own bytes, and keeps the bytes of a source that was damaged itself.
    flip_byte(out / "shard-000000.tar", 3)
    both = run("inspect", out, "--verify", "full", "--decode")
    for words in ("the dataset is damaged", "packhorse repair DATASET SOURCE", "`packhorse pack --decode`"):
        assert words in both.err, both
    assert "made again" in packhorse("repair", out, source).out
    # The advice works.
    assert run("pack", source, out, "--format", "wds", "--overwrite", "--decode", "--max-rejects", "1").code == DONE
    packhorse("inspect", out, "--verify", "full", "--decode")


def test_an_image_beyond_a_limit_is_not_called_damaged(tmp_path):
    pack(SHAPES / "val", tmp_path / "out", "--format", "wds")
    few = ("--verify", "full", "--decode", "--max-pixels", "20000")
    found = findings(tmp_path / "out", *few)
    assert 0 < len(found) < 36 and {f["kind"] for f in found} == {"limit"}
    result = run("inspect", tmp_path / "out", *few)
    assert "not decoded: shard-000000.tar: limit, sample " in result.out and "(--max-pixels)" in result.out, result
    assert "damage" not in result.out + result.err and "raise the limit" in result.err, result
    assert "packhorse repair" not in result.err and "pack --decode" not in result.err, result


@pytest.mark.parametrize("options", [("--image", "raw", "--size", "16"), ("--image", "roi"), ("--compress", "zstd")])
def test_decode_of_whole_images_of_every_kind_is_ok(tmp_path, options):
    pack(SHAPES / "val", tmp_path / "out", "--format", "wds", *options)
    report = packhorse("inspect", tmp_path / "out", "--verify", "full", "--decode", "--json").json
    assert report["checked"]["decoded"] == 36 and report["isolated"] is True


# Foreign shards


@pytest.fixture
def adopted(original, tmp_path):
    for shard in ("shard-000000.tar", "shard-000001.tar"):
        (tmp_path / "adopted").mkdir(exist_ok=True)
        shutil.copy(original / "out" / shard, tmp_path / "adopted" / shard)
    packhorse("index", tmp_path / "adopted")
    return tmp_path / "adopted"


def advised(dataset):
    result = run("inspect", dataset, "--verify", "full")
    assert result.code == DAMAGE and "the dataset is damaged" in result.err, result
    return result.err.split("next:  ")[1]


def test_a_damaged_shard_of_others_is_not_sent_to_a_repair_that_refuses_it(adopted):
    flip_byte(adopted / "shard-000001.tar", listed(adopted)[10]["offset"] + 1000)
    advice = advised(adopted)
    assert "get fresh copies of the shards named above" in advice and "packhorse repair" not in advice
    packhorse("index", adopted, "--overwrite")
    packhorse("inspect", adopted, "--verify", "full")


def test_damage_beside_shards_of_others_is_mended_as_advised(adopted, tmp_path):
    whole, copy = tree(adopted), copy_tree(adopted, tmp_path / "copy")
    for file in ("shard-000000.tar.index", "classes.txt", "SHA256SUMS"):
        truncate(adopted / file, 5)
        advice = advised(adopted)
        assert "`packhorse index --overwrite`" in advice and "packhorse repair DATASET COPY" in advice
        assert "SOURCE" not in advice
        damaged = copy_tree(adopted, tmp_path / "damaged" / file)
        packhorse("repair", damaged, copy)
        (adopted / file).unlink()
        packhorse("index", adopted, "--overwrite")
        assert tree(adopted) == tree(damaged) == whole


# --subset


@pytest.mark.parametrize("parts", [4, 9])
def test_the_parts_together_find_all_damage(dataset, parts):
    for sample in listed(dataset):
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
    assert len(notes) == parts and checked >= 24 and (checked == 24 or parts > 4)


def test_the_parts_together_see_each_file_between_the_images(dataset):
    """With more parts than shards, each shard is still read and walked whole in one of them."""
    for shard in range(4):
        flip_byte(dataset / f"shard-{shard:06}.tar", 3)
    found = []
    for part in range(9):
        result = run("inspect", dataset, "--verify", "full", "--subset", f"{part}/9", "--json")
        found += [f["shard"] for f in result.json["findings"] if f["kind"] == "hash"]
    assert sorted(found) == [f"shard-{shard:06}.tar" for shard in range(4)]


def test_options_that_make_no_sense_are_usage_errors(dataset):
    for options in (
        ("--verify", "full", "--subset=4/4"),
        ("--verify", "full", "--subset=-1/3"),
        ("--verify", "full", "--subset="),
        ("--decode", "--verify", "quick"),
        ("--subset", "0/2"),
        ("--against", "x", "--verify", "full", "--subset", "0/2"),
        ("--list", "--against", "x"),
        ("--show", "1", "--against", "x"),
    ):
        refused("inspect", dataset, *options, code=USAGE)
    refused("repair", dataset, dataset, "--verify", "full", code=USAGE)


# --against


@pytest.mark.parametrize(
    "form,image", [("wds", "original"), ("lmdb", "roi"), ("lmdb-members", "resize"), ("hdf5", "raw")]
)
def test_a_dataset_holds_what_its_source_does(tmp_path, form, image):
    pack(SHAPES, tmp_path / "out", "--format", form, "--image", image)
    result = packhorse("inspect", tmp_path / "out", "--verify", "quick", "--against", SHAPES, "--json").json
    assert result["ok"] is True and result["against"]["compared"] == 156
    assert "\nok: 36 inputs of the source" in packhorse("inspect", tmp_path / "out/val", "--against", SHAPES).out


def test_every_kind_of_difference_is_named(source, dataset):
    (source / "class-0/000001.jpg").unlink()
    shutil.copy(source / "class-1/000010.jpg", source / "class-1/new.jpg")
    with open(source / "class-2/000020.jpg", "ab") as file:
        file.write(b"x")
    (source / "class-0/000002.jpg").write_bytes(b"no image")
    (source / "class-0/bad.jpg").write_bytes(b"no image")
    (source / "class-00").mkdir()  # a class the source got since moves no label
    shutil.copy(source / "class-1/000010.jpg", source / "class-00/x.jpg")
    found = findings(dataset, "--against", source)
    assert {(f["kind"], f["path"]) for f in found} == {
        ("extra", "class-0/000001.jpg"),
        ("missing", "class-00/x.jpg"),
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
    assert "'a'" in found["detail"] and "'b'" in found["detail"]


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


def test_rejects_are_expected_to_be_missing(source, tmp_path):
    pack_with_rejects(source, tmp_path / "out", "--format", "wds")
    report = packhorse("inspect", tmp_path / "out", "--against", source, "--json").json
    assert report["against"]["rejected"] == 8 and report["notes"] == []
    bad = json.loads((tmp_path / "out/rejects.jsonl").read_text().splitlines()[0])["path"]
    shutil.copy(source / "class-0/000001.jpg", source / bad)
    report = packhorse("inspect", tmp_path / "out", "--against", source, "--json").json
    assert report["notes"] == ["1 input listed in rejects.jsonl could be packed now"]


def test_a_dataset_packed_with_decode_is_compared_and_repaired_with_it(half_a_photo, tmp_path):
    source, out = half_a_photo, tmp_path / "out"
    assert run("pack", source, out, "--format", "wds", "--decode", "--max-rejects", "1").code == DONE
    report = packhorse("inspect", out, "--against", source, "--decode", "--json").json
    assert (report["against"]["compared"], report["against"]["rejected"]) == (8, 1)
    before = tree(out)
    flip_byte(out / "shard-000000.tar", 600)
    packhorse("repair", out, source, "--decode")
    assert tree(out) == before


@pytest.mark.parametrize(
    "options",
    [
        ("--limit", "5"),
        ("--samples-per-class", "2"),
        ("--include", "*00002*"),
        ("--exclude", "*00002*"),
        ("--deduplicate", "drop"),
        ("--split", "60:40"),
    ],
)
def test_a_selection_must_be_given_again(source, tmp_path, options):
    shutil.copy(source / "class-1/000010.jpg", source / "class-1/twin.jpg")
    pack(source, tmp_path / "out", "--format", "wds", "--seed", "3", *options)
    result = refused("inspect", tmp_path / "out", "--verify", "quick", "--against", source, code=USAGE)
    assert options[0] in result.err and "next: " in result.err
    packhorse("inspect", tmp_path / "out", "--against", source, *options)
    if options[0] == "--split":
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
    assert findings(dataset, "--against", source)[0]["shard"] == "shard-000001.index"


# repair


@pytest.mark.parametrize("form,options", [("wds", ()), ("wds", ("--compress", "zstd")), ("lmdb", ()), ("hdf5", ())])
def test_damaged_files_are_made_again(source, tmp_path, form, options):
    out = tmp_path / "out"
    pack_with_rejects(source, out, "--format", form, "--shard-samples", "10", *options)
    whole = tree(out)
    files = [file for file in files_of(out) if file != "dataset.json"]

    def repaired(*damaged):
        report = packhorse("repair", out, source, "--json").json
        assert report["ok"] is True and report["repaired"]["copied"] == []
        assert sorted(report["repaired"]["rebuilt"]) == sorted(damaged)
        assert tree(out) == whole and not staging(out).exists()

    damages = [lambda path: flip_byte(path, 30), lambda path: truncate(path, 10), lambda path: path.unlink()]
    for shift in range(3):
        for number, file in enumerate(files):
            damages[(number + shift) % 3](out / file)
        repaired(*files)
    for file in (files[0], "shard-000001.index"):
        flip_byte(out / file, 30)
        repaired(file)
    assert packhorse("repair", out, source).out.startswith("nothing to repair\nok: ")


def test_a_source_that_gives_other_bytes_changes_nothing(source, dataset):
    for shard in range(4):
        flip_byte(dataset / f"shard-{shard:06}.tar", 600)
    before = tree(dataset)
    path = listed(dataset)[7]["path"]  # in the second shard
    with open(source / path, "ab") as file:
        file.write(b"x")
    result = refused("repair", dataset, source, code=DAMAGE)
    assert "shard-000001.tar" in result.err and "nothing was changed" in result.err
    assert tree(dataset) == before and not staging(dataset).exists()


def test_sound_files_of_a_copy_are_taken(original, dataset):
    flip_byte(dataset / "shard-000002.tar", 600)
    (dataset / "SHA256SUMS").unlink()
    report = packhorse("repair", dataset, original / "out", "--json").json
    assert report["repaired"] == {"copied": ["shard-000002.tar"], "rebuilt": ["SHA256SUMS"]}
    assert tree(dataset) == tree(original / "out")


def test_what_a_link_leads_to_is_left_alone(source, dataset, tmp_path):
    shard = dataset / "shard-000002.tar"
    shard.rename(tmp_path / "elsewhere.tar")
    shard.symlink_to("../elsewhere.tar")
    flip_byte(tmp_path / "elsewhere.tar", 600)
    before = (tmp_path / "elsewhere.tar").read_bytes()
    assert "outside the dataset" in refused("repair", dataset, source).err
    assert (tmp_path / "elsewhere.tar").read_bytes() == before and shard.is_symlink()


def test_splits_are_repaired_together(tmp_path):
    pack(SHAPES, tmp_path / "out", "--format", "hdf5", "--image", "roi")
    whole = tree(tmp_path / "out")
    (tmp_path / "out/train/shard-000000.h5").unlink()
    flip_byte(tmp_path / "out/val/shard-000000.index", 99)
    result = packhorse("repair", tmp_path / "out", SHAPES)
    assert "repaired: train/shard-000000.h5: made again" in result.out
    assert "repaired: val/shard-000000.index: made again" in result.out
    assert tree(tmp_path / "out") == whole


def test_a_manifest_that_is_not_the_published_one_cannot_be_repaired(source, dataset):
    text = (dataset / "dataset.json").read_text()
    (dataset / "dataset.json").write_text(text.replace('"packhorse": "', '"packhorse": "9'))
    result = refused("repair", dataset, source, code=DAMAGE)
    assert "dataset.json" in result.err and "cannot be repaired" in result.err
