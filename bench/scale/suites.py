"""What is measured: datasets from small to huge, opened and read, and packed."""

import json
import subprocess

import sources  # noqa: F401: makes `arrays`
from common import tables
from common.inputs import Packed
from common.measure import Failed
from common.packing import PackSession, packhorse
from common.session import Session
from common.suite import Contender, Entry, Suite, by_name

SIZES = [(10_000, 2), (1_000_000, 110), (100_000_000, 11_000), (11_000_000, 110_000)]  # samples, shards
PACKED = [(1_000_000, "1GiB"), (10_000_000, "1GiB"), (100_000_000, "1GiB"), (10_000_000, "128MiB")]  # samples, memory


class OpenSession(Session):
    """Each size is read once before it is measured: files are in the page cache as far as they fit."""

    def make(self, entry):
        super().make(entry)
        self.one_run(entry)

    def run_of(self, entry, cost, figures):
        each = {"open_ns_a_sample": 1e9 * figures["open_s"] / figures["samples"]}
        return {"foreign_cpus": cost.foreign_cpus, "cache_as_asked": True, **figures, **each}


def opening():
    def opened(samples, shards):
        form = Packed("lmdb", ("--shard-samples", str(samples // shards), "--no-space-check"))
        name = f"{samples:,} in {shards:,}"
        command = ("{loops}", "open", "{source}")
        return Entry(Contender(name, command, "reader_loops open DATASET"), "arrays", samples, form)

    columns = [
        tables.median("open, ms", "open_s", 1e3),
        tables.median("ns a sample", "open_ns_a_sample"),
        tables.median("own memory, MB", "opened.own_mb"),
        tables.median("first batch, ms", "first_batch_s", 1e3),
        tables.median("resumed, ms", "resumed_batch_s", 1e3),
        tables.median("order, ns", "order_ns"),
        tables.median("read in order, ns", "in_order_ns"),
        tables.median("at random, ns", "random_ns"),
        tables.median("and again, ns", "again_ns"),
    ]
    return Suite(
        "opening",
        "datasets from small to huge, opened and read",
        tuple(opened(*one) for one in SIZES),
        unit="s",
        field="open_s",
        cache="any",
        tables=(tables.contenders(*columns, name="samples, and shards"),),
        session=OpenSession,
    )


IDS = {}  # samples -> the id of the first dataset


def verified(printed, tools, out):
    """The dataset is read once in full and compared with its hashes; the same source has the same id with any memory."""
    report = json.loads(printed)
    subprocess.run([tools.packhorse, "inspect", out, "--verify", "full", "--quiet"], check=True)
    samples, found = report["packed"], report["splits"][0]["id"]
    if IDS.setdefault(samples, found) != found:
        raise Failed(f"became {found}, and another dataset before")
    note = next((note for note in report["notes"] if "--memory" in note), "")
    listed = int(note.split(": ")[1].split()[0]) if note else 0  # MiB
    return {"samples": samples, "listed": listed * 2**20 / samples, "packed_bytes": report["bytes_out"] / samples}


class PackingSession(PackSession):
    def run_of(self, entry, cost, figures):
        run = super().run_of(entry, cost, figures)
        microseconds = {f"{name}_us": 1e6 * run[name] / run["samples"] for name in ("seconds", "cpu_seconds")}
        return run | microseconds


def packing():
    def packs(samples, memory):
        words = ("--shard-samples", "10000", "--memory", memory, "--no-space-check")
        return Entry(packhorse(f"{samples:,}, {memory}", "lmdb", *words, figures=verified, folders=False), "arrays", samples)

    columns = [
        tables.most("peak memory, MiB", "max_rss_bytes", 2**-20),
        tables.median("seconds", "seconds"),
        tables.median("us a sample", "seconds_us"),
        tables.median("CPU us a sample", "cpu_seconds_us"),
        tables.median("list in the file, bytes a sample", "listed"),
        tables.median("dataset, bytes a sample", "packed_bytes"),
    ]
    return Suite(
        "packing",
        "pictures of 4 x 4 pixels into LMDB shards of 10,000",
        tuple(packs(*one) for one in PACKED),
        unit="s",
        field="seconds",
        cache="any",
        tables=(tables.contenders(*columns, name="samples, `--memory`"),),
        session=PackingSession,
    )


SUITES = by_name(opening(), packing())
