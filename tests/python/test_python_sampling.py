"""Which samples come, and how often: subsets, weights, repeats and mixtures, in Dataset and Loader."""

import copy
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest
from package import environment, packhorse
from python_support import SHAPES, pack

UsageError, Subset = packhorse.errors.UsageError, packhorse.Subset


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    """120 images to train, 36 others."""
    out = tmp_path_factory.mktemp("packed") / "shapes"
    pack(SHAPES, out, "--format", "wds", "--image", "resize", "--short-side", "32")
    return out


@pytest.fixture(scope="module", name="dataset")
def dataset_fixture(packed):
    return packhorse.Dataset(packed, image="bytes")


@pytest.fixture(scope="module", name="long_tail")
def long_tail_fixture(tmp_path_factory):
    """Of three classes, 60, 12 and 3 samples, each with a field that says its weight."""
    out = tmp_path_factory.mktemp("tail") / "packed"
    pixels = np.random.default_rng(1).integers(0, 255, (75, 8, 8, 3), dtype=np.uint8)
    with packhorse.Writer(out, format="lmdb-members", classes=["many", "some", "few"]) as writer:
        for i, image in enumerate(pixels):
            label = 0 if i < 60 else 1 if i < 72 else 2
            writer.add(image, label, fields={"score": f"{label * 1.5}"})
    return out


def loader(path, batch_size=8, **options):
    return packhorse.Loader(path, batch_size, **{"augment": packhorse.RandomResizedCrop(16), "seed": 3, **options})


def content(batches):
    return [(np.asarray(b.images).tobytes(), np.asarray(b.labels).tolist(), b.samples.tolist()) for b in batches]


def samples_of(batches):
    return np.concatenate([batch.samples for batch in batches]).astype(int)


def labels_of(batches):
    return np.concatenate([np.asarray(batch.labels) for batch in batches])


def test_indices_choose_samples_in_their_order(dataset):
    numbers = [5, 3, 110, 5]
    for given in (numbers, np.array(numbers), tuple(numbers), np.array(numbers, dtype=np.uint8)):
        part = packhorse.Dataset(dataset.path, indices=given, image="bytes")
        assert [part[i] for i in range(4)] == [dataset[i] for i in numbers]
        assert part.labels.tolist() == dataset.labels[numbers].tolist() and part.indices.tolist() == numbers
    assert part.classes == dataset.classes and part.id != dataset.id
    assert part.part([3, 1]).indices.tolist() == [5, 3] and part.part([3, 1])[1] == dataset[3]
    for same in (pickle.loads(pickle.dumps(part)), copy.copy(part)):
        assert same.indices.tolist() == numbers and same[2] == dataset[110] and same.id == part.id


def test_a_subset_is_chosen_by_what_the_index_knows(dataset):
    def numbers(given):
        return dataset.part(subset=given).indices.tolist()

    labels, all_numbers = dataset.labels, np.arange(120)
    first = dataset.classes[0]
    assert numbers(Subset(classes=[first])) == numbers(Subset(classes=[0])) == all_numbers[labels == 0].tolist()
    assert numbers(Subset(paths=f"{first}/*")) == numbers(Subset(classes=[first]))
    assert numbers(labels == 1) == numbers(lambda columns: columns["label"] == 1) == all_numbers[labels == 1].tolist()
    assert numbers(lambda columns: np.flatnonzero(columns["width"] >= 40)) == numbers(Subset(where=lambda c: c["width"] >= 40))
    both = Subset(classes=[0, 1], where=lambda columns: columns["label"] != 0)
    assert numbers(both) == all_numbers[labels == 1].tolist()
    heights, widths = (packhorse._sampling.Columns(dataset._native)[name] for name in ("height", "width"))
    assert heights.dtype == np.int64 and (np.minimum(heights, widths) == 32).all()
    columns = packhorse._sampling.Columns(dataset._native)
    assert dataset.describe(7).startswith(f"sample {columns['key'][7]} ") and columns["path"][7].split("/")[0] in dataset.classes
    assert (columns["bytes"] == [len(dataset.read(i)) for i in range(120)]).all()


