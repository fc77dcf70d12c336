"""The commands that are measured or verified side by side, and the figures each of them prints."""

import dataclasses
import json

from common.environment import LOAD, version_of
from common.machine import packhorse_versions
from common.suite import Contender


@dataclasses.dataclass(frozen=True)
class Loader(Contender):
    """What reads a form of the folder; the suite decides its command: passing() over the input, or verifying() it."""

    shuffle: str = ""  # how it mixes, in words
    defaults: bool = False  # as it comes, where that loses or repeats samples

    def version_text(self, tools):
        if self.peer:
            return version_of(*self.peer)[0].strip("()")
        return packhorse_versions(tools.packhorse).split(" (")[0]

    def called(self, work, last, *options):
        options = ("--scratch", "{scratch}", *options, *(["--defaults"] if self.defaults else []))
        return ("{python}", "{load}", work, self.peer[1], "{source}", "{jobs}", last, *options)

    def passing(self, side, cold):
        argv = self.called("run", "{seconds}", "--side", side, *(["--cold"] if cold else []))
        return dataclasses.replace(self, argv=argv)

    def verifying(self, side):
        return dataclasses.replace(self, argv=self.called("verify", "{original}", "--side", side))


class Ours(Loader):
    """`packhorse bench`, the reader of packhorse without a trainer."""

    def passing(self, side, cold):
        argv = ("{packhorse}", "bench", "{source}", "--work", "decode", "--size", side, "--batch-size", "64")
        argv += ("--workers", "{jobs}", "--repeats", "1", *(["--cold"] if cold else ["--min-seconds", "{seconds}"]))
        return dataclasses.replace(self, argv=(*argv, "--json"), figures=figures_of_bench)

    def verifying(self, side):
        argv = ("{packhorse}", "inspect", "{source}", "--against", "{original}", "--json")
        return dataclasses.replace(self, argv=argv, figures=facts_of_inspect)


def peer(name, shuffle, loader="", defaults=False):
    """A loader of common/loaders; `loader` is its name there, where that is another one."""
    loader = loader or name
    wake = ("{python}", "{load}", "version", loader)
    shown = f"load.py run '{loader}' INPUT JOBS SECONDS"
    return Loader(name, (), shown, peer=(LOAD, loader), wake=wake, shuffle=shuffle, defaults=defaults)


def packhorse(name):
    shown = "packhorse bench INPUT --work decode --size SIDE --batch-size 64 --workers JOBS --repeats 1"
    return Ours(name, ("{packhorse}",), shown, wake=("{packhorse}", "--version"), shuffle="whole")


def figures_of_bench(printed, *_):
    run = json.loads(printed)["runs"][0]
    kept = {name: run[name] for name in ("images", "seconds", "cpu_s", "first_batch_s")}
    rate = {"images_per_s": run["images"] / run["seconds"], "read_bytes": run["disk_bytes"]}
    return {"samples": run["dataset_images"], **kept, **rate, "bytes": run["bytes"]}


def facts_of_inspect(printed, *_):
    """Of what it has packed: of what it reads, its own tests say the same."""
    found = json.loads(printed)
    lost = sum(finding["kind"] != "extra" for finding in found["findings"])
    return {"samples": found["checked"]["samples"], "lost": [lost], "repeated": [], "packed_only": True}
