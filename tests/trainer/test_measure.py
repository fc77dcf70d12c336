"""packhorse-train measure, sweep and predict from outside, on the sample set. No test asserts a speed."""

import copy
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from python_support import DAMAGE, DONE, FAILED, SHAPES, TRAIN, USAGE, flip_byte, pack, shards_of, train

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
QUICK = ["--batch-size", "24", "--device", "cpu", "--repeats", "2", "--max-seconds", "0.1", "--steps", "2",
         "--warmup-steps", "1"]  # fmt: skip
PASS = ["images_per_s", "mb_per_s", "cpu_s_per_1000", "disk_bytes_per_image", "first_batch_s", "batch_p50_ms",
        "batch_p99_ms"]  # fmt: skip


@pytest.fixture(scope="module", name="report")
def report_fixture(packed_shapes, tmp_path_factory):
    """Warm and on two kinds of simulated storage; as JSON and in a file."""
    path = tmp_path_factory.mktemp("report") / "report.json"
    result = train("measure", "--folder", SHAPES, "--packed", packed_shapes("wds"), "--slots", "2", *QUICK, "--storage",
                   "open=1ms", "--storage", "nvme", "--json", "--save", path)  # fmt: skip
    assert result.code == DONE, result
    assert path.read_text() == result.out
    return result.json, path


@pytest.mark.thorough
def test_a_file_that_cannot_be_saved_is_refused_before_anything_is_measured(packed_shapes, tmp_path):
    path = tmp_path / "no" / "report.json"
    result = train("measure", "--folder", SHAPES, "--packed", packed_shapes("wds"), "--save", path)
    assert result.code == FAILED and str(path.parent) in result.err and not result.out


def check_spread(spread, repeats):
    assert len(spread["values"]) == repeats
    assert min(spread["values"]) == spread["min"] <= spread["median"] <= spread["max"] == max(spread["values"])
    assert spread["noisy"] == (spread["max"] - spread["min"] > 0.1 * spread["median"])


def test_every_input_is_measured_under_every_condition(report):
    content, _ = report
    assert content["schema"] == "packhorse-measurement/1"
    inputs, conditions = [i["name"] for i in content["inputs"]], [c["name"] for c in content["conditions"]]
    assert inputs == ["folder", "wds original"]
    assert conditions == ["warm", "open=1ms", "nvme"]
    assert [(r["condition"], r["input"]) for r in content["runs"]] == [(c, i) for c in conditions for i in inputs]
    for run in content["runs"]:
        for work in ["read", "decode", "training"]:
            for figure in PASS:
                check_spread(run[work][figure], 2)
            assert run[work]["images_per_s"]["min"] > 0
            if run["condition"] != "warm" and work != "training":  # training's one timed batch was prefetched
                assert run[work]["disk_bytes_per_image"]["min"] > 0
        assert 0 <= run["training"]["wait_share"]["min"] <= run["training"]["wait_share"]["max"] <= 1
        assert run["training"]["loss"] > 0
        assert run["speedup"].keys() == run["told"].keys() == {"read", "decode", "training"}
        assert set(run["told"].values()) == {"not told apart"}  # two repeats are too few
    folder = content["runs"][0]
    assert folder["speedup"] == {"read": 1, "decode": 1, "training": 1}
    assert content["device_limit"]["images_per_s"]["min"] > 0
    for field in ["created", "command", "versions", "machine", "recipe", "workers", "slots"]:
        assert content[field], field
    assert {"processor", "cpus", "kernel", "load_average"} <= content["machine"].keys()
    assert "libtorch" in {name.lower() for name in content["versions"]}
    assert content["not_measured"] == [] and content["slots"] == 2


def test_simulated_storage_says_what_it_is(report):
    simulated = report[0]["conditions"][1:]
    assert simulated[0] == {"name": "open=1ms", "kind": "simulated", "open_ms": 1, "access_ms": 0, "mb_per_s": None,
                            "depth": None}  # fmt: skip
    assert simulated[1]["depth"] > 1 and simulated[1]["mb_per_s"] > 1000
    assert report[0]["verdict"][1].startswith("From simulated open=1ms: ")


@pytest.mark.thorough
def test_people_see_tables_and_a_verdict(packed_shapes):
    inputs = [option for layout in ["wds", "lmdb", "hdf5"] for option in ("--packed", packed_shapes(layout))]
    result = train("measure", "--folder", SHAPES, *inputs, *QUICK, "--storage", "open=1ms")
    assert result.code == DONE, result
    for text in ["I/O speedup from simulated open=1ms: ", "I/O speedup from the page cache: ", "no measurable difference",
                 "2 repeats where 5 are needed", "simulated storage: 1 ms to open", "vs folder: read", "epoch s =",
                 "From the page cache: ", "From simulated open=1ms: "]:  # fmt: skip
        assert text in result.out


