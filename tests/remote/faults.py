"""What the fault proxy can do to an answer. Each fault is a class; its fields are the fault's options, and its `kind` in
a plan is the class's name in lower case with underscores: {"kind": "cut", "bytes": 1000}.

A fault `asks` the server, `changes` the answer, and `gives` it to the client; most do one of these in their own way.
"""

import asyncio
import dataclasses
import re

from http_wire import BytesBody, Head, whole

ARRIVED = 0.02  # seconds after which what was sent has surely arrived, before a reset would throw it away
REASONS = {403: "Forbidden", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable"}
KINDS = {}


def from_json(document):
    """A fault of a plan. Raises ValueError for a kind or an option that is not there."""
    options = dict(document)
    kind = options.pop("kind", None)
    if kind not in KINDS:
        raise ValueError(f"no fault is called {kind!r}: there are {', '.join(sorted(KINDS))}")
    try:
        return KINDS[kind](**options)
    except TypeError as error:
        raise ValueError(f"{kind}: {error}") from error


@dataclasses.dataclass
class Answer:
    """The head and the body of an answer."""

    head: Head
    body: object
    spare: bytes = b""  # was read of the body, and not taken yet
    ended: bool = False  # all of the body was taken

    @property
    def good(self):
        return 200 <= self.head.status < 300

    async def take(self, most):
        """The next bytes of the body, `most` at most."""
        data = self.spare or await self.body.read()
        self.spare = data[most:]
        self.ended = not data
        return data[:most]


@dataclasses.dataclass(frozen=True)
class Fault:
    """None: the answer goes by as it is."""

    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        KINDS[re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()] = cls

    @property
    def kind(self):
        return next(kind for kind, cls in KINDS.items() if cls is type(self))

    async def ask(self, exchange):
        return await exchange.ask()

    async def change(self, exchange, answer):
        """Of an answer of success."""

    async def give(self, exchange, answer):
        await exchange.send_head(answer)
        await exchange.send_body(answer)

    async def run(self, exchange):
        answer = await self.ask(exchange)
        if answer.good:
            await self.change(exchange, answer)
        await self.give(exchange, answer)


class Untouched(Fault):
    """What a request gets that no rule of a plan is for."""


@dataclasses.dataclass(frozen=True)
class Cut(Fault):
    """The connection is closed after some bytes of the body."""

    bytes: int = 0

    async def give(self, exchange, answer):
        await exchange.send_head(answer)
        await exchange.send_body(answer, self.bytes)
        exchange.close()


@dataclasses.dataclass(frozen=True)
class Reset(Fault):
    """The connection is reset (RST) instead of an answer, or after the head and some bytes of the body."""

    bytes: int | None = None

    async def run(self, exchange):
        if self.bytes is not None:
            await super().run(exchange)
        else:
            await exchange.refuse_body()
            exchange.reset()

    async def give(self, exchange, answer):
        await exchange.send_head(answer)
        await exchange.send_body(answer, self.bytes)
        await asyncio.sleep(ARRIVED)
        exchange.reset()


@dataclasses.dataclass(frozen=True)
class Hangup(Fault):
    """The connection is closed instead of an answer, as when a server ends an idle connection that is just used."""

    async def run(self, exchange):
        await exchange.refuse_body()
        exchange.close()


@dataclasses.dataclass(frozen=True)
class Status(Fault):
    """An answer of its own, with an error document as S3 has them."""

    status: int = 500
    code: str = "InternalError"
    retry_after: int | str | None = None  # seconds, or a date

    async def ask(self, exchange):
        await exchange.refuse_body()
        text = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{self.code}</Code><Message>made by a test</Message>'
        return exchange.made(self.status, REASONS.get(self.status, "Error"), f"{text}</Error>".encode(), self.headers())

    def headers(self):
        retry = [] if self.retry_after is None else [("Retry-After", str(self.retry_after))]
        return [("Content-Type", "application/xml"), *retry]


@dataclasses.dataclass(frozen=True)
class Unavailable(Status):
    """503, with Retry-After or without it."""

    status: int = 503
    code: str = "SlowDown"


@dataclasses.dataclass(frozen=True)
class TooMany(Status):
    """429."""

    status: int = 429
    code: str = "TooManyRequests"


@dataclasses.dataclass(frozen=True)
class TimeSkewed(Status):
    """403, as S3 says it to a machine whose clock is wrong."""

    status: int = 403
    code: str = "RequestTimeTooSkewed"


@dataclasses.dataclass(frozen=True)
class Stall(Fault):
    """Nothing is sent for a while (None: for ever): before the head, or after some bytes of the body."""

    bytes: int | None = None
    seconds: float | None = None

    async def give(self, exchange, answer):
        if self.bytes is None:
            await exchange.client.quiet(self.seconds)
            await exchange.send_head(answer)
        else:
            await exchange.send_head(answer)
            await exchange.send_body(answer, self.bytes)
            await exchange.client.quiet(self.seconds)
        await exchange.send_body(answer)


@dataclasses.dataclass(frozen=True)
class Length(Fault):
    """Content-Length is larger or smaller than the body is; the connection is closed after the body, or kept."""

    by: int = 1
    hold: bool = False

    async def give(self, exchange, answer):
        if answer.head.length is not None:
            answer.head.set("Content-Length", max(0, answer.head.length + self.by))
        await exchange.send_head(answer)
        await exchange.send_body(answer)
        if self.hold:
            await exchange.client.quiet(None)
        exchange.close()


@dataclasses.dataclass(frozen=True)
class ContentRange(Fault):
    """Content-Range names another place, or another size of the object; or it is another text, or missing ("")."""

    shift: int = 0
    total: int = 0
    text: str | None = None

    async def change(self, exchange, answer):
        if self.text is not None:
            answer.head.drop("Content-Range")
            answer.head.headers += [("Content-Range", self.text)] if self.text else []
        elif (told := told_range(answer.head)) is not None:
            first, last, total = told
            last_told = last + self.shift
            answer.head.set("Content-Range", f"bytes {first + self.shift}-{last_told}/{total + self.total}")


@dataclasses.dataclass(frozen=True)
class OtherRange(Fault):
    """The bytes of the range before or behind the one that was asked for, under the right head."""

    async def ask(self, exchange):
        wanted = exchange.request.range
        if wanted is None or wanted[0] is None or wanted[1] is None:
            return await self.turned(exchange)
        first, count = wanted[0], wanted[1] - wanted[0] + 1
        for other in (first - count, first + count):
            if other < 0:
                continue
            answer = await exchange.ask(range=f"bytes={other}-{other + count - 1}")
            told = told_range(answer.head)
            if answer.head.status == 206 and told and told[1] - told[0] + 1 == count:
                answer.head.set("Content-Range", f"bytes {first}-{first + count - 1}/{told[2]}")
                return answer
            await whole(answer.body)
        return await self.turned(exchange)

    async def turned(self, exchange):
        """Where there is no other range of the size: the bytes begin in the middle."""
        answer = await exchange.ask()
        if answer.good and exchange.request.method != "HEAD":
            data = await whole(answer.body)
            answer.body = BytesBody(data[len(data) // 2 :] + data[: len(data) // 2])
        return answer


@dataclasses.dataclass(frozen=True)
class Flip(Fault):
    """Bits of the body are flipped: at a byte, or anywhere."""

    bits: int = 1
    at: int | None = None

    async def change(self, exchange, answer):
        data = bytearray(await whole(answer.body))
        for i in range(self.bits if data else 0):
            place = exchange.random.randrange(len(data)) if self.at is None else min(self.at + i, len(data) - 1)
            data[place] ^= 1 << exchange.random.randrange(8)
        answer.body = BytesBody(bytes(data))


@dataclasses.dataclass(frozen=True)
class WholeForRange(Fault):
    """The whole object with status 200, whatever range was asked for."""

    async def ask(self, exchange):
        return await exchange.ask(range="")


@dataclasses.dataclass(frozen=True)
class Etag(Fault):
    """The object has another ETag than before, or none ("")."""

    value: str = '"changed"'

    async def change(self, exchange, answer):
        answer.head.drop("ETag")
        answer.head.headers += [("ETag", self.value)] if self.value else []


@dataclasses.dataclass(frozen=True)
class Size(Fault):
    """The object has grown or shrunk."""

    by: int = 1

    async def change(self, exchange, answer):
        told = told_range(answer.head)
        if told is not None:
            answer.head.set("Content-Range", f"bytes {told[0]}-{told[1]}/{max(told[1] + 1, told[2] + self.by)}")
        elif answer.head.length is not None:
            length = max(0, answer.head.length + self.by)
            answer.head.set("Content-Length", length)
            if exchange.request.method != "HEAD":
                answer.body = BytesBody((await whole(answer.body)).ljust(length, b"\0")[:length])


@dataclasses.dataclass(frozen=True)
class Garbage(Fault):
    """Bytes that are no HTTP, then the end of the connection."""

    bytes: int = 200
    text: str | None = None

    async def run(self, exchange):
        await exchange.refuse_body()
        text = exchange.random.randbytes(self.bytes) if self.text is None else self.text.encode("latin-1")
        await exchange.client.send(text)
        exchange.close()


@dataclasses.dataclass(frozen=True)
class EndlessBody(Fault):
    """A body that does not end, up to some bytes: in chunks, to the end of the connection ("close"), or of an absurd
    length that is told ("length")."""

    framing: str = "chunked"
    bytes: int = 1 << 34

    async def run(self, exchange):
        await exchange.refuse_body()
        headers = {
            "chunked": "Transfer-Encoding: chunked",
            "close": "Connection: close",
            "length": f"Content-Length: {1 << 60}",
        }
        await exchange.client.send(f"HTTP/1.1 200 OK\r\n{headers[self.framing]}\r\n\r\n".encode())
        piece = bytes(1 << 16)
        if self.framing == "chunked":
            piece = b"10000\r\n" + piece + b"\r\n"
        for _ in range(self.bytes // (1 << 16) + 1):
            await exchange.client.send(piece)
            exchange.count(1 << 16)
        exchange.close()


def told_range(head):
    """(first, last, size) of a Content-Range, or None."""
    found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", head.get("Content-Range", ""))
    return tuple(map(int, found.groups())) if found else None
