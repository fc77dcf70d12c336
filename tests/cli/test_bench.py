"""`packhorse bench` from outside: its measurements and their fields. No test asserts a time."""

import json
import os
import shutil

import pytest
from python_support import DAMAGE, DONE, FORMATS, SHAPES, flip_byte, make_source, pack, packhorse, refused, run

FIELDS = [
    "input",
    "format",
    "image",
    "work",
    "cache",
    "order",
    "workers",
    "batch_size",
    "images",
    "images_per_s",
    "images_per_cpu_s",
    "disk_bytes",
    "first_batch_s",
    "batch_ms",
    "stages",
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """The same 100 images as a plain folder and in each format."""
    scratch = tmp_path_factory.mktemp("inputs")
    make_source(scratch / "folder", 100)
    for form in FORMATS:
        pack(scratch / "folder", scratch / form, "--format", form, "--shard-samples", "40")
    return scratch


@pytest.mark.parametrize("work", ["read", "decode"])
def test_json_has_a_run_for_each_input_with_the_documented_fields(inputs, work):
    names = ["folder", *FORMATS]
    report = packhorse(
        "bench",
        *names,
        "--work",
        work,
        *(["--size", "32"] if work == "decode" else []),
        "--repeats",
        "2",
        "--batch-size",
        "16",
        "--min-seconds",
        "0",
        "--json",
        cwd=inputs
    ).json
    assert report["machine"]["cpus"] >= 1 and report["machine"]["memory_bytes"] > 0
    assert [r["input"] for r in report["runs"]] == names and [r["format"] for r in report["runs"]] == names
    for r in report["runs"]:
        assert set(FIELDS) <= set(r)
        assert (r["work"], r["cache"], r["order"], r["batch_size"], r["images"]) == (
            work,
            "warm",
            "global",
            16,
            100,
        )
        assert 0 < r["images_per_s"]["min"] <= r["images_per_s"]["median"] <= r["images_per_s"]["max"]
        assert 0 < r["batch_ms"]["p50"] <= r["batch_ms"]["p99"] and r["first_batch_s"] > 0
        assert r["bytes"] == report["runs"][0]["bytes"]


def test_each_number_of_workers_is_a_run(inputs):
    report = packhorse(
        "bench", "wds", "--workers", "1,2,0", "--repeats", "1", "--size", "32", "--json", cwd=inputs
    ).json
    assert [r["workers"] for r in report["runs"]] == [1, 2, 0]


def test_max_images_ends_a_pass_early(inputs):
    report = packhorse(
        "bench",
        "wds",
        "folder",
        "--max-images",
        "30",
        "--batch-size",
        "10",
        "--work",
        "read",
        "--json",
        cwd=inputs,
    ).json
    assert [r["images"] for r in report["runs"]] == [30, 30]


def test_a_cold_pass_reads_from_the_disk_or_says_why_it_cannot(inputs):
    result = run(
        "bench", "folder", *FORMATS, "--work", "read", "--cold", "--repeats", "1", "--json", cwd=inputs
    )
    if result.code == DONE:
        for r in result.json["runs"]:
            assert r["cache"] == "cold" and r["disk_bytes"] > 0, r
    else:  # a file system in memory
        assert result.code == 1 and "cannot be made cold" in result.err and "next: " in result.err, result


def test_simulated_storage_is_a_section_of_its_own_with_its_delays(inputs):
    options = ["--work", "read", "--workers", "1", "--repeats", "1", "--max-images", "20", "--batch-size", "10"]
    report = packhorse(
        "bench", "folder", "wds", *options, "--warm", "--storage", "open=5ms", "--storage", "nfs", "--json", cwd=inputs
    ).json
    places = ["warm", "simulated open=5ms", "simulated nfs"]
    assert [r["cache"] for r in report["runs"]] == [place for place in places for _ in range(2)]
    assert "storage" not in report["runs"][0]
    delayed, packed = report["runs"][2:4]
    assert delayed["storage"] == {"open_ms": 5, "access_ms": 0, "mb_per_s": None, "depth": None}
    assert delayed["images_per_s"]["max"] <= 200 < packed["images_per_s"]["median"]
    assert delayed["disk_bytes"] >= delayed["bytes"]  # including what is prefetched
    assert report["runs"][5]["storage"]["depth"] == 64


def test_simulated_storage_alone_is_labelled_and_each_pass_finds_it_empty(inputs):
    options = ["--work", "read", "--workers", "1", "--repeats", "3", "--min-seconds", "9"]
    result = packhorse("bench", "wds", *options, "--storage", "access=1ms", cwd=inputs)
    assert result.out.startswith("read, simulated access=1ms, ")
    assert "simulated: 0 ms to open, 1 ms to access, any rate, any number at a time" in result.out
    report = packhorse("bench", "wds", *options, "--storage", "access=1ms", "--json", cwd=inputs).json
    assert [(r["images"], r["disk_bytes"] >= r["bytes"]) for r in report["runs"]] == [(100, True)]


def tables(text):
    """The blocks of a report, each a list of lines, each of those a list of words."""
    return [[line.split() for line in block.splitlines()] for block in text.split("\n\n")]


def test_the_tables_have_a_line_for_each_input(inputs):
    out = packhorse("bench", "folder", *FORMATS, "--work", "read", "--min-seconds", "0", cwd=inputs).out
    assert out.startswith("read, warm, global order, 100 images, 3 repeats\n")
    rates, stages = tables(out)
    assert rates[1][:3] == ["input", "format", "workers"] and rates[2][-1] == "1.00x"
    assert [line[0] for line in rates[2:]] == [line[0] for line in stages[1:]] == ["folder", *FORMATS]
    assert stages[0][:5] == ["time", "per", "image", "workers", "read"] and "decode" not in stages[0]


def test_several_works_are_a_section_each_and_a_table_of_all(inputs):
    options = ["--work", "decode,read", "--size", "32", "--repeats", "1", "--min-seconds", "0"]
    out = packhorse("bench", "folder", "wds", *options, cwd=inputs).out
    blocks = tables(out)
    assert [block[0][:2] for block in (blocks[0], blocks[2])] == [["read,", "warm,"], ["decode,", "warm,"]]
    best = blocks[-1]
    assert best[0] == ["best", "img/s", "format", "image", "read,", "warm", "decode,", "warm"]
    assert [line[:3] for line in best[1:]] == [["folder", "folder", "original"], ["wds", "wds", "original"]]


def test_cold_and_warm_are_measured_in_one_call(inputs):
    options = ["--work", "read", "--cold", "--warm", "--repeats", "1", "--min-seconds", "0"]
    result = run("bench", "wds", *options, "--json", cwd=inputs)
    if result.code == DONE:
        assert [r["cache"] for r in result.json["runs"]] == ["cold", "warm"]
    else:
        assert "cold" in result.err and "next: " in result.err, result


def test_stages_add_up_to_the_time_of_the_threads(inputs):
    options = ["--size", "32", "--repeats", "1", "--workers", "2", "--json"]
    (r,) = packhorse("bench", "wds", *options, cwd=inputs).json["runs"]
    stages = r["stages"]
    parts = [stages[name] for name in ("read_s", "decode_s", "slot_wait_s", "rest_s")]
    assert sum(parts) >= 2 * r["seconds"] * 0.999
    assert abs(sum(stages["share"].values()) - 1) < 1e-6
    assert stages["us_per_image"]["decode"] > 0 and set(stages["share"]) == set(stages["us_per_image"])


def test_a_sweep_ends_in_a_knee_with_its_reason(inputs):
    options = ["--sweep", "--size", "32", "--repeats", "1", "--min-seconds", "0"]
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


def test_the_order_is_a_choice_and_sequential_has_its_old_name(inputs):
    options = ["--work", "read", "--repeats", "1", "--min-seconds", "0", "--json"]
    for order in (["--order", "sequential"], ["--sequential"]):
        (r,) = packhorse("bench", "wds", *order, *options, cwd=inputs).json["runs"]
        assert r["order"] == "sequential"


def test_metrics_are_what_prometheus_reads(inputs, tmp_path):
    parser = pytest.importorskip("prometheus_client.parser", reason="no prometheus_client")
    file = tmp_path / "metrics.prom"
    options = ["--work", "read", "--workers", "1,2", "--repeats", "1", "--min-seconds", "0", "--metrics", file]
    packhorse("bench", "wds", "lmdb", *options, cwd=inputs)
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


def test_metrics_that_cannot_be_written_are_an_error(inputs):
    refused("bench", "wds", "--work", "read", "--repeats", "1", "--metrics", "nowhere/file", cwd=inputs)


def test_a_folder_with_splits_is_read_like_its_datasets(tmp_path):
    pack(SHAPES, tmp_path / "packed", "--format", "hdf5")
    report = packhorse(
        "bench", SHAPES, tmp_path / "packed", "--split", "val", "--work", "read", "--min-seconds", "0", "--json"
    ).json
    assert [r["images"] for r in report["runs"]] == [36, 36]
    assert report["runs"][0]["bytes"] == report["runs"][1]["bytes"]


def test_a_missing_input_is_named(inputs):
    result = refused("bench", inputs / "wds", inputs / "nowhere")
    assert str(inputs / "nowhere") in result.err


@pytest.mark.parametrize(
    "options",
    [
        ("--work", "dream"),
        ("--work", "read,dream"),
        ("--order", "random"),
        ("--storage", "tape"),
        ("--sweep", "--workers", "2"),
        ("--sequential", "--order", "global"),
        ("--repeats", "0"),
        ("--batch-size", "0"),
        ("--size", "0"),
        ("--size", "32x"),
        ("--size", "x32"),
        ("--size", "32x16x8"),
        ("--size", "+32"),
        ("--size", "16385"),
        ("--size", "32x16"),
        ("--augment", "dream"),
        ("--targets",),
        ("--work", "read", "--targets"),
        ("--work", "read", "--augment", "letterbox"),
        ("--work", "read", "--size", "32"),
        ("--workers", "-1"),
    ],
)
def test_senseless_options_are_usage_errors(inputs, options):
    refused("bench", inputs / "wds", *options, code=2)


def test_bench_changes_nothing(inputs):
    before = sorted(os.listdir(inputs))
    packhorse("bench", "wds", "--work", "read", "--repeats", "1", cwd=inputs)
    assert sorted(os.listdir(inputs)) == before


def test_a_small_input_is_read_in_whole_epochs_until_the_pass_is_long_enough(inputs):
    report = packhorse("bench", "wds", "--work", "read", "--repeats", "1", "--min-seconds", "0.05", "--json", cwd=inputs).json
    assert report["runs"][0]["images"] % 100 == 0 and report["runs"][0]["images"] > 100


def test_the_order_by_windows_says_how_well_it_mixes(inputs):
    options = ["--work", "read", "--order", "window", "--repeats", "1", "--min-seconds", "0"]
    assert "mixing of wds: stored neighbours meet in a batch " in packhorse("bench", "wds", *options, cwd=inputs).out
    (found,) = packhorse("bench", "wds", *options, "--json", cwd=inputs).json["runs"]
    assert found["order"] == "window" and found["images"] == 100
    assert found["shuffle"]["neighbours"] > 0 and 0 < found["shuffle"]["classes"] <= 1.5


def test_bad_images_are_an_error_or_replaced_and_counted(inputs, tmp_path):
    shutil.copytree(inputs / "wds", tmp_path / "bad")
    sample = packhorse("inspect", tmp_path / "bad", "--list", "--json").json["samples"][7]
    flip_byte(tmp_path / "bad" / sample["shard"], sample["offset"] + sample["bytes"] // 2)
    options = ["--work", "read", "--repeats", "1", "--min-seconds", "0"]
    refused("bench", tmp_path / "bad", *options, code=DAMAGE)
    out = packhorse("bench", tmp_path / "bad", *options, "--max-bad", "1").out
    assert "replaced in " in out and ": 1 bad image (" in out
    report = packhorse("bench", tmp_path / "bad", *options, "--max-bad", "1%", "--json").json
    assert report["runs"][0]["bad_samples"] == 1 and report["runs"][0]["images"] == 100


@pytest.fixture(scope="module")
def with_objects(tmp_path_factory):
    """40 images, each with as many boxes as its number says, modulo 3: all of 8 x 8 pixels."""
    scratch = tmp_path_factory.mktemp("objects")
    make_source(scratch / "source", 40)
    files = sorted(path.relative_to(scratch / "source") for path in (scratch / "source").rglob("*.*"))
    Image = pytest.importorskip("PIL.Image")
    images = []
    for number, name in enumerate(files):
        with Image.open(scratch / "source" / name) as picture:
            images.append({"id": number, "file_name": str(name), "width": picture.width, "height": picture.height})
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
def test_whole_pictures_are_made_with_their_objects(with_objects, augment, pictures):
    options = ["--augment", augment, "--size", "48x64", "--targets", "--repeats", "1", "--min-seconds", "0"]
    (found,) = packhorse("bench", with_objects, *options, "--json").json["runs"]
    assert (found["augment"], found["size"]) == (augment, {"height": 48, "width": 64})
    # Nothing of a letterboxed picture is cut; of a mosaic's four some is.
    assert found["objects"] == OBJECTS if pictures == 1 else OBJECTS < found["objects"] < pictures * OBJECTS
    out = packhorse("bench", with_objects, *options).out
    assert f"\n{augment}, 48 x 64 pixels, objects an image: {found['objects'] / 40:.1f}\n" in out


def test_a_mosaic_reads_four_pictures_for_each_image(with_objects):
    options = ["--size", "32", "--repeats", "1", "--min-seconds", "0", "--json"]
    one, four = (
        packhorse("bench", with_objects, "--augment", augment, *options).json["runs"][0]
        for augment in ("letterbox", "mosaic")
    )
    assert one["images"] == four["images"] == 40 and 3 * one["bytes"] < four["bytes"] < 5 * one["bytes"]
    assert "objects" not in one


def test_the_size_is_the_usual_one_of_the_augmentation(with_objects):
    options = ["--repeats", "1", "--min-seconds", "0", "--max-images", "1", "--batch-size", "1", "--json"]
    for augment, side in [("crop", 224), ("letterbox", 640)]:
        (found,) = packhorse("bench", with_objects, "--augment", augment, *options).json["runs"]
        assert found["size"] == {"height": side, "width": side}


def test_targets_of_a_dataset_without_objects_are_refused(inputs):
    result = refused("bench", inputs / "wds", "--targets", "--repeats", "1", code=2)
    assert "has no targets" in result.err and "next: " in result.err


def test_huge_pages_hold_as_many_images(inputs):
    options = ["--size", "32", "--repeats", "1", "--min-seconds", "0", "--huge-pages", "--json"]
    assert packhorse("bench", "wds", *options, cwd=inputs).json["runs"][0]["images"] == 100
