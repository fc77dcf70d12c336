"""The servers that tests of remote storage run against do what these tests rely on."""

import datetime
import http.client
import os
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


def raw(server, path, headers):
    """The same without urllib, which follows redirects."""
    connection = http.client.HTTPConnection(*server.address, timeout=120)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def test_a_signature_is_that_of_awss_example():
    """https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, "GET Object"."""
    signer = Signer("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    when = datetime.datetime(2013, 5, 24, tzinfo=datetime.timezone.utc)
    ranged = {"range": "bytes=0-9"}
    headers = signer.headers("GET", "examplebucket.s3.amazonaws.com", "/test.txt", headers=ranged, now=when)
    wanted = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    assert headers["authorization"].endswith(f"Signature={wanted}")


def test_a_signed_url_is_that_of_awss_example():
    """https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html"""
    signer = Signer("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    when = datetime.datetime(2013, 5, 24, tzinfo=datetime.timezone.utc)
    query = signer.query("GET", "examplebucket.s3.amazonaws.com", "/test.txt", 86400, when)
    assert query.endswith("X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")


@pytest.fixture(scope="module", name="filled")
def filled_fixture(seaweed):
    client = seaweed.client()
    for bucket in seaweed.buckets:
        for i, name in enumerate(NAMES):
            client.put(bucket, name, CONTENT + bytes([i]))
    return seaweed


@pytest.mark.parametrize("name", NAMES)
def test_seaweed_has_what_was_put_into_it_under_any_name(filled, name):
    client = filled.client()
    wanted = CONTENT + bytes([NAMES.index(name)])
    assert client.get("private", name) == wanted
    assert client.get("private", name, (100, 299)) == wanted[100:300]
    assert int(client.head("private", name)["content-length"]) == len(wanted)
    assert got(client.signed_url("private", name))[2] == wanted


def test_seaweed_lists_what_there_is(filled):
    client = filled.client()
    assert client.list("private").items() >= {name: len(CONTENT) + 1 for name in NAMES}.items()
    assert list(client.list("private", "deep/")) == ["deep/er/file"]


def test_seaweed_lists_more_than_one_page(seaweed):
    client = seaweed.client()
    names = [f"page/{i:05}" for i in range(25)]
    for name in names:
        client.put("private", name, b"x")
    assert list(client.list("private", "page/", page=10)) == names


def test_a_folder_comes_into_a_bucket_as_it_is(seaweed, tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "top").write_bytes(b"1")
    (tmp_path / "a/b/big").write_bytes(CONTENT * 600)  # of several chunks
    client = seaweed.client()
    assert client.put_folder("private", tmp_path, "folder/x") == ["folder/x/a/b/big", "folder/x/top"]
    assert client.list("private", "folder/") == {"folder/x/a/b/big": len(CONTENT) * 600, "folder/x/top": 1}
    assert client.get("private", "folder/x/a/b/big") == CONTENT * 600


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


def test_nginxs_certificates_are_trusted_by_nobody_else(pages):
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        got(f"{pages.https}/deep/file.bin")
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        got(f"{pages.wrong_https}/deep/file.bin", context=ssl.create_default_context(cafile=pages.wrong_certificate))


def test_nginxs_odd_places_are_odd(pages):
    ranged = {"Range": "bytes=0-9"}
    assert raw(pages, "/without-ranges/deep/file.bin", ranged)[::2] == (200, CONTENT)
    assert raw(pages, "/with-token/deep/file.bin", ranged)[0] == 403
    assert raw(pages, f"/with-token/deep/file.bin?token={pages.token}", ranged)[::2] == (206, CONTENT[:10])
    status, headers, _ = raw(pages, "/moved/deep/file.bin", {})
    assert status == 302 and headers["Location"].endswith("/deep/file.bin")


def test_rclone_serves_a_folder_over_http(rclone_http):
    (rclone_http.root / "file.bin").write_bytes(CONTENT)
    assert got(f"{rclone_http.url}/file.bin")[2] == CONTENT
    assert got(f"{rclone_http.url}/file.bin", {"Range": "bytes=5-9"})[::2] == (206, CONTENT[5:10])


def test_rclone_serves_a_folder_as_s3_and_is_odd_about_ranges(rclone_s3):
    client = rclone_s3.client()
    client.put("private", "sub/file.bin", CONTENT)
    assert (rclone_s3.root / "private/sub/file.bin").read_bytes() == CONTENT
    assert client.list("private", "sub/") == {"sub/file.bin": len(CONTENT)}
    answer = client.request("GET", "private", "sub/file.bin", headers={"range": "bytes=5-9"})
    assert answer.body == CONTENT[5:10] and answer.headers["content-range"] == f"bytes 5-9/{len(CONTENT)}"
    assert answer.status == 200  # by the standard, 206
    with pytest.raises(Refused, match="400"):  # as it is no signed request
        rclone_s3.everybody().get("private", "sub/file.bin")


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


def test_a_program_that_is_not_installed_is_named():
    with pytest.raises(servers.Missing, match="no no-such-program: run scripts/setup"):
        servers.program("no-such-program")


def test_servers_do_not_see_the_users_keys(monkeypatch, seaweed):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "the user's own")
    environment = seaweed.environment()
    assert environment["AWS_SECRET_ACCESS_KEY"] == seaweed.secret_key
    assert os.environ["AWS_SECRET_ACCESS_KEY"] == "the user's own"
