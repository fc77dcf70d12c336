"""The readers of training frameworks see every byte and label: DALI, datasets, wids, timm, torchvision, and libjpeg's
programs."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from peer_versions import PEERS, version_of
from python_support import ROOT, SHAPES, copy_tree, listed, pack, packhorse, photos, shards_of
from test_peers import expected

pytestmark = pytest.mark.thorough

EXTENSIONS = "jpg;png;webp;bmp"

# Prints a line for each sample: split, key, label, class, image in hexadecimal. In a process of its own: `datasets`
# reads its settings when it is imported, and they must keep it off the network and in the test's directory.
READ_WITH_DATASETS = """
import sys
import datasets
datasets.disable_progress_bars()
for path in sys.argv[1:]:
    for split, rows in datasets.load_dataset(path).items():
        kinds = [name for name, kind in rows.features.items() if isinstance(kind, datasets.Image)]
        names = getattr(rows.features["cls"], "names", None)
        for name in kinds:
            rows = rows.cast_column(name, datasets.Image(decode=False))
        for row in rows:
            (image,) = [row[name]["bytes"] for name in kinds if row[name] is not None]
            print(split, row["__key__"].split("/")[-1], row["cls"], names and names[row["cls"]], image.hex())
"""


def test_datasets_reads_splits_one_of_them_alone_and_a_dataset_without(packed_shapes, tmp_path):
    pytest.importorskip("datasets")
    splits = packed_shapes("wds")
    alone = copy_tree(splits / "val", tmp_path / "alone")
    pack(SHAPES / "val", tmp_path / "one", "--format", "wds", "--shard-samples", "20")
    for dataset in (alone, tmp_path / "one"):
        packhorse("export-index", dataset)
    home = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    command = [sys.executable, "-c", READ_WITH_DATASETS, splits, alone, tmp_path / "one"]
    done = subprocess.run(command, env={**os.environ, **home}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ") for line in done.stdout.splitlines()]
    found = [(split, key, int(label), bytes.fromhex(image)) for split, key, label, _, image in lines]
    train, val = expected(SHAPES / "train", splits / "train"), expected(SHAPES / "val", alone)
    assert found[:156] == [("train", *row) for row in train] + [("val", *row) for row in val]
    assert [row[1:] for row in found[156:192]] == val
    assert found[192:] == [("train", *row) for row in expected(SHAPES / "val", tmp_path / "one")]
    classes = (splits / "train/classes.txt").read_text().splitlines()
    assert [name for *_, name, _ in lines[:156]] == [classes[row[2]] for row in found[:156]]
    assert {s["kind"] for s in listed(splits / "train")} == {"jpeg", "png", "webp", "bmp"}


def dali_samples(readers, count):
    """Runs a pipeline of one reader on the CPU, sample by sample."""
    dali = pytest.importorskip("nvidia.dali")

    @dali.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return tuple(readers(dali.fn.readers))

    pipe = pipeline()
    pipe.build()
    for _ in range(count):
        yield tuple(output.at(0) for output in pipe.run())


def read_by_dali(tars, indexes, count):
    def readers(fn):
        return fn.webdataset(paths=[str(tar) for tar in tars], index_paths=[str(index) for index in indexes],
                             ext=[EXTENSIONS, "cls"], missing_component_behavior="error")  # fmt: skip

    return [(int(bytes(label)), bytes(image)) for image, label in dali_samples(readers, count)]


def test_dali_reads_the_tar_shards_by_our_index(packed):
    for folder, dataset in packed("wds"):
        wanted, tars = expected(folder, dataset), shards_of(dataset)
        found = read_by_dali(tars, [tar.with_suffix(".idx") for tar in tars], len(wanted))
        assert found == [(label, image) for _, label, image in wanted]


@pytest.mark.parametrize("packed", ["photos"], indirect=True)
def test_dali_reads_version_1_1_of_our_index(packed, tmp_path):
    [(folder, dataset)] = packed("wds")
    packhorse("export-index", dataset, "--dali-version", "1.1", "-o", tmp_path)
    first = sum(s["shard"] == "shard-000000.tar" for s in listed(dataset))
    wanted = expected(folder, dataset)[first : first + 10]
    found = read_by_dali([shards_of(dataset)[1]], [tmp_path / "shard-000001.idx"], len(wanted))
    assert found == [(label, image) for _, label, image in wanted]


def test_dali_reads_the_lmdb_shards(packed):
    for folder, dataset in packed("lmdb"):
        found = []
        for shard in shards_of(dataset):
            count = sum(dataset / s["shard"] == shard for s in listed(dataset))
            samples = dali_samples(lambda fn, path=str(shard.parent): fn.caffe(path=path), count)
            found += [(int(label[0]), bytes(image)) for image, label in samples]
        assert found == [(label, image) for _, label, image in expected(folder, dataset)]


def test_wids_reads_the_tar_shards_at_random(packed, tmp_path, monkeypatch):
    wids = pytest.importorskip("wids")
    for number, (folder, dataset) in enumerate(packed("wds")):
        monkeypatch.setenv("WIDS_CACHE", str(tmp_path / str(number)))
        wanted = expected(folder, dataset)
        read = wids.ShardListDataset(str(dataset / "wids.json"), transformations=[])
        assert len(read) == len(wanted)
        for i in [*range(0, len(wanted), 2), *range(len(wanted) - 1, -1, -1)]:
            sample = read[i]
            (image,) = [value for name, value in sample.items() if name[0] == "." and name != ".cls"]
            assert (sample["__key__"], int(sample[".cls"].read()), image.read()) == wanted[i]
        assert all(tar.exists() for tar in shards_of(dataset))


def test_timm_reads_the_tar_shards_by_our_info(packed):
    reader_wds = pytest.importorskip("timm.data.readers.reader_wds")
    image_module = pytest.importorskip("PIL.Image")
    for folder, dataset in packed("wds"):
        wanted = expected(folder, dataset)
        split = dataset.name if dataset.name in ("train", "val") else "train"
        reader = reader_wds.ReaderWds(str(dataset), split=split, input_key=EXTENSIONS)
        assert len(reader) == len(wanted)
        for (image, label), (_, wanted_label, data) in zip(reader, wanted, strict=True):
            assert label == wanted_label
            assert image.tobytes() == image_module.open(io.BytesIO(data)).convert("RGB").tobytes()


@pytest.mark.parametrize("packed", ["photos"], indirect=True)
def test_torchvision_reads_the_unpacked_folder(packed, tmp_path):
    datasets = pytest.importorskip("torchvision.datasets")
    [(folder, dataset)] = packed("wds")
    packhorse("unpack", dataset, tmp_path / "files")
    found = datasets.ImageFolder(str(tmp_path / "files"))
    assert found.classes == (dataset / "classes.txt").read_text().splitlines()
    assert found.classes == datasets.ImageFolder(str(folder)).classes
    samples = [(Path(path), label) for path, label in found.samples]
    read = {str(path.relative_to(tmp_path / "files")): (label, path.read_bytes()) for path, label in samples}
    assert read == {s["path"]: (s["label"], (folder / s["path"]).read_bytes()) for s in listed(dataset)}
    image, label = found[len(found) // 2]
    assert image.mode == "RGB" and label == found.targets[len(found) // 2]


@pytest.mark.parametrize("mode", ["roi", "resize"])
def test_djpeg_and_jpegtran_read_what_the_image_modes_write(mode, tmp_path):
    def output(program, *options, data):
        done = subprocess.run([program, *options], input=data, capture_output=True, check=False)
        assert done.returncode == 0 and done.stderr == b"", done
        return done.stdout

    folder, out = photos("imagenet/imagenet200"), tmp_path / mode
    pack(folder, out, "--format", "wds", "--image", mode)
    jpegs = [sample for sample in listed(out) if sample["kind"] == "jpeg"][::10]
    for sample in jpegs:
        with open(out / sample["shard"], "rb") as shard:
            shard.seek(sample["offset"])
            stored = shard.read(sample["bytes"])
        pixels = output("djpeg", data=stored)
        assert output("djpeg", data=output("jpegtran", "-copy", "all", "-progressive", data=stored)) == pixels
        if mode == "roi":
            assert pixels == output("djpeg", data=(folder / sample["path"]).read_bytes())
    assert len(jpegs) >= 10


def test_the_page_names_the_readers_and_their_versions():
    """docs/interop.md says which versions were tried: the installed versions must be those."""
    page = (ROOT / "docs/interop.md").read_text()
    missing = []
    for package in PEERS:
        version = version_of(package)
        if version == "not installed":
            missing.append(package)
        else:
            assert f"| `{package}` {version} |" in page, f"docs/interop.md does not say {package} {version}"
    if missing:
        pytest.skip(f"not installed here, so not compared: {', '.join(missing)}")