def test_folds_are_parts_that_cover_the_dataset(dataset):
    for stratified in (False, True):
        held = [dataset.part(subset=Subset(fold=(4, i), held_out=True, stratified=stratified)) for i in range(4)]
        rest = dataset.part(subset=Subset(fold=(4, 1), stratified=stratified))
        assert sorted(np.concatenate([part.indices for part in held])) == list(range(120))
        assert sorted([*rest.indices, *held[1].indices]) == list(range(120))
    counts = [np.bincount(part.labels, minlength=len(dataset.classes)) for part in held]
    assert np.ptp(counts, axis=0).max() <= 1


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"indices": []}, UsageError, "the subset has no samples"),
        ({"indices": [3, 120]}, UsageError, "there is no sample 120: the dataset has 120"),
        ({"indices": [-1]}, UsageError, "there is no sample -1"),
        ({"indices": [0.5]}, TypeError, "whole numbers or bools, not float64"),
        ({"indices": [[1]]}, TypeError, r"one list, not an array of the shape \(1, 1\)"),
        ({"indices": [1], "subset": [True]}, ValueError, "give either indices= or subset="),
        ({"subset": [True]}, UsageError, "1 bools for 120 samples"),
        ({"subset": "cats"}, TypeError, "subset='cats': give a packhorse.Subset"),
        ({"subset": Subset(classes=["nothing"])}, UsageError, "there is no class 'nothing'"),
        ({"subset": Subset(classes=[99])}, UsageError, "there is no class 99"),
        ({"subset": Subset(min_side=33)}, UsageError, "no sample is chosen: the subset is empty"),
        ({"subset": Subset(fold=(5, 5))}, UsageError, "there is no part 5 of 5"),
        ({"subset": lambda columns: columns["colour"]}, KeyError, "the columns are label, key, path"),
    ],
)
def test_what_chooses_nothing_is_refused(packed, given, error, words):
    for reader in (packhorse.Dataset, lambda path, **options: loader(path, **options)):
        with pytest.raises(error, match=words):
            reader(packed, **given)


def test_subsets_that_make_no_sense_are_refused():
    folds = [{"fold": fold} for fold in (5, (5,), (5.0, 0), (5, -1), (5, 1, 2))]
    sides = [{"min_side": side} for side in (-1, 17.5, "32")]
    for given, error in (({"held_out": True}, ValueError), *((one, TypeError) for one in ({"classes": "cat"}, {"classes": None}, *folds, *sides))):
        with pytest.raises(error):
            Subset(**given)


def test_a_loader_reads_subsets_of_datasets_and_of_pytorch(dataset, packed):
    numbers = list(range(3, 120, 5))
    assert content(loader(packed, indices=numbers)) == content(loader(dataset, indices=numbers)) == content(loader(dataset.part(numbers)))
    one = loader(packed, indices=numbers)
    for batch in one:
        assert (dataset.labels[one.dataset.indices[batch.samples].astype(int)] == np.asarray(batch.labels)).all()
    torch = pytest.importorskip("torch", reason="torch is not installed").utils.data
    expected = content(loader(dataset.part(numbers)))
    assert content(loader(torch.Subset(dataset, numbers))) == expected
    assert content(loader(torch.Subset(torch.Subset(dataset, range(3, 120)), range(0, 117, 5)))) == expected
    both = torch.ConcatDataset([dataset, torch.Subset(dataset, numbers)])
    assert content(loader(both)) == content(loader([dataset, dataset.part(numbers)]))
    with pytest.raises(TypeError, match="reads a Subset of a packhorse.Dataset"):
        loader(torch.Subset(torch.TensorDataset(), [1]))


