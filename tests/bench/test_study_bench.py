"""bench/study: the page it writes, how two runs are compared, and a run of its smallest part."""

import copy
import fcntl
import json
import os
import subprocess
import sys

import pytest
import report_support as documents
from python_support import BIN, ROOT, SHAPES, put

pytest.importorskip("matplotlib", reason="needs scripts/requirements-plot.txt")

STUDY = ROOT / "bench/study"


def study(*args, env=None):
    command = [sys.executable, STUDY, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    return done.returncode, done.stdout, done.stderr


def measurement():
    return documents.measurement(2, ("warm", "nfs"))


@pytest.fixture(name="results")
def results_fixture(tmp_path):
    made = {"photos": measurement(), "sweep": documents.sweep((1, 2), (2,)), "predict": documents.prediction(2)}
    documents.write(tmp_path / "study", **made)
    return tmp_path / "study"


def test_a_page_has_every_input_and_condition_and_says_whether_a_second_run_agrees(results, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- study: begin -->\nwhat was there\n<!-- study: end -->\nafter\n")
    photos = measurement()
    run = photos["runs"][1]
    run["decode"]["images_per_s"] = scaled(run["decode"]["images_per_s"], 2)
    documents.write(tmp_path / "again", photos=photos)
    code, _, err = study("report", "--out", results, "--again", tmp_path / "again", "--write", page)
    assert code == 0, err
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "what was there" not in text
    for entry in photos["inputs"]:
        assert f"| {entry['name']} |" in text
    for condition in photos["conditions"]:
        assert f"| {condition['name']}: an epoch's seconds |" in text
    assert all(sentence in text for sentence in photos["verdict"])
    assert "### 5 ms to open a file, and nothing else\n\nNot measured." in text
    assert (results / "report.html").stat().st_size > 0
    section = text.split("### Whether a second run says the same\n\n")[1]
    assert section.startswith("Run twice: photos. Once: sweep, predict.\n\n")
    _, printed, _ = study("agree", results, tmp_path / "again")
    for line in printed.splitlines():
        assert (f"- {line}\n" if "apart" in line else f"{line}:\n\n- ") in section


def test_a_page_of_one_run_says_nothing_of_a_second_one_and_without_its_markers_stays_as_it_is(results, tmp_path):
    for part in ("photos", "predict"):
        (results / f"{part}.json").unlink()
    code, out, err = study("report", "--out", results)
    assert code == 0 and "### Whether" not in out, err
    page = tmp_path / "page.md"
    page.write_text("no markers\n")
    code, _, err = study("report", "--out", results, "--write", page)
    assert code == 1 and "has no lines" in err and page.read_text() == "no markers\n"


def test_runs_of_different_parts_cannot_be_compared(results, tmp_path):
    (tmp_path / "cifar.json").write_text(json.dumps(measurement()))
    for command in (["report", "--out", results, "--again", tmp_path], ["agree", results, tmp_path]):
        code, out, err = study(*command)
        assert code == 1 and out == "" and "no part in common: photos, sweep, predict and cifar" in err


def test_a_folder_that_another_bench_is_at_work_in_is_left_alone(tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    code, _, err = study("run", "predict", "--data", tmp_path, "--out", tmp_path / "out")
    os.close(folder)
    assert code == 1 and f"another bench is at work in {tmp_path}" in err


def scaled(spread, factor):
    values = [value * factor for value in spread["values"]]
    return {**spread, "min": min(values), "median": spread["median"] * factor, "max": max(values), "values": values}


def agreement(results, folder, change):
    """What `agree` prints about the results and a copy of them in which `change` was made to the photos'
    measurement."""
    other = copy.deepcopy(json.loads((results / "photos.json").read_text()))
    change(other)
    folder.mkdir()
    (folder / "photos.json").write_text(json.dumps(other))
    code, out, err = study("agree", results, folder)
    assert code == 0, err
    return out.splitlines()


def test_runs_agree_where_their_repeats_overlap(results):
    code, out, _ = study("agree", results, results)
    rates, speedups = (int(line.split(" of ")[1].split()[0]) for line in out.splitlines())
    assert code == 0 and rates > speedups > 0
    assert out == (f"{rates} of {rates} rates agree within their spread, or 1 %\n"
                   f"{speedups} of {speedups} speedups agree within their spread, or 1 %\n")  # fmt: skip


def test_runs_disagree_where_their_repeats_do_not_overlap(results, tmp_path):
    def double_one(document):
        run = document["runs"][1]
        run["decode"]["images_per_s"] = scaled(run["decode"]["images_per_s"], 2)

    run = measurement()["runs"][1]
    lines = agreement(results, tmp_path / "again", double_one)
    assert [line.split(":")[1] for line in lines if "apart" in line] == [
        f" {run['input']}, {run['condition']}, decode"
    ] * 2


def test_a_machine_that_is_slower_as_a_whole_has_the_same_speedups(results, tmp_path):
    def halve_all(document):
        for run in document["runs"]:
            for work in ("read", "decode", "training"):
                run[work]["images_per_s"] = scaled(run[work]["images_per_s"], 0.5)

    lines = agreement(results, tmp_path / "again", halve_all)
    rates, speedups = (line.split() for line in lines if "agree within" in line)
    assert int(rates[0]) == 1, "only the device's limit stayed as it was"
    assert speedups[0] == speedups[2]


def test_spreads_of_next_to_nothing_agree_within_a_percent(results, tmp_path):
    def set_training(factor):
        def change(document):
            for run in document["runs"]:
                flat = scaled({**run["training"]["images_per_s"], "median": 100, "values": [100] * 5}, factor)
                run["training"]["images_per_s"] = flat

        return change

    first = json.loads((results / "photos.json").read_text())
    set_training(1)(first)
    (results / "photos.json").write_text(json.dumps(first))
    assert not [line for line in agreement(results, tmp_path / "near", set_training(1.009)) if "apart" in line]
    apart = [line for line in agreement(results, tmp_path / "far", set_training(1.011)) if "apart" in line]
    assert len(apart) == len(first["runs"]) and all("training" in line for line in apart)


def test_no_results_and_unknown_parts_are_named(tmp_path):
    assert study("report", "--out", tmp_path)[0] == 1
    code, _, err = study("run", "nonsense", "--out", tmp_path)
    assert code == 2 and "photos-window" in err


@pytest.mark.skipif(not (BIN / "packhorse-train").exists(), reason="packhorse-train is not part of this build")
def test_a_part_is_measured(tmp_path):
    for path in sorted(SHAPES.glob("train/*/*.jpg"))[:64]:
        put(tmp_path / "imagenet200" / path.relative_to(SHAPES / "train"), path.read_bytes())
    subprocess.run(["tar", "-cf", tmp_path / "imagenet200.tar", "-C", tmp_path, "imagenet200"], check=True)
    short = ("--photos", "64", "--repeats", "1", "--seconds", "0.01")
    code, _, err = study("run", "delay", "sweep", *short, "--out", tmp_path / "out", "--data", tmp_path / "data",
                         env={**os.environ, "PACKHORSE_DATA": str(tmp_path)})  # fmt: skip
    assert code == 0, err
    delay = json.loads((tmp_path / "out/delay.json").read_text())
    assert [run["input"] for run in delay["runs"]][:3] == ["folder", "wds original", "wds roi"]
    assert json.loads((tmp_path / "out/sweep.json").read_text())["schema"] == "packhorse-sweep/1"
