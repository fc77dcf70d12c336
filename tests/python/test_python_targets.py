"""Objects in batches, in a Dataset and in its samples: what the C++ reader gives, and what the annotations say."""

import io
import json
import pickle
import subprocess
import sys

import export_support as exports
import numpy as np
import pytest
from package import environment, packhorse
from PIL import Image, ImageOps
from python_support import BIN, CARRIERS, packhorse as command, photos

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="module", name="bccd")
def bccd_fixture(tmp_path_factory):
    """BCCD, packed from its COCO files."""
    source, out = photos("bccd/bccd"), tmp_path_factory.mktemp("bccd") / "coco"
    files = [f"--targets={split}=coco:{source}/annotations/instances_{split}.json" for split in ("train", "val", "test")]
    command("pack", source, out, "--format=wds", *files)
    return out


@pytest.fixture(scope="module", name="made")
def made_fixture(tmp_path_factory):
    """20 pictures of 64 x 40, of which picture i has i % 4 objects with masks and key points."""
    out = tmp_path_factory.mktemp("made") / "out"
    with packhorse.Writer(
        out, format="wds", object_classes=["a", "b"], keypoint_names=["tip", "end"], shuffle=False
    ) as writer:
        for i in range(20):
            writer.add(jpeg(i), "all", **objects(i))
    return out


def picture(i):
    return np.random.default_rng(i).integers(0, 256, (40, 64, 3), np.uint8)


def jpeg(i):
    file = io.BytesIO()
    Image.fromarray(picture(i)).save(file, "JPEG", quality=95)
    return file.getvalue()


def objects(i):
    count = i % 4
    boxes = [[8 * k, 4 * k, 8 * k + 16, 4 * k + 20] for k in range(count)]
    polygon = lambda b: [[b[:2], [b[2], b[1]], b[2:], [b[0], b[3]]]]  # noqa: E731
    rectangle = np.zeros((40, 64), bool)
    if count > 1:
        rectangle[4:24, 8:24] = True
    return {
        "boxes": boxes,
        "box_labels": ["ab"[k % 2] for k in range(count)],
        "masks": [rectangle if k == 1 else polygon(box) for k, box in enumerate(boxes)],
        "keypoints": [[[b[0] + 1, b[1] + 2, 2], [0, 0, 0]] for b in boxes],
        "crowd": [k == 2 for k in range(count)],
        "area": [100 + k for k in range(count)],
    }


def content(batch):
    """All of a batch, as numbers that can be compared."""
    columns = [getattr(batch.targets, name) for name in packhorse.Targets.COLUMNS]
    return [np.asarray(batch.images).copy(), np.asarray(batch.labels).copy(), batch.samples.copy()] + [
        np.asarray(column).copy() for column in columns if column is not None
    ]


def same(a, b):
    return len(a) == len(b) and all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def letterbox(box, size, picture_size):
    """Where packhorse's letterbox puts a box."""
    (height, width), (h, w) = size, picture_size
    scale = min(height / h, width / w)
    fitted = [min(max(round(w * scale), 1), width), min(max(round(h * scale), 1), height)]
    left, top = (width - fitted[0]) // 2, (height - fitted[1]) // 2
    sx, sy = fitted[0] / w, fitted[1] / h
    return [box[0] * sx + left, box[1] * sy + top, box[2] * sx + left, box[3] * sy + top]


# Batches


def test_a_batch_has_the_objects_of_its_images(made):
    loader = packhorse.Loader(
        made, 6, augment=packhorse.DetectionAugment((80, 64)), targets=True, shuffle=False, workers=2
    )
    seen = 0
    for batch in loader:
        assert batch._fields == ("images", "labels", "targets")
        images, labels, targets = batch
        assert targets is batch.targets and len(targets) == len(images) == len(labels) == len(batch.samples)
        assert images.shape[1:] == (3, 80, 64) and targets.size == (80, 64)
        for sample, one in zip(batch.samples.tolist(), targets.split(masks=True), strict=True):
            expected = objects(sample)
            assert one["labels"].tolist() == [k % 2 for k in range(sample % 4)] and one["labels"].dtype == torch.int64
            assert one["iscrowd"].tolist() == [int(c) for c in expected["crowd"]]
            assert one["area"].tolist() == expected["area"]
            boxes = [letterbox(box, (80, 64), (40, 64)) for box in expected["boxes"]]
            assert one["boxes"].reshape(-1, 4).tolist() == boxes
            assert one["boxes"].shape == (sample % 4, 4) and one["keypoints"].shape == (sample % 4, 2, 3)
            assert one["keypoints"].tolist() == [[[b[0] + 1, b[1] + 2, 2], [0, 0, 0]] for b in boxes]
            assert one["masks"].shape == (sample % 4, 80, 64) and one["masks"].dtype == torch.uint8
            for mask, box in zip(one["masks"], boxes, strict=True):
                left, top, right, bottom = map(int, box)
                assert mask.sum() == (right - left) * (bottom - top) == mask[top:bottom, left:right].sum()
            seen += len(boxes)
    assert seen == 30


