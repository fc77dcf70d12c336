"""A web server of Python's own, which answers in every way that HTTP knows, for tests of the fault proxy."""

import contextlib
import hashlib
import http.server
import re
import threading

CONTENT = bytes(i * 7 % 256 for i in range(100_000))
TAG = '"the-tag"'


class Handler(http.server.BaseHTTPRequestHandler):
    """/file with ranges, /chunked, /to-the-end; takes what is PUT."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        if self.path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for begin in range(0, len(CONTENT), 30_000):
                part = CONTENT[begin : begin + 30_000]
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")
        elif self.path == "/to-the-end":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(CONTENT)
            self.close_connection = True
        else:
            self.send_file()

    def send_file(self):
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = map(int, found.groups()) if found else (0, len(CONTENT) - 1)
        last = min(last, len(CONTENT) - 1)
        if first > last:
            self.send_response(416)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if found else 200)
        if found:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(CONTENT)}")
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("ETag", TAG)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(CONTENT[first : last + 1])

    def do_PUT(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            data = b"".join(parts)
        else:
            data = self.rfile.read(int(self.headers["Content-Length"]))
        told = hashlib.sha256(data).hexdigest().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)


@contextlib.contextmanager
def serving():
    """Its address, while it serves."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
