"""packhorse.pack, verify, inspect, unpack, index and export_index: what the commands do, from Python."""

import ast
import json
import logging
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading

import pytest
from package import environment, packhorse
from python_support import (
    BIN,
    BROKEN,
    LAYOUTS,
    PACKHORSE,
    SHAPES,
    flip_byte,
    make_source,
    photos,
    put,
    shards_of,
    staging,
    tree,
)
from python_support import pack as pack_by_command
from python_support import packhorse as command


def python(code):
    """Runs a program that imports the package; returns what it printed, and nothing on stderr."""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def plain(report, *paths):
    """A report's JSON without what differs from run to run."""
    text = json.dumps({name: value for name, value in report.items() if name != "seconds"})
    for path in paths:
        text = text.replace(str(path), "OUT")
    return json.loads(text)


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "shapes"
    packhorse.pack(SHAPES, out, format="wds")
    return out


def test_reading_never_loads_the_packer(tmp_path, packed):
    packhorse.pack(packed, tmp_path / "out", format="wds", image="resize", short_side=32)
    code = f"""
import sys, packhorse
list(packhorse.Loader({str(tmp_path / "out/train")!r}, 8, size=16))
packhorse.Dataset({str(packed)!r}).read(0)
assert "packhorse._pack" not in sys.modules
assert "libtbb" not in open("/proc/self/maps").read()
packhorse.inspect({str(packed)!r})
assert "packhorse._pack" in sys.modules
"""
    python(code)


@pytest.mark.parametrize("format", LAYOUTS)
def test_datasets_and_reports_are_those_of_the_command(tmp_path, format, capfd):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    report = packhorse.pack(SHAPES, ours, format=format, seed=3, shard_samples=25, decode=True, jobs=2)
    assert capfd.readouterr() == ("", "")
    expected = pack_by_command(SHAPES, theirs, "--format", format, "--seed", "3", "--shard-samples", "25", "--decode")
    assert tree(ours) == tree(theirs)
    assert plain(report.json, ours) == plain(expected, theirs)
    assert (report.seen, report.packed, report.id) == (expected["seen"], expected["packed"], expected["id"])
    assert [split.path for split in report.splits] == [str(ours / "train"), str(ours / "val")]


OPTIONS = [
    ({"image": "resize", "short_side": 40, "quality": 80, "chroma": "420", "include": "*.jpg", "exclude": ["*1*"],
      "limit": 30},
     "--image resize --short-side 40 --quality 80 --chroma 420 --include *.jpg --exclude *1* --limit 30"),
    ({"image": "raw", "size": 24, "fit": "letterbox", "samples_per_class": 5, "deduplicate": "drop"},
     "--image raw --size 24 --fit letterbox --samples-per-class 5 --deduplicate drop"),
    ({"image": "roi", "restart_mcus": 2, "shuffle": False, "shard_bytes": "64KiB"},
     "--image roi --restart-mcus 2 --no-shuffle --shard-bytes 64KiB"),
    ({"compress": "zstd:5", "shard_bytes": 100_000, "split_folders": {"train": "train"}, "max_pixels": 10**6},
     "--compress zstd:5 --shard-bytes 100000 --split-folders train=train --max-pixels 1000000"),
    ({"split_folders": [], "allow_odd_classes": True, "dry_run": True},
     "--split-folders none --allow-odd-classes --dry-run"),
    ({"label_pattern": "^([a-z]+)-", "fields": []}, "--label-pattern ^([a-z]+)- --fields none"),
]  # fmt: skip


def in_python(flag):
    return flag[0].removeprefix("--").replace("-", "_") + "="


@pytest.mark.parametrize("given,typed", OPTIONS)
def test_options_are_those_of_the_command(tmp_path, given, typed):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    report = packhorse.pack(SHAPES, ours, format="wds", **given)
    expected = pack_by_command(SHAPES, theirs, "--format", "wds", *typed.split())
    expected["notes"] = [re.sub(r"--[a-z-]+", in_python, note) for note in expected["notes"]]
    assert plain(report.json, ours) == plain(expected, theirs)
    assert not report.published or tree(ours) == tree(theirs)


