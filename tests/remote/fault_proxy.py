#!/usr/bin/env python3
"""A proxy in front of one HTTP server that breaks answers, counts requests, and makes a local server a distant one.

    with FaultProxy(server.address) as proxy:
        proxy.plan = Plan([Rule(Cut(1000), path="*.tar", times=1)])
        ...
        proxy.counters()["objects"]["/public/a.tar"]["requests"]

It forwards requests by their path to the server (it is no CONNECT proxy), over HTTP/1.1 and without TLS. Clients sign
requests for the proxy's address, which the server sees as theirs: the Host header goes by unchanged.

As a program it prints its address, and takes plans over HTTP:

    fault_proxy.py 127.0.0.1:8333 --delay-ms 20 --bytes-per-s 125000000 --plan plan.json
    GET  /__faults__/counters     what was asked for so far, as JSON
    POST /__faults__/plan         another plan (fault_plan.py), as JSON; POST /__faults__/reset: counts from 0 on
"""

import argparse
import asyncio
import collections
import json
import signal
import socket
import threading
from pathlib import Path

from fault_plan import Plan, Request
from faults import Answer
from http_wire import NO_BODY, PIECE, BytesBody, Connection, Gone, Head, NoBody, Pace, WireBody

CONTROL = "/__faults__/"
HOP_BY_HOP = ("Connection", "Keep-Alive", "Proxy-Connection", "Expect")
RANGES_KEPT = 100_000  # of an object, different ones
EVENTS_KEPT = 100_000


