"""Classes, captions and masks of pixels, from Python."""

import inspect
import io
import pickle

import numpy as np
import pytest
from package import packhorse

PIL = pytest.importorskip("PIL.Image")
CLASSES = ["haze", "road", "sky"]
TAGS = [["haze", "sky"], [], ["road"], ["haze", "road", "sky"]]


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Four grey pictures of 40 x 24; the mask of each is its number, but for a border of pixels without a class."""
    folder = tmp_path_factory.mktemp("said")
    (folder / "source").mkdir()
    rows = ["image_name,tags\n"]
    for i, tags in enumerate(TAGS):
        PIL.new("RGB", (40, 24), (60 * i,) * 3).save(folder / f"source/{i}.jpg", quality=95)
        (folder / f"source/{i}.txt").write_text(f"größe {i}" if i != 1 else "")
        mask = np.full((24, 40), i, np.uint8)
        mask[0], mask[:, 0] = 255, 255
        data = io.BytesIO()
        PIL.fromarray(mask).save(data, "PNG")
        (folder / f"source/{i}.seg.png").write_bytes(data.getvalue())
        rows.append(f"{i},{'|'.join(tags)}\n")
    (folder / "tags.csv").write_text("".join(rows))
    packhorse.pack(folder / "source", folder / "packed", format="wds", shuffle=False, fields=["txt", "seg.png"],
                   targets=[f"classes:{folder}/tags.csv", "caption:txt", "mask:seg.png"])  # fmt: skip
    return folder / "packed"


def test_a_dataset_says_what_its_samples_have(packed):
    dataset = packhorse.Dataset(packed, targets=True, image="numpy")
    kinds = {record["kind"]: record for record in dataset.target_records}
    assert kinds["classes"]["classes"] == CLASSES and kinds["mask"]["ignore"] == 255 and kinds["caption"]["name"] == "txt"
    for i, tags in enumerate(TAGS):
        said = pickle.loads(pickle.dumps(dataset)).said(i)
        assert [CLASSES[label] for label in said["classes"]] == tags and "scores" not in said
        assert said["caption"] == (f"größe {i}" if i != 1 else "")
        assert said["semantic_mask"].shape == (24, 40) and said["semantic_mask"][5, 5] == i
        image, target = dataset[i]
        assert target["caption"] == said["caption"] and target["image_id"] == i and image.shape == (24, 40, 3)


def test_batches_have_classes_captions_and_masks(packed):
    loader = packhorse.Loader(packed, 4, augment=packhorse.DetectionAugment(size=(48, 96)), targets=True, shuffle=False)
    [batch] = list(loader)
    targets = batch.targets
    assert len(targets) == 4 and len(targets.boxes) == 0
    assert targets.captions == ["größe 0", "", "größe 2", "größe 3"]
    wanted = [[name in tags for name in CLASSES] for tags in TAGS]
    assert (np.asarray(targets.multi_hot(3)) == np.array(wanted, np.float32)).all()
    masks = np.asarray(targets.masks)
    assert masks.shape == (4, 48, 96)
    for i, one in enumerate(targets.split()):
        # 40 x 24 becomes 80 x 48, eight pixels from the left; two rows and columns have no class.
        assert (masks[i, :, :10] == 255).all() and (masks[i, 2:, 10:88] == i).all() and (masks[i, :, 88:] == 255).all()
        assert (np.asarray(one["semantic_mask"]) == masks[i]).all() and one["caption"] == targets.captions[i]
        assert [CLASSES[label] for label in one["classes"]] == TAGS[i]
    kept = pickle.loads(pickle.dumps(targets))
    assert kept.captions == targets.captions and (np.asarray(kept.masks) == masks).all()


def test_kept_masks_stay_as_they_are(packed):
    loader = packhorse.Loader(packed, 1, augment=packhorse.DetectionAugment(size=(48, 96)), targets=True, shuffle=False)
    for _ in range(3):
        batches = [(batch, np.asarray(batch.targets.masks).copy()) for batch in loader]
        for i, (batch, then) in enumerate(batches):
            assert then[0, 20, 40] == i and (np.asarray(batch.targets.masks) == then).all()


def test_what_a_dataset_lacks_is_none(tmp_path):
    with packhorse.Writer(tmp_path / "out", format="wds", object_classes=["a"]) as writer:
        data = io.BytesIO()
        PIL.new("RGB", (40, 24)).save(data, "JPEG")
        writer.add(data.getvalue(), "all", boxes=[])
        writer.add(data.getvalue(), "all", boxes=[])
    [batch] = list(packhorse.Loader(tmp_path / "out", 2, size=16, targets=True))
    targets = batch.targets
    assert targets.masks is None and targets.captions is None and targets.class_labels is None
    assert "classes" not in targets.split()[0]
    with pytest.raises(packhorse.errors.UnsupportedError, match="one class each"):
        targets.multi_hot(2)


def test_distorted_pixels_are_a_function_of_the_seed(packed):
    def images(*stages, seed=1):
        [batch] = list(packhorse.Loader(packed, 4, augment=[packhorse.Resize(16), *stages], shuffle=False, seed=seed))
        return np.asarray(batch.images).copy()

    distort = packhorse.PhotometricDistort(1.0, brightness=(0.5, 0.9))
    assert (images(distort) == images(distort)).all()
    assert (images(distort) != images()).any() and (images(distort) != images(distort, seed=2)).any()
    assert (images(distort, distort) != images(distort)).any()  # each draws by itself


def test_pixel_steps_have_a_text_that_means_the_same(packed):
    distort = packhorse.PhotometricDistort(1.0, brightness=(0.5, 0.9))
    assert repr(distort) == "PhotometricDistort(p=1, brightness=(0.5, 0.9))"
    assert distort == packhorse.PhotometricDistort(p=1, brightness=[0.5, 0.9]) != packhorse.PhotometricDistort(1.0)
    assert repr(packhorse.RandomErasing(value=None)) == "RandomErasing(value=None)"
    assert "brightness" in str(inspect.signature(packhorse.ColorJitter))

    def images(*stages):
        return [np.asarray(b.images).copy() for b in packhorse.Loader(packed, 4, augment=[packhorse.Resize(16), *stages])]

    steps = [distort, packhorse.RandomErasing(1, value=(1, 2, 3))]
    assert all((a == b).all() for a, b in zip(images(*steps), images(", ".join(map(repr, steps))), strict=True))
    for nonsense, words in [
        (lambda: packhorse.PhotometricDistort(brightness=(2, 1)), "brightness"),
        (lambda: packhorse.RandomErasing(value=(0, 0, 256)), "0 to 255"),
        (lambda: packhorse.ColorJitter(colour=1), "no parameter 'colour'"),
        (lambda: images("ColorJiter()"), "did you mean ColorJitter"),
        (lambda: packhorse.RandomErasing(value="random"), "value='random': give three numbers or None"),
    ]:
        with pytest.raises(packhorse.errors.UsageError, match=words):
            nonsense()


def test_a_step_changes_an_array_and_says_how(packed):
    """As the Loader does it for the same seed, epoch and sample."""
    step = packhorse.RandAugment(magnitude=20, interpolation="bilinear")
    plain, changed = (
        next(iter(packhorse.Loader(packed, 4, augment=[packhorse.Resize(16), *steps], seed=5, shuffle=False, workers=1)))
        for steps in ([], [step])
    )

    def images(batch):  # tensors are planes, where some other test imported torch
        pixels = np.asarray(batch.images)
        return np.ascontiguousarray(pixels if pixels.shape[3] == 3 else np.moveaxis(pixels, 1, 3))

    for sample, (image, expected) in enumerate(zip(images(plain), images(changed), strict=True)):
        before = image.copy()
        assert (step(image, seed=5, epoch=0, sample=sample) == expected).all()
        assert (image == before).all()
        assert step.explain(16, 16, seed=5, sample=sample).count("(") == 2
    assert packhorse.RandomHorizontalFlip(0).explain(16, 16) == ""
    with pytest.raises(TypeError):
        step(np.zeros((4, 4, 3), np.float32))
    with pytest.raises(TypeError):
        step(np.zeros((4, 4, 4), np.uint8))
    assert step(np.zeros((0, 4, 3), np.uint8)).shape == (0, 4, 3)


def test_steps_take_torchvisions_words_and_are_pickled():
    modes = pytest.importorskip("torchvision.transforms")
    step = packhorse.RandomAffine(10, None, (0.5, 2), interpolation=modes.InterpolationMode.BILINEAR)
    assert step == packhorse.RandomAffine(10, scale=[0.5, 2], interpolation="bilinear")
    assert repr(step) == "RandomAffine(degrees=10, scale=(0.5, 2), interpolation='bilinear')"
    assert packhorse.AutoAugment(modes.AutoAugmentPolicy.SVHN) == packhorse.AutoAugment("svhn")
    for one in (step, packhorse.AutoAugment("svhn"), packhorse.RandomErasing(value=None)):
        assert pickle.loads(pickle.dumps(one)) == one
        assert eval(repr(one), vars(packhorse)) == one