def test_classes_and_labels_come_from_files_or_values(tmp_path):
    names = sorted(path.name for path in (SHAPES / "train").iterdir() if path.is_dir())[::-1]
    listed = put(tmp_path / "classes.txt", "\n".join(names) + "\n")
    for classes, out in [(names, "a"), (listed, "b")]:
        packhorse.pack(SHAPES, tmp_path / out, format="wds", classes=classes)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    assert packhorse.Dataset(tmp_path / "a").classes == names
    images = put(tmp_path / "flat/x.jpg").parent
    labels = put(tmp_path / "labels.csv", "x.jpg,dog\n")
    packhorse.pack(images, tmp_path / "c", format="lmdb", labels=labels, path_column=1, label_column="2")
    assert packhorse.Dataset(tmp_path / "c").classes == ["dog"]


def test_masks_and_objects_elsewhere_in_the_source_are_packed(tmp_path):
    source = photos("bccd/bccd")
    split_files = {split: f"coco:{source}/annotations/instances_{split}.json" for split in ["train", "val", "test"]}
    typed = [f"--targets={split}={text}" for split, text in split_files.items()]
    report = packhorse.pack(source, tmp_path / "coco", format="wds", targets=split_files)
    pack_by_command(source, tmp_path / "same", "--format", "wds", *typed)
    assert tree(tmp_path / "coco") == tree(tmp_path / "same")
    assert report.packed == 364
    assert packhorse.verify(tmp_path / "coco/val", against=source, targets=split_files).ok
    options = {"targets": "yolo", "target_classes": ["RBC", "WBC", "Platelets"], "optional_field_from": {"txt": "labels/{split}"}}
    assert packhorse.pack(source, tmp_path / "yolo", format="wds", **options).packed == 364
    report = packhorse.pack(source, tmp_path / "xml", format="wds", unlabelled=True, field_from={"xml": "voc/{split}"})
    assert packhorse.inspect(tmp_path / "xml/val").json["fields"] and report.packed == 364
    with pytest.raises(packhorse.errors.UsageError, match="not a notation"):
        packhorse.pack(source, tmp_path / "no", format="wds", targets="koko")


def test_tasks_pack_shares_and_one_call_publishes(tmp_path):
    for task in ("1/2", "0/2"):
        report = packhorse.pack(SHAPES, tmp_path / "out", format="wds", shard_samples=20, task=task)
        assert not report.published
    report = packhorse.pack(SHAPES, tmp_path / "out", format="wds", shard_samples=20, finish=True)
    assert report.published and report.shards_kept == report.shards == 8


def test_photos_are_packed_verified_and_unpacked(tmp_path):
    source, seen = photos("imagenet/imagenet200"), []
    options = {"format": "hdf5", "allow_odd_classes": True, "shard_samples": 100}
    report = packhorse.pack(source, tmp_path / "out", **options, progress=lambda *step: seen.append(step))
    total = report.packed
    assert seen[-1] == (total, total) and seen == sorted(seen)
    verified = packhorse.verify(tmp_path / "out", against=source, progress=lambda done, total: None)
    assert verified.ok and verified.isolated and verified.samples == total and verified.walked == report.shards
    assert verified.json["against"]["compared"] == total
    unpacked = packhorse.unpack(tmp_path / "out", tmp_path / "folder")
    assert (unpacked.samples, unpacked.bytes) == (total, report.bytes_in)
    assert tree(tmp_path / "folder") == tree(source)


def test_progress_is_a_bar_of_tqdm_or_an_error_that_names_it(tmp_path, capfd, monkeypatch):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    packhorse.pack(SHAPES, tmp_path / "out", format="wds", progress=True)
    assert re.search(r"100%.*\b156/156\b", capfd.readouterr().err)
    packhorse.verify(tmp_path / "out", progress=True)
    assert "100%" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(packhorse.errors.UsageError, match="tqdm"):
        packhorse.pack(SHAPES, tmp_path / "other", format="wds", progress=True)
    assert not (tmp_path / "other").exists()


