import sys

from peer_versions import PEERS, version_of


def pytest_terminal_summary(terminalreporter):
    python = sys.version.split()[0]
    peers = ", ".join(f"{package} {version_of(package)}" for package in PEERS)
    terminalreporter.write_line(f"peers: tarfile of Python {python}, {peers}")
