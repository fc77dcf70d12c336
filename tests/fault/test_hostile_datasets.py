"""Datasets made to do harm, by every command: a clean verdict each, in bounded memory and time (hostile/run.py).

The commands named with a case must fail, since what they would have to hand on is wrong; what the others say is theirs.
No command may write outside of what it was told to.
"""

import os
import shutil
import struct

import pytest
from hostile import forge
from hostile.forge import HASHES, IMAGES, KEY_ENDS, LABELS, PATH_ENDS, RANGES, Index
from hostile.images import png
from hostile.run import run_limited
from python_support import DAMAGE, DONE, copy_tree, pack, put, refused, run, tree

COMMANDS = {
    "inspect": ("inspect", "{d}"),
    "list": ("inspect", "{d}", "--list"),
    "show": ("inspect", "{d}", "--show", "0", "-o", "{out}"),
    "quick": ("inspect", "{d}", "--verify", "quick"),
    "full": ("inspect", "{d}", "--verify", "full"),
    "decode": ("inspect", "{d}", "--verify", "full", "--decode"),
    "stats": ("stats", "{d}"),
    "duplicates": ("duplicates", "{d}"),
    "sheet": ("inspect", "{d}", "--sheet", "{out}.png"),
    "bench": ("bench", "{d}", "--work", "read,decode", "--repeats", "1", "--min-seconds", "0"),
    "unpack": ("unpack", "{d}", "{out}"),
    "pack": ("pack", "{d}", "{out}", "--format", "hdf5"),
    "export": ("export-index", "{d}", "-o", "{out}"),
    "export beside": ("export-index", "{d}"),
    "diff": ("diff", "{d}", "{sound}"),
    "against": ("inspect", "{d}", "--verify", "quick", "--against", "{sound}/../source"),
    "repair": ("repair", "{d}", "{sound}"),
}
EVERY = set(COMMANDS)
OPENS_ALL = EVERY - {"export", "export beside", "repair", "diff"}  # read every index and shard
OPENS_INDEX = EVERY - {"export", "export beside", "repair"}
DECODES = {"decode", "stats", "duplicates"}  # using the index; the other commands only read the bytes
PROVES = DECODES | {"full", "against", "diff"}  # check that images are what the index says


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Three samples of two classes: a PNM of 10 x 10, a JPEG and a PNG, in this order."""
    root = tmp_path_factory.mktemp("sound")
    put(root / "source/a/0.ppm", b"P6 10 10 255\n" + bytes(range(100)) * 3)
    put(root / "source/a/1.jpg")
    put(root / "source/b/2.png", png(40, 40, colour=0))
    pack(root / "source", root / "packed", "--format", "wds", "--no-shuffle")
    pack(root / "source", root / "frames", "--format", "wds", "--no-shuffle", "--compress", "zstd")
    pack(root / "source", root / "database", "--format", "lmdb", "--no-shuffle")
    return root


PNM, JPEG, PNG = 0, 1, 2


def image(row, at, form, value):
    return lambda d: forge.edit_index(d, lambda i: i.put(IMAGES, row, at, form, value))


def label(value):
    return lambda d: forge.edit_index(d, lambda i: i.put(LABELS, 1, 0, "q", value))


def bytes_at(at, form, value):
    """Changes bytes of the header or the section table."""
    return lambda d: forge.edit_index(d, lambda i: None, lambda data: struct.pack_into("<" + form, data, at, value))


def section_end(number, value):
    return lambda d: forge.edit_index(d, lambda i: i.put(number, 0, 0, "Q", value))


def name_of_shard(kind, name):
    def edit(manifest):
        manifest["shards"][0][kind] = name

    return lambda d: forge.edit_manifest(d, edit)


def shard_twice(manifest):
    """A shard listed twice, with counts that add up."""
    first = manifest["shards"][0]
    manifest["shards"].append({**first, "first_sample": first["samples"]})
    manifest["samples"] *= 2


def count(path, value):
    def edit(manifest):
        at = manifest
        for part in path[:-1]:
            at = at[part]
        at[path[-1]] = value

    return lambda d: forge.edit_manifest(d, edit)


def in_place(name, make):
    def change(dataset):
        path = dataset / name
        path.unlink()
        make(path)

    return change


def text_of_manifest(text):
    return lambda d: (d / "dataset.json").write_text(text)


def claims_larger(dataset):
    forge.edit_index(dataset, lambda i: (i.put(IMAGES, PNM, 0, "I", 3000), i.put(IMAGES, PNM, 4, "I", 3000)))


def jpeg_as_pnm(dataset):
    forge.edit_index(dataset, lambda i: i.put(IMAGES, JPEG, 8, "B", forge.PNM))


def pnm_with_long_numbers(dataset):
    """Ten digits: a parser that reads them all finds one number, one that stops early finds two."""
    forge.replace_image(dataset, PNM, b"P6 1000000005 255 " + b"\x01" * 80)


SHARD, INDEX = "shard-000000.tar", "shard-000000.index"
DEEP = "[" * 200000 + "]" * 200000

# case -> (the change, the commands that must fail)
CASES = {
    "manifest nested deep": (text_of_manifest(DEEP), EVERY),
    "manifest of deep objects": (text_of_manifest('{"a":' * 200000 + "1" + "}" * 200000), EVERY),
    "manifest of 8 GiB of nothing": (lambda d: os.truncate(d / "dataset.json", 8 << 30), EVERY),
    "manifest is a number": (text_of_manifest("1e999"), EVERY),
    "manifest with one name many times": (text_of_manifest("{" + ",".join(f'"k{i}":0' for i in range(99999)) + "}"), EVERY),
    "shard outside by ..": (name_of_shard("file", "../packed/" + SHARD), EVERY),
    "shard outside by a path": (name_of_shard("file", "/etc/passwd"), EVERY),
    "shard outside and back": (name_of_shard("file", "x/../../" + SHARD), EVERY),
    "shard with no name": (name_of_shard("file", ""), EVERY),
    "shard is the directory": (name_of_shard("file", "."), EVERY),
    "name cut by a zero": (name_of_shard("file", SHARD + "\0x"), EVERY),
    "index outside": (name_of_shard("index", "../packed/" + INDEX), EVERY),
    "list outside": (count(("files", 0, "file"), "../../etc/passwd"), EVERY),
    "shard named twice": (lambda d: forge.edit_manifest(d, shard_twice), EVERY),
    "counts beyond all": (count(("samples",), 2**63), EVERY),
    "shard of counts beyond all": (count(("shards", 0, "samples"), 2**64 - 1), EVERY),
    "shard begins beyond all": (count(("shards", 0, "first_sample"), 2**64 - 2), EVERY),
    "shard with bytes beyond all": (count(("shards", 0, "bytes"), 2**63), OPENS_ALL),
    "shard is a link": (lambda d: forge.link_away(d / SHARD, d.parent / "elsewhere"), OPENS_ALL | {"export"}),
    "index is a link": (lambda d: forge.link_away(d / INDEX, d.parent / "elsewhere"), OPENS_INDEX),
    "class list is a link": (lambda d: forge.link_away(d / "classes.txt", d.parent / "elsewhere"), OPENS_INDEX),
    "shard is a pipe": (in_place(SHARD, os.mkfifo), OPENS_ALL | {"export"}),
    "index is a pipe": (in_place(INDEX, os.mkfifo), OPENS_INDEX),
    "class list is a pipe": (in_place("classes.txt", os.mkfifo), OPENS_INDEX),
    "shard is a folder": (in_place(SHARD, os.mkdir), OPENS_ALL | {"export"}),
    "no kind": (image(PNM, 8, "B", 0), OPENS_INDEX),
    "unknown kind": (image(PNM, 8, "B", 200), OPENS_INDEX),
    "no pixels": (image(PNM, 0, "I", 0), OPENS_INDEX),
    "too wide": (image(JPEG, 0, "I", 2**31), OPENS_INDEX),
    "raw pixels that are none": (image(JPEG, 8, "B", forge.RAW), OPENS_INDEX),
    "PNM that claims more": (claims_larger, PROVES),
    "PNM with other channels": (image(PNM, 9, "B", 4), PROVES),
    "PNM with long numbers": (pnm_with_long_numbers, DECODES | {"bench"}),
    "JPEG as PNM": (jpeg_as_pnm, PROVES),
    "JPEG that claims more": (image(JPEG, 4, "I", 60000), PROVES),
    "PNG that claims more": (image(PNG, 0, "I", 2**31 - 1), PROVES),
    "JPEG of other bits": (image(JPEG, 10, "B", 12), PROVES),
    "JPEG that lies on its side": (image(JPEG, 11, "B", 6), PROVES),
    "negative label": (label(-1), OPENS_INDEX),
    "label of no class": (label(2), OPENS_INDEX),
    "label beyond all": (label(2**63 - 1), OPENS_INDEX),
    "image behind the end": (lambda d: forge.edit_index(d, lambda i: i.put(RANGES, 0, 0, "Q", 2**40)), OPENS_INDEX),
    "image that wraps": (lambda d: forge.edit_index(d, lambda i: i.put(RANGES, 0, 8, "Q", 2**64 - 1)), OPENS_INDEX),
    "keys that run back": (section_end(KEY_ENDS, 2**40), OPENS_INDEX),
    "paths that run back": (section_end(PATH_ENDS, 2**63), OPENS_INDEX),
    "samples beyond all": (bytes_at(16, "Q", 2**60), OPENS_INDEX),
    "sections beyond all": (bytes_at(12, "I", 2**32 - 1), OPENS_INDEX),
    "section behind the end": (bytes_at(64 + 8, "Q", 2**63), OPENS_INDEX),
    "section that wraps": (bytes_at(64 + 16, "Q", 2**64 - 64), OPENS_INDEX),
    "a hash of other bytes": (lambda d: forge.edit_index(d, lambda i: i.put(HASHES, 0, 0, "Q", 1)), {"full", "unpack"}),
}


def judge(change, must_fail, root, source, tmp_path, commands=COMMANDS):
    """Gives each command a fresh dataset, since some write into it. Nothing else may change."""
    for command in commands:
        place = tmp_path / "place"
        dataset = copy_tree(source, place / "packed")
        (place / "tmp").mkdir()
        change(dataset)
        around = tree(root)
        words = [word.format(d=dataset, out=place / "out", sound=source) for word in COMMANDS[command]]
        ending = run_limited(*words, cwd=place)
        differs = command == "diff" and ending.code == DAMAGE and ending.out
        assert differs or not list(ending.problems()), (command, ending, *ending.problems(), ending.err)
        assert ending.code != DONE or command not in must_fail, (command, ending)
        assert tree(root) == around and not list((place / "tmp").iterdir()), command
        written = {path.name for path in place.iterdir()} - {"tmp", "stdout", "stderr"}
        assert written <= {"packed", "out", "out.partial", "out.png", "elsewhere"}, command
        shutil.rmtree(place)


def some(number):
    """Verification, and every fifth of the other commands, from another one on for each case."""
    others = [command for command in COMMANDS if command != "full"]
    return ["full", *others[number % 5 :: 5]]


@pytest.mark.parametrize(
    ("number", "case"),
    [pytest.param(i, case, id=case, marks=() if i % 4 == 0 else pytest.mark.thorough) for i, case in enumerate(CASES)],
)
def test_a_hostile_dataset_gets_a_clean_verdict(sound, tmp_path, number, case):
    change, must_fail = CASES[case]
    judge(change, must_fail, sound, sound / "packed", tmp_path, some(number))


def frame_claims(content):
    def edit(index):
        begin = struct.unpack_from("<Q", index.column(forge.FRAMES), 16)[0]
        index.put(forge.FRAMES, 0, 24, "Q", content)
        index.put(RANGES, 0, 0, "Q", begin)
        index.put(RANGES, 0, 8, "Q", content)

    return lambda d: forge.edit_index(d, edit)


def real_bomb(content):
    """A frame that really expands to what the index says, with a hash that matches as far as anybody reads."""

    def change(dataset):
        shard = dataset / forge.manifest_of(dataset)["shards"][0]["file"]
        bomb = forge.zstd_bomb(content)
        index = Index(dataset / INDEX)
        index.put(forge.FRAMES, 0, 0, "Q", shard.stat().st_size)
        index.put(forge.FRAMES, 0, 8, "Q", len(bomb))
        with open(shard, "ab") as file:
            file.write(bomb)
        index.data_bytes = shard.stat().st_size
        index.write()
        frame_claims(content)(dataset)

    return change


@pytest.mark.thorough
@pytest.mark.parametrize("content", [1 << 20, 4 << 30, 1 << 50], ids=["1 MiB", "4 GiB", "1 PiB"])
def test_a_frame_that_claims_more_than_it_holds_takes_no_memory(sound, tmp_path, content):
    must_fail = {"full", "stats", "unpack", "pack"} if content == 1 << 20 else OPENS_INDEX
    commands = ["full", "stats", "unpack", "pack", "bench", "list"]
    judge(frame_claims(content), must_fail, sound, sound / "frames", tmp_path, commands)


def test_a_frame_that_expands_to_gigabytes_is_refused_before_it_does(sound, tmp_path):
    judge(real_bomb(4 << 30), OPENS_INDEX, sound, sound / "frames", tmp_path, ["full", "unpack", "bench"])


@pytest.mark.thorough
def test_a_folder_on_the_way_to_a_shard_that_is_a_link_is_not_followed(sound, tmp_path):
    def change(dataset):
        forge.link_away(dataset / "shard-000000.lmdb", dataset.parent / "elsewhere")

    judge(change, OPENS_ALL | {"repair"}, sound, sound / "database", tmp_path)


def test_a_repair_never_writes_through_a_link(sound, tmp_path):
    """Neither a link in place of the shard's folder, nor one in place of the folder of the repair."""
    for name in ("shard-000000.lmdb", ".packhorse-repair.partial"):
        place = tmp_path / name
        dataset = copy_tree(sound / "database", place / "packed")
        (dataset / "shard-000000.lmdb/data.mdb").write_bytes(b"damaged")
        put(place / "elsewhere/data.mdb", "somebody's")
        if name.endswith(".lmdb"):
            shutil.rmtree(dataset / name)
        (dataset / name).symlink_to("../elsewhere")
        before = tree(place)
        result = refused("repair", dataset, sound / "source")
        assert "symbolic link" in result.err and name in result.err, result
        assert tree(place) == before


