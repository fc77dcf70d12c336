"""The fault proxy itself: every fault is what it says, and nothing else of an answer is touched. In front of it a
server of Python's own; the clients are http.client and plain sockets."""

import gzip
import hashlib
import http.client
import json
import socket
import threading
import time

import pytest
from fault_plan import Plan, Request, Rule
from fault_proxy import FaultProxy
from faults import KINDS, from_json
from http_wire import Head
from origin import CONTENT, TAG, serving


PATIENCE = 120  # seconds; a busy machine lets programs wait


@pytest.fixture(scope="module", name="origin")
def origin_fixture():
    with serving() as address:
        yield address


@pytest.fixture(name="proxy")
def proxy_fixture(origin):
    with FaultProxy(origin) as proxy:
        yield proxy


class Client:
    """One connection."""

    def __init__(self, proxy):
        self.connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE)

    def get(self, path="/file", ranged=None, method="GET", body=None, headers=()):
        """The answer, and its body."""
        sent = dict(headers) | ({"Range": f"bytes={ranged[0]}-{ranged[1]}"} if ranged else {})
        self.connection.request(method, path, body=body, headers=sent)
        answer = self.connection.getresponse()
        return answer, answer.read()


def fault(proxy, kind, **options):
    """Every request from now on meets it."""
    proxy.plan = Plan([Rule(from_json({"kind": kind, **options}))])
    return Client(proxy)


def talk(proxy, request=b"GET /file HTTP/1.1\r\nHost: test\r\n\r\n"):
    """All that comes, byte by byte, until the connection ends; and whether by a reset."""
    with socket.create_connection(("127.0.0.1", proxy.port), PATIENCE) as plain:
        plain.sendall(request)
        parts = []
        try:
            while part := plain.recv(1 << 16):
                parts.append(part)
        except ConnectionResetError:
            return b"".join(parts), True
        return b"".join(parts), False


def wait_until(holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("path", ["/file", "/chunked", "/to-the-end"])
def test_an_answer_without_a_fault_goes_by(proxy, path):
    client = Client(proxy)
    for _ in range(3):
        answer, body = client.get(path)
        assert (answer.status, body) == (200, CONTENT)


def test_ranges_heads_and_refusals_go_by(proxy):
    client = Client(proxy)
    answer, body = client.get(ranged=(10, 19))
    assert (answer.status, body, answer.headers["ETag"]) == (206, CONTENT[10:20], TAG)
    assert answer.headers["Content-Range"] == f"bytes 10-19/{len(CONTENT)}"
    answer, body = client.get(method="HEAD")
    assert (answer.status, body, answer.headers["Content-Length"]) == (200, b"", str(len(CONTENT)))
    assert client.get(ranged=(999_999, 1_000_000))[0].status == 416
    assert proxy.counters()["connections"] == 1


def test_bodies_of_requests_go_by(proxy):
    client, data = Client(proxy), CONTENT * 20
    wanted = hashlib.sha256(data).hexdigest().encode()
    assert client.get("/new", method="PUT", body=data)[1] == wanted
    assert client.get("/new", method="PUT", body=iter([data[:5], data[5:]]))[1] == wanted


def test_a_client_that_waits_for_100_is_told(proxy):
    head = b"PUT /new HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 3\r\nConnection: close"
    said, _ = talk(proxy, head + b"\r\n\r\nabc")
    assert said.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


def test_a_server_that_is_not_there_is_a_502():
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = unused.getsockname()
    with FaultProxy(address) as proxy:
        assert Client(proxy).get()[0].status == 502


def test_a_body_is_cut(proxy):
    client = fault(proxy, "cut", bytes=1000)
    with pytest.raises(http.client.IncompleteRead) as cut:
        client.get()
    assert cut.value.partial == CONTENT[:1000]


def test_a_chunked_body_that_is_cut_has_no_end(proxy):
    client = fault(proxy, "cut", bytes=40_000)
    with pytest.raises(http.client.IncompleteRead):
        client.get("/chunked")


@pytest.mark.parametrize(("bytes", "begin"), [(None, b""), (0, b"HTTP/1.1 200"), (5000, b"HTTP/1.1 200")])
def test_a_connection_is_reset(proxy, bytes, begin):
    fault(proxy, "reset", bytes=bytes)
    said, reset = talk(proxy)
    assert reset and said.startswith(begin)
    assert said.partition(b"\r\n\r\n")[2] == CONTENT[: bytes or 0]


def test_a_connection_is_closed_without_an_answer(proxy):
    fault(proxy, "hangup")
    assert talk(proxy) == (b"", False)


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("unavailable", 503, "SlowDown"),
        ("too_many", 429, "TooManyRequests"),
        ("expired_token", 403, "ExpiredToken"),
        ("time_skewed", 403, "RequestTimeTooSkewed"),
        ("status", 500, "InternalError"),
    ],
)
def test_errors_are_those_of_s3(proxy, kind, status, code):
    client = fault(proxy, kind)
    for _ in range(2):  # the connection stays
        answer, body = client.get()
        assert answer.status == status and f"<Code>{code}</Code>".encode() in body
        assert answer.headers["Retry-After"] is None
    answer, body = client.get(method="HEAD")
    assert (answer.status, body) == (status, b"")
    assert client.get("/new", method="PUT", body=CONTENT)[0].status == status
    assert proxy.counters()["connections"] == 1


