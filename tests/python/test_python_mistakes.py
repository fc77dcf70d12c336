"""What a PyTorch user types: it works, or an error of a line says what to write instead."""

import os
from pathlib import Path

import numpy as np
import pytest
from package import packhorse
from python_support import SHAPES, USAGE, pack, run

UsageError, NotFoundError = packhorse.errors.UsageError, packhorse.errors.NotFoundError


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "shapes"
    pack(SHAPES, out, "--format", "wds", "--image", "resize", "--short-side", "32")
    return out


@pytest.fixture(scope="module", name="dataset")
def dataset_fixture(packed):
    return packhorse.Dataset(packed, image="bytes")


def one_line(raised):
    """The text of an error; fails for more than a line, and for one that nanobind wrote."""
    text = str(raised.value)
    assert "\n" not in text and "incompatible function arguments" not in text
    return text


def test_a_dataset_has_what_image_folders_have(dataset):
    names = sorted(path.name for path in (SHAPES / "train").iterdir() if path.is_dir())
    assert dataset.class_to_idx == {name: label for label, name in enumerate(names)}
    assert packhorse.__version__.count(".") == 2
    assert dataset[:3] == [dataset[0], dataset[1], dataset[2]]
    assert dataset[-2:] == [dataset[118], dataset[119]] and dataset[200:] == []
    assert dataset[np.int64(-1)] == dataset[119] == list(dataset)[-1]
    for index in (120, 2**70):
        with pytest.raises(IndexError, match=f"sample {index}"):
            dataset[index]


@pytest.mark.parametrize("index", ["a", 1.0, [1, 2], None, np.array([True, False])])
def test_what_numbers_no_sample_is_refused_in_a_line(dataset, index):
    for read in (dataset.__getitem__, dataset.read, dataset.decode, dataset.describe, dataset.objects, dataset.said):
        with pytest.raises(TypeError, match="the number of a sample is a whole number, not a") as raised:
            read(index)
        one_line(raised)


def test_attributes_that_only_folders_have_say_where_that_is(dataset):
    for name, words in {"samples": "dataset.labels", "imgs": "in shards", "root": "dataset.path", "misspelt": "'misspelt'$"}.items():
        assert not hasattr(dataset, name)
        with pytest.raises(AttributeError, match=words) as raised:
            getattr(dataset, name)
        one_line(raised)


def test_keywords_of_a_dataloader_say_what_to_write(packed):
    from packhorse import _pytorch  # noqa: PLC0415

    loader = packhorse.Loader(packed, 8, size=32, workers=1)
    taken = packhorse.Loader.__init__.__signature__.parameters
    for name, answer in _pytorch.LOADER_KEYWORDS.items():
        assert name not in taken
        with pytest.raises(TypeError) as raised:
            packhorse.Loader(packed, 8, size=32, **{name: 2})
        assert one_line(raised) == f"packhorse.Loader has no {name}=: {answer}"
    assert {"num_workers", "collate_fn", "sampler", "persistent_workers"} <= set(_pytorch.LOADER_KEYWORDS)
    assert len(list(loader)) == 15


@pytest.mark.parametrize("given", [{name: value} for name in ("batch_size", "size") for value in ("32", 3.5, True, (32, 32))] + [{"batch_size": None}])
def test_sizes_are_whole_numbers(packed, given):
    with pytest.raises(TypeError, match=rf"{next(iter(given))}=.*: give one whole number") as raised:
        packhorse.Loader(packed, **{"batch_size": 8, "size": 32, **given})
    one_line(raised)


def test_datasets_of_pytorch_say_what_to_do(packed):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torchvision = pytest.importorskip("torchvision", reason="torchvision is not installed")
    dataset, folder = packhorse.Dataset(packed), torchvision.datasets.ImageFolder(SHAPES / "train")
    data = torch.utils.data
    for given, words in [
        (data.Subset(folder, [1, 2]), "not Subset: packhorse.Loader reads a Subset of a packhorse.Dataset; pack"),
        (data.ConcatDataset([folder, dataset]), "not ConcatDataset: packhorse.Loader reads a ConcatDataset of packhorse.Datasets"),
        ([], "not list: write its samples"),
        (data.DataLoader(dataset), "not DataLoader: packhorse.Loader replaces it"),
        (data.TensorDataset(torch.zeros(3)), "not TensorDataset: write its samples with packhorse.Writer"),
        (folder, rf"not ImageFolder: pack its folder first: packhorse.pack\('{SHAPES}/train', 'packed', format='wds'\)"),
        (None, "not NoneType$"),
        (7, "not int$"),
    ]:
        for reader in (lambda path: packhorse.Loader(path, 8, size=32), packhorse.Dataset):
            with pytest.raises(TypeError, match=words) as raised:
                reader(given)
            one_line(raised)
    with pytest.raises(TypeError, match="it is open already"):
        packhorse.Dataset(dataset)
    assert len(packhorse.Loader(os.fsencode(packed), 8, size=32)) == 15


