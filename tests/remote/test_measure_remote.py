"""packhorse-train measure and sweep at URLs: what streaming reaches, with nothing kept. No test asserts a speed."""

import subprocess
import sys

import pytest
from python_support import DONE, ROOT, SHAPES, TRAIN, USAGE, pack, train

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
QUICK = ["--batch-size=24", "--device=cpu", "--repeats=2", "--max-seconds=0.1", "--steps=2", "--warmup-steps=1"]


@pytest.fixture(scope="module", name="url")
def url_fixture(nginx):
    pack(SHAPES, nginx.root / "shapes", "--format=wds")
    return f"{nginx.url}/shapes"


def measured(url, local, *options):
    return train("measure", "--folder", SHAPES, "--packed", local, "--packed", url, *QUICK, *options)


def test_what_lies_at_a_url_is_measured_from_there_each_time_predicted_from_and_drawn(url, nginx, tmp_path):
    report = tmp_path / "report.json"
    result = measured(url, nginx.root / "shapes", "--storage=open=1ms", "--json", "--save", report)
    assert result.code == DONE, result
    content = result.json
    assert [i["name"] for i in content["inputs"]] == ["folder", "wds original", "wds original at a URL"]
    there, here = content["inputs"][2], content["inputs"][1]
    assert there["file_system"] == "http" and there["bytes"] == here["bytes"] and there["samples"] == here["samples"]
    assert [(r["condition"], r["input"]) for r in content["runs"]] == [
        ("warm", "folder"), ("warm", "wds original"), ("open=1ms", "folder"), ("open=1ms", "wds original"),
        ("remote", "wds original at a URL"),
    ]  # fmt: skip
    assert {(gap["input"], gap["condition"], gap["reason"]) for gap in content["not_measured"]} == {
        ("wds original at a URL", "warm", "it lies at a URL"), ("wds original at a URL", "open=1ms", "it lies at a URL"),
        ("folder", "remote", "it lies here"), ("wds original", "remote", "it lies here"),
    }  # fmt: skip
    assert content["conditions"][-1] == {"name": "remote", "kind": "remote"}
    remote, folder = content["runs"][-1], content["runs"][0]
    for work in ["read", "decode", "training"]:
        image = there["bytes"] / there["samples"]
        fetched = remote[work]["disk_bytes_per_image"]["values"]
        assert min(fetched) > image / 4, "every pass fetches what it reads"  # the shard has padding, which is not read
        ratio = remote[work]["images_per_s"]["median"] / folder[work]["images_per_s"]["median"]
        assert remote["speedup"][work] == pytest.approx(ratio), "beside the folder in the page cache"
    predicted = train("predict", report, "--json")
    assert predicted.code == DONE, predicted
    assert [one["input"] for one in predicted.json["predictions"]] == ["folder", "wds original"]
    assert predicted.json["not_predicted"] == ["wds original at a URL"]
    assert {one["condition"] for one in predicted.json["check"]} == {"warm", "open=1ms"}
    assert "not predicted: wds original at a URL" in train("predict", report).out
    subprocess.run([sys.executable, ROOT / "scripts/plot", report, "--out", tmp_path / "page.html"], check=True)
    page = (tmp_path / "page.html").read_text()
    assert "it lies at a URL" in page and "does not say why" not in page


def test_people_are_told_whether_streaming_keeps_the_device_busy(url):
    result = train("measure", "--folder", SHAPES, "--packed", url, *QUICK)
    assert result.code == DONE, result
    assert result.out.startswith("I/O speedup from a URL: training ")
    assert "From a URL, without a cache: wds original at a URL trains with " in result.out
    assert "wds original  not measured" not in result.out and "folder  not measured" not in result.out


def test_without_a_copy_here_all_waiting_is_for_what_lies_there(url):
    result = train("measure", "--folder", SHAPES, "--packed", url, *QUICK, "--json")
    assert result.code == DONE, result
    assert [r["input"] for r in result.json["runs"]] == ["folder", "wds original at a URL"]
    assert result.json["runs"][1]["attribution"]["preparation_s"] == 0


def test_a_sweep_reads_from_the_url(url):
    result = train("sweep", "--data", url, "--workers=1,2", "--slots=2", *QUICK, "--json")
    assert result.code == DONE, result
    assert result.json["condition"] == {"name": "remote", "kind": "remote"}
    assert len(result.json["points"]) == 2


def test_what_cannot_be_is_refused(url):
    refused = train("sweep", "--data", url, "--cold", *QUICK)
    assert refused.code == USAGE and "neither cold nor simulated" in refused.err
    refused = train("measure", "--folder", SHAPES, "--pack-all", "--endpoint=http://localhost:1", *QUICK)
    assert refused.code == USAGE and "has no effect" in refused.err
