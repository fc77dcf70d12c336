"""The servers, each started once for the tests that use it, and a fault proxy for one test."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import servers  # noqa: E402
from fault_proxy import FaultProxy  # noqa: E402


def running(kind, tmp_path_factory):
    """A server as a fixture; a skip that names the program where it is not installed."""
    try:
        with kind(tmp_path_factory.mktemp(kind.__name__.lower())) as server:
            yield server
    except servers.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session", name="seaweed")
def seaweed_fixture(tmp_path_factory):
    yield from running(servers.Seaweed, tmp_path_factory)


@pytest.fixture(scope="session", name="nginx")
def nginx_fixture(tmp_path_factory):
    yield from running(servers.Nginx, tmp_path_factory)


@pytest.fixture(scope="session", name="rclone_s3")
def rclone_s3_fixture(tmp_path_factory):
    yield from running(servers.RcloneS3, tmp_path_factory)


@pytest.fixture(scope="session", name="rclone_http")
def rclone_http_fixture(tmp_path_factory):
    yield from running(servers.RcloneHttp, tmp_path_factory)


@pytest.fixture(name="in_front_of")
def in_front_of_fixture():
    """Makes fault proxies for a test: in_front_of(server, plan=..., delay_ms=...)."""
    made = []

    def make(server, **options):
        if isinstance(server, servers.S3Server):
            options.setdefault("sign", server.client().signer.sign_again)
        proxy = FaultProxy(server.address, **options)
        made.append(proxy.__enter__())
        return proxy

    yield make
    for proxy in made:
        proxy.__exit__(None, None, None)
