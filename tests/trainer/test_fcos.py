"""FCOS beside torchvision's: predictions, losses and gradients on the same weights, detections after suppression."""

import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
pytest.importorskip("safetensors.torch")

from test_detect_parts import CLASSES, PROBE, assert_close, draws, made_truth, padded, probe, save  # noqa: E402
from test_models import thorough  # noqa: E402

pytestmark = pytest.mark.skipif(not PROBE.exists(), reason="packhorse-train is not part of this build")


@pytest.fixture(scope="module", name="theirs")
def theirs_fixture(tmp_path_factory):
    """The network and the file of its weights. Its norms and last layers are unlike any initialisation's, so that there are
    large and small boxes of all classes."""
    torch.manual_seed(3)
    model = torchvision.models.detection.fcos_resnet50_fpn(weights=None, weights_backbone=None, num_classes=CLASSES)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if name.endswith("running_var"):
                tensor.uniform_(0.5, 1.5)
            elif ".bn" in name and tensor.is_floating_point():
                tensor.add_(torch.randn_like(tensor) * 0.1)
        for branch, scale in [("classification_head.cls_logits", 0.1), ("regression_head.bbox_reg", 0.05),
                              ("regression_head.bbox_ctrness", 0.1)]:  # fmt: skip
            layer = model.get_submodule("head." + branch)
            layer.weight.copy_(torch.randn_like(layer.weight) * scale)
            layer.bias.copy_(torch.rand_like(layer.bias) * 2)
    return model, save(tmp_path_factory.mktemp("fcos") / "w.safetensors", model.state_dict())


def parts_of(model, images):
    """Features of the levels as torchvision's forward() hands them on; its resizing of images is left out."""
    levels = list(model.backbone(images).values())
    outputs = model.head(levels)
    image_list = torchvision.models.detection.image_list.ImageList(images, [tuple(images.shape[2:])] * len(images))
    return levels, outputs, model.anchor_generator(image_list, levels)


def predictions_of(model, outputs, anchors):
    boxes = torch.stack([model.box_coder.decode(outputs["bbox_regression"][i], anchors[i]) for i in range(len(anchors))])
    middle, sides = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
    return torch.cat([middle, sides, outputs["bbox_ctrness"], outputs["cls_logits"]], 2)


def with_sides(truth):
    """Boxes of some extent by their corners: torchvision's takes nothing else."""
    targets = []
    for boxes, labels in truth:
        half = boxes[:, 2:] / 2
        targets.append({"boxes": torch.cat([boxes[:, :2] - half, boxes[:, :2] + half], 1), "labels": labels})
    return targets


@pytest.mark.parametrize("size", thorough([(64, 96), (160, 224)], [(64, 96)]))
def test_losses_and_gradients(size, theirs, tmp_path):
    model, weights = theirs
    model.train().zero_grad()
    truth = made_truth([5, 0, 2, 30])
    images = torch.randn(len(truth), 3, *size, generator=draws(1))
    given = save(tmp_path / "in.safetensors", {"images": images} | padded(truth))
    got = probe("train", "fcos-resnet50", CLASSES, weights, given, tmp_path / "out.pt")

    before = {name: tensor.clone() for name, tensor in model.named_buffers()}
    levels, outputs, anchors = parts_of(model, images)
    assert_close(got["predictions"], predictions_of(model, outputs, anchors).detach(), "predictions")
    counts = [level.shape[2] * level.shape[3] for level in levels]
    losses = model.compute_loss(with_sides(truth), outputs, anchors, counts)
    for ours, name in [("classes", "classification"), ("box", "bbox_regression"), ("centre", "bbox_ctrness")]:
        assert_close(got["loss." + ours], losses[name].detach(), name)
    assert (got["object"] >= 0).sum() > 10  # something is found to compare
    sum(losses.values()).backward()
    for name, parameter in model.named_parameters():
        assert_close(got["grad." + name], parameter.grad, name)
    model.load_state_dict(before, strict=False)  # its running statistics went on


def test_detections_after_suppression(theirs, tmp_path):
    model, weights = theirs
    model.eval()
    images = torch.randn(2, 3, 160, 224, generator=draws(0))
    got = probe("eval", "fcos-resnet50", CLASSES, weights, save(tmp_path / "in.safetensors", {"images": images}),
                tmp_path / "out.pt")  # fmt: skip
    with torch.no_grad():
        levels, outputs, anchors = parts_of(model, images)
        assert_close(got["predictions"], predictions_of(model, outputs, anchors), "predictions")
        counts = [level.shape[2] * level.shape[3] for level in levels]
        split = {name: list(tensor.split(counts, 1)) for name, tensor in outputs.items()}
        found = model.postprocess_detections(split, [list(a.split(counts)) for a in anchors], [(160, 224)] * 2)
    for i, theirs_found in enumerate(found):
        rows = got["found"][got["found"][:, 0] == i]
        assert len(rows) == len(theirs_found["labels"]) > 20
        assert rows[:, 1].tolist() == theirs_found["labels"].tolist()
        assert_close(rows[:, 2].float(), theirs_found["scores"], "scores")
        assert_close(rows[:, 3:].float(), theirs_found["boxes"], "boxes")


def test_pictures_without_objects_and_extremes_give_numbers(tmp_path):
    places = 16 * 16 + 8 * 8 + 4 * 4 + 2 * 2 + 1
    predictions = torch.randn(2, places, 5 + CLASSES, generator=draws(8)) * 100
    predictions[:, ::3, 2:4] = 0
    predictions[:, 1::3, 2:4] = 1e12
    predictions[:, ::5, 4:] = 200
    sides = torch.tensor([128, 128])
    for truth in [made_truth([0, 0]), made_truth([4, 1])]:
        given = {"predictions": predictions, "sides": sides} | padded(truth)
        got = probe("loss", "fcos-resnet50", save(tmp_path / "in.safetensors", given), tmp_path / "out.pt")
        for name in ["loss.total", "grad"]:
            assert torch.isfinite(got[name]).all(), name


def test_a_new_network_opens_in_torchvision(theirs, tmp_path):
    new = probe("save", "fcos-resnet50", CLASSES, tmp_path / "new.pt")
    state = theirs[0].state_dict()
    assert set(new) == set(state)
    for name, tensor in new.items():
        assert tensor.shape == state[name].shape, name
    bias = new["head.classification_head.cls_logits.bias"]
    assert torch.allclose(bias.sigmoid(), torch.tensor(0.01))
