"""What `packhorse inspect --verify full` and packhorse's reader make of the damages: tests/reliability/damage_shards.cc
calls both, thousands of times in one process."""

import subprocess

from common.environment import first_line


def version(options):
    return first_line(options.bin / "packhorse", "--version").removeprefix("packhorse ")


def pack(options, out, form, *extra):
    usual = ["--format", form, "--shard-bytes", "4MiB"]
    command = [options.bin / "packhorse", "pack", options.photos, out, *usual, *extra]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def judge(options, dataset, plan):
    """Counts of damages: all, found, with their shard named; those in samples, and with that sample named."""
    lines = "".join(f"{d.kind} {d.file} {d.place} {d.bit}\n" for d in plan)
    done = subprocess.run(
        [options.bin / "damage_shards", dataset], input=lines, stdout=subprocess.PIPE, text=True, check=True
    )
    verdicts = [line.split() for line in done.stdout.splitlines()]
    if len(verdicts) != len(plan):
        raise SystemExit(f"{dataset.name}: {len(plan)} damages, but {len(verdicts)} verdicts")
    count = {"damages": len(plan), "found": 0, "shard_named": 0, "in_samples": 0, "sample_named": 0}
    count |= {"reader_noticed": 0, "reader_same": 0, "reader_wrong": 0}
    for found, named, payload, sample, reader in verdicts:
        count["found"] += found == "1"
        count["shard_named"] += (found, named) == ("1", "1")
        count["in_samples"] += payload == "1"
        count["sample_named"] += (payload, sample) == ("1", "1")
        count[f"reader_{reader.lower()}"] += 1
    return count
