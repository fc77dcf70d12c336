"""What is measured: for each suite its folder, the contenders that take turns on it, and the rows they give."""

import dataclasses

from common.data import FORMATS
from common.inputs import AsIs, Packed, PeerPacked, Shrunk, resize_options
from common.rows import fastest, figure, overhead, ratio
from common.suite import Entry, by_name
from common.suite import Suite as CommonSuite
from contenders import dd, fetch, loop, ours, peer, start

FFCV, LMDB, DALI, SPDL = PEERS = ("FFCV", "LMDB + torchvision.io", "DALI", "SPDL")
PIL = "ImageFolder + PIL"
LIBJPEG = "libjpeg-turbo, whole"
CROPS = ("--work", "decode", "--size", "224", "--batch-size", "64")
CIFAR_TRAIN = 50_000


@dataclasses.dataclass(frozen=True)
class Suite(CommonSuite):
    unit: str = "img/s"
    field: str = "images_per_s"  # of the runs, that has this unit
    columns: tuple = (("images a CPU-second", "images_per_cpu_s"),)  # further fields that the report shows


def peers_on(data, count, form):
    """Entries of the peers on what is a class folder, and on what two of them make of it."""
    forms = {FFCV: PeerPacked("ffcv", form), LMDB: PeerPacked("py-lmdb", form), DALI: form, SPDL: form, PIL: form}
    return [Entry(peer(name), data, count, made) for name, made in forms.items()]


def photos():
    data = ("photos", 2000)
    roi = [Entry(ours(f"{form} roi", *CROPS), *data, Packed(form, ("--image", "roi"))) for form in FORMATS]
    originals = [Entry(ours(f"{form} original", *CROPS), *data, Packed(form)) for form in FORMATS]
    rows = [
        row
        for entry in roi
        for row in (ratio(entry.name, LIBJPEG, 1.3), ratio(entry.name, PIL, 3.0), fastest(entry.name, PEERS, 1.8))
    ]
    whole = Entry(loop(LIBJPEG, "decode"), *data)
    entries = (*roi, *originals, whole, *peers_on(*data, AsIs()))
    return Suite("photos", "2,000 ImageNet photos of 110 KB", entries, tuple(rows))


def small256():
    data = ("photos", 2000)
    resized = [Entry(ours(form, *CROPS), *data, Packed(form, resize_options())) for form in FORMATS]
    whole = Entry(loop(LIBJPEG, "decode"), *data, Shrunk())
    rows = tuple(fastest(entry.name, (*PEERS, PIL), 1.5) for entry in resized)
    title = "2,000 ImageNet photos of 256 pixels on the short side, quality 90"
    return Suite("small256", title, (*resized, whole, *peers_on(*data, Shrunk())), rows)


def read_warm():
    data = ("photos", 10_000)
    entries, rows = [], []
    for form in FORMATS:
        entries.append(Entry(ours(form, "--work", "read", "--order", "global"), *data, Packed(form)))
        entries.append(Entry(loop(f"memcpy {form}", "copy"), *data, Packed(form)))
        rows.append(ratio(form, f"memcpy {form}", 0.8))
    return Suite("read-warm", "reading 10,000 photos, 1.1 GB, in a shuffled order", tuple(entries), tuple(rows))


def read_cold():
    data = ("photos", 10_000)
    entries, rows = [], []
    for form in FORMATS:
        for order in ("sequential", "window"):
            contender = ours(f"{form}, {order}", "--work", "read", "--cold", "--order", order)
            entries.append(Entry(contender, *data, Packed(form)))
            rows.append(ratio(contender.name, f"dd {form}", 0.9, "mb_per_s"))
        entries.append(Entry(dd(f"dd {form}"), *data, Packed(form)))
    title = "reading 10,000 photos, 1.1 GB, from the disk"
    return Suite("read-cold", title, tuple(entries), tuple(rows), cache="cold", unit="MB/s", field="mb_per_s")


def ways_to_fetch():
    data = ("photos", 10_000)
    modes = ("mapped", "faults", "pread", "direct", "uring")
    entries = [Entry(fetch(mode), *data, Packed("wds")) for mode in modes]
    rows = tuple(ratio("mapped", mode, 0.9, "mb_per_s") for mode in modes[1:])
    title = "1.1 GB of tar shards from the disk, in several ways"
    cold = {"cache": "cold", "unit": "MB/s", "field": "mb_per_s", "columns": (("CPU seconds", "cpu_s"),)}
    return Suite("fetch", title, tuple(entries), rows, **cold)


def cifar():
    entries = [
        Entry(ours(form, "--work", "read"), "cifar", 60_000, Packed(form), samples=CIFAR_TRAIN) for form in FORMATS
    ]
    rows = [figure(form, "images_per_s", {"at_least": 1_000_000}, "samples/s") for form in FORMATS]
    title = "reading CIFAR-10's 50,000 training files of 900 bytes"
    return Suite("cifar", title, tuple(entries), tuple(rows), unit="samples/s")


def loader_overhead():
    data = ("photos", 2000)
    entries, rows = [], []
    for form in FORMATS:
        made = Packed(form, ("--image", "roi"))
        entries += [Entry(ours(form, *CROPS), *data, made), Entry(loop(f"no loader, {form}", "pixels"), *data, made)]
        rows.append(overhead(form, f"no loader, {form}", 3))
    return Suite("overhead", "what the loader adds to reading and decoding", tuple(entries), tuple(rows))


def open_and_start():
    entries = [Entry(start(form), f"packed tiny {form}", 1_000_000) for form in FORMATS]
    figures = {"first_batch_s": (0.2, "s"), "bytes_a_sample": (48, "bytes a sample")}
    rows = [
        figure(form, field, {"at_most": limit}, unit) for form in FORMATS for field, (limit, unit) in figures.items()
    ]
    title = "a million samples, from opening to the first batch"
    columns = (
        ("of it opening, s", "open_s"),
        ("bytes a sample, its own", "own_bytes_a_sample"),
        ("bytes a sample, mapped index", "mapped_bytes_a_sample"),
    )
    return Suite("start", title, tuple(entries), tuple(rows), unit="s", field="first_batch_s", columns=columns)


SUITES = by_name(
    photos(),
    small256(),
    read_warm(),
    read_cold(),
    ways_to_fetch(),
    cifar(),
    loader_overhead(),
    open_and_start(),
)
