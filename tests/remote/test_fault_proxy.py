"""The fault proxy itself: every fault is what it says, and nothing else of an answer is touched. In front of it a
server of Python's own; the clients are http.client and plain sockets."""

import hashlib
import http.client
import json
import socket

import pytest
from fault_plan import Plan, Request, Rule
from fault_proxy import FaultProxy
from faults import OtherRange, from_json
from http_wire import Head
from origin import CONTENT, TAG, serving
from servers import PATIENCE, wait_until


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
    head = b"PUT /new HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 3\r\nConnection: close"
    said, _ = talk(proxy, head + b"\r\n\r\nabc")
    assert said.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


def test_an_answer_is_cut_short_or_taken_away(proxy):
    for kind, options, came in (("cut", {"bytes": 1000}, CONTENT[:1000]), ("length", {"by": 5}, CONTENT)):
        with pytest.raises(http.client.IncompleteRead) as cut:
            fault(proxy, kind, **options).get()
        assert cut.value.partial == came
    fault(proxy, "hangup")
    assert talk(proxy) == (b"", False)
    fault(proxy, "reset", bytes=5000)
    said, reset = talk(proxy)
    assert reset and said.partition(b"\r\n\r\n")[2] == CONTENT[:5000]
    fault(proxy, "garbage", bytes=321)
    assert len(talk(proxy)[0]) == 321


def test_an_answer_is_another_one(proxy):
    _, body = fault(proxy, "flip", at=50).get()
    assert body[:50] + body[51:] == CONTENT[:50] + CONTENT[51:] and (body[50] ^ CONTENT[50]).bit_count() == 1
    answer, body = fault(proxy, "whole_for_range").get(ranged=(10, 19))
    assert (answer.status, answer.headers["Content-Range"], body) == (200, None, CONTENT)
    assert fault(proxy, "etag").get()[0].headers["ETag"] == '"changed"'


def test_errors_are_those_of_s3(proxy):
    client = fault(proxy, "unavailable", retry_after=3)
    for _ in range(2):  # the connection stays
        answer, body = client.get()
        assert answer.status == 503 and b"<Code>SlowDown</Code>" in body and answer.headers["Retry-After"] == "3"
    answer, body = client.get(method="HEAD")
    assert (answer.status, body) == (503, b"")
    assert client.get("/new", method="PUT", body=CONTENT)[0].status == 503
    assert proxy.counters()["connections"] == 1


def test_a_stall_lasts_until_its_end_or_the_client_goes(proxy):
    assert fault(proxy, "stall", bytes=777, seconds=0.01).get()[1] == CONTENT
    fault(proxy, "stall", bytes=10)
    client = Client(proxy)
    client.connection.request("GET", "/file")
    answer = client.connection.getresponse()
    assert answer.read(10) == CONTENT[:10]
    answer.close()
    client.connection.close()
    wait_until(lambda: proxy.call(lambda: proxy.counts.under_way) == 0)


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


@pytest.mark.parametrize("by", [5, -5])
def test_the_object_has_another_size(proxy, by):
    client, size = fault(proxy, "size", by=by), len(CONTENT) + by
    assert client.get(method="HEAD")[0].headers["Content-Length"] == str(size)
    assert client.get()[1] == (CONTENT + bytes(5))[:size]
    answer, body = client.get(ranged=(0, 9))
    assert (answer.headers["Content-Range"], body) == (f"bytes 0-9/{size}", CONTENT[:10])


@pytest.mark.parametrize("framing", ["chunked", "close", "length"])
def test_a_body_does_not_end(proxy, framing):
    client = fault(proxy, "endless_body", framing=framing)
    client.connection.request("GET", "/file")
    answer = client.connection.getresponse()
    assert answer.status == 200 and len(answer.read(3 << 20)) == 3 << 20


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
    for wrong in ("no JSON", '{"rules": [{"fault": {"kind": "nonsense"}}]}', '{"rules": [{"nonsense": 1}]}'):
        answer, said = client.get("/__faults__/plan", method="POST", body=wrong)
        assert answer.status == 400 and json.loads(said)["error"]


def test_a_range_is_changed_though_requests_are_signed(seaweed, in_front_of):
    seaweed.client().put("private", "faults/a ü.bin", CONTENT)
    proxy = in_front_of(seaweed, plan=Plan([Rule(OtherRange())]))
    answer = seaweed.client(proxy.url).request("GET", "private", "faults/a ü.bin", headers={"range": "bytes=90-99"})
    assert (answer.status, answer.body) == (206, CONTENT[80:90])
