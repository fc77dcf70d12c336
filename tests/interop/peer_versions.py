"""The versions of other people's packages that the tests read with."""

from importlib import metadata

PEERS = (
    "webdataset",
    "wids",
    "timm",
    "datasets",
    "torchvision",
    "nvidia-dali-cuda130",
    "lmdb",
    "h5py",
    "numpy",
)


def version_of(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
