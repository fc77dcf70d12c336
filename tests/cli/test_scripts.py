"""The scripts that a user runs. They build and run the release preset, so they are tested only there."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from python_support import make_source

ROOT = Path(os.environ["PACKHORSE_ROOT"])
BIN = Path(os.environ["PACKHORSE_BIN"])

release_only = pytest.mark.skipif(
    BIN.resolve() != (ROOT / "build/release/bin").resolve() or not (BIN / "packhorse-train").exists(),
    reason="the scripts use build/release, and this is another build",
)


def run(*command):
    return subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True, timeout=900)


@pytest.mark.parametrize("script", ["bundle", "demo", "package", "test", "test_bare", "test_package", "train_from_shards", "setup", "wheel"])
def test_a_script_explains_itself(script):
    done = run(ROOT / "scripts" / script, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: scripts/{script}")


@pytest.mark.parametrize("script", ["bundle", "demo", "package", "test", "test_bare", "test_package", "setup", "wheel"])
def test_a_script_refuses_an_unknown_option(script):
    assert run(ROOT / "scripts" / script, "--nonsense").returncode == 2


@pytest.mark.parametrize(("python", "words"), [("no-such-python", "is no program"), ("/bin/false", "must be a Python")])
def test_a_wheel_is_not_begun_with_what_is_no_python(tmp_path, python, words):
    done = run(ROOT / "scripts/wheel", "--out", tmp_path / "wheels", sys.executable, python)
    assert done.returncode == 1 and python in done.stderr and words in done.stderr and "next: " in done.stderr
    assert not (tmp_path / "wheels").exists()


@release_only
def test_demo_ends_with_what_packing_gains_and_names_its_pictures():
    done = run(ROOT / "scripts/demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ok: ") == 4
    lines = done.stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if re.match(r"images/s +read +read\+decode +training +waiting", line))
    assert [line.split()[0] for line in lines[head + 1 : head + 6]] == ["folder", "wds", "lmdb", "hdf5", "wds"]
    end = lines[lines.index(next(line for line in lines if line.startswith("$ scripts/plot"))) :]
    assert [line for line in end if line.startswith("From simulated nfs: ")]
    assert [line for line in end if line.startswith("From the page cache: ")]
    pictures = re.fullmatch(r"Pictures of the images: (.*); of the measurement: (.*)", lines[-1]).groups()
    assert all((ROOT / picture).stat().st_size > 10_000 for picture in pictures)


@release_only
def test_demo_of_a_folder_that_is_not_there_says_so():
    done = run(ROOT / "scripts/demo", "no-such-folder")
    assert done.returncode == 1
    assert "no-such-folder is no folder" in done.stderr


@release_only
def test_train_from_shards_packs_trains_and_evaluates():
    fit = ["--arch", "smallnet", "--epochs", "2", "--batch-size", "30"]
    done = run(ROOT / "scripts/train_from_shards", "samples/shapes", "--min-top1", "1", "--format", "hdf5", "--", *fit)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok: ") == 3


@release_only
def test_train_from_shards_fails_below_the_accuracy_asked_for():
    fit = ["--arch", "smallnet", "--epochs", "1", "--batch-size", "30"]
    done = run(ROOT / "scripts/train_from_shards", "samples/shapes", "--min-top1", "101", "--", *fit)
    assert done.returncode == 1
    assert "less than 101" in done.stderr


@release_only
def test_a_bundle_runs_where_it_is_unpacked_with_its_own_libraries(tmp_path):
    done = run(ROOT / "scripts/bundle", tmp_path / "bundle.tar.zst")
    assert done.returncode == 0, done.stderr
    subprocess.run(["tar", "-xf", "bundle.tar.zst"], cwd=tmp_path, check=True)
    (tree,) = tmp_path.glob("packhorse-*/")
    (site,) = (ROOT / ".venv/lib").glob("python3*/site-packages")
    lost = subprocess.run([tree / "bin/packhorse-train", "--version"], capture_output=True, text=True)
    assert lost.returncode == 1 and "packhorse-use-torch" in lost.stderr and "pip install torch==" in lost.stderr, lost
    (tree / "lib/packhorse/site").symlink_to(site.resolve())
    for program, file in (("packhorse", "bin/packhorse"), ("packhorse-train", "lib/packhorse/packhorse-train")):
        said = subprocess.run([tree / "bin" / program, "--version"], env={}, capture_output=True, text=True, check=True)
        assert said.stdout.startswith(program)
        found = subprocess.run(["ldd", tree / file], env={}, capture_output=True, text=True, check=True)
        outside = re.findall(r"^\s*(\S+) => (/\S+)", found.stdout, re.MULTILINE)
        outside = [name for name, path in outside if not path.startswith(str(tmp_path)) and str(site) not in path]
        # The remaining libraries are the C library and those that torch's wheels bring.
        left = r"(libc|libm|libdl|librt|libpthread|libresolv|libutil|libgomp|libcu\w+|libnv\w+|libnccl)[.-].*"
        assert all(re.fullmatch(left, name) for name in outside), outside
    pack = subprocess.run([tree / "bin/packhorse", "pack", ROOT / "samples/shapes", "out", "--format", "hdf5"],
                          cwd=tmp_path, env={}, capture_output=True, text=True)  # fmt: skip
    assert pack.returncode == 0, pack.stderr


@release_only
def test_a_bundle_for_a_gpu_machine_fits_and_runs_on_the_libtorch_of_a_python(tmp_path):
    done = run(ROOT / "scripts/bundle", "--gpu", tmp_path / "bundle.tar.xz")
    if "built without CUDA kernels" in done.stderr or "nvJPEG's library is not here" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "bundle.tar.xz").stat().st_size < 40 << 20  # with this tree and 60 photos: 64 MiB
    subprocess.run(["tar", "-xf", "bundle.tar.xz"], cwd=tmp_path, check=True)
    (tree,) = tmp_path.glob("packhorse-gpu-*/")
    assert not list(tree.glob("lib/libicudata*")) and not list(tree.glob("lib/libgfortran*"))
    refused = run(tree / "use-torch", "false")
    assert refused.returncode == 1 and "false has no torch" in refused.stderr
    taken = run(tree / "use-torch", sys.executable)
    assert taken.returncode == 0, taken.stderr
    for program in (tree / "bin/packhorse", tree / "bin/trainer_unit_tests", tree / "lib/packhorse/packhorse-train"):
        missing = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
        assert "not found" not in missing.stdout, missing.stdout
    tests = subprocess.run([tree / "bin/trainer_unit_tests", "--test-suite=gpu"], cwd=tmp_path, capture_output=True, text=True)
    assert tests.returncode == 0, tests.stdout
    make_source(tmp_path / "photos", 16)
    table = subprocess.run([sys.executable, tree / "scripts/gpu_table", "photos", "--result", "r.json", "--parts", "idle",
                            *TINY_TABLE, "--out", "out"], cwd=tmp_path, capture_output=True, text=True)  # fmt: skip
    assert table.returncode == 0, table.stderr


# Options for a table of one batch size that a CPU makes in seconds.
TINY_TABLE = ["--images", "16", "--arch", "mobilenet_v2", "--image-size", "32", "--batch-size", "4", "--amp", "off",
              "--device", "cpu", "--repeats", "1", "--seconds", "0.05", "--baseline-steps", "1"]  # fmt: skip


def gpu_table(tmp_path, *more):
    return run(sys.executable, ROOT / "scripts/gpu_table", tmp_path / "photos", "--out", tmp_path / "out", *TINY_TABLE, *more)


needs_baseline = pytest.mark.skipif(
    not (BIN / "packhorse-train").exists() or importlib.util.find_spec("torchvision") is None,
    reason="packhorse-train or torchvision is not there")  # fmt: skip


@needs_baseline
def test_gpu_table_tries_everything_a_cpu_can_and_names_the_rest(tmp_path):
    make_source(tmp_path / "photos", 16)
    page = tmp_path / "page.md"
    page.write_text("<!-- gpu table: begin -->\n<!-- gpu table: end -->\n")
    done = gpu_table(tmp_path, "--write", page)
    assert done.returncode == 0, done.stderr
    assert "not measured" in done.stderr
    rows = [line.split("|")[2].strip() for line in page.read_text().splitlines() if line.startswith("| 4 ")]
    assert rows[:5] == ["made-up data (the limit)", "folder", "wds roi", "wds resize", "wds raw"]
    assert rows[5].startswith("PyTorch's DataLoader")


@needs_baseline
def test_gpu_table_keeps_what_is_measured_goes_on_after_a_failure_and_does_only_what_is_missing(tmp_path):
    make_source(tmp_path / "photos", 16)
    kept = tmp_path / "kept.json"
    failed = gpu_table(tmp_path, "--result", kept, "--parts", "plain", "baseline", "--baseline-arch", "no_such_net")
    assert failed.returncode == 1
    assert "failed: baseline-4" in failed.stderr
    parts = json.loads(kept.read_text())["parts"]
    assert "no_such_net" in parts["baseline-4"]["failed"] and parts["plain-4"]["runs"]
    again = gpu_table(tmp_path, "--result", kept, "--parts", "plain", "baseline")
    assert again.returncode == 0, again.stderr
    assert "plain-4 is in" in again.stderr and "PyTorch's DataLoader, " in again.stdout
    assert json.loads(kept.read_text())["parts"]["plain-4"] == parts["plain-4"]
    other = gpu_table(tmp_path, "--result", kept, "--amp", "bf16")
    assert other.returncode == 1
    assert "was measured with another amp" in other.stderr


@needs_baseline
def test_gpu_table_ends_a_part_that_takes_too_long(tmp_path):
    make_source(tmp_path / "photos", 16)
    done = gpu_table(tmp_path, "--parts", "plain", "--part-minutes", "0.0001")
    assert done.returncode == 1
    assert "not done after 0.0001 minutes" in done.stderr
    assert "no batch size has its part" in done.stdout


SKIPPING = """
import pytest

def test_one():
    pytest.skip("no GPU")

def test_two():
    pytest.importorskip("no_such_module_anywhere", reason="there is no such module")
"""


def judged(skipped):
    return run(sys.executable, ROOT / "tests/skips.py", skipped)


def test_a_skip_that_is_not_on_the_list_of_optional_ones_fails_the_run(tmp_path):
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    skipped = tmp_path / "skipped.jsonl"
    assert judged(skipped).stdout == "test: nothing was skipped\n"
    environment = dict(os.environ, PACKHORSE_SKIPS=str(skipped), PYTHONPATH=str(ROOT / "tests"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", tmp_path]
    for only, code in (("one", 0), ("two", 1)):  # the second run adds to the file
        subprocess.run([*command, "-k", only], env=environment, capture_output=True, check=True, cwd=tmp_path)
        done = judged(skipped)
        assert done.returncode == code, done
    assert "1 x no GPU: GPU code runs only where" in done.stdout
    assert "1 x there is no such module: NOT OPTIONAL\n" in done.stdout and "test_two" in done.stdout
    assert "next: have scripts/setup install" in done.stderr
