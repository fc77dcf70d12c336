"""The servers, each started once for the tests that use it, and a fault proxy for one test."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from python_support import packhorse

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


PHOTOS, SIDE = 96, 256  # of noise, so that they have some 100 KB each: two runs of 4 MiB in each of two shards


def pack_noise(folder):
    for i in range(PHOTOS):
        path = folder / f"source/class{i % 3}/{i:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = random.Random(i).randbytes(SIDE * SIDE * 3)
        Image.frombytes("RGB", (SIDE, SIDE), noise).save(path, quality=95)
    packhorse("pack", folder / "source", folder / "train", "--format=wds", "--shard-bytes=5MiB")
    assert len(list((folder / "train").glob("*.tar"))) == 2


@pytest.fixture(scope="session", name="local")
def local_fixture(made_once):
    return made_once("noise", pack_noise) / "train"


@pytest.fixture(name="web")
def web_fixture(local, nginx):
    """The dataset behind nginx, and what fault proxies are put in front of."""
    place = nginx.root / "packed/train"
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        subprocess.run(["cp", "-r", local, place], check=True)
    return nginx


@pytest.fixture(name="bucket")
def bucket_fixture(local, seaweed):
    if not seaweed.client().list("private", "packed/"):
        seaweed.client().put_folder("private", local, "packed/train")
    return seaweed
