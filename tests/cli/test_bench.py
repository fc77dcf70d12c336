"""`packhorse bench` from outside: its measurements and their fields. No test asserts a time."""

import json
import os
import shutil

import pytest
from PIL import Image
from python_support import DAMAGE, DONE, FORMATS, SHAPES, USAGE, flip_byte, make_source, on_terminal, pack, packhorse, refused, run

FIELDS = {"input", "format", "image", "work", "cache", "order", "workers", "batch_size", "images", "images_per_s",
          "images_per_cpu_s", "disk_bytes", "first_batch_s", "batch_ms", "stages"}  # fmt: skip
ONCE = ("--repeats", "1", "--min-seconds", "0")
READ = ("--work", "read", *ONCE)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """The same 100 images as a plain folder and in each format."""
    scratch = tmp_path_factory.mktemp("inputs")
    make_source(scratch / "folder", 100)
    for form in FORMATS:
        pack(scratch / "folder", scratch / form, "--format", form, "--shard-samples", "40")
    return scratch


@pytest.fixture
def runs(inputs):
    """runs(*arguments): the runs that `bench` reports as JSON."""
    return lambda *arguments: packhorse("bench", *arguments, "--json", cwd=inputs).json["runs"]


@pytest.mark.parametrize("work", ["read", "decode"])
def test_json_has_a_run_for_each_input_with_the_documented_fields(inputs, work):
    names = ["folder", *FORMATS]
    size = ["--size", "32"] if work == "decode" else []
    options = ["--work", work, *size, "--repeats", "2", "--batch-size", "16", "--min-seconds", "0", "--json"]
    before = sorted(os.listdir(inputs))
    report = packhorse("bench", *names, *options, cwd=inputs).json
    assert sorted(os.listdir(inputs)) == before
    assert report["machine"]["cpus"] >= 1 and report["machine"]["memory_bytes"] > 0
    assert [r["input"] for r in report["runs"]] == names and [r["format"] for r in report["runs"]] == names
    for r in report["runs"]:
        assert FIELDS <= set(r)
        facts = (r["work"], r["cache"], r["order"], r["batch_size"], r["images"])
        assert facts == (work, "warm", "global", 16, 100)
        assert 0 < r["images_per_s"]["min"] <= r["images_per_s"]["median"] <= r["images_per_s"]["max"]
        assert 0 < r["batch_ms"]["p50"] <= r["batch_ms"]["p99"] and r["first_batch_s"] > 0
        assert r["bytes"] == report["runs"][0]["bytes"]


def test_each_number_of_workers_is_a_run_and_max_images_ends_a_pass_early(runs):
    assert [r["workers"] for r in runs("wds", "--workers", "1,2,0", "--size", "32", *ONCE)] == [1, 2, 0]
    found = runs("wds", "folder", "--max-images", "30", "--batch-size", "10", *READ)
    assert [r["images"] for r in found] == [30, 30]


def test_cold_passes_read_from_the_disk_or_it_says_why_they_cannot(inputs):
    result = run("bench", "folder", *FORMATS, *READ, "--cold", "--warm", "--json", cwd=inputs)
    if result.code == DONE:
        cold, warm = result.json["runs"][:4], result.json["runs"][4:]
        assert [r["cache"] for r in cold + warm] == ["cold"] * 4 + ["warm"] * 4
        assert all(r["disk_bytes"] > 0 for r in cold), cold
    else:  # a file system in memory
        assert result.code == 1 and "cannot be made cold" in result.err and "next: " in result.err, result


def test_simulated_storage_is_a_section_of_its_own_with_its_delays(inputs, runs):
    options = ["--workers", "1", "--max-images", "20", "--batch-size", "10", *READ]
    found = runs("folder", "wds", *options, "--warm", "--storage", "open=5ms", "--storage", "nfs")
    places = ["warm", "simulated open=5ms", "simulated nfs"]
    assert [r["cache"] for r in found] == [place for place in places for _ in range(2)]
    assert "storage" not in found[0]
    delayed = found[2]
    assert delayed["storage"] == {"open_ms": 5, "access_ms": 0, "mb_per_s": None, "depth": None}
    assert delayed["images_per_s"]["max"] <= 200
    assert delayed["disk_bytes"] >= delayed["bytes"]  # including what is prefetched
    assert found[5]["storage"]["depth"] == 64


