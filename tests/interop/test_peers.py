"""Other people's readers see the same images, labels and order as the source folder and `inspect --list`."""

import shutil
import subprocess
import tarfile

import pytest
from python_support import FORMATS, SHAPES, files_of, listed, pack, photos, shards_of

# The images of each source fill several shards, so that numbering across shards is tested too.
SOURCES = {
    "shapes": ("--shard-samples", "37"),
    "imagenet200": ("--shard-bytes", "6MiB"),
    "cifar10": ("--shard-samples", "600"),
}


def some_of_cifar10(scratch):
    """200 images of each of the ten classes."""
    for folder in sorted(photos("cifar10/test").iterdir()):
        (scratch / folder.name).mkdir(parents=True)
        for image in sorted(folder.iterdir())[:200]:
            shutil.copyfile(image, scratch / folder.name / image.name)
    return scratch


@pytest.fixture(scope="module", params=SOURCES)
def source(request, tmp_path_factory):
    scratch = tmp_path_factory.mktemp(request.param)
    folder = {
        "shapes": lambda: SHAPES / "train",
        "imagenet200": lambda: photos("imagenet/imagenet200"),
        "cifar10": lambda: some_of_cifar10(scratch / "source"),
    }[request.param]()
    for form in FORMATS:
        pack(folder, scratch / form, "--format", form, *SOURCES[request.param])
    return folder, scratch


def expected(folder, dataset):
    """(key, label, image bytes) of each sample: order and keys come from `inspect`, the rest from the source."""
    labels = {
        name: label for label, name in enumerate(sorted(p.name for p in folder.iterdir() if p.is_dir()))
    }
    return [
        (s["key"], labels[s["path"].split("/")[0]], (folder / s["path"]).read_bytes())
        for s in listed(dataset)
    ]


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


def test_the_datum_parser_reads_what_caffe_would_write():
    assert datum(b"\x22\x03abc\x28\xac\x02\x38\x01") == {4: b"abc", 5: 300, 7: 1}


def test_all_of_the_source_is_there(source):
    folder, scratch = source
    images = sorted(
        str(p.relative_to(folder))
        for p in folder.rglob("*")
        if p.is_file() and p.suffix != ".txt" and not p.name.startswith(".")
    )
    for form in FORMATS:
        assert sorted(s["path"] for s in listed(scratch / form)) == images
        assert len(shards_of(scratch / form)) > 1


def test_all_formats_hold_the_samples_in_the_same_order(source):
    folder, scratch = source
    wds, lmdb, hdf5 = (expected(folder, scratch / form) for form in FORMATS)
    assert wds == lmdb == hdf5


def test_tarfile_reads_the_tar_shards(source):
    folder, scratch = source
    found = []
    for shard in shards_of(scratch / "wds"):
        with tarfile.open(shard, "r:") as tar:
            members = tar.getmembers()
            for image, label in zip(members[0::2], members[1::2], strict=True):
                key, extension = image.name.split(".")
                assert extension in ("jpg", "png", "webp", "bmp") and label.name == key + ".cls"
                for member in (image, label):
                    assert member.isreg() and (member.mtime, member.uid, member.gid, member.mode) == (
                        0,
                        0,
                        0,
                        0o644,
                    )
                found.append((key, int(tar.extractfile(label).read()), tar.extractfile(image).read()))
    assert found == expected(folder, scratch / "wds")


def test_webdataset_reads_the_tar_shards(source):
    wds = pytest.importorskip("webdataset")
    folder, scratch = source
    urls = [str(shard) for shard in shards_of(scratch / "wds")]
    found = []
    for sample in wds.WebDataset(urls, shardshuffle=False):
        (image,) = [
            value
            for field, value in sample.items()
            if field not in ("cls", "__key__", "__url__", "__local_path__")
        ]
        found.append((sample["__key__"], int(sample["cls"]), image))
    assert found == expected(folder, scratch / "wds")


def test_gnu_tar_lists_and_extracts_the_tar_shards(source, tmp_path):
    version = subprocess.run(["tar", "--version"], capture_output=True, text=True, check=False).stdout
    if "GNU tar" not in version:
        pytest.skip("tar is not GNU tar")
    folder, scratch = source
    found = []
    for shard in shards_of(scratch / "wds"):
        done = subprocess.run(["tar", "tf", shard], capture_output=True, text=True, check=True)
        assert done.stderr == ""
        subprocess.run(["tar", "xf", shard, "--no-same-owner"], cwd=tmp_path, check=True)
        names = done.stdout.splitlines()
        for image, label in zip(names[0::2], names[1::2], strict=True):
            found.append(
                (image.split(".")[0], int((tmp_path / label).read_text()), (tmp_path / image).read_bytes())
            )
    assert found == expected(folder, scratch / "wds")


def test_the_lmdb_package_reads_the_lmdb_shards(source):
    lmdb = pytest.importorskip("lmdb")
    folder, scratch = source
    found = []
    for shard in shards_of(scratch / "lmdb"):
        with lmdb.open(
            str(shard.parent), readonly=True, lock=False
        ) as environment, environment.begin() as txn:
            for key, value in txn.cursor():
                fields = datum(value)
                assert sorted(fields) == [4, 5, 7] and fields[7] == 1
                found.append((key.decode(), fields[5], fields[4]))
    assert found == expected(folder, scratch / "lmdb")


def test_h5py_reads_the_hdf5_shards(source):
    h5py = pytest.importorskip("h5py")
    folder, scratch = source
    classes = sorted(p.name for p in folder.iterdir() if p.is_dir())
    found = []
    for shard in shards_of(scratch / "hdf5"):
        with h5py.File(shard) as file:
            data, offsets, labels, keys = (
                file[name][()] for name in ("images/data", "images/offsets", "labels", "keys")
            )
            assert [str(x.dtype) for x in (data, offsets, labels)] == ["uint8", "uint64", "int64"]
            assert file["images/data"].chunks is None and offsets[0] == 0 and offsets[-1] == len(data)
            assert len(offsets) == len(labels) + 1 == len(keys) + 1
            assert [
                name.decode() if isinstance(name, bytes) else name for name in file.attrs["classes"]
            ] == classes
            for i, key in enumerate(keys):
                found.append((key.decode(), int(labels[i]), data[offsets[i] : offsets[i + 1]].tobytes()))
    assert found == expected(folder, scratch / "hdf5")


@pytest.mark.parametrize("form", FORMATS)
def test_the_listed_byte_range_of_each_image_holds_it(source, form):
    folder, scratch = source
    for sample in listed(scratch / form):
        with open(scratch / form / sample["shard"], "rb") as file:
            file.seek(sample["offset"])
            assert file.read(sample["bytes"]) == (folder / sample["path"]).read_bytes()


@pytest.mark.parametrize("form", FORMATS)
def test_sha256sum_proves_every_published_file(source, form):
    _, scratch = source
    done = subprocess.run(
        ["sha256sum", "--strict", "-c", "SHA256SUMS"],
        cwd=scratch / form,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == "", done
    proved = {line.removesuffix(": OK") for line in done.stdout.splitlines()}
    assert proved | {"SHA256SUMS"} == set(files_of(scratch / form))
