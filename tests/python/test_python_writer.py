"""packhorse.Writer: samples that a program adds one by one."""

import io
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from package import environment, packhorse
from PIL import Image
from python_support import CARRIERS, LAYOUTS, SHAPES, copy_tree, pack, photo, photos, staging, tree


def files_of(folder):
    """(path, bytes, class) of each file, in the order in which packing lists them."""
    paths = sorted((os.fsencode(path.relative_to(folder)), path) for path in folder.rglob("*") if path.is_file())
    return [(os.fsdecode(name), path.read_bytes(), path.relative_to(folder).parts[0]) for name, path in paths]


def stored(dataset, split=""):
    """The samples of a dataset: (bytes, class)."""
    opened = packhorse.Dataset(dataset, split=split, image="bytes")
    return [(content, opened.classes[label]) for content, label in opened]


def pixels(number=0, shape=(12, 9, 3)):
    return np.random.default_rng(number).integers(0, 256, shape, np.uint8)


def png(array):
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("format", LAYOUTS)
def test_photos_give_the_bytes_that_packing_their_folder_gives(tmp_path, format):
    source = photos("imagenet/imagenet200")
    folder = source / "train" if (source / "train").is_dir() else source
    expected = pack(folder, tmp_path / "packed", "--format", format, "--shard-samples", "64", "--allow-odd-classes")
    with packhorse.Writer(tmp_path / "written", format=format, shard_samples=64, jobs=2) as writer:
        for path, content, name in files_of(folder):
            writer.add(content, name, path=path)
    assert tree(tmp_path / "written") == tree(tmp_path / "packed")
    assert writer.report.id == expected["id"] and writer.report.packed == len(writer) == expected["packed"]
    assert packhorse.verify(tmp_path / "written", against=folder).ok is True or expected["skipped"]


def test_arrays_of_any_layout_become_their_pixels_and_are_verified_and_unpacked(tmp_path):
    colour, grey = pixels(1), pixels(2, (7, 5))
    arrays = [colour, grey, grey[:, :, None], np.asfortranarray(colour), colour[::-1, ::2], pixels(3, (1, 1, 3))]
    classes = ["a", "b"]
    with packhorse.Writer(tmp_path / "out", format="hdf5", classes=classes, shuffle=False) as writer:
        for number, array in enumerate(arrays):
            writer.add(array, np.int64(number % 2))
    assert packhorse.verify(tmp_path / "out", decode=True).ok
    for number, ((content, name), array) in enumerate(zip(stored(tmp_path / "out"), arrays, strict=True)):
        image = Image.open(io.BytesIO(content))
        assert image.format == "PNG" and (np.asarray(image) == array.reshape(np.asarray(image).shape)).all()
        assert name == classes[number % 2]
    packhorse.unpack(tmp_path / "out", tmp_path / "folder")
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == classes


