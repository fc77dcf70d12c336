"""A storage that speaks S3 without signatures and parts, and lies: of sizes, by lists without end, by answers that never come.

    with LyingServer({"source/a/1.jpg": b"..."}) as server:
        server.claims["source/a/1.jpg"] = 12 << 30
        run("pack", server.s3("source"), out, *server.options)
"""

import html
import http.server
import re
import threading
import urllib.parse

BUCKET = "bucket"
PATIENCE = 120  # seconds


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def do_PUT(self):
        self.store()

    def do_DELETE(self):
        self.store()

    def store(self):
        lying = self.server.lying
        key = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).removeprefix(f"/{BUCKET}/")
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        lying.wait_if_stalled(self.command, key, {})
        with lying.lock:
            there = key in lying.objects
            if self.command == "DELETE":
                lying.objects.pop(key, None)
            elif not there or "If-None-Match" not in self.headers:
                lying.objects[key] = content
                lying.sums[key] = self.headers.get("x-amz-meta-sha256", "")
        if self.command == "PUT" and there and "If-None-Match" in self.headers:
            self.send(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        else:
            self.send(204 if self.command == "DELETE" else 200, b"")

    def answer(self):
        lying = self.server.lying
        place = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(place.query, keep_blank_values=True))
        key = urllib.parse.unquote(place.path).removeprefix(f"/{BUCKET}").removeprefix("/")
        lying.wait_if_stalled(self.command, key, query)
        try:
            if "list-type" in query:
                self.send(200, lying.page(query).encode())
            else:
                self.send_object(lying, key)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def send(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_object(self, lying, key):
        if key not in lying.objects:
            self.send(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        size = lying.size_of(key)
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = map(int, found.groups()) if found else (0, size - 1)
        self.send_response(206 if found else 200)
        if found:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("ETag", '"one"')
        if key in lying.sums:
            self.send_header("x-amz-meta-sha256", lying.sums[key])
        self.end_headers()
        if self.command != "GET":
            return
        content = lying.objects[key][first : last + 1]
        self.wfile.write(content)
        if len(content) < last - first + 1:  # the rest never comes
            self.close_connection = True


class LyingServer:
    """Serves `objects`, key -> bytes. `claims`: key -> the size that is told of it. `page(query)` may be replaced."""

    def __init__(self, objects):
        self.objects, self.claims, self.sums = dict(objects), {}, {}
        self.lock = threading.Lock()
        self.requests = 0
        self.stalls = lambda method, key, query: False
        self.stalled, self.ended = threading.Event(), threading.Event()

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.lying = self
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def url(self):
        host, port = self.server.server_address
        return f"http://{host}:{port}"

    @property
    def options(self):
        """Of every command that takes a URL."""
        return ["--endpoint", self.url, "--no-sign-request"]

    def s3(self, name):
        return f"s3://{BUCKET}/{name}"

    def put_folder(self, folder, name):
        for path in folder.rglob("*"):
            if path.is_file():
                self.objects[f"{name}/{path.relative_to(folder)}"] = path.read_bytes()

    def size_of(self, key):
        return self.claims.get(key, len(self.objects[key]))

    def wait_if_stalled(self, method, key, query):
        self.requests += 1
        if self.stalls(method, key, query):
            self.stalled.set()
            self.ended.wait(PATIENCE)

    def page(self, query):
        prefix = query.get("prefix", "")
        with self.lock:
            keys = sorted(key for key in self.objects if key.startswith(prefix))
        if "delimiter" in query:
            inner = {key[: key.index("/", len(prefix)) + 1] for key in keys if "/" in key[len(prefix) :]}
            return self.list_text([], folders=sorted(inner))
        return self.list_text([(key, self.size_of(key)) for key in keys])

    @staticmethod
    def list_text(objects, folders=(), next_token=""):
        text = "<ListBucketResult>"
        for key, size in objects:
            text += f"<Contents><Key>{html.escape(key)}</Key><Size>{size}</Size><ETag>&quot;one&quot;</ETag></Contents>"
        for folder in folders:
            text += f"<CommonPrefixes><Prefix>{html.escape(folder)}</Prefix></CommonPrefixes>"
        if next_token:
            text += f"<IsTruncated>true</IsTruncated><NextContinuationToken>{next_token}</NextContinuationToken>"
        return text + "</ListBucketResult>"
