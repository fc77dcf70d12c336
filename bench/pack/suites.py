"""What is measured: for each suite its folder, the contenders that take turns on it, and the rows they give."""

from common.data import FORMATS
from common.inputs import resize_options
from common.commands import packer
from common.packing import packhorse
from common.rows import peak, speed
from common.suite import Entry, Suite, by_name
from common.tables import bars, seconds_of
from system import jpegtran, sha256sum, tar, verify

ONE_SHARD, SMALL_SHARDS = "1TiB", "4MiB"


TABLES = (bars(("seconds, ours", seconds_of("subject")), ("seconds, theirs", seconds_of("against"))),)


def suite(*about, **more):
    return Suite(*about, **more, unit="s", field="seconds", tables=TABLES)


def on(data, count, *contenders):
    return tuple(Entry(contender, data, count) for contender in contenders)


def photos():
    peers = (packer(name) for name in ("webdataset", "py-lmdb", "h5py", "litdata", "mds", "ffcv"))
    ours = [packhorse(form, form) for form in FORMATS]
    return suite(
        "photos",
        "10,000 ImageNet photos, 1.1 GB",
        on("photos", 10_000, *ours, tar(), *peers),
        (
            *(speed(form, "tar", 0.95) for form in FORMATS),
            speed("wds", "webdataset", 1.8),
            speed("lmdb", "py-lmdb", 1.9),
            speed("hdf5", "h5py", 0.95),
            *(speed(f, name, bar) for name, bar in (("litdata", 3), ("mds", 2.8), ("ffcv", 8)) for f in FORMATS),
        ),
    )


def tmpfs():
    jobs = {"1 job": 1.0, "2 jobs": 1.6}
    ours = [packhorse(f"{form}, {j}", form, jobs=j[0]) for form in FORMATS for j in jobs]
    return suite(
        "tmpfs",
        "the same photos on a tmpfs",
        on("photos in memory", 10_000, *ours, tar()),
        tuple(speed(f"{form}, {j}", "tar", bar) for form in FORMATS for j, bar in jobs.items()),
    )


def cifar(cache, bar):
    return suite(
        f"cifar-{cache}",
        f"60,000 small files of CIFAR-10, {cache} cache",
        on("cifar", 60_000, packhorse("wds", "wds"), tar()),
        (speed("wds", "tar", bar),),
        cache=cache,
    )


def transcode():
    return suite(
        "roi",
        "2,000 ImageNet photos, `--image roi`",
        on("photos", 2000, packhorse("roi", "wds", "--image", "roi"), jpegtran()),
        (speed("roi", "jpegtran", 1.5),),
    )


def resize():
    return suite(
        "resize",
        "2,000 ImageNet photos, `--image resize --short-side 256`",
        on("photos", 2000, packhorse("resize", "wds", *resize_options()), packer("opencv")),
        (speed("resize", "opencv", 1.5),),
    )


def verification(cache):
    pairs = [(verify(form), sha256sum(f"sha256sum, {form}")) for form in FORMATS]
    entries = [entry for form, pair in zip(FORMATS, pairs) for entry in on(f"packed {form}", 10_000, *pair)]
    return suite(
        f"verify-{cache}",
        f"`inspect --verify full` of the same photos, packed, {cache} cache",
        tuple(entries),
        tuple(speed(ours.name, theirs.name, 0.9) for ours, theirs in pairs),
        cache=cache,
    )


def memory():
    shards = {"one shard": ONE_SHARD, "small shards": SMALL_SHARDS}
    ours = [
        packhorse(f"{form}, {name}", form, "--shard-bytes", size, jobs="2")
        for form in FORMATS
        for name, size in shards.items()
    ]
    return suite(
        "memory",
        "peak memory on 100,000 files, 11 GB, 2 jobs",
        on("linked photos", 100_000, *ours),
        tuple(peak(contender.name, 512) for contender in ours),
        cache="any",
    )


SUITES = by_name(
    photos(),
    tmpfs(),
    cifar("warm", 1.0),
    cifar("cold", 1.5),
    transcode(),
    resize(),
    verification("warm"),
    verification("cold"),
    memory(),
)
