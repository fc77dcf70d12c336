"""The scripts that a user runs, and tests/skips.py, which judges what was skipped."""

import importlib.util
import json
import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
import zipfile

import pytest
import touched
from python_support import BIN, ROOT, SHAPES, TRAIN, make_source, put
from test_readme_commands import steps_of

SCRIPTS = ["bundle", "demo", "package", "test", "test_aarch64", "test_bare", "test_package", "train_from_shards", "setup", "wheel", "wheel_libraries"]

needs_trainer = pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")


def run(*command, cwd=ROOT, **environment):
    env = {**os.environ, "PACKHORSE_BIN": str(BIN), "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run([str(c) for c in command], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def put_program(path, text):
    put(path, f"#!/bin/sh\n{text}\n").chmod(0o755)


def test_every_script_explains_itself_and_refuses_an_unknown_option():
    for script in SCRIPTS:
        done = run(ROOT / "scripts" / script, "--help")
        assert done.returncode == 0 and done.stdout.startswith(f"Usage: scripts/{script}"), done
        done = run(ROOT / "scripts" / script, "--nonsense")
        assert done.returncode == 2, done


def test_a_wheel_is_not_begun_with_what_is_no_python(tmp_path):
    for python, words in (("no-such-python", "is no program"), ("/bin/false", "must be a Python")):
        done = run(ROOT / "scripts/wheel", "--out", tmp_path / "wheels", sys.executable, python)
        assert done.returncode == 1 and python in done.stderr and words in done.stderr and "next: " in done.stderr
        assert not (tmp_path / "wheels").exists()


def wheel_of(folder, code, *flags):
    """A wheel for glibc 2.17 with one extension module."""
    source, module = put(folder / "m.c", code.encode()), folder / "m.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", module, source, *flags], check=True)
    wheel = folder / "m-1-py3-none-manylinux_2_17_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(module, "m/m.so")
    return wheel


def test_a_wheel_may_need_only_the_system_of_its_tag(tmp_path):
    tools = runpy.run_path(ROOT / "scripts/wheel")
    start = "void PyInit_m(void) {{ {} }}\n".format
    tools["check_needs"](wheel_of(tmp_path, start("")), tmp_path / "unpacked")
    for code, flags, words in (
        ("#include <stdlib.h>\n" + start("arc4random();"), [], "m/m.so needs GLIBC_2.36"),
        (start(""), ["-Wl,--no-as-needed", "-lz"], "m/m.so needs libz.so.1"),
        ("void helper(void) {}\n" + start(""), [], "m/m.so exports helper"),
    ):
        with pytest.raises(tools["Failure"], match=words):
            tools["check_needs"](wheel_of(tmp_path, code, *flags), tmp_path / "unpacked")


def test_another_machine_gets_only_a_reader():
    other = "aarch64" if platform.machine() != "aarch64" else "x86_64"
    done = run(ROOT / "scripts/wheel_libraries", other)
    assert done.returncode == 1 and "HDF5" in done.stderr and "next: add --reader" in done.stderr, done


# --- scripts/demo and scripts/train_from_shards, in a tree of their own where nothing is installed or built


@pytest.fixture(name="tree")
def tree_fixture(tmp_path):
    """A root with the two scripts, our programs and pictures, and stand-ins for scripts/setup and cmake."""
    root = tmp_path / "root"
    for name in ("scripts", "build"):
        (root / name).mkdir(parents=True)
    for name in ("demo", "train_from_shards"):
        shutil.copy(ROOT / "scripts" / name, root / "scripts" / name)
    (root / "scripts/plot").symlink_to(ROOT / "scripts/plot")
    (root / ".venv").symlink_to(ROOT / ".venv")
    (root / "build/release").symlink_to(BIN.parent)
    shutil.copytree(SHAPES, root / "samples/shapes")
    put_program(root / "scripts/setup", "echo set up")
    put_program(root / "bin/cmake", '[ $1 = --preset ] || { echo "[1/10] a"; echo "[5/10] b"; echo "cmake $*" >&2; }')
    return root


def in_tree(tree, *command, **environment):
    path = f"{tree}/bin:{os.environ['PATH']}"
    return run(tree / "scripts" / command[0], *command[1:], cwd=tree, PATH=path, **environment)