@pytest.mark.parametrize("name", ["lock", "data", "receipts"])
def test_a_place_of_work_that_came_with_links_in_it_is_not_used(sound, tmp_path, name):
    """Neither by a repair, nor by an adoption beside its shards."""
    victim = put(tmp_path / "elsewhere/file", "somebody's")
    for folder, command in (("packed", "repair"), ("shards", "index")):
        dataset = copy_tree(sound / "packed", tmp_path / folder)
        place = dataset / f".packhorse-{command}.partial"
        put(place / "lock", "").unlink()
        (place / name).symlink_to(victim if name == "lock" else victim.parent)
        if command == "index":
            for file in dataset.glob("*.*"):
                if file.suffix != ".tar" and file.is_file():
                    file.unlink()
        else:
            (dataset / SHARD).write_bytes(b"damaged")
        before = tree(tmp_path)
        words = ("index", dataset) if command == "index" else ("repair", dataset, sound / "source")
        assert "symbolic link" in refused(*words).err
        assert tree(tmp_path) == before


def test_a_repair_leaves_alone_what_a_pack_has_left_to_go_on_with(sound, tmp_path):
    dataset = copy_tree(sound / "packed", tmp_path / "packed")
    put(tmp_path / "packed.partial/lock", "")
    put(tmp_path / "packed.partial/data/shard-000000.tar", "a finished shard")
    before = tree(tmp_path / "packed.partial")
    (dataset / SHARD).write_bytes(b"damaged")
    result = run("repair", dataset, sound / "source")
    assert result.code == DONE and tree(dataset) == tree(sound / "packed"), result
    assert tree(tmp_path / "packed.partial") == before


def test_links_to_directories_above_a_dataset_are_nobodys_business(sound, tmp_path):
    (tmp_path / "link").symlink_to(sound)
    assert run("inspect", tmp_path / "link/packed", "--verify", "full").code == DONE
    assert refused("inspect", tmp_path / "nothing").code != DAMAGE


def test_an_image_that_the_index_describes_wrongly_is_not_sent_to_a_repair(sound, tmp_path):
    dataset = copy_tree(sound / "packed", tmp_path / "packed")
    image(JPEG, 11, "B", 6)(dataset)
    result = run("inspect", dataset, "--verify", "full")
    assert result.code == DAMAGE and ": description, sample 1, " in result.out, result
    assert "and its index says" in result.out and "orientation 6" in result.out, result
    assert "pack the source again" in result.err and "packhorse repair" not in result.err, result
    result = run("inspect", dataset, "--verify", "quick", "--against", sound / "source", "--json")
    (found,) = result.json["findings"]
    assert (found["kind"], found["path"], found["sample"]) == ("changed", "a/1.jpg", 1), found
    assert found["detail"] == "the index describes a different image"
    result = run("stats", dataset)
    assert "pack again, or adopt the shards again" in result.err, result
