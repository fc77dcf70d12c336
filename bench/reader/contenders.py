"""The commands that are measured side by side, and the figures each of them prints."""

import json
import re
import subprocess

from common.environment import LOAD
from common.suite import Contender

# dd reads one file at a time; its own clocks are added up.
DIRECT_READS = 'export LC_ALL=C; for file; do dd if="$file" of=/dev/null bs=16M iflag=direct 2>&1 || exit; done'
DD_LINE = re.compile(rb"^(\d+) bytes .* copied, ([\d.e-]+) s", re.M)


def ours(name, *options):
    shown = " ".join(["packhorse bench DATASET", *options, "--workers JOBS --repeats 1"])
    argv = ("{packhorse}", "bench", "{source}", *options, "--workers", "{jobs}", "--repeats", "1")
    return Contender(name, (*argv, "--min-seconds", "{seconds}", "--json"), shown, figures_of_bench)


def loop(name, kind):
    argv = ("{loops}", kind, "{source}", "--threads", "{jobs}", "--min-seconds", "{seconds}")
    return Contender(name, argv, f"reader_loops {kind} INPUT --threads JOBS")


def fetch(mode):
    argv = ("{loops}", "fetch", "{source}", "--mode", mode, "--threads", "{jobs}")
    return Contender(mode, argv, f"reader_loops fetch DATASET --mode {mode} --threads JOBS")


def start(name):
    return Contender(name, ("{loops}", "start", "{source}", "--threads", "{jobs}"), "reader_loops start DATASET")


def peer(name):
    argv = ("{python}", "{load}", "run", name, "{source}", "{jobs}", "{seconds}")
    return Contender(name, argv, f"load.py run '{name}' INPUT JOBS SECONDS", peer=(LOAD, name))


class Dd(Contender):
    """Reads the shards of the input, whose paths stand behind the command."""

    def command(self, tools, source, *_):
        described = subprocess.run([tools.packhorse, "inspect", source, "--json"], capture_output=True, check=True)
        return [*self.argv, *(f"{source}/{shard['file']}" for shard in json.loads(described.stdout)["shards"])]


def dd(name):
    shown = "dd iflag=direct bs=16M of=/dev/null, shard by shard"
    return Dd(name, ("sh", "-c", DIRECT_READS, "sh"), shown, figures_of_dd, program="dd")


def figures_of_bench(printed, *_):
    run = json.loads(printed)["runs"][0]
    kept = ("images", "seconds", "cpu_s", "bytes", "disk_bytes", "first_batch_s", "batch_ms", "stages")
    rates = {"images_per_s": run["images_per_s"]["median"], "mb_per_s": run["bytes"] / run["seconds"] / 1e6}
    return {"samples": run["dataset_images"], **rates, **{name: run[name] for name in kept}}


def figures_of_dd(printed, *_):
    found = [(int(size), float(seconds)) for size, seconds in DD_LINE.findall(printed)]
    size, seconds = map(sum, zip(*found))
    return {"bytes": size, "seconds": seconds, "mb_per_s": size / seconds / 1e6}