def changed_images():
    """PIL images that are not, or may not be, what their file holds."""
    drawn, smaller = Image.open(io.BytesIO(photo())), Image.open(io.BytesIO(photo()))
    drawn.paste((255, 0, 0), (0, 0, 5, 5))
    smaller.draft("RGB", (smaller.width // 4, smaller.height // 4))
    frames = io.BytesIO()
    Image.fromarray(pixels(1)).save(frames, "TIFF", save_all=True, append_images=[Image.fromarray(pixels(2))])
    second = Image.open(frames)
    second.seek(1)
    return [drawn, smaller, second, Image.fromarray(pixels(1)), Image.fromarray(pixels(2, (5, 4)))]


def test_pil_images_keep_their_file_until_something_may_have_changed_them(tmp_path):
    files = [photo(), png(pixels(4))]
    with packhorse.Writer(tmp_path / "out", format="wds", shuffle=False) as writer:
        for image in [*(Image.open(io.BytesIO(file)) for file in files), *changed_images()]:
            writer.add(image, "x")
        for mode in ("RGBA", "P", "CMYK", "1", "I;16"):
            with pytest.raises(packhorse.errors.UsageError, match="convert"):
                writer.add(Image.new(mode, (3, 3)), "x")
    packed = [one for one, _ in stored(tmp_path / "out")]
    assert packed[:2] == files
    for one, changed in zip(packed[2:], changed_images(), strict=True):
        image = Image.open(io.BytesIO(one))
        assert image.format == "PNG" and (np.asarray(image) == np.asarray(changed)).all()


@pytest.mark.parametrize("format", CARRIERS)
def test_fields_keys_paths_and_splits(tmp_path, format):
    with packhorse.Writer(tmp_path / "out", format=format) as writer:
        for key in ("m-1", "b", "z"):
            fields = {"json": f'{{"of": "{key}"}}', "seg.png": memoryview(png(pixels(5, (3, 3))))}
            writer.add(pixels(ord(key[0])), "c", fields=fields, key=key, path=f"deep/{key}.png", split="train")
        writer.add(pixels(1), "a", key="b", split="val")
    assert packhorse.verify(tmp_path / "out").ok
    assert packhorse.Dataset(tmp_path / "out").classes == ["a", "c"]
    packhorse.unpack(tmp_path / "out", tmp_path / "folder")
    train = tmp_path / "folder/train/deep"
    assert (train / "m-1.json").read_text() == '{"of": "m-1"}' and (train / "z.seg.png").is_file()
    assert (tmp_path / "folder/val/a/b.png").is_file()
    tree_of_keys = packhorse.inspect(tmp_path / "out/train").json["fields"]
    assert tree_of_keys == [{"name": "json", "samples": 3}, {"name": "seg.png", "samples": 3}]


def test_options_are_those_of_packing(tmp_path):
    folder = copy_tree(SHAPES / "train", tmp_path / "folder")
    samples = [one for one in files_of(folder) if one[0].endswith((".jpg", ".JPG"))]
    options = {"format": "lmdb", "image": "resize", "short_side": 32, "seed": 9, "shard_samples": 30, "decode": True}
    with packhorse.Writer(tmp_path / "written", **options) as writer:
        for path, content, name in samples:
            writer.add(content, name, path=path)
    packhorse.pack(folder, tmp_path / "packed", **options, include=["*.jpg", "*.JPG"])
    ours, theirs = packhorse.Dataset(tmp_path / "written"), packhorse.Dataset(tmp_path / "packed")
    assert [ours.read(i) for i in range(len(ours))] == [theirs.read(i) for i in range(len(theirs))]
    assert ours.targets == theirs.targets


@pytest.mark.parametrize("options", [{"image": "resize", "short_side": 20}, {"image": "raw", "size": 16}])
def test_arrays_are_stored_like_the_png_files_of_their_pixels(tmp_path, options):
    arrays = [pixels(number, shape) for number, shape in enumerate([(31, 40, 3), (25, 60), (9, 9, 3)])]
    for name, form in (("arrays", np.asarray), ("files", png)):
        with packhorse.Writer(tmp_path / name, format="wds", **options) as writer:
            for array in arrays:
                writer.add(form(array), 0)
    assert tree(tmp_path / "arrays") == tree(tmp_path / "files")


def test_the_same_samples_give_the_same_bytes(tmp_path):
    for name, jobs in (("a", 1), ("b", 4)):
        with packhorse.Writer(tmp_path / name, format="wds", shard_samples=7, jobs=jobs) as writer:
            for number in range(30):
                writer.add(pixels(number), number % 5)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def refusals():
    good = {"image": photo(), "label": "a", "key": "k2"}
    usage, rejected = packhorse.errors.UsageError, packhorse.errors.RejectedError
    return [
        (usage, "uint8, not float64", {**good, "image": np.zeros((4, 4, 3))}),
        (usage, "uint8, not uint16", {**good, "image": np.zeros((4, 4), np.uint16)}),
        (usage, r"shape \[4, 4, 4\]", {**good, "image": np.zeros((4, 4, 4), np.uint8)}),
        (usage, r"shape \[3, 4, 8\]", {**good, "image": np.zeros((3, 4, 8), np.uint8)}),
        (usage, r"shape \[2, 4, 4, 3\]", {**good, "image": np.zeros((2, 4, 4, 3), np.uint8)}),
        (usage, r"shape \[0, 4, 3\]", {**good, "image": np.zeros((0, 4, 3), np.uint8)}),
        (usage, r"shape \[7\]", {**good, "image": np.zeros(7, np.uint8)}),
        (usage, "not a str", {**good, "image": "photo.jpg"}),
        (usage, "not a list", {**good, "image": [1, 2]}),
        (usage, "beyond|1,000,000|1 x", {**good, "image": np.zeros((1, 1_000_001), np.uint8)}),
        (rejected, "cannot be packed", {**good, "image": b""}),
        (rejected, "cannot be packed", {**good, "image": b"not an image"}),
        (rejected, "cannot be packed", {**good, "image": photo()[:-100]}),
        (rejected, "PSD", {**good, "image": b"8BPS" + bytes(100)}),
        (usage, "none of the classes", {**good, "label": "c"}),
        (usage, "not between 0 and 1", {**good, "label": 2}),
        (usage, "not between 0 and 1", {**good, "label": -1}),
        (usage, "out of range", {**good, "label": 2**70}),
        (usage, "not a float", {**good, "label": 1.0}),
        (usage, "not a bool", {**good, "label": True}),
        (usage, "not a NoneType", {**good, "label": None}),
        (usage, "was added before", {**good, "key": "k1"}),
        (usage, "cannot be a key", {**good, "key": "a/b"}),
        (usage, "cannot be a key", {**good, "key": "x" * 65}),
        (usage, "cannot be a key", {**good, "key": ""}),
        (usage, "another has none", {**good, "key": None}),
        (usage, "no order in common", {**good, "key": "k1-a"}),
        (usage, "name of an extra field", {**good, "fields": {"Json": b""}}),
        (usage, "name of an extra field", {**good, "fields": {"cls": b""}}),
        (usage, "name of an extra field", {**good, "fields": {"jpg": b""}}),
        (usage, "name of an extra field", {**good, "fields": {"../x": b""}}),
        (usage, "neither bytes nor str", {**good, "fields": {"json": {}}}),
        (usage, "at most 32", {**good, "fields": {f"f{i}": b"" for i in range(33)}}),
        (usage, "cannot be a path", {**good, "path": "../../x.jpg"}),
        (usage, "cannot be a path", {**good, "path": "/etc/x.jpg"}),
        (usage, "name of a split", {**good, "split": "../x"}),
        (usage, "another has none", {**good, "split": "val"}),
    ]


def test_a_sample_that_is_refused_changes_nothing(tmp_path):
    with packhorse.Writer(tmp_path / "out", format="wds", classes=["a", "b"]) as writer:
        writer.add(photo(1), "a", key="k1")
        for error, words, sample in refusals():
            with pytest.raises(error, match=words) as raised:
                writer.add(**sample)
            assert isinstance(raised.value, packhorse.Error)
        assert len(writer) == 1
        writer.add(photo(2), 1, key="k2")
    assert sorted(name for _, name in stored(tmp_path / "out")) == ["a", "b"]
    assert packhorse.inspect(tmp_path / "out").json["fields"] == []


def test_what_makes_no_sense_is_refused(tmp_path):
    out = tmp_path / "out"
    for error, words, options in [
        (ValueError, "there is no format|format", {"format": "zip"}),
        (ValueError, "no effect with image=", {"quality": 3}),
        (ValueError, "twice", {"classes": ["a", "a"]}),
        (ValueError, "empty", {"classes": [""]}),
        (TypeError, "classes", {"classes": [1, 2]}),
        (TypeError, "unexpected keyword", {"labels": "x"}),
        (TypeError, "missing required keyword argument 'format'", {"format": None}),
    ]:
        with pytest.raises(error, match=words):
            packhorse.Writer(out, **{"format": "wds", **options})
    with pytest.raises(ValueError, match="cannot hold extra fields"), packhorse.Writer(out, format="lmdb") as writer:
        writer.add(photo(), "a", fields={"json": b"{}"})
    with pytest.raises(ValueError, match="no sample was added"), packhorse.Writer(out, format="wds"):
        pass
    with packhorse.Writer(out, format="wds") as writer:
        writer.add(photo(), "a")
        with pytest.raises(FileExistsError, match="held|at work|process"):
            packhorse.Writer(out, format="wds")
    with pytest.raises(ValueError, match="finished or given up"):
        writer.add(photo(), "a")
    with pytest.raises(FileExistsError, match="already exists"):
        packhorse.Writer(out, format="wds")
    with packhorse.Writer(out, format="wds", overwrite=True) as writer:
        writer.add(photo(1), "b")
        assert stored(out) == [(photo(), "a")]
    assert stored(out) == [(photo(1), "b")]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_exception_publishes_nothing_and_leaves_nothing(tmp_path):
    with pytest.raises(KeyError, match="mine"), packhorse.Writer(tmp_path / "out", format="wds") as writer:
        for number in range(100):
            writer.add(pixels(number), 0)
        raise KeyError("mine")
    assert list(tmp_path.iterdir()) == []
    dropped = packhorse.Writer(tmp_path / "out", format="wds")
    dropped.add(pixels(), 0)
    assert staging(tmp_path / "out").is_dir()
    del dropped
    assert list(tmp_path.iterdir()) == []


def test_an_exception_in_progress_leaves_nothing(tmp_path):
    def stop(done, total):
        raise LookupError("enough")

    options = {"image": "resize", "short_side": 300, "shard_samples": 10, "jobs": 1}  # a second's work or more
    writer = packhorse.Writer(tmp_path / "out", format="wds", **options, progress=stop)
    large = png(pixels(shape=(400, 400, 3)))
    for _ in range(200):
        writer.add(large, 0)
    with pytest.raises(LookupError, match="enough"):
        writer.finish()
    assert list(tmp_path.iterdir()) == []


def test_a_refused_image_says_why_by_the_code_of_a_reject(tmp_path):
    images = [
        (b"", "empty-file"),
        (b"not an image", "not-an-image"),
        (photo()[:-100], "damaged"),
        (b"8BPS" + bytes(100), "unsupported"),
        (np.zeros((50, 51, 3), np.uint8), "too-many-pixels"),
    ]
    with packhorse.Writer(tmp_path / "out", format="wds", max_pixels=2_500) as writer:
        writer.add(np.zeros((50, 50), np.uint8), "a")
        for image, code in images:
            with pytest.raises(packhorse.errors.RejectedError, match="cannot be packed") as raised:
                writer.add(image, "a")
            assert raised.value.code == code
            assert pickle.loads(pickle.dumps(raised.value)).code == code
    assert writer.report.packed == 1


def test_images_that_do_not_decode_are_rejects(tmp_path):
    damaged = bytearray(photo())
    damaged[len(damaged) // 2 : -2] = bytes(len(damaged) - 2 - len(damaged) // 2)
    for allowed in (0, 1):
        writer = packhorse.Writer(tmp_path / "out", format="wds", decode=True, max_rejects=allowed)
        writer.add(bytes(damaged), "a")
        writer.add(photo(1), "a")
        if allowed:
            assert writer.finish().rejects[0].path == "a/000000000.jpg"
            continue
        with pytest.raises(packhorse.errors.RejectedError, match="1 of 2 inputs were rejected") as raised:
            writer.finish()
        assert raised.value.report.rejects[0].reason and list(tmp_path.iterdir()) == []
    assert stored(tmp_path / "out") == [(photo(1), "a")]


def test_a_writer_that_was_killed_leaves_what_the_next_one_takes_over(tmp_path):
    code = f"""
import os, packhorse
writer = packhorse.Writer({str(tmp_path / "out")!r}, format="wds")
writer.add({photo()!r}, "a")
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code], env=environment(), check=False).returncode == -9
    assert [path.name for path in tmp_path.iterdir()] == ["out.partial"]
    with packhorse.Writer(tmp_path / "out", format="wds") as writer:
        writer.add(photo(1), "b")
    assert stored(tmp_path / "out") == [(photo(1), "b")] and [one.name for one in tmp_path.iterdir()] == ["out"]


def test_a_child_made_by_fork_changes_nothing(tmp_path):
    with packhorse.Writer(tmp_path / "out", format="wds") as writer:
        writer.add(photo(), "a")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with writer:
                    writer.add(photo(1), "b")
            except packhorse.errors.UsageError as error:
                code = 0 if "fork" in str(error) else 2
            del writer
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        writer.add(photo(2), "c")
    assert sorted(name for _, name in stored(tmp_path / "out")) == ["a", "c"]


def test_threads_may_share_a_writer(tmp_path):
    with packhorse.Writer(tmp_path / "out", format="wds") as writer:

        def add(first):
            for number in range(first, first + 20):
                writer.add(pixels(number), number % 3, key=f"{number:04}")

        threads = [threading.Thread(target=add, args=[20 * i]) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(writer) == 80
    dataset = packhorse.Dataset(tmp_path / "out")
    for number, (array, label) in enumerate(dataset):
        assert (np.asarray(array) == pixels(number)).all() and label == number % 3
    assert len(dataset) == 80


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_samples(tmp_path):
    code = f"""
import os, packhorse
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
image = {photo()!r}
writer = packhorse.Writer({str(tmp_path / "out")!r}, format="wds", jobs=2, shard_bytes="16MiB")
def add(count):
    for number in range(count):
        writer.add(image + os.urandom(100_000), number % 7)
add(100)
before = peak()
add(2000)
grown = peak() - before
assert grown < 30_000, grown
writer.finish()
assert peak() - before < 100_000, peak() - before
"""
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True)


def test_a_writer_takes_a_relative_path_and_replaces_there(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for overwrite in (False, True):
        with packhorse.Writer("out", format="wds", classes=["a"], overwrite=overwrite) as writer:
            writer.add(np.zeros((4, 5, 3), np.uint8), "a")
    assert packhorse.verify("out").ok
