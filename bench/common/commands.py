"""Commands that several benches measure: `packhorse bench`, and the contenders' `peer.py read` and `make`."""

import json
from functools import partial

from common.environment import peer
from common.suite import Contender


def figures_of_bench(printed, *_):
    run = json.loads(printed)["runs"][0]
    kept = ("images", "seconds", "cpu_s", "bytes", "first_batch_s", "objects")
    figures = {name: run[name] for name in kept if name in run}
    rates = {"images_per_s": run["images"] / run["seconds"], "mb_per_s": run["bytes"] / run["seconds"] / 1e6}
    return {"samples": run["dataset_images"], "read_bytes": run["disk_bytes"], **rates, **figures}


def packhorse_bench(name, *options, shuffle="whole"):
    """`packhorse bench`, the reader of packhorse without a trainer."""
    options = tuple(map(str, options))
    shown = " ".join(["packhorse bench DATASET", *options, "--workers JOBS --repeats 1"])
    argv = ("{packhorse}", "bench", "{source}", *options, "--workers", "{jobs}", "--repeats", "1", "--json")
    if "--cold" not in options:
        argv += ("--min-seconds", "{seconds}")
    wake = ("{packhorse}", "--version")
    return Contender(name, argv, shown, figures_of_bench, wake=wake, shuffle=shuffle)


def decodes(name, side=224, batch=64, cold=False):
    """`packhorse bench` of what a loader does: random crops in batches."""
    return packhorse_bench(
        name, "--work", "decode", "--size", side, "--batch-size", batch, *(["--cold"] if cold else [])
    )


def loader(name, *options, peer="", shuffle="", defaults=False, last="{seconds}", work="read"):
    """A contender of contenders/ that reads; `peer` is its name there, where that is another one."""
    peer = peer or name
    options = ("--scratch", "{scratch}", *map(str, options), *(["--defaults"] if defaults else []))
    argv = ("{python}", "{peer}", work, peer, "{source}", "{jobs}", last, *options)
    shown = f"peer.py {work} '{peer}' INPUT JOBS SECONDS"
    wake = ("{python}", "{peer}", "version", peer)
    return Contender(name, argv, shown, peer=peer, wake=wake, shuffle=shuffle, defaults=defaults)


def counted(name, printed, tools, out):
    done = peer("count", name, str(out))
    return {"samples": int(done.stdout) if done.returncode == 0 else 0}


def packer(name):
    """A contender of contenders/ that packs, and how many samples it has really written."""
    peer = name.removeprefix("py-")
    argv = ("{python}", "{peer}", "make", peer, "{source}", "{out}", "{jobs}", "--scratch", "{scratch}")
    return Contender(name, argv, f"peer.py make {peer} SOURCE OUT JOBS", partial(counted, peer), peer=peer, waits=True)
