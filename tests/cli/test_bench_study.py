"""tests/bench/study: the page it writes and how two runs are compared; and a run of its smallest part."""

import copy
import json
import os
import subprocess
import sys

import pytest
import report_support as documents
from python_support import BIN, ROOT

STUDY = ROOT / "tests/bench/study"


def study(*args):
    done = subprocess.run([sys.executable, STUDY, *map(str, args)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(name="results")
def results_fixture(tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    for name, document in [("photos", documents.measurement(4)), ("sweep", documents.sweep()),
                           ("predict", documents.prediction(4))]:  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder


def test_a_page_has_every_input_and_condition_and_says_what_is_missing(results, tmp_path):
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- study: begin -->\nwhat was there\n<!-- study: end -->\nafter\n")
    code, _, err = study("report", "--out", results, "--write", page)
    assert code == 0, err
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "what was there" not in text
    photos = documents.measurement(4)
    for entry in photos["inputs"]:
        assert f"| {entry['name']} |" in text
    for condition in photos["conditions"]:
        assert f"| {condition['name']}: an epoch's seconds |" in text
    assert all(sentence in text for sentence in photos["verdict"])
    assert "### 5 ms to open a file, and nothing else\n\nNot measured." in text
    assert (results / "report.html").stat().st_size > 0


def test_a_page_without_its_markers_stays_as_it_is(results, tmp_path):
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.md"
    page.write_text("no markers\n")
    code, _, err = study("report", "--out", results, "--write", page)
    assert code == 1 and "has no lines" in err and page.read_text() == "no markers\n"


def test_runs_agree_where_their_repeats_overlap(results, tmp_path):
    code, out, _ = study("agree", results, results)
    rates = int(out.split(" of ")[1].split()[0])
    assert code == 0 and out == f"{rates} of {rates} rates agree within their spread\n"
    other = copy.deepcopy(json.loads((results / "photos.json").read_text()))
    spread = other["runs"][0]["decode"]["images_per_s"]
    for key in ["min", "median", "max"]:
        spread[key] *= 2
    again = tmp_path / "again"
    again.mkdir()
    (again / "photos.json").write_text(json.dumps(other))
    code, out, _ = study("agree", results, again)
    run = other["runs"][0]
    assert code == 0 and f"{run['input']}, {run['condition']}, decode" in out.splitlines()[0]


def test_no_results_and_unknown_parts_are_named(tmp_path):
    assert study("report", "--out", tmp_path)[0] == 1
    code, _, err = study("run", "nonsense", "--out", tmp_path)
    assert code == 2 and "photos-window" in err


@pytest.mark.skipif(not (BIN / "packhorse-train").exists(), reason="packhorse-train is not part of this build")
def test_a_part_is_measured(tmp_path):
    archives = os.environ.get("PACKHORSE_DATA", str(ROOT / "../shared/data"))
    if not os.path.exists(f"{archives}/imagenet200.tar"):
        pytest.skip("imagenet200.tar is not in PACKHORSE_DATA")
    code, _, err = study("run", "delay", "sweep", "--photos", "64", "--repeats", "1", "--seconds", "0.1", "--out",
                         tmp_path / "out", "--data", tmp_path / "data")  # fmt: skip
    assert code == 0, err
    delay = json.loads((tmp_path / "out/delay.json").read_text())
    assert [run["input"] for run in delay["runs"]][:3] == ["folder", "wds original", "wds roi"]
    assert json.loads((tmp_path / "out/sweep.json").read_text())["schema"] == "packhorse-sweep/1"
