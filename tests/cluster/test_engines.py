"""packhorse.cluster on real engines of this machine: the bytes are those of one run, whatever dies."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from python_support import BIN, ROOT, pack, photos, tree

PROGRAM = Path(__file__).with_name("engine_program.py")
OPTIONS = {"format": "wds", "shard_samples": 40, "samples_per_class": 30}
FLAGS = ["--format", "wds", "--shard-samples", "40", "--samples-per-class", "30"]
MODULES = {"ray": "ray", "dask": "distributed", "spark": "pyspark", "mpi": "mpi4py", "processes": "json"}
REPLACES_WORKERS = ["dask", "ray", "spark"]

# Each Python runs this first: a worker dies in the middle of its task where `file` is, which it removes.
DIES_ONCE = """
import os, signal
import packhorse.packing as packing
from packhorse.errors import NoSpaceError
real = packing.pack
def pack(source, out, **options):
    if os.path.basename(out) == "full" and options.get("task"):
        raise NoSpaceError("the disk is full", out)
    def die(done, total):
        try:
            os.unlink({file!r})
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGKILL)
    return real(source, out, **options, progress=die) if (options.get("task") or "").startswith("2/") else real(source, out, **options)
packing.pack = pack
"""


@pytest.fixture(name="cifar", scope="module")
def cifar_fixture(made_once):
    """(source, one run of it): 600 images of CIFAR-10."""
    test = photos("cifar10/test")

    def make(folder):
        for name in sorted(os.listdir(test)):
            (folder / "source" / name).mkdir(parents=True)
            for image in sorted(os.listdir(test / name))[:60]:
                shutil.copy(test / name / image, folder / "source" / name)
        pack(folder / "source", folder / "whole", *FLAGS)

    folder = made_once("cifar-for-engines", make)
    return folder / "source", folder / "whole"


@pytest.fixture(name="environment")
def environment_fixture(seaweed, tmp_path):
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks/sitecustomize.py").write_text(DIES_ONCE.format(file=str(tmp_path / "die")))
    path = os.pathsep.join([str(tmp_path / "hooks"), str(BIN.parent / "python"), str(PROGRAM.parent)])
    return {**seaweed.environment(), "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "RAY_AUTH_MODE": "disabled", "SPARK_LOCAL_IP": "127.0.0.1",
            "RAY_USAGE_STATS_ENABLED": "0", "HOME_OF_TEST": str(tmp_path),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # fmt: skip


def command(engine, what, *arguments):
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4"] if engine == "mpi" else []
    return [*mpirun, sys.executable, PROGRAM, what, engine, *arguments]


def drive(engine, environment, source, out, code=0, **more):
    arguments = json.dumps({"source": str(source), "out": str(out), "options": OPTIONS, **more})
    done = subprocess.run(command(engine, "drive", arguments), env=environment, capture_output=True, text=True, check=False, timeout=300,
                          cwd=environment["HOME_OF_TEST"])  # fmt: skip
    assert done.returncode == code, done.stderr[-5000:]
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{"))) if code == 0 else None


@pytest.fixture(name="engine", params=MODULES)
def engine_fixture(request, environment, tmp_path):
    """(name, what drive() needs of it); its cluster runs until the end of the test."""
    name = request.param
    missing = [] if importlib.util.find_spec(MODULES[name]) else [MODULES[name]]
    if name == "mpi" and not shutil.which("mpirun", path=environment["PATH"]):
        missing.append("mpirun")
    if name == "spark" and not shutil.which("java"):
        missing.append("java")
    if missing:
        pytest.skip(f"the engine {name} is not installed: {', '.join(missing)}")
    if name not in ("ray", "dask"):
        yield name, {}
        return
    with subprocess.Popen(command(name, "host"), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as host:
        yield name, {"address": host.stdout.readline().strip()}
        host.stdin.close()


def test_the_bytes_are_those_of_one_run_though_a_worker_and_a_driver_die(engine, environment, cifar, tmp_path):
    (name, place), (source, whole) = engine, cifar
    out, dying = tmp_path / "out", tmp_path / "die"
    dying.touch()
    if name in REPLACES_WORKERS:
        said = drive(name, environment, source, out, **place)
    elif name == "processes":
        said = drive(name, environment, source, out, **place)
        assert said["error"] == "StorageError" and "BrokenProcessPool" in said["text"] and "same call again" in said["text"]
        said = drive(name, environment, source, out, **place)
    else:  # mpirun ends all ranks; a batch system starts them again
        drive(name, environment, source, out, code=128 + signal.SIGKILL, **place)
        said = drive(name, environment, source, out, **place)
    assert said == {"packed": 300, "published": True, "verified": True, "samples": 300}
    assert not dying.exists() and tree(out) == tree(whole)
    assert "already exists" in drive(name, environment, source, out, **place)["text"]

    again = tmp_path / "again"
    drive(name, environment, source, again, code=128 + signal.SIGKILL if name == "mpi" else -signal.SIGKILL, die_after=2, **place)
    assert not again.exists()
    assert drive(name, environment, source, again, **place)["published"]
    assert tree(again) == tree(whole)
    assert not list(tmp_path.glob(".*")) and not list(tmp_path.glob("*.partial"))


def test_what_no_try_can_do_is_said_by_name(engine, environment, cifar, tmp_path):
    said = drive(engine[0], environment, cifar[0], tmp_path / "full", **engine[1])
    assert said["error"] in ("NoSpaceError", "StorageError") and "the disk is full" in said["text"] and "\n\tat " not in said["text"]
    said = drive(engine[0], environment, tmp_path / "none", tmp_path / "out", **engine[1])
    assert said["error"] == "NotFoundError" and f"{tmp_path}/none" in said["text"] and "task " in said["text"]


def test_workers_without_a_common_disk_pack_into_a_bucket(engine, environment, cifar, seaweed, tmp_path):
    (name, place), (source, whole) = engine, cifar
    url = f"s3://private/engines/{name}"
    said = drive(name, environment, source, url, **place)
    assert said["published"] and said["verified"], said
    stored = {key.removeprefix(f"engines/{name}/"): size for key, size in seaweed.client().list("private", f"engines/{name}/").items()}
    assert stored == {path.relative_to(whole).as_posix(): path.stat().st_size for path in whole.rglob("*") if path.is_file()}
    assert seaweed.client().get("private", f"engines/{name}/dataset.json") == (whole / "dataset.json").read_bytes()  # has all sums


@pytest.mark.parametrize("name", ["ray", "spark"])
def test_the_script_that_trains_on_an_engine_runs(name, environment, packed_shapes, tmp_path):
    for module in (MODULES[name], "torchvision", *(["pydantic"] if name == "ray" else [])):  # Ray Train needs it
        if not importlib.util.find_spec(module):
            pytest.skip(f"the engine {name} is not installed: {module}")
    code = (ROOT / f"docs/examples/train_{name}.py").read_text()
    for old, new in (("/data/packed", str(packed_shapes("wds"))), ("Crop(224)", "Crop(32)")):
        assert old in code
        code = code.replace(old, new)
    code = code.replace("builder.get", 'builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false").get')
    (tmp_path / "script.py").write_text(code)
    done = subprocess.run([sys.executable, "script.py"], env={**environment, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}, cwd=tmp_path,
                          capture_output=True, text=True, check=False, timeout=500)  # fmt: skip
    assert done.returncode == 0 and "2 workers: loss " in done.stdout + done.stderr, done.stderr[-5000:]
