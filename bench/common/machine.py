"""What the figures hold for: the machine, without its name, and the versions of programs."""

import os
import platform
import re
import subprocess
from pathlib import Path

from common.data import file_system


def machine(places):
    memory = re.search(r"MemTotal: +(\d+)", Path("/proc/meminfo").read_text())
    return {
        "cpu": first_match(r"model name\s*: (.*)", "/proc/cpuinfo"),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": int(memory[1]) * 1024,
        "system": first_match(r'PRETTY_NAME="(.*)"', "/etc/os-release"),
        "kernel": platform.release().split("-")[0],
        "disk_file_system": file_system(places.data),
        "memory_file_system": file_system(places.memory),
    }


def first_match(pattern, path):
    found = re.search(pattern, Path(path).read_text())
    return found[1] if found else "unknown"


def packhorse_versions(program):
    """`packhorse 0.1.0 (tbb 2021.8, ...)`: its own version and those of its libraries."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    return f"{lines[0].removeprefix('packhorse ')} ({', '.join(lines[1:])})" if lines else "unknown"


def first_line(*command):
    """On either stream. jpegtran says its version and goes on to wait for an image."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines()[0]
