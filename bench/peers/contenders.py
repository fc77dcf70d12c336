"""The commands that are measured or verified side by side, and the figures each of them prints."""

import dataclasses
import json
import shutil
from pathlib import Path

from common.environment import LOAD, PEERS_PYTHON, version_of_loader
from common.machine import packhorse_versions

BATCH = 64


@dataclasses.dataclass(frozen=True)
class Tools:
    """What the commands are made of."""

    packhorse: Path
    jobs: int
    seconds: float  # a warm pass lasts at least, in whole epochs
    scratch: Path  # of the peers' own, which LitData clears


@dataclasses.dataclass(frozen=True)
class Peer:
    """A loader of common/loaders."""

    name: str
    shuffle: str  # how it mixes, in words
    loader: str = ""  # its name there, where that is another one
    defaults: bool = False  # as it comes, where that loses or repeats samples

    @property
    def shown(self):
        return f"load.py run '{self.loader or self.name}' INPUT JOBS SECONDS"

    def missing(self, tools):
        return version_of_loader(self.loader or self.name)[1]

    def version(self, tools):
        return version_of_loader(self.loader or self.name)[0].strip("()")

    def wake(self, tools):
        """Brings the program into the page cache."""
        return [PEERS_PYTHON, LOAD, "version", self.loader or self.name]

    def called(self, tools, work, path, last, side):
        options = ["--side", side, "--scratch", tools.scratch, *(["--defaults"] if self.defaults else [])]
        return [PEERS_PYTHON, LOAD, work, self.loader or self.name, path, tools.jobs, last, *options]

    def pass_over(self, tools, path, side, cold):
        return [*self.called(tools, "run", path, tools.seconds, side), *(["--cold"] if cold else [])]

    def check(self, tools, path, original, side):
        return self.called(tools, "verify", path, original, side)

    def figures(self, printed):
        return json.loads(printed)

    def facts(self, printed):
        return json.loads(printed)


@dataclasses.dataclass(frozen=True)
class Packhorse:
    """`packhorse bench`, the reader of packhorse without a trainer."""

    name: str
    shuffle: str = "whole"
    defaults: bool = False
    shown = "packhorse bench INPUT --work decode --size SIDE --batch-size 64 --workers JOBS --repeats 1"

    def missing(self, tools):
        return None if shutil.which(tools.packhorse) else f"{tools.packhorse} is not installed"

    def version(self, tools):
        return packhorse_versions(tools.packhorse).split(" (")[0]

    def wake(self, tools):
        return [tools.packhorse, "--version"]

    def pass_over(self, tools, path, side, cold):
        what = ["--work", "decode", "--size", side, "--batch-size", BATCH, "--workers", tools.jobs, "--repeats", 1]
        last = ["--cold"] if cold else ["--min-seconds", tools.seconds]
        return [tools.packhorse, "bench", path, *what, *last, "--json"]

    def check(self, tools, path, original, side):
        return [tools.packhorse, "inspect", path, "--against", original, "--json"]

    def figures(self, printed):
        run = json.loads(printed)["runs"][0]
        kept = {name: run[name] for name in ("images", "seconds", "cpu_s", "first_batch_s")}
        rate = {"images_per_s": run["images"] / run["seconds"], "read_bytes": run["disk_bytes"]}
        return {"samples": run["dataset_images"], **kept, **rate, "bytes": run["bytes"]}

    def facts(self, printed):
        """Of what it has packed: of what it reads, its own tests say the same."""
        found = json.loads(printed)
        lost = sum(finding["kind"] != "extra" for finding in found["findings"])
        return {"samples": found["checked"]["samples"], "lost": [lost], "repeated": [], "packed_only": True}


def versions(settings, names):
    """Those that all of a table share; each contender's own stands in its line."""
    return {"packhorse": packhorse_versions(settings.tools.packhorse)}
