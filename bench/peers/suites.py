"""What is measured: for each suite its folder, the contenders that take turns on it, and what each of them reads."""

from common.commands import decodes, loader
from common.data import FORMATS
from common.inputs import AsIs, Packed, PeerPacked, Shrunk, resize_options
from common.page import shown
from common.rows import fastest
from common.suite import Entry, Suite, by_name
from common.tables import CPU, bars, contenders, fact, median, most, rate, ratio
from verify import VerifySession, packed_as_the_source, verified_table

BASELINE = "ImageFolder + PIL"
PHOTOS, CIFAR_TRAIN = 10_000, 50_000
IO = "torchvision.io"
MODES = {"original": (), "roi": ("--image", "roi")}

# As large as those of LitData and MDS would be enough for the photos; these give each of few processes as much to do
# as the next, with CIFAR-10 too.
TAR_SHARDS, ONE_TAR = 16 << 20, 1 << 40
FFCV_PAGES = 4 << 20  # each is filled up with zeros, which nobody reads: a cold pass could not be proved

WHOLE, BUFFER = "whole", "shards, then a buffer of 1,000"

# name -> (how it mixes, the form it reads). What has no decoder is given torchvision.io, the faster of the two.
PEERS = {
    BASELINE: (WHOLE, AsIs()),
    f"ImageFolder + {IO}": (WHOLE, AsIs()),
    f"webdataset + {IO}": (BUFFER, PeerPacked("webdataset", shard_bytes=TAR_SHARDS)),
    "LMDB + PIL": (WHOLE, PeerPacked("LMDB")),
    f"LMDB + {IO}": (WHOLE, PeerPacked("LMDB")),
    f"h5py + {IO}": (WHOLE, PeerPacked("h5py")),
    "DALI": ("a buffer of 1,024", AsIs()),
    "FFCV": (WHOLE, PeerPacked("FFCV", shard_bytes=FFCV_PAGES)),
    "SPDL": (WHOLE, AsIs()),
    f"LitData + {IO}": ("chunks, then within each", PeerPacked("LitData")),
    f"MDS + {IO}": ("shards, then within blocks", PeerPacked("MDS")),
    "turboloader": (WHOLE, PeerPacked("webdataset", shard_bytes=ONE_TAR)),
    "datago": (WHOLE, AsIs()),
    f"Lance + {IO}": (WHOLE, PeerPacked("Lance")),
}
PACKED = {f"packhorse {form} {mode}": Packed(form, MODES[mode]) for form in FORMATS for mode in MODES}


def loaders(*options, **more):
    """(contender, form) of all that are run by peer.py."""
    yield from ((loader(name, *options, shuffle=shuffle, **more), form) for name, (shuffle, form) in PEERS.items())
    for mode, packing in MODES.items():
        ours = loader(f"packhorse.Loader wds {mode}", *options, peer="packhorse.Loader", shuffle=WHOLE, **more)
        yield ours, Packed("wds", packing)


COLUMNS = (
    fact("version", "version"),
    rate(),
    ratio("x baseline", BASELINE),
    CPU,
    median("first batch, s", "first_batch_s"),
    median("imports before it, s", "import_s"),
    median("first epoch, images/s", "warmup.images_per_s"),
    most("MiB, own", "memory_bytes", 2**-20),
    most("MiB, mapped", "mapped_bytes", 2**-20),
    fact("MB on disk", "disk_bytes", lambda size: shown(size / 1e6)),
    fact("s to convert", "convert_s", shown),
    fact("shuffle", "shuffle"),
)
FIELD = contenders(*COLUMNS, fastest_first=True)


def field(name, title, data, count, cache, side):
    """All of them on one folder, from a warm or a cold cache."""
    cold = ["--cold"] if cache == "cold" else []
    entries = [Entry(contender, data, count, form) for contender, form in loaders("--side", side, *cold)]
    ours = {"packhorse folder": AsIs()} | PACKED
    entries += [Entry(decodes(name, side, cold=bool(cold)), data, count, form) for name, form in ours.items()]
    name = name if cache == "warm" else f"{name}-{cache}"
    title = f"{title}, crops of {side}, {cache} cache"
    return Suite(name, title, tuple(entries), cache=cache, side=side, tables=(FIELD,))


def photos(cache):
    return field("photos", "ImageNet photos of 110 KB", "photos", PHOTOS, cache, 224)


def cifar(cache):
    return field("cifar", "CIFAR-10's training files of 900 bytes", "cifar train", CIFAR_TRAIN, cache, 32)


def small256():
    """What `--image resize` makes: packhorse reads it, and the others the same pictures without our restart markers."""
    names = (BASELINE, f"LMDB + {IO}", "DALI", "FFCV", "SPDL")
    forms = {"FFCV": PeerPacked("FFCV", Shrunk(), FFCV_PAGES), f"LMDB + {IO}": PeerPacked("LMDB", Shrunk())}
    peers = [(loader(name, shuffle=PEERS[name][0]), forms.get(name, Shrunk())) for name in names]
    ours = [(decodes(f"packhorse {form} resize"), Packed(form, resize_options())) for form in FORMATS]
    entries = tuple(Entry(contender, "photos", 2000, form) for contender, form in (*ours, *peers))
    rows = tuple(fastest(contender.name, names, 1.5) for contender, _ in ours)
    title = "2,000 ImageNet photos of 256 pixels on the short side, quality 90"
    return Suite("small256", title, entries, rows, side=224, tables=(bars(), FIELD))


def verify():
    """The same loaders, and two as they come."""
    checked = {"work": "verify", "last": "{original}"}
    as_they_come = [
        (loader("DALI, as it comes", peer="DALI", defaults=True, **checked), AsIs()),
        (loader("FFCV, as it comes", peer="FFCV", defaults=True, **checked), PEERS["FFCV"][1]),
    ]
    packed = [(packed_as_the_source(name), form) for name, form in PACKED.items()]
    entries = [
        Entry(contender, "single photos", PHOTOS, form)
        for contender, form in (*loaders(**checked), *as_they_come, *packed)
    ]
    return Suite(
        "verify", "what each delivers", tuple(entries), cache="any", tables=(verified_table,), session=VerifySession
    )


SUITES = by_name(verify(), photos("warm"), photos("cold"), cifar("warm"), cifar("cold"), small256())
