"""Refusals and rejects of `packhorse index`: it gives the reason and the next step, and leaves everything unchanged."""

import gzip
import os
import pickle
import random
import shutil
import tarfile

import adopt_support as other
import h5py
import numpy as np
import pytest
from python_support import DAMAGE, FAILED, USAGE, flip_byte, listed, packhorse, refused, run, tree, truncate


@pytest.fixture
def photos():
    return other.some_photos(each=2)


@pytest.fixture
def shards(tmp_path):
    (tmp_path / "shards").mkdir()
    return tmp_path / "shards"


def refusal(shards, *options, code=FAILED, **more):
    before = tree(shards)
    result = refused("index", shards, *options, code=code, **more)
    assert tree(shards) == before, "something was left behind"
    return result.err


def index(shards, *options):
    return packhorse("index", shards, "--json", *options).json


def rejects(shards, *options):
    """Reasons by key; nothing is published without --max-rejects."""
    before = tree(shards)
    assert run("index", shards, *options).code == DAMAGE
    assert tree(shards) == before
    report = run("index", shards, "--max-rejects", "50%", "--json", *options)
    assert report.json["published"], report
    assert report.json["seen"] == sum(report.json[k] for k in ("packed", "rejected", "skipped"))
    assert packhorse("inspect", shards, "--verify", "full", "--json").json["ok"]
    return {r["path"].split("/", 1)[1] if "/" in r["path"] else r["path"]: r["reason"] for r in report.json["rejects"]}


# --- tars