def test_weights_of_classes_and_samples(long_tail):
    def shares(**options):
        reader = loader(long_tail, 50, **options)
        labels = np.concatenate([labels_of(reader) for _ in range(2)])
        return np.bincount(labels, minlength=3) / len(labels), reader.stats()

    def close(found, wanted, within):
        wanted = np.array(wanted) / np.sum(wanted)
        assert np.abs(found - wanted).max() < within, (found, wanted)

    roots = np.sqrt([60, 12, 3])
    each = np.array([1, 2, 40])[packhorse.Dataset(long_tail).labels]
    for weights, wanted in (("balanced", [1, 1, 1]), ("sqrt", roots), ({"many": 0, 1: 1, "few": 2}, [0, 1, 2])):
        found, stats = shares(weights=weights, num_samples=3000)
        close(found, wanted, 1 / 1500)
        assert not stats["replacement"]
        found, stats = shares(weights=weights, num_samples=3000, replacement=True)
        close(found, wanted, 0.04)
        assert stats["replacement"] and stats["distinct_samples"] <= 75
    for weights, wanted in ((each, [60, 24, 120]), (list(each), [60, 24, 120]), ("score", [0, 18, 9])):
        found, stats = shares(weights=weights, num_samples=3000)
        close(found, wanted, 0.04)
        assert stats["replacement"]
    assert len(loader(long_tail, 50, weights="balanced")) == 2


def test_weights_are_torchs_frequencies(long_tail):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    weights = np.random.default_rng(4).random(75) ** 3
    sampler = torch.utils.data.WeightedRandomSampler(weights, 100_000, generator=torch.Generator().manual_seed(1))
    theirs = np.bincount(list(sampler), minlength=75)
    ours = np.bincount(samples_of(loader(long_tail, 1000, weights=weights, num_samples=100_000)), minlength=75)
    expected = 100_000 * weights / weights.sum()
    limit = 74 + 4 * np.sqrt(2 * 74)
    assert ((theirs - expected) ** 2 / expected).sum() < limit
    assert ((ours - expected) ** 2 / expected).sum() < limit


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"weights": [1, 2]}, UsageError, "2 weights for 75 samples"),
        ({"weights": np.zeros(75)}, UsageError, "all weights are 0"),
        ({"weights": [1] * 74 + [float("nan")]}, UsageError, "the weight of sample 74 is nan"),
        ({"weights": {"many": 1, "some": 1}}, UsageError, "the class 'few' has no weight"),
        ({"weights": {"many": 1, "some": 1, "few": 1, "fewer": 1}}, UsageError, "there is no class 'fewer'"),
        ({"weights": {"many": 1, "some": -1, "few": 1}}, UsageError, "the weight of the class 'some' is -1"),
        ({"weights": {"many": 1, 0: 2, "some": 1, "few": 1}}, UsageError, "a class has two weights"),
        ({"weights": {"many": "much", "some": 1, "few": 1}}, UsageError, "weights are numbers"),
        ({"weights": {1.0: 1}}, TypeError, "a class is given by name or number"),
        ({"weights": ["much"] * 75}, UsageError, "weights are numbers"),
        ({"weights": "rank"}, UsageError, "there is no field 'rank' with weights"),
        ({"weights": [[1]]}, TypeError, "weights are one list"),
        ({"weights": "balanced", "shuffle": False}, UsageError, "in stored order nothing is drawn by weight"),
        ({"weights": "balanced", "order": "window"}, UsageError, "draw no windows"),
        ({"weights": [1] * 75, "replacement": False}, UsageError, "weights of samples draw with replacement"),
        ({"replacement": True}, UsageError, "replacement.* is about weights"),
        ({"until": "all"}, UsageError, "until.* is about several datasets"),
        ({"repeats": 0}, UsageError, "repeats"),
        ({"weights": lambda epoch: None}, TypeError, "the weights of an epoch are numbers"),
    ],
)
def test_weights_that_make_no_sense_are_refused(long_tail, options, error, words):
    with pytest.raises(error, match=words):
        loader(long_tail, **options)


def test_repeats_are_augmented_in_other_ways(dataset):
    once, repeated = loader(dataset, 120), loader(dataset, 120, repeats=3)
    [first], [batch] = once, repeated
    assert (batch.samples == np.repeat(first.samples, 3)[:120]).all()
    images, own = np.asarray(batch.images), np.asarray(first.images)
    assert (images[::3] == own[:40]).all()
    assert all((images[i] != images[i + 1]).any() and (images[i] != images[i + 2]).any() for i in range(0, 120, 3))
    assert repeated.stats()["distinct_samples"] == 40 and once.stats()["distinct_samples"] == 120
    ranks = [next(iter(loader(dataset, 40, repeats=3, rank=rank, world_size=3))) for rank in range(3)]
    assert (ranks[0].samples == ranks[1].samples).all() and (ranks[0].samples == ranks[2].samples).all()
    assert len(loader(dataset, 40, repeats=3, num_samples=360)) == 9


