"""Networks and weights work both ways: torchvision's give the same scores here, and ours give them there."""

import json
import os
import subprocess

import pytest
from python_support import BIN, DONE, FAILED, SHAPES, USAGE, Result

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle threads of LibTorch sleep: tests share the machine
torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
safetensors = pytest.importorskip("safetensors.torch")

PROBE = BIN / "model_probe"
TRAIN = BIN / "packhorse-train"
pytestmark = pytest.mark.skipif(not PROBE.exists(), reason="packhorse-train is not part of this build")

CLASSES = 11


def cifar_resnet18():
    model = torchvision.models.resnet18(num_classes=CLASSES)
    model.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    model.maxpool = torch.nn.Identity()
    return model


def vit_s16(image_size=224):
    return torchvision.models.VisionTransformer(
        image_size=image_size, patch_size=16, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536,
        num_classes=CLASSES)  # fmt: skip


def of_torchvision(name):
    return lambda: getattr(torchvision.models, name)(num_classes=CLASSES)


# name -> torchvision's network, side of its pictures
NETWORKS = {name: (of_torchvision(name), 224) for name in
            ["resnet18", "resnet34", "resnet50", "resnet101", "mobilenet_v2"]}  # fmt: skip
NETWORKS |= {"vit_s16": (vit_s16, 224), "resnet18-cifar": (cifar_resnet18, 32)}


def probe(*args):
    done = subprocess.run([PROBE, *map(str, args)], capture_output=True, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def shaken(make):
    """The network in evaluation mode, with a head, norms and buffers that differ from any initialisation."""
    torch.manual_seed(7)
    model = make().eval()
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if name.endswith("running_var"):
                tensor.uniform_(0.5, 1.5)
            elif tensor.is_floating_point() and tensor.dim() == 1:
                tensor.add_(torch.randn_like(tensor) * 0.1)
            elif name == "heads.head.weight":
                tensor.normal_(0, 0.05)
    return model


def some_images(path, size, count=2):
    images = torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(3))
    safetensors.save_file({"images": images}, path)
    return images


def logits(arch, size, weights, images_file, classes=CLASSES):
    result = probe("logits", arch, classes, size, weights, images_file)
    assert result.code == DONE, result
    return torch.frombuffer(bytearray(result.raw), dtype=torch.float32).view(-1, classes)


def assert_close(ours, theirs):
    # The tolerance is 1e-4 for scores of about 1.
    scale = max(1.0, theirs.abs().max().item())
    assert (ours - theirs).abs().max().item() < 1e-4 * scale


@pytest.mark.parametrize("arch", NETWORKS)
def test_weights_of_torchvision_give_its_scores(arch, tmp_path):
    make, size = NETWORKS[arch]
    model = shaken(make)
    images = some_images(tmp_path / "images.safetensors", size)
    torch.save(model.state_dict(), tmp_path / "weights.pth")  # an OrderedDict with _metadata
    with torch.inference_mode():
        theirs = model(images)
    assert theirs.std() > 1e-3  # otherwise equal scores would prove nothing
    assert_close(logits(arch, size, tmp_path / "weights.pth", tmp_path / "images.safetensors"), theirs)


@pytest.mark.parametrize("arch", NETWORKS)
def test_a_checkpoint_loads_in_torchvision_and_gives_our_scores(arch, tmp_path):
    make, size = NETWORKS[arch]
    saved = tmp_path / "last.pt"
    assert probe("save", arch, CLASSES, size, saved).code == DONE
    model = make().eval()
    model.load_state_dict(torch.load(saved, weights_only=True)["model"], strict=True)
    images = some_images(tmp_path / "images.safetensors", size)
    with torch.inference_mode():
        theirs = model(images)
    assert_close(logits(arch, size, saved, tmp_path / "images.safetensors"), theirs)


@pytest.mark.parametrize("arch", ["resnet50", "mobilenet_v2", "vit_s16"])
def test_new_parameters_are_spread_as_torchvisions(arch, tmp_path):
    make, size = NETWORKS[arch]
    assert probe("save", arch, CLASSES, size, tmp_path / "last.pt").code == DONE
    ours = torch.load(tmp_path / "last.pt", weights_only=True)["model"]
    torch.manual_seed(2)
    for name, theirs in make().named_parameters():
        for measure in (torch.mean, torch.std):
            spread = theirs.std().item() if theirs.numel() > 1 else 0.0
            tolerance = spread * 6 / theirs.numel() ** 0.5 + 1e-9  # six standard errors
            assert measure(ours[name]).item() == pytest.approx(measure(theirs).item(), abs=tolerance), name


