"""packhorse-train export: Python opens the module, which computes what the network does, for any number of pictures."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("safetensors.torch")

from boxes_support import SIDE, pack_drawn  # noqa: E402
from python_support import DONE, SHAPES, TRAIN, train  # noqa: E402
from test_detect_parts import assert_close, draws, probe, save  # noqa: E402
from test_models import SHAPES_CLASSES, Smallnet, save_scripted, thorough  # noqa: E402

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")


def exported(checkpoint, path):
    done = train("export", "--checkpoint", checkpoint, "-o", path, "--device", "cpu")
    assert done.code == DONE, done
    extra = {"packhorse.json": ""}
    model = torch.jit.load(path, _extra_files=extra)
    return model, json.loads(extra["packhorse.json"])


def fit(data, out, *options):
    """One step."""
    done = train("fit", "--data", data, "--out", out, "--device", "cpu", "--workers", "1", "--max-steps", "1", *options)
    assert done.code == DONE, done
    return torch.load(out / "last.pt", weights_only=True)


def assert_same_outputs(module, model, side):
    images = torch.randn(3, 3, side, side, generator=draws(2))
    with torch.no_grad():
        assert_close(module(images), model(images))
        assert_close(module(images[:1]), model(images[:1]))


@pytest.mark.parametrize("decay, key", [pytest.param("0", "model", marks=pytest.mark.thorough), ("0.5", "ema")])
def test_a_classifier(decay, key, tmp_path):
    """Its average, where there is one."""
    saved = fit(SHAPES, tmp_path, "--arch", "smallnet", "--batch-size", "24", "--ema-decay", decay)
    module, about = exported(tmp_path / "last.pt", tmp_path / "m.pt")
    assert (about["task"], about["arch"], about["image_size"]) == ("classify", "smallnet", 32)
    assert len(about["mean"]) == 3 and len(about["classes"]) == SHAPES_CLASSES
    model = Smallnet(SHAPES_CLASSES).eval()
    model.load_state_dict(saved["model"] | saved.get("ema", {}))
    assert (key in saved) and ("ema" in saved) == (key == "ema")
    assert_same_outputs(module, model, 32)
    assert {name for name, _ in module.named_parameters()} == {name for name, _ in model.named_parameters()}


@pytest.mark.parametrize("arch", thorough(["yolox-nano", "fcos-resnet50"], ["yolox-nano"]))
def test_a_detector(arch, tmp_path):
    data = pack_drawn(tmp_path, train={"count": 4})
    options = ["--arch", arch, "--image-size", SIDE, "--batch-size", "4", "--ema-decay", "0"]
    saved = fit(data, tmp_path / "run", *options)["model"]
    module, about = exported(tmp_path / "run/last.pt", tmp_path / "m.pt")
    assert (about["task"], about["classes"]) == ("detect", ["red", "blue", "green"])
    weights = save(tmp_path / "w.safetensors", saved)

    def ours(images):
        given = save(tmp_path / "in.safetensors", {"images": images})
        return probe("eval", arch, 3, weights, given, tmp_path / "out.pt")["predictions"]

    assert_same_outputs(module, ours, SIDE)


@pytest.mark.thorough
def test_what_is_a_module_already_is_refused(tmp_path):
    script = save_scripted(tmp_path / "net.pt", SHAPES_CLASSES)
    fit(SHAPES, tmp_path / "run", "--arch", f"script:{script}", "--image-size", "32", "--batch-size", "24")
    done = train("export", "--checkpoint", tmp_path / "run/last.pt", "-o", tmp_path / "m.pt", "--device", "cpu")
    assert done.code != DONE and "already" in done.err and not (tmp_path / "m.pt").exists()
