"""HTTP/1.1 over plain sockets: as much of it as the fault proxy needs, which must be able to break every rule of it."""

import asyncio
import socket
import struct
import time

HEAD_MOST = 64 << 10  # bytes of a request's or an answer's head
PIECE = 256 << 10  # bytes that are read at once
NO_BODY = (204, 304)


class Gone(Exception):
    """The other side has ended the connection, or what it sends is no HTTP."""


class Head:
    """A start line and headers, in the order in which they came."""

    def __init__(self, start, headers=()):
        self.start, self.headers = start, list(headers)

    @classmethod
    def parsed(cls, text):
        start, *lines = text.decode("latin-1").split("\r\n")
        headers = []
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon:
                raise Gone(f"no header: {line[:80]!r}")
            headers.append((name, value.strip()))
        return cls(start, headers)

    def get(self, name, default=None):
        return next((value for key, value in self.headers if key.lower() == name.lower()), default)

    def drop(self, *names):
        unwanted = {name.lower() for name in names}
        self.headers = [(key, value) for key, value in self.headers if key.lower() not in unwanted]

    def set(self, name, value):
        self.drop(name)
        self.headers.append((name, str(value)))

    def encoded(self):
        lines = [self.start, *(f"{name}: {value}" for name, value in self.headers)]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    @property
    def length(self):
        """What Content-Length says, or None."""
        value = self.get("Content-Length")
        return int(value) if value is not None and value.isdigit() else None

    @property
    def chunked(self):
        return "chunked" in self.get("Transfer-Encoding", "").lower()

    @property
    def status(self):
        """Of an answer."""
        return int(self.start.split(" ", 2)[1])

    @property
    def closes(self):
        connection = self.get("Connection", "").lower()
        old = self.start.startswith("HTTP/1.0 ") or self.start.endswith(" HTTP/1.0")
        return "close" in connection or (old and "keep-alive" not in connection)


class Pace:
    """A limit of bytes a second; those who share one share its bytes."""

    burst = 0.02  # seconds' worth of bytes that may go at once: pauses are never as exact as they are asked for

    def __init__(self, bytes_per_s):
        self.bytes_per_s, self.free_at = bytes_per_s, 0.0

    @property
    def piece(self):
        """How much is sent at once."""
        return min(PIECE, max(512, int(self.bytes_per_s * self.burst)))

    async def sent(self, count):
        now = time.monotonic()
        self.free_at = max(self.free_at, now - self.burst) + count / self.bytes_per_s
        if self.free_at > now:
            await asyncio.sleep(self.free_at - now)


class Connection:
    """A connected socket, and what has come over it and was not taken yet."""

    def __init__(self, connected, paces=()):
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket, self.paces, self.rest = connected, [pace for pace in paces if pace], b""
        self.loop = asyncio.get_running_loop()
        self.closed = False

    async def more(self, most=PIECE):
        """The next bytes; none at the end."""
        if self.rest:
            taken, self.rest = self.rest[:most], self.rest[most:]
            return taken
        try:
            return await self.loop.sock_recv(self.socket, most)
        except OSError as error:
            raise Gone(str(error)) from error

    async def until(self, mark, most=HEAD_MOST):
        """What comes before `mark`, which is taken, too; nothing if the connection ends before the first byte."""
        found = self.rest
        while (end := found.find(mark)) < 0:
            if len(found) > most:
                raise Gone(f"more than {most} bytes without {mark!r}")
            self.rest = b""
            more = await self.more()
            if not more and not found:
                return b""
            if not more:
                raise Gone("ended in the middle")
            found += more
        self.rest = found[end + len(mark) :]
        return found[:end]

    async def head(self):
        """The next head, or None at the end."""
        text = await self.until(b"\r\n\r\n")
        return Head.parsed(text) if text else None

    async def send(self, data):
        """Sends at the pace that is set."""
        try:
            if not self.paces:
                await self.loop.sock_sendall(self.socket, data)
                return
            step = min(pace.piece for pace in self.paces)
            data = memoryview(data)
            for begin in range(0, len(data), step):
                part = data[begin : begin + step]
                await self.loop.sock_sendall(self.socket, part)
                for pace in self.paces:
                    await pace.sent(len(part))
        except OSError as error:
            raise Gone(str(error)) from error

    def has_ended(self):
        """Whether the other side is known to have gone."""
        try:
            return self.socket.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    async def quiet(self, seconds):
        """Lets time pass (None: for ever), but not longer than the other side stays."""
        end = None if seconds is None else time.monotonic() + seconds
        while (left := 0.05 if end is None else min(0.05, end - time.monotonic())) > 0:
            await asyncio.sleep(left)
            if self.has_ended():
                raise Gone("left while nothing was sent")

    def close(self):
        if not self.closed:
            self.closed = True
            try:
                self.socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            self.socket.close()

    def reset(self):
        """Ends the connection as if the machine behind it had lost it: RST instead of FIN."""
        if not self.closed:
            self.closed = True
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.socket.close()


class NoBody:
    """What an answer without a body has."""

    reusable = True  # whether another message may follow on the connection

    async def read(self):
        return b""


class BytesBody:
    """Bytes that are there already."""

    reusable = True

    def __init__(self, data):
        self.data = data

    async def read(self):
        data, self.data = self.data[:PIECE], self.data[PIECE:]
        return data


class WireBody:
    """The body of a message as it comes, without the marks of chunks."""

    def __init__(self, connection, head, to_the_end):
        self.connection, self.chunked = connection, head.chunked
        self.left = None if self.chunked else head.length  # bytes of the body, or of the chunk
        self.ended = self.left is None and not self.chunked and not to_the_end
        self.reusable = self.chunked or self.left is not None or self.ended

    async def read(self):
        if self.ended:
            return b""
        if self.chunked and not self.left:
            await self.next_chunk()
            if self.ended:
                return b""
        if self.left == 0:
            self.ended = True
            return b""
        data = await self.connection.more(PIECE if self.left is None else min(PIECE, self.left))
        if not data:
            self.ended = True
            if self.left is not None:
                raise Gone("a body ended too early")
            return b""
        if self.left is not None:
            self.left -= len(data)
            if self.chunked and self.left == 0:
                await self.connection.until(b"\r\n")
        return data

    async def next_chunk(self):
        line = await self.connection.until(b"\r\n", 1024)
        try:
            self.left = int(line.split(b";")[0], 16)
        except ValueError as error:
            raise Gone("no size of a chunk") from error
        if self.left == 0:
            while await self.connection.until(b"\r\n"):
                pass  # trailers
            self.ended = True


async def whole(body):
    """All of a body."""
    parts = []
    while data := await body.read():
        parts.append(data)
    return b"".join(parts)