def test_a_compressed_tar_is_refused_with_the_way_out(shards, photos):
    plain = other.webdataset_tar(shards / "s-0.tar", photos)
    (shards / "s-0.tar.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert "packhorse pack SHARDS OUT" in refusal(shards)


@pytest.mark.parametrize("cut", [1000, 20_000])
def test_a_cut_tar_is_refused(shards, photos, cut):
    path = other.webdataset_tar(shards / "s-0.tar", photos)
    truncate(path, path.stat().st_size - cut if cut == 20_000 else cut)
    assert "cut" in refusal(shards, code=DAMAGE)


def test_bad_samples_of_a_tar_are_rejected_one_by_one(shards, photos):
    good = [(f"{p.key}.jpg", p.bytes) for p in photos] + [("x/../../../etc/passwd.jpg", photos[0].bytes)]
    good += [("text.jpg", b"no image at all"), ("cut.jpg", photos[0].bytes[:-40]), ("empty.jpg", b"")]
    good += [("alone.json", b'{"label": 1}'), ("000000.jpg", photos[1].bytes)]
    other.write_tar(shards / "s-0.tar", good)
    found = rejects(shards)
    assert set(found) == {"x/../../../etc/passwd.jpg", "text", "cut", "empty", "alone.json", "000000.jpg"}
    assert "leaves the archive" in found["x/../../../etc/passwd.jpg"]


def test_labels_out_of_the_class_list_are_rejected(shards, photos):
    members = [m for p in photos for m in ((f"{p.key}.jpg", p.bytes), (f"{p.key}.cls", str(p.label).encode()))]
    other.write_tar(shards / "s-0.tar", members)
    (shards.parent / "classes").write_text("one\ntwo\n")
    found = rejects(shards, "--classes", shards.parent / "classes")
    assert set(found) == {p.key for p in photos if p.label == 2}


def test_keys_that_repeat_across_shards_are_qualified(shards, photos):
    for name in ("s-0.tar", "s-1.tar"):
        other.webdataset_tar(shards / name, photos)
    report = index(shards)
    assert report["packed"] == 2 * len(photos) and "repeat" in report["notes"][0]
    assert [s["key"] for s in listed(shards)][:: len(photos)] == ["s-0.tar/000000", "s-1.tar/000000"]
    assert packhorse("inspect", shards, "--verify", "full", "--json").json["ok"]


def test_damage_after_adoption_is_found(shards, photos):
    path = other.webdataset_tar(shards / "s-0.tar", photos)
    index(shards)
    sample = listed(shards)[1]
    flip_byte(path, sample["offset"] + 30)
    report = run("inspect", shards, "--verify", "full", "--json")
    assert report.code == DAMAGE
    assert [f["key"] for f in report.json["findings"]] == [sample["key"]]


# --- LMDB


def test_pickled_values_are_never_opened(shards, photos, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path}/ran",)

    items = [(p.key.encode(), pickle.dumps((p.bytes, Bomb()))) for p in photos]
    other.write_lmdb(shards / "s", items)
    assert "pickle" in refusal(shards)
    shutil.rmtree(shards / "s")
    items = [(p.key.encode(), p.bytes) for p in photos]
    other.write_lmdb(shards / "s", [*items, (b"zz", pickle.dumps(photos[0].bytes))])
    assert "pickled" in rejects(shards)["zz"]
    assert not (tmp_path / "ran").exists()


def test_raw_and_damaged_datums_are_rejected(shards, photos):
    items = [(f"a{p.key}".encode(), other.datum(p.bytes, p.label)) for p in photos]
    items += [(b"raw", other.datum(b"\0" * 192, 0, encoded=False)), (b"trash", b"\x22\xff\xff\xff\xff\x0f\1")]
    other.write_lmdb(shards / "s", items)
    found = rejects(shards)
    assert "raw pixels" in found["raw"] and "not a Caffe Datum" in found["trash"]


def test_a_count_that_is_not_right_shows(shards, photos):
    items = [(f"image-{i:09}".encode(), p.bytes) for i, p in enumerate(photos, 1)]
    items += [(f"label-{i:09}".encode(), b"1") for i in range(2, len(photos) + 1)] + [(b"num-samples", b"99")]
    other.write_lmdb(shards / "s", items)
    assert rejects(shards) == {"num-samples": "it says 99, and there are 6 images", "image-000000001": "it has no label"}


def test_keys_may_hold_any_bytes(shards, photos, tmp_path):
    keys = [b"../../up", b"/abs", b"\x00\x01", b"\xff\x1b[31m", b"a/b.c", b"x" * 500]
    other.write_lmdb(shards / "s", [(k, other.datum(p.bytes, p.label)) for k, p in zip(keys, photos)])
    index(shards)
    assert b"\x1b" not in packhorse("inspect", shards, "--list").raw
    assert packhorse("inspect", shards, "--verify", "full", "--json").json["ok"]
    packhorse("unpack", shards, tmp_path / "photos")
    files = [p for p in (tmp_path / "photos").rglob("*") if p.is_file()]
    assert sorted(p.read_bytes() for p in files) == sorted(p.bytes for p in photos)
    packhorse("pack", shards, tmp_path / "out", "--format", "wds")
    assert [s["key"] for s in listed(tmp_path / "out")] == [f"{i:09}" for i in range(6)]


def test_a_cut_or_scrambled_database_never_takes_the_program_down(shards, photos):
    items = [(p.key.encode(), other.datum(p.bytes, p.label)) for p in photos]
    items += [(f"t{i:04}".encode(), other.datum(photos[0].bytes[:900], 0)) for i in range(200)]
    path = other.write_lmdb(shards / "s", items) / "data.mdb"
    whole = path.read_bytes()
    rng = random.Random(7)
    codes = set()
    for _ in range(8):
        damaged = bytearray(whole)
        for _ in range(200):  # headers and node offsets of all pages
            page = rng.randrange(len(whole) // 4096)
            damaged[page * 4096 + rng.randrange(64)] = rng.randrange(256)
        path.write_bytes(damaged)
        codes.add(run("index", shards).code)
        assert not (shards / "dataset.json").exists()
    path.write_bytes(whole[: len(whole) // 2])
    codes.add(run("index", shards).code)
    assert codes <= {FAILED, DAMAGE}, codes


# --- HDF5


@pytest.mark.parametrize(
    "storage, said",
    [
        ({"compression": "gzip"}, "is compressed"),
        ({"chunks": (1, 8, 8, 3)}, "is stored in chunks"),
        ({"maxshape": (None, 8, 8, 3)}, "is stored in chunks"),
    ],
)
def test_arrays_that_are_not_one_piece_are_refused_with_the_way_out(shards, storage, said):
    with h5py.File(shards / "s.h5", "w") as f:
        f.create_dataset("images", data=np.zeros((4, 8, 8, 3), np.uint8), **storage)
    err = refusal(shards)
    assert said in err and "create_dataset" in err


def test_planes_floats_and_other_files_are_refused(shards):
    def made(**arrays):
        with h5py.File(shards / "s.h5", "w") as f:
            for name, data in arrays.items():
                f[name] = data

    made(images=np.zeros((4, 3, 8, 8), np.uint8))
    assert "has the shape (4, 3, 8, 8): each channel is a plane of its own" in refusal(shards)
    made(images=np.zeros((4, 8, 8, 3), np.float32))
    err = refusal(shards)
    assert "has the shape (4, 8, 8, 3) and holds floats of 32 bits" in err and "astype('uint8')" in err
    made(images=np.zeros((4, 8, 8, 3), np.uint8), labels=np.zeros(5, int))
    assert "5 values for 4 images" in refusal(shards, code=DAMAGE)
    made(images=np.zeros(90, np.uint8), offsets=[0, 50, 40])
    assert "offsets" in refusal(shards, code=DAMAGE)
    made(images=np.zeros(90, np.uint8), offsets=[0, 50, 1 << 40])
    assert "offsets" in refusal(shards, code=DAMAGE)
    made(mystery=np.zeros(4))
    assert "--images" in refusal(shards)
    assert "no array" in refusal(shards, "--images", "nothing", code=USAGE)
    with h5py.File(shards.parent / "elsewhere.h5", "w") as f:
        f["images"] = np.zeros((4, 8, 8, 3), np.uint8)
    with h5py.File(shards / "s.h5", "w") as f:
        f["images"] = h5py.ExternalLink("../elsewhere.h5", "images")
    assert "another file" in refusal(shards)


def test_scrambled_references_to_a_heap_are_refused(shards, photos):
    path = other.vlen_hdf5(shards / "s.h5", photos)
    whole = path.read_bytes()
    heap = whole.index(b"GCOL")
    with h5py.File(path) as f:
        references = f["images"].id.get_offset()
    # Length, address and object of a reference; signature and size of the collection; number and size of an object.
    for offset in (references + 2, references + 4, references + 12, heap, heap + 12, heap + 16, heap + 28):
        path.write_bytes(whole)
        flip_byte(path, offset)
        assert run("index", shards).code == DAMAGE, offset
        assert not (shards / "dataset.json").exists()


# --- obstacles


def test_nothing_that_is_there_is_replaced(shards, photos):
    other.webdataset_tar(shards / "s-0.tar", photos)
    for name in ("SHA256SUMS", "dataset.json", "s-0.tar.index", "rejects.jsonl"):
        (shards / name).write_text("somebody's")
        assert "--out" in refusal(shards)
        assert "--out" in refusal(shards, "--overwrite")
        (shards / name).unlink()
    (shards / "classes.txt").write_text("0\n1\nthree\n")  # this becomes the class list
    assert index(shards)["packed"] == len(photos)
    assert (shards / "classes.txt").read_text() == "0\n1\nthree\n"
    assert "--overwrite" in refusal(shards)
    assert index(shards, "--overwrite")["published"]


def test_a_packed_dataset_is_not_replaced(shards, photos, tmp_path):
    other.webdataset_tar(shards / "s-0.tar", photos)
    packhorse("pack", shards, tmp_path / "packed", "--format", "wds")
    before = tree(tmp_path / "packed")
    assert "not from an adoption" in refusal(tmp_path / "packed", "--overwrite")
    refused("index", shards, "--out", tmp_path / "packed", "--overwrite", code=FAILED)
    refused("index", shards, "--out", shards, "--overwrite", code=FAILED)
    assert tree(tmp_path / "packed") == before


def test_the_leftovers_of_a_killed_adoption_are_cleared(shards, photos, tmp_path):
    """The files as they are when the process dies right before dataset.json is moved."""
    other.webdataset_tar(shards / "s-0.tar", photos)
    id_before = index(shards)["id"]
    staging = shards / ".packhorse-index.partial"
    staging.mkdir()
    (staging / "lock").write_text("process 1 on this machine\n")
    names = ["classes.txt", "s-0.tar.index", "SHA256SUMS"]
    (staging / "moved").write_text("".join(f"{other.sum_of(shards / n)}  {n}\n" for n in names))
    (shards / "dataset.json").unlink()
    assert index(shards)["id"] == id_before
    assert not staging.exists()


def test_several_sets_formats_and_folders_are_told_apart(tmp_path, shards, photos):
    other.webdataset_tar(shards / "train-0.tar", photos)
    other.webdataset_tar(shards / "val-0.tar", photos)
    assert "several sets" in refusal(shards, code=USAGE)
    assert index(shards / "train-*.tar", "--out", tmp_path / "train")["packed"] == len(photos)
    other.arrays_hdf5(shards / "s.h5", photos)
    refused("index", shards / "train-0.tar", shards / "s.h5", code=USAGE)
    (tmp_path / "more").mkdir()
    other.webdataset_tar(tmp_path / "more/train-1.tar", photos)
    refused("index", shards / "train-0.tar", tmp_path / "more/train-1.tar", code=USAGE)
    both = index(shards / "train-0.tar", tmp_path / "more/train-1.tar", "--out", tmp_path / "both")
    assert both["packed"] == 2 * len(photos)


def test_pack_does_not_offer_formats_that_are_only_read(tmp_path, shards, photos):
    other.webdataset_tar(shards / "s-0.tar", photos)
    assert "choose one of: wds" in refused("pack", shards, tmp_path / "o", "--format", "wds-any", code=USAGE).err
    assert "-any" not in packhorse("pack", "--help-all").out
    with tarfile.open(shards / "s-0.tar") as archive:
        assert len(archive.getnames()) == 3 * len(photos)


def test_a_shard_whose_name_no_manifest_can_hold_is_refused_by_name(shards, photos):
    other.webdataset_tar(shards / "one.tar", photos)
    os.rename(shards / "one.tar", os.fsencode(shards) + b"/\xff.tar")
    result = refused("index", shards, code=FAILED)
    assert "not UTF-8" in result.err and "\\xff.tar" in result.err and "next:  rename it" in result.err, result