def test_an_error_says_when_to_come_again(proxy):
    assert fault(proxy, "unavailable", retry_after=3).get()[0].headers["Retry-After"] == "3"
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    assert fault(proxy, "too_many", retry_after=date).get()[0].headers["Retry-After"] == date


@pytest.mark.parametrize("bytes", [None, 0, 777])
def test_a_stall_ends_and_the_answer_is_whole(proxy, bytes):
    client = fault(proxy, "stall", bytes=bytes, seconds=0.3)
    begin = time.monotonic()
    assert client.get()[1] == CONTENT
    assert time.monotonic() - begin >= 0.3


def test_a_stall_without_an_end_lasts_until_the_client_goes(proxy):
    fault(proxy, "stall", bytes=10)
    client = Client(proxy)
    client.connection.request("GET", "/file")
    answer = client.connection.getresponse()
    assert answer.read(10) == CONTENT[:10]
    client.connection.sock.settimeout(0.3)
    with pytest.raises(TimeoutError):
        answer.read(1)
    answer.close()
    client.connection.close()
    wait_until(lambda: proxy.call(lambda: proxy.counts.under_way) == 0)


def test_a_trickle_is_slow_and_whole(proxy):
    client = fault(proxy, "trickle", bytes=7, every_ms=5)
    begin = time.monotonic()
    assert client.get(ranged=(0, 99))[1] == CONTENT[:100]
    assert time.monotonic() - begin >= 14 * 0.005


def test_a_length_is_too_large(proxy):
    with pytest.raises(http.client.IncompleteRead) as short:
        fault(proxy, "length", by=5).get()
    assert short.value.partial == CONTENT


def test_a_length_is_too_small(proxy):
    fault(proxy, "length", by=-5)
    head, _, body = talk(proxy)[0].partition(b"\r\n\r\n")
    assert f"Content-Length: {len(CONTENT) - 5}".encode() in head and body == CONTENT


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"shift": 3}, f"bytes 13-22/{len(CONTENT)}"),
        ({"total": -7}, f"bytes 10-19/{len(CONTENT) - 7}"),
        ({"text": "bytes */5"}, "bytes */5"),
        ({"text": ""}, None),
    ],
)
def test_a_content_range_is_wrong(proxy, options, told):
    answer, body = fault(proxy, "content_range", **options).get(ranged=(10, 19))
    assert (answer.status, answer.headers["Content-Range"], body) == (206, told, CONTENT[10:20])


@pytest.mark.parametrize(
    ("ranged", "body"),
    [
        ((20, 29), CONTENT[10:20]),
        ((5, 14), CONTENT[15:25]),
        ((10, 89_999), CONTENT[45_005:90_000] + CONTENT[10:45_005]),
    ],
)
def test_another_ranges_bytes_come_under_the_right_head(proxy, ranged, body):
    answer, found = fault(proxy, "other_range").get(ranged=ranged)
    assert answer.status == 206 and answer.headers["Content-Range"] == f"bytes {ranged[0]}-{ranged[1]}/{len(CONTENT)}"
    assert found == body


def test_bits_are_flipped(proxy):
    answer, body = fault(proxy, "flip", at=50).get()
    assert answer.headers["Content-Length"] == str(len(CONTENT))
    assert body[:50] + body[51:] == CONTENT[:50] + CONTENT[51:]
    assert (body[50] ^ CONTENT[50]).bit_count() == 1
    _, body = fault(proxy, "flip", bits=3).get()
    assert 1 <= sum((a ^ b).bit_count() for a, b in zip(body, CONTENT, strict=True)) <= 3


def test_a_range_is_answered_with_the_whole(proxy):
    answer, body = fault(proxy, "whole_for_range").get(ranged=(10, 19))
    assert (answer.status, answer.headers["Content-Range"], body) == (200, None, CONTENT)