@needs_trainer
def test_demo_packs_verifies_trains_and_ends_with_what_packing_gains(tree):
    done = run("bash", "-c", "scripts/demo 2>&1", cwd=tree, PATH=f"{tree}/bin:{os.environ['PATH']}")
    assert done.returncode == 0, done.stdout
    assert "cmake --build --preset release --target packhorse packhorse-train" in done.stdout
    assert done.stdout.startswith("set up\ndemo: building") and "demo: built 5 of 10\n" in done.stdout
    commands = [command.split()[:2] for command, _ in steps_of(done.stdout)]
    packed = [["packhorse", "pack"], ["packhorse", "inspect"]] * 4
    assert commands[:8] == packed and commands[-2:] == [["packhorse-train", "measure"], ["scripts/plot", commands[-1][1]]]
    assert done.stdout.count("ok: ") == 4
    lines = done.stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if re.match(r"images/s +read +read\+decode +training +waiting", line))
    assert [line.split()[0] for line in lines[head + 1 : head + 6]] == ["folder", "wds", "lmdb", "hdf5", "wds"]
    end = lines[lines.index(next(line for line in lines if line.startswith("$ scripts/plot"))) :]
    assert [line for line in end if line.startswith("From simulated nfs: ")]
    assert [line for line in end if line.startswith("From the page cache: ")]
    pictures = re.fullmatch(r"Pictures of the images: (.*); of the measurement: (.*)", lines[-1]).groups()
    assert all((tree / picture).stat().st_size > 10_000 for picture in pictures)


def test_demo_of_a_folder_that_is_not_there_says_so(tree):
    done = in_tree(tree, "demo", "no-such-folder")
    assert done.returncode == 1 and done.stdout == "" and "no-such-folder is no folder" in done.stderr


@needs_trainer
def test_train_from_shards_packs_trains_and_evaluates(tree):
    fit = ["--arch", "smallnet", "--epochs", "1", "--batch-size", "8"]
    done = in_tree(tree, "train_from_shards", "samples/shapes", "--format", "hdf5", "--min-top1", "0", "--", *fit)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok: ") == 3 and "$ packhorse-train fit --data build/train/shapes/hdf5" in done.stdout
    assert (tree / "build/train/shapes/run/last.pt").stat().st_size > 0


def test_train_from_shards_fails_below_the_accuracy_asked_for(tree):
    """The programs are stand-ins; what they train is right half the time."""
    put_program(tree / "stubs/packhorse", "")
    put_program(tree / "stubs/packhorse-train", "case $* in eval*--json) echo '{\"top1\": 50.0}' ;; esac")
    for least, code in (("50", 0), ("50.1", 1)):
        command = ["train_from_shards", "samples/shapes", "--min-top1", least]
        done = in_tree(tree, *command, PACKHORSE_BIN=str(tree / "stubs"))
        assert done.returncode == code and ("top-1 is 50.0, less than 50.1" in done.stderr) == (code == 1)


# --- scripts/bundle and scripts/gpu_table

# Options for a table of one batch size that a CPU makes in seconds.
TINY_TABLE = ["--images", "16", "--arch", "mobilenet_v2", "--image-size", "32", "--batch-size", "4", "--amp", "off",
              "--device", "cpu", "--repeats", "1", "--seconds", "0.01", "--baseline-steps", "1"]  # fmt: skip


@needs_trainer
def test_a_bundle_for_a_gpu_machine_runs_with_its_own_libraries_and_the_libtorch_of_a_python(tmp_path):
    done = run(ROOT / "scripts/bundle", "--gpu", "--build", BIN.parent, tmp_path / "bundle.tar.zst")
    if "built without CUDA kernels" in done.stderr or "nvJPEG's library is not here" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "bundle.tar.zst").stat().st_size < 60 << 20  # xz makes two thirds of it
    subprocess.run(["tar", "-xf", "bundle.tar.zst"], cwd=tmp_path, check=True)
    (tree,) = tmp_path.glob("packhorse-gpu-*/")
    assert not list(tree.glob("lib/libicudata*")) and not list(tree.glob("lib/libgfortran*"))
    trainer = tree / "lib/packhorse/packhorse-train"
    version = [tree / "bin/packhorse-train", "--version"]
    lost = subprocess.run(version, env={}, capture_output=True, text=True, check=False)
    assert lost.returncode == 1 and "packhorse-use-torch" in lost.stderr and "pip install torch==" in lost.stderr, lost
    refused = run(tree / "use-torch", "false")
    assert refused.returncode == 1 and "false has no torch" in refused.stderr
    taken = run(tree / "use-torch", sys.executable)
    assert taken.returncode == 0, taken.stderr
    (site,) = (ROOT / ".venv/lib").glob("python3*/site-packages")
    # Beside its own, a program has the C library and what torch's wheels bring.
    left = r"(libc|libm|libdl|librt|libpthread|libresolv|libutil|libgomp|libcu\w+|libnv\w+|libnccl)[.-].*"
    for program in (tree / "bin/packhorse", tree / "bin/trainer_unit_tests", trainer):
        found = subprocess.run(["ldd", program], env={}, capture_output=True, text=True, check=True).stdout
        assert "not found" not in found, found
        libraries = re.findall(r"^\s*(\S+) => (/\S+)", found, re.MULTILINE)
        outside = [name for name, path in libraries if not path.startswith(str(tmp_path)) and str(site) not in path]
        assert all(re.fullmatch(left, name) for name in outside), outside
    pack = [tree / "bin/packhorse", "pack", SHAPES, "out", "--format", "hdf5"]
    for command in (pack, version, [tree / "bin/trainer_unit_tests", "--test-suite=gpu"]):
        done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done
    make_source(tmp_path / "photos", 16)
    options = ["--result", "r.json", "--parts", "idle", "--out", "out", *TINY_TABLE]
    table = [sys.executable, tree / "scripts/gpu_table", "photos", *options]
    done = run(*table, cwd=tmp_path, PACKHORSE_BIN=str(tree / "bin"))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", name="photos")
