"""What is measured: for each suite its folder, the contenders that take turns on it, and the rows they give."""

from common.data import FORMATS
from common.inputs import resize_options
from common.rows import duration, growth, peak, slowdown, speed
from common.suite import Entry, Suite, by_name
from contenders import describe, jpegtran, packhorse, peer, sha256sum, tar, verify

ONE_SHARD, SMALL_SHARDS = "1TiB", "4MiB"
SIZES = (250_000, 500_000, 1_000_000)
LINEAR = 1.1  # as much as the noise that is marked


def on(data, count, *contenders):
    return tuple(Entry(contender, data, count) for contender in contenders)


def photos():
    peers = ("webdataset", "py-lmdb", "h5py", "litdata", "mds", "ffcv")
    ours = [packhorse(form, form) for form in FORMATS]
    return Suite(
        "photos",
        "10,000 ImageNet photos, 1.1 GB",
        on("photos", 10_000, *ours, tar(), *map(peer, peers)),
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
    return Suite(
        "tmpfs",
        "the same photos on a tmpfs",
        on("photos in memory", 10_000, *ours, tar()),
        tuple(speed(f"{form}, {j}", "tar", bar) for form in FORMATS for j, bar in jobs.items()),
        place="memory",
    )


def cifar(cache, bar):
    return Suite(
        f"cifar-{cache}",
        f"60,000 small files of CIFAR-10, {cache} cache",
        on("cifar", 60_000, packhorse("wds", "wds"), tar()),
        (speed("wds", "tar", bar),),
        cache=cache,
    )


def transcode():
    return Suite(
        "roi",
        "2,000 ImageNet photos, `--image roi`",
        on("photos", 2000, packhorse("roi", "wds", "--image", "roi"), jpegtran()),
        (speed("roi", "jpegtran", 1.5),),
    )


def resize():
    return Suite(
        "resize",
        "2,000 ImageNet photos, `--image resize --short-side 256`",
        on("photos", 2000, packhorse("resize", "wds", *resize_options()), peer("opencv")),
        (speed("resize", "opencv", 1.5),),
    )


def verification(cache):
    pairs = [(verify(form), sha256sum(f"sha256sum, {form}")) for form in FORMATS]
    entries = [entry for form, pair in zip(FORMATS, pairs) for entry in on(f"packed {form}", 10_000, *pair)]
    return Suite(
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
    return Suite(
        "memory",
        "peak memory on 100,000 files, 11 GB, 2 jobs",
        on("linked photos", 100_000, *ours),
        tuple(peak(contender.name, 512) for contender in ours),
        cache="any",
    )


def million():
    works = {"dry run": ("wds", "--dry-run")} | {form: (form, "--shard-bytes", ONE_SHARD) for form in FORMATS}
    largest_first = sorted(SIZES, reverse=True)  # the smaller folders are made of links into the largest
    entries = [
        Entry(packhorse(f"{work}, {size // 1000}k", *options), "tiny", size)
        for work, options in works.items()
        for size in largest_first
    ]
    rows = []
    for work in works:
        quarter, half, whole = (f"{work}, {size // 1000}k" for size in SIZES)
        rows += [growth(whole, quarter, 200), slowdown(half, quarter, LINEAR), slowdown(whole, quarter, LINEAR)]
    title = "1,000,000 tiny files on a tmpfs, all in one shard"
    return Suite("million", title, tuple(entries), tuple(rows), place="memory")


def summary():
    entries = [entry for form in FORMATS for entry in on(f"packed tiny {form}", 1_000_000, describe(form))]
    rows = tuple(duration(entry.name, 0.2) for entry in entries)
    return Suite("summary", "`inspect` of 1,000,000 samples", tuple(entries), rows)


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
    million(),
    summary(),
)
