"""packhorse-train from outside: fit, eval and measure on the sample set, resumed, interrupted and misused."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from python_support import (
    BIN,
    DAMAGE,
    DONE,
    FAILED,
    FORMATS,
    ROOT,
    SHAPES,
    TRAIN,
    USAGE,
    Result,
    flip_byte,
    pack,
    train,
)

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
QUICK = ["--arch", "smallnet", "--batch-size", "24", "--device", "cpu"]


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("packed")
    for name in FORMATS:
        pack(SHAPES, out / name, "--format", name)
    return out


def fit(data, out, *options):
    result = train("fit", "--data", data, "--out", out, *QUICK, "--json", *options)
    assert result.code == DONE, result
    return result.json


def tensors(checkpoint):
    torch = pytest.importorskip("torch")
    content = torch.load(checkpoint, weights_only=True)
    return {**content["model"], **{f"momentum {k}": v for k, v in content["optimizer"]["momentum"].items()}}


def assert_same(a, b):
    one, two = tensors(a), tensors(b)
    assert one.keys() == two.keys()
    assert all(one[name].equal(two[name]) for name in one)


@pytest.mark.parametrize("name", [*FORMATS, "folder"])
def test_the_loss_falls_and_eval_repeats_the_figure(name, packed, tmp_path):
    data = SHAPES if name == "folder" else packed / name
    report = fit(data, tmp_path / "run", "--epochs", "5")
    for field in ["device", "arch", "parameters", "epochs", "steps", "images_per_s", "data_wait_share", "loss",
                  "top1", "checkpoint", "seconds"]:  # fmt: skip
        assert field in report
    log = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    assert len(log) == 5 and log[-1]["train_loss"] < log[0]["train_loss"]
    assert len((tmp_path / "run/log.csv").read_text().splitlines()) == 6
    scores = train("eval", "--checkpoint", tmp_path / "run/last.pt", "--data", data, "--json").json
    assert scores["images"] == 36
    assert scores["top1"] == pytest.approx(report["top1"], abs=1e-9)


def test_every_input_trains_to_the_same_parameters(packed, tmp_path):
    # A folder is ordered by paths and shards by their shuffle, so only shards are compared; all formats agree.
    for name in FORMATS:
        fit(packed / name, tmp_path / name, "--epochs", "1")
    assert_same(tmp_path / "wds/last.pt", tmp_path / "lmdb/last.pt")
    assert_same(tmp_path / "wds/last.pt", tmp_path / "hdf5/last.pt")


def test_a_run_stopped_in_an_epoch_and_resumed_ends_with_the_same_parameters(packed, tmp_path):
    fit(packed / "wds", tmp_path / "whole", "--epochs", "3")
    fit(packed / "wds", tmp_path / "parts", "--epochs", "3", "--max-steps", "7")
    resumed = fit(packed / "wds", tmp_path / "parts", "--resume", "--workers", "0")
    assert resumed["epochs"] == 3
    assert_same(tmp_path / "whole/last.pt", tmp_path / "parts/last.pt")


@pytest.mark.parametrize("status", [DONE, 75])
def test_sigterm_saves_says_how_to_go_on_and_the_resumed_run_is_exact(packed, tmp_path, status):
    out = tmp_path / "run"
    options = ["--epochs", "12", "--checkpoint-every", "1"]
    process = subprocess.Popen(
        [TRAIN, "fit", "--data", packed / "lmdb", "--out", out, *QUICK, *options, *(["--stopped-status", "75"] if status else [])],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    until = time.monotonic() + 60
    while not (out / "last.pt").exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=60)
    result = Result(process.returncode, stdout, stderr)
    assert result.code == status, result  # nothing is lost when a scheduler takes the machine back
    assert "--resume" in result.err
    fit(packed / "lmdb", out, "--resume", "--epochs", "12")
    fit(packed / "lmdb", tmp_path / "whole", "--epochs", "12")
    assert_same(out / "last.pt", tmp_path / "whole/last.pt")


def test_python_opens_a_checkpoint(packed, tmp_path):
    pytest.importorskip("torch")
    fit(packed / "hdf5", tmp_path / "run", "--epochs", "1")
    done = subprocess.run(
        [sys.executable, ROOT / "tests/interop/check_checkpoint.py", tmp_path / "run/last.pt"],
        capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "model: " in done.stdout


def test_a_damaged_image_ends_training_by_name(packed, tmp_path):
    shard = packed / "wds/train/shard-000000.tar"
    whole = shard.read_bytes()
    try:
        damaged = bytearray(whole)
        damaged[700] ^= 1
        shard.write_bytes(damaged)
        result = train("fit", "--data", packed / "wds", "--out", tmp_path / "run", *QUICK, "--epochs", "1")
        assert result.code == DAMAGE, result
        assert "000000000" in result.err and "next:" in result.err
    finally:
        shard.write_bytes(whole)


@pytest.mark.parametrize(
    "args, code, said",
    [
        (["fit"], USAGE, "--data"),
        (["fit", "--data", "nowhere", "--arch", "smallnet"], FAILED, "nowhere"),
        (["fit", "--data", SHAPES, *QUICK, "--cuda-graph"], USAGE, "--cuda-graph"),
        (["fit", "--data", SHAPES, *QUICK, "--accumulate", "5"], USAGE, "multiple of 5"),
        (["fit", "--data", SHAPES, *QUICK, "--optimizer", "adam"], USAGE, "adamw"),
        (["fit", "--data", "nowhere", "--arch", "hugenet"], USAGE, "smallnet"),
        (["eval", "--checkpoint", "nowhere.pt", "--data", "nowhere"], FAILED, "nowhere.pt"),
        ([], USAGE, "subcommand"),
    ],
)
def test_misuse_says_what_and_ends_with_its_code(args, code, said, tmp_path):
    result = train(*args, cwd=tmp_path)
    assert result.code == code, result
    assert said in result.err


def test_a_run_that_is_there_is_not_overwritten(packed, tmp_path):
    fit(packed / "wds", tmp_path / "run", "--epochs", "1")
    result = train("fit", "--data", packed / "wds", "--out", tmp_path / "run", *QUICK, "--epochs", "1")
    assert result.code == FAILED, result
    assert "--resume" in result.err and "--overwrite" in result.err


def test_a_foreign_file_is_no_checkpoint(packed, tmp_path):
    (tmp_path / "x.pt").write_bytes(b"not a checkpoint")
    result = train("eval", "--checkpoint", tmp_path / "x.pt", "--data", packed / "wds")
    assert result.code == DAMAGE, result
    assert "x.pt" in result.err


def test_cuda_without_a_gpu_is_refused_with_advice(packed):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    result = train("fit", "--data", packed / "wds", "--arch", "smallnet", "--device", "cuda")
    assert result.code == FAILED, result
    assert "GPU" in result.err and "next:" in result.err


@pytest.mark.parametrize("verb", ["fit", "eval", "measure", "sweep", "predict"])
def test_help_has_an_example(verb):
    result = train(verb, "--help")
    assert result.code == DONE
    assert re.search(rf"Examples?:\n  packhorse-train {verb} ", result.out)


def test_autotune_says_how_many_reader_threads_it_chose(packed, tmp_path):
    result = train("fit", "--data", packed / "wds", *QUICK, "--max-steps", "2", "--autotune", "--json")
    assert result.code == DONE, result
    assert "note: autotune chose" in result.err
    assert "img/s" in result.err and result.json["steps"] == 2


def damage_one(dataset):
    """Flips a byte in the middle of one image."""
    sample = max(
        json.loads(subprocess.run([BIN / "packhorse", "inspect", dataset, "--list", "--json"], capture_output=True,
                                  check=True).stdout)["samples"], key=lambda s: s["bytes"])  # fmt: skip
    flip_byte(dataset / sample["shard"], sample["offset"] + sample["bytes"] // 2)
    return sample["key"]


def test_bad_samples_end_the_run_or_are_replaced_and_named(packed, tmp_path):
    shutil.copytree(packed / "wds", tmp_path / "data")
    key = damage_one(tmp_path / "data/train")
    failing = train("fit", "--data", tmp_path / "data", *QUICK, "--epochs", "1")
    assert failing.code == DAMAGE and key in failing.err
    replacing = train("fit", "--data", tmp_path / "data", *QUICK, "--epochs", "1", "--max-bad", "1", "--json")
    assert replacing.code == DONE, replacing
    assert f"note: a bad sample was replaced: sample {key}" in replacing.err


def test_the_order_by_windows_is_part_of_the_run(packed, tmp_path):
    run = tmp_path / "run"
    command = ("fit", "--data", packed / "lmdb", "--out", run, *QUICK, "--epochs", "2")
    assert train(*command, "--order", "window", "--max-steps", "3").code == DONE
    other = train(*command, "--resume", "--order", "global")
    assert other.code == USAGE and "another --order (it is window)" in other.err
    assert train(*command, "--resume", "--json").json["epochs"] == 2


def test_weights_of_a_checkpoint_know_their_classes(packed, tmp_path):
    fit(packed / "wds", tmp_path / "run", "--max-steps", "1")
    last = tmp_path / "run/last.pt"
    names = (packed / "wds/train/classes.txt").read_text().splitlines()
    (tmp_path / "turned.txt").write_text("\n".join(names[::-1]))
    pack(SHAPES, tmp_path / "turned", "--format", "wds", "--classes", tmp_path / "turned.txt")
    differ = f"label 0 is '{names[0]}' in the model, but '{names[-1]}' here"
    scored = ["--data", tmp_path / "turned", "--weights", last, "--arch", "smallnet", "--device", "cpu"]
    refused = train("eval", *scored)
    assert refused.code == USAGE and differ in refused.err, refused
    scored[1] = packed / "wds"
    assert train("eval", *scored).code == DONE
    begun = ["fit", "--data", tmp_path / "turned", *QUICK, "--init-from", last, "--max-steps", "1", "--lr", "1e-12", "--overwrite", "--out", tmp_path / "next"]
    noted = train(*begun)
    assert noted.code == DONE and f"the last layer of {last} is for other classes ({differ}): --new-head" in noted.err, noted
    assert close(tmp_path / "next/last.pt", last, "fc.weight")
    anew = train(*begun, "--new-head")
    assert anew.code == DONE and f"not from {last}, but new: fc.weight, fc.bias" in anew.err, anew
    assert "other classes" not in anew.err
    assert not close(tmp_path / "next/last.pt", last, "fc.weight") and close(tmp_path / "next/last.pt", last, "features.0.weight")


def close(a, b, name):
    torch = pytest.importorskip("torch")
    one, two = (torch.load(path, weights_only=True)["model"][name] for path in (a, b))
    return torch.allclose(one, two, atol=1e-6)
