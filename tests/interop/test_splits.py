"""Other people's readers see every image and label of what `pack` wrote from a folder with splits, without an option."""

import io
import os
import subprocess
import sys

import pytest
from python_support import SHAPES, listed, pack, packhorse, shards_of
from test_peers import datum, expected

SPLITS = ["train", "val"]
KINDS = ["bmp", "jpg", "png", "webp"]

# Prints a line for each sample: split, key, label, image in hexadecimal. In a process of its own: `datasets` reads its
# settings when it is imported, and they must keep it off the network and in the test's directory.
READ_WITH_DATASETS = """
import sys
import datasets
datasets.disable_progress_bars()
splits = datasets.load_dataset(sys.argv[1])
for split, rows in splits.items():
    kinds = [name for name, kind in rows.features.items() if isinstance(kind, datasets.Image)]
    names = getattr(rows.features["cls"], "names", None)
    for name in kinds:
        rows = rows.cast_column(name, datasets.Image(decode=False))
    for row in rows:
        (image,) = [row[name]["bytes"] for name in kinds if row[name] is not None]
        print(split, row["__key__"].split("/")[-1], row["cls"], names and names[row["cls"]], image.hex())
"""


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    scratch = tmp_path_factory.mktemp("splits")
    for form in ("wds", "lmdb", "lmdb-members", "hdf5"):
        pack(SHAPES, scratch / form, "--format", form)
    return scratch