def test_two_elements_stay_two_without_targets(made):
    [images, labels] = next(iter(packhorse.Loader(made, 4, augment=packhorse.DetectionAugment(32))))
    assert images.shape == (4, 3, 32, 32) and labels.shape == (4,)


@pytest.mark.parametrize("dtype,channels_last", [("uint8", False), ("float32", True), ("float16", False)])
def test_rectangles_in_every_type_and_layout(made, dtype, channels_last):
    numbers = {} if dtype == "uint8" else {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)}
    common = {"augment": [packhorse.DetectionAugment((24, 72), flip=0.5), packhorse.RandomErasing(1.0)], "seed": 3}
    plain = packhorse.Loader(made, 7, targets=True, **common)
    other = packhorse.Loader(made, 7, targets=True, dtype=dtype, channels_last=channels_last, **numbers, **common)
    for a, b in zip(plain, other, strict=True):
        assert b.images.shape == a.images.shape and a.images.shape[1:] == (3, 24, 72)
        assert b.images.dtype == getattr(torch, dtype)
        assert b.images.is_contiguous() != channels_last
        expected = a.images
        if dtype != "uint8":
            column = lambda values: torch.tensor(values).view(1, 3, 1, 1)  # noqa: E731
            expected = ((a.images / 255 - column(numbers["mean"])) / column(numbers["std"])).to(getattr(torch, dtype))
        assert torch.allclose(b.images.float(), expected.float(), atol=0 if dtype == "uint8" else 2e-3)
        assert same(content(a)[2:], content(b)[2:])


def test_batches_stay_as_they_are(made):
    def loader():
        return packhorse.Loader(
            made, 3, augment=packhorse.DetectionAugment(48, mosaic=1.0), targets=True, slots=2, workers=2, seed=1
        )

    expected = [content(batch) for batch in loader()]
    kept = list(loader())
    assert len(kept) == 7 and all(same(content(batch), one) for batch, one in zip(kept, expected, strict=True))
    targets = kept[3].targets
    del kept
    assert [part.tolist() for part in (targets.boxes, targets.offsets)] == [expected[3][4].tolist(), expected[3][3].tolist()]
    again = pickle.loads(pickle.dumps(targets))
    assert torch.equal(again.boxes, targets.boxes) and len(again.split()) == 3


EVERYTHING = dict(mosaic=0.5, zoom_out=0.5, iou_crop=0.5, perspective=0.3, flip=0.5, copy_paste=0.5, mixup=0.3)


def test_any_number_of_workers_and_a_resume_give_the_same(made):
    def loader(workers, **options):
        augment = packhorse.DetectionAugment(
            (40, 56), affine=packhorse.RandomAffine(degrees=10, scale=(0.5, 1.0)), **EVERYTHING
        )
        rules = packhorse.TargetRules(min_visible=0.1, masks="run_lengths")
        return packhorse.Loader(made, 4, augment=augment, targets=rules, seed=5, workers=workers, **options)

    alone, several = loader(0), loader(3)
    first = [content(batch) for batch in alone]
    assert all(same(content(batch), one) for batch, one in zip(several, first, strict=True))
    second = [content(batch) for batch in alone]
    assert not same(first[0], second[0])
    resumed, iterator = loader(2), iter(several)
    for _ in range(2):
        next(iterator)
    resumed.load_state_dict(several.state_dict())
    assert all(same(content(batch), one) for batch, one in zip(resumed, second[2:], strict=True))


