"""What is measured at each distance: one object of two sizes, packing, and two epochs."""

import os

from common import tables
from common.data import MAKERS, made_once, measured
from common.environment import ROOT
from common.inputs import AsIs, Packed, PeerPacked
from common.suite import Entry, by_name
from programs import PACKED_SHARD_BYTES, TO_DISK, UPLOAD, FETCHERS, fetchers, loader, packers
from session import RemoteSuite

DELAYS = (1, 20, 100)  # ms for a round trip
OBJECTS = {"small-object": 256, "object": 1024}  # MiB
PICTURE = 4 << 20  # bytes
EPOCH, PACKED = 600, 6000  # photos
SHARD_BYTES = 16 << 20  # there are several, though the dataset is small


def pictures(places, count):
    """Files of PICTURE bytes, most of them random: `count` MiB in all."""

    def make(root):
        head = next((ROOT / "samples/shapes").rglob("*.jpg")).read_bytes()
        size = min(count << 20, PICTURE)
        (root / "pictures").mkdir()
        for number in range(max(1, (count << 20) // PICTURE)):
            (root / f"pictures/{number:06}.jpg").write_bytes(head + os.urandom(size))

    return measured(made_once(places.data / f"object-{count}-mib", make))


MAKERS["object"] = pictures


def distance(suite):
    return f"{suite['delay_ms']} ms a round trip, {suite['mbit']:,} Mbit/s, by a proxy."


def rates(heading, base, worst=False):
    return tables.contenders(
        tables.spread("MB/s", "mb_per_s"),
        tables.ratio(heading, base, "mb_per_s", worst),
        tables.median("CPU s / GB", "cpu_s_per_gb"),
        name="program",
    )


def object_at(name, mib, delay):
    shard = Packed("wds", ("--shard-bytes", "none", "--allow-odd-classes"))
    others = tuple(name for name in FETCHERS if name != "packhorse copy")
    return RemoteSuite(
        f"{name}-{delay}ms",
        f"an object of {mib:,} MiB, {delay} ms away",
        tuple(Entry(contender, "object", mib, shard) for contender in fetchers()),
        unit="MB/s", field="mb_per_s", cache="any", delay_ms=delay,
        tables=(distance, rates("x the fastest other", others)),
    )  # fmt: skip


def packing_at(delay):
    form = {UPLOAD: Packed("wds", ("--shard-bytes", str(PACKED_SHARD_BYTES)))}
    return RemoteSuite(
        f"packing-{delay}ms",
        f"packing 6,000 photos, {delay} ms away",
        tuple(Entry(contender, "photos", PACKED, form.get(contender.name, AsIs())) for contender in packers()),
        unit="MB/s", field="mb_per_s", cache="any", delay_ms=delay,
        tables=(distance, rates("x the slower of the first two", (TO_DISK, UPLOAD), worst=True)),
    )  # fmt: skip


def epochs_at(delay):
    ours, io = Packed("wds", ("--shard-bytes", str(SHARD_BYTES))), "torchvision.io"
    loaders = {
        loader("packhorse.Loader from S3", "packhorse.Loader"): ours,
        loader("webdataset over curl", f"webdataset + {io}"): PeerPacked("webdataset", shard_bytes=SHARD_BYTES),
        loader("MDS from S3", f"MDS + {io}"): PeerPacked("MDS", shard_bytes=SHARD_BYTES),
        loader("LitData from S3", f"LitData + {io}"): PeerPacked("LitData", shard_bytes=SHARD_BYTES),
        loader("s3torchconnector", f"s3torchconnector + {io}"): AsIs(),
        loader("packhorse.Loader, local disk", "packhorse.Loader", from_bucket=False): ours,
    }
    columns = [
        tables.spread("epoch 1, images/s", "images_per_s"),
        tables.median("for each CPU second", "images_per_cpu_s"),
        tables.median("first batch, s", "first_batch_s"),
        tables.spread("epoch 2, images/s", "second.images_per_s"),
    ]
    return RemoteSuite(
        f"epochs-{delay}ms",
        f"two epochs of 600 photos, {delay} ms away, nothing cached before the first",
        tuple(Entry(contender, "photos", EPOCH, form) for contender, form in loaders.items()),
        cache="any", delay_ms=delay, tables=(distance, tables.contenders(*columns, name="loader")),
    )  # fmt: skip


SUITES = by_name(
    *(
        suite
        for delay in DELAYS
        for suite in (*(object_at(*one, delay) for one in OBJECTS.items()), packing_at(delay), epochs_at(delay))
    )
)