def test_a_range_is_answered_with_200(proxy):
    answer, body = fault(proxy, "ok_for_range").get(ranged=(10, 19))
    assert (answer.status, body) == (200, CONTENT[10:20])


def test_the_tag_is_another_one_or_none(proxy):
    assert fault(proxy, "etag").get()[0].headers["ETag"] == '"changed"'
    assert fault(proxy, "etag", value="").get()[0].headers["ETag"] is None


@pytest.mark.parametrize("by", [5, -5])
def test_the_object_has_another_size(proxy, by):
    client, size = fault(proxy, "size", by=by), len(CONTENT) + by
    assert client.get(method="HEAD")[0].headers["Content-Length"] == str(size)
    assert client.get()[1] == (CONTENT + bytes(5))[:size]
    answer, body = client.get(ranged=(0, 9))
    assert (answer.headers["Content-Range"], body) == (f"bytes 0-9/{size}", CONTENT[:10])


def test_garbage_comes_instead_of_an_answer(proxy):
    client = fault(proxy, "garbage", text="no HTTP at all\r\n\r\n")
    with pytest.raises(http.client.BadStatusLine):
        client.get()
    fault(proxy, "garbage", bytes=321)
    assert len(talk(proxy)[0]) == 321


def test_headers_do_not_end(proxy):
    fault(proxy, "endless_headers", bytes=1 << 20)
    said, _ = talk(proxy)
    assert len(said) > 1 << 20 and b"\r\n\r\n" not in said
    with pytest.raises(http.client.HTTPException, match="got more than"):
        Client(proxy).get()


@pytest.mark.parametrize("framing", ["chunked", "close", "length"])
def test_a_body_does_not_end(proxy, framing):
    client = fault(proxy, "endless_body", framing=framing)
    client.connection.request("GET", "/file")
    answer = client.connection.getresponse()
    assert answer.status == 200 and len(answer.read(3 << 20)) == 3 << 20


def test_a_redirect_leads_to_itself(proxy):
    answer, _ = fault(proxy, "redirect").get("/file?x=1")
    assert answer.status == 302 and answer.headers["Location"] == f"{proxy.url}/file?x=1"
    answer, _ = fault(proxy, "redirect", status=307, to="http://elsewhere/").get()
    assert answer.status == 307 and answer.headers["Location"] == "http://elsewhere/"


@pytest.mark.parametrize("path", ["/file", "/chunked"])
def test_a_body_is_compressed(proxy, path):
    answer, body = fault(proxy, "gzip").get(path)
    assert answer.headers["Content-Encoding"] == "gzip" and gzip.decompress(body) == CONTENT