def test_the_mosaic_is_closed_from_an_epoch_on(made):
    rules = packhorse.TargetRules(masks="run_lengths")

    def epoch(number, close=None, **steps):
        loader = packhorse.Loader(
            made, 4, augment=packhorse.DetectionAugment(40, flip=0.5, **steps), targets=rules, close_mosaic_from=close
        )
        loader.set_epoch(number)
        return [content(batch) for batch in loader]

    several = {"mosaic": 1.0, "copy_paste": 1.0, "mixup": 1.0}
    for number in (1, 2, 3):
        expected = epoch(number, **several) if number < 2 else epoch(number)
        assert all(same(a, b) for a, b in zip(epoch(number, 2, **several), expected, strict=True))
    with pytest.raises(packhorse.errors.UsageError, match="to close"):
        epoch(0, 2)


def test_placed_as_the_cpp_probe_places(bccd):
    """The same seed and samples through tests/interop/placement_probe.cc, which test_placement.py holds to torchvision."""
    augment = packhorse.DetectionAugment(
        (320, 416), flip=0.5, affine=packhorse.RandomAffine(20, (0.1, 0.1), (0.5, 1.5), (-5, 5, -5, 5)), iou_crop=1.0
    )
    loader = packhorse.Loader(bccd, 8, split="test", augment=augment, targets=True, shuffle=False, seed=7)
    dataset = loader.dataset
    options = {"height": 320, "width": 416, "flip": 0.5, "degrees": 20, "translate": 0.1, "min_scale": 0.5,
               "max_scale": 1.5, "shear": 5, "crop": 1}  # fmt: skip
    asked = []
    for i in range(len(dataset)):
        boxes = dataset.objects(i).boxes.tolist()
        corners = [[b[:2], [b[2], b[1]], b[2:], [b[0], b[3]]] for b in boxes]
        asked.append({"augment": options, "seed": 7, "sample": i, "width": 640, "height": 480, "min_side": 1,
                      "objects": {"boxes": boxes, "polygons": corners, "keypoints": [b[:2] for b in boxes]}})  # fmt: skip
    lines = "\n".join(json.dumps(one) for one in asked)
    done = subprocess.run([BIN / "placement_probe", "plans"], input=lines, capture_output=True, text=True, check=True)
    placed = [json.loads(line)["objects"] for line in done.stdout.splitlines()]
    batches = list(loader)
    ours = [one for batch in batches for one in batch.targets.split()]
    assert len(ours) == len(placed) and sum(len(one["boxes"]) for one in ours) > 200
    for i, (one, probed) in enumerate(zip(ours, placed, strict=True)):
        stored = dataset.objects(i)
        expected = torch.tensor(probed["boxes"]).reshape(-1, 4)
        assert one["boxes"].shape == expected.shape and torch.allclose(one["boxes"], expected, atol=1e-4, rtol=0)
        assert one["labels"].tolist() == stored.labels[torch.tensor(probed["labels"], dtype=torch.long)].tolist()


def test_without_torch_they_are_numpy_arrays(made):
    code = f"""
import sys, packhorse
loader = packhorse.Loader({str(made)!r}, 8, augment=packhorse.DetectionAugment(32), targets=True, shuffle=False)
batch = next(iter(loader))
assert "torch" not in sys.modules
assert type(batch.targets.boxes).__name__ == "ndarray" and batch.targets.boxes.dtype == "float32"
one = batch.targets.split(masks="bool", first_label=1)[3]
assert one["masks"].dtype == bool and one["masks"].shape == (3, 32, 32) and one["masks"].any((1, 2)).all()
assert one["labels"].tolist() == [1, 2, 1] and one["labels"].dtype == "int64"
"""
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True)


def test_arrays_that_were_changed_cannot_lead_astray(made):
    targets = next(iter(packhorse.Loader(made, 4, size=32, targets=True, shuffle=False))).targets
    for name, value in (("polygons", 2**30), ("points", -5), ("runs", 10**6)):
        column = getattr(targets, name)
        before = column[1].item()
        column[1] = value
        with pytest.raises((ValueError, packhorse.Error)):
            targets.split(masks=True)
        column[1] = before
    assert len(targets.split(masks=True)) == 4


