"""What is measured: for each suite its folder, the contenders that take turns on it, and the rows they give."""

import json
import re
import subprocess

from common.commands import decodes, packhorse_bench
from common.data import FORMATS
from common.inputs import Packed
from common.rows import figure, overhead, ratio
from common.suite import Contender, Entry, Suite, by_name
from common.tables import COMMAND, CPU_RATE, bars, contenders, most, spread

CIFAR_TRAIN = 50_000
RATE = spread("img/s", "images_per_s")
MEMORY = most("MiB, largest process", "max_rss_bytes", 2**-20)


def suite(*about, columns=(RATE, CPU_RATE), **more):
    return Suite(*about, tables=(bars(), contenders(*columns, MEMORY, COMMAND)), **more)


def loop(name, kind):
    """A bare loop, without a loader."""
    argv = ("{loops}", kind, "{source}", "--threads", "{jobs}", "--min-seconds", "{seconds}")
    return Contender(name, argv, f"reader_loops {kind} INPUT --threads JOBS")


# dd reads one file at a time; its own clocks are added up.
DIRECT_READS = 'export LC_ALL=C; for file; do dd if="$file" of=/dev/null bs=16M iflag=direct 2>&1 || exit; done'
DD_LINE = re.compile(rb"^(\d+) bytes .* copied, ([\d.e-]+) s", re.M)


class Dd(Contender):
    """Reads the shards of the input, whose paths stand behind the command."""

    def command(self, tools, source, *_):
        described = subprocess.run([tools.packhorse, "inspect", source, "--json"], capture_output=True, check=True)
        return [*self.argv, *(f"{source}/{shard['file']}" for shard in json.loads(described.stdout)["shards"])]


def figures_of_dd(printed, *_):
    found = [(int(size), float(seconds)) for size, seconds in DD_LINE.findall(printed)]
    size, seconds = map(sum, zip(*found))
    return {"bytes": size, "seconds": seconds, "mb_per_s": size / seconds / 1e6}


def dd(name):
    shown = "dd iflag=direct bs=16M of=/dev/null, shard by shard"
    return Dd(name, ("sh", "-c", DIRECT_READS, "sh"), shown, figures_of_dd, program="dd")


def read_warm():
    data = ("photos", 10_000)
    entries, rows = [], []
    for form in FORMATS:
        entries.append(Entry(packhorse_bench(form, "--work", "read", "--order", "global"), *data, Packed(form)))
        entries.append(Entry(loop(f"memcpy {form}", "copy"), *data, Packed(form)))
        rows.append(ratio(form, f"memcpy {form}", 0.8))
    return suite("read-warm", "reading 10,000 photos, 1.1 GB, in a shuffled order", tuple(entries), tuple(rows))


def read_cold():
    data = ("photos", 10_000)
    entries, rows = [], []
    for form in FORMATS:
        for order in ("sequential", "window"):
            contender = packhorse_bench(f"{form}, {order}", "--work", "read", "--cold", "--order", order)
            entries.append(Entry(contender, *data, Packed(form)))
            rows.append(ratio(contender.name, f"dd {form}", 0.9, "mb_per_s"))
        entries.append(Entry(dd(f"dd {form}"), *data, Packed(form)))
    title = "reading 10,000 photos, 1.1 GB, from the disk"
    columns = (spread("MB/s", "mb_per_s"), CPU_RATE)
    cold = {"cache": "cold", "unit": "MB/s", "field": "mb_per_s"}
    return suite("read-cold", title, tuple(entries), tuple(rows), columns=columns, **cold)


def cifar():
    entries = [
        Entry(packhorse_bench(form, "--work", "read"), "cifar", 60_000, Packed(form), samples=CIFAR_TRAIN) for form in FORMATS
    ]
    rows = [figure(form, "images_per_s", {"at_least": 1_000_000}, "samples/s") for form in FORMATS]
    title = "reading CIFAR-10's 50,000 training files of 900 bytes"
    columns = (spread("samples/s", "images_per_s"), CPU_RATE)
    return suite("cifar", title, tuple(entries), tuple(rows), columns=columns)


def loader_overhead():
    data = ("photos", 2000)
    entries, rows = [], []
    for form in FORMATS:
        made = Packed(form, ("--image", "roi"))
        entries.append(Entry(decodes(form), *data, made))
        entries.append(Entry(loop(f"no loader, {form}", "pixels"), *data, made))
        rows.append(overhead(form, f"no loader, {form}", 3))
    return suite("overhead", "what the loader adds to reading and decoding", tuple(entries), tuple(rows))


SUITES = by_name(
    read_warm(),
    read_cold(),
    cifar(),
    loader_overhead(),
)
