"""The codes of rejects: the same in every output and by every way in, and those that docs/reference/codes.md lists."""

import json
import re
import shutil
import tarfile
from pathlib import Path

import pytest
from python_support import BROKEN, DAMAGE, FAILED, ROOT, SHAPES, pack, packhorse, put, run, staging

CODES = {
    "bad/bomb.png": "too-many-pixels",
    "bad/damaged_header.jpg": "damaged",
    "bad/huge.bmp": "damaged",
    "bad/text.jpg": "not-an-image",
    "bad/truncated.jpg": "damaged",
    "bad/truncated.png": "damaged",
    "bad/truncated.webp": "damaged",
    "bad/zero_byte.jpg": "empty-file",
}


FINDINGS = {line.split()[0] for line in packhorse("check", "--explain", "all").out.splitlines()}


def codes_of(rejects):
    assert all(reject["finding"] in FINDINGS for reject in rejects), rejects
    return {reject["path"]: reject["code"] for reject in rejects}


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_page_lists_the_codes_of_the_table_in_its_order():
    header = next(ROOT.glob("libpack/**/reason.h")).read_text()
    table = re.findall(r'ReasonRow\{Reason::\w+,\s*"([^"]+)",\s*"([^"]+)"', header)
    page = (ROOT / "docs/reference/codes.md").read_text()
    rows = page[page.index("| code | finding | the input |") :]
    found = re.findall(r"^\| `([a-z0-9-]+)` \| (PH[0-9]+) \|", rows, re.MULTILINE)
    assert len(table) > 20 and found[: len(table)] == table
    assert {finding for _, finding in table} <= FINDINGS


def test_a_refusal_names_the_command_that_explains_its_codes_once(tmp_path):
    error = run("pack", BROKEN, tmp_path / "out", "--format", "wds").err
    assert "rejected: bad/zero_byte.jpg: empty file (PH101)\n" in error
    assert error.count("packhorse check --explain PH") == 1


def test_each_output_has_the_code_beside_the_reason(tmp_path):
    options = ("--format", "wds", "--log", tmp_path / "log", "--json")
    refused = run("pack", BROKEN, tmp_path / "out", *options)
    assert refused.code == DAMAGE and codes_of(refused.json["rejects"]) == CODES, refused
    report = run("pack", BROKEN, tmp_path / "out", *options, "--max-rejects", "8").json
    assert report["shards_kept"] == report["shards"] == 1, "the receipt gives the codes"
    assert codes_of(report["rejects"]) == CODES
    events = [line for line in lines_of(tmp_path / "log") if line["event"] == "reject"]
    assert codes_of(events) == CODES
    # The file is a part of the dataset, whose id must not change with a version of packhorse.
    rejects = [{"path": reject["path"], "reason": reject["reason"]} for reject in report["rejects"]]
    assert rejects == lines_of(tmp_path / "out/rejects.jsonl")


def test_a_dry_run_counts_rejects_by_code(tmp_path):
    put(tmp_path / "list.csv", "path,label\nnone.jpg,a\n,a\n")
    report = run("pack", tmp_path / "list.csv", tmp_path / "out", "--format", "wds", "--dry-run", "--json").json
    found = {one["code"]: one["count"] for one in report["preview"]["rejected_by_reason"]}
    assert found == {"not-there": 1, "bad-row": 1}
    assert all("code" not in one for one in report["preview"]["skipped_by_rule"])


def test_an_adopted_shard_has_the_codes_of_packing(tmp_path):
    shards = tmp_path / "shards"
    shards.mkdir()
    members = []
    for number, path in enumerate(sorted(CODES)):
        name = f"{number:03}{Path(path).suffix}"
        shutil.copy(BROKEN / path, shards / name)
        put(shards / f"{number:03}.cls", b"0")
        members += [name, f"{number:03}.cls"]
    with tarfile.open(shards / "s-0.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        for name in members:
            tar.add(shards / name, name)
    for name in members:
        (shards / name).unlink()
    report = run("index", shards, "--json").json
    found = [reject["code"] for reject in sorted(report["rejects"], key=lambda one: one["path"])]
    assert found == [CODES[path] for path in sorted(CODES)]


@pytest.mark.parametrize("member", ["labels", "payload_bytes", "kinds", "rejects"])
def test_a_receipt_whose_counts_cannot_be_right_counts_as_none(tmp_path, member):
    out = tmp_path / "out"
    options = ("--format", "wds", "--shard-samples", "50")
    pack(SHAPES / "train", out, *options, "--task", "0/1")
    receipt = sorted(staging(out).glob("receipts/**/shard-000000.json"))[0]
    content = json.loads(receipt.read_text())
    content[member] = {"labels": [[0, 7]], "payload_bytes": "x", "kinds": [200], "rejects": [["a", "b", "none"]]}[member]
    receipt.write_text(json.dumps(content))
    result = run("pack", SHAPES / "train", out, *options, "--finish")
    assert result.code == FAILED and "1 of " in result.err and not out.exists(), result
    assert pack(SHAPES / "train", out, *options)["published"]