def mixture(packed, **options):
    val = packhorse.Dataset(packed, split="val")
    return loader([packed / "train", val], 10, **options)


def test_a_list_of_datasets_is_read_as_one(packed, dataset):
    val = packhorse.Dataset(packed, split="val", image="bytes")
    both = packhorse.Dataset([packed / "train", val], image="bytes")
    assert len(both) == 156 and both.classes == dataset.classes and both[119] == dataset[119] and both[120] == val[0]
    assert both.member(119) == (0, 119) and both.member(120) == (1, 0)
    member, number = both.member(np.array([0, 130], dtype=np.uint64))
    assert member.tolist() == [0, 1] and number.tolist() == [0, 10]
    apart = packhorse.Dataset([dataset, val], join_classes=False, image="bytes")
    assert apart.classes == [f"{i}/{name}" for i in (0, 1) for name in dataset.classes]
    part = both.part(subset=lambda columns: (columns["label"] == 1) | (columns["member"] == 1))
    assert len(part) == 36 + (dataset.labels == 1).sum() and part.indices[-1] == 155
    assert [len(one) for one in part.members] == [len(part) - 36, 36] and part.member(len(part) - 1) == (1, 35)
    same = pickle.loads(pickle.dumps(part))
    assert same[0] == part[0] and same.id == part.id and same.member(len(part) - 1) == (1, 35)
    with pytest.raises(UsageError, match="dataset 1 has no samples in this subset"):
        both.part(range(120))
    with pytest.raises(IndexError, match="sample 156 of 156"):
        both.member(156)
    with pytest.raises(UsageError, match="does not use transform= of a Dataset"):
        packhorse.Dataset([packhorse.Dataset(packed, transform=len)])
    with pytest.raises(TypeError, match="expected the path of a dataset, not list"):
        packhorse.Dataset([])


def test_samples_of_a_mixture_in_any_order_are_read(packed):
    torch = pytest.importorskip("torch", reason="torch is not installed").utils.data
    both = packhorse.Dataset([packed / "train", packhorse.Dataset(packed, split="val")])
    numbers = [130, 3, 119, 120, 3]
    for reader in (loader(both, indices=numbers), loader(torch.Subset(both, numbers)), loader(both, indices=numbers, order="window")):
        assert sorted(samples_of(reader)) == list(range(5))
        [batch] = reader
        assert (both.labels[[numbers[i] for i in batch.samples]] == np.asarray(batch.labels)).all()
    with pytest.raises(UsageError, match="2 weights for 5 samples"):
        loader(both, indices=numbers, weights=[1, 2])


