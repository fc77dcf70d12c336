"""A packed dataset behind a web server of Python's own: read by ranges, through answers that are cut or refused, and
verified. tests/remote has real servers and more faults."""

import contextlib
import http.server
import re
import threading

import pytest
from python_support import DAMAGE, DONE, SHAPES, copy_tree, flip_byte, pack, packhorse, run, tree


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves server.root with ranges. Each request for a shard is cut at first, then refused, then answered."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path, ranged = self.server.root / self.path.strip("/"), self.headers.get("Range", "")
        asked = (self.command, self.path, ranged)
        self.server.asked[asked] = self.server.asked.get(asked, 0) + 1
        faulty = self.server.faults and self.path.endswith(".tar") and self.command == "GET"
        if not path.is_file() or (faulty and self.server.asked[asked] == 2):
            return self.answer(503 if path.is_file() else 404)
        data = path.read_bytes()
        if found := re.fullmatch(r"bytes=(\d+)-(\d+)", ranged):
            first, last = int(found[1]), min(int(found[2]), len(data) - 1)
            place = [("Content-Range", f"bytes {first}-{last}/{len(data)}")]
            return self.answer(206, data[first : last + 1], place, cut=faulty and self.server.asked[asked] == 1)
        return self.answer(200, data)

    def answer(self, status, body=b"", headers=(), cut=False):
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body))), ("ETag", '"tag"')):
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = cut


@contextlib.contextmanager
def serving(root, faults=False):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.root, server.faults, server.asked = True, root, faults, {}
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("remote") / "packed"
    pack(SHAPES, out, "--format=wds", "--shard-samples=40")
    return out


@pytest.mark.parametrize("faults", [False, True], ids=["sound", "cut and refused"])
def test_a_dataset_at_a_url_is_the_one_on_the_disk(faults, packed, tmp_path):
    packhorse("unpack", packed, tmp_path / "here")
    with serving(packed, faults) as (server, url):
        packhorse("unpack", url, tmp_path / "there", f"--cache={tmp_path}/cache")
        ranges = {asked: times for asked, times in server.asked.items() if asked[1].endswith(".tar") and asked[0] == "GET"}
        assert ranges and all(asked[2] for asked in ranges) and set(ranges.values()) == {3 if faults else 1}
        server.asked.clear()
        packhorse("unpack", url, tmp_path / "again", f"--cache={tmp_path}/cache")
        assert not any(asked[1].endswith(".tar") and asked[0] == "GET" for asked in server.asked), "it is in the cache"
    assert tree(tmp_path / "there") == tree(tmp_path / "again") == tree(tmp_path / "here")


def test_damage_at_a_url_is_found(packed, tmp_path):
    with serving(packed) as (_, url):
        assert run("inspect", url, "--verify=full", "--no-cache").code == DONE
        assert packhorse("diff", url, packed, "--no-cache").out.count("equal: id ") == 2
    damaged = copy_tree(packed, tmp_path / "damaged")
    shard = damaged / "train/shard-000001.tar"
    flip_byte(shard, shard.stat().st_size // 2)
    with serving(damaged) as (_, url):
        result = run("inspect", url, "--verify=full", "--json", "--no-cache")
        assert result.code == DAMAGE and shard.name in result.out, result
        result = run("unpack", url, tmp_path / "out", "--no-cache")
        assert result.code == DAMAGE and shard.name in result.err and not (tmp_path / "out").exists(), result


def test_what_is_not_there_is_named(tmp_path):
    with serving(tmp_path) as (_, url):
        result = run("inspect", f"{url}/nothing", "--no-cache")
    assert result.code != DONE and "dataset.json" in result.err and "next: " in result.err, result
