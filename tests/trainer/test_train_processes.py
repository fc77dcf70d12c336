"""packhorse-train on several processes: the same parameters as one, resumed on another number, killed and stopped."""

import os
import signal
import subprocess
import sys
import time

import pytest
from python_support import DONE, FAILED, STARTED, TRAIN, USAGE, Result, free_ports

pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
# Tolerance as a share of the distance that the parameters have moved. Sums are rounded in another order, and where that
# turns a ReLU on or off, a gradient changes by more than rounding.
TOLERANCE = 0.05
MODEL = ["--arch", "smallnet", "--lr", "0.002", "--device", "cpu", "--workers", "0"]
SYNC = [*MODEL, "--batch-size", "24", "--sync-bn"]
FOREVER = [*SYNC, "--epochs", "10000", "--checkpoint-every", "1"]


@pytest.fixture(scope="module", name="packed")
def packed_fixture(packed_shapes):
    return packed_shapes("wds")


def start(world, *args, port=None):
    """Starts `world` processes that train together, as a launcher without a store of its own does."""
    port = port or free_ports()
    processes = []
    for rank in range(world):
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world, "MASTER_PORT": port}
        environment = os.environ | {"MASTER_ADDR": "127.0.0.1"} | {k: str(v) for k, v in place.items()}
        processes.append(subprocess.Popen([TRAIN, *map(str, args)], env=environment, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))  # fmt: skip
    STARTED.extend(processes)
    return processes


def results(processes, timeout=300):
    done = []
    for process in processes:
        out, err = process.communicate(timeout=timeout)
        done.append(Result(process.returncode, out, err))
    return done


def wait_for_checkpoint(out, processes):
    while not (out / "last.pt").exists():
        assert all(process.poll() is None for process in processes), results(processes)
        time.sleep(0.01)


def fit(world, data, out, *options):
    done = results(start(world, "fit", "--data", data, "--out", out, *SYNC, "--json", *options))
    assert [result.code for result in done] == [DONE] * world, done
    assert all(result.out == "" for result in done[1:]), "only the first process prints the result"
    return done[0].json


def load(run):
    return pytest.importorskip("torch").load(run / "last.pt", weights_only=True)


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


@pytest.mark.parametrize("world", [2, pytest.param(4, marks=pytest.mark.thorough)])
def test_processes_give_the_parameters_of_one(world, packed, alone, tmp_path):
    report = fit(world, packed, tmp_path / "run", "--epochs", "2")
    assert report["processes"] == world
    assert report["steps"] == alone[1]["steps"]
    assert report["val_images"] == alone[1]["val_images"] == 36
    assert report["loss"] == pytest.approx(alone[1]["loss"], abs=1e-4)
    assert report["val_loss"] == pytest.approx(alone[1]["val_loss"], abs=1e-4)
    assert_same_training(alone[0], tmp_path / "run")


@pytest.fixture(scope="module", name="smooth")
def smooth_fixture(packed, tmp_path_factory):
    """smooth(out, world, *options) trains a network without batch norms and ReLU; its momentum after two steps."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    layers = [torch.nn.Conv2d(3, 16, 5, 2), torch.nn.GELU(), torch.nn.Conv2d(16, 16, 3, 2), torch.nn.GELU()]
    script = tmp_path_factory.mktemp("smooth") / "net.pt"
    torch.jit.script(torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(576, 6))).save(script)

    def momentum(out, world, *options):
        done = results(start(world, "fit", "--data", packed, "--out", out, "--arch", f"script:{script}",
                             "--image-size", "32", "--augment", "flip", "--batch-size", "24", "--lr", "0.01",
                             "--warmup-epochs", "0", "--max-steps", "2", "--device", "cpu", "--workers", "0",
                             *options))  # fmt: skip
        assert [result.code for result in done] == [DONE] * world, done
        return load(out)["optimizer"]["momentum"]

    return momentum


def test_a_smooth_network_agrees_to_rounding(smooth, tmp_path):
    """There, splitting a batch only changes the order of sums."""
    one = smooth(tmp_path / "one", 1)
    for world, parts in [(2, 1), (1, 4), (2, 2)]:
        two = smooth(tmp_path / f"{world}-{parts}", world, "--accumulate", parts)
        assert one.keys() == two.keys()
        for name in one:
            assert (one[name] - two[name]).norm().item() <= 1e-5 * one[name].norm().item(), (name, world, parts)


@pytest.mark.thorough
def test_a_run_goes_on_with_another_number_of_processes(packed, alone, tmp_path):
    out = tmp_path / "run"
    fit(2, packed, out, "--epochs", "2", "--max-steps", "7")
    fit(4, packed, out, "--epochs", "2", "--resume", "--max-steps", "9")
    report = fit(1, packed, out, "--resume")
    assert report["epochs"] == 2
    assert_same_training(alone[0], out)


@pytest.mark.thorough
def test_torchrun_starts_it(packed, alone, tmp_path):
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(free_ports()),
         "--no-python", TRAIN, "fit", "--data", packed, "--out", tmp_path / "run", *SYNC, "--epochs", "2", "--json"],
        capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=300)  # fmt: skip
    result = Result(done.returncode, done.stdout, done.stderr)
    assert result.code == DONE, result
    assert result.json["processes"] == 2
    assert_same_training(alone[0], tmp_path / "run")


def test_a_process_that_dies_ends_the_others(packed, tmp_path):
    processes = start(2, "fit", "--data", packed, "--out", tmp_path / "run", *FOREVER, "--timeout", "120")
    wait_for_checkpoint(tmp_path / "run", processes)
    processes[1].kill()
    first, second = results(processes)
    assert second.code == -signal.SIGKILL
    assert first.code == FAILED, first
    assert "another process" in first.err and "--resume" in first.err


@pytest.mark.thorough
def test_sigterm_to_one_stops_all_and_saves(packed, tmp_path):
    out = tmp_path / "run"
    processes = start(2, "fit", "--data", packed, "--out", out, *FOREVER)
    wait_for_checkpoint(out, processes)
    processes[1].send_signal(signal.SIGTERM)
    done = results(processes)
    assert [result.code for result in done] == [DONE, DONE], done
    assert "--resume" in done[0].err
    before = load(out)["step"]
    assert before > 0
    report = fit(1, packed, out, "--resume", "--epochs", "10000", "--max-steps", before + 2)
    assert report["steps"] == before + 2


def test_processes_with_other_settings_are_refused(packed, tmp_path):
    port = free_ports()
    command = ["fit", "--data", packed, *SYNC, "--epochs", "1", "--timeout", "120"]
    first = start(2, *command, "--out", tmp_path / "run", port=port)
    first[1].kill()
    other = start(2, *command, "--out", tmp_path / "run", "--seed", "1", port=port)
    other[0].kill()
    result = results([other[1]])[0]
    assert result.code == USAGE, result
    assert "process 1" in result.err and "same command" in result.err
    results([first[0]])


@pytest.mark.thorough
def test_a_batch_that_cannot_be_divided_is_refused(packed, tmp_path):
    done = results(start(2, "fit", "--data", packed, *MODEL, "--batch-size", "25", "--out", tmp_path / "run"))
    assert {result.code for result in done} <= {USAGE, FAILED}
    assert any("multiple of 2" in result.err for result in done)
