"""Suites of packers: every run is on a cache in the same state and into an empty folder. And `packhorse pack`, with what
it has really written."""

import dataclasses
import json
import subprocess

from common.data import require_space
from common.measure import sync
from common.session import Session
from common.suite import Contender


class PackSession(Session):
    def made(self):
        most = max(self.folders.values(), key=lambda folder: folder.bytes, default=None)
        if most:
            require_space(self.work.parent, 1.6 * most.bytes + 3072 * most.files, "the output")

    def one_run(self, entry):
        self.empty(self.work, self.settings.tools.scratch)
        sync(self.work)
        return super().one_run(entry)

    def run_of(self, entry, cost, figures):
        out = self.work / "out"
        size = sum(file.stat().st_size for file in [out, *out.rglob("*")] if file.is_file())
        right = self.cache_was_right(cost.read_bytes, self.folder(entry).disk_bytes)
        return {**dataclasses.asdict(cost), **figures, "output_bytes": size, "cache_as_asked": right}


def in_dataset(printed, tools, out):
    """What `pack` says must be what `inspect` finds."""
    report, found = json.loads(printed), 0
    for split in report["splits"]:
        command = [tools.packhorse, "inspect", split["path"], "--json"]
        found += json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["samples"]
    return {"samples": min(report["packed"], found)}


def ours(name, argv, shown, figures):
    return Contender(name, ("{packhorse}", *argv, "--json"), shown, figures, wake=("{packhorse}", "--version"))


def packhorse(name, form, *options, jobs="{jobs}", figures=in_dataset, folders=True):
    """`packhorse pack`, of class folders or of another source."""
    options = ("--format", form, "--jobs", jobs, *map(str, options))
    shown = " ".join(("packhorse pack SOURCE OUT", *options)).replace("{jobs}", "JOBS")
    odd = ("--allow-odd-classes",) if folders else ()
    return ours(name, ("pack", "{source}", "{out}", *odd, *options), shown, figures)
