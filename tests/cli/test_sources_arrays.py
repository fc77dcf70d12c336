"""`packhorse pack` from arrays of pixels and labels (.npz, .npy), and from files that no source reads, from outside."""

import io
import pickle
import struct
import zipfile

import numpy as np
import pytest
from python_support import FAILED, USAGE, balanced, listed, pack, packhorse, put, refused, rejects_of, run, tree

image = pytest.importorskip("PIL.Image")
FORMATS = ["wds", "lmdb", "lmdb-members", "hdf5"]


def pictures(count, *shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), np.uint8)


def found(dataset):
    """(label, pixels) by the number of the image in its array."""
    samples = {}
    for s in listed(dataset):
        folder, name = s["path"].split("/")
        with open(dataset / s["shard"], "rb") as shard:
            shard.seek(s["offset"])
            pixels = np.asarray(image.open(io.BytesIO(shard.read(s["bytes"]))))
        assert s["kind"] == "png" and name.endswith(".png") and int(folder) == s["label"]
        samples[int(name.removesuffix(".png"))] = (s["label"], pixels)
    return samples


def assert_holds(dataset, images, labels):
    samples = found(dataset)
    assert sorted(samples) == list(range(len(images)))
    for i, (label, pixels) in samples.items():
        assert label == int(np.ravel(labels)[i])
        assert np.array_equal(pixels, images[i].squeeze())


@pytest.mark.parametrize(
    "save, shape", [(np.savez, (28, 28)), (np.savez_compressed, (9, 7, 3)), (np.savez, (8, 8, 1))]
)
def test_a_npz_with_splits_as_medmnist_writes_it(save, shape, tmp_path):
    arrays = {}
    for n, split in ((30, "train"), (11, "val"), (5, "test")):
        arrays[f"{split}_images"] = pictures(n, *shape, seed=n)
        arrays[f"{split}_labels"] = np.arange(n).reshape(n, 1) % 4
    save(tmp_path / "set.npz", **arrays)
    report = pack(tmp_path / "set.npz", tmp_path / "out", "--format", "wds")
    assert report["packed"] == 46 and balanced(report)
    for split in ("train", "val", "test"):
        assert_holds(tmp_path / "out" / split, arrays[f"{split}_images"], arrays[f"{split}_labels"])
    assert (tmp_path / "out/train/classes.txt").read_text() == "0\n1\n2\n3\n"
    packhorse("inspect", tmp_path / "out", "--verify", "full")
    packhorse("inspect", tmp_path / "out", "--against", tmp_path / "set.npz")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_holds_them(form, tmp_path):
    images, labels = pictures(12, 12, 10, 3), np.arange(12) % 3
    np.savez(tmp_path / "set.npz", x=images, y=labels)
    pack(tmp_path / "set.npz", tmp_path / "out", "--format", form, "--shard-samples", "5")
    assert_holds(tmp_path / "out", images, labels)
    packhorse("inspect", tmp_path / "out", "--verify", "full")


def test_unpacked_images_can_be_packed_again(tmp_path):
    images, labels = pictures(12, 12, 10, 3), np.arange(12) % 3
    np.savez(tmp_path / "set.npz", x=images, y=labels)
    pack(tmp_path / "set.npz", tmp_path / "out", "--format", "wds")
    packhorse("unpack", tmp_path / "out", tmp_path / "files")
    pack(tmp_path / "files", tmp_path / "again", "--format", "wds")
    assert_holds(tmp_path / "again", images, labels)


def test_keras_names_and_planes_and_wide_labels(tmp_path):
    images = pictures(20, 3, 6, 5)
    np.savez(tmp_path / "set.npz", x_train=images, y_train=np.arange(20, dtype=">i2") % 2,
             x_test=images[:4], y_test=np.array([[[[1]]], [[[0]]], [[[1]]], [[[1]]]], np.uint8))
    pack(tmp_path / "set.npz", tmp_path / "out", "--format", "wds")
    turned = images.transpose(0, 2, 3, 1)
    assert_holds(tmp_path / "out/train", turned, np.arange(20) % 2)
    assert_holds(tmp_path / "out/test", turned[:4], [1, 0, 1, 1])


