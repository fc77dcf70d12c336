"""What is measured: for each suite its folder, the contenders that take turns on it, and what each of them reads."""

import dataclasses
from collections.abc import Callable

from common.data import FORMATS
from common.inputs import AsIs, Packed, PeerPacked
from common.suite import Entry, by_name
from common.suite import Suite as CommonSuite
from contenders import packhorse, peer
from session import PassSession, VerifySession

BASELINE = "ImageFolder + PIL"
COPIES, ORIGINALS = 50, 200  # the photos are that many copies of that many
CIFAR_TRAIN = 50_000
IO = "torchvision.io"
ROI = ("--image", "roi")

# As large as those of LitData and MDS would be enough for the photos; these give each of few processes as much to do
# as the next, with CIFAR-10 too.
TAR_SHARDS = str(16 << 20)
ONE_TAR = str(1 << 40)
FFCV_PAGES = str(4 << 20)  # each is filled up with zeros, which nobody reads: a cold pass could not be proved

WHOLE, BUFFER = "whole", "shards, then a buffer of 1,000"


@dataclasses.dataclass(frozen=True)
class Suite(CommonSuite):
    session: Callable = PassSession
    side: int = 224  # of the crops
    baseline: str = BASELINE  # what ratios are to


def peers():
    """Each with the form it reads. What has no decoder is given torchvision.io, the faster of the two."""
    return {
        peer(BASELINE, WHOLE): AsIs(),
        peer(f"ImageFolder + {IO}", WHOLE): AsIs(),
        peer(f"webdataset + {IO}", BUFFER): PeerPacked("webdataset", options=(TAR_SHARDS,)),
        peer("LMDB + PIL", WHOLE): PeerPacked("py-lmdb"),
        peer(f"LMDB + {IO}", WHOLE): PeerPacked("py-lmdb"),
        peer(f"h5py + {IO}", WHOLE): PeerPacked("h5py"),
        peer("DALI", "a buffer of 1,024"): AsIs(),
        peer("FFCV", WHOLE): PeerPacked("ffcv", options=(FFCV_PAGES,)),
        peer("SPDL", WHOLE): AsIs(),
        peer(f"LitData + {IO}", "chunks, then within each"): PeerPacked("litdata"),
        peer(f"MDS + {IO}", "shards, then within blocks"): PeerPacked("mds"),
        peer("turboloader", WHOLE): PeerPacked("webdataset", options=(ONE_TAR,)),
        peer("datago", WHOLE): AsIs(),
        peer(f"Lance + {IO}", WHOLE): PeerPacked("lance"),
    }


def from_python():
    modes = {"original": (), "roi": ROI}
    return {peer(f"packhorse.Loader wds {mode}", WHOLE, loader="packhorse.Loader"): Packed("wds", modes[mode]) for mode in modes}


def ours():
    modes = {"original": (), "roi": ROI}
    packed = {packhorse(f"packhorse {form} {mode}"): Packed(form, modes[mode]) for form in FORMATS for mode in modes}
    return {packhorse("packhorse folder"): AsIs()} | packed


def field(name, title, data, count, cache, side):
    """All of them on one folder, from a warm or a cold cache."""
    entries = tuple(
        Entry(contender.passing(str(side), cache == "cold"), data, count, form)
        for contender, form in (peers() | from_python() | ours()).items()
    )
    name = name if cache == "warm" else f"{name}-{cache}"
    return Suite(name, f"{title}, crops of {side}, {cache} cache", entries, cache=cache, side=side)


def photos(cache):
    return field("photos", "ImageNet photos of 110 KB", "photos", COPIES * ORIGINALS, cache, 224)


def cifar(cache):
    return field("cifar", "CIFAR-10's training files of 900 bytes", "cifar train", CIFAR_TRAIN, cache, 32)


def verify():
    """The same loaders, and two as they come."""
    as_they_come = {
        peer("DALI, as it comes", "", loader="DALI", defaults=True): AsIs(),
        peer("FFCV, as it comes", "", loader="FFCV", defaults=True): PeerPacked("ffcv", options=(FFCV_PAGES,)),
    }
    packed = {contender: form for contender, form in ours().items() if isinstance(form, Packed)}
    entries = tuple(
        Entry(contender.verifying("224"), "single photos", COPIES * ORIGINALS, form)
        for contender, form in (peers() | as_they_come | from_python() | packed).items()
    )
    return Suite("verify", "what each delivers", entries, session=VerifySession)


SUITES = by_name(verify(), photos("warm"), photos("cold"), cifar("warm"), cifar("cold"))
