"""packhorse-train on several processes: the same parameters as one, resumed on another number of them, killed and stopped."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from python_support import BIN, DONE, FAILED, SHAPES, USAGE, Result, pack

TRAIN = BIN / "packhorse-train"
pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
# Tolerance as a share of the distance that the parameters have moved. Sums are rounded in another order, and where that
# turns a ReLU on or off, a gradient changes by more than rounding.
TOLERANCE = 0.02
MODEL = ["--arch", "smallnet", "--lr", "0.002", "--device", "cpu", "--workers", "0"]
SYNC = [*MODEL, "--batch-size", "24", "--sync-bn"]


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("packed")
    pack(SHAPES, out / "wds", "--format", "wds")
    return out / "wds"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(world, *args, port=None):
    """Starts `world` processes that train together, as a launcher without a store of its own does."""
    port = port or free_port()
    processes = []
    for rank in range(world):
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world, "MASTER_PORT": port}
        environment = os.environ | {"MASTER_ADDR": "127.0.0.1"} | {k: str(v) for k, v in place.items()}
        processes.append(subprocess.Popen([TRAIN, *args], env=environment, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))  # fmt: skip
    return processes


def results(processes, timeout=120):
    done = []
    for process in processes:
        out, err = process.communicate(timeout=timeout)
        done.append(Result(process.returncode, out, err))
    return done


def fit(world, data, out, *options):
    command = ["fit", "--data", data, "--out", out, *SYNC, "--json", *options]
    done = results(start(world, *command))
    assert [result.code for result in done] == [DONE] * world, done
    assert all(result.out == "" for result in done[1:]), "only the first process prints the result"
    return done[0].json


def load(run, name="last.pt"):
    return pytest.importorskip("torch").load(run / name, weights_only=True)


@pytest.fixture(scope="module", name="alone")
def alone_fixture(packed, tmp_path_factory):
    """A run of one process to compare with, and its report."""
    out = tmp_path_factory.mktemp("alone")
    fit(1, packed, out / "start", "--max-steps", "1", "--warmup-epochs", "0", "--clip-norm", "1e-9")
    return out / "run", fit(1, packed, out / "run", "--epochs", "2")


def assert_same_training(alone, run):
    start, one, two = (load(path)["model"] for path in (alone.parent / "start", alone, run))
    assert one.keys() == two.keys()
    for name in one:
        moved = (one[name].double() - start[name].double()).norm().item()
        difference = (one[name].double() - two[name].double()).norm().item()
        assert moved > 0 and difference <= TOLERANCE * moved, (name, difference, moved)


@pytest.mark.parametrize("world", [2, 4])
def test_processes_give_the_parameters_of_one(world, packed, alone, tmp_path):
    report = fit(world, packed, tmp_path / "run", "--epochs", "2")
    assert report["processes"] == world
    assert report["steps"] == alone[1]["steps"]
    assert report["val_images"] == alone[1]["val_images"] == 36
    assert report["loss"] == pytest.approx(alone[1]["loss"], abs=1e-4)
    assert report["val_loss"] == pytest.approx(alone[1]["val_loss"], abs=1e-4)
    assert_same_training(alone[0], tmp_path / "run")


def momentum_of(run):
    return load(run)["optimizer"]["momentum"]


@pytest.mark.parametrize("world, parts", [(2, 1), (1, 4), (2, 2)])
def test_a_smooth_network_agrees_to_rounding(world, parts, smooth, packed, tmp_path):
    # Without batch norms and ReLU, splitting a batch only changes the order of sums.
    train_smooth(world, packed, tmp_path / "run", "--accumulate", str(parts))
    one, two = momentum_of(smooth), momentum_of(tmp_path / "run")
    assert one.keys() == two.keys()
    for name in one:
        assert (one[name] - two[name]).norm().item() <= 1e-5 * one[name].norm().item(), name


def train_smooth(world, packed, out, *options):
    command = ["fit", "--data", packed, "--out", out, "--arch", "vit_s16", "--image-size", "32", "--augment", "flip",
               "--batch-size", "24", "--optimizer", "sgd", "--lr", "0.01", "--warmup-epochs", "0", "--max-steps", "2",
               "--device", "cpu", "--workers", "0", *options]  # fmt: skip
    done = results(start(world, *command))
    assert [result.code for result in done] == [DONE] * world, done


@pytest.fixture(scope="module", name="smooth")
def smooth_fixture(packed, tmp_path_factory):
    out = tmp_path_factory.mktemp("smooth") / "run"
    train_smooth(1, packed, out)
    return out


def test_a_run_goes_on_with_another_number_of_processes(packed, alone, tmp_path):
    out = tmp_path / "run"
    fit(2, packed, out, "--epochs", "2", "--max-steps", "7")
    fit(4, packed, out, "--epochs", "2", "--resume", "--max-steps", "9")
    report = fit(1, packed, out, "--resume")
    assert report["epochs"] == 2
    assert_same_training(alone[0], out)


def test_torchrun_starts_it(packed, alone, tmp_path):
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(free_port()),
         "--no-python", TRAIN, "fit", "--data", packed, "--out", tmp_path / "run", *SYNC, "--epochs", "2", "--json"],
        capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=180)  # fmt: skip
    result = Result(done.returncode, done.stdout, done.stderr)
    assert result.code == DONE, result
    assert result.json["processes"] == 2
    assert_same_training(alone[0], tmp_path / "run")


def test_a_process_that_dies_ends_the_others(packed, tmp_path):
    out = tmp_path / "run"
    processes = start(2, "fit", "--data", packed, "--out", out, *SYNC, "--epochs", "10000", "--checkpoint-every", "1",
                      "--timeout", "20")  # fmt: skip
    until = time.monotonic() + 60
    while not (out / "last.pt").exists() and time.monotonic() < until:
        time.sleep(0.01)
    processes[1].kill()
    first, second = results(processes, timeout=60)
    assert second.code == -signal.SIGKILL
    assert first.code == FAILED, first
    assert "another process" in first.err and "--resume" in first.err


def test_sigterm_to_one_stops_all_and_saves(packed, tmp_path):
    out = tmp_path / "run"
    processes = start(2, "fit", "--data", packed, "--out", out, *SYNC, "--epochs", "10000", "--checkpoint-every", "1")
    until = time.monotonic() + 60
    while not (out / "last.pt").exists() and time.monotonic() < until:
        time.sleep(0.01)
    processes[1].send_signal(signal.SIGTERM)
    done = results(processes, timeout=60)
    assert [result.code for result in done] == [DONE, DONE], done
    assert "--resume" in done[0].err
    before = load(out)["step"]
    assert before > 0
    report = fit(2, packed, out, "--resume", "--epochs", "10000", "--max-steps", str(before + 2))
    assert report["steps"] == before + 2


def test_processes_with_other_settings_are_refused(packed, tmp_path):
    port = free_port()
    command = ["fit", "--data", packed, *SYNC, "--epochs", "1", "--timeout", "20"]
    first = start(2, *command, "--out", tmp_path / "run", port=port)
    first[1].kill()
    other = start(2, *command, "--out", tmp_path / "run", "--seed", "1", port=port)
    other[0].kill()
    result = results([other[1]])[0]
    assert result.code == USAGE, result
    assert "process 1" in result.err and "same command" in result.err
    results([first[0]])


def test_a_batch_that_cannot_be_divided_is_refused(packed, tmp_path):
    done = results(start(2, "fit", "--data", packed, *MODEL, "--batch-size", "25", "--out", tmp_path / "run"))
    assert {result.code for result in done} <= {USAGE, FAILED}
    assert any("multiple of 2" in result.err for result in done)


def test_half_a_launcher_is_refused(packed):
    environment = os.environ | {"RANK": "0"}
    done = subprocess.run([TRAIN, "fit", "--data", packed, *MODEL], env=environment, capture_output=True, check=False)
    assert done.returncode == USAGE
    assert b"WORLD_SIZE is not set" in done.stderr