def test_what_is_no_path_is_refused_where_a_path_of_files_is_expected(packed, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torchvision = pytest.importorskip("torchvision", reason="torchvision is not installed")
    dataset = packhorse.Dataset(packed)
    for given, words in [
        (dataset, r"not Dataset: give its path, as in dataset.path$"),
        (torch.utils.data.DataLoader(dataset), "not DataLoader: .*packhorse.Writer$"),
        (packhorse.Loader(packed, 8, size=8, workers=0), "not Loader: give the path"),
        (torchvision.datasets.ImageFolder(SHAPES / "train"), f"not ImageFolder: give its folder, '{SHAPES}/train'$"),
        (torch.utils.data.TensorDataset(torch.zeros(3)), "not TensorDataset: write its samples with packhorse.Writer$"),
        ({"a": 1}, "not dict"),
        (None, "not NoneType$"),
    ]:
        for call in (
            lambda place: packhorse.pack(place, tmp_path / "out", format="wds"),
            packhorse.verify,
            packhorse.inspect,
            lambda place: packhorse.unpack(place, tmp_path / "out"),
            lambda place: packhorse.copy(place, tmp_path / "out"),
            lambda place: packhorse.index([place], out=tmp_path / "out"),
            packhorse.export_index,
        ):
            with pytest.raises(TypeError, match=f"expected a path, {words}") as raised:
                call(given)
            one_line(raised)
    for split in (3, b"train", ["train"]):
        with pytest.raises(TypeError, match="split=.*: give the name of a split"):
            packhorse.Loader(packed, 8, size=8, split=split)


def test_a_loader_does_not_ignore_what_a_dataset_was_asked(packed):
    with pytest.raises(UsageError, match="does not use transform= of a Dataset"):
        packhorse.Loader(packhorse.Dataset(packed, transform=len), 8, size=32)
    image_and_target = packhorse.Dataset(packed, image="numpy", bands="all")
    with pytest.raises(UsageError, match="does not use bands= of a Dataset") as raised:
        packhorse.Loader(image_and_target, 8, size=32)
    assert raised.value.advice == "give bands= to the Loader"
    assert next(iter(packhorse.Loader(image_and_target, 8, size=32, bands=[0], dtype="float32"))).images.shape == (8, 1, 32, 32)
    with pytest.raises(UsageError, match="split= chooses from a path"):
        packhorse.Loader(packhorse.Dataset(packed), 8, size=32, split="val")


def test_a_path_without_a_packed_dataset_says_what_to_call(packed, tmp_path):
    (tmp_path / "photos").symlink_to(SHAPES)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("")
    pack_it = f"packhorse.pack('{tmp_path}/photos', 'packed', format='wds')"
    for path, what, advice in [
        (tmp_path / "photos", "this folder is not a packed dataset", pack_it),
        (tmp_path / "empty", "this folder is empty", "give the folder of a packed dataset"),
        (tmp_path / "notes.txt", "this is a file", "give the folder of a packed dataset"),
        (packed / "train/dataset.json", "this is a file", f"give the dataset's folder: {packed}/train"),
        (tmp_path / "missing", "the dataset does not exist", "check the path"),
    ]:
        for reader in (lambda place: packhorse.Loader(place, 8, size=32), packhorse.Dataset):
            with pytest.raises(NotFoundError, match=what) as raised:
                reader(path)
            assert raised.value.path == str(path) and advice in raised.value.advice
            assert "packhorse::" not in str(raised.value)
    with pytest.raises(UsageError, match="the path of the dataset is empty"):
        packhorse.Dataset("")
    odd = os.fsencode(tmp_path) + b"/\xff"
    os.symlink(packed, odd)
    for path in (odd, os.fsdecode(odd)):
        assert len(packhorse.Dataset(path, split="val")) == 36
    made = eval(pack_it.replace("'packed'", f"'{tmp_path}/packed'"), {"packhorse": packhorse})
    assert made.packed == 156 and len(packhorse.Loader(tmp_path / "packed", 8, size=32)) == 15


def test_reports_and_writers_show_what_matters_in_a_line(packed, tmp_path):
    report = packhorse.pack(SHAPES, tmp_path / "out", format="wds")
    shown = repr(report)
    assert shown.startswith("packhorse.PackReport(seen=159, packed=156, rejected=0, skipped=3, ")
    assert "len(splits)=2" in shown and "rejects" not in shown and len(shown) < 500
    assert repr(packhorse.verify(packed)).startswith("packhorse.VerifyReport(ok=True, files=")
    assert f"DatasetSummary(path={str(packed / 'train')!r}, format='wds'" in repr(packhorse.inspect(packed))
    writer = packhorse.Writer(tmp_path / "written", format="wds")
    writer.add(next(Path(SHAPES / "train/balls").glob("*.jpg")).read_bytes(), "balls")
    assert repr(writer) == f"packhorse.Writer({str(tmp_path / 'written')!r}, 1 samples)"
    writer.abandon()


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: packhorse.RandomResizedCrop("224"), "size='224': give a whole number of pixels, or (height, width)"),
        (lambda: packhorse.Resize((1, 2, 3)), "size=(1, 2, 3): give a whole number of pixels, or (height, width)"),
        (lambda: packhorse.CenterCrop(3.5), "size=3.5: give a whole number of pixels, or (height, width)"),
        (lambda: packhorse.RandomResizedCrop(8, scale=0.5), "scale=0.5: give two numbers"),
        (lambda: packhorse.RandomResizedCrop(8, flip="yes"), "flip='yes': give a number from 0 to 1"),
        (lambda: packhorse.ResizeCenterCrop(8, "x"), "resize='x': give a whole number of pixels"),
        (lambda: packhorse.PadCrop(8, "4"), "padding='4': give a whole number of pixels"),
        (lambda: packhorse.DetectionAugment("x"), "size='x': give (height, width), or one whole number for both"),
    ],
)
def test_a_crop_names_the_value_that_it_cannot_use(make, words):
    with pytest.raises((TypeError, ValueError)) as raised:
        make()
    assert one_line(raised) == words


