"""Refusals of images themselves: damage inside their pixels, and more work than limits allow."""

import pytest
from python_support import (
    DAMAGE,
    DONE,
    SHAPES,
    TRAIN,
    USAGE,
    listed,
    make_source,
    pack,
    packhorse,
    refused,
    rejects_of,
    run,
    train,
    tree,
)

# Damage inside the pixels


def cut_inside(path):
    """Leaves out half of the scan: the markers are intact, the picture is not."""
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + b"\xff\xd9")


@pytest.fixture
def damaged(tmp_path):
    source = make_source(tmp_path / "source", 12, classes=2)
    cut_inside(source / "class-1/000007.jpg")
    return source


@pytest.mark.parametrize("mode", ["original", "roi", "resize", "raw"])
def test_with_decode_every_mode_rejects_what_is_damaged_inside(tmp_path, damaged, mode):
    options = ("--format", "wds", "--image", mode, "--decode")
    result = run("pack", damaged, tmp_path / "out", *options, "--json")
    assert result.code == DAMAGE and list(rejects_of(result.json)) == ["class-1/000007.jpg"], result
    assert "damaged JPEG" in result.json["rejects"][0]["reason"]
    run("pack", damaged, tmp_path / "out", *options, "--max-rejects", "1")
    checked = packhorse("inspect", tmp_path / "out", "--verify", "full", "--decode", "--json").json["checked"]
    assert checked["decoded"] == 11


def test_decode_changes_no_byte_of_what_is_sound(tmp_path, packed_shapes):
    pack(SHAPES, tmp_path / "b", "--format", "wds", "--decode")
    assert tree(packed_shapes("wds")) == tree(tmp_path / "b")


def test_without_decode_finished_shards_are_not_taken_for_decoded_ones(tmp_path, damaged):
    run("pack", damaged, tmp_path / "out", "--format", "wds", "--task", "0/1")
    result = run("pack", damaged, tmp_path / "out", "--format", "wds", "--decode", "--json")
    assert result.code == DAMAGE and len(result.json["rejects"]) == 1, result


# Limits

PROGRESSIVE = "train/clouds/clouds-08-progressive.jpg"  # 300 x 200 in ten scans, 4:2:0
WHOLE = "val/pebbles/pebbles-01-web.webp"  # 136 x 136 in colour


@pytest.mark.parametrize(
    "option,limit,path,reason",
    [
        ("--max-scan-pixels", 599_999, PROGRESSIVE, "10 scans of 300 x 200 pixels, in all 600000, the limit is 599999"),
        ("--max-decoded-bytes", 189_695, PROGRESSIVE, "300 x 200 pixels take 189696 bytes, the limit is 189695"),
        ("--max-pixels", 59_999, PROGRESSIVE, "300 x 200 pixels, the limit is 59999"),
        ("--max-decoded-bytes", 55_487, WHOLE, "136 x 136 pixels take 55488 bytes, the limit is 55487"),
    ],
)
def test_an_image_beyond_a_limit_is_rejected_with_the_number_and_the_option(tmp_path, option, limit, path, reason):
    def rejected(limit):
        options = ("--format", "wds", "--max-rejects", "100%", "--include", "*/clouds/*", "--include", WHOLE, option, str(limit), "--json")
        return rejects_of(run("pack", SHAPES, tmp_path / str(limit), *options).json)

    assert reason in (rejects := rejected(limit))[path] and rejects[path].endswith(f"({option})"), rejects
    assert path not in rejected(limit + 1)


def test_limits_of_nothing_and_where_nothing_is_decoded_are_usage_errors(tmp_path, packed_shapes):
    for option in ("--max-pixels", "--max-scan-pixels", "--max-decoded-bytes"):
        refused("pack", SHAPES, tmp_path / "out", "--format", "wds", option, "0", code=USAGE)
    result = refused("inspect", packed_shapes("wds") / "val", "--list", "--max-scan-pixels", "9", code=USAGE)
    assert "--decode" in result.err


@pytest.mark.parametrize("action", [("inspect", "--verify", "full", "--decode"), ("stats",), ("duplicates",)])
def test_who_decodes_a_dataset_has_the_limits_of_packing(action, packed_shapes):
    dataset = packed_shapes("wds") / "train"
    result = run(*action, dataset, "--max-scan-pixels", "599999", "--json")
    assert result.code != DONE and "--max-scan-pixels" in result.err + result.out, result
    assert "clouds-08" in str(listed(dataset)) and "10 scans of 300 x 200" in result.err + result.out, result
    packhorse(*action, dataset, "--max-scan-pixels", "600000", "--json")


def test_a_sheet_names_what_is_beyond_a_limit(tmp_path, packed_shapes):
    sheet = ("inspect", packed_shapes("wds") / "train", "--sheet", tmp_path / "sheet.png", "--sheet-count", "120")
    packhorse(*sheet, "--max-scan-pixels", "600000")
    result = run(*sheet, "--max-scan-pixels", "599999")
    assert result.code == DAMAGE and "10 scans of 300 x 200 pixels" in result.err, result
    assert "--verify full --decode" in result.err, result


@pytest.mark.thorough
@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
def test_whatever_of_the_trainer_decodes_has_the_limits(tmp_path):
    source = make_source(tmp_path / "source", 8, classes=2)
    pack(source, tmp_path / "out", "--format", "wds")
    small = ("--arch", "smallnet", "--image-size", "32", "--batch-size", "4")
    fit = ("fit", "--data", tmp_path / "out", *small, "--epochs", "1", "--device", "cpu")
    passes = (*small, "--repeats", "1", "--max-seconds", "0.1", "--warmup-steps", "1", "--device", "cpu")
    accepted = ("--max-pixels", "1000000", "--max-decoded-bytes", "1.5GiB")
    assert train(*fit, "--out", tmp_path / "run", *accepted).code == DONE
    evaluation = ("eval", "--checkpoint", tmp_path / "run/last.pt", "--data", tmp_path / "out", "--device", "cpu")
    for command in (
        (*fit, "--max-scan-pixels"),
        (*evaluation, "--max-pixels"),
        ("measure", "--folder", source, "--packed", tmp_path / "out", *passes, "--max-scan-pixels"),
        ("sweep", "--data", tmp_path / "out", "--workers", "1", "--slots", "2", *passes, "--max-pixels"),
    ):
        result = train(*command, "3")
        assert result.code != DONE and f"the limit is 3 ({command[-1]})" in result.err, (command, result)