def test_rejects_are_an_error_with_the_report_and_logged_but_not_printed(tmp_path, caplog, capfd):
    with caplog.at_level(logging.INFO, "packhorse"), pytest.raises(packhorse.errors.RejectedError) as raised:
        packhorse.pack(BROKEN, tmp_path / "out", format="wds", allow_odd_classes=True, log=tmp_path / "log")
    assert capfd.readouterr() == ("", "")
    report = raised.value.report
    assert report.rejected == len(report.rejects) > 0 and not report.published
    assert f"{report.rejected} of {report.seen} inputs were rejected, 0 allowed" in str(raised.value)
    assert report.rejects[0].path in caplog.text and report.rejects[0].reason in caplog.text
    assert {reject.code for reject in report.rejects} == {"too-many-pixels", "damaged", "not-an-image", "empty-file"}
    assert raised.value.code == ""  # it is about many
    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert sum(event["event"] == "reject" for event in events) == report.rejected
    assert not (tmp_path / "out").exists()
    report = packhorse.pack(BROKEN, tmp_path / "out", format="wds", allow_odd_classes=True, max_rejects="100%")
    assert report.published and report.rejected == raised.value.report.rejected


def test_a_log_is_written_through_links_and_into_fifos(tmp_path, packed):
    source = tmp_path / "source"
    shutil.copytree(SHAPES / "val", source)
    (source / "notes.txt").write_text("skipped, and so in the log")
    link, fifo = tmp_path / "link", tmp_path / "fifo"
    link.symlink_to("log")
    packhorse.pack(source, tmp_path / "out", format="wds", log=link)
    assert link.is_symlink() and "notes.txt" in (tmp_path / "log").read_text()
    os.mkfifo(fifo)
    read = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()))
    reader.start()
    packhorse.pack(source, tmp_path / "again", format="wds", log=fifo)
    reader.join()
    assert fifo.is_fifo() and read == [(tmp_path / "log").read_text()]
    with pytest.raises(ValueError, match="directory"):
        packhorse.pack(source, tmp_path / "third", format="wds", log=tmp_path)
    (tmp_path / "adopted.log").symlink_to("index.log")
    packhorse.index([tmp_path / "out"], out=tmp_path / "adopted", log=tmp_path / "adopted.log")
    assert (tmp_path / "adopted.log").is_symlink() and (tmp_path / "index.log").exists()
    assert not (tmp_path / "third").exists()


def test_damage_is_found_and_named(tmp_path, packed):
    packhorse.pack(SHAPES, tmp_path / "out", format="wds")
    train = tmp_path / "out/train"
    flip_byte(shards_of(train)[0], 40_000)
    report = packhorse.verify(tmp_path / "out")
    assert not report.ok and report.problem == "the dataset is damaged" and "repair" in report.advice
    expected = json.loads(subprocess.run([PACKHORSE, "inspect", tmp_path / "out", "--verify", "full", "--json"],
                                         capture_output=True, check=False).stdout)
    assert report.json == expected
    assert {finding.shard for finding in report.findings} == {"train/shard-000000.tar"}
    assert packhorse.verify(train, "quick").ok and packhorse.verify(packed, decode=True).decoded == 156
    part = packhorse.verify(packed / "val", subset="0/2")
    assert part.json == command("inspect", packed / "val", "--verify", "full", "--subset", "0/2", "--json").json
    assert part.ok and "part 0 of 2" in part.notes[0]