def test_simulated_storage_alone_is_labelled_and_each_pass_finds_it_empty(inputs, runs):
    options = ["--work", "read", "--workers", "1", "--repeats", "2", "--min-seconds", "9", "--storage", "access=1ms"]
    out = packhorse("bench", "wds", *options, cwd=inputs).out
    assert out.startswith("read, simulated access=1ms, ")
    assert "simulated: 0 ms to open, 1 ms to access, any rate, any number at a time" in out
    assert [(r["images"], r["disk_bytes"] >= r["bytes"]) for r in runs("wds", *options)] == [(100, True)]


def tables(text):
    """The blocks of a report, each a list of lines, each of those a list of words."""
    return [[line.split() for line in block.splitlines()] for block in text.split("\n\n")]


def test_the_tables_have_a_line_for_each_input(inputs):
    out = packhorse("bench", "folder", *FORMATS, "--work", "read", "--min-seconds", "0", cwd=inputs).out
    assert out.startswith("read, warm, global order, 100 images, 3 repeats\n")
    rates, stages, batches = tables(out)
    assert rates[1][:3] == ["input", "format", "workers"] and rates[2][-1] == "1.00x"
    assert [line[0] for line in rates[2:]] == [line[0] for line in stages[1:]] == ["folder", *FORMATS]
    assert [line[0] for line in batches[1 : len(stages)]] == ["folder", *FORMATS]
    assert stages[0][:5] == ["time", "per", "image", "workers", "read"] and "decode" not in stages[0]


def test_a_narrow_terminal_keeps_the_ends_of_names(inputs):
    out = on_terminal("bench", inputs / "folder", inputs / "wds", "--work", "read", *ONCE, columns=80)
    rates, stages, _ = tables(out)
    assert rates[2][0].endswith("/folder") and stages[2][0].endswith("/wds") and len(str(inputs)) > 30
    assert all(len(line) <= 80 for line in out.partition("knee")[0].splitlines())


def test_a_narrow_terminal_never_makes_two_names_alike(inputs, tmp_path):
    pair = [tmp_path / name / ("x" * 40) / "wds" for name in "ab"]
    for link in pair:
        link.parent.mkdir(parents=True)
        link.symlink_to(inputs / "wds")
    rates = tables(on_terminal("bench", *pair, "--work", "read", *ONCE, columns=80))[0]
    assert [line[0] for line in rates[2:4]] == [str(link) for link in pair]


def test_several_works_are_a_section_each_and_a_table_of_all(inputs):
    out = packhorse("bench", "folder", "wds", "--work", "decode,read", "--size", "32", *ONCE, cwd=inputs).out
    blocks = tables(out)
    assert [block[0][:2] for block in (blocks[0], blocks[3])] == [["read,", "warm,"], ["decode,", "warm,"]]
    best = blocks[-1]
    assert best[0] == ["best", "img/s", "format", "image", "read,", "warm", "decode,", "warm"]
    assert [line[:3] for line in best[1:]] == [["folder", "folder", "original"], ["wds", "wds", "original"]]


def test_stages_add_up_to_the_time_of_the_threads(runs):
    (r,) = runs("wds", "--size", "32", "--workers", "2", "--huge-pages", *ONCE)
    stages = r["stages"]
    assert sum(stages[name] for name in ("read_s", "decode_s", "slot_wait_s", "rest_s")) >= 2 * r["seconds"] * 0.999
    assert abs(sum(stages["share"].values()) - 1) < 1e-6
    assert stages["us_per_image"]["decode"] > 0 and set(stages["share"]) == set(stages["us_per_image"])
    assert r["images"] == 100, "huge pages hold as many"


def test_a_sweep_ends_in_a_knee_with_its_reason(inputs):
    options = ["--sweep", "--size", "32", *ONCE]
    report = packhorse("bench", "folder", "wds", *options, "--json", cwd=inputs).json
    cpus = report["machine"]["cpus"]
    tried = [r["workers"] for r in report["runs"] if r["input"] == "wds"]
    assert tried[0] == 1 and cpus in tried and tried[-1] == 2 * cpus and tried == sorted(set(tried))
    assert [knee["input"] for knee in report["knee"]] == ["folder", "wds"]
    for knee in report["knee"]:
        rates = {r["workers"]: r["images_per_s"]["median"] for r in report["runs"] if r["input"] == knee["input"]}
        best = max(rates.values())
        assert knee["best_images_per_s"] == best and knee["images_per_s"] == rates[knee["workers"]]
        assert knee["workers"] == min(w for w, rate in rates.items() if rate >= 0.95 * best)
        assert knee["still_rising"] == (knee["workers"] == tried[-1]) and knee["reason"]
    out = packhorse("bench", "wds", *options, cwd=inputs).out
    assert out.splitlines()[-1].startswith("knee of wds (decode, warm): ")


