"""What is measured: for each suite its folder, the contenders that take turns on it, and what each of them reads."""

import dataclasses
from collections.abc import Callable

from common.data import FORMATS
from common.inputs import AsIs, Packed, PeerPacked
from contenders import Packhorse, Peer
from session import PassSession, VerifySession

BASELINE = "ImageFolder + PIL"
COPIES, ORIGINALS = 50, 200  # the photos are that many copies of that many
CIFAR_TRAIN = 50_000
IO = "torchvision.io"
ROI = ("--image", "roi")

# As large as those of LitData and MDS would be enough for the photos; these give each of few processes as much to do
# as the next, with CIFAR-10 too.
TAR_SHARDS = str(16 << 20)
FFCV_PAGES = str(4 << 20)  # each is filled up with zeros, which nobody reads: a cold pass could not be proved

WHOLE, BUFFER = "whole", "shards, then a buffer of 1,000"


@dataclasses.dataclass(frozen=True)
class Entry:
    """A contender, the folder it is about and the form of it that it reads."""

    contender: object
    data: str  # a key of data.MAKERS
    count: int
    form: object = AsIs()

    @property
    def name(self):
        return self.contender.name


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    title: str
    entries: tuple
    session: Callable = PassSession
    cache: str = "warm"
    side: int = 224  # of the crops
    baseline: str = BASELINE  # what ratios are to
    rows: tuple = ()  # no bars: a field is looked at


def peers():
    """Each with the form it reads. What has no decoder is given torchvision.io, the faster of the two."""
    return {
        Peer(BASELINE, WHOLE): AsIs(),
        Peer(f"ImageFolder + {IO}", WHOLE): AsIs(),
        Peer(f"webdataset + {IO}", BUFFER): PeerPacked("webdataset", options=(TAR_SHARDS,)),
        Peer("LMDB + PIL", WHOLE): PeerPacked("py-lmdb"),
        Peer(f"LMDB + {IO}", WHOLE): PeerPacked("py-lmdb"),
        Peer(f"h5py + {IO}", WHOLE): PeerPacked("h5py"),
        Peer("DALI", "a buffer of 1,024"): AsIs(),
        Peer("FFCV", WHOLE): PeerPacked("ffcv", options=(FFCV_PAGES,)),
        Peer("SPDL", WHOLE): AsIs(),
        Peer(f"LitData + {IO}", "chunks, then within each"): PeerPacked("litdata"),
        Peer(f"MDS + {IO}", "shards, then within blocks"): PeerPacked("mds"),
    }


def ours():
    modes = {"original": (), "roi": ROI}
    packed = {Packhorse(f"packhorse {form} {mode}"): Packed(form, modes[mode]) for form in FORMATS for mode in modes}
    return {Packhorse("packhorse folder"): AsIs()} | packed


def field(data, count):
    return tuple(Entry(contender, data, count, form) for contender, form in (peers() | ours()).items())


def photos(cache):
    entries = field("photos", COPIES * ORIGINALS)
    title = f"ImageNet photos of 110 KB, crops of 224, {cache} cache"
    return Suite("photos" if cache == "warm" else f"photos-{cache}", title, entries, cache=cache)


def cifar(cache):
    entries = field("cifar train", CIFAR_TRAIN)
    title = f"CIFAR-10's training files of 900 bytes, crops of 32, {cache} cache"
    return Suite("cifar" if cache == "warm" else f"cifar-{cache}", title, entries, cache=cache, side=32)


def verify():
    """The same loaders, and two as they come."""
    as_they_come = {
        Peer("DALI, as it comes", "", loader="DALI", defaults=True): AsIs(),
        Peer("FFCV, as it comes", "", loader="FFCV", defaults=True): PeerPacked("ffcv", options=(FFCV_PAGES,)),
    }
    packed = {contender: form for contender, form in ours().items() if isinstance(form, Packed)}
    forms = peers() | as_they_come | packed
    entries = tuple(Entry(contender, "single photos", COPIES * ORIGINALS, form) for contender, form in forms.items())
    return Suite("verify", "what each delivers", entries, VerifySession)


SUITES = {
    suite.name: suite for suite in (verify(), photos("warm"), photos("cold"), cifar("warm"), cifar("cold"))
}