def test_a_transformer_takes_pictures_of_another_size(tmp_path):
    model = shaken(lambda: vit_s16(64))
    torch.save(model.state_dict(), tmp_path / "weights.pth")
    images = some_images(tmp_path / "images.safetensors", 64)
    with torch.inference_mode():
        theirs = model(images)
    assert_close(logits("vit_s16", 64, tmp_path / "weights.pth", tmp_path / "images.safetensors"), theirs)


def half(state):
    return {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in state.items()}


# The ways in which a state dict is saved.
WAYS = {
    "safetensors": lambda model, path: safetensors.save_file(
        {name: tensor.contiguous() for name, tensor in model.state_dict().items()}, path, {"format": "pt"}),
    "plain dict": lambda model, path: torch.save(dict(model.state_dict()), path),
    "checkpoint": lambda model, path: torch.save(
        {"epoch": 3, "best": 0.5, "big": 2**40, "names": ["a", ("b", None)], "args": argparse_namespace(),
         "model": model.state_dict(), "optimizer": {"state": {0: {"step": torch.tensor(1.0)}}}}, path),
    "data parallel": lambda model, path: torch.save(
        {"state_dict": {f"module.{name}": tensor for name, tensor in model.state_dict().items()}}, path),
    "parameters": lambda model, path: torch.save(model.state_dict(keep_vars=True), path),
    "channels last": lambda model, path: torch.save(
        model.to(memory_format=torch.channels_last).state_dict(), path),
}  # fmt: skip


def argparse_namespace():
    import argparse

    return argparse.Namespace(lr=0.1, model="resnet18")


@pytest.mark.parametrize("way", WAYS)
def test_every_usual_way_to_save_weights_is_read(way, tmp_path):
    model = shaken(cifar_resnet18)
    WAYS[way](model, tmp_path / "weights")
    images = some_images(tmp_path / "images.safetensors", 32)
    with torch.inference_mode():
        theirs = model(images)
    assert_close(logits("resnet18-cifar", 32, tmp_path / "weights", tmp_path / "images.safetensors"), theirs)


def test_half_precision_weights_become_float(tmp_path):
    model = shaken(cifar_resnet18)
    safetensors.save_file(half(model.state_dict()), tmp_path / "half.safetensors")
    model.load_state_dict(half(model.state_dict()))
    images = some_images(tmp_path / "images.safetensors", 32)
    with torch.inference_mode():
        theirs = model(images)
    assert_close(logits("resnet18-cifar", 32, tmp_path / "half.safetensors", tmp_path / "images.safetensors"), theirs)


@pytest.mark.parametrize("write", [
    lambda model, path: torch.save(model.state_dict(), path, _use_new_zipfile_serialization=False),
    lambda model, path: torch.jit.script(model).save(str(path)),
    lambda model, path: torch.save([1, 2], path),
    lambda model, path: path.write_bytes(b"\x00" * 100),
    lambda model, path: path.write_bytes(b""),
], ids=["legacy", "script", "list", "zeros", "empty"])  # fmt: skip
def test_other_files_are_refused_with_the_way_to_save_again(write, tmp_path):
    path = tmp_path / "weights.pth"
    write(cifar_resnet18(), path)
    result = train("eval", "--weights", path, "--arch", "resnet18-cifar", "--data", SHAPES)
    assert result.code in (FAILED, 3), result
    assert str(path) in result.err and "torch.save(model.state_dict(), FILE)" in result.err