def test_every_fault_leaves_the_next_connection_alone(proxy):
    for kind in sorted(KINDS):
        bounded = {"stall": {"seconds": 0.05}, "endless_body": {"bytes": 1 << 16}, "endless_headers": {"bytes": 1 << 16},
                   "trickle": {"bytes": 1 << 20}}  # fmt: skip
        proxy.plan = Plan([Rule(from_json({"kind": kind, **bounded.get(kind, {})}), times=1)])
        talk(proxy, b"GET /file HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
        assert Client(proxy).get()[1] == CONTENT, kind


def test_a_rule_is_for_some_requests(proxy):
    rules = [
        Rule(from_json({"kind": "status", "status": 500}), path="/f*", ranged=True),
        Rule(from_json({"kind": "status", "status": 501}), method="HEAD"),
        Rule(from_json({"kind": "status", "status": 502}), query="list-type=2*"),
    ]
    proxy.plan = Plan(rules)
    client = Client(proxy)
    assert client.get(ranged=(0, 9))[0].status == 500
    assert client.get()[0].status == 200
    assert client.get("/chunked", ranged=(0, 9))[0].status == 200
    assert client.get(method="HEAD")[0].status == 501
    assert client.get("/?list-type=2&prefix=")[0].status == 502


def statuses(proxy, count, **rule):
    proxy.plan = Plan([Rule(from_json({"kind": "unavailable"}), **rule)])
    client = Client(proxy)
    return [client.get(ranged=(i % 2, 9))[0].status for i in range(count)]


def test_a_rule_is_for_some_times(proxy):
    assert statuses(proxy, 5, skip=1, times=2) == [206, 503, 503, 206, 206]
    assert statuses(proxy, 6, each=1) == [503, 503, 206, 206, 206, 206]


def chances(seed, order):
    """What requests for ranges meet, each twice, in an order."""
    faults = [from_json({"kind": "reset"}), from_json({"kind": "cut"})]
    plan, met = Plan([Rule(faults, chance=0.5)], seed), {}
    for i in order:
        request = Request(Head("GET /file HTTP/1.1", [("Range", f"bytes={i}-{i + 9}")]))
        met.setdefault(i, []).append(plan.decide(request)[0].kind)
    return met


def test_chance_is_the_same_for_a_seed_in_whatever_order_requests_come():
    numbers = list(range(200))
    forward, backward = chances(7, numbers * 2), chances(7, numbers[::-1] * 2)
    assert forward == backward != chances(8, numbers * 2)
    kinds = [kind for met in forward.values() for kind in met]
    assert 130 < kinds.count("untouched") < 270 and 60 < kinds.count("reset") < 140 and 60 < kinds.count("cut") < 140
    assert any(a != b for a, b in forward.values())


def test_requests_ranges_and_bytes_are_counted_by_object(proxy):
    client = fault(proxy, "cut", bytes=4)
    with pytest.raises(http.client.IncompleteRead):
        client.get(ranged=(0, 9))
    proxy.plan = Plan()
    client = Client(proxy)
    client.get(ranged=(0, 9))
    client.get(method="HEAD")
    client.get("/chunked")
    counters = proxy.counters()
    assert counters["objects"]["/file"] == {
        "requests": 3, "bytes": 14, "methods": {"GET": 2, "HEAD": 1}, "ranges": {"bytes=0-9": 2}, "faults": {"cut": 1},
    }  # fmt: skip
    assert counters["objects"]["/chunked"]["bytes"] == len(CONTENT)
    assert (counters["requests"], counters["bytes"], counters["faults"]) == (4, 14 + len(CONTENT), {"cut": 1})
    assert counters["most_at_once"] == 1
    asked = ("GET", "/file", "bytes=0-9")
    assert proxy.events()[:2] == [(*asked, "cut", 206), (*asked, "untouched", 206)]
    proxy.reset()
    assert proxy.counters()["requests"] == 0


def test_requests_at_once_are_counted(proxy):
    fault(proxy, "stall")
    clients = [Client(proxy) for _ in range(6)]
    for client in clients:
        client.connection.request("GET", "/file")
    wait_until(lambda: proxy.call(lambda: proxy.counts.under_way) == 6)
    for client in clients:
        client.connection.close()
    wait_until(lambda: proxy.call(lambda: proxy.counts.under_way) == 0)
    assert proxy.counters()["most_at_once"] == 6


def test_it_is_driven_over_http(proxy):
    client = Client(proxy)
    plan = {"seed": 1, "rules": [{"fault": {"kind": "unavailable"}, "path": "/file", "times": 1}]}
    assert client.get("/__faults__/plan", method="POST", body=json.dumps(plan))[0].status == 200
    assert [client.get()[0].status for _ in range(2)] == [503, 200]
    counters = json.loads(client.get("/__faults__/counters")[1])
    assert counters["requests"] == 2 and counters["faults"] == {"unavailable": 1}
    assert client.get("/__faults__/reset", method="POST")[0].status == 200
    assert json.loads(client.get("/__faults__/counters")[1])["requests"] == 0
    assert client.get("/__faults__/nonsense")[0].status == 404


@pytest.mark.parametrize(
    "plan",
    [
        "no JSON",
        "[]",
        '{"rules": [{"fault": {"kind": "nonsense"}}]}',
        '{"rules": [{"fault": {"kind": "cut", "nonsense": 1}}]}',
        '{"rules": [{"fault": {"kind": "cut"}, "nonsense": 1}]}',
        '{"nonsense": 1}',
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(proxy, plan):
    answer, said = Client(proxy).get("/__faults__/plan", method="POST", body=plan)
    assert answer.status == 400 and json.loads(said)["error"]
    assert Client(proxy).get()[0].status == 200


def test_connections_and_requests_are_delayed(origin):
    with FaultProxy(origin, delay_ms=60) as proxy:
        begin = time.monotonic()
        client = Client(proxy)
        client.get(ranged=(0, 9))
        client.get(ranged=(0, 9))
        assert time.monotonic() - begin >= 3 * 0.06


@pytest.mark.parametrize("limit", ["bytes_per_s", "total_bytes_per_s"])
def test_bandwidth_is_limited(origin, limit):
    with FaultProxy(origin, **{limit: 500_000}) as proxy:
        begin = time.monotonic()
        threads = [threading.Thread(target=lambda: Client(proxy).get()) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - begin
    wanted = len(CONTENT) / 500_000 * (1 if limit == "bytes_per_s" else 2)
    assert seconds >= wanted * 0.8