@pytest.mark.parametrize("seed", range(20))
def test_parts_of_parts_of_a_mixture_have_the_samples_that_were_chosen(packed, seed):
    draw = np.random.default_rng(seed)
    whole = packhorse.Dataset([packed / "train", packhorse.Dataset(packed, split="val")], image="bytes")
    part, numbers = whole, np.arange(len(whole))
    for _ in range(3):
        chosen = draw.integers(len(part), size=draw.integers(len(part) // 2, len(part)))
        chosen = np.sort(chosen) if draw.random() < 0.5 else chosen
        part, numbers = part.part(chosen), numbers[chosen]
        assert part.indices.tolist() == numbers.tolist()
        assert part.labels.tolist() == whole.labels[numbers].tolist()
        some = draw.integers(len(part), size=5)
        assert [part.read(i) for i in some] == [whole.read(i) for i in numbers[some]]
        assert part.member(np.arange(len(part)))[0].tolist() == whole.member(numbers)[0].tolist()
    turned = part.part(np.arange(len(part))[::-1]).part(subset=lambda columns: columns["member"] == 1)
    assert turned.indices.tolist() == numbers[numbers >= 120][::-1].tolist()


def test_a_mixture_has_its_members_by_weight(packed):
    plain = mixture(packed)
    assert sorted(samples_of(plain)) == list(range(156))
    assert samples_of(mixture(packed, shuffle=False)).tolist() == list(range(156))
    halves = mixture(packed, weights=[1, 1])
    assert len(halves) == 8  # 72: until the first ends
    member, number = halves.dataset.member(samples_of(halves))
    assert (member == 0).sum() == (member == 1).sum() == 36
    assert sorted(number[member == 1]) == list(range(36))
    all_end = mixture(packed, weights=[1, 1], until="all")
    member, number = all_end.dataset.member(samples_of(all_end))
    assert sorted(number[member == 0]) == list(range(120)) and (np.bincount(number[member == 1])[:36] >= 3).all()
    assert len(mixture(packed, weights=[0, 1], num_samples=100)) == 10
    windows = mixture(packed, weights=[1, 1], until="all", order="window")
    member, number = windows.dataset.member(samples_of(windows))
    assert sorted(number[member == 0]) == list(range(120))
    balanced = mixture(packed, weights="balanced", num_samples=1000)
    assert np.ptp(np.bincount(labels_of(balanced))) <= 1
    with pytest.raises(UsageError, match="the weight of dataset 1 is -1"):
        mixture(packed, weights=[1, -1])


def test_weights_change_with_the_epoch(packed):
    def share(reader):
        return (reader.dataset.member(samples_of(reader))[0] == 1).mean()

    reader = mixture(packed, weights=lambda epoch: [1, 1] if epoch < 2 else [3, 1], num_samples=100)
    assert [share(reader) for _ in range(3)] == [0.5, 0.5, 0.25]
    reader.set_epoch(1)
    assert share(reader) == 0.5
    with pytest.raises(UsageError, match="a function of the epoch"):
        reader.set_weights([1, 1])
    reader = mixture(packed, weights=[1, 1], num_samples=100)
    assert share(reader) == 0.5
    reader.set_weights([1, 4])
    assert share(reader) == 0.8
    with pytest.raises(UsageError, match="weights of samples.*are of members"):
        reader.set_weights([1, 4, 1])
    with pytest.raises(UsageError, match="no weights that can change"):
        loader(packed).set_weights([1.0] * 120)


SAMPLED = {
    "weights": {"weights": [1, 1], "num_samples": 200},
    "function": {"weights": lambda epoch: [1 + epoch, 1], "num_samples": 200},
    "repeats": {"repeats": 3},
    "balanced": {"weights": "balanced", "replacement": True},
}


@pytest.mark.parametrize("sampled", SAMPLED)
def test_a_state_goes_on_exactly_at_another_world_size(packed, sampled):
    def made(**options):
        return mixture(packed, **SAMPLED[sampled], **options, workers=2)

    whole = made()
    whole.set_epoch(1)
    expected = samples_of(whole)
    first = made()
    first.set_epoch(1)
    batches = iter(first)
    before = samples_of(itertools.islice(batches, 4))
    state = pickle.loads(pickle.dumps(first.state_dict()))
    ranks = []
    for rank in range(2):
        reader = packhorse.Loader(
            first.dataset, 5, augment=packhorse.RandomResizedCrop(16), seed=3, rank=rank, world_size=2, **SAMPLED[sampled]
        )
        reader.load_state_dict(state)
        ranks.append(samples_of(reader))
    rest = np.stack(ranks, axis=1).ravel()[: len(expected) - 40]
    assert (before == expected[:40]).all() and (rest == expected[40:]).all()
    member = first.dataset.member(before)[0]
    if sampled == "weights":
        ids = [one.id for one in first.dataset.members]
        assert state["members"] == [{"data": one, "done": int((member == i).sum())} for i, one in enumerate(ids)]


def test_a_state_of_another_mixture_or_other_weights_is_refused(packed):
    reader = mixture(packed, weights=[1, 1])
    next(iter(reader))
    state = reader.state_dict()
    others = loader([packhorse.Dataset(packed, split="val"), packed / "train"], 10, weights=[1, 1])
    with pytest.raises(UsageError, match="the state is of other data"):
        others.load_state_dict(state)
    for options in ({"weights": [2, 1]}, {}, {"weights": [1, 1], "repeats": 2}, {"weights": [1, 1], "until": "all"}):
        with pytest.raises(UsageError, match="other weights, repeats or num_samples"):
            mixture(packed, **options).load_state_dict(state)
    mixture(packed, weights=[1, 1]).load_state_dict(state)
    part = loader(packed, 10, indices=range(100))
    next(iter(part))
    with pytest.raises(UsageError, match="the state is of other data"):
        loader(packed, 10).load_state_dict(part.state_dict())


def test_a_state_has_the_weights_that_were_set(packed):
    reader = mixture(packed, weights=[1, 1], num_samples=100)
    reader.set_weights([3, 1])
    batches = iter(reader)
    before = content(itertools.islice(batches, 3))
    reader.set_weights([1, 3])
    state = reader.state_dict()
    assert state["weights"] == [3, 1] and state["next_weights"] == [1, 3]
    rest, following = content(batches), content(reader)
    assert len(before) + len(rest) == 10
    resumed = mixture(packed, weights=[1, 1], num_samples=100)
    resumed.load_state_dict(state)
    assert content(resumed) == rest and content(resumed) == following
    assert "next_weights" not in resumed.state_dict() and resumed.state_dict()["weights"] == [1, 3]


@pytest.mark.parametrize("given", [{}, {"weights": [1, 2], "num_samples": 100}])
def test_a_state_brings_back_the_weights_that_it_knows_none_of(packed, given):
    reader = mixture(packed, **given)
    state = reader.state_dict()
    first = content(reader)
    reader.set_weights([9, 1])
    assert content(reader) != first
    reader.load_state_dict(state)
    assert content(reader) == first and "weights" not in reader.state_dict()


def test_a_state_that_is_refused_changes_no_weights(packed):
    other = mixture(packed, weights=[5, 1], repeats=2)
    other.set_weights([1, 5])
    next(iter(other))
    reader = mixture(packed, weights=[1, 1])
    reader.set_weights([2, 1])
    with pytest.raises(UsageError, match="other weights, repeats or num_samples"):
        reader.load_state_dict(other.state_dict())
    assert reader.state_dict()["weights"] == [2, 1]
    again = mixture(packed, weights=[2, 1])
    assert content(reader) == content(again)


def test_numbers_of_epochs_are_counted_from_0(packed):
    reader = loader(packed)
    for given, error in ((-1, UsageError), (2**64, UsageError), (1.0, TypeError), (None, TypeError), ("1", TypeError)):
        with pytest.raises(error, match="epoch"):
            reader.set_epoch(given)
    for wrong in ({"epoch": 2**64}, {"done": 2**64}, {"epoch": -1}):
        with pytest.raises(UsageError, match="this is not a state of a packhorse.Loader"):
            reader.load_state_dict({**reader.state_dict(), **wrong})
    with pytest.raises(UsageError, match="the state is of other data"):
        reader.load_state_dict({**reader.state_dict(), "done": 8, "data": 3})


def test_datasets_of_unlike_targets_are_refused(packed, tmp_path):
    with packhorse.Writer(tmp_path / "objects", format="wds", object_classes=["cat"]) as writer:
        writer.add(np.zeros((8, 8, 3), np.uint8), "pets", boxes=[[1, 1, 5, 5]], box_labels=["cat"])
    with pytest.raises(UsageError, match=r"dataset 0 has no targets, dataset 1 has objects \(objects, 1 classes, 0 keypoints\)"):
        packhorse.Dataset([packed / "train", tmp_path / "objects"])


def test_parts_and_mixtures_go_through_dataloaders_workers(packed):
    script = """
import sys, packhorse, torch
both = packhorse.Dataset([sys.argv[1], packhorse.Dataset(sys.argv[2], indices=[4, 2])], image="bytes")
data = torch.utils.data.DataLoader(both, batch_size=61, num_workers=2, collate_fn=list, multiprocessing_context="spawn")
if __name__ == "__main__":
    assert [one for batch in data for one in batch] == list(both)
    print(len(both))
"""
    pytest.importorskip("torch", reason="torch is not installed")
    path = packed.parent / "script.py"
    path.write_text(script)
    run = subprocess.run(
        [sys.executable, path, packed / "train", packed / "val"], env=environment(), capture_output=True, text=True, check=False
    )
    assert run.stdout == "122\n", run.stderr