def photos_fixture(tmp_path_factory):
    if not TRAIN.exists() or importlib.util.find_spec("torchvision") is None:
        pytest.skip("packhorse-train or torchvision is not there")
    return make_source(tmp_path_factory.mktemp("photos"), 16)


def gpu_table(photos, tmp_path, *more):
    return run(sys.executable, ROOT / "scripts/gpu_table", photos, "--out", tmp_path / "out", *TINY_TABLE, *more)


def test_gpu_table_goes_on_after_a_failure_does_only_what_is_missing_and_names_what_a_cpu_cannot(photos, tmp_path):
    kept, page = tmp_path / "kept.json", tmp_path / "page.md"
    two = ["--parts", "plain", "baseline", "--baseline-arch", "no_such_net"]
    failed = gpu_table(photos, tmp_path, "--result", kept, *two)
    assert failed.returncode == 1 and "failed: baseline-4" in failed.stderr
    parts = json.loads(kept.read_text())["parts"]
    assert "no_such_net" in parts["baseline-4"]["failed"] and parts["plain-4"]["runs"]
    page.write_text("<!-- gpu table: begin -->\n<!-- gpu table: end -->\n")
    again = gpu_table(photos, tmp_path, "--result", kept, "--write", page)
    assert again.returncode == 0, again.stderr
    assert "plain-4 is in" in again.stderr and "not measured" in again.stderr
    assert json.loads(kept.read_text())["parts"]["plain-4"] == parts["plain-4"]
    rows = [line.split("|")[2].strip() for line in page.read_text().splitlines() if line.startswith("| 4 ")]
    assert rows[:5] == ["made-up data (the limit)", "folder", "wds roi", "wds resize", "wds raw"]
    assert rows[5].startswith("PyTorch's DataLoader, ")
    other = gpu_table(photos, tmp_path, "--result", kept, "--amp", "bf16")
    assert other.returncode == 1 and "was measured with another amp" in other.stderr


def test_gpu_table_ends_a_part_that_takes_too_long(photos, tmp_path):
    done = gpu_table(photos, tmp_path, "--parts", "plain", "--part-minutes", "0.0001")
    assert done.returncode == 1 and "not done after 0.0001 minutes" in done.stderr
    assert "no batch size has its part" in done.stdout


# --- tests/skips.py

SKIPPING = """
import pytest

def test_one():
    pytest.skip("no GPU")

def test_two():
    pytest.importorskip("no_such_module_anywhere", reason="there is no such module")
"""


def test_a_skip_that_is_not_on_the_list_of_optional_ones_fails_the_run(tmp_path):
    for name in ("conftest.py", "python_support.py", "skips.py", "optional_skips.txt"):
        shutil.copy(ROOT / "tests" / name, tmp_path)
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    skipped = tmp_path / "skipped.jsonl"
    judge = [sys.executable, tmp_path / "skips.py", skipped]
    assert run(*judge).stdout == "test: nothing was skipped\n"
    notes = {"PACKHORSE_SKIPS": str(skipped), "PACKHORSE_TIMES": ""}
    run(sys.executable, "-m", "pytest", "-q", "test_skipping.py", cwd=tmp_path, **notes)
    done = run(*judge)
    assert done.returncode == 1 and "1 x no GPU: GPU code runs only where" in done.stdout
    assert "1 x there is no such module: NOT OPTIONAL\n" in done.stdout and "test_two" in done.stdout
    skipped.write_text("".join(line for line in skipped.open() if "no GPU" in line))
    assert run(*judge).returncode == 0


def test_a_test_program_called_like_a_folder_of_the_code_is_that_program():
    assert touched.is_pytest(ROOT / "tests/cli") and touched.is_pytest(ROOT / "tests/scripts/test_scripts.py")
    assert not touched.is_pytest(ROOT / "reader") and not touched.is_pytest(ROOT / "libpack")
