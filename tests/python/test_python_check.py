"""packhorse.check(): the findings of the command as objects."""

import json

import pytest
from package import packhorse
from python_support import SHAPES
from python_support import packhorse as command


def test_findings_are_those_of_the_command():
    report = packhorse.check(SHAPES)
    printed = command("check", SHAPES, "--json").json
    assert {**report.json, "seconds": 0} == {**printed, "seconds": 0} | {
        "findings": [{**one, "remedy": mine.remedy} for one, mine in zip(printed["findings"], report.findings, strict=True)]
    }
    assert report.ok and report.errors == 0 and report.warnings == 3
    first = report.findings[0]
    assert (first.code, first.severity, first.family, first.count) == ("PH120", "warning", "files", 1)
    assert first.examples == [{"path": "train/pebbles/pebbles-12-really-a-png.jpg", "detail": "it is png"}]
    assert str(report).startswith("PH120 warning: 1 image has the extension of another kind\n      train/pebbles/")
    assert "<td>PH120<td>warning<td>1 image has" in report._repr_html_()


def test_options_are_those_of_packing_and_codes_are_chosen(tmp_path):
    assert [one.code for one in packhorse.check(SHAPES, select="PH2", ignore=["PH201"]).findings] == [
        "PH203", "PH204", "PH202"]
    left = packhorse.check(SHAPES, exclude=["*.png"], decode="headers")
    assert left.decoded == 0 and not {"PH202", "PH203"} & {one.code for one in left.findings}
    (one,) = packhorse.check(SHAPES, select="PH201", examples=0).findings
    assert one.count == len(one.examples) == 4
    with pytest.raises(packhorse.errors.UsageError, match="did you mean sample"):
        packhorse.check(SHAPES, decode="sampel")
    with pytest.raises(FileNotFoundError):
        packhorse.check(tmp_path / "nowhere")
    (tmp_path / "settings.yaml").write_text("check: {select: [PH2], ignore_in: {'train/*': [PH201]}}")
    assert [one.code for one in packhorse.check(SHAPES, config=tmp_path / "settings.yaml").findings] == [
        "PH203", "PH204", "PH201", "PH202"]  # one of val is left
    (tmp_path / "known.txt").write_text("PH204 train/flowers/flowers-10-cmyk.jpg\n")
    with_baseline = packhorse.check(SHAPES, select="PH204", baseline=tmp_path / "known.txt")
    assert with_baseline.findings == [] and with_baseline.known == 1
    assert json.dumps(packhorse.check(SHAPES).json)


def test_progress_is_called_and_may_stop_the_work():
    calls = []
    packhorse.check(SHAPES, progress=lambda done, total: calls.append((done, total)))
    assert calls and calls[-1][1] == 156

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        packhorse.check(SHAPES, progress=stop)
