"""The readers of training frameworks see every byte and label: DALI, wids, timm, torchvision, libjpeg's programs."""

import io
import shutil
import subprocess

import pytest
from peer_versions import PEERS, version_of
from python_support import ROOT, SHAPES, listed, pack, packhorse, photos

SOURCES = ["shapes", "imagenet200"]
EXTENSIONS = "jpg;png;webp;bmp"


@pytest.fixture(scope="module", params=SOURCES)
def source(request, tmp_path_factory):
    folder = SHAPES / "train" if request.param == "shapes" else photos("imagenet/imagenet200")
    scratch = tmp_path_factory.mktemp(request.param)
    samples = "50" if request.param == "shapes" else "90"
    for form in ("wds", "lmdb"):
        pack(folder, scratch / form, "--format", form, "--shard-samples", samples)
    return folder, scratch


def expected(folder, dataset):
    """(key, label, image bytes) of each sample: order and keys come from `inspect`, the rest from the source."""
    labels = {path.name: label for label, path in enumerate(p for p in sorted(folder.iterdir()) if p.is_dir())}
    return [
        (s["key"], labels[s["path"].split("/")[0]], (folder / s["path"]).read_bytes())
        for s in listed(dataset)
    ]


def shards(dataset):
    return [dataset / shard["file"] for shard in packhorse("inspect", dataset, "--json").json["shards"]]


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


def test_dali_reads_the_tar_shards_by_our_index(source):
    folder, scratch = source
    wanted = expected(folder, scratch / "wds")
    tars = shards(scratch / "wds")

    def readers(fn):
        return fn.webdataset(
            paths=[str(tar) for tar in tars],
            index_paths=[str(tar.with_suffix(".idx")) for tar in tars],
            ext=[EXTENSIONS, "cls"],
            missing_component_behavior="error",
        )

    found = [(int(bytes(label)), bytes(image)) for image, label in dali_samples(readers, len(wanted))]
    assert found == [(label, image) for _, label, image in wanted]


def test_dali_reads_version_1_1_of_our_index(source, tmp_path):
    folder, scratch = source
    packhorse("export-index", scratch / "wds", "--dali-version", "1.1", "-o", tmp_path)
    tar = shards(scratch / "wds")[1]
    first = sum(s["shard"] == "shard-000000.tar" for s in listed(scratch / "wds"))
    wanted = expected(folder, scratch / "wds")[first : first + 10]

    def readers(fn):
        return fn.webdataset(
            paths=[str(tar)], index_paths=[str(tmp_path / "shard-000001.idx")], ext=[EXTENSIONS, "cls"]
        )

    found = [(int(bytes(label)), bytes(image)) for image, label in dali_samples(readers, len(wanted))]
    assert found == [(label, image) for _, label, image in wanted]


def test_dali_reads_the_lmdb_shards(source):
    folder, scratch = source
    wanted = expected(folder, scratch / "lmdb")
    found = []
    for shard in shards(scratch / "lmdb"):
        count = sum(scratch / "lmdb" / s["shard"] == shard for s in listed(scratch / "lmdb"))

        def readers(fn, path=str(shard.parent)):
            return fn.caffe(path=path)

        found += [(int(label[0]), bytes(image)) for image, label in dali_samples(readers, count)]
    assert found == [(label, image) for _, label, image in wanted]


def test_wids_reads_the_tar_shards_at_random(source, tmp_path, monkeypatch):
    wids = pytest.importorskip("wids")
    folder, scratch = source
    monkeypatch.setenv("WIDS_CACHE", str(tmp_path))
    wanted = expected(folder, scratch / "wds")
    dataset = wids.ShardListDataset(str(scratch / "wds" / "wids.json"), transformations=[])
    assert len(dataset) == len(wanted)
    for i in [*range(0, len(wanted), 7), *range(len(wanted) - 1, -1, -3)]:
        sample = dataset[i]
        (image,) = [value for name, value in sample.items() if name[0] == "." and name != ".cls"]
        assert (sample["__key__"], int(sample[".cls"].read()), image.read()) == wanted[i]
    assert all(tar.exists() for tar in shards(scratch / "wds"))


def test_timm_reads_the_tar_shards_by_our_info(source):
    reader_wds = pytest.importorskip("timm.data.readers.reader_wds")
    image_module = pytest.importorskip("PIL.Image")
    folder, scratch = source
    wanted = expected(folder, scratch / "wds")
    reader = reader_wds.ReaderWds(str(scratch / "wds"), split="train", input_key=EXTENSIONS)
    assert len(reader) == len(wanted)
    found = 0
    for (image, label), (_, wanted_label, data) in zip(reader, wanted, strict=True):
        assert label == wanted_label
        if found % 10 == 0:
            assert image.tobytes() == image_module.open(io.BytesIO(data)).convert("RGB").tobytes()
        found += 1
    assert found == len(wanted)


def test_torchvision_reads_the_unpacked_folder(source, tmp_path):
    datasets = pytest.importorskip("torchvision.datasets")
    folder, scratch = source
    packhorse("unpack", scratch / "wds", tmp_path / "files")
    found = datasets.ImageFolder(str(tmp_path / "files"))
    assert found.classes == (scratch / "wds" / "classes.txt").read_text().splitlines()
    assert found.classes == datasets.ImageFolder(str(folder)).classes
    labels = {s["path"]: s["label"] for s in listed(scratch / "wds")}
    read = {
        path.removeprefix(f"{tmp_path}/files/"): (label, open(path, "rb").read())
        for path, label in found.samples
    }
    assert read == {path: (label, (folder / path).read_bytes()) for path, label in labels.items()}
    image, label = found[len(found) // 2]
    assert image.mode == "RGB" and label == found.targets[len(found) // 2]


def jpegs(dataset, folder):
    """(source file, packed bytes) of every tenth JPEG."""
    for sample in [s for s in listed(dataset) if s["kind"] == "jpeg"][::10]:
        with open(dataset / sample["shard"], "rb") as shard:
            shard.seek(sample["offset"])
            yield folder / sample["path"], shard.read(sample["bytes"])


@pytest.mark.parametrize("mode", ["roi", "resize"])
def test_djpeg_and_jpegtran_read_what_the_image_modes_write(source, mode, tmp_path):
    for program in ("djpeg", "jpegtran"):
        if not shutil.which(program):
            pytest.skip(f"there is no program {program}")

    def output(program, *options, data):
        done = subprocess.run([program, *options], input=data, capture_output=True, check=False)
        assert done.returncode == 0 and done.stderr == b"", done
        return done.stdout

    folder, _ = source
    pack(folder, tmp_path / mode, "--format", "wds", "--image", mode)
    seen = 0
    for file, packed in jpegs(tmp_path / mode, folder):
        pixels = output("djpeg", data=packed)
        assert output("djpeg", data=output("jpegtran", "-copy", "all", "-progressive", data=packed)) == pixels
        if mode == "roi":
            assert pixels == output("djpeg", data=file.read_bytes())
        seen += 1
    assert seen >= 10


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
