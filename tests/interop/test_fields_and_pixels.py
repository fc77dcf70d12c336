"""Other readers see extra fields, raw pixels and compressed shards exactly as the source and `inspect` do."""

import io
import json
import shutil
import subprocess
import tarfile

import pytest
from python_support import CARRIERS, SHAPES, listed, packhorse, run, shards_of

FIELDS = ["json", "seg.png", "txt"]


def packed(source, out, *options):
    packhorse("pack", source, out, "--shard-samples", "7", *options)
    return out


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Pictures in three classes."""
    folder = tmp_path_factory.mktemp("pictures")
    for klass in sorted(p for p in (SHAPES / "train").iterdir() if p.is_dir())[:3]:
        (folder / klass.name).mkdir()
        for i, picture in enumerate(sorted(p for p in klass.iterdir() if p.suffix == ".jpg")[:6]):
            shutil.copyfile(picture, folder / klass.name / f"{i}.jpg")
    return folder


@pytest.fixture(scope="module")
def source(pictures, tmp_path_factory):
    """The same with fields. Of three pictures, one has all, one has an empty one, one lacks two."""
    folder = tmp_path_factory.mktemp("source")
    shutil.copytree(pictures, folder, dirs_exist_ok=True)
    for picture in sorted(folder.rglob("*.jpg")):
        i = int(picture.stem)
        if i % 3 != 2:
            picture.with_suffix(".json").write_text(json.dumps({"of": f"{picture.parent.name}/{i}"}))
            picture.with_suffix(".txt").write_text("" if i % 3 else "a caption, ümläut and all")
        picture.with_suffix(".seg.png").write_bytes(picture.read_bytes()[::-1] * (1 + i % 2 * 20))
    return folder


@pytest.fixture(scope="module", params=CARRIERS)
def with_fields(request, source, tmp_path_factory):
    out = tmp_path_factory.mktemp("fields") / "out"
    return request.param, packed(source, out, "--format", request.param, "--fields", ",".join(FIELDS))


@pytest.fixture(scope="module")
def compressed(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("zstd") / "out"
    return packed(source, out, "--format", "wds", "--compress", "zstd", "--fields", ",".join(FIELDS))


@pytest.fixture(scope="module")
def raw(request, pictures, tmp_path_factory):
    out = tmp_path_factory.mktemp("raw") / "out"
    return request.param, packed(pictures, out, "--format", request.param, "--image", "raw", "--size", "24")


def expected(source, dataset):
    """(key, label, {member: bytes}) of each sample, with the image as "jpg"."""
    labels = {path.name: label for label, path in enumerate(sorted(source.iterdir()))}
    samples = []
    for sample in listed(dataset):
        image = source / sample["path"]
        files = {"jpg": image, **{field: image.with_suffix(f".{field}") for field in FIELDS}}
        members = {name: file.read_bytes() for name, file in files.items() if file.exists()}
        samples.append((sample["key"], labels[image.parent.name], members))
    return samples


def grouped(members):
    """(key, label, members) of each sample, from the (name, bytes) of its adjacent members."""
    samples = []
    for name, data in members:
        key, extension = name.split(".", 1)
        if not samples or samples[-1][0] != key:
            samples.append((key, {}))
        assert extension not in samples[-1][1]
        samples[-1][1][extension] = data
    return [(key, int(found.pop("cls")), found) for key, found in samples]


def tar_members(stream):
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        return [(member.name, tar.extractfile(member).read()) for member in tar]


def lmdb_members(shard):
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(shard.parent), readonly=True, lock=False) as environment, environment.begin() as txn:
        return [(key.decode(), bytes(value)) for key, value in txn.cursor()]


def h5_samples(shard):
    with pytest.importorskip("h5py").File(shard) as file:
        for i, key in enumerate(file["keys"][()]):
            begin, end = file["images/offsets"][i : i + 2]
            members = {"jpg": file["images/data"][begin:end].tobytes()}
            for name, field in file["fields"].items():
                assert [str(field[x].dtype) for x in ("data", "offsets", "present")] == ["uint8", "uint64", "uint8"]
                assert field["data"].chunks is None
                begin, end = field["offsets"][i : i + 2]
                if field["present"][i]:
                    members[name] = field["data"][begin:end].tobytes()
                else:
                    assert begin == end
            yield key.decode(), int(file["labels"][i]), members


def webdataset_samples(urls):
    wds = pytest.importorskip("webdataset")
    for sample in wds.WebDataset(urls, shardshuffle=False):
        fields = {name: data for name, data in sample.items() if name != "cls" and not name.startswith("__")}
        yield sample["__key__"], int(sample["cls"]), fields


def test_peers_read_every_field(with_fields, source):
    form, dataset = with_fields
    found, wanted = [], expected(source, dataset)
    for shard in shards_of(dataset):
        if form == "hdf5":
            found += h5_samples(shard)
        else:
            found += grouped(tar_members(open(shard, "rb")) if form == "wds" else lmdb_members(shard))
    assert found == wanted
    if form == "wds":
        assert list(webdataset_samples([str(shard) for shard in shards_of(dataset)])) == wanted


def test_fields_are_counted_shown_located_and_unpacked(with_fields, source, tmp_path):
    _, dataset = with_fields
    samples = expected(source, dataset)
    counts = [{"name": field, "samples": sum(field in members for _, _, members in samples)} for field in FIELDS]
    assert packhorse("inspect", dataset, "--json").json["fields"] == counts
    for sample, (key, _, members) in zip(listed(dataset), samples, strict=True):
        shard = (dataset / sample["shard"]).read_bytes()
        found = {f["name"]: shard[f["offset"] : f["offset"] + f["bytes"]] for f in sample["fields"]}
        assert found | {"jpg": members["jpg"]} == members
    for key, _, members in samples[:3]:
        for field in FIELDS:
            result = run("inspect", dataset, "--show", key, "--field", field, "-o", tmp_path / "field")
            if field in members:
                assert result.code == 0 and (tmp_path / "field").read_bytes() == members[field]
            else:
                assert "no field" in result.err
    packhorse("unpack", dataset, tmp_path / "files")
    unpacked, files = ({p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}
                       for root in (tmp_path / "files", source))  # fmt: skip
    assert unpacked == files


def test_zstd_tar_and_webdataset_read_compressed_shards(compressed, source):
    found, shards, wanted = [], shards_of(compressed), expected(source, compressed)
    for shard in shards:
        assert shard.name.endswith(".tar.zst")
        subprocess.run(["zstd", "-tq", shard], check=True)
        content = subprocess.run(["zstd", "-dc", shard], capture_output=True, check=True).stdout
        names = subprocess.run(["tar", "t"], input=content, capture_output=True, check=True).stdout
        members = tar_members(io.BytesIO(content))
        assert names.decode().splitlines() == [name for name, _ in members]
        found += grouped(members)
    assert found == wanted
    assert list(webdataset_samples([f"pipe:zstd -dc {shard}" for shard in shards])) == wanted


def test_the_zstandard_package_reads_one_frame_alone(compressed, source):
    zstandard = pytest.importorskip("zstandard")
    found = []
    for sample in listed(compressed):
        frame = sample["frame"]
        stored = (compressed / sample["shard"]).read_bytes()[frame["offset"] :][: frame["bytes"]]
        content = zstandard.ZstdDecompressor().decompress(stored)
        assert len(content) == frame["content_bytes"]
        begin = sample["offset"] - frame["content_offset"]
        assert content[begin : begin + sample["bytes"]] == (source / sample["path"]).read_bytes()
        found += grouped(tar_members(io.BytesIO(content + bytes(1024))))
    assert found == expected(source, compressed)


@pytest.mark.parametrize("raw", CARRIERS, indirect=True)
def test_numpy_h5py_and_webdataset_read_raw_pixels(raw, tmp_path):
    numpy = pytest.importorskip("numpy")
    form, dataset = raw
    pixels, shards = [], shards_of(dataset)
    for shard in shards:
        if form == "hdf5":
            with pytest.importorskip("h5py").File(shard) as file:
                assert file["images"].chunks is None
                pixels += list(file["images"][()])
        else:
            members = tar_members(open(shard, "rb")) if form == "wds" else lmdb_members(shard)
            pixels += [numpy.load(io.BytesIO(data)) for name, data in members if name.endswith(".npy")]
    samples = listed(dataset)
    for image, sample in zip(pixels, samples, strict=True):
        assert image.dtype == numpy.uint8 and image.shape == (24, 24, 3) and image.std() > 0
        with open(dataset / sample["shard"], "rb") as file:
            file.seek(sample["offset"])
            assert file.read(sample["bytes"]) == image.tobytes()
    packhorse("inspect", dataset, "--show", samples[-1]["key"], "-o", tmp_path / "image.npy")
    assert (numpy.load(tmp_path / "image.npy") == pixels[-1]).all()
    if form == "wds":
        webdataset = pytest.importorskip("webdataset")
        decoded = webdataset.WebDataset([str(shard) for shard in shards], shardshuffle=False).decode()
        assert (numpy.stack([sample["npy"] for sample in decoded]) == numpy.stack(pixels)).all()


@pytest.mark.thorough
@pytest.mark.parametrize("raw", ["lmdb"], indirect=True)
def test_dali_reads_raw_datums_as_interleaved(raw):
    _, dataset = raw
    dali = pytest.importorskip("nvidia.dali")

    @dali.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline(path):
        images, labels = dali.fn.readers.caffe(path=path)
        return images, labels

    for shard in shards_of(dataset):
        pipe = pipeline(str(shard.parent))
        pipe.build()
        for sample in (s for s in listed(dataset) if dataset / s["shard"] == shard):
            image, label = pipe.run()
            with open(shard, "rb") as file:
                file.seek(sample["offset"])
                assert image.at(0).tobytes() == file.read(sample["bytes"])
            assert image.at(0).shape == (24, 24, 3)
            assert int(label.at(0)[0]) == sample["label"]
