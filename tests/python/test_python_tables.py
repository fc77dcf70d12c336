"""Parquet files and Hugging Face's datasets: every image and label arrives, and what is unclear is refused by name."""

import json
import os
import types

import numpy as np
import pytest
from package import packhorse
from python_support import SHAPES

from packhorse import _hub, tables

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.thorough  # pyarrow is among what scripts/setup --all installs

NAMES = ["no", "maybe", "yes"]
PICTURES = [path.read_bytes() for path in sorted(SHAPES.rglob("*.jpg"))[:30]]
IMAGE = arrow.struct([("bytes", arrow.binary()), ("path", arrow.string())])
FEATURES = {"image": {"_type": "Image"}, "label": {"names": NAMES, "_type": "ClassLabel"}}


def rows(begin=0, end=30, **more):
    return [{"image": {"bytes": PICTURES[i], "path": f"{i}.jpg"}, "label": i % 3, **{name: of(i) for name, of in more.items()}}
            for i in range(begin, end)]  # fmt: skip


def write(path, of, columns=(), features=FEATURES, image=IMAGE, label=None, **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"huggingface": json.dumps({"info": {"features": features}})} if features is not None else None
    schema = arrow.schema([("image", image), ("label", label or arrow.int64()), *columns], metadata)
    parquet.write_table(arrow.Table.from_pylist(of, schema), path, **{"row_group_size": 7, **how})
    return path


def content(path, split=""):
    """image -> class, of a packed dataset."""
    dataset = packhorse.Dataset(path, split=split)
    return {dataset.read(i): dataset.classes[label] for i, label in enumerate(dataset.labels)}


def wanted(begin=0, end=30):
    return {PICTURES[i]: NAMES[i % 3] for i in range(begin, end)}


def test_splits_and_classes_are_those_of_the_files(tmp_path):
    write(tmp_path / "data/train-00000-of-00002.parquet", rows(0, 10))
    write(tmp_path / "data/train-00001-of-00002-0123abcd.parquet", rows(10, 20), compression="zstd")
    write(tmp_path / "data/validation-00000-of-00001.parquet", rows(20, 30))
    report = packhorse.pack(tmp_path / "data/*.parquet", tmp_path / "out", format="wds")
    assert [(split.split, split.samples) for split in report.splits] == [("train", 20), ("val", 10)]
    assert content(tmp_path / "out/train") == wanted(0, 20) and content(tmp_path / "out/val") == wanted(20, 30)
    assert packhorse.Dataset(tmp_path / "out/val").classes == NAMES


def test_files_that_the_hub_has_converted_are_splits_by_their_folders(tmp_path):
    for split, (begin, end) in {"train": (0, 20), "test": (20, 30)}.items():
        write(tmp_path / f"default/{split}/0000.parquet", rows(begin, end))
    packhorse.from_parquet(sorted((tmp_path / "default").rglob("*.parquet")), tmp_path / "out", format="lmdb")
    assert content(tmp_path / "out/train") == wanted(0, 20) and content(tmp_path / "out/test") == wanted(20, 30)


@pytest.mark.parametrize("kind, labels", [(arrow.string(), NAMES), (arrow.int32(), [0, 1, 2])])
def test_labels_are_names_or_numbers_without_any_features(kind, labels, tmp_path):
    some = [{"picture": PICTURES[i], "kind": labels[i % 3]} for i in range(30)]
    parquet.write_table(arrow.Table.from_pylist(some, arrow.schema([("picture", arrow.binary()), ("kind", kind)])), tmp_path / "x.parquet")
    packhorse.from_parquet(tmp_path / "x.parquet", tmp_path / "out", format="hdf5", label_column="kind")
    assert content(tmp_path / "out") == {PICTURES[i]: str(labels[i % 3]) for i in range(30)}


def test_captions_and_fields_are_packed(tmp_path):
    more = {"caption": lambda i: f"picture {i}", "about": lambda i: {"n": i, "tags": ["a"]}, "raw": lambda i: b"\0" * i or None}
    columns = [("caption", arrow.string()), ("about", arrow.struct([("n", arrow.int64()), ("tags", arrow.list_(arrow.string()))])),
               ("raw", arrow.binary())]  # fmt: skip
    write(tmp_path / "x.parquet", rows(**more), columns)
    packhorse.pack(tmp_path / "x.parquet", tmp_path / "out", format="wds", fields={"json": "about", "bin": "raw"})
    dataset = packhorse.Dataset(tmp_path / "out")
    for i in range(30):
        number = PICTURES.index(dataset.read(i))
        assert dataset.said(i)["caption"] == f"picture {number}"
        assert json.loads(dataset.read_field(i, "json")) == {"n": number, "tags": ["a"]}
        assert (dataset.read_field(i, "bin") or b"") == b"\0" * number


