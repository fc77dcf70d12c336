"""The commands that are measured side by side, and the figures each of them prints."""

import dataclasses
import json
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from common.environment import LOAD, PEERS_PYTHON, version_of_loader
from common.loaders import NAMES
from common.machine import first_line, packhorse_versions

# dd reads one file at a time; its own clocks are added up.
DIRECT_READS = 'export LC_ALL=C; for file; do dd if="$file" of=/dev/null bs=16M iflag=direct 2>&1 || exit; done'
DD_LINE = re.compile(rb"^(\d+) bytes .* copied, ([\d.e-]+) s", re.M)


@dataclasses.dataclass(frozen=True)
class Tools:
    """What the commands are made of."""

    packhorse: Path
    loops: Path
    jobs: int
    seconds: float  # a warm run lasts at least, in whole epochs
    scratch: Path


@dataclasses.dataclass(frozen=True)
class Contender:
    """A command with {input}, {jobs} and so on to be filled in, and how its figures are found in what it prints."""

    name: str
    argv: tuple
    shown: str
    figures: Callable  # printed bytes -> dictionary
    peer: str = ""  # a name of common/loaders, for what runs in their environment
    reads_shards: bool = False  # the paths of the input's shards stand behind the command

    def command(self, tools, path):
        filled = {
            "packhorse": tools.packhorse,
            "loops": tools.loops,
            "input": path,
            "jobs": tools.jobs,
            "seconds": tools.seconds,
            "python": PEERS_PYTHON,
            "load": LOAD,
        }
        words = [word if word == DIRECT_READS else word.format(**filled) for word in self.argv]
        return words + (shards_of(tools, path) if self.reads_shards else [])

    def missing(self, tools):
        """Why it cannot run here, or nothing."""
        if self.peer:
            return version_of_loader(self.peer)[1]
        program = self.command(tools, "")[0] if not self.reads_shards else "dd"
        return None if shutil.which(program) else f"{program} is not installed"


def ours(name, *options, jobs="{jobs}"):
    shown = " ".join(["packhorse bench DATASET", *options, "--workers JOBS --repeats 1"])
    argv = ("{packhorse}", "bench", "{input}", *options, "--workers", jobs, "--repeats", "1")
    return Contender(name, (*argv, "--min-seconds", "{seconds}", "--json"), shown, figures_of_bench)


def loop(name, kind):
    argv = ("{loops}", kind, "{input}", "--threads", "{jobs}", "--min-seconds", "{seconds}")
    return Contender(name, argv, f"reader_loops {kind} INPUT --threads JOBS", json.loads)


def fetch(mode):
    shown = f"reader_loops fetch DATASET --mode {mode} --threads JOBS"
    return Contender(mode, ("{loops}", "fetch", "{input}", "--mode", mode, "--threads", "{jobs}"), shown, json.loads)


def start(name):
    return Contender(
        name, ("{loops}", "start", "{input}", "--threads", "{jobs}"), "reader_loops start DATASET", json.loads
    )


def peer(name):
    argv = ("{python}", "{load}", "run", name, "{input}", "{jobs}", "{seconds}")
    return Contender(name, argv, f"load.py run '{name}' INPUT JOBS SECONDS", json.loads, peer=name)


def dd(name):
    shown = "dd iflag=direct bs=16M of=/dev/null, shard by shard"
    return Contender(name, ("sh", "-c", DIRECT_READS, "sh"), shown, figures_of_dd, reads_shards=True)


def figures_of_bench(printed):
    run = json.loads(printed)["runs"][0]
    kept = ("images", "seconds", "cpu_s", "bytes", "disk_bytes", "first_batch_s", "batch_ms", "stages")
    rates = {"images_per_s": run["images_per_s"]["median"], "mb_per_s": run["bytes"] / run["seconds"] / 1e6}
    return {"samples": run["dataset_images"], **rates, **{name: run[name] for name in kept}}


def figures_of_dd(printed):
    found = [(int(size), float(seconds)) for size, seconds in DD_LINE.findall(printed)]
    size, seconds = map(sum, zip(*found))
    return {"bytes": size, "seconds": seconds, "mb_per_s": size / seconds / 1e6}


def shards_of(tools, path):
    described = subprocess.run([tools.packhorse, "inspect", path, "--json"], capture_output=True, check=True)
    return [f"{path}/{shard['file']}" for shard in json.loads(described.stdout)["shards"]]


def versions(settings, names):
    """The version of each contender of `names`, and of packhorse with its libraries."""
    found = {"packhorse": packhorse_versions(settings.tools.packhorse)}
    found |= {name: version_of_loader(name)[0] for name in names if name in NAMES}
    if any(name.startswith("dd") for name in names):
        found["dd"] = first_line("dd", "--version")
    return found | {"python": platform.python_version()}
