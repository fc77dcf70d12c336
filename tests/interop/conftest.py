import sys

import pytest
from peer_versions import PEERS, version_of
from python_support import SHAPES, pack, photos


@pytest.fixture(scope="module", autouse=True)
def one_thread_of_torch():
    """Threads that wait for each other cost more than they save for tensors as small as these."""
    if torch := sys.modules.get("torch"):
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(before)
    else:
        yield


@pytest.fixture(scope="session", params=["splits", "photos"])
def packed(request, packed_shapes, made_once):
    """packed(layout): (folder of images, dataset) of each split of samples/shapes, packed with the defaults, or of
    photos that fill several shards, so that numbering across shards is tested, too."""
    if request.param == "splits":
        return lambda layout: [(SHAPES / split, packed_shapes(layout) / split) for split in ("train", "val")]
    folder = photos("imagenet/imagenet200")

    def make(layout):
        return lambda out: pack(folder, out / "packed", "--format", layout, "--shard-bytes", "6MiB")

    return lambda layout: [(folder, made_once(f"peers-{layout}", make(layout)) / "packed")]


def pytest_terminal_summary(terminalreporter):
    python = sys.version.split()[0]
    peers = ", ".join(f"{package} {version_of(package)}" for package in PEERS)
    terminalreporter.write_line(f"peers: tarfile of Python {python}, {peers}")