@pytest.mark.thorough
def test_cold_is_measured_or_said_to_be_impossible(packed_shapes):
    result = train("measure", "--folder", SHAPES, "--packed", packed_shapes("lmdb"), *QUICK, "--cold", "--json")
    assert result.code == DONE, result
    cold = [run for run in result.json["runs"] if run["condition"] == "cold"]
    assert len(cold) + len(result.json["not_measured"]) == 2
    for entry in result.json["not_measured"]:  # a file system in memory, or files that others have mapped
        assert "cold" in entry["reason"]
    names = os.geteuid() == 0 and os.access("/proc/sys/vm/drop_caches", os.W_OK)
    assert [c["names_dropped"] for c in result.json["conditions"] if c["name"] == "cold"] == [names]
    for run in cold:
        assert all(run[work]["disk_bytes_per_image"]["min"] > 0 for work in ("read", "decode", "training"))


@pytest.mark.thorough
def test_pack_all_packs_measures_and_leaves_nothing(tmp_path):
    options = ["--pack-all", "--formats", "wds,hdf5", "--modes", "original,raw", *QUICK]
    result = train("measure", "--folder", SHAPES, *options, "--json", cwd=tmp_path)
    assert result.code == DONE, result
    names = ["wds original", "wds raw", "hdf5 original", "hdf5 raw"]
    assert [cost["input"] for cost in result.json["packing"]] == names
    for cost in result.json["packing"]:
        assert cost["bytes_out"] > 0 and cost["bytes_in"] > 0 and not cost["was_there"]
    assert [i["name"] for i in result.json["inputs"]] == ["folder", *names]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_what_pack_all_kept_is_taken_again(tmp_path):
    """With pictures as large as the training wants them."""
    options = ["--folder", SHAPES, "--pack-all", "--formats", "wds", "--modes", "raw", *QUICK, "--scratch",
               tmp_path / "kept"]  # fmt: skip
    for was_there in [False, True]:
        result = train("measure", *options, "--keep", "--json")
        assert result.code == DONE, result
        (cost,) = result.json["packing"]
        assert cost["was_there"] == was_there and cost["settings"] == "size=32 fit=crop"
    refused = train("measure", *options, "--keep", "--pack-side", "40")
    assert refused.code == FAILED and "next: " in refused.err
    assert "--image raw size=32 fit=crop, not raw size=40 fit=crop" in refused.err
    refused = train("measure", *options)
    assert refused.code == FAILED and "already exists" in refused.err and "--keep" in refused.err
    assert (tmp_path / "kept/wds-raw").is_dir()


@pytest.mark.thorough
def test_damage_ends_a_measurement_by_name(packed_shapes, tmp_path):
    shutil.copytree(packed_shapes("wds"), tmp_path / "wds")
    flip_byte(shards_of(tmp_path / "wds/train")[0], 700)
    result = train("measure", "--folder", SHAPES, "--packed", tmp_path / "wds", *QUICK)
    assert result.code == DAMAGE and "000000000" in result.err, result


@pytest.mark.thorough
@pytest.mark.parametrize(
    "args, code, said",
    [
        (["--folder", SHAPES], USAGE, "nothing to compare"),
        (["--folder", SHAPES, "--pack-all", "--storage", "floppy"], USAGE, "hdd, sata-ssd, nfs, nvme"),
        (["--folder", SHAPES, "--pack-all", "--storage", "open=5"], USAGE, "units us, ms, s"),
        (["--folder", SHAPES, "--pack-all", "--formats", "zip"], USAGE, "wds"),
        (["--folder", SHAPES, "--pack-all", "--gpu-decode", "--device", "cpu"], USAGE, "no GPU to decode on"),
        (["--folder", SHAPES, "--formats", "wds"], USAGE, "--pack-all"),
        (["--folder", "nowhere", "--pack-all"], FAILED, "nowhere"),
    ],
)
def test_misuse_is_explained(args, code, said, tmp_path):
    result = train("measure", *args, cwd=tmp_path)
    assert result.code == code and said in result.err, result
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_recommends_one_of_its_settings_that_can_be_used(packed_shapes):
    data = packed_shapes("wds")
    options = ["--workers", "1,2", "--slots", "2", "--storage", "open=100us", *QUICK]
    result = train("sweep", "--data", data, *options, "--json")
    assert result.code == DONE, result
    report = result.json
    assert report["schema"] == "packhorse-sweep/1" and report["condition"]["name"] == "open=100us"
    settings = [(point["workers"], point["slots"]) for point in report["points"]]
    assert settings == [(1, 2), (2, 2)]
    for point in report["points"]:
        check_spread(point["images_per_s"], 2)
        assert point["memory_bytes"] > 0 and point["batches_bytes"] == point["slots"] * 24 * 32 * 32 * 3
    chosen = report["recommended"]
    assert (chosen["workers"], chosen["slots"]) in settings and "reader threads" in chosen["reason"]
    assert report["limits"]["memory_available_bytes"] > 0
    fit = train("fit", "--data", data, "--arch", "smallnet", "--batch-size", "24", "--max-steps", "1", "--device", "cpu",
                "--workers", str(chosen["workers"]), "--slots", str(chosen["slots"]))  # fmt: skip
    assert fit.code == DONE, fit


