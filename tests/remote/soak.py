#!/usr/bin/env python3
"""Long runs against what goes wrong on the way and in the cache, and their counts.

    .venv/bin/python tests/remote/soak.py                                  # both, as docs/measured/reliability.md has them
    .venv/bin/python tests/remote/soak.py --only faults --goal 200         # a short one
    .venv/bin/python tests/remote/soak.py --write docs/measured/reliability.md

`faults`: an epoch of CIFAR-10's training pictures, in random order from a web server, with nothing kept, so that nearly
every picture is a request; a share of the requests meets a fault. Every batch must be that of the disk. Repeated with
other faults until the goal is reached. Then the same with answers that lie and go on lying: an error, and no batch.
`kills`: four processes read one dataset through one cache, which is emptied each time; one of them is killed at a
random moment, until the goal is reached. The others must end well, and the cache must verify.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]

import servers  # noqa: E402
from fault_plan import Plan, Rule  # noqa: E402
from fault_proxy import FaultProxy  # noqa: E402
from faults import (  # noqa: E402
    ContentRange, Cut, Flip, Garbage, Hangup, Length, OtherRange, Reset, Size, TooMany, Unavailable, WholeForRange,
)  # fmt: skip

MARKS = ("<!-- remote soak: begin -->", "<!-- remote soak: end -->")
BIN = Path(os.environ.get("PACKHORSE_BIN", ROOT / "build/release/bin"))
PASSING = [Cut(300), Reset(), Hangup(), Unavailable(retry_after=0), TooMany(retry_after=0), OtherRange(), Flip(at=100)]
LYING = [Length(-7), Length(7), ContentRange(1), WholeForRange(), Garbage(), Size(1), Flip(at=100), OtherRange()]

EPOCH = """
import hashlib, json, sys
sys.path.insert(0, sys.argv[1])
import numpy, packhorse
if "://" in sys.argv[2]:
    packhorse.configure_remote(cache="")
digest, batches = hashlib.sha256(), 0
loader = packhorse.Loader(sys.argv[2], batch_size=64, size=32, order="global", seed=int(sys.argv[3]))
try:
    for images, labels in loader:
        digest.update(memoryview(numpy.ascontiguousarray(images)))
        digest.update(memoryview(numpy.ascontiguousarray(labels)))
        batches += 1
    print(json.dumps({"digest": digest.hexdigest(), "batches": batches, "counters": packhorse.remote_counters()}))
except packhorse.Error as error:
    print(json.dumps({"error": str(error), "batches": batches}))
"""


class Wrong(Exception):
    """What must never happen."""


def epoch(data, seed):
    command = [sys.executable, "-c", EPOCH, str(BIN.parent / "python"), str(data), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Wrong(f"an epoch ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def packed(work, options):
    """The source, packed."""
    subprocess.run([BIN / "packhorse", "pack", options.source, work / "packed", "--format=wds", "--quiet", "--shard-bytes=8MiB"], check=True)
    return work / "packed/train"


def faults(work, options):
    dataset = packed(work, options)
    counted, epochs, refused = 0, 0, 0
    with servers.Nginx(work / "server") as server:
        shutil.copytree(dataset, server.root / "train")
        while counted < options.goal:
            plan = Plan([Rule(PASSING, path="*.tar", chance=0.3, each=1)], seed=epochs)
            with FaultProxy(server.address, plan=plan) as proxy:
                there, here = epoch(f"{proxy.url}/train", epochs), epoch(dataset, epochs)
                if there.get("digest") != here["digest"]:
                    raise Wrong(f"other batches than those of the disk: {there}")
                counted += sum(proxy.counters()["faults"].values())
            epochs += 1
            print(f"soak: {counted} faults in {epochs} epochs, every batch right", flush=True)
        for number, lie in enumerate(LYING):
            plan = Plan([Rule(lie, path="*.tar", skip=options.skip * (number + 1))])
            with FaultProxy(server.address, plan=plan) as proxy:
                ended = epoch(f"{proxy.url}/train", 0)
                if "error" not in ended or "train/shard-" not in ended["error"]:
                    raise Wrong(f"{lie} was not found out: {ended}")
                refused += 1
    return {"faults": counted, "epochs": epochs, "lies": refused}


def require_sound(cache):
    done = subprocess.run([BIN / "packhorse", "cache", "verify", f"--cache={cache}"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Wrong(f"the cache does not verify: {done.stdout}{done.stderr}")


def kills(work, options):
    dataset = packed(work, options)
    dice, killed = random.Random(1), 0
    with servers.Nginx(work / "server") as server, FaultProxy(server.address, total_bytes_per_s=60 << 20) as proxy:
        shutil.copytree(dataset, server.root / "train")
        cache = work / "cache"
        options_ = [f"--cache={cache}", "--work=read", "--repeats=1", "--min-seconds=0", "--quiet"]
        command = [BIN / "packhorse", "bench", f"{proxy.url}/train", *options_]
        while killed < options.kills:
            shutil.rmtree(cache, ignore_errors=True)
            four = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(4)]
            time.sleep(dice.random() * 0.7)
            victim = four.pop(dice.randrange(4))
            victim.kill()
            killed += victim.wait() == -9
            for process in four:
                said = process.communicate(timeout=300)[1]
                if process.returncode != 0:
                    raise Wrong(f"a process that was not killed ended with {process.returncode}: {said}")
            require_sound(cache)
            if killed % 20 == 0:
                print(f"soak: {killed} of four processes killed, the others ended well, the cache verifies", flush=True)
    return {"kills": killed}


def table(found):
    return "\n".join(
        ["| what | times | wrong |", "|---|---|---|",
         f"| faults on the way, in {found['epochs']} epochs of 50,000 pictures: every batch is that of the disk | {found['faults']:,} | 0 |",
         f"| answers that lie and go on lying: an error that names the file | {found['lies']} | 0 |",
         f"| `kill -9` of one of four processes that share a cache: the others end well, the cache verifies | {found['kills']:,} | 0 |"]
    )  # fmt: skip


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=["faults", "kills"])
    parser.add_argument("--goal", type=int, default=10_000, help="faults (default 10,000)")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--skip", type=int, default=50, help="requests that go by before the first lie, and between lies")
    cifar = Path(os.environ.get("PACKHORSE_DATA", ROOT / "../shared/data")) / "cifar10-jpeg.tar.zst"
    parser.add_argument("--source", type=Path, default=cifar, help="what is packed and read (default CIFAR-10)")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table between its marks")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write needs both")
    return options


def main():
    options = parse()
    found = {}
    try:
        for name, run in (("faults", faults), ("kills", kills)):
            if options.only in (None, name):
                with tempfile.TemporaryDirectory() as work:
                    found |= run(Path(work), options)
    except servers.Missing as missing:
        sys.exit(f"soak: {missing}")
    except Wrong as wrong:
        sys.exit(f"soak: WRONG: {wrong}")
    print(json.dumps(found))
    if options.write:
        head, rest = options.write.read_text().split(MARKS[0])
        options.write.write_text(f"{head}{MARKS[0]}\n\n{table(found)}\n\n{MARKS[1]}{rest.split(MARKS[1])[1]}")


if __name__ == "__main__":
    main()
