"""What the figures hold for: the machine, without its name, and the version of everything that took part."""

import os
import platform
import re
import subprocess
from pathlib import Path

from contenders import jpegtran_version, version_of_peer
from data import file_system
from peers import PEERS


def machine(settings):
    memory = re.search(r"MemTotal: +(\d+)", Path("/proc/meminfo").read_text())
    return {
        "cpu": first_match(r"model name\s*: (.*)", "/proc/cpuinfo"),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": int(memory[1]) * 1024,
        "system": first_match(r'PRETTY_NAME="(.*)"', "/etc/os-release"),
        "kernel": platform.release().split("-")[0],
        "disk_file_system": file_system(settings.places.data),
        "memory_file_system": file_system(settings.places.memory),
    }


def first_match(pattern, path):
    found = re.search(pattern, Path(path).read_text())
    return found[1] if found else "unknown"


def versions(settings, names):
    """The version of each contender of `names` that is installed, and of packhorse with its libraries."""
    found = {"packhorse": packhorse_versions(settings.tools.packhorse)}
    if "tar" in names:
        found["tar"] = first_line("tar", "--version")
    if "jpegtran" in names:
        found["jpegtran"] = jpegtran_version()
    if any(name.startswith("sha256sum") for name in names):
        found["sha256sum"] = first_line("sha256sum", "--version")
    peers = {name: version_of_peer(name)[0] for name in names if name in PEERS}
    found |= {name: version for name, version in peers.items() if version}
    found["python"] = platform.python_version()
    return found


def packhorse_versions(program):
    """`packhorse 0.1.0 (tbb 2021.8, ...)`: its own version and those of its libraries."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    return f"{lines[0].removeprefix('packhorse ')} ({', '.join(lines[1:])})" if lines else "unknown"


def first_line(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()[0]