def read_with_datasets(path, scratch):
    pytest.importorskip("datasets")
    done = subprocess.run(
        [sys.executable, "-c", READ_WITH_DATASETS, path],
        env={**os.environ, "HF_HOME": str(scratch / "hf"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ") for line in done.stdout.splitlines()]
    return [(split, (key, int(label), bytes.fromhex(image)), name) for split, key, label, name, image in lines]


def test_datasets_finds_the_splits_and_reads_all_of_them(packed, tmp_path):
    found = read_with_datasets(packed / "wds", tmp_path)
    wanted = [(split, row) for split in SPLITS for row in expected(SHAPES / split, packed / "wds" / split)]
    assert [row[:2] for row in found] == wanted
    classes = (packed / "wds/train/classes.txt").read_text().splitlines()
    assert [name for *_, name in found] == [classes[row[1]] for _, row in wanted]
    assert {s["kind"] for s in listed(packed / "wds/train")} == {"jpeg", "png", "webp", "bmp"}


def test_datasets_reads_a_dataset_without_splits_and_one_split_of_several(packed, tmp_path):
    pack(SHAPES / "val", tmp_path / "one", "--format", "wds", "--shard-samples", "20")
    packhorse("export-index", tmp_path / "one")
    found = read_with_datasets(tmp_path / "one", tmp_path)
    assert [row[:2] for row in found] == [("train", row) for row in expected(SHAPES / "val", tmp_path / "one")]
    packhorse("export-index", packed / "wds/val")
    try:
        found = read_with_datasets(packed / "wds/val", tmp_path)
    finally:
        (packed / "wds/val/README.md").unlink()
    assert [row[1] for row in found] == expected(SHAPES / "val", packed / "wds/val")


def test_webdataset_reads_each_split(packed):
    wds = pytest.importorskip("webdataset")
    for split in SPLITS:
        urls = [str(shard) for shard in shards_of(packed / "wds" / split)]
        found = []
        for sample in wds.WebDataset(urls, shardshuffle=False):
            (image,) = [sample[kind] for kind in KINDS if kind in sample]
            found.append((sample["__key__"], int(sample["cls"]), image))
        assert found == expected(SHAPES / split, packed / "wds" / split)


def test_wids_reads_each_split(packed, tmp_path, monkeypatch):
    wids = pytest.importorskip("wids")
    monkeypatch.setenv("WIDS_CACHE", str(tmp_path))
    for split in SPLITS:
        dataset = wids.ShardListDataset(str(packed / "wds" / split / "wids.json"), transformations=[])
        found = []
        for sample in (dataset[i] for i in range(len(dataset))):
            (image,) = [sample[f".{kind}"].read() for kind in KINDS if f".{kind}" in sample]
            found.append((sample["__key__"], int(sample[".cls"].read()), image))
        assert found == expected(SHAPES / split, packed / "wds" / split)


def test_timm_reads_each_split(packed):
    reader_wds = pytest.importorskip("timm.data.readers.reader_wds")
    image_module = pytest.importorskip("PIL.Image")
    for split in SPLITS:
        reader = reader_wds.ReaderWds(str(packed / "wds" / split), split=split, input_key=";".join(KINDS))
        wanted = expected(SHAPES / split, packed / "wds" / split)
        for (image, label), (_, wanted_label, data) in zip(reader, wanted, strict=True):
            assert label == wanted_label
            assert image.tobytes() == image_module.open(io.BytesIO(data)).convert("RGB").tobytes()


def test_dali_reads_each_split(packed):
    pytest.importorskip("nvidia.dali")
    from test_training_readers import dali_samples

    for split in SPLITS:
        wanted = expected(SHAPES / split, packed / "wds" / split)
        tars = shards_of(packed / "wds" / split)

        def readers(fn, tars=tars):
            return fn.webdataset(
                paths=[str(tar) for tar in tars],
                index_paths=[str(tar.with_suffix(".idx")) for tar in tars],
                ext=[";".join(KINDS), "cls"],
                missing_component_behavior="error",
            )

        found = [(int(bytes(label)), bytes(image)) for image, label in dali_samples(readers, len(wanted))]
        assert found == [(label, image) for _, label, image in wanted]


def test_h5py_reads_each_split(packed):
    h5py = pytest.importorskip("h5py")
    for split in SPLITS:
        found = []
        for shard in shards_of(packed / "hdf5" / split):
            with h5py.File(shard) as file:
                data, offsets = file["images/data"][()], file["images/offsets"][()]
                for i, key in enumerate(file["keys"][()]):
                    image = data[offsets[i] : offsets[i + 1]].tobytes()
                    found.append((key.decode(), int(file["labels"][i]), image))
        assert found == expected(SHAPES / split, packed / "hdf5" / split)


@pytest.mark.parametrize("form", ["lmdb", "lmdb-members"])
def test_the_lmdb_package_reads_each_split(packed, form):
    lmdb = pytest.importorskip("lmdb")
    for split in SPLITS:
        found = {}
        for shard in shards_of(packed / form / split):
            with lmdb.open(str(shard.parent), readonly=True, lock=False) as environment, environment.begin() as txn:
                for key, value in txn.cursor():
                    name, _, extension = key.decode().partition(".")
                    sample = found.setdefault(name, {})
                    if form == "lmdb":
                        sample.update(image=datum(value)[4], label=datum(value)[5])
                    elif extension == "cls":
                        sample["label"] = int(value)
                    else:
                        sample["image"] = bytes(value)
        rows = [(key, sample["label"], sample["image"]) for key, sample in found.items()]
        assert rows == expected(SHAPES / split, packed / form / split)


@pytest.mark.parametrize("form", ["lmdb", "lmdb-members"])
def test_one_environment_for_each_split(form, tmp_path):
    """`--shard-bytes none`: the environment can be opened for writing with a larger map, and grown."""
    lmdb = pytest.importorskip("lmdb")
    pack(SHAPES, tmp_path / "out", "--format", form, "--shard-bytes", "none")
    for split in SPLITS:
        (shard,) = shards_of(tmp_path / "out" / split)
        with lmdb.open(str(shard.parent), readonly=True, lock=False) as environment:
            assert environment.info()["map_size"] >= shard.stat().st_size
            entries = environment.stat()["entries"]
        with lmdb.open(str(shard.parent), map_size=1 << 30) as environment:
            with environment.begin(write=True) as txn:
                assert txn.put(b"zzz", b"more")
            assert environment.stat()["entries"] == entries + 1