def test_tv_tensors(made):
    tv_tensors = pytest.importorskip("torchvision.tv_tensors", reason="torchvision has no tv_tensors")
    targets = next(iter(packhorse.Loader(made, 4, augment=packhorse.DetectionAugment((40, 64)), targets=True,
                                         shuffle=False))).targets  # fmt: skip
    if not hasattr(tv_tensors, "KeyPoints"):
        with pytest.raises(packhorse.errors.UnsupportedError, match="key points"):
            targets.split(tv_tensors=True)
        return
    one = targets.split(tv_tensors=True, masks=True)[3]
    assert isinstance(one["boxes"], tv_tensors.BoundingBoxes) and one["boxes"].canvas_size == (40, 64)
    assert one["boxes"].format == tv_tensors.BoundingBoxFormat.XYXY
    assert isinstance(one["masks"], tv_tensors.Mask) and one["masks"].shape == (3, 40, 64)
    assert isinstance(one["keypoints"], tv_tensors.KeyPoints) and one["keypoints"].shape == (3, 2, 2)
    assert one["visibility"].tolist() == [[2, 0]] * 3
    from torchvision.transforms import v2

    flipped = v2.functional.horizontal_flip(one["boxes"])
    assert flipped.tolist()[0] == [64 - 16, 0, 64, 20]


# Augmentations by name


def test_augmentations_print_and_compare():
    a = packhorse.DetectionAugment(640, mosaic=1, affine=packhorse.RandomAffine(scale=(0.5, 1.5)), flip=0.5)
    b = packhorse.DetectionAugment((640, 640), mosaic=packhorse.Mosaic(), affine=packhorse.RandomAffine(scale=(0.5, 1.5)), flip=0.5)
    assert a == b and hash(a) == hash(b) and a != packhorse.DetectionAugment(640)
    assert pickle.loads(pickle.dumps(a)) == a
    assert eval(repr(a), vars(packhorse)) == a
    assert repr(packhorse.DetectionAugment((480, 640), iou_crop=packhorse.RandomIouCrop(), background=[0, 0, 0])) == (
        "DetectionAugment((480, 640), iou_crop=RandomIouCrop(p=1.0, scale=(0.3, 1.0), ratio=(0.5, 2.0), tries=40), "
        "background=(0, 0, 0))"
    )


def test_what_makes_no_sense_is_refused(made, tmp_path):
    for wrong in ({"mosaic": "yes"}, {"affine": 0.5}, {"mosaic": True}):
        with pytest.raises(TypeError, match="give a packhorse"):
            packhorse.DetectionAugment(640, **wrong)
    for wrong in [
        {"size": 0},
        {"size": (1, 2, 3)},
        {"fit": "crop"},
        {"mosaic": 1.5},
        {"mosaic": packhorse.Mosaic(pictures=5)},
        {"zoom_out": packhorse.RandomZoomOut(sides=(0.5, 2))},
        {"iou_crop": packhorse.RandomIouCrop(scale=(0.9, 0.3))},
        {"affine": packhorse.RandomAffine(interpolation="bilinear")},
        {"affine": packhorse.RandomAffine(fill=114)},
        {"mixup": packhorse.ObjectMixup(alpha=0)},
        {"background": (0, 0, 256)},
    ]:
        with pytest.raises(ValueError):
            packhorse.DetectionAugment(**wrong)
    with pytest.raises(ValueError, match="run_lengths"):
        packhorse.TargetRules(masks="polygons")
    with pytest.raises(TypeError, match="TargetRules"):
        packhorse.Loader(made, 4, size=32, targets="yes")
    with pytest.raises(packhorse.errors.UsageError, match="share"):
        packhorse.Loader(made, 4, size=32, targets=packhorse.TargetRules(min_visible=2))
    with pytest.raises(packhorse.errors.UsageError, match="Copy-Paste"):
        packhorse.Loader(made, 4, augment=packhorse.DetectionAugment(32, copy_paste=1), targets=True)
    with pytest.raises(ValueError, match="masks"):
        next(iter(packhorse.Loader(made, 4, size=32, targets=True))).targets.split(masks="drawn")
    with packhorse.Writer(tmp_path / "plain", format="wds") as writer:
        writer.add(jpeg(0), "a")
    plain = tmp_path / "plain"
    with pytest.raises(packhorse.errors.UsageError, match="has no targets"):
        packhorse.Loader(plain, 1, size=32, targets=True)
    with pytest.raises(packhorse.errors.UsageError, match="has no targets"):
        packhorse.Dataset(plain, targets=True)
    with pytest.raises(packhorse.errors.UsageError, match="has no targets"):
        packhorse.Dataset(plain).objects(0)
    with pytest.raises(packhorse.errors.UsageError, match="makes crops"):
        packhorse.Dataset(made).decode(0, packhorse.DetectionAugment(32))
    with pytest.raises(ValueError, match="targets=True"):
        packhorse.Dataset(made, masks=True)