def test_inspecting_gives_what_the_command_prints(packed):
    report, printed = packhorse.inspect(packed), command("inspect", packed, "--json").json
    for ours, theirs in zip(report.json["datasets"], printed["datasets"], strict=True):  # as each is typed
        assert ours.pop("options")[0] == "format='wds'" and theirs.pop("options")[:2] == ["--format", "wds"]
    assert report.json == printed
    assert [(one.split, one.samples, one.format) for one in report.datasets] == [("train", 120, "wds"), ("val", 36, "wds")]
    one = packhorse.inspect(packed / "val")
    printed = command("inspect", packed / "val", "--json").json
    assert one.samples == 36 and one.json | {"options": 0} == printed | {"options": 0}


def test_shards_of_others_are_adopted(tmp_path, packed):
    for name, adopt in [("ours", None), ("theirs", command)]:
        shards = tmp_path / name
        shards.mkdir()
        (shards / "a.tar").write_bytes((packed / "train/shard-000000.tar").read_bytes())
        if adopt:
            expected = adopt("index", shards, "--json").json
        else:
            report = packhorse.index(shards)
    assert plain(report.json, tmp_path / "ours") == plain(expected, tmp_path / "theirs")
    assert tree(tmp_path / "ours") == tree(tmp_path / "theirs") and report.packed == 120
    elsewhere = packhorse.index([tmp_path / "ours/a.tar"], out=tmp_path / "elsewhere", classes=list("abcdef"))
    assert elsewhere.published and packhorse.Dataset(tmp_path / "elsewhere").classes == list("abcdef")


def test_indexes_of_others_are_exported(tmp_path, packed):
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    report = packhorse.export_index(packed, output=tmp_path / "ours", dali_version="1.1")
    expected = command("export-index", packed, "-o", tmp_path / "theirs", "--dali-version", "1.1", "--json").json
    assert plain(report.json, tmp_path / "ours") == plain(expected, tmp_path / "theirs")
    assert tree(tmp_path / "ours") == tree(tmp_path / "theirs")
    assert len(report.datasets) == 2 and packhorse.export_index(packed / "val").card in ("written", "unchanged", "none")


def test_reports_survive_pickling(packed):
    for report in [
        packhorse.inspect(packed),
        packhorse.verify(packed, "quick"),
        packhorse.pack(SHAPES, packed.parent / "not written", format="wds", dry_run=True),
    ]:
        assert pickle.loads(pickle.dumps(report)) == report


def test_what_makes_no_sense_is_refused(tmp_path, packed):
    out = tmp_path / "out"
    for error, words, options in [
        (ValueError, "quality= has no effect with image='original'", {"quality": 3}),
        (ValueError, "there is no image mode", {"image": "tiny"}),
        (ValueError, "did you mean wds", {"format": "wd"}),
        (ValueError, "choose one of: source, 420|420", {"image": "resize", "chroma": "444"}),
        (ValueError, "not a valid size", {"shard_bytes": "many"}),
        (ValueError, "shard_samples= excludes shard_bytes=", {"shard_bytes": 10, "shard_samples": 3}),
        (ValueError, "shuffle=False excludes seed=", {"shuffle": False, "seed": 1}),
        (ValueError, "zstd", {"compress": "gzip"}),
        (ValueError, "not a valid task", {"task": "8/8"}),
        (ValueError, "not a valid field name", {"fields": ["A"]}),
        (ValueError, "'-1' is not a valid value for limit=", {"limit": -1}),
        (ValueError, "limit", {"limit": 0}),
        (TypeError, "limit must be int, not bool", {"limit": True}),
        (TypeError, "limit", {"limit": "ten"}),
        (TypeError, "unexpected keyword", {"colour": True}),
        (TypeError, "did you mean 'samples_per_class'", {"sample_per_class": 3}),
        (ValueError, "label_pattern= and labels= both give the labels", {"labels": "x", "label_pattern": "(x)"}),
        (FileNotFoundError, "no-classes", {"classes": tmp_path / "no-classes"}),
    ]:
        with pytest.raises(error, match=words):
            packhorse.pack(SHAPES, out, **{"format": "wds", **options})
    for error, words, arguments in [
        (FileNotFoundError, "the source does not exist", (tmp_path / "none", out)),
        (FileExistsError, "already exists", (SHAPES, packed)),
        (ValueError, "inside the source", (packed, packed / "train/x")),
    ]:
        with pytest.raises(error, match=words) as raised:
            packhorse.pack(*arguments, format="wds")
        assert isinstance(raised.value, packhorse.Error) and raised.value.advice and raised.value.path
    for words, options in [
        ("include= needs against=", {"include": "*.jpg"}),
        ("memory= needs against=", {"memory": "64MiB"}),
        ("bands=True needs against=", {"bands": True}),
        ("decode=True needs level", {"level": "quick", "decode": True}),
        ("max_pixels= has no effect: no images are decoded", {"max_pixels": 100}),
        ("exclude each other", {"against": SHAPES, "subset": "0/2"}),
        ("choose quick or full", {"level": "all"}),
        ("not a valid part", {"subset": "2/2"}),
    ]:
        with pytest.raises(ValueError, match=words):
            packhorse.verify(packed, **options)
    assert not out.exists() and not staging(out).exists()


