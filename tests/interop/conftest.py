import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

PEERS = (
    "webdataset",
    "wids",
    "timm",
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


def pytest_terminal_summary(terminalreporter):
    python = sys.version.split()[0]
    peers = ", ".join(f"{package} {version_of(package)}" for package in PEERS)
    terminalreporter.write_line(f"peers: tarfile of Python {python}, {peers}")