@pytest.mark.thorough
def test_a_sweep_leaves_out_settings_that_would_not_fit_into_memory(packed_shapes):
    """Beyond a quarter of what is available; 1024 of these batches would take all of it."""
    available = int(re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())[1]) * 1024
    side = int((available / 1024 / 24 / 3) ** 0.5)
    command = ["sweep", "--data", packed_shapes("wds"), "--workers", "1", "--image-size", side, *QUICK,
               "--simulated-device", "1000"]  # fmt: skip
    result = train(*command, "--slots", "2,1024", "--json")
    assert result.code == DONE, result
    assert [point["slots"] for point in result.json["points"]] == [2]
    (left_out,) = result.json["limits"]["left_out"]
    assert "1024 batches" in left_out and "memory" in left_out
    text = train(*command, "--slots", "2,3").out
    assert "* recommended: " in text and text.count("%") >= 4


def test_a_prediction_has_bounds_a_bottleneck_and_a_check(report):
    content, path = report
    result = train("predict", path, "--cpus", "96", "--devices", "8", "--device-rate", "2800", "--storage", "hdd",
                   "--json")  # fmt: skip
    assert result.code == DONE, result
    prediction = result.json
    assert prediction["schema"] == "packhorse-prediction/1"
    assert [p["input"] for p in prediction["predictions"]] == [i["name"] for i in content["inputs"]]
    folder = prediction["predictions"][0]
    assert folder["bottleneck"] == "storage" and folder["images_per_s"] == pytest.approx(1 / 0.024, rel=0.05)
    for one in prediction["predictions"]:
        bounds = [bound for bound in one["limits"].values() if bound is not None]
        assert one["images_per_s"] == min(bounds) and one["limits"]["device"] == pytest.approx(8 * 2800)
    checks = {(c["input"], c["condition"], c["work"]) for c in prediction["check"]}
    assert ("folder", "warm", "decode") in checks and ("wds original", "nvme", "training") in checks
    assert "error: median " in train("predict", path).out


@pytest.mark.thorough
def test_the_check_of_a_prediction_has_what_epochs_begin_and_end_with(report, tmp_path):
    content = copy.deepcopy(report[0])
    content["device"] = "a GPU"
    content["recipe"]["batch_size"] = 100
    for one in content["inputs"]:
        one["samples"] = 250  # two steps; the rest does not fill a batch
    (tmp_path / "report.json").write_text(json.dumps(content))
    checks = train("predict", tmp_path / "report.json", "--json").json["check"]
    predicted = {c["work"]: c["predicted"] for c in checks if (c["input"], c["condition"]) == ("folder", "warm")}
    (folder,) = (run for run in content["runs"] if (run["input"], run["condition"]) == ("folder", "warm"))
    cores = content["machine"]["cpus"] / max(folder[work]["cpu_s_per_1000"]["median"] for work in ("read", "decode"))
    loading, device = predicted["decode"], content["device_limit"]["images_per_s"]["median"]
    bound = min(device, 1000 * cores)
    assert predicted["training"] == pytest.approx(200 / (200 / bound + 100 / max(loading, device)))


@pytest.mark.thorough
@pytest.mark.parametrize("content, said", [("{", "measure --json"), ('{"schema": "other/1"}', "other/1"),
                                           ('{"schema": "packhorse-measurement/1"}', "inputs")])  # fmt: skip
def test_what_is_no_measurement_is_refused(content, said, tmp_path):
    (tmp_path / "report.json").write_text(content)
    result = train("predict", tmp_path / "report.json")
    assert result.code != DONE and said in result.err, result


@pytest.mark.thorough
def test_a_measurement_that_is_not_there_is_refused(tmp_path):
    assert train("predict", tmp_path / "none.json").code == FAILED


def test_other_pictures_are_not_measured_as_what_packing_gains(tmp_path):
    """Thumbnails of the same names and classes."""
    folder, small = tmp_path / "folder", tmp_path / "small"
    for place, side in ((folder, 160), (small, 16)):
        for i in range(24):
            path = place / f"{'ab'[i % 2]}/{i}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.random.default_rng(i).integers(0, 255, (side, side, 3), np.uint8)).save(path)
    for mode, said in (("original", "has other bytes"), ("roi", "has another size")):
        pack(small, tmp_path / mode, "--format", "wds", "--image", mode)
        result = train("measure", "--folder", folder, "--packed", tmp_path / mode, *QUICK)
        assert result.code == USAGE and "does not hold the folder's images" in result.err and said in result.err, result
    pack(folder, tmp_path / "right", "--format", "wds", "--image", "roi")
    shutil.move(folder / "a/0.jpg", folder / "a/zero.jpg")
    result = train("measure", "--folder", folder, "--packed", tmp_path / "right", *QUICK)
    assert result.code == USAGE and "the folder has no such image" in result.err, result
