"""The detector's network, assignment, losses, gradients and suppression beside plain ones in Python."""

import subprocess

import pytest
from python_support import BIN

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
safetensors = pytest.importorskip("safetensors.torch")
plain = pytest.importorskip("plain_yolox")

PROBE = BIN / "detect_probe"
pytestmark = pytest.mark.skipif(not PROBE.exists(), reason="packhorse-train is not part of this build")

CLASSES = 4
HEIGHT, WIDTH = 64, 96


def probe(*args):
    done = subprocess.run([PROBE, *map(str, args)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return torch.load(args[-1], weights_only=True)["model"]


def draws(seed):
    return torch.Generator().manual_seed(seed)


def network(name):
    """With norms and biases unlike any initialisation's, and heads that find something here and there."""
    torch.manual_seed(11)
    model = plain.Yolox(name, CLASSES)
    with torch.no_grad():
        for key, tensor in model.state_dict().items():
            if key.endswith("running_var"):
                tensor.uniform_(0.5, 1.5)
            elif tensor.is_floating_point() and tensor.dim() == 1:
                tensor.add_(torch.randn_like(tensor) * 0.1)
    return model


def made_truth(counts, seed=5):
    """Boxes (centre, sides) and labels: some alike, some beside one another, some beyond the edge, one without an area."""
    random, truth = draws(seed), []
    for count in counts:
        boxes = torch.rand(count, 4, generator=random) * torch.tensor([WIDTH, HEIGHT, WIDTH * 0.7, HEIGHT * 0.7]) + 1
        labels = torch.randint(0, CLASSES, (count,), generator=random)
        if count > 3:
            boxes[1] = boxes[0]  # twice the same box, of two classes
            labels[1] = (labels[0] + 1) % CLASSES
            boxes[2] = boxes[0] + torch.tensor([3.0, -2.0, 1.0, 0.0])
            boxes[3, :2] = torch.tensor([WIDTH + 2.0, HEIGHT / 2])
        if count > 4:
            boxes[4, 2] = 0
        truth.append((boxes, labels))
    return truth


def padded(truth):
    most = max(len(labels) for _, labels in truth)
    boxes, labels = torch.full((len(truth), most, 4), 7.0), torch.zeros(len(truth), most, dtype=torch.int64)
    real = torch.zeros(len(truth), most, dtype=torch.int64)
    for i, (of_boxes, of_labels) in enumerate(truth):
        n = len(of_labels)
        boxes[i, :n], labels[i, :n], real[i, :n] = of_boxes, of_labels, 1
    return {"boxes": boxes, "labels": labels, "real": real}


def save(path, tensors):
    safetensors.save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
    return path


def assert_close(ours, theirs, what=""):
    scale = max(1.0, theirs.abs().max().item()) if theirs.numel() else 1.0
    assert ours.shape == theirs.shape, what
    assert not theirs.numel() or (ours - theirs).abs().max().item() < 1e-4 * scale, what


def assert_same_losses(got, parts, assigned):
    for i, found in enumerate(assigned):
        objects = {a: int(g) for a, g in enumerate(got["object"][i]) if g >= 0}
        assert objects == {a: g for a, (g, _) in found.items()}
        for a, (_, overlap) in found.items():
            assert abs(got["overlap"][i, a] - overlap) < 1e-5
    for name, value in parts.items():
        assert_close(got[f"loss.{name}"], value.detach(), name)


@pytest.mark.parametrize("name", [name if name == "yolox-nano" else pytest.param(name, marks=pytest.mark.thorough)
                                  for name in plain.SIZES])  # fmt: skip
def test_network_both_ways(name, tmp_path):
    model = network(name).eval()
    images = torch.randn(2, 3, HEIGHT, WIDTH, generator=draws(3))
    given = save(tmp_path / "in.safetensors", {"images": images})
    weights = save(tmp_path / "w.safetensors", model.state_dict())
    got = probe("eval", name, CLASSES, weights, given, tmp_path / "out.pt")
    with torch.no_grad():
        assert_close(got["predictions"], model(images))
        new = probe("save", name, CLASSES, tmp_path / "new.pt")
        model.load_state_dict(new)
        weights = save(tmp_path / "w.safetensors", new)
        got = probe("eval", name, CLASSES, weights, given, tmp_path / "out.pt")
        assert_close(got["predictions"], model(images))
    assert torch.allclose(got["predictions"][..., 4].sigmoid(), torch.tensor(0.01), atol=0.01)


def test_losses_and_gradients_of_a_network(tmp_path):
    model = network("yolox-nano").train()
    truth = made_truth([5, 0, 2])
    images = torch.randn(len(truth), 3, HEIGHT, WIDTH, generator=draws(4))
    weights = save(tmp_path / "w.safetensors", model.state_dict())
    given = save(tmp_path / "in.safetensors", {"images": images} | padded(truth))
    got = probe("train", "yolox-nano", CLASSES, weights, given, tmp_path / "out.pt")
    predictions = model(images)
    assert_close(got["predictions"], predictions.detach())
    parts, assigned = plain.losses(predictions, truth, plain.places_of(HEIGHT, WIDTH))
    assert_same_losses(got, parts, assigned)
    parts["total"].backward()
    for name, parameter in model.named_parameters():
        assert_close(got["grad." + name], parameter.grad, name)


def near_predictions(truth, seed):
    """Boxes near the true ones where such are, so that objects take many places and want the same."""
    random, places = draws(seed), plain.places_of(HEIGHT, WIDTH)
    rows = torch.randn(len(truth), len(places), 5 + CLASSES, generator=random)
    for i, (boxes, _) in enumerate(truth):
        for a, (x, y, stride) in enumerate(places):
            middles = [g for g in range(len(boxes)) if plain.near(boxes[g], (x, y, stride))]
            if middles and torch.rand((), generator=random) < 0.7:
                g = middles[int(torch.randint(0, len(middles), (), generator=random))]
                rows[i, a, :4] = boxes[g] + torch.randn(4, generator=random)
            else:
                rows[i, a, :4] = torch.tensor([x, y, stride, stride]) + torch.randn(4, generator=random)
            rows[i, a, 2:4] = rows[i, a, 2:4].abs() + 1
    return rows


@pytest.mark.parametrize("seed, counts", [(0, [12, 1, 0, 6]), (1, [0, 0]), (2, [1]), (0, [40, 3]),
                                          pytest.param(1, [12, 40, 4], marks=pytest.mark.thorough)])  # fmt: skip
def test_assignment_of_crowded_and_empty_pictures(seed, counts, tmp_path):
    truth = made_truth(counts, seed)
    predictions = near_predictions(truth, seed + 50).requires_grad_()
    given = {"predictions": predictions.detach(), "sides": torch.tensor([HEIGHT, WIDTH])} | padded(truth)
    got = probe("loss", "yolox-nano", save(tmp_path / "in.safetensors", given), tmp_path / "out.pt")
    parts, assigned = plain.losses(predictions, truth, plain.places_of(HEIGHT, WIDTH))
    assert_same_losses(got, parts, assigned)
    parts["total"].backward()
    assert_close(got["grad"], predictions.grad)
    if counts == [40, 3]:
        assert sum(len(found) for found in assigned) > 30  # several places an object, and quarrels


def test_extreme_predictions_give_numbers(tmp_path):
    """Sides that exp() makes enormous, and places far from everything, give finite losses and gradients."""
    truth = made_truth([3, 0])
    predictions = near_predictions(truth, 9)
    predictions[:, ::3, 2:4] = 1e12
    predictions[:, 1::7, 2:4] = 1e-12
    predictions[:, ::5, 4:] = 200
    predictions[:, 1::5, 4:] = -200
    given = {"predictions": predictions, "sides": torch.tensor([HEIGHT, WIDTH])} | padded(truth)
    got = probe("loss", "yolox-nano", save(tmp_path / "in.safetensors", given), tmp_path / "out.pt")
    for name in ["loss.total", "grad"]:
        assert torch.isfinite(got[name]).all(), name


@pytest.mark.parametrize("threshold", [0.5, *(pytest.param(t, marks=pytest.mark.thorough) for t in [0.0, 0.65, 1.0])])
def test_suppression(threshold, tmp_path):
    random = draws(21)
    # On a grid, so that equal boxes and overlaps of exactly the threshold happen.
    corner = torch.randint(0, 40, (900, 2), generator=random).float()
    corners = torch.cat([corner, corner + torch.randint(0, 20, (900, 2), generator=random)], 1)
    scores = torch.randperm(900, generator=random).float() / 900
    labels = torch.randint(0, 6, (900,), generator=random)
    given = {"corners": corners, "scores": scores, "labels": labels}
    file = save(tmp_path / "in.safetensors", given)
    got = probe("suppress", threshold, 900, file, tmp_path / "out.pt")["kept"]
    if threshold == 0.5:
        assert probe("suppress", threshold, 50, file, tmp_path / "50.pt")["kept"].tolist() == got[:50].tolist()
    theirs = [torchvision.ops.nms(corners[labels == c], scores[labels == c], threshold) for c in range(6)]
    for c, kept in enumerate(theirs):
        mine = torch.nonzero(labels == c).flatten()
        assert got[labels[got] == c].tolist() == mine[kept].tolist()
    assert (scores[got].diff() <= 0).all()


@pytest.mark.thorough
def test_suppression_of_nothing(tmp_path):
    given = {"corners": torch.zeros(0, 4), "scores": torch.zeros(0), "labels": torch.zeros(0, dtype=torch.int64)}
    assert probe("suppress", 0.5, 10, save(tmp_path / "in.safetensors", given), tmp_path / "out.pt")["kept"].numel() == 0