@pytest.mark.parametrize("shape", [(11, 7), (11, 7, 1), (11, 7, 3), (3, 11, 7)])
def test_arrays_of_16_bits(shape, tmp_path):
    images = np.random.default_rng(3).integers(0, 65536, (12, *shape), np.uint16)
    np.savez(tmp_path / "set.npz", images=images, labels=np.arange(12) % 3)
    pack(tmp_path / "set.npz", tmp_path / "out", "--format", "wds")
    package = pytest.importorskip("package")
    dataset = package.packhorse.Dataset(tmp_path / "out", image="numpy", bands="all")
    upright = images.transpose(0, 2, 3, 1) if shape[0] == 3 else images.reshape(12, 11, 7, -1)
    numbers = [int(s["path"].split("/")[1].removesuffix(".png")) for s in listed(tmp_path / "out")]
    for sample, number in enumerate(numbers):
        pixels, label = dataset[sample]
        assert label == number % 3
        np.testing.assert_array_equal(pixels, upright[number])


def test_a_folder_of_files_as_pcam_comes(tmp_path):
    """Images and labels in a file each, whose names and whose arrays' names say what they are."""
    folder = tmp_path / "arrays"
    folder.mkdir()
    images = pictures(12, 8, 8, 3)
    for split, part in (("train", slice(0, 8)), ("valid", slice(8, 12))):
        stem = f"camelyonpatch_level_2_split_{split}"
        np.save(folder / f"{stem}_x_x.npy", images[part])
        np.save(folder / f"{stem}_y_y.npy", (np.arange(12) % 2)[part].reshape(-1, 1, 1, 1))
    put(folder / "meta.csv", "a,b\n")
    np.save(folder / "scores.npy", np.zeros(3))
    report = pack(folder, tmp_path / "out", "--format", "wds")
    assert any("left out" in note and "scores" in note for note in report["notes"])
    assert_holds(tmp_path / "out/train", images[:8], np.arange(8) % 2)
    assert_holds(tmp_path / "out/val", images[8:], np.arange(4) % 2)


def test_raw_pixels_are_those_of_the_array(tmp_path):
    images = pictures(10, 6, 6, 3)
    np.savez(tmp_path / "set.npz", images=images, labels=np.zeros(10, int))
    pack(tmp_path / "set.npz", tmp_path / "out", "--format", "hdf5", "--image", "raw", "--size", "6", "--no-shuffle")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "out/shard-000000.h5") as file:
        assert np.array_equal(file["images"][()], images)


def test_the_bytes_do_not_depend_on_the_threads(tmp_path):
    np.savez(tmp_path / "set.npz", images=pictures(50, 9, 9), labels=np.arange(50) % 5)
    for jobs in ("1", "5"):
        pack(tmp_path / "set.npz", tmp_path / jobs, "--format", "wds", "--shard-bytes", "2KiB", "--jobs", jobs)
    assert tree(tmp_path / "1") == tree(tmp_path / "5")


def test_class_names_and_labels_outside_them(tmp_path):
    np.savez(tmp_path / "set.npz", images=pictures(3, 4, 4), labels=np.array([0, 1, -1]))
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    options = ("--format", "wds", "--classes", tmp_path / "classes.txt", "--max-rejects", "1")
    report = run("pack", tmp_path / "set.npz", tmp_path / "out", *options, "--json").json
    assert report["published"] and (report["packed"], report["rejected"]) == (2, 1)
    assert rejects_of(report) == {"000000002.png": "the label -1 is negative"}
    assert {s["path"] for s in listed(tmp_path / "out")} == {"cat/000000000.png", "dog/000000001.png"}


GOOD = {"images": pictures(4, 5, 5), "labels": np.arange(4)}


