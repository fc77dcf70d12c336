"""Networks and weights work both ways: torchvision's give the same scores here, and ours give them there."""

import argparse
import json
import subprocess

import pytest
from python_support import BIN, DONE, FAILED, SHAPES, USAGE, Result, train

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
safetensors = pytest.importorskip("safetensors.torch")

PROBE = BIN / "model_probe"
pytestmark = pytest.mark.skipif(not PROBE.exists(), reason="packhorse-train is not part of this build")

CLASSES = 11
SHAPES_CLASSES = len([path for path in (SHAPES / "train").iterdir() if path.is_dir()])
SMALLNET = ["--arch", "smallnet", "--data", SHAPES, "--device", "cpu"]


class Smallnet(torch.nn.Module):
    def __init__(self, classes=CLASSES):
        super().__init__()
        layers = []
        for c_in, c_out, stride in [(3, 32, 1), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1)]:
            conv = torch.nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False)
            layers += [conv, torch.nn.BatchNorm2d(c_out), torch.nn.ReLU()]
        self.features, self.fc = torch.nn.Sequential(*layers), torch.nn.Linear(128, classes)

    def forward(self, images):
        return self.fc(self.features(images).mean((2, 3)))


def cifar_resnet18():
    model = torchvision.models.resnet18(num_classes=CLASSES)
    model.conv1, model.maxpool = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False), torch.nn.Identity()
    return model


def vit_s16():
    return torchvision.models.VisionTransformer(
        image_size=64, patch_size=16, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536, num_classes=CLASSES)  # fmt: skip


def of_torchvision(name):
    return lambda: getattr(torchvision.models, name)(num_classes=CLASSES)


# name -> the same network in Python
NETWORKS = {"smallnet": Smallnet, "resnet18-cifar": cifar_resnet18, "vit_s16": vit_s16}
NETWORKS |= {name: of_torchvision(name) for name in ["mobilenet_v2", "resnet18", "resnet34", "resnet50", "resnet101"]}
SIDE = 64


def thorough(values, fast):
    """The values as parameters, of which only those in `fast` are in the fast tier."""
    return [value if value in fast else pytest.param(value, marks=pytest.mark.thorough) for value in values]


