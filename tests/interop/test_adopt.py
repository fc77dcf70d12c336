"""Foreign shards are adopted unchanged: every byte and label is there, and their files stay untouched."""

import shutil

import adopt_support as other
import pytest
from python_support import listed, pack, packhorse, tree

# name: writer, name of the shard, options of index, extra fields, whether labels are class names
PEERS = {
    "webdataset": (other.webdataset_tar, "s-{}.tar", [], {"txt"}, False),
    "img2dataset": (other.img2dataset_tar, "s-{}.tar", [], {"json", "txt"}, False),
    "pax": (other.pax_tar, "s-{}.tar", [], set(), False),
    "gnu": (other.gnu_tar, "s-{}.tar", [], {"seg.png"}, False),
    "caffe": (other.caffe_lmdb, "s-{}_lmdb", [], set(), False),
    "pairs": (other.pairs_lmdb, "s-{}", [], set(), True),
    "values": (other.values_lmdb, "s-{}.mdb", ["--labels", "labels.txt"], set(), False),
    "members": (other.members_lmdb, "s-{}.lmdb", [], {"txt"}, False),
    "vlen": (other.vlen_hdf5, "s-{}.h5", [], set(), False),
    "chunked vlen": (other.chunked_vlen_hdf5, "s-{}.h5", [], set(), False),
    "flat": (other.flat_hdf5, "s-{}.h5", other.FLAT_NAMES, set(), True),
    "arrays": (other.arrays_hdf5, "s-{}.hdf5", [], set(), False),
}


class Adopted:
    def __init__(self, name, folder):
        self.name = name
        write, shard, options, self.fields, self.named = PEERS[name]
        self.photos = other.some_photos()
        half = len(self.photos) // 2
        self.shards = folder / "shards"
        self.shards.mkdir()
        for i, some in enumerate((self.photos[:half], self.photos[half:])):
            write(self.shards / shard.format(i), some)
        if name == "values":
            self.shards.joinpath("../labels.txt").write_text(
                "".join(f"{shard.format(i // half)}/{i % half} {p.label}\n" for i, p in enumerate(self.photos))
            )
            options = ["--labels", folder / "labels.txt"]
        self.options = options
        self.before = tree(self.shards)
        self.report = packhorse("index", self.shards, "--json", *options).json
        self.raw = name == "arrays"

    def payloads(self):
        """(label, bytes) of each sample as it was written into the shards."""
        if self.raw:
            return [(p.label, a.tobytes()) for p, a in zip(self.photos, other.pixels(self.photos))]
        return [(p.label, p.bytes) for p in self.photos]


@pytest.fixture(scope="module", params=PEERS)
def adopted(request, tmp_path_factory):
    return Adopted(request.param, tmp_path_factory.mktemp("adopted"))


def contents(dataset):
    """(label, bytes) of each sample, cut out of the shards at the offsets from `inspect --list`."""
    found, shards = [], {}
    for sample in listed(dataset):
        if sample["shard"] not in shards:
            shards[sample["shard"]] = (dataset / sample["shard"]).read_bytes()
        at = sample["offset"]
        found.append((sample["label"], shards[sample["shard"]][at : at + sample["bytes"]]))
    return found


def test_every_sample_is_there_with_its_label_and_nothing_of_the_shards_is_touched(adopted):
    after = tree(adopted.shards)
    assert {name: after[name] for name in adopted.before} == adopted.before
    new = {name.decode() for name in after} - {name.decode() for name in adopted.before}
    assert {"dataset.json", "classes.txt", "SHA256SUMS"} < new and len(new) == 5
    report = adopted.report
    assert report["packed"] == len(adopted.photos) and report["rejected"] == 0 and report["shards"] == 2
    assert report["seen"] == report["packed"] + report["skipped"]
    assert contents(adopted.shards) == adopted.payloads()
    names = other.CLASSES if adopted.named else ["0", "1", "2"]
    summary = packhorse("inspect", adopted.shards, "--json").json
    assert [c["name"] for c in summary["classes"]] == names
    verified = packhorse("inspect", adopted.shards, "--verify", "full", "--json").json
    assert verified["ok"] and verified["checked"]["samples"] == len(adopted.photos)


def test_samples_have_their_fields_and_unique_keys_that_name_them(adopted, tmp_path):
    samples = listed(adopted.shards)
    for sample in samples:
        assert {field["name"] for field in sample.get("fields", [])} == adopted.fields
    if "txt" in adopted.fields:
        packhorse("inspect", adopted.shards, "--show", "3", "-o", tmp_path / "x", "--field", "txt")
        assert (tmp_path / "x").read_bytes() in (b"a photo", b"photo 000003")
    assert len({s["key"] for s in samples}) == len(samples)
    if len(samples[3]["key"]) >= 9:  # shorter keys are numbers
        shown = packhorse("inspect", adopted.shards, "--show", samples[3]["key"], "--json").json
        assert shown["sample"] == 3


def test_it_is_read_by_the_loader(adopted):
    runs = packhorse(
        "bench", adopted.shards, "--size", "16", "--repeats", "1", "--min-seconds", "0", "--json"
    ).json["runs"]
    assert runs[0]["images"] == len(adopted.photos)


def test_it_is_converted(adopted, tmp_path):
    layouts = ["wds", "hdf5", "lmdb"]
    form = layouts[list(PEERS).index(adopted.name) % 3]
    fields = ["--fields", "none"] if form == "lmdb" else []
    pack(adopted.shards, tmp_path / "out", "--format", form, *fields)
    assert packhorse("inspect", tmp_path / "out", "--verify", "full", "--json").json["ok"]
    assert contents(tmp_path / "out") == adopted.payloads()


def test_it_is_unpacked_into_class_folders(adopted, tmp_path):
    packhorse("unpack", adopted.shards, tmp_path / "photos")
    found = []
    classes = (adopted.shards / "classes.txt").read_text().split()
    for folder in (tmp_path / "photos").iterdir():
        number = classes.index(folder.name)
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix in (".jpg", ".npy"):
                found.append((number, file.read_bytes()))
    header = 128 if adopted.raw else 0
    assert sorted((label, content[header:]) for label, content in found) == sorted(adopted.payloads())


@pytest.mark.parametrize("adopted", ["webdataset", "values", "vlen"], indirect=True)
def test_the_same_in_a_directory_of_its_own(adopted, tmp_path):
    shards = shutil.copytree(adopted.shards, tmp_path / "shards")
    for name in set(p.name for p in shards.iterdir()) - {n.decode().split("/")[0] for n in adopted.before}:
        (shards / name).unlink()
    before = tree(shards)
    report = packhorse("index", shards, "--out", tmp_path / "data/set", "--json", *adopted.options).json
    assert report["id"] == adopted.report["id"]
    assert tree(shards) == before
    assert packhorse("inspect", tmp_path / "data/set", "--verify", "full", "--json").json["ok"]


@pytest.mark.parametrize("map_size", [2 << 30, 1 << 40], ids=["2 GiB", "1 TiB"])
def test_the_address_space_that_an_lmdb_reserves_is_no_memory(map_size, tmp_path):
    photos = other.some_photos()
    items = [(f"{i:08}".encode(), other.datum(p.bytes, p.label)) for i, p in enumerate(photos)]
    other.write_lmdb(tmp_path / "db", items, map_size=map_size)
    report = packhorse("index", tmp_path / "db", "--out", tmp_path / "out", "--json").json
    assert report["packed"] == len(photos)
    packhorse("inspect", tmp_path / "out", "--verify", "full")