class Upstream:
    """The connection to the server that belongs to one connection of a client: opened when it is needed."""

    def __init__(self, address):
        self.address, self.connection = address, None

    async def send(self, head, body):
        """Sends a request and returns the head of its answer, a new connection being tried where an old one is dead."""
        empty = isinstance(body, NoBody)
        while True:
            fresh = self.connection is None
            try:
                if fresh:
                    await self.open()
                return await self.sent(head, body)
            except Gone:
                self.drop()
                if fresh or not empty:
                    raise

    async def open(self):
        made = socket.socket()
        made.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(made, self.address)
        except OSError as error:
            made.close()
            raise Gone(f"the server cannot be reached: {error}") from error
        self.connection = Connection(made)

    async def sent(self, head, body):
        await self.connection.send(head.encoded())
        while data := await body.read():
            await self.connection.send(b"%x\r\n%b\r\n" % (len(data), data) if head.chunked else data)
        if head.chunked:
            await self.connection.send(b"0\r\n\r\n")
        while True:
            answer = await self.connection.head()
            if answer is None:
                raise Gone("the server sent no answer")
            if answer.status >= 200:
                return answer

    def drop(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


class Exchange:
    """One request and its answer: what a fault works with."""

    def __init__(self, proxy, client, upstream, request, random):
        self.proxy, self.client, self.upstream, self.request, self.random = proxy, client, upstream, request, random
        has_body = request.head.chunked or (request.head.length or 0) > 0
        self.body = WireBody(client, request.head, to_the_end=False) if has_body else NoBody()
        self.keep = not request.head.closes
        self.status = None
        self.last = None  # the answer of the server

    async def expect_body(self):
        """A client that waits to be told may send its body."""
        if "100-continue" in self.request.head.get("Expect", "").lower():
            await self.client.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def refuse_body(self):
        """Takes the request's body without sending it on, so that an answer can follow."""
        await self.expect_body()
        while await self.body.read():
            pass

    async def ask(self, range=None):
        """The server's answer; of another range, or of the whole object (""), where one is given."""
        head = Head(self.request.head.start, self.request.head.headers)
        if range is not None:
            head.drop("Range")
            head.headers += [("Range", range)] if range else []
            if self.proxy.sign and head.get("Authorization"):
                self.proxy.sign(head, self.request)
        if self.last is None:
            await self.expect_body()
        head.drop(*HOP_BY_HOP)
        try:
            told = await self.upstream.send(head, self.body)
        except Gone as error:
            return self.made(502, "Bad Gateway", f"{error}\n".encode())
        without = self.request.method == "HEAD" or told.status in NO_BODY
        body = NoBody() if without else WireBody(self.upstream.connection, told, to_the_end=True)
        if not body.reusable or told.closes:
            self.keep = False
        told.drop(*HOP_BY_HOP)
        self.last = Answer(told, body)
        return self.last

    def made(self, status, reason, text, headers=()):
        """An answer of the proxy's own."""
        head = Head(f"HTTP/1.1 {status} {reason}", [*headers, ("Content-Length", str(len(text)))])
        return Answer(head, NoBody() if self.request.method == "HEAD" else BytesBody(text))

    async def send_head(self, answer):
        self.status = answer.head.status
        if not self.keep:
            answer.head.set("Connection", "close")
        await self.client.send(answer.head.encoded())

    async def send_body(self, answer, most=None):
        """Sends the body, or the next `most` bytes of it; returns how many there were."""
        without = self.request.method == "HEAD" or answer.head.status in NO_BODY
        chunked, count = answer.head.chunked and not without, 0
        while not answer.ended and (most is None or count < most):
            data = await answer.take(PIECE if most is None else min(PIECE, most - count))
            if chunked:
                await self.client.send(b"%x\r\n%b\r\n" % (len(data), data))  # the last one is empty
            elif data:
                await self.client.send(data)
            self.count(len(data))
            count += len(data)
        return count

    def count(self, bytes):
        self.proxy.counts.sent(self.request, bytes)

    def close(self):
        self.keep = False
        self.client.close()

    def reset(self):
        self.keep = False
        self.client.reset()

    def finish(self):
        """The connection to the server stays where all of its answer was taken."""
        told = self.last
        if told is not None and not (told.ended and told.body.reusable and self.keep):
            self.upstream.drop()


class Counts:
    """What was asked for, by object."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.objects, self.faults = {}, collections.Counter()
        self.requests = self.bytes = self.under_way = self.most_at_once = self.connections = 0
        self.events = collections.deque(maxlen=EVENTS_KEPT)  # (method, path, range, fault, status) of each request

    def object(self, request):
        empty = {"requests": 0, "bytes": 0, "methods": collections.Counter(), "ranges": collections.Counter(),
                 "faults": collections.Counter()}  # fmt: skip
        return self.objects.setdefault(request.path, empty)

    def begun(self, request, fault):
        found = self.object(request)
        found["requests"] += 1
        found["methods"][request.method] += 1
        if request.range_text and (request.range_text in found["ranges"] or len(found["ranges"]) < RANGES_KEPT):
            found["ranges"][request.range_text] += 1
        if fault.kind != "untouched":
            found["faults"][fault.kind] += 1
            self.faults[fault.kind] += 1
        self.requests += 1
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)

    def sent(self, request, count):
        self.object(request)["bytes"] += count
        self.bytes += count

    def ended(self, request, fault, status):
        self.under_way = max(0, self.under_way - 1)
        self.events.append((request.method, request.path, request.range_text, fault.kind, status))

    def document(self):
        names = ("requests", "bytes", "connections", "most_at_once", "faults", "objects")
        return {name: getattr(self, name) for name in names}


class FaultProxy:
    """The proxy, in a thread of its own. Its methods may be called from any thread.

    `server` is (host, port). `delay_ms` passes before a connection's first request is read, and before each request is
    sent on. `bytes_per_s` limits each connection, `total_bytes_per_s` all of them together. `sign(head, request)` signs
    a request again whose range a fault has changed (s3.py).
    """

    def __init__(self, server, plan=None, delay_ms=0, bytes_per_s=0, total_bytes_per_s=0, sign=None, port=0):
        self.server, self.current_plan, self.sign = server, plan or Plan(), sign
        self.delay, self.bytes_per_s = delay_ms / 1000, bytes_per_s
        self.total = Pace(total_bytes_per_s) if total_bytes_per_s else None
        self.counts, self.tasks, self.failed = Counts(), set(), []
        self.listener = socket.create_server(("127.0.0.1", port), backlog=1024)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.loop, self.thread = None, None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        begun = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.run(begun.set)), daemon=True)
        self.thread.start()
        begun.wait()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.stopped.set)
        self.thread.join()
        if self.failed:
            raise self.failed[0]

    async def run(self, begun=lambda: None):
        """Serves until `stopped` is set."""
        self.loop, self.stopped = asyncio.get_running_loop(), asyncio.Event()
        accepting = asyncio.create_task(self.accept())
        begun()
        await self.stopped.wait()
        for task in (accepting, *self.tasks):
            task.cancel()
        await asyncio.gather(accepting, *self.tasks, return_exceptions=True)
        self.listener.close()

    def call(self, function):
        """Calls it where requests are served, so that none is in the midst of it."""

        async def called():
            return function()

        return asyncio.run_coroutine_threadsafe(called(), self.loop).result(120)

    @property
    def plan(self):
        return self.current_plan

    @plan.setter
    def plan(self, plan):
        self.call(lambda: setattr(self, "current_plan", plan))

    def counters(self):
        return json.loads(self.call(lambda: json.dumps(self.counts.document())))

    def events(self):
        return self.call(lambda: list(self.counts.events))

    def reset(self):
        self.call(self.counts.reset)

    async def accept(self):
        while True:
            connected, _ = await self.loop.sock_accept(self.listener)
            task = asyncio.create_task(self.serve(connected))
            self.tasks.add(task)
            task.add_done_callback(self.ended)

    def ended(self, task):
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.failed.append(task.exception())

    async def serve(self, connected):
        """The requests of one connection, one after the other."""
        client = Connection(connected, [Pace(self.bytes_per_s) if self.bytes_per_s else None, self.total])
        upstream = Upstream(self.server)
        self.counts.connections += 1
        try:
            await asyncio.sleep(self.delay)
            while (head := await client.head()) is not None:
                if not await self.one(client, upstream, Request(head)):
                    break
        except Gone:
            pass
        finally:
            upstream.drop()
            client.close()

    async def one(self, client, upstream, request):
        """Serves a request; whether another may follow."""
        if request.path.startswith(CONTROL):
            return await self.control(client, request)
        fault, random = self.current_plan.decide(request)
        exchange = Exchange(self, client, upstream, request, random)
        self.counts.begun(request, fault)
        try:
            await asyncio.sleep(self.delay)
            await fault.run(exchange)
        except BaseException:
            exchange.keep = False
            raise
        finally:
            self.counts.ended(request, fault, exchange.status)
            exchange.finish()
        return exchange.keep

    async def control(self, client, request):
        exchange = Exchange(self, client, None, request, None)
        document = b"".join([data async for data in pieces(exchange.body)])
        status, text = 200, "{}"
        try:
            match request.method, request.path.removeprefix(CONTROL):
                case "GET", "counters":
                    text = json.dumps(self.counts.document())
                case "POST", "plan":
                    self.current_plan = Plan.from_json(json.loads(document))
                case "POST", "reset":
                    self.counts.reset()
                case _:
                    status, text = 404, json.dumps({"error": "there are counters, plan and reset"})
        except ValueError as error:
            status, text = 400, json.dumps({"error": str(error)})
        answer = exchange.made(status, "Control", text.encode(), [("Content-Type", "application/json")])
        await client.send(answer.head.encoded() + text.encode())
        return exchange.keep


async def pieces(body):
    while data := await body.read():
        yield data


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", metavar="HOST:PORT")
    parser.add_argument("--port", type=int, default=0, help="to listen at; 0: any")
    parser.add_argument("--plan", type=Path, metavar="FILE")
    parser.add_argument("--delay-ms", type=float, default=0, help="of each connection and of each request")
    parser.add_argument("--bytes-per-s", type=int, default=0, help="of each connection")
    parser.add_argument("--total-bytes-per-s", type=int, default=0, help="of all together")
    options = parser.parse_args()
    plan = Plan.from_json(json.loads(options.plan.read_text())) if options.plan else None
    host, _, port = options.server.rpartition(":")
    proxy = FaultProxy((host, int(port)), plan, options.delay_ms, options.bytes_per_s, options.total_bytes_per_s,
                       port=options.port)  # fmt: skip

    async def serve():
        task = asyncio.create_task(proxy.run())
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, lambda: proxy.stopped.set())
        print(proxy.url, flush=True)
        await task

    asyncio.run(serve())


if __name__ == "__main__":
    main()