def probe(*args):
    done = subprocess.run([PROBE, *map(str, args)], capture_output=True, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def new_weights(arch, path, classes=CLASSES):
    """Of a new network of packhorse-train, with shaken buffers."""
    done = probe("save", arch, classes, SIDE, path)
    assert done.code == DONE, done
    return torch.load(path, weights_only=True)["model"]


def shake(model):
    """Gives it a head, norms and buffers that differ from any initialisation."""
    torch.manual_seed(7)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if name.endswith("running_var"):
                tensor.uniform_(0.5, 1.5)
            elif tensor.is_floating_point() and tensor.dim() == 1:
                tensor.add_(torch.randn_like(tensor) * 0.1)
            elif name == "heads.head.weight":
                tensor.normal_(0, 0.05)


@pytest.fixture(scope="module", name="images")
def images_fixture(tmp_path_factory):
    """Two pictures, and the file that has them."""
    path = tmp_path_factory.mktemp("images") / "images.safetensors"
    images = torch.randn(2, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(3))
    safetensors.save_file({"images": images}, path)
    return images, path


def assert_same_scores(model, images, arch, weights):
    """The tolerance is 1e-4 for scores of about 1."""
    with torch.inference_mode():
        theirs = model(images[0])
    result = probe("logits", arch, CLASSES, SIDE, weights, images[1])
    assert result.code == DONE, result
    ours = torch.frombuffer(bytearray(result.raw), dtype=torch.float32).view(-1, CLASSES)
    assert (ours - theirs).abs().max().item() < 1e-4 * max(1.0, theirs.abs().max().item())
    return theirs


@pytest.mark.parametrize("arch", thorough(NETWORKS, ["smallnet", "resnet50", "mobilenet_v2", "vit_s16"]))
def test_weights_go_both_ways(arch, images, tmp_path):
    state = new_weights(arch, tmp_path / "last.pt")
    with torch.device("meta"):
        model = NETWORKS[arch]().eval()
    model.load_state_dict(state, strict=True, assign=True)
    assert_same_scores(model, images, arch, tmp_path / "last.pt")
    shake(model)
    torch.save(model.state_dict(), tmp_path / "weights.pth")  # an OrderedDict with _metadata
    theirs = assert_same_scores(model, images, arch, tmp_path / "weights.pth")
    assert theirs.std() > 1e-3  # otherwise equal scores would prove nothing


@pytest.mark.parametrize("arch", thorough(["mobilenet_v2", "vit_s16", "resnet50"], ["mobilenet_v2"]))
def test_new_parameters_are_spread_as_torchvisions(arch, tmp_path):
    ours = new_weights(arch, tmp_path / "last.pt")
    torch.manual_seed(2)
    for name, theirs in NETWORKS[arch]().named_parameters():
        for measure in (torch.mean, torch.std):
            spread = theirs.std().item() if theirs.numel() > 1 else 0.0
            tolerance = spread * 6 / theirs.numel() ** 0.5 + 1e-9  # six standard errors
            assert measure(ours[name]).item() == pytest.approx(measure(theirs).item(), abs=tolerance), name


def save_half(model, path):
    model.half().float()  # the file has the same numbers
    state = model.state_dict().items()
    safetensors.save_file({name: value.half() if value.is_floating_point() else value for name, value in state}, path)


# The ways in which a state dict is saved.
WAYS = {
    "safetensors": lambda model, path: safetensors.save_file(model.state_dict(), path, {"format": "pt"}),
    "half precision": save_half,
    "plain dict": lambda model, path: torch.save(dict(model.state_dict()), path),
    "checkpoint": lambda model, path: torch.save(
        {"epoch": 3, "best": 0.5, "big": 2**40, "names": ["a", ("b", None)], "args": argparse.Namespace(lr=0.1, model="x"),
         "model": model.state_dict(), "optimizer": {"state": {0: {"step": torch.tensor(1.0)}}}}, path),
    "data parallel": lambda model, path: torch.save(
        {"state_dict": {f"module.{name}": tensor for name, tensor in model.state_dict().items()}}, path),
    "parameters": lambda model, path: torch.save(model.state_dict(keep_vars=True), path),
    "channels last": lambda model, path: torch.save(
        model.to(memory_format=torch.channels_last).state_dict(), path),
}  # fmt: skip


@pytest.mark.parametrize("way", thorough(WAYS, ["safetensors", "checkpoint", "channels last"]))
def test_every_usual_way_to_save_weights_is_read(way, images, tmp_path):
    model = Smallnet().eval()
    shake(model)
    WAYS[way](model, tmp_path / "weights")
    assert_same_scores(model, images, "smallnet", tmp_path / "weights")


@pytest.mark.parametrize("write", thorough([
    lambda model, path: torch.save(model.state_dict(), path, _use_new_zipfile_serialization=False),
    lambda model, path: torch.jit.script(model).save(str(path)),
    lambda model, path: torch.save([1, 2], path),
    lambda model, path: path.write_bytes(b"\x00" * 100),
    lambda model, path: path.write_bytes(b""),
], []), ids=["legacy", "script", "list", "zeros", "empty"])  # fmt: skip
def test_other_files_are_refused_with_the_way_to_save_again(write, tmp_path):
    path = tmp_path / "weights.pth"
    write(Smallnet(SHAPES_CLASSES), path)
    result = train("eval", "--weights", path, *SMALLNET)
    assert result.code in (FAILED, 3), result
    assert str(path) in result.err and "torch.save(model.state_dict(), FILE)" in result.err


def fit(out, *options):
    return train("fit", *SMALLNET, "--batch-size", "24", "--max-steps", "1", "--lr", "1e-12", "--out", out, *options)


def same(state, other, name):
    return torch.allclose(state[name], other[name], atol=1e-6)


def test_a_run_starts_from_weights_and_eval_scores_them(tmp_path):
    weights = tmp_path / "weights.pt"
    start = new_weights("smallnet", weights, SHAPES_CLASSES)
    done = fit(tmp_path / "run", "--init-from", weights)
    assert done.code == DONE, done
    run = torch.load(tmp_path / "run/last.pt", weights_only=True)["model"]
    assert all(same(run, start, name) for name in ["features.0.weight", "fc.weight"])
    scores = train("eval", "--weights", tmp_path / "run/last.pt", *SMALLNET, "--json")
    assert scores.json["images"] == 36


def test_a_new_head_is_made_only_when_asked_for(tmp_path):
    weights = tmp_path / "weights.pt"
    state = new_weights("smallnet", weights, 1000)
    refused = fit(tmp_path / "run", "--init-from", weights)
    assert refused.code == USAGE and "'fc.weight' (1000x128, not " in refused.err and "--new-head" in refused.err
    assert not (tmp_path / "run/last.pt").exists()
    done = fit(tmp_path / "run", "--init-from", weights, "--new-head")
    assert done.code == DONE and "fc.weight, fc.bias" in done.err, done
    assert same(torch.load(tmp_path / "run/last.pt", weights_only=True)["model"], state, "features.0.weight")


def test_weights_that_do_not_fit_are_named(tmp_path):
    state = new_weights("smallnet", tmp_path / "weights.pt", SHAPES_CLASSES)
    state["more"], state["features.0.weight"] = torch.zeros(1), torch.zeros(32, 3, 5, 5)
    del state["fc.bias"]
    torch.save(state, tmp_path / "weights.pth")
    result = train("eval", "--weights", tmp_path / "weights.pth", *SMALLNET)
    assert result.code == USAGE
    for said in ["missing: 'fc.bias'", "not in the network: 'more'", "'features.0.weight' (32x3x5x5, not 32x3x3x3)"]:
        assert said in result.err, result


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


def test_a_torchscript_module_is_trained_and_its_checkpoint_loads_in_python(tmp_path):
    script = save_scripted(tmp_path / "net.pt", SHAPES_CLASSES)
    options = ("--data", SHAPES, "--device", "cpu", "--arch", f"script:{script}", "--image-size", "32",
               "--batch-size", "24", "--augment", "flip", "--warmup-epochs", "1", "--out", tmp_path / "run",
               "--json")  # fmt: skip
    first = train("fit", *options, "--epochs", "4", "--max-steps", "5")
    assert first.code == DONE, first
    done = train("fit", *options, "--resume")
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
    scores = train("eval", "--checkpoint", tmp_path / "run/last.pt", "--data", SHAPES, "--device", "cpu", "--json")
    assert scores.json["top1"] == pytest.approx(done.json["top1"])


@pytest.mark.thorough
def test_a_torchscript_module_that_does_not_fit_says_why(tmp_path):
    script = save_scripted(tmp_path / "net.pt", SHAPES_CLASSES + 1)
    frozen = tmp_path / "frozen.pt"
    torch.jit.freeze(torch.jit.script(Scripted(SHAPES_CLASSES)).eval()).save(str(frozen))
    (tmp_path / "text.pt").write_text("no module")
    for file, code, said in [(script, USAGE, f"has {SHAPES_CLASSES + 1} outputs"), (frozen, FAILED, "has no parameters"),
                             (tmp_path / "text.pt", 3, "not a TorchScript module")]:  # fmt: skip
        result = train("fit", "--data", SHAPES, "--arch", f"script:{file}", "--batch-size", "24", "--device", "cpu")
        assert result.code == code and said in result.err and str(file) in result.err, result
