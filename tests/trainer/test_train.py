"""packhorse-train from outside: fit and eval on the sample set, resumed, interrupted and misused."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from package import packhorse
from python_support import DAMAGE, DONE, FAILED, SHAPES, TRAIN, USAGE, Result, flip_byte, listed, pack, train
from servers import wait_until

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
QUICK = ["--arch", "smallnet", "--batch-size", "24", "--device", "cpu"]


@pytest.fixture(scope="module", name="packed")
def packed_fixture(packed_shapes):
    return packed_shapes("wds")


def fit(data, out, *options):
    result = train("fit", "--data", data, "--out", out, *QUICK, "--json", *options)
    assert result.code == DONE, result
    return result.json


@pytest.fixture(scope="module", name="whole")
def whole_fixture(packed, tmp_path_factory):
    """A run of three epochs, and what fit said at its end."""
    run = tmp_path_factory.mktemp("whole") / "run"
    return run, fit(packed, run, "--epochs", "3", "--workers", "2")


@pytest.fixture(scope="module", name="stopped")
def stopped_fixture(packed, tmp_path_factory):
    """The same run until its seventh step, in the middle of an epoch. It is only read."""
    run = tmp_path_factory.mktemp("stopped") / "run"
    fit(packed, run, "--epochs", "3", "--max-steps", "7")
    return run


def tensors(run):
    content = torch.load(run / "last.pt", weights_only=True)
    return {**content["model"], **{f"momentum {k}": v for k, v in content["optimizer"]["momentum"].items()}}


def assert_same(a, b):
    one, two = tensors(a), tensors(b)
    assert one.keys() == two.keys()
    assert all(one[name].equal(two[name]) for name in one)


def test_weights_and_repeats_change_what_is_trained_on_and_resume_exactly(packed, tmp_path):
    options = ["--sample-weights", "balanced", "--repeats", "2", "--workers", "2"]
    fit(packed, tmp_path / "plain", "--epochs", "2", "--workers", "2")
    fit(packed, tmp_path / "whole", "--epochs", "2", *options)
    fit(packed, tmp_path / "resumed", "--epochs", "2", "--max-steps", "7", *options)
    fit(packed, tmp_path / "resumed", "--resume")
    assert_same(tmp_path / "whole", tmp_path / "resumed")
    assert any(not one.equal(two) for one, two in zip(tensors(tmp_path / "whole").values(), tensors(tmp_path / "plain").values(), strict=True))
    refused = train("fit", "--data", packed, "--out", tmp_path / "resumed", "--resume", "--repeats", "3")
    assert refused.code == USAGE and "another --repeats (it is 2)" in refused.err


def test_a_fold_trains_on_the_rest_and_scores_its_part(packed, tmp_path):
    halves = [fit(packed / "train", tmp_path / str(part), "--epochs", "1", "--fold", f"{part}/2") for part in range(2)]
    assert all(half["steps"] == 2 and "top1" in half for half in halves)
    whole = fit(packed / "train", tmp_path / "whole", "--epochs", "1")
    assert whole["steps"] == 5
    for fold in ("2/2", "0/1", "1", "1/2/3", "a/b", "-1/2"):
        refused = train("fit", "--data", packed, *QUICK, "--fold", fold)
        assert refused.code == USAGE and f"--fold {fold} is no part of a fold" in refused.err


def test_pixel_steps_change_what_is_trained_on(packed, tmp_path):
    steps = {"plain": [], "again": [], "changed": ["--pixel-steps", "ColorJitter(0.8), RandomErasing(1)"]}
    for name, options in steps.items():
        fit(packed, tmp_path / name, "--epochs", "1", "--workers", "2", *options)
    assert_same(tmp_path / "plain", tmp_path / "again")
    plain, changed = tensors(tmp_path / "plain"), tensors(tmp_path / "changed")
    assert not any(plain[name].equal(changed[name]) for name in plain if name.endswith("weight"))


def assert_learnt(run, report, data, epochs):
    """The loss falls, and eval repeats the last figures."""
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    assert len(log) == epochs and log[-1]["train_loss"] < log[0]["train_loss"]
    assert len((run / "log.csv").read_text().splitlines()) == epochs + 1
    scores = train("eval", "--checkpoint", run / "last.pt", "--data", data, "--device", "cpu", "--json").json
    assert scores["images"] == 36
    assert scores["top1"] == pytest.approx(report["top1"], abs=1e-9)


def test_the_loss_falls_and_eval_repeats_the_figure(whole, packed):
    run, report = whole
    for field in ["device", "arch", "parameters", "epochs", "steps", "images_per_s", "data_wait_share", "loss",
                  "top1", "checkpoint", "seconds"]:  # fmt: skip
        assert field in report
    assert_learnt(run, report, packed, 3)


def test_a_folder_is_trained_on_as_it_is(tmp_path):
    assert_learnt(tmp_path, fit(SHAPES, tmp_path, "--epochs", "2"), SHAPES, 2)


@pytest.mark.parametrize("layout", ["lmdb", "hdf5"])
def test_every_format_trains_to_the_same_parameters(layout, stopped, packed_shapes, tmp_path):
    fit(packed_shapes(layout), tmp_path, "--epochs", "3", "--max-steps", "7")
    assert_same(tmp_path, stopped)


def test_a_run_stopped_in_an_epoch_and_resumed_ends_with_the_same_parameters(whole, stopped, packed, tmp_path):
    shutil.copytree(stopped, tmp_path / "run")
    other = train("fit", "--data", packed, "--out", tmp_path / "run", *QUICK, "--resume", "--seed", "1")
    assert other.code == USAGE and "--seed" in other.err
    resumed = fit(packed, tmp_path / "run", "--resume", "--workers", "0")
    assert resumed["epochs"] == 3
    assert_same(tmp_path / "run", whole[0])


def test_a_run_is_not_resumed_with_other_data_in_the_middle_of_an_epoch(stopped, packed, tmp_path):
    """The same images packed with another seed: some of them would be trained on twice, and others not at all."""
    pack(SHAPES, tmp_path / "again", "--format", "wds", "--seed", "9")
    shutil.copytree(stopped, tmp_path / "run")
    shutil.copytree(stopped, tmp_path / "meant")
    result = train("fit", "--data", tmp_path / "again", "--out", tmp_path / "run", *QUICK, "--resume")
    assert result.code == USAGE and "the data are others than before" in result.err and "--other-data" in result.err, result
    fit(packed, tmp_path / "run", "--resume")  # nothing has changed
    meant = train("fit", "--data", tmp_path / "again", "--out", tmp_path / "meant", *QUICK, "--resume", "--other-data")
    assert meant.code == DONE and "note: the data are others than before, or packed anew" in meant.err, meant
    again = train("fit", "--data", tmp_path / "again", *QUICK, "--other-data")
    assert again.code == USAGE and "--other-data is about --resume" in again.err, again


def test_two_runs_do_not_mix_their_files(packed, tmp_path):
    command = [TRAIN, "fit", "--data", packed, "--out", tmp_path / "run", *QUICK, "--epochs", "100000", "--checkpoint-every", "1"]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: (tmp_path / "run/last.pt").exists())
        for more in (["--overwrite"], ["--resume"], []):
            second = train("fit", "--data", packed, "--out", tmp_path / "run", *QUICK, *more)
            assert second.code == FAILED and "another run is writing there" in second.err, second
    finally:
        first.kill()
        first.wait()
    fit(packed, tmp_path / "run", "--resume", "--epochs", "1")
    assert not (tmp_path / "run/lock").exists()
    nothing = train("fit", "--data", "nowhere", "--out", tmp_path / "none", *QUICK)
    assert nothing.code == FAILED and not (tmp_path / "none").exists()


def test_objects_are_not_learnt_as_one_class(tmp_path):
    """All of its images have the class 'unlabelled': the loss would be 0."""
    writer = packhorse.Writer(tmp_path / "objects", format="wds", object_classes=["x", "y"])
    with writer:
        for i in range(24):
            writer.add(np.full((40, 40, 3), i, np.uint8), "pets", boxes=[[2, 3, 30, 36]], box_labels=["x"])
    result = train("fit", "--data", tmp_path / "objects", *QUICK)
    assert result.code == USAGE and "--task detect" in result.err, result
    asked = train("fit", "--data", tmp_path / "objects", *QUICK, "--task", "classify", "--epochs", "1")
    assert asked.code == DONE and "nothing to learn" in asked.err, asked


def test_sigterm_saves_says_how_to_go_on_and_the_resumed_run_is_exact(whole, packed, tmp_path):
    """It comes with the first checkpoint. Here the program itself sets what LibTorch reads when it is loaded."""
    once = tmp_path / "environment"
    signal = f"test -e {once} || {{ tr '\\0' '\\n' </proc/$PPID/environ >{once}; kill -TERM $PPID; }}"
    command = [TRAIN, "fit", "--data", packed, "--out", tmp_path / "run", *QUICK, "--epochs", "3",
               "--checkpoint-every", "1", "--after-save", signal, "--stopped-status", "75"]  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    result = Result(done.returncode, done.stdout, done.stderr)
    assert result.code == 75, result  # nothing is lost when a scheduler takes the machine back
    assert "--resume" in result.err
    assert "OMP_WAIT_POLICY=passive" in once.read_text().splitlines()
    assert torch.load(tmp_path / "run/last.pt", weights_only=True)["step"] < whole[1]["steps"]
    fit(packed, tmp_path / "run", "--resume")
    assert_same(tmp_path / "run", whole[0])


def test_python_opens_a_checkpoint(whole):
    checkpoint = torch.load(whole[0] / "last.pt", weights_only=True)
    state = checkpoint["model"]
    assert checkpoint["format"] == "packhorse-train" and state
    assert all(torch.isfinite(value).all() for value in state.values() if value.is_floating_point())
    assert checkpoint["optimizer"]["momentum"] and set(checkpoint["optimizer"]["momentum"]) <= set(state)


def test_bad_samples_end_the_run_or_are_replaced_and_named(packed, tmp_path):
    data = shutil.copytree(packed, tmp_path / "data")
    sample = max(listed(data / "train"), key=lambda one: one["bytes"])
    flip_byte(data / "train" / sample["shard"], sample["offset"] + sample["bytes"] // 2)
    failing = train("fit", "--data", data, *QUICK, "--epochs", "1")
    assert failing.code == DAMAGE and sample["key"] in failing.err and "next:" in failing.err
    replacing = train("fit", "--data", data, *QUICK, "--epochs", "1", "--max-bad", "1", "--json")
    assert replacing.code == DONE, replacing
    assert f"a bad sample was replaced: sample {sample['key']}" in replacing.err


@pytest.mark.parametrize(
    "args, code, said",
    [
        (["fit"], USAGE, "--data"),
        (["fit", "--data", "nowhere", "--arch", "smallnet"], FAILED, "nowhere"),
        (["fit", "--data", SHAPES, *QUICK, "--cuda-graph"], USAGE, "--cuda-graph"),
        (["fit", "--data", SHAPES, *QUICK, "--optimizer", "adam"], USAGE, "adamw"),
        (["fit", "--data", "nowhere", "--arch", "hugenet"], USAGE, "smallnet"),
        (["eval", "--checkpoint", "nowhere.pt", "--data", "nowhere"], FAILED, "nowhere.pt"),
        (["eval", "--checkpoint", SHAPES / "README.md", "--data", SHAPES], DAMAGE, "README.md"),
        ([], USAGE, "subcommand"),
    ],
)
def test_misuse_says_what_and_ends_with_its_code(args, code, said, tmp_path):
    result = train(*args, cwd=tmp_path)
    assert result.code == code, result
    assert said in result.err


def test_a_run_that_is_there_is_not_overwritten(packed, stopped):
    result = train("fit", "--data", packed, "--out", stopped, *QUICK, "--epochs", "1")
    assert result.code == FAILED, result
    assert "--resume" in result.err and "--overwrite" in result.err


@pytest.mark.thorough
@pytest.mark.parametrize("verb", ["fit", "eval", "detect", "export", "measure", "sweep", "predict"])
def test_help_has_an_example(verb):
    result = train(verb, "--help")
    assert result.code == DONE
    assert re.search(rf"Examples?:\n  packhorse-train {verb} ", result.out)


@pytest.mark.thorough
def test_autotune_says_how_many_reader_threads_it_chose(packed):
    result = train("fit", "--data", packed, *QUICK, "--max-steps", "2", "--autotune", "--json")
    assert result.code == DONE, result
    assert "autotune chose" in result.err and result.json["steps"] == 2


@pytest.mark.thorough
def test_the_order_by_windows_is_part_of_the_run(packed, tmp_path):
    command = ("fit", "--data", packed, "--out", tmp_path / "run", *QUICK, "--epochs", "1")
    assert train(*command, "--order", "window", "--max-steps", "3").code == DONE
    other = train(*command, "--resume", "--order", "global")
    assert other.code == USAGE and "--order" in other.err and "window" in other.err
    assert train(*command, "--resume", "--json").json["epochs"] == 1


def test_weights_of_a_checkpoint_know_their_classes(packed, stopped, tmp_path):
    last = stopped / "last.pt"
    names = (packed / "train/classes.txt").read_text().splitlines()
    (tmp_path / "turned.txt").write_text("\n".join(names[::-1]))
    pack(SHAPES, tmp_path / "turned", "--format", "wds", "--classes", tmp_path / "turned.txt")
    differ = f"label 0 is '{names[0]}' in the model, but '{names[-1]}' here"
    scored = ["eval", "--weights", last, "--arch", "smallnet", "--device", "cpu", "--data"]
    refused = train(*scored, tmp_path / "turned")
    assert refused.code == USAGE and differ in refused.err, refused
    assert train(*scored, packed).code == DONE
    begun = ["fit", "--data", tmp_path / "turned", *QUICK, "--init-from", last, "--max-steps", "1", "--lr", "1e-12",
             "--out"]  # fmt: skip
    noted = train(*begun, tmp_path / "noted")
    assert noted.code == DONE and differ in noted.err and "--new-head" in noted.err, noted
    assert close(tmp_path / "noted", stopped, "fc.weight")
    anew = train(*begun, tmp_path / "anew", "--new-head")
    assert anew.code == DONE and f"not from {last}, but new: fc.weight, fc.bias" in anew.err, anew
    assert "other classes" not in anew.err
    assert not close(tmp_path / "anew", stopped, "fc.weight") and close(tmp_path / "anew", stopped, "features.0.weight")


def close(run, other, name):
    return torch.allclose(tensors(run)[name], tensors(other)[name], atol=1e-6)
