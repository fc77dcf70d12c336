"""The servers that tests of remote storage run against do what these tests rely on."""

import datetime
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import servers
from s3 import S3, Refused, Signer

CONTENT = bytes(range(256)) * 64
NAMES = ["plain.bin", "deep/er/file", "sp ace+plus=&.bin", "äö/猫.bin", "tilde~(paren)!'*.bin"]


def got(url, headers=None, **more):
    """(status, headers, body), whatever the status."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=120, **more) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def test_a_signature_is_that_of_awss_example():
    """https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, "GET Object"."""
    signer = Signer("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    when = datetime.datetime(2013, 5, 24, tzinfo=datetime.timezone.utc)
    ranged = {"range": "bytes=0-9"}
    headers = signer.headers("GET", "examplebucket.s3.amazonaws.com", "/test.txt", headers=ranged, now=when)
    wanted = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    assert headers["authorization"].endswith(f"Signature={wanted}")


@pytest.fixture(scope="module", name="filled")
def filled_fixture(seaweed):
    client = seaweed.client()
    for bucket in seaweed.buckets:
        for i, name in enumerate(NAMES):
            client.put(bucket, name, CONTENT + bytes([i]))
    return seaweed


def test_seaweed_has_what_was_put_into_it_under_any_name(filled):
    client = filled.client()
    for i, name in enumerate(NAMES):
        assert client.get("private", name) == CONTENT + bytes([i])
        assert client.get("private", name, (100, 299)) == CONTENT[100:300]
    assert client.list("private", page=2).items() >= {name: len(CONTENT) + 1 for name in NAMES}.items()


def test_seaweed_reads_for_everybody_in_one_bucket_alone(filled):
    everybody = filled.everybody()
    assert everybody.get("public", "plain.bin") == CONTENT + b"\0"
    assert everybody.list("public")
    for call in (lambda: everybody.get("private", "plain.bin"), lambda: everybody.put("public", "new", b"x")):
        with pytest.raises(Refused) as refused:
            call()
        assert refused.value.answer.status == 403


def test_seaweed_refuses_a_wrong_secret_and_a_write_of_a_reader(filled):
    with pytest.raises(Refused, match="403"):
        S3(filled.url, filled.access_key, "wrong").get("private", "plain.bin")
    reader = S3(filled.url, filled.reader_key, filled.reader_secret)
    assert reader.get("private", "plain.bin") == CONTENT + b"\0"
    with pytest.raises(Refused, match="403"):
        reader.put("private", "new", b"x")


def test_seaweed_knows_ranges_and_conditions(filled):
    client = filled.client()

    def status(method, key, headers, body=b""):
        return client.request(method, "private", key, headers=headers, body=body, expected=()).status

    assert status("GET", "plain.bin", {"range": "bytes=0-9"}) == 206
    assert status("GET", "plain.bin", {"range": "bytes=999999-"}) == 416
    assert status("GET", "missing", {}) == 404
    assert status("PUT", "plain.bin", {"if-none-match": "*"}, b"other") == 412
    tag = client.head("private", "plain.bin")["etag"]
    assert status("GET", "plain.bin", {"if-match": tag}) == 200
    assert status("GET", "plain.bin", {"if-match": '"other"'}) == 412


@pytest.fixture(scope="module", name="pages")
def pages_fixture(nginx):
    (nginx.root / "deep").mkdir()
    (nginx.root / "deep/file.bin").write_bytes(CONTENT)
    return nginx


def test_nginx_serves_ranges_over_http_and_https(pages):
    trusting = ssl.create_default_context(cafile=pages.certificate)
    for base, more in ((pages.url, {}), (pages.https, {"context": trusting})):
        assert got(f"{base}/deep/file.bin", **more)[2] == CONTENT
        status, headers, body = got(f"{base}/deep/file.bin", {"Range": "bytes=256-511"}, **more)
        assert (status, headers["Content-Range"], body) == (206, f"bytes 256-511/{len(CONTENT)}", CONTENT[256:512])
        assert headers["ETag"]


STARTER = """
import sys, time
sys.path.insert(0, sys.argv[1])
import servers
with servers.Nginx(sys.argv[2]) as server:
    print(server.process.pid, flush=True)
    time.sleep(600)
"""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_server_ends_with_a_session_that_is_killed(nginx, tmp_path):
    command = [sys.executable, "-c", STARTER, str(Path(servers.__file__).parent), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as session:
        pid = int(session.stdout.readline())
        assert alive(pid)
        session.send_signal(signal.SIGKILL)
    end = time.monotonic() + 120
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not alive(pid)


def test_a_server_that_does_not_start_says_why(tmp_path):
    class Broken(servers.Server):
        def command(self):
            return [sys.executable, "-c", "import sys; sys.exit('no such flag')"]

    with pytest.raises(servers.Failed, match="ended with 1") as failed, Broken(tmp_path):
        pass
    assert "no such flag" in str(failed.value) and str(tmp_path) in str(failed.value)