def test_what_gives_no_sure_label_or_pixel_is_refused(tmp_path):
    for arrays, said in (
        ({"images": GOOD["images"]}, "1 arrays of images and 0 of labels"),
        ({"labels": GOOD["labels"]}, "0 arrays of images and 1 of labels"),
        ({"a": GOOD["images"], "b": GOOD["labels"]}, "no array in it is named as images or labels"),
        ({**GOOD, "x": GOOD["images"]}, "2 arrays of images"),
        ({**GOOD, "labels": np.arange(5)}, "has 5 values for 4 images"),
        ({**GOOD, "images": GOOD["images"].astype(np.float32) / 255}, "(x * 255).round()"),
        ({**GOOD, "images": np.asfortranarray(GOOD["images"])}, "Fortran order"),
        ({**GOOD, "images": pictures(4, 5, 5, 4)}, "without 1 or 3 channels"),
        ({**GOOD, "images": pictures(4, 3, 5, 3)}, "either its second or its last axis"),
        ({**GOOD, "images": pictures(4, 3, 25)}, "either its second or its last axis"),
        ({**GOOD, "images": pictures(4, 25)}, "reshape it"),
        ({**GOOD, "images": pictures(4, 0, 5)}, "no image can have this size"),
        ({**GOOD, "labels": np.eye(4, dtype=int)}, "several values for each image"),
        ({**GOOD, "labels": np.zeros(4)}, "where labels are integers"),
        ({**GOOD, "labels": np.array(["a", "b", "c", "d"])}, "where labels are integers"),
        ({**GOOD, "labels": np.array([{}, 1, 2, 3], object)}, "where labels are integers"),
        ({**GOOD, "images": np.array([{}, 1, 2, 3], object)}, "pixels must be uint8"),
        ({**GOOD, "train_images": GOOD["images"], "train_labels": GOOD["labels"]}, "and some do not"),
        ({"train_test_images": GOOD["images"], "labels": GOOD["labels"]}, "names two splits"),
        ({"dogs_images": GOOD["images"], "cats_labels": GOOD["labels"]}, "belong together"),
    ):
        np.savez(tmp_path / "set.npz", **arrays)
        error = refused("pack", tmp_path / "set.npz", tmp_path / "out", "--format", "wds")
        assert said in error.err and "next:" in error.err, error
        assert not (tmp_path / "out").exists() and not (tmp_path / "out.partial").exists()


def test_damaged_files_are_refused(tmp_path):
    np.savez(tmp_path / "set.npz", **GOOD)
    whole = (tmp_path / "set.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    folder = tmp_path / "arrays"
    folder.mkdir()
    np.save(folder / "labels.npy", GOOD["labels"])
    for name, change in {
        "cut": lambda data: data[:-1],
        "long": lambda data: data + b"x",
        "header": lambda data: data.replace(b"(4, 5, 5)", b"(4, 5, 6)"),
        "huge": lambda data: data.replace(b"(4, 5, 5), }        ", b"(4, 99999999999,5), }"[:20]),
        "magic": lambda data: b"x" + data[1:],
        "empty": lambda data: b"",
    }.items():
        np.save(folder / "images.npy", GOOD["images"])
        (folder / "images.npy").write_bytes(change((folder / "images.npy").read_bytes()))
        result = run("pack", folder, tmp_path / "out", "--format", "wds")
        assert result.code in (FAILED, 3) and "images" in result.err, (name, result)
    assert run("pack", tmp_path / "cut.npz", tmp_path / "out", "--format", "wds").code in (FAILED, 3)
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
def test_a_npz_made_to_fill_a_disk_is_refused(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": (600, 1 << 10, 1 << 10)}
    )
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("images.npy", "w", force_zip64=True) as member:
            member.write(header.getvalue())
            for _ in range(600):
                member.write(bytes(1 << 20))
    assert "made to fill a disk" in refused("pack", tmp_path / "bomb.npz", tmp_path / "out", "--format", "wds").err


def test_options_of_other_sources_are_refused(tmp_path):
    np.savez(tmp_path / "set.npz", **GOOD)
    put(tmp_path / "labels.txt", "a 1\n")
    for option in (("--labels", tmp_path / "labels.txt"), ("--fields", "json"), ("--split-folders", "train=a")):
        refused("pack", tmp_path / "set.npz", tmp_path / "out", "--format", "wds", *option, code=USAGE)


def test_files_that_no_source_reads_are_refused_by_name(tmp_path):
    for name, said in (
        ("a.parquet", "Parquet"),
        ("a.arrow", "Arrow"),
        ("a.HDF5", "HDF5"),
        ("a.pkl", "opening one runs code"),
        ("a.mat", "MATLAB"),
        ("a.tfrecord", "TFRecord"),
    ):
        file = put(tmp_path / "set/data" / name, b"PAR1")
        put(tmp_path / "set/README.md", "x")
        for source in (f"set/data/{name}", "set"):
            error = refused("pack", source, "out", "--format", "wds", cwd=tmp_path).err
            assert said in error and "next:" in error, error
        file.unlink()


IDX = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2, 4, 4) + bytes(32)
TFRECORD = struct.pack("<QI", 5, 0x3E04B2EA) + b"hello" + bytes(4)


