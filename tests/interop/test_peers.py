"""Other people's readers see the same images, labels and order as the source folder and `inspect --list`."""

import subprocess
import tarfile

import pytest
from python_support import LAYOUTS, SHAPES, files_of, listed, pack, shards_of


def expected(folder, dataset):
    """(key, label, image bytes) of each sample: order and keys come from `inspect`, the rest from the source."""
    labels = {name: label for label, name in enumerate(sorted(p.name for p in folder.iterdir() if p.is_dir()))}
    return [(s["key"], labels[s["path"].split("/")[0]], (folder / s["path"]).read_bytes()) for s in listed(dataset)]


def datum(value):
    """Fields of a Caffe Datum (a protobuf message) by number."""

    def varint(at):
        number = shift = 0
        while True:
            number |= (value[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if value[at - 1] < 0x80:
                return number, at

    fields, at = {}, 0
    while at < len(value):
        tag, at = varint(at)
        assert tag >> 3 not in fields
        fields[tag >> 3], at = varint(at)
        if tag & 7 == 2:
            size = fields[tag >> 3]
            fields[tag >> 3], at = value[at : at + size], at + size
        else:
            assert tag & 7 == 0
    return fields


def test_all_of_the_source_is_there_and_in_one_order(packed):
    datasets = {layout: packed(layout) for layout in LAYOUTS}
    for number, (folder, first) in enumerate(datasets["wds"]):
        images = [p for p in folder.rglob("*") if p.is_file() and p.suffix != ".txt" and not p.name.startswith(".")]
        samples = expected(folder, first)
        assert sorted(s["path"] for s in listed(first)) == sorted(str(p.relative_to(folder)) for p in images)
        assert all(expected(*datasets[layout][number]) == samples for layout in LAYOUTS)


def test_tarfile_reads_the_tar_shards(packed):
    for folder, dataset in packed("wds"):
        found = []
        for shard in shards_of(dataset):
            with tarfile.open(shard, "r:") as tar:
                members = tar.getmembers()
                for image, label in zip(members[0::2], members[1::2], strict=True):
                    key, extension = image.name.split(".")
                    assert extension in ("jpg", "png", "webp", "bmp") and label.name == key + ".cls"
                    for one in (image, label):
                        assert one.isreg() and (one.mtime, one.uid, one.gid, one.mode) == (0, 0, 0, 0o644)
                    found.append((key, int(tar.extractfile(label).read()), tar.extractfile(image).read()))
        assert found == expected(folder, dataset)


def test_webdataset_reads_the_tar_shards(packed):
    wds = pytest.importorskip("webdataset")
    for folder, dataset in packed("wds"):
        found = []
        for sample in wds.WebDataset([str(shard) for shard in shards_of(dataset)], shardshuffle=False):
            (image,) = [data for name, data in sample.items() if name != "cls" and not name.startswith("__")]
            found.append((sample["__key__"], int(sample["cls"]), image))
        assert found == expected(folder, dataset)


def test_gnu_tar_lists_and_extracts_the_tar_shards(packed, tmp_path):
    for folder, dataset in packed("wds"):
        found = []
        for shard in shards_of(dataset):
            command = ["tar", "xvf", shard, "--no-same-owner"]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, "")
            names = [tmp_path / name for name in done.stdout.splitlines()]
            for image, label in zip(names[0::2], names[1::2], strict=True):
                found.append((label.stem, int(label.read_text()), image.read_bytes()))
        assert found == expected(folder, dataset)


@pytest.mark.parametrize("layout", ["lmdb", "lmdb-members"])
def test_the_lmdb_package_reads_the_lmdb_shards(packed, layout):
    lmdb = pytest.importorskip("lmdb")
    for folder, dataset in packed(layout):
        found = {}
        for shard in shards_of(dataset):
            with lmdb.open(str(shard.parent), readonly=True, lock=False) as environment, environment.begin() as txn:
                for key, value in txn.cursor():
                    name, _, extension = key.decode().partition(".")
                    sample = found.setdefault(name, {})
                    if layout == "lmdb":
                        fields = datum(value)
                        assert sorted(fields) == [4, 5, 7] and fields[7] == 1 and not sample
                        sample.update(label=fields[5], image=fields[4])
                    else:
                        kind, content = ("label", int(value)) if extension == "cls" else ("image", bytes(value))
                        assert sample.setdefault(kind, content) is content
        assert [(key, one["label"], one["image"]) for key, one in found.items()] == expected(folder, dataset)


@pytest.mark.parametrize("layout", ["lmdb", "lmdb-members"])
def test_one_lmdb_environment_for_each_split_can_be_grown(tmp_path, layout):
    lmdb = pytest.importorskip("lmdb")
    pack(SHAPES, tmp_path / "out", "--format", layout, "--shard-bytes", "none")
    for split in ("train", "val"):
        (shard,) = shards_of(tmp_path / "out" / split)
        with lmdb.open(str(shard.parent), readonly=True, lock=False) as environment:
            assert environment.info()["map_size"] >= shard.stat().st_size
            entries = environment.stat()["entries"]
        with lmdb.open(str(shard.parent), map_size=1 << 30) as environment:
            with environment.begin(write=True) as txn:
                assert txn.put(b"zzz", b"more")
            assert environment.stat()["entries"] == entries + 1


def test_h5py_reads_the_hdf5_shards(packed):
    h5py = pytest.importorskip("h5py")
    for folder, dataset in packed("hdf5"):
        classes = sorted(p.name for p in folder.iterdir() if p.is_dir())
        found = []
        for shard in shards_of(dataset):
            with h5py.File(shard) as file:
                names = ("images/data", "images/offsets", "labels", "keys")
                data, offsets, labels, keys = (file[name][()] for name in names)
                assert [str(x.dtype) for x in (data, offsets, labels)] == ["uint8", "uint64", "int64"]
                assert file["images/data"].chunks is None and offsets[0] == 0 and offsets[-1] == len(data)
                assert len(offsets) == len(labels) + 1 == len(keys) + 1
                assert [x.decode() if isinstance(x, bytes) else x for x in file.attrs["classes"]] == classes
                for i, key in enumerate(keys):
                    found.append((key.decode(), int(labels[i]), data[offsets[i] : offsets[i + 1]].tobytes()))
        assert found == expected(folder, dataset)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_listed_byte_range_of_each_image_holds_it_and_sha256sum_proves_every_file(packed, layout):
    for folder, dataset in packed(layout):
        samples = listed(dataset)
        for sample in samples:
            with open(dataset / sample["shard"], "rb") as file:
                file.seek(sample["offset"])
                assert file.read(sample["bytes"]) == (folder / sample["path"]).read_bytes()
        command = ["sha256sum", "--strict", "-c", "SHA256SUMS"]
        done = subprocess.run(command, cwd=dataset, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stderr == "", done
        proved = {line.removesuffix(": OK") for line in done.stdout.splitlines()}
        assert proved | {"SHA256SUMS"} == set(files_of(dataset))