# Dataset


def test_bccd_has_the_objects_of_its_annotations(bccd):
    source = photos("bccd/bccd")
    dataset = packhorse.Dataset(bccd, split="test")
    assert dataset.object_classes == ["RBC", "WBC", "Platelets"] and dataset.keypoint_names == []
    assert [record["kind"] for record in dataset.target_records] == ["objects"]
    told = json.loads((source / "annotations/instances_test.json").read_text())
    images = {image["id"]: image["file_name"] for image in told["images"]}
    names = {category["id"]: category["name"] for category in told["categories"]}
    expected = {}
    for one in told["annotations"]:
        x, y, w, h = one["bbox"]
        expected.setdefault(images[one["image_id"]], []).append((names[one["category_id"]], [x, y, x + w, y + h]))
    seen = 0
    for i in range(len(dataset)):
        record = json.loads(dataset.read_field(i, "json"))
        targets = dataset.objects(i)
        assert targets.size == (480, 640) and len(targets) == 1
        boxes = [(dataset.object_classes[label], box) for label, box in zip(targets.labels.tolist(), targets.boxes.tolist())]
        assert boxes == expected[record["image"]["file_name"]]
        seen += len(boxes)
    assert seen == len(told["annotations"]) == 945


def test_samples_are_those_of_a_detection_dataset(made):
    dataset = packhorse.Dataset(made, targets=True, masks=True, image="torch", first_label=1)
    assert dataset.fields == ["objects"] and dataset.object_classes == ["a", "b"]
    assert dataset.keypoint_names == ["tip", "end"] and dataset.targets == [0] * 20
    image, target = dataset[3]
    assert image.shape == (3, 40, 64)
    expected = objects(3)
    assert target["boxes"].tolist() == expected["boxes"] and target["labels"].tolist() == [1, 2, 1]
    assert target["image_id"] == 3 and target["iscrowd"].tolist() == [0, 0, 1]
    assert target["area"].tolist() == expected["area"] and target["keypoints"].tolist() == expected["keypoints"]
    assert np.array_equal(target["masks"][1], expected["masks"][1].astype(np.uint8))
    assert dataset[-1][1]["image_id"] == 19
    assert dataset[0][1]["boxes"].shape == (0, 4) and dataset[0][1]["masks"].shape == (0, 40, 64)
    both = packhorse.Dataset(made, targets=True, transforms=lambda image, target: (image.size, len(target["boxes"])))
    assert both[2] == ((64, 40), 2)


def test_a_field_is_read_by_its_name(made):
    dataset = packhorse.Dataset(made)
    assert dataset.read_field(1, "objects").startswith(b"PHOBJ1")
    with pytest.raises(KeyError, match="caption"):
        dataset.read_field(0, "caption")
    with pytest.raises(IndexError):
        dataset.read_field(20, "objects")


def test_datasets_with_targets_go_to_other_processes(made):
    dataset = packhorse.Dataset(made, targets=True, image="torch", tv_tensors=True)
    expected = [dataset[i][1]["boxes"].tolist() for i in range(4)]
    again = pickle.loads(pickle.dumps(dataset))
    assert [again[i][1]["boxes"].tolist() for i in range(4)] == expected
    loader = torch.utils.data.DataLoader(dataset, batch_size=4, num_workers=2, collate_fn=list)
    assert [target["boxes"].tolist() for _, target in next(iter(loader))] == expected