LISTS = arrow.struct([("bbox", arrow.list_(arrow.list_(arrow.float32()))), ("category", arrow.list_(arrow.int64())),
                      ("area", arrow.list_(arrow.float32()))])  # fmt: skip
STRUCTS = arrow.list_(arrow.struct([("bbox", arrow.list_(arrow.float32(), 4)), ("category", arrow.int64())]))
CATEGORY = {"names": ["cat", "dog"], "_type": "ClassLabel"}


@pytest.mark.parametrize(
    "kind, feature, value",
    [
        (LISTS, {"bbox": {}, "category": {"feature": CATEGORY}}, {"bbox": [[1, 2, 3, 4], [0, 0, 5, 5]], "category": [1, 0], "area": [9, 25]}),
        (STRUCTS, {"feature": {"bbox": {}, "category": CATEGORY}}, [{"bbox": [1, 2, 3, 4], "category": 1}, {"bbox": [0, 0, 5, 5], "category": 0}]),
        (LISTS, {"bbox": [[{}]], "category": [CATEGORY]}, {"bbox": [[1, 2, 3, 4], [0, 0, 5, 5]], "category": [1, 0], "area": [9, 25]}),
        (STRUCTS, [{"bbox": [{}], "category": CATEGORY}], [{"bbox": [1, 2, 3, 4], "category": 1}, {"bbox": [0, 0, 5, 5], "category": 0}]),
    ],
    ids=["lists", "structs", "lists as datasets 3 wrote them", "structs as datasets 3 wrote them"],
)
def test_objects_are_packed(kind, feature, value, tmp_path):
    empty = {"bbox": [], "category": [], "area": []} if isinstance(value, dict) else []
    some = rows(objects=lambda i: value if i else empty)
    write(tmp_path / "x.parquet", some, [("objects", kind)], {"image": {"_type": "Image"}, "objects": feature}, label=arrow.int64())
    packhorse.from_parquet(tmp_path / "x.parquet", tmp_path / "out", format="wds")
    dataset = packhorse.Dataset(tmp_path / "out")
    assert dataset.object_classes == ["cat", "dog"]
    for i in range(30):
        [found] = dataset.objects(i).split()
        boxes = [] if dataset.read(i) == PICTURES[0] else [[1, 2, 4, 6], [0, 0, 5, 5]]
        assert np.array_equal(found["boxes"].tolist(), boxes) and found["labels"].tolist() == ([1, 0] if boxes else [])


def refused(error, said, *arguments, out="out", **options):
    with pytest.raises(error) as caught:
        packhorse.from_parquet(*arguments, out, format="wds", **options)
    assert said in str(caught.value) and "next:" in str(caught.value), caught.value
    assert not os.path.lexists(out)
    return caught.value


USAGE, CORRUPT, MISSING = packhorse.errors.UsageError, packhorse.errors.CorruptError, packhorse.errors.NotFoundError


def test_what_is_unclear_is_refused_with_the_columns_there_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    two = {**FEATURES, "second": {"_type": "Image"}}
    write(tmp_path / "two.parquet", rows(second=lambda i: {"bytes": b"x"}), [("second", IMAGE)], two)
    refused(USAGE, "several columns may have the images: image, second", "two.parquet")
    write(tmp_path / "more.parquet", rows(text=str, number=int), [("text", arrow.string()), ("number", arrow.int64())])
    refused(USAGE, "the columns text, number would be left out", "more.parquet")
    refused(USAGE, "there is no column 'txt'", "more.parquet", fields=["txt"])
    refused(USAGE, "there is no column 'foto'", "more.parquet", image_column="foto")
    write(tmp_path / "labels.parquet", rows(fine=int), [("fine", arrow.int64())], {**FEATURES, "fine": FEATURES["label"]})
    refused(USAGE, "several columns may have the labels: fine, label", "labels.parquet")
    parquet.write_table(arrow.table({"text": ["a"]}), "none.parquet")
    refused(USAGE, "no column has the images", "none.parquet")
    parquet.write_table(arrow.table({"image": [PICTURES[0]]}), "bare.parquet")
    refused(USAGE, "no column has the labels", "bare.parquet")
    assert packhorse.from_parquet("bare.parquet", "bare", format="wds", unlabelled=True).packed == 1
    write(tmp_path / "objects.parquet", rows(o=lambda i: []), [("o", STRUCTS)])
    refused(USAGE, "the categories in o have no names", "objects.parquet")