def test_samples_may_come_by_weight(inputs, runs):
    for options in (["--weights", "balanced"], ["--weights", "sqrt", "--replacement"], []):
        assert [r["images"] for r in runs("wds", *options, *READ)] == [100]
    for options, words in [
        (["--weights", "score"], "there is no field 'score' with weights"),
        (["--weights", "balanced", "--order", "sequential"], "in stored order nothing is drawn by weight"),
        (["--replacement"], "--replacement is about weights of classes or samples"),
    ]:
        assert words in refused("bench", "wds", *options, *READ, code=USAGE, cwd=inputs).err


def test_the_order_is_a_choice(inputs, runs):
    for order in (["--order", "sequential"], ["--sequential"]):
        assert [r["order"] for r in runs("wds", *order, *READ)] == ["sequential"]
    out = packhorse("bench", "wds", "--order", "window", *READ, cwd=inputs).out
    assert "mixing of wds: stored neighbours meet in a batch " in out
    (found,) = runs("wds", "--order", "window", *READ)
    assert found["order"] == "window" and found["images"] == 100
    assert found["shuffle"]["neighbours"] > 0 and 0 < found["shuffle"]["classes"] <= 1.5


@pytest.mark.thorough
def test_metrics_are_what_prometheus_reads(inputs, tmp_path):
    parser = pytest.importorskip("prometheus_client.parser", reason="no prometheus_client")
    file = tmp_path / "metrics.prom"
    packhorse("bench", "wds", "lmdb", *READ, "--workers", "1,2", "--metrics", file, cwd=inputs)
    families = {family.name: family for family in parser.text_string_to_metric_families(file.read_text())}
    samples = families["packhorse_loader_samples"]
    assert samples.type == "counter" and samples.documentation
    told = {(s.labels["input"], s.labels["workers"]): s.value for s in samples.samples}
    assert told == {(name, workers): 100 for name in ("wds", "lmdb") for workers in "12"}
    (labels,) = {tuple(s.labels) for s in samples.samples}
    assert labels == ("input", "format", "work", "cache", "order", "workers")
    assert all(s.value > 0 for s in families["packhorse_loader_read_seconds"].samples)
    assert all(family.type in ("counter", "gauge", "summary") for family in families.values())
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_with_splits_is_read_like_its_datasets(runs, packed_shapes):
    found = runs(SHAPES, packed_shapes("hdf5"), "--split", "val", *READ)
    assert [r["images"] for r in found] == [36, 36]
    assert found[0]["bytes"] == found[1]["bytes"]


def test_what_cannot_be_measured_is_refused(inputs):
    assert str(inputs / "nowhere") in refused("bench", inputs / "wds", inputs / "nowhere").err
    refused("bench", "wds", *READ, "--metrics", "nowhere/file", cwd=inputs)
    result = refused("bench", "wds", "--targets", *ONCE, code=2, cwd=inputs)
    assert "has no targets" in result.err and "next: " in result.err


def test_senseless_options_are_usage_errors(inputs):
    for options in (
        "--work dream",
        "--work read,dream",
        "--order random",
        "--storage tape",
        "--sweep --workers 2",
        "--sequential --order global",
        "--repeats 0",
        "--batch-size 0",
        "--workers -1",
        *(f"--size {size}" for size in ("0", "32x", "x32", "32x16x8", "+32", "16385")),
        "--augment dream",
        "--pixel-steps ColorJiter(0.4)",
        "--pixel-steps ColorJitter(0.4",
        *(f"--work read {other}" for other in ("--targets", "--augment letterbox", "--size 32", "--pixel-steps ColorJitter(0.4)")),
    ):
        refused("bench", inputs / "wds", *options.split(), code=2)


