"""The scripts of docs/python-training.md, run as they are: only images are made smaller."""

import argparse
import importlib.util
import re
import subprocess
import sys

import numpy as np
import pytest
from package import environment, packhorse
from python_support import ROOT, SHAPES, pack

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = pytest.mark.thorough

PAGE = (ROOT / "docs/python-training.md").read_text(encoding="utf-8")
SCRIPTS = {name: (ROOT / "docs/examples" / name).read_text(encoding="utf-8") for name in re.findall(r"\(examples/(\w+\.py)\)", PAGE)}


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("recipes") / "packed"
    pack(SHAPES, out, "--format", "wds", "--image", "resize", "--short-side", "64")
    return out


@pytest.fixture(name="place")
def place_fixture(packed, tmp_path):
    """A folder with the scripts, and the dataset under the name that they use."""
    (tmp_path / "packed").symlink_to(packed)
    for name, code in SCRIPTS.items():
        small = code.replace("224, 256", "32, 40").replace("Crop(224)", "Crop(32)").replace('config["input_size"][-1]', "32")
        (tmp_path / name).write_text(small, encoding="utf-8")
    return tmp_path


def run(place, *command, **more):
    result = subprocess.run(
        [sys.executable, *command],
        cwd=place,
        env={**environment(), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HOME": str(place / "hf"), **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def edit(place, name, *replaced):
    code = (place / name).read_text(encoding="utf-8")
    for old, new in replaced:
        assert old in code
        code = code.replace(old, new)
    (place / name).write_text(code, encoding="utf-8")


NOTE = """import packhorse
make_batch = packhorse.Loader._batch
def note(self, make_tensor, images, labels, samples, *more):
    with open("noted", "a") as file:
        file.write(" ".join(map(str, [self.world_size, *samples])) + "\\n")
    return make_batch(self, make_tensor, images, labels, samples, *more)
packhorse.Loader._batch = note
"""


def note_samples(place, name):
    """Lets a script note the samples of each batch."""
    edit(place, name, ("import packhorse\n", NOTE))


def noted(place):
    """(world size, samples) for each batch, in the order in which they were taken."""
    lines = (place / "noted").read_text(encoding="utf-8").splitlines()
    return [(int(line.split()[0]), [int(word) for word in line.split()[1:]]) for line in lines]


def test_every_script_of_the_page_is_run():
    own_loops = ["train.py", "train_ddp.py", "train_lightning.py", "train_timm.py", "train_detection.py"]
    assert sorted(SCRIPTS) == sorted([*own_loops, "torchvision_loaders.py", "timm_loaders.py", "ultralytics_dataset.py", "from_packed.py"])


def test_a_plain_script(place):
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    (place / "train.py").write_text((place / "train.py").read_text().replace(", 256,", ", 40,"))
    assert re.fullmatch(r"(epoch \d: \d+ of 36 right\n){2}", run(place, "train.py"))


def test_the_lines_that_change(place, monkeypatch):
    monkeypatch.chdir(place)
    [line] = re.findall(r"^\+(loader = .*)$", PAGE, re.MULTILINE)
    names = {"packhorse": packhorse, "MEAN": (0.5, 0.5, 0.5), "STD": (0.5, 0.5, 0.5)}
    exec(line, names)
    assert names["loader"].batch_size == 256


def test_processes_and_a_resume_at_another_number_of_them(place):
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    note_samples(place, "train_ddp.py")
    edit(place, "train_ddp.py", ("96 // world", "24 // world"))
    code = (place / "train_ddp.py").read_text(encoding="utf-8")
    (place / "broken_off.py").write_text("import itertools\n" + code, encoding="utf-8")
    edit(place, "broken_off.py", ("enumerate(loader", "enumerate(itertools.islice(loader, 2)"), ("while loader.epoch < 2", "if True"))
    torchrun = ["-m", "torch.distributed.run", "--standalone"]
    run(place, *torchrun, "--nproc-per-node=2", "broken_off.py")
    before = noted(place)
    run(place, *torchrun, "--nproc-per-node=1", "train_ddp.py")
    after = noted(place)[len(before) :]
    assert [(world, len(samples)) for world, samples in before] == [(2, 12)] * 4
    assert [(world, len(samples)) for world, samples in after] == [(1, 24)] * 8
    for epoch in (before + after[:3], after[3:]):
        assert sorted(sample for _, samples in epoch for sample in samples) == list(range(120))


def test_lightning_goes_on_in_the_middle_of_an_epoch(place):
    pytest.importorskip("lightning", reason="lightning is not installed")
    note_samples(place, "train_lightning.py")
    edit(place, "train_lightning.py", ("max_epochs=2", 'logger=False, accelerator="cpu", max_epochs=2'))
    code = (place / "train_lightning.py").read_text(encoding="utf-8")
    (place / "broken_off.py").write_text(code, encoding="utf-8")
    edit(place, "broken_off.py", ("max_epochs=2", "max_steps=2"), (', ckpt_path="last"', ""))
    run(place, "broken_off.py")
    assert len(noted(place)) == 2
    run(place, "train_lightning.py")
    reader = packhorse.Loader(place / "packed/train", 32, size=32)
    expected = [batch.samples.tolist() for _ in range(2) for batch in reader]
    assert [samples for _, samples in noted(place)] == expected


def test_timm(place):
    pytest.importorskip("timm", reason="timm is not installed")
    run(place, "train_timm.py")


def loaders_of(place, monkeypatch, module, *given):
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(place)
    return importlib.import_module(module).loaders(*given)


@pytest.mark.parametrize(
    ("policy", "shown"),
    [
        (None, "flip=0.5), RandomErasing"),
        ("ra", "RandAugment(magnitude=7"),
        ("ta_wide", "TrivialAugmentWide("),
        ("augmix", "AugMix(severity=2"),
        ("imagenet", "AutoAugment("),
    ],
)
def test_the_loaders_of_torchvisions_reference_training(place, monkeypatch, policy, shown):
    args = argparse.Namespace(data_path="packed", batch_size=40, auto_augment=policy, random_erase=0.1, mixup_alpha=0.0,
                              cutmix_alpha=0.0, train_crop_size=32, val_crop_size=32, val_resize_size=40,
                              interpolation="bilinear", ra_magnitude=7, augmix_severity=2)  # fmt: skip
    train, val = loaders_of(place, monkeypatch, "torchvision_loaders", args)
    assert len(train.dataset.classes) == 6 and shown in repr(train)
    train.set_epoch(3)
    image, target = next(iter(train))
    assert image.shape == (40, 3, 32, 32) and image.dtype == torch.float32 and target.shape == (40,)
    assert sum(len(target) for _, target in val) == len(val.dataset) == 36
    args.mixup_alpha, args.cutmix_alpha = 0.2, 1.0
    assert loaders_of(place, monkeypatch, "torchvision_loaders", args)[0].__iter__().__next__()[1].shape == (40, 6)


@pytest.mark.parametrize("policy", [None, "rand-m9-mstd0.5-inc1"])
def test_the_loaders_of_timms_train_script(place, monkeypatch, policy):
    config = {"input_size": (3, 32, 32), "mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5), "crop_pct": 0.8, "interpolation": "bicubic"}
    args = argparse.Namespace(data_dir="packed", batch_size=50, validation_batch_size=None, aa=policy, color_jitter=0.4, reprob=0.25,
                              scale=[0.08, 1.0], ratio=[0.75, 1.3333], hflip=0.5, train_interpolation="random")  # fmt: skip
    train, val = loaders_of(place, monkeypatch, "timm_loaders", args, config)
    train.set_epoch(3)
    assert [len(target) for _, target in train] == [50, 50]
    assert ("TimmRandAugment(magnitude=9" if policy else "ColorJitter(") in repr(train)
    assert "ResizeCenterCrop(32, 40" in repr(val) and sum(len(target) for _, target in val) == 36


def test_the_two_lines_of_a_resume(place, monkeypatch):
    monkeypatch.chdir(place)
    [lines] = re.findall(r"^```python\n(torch.save.*?)```", PAGE, re.MULTILINE | re.DOTALL)
    save, load = lines.strip().splitlines()
    names = {"torch": torch, "model": torch.nn.Linear(1, 1), "loader": packhorse.Loader("packed/train", 16, size=32)}
    batches = iter(names["loader"])
    seen = [sample for _ in range(3) for sample in next(batches).samples.tolist()]
    exec(save, names)
    names["loader"] = packhorse.Loader("packed/train", 16, size=32)
    exec(load, names)
    assert sorted([*seen, *(sample for batch in names["loader"] for sample in batch.samples.tolist())]) == list(range(120))


def test_ultralytics(place):
    if importlib.util.find_spec("ultralytics") is None:
        pytest.skip("ultralytics is not installed: it takes 0.3 GB")
    with packhorse.Writer(place / "packed-objects", format="wds", object_classes=["RBC", "WBC", "Platelets"]) as writer:
        for i in range(24):
            pixels = np.random.default_rng(i).integers(0, 256, (48, 64 + i, 3), np.uint8)
            boxes = [[4, 6, 40, 44], [20, 10, 60, 30]][: i % 3]
            more = {"box_labels": [0, 2][: i % 3], "crowd": [False, True][: i % 3]}
            writer.add(pixels, "all", split=["train", "val"][i % 4 == 3], boxes=boxes, **more)
    [data] = re.findall(r"^```yaml\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
    (place / "data.yaml").write_text(data.replace("/data/packed-objects", str(place / "packed-objects")))
    small = f'"epochs": 1, "imgsz": 64, "batch": 6, "workers": 1, "device": "cpu", "plots": False, "project": "{place}/out"'
    edit(place, "ultralytics_dataset.py", ('"epochs": 100, "imgsz": 640', small))
    run(place, "ultralytics_dataset.py", YOLO_OFFLINE="true", YOLO_CONFIG_DIR=str(place))
    [results] = place.glob("out/*/results.csv")
    same_image = """
from ultralytics_dataset import PackedDataset
sorted_by_shape = {"rect": True, "pad": 0.5, "batch_size": 4, "augment": False}
dataset = PackedDataset("packed-objects/train", 64, data={"names": {0: "RBC", 1: "WBC", 2: "Platelets"}}, **sorted_by_shape)
for i, label in enumerate(dataset.labels):
    sample = int(label["im_file"].rpartition("/")[2].removesuffix(".jpg"))
    assert dataset.load_image(i)[1] == dataset.packed.decode(sample).shape[:2]
    assert len(label["cls"]) == len(label["bboxes"]) <= 1
"""
    run(place, "-c", same_image, YOLO_OFFLINE="true", YOLO_CONFIG_DIR=str(place))
    assert len(results.read_text().splitlines()) == 2


def test_a_detector(place):
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    random = np.random.default_rng(0)
    made = {"format": "wds", "image": "resize", "short_side": 64, "object_classes": ["a", "b"]}
    with packhorse.Writer(place / "packed-objects", **made) as writer:
        for i in range(4):
            boxes = [[4, 6, 40, 50], [20, 10, 90, 60]][: i % 3]
            pixels = random.integers(0, 256, (64, 96, 3), np.uint8)
            writer.add(pixels, "all", split="train", boxes=boxes, box_labels=[0, 1][: i % 3])
    changes = [("640", "64"), ("    16,", "    2,"), ("range(100)", "range(2)"), ("close_mosaic_from=90", "close_mosaic_from=1")]
    edit(place, "train_detection.py", *changes)
    assert re.fullmatch(r"(epoch \d: \d+\.\d+\n){2}", run(place, "train_detection.py"))


def test_hugging_face_in(place):
    pytest.importorskip("datasets", reason="datasets is not installed")
    lines = run(place, "from_packed.py").splitlines()
    assert [line.split()[:2] for line in lines] == [["train", "120"], ["val", "36"]]