def test_rows_that_lack_something_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, change, said in (
        ("label", {"label": -1}, "the row has no label"),
        ("null", {"label": None}, "the row has no label"),
        ("class", {"label": 7}, "7"),
        ("path", {"image": {"bytes": None, "path": "/etc/passwd"}}, "the row has no image's bytes"),
        ("none", {"image": None}, "the row has no image's bytes"),
    ):
        some = rows()
        some[17] |= change
        write(tmp_path / f"{name}.parquet", some)
        assert refused(USAGE, said, f"{name}.parquet").path == f"{name}.parquet, row 17"


def test_bad_images_are_rejects_up_to_max_rejects(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    some = rows()
    for bad in (3, 20):
        some[bad]["image"]["bytes"] = b"no image"
    write(tmp_path / "x.parquet", some)
    assert refused(packhorse.errors.RejectedError, "row 20", "x.parquet", max_rejects=1).code == "not-an-image"
    report = packhorse.from_parquet("x.parquet", "out", format="wds", max_rejects="7%")
    assert (report.seen, report.packed, report.rejected, report.json["rejected"]) == (30, 28, 2, 2)
    assert [(one.path, one.code) for one in report.rejects] == [(f"x.parquet, row {i}", "not-an-image") for i in (3, 20)]
    assert set(content("out")) == {PICTURES[i] for i in range(30) if i not in (3, 20)}


def test_files_that_do_not_belong_together_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a/train-00000-of-00002.parquet", rows(0, 10))
    refused(MISSING, "there are 1 of the 2 files", "a/train-00000-of-00002.parquet")
    packhorse.from_parquet({"train": "a/train-00000-of-00002.parquet"}, "part", format="wds")
    other = {**FEATURES, "label": {"names": NAMES[::-1], "_type": "ClassLabel"}}
    write(tmp_path / "a/train-00001-of-00002.parquet", rows(10, 20), features=other)
    refused(USAGE, "the column label is not as in", "a/*.parquet")
    write(tmp_path / "a/extra.parquet", rows(20, 30))
    refused(USAGE, "some of these files may be splits", "a/*.parquet")
    refused(MISSING, "no Parquet files are there", "b/*.parquet")
    refused(MISSING, "no Parquet files are there", {"train": "a/extra.parquet", "val": "b/*.parquet"})
    refused(MISSING, "no Parquet files are there", {"train": []})
    refused(MISSING, "no Parquet files are there", {})
    refused(USAGE, "this is a directory", "a")
    refused(MISSING, "there is no such file", "b.parquet")


def test_each_part_is_there_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        write(tmp_path / f"{folder}/train-00000-of-00002.parquet", rows(0, 10))
    refused(MISSING, "there are 2 of the 2 files that their names speak of, some twice", "*/*.parquet")


@pytest.mark.parametrize("names", [("x-train", "x-test"), ("train/x", "test/x"), ("x_dev", "x"), ("x-train-00000-of-00001", "x-val-00000-of-00001")])
def test_splits_are_not_mixed_into_one_dataset_unasked(names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(names):
        write(tmp_path / f"test/{name}.parquet", rows(10 * number, 10 * number + 10))
    refused(USAGE, "some of these files may be splits", "test/**/*.parquet")
    packhorse.from_parquet({"": "test/**/*.parquet"}, "all", format="wds")
    assert content("all") == wanted(0, 20)
    packhorse.from_parquet({"train": f"test/{names[0]}.parquet", "val": f"test/{names[1]}.parquet"}, "two", format="wds")
    assert content("two/train") == wanted(0, 10) and content("two/val") == wanted(10, 20)


def test_a_pattern_finds_files_at_any_depth(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, place in enumerate(("x", "one/x", "one/two/x")):
        write(tmp_path / f"data/{place}.parquet", rows(10 * number, 10 * number + 10))
    packhorse.from_parquet("data/**/*.parquet", "out", format="wds")
    assert content("out") == wanted()
    packhorse.from_parquet((tmp_path / "data").rglob("*.parquet"), b"again", format="wds")
    assert content("again") == wanted()


def test_no_column_of_any_file_is_left_out_unsaid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.parquet", rows(0, 10))
    write(tmp_path / "b.parquet", rows(10, 20, text=str), [("text", arrow.string())])
    assert refused(USAGE, "the columns text would be left out", ["a.parquet", "b.parquet"]).path == "b.parquet"
    assert packhorse.from_parquet(["a.parquet", "b.parquet"], "none", format="wds", fields=[]).packed == 20
    write(tmp_path / "c.parquet", rows(text=str, t=str), [("text", arrow.string()), ("t", arrow.string())])
    packhorse.from_parquet("c.parquet", "one", format="wds", fields="text")
    assert packhorse.Dataset("one").fields == ["text"]


def test_columns_of_one_name_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    twice = arrow.Table.from_arrays([arrow.array([PICTURES[0]]), arrow.array([0]), arrow.array([1])], ["image", "label", "label"])
    parquet.write_table(twice, "x.parquet")
    refused(USAGE, "several columns have the name 'label'", "x.parquet")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_json_does_not_have_are_refused(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "x.parquet", rows(n=lambda i: number if i == 3 else i), [("n", arrow.float32())])
    assert refused(USAGE, "the field 'n' has a number that JSON cannot hold", "x.parquet", fields=["n"]).path == "x.parquet, row 3"


def test_objects_that_lack_something_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kind = arrow.struct([("bbox", arrow.list_(arrow.list_(arrow.float32()))), ("category", arrow.list_(arrow.int64())),
                         ("area", arrow.list_(arrow.float32())), ("iscrowd", arrow.list_(arrow.int64()))])  # fmt: skip
    whole = {"bbox": [[0, 0, 2, 2], [0, 0, 1, 1]], "category": [0, 1], "area": None, "iscrowd": [1, 0]}
    how = {"objects_column": "objects", "object_classes": ["cat", "dog"]}

    def table(change):
        write(tmp_path / "x.parquet", rows(objects=lambda i: whole | change if i == 4 else whole), [("objects", kind)])

    for change, said in (
        ({"bbox": [[0, 0, 2], [0, 0, 1, 1]]}, "an object's bbox is [0.0, 0.0, 2.0]"),
        ({"bbox": [None, [0, 0, 1, 1]]}, "an object's bbox is None"),
        ({"bbox": [[0, 0, None, 1], [0, 0, 1, 1]]}, "an object's bbox is [0.0, 0.0, None, 1.0]"),
        ({"iscrowd": [1, None]}, "some of the row's objects have no iscrowd"),
        ({"area": [None, 1]}, "some of the row's objects have no area"),
    ):
        table(change)
        assert refused(USAGE, said, "x.parquet", **how).path == "x.parquet, row 4"
    table({"area": [None, None]})
    packhorse.from_parquet("x.parquet", "out", format="wds", **how)
    assert all(packhorse.Dataset("out").objects(i).split()[0]["iscrowd"].tolist() == [1, 0] for i in range(30))
    refused(USAGE, "the column label has no lists", "x.parquet", out="other", objects_column="label")


def test_hostile_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = write(tmp_path / "good.parquet", rows()).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(good[:-9])
    refused(CORRUPT, "no whole Parquet file", "cut.parquet")
    (tmp_path / "tiny.parquet").write_bytes(b"PAR1")
    refused(CORRUPT, "no whole Parquet file", "tiny.parquet")
    (tmp_path / "footer.parquet").write_bytes(b"PAR1" + bytes(100) + (90).to_bytes(4, "little") + b"PAR1")
    refused(CORRUPT, "no sound Parquet file", "footer.parquet")
    with open(tmp_path / "huge.parquet", "wb") as file:
        file.truncate(1 << 30)
        file.seek((1 << 30) - 8)
        file.write((500 << 20).to_bytes(4, "little") + b"PAR1")
    refused(packhorse.errors.UnsupportedError, "the footer has 524288000 bytes", "huge.parquet")
    write(tmp_path / "names.parquet", rows(), features={"image": {"_type": "Image"}, "label": {"names": {"a": 1}, "_type": "ClassLabel"}})
    refused(CORRUPT, "metadata `huggingface`", "names.parquet")
    for odd in (3, {"category": 3}, {"category": {"names": 3}}, {"category": {"names": ["a", 3]}}, {"feature": 3}, {"category": {"feature": 3}}):
        write(tmp_path / "odd.parquet", rows(o=lambda i: []), [("o", STRUCTS)], {**FEATURES, "o": odd})
        refused(CORRUPT if odd == 3 else USAGE, "metadata `huggingface`" if odd == 3 else "the categories in o have no names", "odd.parquet")
    schema = arrow.schema([("image", IMAGE), ("label", arrow.int64())], {"huggingface": "[" * 100_000})
    parquet.write_table(arrow.Table.from_pylist(rows(), schema), "deep.parquet")
    refused(CORRUPT, "metadata `huggingface`", "deep.parquet")
    damaged = bytearray(write(tmp_path / "plain.parquet", rows(), compression="zstd").read_bytes())
    place = damaged.index(b"\x28\xb5\x2f\xfd", len(damaged) // 2)
    damaged[place : place + 40] = bytes(40)
    (tmp_path / "damaged.parquet").write_bytes(damaged)
    refused(CORRUPT, "cannot be read", "damaged.parquet")
    assert os.listdir(".").count("out") == 0 and not any("partial" in name for name in os.listdir("."))


def test_a_changed_page_is_noticed_where_the_file_has_checksums(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = bytearray(write(tmp_path / "x.parquet", rows(), compression="none", write_page_checksum=True).read_bytes())
    content[content.index(PICTURES[12][500:600])] ^= 1
    (tmp_path / "x.parquet").write_bytes(content)
    refused(CORRUPT, "cannot be read", "x.parquet")


class Keys:
    """Of encrypted files."""

    def __new__(cls, _):
        encryption = pytest.importorskip("pyarrow.parquet.encryption")

        class Client(encryption.KmsClient):
            def wrap_key(self, key, name):
                return key.hex()

            def unwrap_key(self, key, name):
                return bytes.fromhex(key)

        return Client()


@pytest.mark.parametrize("plain", [True, False])
def test_encrypted_files_are_refused(plain, tmp_path, monkeypatch):
    """pyarrow ends the process if it is asked for the metadata of an encrypted column."""
    encryption = pytest.importorskip("pyarrow.parquet.encryption")
    monkeypatch.chdir(tmp_path)
    how = encryption.EncryptionConfiguration("footer", column_keys={"column": ["label"]}, plaintext_footer=plain)
    properties = encryption.CryptoFactory(Keys).file_encryption_properties(encryption.KmsConnectionConfig(), how)
    write(tmp_path / "x.parquet", rows(), encryption_properties=properties)
    refused(CORRUPT, "", "x.parquet")


def test_options_are_those_of_the_writer_and_others_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "x.parquet", rows() + rows())
    report = packhorse.from_parquet("x.parquet", "split", format="wds", split="50:50")
    assert {split.split for split in report.splits} == {"train", "val"} and report.packed == 60
    assert packhorse.from_parquet("x.parquet", "dropped", format="wds", deduplicate="drop").packed == 30
    assert packhorse.from_parquet("x.parquet", "small", format="wds", image="resize", short_side=32).packed == 60
    with pytest.raises(TypeError, match="source_kind"):
        packhorse.pack("x.parquet", "out", format="wds", source_kind="folder")
    with pytest.raises(USAGE, match="log="):
        packhorse.pack("x.parquet", "out", format="wds", log="log")
    assert not os.path.exists("out")


def test_a_value_that_all_rows_share_does_not_fill_the_memory(tmp_path, monkeypatch):
    """32 rows of one image of 8 MB take little in the file, and 256 MB at once."""
    large = PICTURES[0] + bytes(8 << 20)
    path = write(tmp_path / "x.parquet", [{"image": {"bytes": large}, "label": 0}] * 32, use_dictionary=["image.bytes"],
                 dictionary_pagesize_limit=100 << 20, compression="zstd", row_group_size=32)  # fmt: skip
    assert path.stat().st_size < 1 << 20
    monkeypatch.setattr(tables, "_BYTES_AT_ONCE", 20 << 20)
    most = 0
    for _ in tables._rows(tables._open(parquet, str(path)), str(path), ["image", "label"]):
        most = max(most, arrow.total_allocated_bytes())
    assert 0 < most < 100 << 20


def test_what_is_packed_is_read_back(tmp_path, monkeypatch):
    write(tmp_path / "x.parquet", rows())
    monkeypatch.setattr(packhorse.Dataset, "read", lambda self, i: PICTURES[0])
    with pytest.raises(CORRUPT, match="what was packed is not what the table has"):
        packhorse.from_parquet(tmp_path / "x.parquet", tmp_path / "out", format="wds")


class Hub:
    """Stands for huggingface_hub: a dataset with two subsets, whose files lie in a folder."""

    def __init__(self, folder):
        self.folder, self.asked = folder, []

    def HfApi(self):
        return types.SimpleNamespace(list_repo_files=self.list, repo_info=self.info)

    def info(self, repo_id, revision, repo_type):
        self.asked.append((repo_id, revision, repo_type))
        if repo_id == "no/one":
            raise RuntimeError("401 Client Error\nmore")
        return types.SimpleNamespace(sha=f"commit of {revision}")

    def list(self, repo_id, revision, repo_type):
        self.asked.append((repo_id, revision, repo_type))
        return [path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.*")]

    def hf_hub_download(self, repo_id, filename, revision, repo_type):
        self.asked.append((repo_id, revision, repo_type))
        return str(self.folder / filename)


def test_a_dataset_of_the_hub_is_fetched_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for subset in ("plain", "small"):
        write(tmp_path / f"hub/{subset}/train-00000-of-00001.parquet", rows(0, 20))
        write(tmp_path / f"hub/{subset}/test-00000-of-00001.parquet", rows(20, 30))
    (tmp_path / "hub/README.md").write_text("x")
    hub = Hub(tmp_path / "hub")
    imported = _hub.importlib.import_module
    monkeypatch.setattr(_hub.importlib, "import_module", lambda name: hub if name == "huggingface_hub" else imported(name))
    packhorse.pack("hf://datasets/some/one@v1/small", "out", format="wds")
    assert content("out/train") == wanted(0, 20) and content("out/test") == wanted(20, 30)
    assert hub.asked == [("some/one", "v1", "dataset"), *[("some/one", "commit of v1", "dataset")] * 3]
    for url, error, said in (
        ("hf://datasets/some/one", USAGE, "several subsets: plain, small"),
        ("hf://datasets/some/one/large", MISSING, "in plain, small"),
        ("hf://datasets/no/one", packhorse.errors.StorageError, "RuntimeError: 401 Client Error"),
        ("hf://models/some/one", USAGE, "no dataset of the Hub"),
    ):
        refused(error, said, url, out="other")
    (tmp_path / "hub/plain").rename(tmp_path / "away")
    (tmp_path / "hub/small").rename(tmp_path / "gone")
    refused(MISSING, "there are no Parquet files", "hf://datasets/some/one", out="other")


def test_datasets_are_packed_and_written_back(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    files = []
    for i in range(10):
        files.append(tmp_path / f"{i}.jpg")
        files[-1].write_bytes(PICTURES[i])
    features = datasets.Features(image=datasets.Image(), label=datasets.ClassLabel(names=NAMES), caption=datasets.Value("string"))
    on_disk = datasets.Dataset.from_dict(
        {"image": [str(file) for file in files], "label": [i % 3 for i in range(10)], "caption": ["é"] * 10}, features=features
    )
    embedded = [{"bytes": PICTURES[i], "path": None} for i in range(10, 20)]
    inside = datasets.Dataset.from_dict({"image": embedded, "label": [i % 3 for i in range(10, 20)], "caption": ["b"] * 10}, features=features)
    both = datasets.DatasetDict({"train": on_disk.shuffle(seed=1), "validation": inside})
    packhorse.from_datasets(both, tmp_path / "packed", format="wds")
    assert content(tmp_path / "packed/train") == wanted(0, 10) and content(tmp_path / "packed/val") == wanted(10, 20)

    report = packhorse.to_parquet(tmp_path / "packed", tmp_path / "hub", rows_per_file=4)
    assert report.samples == 20 and len(report.files) == 6 and report.upload.startswith("hf upload OWNER/NAME ")
    again = datasets.load_dataset(str(tmp_path / "hub"), cache_dir=str(tmp_path / "cache"))
    assert set(again) == {"train", "validation"} and again["train"].features == features
    for split, begin in (("train", 0), ("validation", 10)):
        bare = again[split].cast_column("image", datasets.Image(decode=False))
        assert {row["image"]["bytes"]: NAMES[row["label"]] for row in bare} == wanted(begin, begin + 10)
        assert again[split][0]["image"].size[0] > 0 and again[split][0]["caption"] in "éb"
    packhorse.from_parquet(tmp_path / "hub/data/*.parquet", tmp_path / "back", format="wds")
    assert content(tmp_path / "back/train") == wanted(0, 10)
    with pytest.raises(packhorse.errors.ExistsError):
        packhorse.to_parquet(tmp_path / "packed", tmp_path / "hub")


def test_what_is_no_dataset_of_theirs_is_refused(tmp_path):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(image=datasets.Image(), label=datasets.ClassLabel(names=NAMES))
    whole = datasets.Dataset.from_dict({"image": [{"bytes": one, "path": None} for one in PICTURES[:3]], "label": [0, 1, 2]}, features=features)
    away = datasets.Dataset.from_dict({"image": [str(tmp_path / "away.jpg")], "label": [0]}, features=features)
    for given, error, said in (
        ([1], USAGE, "not list"),
        ({}, USAGE, "not nothing"),
        ({"train": whole, "test": None}, USAGE, "not Dataset, NoneType"),
        (whole.to_iterable_dataset(), USAGE, "not IterableDataset"),
        ({"validation": whole, "dev": whole}, USAGE, "validation, dev are one split"),
        (away, packhorse.errors.StorageError, "away.jpg: No such file"),
    ):
        with pytest.raises(error, match=said):
            packhorse.from_datasets(given, tmp_path / "out", format="wds")
        assert not (tmp_path / "out").exists()


def test_nothing_is_written_that_the_hub_would_mix_up(tmp_path):
    def packed(name, splits, **more):
        with packhorse.Writer(tmp_path / name, format="wds", classes=["x"]) as writer:
            for split in splits:
                writer.add(PICTURES[0], 0, split=split, **more)
        return tmp_path / name

    for given, out, said in (
        (packed("two", ["val", "validation"]), "hub", "several splits are 'validation'"),
        (packed("dash", ["train", "my-split"]), "hub", "no split of the name 'my-split'"),
        (packed("label", ["train"], fields={"label": b"1"}), "hub", "the field 'label' has the name of a column"),
        (packed("good", ["train"]), "s3://bucket/hub", "written to a disk"),
    ):
        with pytest.raises(USAGE, match=said):
            packhorse.to_parquet(given, out if "://" in out else tmp_path / out)
    (tmp_path / "hub.partial").mkdir()
    (tmp_path / "hub.partial/others").write_text("work of another command")
    packhorse.to_parquet(tmp_path / "good", tmp_path / "hub")
    assert (tmp_path / "hub.partial/others").exists()
    assert sorted(os.listdir(tmp_path)) == ["dash", "good", "hub", "hub.partial", "label", "two"]


def test_objects_are_written_back_and_raw_pixels_refused(tmp_path):
    with packhorse.Writer(tmp_path / "packed", format="wds", object_classes=["cat", "dog"]) as writer:
        writer.add(PICTURES[0], "pets", boxes=[[1, 2, 4, 6]], box_labels=["dog"], crowd=[True], area=[9], fields={"json": b"{}"})
    packhorse.to_parquet(tmp_path / "packed", tmp_path / "hub")
    (row,) = parquet.read_table(tmp_path / "hub/data").to_pylist()
    assert row == {"image": {"bytes": PICTURES[0], "path": None}, "label": 0, "json": b"{}", "objects": {"bbox": [[1, 2, 3, 4]], "category": [1], "area": [9], "iscrowd": [True]}}
    packhorse.from_parquet(tmp_path / "hub/data/train-00000-of-00001.parquet", tmp_path / "back", format="wds", fields=["json"])
    back = packhorse.Dataset(tmp_path / "back/train")
    found = {name: values.tolist() for name, values in back.objects(0).split()[0].items()}
    assert back.object_classes == ["cat", "dog"] and found == {"boxes": [[1, 2, 4, 6]], "labels": [1], "iscrowd": [1], "area": [9]}
    packhorse.pack(SHAPES / "val", tmp_path / "raw", format="wds", image="raw", size=8, split_folders=[])
    with pytest.raises(USAGE, match="raw pixels"):
        packhorse.to_parquet(tmp_path / "raw", tmp_path / "raw-hub")
    assert not (tmp_path / "raw-hub").exists() and not (tmp_path / "raw-hub.partial").exists()