def test_a_crop_that_is_larger_than_the_image_is_padded_as_by_torchvision(packed):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")
    dataset = packhorse.Dataset(packed, image="numpy")
    theirs = v2.Compose([v2.Resize(32, antialias=True), v2.CenterCrop(100)])
    for i in range(5):
        image = torch.from_numpy(np.array(dataset[i][0])).permute(2, 0, 1)
        ours = np.asarray(dataset.decode(i, packhorse.ResizeCenterCrop(100, 32), seed=0, epoch=0)).astype(int)
        assert np.abs(ours - theirs(image).permute(1, 2, 0).numpy()).max() <= 1 and not ours[0].any()


def test_what_a_target_or_a_number_cannot_be_says_what_to_give(packed):
    with pytest.raises(UsageError, match="the target's path is empty.*\n.*next:.*directory"):
        packhorse.Writer("", format="wds")
    with pytest.raises(UsageError, match="'0' is not a valid value for num_samples="):
        packhorse.Loader(packed, 8, size=8, num_samples=0)
    with pytest.raises(ValueError, match="device='tpu': give 'cuda', 'cuda:N' or 'cpu'"):
        packhorse.Loader(packed, 8, size=8, device="tpu")
    with pytest.raises(UsageError, match="ranks are counted from 0"):
        packhorse.Loader(packed, 8, size=8, rank=2, world_size=2)
    with pytest.raises(UsageError, match="read_bytes"), packhorse.Writer(packed.parent / "unwritten", format="wds") as writer:
        writer.add("photo.jpg", "a")


def test_flags_that_are_off_are_shown_as_python_and_the_shell_take_them(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    done = run("pack", "s3://bucket/photos", tmp_path / "out", "--format", "wds")
    assert done.code == USAGE and "for a public bucket, add --no-sign-request\n" in done.err, done
    with pytest.raises(UsageError, match="for a public bucket, add sign=False$"):
        packhorse.inspect("s3://bucket/packed")
