"""fields= of packhorse.Loader: what samples have besides their image, in their batches."""

import io
import json

import numpy as np
import pytest
from package import packhorse

COUNT = 21


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def about(number):
    """The fields of a sample."""
    return {
        "emb.npy": npy(np.arange(6, dtype=np.float32).reshape(2, 3) + number),
        "mask.npy": npy(np.array(number % 2 == 0)),
        "txt": f"sample {number} \N{SNOWMAN}",
        "json": json.dumps({"number": number}),
    }


def written(out, change=lambda number, fields: fields):
    with packhorse.Writer(out, format="wds", classes=["a", "b"], shuffle=False) as writer:
        for number in range(COUNT):
            image = np.full((8, 8, 3), number, np.uint8)
            fields = change(number, about(number))
            writer.add(image, number % 2, key=f"{number:04}", fields=fields, caption=f"caption {number}" if number % 3 else None)
    return out


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    return written(tmp_path_factory.mktemp("packed") / "fields")


def loader(packed, *fields, **options):
    return packhorse.Loader(packed, 8, **{"size": 8, "seed": 2, "fields": list(fields), **options})


@pytest.mark.parametrize("workers", [0, 3])
@pytest.mark.parametrize("options", [{}, {"mixup": 1.0}, {"augment": packhorse.DetectionAugment(8, mosaic=1.0), "size": None}])
def test_each_sample_has_its_fields(packed, workers, options):
    reader = loader(packed, "txt", "emb.npy", "json", "mask.npy", "caption", workers=workers, **options)
    batches = [batch for _ in range(3) for batch in reader]  # kept: nothing is overwritten
    assert [len(batch.samples) for batch in batches] == [8, 8, 5] * 3
    for batch in batches:
        assert list(batch.fields) == ["txt", "emb.npy", "json", "mask.npy", "caption"]
        samples = batch.samples.astype(int)
        assert batch.fields["txt"] == [f"sample {sample} \N{SNOWMAN}" for sample in samples]
        assert [json.loads(text)["number"] for text in batch.fields["json"]] == samples.tolist()
        assert all(isinstance(text, bytes) for text in batch.fields["json"])
        assert batch.fields["caption"] == [f"caption {sample}" if sample % 3 else None for sample in samples]
        embedded = np.asarray(batch.fields["emb.npy"])
        assert embedded.dtype == np.float32 and embedded.shape == (len(samples), 2, 3)
        assert (embedded == np.arange(6).reshape(2, 3) + samples[:, None, None]).all()
        assert np.asarray(batch.fields["mask.npy"]).tolist() == (samples % 2 == 0).tolist()


def test_arrays_are_tensors_where_torch_is_imported_and_go_on_with_a_moved_batch(packed):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    batch = next(iter(loader(packed, "emb.npy", "mask.npy")))
    assert batch.fields["emb.npy"].dtype == torch.float32 and batch.fields["mask.npy"].dtype == torch.bool
    assert batch.moved(batch.images, batch.labels).fields is batch.fields
    assert next(iter(loader(packed))).fields == {}


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8"])
def test_arrays_of_all_types_of_numbers(tmp_path, dtype):
    out = written(tmp_path / "packed", lambda number, fields: {"npy": npy(np.array([number, 1], dtype))})
    for batch in loader(out, "npy"):
        made = np.asarray(batch.fields["npy"])
        assert made.dtype == np.dtype(dtype) and (made == np.array([[s, 1] for s in batch.samples], dtype)).all()


def test_what_is_not_there_is_refused_when_the_loader_is_made(packed):
    with pytest.raises(packhorse.errors.UsageError, match="no sample has a field 'embedding'") as raised:
        loader(packed, "embedding")
    assert raised.value.advice == "give fields of the dataset: caption, emb.npy, json, mask.npy, txt"
    with pytest.raises(packhorse.errors.UsageError, match="'txt' is named twice"):
        loader(packed, "txt", "txt")
    with pytest.raises(TypeError, match="fields"):
        packhorse.Loader(packed, 8, size=8, fields=[1])


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (npy(np.zeros((3, 2), np.float32)), r"the array is <f4 \[3, 2\], the first sample's is <f4 \[2, 3\]"),
        (npy(np.zeros((2, 3))), "the array is <f8"),
        (npy(np.array(["text"])), r"of the type <U4 cannot be stacked"),
        (npy(np.zeros((2, 3), np.float32))[:-1], "its size is not the one in its header"),
        (b"", "damaged .npy"),
        (None, "the sample has no such array"),
    ],
)
def test_an_array_that_cannot_be_stacked_is_refused_with_its_sample_or_replaced(tmp_path, made, words):
    def change(number, fields):
        if number == 7:
            del fields["emb.npy"]
            fields |= {} if made is None else {"emb.npy": made}
        return fields

    out = written(tmp_path / "packed", change)
    error = packhorse.errors.UnsupportedError, packhorse.errors.CorruptError
    with pytest.raises(error, match=f"0007.*field 'emb.npy': .*{words}") as raised:
        list(loader(out, "emb.npy"))
    assert "Pillow" not in raised.value.advice
    reader = loader(out, "emb.npy", max_bad=1)
    assert {7} == set(range(COUNT)) - {int(sample) for batch in reader for sample in batch.samples}
    assert len(reader.bad_samples()) == 1


def test_objects_are_never_unpickled(tmp_path):
    out = written(tmp_path / "packed", lambda number, fields: {"npy": npy(np.array([print], dtype=object)) if number else npy(np.zeros(1))})
    with pytest.raises(packhorse.errors.UnsupportedError, match=r"of the type \|O cannot be stacked"):
        list(loader(out, "npy"))