def train(*args):
    done = subprocess.run([TRAIN, *map(str, args)], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return Result(done.returncode, done.stdout, done.stderr)


def test_a_flipped_byte_in_weights_is_noticed(tmp_path):
    path = tmp_path / "weights.pth"
    torch.save(cifar_resnet18().state_dict(), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1  # in a tensor
    path.write_bytes(content)
    result = probe("logits", "resnet18-cifar", CLASSES, 32, path, path)
    assert result.code != DONE and "CRC" in result.err


@pytest.fixture(scope="module", name="shapes_classes")
def shapes_classes_fixture():
    return len([path for path in (SHAPES / "train").iterdir() if path.is_dir()])


def smallnet_weights(path, classes, change=lambda state: None):
    assert probe("save", "smallnet", classes, 32, path).code == DONE
    state = torch.load(path, weights_only=True)["model"]
    change(state)
    torch.save(state, path)
    return state


def test_a_run_starts_from_weights_and_eval_scores_them(tmp_path, shapes_classes):
    weights = tmp_path / "weights.pth"
    smallnet_weights(weights, shapes_classes)
    scores = train("eval", "--weights", weights, "--arch", "smallnet", "--data", SHAPES, "--json")
    assert scores.code == DONE, scores
    fit = train("fit", "--data", SHAPES, "--arch", "smallnet", "--batch-size", "24", "--init-from", weights,
                "--max-steps", "1", "--lr", "1e-12", "--out", tmp_path / "run")  # fmt: skip
    assert fit.code == DONE, fit
    run = torch.load(tmp_path / "run/last.pt", weights_only=True)["model"]
    start = torch.load(weights, weights_only=True)
    assert torch.allclose(run["features.0.weight"], start["features.0.weight"], atol=1e-6)
    again = train("eval", "--weights", tmp_path / "run/last.pt", "--arch", "smallnet", "--data", SHAPES, "--json")
    assert json.loads(again.out)["images"] == json.loads(scores.out)["images"] == 36


def test_a_new_head_is_made_only_when_asked_for(tmp_path):
    weights = tmp_path / "weights.pth"
    state = smallnet_weights(weights, 1000)
    run = ("fit", "--data", SHAPES, "--arch", "smallnet", "--batch-size", "24", "--init-from", weights,
           "--max-steps", "1", "--lr", "1e-12", "--out", tmp_path / "run")  # fmt: skip
    refused = train(*run)
    assert refused.code == USAGE and "'fc.weight' (1000x128, not " in refused.err and "--new-head" in refused.err
    assert not (tmp_path / "run/last.pt").exists()
    done = train(*run, "--overwrite", "--new-head")
    assert done.code == DONE and "fc.weight, fc.bias" in done.err, done
    model = torch.load(tmp_path / "run/last.pt", weights_only=True)["model"]
    assert torch.allclose(model["features.0.weight"], state["features.0.weight"], atol=1e-6)


@pytest.mark.parametrize("change, said", [
    (lambda state: state.pop("features.0.weight"), "missing: 'features.0.weight'"),
    (lambda state: state.update(more=torch.zeros(1)), "not in the network: 'more'"),
    (lambda state: state.update({"features.0.weight": torch.zeros(32, 3, 5, 5)}),
     "'features.0.weight' (32x3x5x5, not 32x3x3x3)"),
])  # fmt: skip
def test_weights_that_do_not_fit_are_named(change, said, tmp_path, shapes_classes):
    weights = tmp_path / "weights.pth"
    smallnet_weights(weights, shapes_classes, change)
    result = train("eval", "--weights", weights, "--arch", "smallnet", "--data", SHAPES)
    assert result.code == USAGE and said in result.err, result


class Scripted(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 16, 3, stride=2)
        self.norm = torch.nn.BatchNorm2d(16)
        self.drop = torch.nn.Dropout(0.1)
        self.head = torch.nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.drop(torch.relu(self.norm(self.conv(x)))).mean((2, 3)))


def save_scripted(path, classes):
    torch.manual_seed(0)
    torch.jit.script(Scripted(classes)).save(str(path))
    return path


def test_a_torchscript_module_is_trained_and_its_checkpoint_loads_in_python(tmp_path, shapes_classes):
    script = save_scripted(tmp_path / "net.pt", shapes_classes)
    options = ("--data", SHAPES, "--arch", f"script:{script}", "--image-size", "32", "--batch-size", "24",
               "--augment", "flip", "--out", tmp_path / "run", "--warmup-epochs", "1")  # fmt: skip
    first = train("fit", *options, "--epochs", "6", "--max-steps", "5", "--json")
    assert first.code == DONE, first
    done = train("fit", *options, "--resume", "--json")
    assert done.code == DONE, done
    log = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    assert log[-1]["train_loss"] < log[0]["train_loss"]
    model = torch.jit.load(str(script))
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = torch.load(tmp_path / "run/last.pt", weights_only=True)["model"]
    model.load_state_dict(state, strict=True)
    assert not torch.equal(state["conv.weight"], start["conv.weight"])
    assert not torch.equal(state["norm.running_mean"], start["norm.running_mean"])
    assert state["norm.num_batches_tracked"] == done.json["steps"]
    scores = train("eval", "--checkpoint", tmp_path / "run/last.pt", "--data", SHAPES, "--json")
    assert scores.json["top1"] == pytest.approx(done.json["top1"])


def test_a_torchscript_module_that_does_not_fit_says_why(tmp_path, shapes_classes):
    script = save_scripted(tmp_path / "net.pt", shapes_classes + 1)
    frozen = tmp_path / "frozen.pt"
    torch.jit.freeze(torch.jit.script(Scripted(shapes_classes)).eval()).save(str(frozen))
    (tmp_path / "text.pt").write_text("no module")
    for file, code, said in [(script, USAGE, f"has {shapes_classes + 1} outputs"),
                             (frozen, FAILED, "has no parameters"),
                             (tmp_path / "text.pt", 3, "not a TorchScript module"),
                             (tmp_path / "none.pt", FAILED, "the TorchScript module does not exist")]:  # fmt: skip
        result = train("fit", "--data", SHAPES, "--arch", f"script:{file}", "--batch-size", "24")
        assert result.code == code and said in result.err and str(file) in result.err, result
