"""Where programs are, ours and those of the peers' own environment, which bench/setup makes; their versions; and the
machine that the figures hold for, without its name."""

import functools
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

BENCHES = Path(__file__).resolve().parents[1]
ROOT = BENCHES.parent
ARCHIVES = Path(os.environ.get("PACKHORSE_DATA", ROOT / "../shared/data"))  # imagenet200.tar, cifar10-jpeg.tar.zst
PEERS_PYTHON = BENCHES / ".venv/bin/python"
PEER = BENCHES / "peer.py"


def built(program):
    """One of our programs: in PACKHORSE_BIN, or as a preset builds it."""
    folders = [ROOT / "build" / preset / "bin" for preset in ("release", "no-trainer")]
    if "PACKHORSE_BIN" in os.environ:
        folders.insert(0, Path(os.environ["PACKHORSE_BIN"]))
    return next((folder / program for folder in folders if (folder / program).exists()), folders[0] / program)


def require(program):
    """Ends the bench where a program of ours is not there."""
    if not program.exists():
        sys.exit(f"{program} is not there; build it: cmake --build --preset release --target {program.name}")
    return program


def import_test_servers():
    """Makes the servers, the fault proxy and the client of S3 of the tests importable: servers, s3."""
    sys.path.insert(1, str(ROOT / "tests/remote"))


def peer(*words):
    """A finished call of peer.py."""
    return subprocess.run([PEERS_PYTHON, PEER, *words], capture_output=True, text=True, check=False)


@functools.cache
def peer_version(name):
    """(version, None) of a contender, or (None, why it cannot be used)."""
    if not PEERS_PYTHON.exists():
        return None, "not installed: run bench/setup"
    done = peer("version", name)
    if done.returncode == 0:
        return done.stdout.strip(), None
    return None, f"not installed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"


def packhorse_versions(program):
    """`0.1.0 (tbb 2021.8, ...)`: packhorse's own version and those of its libraries."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    return f"{lines[0].removeprefix('packhorse ')} ({', '.join(lines[1:])})" if lines else "unknown"


def packhorse_version():
    return packhorse_versions(built("packhorse")).split(" (")[0]


def first_line(*command):
    """On either stream. jpegtran says its version and goes on to wait for an image."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines()[0]


def file_system(path):
    """The type of the file system of `path`: that of the longest mount point above it."""
    best = ("", "unknown")
    for line in Path("/proc/mounts").read_text().splitlines():
        _, point, kind = line.split()[:3]
        if Path(path).resolve().is_relative_to(point) and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


def first_match(pattern, path):
    found = re.search(pattern, Path(path).read_text())
    return found[1] if found else "unknown"


def processor():
    return first_match(r"model name\s*: (.*)", "/proc/cpuinfo")


def machine(places):
    memory = re.search(r"MemTotal: +(\d+)", Path("/proc/meminfo").read_text())
    return {
        "cpu": processor(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": int(memory[1]) * 1024,
        "system": first_match(r'PRETTY_NAME="(.*)"', "/etc/os-release"),
        "kernel": platform.release().split("-")[0],
        "disk_file_system": file_system(places.data),
    }