def test_names_that_are_no_text(tmp_path):
    source, out = tmp_path / os.fsdecode(b"s\xff"), tmp_path / os.fsdecode(b"o\xfe")
    for name in ("a", "b"):
        put(source / name / "x.jpg")
    report = packhorse.pack(source, out, format="wds")
    assert report.published and packhorse.verify(out, against=source).ok
    with pytest.raises(FileExistsError) as raised:
        packhorse.pack(source, out, format="wds")
    assert raised.value.path == str(out)


@pytest.fixture(scope="module", name="long")
def long_fixture(tmp_path_factory):
    """A source that takes one thread a second or more."""
    return make_source(tmp_path_factory.mktemp("long"), 1500)


def test_an_exception_in_progress_stops_the_packing_and_the_same_call_goes_on(tmp_path, long):
    source, out = long, tmp_path / "out"
    options = {"format": "wds", "image": "resize", "short_side": 48, "shard_samples": 50, "jobs": 1}

    def stop(done, total):
        assert done <= total == 1500
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        packhorse.pack(source, out, **options, progress=stop)
    assert not out.exists() and staging(out).exists()
    report = packhorse.pack(source, out, **options)
    assert report.published and not staging(out).exists()
    packhorse.pack(source, tmp_path / "again", **options)
    assert tree(out) == tree(tmp_path / "again")


def test_ctrl_c_ends_the_packing(tmp_path, long):
    code = f"""
import os, packhorse, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where whatever started the tests ignores it
press = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))
def say(done, total):
    if not press.ident:
        press.start()
try:
    packhorse.pack({str(long)!r}, {str(tmp_path / "out")!r}, format="wds", image="resize", jobs=1, progress=say)
except KeyboardInterrupt:
    print("interrupted")
"""
    assert python(code) == "interrupted\n"
    assert not (tmp_path / "out").exists()


def test_stubs_name_all_that_the_extensions_have():
    from packhorse import _pack, _reader

    for extension in (_pack, _reader):
        stub = ast.parse((BIN.parent / f"python/packhorse/{extension.__name__.split('.')[-1]}.pyi").read_text())
        named = {one.name for one in stub.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
        assert named == {name for name in dir(extension) if not name.startswith("_")}


def test_the_program_comes_with_the_package():
    expected = command("--version").out
    for arguments, code, out, err in ((["--version"], 0, expected, ""), (["pack"], 2, "", "packhorse: error")):
        asked = [sys.executable, "-m", "packhorse", *arguments]
        done = subprocess.run(asked, env=environment(), capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (code, out) and err in done.stderr


def test_a_package_without_the_program_says_so(packed, monkeypatch, tmp_path):
    monkeypatch.setattr(sys.modules["packhorse._program"], "PROGRAM", tmp_path / "packhorse")
    with pytest.raises(packhorse.errors.NotFoundError, match="no program"):
        packhorse.verify(packed)