@pytest.mark.parametrize(
    "name, content, said",
    [
        ("train/a.tfrecord-00000-of-00002", b"", "TFRecord"),
        ("train/train-00000-of-00002", TFRECORD, "TFRecord"),
        ("cifar-10-batches-py/data_batch_1", b"", "opening one runs code"),
        ("cifar-100-python/train", pickle.dumps({b"data": [1]}, 2), "opening one runs code"),
        ("cifar-10-batches-bin/data_batch_1.bin", b"", "CIFAR's binary batches"),
        ("raw/train-images-idx3-ubyte", b"", "idx"),
        ("raw/train-images-idx3-ubyte.gz", b"", "idx"),
        ("MNIST/raw/images", IDX, "idx"),
        ("a/b/x.parquet", b"", "Parquet"),
        ("data/x", b"PAR1....", "Parquet"),
        ("data/x", b"ARROW1..", "Arrow"),
        ("data/x", b"\x89HDF\r\n\x1a\n", "HDF5"),
        ("train/train.rec", b"", "RecordIO"),
        ("train/x", struct.pack("<I", 0xCED7230A) + bytes(8), "RecordIO"),
        ("lsun/data.mdb", b"", "packhorse index"),
        ("train/train.beton", b"", "FFCV"),
        ("parts/train.tar.gz.aa", b"", "parts of an archive"),
        ("train.zip.001", b"", "parts of an archive"),
        ("train.z01", b"", "parts of an archive"),
        ("photos.7z", b"", "unpack it"),
    ],
)
def test_files_that_no_source_reads_are_told_by_name_or_bytes_and_in_folders(name, content, said, tmp_path):
    put(tmp_path / "set" / name, content)
    put(tmp_path / "set/README.md", b"x")
    error = refused("pack", "set", "out", "--format", "wds", cwd=tmp_path).err
    assert said in error and name in error and "next:" in error, error
    assert said in refused("pack", f"set/{name}", "out", "--format", "wds", cwd=tmp_path).err
    put(tmp_path / "set/deep/er/1.jpg")  # with images it is a folder like any other
    assert said not in run("pack", "set", "out", "--format", "wds", "--dry-run", cwd=tmp_path).err


def test_files_of_other_kinds_beside_class_folders_are_files_like_any_other(tmp_path):
    put(tmp_path / "folder/cat/1.jpg")
    put(tmp_path / "folder/dog/2.jpg")
    put(tmp_path / "folder/a.parquet", b"PAR1")
    np.save(tmp_path / "folder/images.npy", GOOD["images"])
    assert pack(tmp_path / "folder", tmp_path / "out", "--format", "wds")["packed"] == 2
