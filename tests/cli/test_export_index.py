"""`packhorse export-index`, and the same files as `pack` publishes them: for DALI, wids, timm and Hugging Face."""

import io
import json
import shutil
import tarfile

import pytest
from python_support import FAILED, SHAPES, USAGE, files_of, pack, packhorse, refused, truncate

FOREIGN = [".idx", "_info.json", "wids.json"]


def foreign(dataset):
    return {name: (dataset / name).read_bytes() for name in files_of(dataset) if name.endswith(tuple(FOREIGN))}


def dali_lines(tar, names=True):
    """DALI's index, made by Python's tarfile alone."""
    samples = []
    with tarfile.open(tar, "r:") as members:
        for member in members:
            key, extension = member.name.split(".", 1)
            words = f"{extension} {member.offset_data} {member.size}" + (f" {member.name}" if names else "")
            if samples and samples[-1][0] == key:
                samples[-1][1].append(words)
            else:
                samples.append((key, [words]))
    return [" ".join(words) for _, words in samples]


@pytest.fixture(scope="module", params=["files", "raw", "fields"])
def dataset(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    source, options = SHAPES / "train", []
    if request.param == "raw":
        options = ["--image", "raw", "--size", "20"]
    if request.param == "fields":
        source = folder / "source"
        shutil.copytree(SHAPES / "train", source)
        for i, picture in enumerate(sorted(source.rglob("*.jpg"))):
            if i % 3:
                picture.with_suffix(".json").write_text("{}" if i % 2 else "")
            picture.with_suffix(".seg.png").write_bytes(b"x" * i * 7)
        options = ["--fields", "json,seg.png"]
    pack(source, folder / "out", "--format", "wds", "--shard-samples", "50", *options)
    return folder / "out"


def test_packing_publishes_the_indexes_and_exporting_gives_the_same_bytes(dataset, tmp_path):
    """Packing makes the files from its index, exporting from the headers in the tar."""
    tars = sorted(dataset.glob("*.tar"))
    counts = []
    for tar in tars:
        lines = dali_lines(tar)
        assert tar.with_suffix(".idx").read_text() == f"v1.2 {len(lines)}\n" + "".join(line + "\n" for line in lines)
        counts.append(len(lines))
    names = [tar.name for tar in tars]
    sizes = [tar.stat().st_size for tar in tars]
    shards = [{"url": url, "nsamples": n, "filesize": size} for url, n, size in zip(names, counts, sizes, strict=True)]
    wids = {"__kind__": "wids-shard-index-v1", "wids_version": 1, "shardlist": shards}
    assert json.loads((dataset / "wids.json").read_text()) == wids
    train = {"name": "train", "num_samples": sum(counts), "filenames": names, "shard_lengths": counts}
    assert json.loads((dataset / "_info.json").read_text())["splits"] == {"train": train}
    published = foreign(dataset)
    manifest = json.loads((dataset / "dataset.json").read_text())
    assert sorted(f["file"] for f in manifest["files"]) == sorted([*published, "classes.txt"])
    sums = (dataset / "SHA256SUMS").read_text()
    assert all(f"  {name}\n" in sums for name in published)
    report = packhorse("export-index", dataset, "--json").json
    assert report["written"] == [] and sorted(report["unchanged"]) == sorted(published)
    out = packhorse("export-index", dataset, "-o", tmp_path / "out", "--jobs", "3", "--json").json
    assert sorted(out["written"]) == sorted(published) and out["bytes"] == sum(map(len, published.values()))
    assert foreign(tmp_path / "out") == published


def test_a_missing_or_changed_index_is_made_again(dataset, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    (copy / "shard-000001.idx").unlink()
    truncate(copy / "wids.json", 5)
    report = packhorse("export-index", copy, "--json").json
    assert report["written"] == ["shard-000001.idx", "wids.json"]
    assert foreign(copy) == foreign(dataset)
    packhorse("inspect", copy, "--verify", "full")


def test_version_1_1_has_no_names_and_never_replaces_what_was_published(dataset, tmp_path):
    before = foreign(dataset)
    error = refused("export-index", dataset, "--dali-version", "1.1", code=FAILED).err
    assert "-o DIR" in error and foreign(dataset) == before
    packhorse("export-index", dataset, "--dali-version", "1.1", "-o", tmp_path)
    lines = dali_lines(dataset / "shard-000000.tar", names=False)
    assert (tmp_path / "shard-000000.idx").read_text().splitlines() == [f"v1.1 {len(lines)}", *lines]
    refused("export-index", dataset, "--dali-version", "1.3", code=USAGE)


def test_splits_are_exported_one_by_one(tmp_path):
    pack(SHAPES, tmp_path / "out", "--format", "wds")
    report = packhorse("export-index", tmp_path / "out", "-o", tmp_path / "idx", "--json").json
    assert [len(split["written"]) for split in report["datasets"]] == [3, 3]
    assert json.loads((tmp_path / "idx/val/wids.json").read_text())["name"] == "val"
    assert list(json.loads((tmp_path / "out/val/_info.json").read_text())["splits"]) == ["val"]
    text = packhorse("export-index", "out", cwd=tmp_path).out
    assert text.splitlines()[0].startswith("out/train: 0 files written, 3 unchanged, ")


def test_compressed_shards_and_other_formats_have_none(tmp_path):
    pack(SHAPES, tmp_path / "zstd", "--format", "wds", "--compress", "zstd")
    assert foreign(tmp_path / "zstd") == {} and not (tmp_path / "zstd/README.md").exists()
    assert "compressed shards" in refused("export-index", tmp_path / "zstd").err
    pack(SHAPES, tmp_path / "hdf5", "--format", "hdf5")
    assert foreign(tmp_path / "hdf5") == {} and not (tmp_path / "hdf5/README.md").exists()
    assert "indexes are made for: wds" in refused("export-index", tmp_path / "hdf5", code=USAGE).err


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_adopted_shards_get_their_indexes_from_their_headers(form, tmp_path):
    """Members in other orders, long names, labels with line ends, upper case, directories, meta files."""
    name = "d" * (60 if form == tarfile.USTAR_FORMAT else 300)
    shard = tmp_path / "shards" / "train-0.tar"
    shard.parent.mkdir()
    wanted = []
    with tarfile.open(shard, "w", format=form) as tar:
        for i, picture in enumerate(sorted((SHAPES / "val").rglob("*.jpg"))[:5]):
            members = [("cls", b"%d\n" % (i % 2)), ("JPG", picture.read_bytes()), ("a.txt", b"x" * i)]
            for extension, data in members:
                info = tarfile.TarInfo(f"./{name}/{i}.{extension}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
            tar.addfile(tarfile.TarInfo(f"__meta__/{i}"))
    with tarfile.open(shard) as tar:
        for member in tar:
            if "__meta__" not in member.name:
                key, extension = member.name.rsplit("/", 1)[1].split(".", 1)
                words = f"{extension} {member.offset_data} {member.size} {member.name}"
                wanted.append(words) if extension == "cls" else wanted.append(f"{wanted.pop()} {words}")
    packhorse("index", tmp_path / "shards")
    report = packhorse("export-index", tmp_path / "shards", "--json").json
    assert report["written"] == ["train-0.idx", "_info.json", "wids.json"]
    assert (shard.parent / "train-0.idx").read_text().splitlines() == ["v1.2 5", *wanted]
    packhorse("inspect", tmp_path / "shards", "--verify", "full")


def test_a_name_with_a_blank_has_no_place_in_dalis_index(tmp_path):
    shard = tmp_path / "shards" / "train-0.tar"
    shard.parent.mkdir()
    with tarfile.open(shard, "w") as tar:
        tar.add(next(SHAPES.rglob("*.jpg")), "a b.jpg")
    packhorse("index", tmp_path / "shards")
    assert "a b.jpg" in refused("export-index", tmp_path / "shards").err


def test_a_field_with_a_blank_in_its_name_costs_dalis_index_alone(tmp_path):
    source = tmp_path / "source.tar"
    photos = sorted(SHAPES.rglob("*.jpg"))[:4]
    with tarfile.open(source, "w") as tar:
        for i, photo in enumerate(photos):
            tar.add(photo, f"{i}.jpg")
            tar.add(__file__, f"{i}.alt text.txt")
    note = "DALI's index cannot hold the blank in the name of the field 'alt text.txt'"
    for more in (["--dry-run"], []):
        report = packhorse("pack", source, tmp_path / "out", "--format", "wds", "--json", *more).json
        assert sum(note in one for one in report["notes"]) == 1
    assert sorted(foreign(tmp_path / "out")) == ["_info.json", "wids.json"]
    packhorse("inspect", tmp_path / "out", "--verify", "full")
    (tmp_path / "out/wids.json").unlink()
    packhorse("repair", tmp_path / "out", source)
    assert sorted(foreign(tmp_path / "out")) == ["_info.json", "wids.json"]
    without = pack(source, tmp_path / "without", "--format", "wds", "--fields", "none")
    assert not any(note in one for one in without["notes"])


def test_keys_of_adopted_shards_may_have_blanks(tmp_path):
    shard = tmp_path / "shards/train-0.tar"
    shard.parent.mkdir()
    with tarfile.open(shard, "w") as tar:
        for photo in sorted(SHAPES.rglob("*.jpg"))[:2]:
            tar.add(photo, f"a {photo.stem}.jpg")
    packhorse("index", tmp_path / "shards")
    pack(tmp_path / "shards", tmp_path / "out", "--format", "wds")
    assert len(foreign(tmp_path / "out")) == 3


def test_a_shard_that_holds_other_samples_is_refused(tmp_path):
    pack(SHAPES / "val", tmp_path / "out", "--format", "wds")
    shard = tmp_path / "out" / "shard-000000.tar"
    with tarfile.open(shard, "a") as tar:
        tar.add(__file__, "zzz.jpg")
    result = refused("export-index", tmp_path / "out", code=3)
    assert "holds 37 samples by WebDataset's rule, but its index 36" in result.err


def card(directory):
    """The YAML header of README.md, line by line, and the text below it."""
    _, header, text = (directory / "README.md").read_text().split("---\n", 2)
    return header.splitlines(), text


def column_names(header):
    return [line.split('"')[1] for line in header if line.startswith("  - name: ")]


def test_packing_writes_a_card_that_names_the_shards_of_each_split(tmp_path):
    pack(SHAPES, tmp_path / "out", "--format", "wds")
    header, text = card(tmp_path / "out")
    assert header[:7] == [
        "configs:",
        "- config_name: default",
        "  data_files:",
        '  - split: "train"',
        '    path: "train/*.tar"',
        '  - split: "val"',
        '    path: "val/*.tar"',
    ]
    assert column_names(header) == ["bmp", "jpg", "png", "webp", "cls", "__key__", "__url__"]
    classes = (tmp_path / "out/train/classes.txt").read_text().splitlines()
    names = header[header.index("        names:") + 1 :][: len(classes)]
    assert names == [f'          "{i}": "{name}"' for i, name in enumerate(classes)]
    assert "156 images in 6 classes" in text
    assert not (tmp_path / "out/train/README.md").exists()
    packhorse("inspect", tmp_path / "out", "--verify", "full")


def test_the_card_is_no_part_of_the_dataset(tmp_path):
    """It may be edited or removed, and a dataset that is made again is the same."""
    report = pack(SHAPES / "val", tmp_path / "out", "--format", "wds")
    assert "README.md" not in files_of(tmp_path / "out"), "a dataset holds only what its manifest names"
    assert packhorse("export-index", tmp_path / "out", "--json").json["card"] == "written"
    assert card(tmp_path / "out")[0][3:5] == ['  - split: "train"', '    path: "*.tar"']
    named = (tmp_path / "out/dataset.json").read_text() + (tmp_path / "out/SHA256SUMS").read_text()
    assert "README.md" not in named
    (tmp_path / "out/README.md").write_text("mine")
    packhorse("inspect", tmp_path / "out", "--verify", "full")
    packhorse("repair", tmp_path / "out", SHAPES / "val")
    assert packhorse("export-index", tmp_path / "out", "--json").json["card"] == "kept"
    assert (tmp_path / "out/README.md").read_text() == "mine"
    text = packhorse("export-index", "out", cwd=tmp_path).out
    assert text.splitlines()[-1] == "out/README.md: kept as it is, with other text"
    (tmp_path / "out/README.md").unlink()
    assert packhorse("export-index", tmp_path / "out", "--json").json["card"] == "written"
    assert packhorse("export-index", tmp_path / "out", "--json").json["card"] == "unchanged"
    again = pack(SHAPES / "val", tmp_path / "out", "--format", "wds", "--overwrite")
    assert again["id"] == report["id"]
    packhorse("unpack", tmp_path / "out", tmp_path / "files")
    assert not (tmp_path / "files/README.md").exists()


def test_the_card_leaves_the_columns_open_where_it_cannot_know_them(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(SHAPES / "val", source)
    for picture in source.rglob("*.jpg"):
        picture.with_suffix(".json").write_text("{}")
        picture.with_suffix(".txt").write_text("a picture")

    def columns(name, folder, *options):
        pack(folder, tmp_path / name, "--format", "wds", *options)
        packhorse("export-index", tmp_path / name)
        return column_names(card(tmp_path / name)[0])

    assert columns("json", source, "--fields", "json,txt") == []
    for picture in list(source.rglob("*.jpg")):
        picture.with_suffix(".seg.png").write_bytes(picture.read_bytes())
    assert columns("txt", source, "--fields", "txt,seg.png")[-4:] == ["seg.png", "txt", "__key__", "__url__"]
    assert columns("raw", SHAPES / "val", "--image", "raw", "--size", "20") == []


@pytest.mark.parametrize("name", ['"a\\', "b\x85", "c: #", "no", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")])
def test_class_names_are_quoted_or_left_out(name, tmp_path):
    for folder in (name, "other"):
        (tmp_path / "source" / folder).mkdir(parents=True)
        shutil.copy(next(SHAPES.rglob("*.jpg")), tmp_path / "source" / folder)
    pack(tmp_path / "source", tmp_path / "out", "--format", "wds")
    packhorse("export-index", tmp_path / "out")
    header, _ = card(tmp_path / "out")
    names = [json.loads(line.split(": ", 1)[1]) for line in header if line.startswith(" " * 10)]
    assert names == ([] if "\x85" in name else sorted([name, "other"], key=str.encode))
    assert ("    dtype: int64" in header) == ("\x85" in name)


def test_splits_get_names_that_hugging_face_allows(tmp_path):
    rows = [f"{SHAPES}/val/balls/{p.name},balls,{split}" for p, split in zip(
        sorted((SHAPES / "val/balls").glob("*.jpg")), ["all", "a-b", "a.b", "a_b"], strict=False)]
    (tmp_path / "list.csv").write_text("path,label,split\n" + "\n".join(rows) + "\n")
    pack(tmp_path / "list.csv", tmp_path / "out", "--format", "wds")
    header, _ = card(tmp_path / "out")
    names = [line.split('"')[1] for line in header if line.startswith("  - split: ")]
    folders = [line.split('"')[1] for line in header if line.startswith("    path: ")]
    assert sorted(folders) == ["a-b/*.tar", "a.b/*.tar", "a_b/*.tar", "all/*.tar"]
    assert len(set(names)) == 4 and not any(set(name) & set(".-") or name == "all" for name in names)


def test_the_card_of_adopted_shards_names_each(tmp_path):
    shard = tmp_path / "shards" / "train-[0].tar"
    shard.parent.mkdir()
    with tarfile.open(shard, "w") as tar:
        tar.add(next(SHAPES.rglob("*.jpg")), "a.jpg")
    packhorse("index", shard.parent / "train-?0?.tar", "--out", tmp_path / "out")
    assert packhorse("export-index", tmp_path / "out", "--json").json["card"] == "written"
    assert card(tmp_path / "out")[0][4:] == ["    path:", '    - "train-[[]0].tar"']
