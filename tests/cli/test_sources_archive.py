"""`packhorse pack` from archives and from foreign WebDataset shards, from outside."""

import gzip
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard
from python_support import (
    DAMAGE,
    DONE,
    USAGE,
    balanced,
    flip_byte,
    listed,
    make_source,
    pack,
    packhorse,
    paths,
    photo,
    photos,
    refused,
    rejects_of,
    run,
    tree,
)

IMAGES = 12
FLAVOURS = ["v7", "ustar", "oldgnu", "gnu", "pax"]
COMPRESSIONS = ["tar.gz", "tgz", "tar.zst", "tar.xz"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_source(tmp_path_factory.mktemp("source") / "folder", IMAGES)


@pytest.fixture(scope="module")
def from_folder(folder, tmp_path_factory):
    """The dataset that the folder packs to; every archive of it must pack to the same."""
    out = tmp_path_factory.mktemp("packed") / "out"
    pack(folder, out, "--format", "wds")
    return tree(out)


def gnu_tar(archive, folder, *names, flavour="gnu", options=()):
    subprocess.run(
        ["tar", f"--format={flavour}", *options, "-cf", archive, "-C", folder, *(names or ["."])], check=True
    )
    return archive


def compress(tar, suffix):
    """The tar under a new name, compressed as the suffix says."""
    gz, xz, zst = gzip.compress, lzma.compress, zstandard.compress
    how = {"tar": bytes, "tar.gz": gz, "tgz": gz, "tar.xz": xz, "tar.zst": zst}
    target = tar.with_name(f"compressed.{suffix}")
    target.write_bytes(how[suffix](tar.read_bytes()))
    return target


def add(tar, name, data=b"", **fields):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    for field, value in fields.items():
        setattr(member, field, value)
    tar.addfile(member, io.BytesIO(data))


def write_tar(path, members, format=tarfile.PAX_FORMAT):
    with tarfile.open(path, "w", format=format) as tar:
        for name, data in members:
            add(tar, name, data)
    return path


def write_zip(path, folder, method):
    with zipfile.ZipFile(path, "w", method) as archive:
        for file in sorted(folder.rglob("*.jpg")):
            archive.write(file, file.relative_to(folder))
    return path


def same_as_folder(archive, from_folder, out):
    report = pack(archive, out, "--format", "wds")
    assert report["packed"] == IMAGES == report["seen"], report
    assert tree(out) == from_folder
    assert sorted(os.listdir(out.parent)).count(out.name + ".partial") == 0


def damaged(archive, out, *words):
    """Checks that nothing is packed in part: one message with the place, and no dataset."""
    result = refused("pack", archive, out, "--format", "wds", code=DAMAGE)
    for word in ("where: ", *words):
        assert word in result.err, result
    assert not out.exists()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_tar_packs_to_what_its_folder_packs_to(folder, from_folder, tmp_path, flavour):
    same_as_folder(gnu_tar(tmp_path / "a.tar", folder, flavour=flavour), from_folder, tmp_path / "out")


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compressed_archives_pack_to_the_same(folder, from_folder, tmp_path, suffix):
    archive = compress(gnu_tar(tmp_path / "a.tar", folder), suffix)
    same_as_folder(archive, from_folder, tmp_path / "out")
    told_by_content = tmp_path / "download"
    archive.rename(told_by_content)
    same_as_folder(told_by_content, from_folder, tmp_path / "not/there/yet")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_zip_packs_to_the_same(folder, from_folder, tmp_path, method):
    same_as_folder(write_zip(tmp_path / "a.zip", folder, method), from_folder, tmp_path / "out")


def test_several_compressed_pieces_are_one_stream(folder, from_folder, tmp_path):
    data = gnu_tar(tmp_path / "a.tar", folder).read_bytes()
    pieces = [data[:10_000], data[10_000:10_100], data[10_100:]]
    (tmp_path / "b.tar.gz").write_bytes(b"".join(gzip.compress(piece) for piece in pieces) + bytes(1000))
    same_as_folder(tmp_path / "b.tar.gz", from_folder, tmp_path / "gz")
    (tmp_path / "b.tar.xz").write_bytes(b"".join(lzma.compress(piece) for piece in pieces))
    same_as_folder(tmp_path / "b.tar.xz", from_folder, tmp_path / "xz")
    skippable = b"\x50\x2a\x4d\x18" + (8).to_bytes(4, "little") + b"comment."
    (tmp_path / "b.tar.zst").write_bytes(skippable + b"".join(zstandard.compress(piece) for piece in pieces))
    same_as_folder(tmp_path / "b.tar.zst", from_folder, tmp_path / "zst")


@pytest.mark.parametrize("outer, inner", [("tar", "tar"), ("tar.gz", "tar"), ("tar", "tar.gz"), ("tar", "tar.zst")])
def test_a_tar_of_class_tars_packs_to_what_the_folder_packs_to(folder, from_folder, tmp_path, outer, inner):
    """ILSVRC2012_img_train.tar is such an archive: plain tars in a plain tar."""
    work = tmp_path / "work"
    for classdir in sorted(folder.iterdir()):
        work.mkdir(exist_ok=True)
        names = sorted(os.listdir(classdir))
        tar = gnu_tar(work / f"{classdir.name}.tar", classdir, *names)
        compressed = compress(tar, inner)
        tar.unlink(missing_ok=True)
        compressed.rename(work / f"{classdir.name}.{inner}")
    archive = gnu_tar(tmp_path / "train.tar", work, *sorted(os.listdir(work)))
    same_as_folder(compress(archive, outer), from_folder, tmp_path / "out")


@pytest.mark.thorough
@pytest.mark.parametrize("name, source", [("imagenet200.tar", "imagenet/imagenet200"), ("cifar10-jpeg.tar.zst", "cifar10")])
def test_the_data_sets_in_the_archives_they_come_in(tmp_path, name, source):
    folder = photos(source)
    archive = Path(os.environ["PACKHORSE_TEST_DATA"]) / name
    if not archive.exists():
        pytest.skip(f"PACKHORSE_TEST_DATA has no {name}")
    pack(folder, tmp_path / "from-folder", "--format", "wds")
    pack(archive, tmp_path / "from-archive", "--format", "wds")
    assert tree(tmp_path / "from-archive") == tree(tmp_path / "from-folder")


NAMES = ["é.jpg".encode(), "e\u0301.jpg".encode(), b"\xff\xfe.jpg", b"a b'\"\n.jpg", b"x" * 180 + b".jpg", "日本".encode() * 30 + b".jpg"]


@pytest.mark.parametrize("flavour, locale", [("gnu", "C"), ("pax", "C"), ("pax", "C.UTF-8"), ("oldgnu", "C")])
def test_names_come_through_byte_for_byte(tmp_path, monkeypatch, flavour, locale):
    monkeypatch.setenv("LC_ALL", locale)
    source = tmp_path / "source"
    for i, name in enumerate(NAMES):
        target = os.path.join(os.fsencode(source), "klasse-é".encode(), name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(photo(i))
    pack(source, tmp_path / "f", "--format", "wds", "--allow-odd-classes")
    pack(gnu_tar(tmp_path / "a.tar", source, "klasse-é", flavour=flavour), tmp_path / "t", "--format", "wds", "--allow-odd-classes")
    assert tree(tmp_path / "t") == tree(tmp_path / "f")


def test_a_zip_with_names_in_utf8(tmp_path, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("klasse-é/e\u0301.jpg", photo())
    pack(tmp_path / "a.zip", tmp_path / "out", "--format", "wds", "--allow-odd-classes")
    assert paths(tmp_path / "out") == ["klasse-é/e\u0301.jpg"]


@pytest.mark.parametrize("suffix", ["tar", "tar.gz", "tar.zst", "tar.xz", "zip"])
def test_a_cut_archive_is_never_packed_in_part(folder, tmp_path, suffix):
    if suffix == "zip":
        archive = write_zip(tmp_path / "a.zip", folder, zipfile.ZIP_DEFLATED)
    else:
        archive = compress(gnu_tar(tmp_path / "a.tar", folder, options=["--blocking-factor=2"]), suffix)
    size = archive.stat().st_size
    for share in (0.999, 0.95, 0.5, 0.05):
        os.truncate(archive, int(size * share))
        damaged(archive, tmp_path / "out", "damaged or truncated")


def test_damage_between_members_is_told_with_the_last_good_one(tmp_path):
    archive = write_tar(tmp_path / "a.tar", [(f"c/{i}.jpg", photo(i)) for i in range(5)])
    with tarfile.open(archive) as tar:
        offsets = [member.offset for member in tar.getmembers()]
    for i in (0, 4):
        flip_byte(archive, offsets[i] + 3, 1)
        damaged(archive, tmp_path / "out", f"after 'c/{i - 1}.jpg'" if i else "at its first member")
        flip_byte(archive, offsets[i] + 3, 1)
    os.truncate(archive, offsets[3])
    damaged(archive, tmp_path / "out", "after 'c/2.jpg'", "end mark")


@pytest.mark.parametrize("suffix", ["tar.gz", "tar.zst", "tar.xz"])
def test_wrong_checksums_of_the_compression_are_noticed(folder, tmp_path, suffix):
    archive = compress(gnu_tar(tmp_path / "a.tar", folder), suffix)
    size = archive.stat().st_size
    offset = {"tar.gz": size - 6, "tar.zst": size - 2, "tar.xz": size - 8}[suffix]
    flip_byte(archive, offset)
    damaged(archive, tmp_path / "out")


def test_a_second_tar_behind_the_first_is_not_lost(tmp_path):
    one = write_tar(tmp_path / "1.tar", [("c/1.jpg", photo(1))])
    two = write_tar(tmp_path / "2.tar", [("c/2.jpg", photo(2))])
    (tmp_path / "both.tar").write_bytes(one.read_bytes() + two.read_bytes())
    assert pack(tmp_path / "both.tar", tmp_path / "out", "--format", "wds", "--allow-odd-classes")["packed"] == 2


def rejects(archive, out, *options, odd=("--allow-odd-classes",)):
    """path -> reason, and the report"""
    result = run("pack", archive, out, "--format", "wds", "--max-rejects", "100%", "--json", *odd, *options)
    report = result.json
    assert balanced(report), report
    return rejects_of(report), report


def test_paths_that_leave_the_archive_are_rejected_by_name(tmp_path):
    names = ["../../x.jpg", "/etc/x.jpg", "c/../../y.jpg", "c/ok.jpg", "./c/./fine.jpg"]
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name in names:
            add(tar, name, photo())
    found, report = rejects(tmp_path / "a.tar", tmp_path / "out")
    assert found == dict.fromkeys(names[:3], "its path leaves the archive")
    assert report["packed"] == 2
    assert not (tmp_path.parent / "x.jpg").exists()


def test_links_and_special_files(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        add(tar, "c/1.jpg", photo(1))
        add(tar, "c/hard.jpg", type=tarfile.LNKTYPE, linkname="c/1.jpg")
        add(tar, "c/again.jpg", type=tarfile.LNKTYPE, linkname="./c/hard.jpg")
        add(tar, "c/nowhere.jpg", type=tarfile.LNKTYPE, linkname="c/2.jpg")
        add(tar, "c/soft.jpg", type=tarfile.SYMTYPE, linkname="1.jpg")
        add(tar, "c/pipe.jpg", type=tarfile.FIFOTYPE)
        add(tar, "c/notes.txt", b"hello")
        add(tar, "c/.hidden.jpg", photo(2))
    found, report = rejects(tmp_path / "a.tar", tmp_path / "out")
    assert list(found) == ["c/nowhere.jpg"] and "hard link to 'c/2.jpg'" in found["c/nowhere.jpg"]
    assert report["packed"] == 3
    assert report["skipped_by_rule"] == {
        "hidden (its name starts with a dot)": 1,
        "not a regular file": 2,
        "not an image, by name and first bytes": 1,
    }
    images = {sample["path"]: sample["bytes"] for sample in listed(tmp_path / "out")}
    assert images == dict.fromkeys(["c/1.jpg", "c/hard.jpg", "c/again.jpg"], len(photo(1)))


def test_of_two_members_of_one_name_the_earlier_is_rejected(tmp_path):
    archive = write_tar(tmp_path / "a.tar", [("c/1.jpg", photo(1)), ("c/2.jpg", photo(2)), ("./c/1.jpg", photo(3))])
    found, report = rejects(archive, tmp_path / "out")
    assert found == {"c/1.jpg": "the archive holds a file of the same name further on"}
    assert {sample["path"]: sample["bytes"] for sample in listed(tmp_path / "out")}["c/1.jpg"] == len(photo(3))
    proof = run("inspect", tmp_path / "out", "--against", archive)
    assert proof.code == DONE and "1 input rejected as before" in proof.out, proof


def test_a_claimed_size_of_10_gb_is_a_cut_archive(tmp_path):
    member = tarfile.TarInfo("c/1.jpg")
    member.size = 10 << 30
    (tmp_path / "a.tar").write_bytes(member.tobuf() + photo() + bytes(4096))
    damaged(tmp_path / "a.tar", tmp_path / "out")


def test_10_000_empty_members(tmp_path):
    names = (tarfile.TarInfo(f"c/{i:06}.txt").tobuf(tarfile.USTAR_FORMAT) for i in range(10_000))
    (tmp_path / "a.tar").write_bytes(b"".join(names) + write_tar(tmp_path / "b.tar", [("c/1.jpg", photo())]).read_bytes())
    report = pack(tmp_path / "a.tar", tmp_path / "out", "--format", "wds", "--allow-odd-classes")
    assert (report["packed"], report["skipped"]) == (1, 10_000)


def test_sparse_members_are_rejected(tmp_path):
    source = tmp_path / "source" / "c"
    source.mkdir(parents=True)
    (source / "ok.jpg").write_bytes(photo())
    with open(source / "holes.jpg", "wb") as file:
        file.write(photo())
        file.seek(4 << 20)
        file.write(b"end")
    for flavour in ["gnu", "pax"]:
        archive = gnu_tar(tmp_path / f"{flavour}.tar", source.parent, flavour=flavour, options=["--sparse"])
        found, _ = rejects(archive, tmp_path / flavour)
        assert found == {"c/holes.jpg": "stored as a sparse file"}


def test_a_zip_member_that_is_damaged_or_encrypted_is_rejected_alone(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(3):
            archive.writestr(f"c/{i}.jpg", photo(i))
        second = archive.getinfo("c/1.jpg")
    flip_byte(path, second.header_offset + 30 + len("c/1.jpg") + 1000)
    found, report = rejects(path, tmp_path / "out")
    assert list(found) == ["c/1.jpg"] and "CRC" in found["c/1.jpg"] and report["packed"] == 2

    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("c/open.jpg", photo(1))
        archive.writestr("c/secret.jpg", photo())
        secret = archive.getinfo("c/secret.jpg")
    data = (tmp_path / "b.zip").read_bytes()
    flip_byte(tmp_path / "b.zip", secret.header_offset + 6, 1)  # the flag, in both headers
    flip_byte(tmp_path / "b.zip", data.rindex(b"PK\1\2") + 8, 1)
    found, _ = rejects(tmp_path / "b.zip", tmp_path / "out2")
    assert found == {"c/secret.jpg": "encrypted"}


def test_a_zip_member_with_more_content_than_it_claims_is_rejected(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("c/bomb.jpg", bytes(50 << 20))
        archive.writestr("c/ok.jpg", photo())
    data = path.read_bytes()
    claimed = (50 << 20).to_bytes(4, "little")
    assert data.count(claimed) == 2
    path.write_bytes(data.replace(claimed, (1000).to_bytes(4, "little")))
    found, report = rejects(path, tmp_path / "out")
    assert found == {"c/bomb.jpg": "damaged in the archive: it holds more than the size in its header"}
    assert report["packed"] == 1


def test_archives_not_read_inside_an_archive_are_rejected(tmp_path):
    inner = write_tar(tmp_path / "inner.tar", [("1.jpg", photo(1))])
    middle = write_tar(tmp_path / "middle.tar", [("deep.tar", inner.read_bytes()), ("2.jpg", photo(2))])
    archive = write_tar(tmp_path / "a.tar", [("c.tar", middle.read_bytes()), ("d.tar", b"no tar at all")])
    found, report = rejects(archive, tmp_path / "out")
    assert found == dict.fromkeys(["c/deep.tar", "d.tar"], "an archive in the archive that is not read")
    assert report["packed"] == 1


def test_a_compressed_tar_in_a_zip_as_caltech_101_comes(tmp_path):
    """Its class folders are in a .tar.gz in the zip; beside it lie annotations and what a Mac left."""

    def tar(mode, members):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode=mode) as archive:
            for name, data in members:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return file.getvalue()

    names = [f"class_{i:03}" for i in range(12)]
    images = [(f"101_ObjectCategories/{name}/image_0001.jpg", photo(i)) for i, name in enumerate(names)]
    images += [(f"101_ObjectCategories/{name}/._image_0001.jpg", b"mac") for name in names]
    notes = [(f"Annotations/{name}/annotation_0001.mat", b"MATLAB") for name in names]
    with zipfile.ZipFile(tmp_path / "caltech-101.zip", "w") as archive:
        archive.writestr("caltech-101/101_ObjectCategories.tar.gz", tar("w:gz", images))
        archive.writestr("caltech-101/Annotations.tar", tar("w", notes))
        archive.writestr("caltech-101/show_annotation.m", b"x")
        archive.writestr("__MACOSX/caltech-101/._101_ObjectCategories.tar.gz", b"mac")
    report = pack(tmp_path / "caltech-101.zip", tmp_path / "out", "--format", "wds")
    assert (report["packed"], report["rejected"]) == (12, 0)
    assert (tmp_path / "out/classes.txt").read_text().splitlines() == names
    assert {s["path"]: s["label"] for s in listed(tmp_path / "out")} == {
        f"{name}/image_0001.jpg": i for i, name in enumerate(names)
    }
    members = {name.removeprefix("101_ObjectCategories/"): data for name, data in images}
    for sample in listed(tmp_path / "out"):
        with open(tmp_path / "out" / sample["shard"], "rb") as shard:
            shard.seek(sample["offset"])
            assert shard.read(sample["bytes"]) == members[sample["path"]]


def test_other_kinds_of_archives_are_refused(tmp_path):
    (tmp_path / "a.rar").write_bytes(b"Rar!\x1a\x07\x01\x00" + bytes(1000))
    refused("pack", tmp_path / "a.rar", tmp_path / "out", "--format", "wds")
    (tmp_path / "a.tar").write_bytes(b"Rar!\x1a\x07\x01\x00" + bytes(1000))
    damaged(tmp_path / "a.tar", tmp_path / "out")


# Foreign WebDataset shards


def write_shards(folder, count, per_shard, sample, suffix="tar"):
    webdataset = pytest.importorskip("webdataset")
    folder.mkdir(exist_ok=True)
    for shard in range(count):
        path = folder / f"train-{shard:06}.tar"
        with webdataset.TarWriter(str(path), encoder=False) as writer:
            for i in range(shard * per_shard, (shard + 1) * per_shard):
                writer.write({"__key__": f"sample{i:05}", **sample(i)})
        if suffix != "tar":
            compress(path, suffix).rename(path.with_suffix("." + suffix))
            path.unlink(missing_ok=True)
    return folder


def simple(i):
    return {"jpg": photo(i), "cls": str(i % 3).encode(), "json": json.dumps({"caption": i}).encode()}


@pytest.mark.parametrize("suffix", ["tar", "tgz", "tar.zst"])
def test_shards_written_by_webdataset(tmp_path, suffix):
    shards = write_shards(tmp_path / "shards", 3, 4, simple, suffix)
    pack(shards, tmp_path / "out", "--format", "wds", "--no-shuffle")
    samples = listed(tmp_path / "out")
    assert [s["label"] for s in samples] == [i % 3 for i in range(12)]
    assert [s["path"] for s in samples] == [f"train-{i // 4:06}.{suffix}/sample{i:05}.jpg" for i in range(12)]
    assert (tmp_path / "out/classes.txt").read_text() == "0\n1\n2\n"


def test_a_pattern_names_shards(tmp_path):
    shards = write_shards(tmp_path / "shards", 5, 2, simple)
    braces = pack(f"{shards}/train-{{000001..000003}}.tar", tmp_path / "braces", "--format", "wds")
    glob = pack(f"{shards}/train-*[1-3].tar", tmp_path / "glob", "--format", "wds")
    assert braces["packed"] == glob["packed"] == 6
    assert tree(tmp_path / "braces") == tree(tmp_path / "glob")
    result = refused("pack", f"{shards}/train-{{000003..000006}}.tar", tmp_path / "no", "--format", "wds")
    assert "train-000005.tar" in result.err


def test_labels_by_text_by_json_and_by_list(tmp_path):
    kinds = ["cat", "ant", "bee"]
    write_shards(tmp_path / "text", 1, 6, lambda i: {"jpg": photo(i), "cls": kinds[i % 3].encode() + b"\n"})
    pack(tmp_path / "text", tmp_path / "a", "--format", "wds", "--no-shuffle")
    assert (tmp_path / "a/classes.txt").read_text() == "ant\nbee\ncat\n"
    assert [s["label"] for s in listed(tmp_path / "a")] == [2, 0, 1] * 2

    write_shards(tmp_path / "json", 1, 6, lambda i: {"jpg": photo(i), "json": json.dumps({"label": i % 3}).encode()})
    (tmp_path / "json/classes.txt").write_text("x\ny\nz\n")
    pack(tmp_path / "json", tmp_path / "b", "--format", "wds", "--no-shuffle")
    assert (tmp_path / "b/classes.txt").read_text() == "x\ny\nz\n"
    assert [s["class"] for s in listed(tmp_path / "b")] == ["x", "y", "z"] * 2

    (tmp_path / "list.txt").write_text("bee\ncat\nant\n")
    pack(tmp_path / "text", tmp_path / "c", "--format", "wds", "--no-shuffle", "--classes", tmp_path / "list.txt")
    assert [s["label"] for s in listed(tmp_path / "c")] == [1, 2, 0] * 2


def test_a_labels_file_names_samples_by_their_keys(tmp_path):
    shards = write_shards(tmp_path / "shards", 2, 3, simple)
    (tmp_path / "keys.txt").write_text("".join(f"sample{i:05} {'yx'[i % 2]}\n" for i in range(6)))
    pack(shards, tmp_path / "a", "--format", "wds", "--no-shuffle", "--labels", tmp_path / "keys.txt")
    assert (tmp_path / "a/classes.txt").read_text() == "x\ny\n"
    assert [s["label"] for s in listed(tmp_path / "a")] == [1, 0] * 3

    # With the same keys in two shards, the shard must be named.
    shutil.copy(shards / "train-000000.tar", shards / "train-000001.tar")
    (tmp_path / "keys.txt").write_text("sample00000 1\ntrain-000001.tar/sample00001 2\nsample00002.jpg 0\n")
    reasons, report = rejects(shards, tmp_path / "b", "--no-shuffle", "--labels", tmp_path / "keys.txt", odd=())
    several = "line 1 of the labels file names it and others by the end of their paths alone"
    assert reasons == {
        "train-000000.tar/sample00000.jpg": several,
        "train-000001.tar/sample00000.jpg": several,
        "train-000000.tar/sample00001.jpg": "not in the labels file",
        "train-000000.tar/sample00002.jpg": "not in the labels file",
        "train-000001.tar/sample00002.jpg": "not in the labels file",
    }
    assert report["notes"] == [
        "labels file 'keys.txt': blanks, no header, 2 columns: the path is 1, the label is 2",
        "1 line of the labels file matched no sample of the shards",
    ]
    assert [(s["path"], s["label"]) for s in listed(tmp_path / "b")] == [("train-000001.tar/sample00001.jpg", 2)]


def test_samples_that_are_none_are_rejected_with_a_reason(tmp_path):
    archive = write_tar(
        tmp_path / "a.tar",
        [
            ("1.jpg", photo(1)), ("1.cls", b"0"),
            ("2.cls", b"0"), ("2.txt", b"no image"),
            ("3.jpg", photo(3)),
            ("4.jpg", photo(4)), ("4.cls", b""),
            ("5.jpg", photo(5)), ("5.cls", b"1"), ("5.jpg", photo(6)),
            ("1.jpg", photo(1)), ("1.cls", b"0"),
            ("6.jpg", photo(6)), ("6.cls", b"-1"),
            ("__meta__/x.json", b"{}"), ("README", b"hello"), (".7.jpg", photo(7)),
        ],
    )  # fmt: skip
    found, report = rejects(archive, tmp_path / "out", odd=())
    assert found == {
        "a.tar/2.cls": "no image among its members",
        "a.tar/3.jpg": "it has no label",
        "a.tar/4.jpg": "its label is empty",
        "a.tar/5.jpg": "it has two members .jpg",
        "a.tar/1.jpg": "its key was there before, with others in between",
        "a.tar/6.jpg": "its label -1 is negative, which is no class",
    }
    assert (report["packed"], report["skipped"]) == (1, 3)


def test_what_could_be_either_is_asked_for(tmp_path):
    flat = write_tar(tmp_path / "flat.tar", [("1.jpg", photo(1)), ("2.jpg", photo(2))])
    assert "--source-kind" in refused("pack", flat, tmp_path / "out", "--format", "wds", code=USAGE).err
    both = write_tar(tmp_path / "both.tar", [("c/1.jpg", photo(1)), ("c/1.json", b"{}")])
    assert "--source-kind" in refused("pack", both, tmp_path / "out", "--format", "wds", code=USAGE).err
    sets = tmp_path / "sets"
    write_shards(sets, 1, 2, simple)
    shutil.copy(sets / "train-000000.tar", sets / "val-000000.tar")
    result = refused("pack", sets, tmp_path / "out", "--format", "wds", code=USAGE)
    assert "several sets: 'train-[0-9]*.tar' (1), 'val-[0-9]*.tar' (1)" in result.err
    way_out = re.search(r"next: .*'(.*)'", result.err).group(1)
    assert pack(way_out, tmp_path / "out", "--format", "wds")["packed"] == 2


@pytest.mark.parametrize("format", ["ustar", "pax"])
def test_shards_by_gnu_tar_in_any_order_of_members(tmp_path, format):
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    long = "sub/" + "k" * 120
    for key, number in [("sub/b", 1), ("a", 2)] + ([(long, 3)] if format != "ustar" else []):
        (work / f"{key}.JPEG").write_bytes(photo(number))
        (work / f"{key}.cls").write_text(str(number))
    names = ["./sub/b.cls", "./sub/b.JPEG", "./a.JPEG", "./a.cls"]
    names += [f"./{long}.cls", f"./{long}.JPEG"] if format != "ustar" else []
    archive = gnu_tar(tmp_path / "a.tar", work, *names, flavour=format)
    pack(archive, tmp_path / "out", "--format", "wds", "--no-shuffle")
    assert [s["label"] for s in listed(tmp_path / "out")] == [1, 2] + ([3] if format != "ustar" else [])


def test_fields_travel_from_shard_to_shard(tmp_path):
    shards = write_shards(tmp_path / "shards", 2, 3, lambda i: {**simple(i), "seg.png": b"mask %d" % i, "cls": b"0"})
    pack(shards, tmp_path / "out", "--format", "wds", "--no-shuffle")
    with tarfile.open(tmp_path / "out/shard-000000.tar") as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar}
    for i in range(6):
        assert members[f"{i:09}.seg.png"] == b"mask %d" % i
        assert json.loads(members[f"{i:09}.json"]) == {"caption": i}
        assert members[f"{i:09}.jpg"] == photo(i)
    result = refused("pack", shards, tmp_path / "no", "--format", "wds", "--fields", "jsn", code=USAGE)
    assert "'jsn'" in result.err
    pack(shards, tmp_path / "bare", "--format", "wds", "--fields", "none")
    with tarfile.open(tmp_path / "bare/shard-000000.tar") as tar:
        assert {name.partition(".")[2] for name in tar.getnames()} == {"jpg", "cls"}


def test_fields_beside_images_travel_as_from_a_folder(tmp_path):
    source = make_source(tmp_path / "source", 8)
    for image in source.rglob("*.jpg"):
        image.with_suffix(".json").write_text(image.name)
    archive = compress(gnu_tar(tmp_path / "a.tar", source), "tar.gz")
    pack(source, tmp_path / "f", "--format", "wds", "--fields", "json")
    pack(archive, tmp_path / "t", "--format", "wds", "--fields", "json", "--source-kind", "archive")
    assert tree(tmp_path / "t") == tree(tmp_path / "f")


def test_packing_what_packhorse_packed_gives_the_same_shards(folder, tmp_path):
    pack(folder, tmp_path / "one", "--format", "wds")
    pack(tmp_path / "one/shard-000000.tar", tmp_path / "two", "--format", "wds", "--no-shuffle")
    shards = [(tmp_path / name / "shard-000000.tar").read_bytes() for name in ("one", "two")]
    assert shards[0] == shards[1]
    packhorse("inspect", tmp_path / "two", "--verify", "full")