@pytest.mark.parametrize("orientation", range(1, 9))
def test_objects_turn_with_their_picture(tmp_path, orientation):
    mark = np.zeros((24, 40, 3), np.uint8)
    mark[4:10, 6:20] = 255
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(mark).save(tmp_path / "x.jpg", quality=100, subsampling=0, exif=exif)
    upright = np.asarray(ImageOps.exif_transpose(Image.open(tmp_path / "x.jpg")))
    with packhorse.Writer(tmp_path / "out", format="wds", object_classes=["mark"]) as writer:
        writer.add((tmp_path / "x.jpg").read_bytes(), "a", boxes=[[6, 4, 20, 10]], box_labels=[0], masks=[mark[:, :, 0]])
    dataset = packhorse.Dataset(tmp_path / "out", image="numpy", targets=True, masks="bool")
    pixels, target = dataset[0]
    assert pixels.shape == upright.shape
    [box] = target["boxes"].int().tolist()
    rows, columns = np.nonzero(upright[:, :, 0] > 128)
    assert box == [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    assert np.array_equal(target["masks"][0], upright[:, :, 0] > 128)
    stored = packhorse.Dataset(tmp_path / "out", targets=True)[0]
    assert stored[0].size == (40, 24) and stored[1]["boxes"].tolist() == [[6, 4, 20, 10]]
    batch = next(iter(packhorse.Loader(dataset, 1, augment=packhorse.DetectionAugment(upright.shape[:2]), targets=True)))
    assert batch.targets.boxes.tolist() == target["boxes"].tolist()


# Writer


@pytest.mark.parametrize("format", CARRIERS)
def test_what_is_written_is_read_back_and_verifies(tmp_path, format):
    with packhorse.Writer(tmp_path / "out", format=format, object_classes=["a", "b"], keypoint_names=["tip", "end"],
                          shuffle=False, jobs=2) as writer:  # fmt: skip
        for i in range(8):
            writer.add(jpeg(i), "all", caption=f"picture {i}: ä", **objects(i))
    assert packhorse.verify(tmp_path / "out", decode=True).ok
    dataset = packhorse.Dataset(tmp_path / "out", targets=True, masks=True, image="bytes")
    assert dataset.fields == ["caption", "objects"]
    for i in range(8):
        content, target = dataset[i]
        expected = objects(i)
        assert content == jpeg(i) and dataset.read_field(i, "caption").decode() == f"picture {i}: ä"
        assert target["boxes"].tolist() == expected["boxes"] and target["area"].tolist() == expected["area"]
        for k, mask in enumerate(target["masks"]):
            left, top, right, bottom = expected["boxes"][k]
            assert mask.sum() == 16 * 20 == mask[top:bottom, left:right].sum()


def test_the_objects_are_those_that_pack_makes(bccd, tmp_path):
    dataset = packhorse.Dataset(bccd, split="test", image="bytes")
    with packhorse.Writer(tmp_path / "out", format="wds", object_classes=dataset.object_classes, shuffle=False) as writer:
        for i, (content, _) in enumerate(dataset):
            targets = dataset.objects(i)
            writer.add(content, "all", boxes=targets.boxes, box_labels=targets.labels, area=targets.areas)
    again = packhorse.Dataset(tmp_path / "out")
    fields = [dataset.read_field(i, "objects") for i in range(len(dataset))]
    assert [again.read_field(i, "objects") for i in range(len(again))] == fields


def test_a_written_dataset_is_packed_again_with_its_objects(made, tmp_path):
    report = packhorse.pack(made, tmp_path / "small", format="hdf5", image="resize", short_side=20)
    assert report.packed == 20 and not any("field" in note for note in report.notes)
    before, after = packhorse.Dataset(made), packhorse.Dataset(tmp_path / "small")
    assert after.target_records == before.target_records
    assert torch.equal(after.objects(3).boxes, before.objects(3).boxes / 2)
    assert after.objects(3).draw_masks(0, 3).shape == (3, 20, 32)


def test_objects_that_cannot_be_right_are_refused_and_change_nothing(tmp_path):
    right = objects(2)
    wrong = {
        "without boxes": {"boxes": None},
        "does not say which objects": dict.fromkeys(right),
        "boxes of the shape": {"boxes": [[1, 2, 3]]},
        "boxes are no array": {"boxes": [["a", 2, 3, 4]]},
        "object 1: its box has no area": {"boxes": [[0, 0, 4, 4], [9, 9, 9, 12]]},
        "object 0: its box has a number that is not finite": {"boxes": [[0, 0, float("nan"), 4], [0, 0, 4, 4]]},
        "object 0: its box, 0 0 to 99 4, is beyond the image of 64 x 40": {"boxes": [[0, 0, 99, 4], [0, 0, 4, 4]]},
        "boxes without box_labels": {"box_labels": None},
        "1 box_labels for 2 boxes": {"box_labels": ["a"]},
        "no class of objects is called 'c'": {"box_labels": ["a", "c"]},
        "label 2 is none of the 2": {"box_labels": [0, 2]},
        "not a float": {"box_labels": [0, 1.0]},
        "object 1: its mask is 64 x 3, the image 64 x 40": {"masks": [None, np.zeros((3, 64), bool)]},
        "masks: an object's is float64": {"masks": [None, np.zeros((40, 64))]},
        "have one size": {"masks": [np.zeros((40, 64), bool), np.zeros((3, 64), bool)]},
        "object 0: a polygon of 2 points": {"masks": [[[[0, 0], [1, 1]]], None]},
        "no list of points": {"masks": [[[1, 2, 3]], None]},
        "keypoints of the shape": {"keypoints": [[[1, 2, 2]]] * 2},
        "object 0: a key point's visibility": {"keypoints": [[[1, 2, 7]] * 2] * 2},
        "object 0: its area is not an area": {"area": [-1, 1]},
        "1 crowd for 2 boxes": {"crowd": [True]},
    }
    with packhorse.Writer(tmp_path / "out", format="wds", object_classes=["a", "b"], keypoint_names=["tip", "end"]) as writer:
        for message, change in wrong.items():
            with pytest.raises(ValueError) as caught:
                writer.add(jpeg(0), "all", **{**right, **change})
            assert message in str(caught.value)
        assert len(writer) == 0
        writer.add(jpeg(0), "all", **right)
        writer.add(jpeg(1), "all", boxes=[])
    assert len(packhorse.Dataset(tmp_path / "out")) == 2


def test_objects_need_their_classes_and_a_format_that_holds_them(tmp_path):
    with pytest.raises(packhorse.errors.UsageError, match="lmdb cannot hold the objects"):
        packhorse.Writer(tmp_path / "out", format="lmdb", object_classes=["a"])
    with pytest.raises(packhorse.errors.UsageError, match="cuts the images"):
        packhorse.Writer(tmp_path / "out", format="wds", object_classes=["a"], image="raw", size=32)
    with packhorse.Writer(tmp_path / "out", format="wds") as writer:
        with pytest.raises(packhorse.errors.UsageError, match="no classes of them"):
            writer.add(jpeg(0), "all", boxes=[])
        with pytest.raises(packhorse.errors.UsageError, match="caption is given twice"):
            writer.add(jpeg(0), "all", caption="a", fields={"caption": "b"})
        writer.add(jpeg(0), "all", caption="one")
    assert packhorse.Dataset(tmp_path / "out").read_field(0, "caption") == b"one"


def test_flags_and_captions_are_delivered(tmp_path):
    with packhorse.Writer(tmp_path / "out", format="wds", object_classes=["a"], shuffle=False) as writer:
        said = {"crowd": [1, 0], "difficult": [0, 1], "truncated": [0, 1], "occluded": [1, 0]}
        writer.add(jpeg(0), "all", boxes=[[0, 0, 9, 9], [1, 1, 5, 5]], box_labels=[0, 0], **said, caption="Zwei Körper")
        writer.add(jpeg(1), "all", boxes=[])
        with pytest.raises(packhorse.errors.UsageError, match="not a text in UTF-8"):
            writer.add(jpeg(1), "all", boxes=[], caption="a\0b")
    assert packhorse.Dataset(tmp_path / "out").objects(0).flags.tolist() == [1 | 8, 2 | 4]
    loader = packhorse.Loader(tmp_path / "out", 2, shuffle=False, augment=packhorse.DetectionAugment(size=(32, 32)), targets=True)
    (batch,) = list(loader)
    assert batch.targets.captions == ["Zwei Körper", ""]


def test_unpacked_in_a_notation(bccd, tmp_path):
    report = packhorse.unpack(bccd, tmp_path / "coco", as_="coco")
    assert (report.samples, report.objects, report.unsaid) == (364, 4888, {})
    told = json.loads((tmp_path / "coco/annotations/instances_test.json").read_text())
    assert len(told["annotations"]) == 945
    assert packhorse.unpack(bccd, tmp_path / "yolo", as_="yolo").unsaid
    with pytest.raises(packhorse.errors.UsageError, match="nothing is unpacked as 'coca'"):
        packhorse.unpack(bccd, tmp_path / "no", as_="coca")


def test_an_export_of_an_annotation_tool_is_packed_as_it_comes(tmp_path):
    exports.labelme(tmp_path / "source")
    report = packhorse.pack(tmp_path / "source", tmp_path / "out", format="wds")
    assert report.packed == 2
    boxes = [list(map(float, corners)) for _, corners in exports.BOXES]
    dataset = packhorse.Dataset(tmp_path / "out")
    assert [dataset.objects(i).boxes.tolist() for i in range(2)] == [boxes] * 2
    assert dataset.object_classes == ["cat", "dog"]
