"""packhorse-train export: Python opens the module, which computes what the network does, for any number of pictures."""

import json
import os

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle threads of LibTorch sleep: tests share the machine
torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
pytest.importorskip("safetensors.torch")

from boxes_support import SIDE, draw  # noqa: E402
from python_support import DONE, SHAPES, TRAIN, pack, train  # noqa: E402
from test_detect_parts import assert_close, draws, probe, save  # noqa: E402

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")


def exported(checkpoint, path):
    done = train("export", "--checkpoint", checkpoint, "-o", path, "--device", "cpu")
    assert done.code == DONE, done
    extra = {"packhorse.json": ""}
    model = torch.jit.load(path, _extra_files=extra)
    return model, json.loads(extra["packhorse.json"])


def fit(data, out, *options):
    done = train("fit", "--data", data, "--out", out, "--device", "cpu", "--workers", "1", *options)
    assert done.code == DONE, done
    return torch.load(out / "last.pt", weights_only=True)


def test_a_classifier(tmp_path):
    pack(SHAPES, tmp_path / "wds", "--format", "wds")
    for decay, key in [("0", "model"), ("0.5", "ema")]:  # the average, where there is one
        out = tmp_path / key
        saved = fit(tmp_path / "wds", out, "--arch", "resnet18-cifar", "--epochs", "1", "--batch-size", "16", "--ema-decay", decay)
        module, about = exported(out / "last.pt", tmp_path / "m.pt")
        assert (about["task"], about["arch"], about["image_size"]) == ("classify", "resnet18-cifar", 32)
        assert len(about["mean"]) == 3 and len(about["classes"]) > 1
        model = torchvision.models.resnet18(num_classes=len(about["classes"]))
        model.conv1, model.maxpool = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False), torch.nn.Identity()
        model.load_state_dict(saved["model"] | saved.get("ema", {}))
        images = torch.randn(5, 3, 32, 32, generator=draws(1))
        with torch.no_grad():
            assert_close(module(images), model.eval()(images))
            assert_close(module(images[:1]), model(images[:1]))
        assert {name for name, _ in module.named_parameters()} == {name for name, _ in model.named_parameters()}


@pytest.mark.parametrize("arch", ["yolox-nano", "fcos-resnet50"])
def test_a_detector(arch, tmp_path):
    (tmp_path / "source/annotations").mkdir(parents=True)
    content = draw(tmp_path / "source/train", 4, 1)
    (tmp_path / "source/annotations/instances_train.json").write_text(json.dumps(content))
    pack(tmp_path / "source", tmp_path / "wds", "--format", "wds", "--source-kind", "coco")
    saved = fit(tmp_path / "wds", tmp_path / "run", "--arch", arch, "--image-size", SIDE, "--epochs", "1", "--batch-size", "4",
                "--ema-decay", "0")["model"]  # fmt: skip
    module, about = exported(tmp_path / "run/last.pt", tmp_path / "m.pt")
    assert (about["task"], about["classes"]) == ("detect", ["red", "blue", "green"])
    images = torch.randn(3, 3, SIDE, SIDE, generator=draws(2))
    given = save(tmp_path / "in.safetensors", {"images": images})
    got = probe("eval", arch, 3, save(tmp_path / "w.safetensors", saved), given, tmp_path / "out.pt")
    with torch.no_grad():
        assert_close(module(images), got["predictions"])
        assert_close(module(images[:1]), got["predictions"][:1])


def test_what_is_a_module_already_is_refused(tmp_path):
    model = torch.jit.script(torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()))
    model.save(tmp_path / "net.pt")
    pack(SHAPES, tmp_path / "wds", "--format", "wds")
    fit(tmp_path / "wds", tmp_path / "run", "--arch", f"script:{tmp_path / 'net.pt'}", "--epochs", "1", "--image-size", "32",
        "--batch-size", "16")  # fmt: skip
    done = train("export", "--checkpoint", tmp_path / "run/last.pt", "-o", tmp_path / "m.pt", "--device", "cpu")
    assert done.code != DONE and "already" in done.err and not (tmp_path / "m.pt").exists()
