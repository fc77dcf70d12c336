"""The fault proxy in front of the servers that tests use: signatures hold, and faults meet requests of S3."""

import http.client
import urllib.request

import pytest
from fault_plan import Plan, Rule
from faults import Cut, ExpiredToken, Flip, OtherRange, Unavailable, WholeForRange
from s3 import Refused

CONTENT = bytes(i * 11 % 256 for i in range(50_000))


@pytest.fixture(scope="module", name="storage")
def storage_fixture(seaweed):
    seaweed.client().put("private", "faults/a ü.bin", CONTENT)
    return seaweed


def test_signed_requests_go_through_the_proxy(storage, in_front_of):
    proxy = in_front_of(storage)
    client = storage.client(proxy.url)
    assert client.get("private", "faults/a ü.bin", (5, 9)) == CONTENT[5:10]
    assert client.list("private", "faults/") == {"faults/a ü.bin": len(CONTENT)}
    client.put("private", "faults/new", CONTENT)
    assert client.get("private", "faults/new") == CONTENT
    with urllib.request.urlopen(client.signed_url("private", "faults/new")) as answer:
        assert answer.read() == CONTENT
    found = proxy.counters()["objects"]["/private/faults/new"]
    assert found["methods"] == {"PUT": 1, "GET": 2} and found["bytes"] == 2 * len(CONTENT)


@pytest.mark.parametrize(
    ("fault", "wanted", "status"),
    [
        (OtherRange(), CONTENT[80:90], 206),
        (WholeForRange(), CONTENT, 200),
        (Flip(at=0), None, 206),
    ],
    ids=["other_range", "whole_for_range", "flip"],
)
def test_answers_are_changed_though_requests_are_signed(storage, in_front_of, fault, wanted, status):
    proxy = in_front_of(storage, plan=Plan([Rule(fault)]))
    client = storage.client(proxy.url)
    answer = client.request("GET", "private", "faults/a ü.bin", headers={"range": "bytes=90-99"})
    assert answer.status == status
    if wanted is None:
        assert answer.body[1:] == CONTENT[91:100] and answer.body[0] != CONTENT[90]
    else:
        assert answer.body == wanted


def test_errors_of_s3_are_made_for_what_the_plan_says(storage, in_front_of):
    proxy = in_front_of(storage, plan=Plan([Rule(ExpiredToken(), path="/private/*", times=1)]))
    client = storage.client(proxy.url)
    assert client.list("private", "faults/")
    with pytest.raises(Refused, match="ExpiredToken"):
        client.get("private", "faults/a ü.bin")
    assert client.get("private", "faults/a ü.bin") == CONTENT


def test_one_request_can_be_told_from_another(storage, in_front_of):
    """A fault for each range once, as a test of repetition has it."""
    proxy = in_front_of(storage, plan=Plan([Rule(Unavailable(retry_after=0), ranged=True, each=1)]))
    client = storage.client(proxy.url)
    for begin in (0, 100, 200):
        with pytest.raises(Refused, match="SlowDown"):
            client.get("private", "faults/a ü.bin", (begin, begin + 99))
        assert client.get("private", "faults/a ü.bin", (begin, begin + 99)) == CONTENT[begin : begin + 100]
    assert proxy.counters()["faults"] == {"unavailable": 3}


def test_a_page_of_nginx_can_be_cut_too(nginx, in_front_of):
    (nginx.root / "cut.bin").write_bytes(CONTENT)
    proxy = in_front_of(nginx, plan=Plan([Rule(Cut(10), times=1)]))
    with pytest.raises(http.client.IncompleteRead), urllib.request.urlopen(f"{proxy.url}/cut.bin") as answer:
        answer.read()
    with urllib.request.urlopen(f"{proxy.url}/cut.bin") as answer:
        assert answer.read() == CONTENT
