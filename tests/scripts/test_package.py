"""The Debian packages that cpack makes of this build: which files they have, what they depend on, and that they run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from python_support import BIN, PACKHORSE, ROOT, SHAPES, TRAIN

BUILD = BIN.parent
NAMES = ["packhorse", "libpackhorse-dev", *(["packhorse-train"] if TRAIN.exists() else [])]
SUBCOMMANDS = [
    "bench", "cache", "check", "copy", "diff", "duplicates", "export-index", "index", "inspect", "pack", "repair", "stats", "unpack"
]  # fmt: skip
TRAINS = ["detect", "eval", "export", "fit", "measure", "predict", "sweep"]


def help_files(program, subcommands):
    return {f"share/man/man1/{name}.1" for name in [program, *(f"{program}-{verb}" for verb in subcommands)]} | {
        f"share/bash-completion/completions/{program}",
    }


# What each package has below /usr, apart from headers; lib/<machine> is written as lib.
FILES = {
    "packhorse": help_files("packhorse", SUBCOMMANDS)
    | {"bin/packhorse"}
    | {f"share/doc/packhorse/{name}" for name in ("LICENSE", "README.md", "copyright")},
    "libpackhorse-dev": {f"lib/libpackhorse_{name}.a" for name in ("core", "dataset", "jpeg", "pack", "reader", "storage")}
    | {f"lib/pkgconfig/{name}.pc" for name in ("packhorse", "packhorse-core", "packhorse-reader", "packhorse-storage")}
    | {f"lib/cmake/packhorse/{name}.cmake" for name in ("CoreDependencies", "Dependencies", "packhorseConfig",
                                                       "packhorseConfigVersion", "packhorseCoreTargets",
                                                       "packhorseCoreTargets-TYPE", "packhorseTargets",
                                                       "packhorseTargets-TYPE")}
    | {"share/doc/libpackhorse-dev/copyright"},
    "packhorse-train": help_files("packhorse-train", TRAINS)
    | {"bin/packhorse-train", "bin/packhorse-use-torch", "lib/packhorse/packhorse-train"}
    | {"share/doc/packhorse-train/copyright"},
}  # fmt: skip


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """name -> .deb"""
    if not (BUILD / "CPackConfig.cmake").exists():
        pytest.skip("this build makes no packages")
    folder = tmp_path_factory.mktemp("packages")
    command = ["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {path.name.split("_")[0]: path for path in folder.glob("*.deb")}
    assert sorted(found) == sorted(NAMES)
    return found


@pytest.fixture(scope="module")
def installed(packages, tmp_path_factory):
    """A folder that holds the files of all packages, at places of their own."""
    root = tmp_path_factory.mktemp("installed")
    for package in packages.values():
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    return root


def field(package, name):
    return subprocess.run(["dpkg-deb", "-f", package, name], capture_output=True, text=True, check=True).stdout.strip()


def files_of(package):
    listing = subprocess.run(["dpkg-deb", "-c", package], capture_output=True, text=True, check=True).stdout
    files = {line.split(None, 5)[5].removeprefix("./usr/") for line in listing.splitlines() if not line.startswith("d")}
    files = {re.sub(r"^lib/[a-z0-9_]+-linux-gnu/", "lib/", file) for file in files}
    return {re.sub(r"Targets-[a-z]+\.", "Targets-TYPE.", file) for file in files}


@pytest.mark.parametrize("name", NAMES)
def test_a_package_has_these_files_and_no_others(packages, name):
    expected = set(FILES[name])
    if name == "libpackhorse-dev":
        for part in ("libpack", "reader"):
            root = ROOT / part / "include"
            expected |= {f"include/{path.relative_to(root)}" for path in root.rglob("*.h")}
    assert files_of(packages[name]) == expected


def test_packages_say_what_they_need(packages):
    depends = field(packages["packhorse"], "Depends")
    libraries = ("libc6", "libhdf5", "liblmdb0", "libarchive13", "libopencv-core", "libtbb12", "libtiff6", "libwebp7")
    for library in libraries:
        assert library in depends, depends
    assert "imgcodecs" not in depends
    assert "libhdf5-dev" in field(packages["libpackhorse-dev"], "Depends")
    if "packhorse-train" in packages:
        trainer = packages["packhorse-train"]
        assert "libhdf5" in field(trainer, "Depends") and "torch" not in field(trainer, "Depends")
        assert re.search(r"pip install torch==\d", field(trainer, "Description"))


def test_the_library_package_brings_what_its_pkg_config_files_ask_for(packages, installed):
    depends = re.findall(r"[^\s,]+", field(packages["libpackhorse-dev"], "Depends"))
    query = ["dpkg-query", "-W", "-f=${Depends}, ", *depends]  # libjpeg-dev only names another package
    depends += re.findall(r"[^\s,]+", subprocess.run(query, capture_output=True, text=True, check=False).stdout)
    modules = set()
    for file in installed.rglob("packhorse*.pc"):
        modules |= set(re.search(r"^Requires: (.*)$", file.read_text(), re.M)[1].split())
    for module in sorted(modules):
        command = ["pkg-config", "--variable=pcfiledir", module]
        folder = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        file = (Path(folder) / f"{module}.pc").resolve()
        owner = subprocess.run(["dpkg", "-S", file], capture_output=True, text=True, check=True).stdout.split(":")[0]
        assert owner in depends, (module, owner, depends)


def test_the_installed_program_packs(installed, tmp_path):
    program = installed / "usr/bin/packhorse"
    subprocess.run([program, "pack", SHAPES, tmp_path / "out", "--format", "wds", "-q"], check=True)
    subprocess.run([program, "inspect", tmp_path / "out", "--verify", "full", "-q"], check=True)


@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
def test_the_installed_trainer_says_how_to_get_libtorch_and_takes_that_of_a_python(installed):
    start, use = installed / "usr/bin/packhorse-train", installed / "usr/bin/packhorse-use-torch"
    lost = subprocess.run([start, "--version"], capture_output=True, text=True)
    assert lost.returncode == 1 and "LibTorch was not found" in lost.stderr and "pip install torch==" in lost.stderr
    refused = subprocess.run([use, "false"], capture_output=True, text=True)
    assert refused.returncode == 1 and "false has no torch" in refused.stderr
    chosen = subprocess.run([use, sys.executable], capture_output=True, text=True)
    assert chosen.returncode == 0 and chosen.stdout.startswith("packhorse-train "), chosen
    again = subprocess.run([start, "--version"], capture_output=True, text=True, check=True)
    assert again.stdout == chosen.stdout


def test_the_version_is_in_one_place():
    header = (ROOT / "libpack/include/packhorse/version.h").read_text()
    (version,) = re.findall(r'^#define PACKHORSE_VERSION "(\S+)"', header, re.M)
    said = subprocess.run([PACKHORSE, "-V"], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[0] == f"packhorse {version}"
    assert re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[0] == version


@pytest.mark.parametrize("name", ["Containerfile", "Containerfile.cuda"])
def test_container_files_are_sound(name):
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("hadolint is not there")
    done = subprocess.run([hadolint, ROOT / name], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