def test_a_small_input_is_read_in_whole_epochs_until_the_pass_is_long_enough(runs):
    (found,) = runs("wds", "--work", "read", "--repeats", "1", "--min-seconds", "0.3")
    assert found["images"] % 100 == 0 and (found["images"] > 100 or found["seconds"] > 0.3)


def test_bad_images_are_an_error_or_replaced_and_counted(inputs, tmp_path):
    shutil.copytree(inputs / "wds", tmp_path / "bad")
    sample = packhorse("inspect", tmp_path / "bad", "--list", "--json").json["samples"][7]
    flip_byte(tmp_path / "bad" / sample["shard"], sample["offset"] + sample["bytes"] // 2)
    refused("bench", tmp_path / "bad", *READ, code=DAMAGE)
    out = packhorse("bench", tmp_path / "bad", *READ, "--max-bad", "1").out
    assert "replaced in " in out and ": 1 bad image (" in out
    report = packhorse("bench", tmp_path / "bad", *READ, "--max-bad", "1%", "--json").json
    assert report["runs"][0]["bad_samples"] == 1 and report["runs"][0]["images"] == 100


@pytest.fixture(scope="module")
def with_objects(tmp_path_factory):
    """40 images, each with as many boxes as its number says, modulo 3: all of 8 x 8 pixels."""
    scratch = tmp_path_factory.mktemp("objects")
    make_source(scratch / "source", 40)
    images = []
    for number, path in enumerate(sorted((scratch / "source").rglob("*.*"))):
        with Image.open(path) as picture:
            name = str(path.relative_to(scratch / "source"))
            images.append({"id": number, "file_name": name, "width": picture.width, "height": picture.height})
    annotations = [
        {"id": 3 * i + j, "image_id": i, "category_id": 1, "bbox": [30, 30, 8, 8], "area": 64, "iscrowd": 0}
        for i in range(40)
        for j in range(i % 3)
    ]
    categories = [{"id": 1, "name": "square"}]
    coco = {"images": images, "annotations": annotations, "categories": categories}
    (scratch / "coco.json").write_text(json.dumps(coco))
    pack(scratch / "source", scratch / "packed", "--format", "wds", "--targets", f"coco:{scratch / 'coco.json'}")
    return scratch / "packed"


OBJECTS = sum(i % 3 for i in range(40))


@pytest.mark.parametrize(("augment", "pictures"), [("letterbox", 1), ("mosaic", 4), ("mosaic-turned", 4)])
def test_whole_pictures_are_made_with_their_objects(runs, with_objects, augment, pictures):
    options = ["--augment", augment, "--size", "48x64", "--targets", *ONCE]
    (found,) = runs(with_objects, *options)
    assert (found["augment"], found["size"]) == (augment, {"height": 48, "width": 64})
    # Nothing of a letterboxed picture is cut; of a mosaic's four some is.
    assert found["objects"] == OBJECTS if pictures == 1 else OBJECTS < found["objects"] < pictures * OBJECTS
    out = packhorse("bench", with_objects, *options).out
    assert f"\n{augment}, 48 x 64 pixels, objects an image: {found['objects'] / 40:.1f}\n" in out


def test_pixel_steps_are_those_that_are_given(runs):
    steps = "RandomErasing(0.25), ColorJitter(brightness=0.4)"
    (found,) = runs("wds", "--size", "32", "--pixel-steps", steps, *ONCE)
    assert found["pixel_steps"] == "RandomErasing(p=0.25), ColorJitter(brightness=0.4)"
    (plain,) = runs("wds", "--size", "32", *ONCE)
    assert "pixel_steps" not in plain


def test_a_mosaic_reads_four_pictures_for_each_image(runs, with_objects):
    (one,) = runs(with_objects, "--augment", "letterbox", "--size", "32", *ONCE)
    (four,) = runs(with_objects, "--augment", "mosaic", "--size", "32", *ONCE)
    assert one["images"] == four["images"] == 40 and 3 * one["bytes"] < four["bytes"] < 5 * one["bytes"]
    assert "objects" not in one


def test_the_size_is_the_usual_one_of_the_augmentation(runs, with_objects):
    for augment, side in [("crop", 224), ("letterbox", 640)]:
        (found,) = runs(with_objects, "--augment", augment, "--max-images", "1", "--batch-size", "1", *ONCE)
        assert found["size"] == {"height": side, "width": side}
